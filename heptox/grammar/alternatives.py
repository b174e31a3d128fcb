"""Conditions on one node as alternatives of tree patterns: how ``and``, ``or`` and predicates become several patterns
under one subscription (``dissemination.md``, the subscription language)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Final, TypeAlias, TypeVar

from heptox.pattern import Axis, PatternNode, TreePattern, ValueTest, is_leaf_test

MOST_ALTERNATIVES: Final = 256
"""How many patterns one subscription may stand for: nested ``or`` multiplies them."""


class TooManyAlternativesError(ValueError):
    """A condition stands for more than :data:`MOST_ALTERNATIVES`."""


class BelowLeafError(ValueError):
    """A condition asks for something where nothing lies."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """What holds of a node's own value, of nodes below it, and of nodes below the document node."""

    own: tuple[ValueTest, ...] = ()
    below: tuple[PatternNode, ...] = ()
    absolute: tuple[PatternNode, ...] = ()


Alternatives: TypeAlias = tuple[Conjunction, ...]
"""A condition: one of them holds."""

TRUE: Final[Alternatives] = (Conjunction(),)

T = TypeVar("T")


def either(conditions: Iterable[Alternatives]) -> Alternatives:
    """One of the conditions holds.

    Raises :class:`TooManyAlternativesError`.
    """
    found = tuple(dict.fromkeys(chain.from_iterable(conditions)))
    if len(found) > MOST_ALTERNATIVES:
        raise TooManyAlternativesError
    return found


def both(left: Alternatives, right: Alternatives) -> Alternatives:
    """Each of two conditions holds.

    Raises :class:`TooManyAlternativesError`.
    """
    if left == TRUE or right == TRUE:
        return right if left == TRUE else left
    if len(left) * len(right) > MOST_ALTERNATIVES:
        raise TooManyAlternativesError
    return tuple(dict.fromkeys(_joined(one, other) for one in left for other in right))


def all_of(conditions: Sequence[Alternatives]) -> Alternatives:
    """Each of the conditions holds: as :func:`both` for one after the other, but those without alternatives beside each
    other at once, for there may be thousands of them.

    Raises :class:`TooManyAlternativesError`.
    """
    found = TRUE
    for alone, group in groupby(conditions, lambda one: len(one) == 1):
        several = tuple(group)
        for one in (_together([one for (one,) in several]),) if alone else several:
            found = both(found, one)
    return found


def there_is(axis: Axis, test: str, condition: Alternatives) -> Alternatives:
    """A node, of which the condition holds, lies so below the one that is asked about.

    Raises :class:`BelowLeafError` where the condition asks for something below attributes or text.
    """
    if is_leaf_test(test) and any(found.below for found in condition):
        raise BelowLeafError
    return tuple(
        Conjunction(below=(PatternNode(axis, test, found.own, found.below),), absolute=found.absolute)
        for found in condition
    )


def from_the_root(condition: Alternatives) -> Alternatives:
    """What holds below the document node, wherever it is asked."""
    return tuple(Conjunction(absolute=_united(found.below, found.absolute)) for found in condition)


def patterns(condition: Alternatives) -> tuple[TreePattern, ...]:
    """The patterns of a condition that asks about the document node."""
    return tuple(dict.fromkeys(TreePattern(_united(found.below, found.absolute)) for found in condition))


def _joined(one: Conjunction, other: Conjunction) -> Conjunction:
    return Conjunction(
        _united(one.own, other.own), _united(one.below, other.below), _united(one.absolute, other.absolute)
    )


def _together(conditions: Sequence[Conjunction]) -> Alternatives:
    own, below, absolute = (
        tuple(dict.fromkeys(chain.from_iterable(found)))
        for found in zip(*((one.own, one.below, one.absolute) for one in conditions), strict=True)
    )
    return (Conjunction(own, below, absolute),)


def _united(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one + other)) if one and other else one or other
