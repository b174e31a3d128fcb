"""The part of the control API that is the console's: its page and sessions, schemas, drawings, and queries in work."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import trio
from fastapi import FastAPI, Path
from starlette.responses import Response

from heptox.errors import Fault, PeerError
from heptox.peer.console import shapes
from heptox.peer.console.asking import explained, query_faults, untranslated
from heptox.peer.console.drawings import Drawing, as_utf8
from heptox.peer.console.mapping_operations import add_mappings, drawn
from heptox.peer.console.pages import add_pages
from heptox.peer.console.schemas import schema_told, told_schema
from heptox.peer.console.sessions import SESSIONS, TICKET_SECONDS, Sessions
from heptox.peer.control import schema as models
from heptox.peer.control.http import GUARDED, Who, answer_unauthorised
from heptox.peer.models.control import TicketModel
from heptox.peer.wire.standing import Side
from heptox.translate import Direction
from heptox.xml import decode_dtd

if TYPE_CHECKING:
    from heptox.peer.control.service import PeerService

DrawingName = Annotated[str, Path(min_length=1, description="The name of a drawing.")]


def add_console(app: FastAPI, service: PeerService, sessions: Sessions) -> None:
    """Add the page and its operations to an application."""
    add_pages(app)
    add_mappings(app, service)
    _add_sessions(app, sessions)
    _add_schemas(app, service)
    _add_drawings(app, service)
    _add_asking(app, service)


def _add_sessions(app: FastAPI, sessions: Sessions) -> None:
    @app.post("/console/tickets", dependencies=GUARDED, responses=models.UNAUTHORISED)
    async def make_ticket() -> TicketModel:
        """A ticket, with which a browser begins a session of the console."""
        return TicketModel(ticket=sessions.ticket(), seconds=TICKET_SECONDS)

    @app.post(SESSIONS, responses=models.REFUSED, response_model=shapes.SessionModel)
    async def begin_session(wanted: shapes.SessionRequest) -> shapes.SessionModel | Response:
        """Begin a session of the console by a ticket, which serves once; needs no token."""
        try:
            return shapes.SessionModel(token=sessions.redeem(wanted.ticket))
        except PeerError as error:
            return answer_unauthorised(error)


def _add_schemas(app: FastAPI, service: PeerService) -> None:
    @app.get("/schema", dependencies=GUARDED, responses=models.UNAUTHORISED)
    async def own_schema() -> shapes.SchemaModel:
        """The peer's own schema."""
        return await trio.to_thread.run_sync(schema_told, service.schema)

    @app.post("/schemas", dependencies=GUARDED, responses=models.REFUSED)
    async def examine_schema(wanted: shapes.SchemaRequest) -> shapes.SchemaModel:
        """The schema that a text means; where several elements may be its root, the fault names them."""
        return await drawn(service.drawing, told_schema, wanted.text, wanted.root, wanted.file)


def _add_drawings(app: FastAPI, service: PeerService) -> None:
    drawings = service.drawings

    @app.get("/drawings", dependencies=GUARDED, responses=models.REFUSED)
    async def list_drawings() -> list[shapes.DrawingListed]:
        """The mappings in work that are kept, by name."""
        return [
            shapes.DrawingListed(name=name, modified=modified.isoformat(timespec="seconds"))
            for name, modified in await trio.to_thread.run_sync(drawings.all)
        ]

    @app.get("/drawings/{name:path}", dependencies=GUARDED, responses=models.NAMED)
    async def drawing(name: DrawingName) -> shapes.DrawingModel:
        """A mapping in work, with the schemas that it names."""
        return _drawing_told(await trio.to_thread.run_sync(drawings.read, name))

    @app.put("/drawings/{name:path}", dependencies=GUARDED, responses=models.NAMED)
    async def keep_drawing(name: DrawingName, wanted: shapes.DrawingRequest) -> shapes.DrawingModel:
        """Keep a mapping in work, whatever is wrong with it: when this is answered, it is on the disk."""
        made = Drawing(name, wanted.text, wanted.files)
        keep = partial(drawings.keep, made, new=wanted.new, before=wanted.before)
        return _drawing_told(await trio.to_thread.run_sync(keep))

    @app.delete("/drawings/{name:path}", dependencies=GUARDED, responses=models.NAMED)
    async def drop_drawing(name: DrawingName) -> shapes.DrawingDropped:
        """Keep a mapping in work no longer: when this is answered, it is gone from the disk."""
        await trio.to_thread.run_sync(drawings.drop, name)
        return shapes.DrawingDropped(name=name)

    @app.get("/acquaintances/{who:path}/mapping", dependencies=GUARDED, responses=models.NAMED)
    async def mapping_of(who: Who) -> shapes.MappingFilesModel:
        """The mapping to an acquaintance, with its schemas."""
        known = service.acquaintances.find(who)
        files = {file: as_utf8(decode_dtd(content, file)) for file, content in known.files.files.items()}
        return shapes.MappingFilesModel(mapping=known.files.mapping, side=known.acquaintance.side, files=files)


def _drawing_told(found: Drawing) -> shapes.DrawingModel:
    return shapes.DrawingModel(name=found.name, text=found.text, files=dict(found.files))


def _add_asking(app: FastAPI, service: PeerService) -> None:
    @app.post("/queries/check", dependencies=GUARDED, responses=models.REFUSED)
    async def check_query(wanted: shapes.QueryRequest) -> shapes.QueryChecked:
        """What is wrong with a query, or keeps it from being translated."""
        faults = await trio.to_thread.run_sync(query_faults, wanted.query, service.schema, service.worded())
        return shapes.QueryChecked(faults=tuple(faults))

    @app.post("/acquaintances/{who:path}/translation", dependencies=GUARDED, responses=models.NAMED)
    async def translation(who: Who, wanted: shapes.QueryRequest) -> shapes.TranslationModel:
        """What becomes of a query for an acquaintance, step by step, and what is lost on the way."""
        known = service.acquaintances.find(who)
        if known.mapping is None:
            return untranslated(Fault("HX7058", known.fault))
        to = Direction.TARGET if known.acquaintance.side is Side.SOURCE else Direction.SOURCE
        return await service.answering.translating(partial(explained, wanted.query, known.mapping, to))
