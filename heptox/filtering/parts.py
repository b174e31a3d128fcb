"""What is done with a document: its parts, each a chunk and what is evaluated on it.

The parts are those of a chunking scheme, the potpourri (filters that fit no chunk, on what they need of the document),
and the whole document for filters that may look at anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from heptox.filtering.chunker import Projection
from heptox.filtering.cleaning import Branch, CleanedFilter
from heptox.filtering.expression import (
    ANY_NODE,
    DOWNWARD,
    Axis,
    Expression,
    Literal,
    LocationPath,
    Operation,
    Step,
    may_be_positional,
    print_steps,
)
from heptox.filtering.naming import printed_name
from heptox.filtering.requirements import Requirement
from heptox.filtering.schema_steps import TagPath
from heptox.filtering.scheme import ChunkingScheme

POTPOURRI: Final = "potpourri"
WHOLE: Final = "whole document"


class Lookup(NamedTuple):
    """An expression that selects by one value: what ``rest`` selects from the elements at ``base`` whose ``key`` has
    the ``value``."""

    base: str
    key: str
    value: str
    rest: str


@dataclass(frozen=True, slots=True)
class Query:
    """A filter, or those of its branches that a chunk has, as XPath; ``lookup`` is the same, where it has that form."""

    number: int
    text: str
    lookup: Lookup | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A chunk by its ``projection``, and the ``queries`` that are evaluated on it, those of the highest priority first.

    The results of the filters ``merged`` come from several parts, and are put in document order. A part that is the
    document as it stands has no projection; there is one at most, the last.
    """

    name: str
    projection: Projection | None
    queries: tuple[Query, ...]
    merged: frozenset[int] = frozenset()
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Registered:
    """A filter that is evaluated: cleaned, with its number and priority."""

    number: int
    cleaned: CleanedFilter
    priority: int = 0


def uncut_parts(filters: Iterable[Registered], *, outside: bool) -> tuple[Part, ...]:
    """The parts of a document that is not chunked: one, the whole of it.

    A document that is ``outside`` the schema has elements where that has none.
    """
    queries = []
    for each in filters:
        cleaned = each.cleaned
        if cleaned.branches is None or (outside and cleaned.relies_on_schema):
            queries.append((each, Query(each.number, _as_given(cleaned))))
        elif cleaned.branches:
            queries.append((each, _query(each.number, cleaned.branches)))
    return (_part(WHOLE, None, queries),) if queries else ()


def parts(
    scheme: ChunkingScheme, filters: Iterable[Registered], *, cut: bool = False, outside: bool = False
) -> tuple[Part, ...]:
    """The parts of a document by a scheme: one for each chunk that anything is evaluated on, and the others.

    A document that is ``cut`` comes in pieces, and filters that have to see more than the elements at the prefixes at
    once are in the potpourri then. For a document that is ``outside`` the schema, so that it has elements where that
    has none, filters for which the schema was relied on are evaluated on the whole.
    """
    in_chunks: list[list[tuple[Registered, tuple[Branch, ...]]]] = [[] for _ in scheme.chunks]
    potpourri: list[tuple[Registered, Query]] = []
    whole: list[tuple[Registered, Query]] = []
    required: set[Requirement] = set()
    merged: set[int] = set()
    places = _ChunkIndex(scheme)
    for each in filters:
        cleaned = each.cleaned
        if cleaned.required is None or (outside and cleaned.relies_on_schema):
            whole.append((each, Query(each.number, _as_given(cleaned))))
            continue
        if cleaned.is_empty:
            continue
        found = places.of(cleaned.branches, cut=cut) if cleaned.branches else None
        if found is None:
            potpourri.append((each, Query(each.number, str(cleaned))))
            required |= cleaned.required
            continue
        for number, branches in found.items():
            in_chunks[number].append((each, branches))
        if len(found) > 1:
            merged.add(each.number)
    made = [_chunk_part(number, scheme, chunk, merged, cut=cut) for number, chunk in enumerate(in_chunks) if chunk]
    if potpourri:
        made.append(_part(POTPOURRI, _projection(required), potpourri))
    if whole:
        made.append(_part(WHOLE, None, whole))
    return tuple(made)


class _ChunkIndex:
    """Where the branches of filters are evaluated."""

    def __init__(self, scheme: ChunkingScheme) -> None:
        self._chunk_of = {prefix: number for number, chunk in enumerate(scheme.chunks) for prefix in chunk.prefixes}

    def prefix(self, path: TagPath) -> TagPath | None:
        return next((path[:depth] for depth in range(1, len(path) + 1) if path[:depth] in self._chunk_of), None)

    def of(self, branches: Iterable[Branch], *, cut: bool) -> dict[int, tuple[Branch, ...]] | None:
        """The branches by chunk; ``None`` where one fits none, or cannot be evaluated on a piece of it."""
        found: dict[int, tuple[Branch, ...]] = {}
        for branch in branches:
            prefix = self.prefix(branch.path)
            if prefix is None or (cut and branch.anchor < _LEAST_UNIT):
                return None
            number = self._chunk_of[prefix]
            found[number] = (*found.get(number, ()), branch)
        return found


