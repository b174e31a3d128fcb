"""Who may use the control API: those who hold a token, and no page of another site in their browsers; how much they may
send.

All of it is decided by the head of a request, before anything of its body is received; the body is counted as it comes.
"""

from __future__ import annotations

import hmac
import re
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Final, NoReturn

import trio
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heptox.errors import Fault, PeerError
from heptox.matching import MOST_PUBLISHED
from heptox.peer.console import SESSIONS, Sessions, is_page
from heptox.peer.control.http import answer_faults, answer_unauthorised
from heptox.peer.control.server import trust
from heptox.xml import MAXIMUM_SIZE

HEALTH: Final = "/healthz"
FOREIGN: Final = 403
TOO_SLOW: Final = 408
TOO_LARGE: Final = 413
MOST_OPEN: Final = 64 * 1024
"""Bytes that a request may carry which needs no token."""
MOST_CARRIED: Final = 256 * 1024 * 1024
"""Bytes that any other may carry, unless it is a document."""
OPEN_SECONDS: Final = 5.0
"""How long a request that needs no token may take to come to its end."""
_LOCAL: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
"""The names of one's own machine. Any other may be one that a site has given it, to pass for it in a browser."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many bytes a request may carry, by which code it is refused with more, and in how many seconds they come."""

    most: int
    code: str = "HX7097"
    seconds: float = inf


_OPEN: Final = Bounds(MOST_OPEN, seconds=OPEN_SECONDS)
_CARRIED: Final = Bounds(MOST_CARRIED)
_DOCUMENTS: Final = {
    "/documents": Bounds(MAXIMUM_SIZE, "HX1006"),
    "/publications": Bounds(MOST_PUBLISHED, "HX9066"),
    "/feeds/route": Bounds(MOST_PUBLISHED, "HX9066"),
}


class Guard:
    """Lets nobody in without a token, and no page of another site even with one, and nobody who sends too much.

    ``sessions`` hold tokens besides ``token``; ``named`` is whether requests have to name this machine, which those
    over a socket need not.
    """

    def __init__(self, app: ASGIApp, token: str, sessions: Sessions, named: bool) -> None:
        self._app = app
        self._token = token.encode()
        self._sessions = sessions
        self._named = named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})  # which nothing here speaks
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        carried = self._carried(headers)
        if foreign := self._foreign(headers):
            await _refuse(answer_faults(PeerError(Fault("HX7090", foreign)), FOREIGN), scope, receive, send)
        elif not (carried or _is_open(scope["path"])):
            fault = Fault("HX7060", "the request does not carry the token", hint="it is in the file token")
            await _refuse(answer_unauthorised(PeerError(fault)), scope, receive, send)
        else:
            if carried:
                trust(scope)
            bounds = _DOCUMENTS.get(scope["path"], _CARRIED) if carried else _OPEN
            await self._admit(bounds, scope, receive, send)

    async def _admit(self, bounds: Bounds, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry a request out while no more comes than may."""
        body = _Body(bounds, receive, send)
        length = Headers(scope=scope).get("content-length", "0")  # the server lets digits through only
        if int(length) > bounds.most:
            body.excess = TOO_LARGE
        else:
            with body.cancel_scope, suppress(ClientDisconnect):
                await self._app(scope, body.receive, body.send)
        if body.excess is not None and not body.answered:
            await _refuse(_excess_answer(body.excess, bounds, scope), scope, receive, send)

    def _foreign(self, headers: Headers) -> str | None:
        """What shows that a request was made by a page of another site, if anything does."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if self._named and not (len(hosts) == 1 and _LOCAL.fullmatch(hosts[0])):
            return "the request names another machine than this one"
        if any(origin.lower() != f"http://{host.lower()}" for origin in origins for host in hosts or [""]):
            return "the request comes from a page of another origin"
        if set(headers.getlist("sec-fetch-site")) & {"cross-site", "same-site"}:
            return "the request comes from a page of another site"
        return None

    def _carried(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # as bytes: texts must be ASCII to be compared so
        carried = given.encode()
        return scheme.lower() == "bearer" and (
            hmac.compare_digest(carried, self._token) or self._sessions.holds(carried)
        )


class _Body:
    """What a request carries, counted while it is received; ``excess`` is the status that says what was too much."""

    def __init__(self, bounds: Bounds, receive: Receive, send: Send) -> None:
        self.cancel_scope = trio.CancelScope()
        self.excess: int | None = None
        self.answered = False
        self._receive = receive
        self._send = send
        self._left = bounds.most
        self._deadline = trio.current_time() + bounds.seconds

    async def receive(self) -> Message:
        message: Message | None = None
        with trio.move_on_at(self._deadline):
            message = await self._receive()
        if message is None:
            await self._end(TOO_SLOW)
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            await self._end(TOO_LARGE)
        if not message.get("more_body", False):
            self._deadline = inf  # what is waited for now is that the client goes away
        return message

    async def _end(self, excess: int) -> NoReturn:
        self.excess = excess
        self.cancel_scope.cancel()
        await trio.sleep_forever()
        raise AssertionError

    async def send(self, message: Message) -> None:
        self.answered = True
        await self._send(message)


async def _refuse(refusal: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a refusal, while what still comes is received for nothing: hypercorn's end of an answer waits for
    somebody to receive."""

    async def ignore() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ignore)
        await refusal(scope, receive, send)
        nursery.cancel_scope.cancel()


def _excess_answer(excess: int, bounds: Bounds, scope: Scope) -> Response:
    """The answer to a request that carries too much, or that takes too long."""
    if excess == TOO_SLOW:
        fault = Fault("HX7098", f"the request did not come in {bounds.seconds:g} seconds")
        return answer_faults(PeerError(fault), TOO_SLOW)
    given = QueryParams(scope["query_string"])
    file = given.get("file") or given.get("name") if scope["path"] in _DOCUMENTS else None
    return answer_faults(PeerError(Fault(bounds.code, f"has more than {bounds.most} bytes", file=file)), TOO_LARGE)


def _is_open(path: str) -> bool:
    return path in (HEALTH, SESSIONS) or is_page(path)
