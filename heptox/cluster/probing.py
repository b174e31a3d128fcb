"""How long it takes a peer to evaluate a query: measured on the store of one peer, as deployed peers have it.

The statement that answers a query for all peers of a schema says little of that: it shares what each would do alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from heptox.cluster.documents import document_maker
from heptox.cluster.emulated import Body
from heptox.grammar import decode_query
from heptox.schema import SchemaGraph
from heptox.store import Store, plan_query, query


@dataclass(frozen=True, slots=True)
class Probe:
    """A query to be evaluated at a peer, with what its document is made from."""

    body: Body
    value: object
    schema: str
    people: int
    seed: int
    peer: int


def seconds_of(probe: Probe, graph: SchemaGraph) -> float:
    """Seconds that planning and evaluating take: the better of two, since the first loads what all others need."""
    store = _store(probe, graph)
    expression = decode_query(probe.value)
    taken = []
    for _ in range(2):
        began = time.perf_counter()
        for _item in query(store, plan_query(expression, store.catalogue)):
            pass
        taken.append(time.perf_counter() - began)
    return min(taken)


_STORES: Final[dict[tuple[str, int, int, int], Store]] = {}
"""The stores of the peers that were asked in this process: one for each schema, of one emulation."""


def _store(probe: Probe, graph: SchemaGraph) -> Store:
    key = (probe.schema, probe.people, probe.seed, probe.peer)
    if key not in _STORES:
        for old in [old for old in _STORES if old[0] == probe.schema]:
            _STORES.pop(old).close()
        _STORES[key] = Store.open(None, graph)
        text = document_maker(probe.schema, probe.people, probe.seed)(probe.peer)
        _STORES[key].load("auctions", text.encode())
    return _STORES[key]
