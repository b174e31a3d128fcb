"""The control API: HTTP on loopback, for those who hold the token; ``GET /openapi.json`` describes it.

Answers of a query stream as NDJSON, one JSON object a line: ``{"item": ..., "origin": {...}, "repeated": ...}`` for
each item, ``{"receipt": {...}}`` last, always. Loading a document answers in the same way: ``{"read": ...}``, how many
of its bytes are done, now and then, ``{"loaded": {...}}`` last. What is refused is answered with ``{"faults": [...]}``,
as the last line where others came before. The audit log comes as NDJSON too, metrics in Prometheus' text format.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from datetime import UTC
from functools import cache, partial
from itertools import islice
from typing import Annotated, Final

import trio
from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from heptox import __version__
from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.acquaintance.acquainting import Proposal
from heptox.peer.console import Sessions, add_console
from heptox.peer.control import schema as described
from heptox.peer.control.feed_operations import add_feeds
from heptox.peer.control.guard import HEALTH, Guard
from heptox.peer.control.http import (
    GUARDED,
    REFUSED,
    XML,
    LineStream,
    ReceivedRoute,
    Time,
    Who,
    answer,
    answer_faults,
    begin,
    finish,
    send_lines,
)
from heptox.peer.control.service import PeerService
from heptox.peer.control.subscription_operations import add_subscriptions
from heptox.peer.folder.audit import read_audit
from heptox.peer.models import control as models
from heptox.peer.query.events import Conclude, Deliver
from heptox.peer.record.metrics import CONTENT_TYPE
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.mapping_files import MappingFiles

PROGRESS_SECONDS: Final = 0.5
"""How often a line says how far a load is."""
MOST_FAULTS: Final = 100
"""Faults of a request that are listed at most."""
AUDIT_LINES: Final = 100
MOST_AUDIT_LINES: Final = 100_000
"""Lines of the audit log that are sent at once, unless the request says how many, and at most."""

_log = logging.getLogger(__name__)


DocumentName = Annotated[str, Query(description="What to call the document, with or without .xml.")]
Reason = Annotated[str, Query(description="The reason that is sent to the other side.")]


def application(service: PeerService, token: str) -> FastAPI:
    """The control API of ``service`` as an ASGI application; requests carry ``Authorization: Bearer`` and the token, or
    that of a session of the console."""
    app = FastAPI(
        title="heptox peer",
        version=__version__,
        description=__doc__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        exception_handlers={
            HeptoxError: _refused,
            RequestValidationError: _malformed,
            HTTPException: _unserved,
            Exception: _defect,
        },
    )
    sessions = Sessions()
    named = service.folder.settings.control != "unix"
    app.add_middleware(Guard, token=token, sessions=sessions, named=named)
    app.openapi = partial(described.describe, app)  # type: ignore[method-assign]
    app.router.route_class = ReceivedRoute
    _add_documents(app, service)
    _add_acquaintances(app, service)
    _add_queries(app, service)
    add_subscriptions(app, service)
    add_feeds(app, service)
    _add_rest(app, service)
    add_console(app, service, sessions)
    return app


def _add_documents(app: FastAPI, service: PeerService) -> None:
    @app.get("/documents", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def list_documents() -> list[models.DocumentModel]:
        """The documents that are held, by name."""
        return await service.documents()

    @app.post(
        "/documents",
        dependencies=GUARDED,
        response_class=Response,
        responses=described.streamed("load", "How many bytes are done, now and then; `loaded` or `faults` last."),
        openapi_extra=XML,
    )
    async def load(request: Request, name: DocumentName, replacing: bool = False, file: str | None = None) -> Response:
        """Load a document; when `loaded` comes, it is on the disk, and the next query sees it.

        `file` is what messages call it. It goes on when the client goes away.
        """
        data = await request.body()
        return LoadStream(partial(service.load, name, data, replacing=replacing, file=file))

    @app.delete("/documents/{name}", dependencies=GUARDED, responses=described.NAMED)
    async def remove(name: Annotated[str, Path(min_length=1)]) -> models.Named:
        """Hold a document no longer: when this is answered, it is gone from the disk, and the next query does not see
        it."""
        return models.Named(name=await service.remove(name))


def _add_acquaintances(app: FastAPI, service: PeerService) -> None:
    @app.get("/acquaintances", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def list_acquaintances() -> list[models.KnownModel]:
        """Whom the peer knows, and how they are doing."""
        return list(map(service.known_model, service.acquaintances.known))

    @app.post("/acquaintances", dependencies=GUARDED, responses=described.REFUSED)
    async def acquaint(wanted: models.AcquaintanceRequest) -> models.KnownModel:
        """Make another peer an acquaintance, and offer it the mapping; it is on the disk when this is answered."""
        address = PeerAddress.parse(wanted.address)
        proposal = Proposal(address, MappingFiles(wanted.files, wanted.mapping), wanted.side, wanted.name)
        return service.known_model(await service.acquaintances.acquaint(proposal))

    @app.delete("/acquaintances/{who:path}", dependencies=GUARDED, responses=described.NAMED)
    async def withdraw(who: Who, reason: Reason = "") -> models.AcquaintanceModel:
        """End an acquaintance; the other side learns it as soon as it is reached."""
        return models.AcquaintanceModel.of(await service.acquaintances.withdraw(who, reason))

    @app.get("/requests", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def list_requests() -> tuple[models.RequestModel, ...]:
        """The offers of others that wait to be decided."""
        return service.requests()

    @app.post("/requests/{who:path}/accept", dependencies=GUARDED, responses=described.NAMED)
    async def accept(who: Who, name: str | None = None, digest: str | None = None) -> models.AcceptedModel:
        """Accept the acquaintance that somebody offers, and call it `name`, else as it is listed.

        With the `digest` of an offer that was looked at, no other one is accepted that has come in its place.
        """
        known, accepted = await service.acquaintances.accept(who, name, digest)
        return models.AcceptedModel(**dict(service.known_model(known)), digest=accepted)

    @app.post("/requests/{who:path}/refuse", dependencies=GUARDED, responses=described.NAMED)
    async def refuse(who: Who, reason: Reason = "") -> models.Refused:
        """Refuse the acquaintance that somebody offers; the same is not asked about again."""
        return models.Refused(peer_id=await service.acquaintances.refuse(who, reason))


def _add_queries(app: FastAPI, service: PeerService) -> None:
    @app.get("/queries", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def list_queries() -> models.QueriesModel:
        """The queries under way, own ones and those of neighbours."""
        return service.queries()

    @app.post(
        "/queries",
        dependencies=GUARDED,
        response_class=Response,
        responses=described.streamed("ask", "Items as they come, `receipt` last."),
    )
    async def ask(wanted: models.QuestionRequest) -> Response:
        """Ask the network. A client that goes away cancels the query."""
        return LineStream(_answer(service.ask(wanted)))

    @app.delete("/queries/{query}", dependencies=GUARDED, responses=described.NAMED)
    async def cancel(query: Annotated[str, Path(min_length=1)]) -> models.QueryModel:
        """End a query of the own user early: who asked it gets the receipt of what is there."""
        service.cancel(query)
        return models.QueryModel(query=query)


def _add_rest(app: FastAPI, service: PeerService) -> None:
    description = cache(lambda: json.dumps(app.openapi()))

    @app.get(HEALTH, responses=described.FOREIGN)
    async def healthz() -> models.Health:
        """Whether the daemon serves; needs no token."""
        return models.Health(status="ok", peer_id=service.transport.peer)

    @app.get("/status", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def status() -> models.StatusModel:
        """Who the peer is, what it holds, whom it knows, and which queries of its own user are under way."""
        return service.status()

    @app.get("/doctor", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def doctor() -> list[models.Finding]:
        """What is wrong with the peer, and what to do; every acquaintance is looked for."""
        return await service.examine()

    @app.get(
        "/audit",
        dependencies=GUARDED,
        response_class=Response,
        responses=described.streamed("audit", "The oldest first."),
    )
    async def audit(
        last: Annotated[int, Query(ge=1, le=MOST_AUDIT_LINES)] = AUDIT_LINES, since: Time | None = None
    ) -> Response:
        """The last lines of the audit log, of those since a time."""
        try:
            since = since and since.astimezone(UTC)
        except OverflowError:
            raise PeerError(Fault("HX7060", "the request's query.since: no time of the years 1 to 9999")) from None
        await service.recorder.flush()
        return StreamingResponse(_in_thread(read_audit(service.folder.path, last, since)), media_type=described.NDJSON)

    @app.get(
        "/metrics",
        dependencies=GUARDED,
        response_class=Response,
        responses={
            **described.UNAUTHORISED,
            200: {
                "description": "Prometheus' text format.",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
        },
    )
    async def metrics() -> Response:
        """What the peer has done and does, as numbers."""
        await service.subscribing.watch()
        return Response(service.recorder.metrics.exposition(), media_type=CONTENT_TYPE)

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> Response:
        """What there is: it takes a while to be made, once."""
        return Response(await trio.to_thread.run_sync(description), media_type="application/json")

    @app.post("/stop", dependencies=GUARDED, responses=described.UNAUTHORISED)
    async def stop() -> models.Stopping:
        """End the daemon."""
        service.stopping.set()
        return models.Stopping(status="stopping")


async def _in_thread(lines: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Lines that a file is read for, many at a time."""
    while some := await trio.to_thread.run_sync(lambda: b"".join(islice(lines, AUDIT_LINES))):
        yield some


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HeptoxError)
    return answer_faults(error, REFUSED)


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    faults = [
        Fault("HX7060", f"the request's {'.'.join(str(step) for step in one['loc'])}: {one['msg']}")
        for one in found[:MOST_FAULTS]
    ]
    if len(found) > MOST_FAULTS:
        faults.append(Fault("HX7060", f"and {len(found) - MOST_FAULTS} more like these"))
    return answer_faults(PeerError(faults), REFUSED)


