"""The control API: HTTP on loopback, for whoever holds the token; ``GET /openapi.json`` describes it.

Answers of a query stream as NDJSON, one JSON object a line: ``{"item": ..., "origin": {...}, "repeated": ...}`` for
each item, ``{"receipt": {...}}`` last, always. Loading a document answers in the same way: ``{"read": ...}``, how many
of its bytes are done, now and then, ``{"loaded": {...}}`` last. What is refused is answered with ``{"faults": [...]}``,
as the last line where others came before. The audit log comes as NDJSON too, metrics in Prometheus' text format.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from datetime import UTC
from functools import partial
from itertools import islice
from typing import Annotated, Any, Final

import trio
from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import AwareDatetime, Base64Bytes, BaseModel, ConfigDict, Field
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from heptox.errors import Fault, HeptoxError, InputError, PeerError
from heptox.peer.acquainting import Proposal
from heptox.peer.address import PeerAddress
from heptox.peer.administration import acquaintance_to_json, loaded_to_json
from heptox.peer.audit import read_audit
from heptox.peer.events import Conclude, Deliver, Receipt
from heptox.peer.faults import faults_to_json
from heptox.peer.loading import Loaded
from heptox.peer.mapping_files import MappingFiles
from heptox.peer.messages import HopPath, ReceiptLine
from heptox.peer.metrics import CONTENT_TYPE
from heptox.peer.service import PeerService, Question
from heptox.peer.standing import Side
from heptox.xmlio import MAXIMUM_SIZE

REFUSED: Final = 422
NO_TOKEN: Final = 401
NDJSON: Final = b"application/x-ndjson"
PROGRESS_SECONDS: Final = 0.5
"""How often it is told how far a load is."""
AUDIT_LINES: Final = 100
MOST_AUDIT_LINES: Final = 100_000
"""Lines of the audit log that are told at once, unless it is said how many, and at most."""


class QuestionRequest(BaseModel):
    """A query to ask; ``timeout`` in seconds; ``timeout`` and ``hops`` are the peer's own unless given."""

    model_config = ConfigDict(extra="forbid")

    query: str
    file: str | None = None
    timeout: Annotated[float, Field(allow_inf_nan=False)] | None = None
    hops: int | None = None
    explain: bool = False


class AcquaintanceRequest(BaseModel):
    """A neighbour to know: its multiaddress, and the files of the mapping by name, ``mapping`` the one to load."""

    model_config = ConfigDict(extra="forbid")

    address: str
    files: dict[str, Base64Bytes]
    mapping: str
    side: Side | None = None
    name: str | None = None


class TokenError(PeerError):
    """A request without the token."""


