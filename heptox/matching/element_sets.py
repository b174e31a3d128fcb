"""Whether tree patterns embed in one document, decided for many patterns at once.

A pattern is decided from its leaves up: each of its nodes has the set of elements that it may go to. Nodes that
patterns share are decided once, and all of one height together. A set is a row of bits, one for the document node and
one for each element in document order; the parents, or the ancestors, of a set are looked up for each of its bytes. So
a pattern takes polynomial time, however often names recur on a path.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from itertools import accumulate
from operator import or_
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from heptox.matching.shared_nodes import (
    ABOVE,
    ANYWHERE_ABOVE,
    HERE,
    HERE_OR_ABOVE,
    Comparison,
    Condition,
    Needed,
)
from heptox.matching.tag_paths import Ids
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, OPERATORS, TEXT, Sign, double, is_leaf_test
from heptox.xml import XmlElement

Flags: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.uint64]
"""Sets of elements: a row for each, a column for every 64 elements."""

_Key = TypeVar("_Key", str, float)
_Asked = TypeVar("_Asked", str, float, contravariant=True)

_DOCUMENT: Final = 1
_WORD: Final = 64
_BYTES: Final = 8
_MOST_LOOKED_UP: Final = 4
"""How many columns sets may have to be looked up byte by byte."""
_FEW: Final = 256
"""How many elements are put into a set one by one, and how many values have a set each."""
_CELLS: Final = 1 << 22
"""How many bits of wider sets are handled at once."""
_SPARSE: Final = 32
"""Of how many bits one is set at most where it takes less time to climb from each than to count along all."""


class ElementSets:
    """The sets of elements of one document, which is not to be changed meanwhile.

    ``elements`` are all of it, in its order.
    """

    def __init__(self, elements: Sequence[XmlElement]) -> None:
        self._elements = elements
        self._width = len(elements) // _WORD + 1
        numbers: dict[XmlElement | None, int] = {None: 0}
        self._parents = [0]
        self._by_name: dict[str, list[int]] = {}
        for number, element in enumerate(elements, 1):
            self._parents.append(numbers[element.getparent()])
            numbers[element] = number
            self._by_name.setdefault(element.tag, []).append(number)
        self._everything = (1 << self._width * _WORD) - 1
        self._named: dict[str, int] = {ANY_ELEMENT: (1 << len(elements) + 1) - 2}
        self._by_attribute: dict[str, list[tuple[str, int]]] | None = None
        self._values: dict[str, list[tuple[str, int]]] = {}
        self._texts: dict[str, _Values[str]] = {}
        self._numbers: dict[str, _Values[float]] = {}
        self._relations = _Relations(self._parents, self._width)

    def embed(self, needed: Needed, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
        """Which of the patterns that need these nodes embed in the document."""
        sets = self._fulfilling(needed.conditions, conditions)
        left, right = needed.left, needed.right
        # a set is first that of the places of a node, then that of the places above which it can be placed
        first = 1
        for relation, end in needed.groups:
            if end > first:
                group = slice(first, end)
                found = sets[group]
                found &= sets[left[group]]
                found &= sets[right[group]]
                if relation != HERE:
                    sets[group] = self._relations.above(found, relation)
                first = end
        embed: NDArray[np.bool_] = (sets[needed.roots, 0] & np.uint64(_DOCUMENT)).astype(np.bool_)
        return embed

    def _fulfilling(self, asked: Ids, conditions: Sequence[Condition]) -> Rows:
        """For each of the conditions that are asked for, the elements that fulfil it."""
        is_asked = np.zeros(len(conditions), np.bool_)
        is_asked[asked] = True
        distinct = np.flatnonzero(is_asked)
        rows = _rows([self._set(conditions[number]) for number in distinct.tolist()], self._width)
        place = np.empty(len(conditions), np.int32)
        place[distinct] = np.arange(distinct.size, dtype=np.int32)
        return rows[place[asked]]

    def _set(self, condition: Condition) -> int:
        test, comparisons = condition
        if len(comparisons) == 1:
            ((operator, text, number),) = comparisons
            if number is None:
                texts = self._texts.get(test) or self._ordered_texts(test)
                return texts.passing(operator, text)
            numbers = self._numbers.get(test) or self._ordered_numbers(test)
            return numbers.passing(operator, number)
        if not test:
            return self._everything
        if not comparisons and not is_leaf_test(test):
            named = self._named.get(test)
            if named is None:
                named = self._named[test] = _set_of(self._by_name.get(test, ()))
            return named
        pairs = self._pairs(test)
        return _set_of(
            [number for value, number in pairs if all(_passes(value, comparison) for comparison in comparisons)]
        )

    def _ordered_texts(self, test: str) -> _Values[str]:
        pairs = self._pairs(test)
        found = self._texts[test] = _Ordered(pairs) if len(pairs) <= _FEW else _Sorted(pairs)
        return found

    def _ordered_numbers(self, test: str) -> _Values[float]:
        doubles = [(double(value), number) for value, number in self._pairs(test)]
        pairs = [(value, number) for value, number in doubles if value is not None]
        found = self._numbers[test] = _Ordered(pairs) if len(pairs) <= _FEW else _Sorted(pairs)
        return found

    def _pairs(self, test: str) -> list[tuple[str, int]]:
        found = self._values.get(test)
        if found is None:
            found = self._values[test] = self._found(test)
        return found

    def _found(self, test: str) -> list[tuple[str, int]]:
        """The value of each node that passes a test, with the number of the element that is, or has, the node."""
        numbered = enumerate(self._elements, 1)
        if test == TEXT:
            return [(text, number) for number, element in numbered for text in texts_of(element)]
        if test == ANY_ATTRIBUTE:
            return [(str(value), number) for number, element in numbered for value in element.values()]
        if test[0] == "@":
            return self._attributes().get(test[1:], [])
        if test == ANY_ELEMENT:
            return [(string_value(element), number) for number, element in numbered]
        return [(string_value(self._elements[number - 1]), number) for number in self._by_name.get(test, ())]

    def _attributes(self) -> dict[str, list[tuple[str, int]]]:
        """The values of the attributes of each name, found for all names at once."""
        if self._by_attribute is None:
            self._by_attribute = {}
            for number, element in enumerate(self._elements, 1):
                for name, value in element.items():
                    self._by_attribute.setdefault(str(name), []).append((str(value), number))
        return self._by_attribute


class _Relations:
    """The parents, or the ancestors, of sets."""

    def __init__(self, parents: Sequence[int], width: int) -> None:
        self._parents = parents
        self._width = width
        self._tables: dict[int, Rows] = {}

    def above(self, sets: Rows, relation: int) -> Rows:
        if relation == HERE_OR_ABOVE:
            return sets | self.above(sets, ANYWHERE_ABOVE)
        if self._width > _MOST_LOOKED_UP:
            return self._followed(sets, relation)
        tables = self._tables.get(relation)
        if tables is None:
            tables = self._tables[relation] = self._made(relation)
        octets = np.ascontiguousarray(sets).view(np.uint8)
        found: Rows = tables[0][octets[:, 0]]
        for place in range(1, len(tables)):
            found |= tables[place][octets[:, place]]
        return found

    def _made(self, relation: int) -> Rows:
        """For each byte of a set and each value of it, what is above."""
        above = [0]
        for parent in self._parents[1:]:
            above.append(1 << parent | (above[parent] if relation == ANYWHERE_ABOVE else 0))
        count = -(-len(above) // _BYTES)
        above += [0] * (count * _BYTES - len(above))
        rows = _rows(above, self._width).reshape(count, _BYTES, self._width)
        tables = np.zeros((count, 256, self._width), np.uint64)
        for bit in range(_BYTES):
            tables[:, 1 << bit : 2 << bit] = tables[:, : 1 << bit] | rows[:, bit : bit + 1]
        return tables

    def _followed(self, sets: Rows, relation: int) -> Rows:
        """What :meth:`above` says, for wide sets, some at a time."""
        found = np.empty_like(sets)
        at_once = max(1, _CELLS // (self._width * _WORD))
        for first in range(0, len(sets), at_once):
            some = np.ascontiguousarray(sets[first : first + at_once])
            bits = np.unpackbits(some.view(np.uint8), axis=1, bitorder="little")
            if relation == ANYWHERE_ABOVE and np.count_nonzero(bits) * _SPARSE > bits.size:
                above = self._containing(bits)
            else:
                above = self._climbed(bits, relation)
            found[first : first + at_once] = np.packbits(above, axis=1, bitorder="little").view(np.uint64)
        return found

    def _containing(self, bits: Flags) -> Flags:
        """The ancestors of full sets: elements that end behind more of a set than they begin behind."""
        counts = np.cumsum(bits, axis=1, dtype=np.int32)
        contain: Flags = (np.take(counts, self._ends, axis=1) > counts).view(np.uint8)
        return contain

    def _climbed(self, bits: Flags, relation: int) -> Flags:
        """The parents, or the ancestors, of sets with few elements, level by level."""
        elements: NDArray[np.integer]
        sets_of, elements = np.nonzero(bits)
        parents = self._parent_of
        above = np.zeros(bits.shape, np.uint8)
        below_document = elements > 0
        sets_of, elements = sets_of[below_document], parents[elements[below_document]]
        while elements.size:
            new = above[sets_of, elements] == 0
            sets_of, elements = sets_of[new], elements[new]
            above[sets_of, elements] = 1
            if relation == ABOVE:
                break
            inner = elements > 0
            sets_of, elements = sets_of[inner], parents[elements[inner]]
        return above

    @cached_property
    def _parent_of(self) -> NDArray[np.int32]:
        return np.array(self._parents, np.int32)

    @cached_property
    def _ends(self) -> NDArray[np.int32]:
        """For each place of a set the last element that is in it, itself where nothing is."""
        ends = list(range(self._width * _WORD))
        for number in range(len(self._parents) - 1, 0, -1):
            parent = self._parents[number]
            ends[parent] = max(ends[parent], ends[number])
        return np.array(ends, np.int32)


def _rows(sets: Sequence[int], width: int) -> Rows:
    packed = b"".join([elements.to_bytes(width * _BYTES, "little") for elements in sets])
    return np.frombuffer(packed, "<u8").reshape(-1, width)


def _set_of(numbers: Sequence[int] | Numbers) -> int:
    """Elements as a set."""
    places = np.asarray(numbers, np.int64)
    if len(places) <= _FEW:
        found = 0
        for number in places.tolist():
            found |= 1 << number
        return found
    bits = np.zeros(int(places.max()) + 1, np.bool_)
    bits[places] = True
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


class _Values(Protocol[_Asked]):
    """The values of the nodes that pass a test, with their elements."""

    def passing(self, operator: Sign, constant: _Asked) -> int:
        """The elements of the values that compare so with the constant."""
        ...


class _Ordered(Generic[_Key]):
    """Few values with the set of each; in order, with the sets of all before and after each, when that is asked for."""

    def __init__(self, pairs: Iterable[tuple[_Key, int]]) -> None:
        self._sets: dict[_Key, int] = {}
        self._unordered = 0  # NaN is different from all, and neither less nor greater
        for value, number in pairs:
            if value == value:
                self._sets[value] = self._sets.get(value, 0) | 1 << number
            else:
                self._unordered |= 1 << number
        self._all = reduce(or_, self._sets.values(), self._unordered)
        self._keys: list[_Key] = []
        self._before: list[int] = []
        self._after: list[int] = []

    def passing(self, operator: Sign, constant: _Key) -> int:
        """The elements of the values that compare so with the constant."""
        if operator == "=":
            return self._sets.get(constant, 0)
        if operator == "!=" and constant not in self._sets:
            return self._all
        if not self._before:
            self._order()
        match operator:
            case "!=":
                return self.passing("<", constant) | self.passing(">", constant) | self._unordered
            case "<":
                return self._before[bisect_left(self._keys, constant)]
            case "<=":
                return self._before[bisect_right(self._keys, constant)]
            case ">":
                return self._after[bisect_right(self._keys, constant)]
            case ">=":
                return self._after[bisect_left(self._keys, constant)]

    def _order(self) -> None:
        sets = self._sets
        self._keys = sorted(sets)
        self._before = list(accumulate((sets[key] for key in self._keys), or_, initial=0))
        self._after = list(accumulate((sets[key] for key in reversed(self._keys)), or_, initial=0))[::-1]


class _Sorted(Generic[_Key]):
    """Many values in order: a set for each would take memory that grows with the square of the document."""

    def __init__(self, pairs: Sequence[tuple[_Key, int]]) -> None:
        ordered: list[tuple[_Key, int]] = sorted((value, number) for value, number in pairs if value == value)
        self._keys: list[_Key] = [value for value, _ in ordered]
        self._elements: Numbers = np.array([number for _, number in ordered], np.int64)
        self._unordered: Numbers = np.array([number for value, number in pairs if value != value], np.int64)

    def passing(self, operator: Sign, constant: _Key) -> int:
        """The elements of the values that compare so with the constant."""
        begin: int = bisect_left(self._keys, constant)
        end: int = bisect_right(self._keys, constant)
        elements = self._elements
        match operator:
            case "=":
                return _set_of(elements[begin:end])
            case "!=":
                return _set_of(np.concatenate((elements[:begin], elements[end:], self._unordered)))
            case "<":
                return _set_of(elements[:begin])
            case "<=":
                return _set_of(elements[:end])
            case ">":
                return _set_of(elements[end:])
            case ">=":
                return _set_of(elements[begin:])


def _passes(value: str, comparison: Comparison) -> bool:
    if comparison.number is None:
        return OPERATORS[comparison.operator].holds(value, comparison.text)
    number = double(value)
    return number is not None and OPERATORS[comparison.operator].holds(number, comparison.number)


def string_value(element: XmlElement) -> str:
    """All text in an element."""
    return "".join(map(str, element.itertext())) if len(element) else str(element.text or "")


def texts_of(element: XmlElement) -> list[str]:
    """The text nodes that are children of an element."""
    return [str(text) for text in (element.text, *(child.tail for child in element)) if text]
