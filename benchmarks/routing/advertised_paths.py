"""Covering over advertised paths: the search for a counterexample that is advertised (``routing.md``, (b))."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from benchmarks.routing.automata import NOWHERE, reader
from benchmarks.routing.words import RootPath
from heptox.matching import LinearPath
from heptox.routing.advertisement import Advertisement
from heptox.routing.patience import Patience
from heptox.routing.reading import START, Positions, Reader


class Pair:
    """What is to be matched and what is not, reading the elements of an advertisement together."""

    __slots__ = ("advertisement", "avoided", "wanted")

    def __init__(self, advertisement: Advertisement, general: LinearPath, special: LinearPath) -> None:
        self.advertisement = advertisement
        self.avoided = reader(general)
        self.wanted = reader(special)

    def matched(self, name: str, wanted: Positions, avoided: Positions) -> tuple[str | None] | None:
        """Whether an element, or a leaf that it may have, is what is to be matched; with the leaf, if it is one."""
        if wanted & self.wanted.accepting:
            return (None,)
        for label in self.advertisement.leaves(name) if self.wanted.ends_in_leaf else ():
            if self.wanted.leaf(wanted, label) and not self.avoided.leaf(avoided, label):
                return (label,)
        return None


def is_met(advertisement: Advertisement, name: str, avoided: Reader, positions: Positions) -> bool:
    """Whether a path matches an element, or an attribute that the element always has."""
    if not avoided.ends_in_leaf:
        return bool(positions & avoided.accepting)
    return any(avoided.leaf(positions, f"@{attribute}") for attribute in advertisement.elements[name].required)


class _Reached(NamedTuple):
    """The elements read so far, the positions after them, and what was matched on the way: a depth, perhaps a leaf."""

    elements: tuple[str, ...]
    wanted: Positions
    avoided: Positions
    match: tuple[int, str | None] | None


def uncovered_path(advertisement: Advertisement, general: LinearPath, special: LinearPath) -> RootPath | None:
    """The shortest advertised path that ``special`` matches and ``general`` does not, the first in order of its
    elements; ``None`` where ``general`` covers ``special`` on each.

    A path goes from the root to an element that may be without children. It has the required attributes of its
    elements, and may have their other attributes and text. ``special`` may be matched above its end.

    Raises :class:`UndecidedError`.
    """
    pair, patience = Pair(advertisement, general, special), Patience()
    waiting = deque(_entered(pair, _Reached((), START, START, None), advertisement.root))
    seen: set[tuple[str, Positions, Positions]] = set()
    while waiting:
        here = waiting.popleft()
        key = here.elements[-1], NOWHERE if here.match else here.wanted, here.avoided
        if key in seen:
            continue
        seen.add(key)
        patience.spend(1 + len(advertisement.children(key[0])))
        if here.match and advertisement.elements[here.elements[-1]].ends:
            depth, leaf = here.match
            return RootPath(here.elements, leaf, depth if leaf else 0)
        for child in advertisement.children(here.elements[-1]):
            waiting.extend(_entered(pair, here, child))
    return None


def _entered(pair: Pair, above: _Reached, name: str) -> tuple[_Reached, ...]:
    """What is reached by an element below, none where the general path is met or the special one lost."""
    avoided = pair.avoided.element(above.avoided, name)
    if is_met(pair.advertisement, name, pair.avoided, avoided):
        return ()
    elements, match, wanted = (*above.elements, name), above.match, NOWHERE
    if match is None:
        wanted = pair.wanted.element(above.wanted, name)
        found = pair.matched(name, wanted, avoided) if wanted else None
        match = (len(elements), *found) if found else None
    return (_Reached(elements, wanted, avoided, match),) if wanted or match else ()
