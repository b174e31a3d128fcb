"""What the parts of the control API share: guarding, faults, and streams of JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final

import trio
from fastapi import Depends, HTTPException, Path, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import AwareDatetime, BeforeValidator
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from heptox.errors import HeptoxError
from heptox.peer.control.schema import NDJSON
from heptox.peer.models.control import Exact, Faults

NO_TOKEN: Final = 401
REFUSED: Final = 422

# Whether the token is there has been seen to by then: this is for the description.
GUARDED: Final = [
    Depends(HTTPBearer(auto_error=False, scheme_name="token", description="What the peer's file `token` holds."))
]
XML: Final = {
    "requestBody": {
        "description": "The document, byte for byte.",
        "required": True,
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("application/octet-stream", "application/xml")
        },
    }
}


def _written(time: Any) -> Any:
    """Refuse a number, of which it would have to be guessed what it counts."""
    if isinstance(time, str) and not re.match(r"\d{4}-", time):
        raise ValueError("such as 2026-01-01T00:00:00Z")
    return time


class ReceivedRequest(Request):
    """A request whose body is put together beside the event loop, which a large document would hold.

    Its JSON holds texts that can be written: in JSON, half of a character can stand alone.
    """

    _received: bytes | None = None

    async def body(self) -> bytes:
        """All that is sent, once it is here."""
        if self._received is None:
            chunks = [chunk async for chunk in self.stream()]
            self._received = await trio.to_thread.run_sync(_joined, chunks)
        return self._received

    async def json(self) -> Any:
        """The value; raises :class:`HTTPException` for half a character, and as Starlette does."""
        value = await super().json()
        if b"\\ud" in (await self.body()).lower():
            try:
                json.dumps(value, ensure_ascii=False).encode()
            except UnicodeEncodeError as error:
                found = f"\\u{ord(error.object[error.start]):04x}"
                raise HTTPException(400, f"the body holds {found} alone, which is half a character") from None
        return value


def _joined(chunks: list[bytes]) -> bytes:
    """All of the chunks, which are given up here: their memory takes as long to free."""
    joined = b"".join(chunks)
    chunks.clear()
    return joined


class ReceivedRoute(APIRoute):
    """A route that takes :class:`ReceivedRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, as FastAPI makes it."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            return await handle(ReceivedRequest(request.scope, request.receive))

        return handler


Who = Annotated[str, Path(min_length=1, description="A peer id, or the name of one peer.")]
Time = Annotated[AwareDatetime, BeforeValidator(_written)]


def answer(faults: Faults, status: int = REFUSED) -> Response:
    """Faults as the whole answer."""
    # in ASCII: what is wrong may be a text that is none in UTF-8
    return Response(json.dumps(faults.to_json()), status, media_type="application/json")


def answer_faults(error: HeptoxError, status: int = REFUSED) -> Response:
    """Why a request is not carried out."""
    return answer(Faults.of(error), status)


def answer_unauthorised(error: HeptoxError) -> Response:
    """Why somebody is not let in."""
    refusal = answer_faults(error, NO_TOKEN)
    refusal.headers["WWW-Authenticate"] = "Bearer"
    return refusal


class LineStream(Response):
    """Models as JSON objects, one a line, while they come; a client that goes away ends what makes them.

    A slow client slows that: the next ones are taken when the last were written. What is refused before the first is
    the whole answer, what is refused later its last line.
    """

    def __init__(self, parts: AsyncGenerator[Sequence[Exact], None]) -> None:
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
        begun = False
        async with aclosing(self._parts) as parts:
            try:
                async for part in parts:
                    if not begun:
                        await begin(send)
                        begun = True
                    await send_lines(send, part)
            except HeptoxError as error:
                if not begun:
                    await answer_faults(error)(scope, receive, send)
                    return
                await send_lines(send, [Faults.of(error)])
        if not begun:
            await begin(send)
        await finish(send)


async def begin(send: Send) -> None:
    """Begin an answer of lines."""
    # Not the headers of Response: they would promise an empty body.
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", NDJSON.encode())]})


async def send_lines(send: Send, values: Iterable[Exact]) -> None:
    """Send models as JSON objects, one a line."""
    if lines := "".join(f"{json.dumps(value.to_json(), ensure_ascii=False)}\n" for value in values):
        await send({"type": "http.response.body", "body": lines.encode("utf-8"), "more_body": True})


async def finish(send: Send) -> None:
    """End an answer of lines."""
    await send({"type": "http.response.body", "body": b"", "more_body": False})
