"""Discriminators: what distinguishes patterns with the same paths (``docs/covering-index.md``, How it looks up).

Where a pattern has the test ``= "x"`` each that it covers, by homomorphism, has that test too or others that imply it,
and where it has a node ``a`` each that it covers has one. So a pattern is kept under one of its discriminators, and
looked for under those of another that it may cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, PatternNode, TreePattern
from heptox.routing.implication import ValueConstraints, compared

Kind: TypeAlias = Literal["=", "name", "!="]
"""A test ``=`` or ``!=`` with a constant, or a node with a name."""

_ORDER: Final[dict[Kind, int]] = {"=": 0, "name": 1, "!=": 2}
_UNNAMED: Final = (ANY_ELEMENT, ANY_ATTRIBUTE)


class Discriminator(NamedTuple):
    """A constant (a string, or a number as a double), or a name."""

    kind: Kind
    value: str | float


@dataclass(frozen=True, slots=True)
class Evidence:
    """The discriminators that a pattern has, ``open`` kinds aside: of those it may have any."""

    found: frozenset[Discriminator]
    open: frozenset[Kind]

    def has(self, discriminator: Discriminator) -> bool:
        """Whether a pattern with this discriminator may cover the pattern."""
        return discriminator in self.found or discriminator.kind in self.open


NOTHING: Final = Evidence(frozenset(), frozenset())


def discriminators(pattern: TreePattern) -> tuple[Discriminator, ...]:
    """All that a pattern asks of those that it covers, the most telling kind first.

    >>> from heptox.grammar import parse_subscription
    >>> (pattern,) = parse_subscription("/a[b = '5'] and //c")
    >>> [each.value for each in discriminators(pattern)]
    ['5', 'c', 'a', 'b']
    """
    found = dict.fromkeys(each for node in _nodes(pattern.children) for each in _asked(node))
    return tuple(sorted(found, key=lambda each: _ORDER[each.kind]))


def evidence(pattern: TreePattern) -> Evidence:
    """Of which discriminators a pattern must have one that is to cover this one, if it has any.

    >>> from heptox.grammar import parse_subscription
    >>> (pattern,) = parse_subscription("/a[b = '5.0']")
    >>> found = evidence(pattern)
    >>> [found.has(each) for each in (Discriminator("=", "5.0"), Discriminator("=", 5.0), Discriminator("=", "5"))]
    [True, True, False]
    """
    found: set[Discriminator] = set()
    unsure: set[Kind] = set()
    for node in _nodes(pattern.children):
        found.add(Discriminator("name", node.test))
        if node.values:
            _add_values(ValueConstraints(node.values), found, unsure)
    return Evidence(frozenset(found), frozenset(unsure))


def _add_values(known: ValueConstraints, found: set[Discriminator], unsure: set[Kind]) -> None:
    if known.impossible:
        unsure |= {"=", "!="}
    elif known.bounded:
        unsure.add("!=")
        found.update(Discriminator("=", constant) for constant in known.equal())
    else:
        found.update(Discriminator("!=", constant) for constant in known.unequal())


def _asked(node: PatternNode) -> Iterator[Discriminator]:
    if node.test not in _UNNAMED:
        yield Discriminator("name", node.test)
    for test in node.values:
        if test.operator in ("=", "!="):
            yield Discriminator("=" if test.operator == "=" else "!=", compared(test.constant))


def _nodes(nodes: Iterable[PatternNode]) -> Iterator[PatternNode]:
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children
