"""Who may use the control API: those who hold a token, and no page of another site in their browsers."""

from __future__ import annotations

import hmac
import re
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from heptox.errors import Fault, PeerError
from heptox.peer.console import SESSIONS, Sessions, is_page
from heptox.peer.control_http import answer_faults, answer_unauthorised

HEALTH: Final = "/healthz"
FOREIGN: Final = 403
_LOCAL: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)
"""The names of one's own machine. Any other may be one that a site has given it, to pass for it in a browser."""


class Guard:
    """Lets nobody in without a token, and no page of another site even with one.

    Of a request that it refuses it reads the headers only. ``sessions`` hold tokens besides ``token``; ``named`` is
    whether requests have to name this machine, which those over a socket need not.
    """

    def __init__(self, app: ASGIApp, token: str, sessions: Sessions, named: bool) -> None:
        self._app = app
        self._token = token.encode()
        self._sessions = sessions
        self._named = named

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if foreign := self._foreign(headers):
            refusal = answer_faults(PeerError(Fault("HX7090", foreign)), FOREIGN)
            await refusal(scope, receive, send)
        elif _is_open(scope["path"]) or self._carried(headers):
            await self._app(scope, receive, send)
        else:
            fault = Fault("HX7060", "the request does not carry the token", hint="it is in the file token")
            await answer_unauthorised(PeerError(fault))(scope, receive, send)

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


def _is_open(path: str) -> bool:
    return path in (HEALTH, SESSIONS) or is_page(path)
