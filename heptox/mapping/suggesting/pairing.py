"""Lines of a mapping from pairs of sample documents: a document, and the same in the other schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Final, TypeAlias

from heptox.mapping.suggesting.aligning import AlignedNodes, Alignment, Sides, wanted_slots
from heptox.mapping.suggesting.comparing import sigmoid
from heptox.mapping.suggesting.confirming import confirmed, pairs_text
from heptox.mapping.suggesting.filling import BIT, MOST_BITS, Choosing, Filling
from heptox.mapping.suggesting.model import CodeTable, Reason, Sample, Suggestion
from heptox.mapping.suggesting.records import Record, Selections, read_records
from heptox.mapping.suggesting.slots import Proposal, Proposer, Slot, leaf_text
from heptox.pattern import TAG
from heptox.schema import TEXT, Path, SchemaTree, plain
from heptox.xml import Document, split_name

Pair: TypeAlias = tuple[Document, Document]
"""A document of the source, and the same in the target's schema."""

_LONGEST: Final = 40
"""How much of a sample value is shown."""

_BEFORE: Final = -0.5


class Paired:
    """What pairs of documents say: the lines that they support and none of their leaves refutes."""

    def __init__(
        self, trees: tuple[SchemaTree, SchemaTree], pairs: Sequence[Pair], proposers: Sequence[Proposer], least: float
    ) -> None:
        self._trees, self._pairs, self._proposers = trees, pairs, proposers
        self._roots = [(read_records(trees[0], one), read_records(trees[1], other)) for one, other in pairs]
        selections = Selections([one for one, _ in self._roots]), Selections([other for _, other in self._roots])
        found = list(Alignment(Sides(trees, self._roots, selections), self._whole).found())
        alike = _values_by_name([other for _, other in self._roots])
        slots = [
            replace(slot, alike=alike.get(plain(slot.leaf)[-2:], frozenset()))
            for each in found
            for slot in wanted_slots(trees[1], each.nodes, each.leaves)
        ]
        fillings = Choosing([(slot, list(self._proposals(slot))) for slot in slots]).fillings()
        numbers = count(1)
        entities = [self._entity(each) for each in found if _is_said(each)]
        self.lines = (*entities, *(self._drawn(each, numbers) for each in fillings if each.confidence >= least))
        """Lines with a confidence of at least ``least``; whether they go together is not looked at."""

    def with_others(self, others: Callable[[Sequence[Suggestion]], Iterable[Suggestion]]) -> list[Suggestion]:
        """The lines that go together and make nothing wrong of the pairs, and others that are suggested beside them and
        do so, too.

        What pairs have of one leaf only they refute. Where they have neither, others of the same two elements must be
        joined.
        """
        kept = confirmed(self._trees, self._pairs, self.lines)
        sources, targets = (_seen([pair[side] for pair in self._roots]) for side in (0, 1))
        joined, filled = set(_joined(kept)), {one.target for one in kept if one.kind != "entity"}

        def is_open(one: Suggestion) -> bool:
            known = one.source in sources, one.target in targets
            is_beside = (_holder(one.source), _holder(one.target)) in joined
            return one.target not in filled and (all(known) or (is_beside and not any(known)))

        allowed = list(filter(is_open, others(kept)))
        return [*kept, *confirmed(self._trees, self._pairs, allowed, kept)]

    def _whole(self, slot: Slot) -> Iterator[Proposal]:
        """What has all values of a slot."""
        return (one for one in self._proposals(slot) if one.values == slot.wanted)

    def _proposals(self, slot: Slot) -> Iterator[Proposal]:
        """What may fill a slot: no row refutes it, and a line can say it."""
        for proposer in self._proposers:
            for one in proposer.propose(slot):
                if not slot.is_refuted(one.values) and "\n" not in one.expression + "".join(one.inverses):
                    yield one

    def _entity(self, found: AlignedNodes) -> Suggestion:
        nodes = found.nodes
        source, target = (leaf_text(tree, path) for tree, path in zip(self._trees, nodes.ends, strict=True))
        confidence = sigmoid(BIT * min(found.bits, MOST_BITS) + _BEFORE)
        there = len({row.pair for row in nodes.rows})
        text = f"Equally many in {pairs_text(there)}; {len(found.explained)} of {len(found.of)} leaves are explained."
        ends = plain(nodes.source), plain(nodes.target)
        return Suggestion(*ends, "entity", confidence, (Reason("pairs", text),), f"each {source} -> {target}")

    def _drawn(self, filling: Filling, numbers: Iterator[int]) -> Suggestion:
        slot, proposal = filling.slot, filling.proposal
        expression, table = proposal.expression, None
        if proposal.codes:
            name = split_name(proposal.sources[0][-1].removeprefix("@"))[1].removesuffix("()")
            table = CodeTable(f"{name}-{next(numbers)}.csv", proposal.codes)
            expression = expression.replace("{table}", table.file)
        inverses = "".join(f" inverse {each}" for each in proposal.inverses)
        samples = tuple(_samples(slot, proposal))
        there = {slot.leaves.nodes.rows[row].pair for row, value in enumerate(slot.wanted) if value is not None}
        reasons = [Reason("pairs", f"{len(samples)} of {pairs_text(len(there))}: {_example(samples[0])}")]
        if filling.rival is not None:
            reasons.append(Reason("pairs", f"{filling.rival.expression} has the same values."))
        return Suggestion(
            source=_own(proposal.sources[0]) if proposal.sources else (),
            target=_own(slot.leaf),
            kind=proposal.kind,
            confidence=filling.confidence,
            reasons=tuple(reasons),
            line=f"{expression} -> {leaf_text(self._trees[1], slot.leaf)}{inverses}",
            table=table,
            samples=samples,
        )