def application(service: PeerService, token: str) -> FastAPI:
    """The control API of ``service`` as an ASGI application; requests carry ``Authorization: Bearer`` and the token."""

    def authorised(request: Request) -> None:
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {token}".encode()):
            raise TokenError(Fault("HX7060", "the request does not carry the token", hint="it is in the file token"))

    app = FastAPI(title="heptox peer", docs_url=None, redoc_url=None)
    app.add_exception_handler(HeptoxError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    guarded = [Depends(authorised)]

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok", "peer_id": service.transport.peer}

    @app.get("/status", dependencies=guarded)
    async def status() -> dict[str, Any]:
        return service.status()

    @app.post("/documents", dependencies=guarded, response_class=Response)
    async def load(request: Request, name: str, replacing: bool = False, file: str | None = None) -> Response:
        data = await _body(request, file or name)
        return LoadStream(partial(service.load, name, data, replacing=replacing, file=file))

    acquaintances = service.acquaintances

    @app.get("/acquaintances", dependencies=guarded)
    async def list_acquaintances() -> list[dict[str, Any]]:
        return [service.known_to_json(known) for known in acquaintances.known]

    @app.post("/acquaintances", dependencies=guarded)
    async def acquaint(wanted: AcquaintanceRequest) -> dict[str, Any]:
        address = PeerAddress.parse(wanted.address)
        proposal = Proposal(address, MappingFiles(wanted.files, wanted.mapping), wanted.side, wanted.name)
        return service.known_to_json(await acquaintances.acquaint(proposal))

    @app.delete("/acquaintances/{who:path}", dependencies=guarded)
    async def withdraw(who: str, reason: str = "") -> dict[str, Any]:
        return acquaintance_to_json(await acquaintances.withdraw(who, reason))

    @app.get("/requests", dependencies=guarded)
    async def list_requests() -> list[dict[str, Any]]:
        return service.requests()

    @app.post("/requests/{who:path}/accept", dependencies=guarded)
    async def accept(who: str, name: str | None = None) -> dict[str, Any]:
        return service.known_to_json(await acquaintances.accept(who, name))

    @app.post("/requests/{who:path}/refuse", dependencies=guarded)
    async def refuse(who: str, reason: str = "") -> dict[str, Any]:
        return {"peer_id": await acquaintances.refuse(who, reason)}

    @app.post("/queries", dependencies=guarded, response_class=Response)
    async def ask(wanted: QuestionRequest) -> Response:
        question = Question(wanted.query, wanted.file, wanted.timeout, wanted.hops, wanted.explain)
        return AnswerStream(service.ask(question))

    @app.delete("/queries/{query}", dependencies=guarded)
    async def cancel(query: str) -> dict[str, str]:
        service.cancel(query)
        return {"query": query}

    @app.get("/doctor", dependencies=guarded)
    async def doctor() -> list[dict[str, Any]]:
        return [finding.to_json() for finding in await service.examine()]

    @app.get("/audit", dependencies=guarded, response_class=Response)
    async def audit(
        last: Annotated[int, Query(ge=1, le=MOST_AUDIT_LINES)] = AUDIT_LINES, since: AwareDatetime | None = None
    ) -> Response:
        try:
            since = since and since.astimezone(UTC)
        except OverflowError:
            raise PeerError(Fault("HX7060", "the request's query.since: no time of the years 1 to 9999")) from None
        await service.recorder.flush()
        return StreamingResponse(_in_thread(read_audit(service.folder.path, last, since)), media_type=NDJSON.decode())

    @app.get("/metrics", dependencies=guarded, response_class=Response)
    async def metrics() -> Response:
        return Response(service.recorder.metrics.exposition(), media_type=CONTENT_TYPE)

    @app.post("/stop", dependencies=guarded)
    async def stop() -> dict[str, str]:
        service.stopping.set()
        return {"status": "stopping"}

    return app


async def _in_thread(lines: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Lines that a file is read for, many at a time."""
    while some := await trio.to_thread.run_sync(lambda: b"".join(islice(lines, AUDIT_LINES))):
        yield some


async def _body(request: Request, name: str) -> bytes:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > MAXIMUM_SIZE:
            raise InputError(Fault("HX1006", f"has more than {MAXIMUM_SIZE} bytes", file=name))
    return bytes(data)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HeptoxError)
    return JSONResponse(faults_to_json(error), NO_TOKEN if isinstance(error, TokenError) else REFUSED)


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [
        Fault("HX7060", f"the request's {'.'.join(str(step) for step in found['loc'])}: {found['msg']}")
        for found in error.errors()
    ]
    return JSONResponse(faults_to_json(PeerError(faults)), REFUSED)


class AnswerStream(Response):
    """The parts of an answer as NDJSON while they come; a client that goes away cancels the query.

    A slow client slows the query: the next part is taken when the last was written.
    """

    def __init__(self, parts: AsyncGenerator[Deliver | Conclude, None]) -> None:
        super().__init__()
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch, receive, nursery.cancel_scope)
            await self._answer(scope, receive, send)
            nursery.cancel_scope.cancel()

    async def _watch(self, receive: Receive, scope: trio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._parts) as parts:
            try:
                first = await anext(parts)
            except HeptoxError as error:
                await JSONResponse(faults_to_json(error), REFUSED)(scope, receive, send)
                return
            await _begin(send)
            await self._write(send, first)
            async for part in parts:
                await self._write(send, part)
            await _finish(send)

    async def _write(self, send: Send, part: Deliver | Conclude) -> None:
        await _send_lines(send, part_to_json(part))


class LoadStream(Response):
    """How far a load is, as NDJSON while it goes on, and what became of it; it goes on when the client goes away."""

    def __init__(self, load: Callable[..., Awaitable[Loaded]]) -> None:
        super().__init__()
        self._load = load
        self._read = 0
        self._end: dict[str, Any] = {}
        self._ended = trio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run)
            while not await self._ended_soon():
                if not begun:
                    await _begin(send)
                    begun = True
                await _send_lines(send, [{"read": self._read}])
        if "faults" in self._end and not begun:
            await JSONResponse(self._end, REFUSED)(scope, receive, send)
            return
        if not begun:
            await _begin(send)
        await _send_lines(send, [self._end])
        await _finish(send)

    async def _run(self) -> None:
        try:
            self._end = {"loaded": loaded_to_json(await self._load(progress=self._tell))}
        except HeptoxError as error:
            self._end = faults_to_json(error)
        self._ended.set()

    def _tell(self, read: int) -> None:
        self._read = read

    async def _ended_soon(self) -> bool:
        with trio.move_on_after(PROGRESS_SECONDS):
            await self._ended.wait()
        return self._ended.is_set()


async def _begin(send: Send) -> None:
    # Not the headers of Response: they would promise an empty body.
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", NDJSON)]})


async def _send_lines(send: Send, values: list[dict[str, Any]]) -> None:
    if lines := "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values):
        await send({"type": "http.response.body", "body": lines.encode("utf-8"), "more_body": True})


async def _finish(send: Send) -> None:
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def part_to_json(part: Deliver | Conclude) -> list[dict[str, Any]]:
    """A part of an answer as JSON objects, one for each line of the stream."""
    if isinstance(part, Conclude):
        return [{"receipt": receipt_to_json(part.receipt)}]
    origin = path_to_json(part.origin)
    return [
        {"item": item, "origin": origin, "repeated": repeated}
        for items, repeated in ((part.items, False), (part.repeated, True))
        for item in items
    ]


def path_to_json(path: HopPath) -> dict[str, Any]:
    """Where something came from: the last peer of the path, and the names along it from the asker."""
    return {"peer": path[-1].peer, "name": path[-1].name, "path": [hop.name for hop in path]}


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt as a JSON object."""
    return {
        "query": receipt.query,
        "complete": receipt.complete,
        "items": receipt.items,
        "lines": [_line_to_json(line) for line in receipt.lines],
    }


def _line_to_json(line: ReceiptLine) -> dict[str, Any]:
    return {
        **path_to_json(line.path),
        "status": line.status.value,
        "complete": line.complete,
        "items": line.items,
        "losses": list(line.losses),
        "reason": line.reason,
        "text": line.text,
        "milliseconds": line.milliseconds,
        "beyond": line.beyond,
    }
