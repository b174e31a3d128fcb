"""The operations by which the console draws mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio
from fastapi import FastAPI

from heptox.peer.console.examining import examine
from heptox.peer.console.mapping_shapes import MappingModel, MappingRequest, SuggestionRequest, SuggestionsModel
from heptox.peer.console.suggested import suggestions
from heptox.peer.control import schema as models
from heptox.peer.control.http import GUARDED

if TYPE_CHECKING:
    from heptox.peer.control.service import PeerService


def add_mappings(app: FastAPI, service: PeerService) -> None:
    """Add the operations to an application."""

    @app.post("/mappings/examine", dependencies=GUARDED, responses=models.REFUSED)
    async def examine_mapping(wanted: MappingRequest) -> MappingModel:
        """What the text of a mapping in work says; what is wrong with it is listed, and refuses nothing."""
        return await trio.to_thread.run_sync(examine, wanted)

    @app.post("/mappings/suggest", dependencies=GUARDED, responses=models.REFUSED)
    async def suggest_arrows(wanted: SuggestionRequest) -> SuggestionsModel:
        """Arrows that could be drawn, each with a confidence and reasons; the peer's own documents are compared too."""
        files = service.folder.document_files()
        return await trio.to_thread.run_sync(suggestions, wanted, service.schema, files)
