"""Whether tree patterns embed in one document, decided for many patterns that have parts in common.

A pattern is decided from its leaves up: each of its nodes has the set of elements that it may go to, which is found once
for all patterns that have the same node with the same below it. Sets are integers, a bit for each element in document
order; so a pattern takes polynomial time, however often names recur on a path.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from heptox.pattern import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    COMPARE,
    TEXT,
    Number,
    Operator,
    PatternNode,
    TreePattern,
    ValueTest,
    double,
    is_leaf_test,
    literal,
)
from heptox.xmlio import XmlElement

ElementSet: TypeAlias = int

_NOTHING: Final[ElementSet] = 0
_ROOT: Final[ElementSet] = 1


class _Comparison(NamedTuple):
    """A value test; ``number`` is what values are compared with as numbers, ``text`` is for all others."""

    operator: Operator
    text: str
    number: float | None


class SharedNode:
    """A node of a pattern, one object for all patterns that have the same node with the same below it."""

    __slots__ = ("children", "comparisons", "descends", "height", "test")

    def __init__(
        self, test: str, descends: bool, comparisons: tuple[_Comparison, ...], children: tuple[SharedNode, ...]
    ) -> None:
        self.test = test
        self.descends = descends
        self.comparisons = comparisons
        self.children = tuple(sorted(children, key=attrgetter("height")))  # what is soon decided comes first
        self.height: int = 1 + max((child.height for child in children), default=0)


class SharedPatterns:
    """Gives equal nodes of patterns one object each.

    >>> node = PatternNode("/", "b", (), (PatternNode("/", "@x"), PatternNode("//", "c")))
    >>> shared = SharedPatterns()
    >>> one, = shared.share(TreePattern((node,)))
    >>> two, = shared.share(TreePattern((PatternNode("//", "a", (), (node,)),)))
    >>> two.children[0] is one
    True
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], SharedNode] = {}

    def __len__(self) -> int:
        """How many different nodes there are."""
        return len(self._nodes)

    def share(self, pattern: TreePattern) -> tuple[SharedNode, ...]:
        """The nodes below the document node."""
        return tuple(self._shared(node) for node in pattern.children)

    def keep(self, roots: Sequence[tuple[SharedNode, ...]]) -> None:
        """Forget the nodes that none of these has at or below it."""
        self._nodes.clear()
        left = [node for nodes in roots for node in nodes]
        while left:
            node = left.pop()
            if self._nodes.setdefault(_key(node), node) is node:
                left += node.children

    def _shared(self, node: PatternNode) -> SharedNode:
        below = tuple(map(self._shared, node.children))
        made = SharedNode(node.test, node.axis == "//", tuple(map(_comparison, node.values)), below)
        return self._nodes.setdefault(_key(made), made)


def _key(node: SharedNode) -> tuple[object, ...]:
    return node.descends, node.test, node.comparisons, node.children


def _comparison(value: ValueTest) -> _Comparison:
    constant = value.constant
    if isinstance(constant, Number):
        return _Comparison(value.operator, "", float(literal(constant.lexical)))
    return _Comparison(value.operator, constant.value, None)


