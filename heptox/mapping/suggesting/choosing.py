"""Which of the likely arrows are suggested: one partner for a leaf where evidence is weak, nothing that cannot be.

The likeliest pair is taken first, and what it leaves is chosen from the rest, which makes a stable marriage (Gale and
Shapley); this is the filter that similarity flooding found best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, TypeAlias

from heptox.schema import Path, SchemaTree

Ends: TypeAlias = tuple[Path, Path]

STRONG: Final = 0.9
"""From here on an arrow is suggested though an end of it has a likelier one."""

_CLEAR: Final = 0.7
"""What an arrow's confidence must be at least, to be suggested beside one that it cannot be told apart from."""

_TIED: Final = 0.9
"""How near the confidence in an arrow must come to that of its end's better one, not to be told apart from it."""


class Choice:
    """Takes arrows, the likeliest first, while they can be drawn beside those that are drawn or taken already."""

    def __init__(self, source: SchemaTree, target: SchemaTree, drawn: Iterable[Ends]) -> None:
        self.source, self.target = source, target
        self._sources: dict[Path, float] = {}
        self._targets: dict[Path, float] = {}
        self._whole: tuple[set[Path], set[Path]] = (set(), set())
        self._within: tuple[set[Path], set[Path]] = (set(), set())
        for ends in drawn:
            self._note(ends, 0.0, copies=_is_inner(source, ends[0]) and _is_inner(target, ends[1]))
            self._note_ways(ends)

    def taken(self, confidences: Mapping[Ends, float], least: float, *, copies: bool) -> Iterator[Ends]:
        """Those of some arrows, all copies or none, that are suggested: the likeliest first, but outer copies first."""
        likely = [(ends, confidence) for ends, confidence in confidences.items() if confidence >= least]
        likely.sort(key=partial(_turn, outer_first=copies))
        for ends, confidence in likely:
            if self._is_free(ends, confidence) and self._can_be(ends, copies):
                self._note(ends, confidence, copies=copies)
                if copies:  # they are chosen before all else
                    self._note_ways(ends)
                yield ends

    def _is_free(self, ends: Ends, confidence: float) -> bool:
        """Whether an end has no partner; one of the other end must then be hardly likelier, or the arrow strong."""
        taken = [each for each in (self._sources.get(ends[0]), self._targets.get(ends[1])) if each is not None]
        return not taken or (len(taken) == 1 and confidence >= min(STRONG, max(_CLEAR, _TIED * taken[0])))

    def covers(self, side: int, path: Path) -> bool:
        """Whether a node of the source (0) or the target (1) lies in a subtree that an arrow copies whole."""
        whole = self._whole[side]
        return bool(whole) and any(path[:length] in whole for length in range(1, len(path) + 1))

    def _can_be(self, ends: Ends, copied: bool) -> bool:
        """Whether a mapping takes the arrow (``semantics.md`` section 2): HX4010, HX4013, HX4019 and HX4022."""
        source, target = ends
        if copied and (self.source.is_cyclic(source) or self.target.is_cyclic(target)):
            return False
        if not self.target.stop(target) and (self.source.stop(source) or target in self._targets):
            return False
        for path, whole, within in zip(ends, self._whole, self._within, strict=True):
            if any(path[:length] in whole for length in range(1, len(path))) or (copied and path in within):
                return False
        return True

    def _note(self, ends: Ends, confidence: float, *, copies: bool) -> None:
        for path, best, whole in zip(ends, (self._sources, self._targets), self._whole, strict=True):
            best.setdefault(path, confidence)
            if copies:
                whole.add(path)

    def _note_ways(self, ends: Ends) -> None:
        """Note what is above: no copy can be there."""
        for path, within in zip(ends, self._within, strict=True):
            within.update(path[:length] for length in range(1, len(path)))


def _turn(likely: tuple[Ends, float], *, outer_first: bool) -> tuple[float, float, tuple[Path, ...]]:
    ends, confidence = likely
    depth, doubt = len(ends[0]) + len(ends[1]), -round(confidence, 9)
    alike = tuple(sorted(ends))  # so that both directions choose alike
    return (depth, doubt, alike) if outer_first else (doubt, depth, alike)


def _is_inner(tree: SchemaTree, path: Path) -> bool:
    return not tree.is_leaf(path) and tree.box(path) is None
