"""A part of a document evaluated: the results of its filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from heptox.filtering.chunker import ChunkText
from heptox.filtering.evaluation import (
    Compiled,
    Compiled3,
    Failure,
    Item,
    Items,
    element_of,
    evaluated_tree,
    fragment,
)
from heptox.filtering.expression import ANY_ELEMENT, ANY_NODE
from heptox.filtering.fragments import Fragment
from heptox.filtering.naming import expanded_test, printed_name
from heptox.filtering.parts import Lookup, Part, Query
from heptox.filtering.schema_steps import TagPath
from heptox.xml import XmlElement

Found: TypeAlias = "Sequence[Fragment] | Failure"


class Result(NamedTuple):
    """What a filter selects in a part: fragments in document order, or why it has no value.

    ``begins`` says of each, where they are to be merged with those of other parts, where the element at a prefix in
    which it stands begins in the document.
    """

    number: int
    found: Found
    begins: Sequence[int] = ()


class PartEvaluator:
    """Evaluates the filters of a part on its chunks.

    With ``sharing``, what several filters have in common is evaluated once: equal expressions, and the values that
    they look up. Without, each expression is evaluated apart. Filters are in XPath 3.1 where there is a ``compiled_3``,
    which parts share, and else in XPath 1.0.
    """

    def __init__(self, part: Part, compiled_3: Compiled3 | None = None, *, sharing: bool = True) -> None:
        self._part = part
        self._compiled_3 = compiled_3
        self._sharing = sharing
        self._compiled = Compiled()

    def evaluate(self, chunk: ChunkText, file: str | None = None) -> list[Result]:
        """The results of all filters that select anything, in the order of the part's queries.

        Raises :class:`InputError` as :func:`evaluated_tree`, and :class:`DisseminationError` as
        :meth:`Compiled3.select`.
        """
        root = evaluated_tree(chunk.data, file)
        merged = self._part.merged
        places = _StartIndex(root, chunk.begins, self._compiled) if merged else None
        written = _Written()
        results = []
        for query, items in self.select(root, file):
            if isinstance(items, Failure):
                results.append(Result(query.number, items))
            elif items:
                begins = places.begins(items) if places is not None and query.number in merged else ()
                results.append(Result(query.number, written.fragments(items), begins))
        return results

    def select(self, root: XmlElement, file: str | None = None) -> Iterator[tuple[Query, Items]]:
        """What each query selects in the tree of a chunk, not written yet."""
        if self._compiled_3 is not None:
            selected = self._compiled_3.select([query.text for query in self._part.queries], root, file)
            for query in self._part.queries:
                yield query, selected[query.text]
            return
        # lxml makes an object of each element that is selected, and again when nobody has kept it
        kept = list(root.iter()) if len(self._part.queries) >= _KEEPING else []
        if self._sharing:
            shared = _Shared(root, self._compiled)
            for query in self._part.queries:
                yield query, shared.select(query)
        else:
            for query in self._part.queries:
                yield query, self._compiled.select(query.text, root)
        kept.clear()


_KEEPING: Final = 20
"""From how many queries on it is worth while to keep all elements of a tree."""


class _Shared:
    """What is evaluated once on a tree for all filters that ask for it."""

    def __init__(self, root: XmlElement, compiled: Compiled) -> None:
        self._root = root
        self._compiled = compiled
        self._selected: dict[str, Items] = {}
        self._by_value: dict[tuple[str, str], dict[str, list[XmlElement]]] = {}

    def select(self, query: Query) -> Items:
        if query.lookup is not None:
            return self._looked_up(query.lookup)
        return self._once(query.text)

    def _once(self, expression: str) -> Items:
        found = self._selected.get(expression)
        if found is None:
            found = self._selected[expression] = self._compiled.select(expression, self._root)
        return found

    def _looked_up(self, lookup: Lookup) -> Items:
        index = self._by_value.get(lookup[:2])
        if index is None:
            index = self._by_value[lookup[:2]] = self._index(lookup.base, lookup.key)
        elements = index.get(lookup.value, [])
        if not lookup.rest or not elements:
            return list[Item](elements)
        return self._compiled.relative(lookup.rest, elements)

    def _index(self, base: str, key: str) -> dict[str, list[XmlElement]]:
        """The elements at a plain path by the values that they have at a key, in document order."""
        index: dict[str, list[XmlElement]] = {}
        elements = self._once(base)
        for element in elements if isinstance(elements, list) else ():
            if isinstance(element, XmlElement):
                for value in self._values(element, key):
                    index.setdefault(value, []).append(element)
        return index

    def _values(self, element: XmlElement, key: str) -> set[str]:
        if key.startswith("@") and key[1:] not in {ANY_ELEMENT, ANY_NODE}:
            value = element.get(expanded_test(key[1:]))
            return {value} if value is not None else set()
        return {_string_value(item) for item in self._compiled.relative(key, (element,))}


def _string_value(item: Item) -> str:
    if not isinstance(item, XmlElement):
        return str(item)
    return "".join(map(str, item.itertext())) if len(item) else item.text or ""


class _Written:
    """Items as fragments: an element that several filters select is written once."""

    def __init__(self) -> None:
        self._lists: dict[int, tuple[list[Item], list[Fragment]]] = {}
        self._elements: dict[XmlElement, Fragment] = {}

    def fragments(self, items: list[Item]) -> list[Fragment]:
        known = self._lists.get(id(items))
        if known is not None:
            return known[1]
        made = [self._fragment(item) for item in items]
        self._lists[id(items)] = (items, made)  # which keeps the list, so that its identity stays its own
        return made

    def _fragment(self, item: Item) -> Fragment:
        if not isinstance(item, XmlElement):
            return fragment(item)
        made = self._elements.get(item)
        if made is None:
            made = self._elements[item] = fragment(item)
        return made


class _StartIndex:
    """Where in the document the elements at the prefixes of a chunk begin."""

    def __init__(self, root: XmlElement, begins: Mapping[TagPath, Sequence[int]], compiled: Compiled) -> None:
        self._of: dict[XmlElement, int] = {}
        for path, places in begins.items():
            elements = compiled.select("".join(f"/{printed_name(tag)}" for tag in path), root)
            if not isinstance(elements, list) or len(elements) != len(places):
                raise AssertionError(f"{len(places)} elements were marked at {'/'.join(path)}")
            self._of.update(zip(elements, places, strict=True))  # type: ignore[arg-type]

    def begins(self, items: Sequence[Item]) -> list[int]:
        return [self._begin(element_of(item)) for item in items]

    def _begin(self, element: XmlElement | None) -> int:
        while element is not None:
            place = self._of.get(element)
            if place is not None:
                return place
            element = element.getparent()
        raise AssertionError("a filter selects what stands at none of its prefixes")


def merged(results: Sequence[Result]) -> Result:
    """The results of one filter in several parts, in document order."""
    failed = next((each for each in results if isinstance(each.found, Failure)), None)
    if failed is not None:
        return failed
    keyed = [
        (begin, each)
        for result in results
        if not isinstance(result.found, Failure)
        for begin, each in zip(result.begins, result.found, strict=True)
    ]
    # those in one element at a prefix come from one part, and are in order: sorting keeps that
    keyed.sort(key=itemgetter(0))
    return Result(results[0].number, [each for _, each in keyed])