def _own(path: Path) -> Path:
    """A path without conditions, a box standing for its tag."""
    found = plain(path)
    return found[:-1] if found[-1:] == (TAG,) else found


def _samples(slot: Slot, proposal: Proposal) -> Iterator[Sample]:
    """The first sample of each pair that supports a proposal."""
    known: set[int] = set()
    for row, (made, wanted) in enumerate(zip(proposal.values, slot.wanted, strict=True)):
        pair = slot.leaves.nodes.rows[row].pair
        if made is not None and made == wanted and pair not in known:
            known.add(pair)
            values = (slot.leaves.single[path][row] for path in proposal.sources if path in slot.leaves.single)
            yield Sample(pair + 1, tuple(value for value in values if value is not None), made)


def _values_by_name(roots: Sequence[Record]) -> Mapping[Path, frozenset[str]]:
    """The values of leaves by their last two steps, if there are two samples of them."""
    found: dict[Path, list[str]] = {}
    for record in (record for root in roots for record in root.every()):
        for leaf, value in record.values.items():
            found.setdefault(plain((*record.node, *leaf))[-2:], []).append(value)
    return {name: frozenset(values) for name, values in found.items() if len(values) > 1}


def _seen(roots: Sequence[Record]) -> frozenset[Path]:
    """All leaves that documents have, and what is above them."""
    leaves = {(*record.node, *leaf) for root in roots for record in root.every() for leaf in record.values}
    return frozenset(leaf[:length] for leaf in leaves for length in range(1, len(leaf) + 1))


def _holder(path: Path) -> Path:
    """The element that holds a leaf: of a text, that in which its element stands."""
    return path[:-2] if path[-1] == TEXT else path[:-1]


def _joined(lines: Iterable[Suggestion]) -> Iterator[tuple[Path, Path]]:
    for one in lines:
        if one.kind != "entity" and one.source:
            yield _holder(one.source), _holder(one.target)
            yield one.source[:-1], one.target[:-1]


def _is_said(found: AlignedNodes) -> bool:
    """Whether an ``each`` line says something: the value of a leaf that has only itself is enough."""
    nodes = found.nodes
    targets = [row.target for row in nodes.rows if row.target is not None]
    if not nodes.is_entity or any(leaf not in ((), (TEXT,)) for one in targets for leaf in one.values):
        return nodes.is_entity
    if any(one.below or not one.values for one in targets):
        return True
    known = [(one.above, value) for one in targets for value in one.values.values()]
    return len(known) > len(set(known))


def _example(sample: Sample) -> str:
    before = ", ".join(map(_short, sample.source))
    return _short(sample.target) if sample.source in ((), (sample.target,)) else f"{before} -> {_short(sample.target)}"


def _short(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
