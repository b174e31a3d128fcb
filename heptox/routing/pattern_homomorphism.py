"""Covering of tree patterns over all documents, by homomorphism: sound, and exact for linear paths.

Each node of the general pattern goes to a node of the special one of which at least as much is asked; what an embedding
of the special pattern finds, the general one then finds too. Nodes ``*`` of which nothing is asked but one node below
are gaps, as in linear paths, so ``/*//a`` and ``//*/a`` are one here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, PatternNode, TreePattern, is_leaf_test
from heptox.routing.implication import ValueConstraints
from heptox.routing.patience import Patience

_Condition: TypeAlias = "_Deep | _Below"


@dataclass(frozen=True, slots=True)
class _Deep:
    """There are at least so many elements below each other."""

    elements: int


@dataclass(frozen=True, slots=True)
class _Below:
    """There is a node behind a gap of elements, exactly as many or at least."""

    gap: int
    exact: bool
    node: PatternNode


@dataclass(slots=True, eq=False)
class _Target:
    """A node of the special pattern, or its document node: where nodes of the general one may go."""

    node: PatternNode | None
    known: ValueConstraints = field(init=False)
    below: list[_Target] = field(init=False)
    elements: int = field(init=False)
    """How many elements there are below each other, below this one."""
    size: int = field(init=False)
    """How many nodes there are with all below."""

    def __post_init__(self) -> None:
        self.known = ValueConstraints(self.node.values if self.node else ())
        self.below = [_Target(child) for child in self.node.children] if self.node else []
        self._measure()

    def _measure(self) -> None:
        self.size = 1 + sum(each.size for each in self.below)
        self.elements = max((each.elements + each.is_element for each in self.below), default=0)

    @classmethod
    def document(cls, pattern: TreePattern) -> _Target:
        found = cls(None)
        found.below = [cls(child) for child in pattern.children]
        found._measure()
        return found

    @property
    def is_element(self) -> bool:
        return self.node is None or not is_leaf_test(self.node.test)

    def after(self, gap: int, exact: bool) -> Iterator[_Target]:
        """The nodes that surely are below this one behind such a gap."""
        for each in self.below:
            if exact and (each.node is None or each.node.axis != "/"):
                continue
            if gap == 0:
                yield each
            if each.is_element and (gap or not exact):
                yield from each.after(max(gap - 1, 0), exact)


def homomorphism(general: TreePattern, special: TreePattern) -> bool:
    """Whether the general pattern can be mapped into the special one, and so covers it.

    >>> from heptox.grammar import parse_subscription
    >>> (general,), (special,) = map(parse_subscription, ("//a[@x > 1]//b", "/a[@x = 5]/c/b"))
    >>> homomorphism(general, special), homomorphism(special, general)
    (True, False)

    Raises :class:`UndecidedError`.
    """
    return _Search().all_hold(general.children, _Target.document(special))


class _Search:
    """Whether a condition holds at a target is looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}
        self._patience = Patience()

    def all_hold(self, nodes: tuple[PatternNode, ...], target: _Target) -> bool:
        return all(self._holds(node, target) for node in nodes)

    def _holds(self, node: PatternNode, target: _Target) -> bool:
        key = id(node), id(target)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._finds(_condition(node), target)
        return found

    def _finds(self, condition: _Condition, target: _Target) -> bool:
        if isinstance(condition, _Deep):
            return target.elements >= condition.elements
        self._patience.spend(target.size)
        return any(self._fits(condition.node, each) for each in target.after(condition.gap, condition.exact))

    def _fits(self, node: PatternNode, target: _Target) -> bool:
        return (
            target.node is not None
            and _passes(node.test, target.node.test)
            and all(map(target.known.implies, node.values))
            and self.all_hold(node.children, target)
        )


def _condition(node: PatternNode) -> _Condition:
    """What a node asks of the node above it, with the gap of all ``*`` on the way."""
    gap, exact = 0, node.axis == "/"
    while node.test == ANY_ELEMENT and not node.values and len(node.children) <= 1:
        gap += 1
        if not node.children:
            return _Deep(gap)
        node = node.children[0]
        exact = exact and node.axis == "/"
    return _Below(gap, exact, node)


def _passes(general: str, special: str) -> bool:
    """Whether whatever passes one node test passes the other."""
    if general == ANY_ELEMENT:
        return not is_leaf_test(special)
    return general == special or (general == ANY_ATTRIBUTE and special[0] == "@")