_LEAST_UNIT: Final = 2
"""The depth of the highest elements between which is cut: the children of the root."""


def _chunk_part(
    number: int,
    scheme: ChunkingScheme,
    filters: Sequence[tuple[Registered, tuple[Branch, ...]]],
    merged: set[int],
    *,
    cut: bool,
) -> Part:
    prefixes = frozenset(scheme.chunks[number].prefixes)
    required = {Requirement(prefix, whole=True) for prefix in prefixes}
    anchors: set[TagPath] = set()
    depths = sorted({len(prefix) for prefix in prefixes})
    for _, branches in filters:
        for branch in branches:
            required |= branch.required
            depth = next(depth for depth in depths if branch.path[:depth] in prefixes)
            anchors.add(branch.path[: min(branch.anchor, depth)])
    here = frozenset(each.number for each, _ in filters) & merged
    projection = _projection(required, _highest(anchors) if cut else frozenset(), prefixes if here else frozenset())
    queries = [(each, _query(each.number, branches)) for each, branches in filters]
    return _part(f"chunk {number + 1}", projection, queries, here)


def _part(
    name: str,
    projection: Projection | None,
    queries: Iterable[tuple[Registered, Query]],
    merged: frozenset[int] = frozenset(),
) -> Part:
    ordered = sorted(queries, key=lambda query: (-query[0].priority, query[0].number))
    return Part(name, projection, tuple(query for _, query in ordered), merged, ordered[0][0].priority)


def _highest(paths: Iterable[TagPath]) -> frozenset[TagPath]:
    """Those of the paths that none of the others begins."""
    given = frozenset(paths)
    return frozenset(path for path in given if not any(path[:depth] in given for depth in range(len(path))))


def _projection(
    required: Iterable[Requirement],
    units: frozenset[TagPath] = frozenset(),
    marked: frozenset[TagPath] = frozenset(),
) -> Projection:
    given = set(required)
    whole = _highest(each.path for each in given if each.whole)
    bare = {each.path for each in given if not each.whole}
    kept = {path for path in bare if not any(path[:depth] in whole for depth in range(len(path) + 1))}
    return Projection(whole, frozenset(kept), units, marked)


def _as_given(cleaned: CleanedFilter) -> str:
    return cleaned.text if cleaned.expression is None else str(cleaned.expression)


def _query(number: int, branches: Sequence[Branch]) -> Query:
    text = " | ".join(map(str, branches))
    return Query(number, text, _lookup(branches[0]) if len(branches) == 1 else None)


def _lookup(branch: Branch) -> Lookup | None:
    """A branch as a lookup: of the first predicates on its way, one compares something below with a string.

    >>> is_x = Operation("=", (LocationPath(False, (Step(Axis.ATTRIBUTE, "c"),)), Literal("'x'", is_number=False)))
    >>> _lookup(Branch(("a", "b"), ((), (is_x,)), (), 2, frozenset()))
    Lookup(base='/a/b', key='@c', value='x', rest='')
    """
    steps = branch.steps
    place = next((place for place, step in enumerate(steps) if step.predicates), len(branch.path))
    if place >= len(branch.path):
        return None
    conditions = [each for predicate in steps[place].predicates for each in _conjuncts(predicate)]
    if any(map(may_be_positional, conditions)):
        return None
    for number, condition in enumerate(conditions):
        compared = _compared(condition)
        if compared is not None:
            others = (*conditions[:number], *conditions[number + 1 :])
            itself = (Step(Axis.SELF, ANY_NODE, others),) if others else ()
            base = "".join(f"/{printed_name(tag)}" for tag in branch.path[: place + 1])
            return Lookup(base, str(compared[0]), compared[1], print_steps(itself + steps[place + 1 :], absolute=False))
    return None


def _conjuncts(predicate: Expression) -> Iterator[Expression]:
    """The conditions that a predicate is the conjunction of."""
    if isinstance(predicate, Operation) and predicate.symbol == "and":
        for each in predicate.operands:
            yield from _conjuncts(each)
    else:
        yield predicate


def _compared(predicate: Expression) -> tuple[LocationPath, str] | None:
    match predicate:
        case Operation(symbol="=", operands=(LocationPath() as path, Literal() as value)):
            pass
        case Operation(symbol="=", operands=(Literal() as value, LocationPath() as path)):
            pass
        case _:
            return None
    is_plain = all(step.axis in DOWNWARD and not step.predicates for step in path.steps)
    return (path, value.text[1:-1]) if is_plain and path.steps and not path.absolute and not value.is_number else None
