"""Filters that come and go, and the plan by which they are carried out on documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from heptox.errors import Position
from heptox.filtering.chunker import MOST_HELD, PIECE
from heptox.filtering.cleaning import CleanedFilter, clean
from heptox.filtering.naming import renamed, without_comments
from heptox.filtering.parts import Part, Registered, parts, uncut_parts
from heptox.filtering.query_tree import QueryTree, Sizes
from heptox.filtering.reading import Version, read_filter
from heptox.filtering.schema_steps import SchemaSteps
from heptox.filtering.scheme import ChunkingScheme, adapted, chunking_scheme
from heptox.schema import SchemaGraph, by_name
from heptox.xml import NO_PREFIXES, Prefixes


class Situation(NamedTuple):
    """What has a say in how a document is filtered, besides the filters.

    It is ``cut`` into pieces when it is large, and ``outside`` the schema when an element stands where that has none.
    """

    cut: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class FilteringPlan:
    """How filters are carried out: by a chunking scheme, or on whole documents where that is ``None``.

    A document is cut into pieces from ``size`` bytes on; ``most_held`` is how many bytes of one are held at once, at
    most. ``sharing`` is as :class:`~heptox.filtering.results.PartEvaluator` has it.
    """

    graph: SchemaGraph
    filters: tuple[Registered, ...]
    scheme: ChunkingScheme | None
    version: Version = Version.ONE
    sharing: bool = True
    size: int = PIECE
    most_held: int = MOST_HELD

    @property
    def relies_on_schema(self) -> bool:
        """Whether documents have to be looked at for elements that stand where the schema has none."""
        return any(each.cleaned.relies_on_schema for each in self.filters)

    def parts(self, situation: Situation = Situation()) -> tuple[Part, ...]:  # noqa: B008  # it never changes
        """What is done with a document."""
        if self.scheme is None:
            return uncut_parts(self.filters, outside=situation.outside)
        return parts(self.scheme, self.filters, cut=situation.cut, outside=situation.outside)


class FilterSet:
    """Filters over documents of a schema, by number.

    >>> from heptox.schema import parse_dtd
    >>> filters = FilterSet(parse_dtd("<!ELEMENT a (b*, c*)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>"))
    >>> print(filters.add(1, "//b"))
    /a/b
    >>> filters.add(2, "/a/c/b").is_empty
    True
    >>> [part.name for part in filters.plan(2).parts()]
    ['chunk 1']
    """

    def __init__(self, graph: SchemaGraph, version: Version = Version.ONE) -> None:
        self._graph = graph = by_name(graph)
        self._version = version
        self._schema = SchemaSteps(graph)
        self._filters: dict[int, Registered] = {}
        self._tree = QueryTree()
        self._schemes: dict[int, ChunkingScheme] = {}

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def graph(self) -> SchemaGraph:
        """The schema."""
        return self._graph

    @property
    def tree(self) -> QueryTree:
        """The query tree of all branches."""
        return self._tree

    def add(
        self,
        number: int,
        text: str,
        *,
        priority: int = 0,
        position: Position | None = None,
        prefixes: Prefixes = NO_PREFIXES,
    ) -> CleanedFilter:
        """Add a filter, whose text begins at a position, and has some prefixes; those of higher priority are evaluated
        first.

        Raises :class:`GrammarError` as :func:`read_filter`, and :class:`ValueError` for a number that is in use.
        """
        if number in self._filters:
            raise ValueError(f"there is a filter {number}")
        expression = read_filter(text, self._version, position, prefixes)
        given = without_comments(text) if self._version is Version.THREE else text
        cleaned = clean(renamed(given, prefixes), expression, self._schema)
        self._filters[number] = Registered(number, cleaned, priority)
        self._tree.add(branch.path for branch in cleaned.branches or ())
        return cleaned

    def remove(self, number: int) -> None:
        """Remove a filter. Raises :class:`KeyError` where there is none of that number."""
        cleaned = self._filters.pop(number).cleaned
        self._tree.remove(branch.path for branch in cleaned.branches or ())

    def scheme(self, degree: int, sizes: Sizes | None = None) -> ChunkingScheme:
        """The chunking scheme of a degree, for documents whose elements have such sizes.

        As filters come and go it stays as it is, as far as that is not worth changing.
        """
        if degree < 1:
            raise ValueError(f"a chunking scheme has one chunk or more, not {degree}")
        before = self._schemes.get(degree)
        if before is None:
            found = chunking_scheme(self._tree, degree, self._graph, sizes)
        else:
            found = adapted(before, self._tree, self._graph, sizes)
        self._schemes[degree] = found
        return found

    def plan(self, degree: int | None, sizes: Sizes | None = None) -> FilteringPlan:
        """The plan with so many chunks, at most; ``None`` for the whole document.

        Raises :class:`ValueError` for less than one chunk.
        """
        scheme = None if degree is None else self.scheme(degree, sizes)
        return FilteringPlan(self._graph, tuple(self._filters.values()), scheme, self._version)
