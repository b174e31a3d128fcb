"""The proposers that come with heptox: equal values, functions of one leaf, concatenations, constants, code tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from heptox.mapping.suggesting.model import Kind
from heptox.mapping.suggesting.slots import Proposal, Proposer, Slot, Values, leaf_text
from heptox.schema import Path, quoted, split_selection

_FEWEST: Final = 3
"""How many values there must be to see what they are made of."""

_TWICE: Final = 2
"""In how many samples something must be seen that is not seen in all, and how often more than once codes must come."""

_BY_LETTER: Final = 0.05
"""What speaks against a code for each of its letters: an identifier is none."""

_SEPARATORS: Final = ("", " ", ", ", "; ", ";", ",", " - ", "|", "/", ". ")
_LONGEST_SEPARATOR: Final = 3


class EqualValues:
    """Leaves with equal values, in all rows or in some; one that repeats gathered by ``string-join``."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        """What has the wanted values."""
        equal = slot.leaves.by_values.get(slot.wanted, ())
        for path in equal:
            yield _leaf(slot, path, slot.wanted)
        if not equal:
            for path, values in slot.leaves.single.items():
                if not slot.is_refuted(values) and len(slot.samples(values)) >= _TWICE:
                    yield _leaf(slot, path, values)
        row, first = next((row, value) for row, value in enumerate(slot.wanted) if value is not None)
        for path, several in slot.leaves.several.items():
            if several[row] and first.startswith(several[row][0]):  # most do not
                yield from _gathered(slot, path, several)


def _leaf(slot: Slot, path: Path, values: Values) -> Proposal:
    selection, repeats = _selection_cost(slot, path), path in slot.leaves.repeating
    kind: Kind = "selection" if selection else "function" if repeats else "arrow"
    inverses = (".",) if repeats else ()
    return Proposal(kind, slot.leaves.term(path), (path,), values, selection + 0.3 * repeats, inverses)


def _selection_cost(slot: Slot, path: Path) -> float:
    """What speaks against the conditions below the node: the more, the longer their values are."""
    below = path[len(slot.leaves.nodes.source) :]
    tests = [test for step in below for test in split_selection(step)[1]]
    return sum(0.3 + _BY_LETTER * len(value) for test in tests for value in test.values)


def _gathered(slot: Slot, path: Path, several: tuple[tuple[str, ...], ...]) -> Iterator[Proposal]:
    """All values of a leaf that repeats, or the first."""
    for separator in (None, *_SEPARATORS):
        pairs = zip(several, slot.wanted, strict=True)
        if all((_joined(separator, values) if values else None) == wanted for values, wanted in pairs):
            leaf = leaf_text(slot.leaves.tree, path)
            if separator is not None:
                text = f"string-join({leaf}, {quoted(separator)})"
            elif any("|" in value for values in several for value in values):
                continue
            else:
                text = f'substring-before(concat(string-join({leaf}, "|"), "|"), "|")'
            yield Proposal("function", text, (path,), slot.wanted, 1.0)
            return


def _joined(separator: str | None, values: Sequence[str]) -> str:
    return values[0] if separator is None else separator.join(values)


# -- functions of one leaf -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conversion:
    """A function of a string: what it computes, how it is written (``{}`` is the leaf), and what may be its inverse.

    It is only seen in several values where other functions could make the same of a few.
    """

    of: Callable[[str], str]
    written: str
    cost: float
    inverse: Conversion | None = None
    fewest: int = 1

    def inverses(self, pairs: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
        """The inverse as it is written, if it makes all values again."""
        back = self.inverse
        if back is None or any(other is None or back.of(other) != one for one, other in pairs):
            return ()
        return (back.written.replace("{}", "."),)


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A format of dates: the regular expression of one, and what one is made of from year, month and day."""

    expression: str
    template: str

    def replacement(self, start: DateFormat) -> str:
        """What makes this format of what the expression of another one finds."""
        order = re.findall("[YMD]", start.template)
        return re.sub("[YMD]", lambda part: f"${order.index(part[0]) + 1}", self.template)

    def reads(self, value: str) -> bool:
        """Whether a value is a date in this format.

        >>> [one.template for one in DATE_FORMATS if one.reads("25/12/2003")]
        ['D/M/Y']
        """
        found = re.fullmatch(self.expression, value)
        parts = dict(zip(re.findall("[YMD]", self.template), map(int, found.groups()), strict=True)) if found else {}
        return bool(parts) and 1 <= parts["M"] <= 12 and 1 <= parts["D"] <= 31


