"""All queries of an emulation, each with a number, and their translations across mappings, made once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping as Table
from dataclasses import dataclass, field

from heptox.cluster.emulated import Body, Crossing, QueryFacts
from heptox.cluster.network import Crossings
from heptox.cluster.plan import Plan
from heptox.cluster.workload import SCHEMAS, XMARK, Edge, paths, query
from heptox.errors import ClusterError, Fault, HeptoxError
from heptox.grammar import Expression, decode_query, encode_query, parse_query, print_query
from heptox.mapping import Mapping, load_mapping
from heptox.peer import Hop, Query, Translated, Untranslated, body_key, encode, translated
from heptox.schema import SchemaGraph, read_dtd
from heptox.translate import Direction, Hop as Crossed, translate_path

_MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """A translation to be made: of a query across a mapping."""

    edge: Edge
    to: Direction
    body: Body
    value: object


@dataclass(frozen=True, slots=True)
class Result:
    """What a translation gave, and the ``seconds`` it took."""

    found: Translated | Untranslated
    seconds: float


def timed_translation(request: Request, mapping: Mapping) -> Result:
    """Make a translation, as a peer does.

    It is made twice, and the shorter time is reported: the first one in a process also loads what all
    need, which a peer that runs for long has done before.
    """
    results = []
    for _ in range(2):
        began = time.perf_counter()
        found = translated(mapping, request.to, request.value)
        results.append(Result(found, time.perf_counter() - began))
    return min(results, key=lambda result: result.seconds)


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """A query in the words of a schema."""

    schema: str
    value: object
    text: str

    @property
    def expression(self) -> Expression:
        return decode_query(self.value)


@dataclass(slots=True)
class Queries:
    """The queries that occur, by number; two are one when their schemas and values are."""

    plan: Plan
    known: list[KnownQuery] = field(default_factory=list)
    crossings: dict[tuple[Edge, Direction, Body], Crossing] = field(default_factory=dict)
    seconds: dict[tuple[Edge, Direction, Body], float] = field(default_factory=dict)
    evaluation: dict[Body, float] = field(default_factory=dict)
    _numbers: dict[tuple[str, bytes], Body] = field(default_factory=dict)
    _sizes: dict[Body, int] = field(default_factory=dict)

    def add(self, found: KnownQuery) -> Body:
        """The number of a query."""
        key = (found.schema, body_key(found.value))
        if key not in self._numbers:
            self._numbers[key] = len(self.known)
            self._sizes[len(self.known)] = _bytes(found.value)
            self.known.append(found)
        return self._numbers[key]

    def requests(self, bodies: Iterable[Body], crossings: Crossings) -> list[Request]:
        """The translations of some queries that are yet to be made."""
        return [
            Request(edge, to, body, self.known[body].value)
            for body in sorted(bodies)
            for edge, to in crossings[self.known[body].schema]
            if (edge, to, body) not in self.crossings
        ]

    def learn(self, request: Request, result: Result) -> None:
        """Take up what a translation gave."""
        key = (request.edge, request.to, request.body)
        found = result.found
        if isinstance(found, Translated):
            there = request.edge.target if request.to is Direction.TARGET else request.edge.source
            body = self.add(KnownQuery(there, found.body, found.text))
            found = Translated("", body, f"{body}", found.losses, there)
        measured = self.plan.costs == "measured"
        cost = result.seconds * 1000 if measured else self.plan.translate_ms
        self.crossings[key] = Crossing(found, round(cost * _MILLISECOND))
        self.seconds[key] = result.seconds

    def table(self) -> QueryFacts:
        """What peers need to know of the queries."""
        measured = self.plan.costs == "measured"
        costs = {
            body: round((self.evaluation.get(body, 0.0) * 1000 if measured else self.plan.evaluate_ms) * _MILLISECOND)
            for body in range(len(self.known))
        }
        return QueryFacts(dict(self._sizes), costs, dict(self.crossings))


def _bytes(value: object) -> int:
    """Bytes of a query's value on the wire."""
    message, empty = (Query("", "", body, (Hop("", ""),), 0, 0, 0) for body in (value, 0))
    return len(encode(message)) - len(encode(empty))


def asked_query(name: str, schema: str, mappings: Table[Edge, Mapping]) -> KnownQuery:
    """A query of the workload in the words of a schema: translated along the shortest path of mappings.

    Raises :class:`ClusterError` (HX8041) when these words cannot say it.
    """
    expression = parse_query(query(name))
    path = paths()[schema]
    if path:
        try:
            translation = translate_path([Crossed(mappings[edge], to, str(edge)) for edge, to in path], expression)
        except HeptoxError as error:
            raise _unspeakable(name, schema, str(error.faults[0])) from None
        if translation.empty:
            raise _unspeakable(name, schema, str(translation.last.losses[0]))
        expression = translation.query
    return KnownQuery(schema, encode_query(expression), print_query(expression))


def _unspeakable(name: str, schema: str, why: str) -> ClusterError:
    hint = "let auction be the first of the schemas, whose words the queries are written in"
    return ClusterError(Fault("HX8041", f"{name} cannot be asked in the words of {schema}: {why}", hint=hint))


def load_mappings(edges: Iterable[Edge]) -> dict[Edge, Mapping]:
    return {edge: load_mapping(edge.file) for edge in sorted(set(edges))}


def load_schemas(names: Iterable[str]) -> dict[str, SchemaGraph]:
    return {name: read_dtd(XMARK / f"{name}.dtd", root=SCHEMAS[name]) for name in sorted(set(names))}
