"""Why an arrow is suggested, in short sentences for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from heptox.mapping.suggesting.comparing import Comparison
from heptox.mapping.suggesting.model import Reason
from heptox.mapping.suggesting.names import same_words
from heptox.mapping.suggesting.outline import Entry

_LEAST: Final = 0.3
"""The least weight of evidence that is reported."""


class Reasons:
    """The reasons for pairs of entries; those of a pair are the same in all places."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._known: dict[tuple[int, int], tuple[Reason, ...]] = {}

    def of(self, first: int, second: int) -> tuple[Reason, ...]:
        """What speaks for a pair of entries, the weightiest first; always something."""
        pair = first, second
        if pair not in self._known:
            self._known[pair] = _reasons(self._comparison, first, second)
        return self._known[pair]


def _reasons(comparison: Comparison, first: int, second: int) -> tuple[Reason, ...]:
    evidence = comparison.evidence[first, second]
    one, other = comparison.source.entries[first], comparison.target.entries[second]
    reported = [
        (evidence.names, Reason("names", _names(one, other))),
        (evidence.structure, Reason("structure", _structure(comparison, one, other))),
        *((evidence.values, Reason("values", text)) for text in _values(comparison, first, second)),
        (evidence.types, Reason("types", _types(one))),
    ]
    weighty = [each for each in reported if each[0] >= _LEAST]
    if one.type != other.type:
        weighty = [each for each in weighty if each[1].kind != "types"]
    chosen = weighty or [max(reported, key=lambda each: each[0])]
    return tuple(reason for _, reason in sorted(chosen, key=lambda each: -each[0]))


def _names(one: Entry, other: Entry) -> str:
    if same_words(one.name, other.name):
        return (
            f"Both are called {one.name}." if one.name == other.name else f"{one.name} and {other.name} are one name."
        )
    return f"The names {one.name} and {other.name} are alike."


def _structure(comparison: Comparison, one: Entry, other: Entry) -> str:
    owners = comparison.source.types[one.owner].name, comparison.target.types[other.owner].name
    if owners[0] == owners[1]:
        return f"What stands around them in {owners[0]} corresponds."
    return f"{owners[0]} and {owners[1]}, where they stand, hold much that corresponds."


def _values(comparison: Comparison, first: int, second: int) -> Iterator[str]:
    _, both, least = comparison.samples.overlap(first, second)
    _, _, look = comparison.samples.likeness(first, second)
    if both:
        yield f"{both} of {least} values that are known are the same."
    elif look:
        yield f"Their values look alike: {look}."


def _types(one: Entry) -> str:
    if one.copies:
        return "Their content is declared alike, and can be copied whole."
    if one.type == "tag":
        return "Both are tags of a box."
    return "Both hold text." if one.type == "text" else f"Both are attributes of the type {one.type}."
