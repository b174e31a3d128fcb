"""The shortest path that a subscription matches and another does not: both automata read it together, breadth first."""

from __future__ import annotations

from collections import deque
from itertools import count

from benchmarks.routing.automata import reader
from benchmarks.routing.words import RootPath
from heptox.matching import LinearPath
from heptox.pattern import TEXT, is_leaf_test
from heptox.routing.patience import Patience
from heptox.routing.reading import START, Positions


def shortest_counterexample(general: LinearPath, special: LinearPath) -> RootPath | None:
    """The shortest path that ``special`` ends at and no part of which ``general`` ends at, the first in order of its
    labels; ``None`` where ``general`` covers ``special``.

    The document that has just this path is matched by one and not by the other. ``z`` stands for a name that neither
    has.

    Raises :class:`UndecidedError`.
    """
    wanted, avoided, patience = reader(special), reader(general), Patience()
    elements, leaves = _alphabet(wanted.labels | avoided.labels)
    waiting: deque[tuple[tuple[str, ...], Positions, Positions]] = deque([((), START, START)])
    seen: set[tuple[Positions, Positions]] = set()  # without the document node, which has no leaves
    while waiting:
        path, reached, others = waiting.popleft()
        patience.spend(len(elements) + len(leaves))
        if reached & wanted.accepting:
            return RootPath(path)
        for label in leaves if path else ():
            if wanted.leaf(reached, label) and not avoided.leaf(others, label):
                return RootPath(path, label)
        for name in elements:
            after = wanted.element(reached, name), avoided.element(others, name)
            if after[0] and not after[1] & avoided.accepting and after not in seen:
                seen.add(after)
                waiting.append(((*path, name), *after))
    return None


def _alphabet(labels: frozenset[str]) -> tuple[list[str], list[str]]:
    """The labels that have to be tried, sorted, for elements and for leaves: those that are named, and a spare one."""
    leaves = {label for label in labels if label[0] == "@"}
    elements = {label for label in labels if not is_leaf_test(label)}
    elements.add(spare_name(elements))
    leaves |= {f"@{spare_name({label[1:] for label in leaves})}", TEXT}
    return sorted(elements), sorted(leaves)


def spare_name(names: set[str]) -> str:
    """A name that is none of those: ``z``, ``z1``, ``z2``, ..."""
    return "z" if "z" not in names else next(name for n in count(1) if (name := f"z{n}") not in names)
