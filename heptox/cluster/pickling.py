"""Peers and parcels as bytes, between two supersteps.

What they are made of are mostly hops and lines of receipts, small values that say how they are pickled in so general a
way that it takes longer than all that a peer does. Here they are made anew from their fields, and equal hops are one.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from heptox.cluster.emulated import ItemsArrived, Parcel, QueryArrived
from heptox.peer import Answers, Hop, Query, ReceiptLine


@lru_cache(maxsize=1 << 18)
def _hop(peer: str, name: str) -> Hop:
    return Hop(peer, name)


def _reducer(kind: type[Any], make: Callable[..., Any]) -> Callable[[Any], tuple[Callable[..., Any], Any]]:
    own = attrgetter(*(field.name for field in fields(kind)))

    def reduce(value: Any) -> tuple[Callable[..., Any], Any]:
        return make, own(value)

    return reduce


_KINDS: Final[dict[type[Any], Callable[..., Any]]] = {
    Hop: _hop,
    ReceiptLine: ReceiptLine,
    Query: Query,
    Answers: Answers,
    Parcel: Parcel,
    QueryArrived: QueryArrived,
    ItemsArrived: ItemsArrived,
}
_DISPATCH: Final = copyreg.dispatch_table | {kind: _reducer(kind, make) for kind, make in _KINDS.items()}


def pickled(value: object) -> bytes:
    """The bytes of a value, for :func:`pickle.loads`."""
    target = io.BytesIO()
    pickler = pickle.Pickler(target, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = _DISPATCH
    pickler.dump(value)
    return target.getvalue()
