"""Lines tried on sample pairs: what data exchange makes by them, beside what it should make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping as AnyMapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from heptox.errors import HeptoxError
from heptox.grammar import SchemaDeclaration, Side
from heptox.mapping.exchange import exchange
from heptox.mapping.loading import examine_arrows
from heptox.mapping.model import Mapping
from heptox.mapping.printing import declarations, namespaces
from heptox.mapping.suggesting.filling import common_steps
from heptox.mapping.suggesting.model import Reason, Sample, Suggestion
from heptox.mapping.suggesting.records import Within, read_records
from heptox.mapping.suggesting.samples import document_nodes, own_values
from heptox.pattern import TAG
from heptox.schema import Path, SchemaGraph, SchemaTree
from heptox.xml import Document

_MOST_ROUNDS: Final = 8
"""How often only the least sure line is left out of those that make something wrong; then all are."""

_Key: TypeAlias = tuple[Path, bool]
"""A target leaf, a box standing for its tag, or, if it is true, a node."""

_Counts: TypeAlias = AnyMapping[_Key, Counter[str]]
"""Of each leaf how often it has each value, and of each node how many records there are."""


def confirmed(
    trees: tuple[SchemaTree, SchemaTree],
    pairs: Sequence[tuple[Document, Document]],
    lines: Sequence[Suggestion],
    kept: Sequence[Suggestion] = (),
) -> list[Suggestion]:
    """Those of some lines that a mapping takes together, beside those that are ``kept``, and by which exchange makes
    nothing of the source documents that the target documents of their pairs do not have.

    A line is left out, too, where it makes nothing of what the pairs have.
    """
    left, rounds = list(lines), 0
    whole = frozenset(one.target for one in lines if one.copies)
    wanted = [_counts(trees[1], document, whole) for _, document in pairs]
    while left:
        mapping, wrong = _mapping(trees, kept, left)
        if mapping is not None:
            try:
                images = [exchange(mapping, document) for document, _ in pairs]
            except HeptoxError:
                return []  # a value for which the other schema has no tag left
            counts = [(_counts(trees[1], one, whole), should) for one, should in zip(images, wanted, strict=True)]
            wrong = _wrong(kept, left, counts, every=rounds >= _MOST_ROUNDS)
            if not wrong and _are_within(trees[1], images, pairs, {one.target for one in (*kept, *left)}):
                return [known for one in left if (known := _supported(one, counts)) is not None]
            if not wrong:  # values are not where they should be, by which line only trying tells
                left.sort(key=lambda one: -one.confidence)
                half = len(left) // 2
                first = confirmed(trees, pairs, left[:half], kept)
                return [*first, *(confirmed(trees, pairs, left[half:], (*kept, *first)) if half else ())]
            rounds += 1
        elif not wrong:
            return []  # the declarations have faults
        left = [one for number, one in enumerate(left) if number not in wrong]
    return []


def _supported(one: Suggestion, counts: Sequence[tuple[_Counts, _Counts]]) -> Suggestion | None:
    """A line with the pairs that support it, ``None`` where they have what it is about and it makes nothing of it."""
    key = one.target, one.kind == "entity"
    there = [(pair, made.get(key), should[key]) for pair, (made, should) in enumerate(counts, 1) if key in should]
    made = [(pair, next(iter(values))) for pair, values, _ in there if values]
    if one.is_supported or not there:
        return one if made or not there else None
    if not made:
        return None
    right = sum(values == wanted for _, values, wanted in there)
    reason = Reason("pairs", f"{right} of {pairs_text(len(there))}: {made[0][1]}")
    samples = tuple(Sample(pair, (), value) for pair, value in made)
    return replace(one, reasons=(reason, *one.reasons), samples=samples)


def pairs_text(number: int) -> str:
    """So many pairs, in words."""
    return "1 pair" if number == 1 else f"{number} pairs"


def _counts(tree: SchemaTree, document: Document, whole: Container[Path]) -> _Counts:
    """What a document has, with the texts of the nodes that are looked at ``whole``."""
    found: dict[_Key, Counter[str]] = {}
    for element, path in document_nodes(tree, document):
        if tree.is_stop(path):
            found.setdefault((path, True), Counter())[""] += 1
        for leaf, value in own_values(tree, element, path):
            key = leaf[:-1] if leaf[-1] == TAG else leaf
            found.setdefault((key, False), Counter())[value] += 1
        if path in whole:
            found.setdefault((path, False), Counter())["".join(map(str, element.itertext("*")))] += 1
    return found


def _are_within(
    tree: SchemaTree, images: Sequence[Document], pairs: Sequence[tuple[Document, Document]], spoken: Container[Path]
) -> bool:
    """Whether each image has its values in the nodes that have them in the target of its pair; of the leaves that lines
    are about: identifiers may be invented.
    """
    return all(
        Within(spoken).holds(read_records(tree, image), read_records(tree, target))
        for image, (_, target) in zip(images, pairs, strict=True)
    )


def _wrong(
    kept: Sequence[Suggestion],
    lines: Sequence[Suggestion],
    counts: Sequence[tuple[_Counts, _Counts]],
    *,
    every: bool,
) -> set[int]:
    """The places of lines for leaves and nodes that get what they should not have, of each ``every`` one or the least
    sure; nodes first. What kept lines make wrong is made so by those that are nearest.
    """
    none: Counter[str] = Counter()
    keys = {key for made, should in counts for key in made if made[key] - should.get(key, none)}
    found: list[tuple[_Key, list[int]]] = []
    for key in keys:
        about = _about(lines, key)
        if not about and _about(kept, key):
            about = _nearest(lines, key[0])
        if about:
            found.append((key, about))
    nodes = [each for each in found if each[0][1]]
    least = (about if every else [min(about, key=lambda place: lines[place].confidence)] for _, about in nodes or found)
    return {place for places in least for place in places}


def _about(lines: Sequence[Suggestion], key: _Key) -> list[int]:
    """The places of the lines about a leaf or node; of a node that no line is about, of those below it."""
    about = [place for place, one in enumerate(lines) if (one.target, one.kind == "entity") == key]
    if about or not key[1]:
        return about
    return [place for place, one in enumerate(lines) if one.target[: len(key[0])] == key[0]]


def _nearest(lines: Sequence[Suggestion], path: Path) -> list[int]:
    """The places of lines whose targets have most steps in common with a path."""
    common = [common_steps(one.target, path) for one in lines]
    return [place for place, steps in enumerate(common) if steps == max(common)]


def _mapping(
    trees: tuple[SchemaTree, SchemaTree], kept: Sequence[Suggestion], lines: Sequence[Suggestion]
) -> tuple[Mapping | None, set[int]]:
    """The mapping that lines make beside others, or the places of those of them that have faults."""
    graphs = {"source": trees[0].graph, "target": trees[1].graph}

    def read(file: str, _: str | None) -> SchemaGraph:
        return graphs[file]

    tables = {line.table.file: line.table.text for line in (*kept, *lines) if line.table is not None}
    sides: tuple[tuple[Side, SchemaTree], ...] = ("source", trees[0]), ("target", trees[1])
    head = [str(SchemaDeclaration(side, side, tree.written((tree.root,)))) for side, tree in sides]
    head += [str(each) for side, tree in sides for each in (*namespaces(side, tree), *declarations(side, tree))]
    head += map(str, kept)
    examined = examine_arrows("\n".join((*head, *map(str, lines), "")), read, None, tables.__getitem__)
    at = [fault.position.line - len(head) - 1 for fault in examined.faults if fault.position is not None]
    faulty = {place for place in at if place >= 0}
    for place in (place for place in at if -len(kept) <= place < 0):
        faulty.update(_nearest(lines, kept[place].target))
    return (None if faulty else examined.sound), faulty
