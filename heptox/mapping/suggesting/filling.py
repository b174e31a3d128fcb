"""Which of the proposals for a target leaf is chosen: by its values, by names, and by what fills those around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, sqrt
from typing import Final

from heptox.mapping.suggesting.comparing import sigmoid
from heptox.mapping.suggesting.names import Names
from heptox.mapping.suggesting.slots import Proposal, Slot
from heptox.schema import TEXT, Path, plain
from heptox.xml import split_name

_NAMES: Final = 3.0
_AROUND: Final = 4.0
_USED: Final = 0.8
"""What speaks against a leaf that fills another one already."""

_OTHER_FORM: Final = 0.5
"""What speaks against an attribute for an element, and the other way round."""

_SOME: Final = 3.0
"""What speaks against one that fills a leaf in some rows only."""

BIT: Final = 0.15
"""How much a bit of surprise speaks for what explains it."""

MOST_BITS: Final = 40.0
_BEFORE: Final = -1.0
_SHARPER: Final = 2.0
"""How fast the doubt that rivals bring falls with their distance."""

_ROUNDS: Final = 2
_NEARER: Final = 4.0
"""How much more the nearest neighbours count for than those one step further away."""


@dataclass(frozen=True, slots=True)
class Filling:
    """A target leaf with what fills it, how sure that is, from 0 to 1, and the likeliest one of the same values."""

    slot: Slot
    proposal: Proposal
    confidence: float
    rival: Proposal | None = None


class Choosing:
    """Chooses what fills each slot; ``candidates`` are the proposals that no row refutes."""

    def __init__(self, candidates: Sequence[tuple[Slot, Sequence[Proposal]]]) -> None:
        self._candidates = [(slot, proposals) for slot, proposals in candidates if proposals]
        ends = [
            path for slot, every in self._candidates for path in (slot.leaf, *(p for e in every for p in e.sources))
        ]
        self._names = Names({name for path in ends for name in _name_and_owner(path)})
        self._chosen: dict[Path, Proposal] = {}
        self._used: Counter[Path] = Counter()

    def fillings(self) -> Iterator[Filling]:
        """What fills each slot, one or several that do so together."""
        few_first = sorted(self._candidates, key=lambda each: sum(_is_whole(each[0], one) for one in each[1]))
        for _ in range(_ROUNDS):
            for slot, proposals in few_first:
                self._choose(slot, max(proposals, key=lambda one: self._score(slot, one)))
        for slot, proposals in self._candidates:
            yield from self._filled(slot, proposals)

    def _choose(self, slot: Slot, proposal: Proposal) -> None:
        self._used.subtract(_uses(self._chosen.get(slot.leaf)))
        self._chosen[slot.leaf] = proposal
        self._used.update(_uses(proposal))

    def _filled(self, slot: Slot, proposals: Sequence[Proposal]) -> Iterator[Filling]:
        """The chosen proposal; where it has only some of the values, others that have more of them."""
        missing = {row for row, value in enumerate(slot.wanted) if value is not None}
        left = list(proposals)
        while missing and left:
            best = max(left, key=lambda one: self._score(slot, one))
            rivals = [one for one in left if one is not best and one.values == best.values and one.kind == "arrow"]
            rival = max(rivals, key=lambda one: self._score(slot, one), default=None)
            yield Filling(slot, best, self._confidence(slot, best, left), rival)
            missing -= {row for row, value in enumerate(best.values) if value is not None}
            left = [one for one in left if any(one.values[row] is not None for row in missing)]

    def _score(self, slot: Slot, proposal: Proposal) -> float:
        """What speaks for a proposal beside its values."""
        if proposal.kind == "constant" and proposal.sources:
            return -proposal.cost - (0.0 if self._is_beside(slot, proposal) else _AROUND)
        names = max((self._alike(path, slot.leaf) for path in proposal.sources), default=0.0)
        around = max((self._around(path, slot.leaf) for path in proposal.sources), default=0.0)
        own = _uses(self._chosen.get(slot.leaf))
        used = any(self._used[path] > own.count(path) for path in proposal.sources)
        doubts = _USED * used + _SOME * (not _is_whole(slot, proposal))
        doubts += _OTHER_FORM * any(_is_attribute(path) != _is_attribute(slot.leaf) for path in proposal.sources)
        return _NAMES * names + _AROUND * around - proposal.cost - doubts

    def _confidence(self, slot: Slot, proposal: Proposal, rivals: Sequence[Proposal]) -> float:
        score = self._score(slot, proposal)
        scores = [self._score(slot, one) for one in rivals if one.kind != "constant"]
        # which leaf a constant goes with makes it no other value
        scores += sorted(self._score(slot, one) for one in rivals if one.kind == "constant")[-1:]
        share = sum(exp(_SHARPER * (each - score)) for each in scores)
        if proposal.kind == "constant":  # seen so often, and nothing else (Laplace's rule of succession)
            seen = sum(value is not None for value in proposal.values)
            return (seen + 1) / (seen + 2) / sqrt(share)
        bits = min(slot.leaves.bits(proposal.values), MOST_BITS)
        return sigmoid(BIT * bits + score + _BEFORE) / sqrt(share)

    def _is_beside(self, slot: Slot, proposal: Proposal) -> bool:
        """Whether the leaf that a constant depends on fills another leaf of the same element."""
        element = _elements(slot.leaf)[:-1]
        beside = (one for leaf, one in self._chosen.items() if _elements(leaf)[: len(element)] == element)
        return any(set(proposal.sources) <= set(one.sources) for one in beside if one.kind != "constant")

    def _alike(self, source: Path, target: Path) -> float:
        (one, owner), (other, other_owner) = _name_and_owner(source), _name_and_owner(target)
        return self._names.with_owners(one, owner, other, other_owner)

    def _around(self, source: Path, target: Path) -> float:
        """How near a source leaf is to those that fill the leaves around a target leaf, from 0 to 1."""
        source, target = _elements(source), _elements(target)
        total = sum_ = 0.0
        for leaf, proposal in self._chosen.items():
            other = _elements(leaf)
            if other != target and proposal.sources:
                weight = _NEARER ** common_steps(other, target)
                near = max(common_steps(_elements(path), source) for path in proposal.sources) / max(1, len(source) - 1)
                total, sum_ = total + weight, sum_ + weight * min(1.0, near)
        return sum_ / total if total else 0.0


def _uses(proposal: Proposal | None) -> tuple[Path, ...]:
    """The leaves whose values a proposal takes."""
    return () if proposal is None or proposal.kind == "constant" else proposal.sources


def _is_whole(slot: Slot, proposal: Proposal) -> bool:
    return proposal.values == slot.wanted


def _is_attribute(path: Path) -> bool:
    return path[-1].startswith("@")


@lru_cache(maxsize=1 << 14)
def _elements(path: Path) -> Path:
    """A path without conditions, and without the step to a text."""
    found = plain(path)
    return found[:-1] if found[-1:] == (TEXT,) else found


def common_steps(one: Path, other: Path) -> int:
    """How many steps two paths have in common."""
    return next(
        (n for n, steps in enumerate(zip(one, other, strict=False)) if steps[0] != steps[1]), min(len(one), len(other))
    )


def _name_and_owner(path: Path) -> tuple[str, str]:
    """The names of a leaf and of what it stands in; below the root, where no other is known, its own again."""
    names = [split_name(step.removeprefix("@"))[1] for step in _elements(path)[-2:]] or [""]
    return names[-1], names[0]
