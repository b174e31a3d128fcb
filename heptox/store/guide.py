"""The schema that a document itself shows: which element types stand in which, how often, and what holds text.

It is a data guide (Goldman and Widom, *DataGuides*, 1997) by element types, as a DTD is. Nothing is required in it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from heptox.schema import Attribute, AttributeType, Cardinality, Child, Element, SchemaGraph
from heptox.store.canonical import Form
from heptox.store.markup import Markup, Names
from heptox.store.places import NOWHERE, Numbers
from heptox.store.shredding import is_white
from heptox.store.structure import Structure, structure
from heptox.store.written_names import WrittenNames
from heptox.xml import NO_PREFIXES, Prefixes

MOST_NAMES: Final = 10_000
"""How many different names a document may have of which a guide is made."""

_WIDTH: Final = 1 << 20
_FEW_NAMES: Final = 1_000


class TooManyNamesError(Exception):
    """A document has over :data:`MOST_NAMES` different names."""


class _Numbered(dict[str, int]):
    """Names with their numbers, which they get when they are first asked for; declarations of namespaces get none."""

    def get(self, name: str, default: int = NOWHERE) -> int:  # type: ignore[override]  # there is no other default
        if name in self:
            return self[name]
        if name == "xmlns" or name.startswith("xmlns:"):
            return default
        if len(self) == MOST_NAMES:
            raise TooManyNamesError
        self[name] = len(self)
        return self[name]


class OpenForm(Form):
    """The form of documents of which no schema is known: all names are, and get numbers as they come."""

    def __init__(self, prefixes: Prefixes = NO_PREFIXES) -> None:
        super().__init__(None, Names(_Numbered(), _Numbered()), WrittenNames(prefixes))

    def _has_its_attributes(self, found: Markup) -> bool:
        return not (found.attributes.names == NOWHERE).any() and self._is_normalised(found)


class Guide:
    """Makes the guide of a document from its blocks, in which names have the numbers of a form."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._types = np.array([NOWHERE])
        self._once = np.zeros(0, np.int64)
        self._edges: dict[int, dict[int, bool]] = {}
        self._attributes: dict[int, dict[int, None]] = {}
        self._with_text: set[int] = set()
        self._with_words: set[int] = set()
        self._root = NOWHERE

    def add(self, markup: Markup) -> None:
        """Look at the next block."""
        found = structure(markup, len(self._types))
        types = np.concatenate([self._types, markup.types])[found.tags]
        if self._root == NOWHERE:
            self._root = int(types[1])
        self._add_edges(found, types)
        self._add_texts(found, types)
        owners = types[found.numbers[found.before + markup.attributes.tags]]
        for owner, attribute in self._pairs(owners, markup.attributes.names):
            self._attributes.setdefault(owner, {})[attribute] = None
        self._types = types[found.open]

    def _add_edges(self, found: Structure, types: Numbers) -> None:
        new = found.new[found.parents[found.new] > 0]
        for parent, child in self._pairs(types[found.parents[new]], types[new]):
            self._edges.setdefault(parent, {}).setdefault(child, False)
        children = np.sort(np.concatenate([self._once, found.parents[new] * _WIDTH + types[new]]))
        again = np.zeros(len(children), np.bool_)
        again[1:] = children[1:] == children[:-1]
        parents, kinds = np.divmod(children[again], _WIDTH)
        for parent, child in self._pairs(types[parents], kinds):
            self._edges[parent][child] = True
        numbers = np.full(len(types), NOWHERE)
        numbers[found.open] = np.arange(len(found.open))
        parents, kinds = np.divmod(children[~again], _WIDTH)
        kept = numbers[parents] != NOWHERE
        self._once = numbers[parents[kept]] * _WIDTH + kinds[kept]

    def _pairs(self, first: Numbers, second: Numbers) -> list[tuple[int, int]]:
        """The different pairs of a type and a type, or an attribute."""
        width = len(self._names.types) + len(self._names.attributes)
        if width > _FEW_NAMES:
            found = np.unique(first * width + second)
        else:  # a table is ten times as fast
            seen = np.zeros(width * width, np.bool_)
            seen[first * width + second] = True
            found = np.flatnonzero(seen)
        return [divmod(pair, width) for pair in found.tolist()]

    def _add_texts(self, found: Structure, types: Numbers) -> None:
        texts, around = found.texts()
        kinds = types[around]
        self._with_text.update(np.unique(kinds).tolist())
        for kind in self._with_text - self._with_words:
            mine = texts[kinds == kind]
            if len(mine) and not (is_white(found, mine[:1]) and is_white(found, mine)):
                self._with_words.add(kind)

    @property
    def has_white_space(self) -> bool:
        """Whether there is white space that stands among elements, which the graph does not say."""
        return bool(self._edges.keys() & (self._with_text - self._with_words))

    def graph(self) -> SchemaGraph:
        """The guide. Text in elements that have children is recorded where it is more than white space somewhere."""
        names = list(self._names.types)
        attributes = list(self._names.attributes)
        elements = {
            name: Element(
                name,
                tuple(
                    Child(names[child], Cardinality.MANY if repeats else Cardinality.OPTIONAL)
                    for child, repeats in self._edges.get(number, {}).items()
                ),
                tuple(
                    Attribute(attributes[attribute], AttributeType.CDATA, Cardinality.OPTIONAL)
                    for attribute in self._attributes.get(number, {})
                ),
                number in (self._with_words if number in self._edges else self._with_text),
            )
            for number, name in enumerate(names)
        }
        return SchemaGraph(names[self._root], elements)