async def _unserved(request: Request, error: Exception) -> Response:
    """What FastAPI itself refuses: a path or method that is none, a body that it cannot read."""
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}: {error.detail}"
    fault = Fault("HX7060", what, hint="GET /openapi.json describes what there is")
    refusal = answer_faults(PeerError(fault), REFUSED if error.status_code == 400 else error.status_code)
    refusal.headers.update(error.headers or {})
    if error.status_code == 405:  # Starlette lists the methods of one operation at the path
        routes = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
        refusal.headers["Allow"] = ", ".join(sorted({method for route in routes for method in route.methods}))
    return refusal


async def _defect(request: Request, error: Exception) -> Response:
    _log.error("%s %s was not carried out", request.method, request.url.path, exc_info=error)
    return answer_faults(PeerError(Fault("HX7060", f"it met a defect of heptox: {error}")), 500)


class LoadStream(Response):
    """How far a load is, as NDJSON while it goes on, and its outcome; it goes on when the client goes away."""

    def __init__(self, load: Callable[..., Awaitable[models.Loaded]]) -> None:
        super().__init__()
        self._load = load
        self._read = 0
        self._end: models.LoadedLast | models.Faults | None = None
        self._ended = trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run)
            while not await self._ended_soon():
                if not begun:
                    await begin(send)
                    begun = True
                await send_lines(send, [models.ReadLine(read=self._read)])
        assert self._end is not None
        if isinstance(self._end, models.Faults) and not begun:
            await answer(self._end)(scope, receive, send)
            return
        if not begun:
            await begin(send)
        await send_lines(send, [self._end])
        await finish(send)

    async def _run(self) -> None:
        try:
            self._end = models.LoadedLast(loaded=await self._load(progress=self._tell))
        except HeptoxError as error:
            self._end = models.Faults.of(error)
        self._ended.set()

    def _tell(self, read: int) -> None:
        self._read = read

    async def _ended_soon(self) -> bool:
        with trio.move_on_after(PROGRESS_SECONDS):
            await self._ended.wait()
        return self._ended.is_set()


async def _answer(
    parts: AsyncGenerator[Deliver | Conclude, None],
) -> AsyncGenerator[Sequence[models.ItemLine | models.ReceiptLast], None]:
    async with aclosing(parts):
        async for part in parts:
            yield answer_lines(part)


def answer_lines(part: Deliver | Conclude) -> Sequence[models.ItemLine | models.ReceiptLast]:
    """The lines of the stream for a part of an answer."""
    if isinstance(part, Conclude):
        return [models.ReceiptLast(receipt=models.ReceiptModel.of(part.receipt))]
    return models.ItemLine.all_of(part)