_TWO: Final = "([0-9]{2})"
_FOUR: Final = "([0-9]{4})"
DATE_FORMATS: Final = (
    DateFormat(f"^{_FOUR}-{_TWO}-{_TWO}$", "Y-M-D"),
    DateFormat(f"^{_FOUR}{_TWO}{_TWO}$", "YMD"),
    DateFormat(f"^{_TWO}[.]{_TWO}[.]{_FOUR}$", "D.M.Y"),
    DateFormat(f"^{_TWO}/{_TWO}/{_FOUR}$", "M/D/Y"),
    DateFormat(f"^{_TWO}/{_TWO}/{_FOUR}$", "D/M/Y"),
    DateFormat(f"^{_FOUR}/{_TWO}/{_TWO}$", "Y/M/D"),
    DateFormat(f"^{_FOUR}-{_TWO}-{_TWO}T00:00:00$", "Y-M-DT00:00:00"),
)
"""Formats in which dates are written, those that are met most first."""


def date_conversion(start: DateFormat, end: DateFormat) -> Conversion:
    """The function of a date that makes another format of it."""
    return replace(_in_format(start, end), inverse=_in_format(end, start))


def _in_format(start: DateFormat, end: DateFormat) -> Conversion:
    replacement, compiled = end.replacement(start), re.compile(start.expression)
    python = re.sub(r"\$(\d)", r"\\\1", replacement)
    return Conversion(
        lambda value: compiled.sub(python, value) if start.reads(value) else "",
        f"replace({{}}, {quoted(start.expression)}, {quoted(replacement)})",
        0.5,
    )


def format_conversion(values: Collection[str], wanted: Collection[str]) -> Conversion | None:
    """The function that makes dates of one format of those of another, where all of either side have one."""
    fitting = [[known for known in DATE_FORMATS if all(map(known.reads, side))] for side in (values, wanted)]
    if min(len(values), len(wanted)) < _FEWEST or any(len(found) != 1 for found in fitting):
        return None
    return date_conversion(fitting[0][0], fitting[1][0]) if fitting[0] != fitting[1] else None


_DATES: Final = tuple(date_conversion(start, end) for start in DATE_FORMATS for end in DATE_FORMATS if start != end)
_SIGNS: Final = (" ", ", ", "-", "/", ":", ".", "#", "|", ";", "_", ",")


def _before(sign: str) -> Conversion:
    written = f"substring-before({{}}, {quoted(sign)})"
    return Conversion(lambda value: value.partition(sign)[0] if sign in value else "", written, 1.5, None, _FEWEST)


def _after(sign: str) -> Conversion:
    return Conversion(
        lambda value: value.partition(sign)[2], f"substring-after({{}}, {quoted(sign)})", 1.5, None, _FEWEST
    )


def _translated(sign: str, other: str) -> Conversion:
    written = f"translate({{}}, {quoted(sign)}, {quoted(other)})"
    return Conversion(lambda value: value.replace(sign, other), written, 1.0)


def _composed(first: Conversion, second: Conversion) -> Conversion:
    written = second.written.replace("{}", first.written)
    return Conversion(lambda value: second.of(first.of(value)), written, 1.5, None, _FEWEST)


_SIMPLE: Final = tuple(part(sign) for sign in _SIGNS for part in (_before, _after))
_PARTS: Final = (*_SIMPLE, *(_composed(_after(sign), part) for sign in _SIGNS for part in _SIMPLE))
_KNOWN: Final = (
    Conversion(lambda value: " ".join(re.split("[ \t\r\n]+", value.strip(" \t\r\n"))), "normalize-space({})", 0.5),
    Conversion(str.upper, "upper-case({})", 1.0),
    Conversion(str.lower, "lower-case({})", 1.0),
    replace(_translated(",", "."), inverse=_translated(".", ",")),
    *(_translated(sign, "") for sign in " -./"),
)
"""Functions of the whole value."""


@lru_cache(maxsize=1 << 14)
def _conversions(one: str, other: str) -> tuple[Conversion, ...]:
    """The functions that make one value of another, those of dates first."""
    candidates = (*(_DATES if one[:1].isdigit() else ()), *_KNOWN, *(_PARTS if other and other in one else ()))
    return (*(known for known in candidates if known.of(one) == other), *_around(one, other), *_at_place(one, other))


def _around(one: str, other: str) -> Iterator[Conversion]:
    """What stands before or behind a value in another one."""
    if one and other.endswith(one) and (before := _plain(other.removesuffix(one))):
        yield Conversion(lambda value: before + value, f"concat({quoted(before)}, {{}})", 1.0, _after(before), _FEWEST)
    if one and other.startswith(one) and (behind := _plain(other.removeprefix(one))):
        yield Conversion(lambda value: value + behind, f"concat({{}}, {quoted(behind)})", 1.0, _before(behind), _FEWEST)


def _at_place(one: str, other: str) -> Iterator[Conversion]:
    """The part of a value at a place."""
    if other and len(other) < len(one) and (start := one.find(other)) >= 0:
        end = start + len(other)
        written = f"substring({{}}, {start + 1}, {len(other)})"
        yield Conversion(lambda value: value[start:end], written, 1.5, None, _FEWEST)


