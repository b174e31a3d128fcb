"""The suggestions for a mapping between two schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from heptox.mapping.paths import path_text
from heptox.mapping.suggesting.choosing import Choice, Ends
from heptox.mapping.suggesting.comparing import Comparison, relative
from heptox.mapping.suggesting.model import Reason, Suggestion
from heptox.mapping.suggesting.outline import Outline
from heptox.mapping.suggesting.pairing import Pair, Paired
from heptox.mapping.suggesting.placing import Placing
from heptox.mapping.suggesting.proposers import PROPOSERS, format_conversion
from heptox.mapping.suggesting.reasons import Reasons
from heptox.mapping.suggesting.samples import Samples, sample
from heptox.mapping.suggesting.slots import Proposer
from heptox.pattern import TAG
from heptox.schema import Path, SchemaTree
from heptox.xml import Document

THRESHOLD: Final = 0.5
"""The least confidence of an arrow that is suggested."""

_BY_DRAWING: Final = 3.0
"""About how much higher the evidence for an arrow is because it is drawn itself; as a rival it counts without that."""


def suggest(
    source: SchemaTree,
    target: SchemaTree,
    *,
    drawn: Iterable[tuple[Path, Path]] = (),
    source_documents: Sequence[Document] = (),
    target_documents: Sequence[Document] = (),
    pairs: Sequence[Pair] = (),
    proposers: Sequence[Proposer] = PROPOSERS,
) -> tuple[Suggestion, ...]:
    """The lines that a mapping between two schemas probably has, the likeliest first.

    None has a confidence below :data:`THRESHOLD`. Arrows that are ``drawn`` (absolute paths, a box standing for its
    tag) make others near them likelier, and are not suggested again. Sample documents show which leaves have the same
    values, and which have values that are tags in a box. A mapping takes each suggestion beside all others; whether
    the groups of leaves are connected (HX4016, HX4017), and whether a box has an arrow for its tags (HX4008, HX4020),
    is not looked at.

    ``pairs`` are documents of the source, each with the same in the target's schema. They are samples, too, and support
    arrows, ``each`` lines, selections, constants, functions and tables of codes, which ``proposers`` propose. What a
    pair refutes is not suggested: data exchange by all lines together makes of its source nothing that its target does
    not have. Documents of another root are passed over.

    Of a schema with a large tree, the nodes nearest to the root are looked at, and those that arrows are drawn at.

    >>> from heptox.schema import parse_dtd
    >>> dtd = "<!ELEMENT {0} ({1}*)> <!ELEMENT {1} ({2}, city)> <!ELEMENT {2} (#PCDATA)> <!ELEMENT city (#PCDATA)>"
    >>> club, firm = (SchemaTree(parse_dtd(dtd.format(*names))) for names in
    ...               (("club", "member", "telephone"), ("firm", "client", "phone")))
    >>> for suggestion in suggest(club, firm):
    ...     print(suggestion)
    member/city -> client/city
    member/telephone -> client/phone
    """
    drawn, trees = tuple(drawn), (source, target)
    pairs = [each for each in pairs if all(_fits(*one) for one in zip(trees, each, strict=True))]
    samples = (
        [*(one for one in source_documents if _fits(source, one)), *(one for one, _ in pairs)],
        [*(one for one in target_documents if _fits(target, one)), *(other for _, other in pairs)],
    )
    if not pairs:
        found: Sequence[Suggestion] = list(_by_evidence(trees, drawn, samples))
    else:
        said = Paired(trees, pairs, proposers, THRESHOLD)
        filled = {other for _, other in drawn}
        ends = [(one.source, one.target) for one in said.lines if one.source]
        every = said.confirmed(_by_evidence(trees, (*drawn, *ends), samples))
        found = [one for one in every if one.kind == "entity" or one.target not in filled]
    return tuple(sorted(found, key=lambda suggestion: -round(suggestion.confidence, 9)))


def _fits(tree: SchemaTree, document: Document) -> bool:
    """Whether a document is one of a schema, by its root."""
    return document.root.tag == tree.root


def _by_evidence(
    trees: tuple[SchemaTree, SchemaTree],
    drawn: Iterable[Ends],
    documents: tuple[Sequence[Document], Sequence[Document]],
) -> Iterator[Suggestion]:
    """The arrows that names, structure, types and values speak for, beside those that are drawn."""
    source, target = trees
    known = tuple(dict.fromkeys(_known(source, target, drawn)))
    outlines = Outline(source, (one for one, _ in known)), Outline(target, (other for _, other in known))
    entries = frozenset(_entries(outlines, known))
    samples = Samples(sample(outlines[0], documents[0]), sample(outlines[1], documents[1]))
    comparison = Comparison(*outlines, samples, entries)
    owners = frozenset((_owner(source, one), _owner(target, other)) for one, other in known)
    choice, settled = Choice(source, target, known), frozenset(known)
    reasons = Reasons(comparison)
    for copies in (True, False):
        scores = Placing(comparison, owners, choice, copies=copies).scores()
        # an arrow that is drawn is a rival like any other, but is not suggested again
        rivals = {ends: score - _BY_DRAWING * (ends in settled) for ends, (score, _) in scores.items()}
        likely = _confidences(rivals)
        confidences = {ends: confidence for ends, confidence in likely.items() if ends not in settled}
        for ends in choice.taken(confidences, THRESHOLD, copies=copies):
            why, line = reasons.of(*scores[ends][1]), _line(trees, ends, copies=copies)
            arrow = Suggestion(*ends, "copy" if copies else "arrow", confidences[ends], why, line)
            yield arrow if copies else _with_format(arrow, samples, *scores[ends][1])


def _with_format(arrow: Suggestion, samples: Samples, first: int, second: int) -> Suggestion:
    """An arrow; where the dates of the two leaves have a format each, with the function that makes one of the other."""
    if first not in samples.source or second not in samples.target:
        return arrow
    one, other = min(samples.source[first].chosen), min(samples.target[second].chosen)
    conversion = format_conversion(samples.source[first].chosen, samples.target[second].chosen)
    if conversion is None:
        return arrow
    source, target = arrow.line.split(" -> ")
    inverses = "".join(f" inverse {each}" for each in conversion.inverses(()))
    line = f"{conversion.written.replace('{}', source)} -> {target}{inverses}"
    reason = Reason("values", f"Dates are written as {one} and as {other}.")
    return replace(arrow, kind="function", line=line, reasons=(reason, *arrow.reasons))


def _line(trees: tuple[SchemaTree, SchemaTree], ends: Ends, *, copies: bool) -> str:
    """The line of a mapping that draws an arrow."""
    source, target = (path_text(tree, path) for tree, path in zip(trees, ends, strict=True))
    return f"{source} {'=>' if copies else '->'} {target}"


def _known(source: SchemaTree, target: SchemaTree, drawn: Iterable[Ends]) -> Iterator[Ends]:
    """The drawn arrows whose ends both schemas have, a tag as its box."""
    for ends in drawn:
        one, other = (path[:-1] if path[-1:] == (TAG,) else path for path in ends)
        if one in source and other in target:
            yield one, other


def _entries(outlines: tuple[Outline, Outline], drawn: Iterable[Ends]) -> Iterator[tuple[int, int]]:
    for one, other in drawn:
        first, second = outlines[0].entry_at(one), outlines[1].entry_at(other)
        if first is not None and second is not None:
            yield first, second


def _owner(tree: SchemaTree, path: Path) -> Path:
    return path if tree.box(path) else path[:-1]


def _confidences(scores: dict[Ends, float]) -> dict[Ends, float]:
    numbers: tuple[dict[Path, int], dict[Path, int]] = ({}, {})
    ends = {
        pair: tuple(known.setdefault(path, len(known)) for path, known in zip(pair, numbers, strict=True))
        for pair in scores
    }
    found = relative({(ends[pair][0], ends[pair][1]): score for pair, score in scores.items()})
    return {pair: found[numbered[0], numbered[1]] for pair, numbered in ends.items()}
