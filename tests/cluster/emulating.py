"""Emulations without Spark: the same peers and supersteps, in an order and in partitions that chance chooses."""

from __future__ import annotations

import pickle
from collections.abc import Mapping as Table
from functools import cache
from random import Random
from typing import Any

from heptox.cluster.documents import document_maker
from heptox.cluster.emulated import Body, Conditions, Items, Parcel, QueryFacts, mark
from heptox.cluster.outcome import Outcome
from heptox.cluster.plan import planned
from heptox.cluster.progress import Progress
from heptox.cluster.queries import KnownQuery, Request, Result, timed_translation
from heptox.cluster.running import carried_out, prepare
from heptox.cluster.supersteps import PeersAtWork, Row, parcel_row
from heptox.grammar import parse_query
from heptox.store import evaluate
from heptox.xml import Document, parse_document
from tests.cluster.workload import mapping


class MemoryEngine:
    """All peers in this process. ``chance`` decides how they are partitioned, and which partitions are made twice."""

    def __init__(self, conditions: Conditions, chance: Random) -> None:
        self._conditions = conditions
        self._chance = chance
        self._rows: list[Row] = []
        self._queries: dict[Body, KnownQuery] = {}

    def begin(self, parcels: list[tuple[int, Parcel]]) -> None:
        peers = len(self._conditions.network.schemas)
        self._rows = [parcel_row(world, peers, parcel) for world, parcel in parcels]

    def translate(self, requests: list[Request]) -> list[Result]:
        return [_translated(pickle.dumps(request)) for request in requests]

    def evaluate(self, queries: list[tuple[Body, KnownQuery]]) -> dict[Body, float]:
        self._queries.update(queries)
        return {body: 0.001 for body, _ in queries}

    def interpret(self, pairs: Table[int, list[tuple[Body, KnownQuery]]]) -> dict[tuple[int, Body], frozenset[int]]:
        return {
            (peer, body): frozenset(map(mark, self._items(peer, query)))
            for peer, own in pairs.items()
            for body, query in own
        }

    def advance(self, end: int, known: QueryFacts, asked: set[Body]) -> Progress:
        rows = [(row, self._asked(row, end, asked)) for row in self._rows]
        self._chance.shuffle(rows)
        self._rows, progress = [], Progress()
        for part in range(3):
            own = sorted((one for one in rows if one[0][1] % 3 == part), key=lambda one: one[0][0])
            for _ in range(self._chance.choice((1, 1, 2))):  # the first result may get lost
                work = PeersAtWork(self._conditions, known, end)
                found = list(work.rows(own))
            self._rows += found
            progress.add(work.progress)
        return progress

    def _asked(self, row: Row, end: int, asked: set[Body]) -> Items:
        _, peer, _, at, body, _ = row
        if body is None or at >= end:
            return ()
        assert body in asked
        return self._items(peer, self._queries[body])

    def _items(self, peer: int, query: KnownQuery) -> Items:
        plan = self._conditions.plan
        return _items(self._conditions.network.schemas[peer], plan.people, plan.seed, peer, query.text)


@cache
def _translated(request: bytes) -> Result:
    asked: Request = pickle.loads(request)
    return timed_translation(asked, mapping(asked.edge))


@cache
def _items(schema: str, people: int, seed: int, peer: int, query: str) -> tuple[str, ...]:
    return tuple(evaluate(parse_query(query), [_document(schema, people, seed, peer)]))


@cache
def _document(schema: str, people: int, seed: int, peer: int) -> Document:
    return parse_document(document_maker(schema, people, seed)(peer))


def emulated(chance: int = 0, **settings: Any) -> Outcome:
    """What comes of a plan with these settings, whatever ``chance`` does."""
    prepared = prepare(planned(settings))
    return carried_out(prepared, MemoryEngine(prepared.conditions, Random(chance)))