def _plain(text: str) -> str:
    """A text that can stand in what is written."""
    return "" if "{}" in text else text


class Conversions:
    """One leaf, converted; dates only where there is one way to read them."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        """What has the wanted values, converted."""
        for path, values in slot.leaves.present(slot.wanted):
            if values == slot.wanted:
                continue
            pairs = [(one, other) for one, other in zip(values, slot.wanted, strict=True) if one is not None]
            found = [
                known
                for known in _conversions(pairs[0][0], pairs[0][1] or "")
                if known.fewest <= slot.distinct and all(known.of(one) == other for one, other in pairs)
            ]
            if sum(known in _DATES for known in found) > 1:
                continue
            for known in found[:1]:
                text = known.written.replace("{}", slot.leaves.term(path))
                cost = known.cost + _selection_cost(slot, path)
                yield Proposal("function", text, (path,), slot.wanted, cost, known.inverses(pairs))


# -- several leaves, constants, codes --------------------------------------------------------------------------------


class Concatenations:
    """Two leaves with something between them that is always the same, or nothing."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        """What the wanted values are made of."""
        if slot.distinct < _FEWEST:
            return
        number, value = next((number, value) for number, value in enumerate(slot.wanted) if value is not None)
        there = [
            (path, known)
            for path, values in slot.leaves.single.items()
            if (known := values[number]) and known != value and _has_parts(values, slot.wanted)
        ]
        starts = [(path, known) for path, known in there if value.startswith(known)]
        ends = [(path, known) for path, known in there if value.endswith(known)]
        for first, start in starts:
            for second, end in ends:
                between = value[len(start) : len(value) - len(end)]
                fits = len(start) + len(end) <= len(value) and len(between) <= _LONGEST_SEPARATOR
                if fits and first != second:
                    yield from _concatenated(slot, first, second, between)


def _has_parts(values: Values, wanted: Values) -> bool:
    """Whether all wanted values have those of a leaf in them."""
    return all(other is None or (one is not None and one in other) for one, other in zip(values, wanted, strict=True))


def _concatenated(slot: Slot, first: Path, second: Path, between: str) -> Iterator[Proposal]:
    starts, ends = slot.leaves.single[first], slot.leaves.single[second]
    values = tuple(
        None if one is None or other is None else one + between + other for one, other in zip(starts, ends, strict=True)
    )
    if values == slot.wanted:
        middle = [quoted(between)] if between else []
        text = f"concat({', '.join([slot.leaves.term(first), *middle, slot.leaves.term(second)])})"
        inverses: tuple[str, ...] = ()
        if between and not any(between in one for one in starts if one is not None):
            inverses = (f"substring-before(., {quoted(between)})", f"substring-after(., {quoted(between)})")
        yield Proposal("function", text, (first, second), values, 1.5, inverses)


class Constants:
    """One value, wherever the target node is; or wherever a source leaf is."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        """The only value, if there is no other."""
        value = next(value for value in slot.wanted if value is not None)
        is_known = slot.alike == {value} or len(slot.samples(slot.wanted)) >= _TWICE
        if slot.distinct > 1 or not is_known:
            return
        if None not in slot.wanted:
            yield Proposal("constant", quoted(value), (), slot.wanted, 2.0)
        if None in slot.wanted or slot.is_optional:
            for path, _ in slot.leaves.present(slot.wanted):
                text = f"if (exists({slot.leaves.term(path)})) then {quoted(value)} else ()"
                yield Proposal("constant", text, (path,), slot.wanted, 1.9)


class CodeTables:
    """A value for each code of a leaf; the codes must come again."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        """What has a code wherever there is a value."""
        if slot.distinct < _TWICE:
            return
        for path, values in slot.leaves.present(slot.wanted):
            if values == slot.wanted:
                continue
            pairs = list(zip(values, slot.wanted, strict=True))
            codes = {one: other for one, other in pairs if one is not None and other is not None}
            known = {(slot.leaves.sample(row), value) for row, value in enumerate(values) if value is not None}
            comes_again = len(known) - len(codes) >= max(_TWICE, len(codes))
            is_function = all(one is None or codes[one] == other for one, other in pairs)
            if comes_again and is_function and not any("\n" in text for pair in codes.items() for text in pair):
                text = f'lookup("{{table}}", {slot.leaves.term(path)})'
                cost = 2.0 + _BY_LETTER * max(map(len, codes))
                yield Proposal("table", text, (path,), slot.wanted, cost, (), tuple(sorted(codes.items())))


PROPOSERS: Final[tuple[Proposer, ...]] = (
    EqualValues(), Conversions(), Concatenations(), Constants(), CodeTables()
)  # fmt: skip
"""Who proposes what fills a target leaf, if nobody else is named."""
