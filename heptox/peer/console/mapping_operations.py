"""The operations by which the console draws mappings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple

import trio
from fastapi import FastAPI

from heptox.errors import Fault, PeerError
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.console.examining import examine
from heptox.peer.console.functions import applicable
from heptox.peer.console.mapping_shapes import (
    FunctionModel,
    MappingModel,
    MappingRequest,
    SuggestionRequest,
    SuggestionsModel,
    ValuesModel,
    ValuesRequest,
)
from heptox.peer.console.own_records import OwnRecords, leaf_values
from heptox.peer.console.suggested import suggestions
from heptox.peer.control import schema as models
from heptox.peer.control.http import GUARDED
from heptox.peer.process.workers import Working

if TYPE_CHECKING:
    from heptox.peer.control.service import PeerService

DRAWING_SECONDS: Final = 60.0
"""How long it may take to examine a mapping that somebody draws or is offered, or to suggest arrows."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def drawn(workers: Working, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """The result of work on a mapping, in a process that is ended when it takes too long: others may have made the
    mapping and its schemas. Raises :class:`PeerError` (HX7100)."""
    with trio.move_on_after(DRAWING_SECONDS):
        return await workers.run(work, *arguments)
    message = f"to examine the mapping takes longer than {DRAWING_SECONDS:g} seconds"
    raise PeerError(Fault("HX7100", message, hint="with smaller schemas, or fewer arrows, it will do"))


def add_mappings(app: FastAPI, service: PeerService) -> None:
    """Add the operations to an application."""
    key = cache(lambda: schema_key(service.schema))

    def own() -> OwnRecords:
        return OwnRecords(key(), service.folder.document_files())

    @app.post("/mappings/examine", dependencies=GUARDED, responses=models.REFUSED)
    async def examine_mapping(wanted: MappingRequest) -> MappingModel:
        """What the text of a mapping in work says; what is wrong with it is listed, and refuses nothing."""
        return await drawn(service.drawing, examine, wanted, own())

    @app.get("/mappings/functions", dependencies=GUARDED, responses=models.UNAUTHORISED)
    async def functions_of_values() -> list[FunctionModel]:
        """The functions that can be applied to the value of an arrow."""
        return list(applicable())

    @app.post("/mappings/values", dependencies=GUARDED, responses=models.REFUSED)
    async def values_of_leaf(wanted: ValuesRequest) -> ValuesModel:
        """The values that the peer's own documents have at a leaf of a mapping in work."""
        return await drawn(service.drawing, leaf_values, wanted, own())

    @app.post("/mappings/suggest", dependencies=GUARDED, responses=models.REFUSED)
    async def suggest_arrows(wanted: SuggestionRequest) -> SuggestionsModel:
        """Arrows that could be drawn, each with a confidence and reasons; the peer's own documents are compared too."""
        return await drawn(service.drawing, suggestions, wanted, own())