class ElementSets:
    """The sets of elements of one document, each found when it is first needed. The document is not to be changed.

    ``elements`` are those of the document, in its order.
    """

    def __init__(self, elements: Sequence[XmlElement]) -> None:
        self._elements = elements
        number_of = {element: number for number, element in enumerate(elements)}
        self._parents = [-1, *(number_of[element.getparent()] for element in elements[1:])]  # type: ignore[index]
        self._named: dict[str, ElementSet] = {ANY_ELEMENT: (1 << len(elements)) - 1}
        for number, element in enumerate(elements):
            name = element.tag
            self._named[name] = self._named.get(name, 0) | 1 << number
        self._of_node: dict[SharedNode, ElementSet] = {}
        self._above_node: dict[SharedNode, ElementSet] = {}
        self._above_set: dict[ElementSet, ElementSet] = {}
        self._anywhere_above: dict[ElementSet, ElementSet] = {}
        self._values: dict[str, _Values] = {}
        self._passing: dict[tuple[str, tuple[_Comparison, ...]], ElementSet] = {}

    def embeds(self, nodes: tuple[SharedNode, ...]) -> bool:
        """Whether all these nodes, with what is below them, can be placed below the document node."""
        return all(map(self._below_document, nodes))

    def _below_document(self, node: SharedNode) -> bool:
        if is_leaf_test(node.test):
            return node.descends and self._owners(node) != _NOTHING
        found = self._of(node)
        return found != _NOTHING if node.descends else bool(found & _ROOT)

    def _of(self, node: SharedNode) -> ElementSet:
        """The elements that a node which stands for an element may go to."""
        found = self._of_node.get(node)
        if found is None:
            if node.comparisons:
                found = self._with_values(node)
            else:
                found = self._named.get(node.test, _NOTHING)
            for child in node.children:
                if not found:
                    break
                found &= self._above(child)
            self._of_node[node] = found
        return found

    def _above(self, node: SharedNode) -> ElementSet:
        """The elements below which, as its axis says, a node can be placed."""
        found = self._above_node.get(node)
        if found is None:
            if is_leaf_test(node.test):
                found = self._owners(node)
                if node.descends:
                    found |= self._ancestors(found)
            else:
                found = self._of(node)
                found = self._ancestors(found) if node.descends else self._parents_of(found)
            self._above_node[node] = found
        return found

    def _parents_of(self, elements: ElementSet) -> ElementSet:
        found = self._above_set.get(elements)
        if found is None:
            found, left = _NOTHING, elements & ~_ROOT
            while left:
                last = left.bit_length() - 1
                left ^= 1 << last
                found |= 1 << self._parents[last]
            self._above_set[elements] = found
        return found

    def _ancestors(self, elements: ElementSet) -> ElementSet:
        found = self._anywhere_above.get(elements)
        if found is None:
            found, left = _NOTHING, elements & ~_ROOT
            while left:
                last = left.bit_length() - 1
                left ^= 1 << last
                above = 1 << self._parents[last]
                found |= above
                left |= above & ~_ROOT  # a parent comes before: it is looked at once, later
            self._anywhere_above[elements] = found
        return found

    # values

    def _owners(self, node: SharedNode) -> ElementSet:
        """The elements that have such an attribute, or such a text."""
        return self._with_values(node) if node.comparisons else self._valued(node.test).elements

    def _with_values(self, node: SharedNode) -> ElementSet:
        key = node.test, node.comparisons
        found = self._passing.get(key)
        if found is None:
            found = self._passing[key] = self._valued(node.test).passing(node.comparisons)
        return found

    def _valued(self, test: str) -> _Values:
        found = self._values.get(test)
        if found is None:
            found = self._values[test] = _Values(self._pairs(test))
        return found

    def _pairs(self, test: str) -> list[tuple[str, ElementSet]]:
        """The value of each node that passes a test, with the element that is, or has, the node."""
        numbered = list(enumerate(self._elements))
        if test == TEXT:
            return [(str(text), 1 << number) for number, element in numbered for text in texts_of(element)]
        if test == ANY_ATTRIBUTE:
            return [(str(value), 1 << number) for number, element in numbered for value in element.values()]
        if test[0] == "@":
            name = test[1:]
            return [
                (str(value), 1 << number) for number, element in numbered if (value := element.get(name)) is not None
            ]
        named = self._named.get(test, _NOTHING)
        return [(string_value(element), 1 << number) for number, element in numbered if named >> number & 1]


class _Values:
    """The values of the nodes that pass one test; the element of each, as a set."""

    def __init__(self, pairs: list[tuple[str, ElementSet]]) -> None:
        self._pairs = pairs
        self._with_text: dict[str, ElementSet] | None = None
        self._numbers: list[float | None] | None = None
        self.elements = _NOTHING
        for _, element in pairs:
            self.elements |= element

    def passing(self, comparisons: tuple[_Comparison, ...]) -> ElementSet:
        """The elements of which one value, of one node, passes all comparisons."""
        if len(comparisons) == 1 and comparisons[0].operator == "=" and comparisons[0].number is None:
            return self._equal(comparisons[0].text)
        found = _NOTHING
        for number, (_, element) in enumerate(self._pairs):
            if all(self._passes(number, comparison) for comparison in comparisons):
                found |= element
        return found

    def _equal(self, text: str) -> ElementSet:
        if self._with_text is None:
            self._with_text = {}
            for value, element in self._pairs:
                self._with_text[value] = self._with_text.get(value, _NOTHING) | element
        return self._with_text.get(text, _NOTHING)

    def _passes(self, number: int, comparison: _Comparison) -> bool:
        if comparison.number is None:
            return COMPARE[comparison.operator](self._pairs[number][0], comparison.text)
        if self._numbers is None:
            self._numbers = [double(value) for value, _ in self._pairs]
        value = self._numbers[number]
        return value is not None and COMPARE[comparison.operator](value, comparison.number)


def string_value(element: XmlElement) -> str:
    """All text in an element."""
    return "".join(map(str, element.itertext())) if len(element) else str(element.text or "")


def texts_of(element: XmlElement) -> list[str]:
    """The text nodes that are children of an element."""
    return [str(text) for text in (element.text, *(child.tail for child in element)) if text]
