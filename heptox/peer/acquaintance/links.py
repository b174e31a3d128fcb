"""The connections of a peer with its acquaintances: kept, and used to offer each acquaintance, or to withdraw it.

Each acquaintance has a supervisor, which dials, waits longer after every failure, and offers the acquaintance over each
new connection: so what either side has changed meanwhile is noticed, and agreed on anew.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

import trio

from heptox.errors import PeerError
from heptox.peer.acquaintance.acquainting import schema_at, schema_key
from heptox.peer.acquaintance.register import AcquaintanceRegister, Known, standing_as
from heptox.peer.process.retry import Retry
from heptox.peer.process.supervision import supervised_for_one
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import PROTOCOL, Offer, Withdrawal, decode_reply, encode_call
from heptox.peer.wire.standing import Standing
from heptox.peer.wire.transport import Transport

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 60.0
"""Seconds between two attempts to reach an acquaintance; each failure doubles them."""
PRECEDENCE: Final = 1.0
"""Seconds for which the peer with the greater id lets the other dial first: one connection is enough."""
DECISION_SECONDS: Final = 5.0
"""How long an administrator waits for the other side to hear of a decision; it hears of it later otherwise."""

_log = logging.getLogger(__name__)


class AcquaintanceLinks:
    """Keeps the connections to the acquaintances in force."""

    def __init__(self, register: AcquaintanceRegister, transport: Transport) -> None:
        self._register = register
        self._transport = transport
        self._lost: dict[PeerId, trio.Event] = {}
        self._agreements: Counter[PeerId] = Counter()
        self._scopes: dict[PeerId, trio.CancelScope] = {}
        self._withdrawals: dict[PeerId, trio.CancelScope] = {}
        self._nursery: trio.Nursery | None = None
        register.follow = self.follow

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep connections to the acquaintances while the context is open; the transport serves meanwhile."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for peer in tuple(self._register.known):
                self.follow(peer)
            try:
                yield
            finally:
                self._nursery = None
                nursery.cancel_scope.cancel()

    def lost(self, peer: PeerId) -> None:
        """The last connection to a peer is gone."""
        if peer in self._lost:
            self._lost[peer].set()

    def agreed(self, peer: PeerId) -> None:
        """An offer of an acquaintance was answered, and it is in force."""
        self._agreements[peer] += 1

    def follow(self, peer: PeerId) -> None:
        """Keep a connection to a peer from now on if an acquaintance with it is in force, else none."""
        self.supersede(peer)
        if peer in self._scopes:
            self._scopes.pop(peer).cancel()
        known = self._register.known.get(peer)
        if self._nursery is not None and known is not None and known.acquaintance.standing.in_force:
            scope = self._scopes[peer] = trio.CancelScope()
            self._nursery.start_soon(self._supervised, peer, scope)

    async def _supervised(self, peer: PeerId, scope: trio.CancelScope) -> None:
        with scope:
            await supervised_for_one("acquaintance", partial(self._keep, peer))

    async def _keep(self, peer: PeerId) -> None:
        retry = Retry(FIRST_PAUSE, LONGEST_PAUSE)
        if self._transport.peer > peer:
            await trio.sleep(PRECEDENCE)
        while True:
            since = trio.current_time()
            try:
                await self._connected_once(peer)
            except PeerError as error:
                _log.info("%s: %s", self._register.known[peer].acquaintance.name, error)
            await trio.sleep(retry.pause(trio.current_time() - since))

    async def _connected_once(self, peer: PeerId) -> None:
        """Have a connection until it is lost; raises :class:`PeerError` when there is none, or no sense to be had."""
        lost = self._lost[peer] = trio.Event()
        try:
            await self._dial(peer)
            while self._transport.connected(peer) and not lost.is_set():
                await self._offer(peer)
                undecided = self._register.known[peer].acquaintance.standing is Standing.PROPOSED
                with trio.move_on_after(LONGEST_PAUSE if undecided else math.inf):
                    await lost.wait()
        finally:
            if self._lost.get(peer) is lost:  # not that of a supervisor that has taken over
                del self._lost[peer]

    async def _dial(self, peer: PeerId) -> None:
        await self._transport.dial(peer, (str(self._register.known[peer].acquaintance.address),))

    async def reach(self, peer: PeerId) -> bool:
        """Offer an acquaintance now: whether the other is there. If not, its supervisor goes on trying."""
        try:
            with trio.fail_after(DECISION_SECONDS):
                await self._dial(peer)
                await self._offer(peer)
        except (PeerError, trio.TooSlowError, KeyError) as error:
            _log.info("%s was not offered the acquaintance yet: %s", peer, error)
            return False
        return True

    async def _offer(self, peer: PeerId) -> None:
        """Offer an acquaintance over the connection that there is, and keep what the other says about it.

        It is offered again where its standing has changed meanwhile: the other has said so then while its reply to what
        was offered before was on the way, and nobody knows which of the two is the later one.
        """
        while not await self._replied(peer):
            pass

    async def _replied(self, peer: PeerId) -> bool:
        """Offer an acquaintance once; whether the reply holds for how it stands now."""
        known, agreements = self._register.known[peer], self._agreements[peer]
        acquaintance = known.acquaintance
        offer = Offer(
            self._register.folder.settings.name,
            self._addresses(),
            known.files,
            acquaintance.side,
            self._register.key,
            acquaintance.standing is Standing.AGREED,
            acquaintance.version,
        )
        reply = decode_reply(await self._transport.call(peer, PROTOCOL, encode_call(offer)))
        async with self._register.writing:
            now = self._register.known.get(peer)
            if now is None or now.files != known.files:
                return True  # another supervisor has taken over, or none
            is_offered = self._agreements[peer] != agreements  # the other side has done so since it was asked
            if now.acquaintance != acquaintance or (is_offered and not reply.standing.in_force):
                return False
            self._register.known[peer] = replace(
                now, clock=reply.clock - time.time(), other=_other_fault(known, reply.schema)
            )
            # No more often than offers are made here, so not bounded.
            await self._register.change(standing_as(now, reply.standing, reply.reason))
            return True

    def _addresses(self) -> tuple[str, ...]:
        announced = self._register.folder.settings.announce
        return (f"{announced}/p2p/{self._transport.peer}",) if announced else self._transport.addresses

    async def withdraw(self, peer: PeerId, addresses: tuple[str, ...], call: Withdrawal) -> None:
        """Send a withdrawal now, and again in the background until the peer acknowledges it, or it is superseded."""
        self.supersede(peer)
        scope = self._withdrawals[peer] = trio.CancelScope()
        acknowledged = await self._withdraws(peer, addresses, call)
        if self._nursery is not None and not acknowledged:
            self._nursery.start_soon(self._withdraw_again, peer, call, scope)
        else:
            self._acknowledged(peer, scope)

    async def _withdraw_again(self, peer: PeerId, call: Withdrawal, scope: trio.CancelScope) -> None:
        retry = Retry(FIRST_PAUSE, LONGEST_PAUSE)
        with scope:
            await trio.sleep(retry.pause())
            while not await self._withdraws(peer, (), call):  # one that is not connected offers when it is
                await trio.sleep(retry.pause())
        self._acknowledged(peer, scope)

    def _acknowledged(self, peer: PeerId, scope: trio.CancelScope) -> None:
        if self._withdrawals.get(peer) is scope:  # not that of a later one
            del self._withdrawals[peer]

    async def _withdraws(self, peer: PeerId, addresses: tuple[str, ...], call: Withdrawal) -> bool:
        """Send a withdrawal once; whether the peer has acknowledged it."""
        try:
            with trio.fail_after(DECISION_SECONDS):
                await self._transport.dial(peer, addresses)
                reply = decode_reply(await self._transport.call(peer, PROTOCOL, encode_call(call)))
        except (PeerError, trio.TooSlowError) as error:
            _log.info("%s has not acknowledged a withdrawal yet: %s", peer, error)
            return False
        return not reply.standing.in_force  # else it changes too often to take it now (HX7105)

    def supersede(self, peer: PeerId) -> None:
        """Send a withdrawal to a peer no more: something later is agreed on, or said."""
        if peer in self._withdrawals:
            self._withdrawals.pop(peer).cancel()


def _other_fault(known: Known, schema: str) -> str:
    """What is wrong with a mapping for a peer that has this schema now, if it says which."""
    if known.mapping is None or not schema:
        return ""
    theirs = schema_key(schema_at(known.mapping, known.acquaintance.side.other))
    return "" if theirs == schema else "it has another schema now than that of the mapping"
