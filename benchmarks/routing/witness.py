"""What shows that a path overlaps an advertisement: the shortest advertised path that it ends at."""

from __future__ import annotations

from collections import deque

from benchmarks.routing.automata import reader
from benchmarks.routing.words import RootPath
from heptox.matching import LinearPath
from heptox.routing import Advertisement
from heptox.routing.patience import Patience
from heptox.routing.reading import START, Positions


def overlap_witness(advertisement: Advertisement, path: LinearPath) -> RootPath | None:
    """The shortest advertised path that a linear path ends at, the first in order of its labels; ``None`` where there
    is none.

    Raises :class:`UndecidedError` where it is not found in as many steps as a decision may take.
    """
    automaton, patience = reader(path), Patience()
    begin = automaton.element(START, advertisement.root)
    waiting: deque[tuple[tuple[str, ...], Positions]] = deque([((advertisement.root,), begin)])
    seen = {(advertisement.root, begin)}
    while waiting:
        elements, positions = waiting.popleft()
        patience.spend(1 + len(advertisement.children(elements[-1])))
        if positions & automaton.accepting:
            return RootPath(elements)
        for label in advertisement.leaves(elements[-1]):
            if automaton.leaf(positions, label):
                return RootPath(elements, label)
        for child in advertisement.children(elements[-1]):
            after = automaton.element(positions, child)
            if after and (child, after) not in seen:
                seen.add((child, after))
                waiting.append(((*elements, child), after))
    return None
