"""The links to acquaintances, for feeds: each is opened by one of the two, used by both, and opened again when lost."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

import trio

from heptox.errors import Fault, PeerError
from heptox.peer.process.retry import Retry
from heptox.peer.process.supervision import note_failure, supervised_for_one
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.transport import FEED, OLD_FEED, ByteMessages, Transport

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds before a link is made again; each one that does not last so long itself doubles them."""
LOOK: Final = 1.0
"""Seconds after which it is looked for a connection of which nothing was heard."""

_log = logging.getLogger(__name__)


class FeedLinks:
    """The links of one peer.

    ``use`` reads a new link until it ends, and raises :class:`PeerError` then; ``on_loss`` is called when a link is
    none any more. ``note`` reports to the administrator.
    """

    def __init__(
        self,
        transport: Transport,
        use: Callable[[ByteMessages], Awaitable[None]],
        on_loss: Callable[[PeerId], None],
        note: Callable[[str, Mapping[str, str | int]], None],
    ) -> None:
        self._transport = transport
        self._use_link = use
        self._on_loss = on_loss
        self._note = note
        self._neighbours: dict[PeerId, _Neighbour] = {}
        self._nursery: trio.Nursery | None = None

    def begin(self, nursery: trio.Nursery) -> None:
        """Have links from now on, by tasks in a nursery."""
        self._nursery = nursery
        for peer in self._neighbours:
            self._supervise(peer)

    def end(self) -> None:
        """Have no links any more."""
        self._nursery = None
        for neighbour in self._neighbours.values():
            if neighbour.link is not None:
                neighbour.link.abort()

    def acquaint(self, peers: Collection[PeerId]) -> None:
        """Have links to these acquaintances from now on, and to nobody else; also before :meth:`begin`."""
        for peer in tuple(self._neighbours):
            if peer not in peers:
                self._leave(peer)
        for peer in peers:
            if peer not in self._neighbours:
                self._neighbours[peer] = _Neighbour()
                self._supervise(peer)

    def gained(self, peer: PeerId) -> None:
        """A connection to a peer stands."""
        if peer in self._neighbours:
            self._neighbours[peer].gained.set()

    @property
    def outdated(self) -> tuple[PeerId, ...]:
        """The acquaintances that speak only the protocol of before feeds were signed."""
        return tuple(peer for peer, neighbour in self._neighbours.items() if neighbour.is_outdated)

    def to(self, peer: PeerId) -> ByteMessages | None:
        """The link to a peer, if there is one."""
        neighbour = self._neighbours.get(peer)
        return None if neighbour is None else neighbour.link

    def linked(self, peer: PeerId) -> bool:
        """Whether there is a link to a peer."""
        return self.to(peer) is not None

    def is_current(self, stream: ByteMessages) -> bool:
        """Whether a stream is the link to its neighbour."""
        return self.to(stream.neighbour) is stream

    async def take(self, stream: ByteMessages) -> None:
        """Use an inbound stream as the link to its neighbour, for as long as it lasts; it is left if it may be none."""
        peer = stream.neighbour
        neighbour = self._neighbours.get(peer)
        if self._nursery is None or neighbour is None or self._opens(peer):
            return
        if trio.current_time() >= neighbour.pause_until:
            await self._use(stream, neighbour)

    async def refuse(self, peer: PeerId, message: bytes) -> bytes:  # noqa: ARG002
        """Refuse a link of the protocol of before feeds were signed; raises :class:`PeerError` (HX7003)."""
        self._is_outdated(peer)
        raise PeerError(Fault("HX7003", f"{OLD_FEED} is not spoken", hint=f"this peer speaks {FEED}"))

    def break_off(self, peer: PeerId, reason: str) -> None:
        """End a link, and wait a while before the next one."""
        neighbour = self._neighbours.get(peer)
        if neighbour is not None and neighbour.link is not None:
            _log.info("the link to %s is broken: %s", peer, reason)
            link, neighbour.link = neighbour.link, None
            link.abort()
            neighbour.back_off()

    # -- one link ----------------------------------------------------------------------------------------------------

    def _supervise(self, peer: PeerId) -> None:
        if self._nursery is not None and self._opens(peer):
            self._nursery.start_soon(self._keep, peer, self._neighbours[peer])

    def _opens(self, peer: PeerId) -> bool:
        return self._transport.peer < peer

    def _leave(self, peer: PeerId) -> None:
        neighbour = self._neighbours[peer]
        neighbour.scope.cancel()
        if neighbour.link is not None:
            self._down(neighbour.link)
        del self._neighbours[peer]

    async def _keep(self, peer: PeerId, neighbour: _Neighbour) -> None:
        with neighbour.scope:
            await supervised_for_one("link", partial(self._open_again, peer, neighbour))

    async def _open_again(self, peer: PeerId, neighbour: _Neighbour) -> None:
        """Open a link again and again."""
        while True:
            await self._connected(peer, neighbour)
            neighbour.began = trio.current_time()
            try:
                stream = await self._transport.open_feed(peer)
            except PeerError as error:
                _log.info("there is no link to %s: %s", peer, error)
                await self._look_for_old(peer, neighbour)
            else:
                await self._use(stream, neighbour)
            neighbour.back_off()

    async def _connected(self, peer: PeerId, neighbour: _Neighbour) -> None:
        """Wait until a link may be opened."""
        await trio.sleep_until(neighbour.pause_until)
        while not self._transport.connected(peer):
            neighbour.gained = trio.Event()
            with trio.move_on_after(LOOK):
                await neighbour.gained.wait()

    async def _look_for_old(self, peer: PeerId, neighbour: _Neighbour) -> None:
        """Find out whether a neighbour takes part in feeds, and speaks another protocol."""
        if not neighbour.is_looked_at:
            neighbour.is_looked_at = True
            with suppress(PeerError):
                await self._transport.call(peer, OLD_FEED, b"")
                self._is_outdated(peer)

    def _is_outdated(self, peer: PeerId) -> None:
        neighbour = self._neighbours.get(peer)
        if neighbour is not None and not neighbour.is_outdated:
            neighbour.is_outdated = True
            why = f"it speaks {OLD_FEED}, which is not signed; this peer speaks {FEED}"
            self._note("link refused", {"neighbour": peer, "why": why})

    async def _use(self, stream: ByteMessages, neighbour: _Neighbour) -> None:
        """Use a link until it ends; it takes the place of the one before."""
        peer = stream.neighbour
        if neighbour is not self._neighbours.get(peer):
            stream.abort()
            return
        if neighbour.link is not None:
            self._down(neighbour.link)
        neighbour.link, neighbour.began = stream, trio.current_time()
        neighbour.is_outdated = neighbour.is_looked_at = False
        try:
            await self._use_link(stream)
        except PeerError as error:
            if self.is_current(stream):
                _log.info("the link to %s has ended: %s", peer, error)
                if any(fault.code != "HX7011" for fault in error.faults):
                    neighbour.back_off()
                    self._note("link broken", {"neighbour": peer, "reason": str(error)})
        except Exception:
            note_failure("link")
            neighbour.back_off()
        finally:
            stream.abort()
            self._down(stream)

    def _down(self, stream: ByteMessages) -> None:
        """Let a link be none any more, if it is one."""
        if self.is_current(stream):
            self._neighbours[stream.neighbour].link = None
            stream.abort()
            self._on_loss(stream.neighbour)


class _Neighbour:
    """An acquaintance with which there is a ``link``, or may be one again after ``pause_until``; the last one, or the
    last attempt at one, ``began`` then."""

    def __init__(self) -> None:
        self.link: ByteMessages | None = None
        self.gained = trio.Event()
        self.scope = trio.CancelScope()
        self.began = 0.0
        self.pause_until = 0.0
        self.is_outdated = False
        self.is_looked_at = False
        self._retry = Retry(FIRST_PAUSE, LONGEST_PAUSE, spread=0)  # as the protocol says

    def back_off(self) -> None:
        """Wait a while before the next link."""
        now = trio.current_time()
        if now < self.pause_until:
            return
        self.pause_until = now + self._retry.pause(now - self.began)
