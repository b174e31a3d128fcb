"""Who has opened the console: a browser is let in by a ticket, once, and gets a token of its own for it."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Final

from heptox.errors import Fault, PeerError

SESSIONS: Final = "/console/sessions"
"""The path at which a ticket is redeemed, without a token."""
TICKET_SECONDS: Final = 60
"""How long a ticket can be redeemed."""
MOST: Final = 48
"""Tickets that are kept at most, and sessions; the oldest make room."""


class Sessions:
    """The tickets that can be redeemed, and the tokens of those that were; ``clock`` gives seconds.

    Of either only a digest is kept: how long it takes to look one up says nothing about it.

    >>> sessions = Sessions()
    >>> ticket = sessions.ticket()
    >>> sessions.holds(sessions.redeem(ticket).encode()), sessions.holds(ticket.encode())
    (True, False)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tickets: dict[bytes, float] = {}
        self._tokens: dict[bytes, None] = {}

    def ticket(self) -> str:
        """A ticket for one session, good for :data:`TICKET_SECONDS`."""
        ticket = secrets.token_urlsafe(32)
        self._tickets[_digest(ticket.encode())] = self._clock() + TICKET_SECONDS
        _keep_newest(self._tickets)
        return ticket

    def redeem(self, ticket: str) -> str:
        """The token of a new session; raises :class:`PeerError` (HX7091) unless the ticket is good and unused."""
        ends = self._tickets.pop(_digest(ticket.encode(errors="surrogatepass")), None)
        if ends is None or self._clock() >= ends:
            message = "the ticket is none, or was used, or is too old"
            raise PeerError(Fault("HX7091", message, hint="`heptox console` opens the console with a new one"))
        token = secrets.token_urlsafe(32)
        self._tokens[_digest(token.encode())] = None
        _keep_newest(self._tokens)
        return token

    def holds(self, token: bytes) -> bool:
        """Whether a token is that of a session."""
        return _digest(token) in self._tokens


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _keep_newest(kept: dict[bytes, float] | dict[bytes, None]) -> None:
    while len(kept) > MOST:
        del kept[next(iter(kept))]
