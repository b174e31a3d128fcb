"""The acquaintances of a running peer: kept connected, agreed on with the other side, told to whoever asks them.

Each has a supervisor, which dials, waits longer after every failure, and offers the acquaintance over each new
connection: so what either side has changed meanwhile is noticed, and agreed on anew.
"""

from __future__ import annotations

import logging
import math
import shlex
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.mapping import Mapping, load_packed_mapping
from heptox.peer.acquainting import (
    Proposal,
    accept,
    acquaint,
    acquaintance_fields,
    address_now,
    check_offer,
    meant,
    offered_names,
    schema_at,
    schema_key,
)
from heptox.peer.address import PeerAddress
from heptox.peer.folder import Acquaintance, PeerFolder
from heptox.peer.logs import STRANGERS
from heptox.peer.mapping_files import MappingFiles
from heptox.peer.messages import PeerId
from heptox.peer.offers import (
    PROTOCOL,
    Offer,
    Reply,
    Withdrawal,
    decode_call,
    decode_reply,
    encode_call,
    encode_reply,
)
from heptox.peer.rates import Rate
from heptox.peer.requests import Refusal
from heptox.peer.retry import Retry
from heptox.peer.standing import Held, Offered, Standing, Step, step
from heptox.peer.supervision import supervised_for_one
from heptox.peer.transport import Transport
from heptox.peer.workers import Working
from heptox.printable import printable

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 60.0
"""Seconds between two attempts to reach an acquaintance; each failure doubles them."""
PRECEDENCE: Final = 1.0
"""Seconds for which the peer with the greater id lets the other dial first: one connection is enough."""
DECISION_SECONDS: Final = 5.0
"""How long an administrator waits for the other side to hear of a decision; it hears of it later otherwise."""
OFFER_LIMIT: Final = 1024 * 1024
"""Bytes of an offer at most: strangers make them, and they are kept."""

CHANGES: Final = 20
CHANGE_SECONDS: Final = 600.0
"""How often in so many seconds a neighbour can change how an acquaintance with it stands: each time is written down."""
COMING: Final = 30
"""Strangers that become acquaintances by themselves in an hour at most; those after them wait to be decided."""
MINUTE: Final = 60.0
HOUR: Final = 3600.0

_UNREAD: Final = ("HX7061", "HX7102", "HX7105")
"""Why a call is not decided now, whatever is in it: its sender may make it again."""
_REFUSALS: Final = {
    "HX7054": "the offer says no address where its sender can be reached",
    "HX7058": "the mapping is not between the schemas of the two peers",
    "HX7061": "as many offers wait as may",
    "HX7100": "to read the offer takes more of the processor or of memory than it may",
    "HX7102": "this peer reads no more offers of strangers now: offer it again in some minutes",
    "HX7103": "the offer is larger than it may be",
    "HX7104": "the mapping that is offered cannot be read, or has faults",
    "HX7105": "the acquaintance changes too often: offer it again in some minutes",
}
"""All that is said about a call that is not taken: details would tell strangers what is here."""
_MOST_TOLD: Final = 2000
"""Characters of what is wrong with an offer in the audit log at most."""
_MOST_REASON: Final = 1000
"""Characters at most of why the other side has refused or ended an acquaintance."""
_UNDECIDED: Final = "its administrator has not decided"

_log = logging.getLogger(__name__)
_strangers = logging.getLogger(STRANGERS)


@dataclass(frozen=True, slots=True)
class Known:
    """An acquaintance at work; ``mapping`` is ``None`` when ``fault`` keeps queries from it.

    ``clock`` is how many seconds its clock was ahead of ours when it replied last, ``other`` what was wrong with its
    schema then: it refuses our queries itself.
    """

    acquaintance: Acquaintance
    files: MappingFiles
    mapping: Mapping | None
    fault: str = ""
    clock: float | None = None
    other: str = ""

    @property
    def peer(self) -> PeerId:
        return self.acquaintance.peer_id


class Record(Protocol):
    """Writes to the audit log; what was written is on the disk when it returns."""

    async def __call__(self, event: str, **fields: Any) -> None: ...


class Note(Protocol):
    """Writes to the audit log what others bring about at their own speed; whether it is in a line of its own."""

    def __call__(self, event: str, **fields: str | int) -> bool: ...


class Acquaintances:
    """Whom a peer knows.

    ``changed`` is called whenever that, or how somebody stands, has changed; ``record`` with what goes to the audit
    log, an event and what belongs to it; ``note`` with what goes there of offers that wait or are not taken. What is
    offered is read by ``workers``, and never while others wait for it.
    """

    def __init__(
        self,
        folder: PeerFolder,
        transport: Transport,
        changed: Callable[[], None],
        record: Record,
        note: Note,
        workers: Working,
    ) -> None:
        self._folder = folder
        self._transport = transport
        self._writing = trio.Lock()
        self._changed = changed
        self._record = record
        self._note = note
        self._workers = workers
        self._strange = Rate(folder.settings.offers, MINUTE)
        self._coming = Rate(COMING, HOUR)
        self._changes: dict[PeerId, Rate] = {}
        self._one_stranger = trio.CapacityLimiter(1)
        self._key = schema_key(folder.schema())
        self._known: dict[PeerId, Known] = {}
        self._requests = folder.requests()
        self._lost: dict[PeerId, trio.Event] = {}
        self._agreements: Counter[PeerId] = Counter()
        self._scopes: dict[PeerId, trio.CancelScope] = {}
        self._withdrawals: dict[PeerId, trio.CancelScope] = {}
        self._nursery: trio.Nursery | None = None

    @property
    def known(self) -> tuple[Known, ...]:
        """All acquaintances, whether agreed on or not."""
        return tuple(self._known.values())

    def find(self, who: str) -> Known:
        """The acquaintance of that name or peer id; raises :class:`PeerError` (HX7067) when nobody is meant."""
        return self._known[meant(who, {one.peer: one.acquaintance.name for one in self.known}, "is an acquaintance")]

    def requests(self) -> dict[PeerId, Offer]:
        """The offers that wait for the administrator, by who makes them."""
        return self._requests.waiting()

    def names(self) -> dict[PeerId, str]:
        """What those are called here whose offers wait."""
        return offered_names(self.requests(), (known.acquaintance for known in self.known))

    async def open(self) -> None:
        """Read the acquaintances and their mappings; raises what is wrong with any."""
        for acquaintance in await trio.to_thread.run_sync(self._folder.acquaintances):
            known = await trio.to_thread.run_sync(self._read, acquaintance)
            self._known[known.peer] = known
        for peer, name in self.names().items():
            self._tell_of(peer, name)

    def _tell_of(self, peer: PeerId, called: str) -> None:
        """Tell the administrator that somebody offers an acquaintance, and how to decide."""
        command = f"heptox peer acquaintances {shlex.quote(str(self._folder.path))}"
        name = printable(called)
        who = shlex.quote(name)
        told = f"`{command} --show {who}` prints its mapping; decide with `{command} --accept {who}`, or --refuse"
        _strangers.info("%s (%s) offers an acquaintance: %s", name, peer, told)

    def _read(self, acquaintance: Acquaintance, mapping: Mapping | None = None) -> Known:
        """An acquaintance from the disk; ``mapping`` is its mapping, where that was read before."""
        files = MappingFiles.read(acquaintance.mapping)
        try:
            mapping = mapping or files.load()
        except HeptoxError:  # again, with the names of the files that are to be mended
            mapping = load_packed_mapping(files.files, files.mapping, acquaintance.mapping.parent)
        if schema_key(schema_at(mapping, acquaintance.side)) != self._key:
            reason = "the mapping is for another schema than the one that this peer has now"
            _log.warning("%s: %s", acquaintance.name, reason)
            return Known(acquaintance, files, None, reason)
        return Known(acquaintance, files, mapping)

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep connections to the acquaintances while the context is open; the transport serves meanwhile."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for peer in tuple(self._known):
                self._supervise(peer)
            try:
                yield
            finally:
                self._nursery = None
                nursery.cancel_scope.cancel()

    # -- what the administrator does -----------------------------------------------------------------------------------

    async def acquaint(self, proposal: Proposal) -> Known:
        """Make an acquaintance, and offer it; it is on the disk when this returns, whatever the other side says."""
        async with self._writing:
            made = await trio.to_thread.run_sync(acquaint, self._folder, proposal)
            waiting = self.requests().get(made.peer_id)
            if waiting is not None and waiting.files.digest == proposal.files.digest:
                self._requests.drop(made.peer_id)
            self._requests.forgive(made.peer_id)
            known = await self._take_over("acquainted", made)
        await self.reach(known.peer)
        return self._known.get(known.peer, known)

    async def accept(self, who: str, name: str | None = None, digest: str | None = None) -> tuple[Known, str]:
        """Accept the offer of ``who``, a peer id or the name that it goes by here; it is told soon.

        Gives the acquaintance, and the digest of the offer that was accepted. Raises :class:`PeerError`: HX7067 when
        nobody is meant, or several; HX7101 when the offer is not, or no longer, the one of that ``digest``.
        """
        peer = meant(who, self.names(), "offers an acquaintance")
        offer = self.requests()[peer]
        self._check_digest(peer, digest or offer.digest(peer))
        mapping, addresses = await self._examined(peer, offer)
        async with self._writing:
            self._check_digest(peer, offer.digest(peer))
            made = await trio.to_thread.run_sync(accept, self._folder, addresses[0], offer, name)
            self._requests.drop(peer)
            self._requests.forgive(peer)
            known = await self._take_over("accepted", made, mapping, digest=offer.digest(peer))
        await self.reach(peer)
        return self._known.get(peer, known), offer.digest(peer)

    def _check_digest(self, peer: PeerId, digest: str) -> None:
        """Raise :class:`PeerError` (HX7101) unless the offer of that digest waits."""
        offer = self.requests().get(peer)
        if offer is None or offer.digest(peer) != digest:
            now = f"its digest is {offer.digest(peer)}: look at it with --show" if offer else "it is there no more"
            raise PeerError(Fault("HX7101", f"no offer of {peer} has the digest {digest!r}", hint=now))

    async def refuse(self, who: str, reason: str = "") -> PeerId:
        """Refuse the offer of ``who``; it is told soon, and not asked about again. Raises as :meth:`accept`."""
        async with self._writing:
            waiting = self.requests()
            peer = meant(who, self.names(), "offers an acquaintance")
            reason = printable(reason) or "its administrator has refused"
            self._requests.refuse(peer, Refusal(waiting[peer].files.digest, reason))
            await self._record("refused", neighbour=peer, name=waiting[peer].name, reason=reason)
        await self._end(peer, (), Withdrawal(reason))  # where it says that it listens, anybody may
        self._changed()
        return peer

    async def withdraw(self, who: str, reason: str = "") -> Acquaintance:
        """End the acquaintance with ``who``, a peer id or the name that we call it; it is told soon.

        Raises :class:`PeerError` (HX7067) when nobody is meant.
        """
        async with self._writing:
            known = self.find(who)
            peer, acquaintance = known.peer, known.acquaintance
            await trio.to_thread.run_sync(self._folder.drop_acquaintance, acquaintance)
            await self._record("ended", **acquaintance_fields(acquaintance), reason=reason)
            del self._known[peer]
            self._changes.pop(peer, None)
            self._leave(peer)
        self._changed()
        call = Withdrawal(printable(reason) or "its administrator has ended it")
        await self._end(peer, (str(acquaintance.address),), call)
        return acquaintance

    async def _take_over(self, event: str, made: Acquaintance, mapping: Mapping | None = None, **more: str) -> Known:
        await self._record(event, **acquaintance_fields(made), **more)
        known = await trio.to_thread.run_sync(self._read, made, mapping)
        self._known[known.peer] = known
        self._supersede(known.peer)
        self._supervise(known.peer)
        self._changed()
        return known

    # -- what others say ---------------------------------------------------------------------------------------------

    async def answer(self, peer: PeerId, message: bytes) -> bytes:
        """Answer a call of a peer, whoever it is; raises :class:`PeerError` for what is no call."""
        if len(message) > OFFER_LIMIT:
            raise PeerError(Fault("HX7004", f"an offer of {len(message)} bytes is longer than {OFFER_LIMIT}"))
        call = decode_call(message)
        if isinstance(call, Withdrawal):
            async with self._writing:
                standing, reason = await self._withdrawn(peer, call.reason)
        else:
            standing, reason = await self._answered(peer, call)
            if standing.in_force and peer in self._known:
                self._agreements[peer] += 1
        self._supersede(peer)  # the reply says how it stands now
        # Who offers a mapping that fits knows the key already; others need not learn it.
        schema = self._key if standing.in_force else ""
        return encode_reply(Reply(standing, reason, schema, int(time.time())))

    async def _withdrawn(self, peer: PeerId, reason: str) -> tuple[Standing, str]:
        known = self._known.get(peer)
        self._requests.drop(peer)
        if known is not None and (before := known.acquaintance.standing).in_force:  # else it is said again
            standing = Standing.REFUSED if before is Standing.PROPOSED else Standing.WITHDRAWN
            if not await self._change(_standing(known, standing, reason)):
                self.lost(peer)  # its supervisor pauses, and learns by an offer then how it stands
                return self._changes_too_often(peer)
        return Standing.WITHDRAWN, ""

    async def _answered(self, peer: PeerId, offer: Offer) -> tuple[Standing, str]:
        async with self._writing:
            said = await self._said(peer, offer)
        if said is not None:
            return said
        try:
            self._admit(peer)
            mapping, addresses = await self._examined(peer, offer)
            async with self._writing:  # something may have been decided meanwhile
                return await self._said(peer, offer) or await self._taken(peer, offer, mapping, addresses)
        except HeptoxError as error:
            return self._not_taken(peer, offer.name, error)

    def _step(self, peer: PeerId, offer: Offer) -> Step:
        """What is to be done about an offer."""
        known = self._known.get(peer)
        refused = self._requests.refused(peer)
        return step(
            Offered(offer.files.digest, offer.side, offer.agreed),
            Held(known.files.digest, known.acquaintance.side) if known else None,
            self._folder.settings.policy,
            listed=peer in self._folder.settings.listed,
            refused=refused.digest if refused else None,
        )

    async def _said(self, peer: PeerId, offer: Offer) -> tuple[Standing, str] | None:
        """What is said about an offer without reading its mapping; ``None`` where that has to be read."""
        wanted = self._step(peer, offer)
        match wanted:
            case Step.CONFIRM:
                self._requests.drop(peer)
                before = self._known[peer].acquaintance  # it is what we hold
                address = self._address_now(before.address, offer)
                after = replace(before, address=address, standing=Standing.AGREED, reason="")
                return (Standing.AGREED, "") if await self._change(after) else self._changes_too_often(peer)
            case Step.WAIT:
                return Standing.PROPOSED, "the other side has another mapping now"
            case Step.END:
                return Standing.WITHDRAWN, "its administrator has ended it"
            case Step.REFUSE:
                refused = self._requests.refused(peer)
                return Standing.REFUSED, refused.reason if refused else "it takes offers of those only whom it lists"
        if wanted is Step.ASK and self.requests().get(peer) == offer:  # it is made over each new connection
            return Standing.PROPOSED, _UNDECIDED
        return None

    def _admit(self, peer: PeerId) -> None:
        """Raise :class:`PeerError` (HX7102) for a stranger whose offer is not read now."""
        is_stranger = peer not in self._known and peer not in self._folder.settings.listed
        if is_stranger and not self._strange.take(trio.current_time()):
            raise PeerError(Fault("HX7102", f"strangers offer more than {self._folder.settings.offers} times a minute"))

    async def _examined(self, peer: PeerId, offer: Offer) -> tuple[Mapping, tuple[PeerAddress, ...]]:
        """The mapping that is offered, and where its sender listens; raises what is wrong, HX7100 and HX7103 too."""
        await trio.to_thread.run_sync(offer.files.check_bounds)
        if peer in self._known:
            mapping = await self._workers.run(offer.files.load)
        else:
            async with self._one_stranger:
                mapping = await self._workers.run(offer.files.load)
        return mapping, await trio.to_thread.run_sync(check_offer, self._folder, peer, offer, mapping)

    async def _taken(
        self, peer: PeerId, offer: Offer, mapping: Mapping, addresses: tuple[PeerAddress, ...]
    ) -> tuple[Standing, str]:
        """Take an offer that was examined: it is accepted, or waits for the administrator."""
        if self._step(peer, offer) is Step.ACCEPT and (address := self._trusted(peer, addresses)):
            made = await trio.to_thread.run_sync(accept, self._folder, address, offer)
            self._requests.drop(peer)
            await self._take_over("accepted", made, mapping, digest=offer.digest(peer))
            return Standing.AGREED, ""
        if self.requests().get(peer) == offer:
            return Standing.PROPOSED, _UNDECIDED
        await trio.to_thread.run_sync(self._requests.keep, peer, offer)
        called = self.names()[peer]
        self._note("offered", neighbour=peer, name=called, version=offer.version)
        self._tell_of(peer, called)
        self._changed()
        return Standing.PROPOSED, _UNDECIDED

    def _trusted(self, peer: PeerId, addresses: tuple[PeerAddress, ...]) -> PeerAddress | None:
        """Where a peer is dialled that becomes an acquaintance by itself; ``None`` where the administrator has to see
        the address: one that is not where the connection comes from may be anybody's."""
        if peer in self._folder.settings.listed:
            return addresses[0] if self._may_change(peer) else None
        address = next((one for one in addresses if self._comes_from(one)), None)
        return address if address and self._coming.take(trio.current_time()) else None

    def _comes_from(self, address: PeerAddress) -> bool:
        """Whether the connection to a peer comes from the machine of that address."""
        host = self._transport.host(address.peer_id)
        return host is not None and address.endpoint.is_at(host)

    def _address_now(self, held: PeerAddress, offer: Offer) -> PeerAddress:
        """Where an acquaintance is dialled from now on: another address counts if the offer comes from there."""
        now = address_now(held, offer)
        return now if now == held or self._comes_from(now) else held

    def _not_taken(self, peer: PeerId, name: str, error: HeptoxError) -> tuple[Standing, str]:
        """Keep for the administrator what is wrong with a call; its sender is told the kind only."""
        code = error.faults[0].code if error.faults[0].code in _REFUSALS else "HX7104"
        reason = printable(error.summary[:_MOST_TOLD])
        if self._note("not taken", neighbour=peer, name=printable(name), reason=reason):
            _log.info("a call of %s (%s) is not taken: %s", printable(name), peer, reason)
        return Standing.PROPOSED if code in _UNREAD else Standing.REFUSED, f"{code} {_REFUSALS[code]}"

    def _may_change(self, peer: PeerId) -> bool:
        """Whether a neighbour may change once more how an acquaintance with it stands."""
        return self._changes.setdefault(peer, Rate(CHANGES, CHANGE_SECONDS)).take(trio.current_time())

    async def _change(self, after: Acquaintance) -> bool:
        """Keep what a neighbour changes of an acquaintance by a call, unless it does so too often; whether it is kept
        on the disk."""
        if after != self._known[after.peer_id].acquaintance and not self._may_change(after.peer_id):
            return False
        await self._keep_as(after)
        return True

    def _changes_too_often(self, peer: PeerId) -> tuple[Standing, str]:
        reason = f"it changes more than {CHANGES} times in {CHANGE_SECONDS / 60:g} minutes"
        return self._not_taken(peer, self._known[peer].acquaintance.name, PeerError(Fault("HX7105", reason)))

    async def _keep_as(self, after: Acquaintance) -> None:
        """Keep what has changed of an acquaintance, on the disk too."""
        known = self._known[after.peer_id]
        before = known.acquaintance
        if after == before:
            return
        await trio.to_thread.run_sync(self._folder.change_acquaintance, after)
        self._known[after.peer_id] = replace(known, acquaintance=after)
        await self._record("stands", **acquaintance_fields(after), reason=after.reason)
        if not after.standing.in_force:
            self._leave(after.peer_id)
        elif not before.standing.in_force:
            self._supervise(after.peer_id)
        self._changed()

    # -- connections -------------------------------------------------------------------------------------------------

    def lost(self, peer: PeerId) -> None:
        """The last connection to a peer is gone."""
        if peer in self._lost:
            self._lost[peer].set()

    def _supervise(self, peer: PeerId) -> None:
        self._leave(peer)
        if self._nursery is not None and self._known[peer].acquaintance.standing.in_force:
            scope = self._scopes[peer] = trio.CancelScope()
            self._nursery.start_soon(self._kept, peer, scope)

    def _leave(self, peer: PeerId) -> None:
        if peer in self._scopes:
            self._scopes.pop(peer).cancel()

    async def _kept(self, peer: PeerId, scope: trio.CancelScope) -> None:
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
                _log.info("%s: %s", self._known[peer].acquaintance.name, error)
            await trio.sleep(retry.pause(trio.current_time() - since))

    async def _connected_once(self, peer: PeerId) -> None:
        """Have a connection until it is lost; raises :class:`PeerError` when there is none, or no sense to be had."""
        lost = self._lost[peer] = trio.Event()
        try:
            await self._dial(peer)
            while self._transport.connected(peer) and not lost.is_set():
                await self._offer(peer)
                undecided = self._known[peer].acquaintance.standing is Standing.PROPOSED
                with trio.move_on_after(LONGEST_PAUSE if undecided else math.inf):
                    await lost.wait()
        finally:
            if self._lost.get(peer) is lost:  # not that of a supervisor that has taken over
                del self._lost[peer]

    async def _dial(self, peer: PeerId) -> None:
        await self._transport.dial(peer, (str(self._known[peer].acquaintance.address),))

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
        known, agreements = self._known[peer], self._agreements[peer]
        acquaintance = known.acquaintance
        offer = Offer(
            self._folder.settings.name,
            self._addresses(),
            known.files,
            acquaintance.side,
            self._key,
            acquaintance.standing is Standing.AGREED,
            acquaintance.version,
        )
        reply = decode_reply(await self._transport.call(peer, PROTOCOL, encode_call(offer)))
        async with self._writing:
            now = self._known.get(peer)
            if now is None or now.files != known.files:
                return True  # another supervisor has taken over, or none
            is_offered = self._agreements[peer] != agreements  # the other side has done so since it was asked
            if now.acquaintance != acquaintance or (is_offered and not reply.standing.in_force):
                return False
            self._known[peer] = replace(now, clock=reply.clock - time.time(), other=_other_fault(known, reply.schema))
            # No more often than offers are made here, so not by :meth:`_change`.
            await self._keep_as(_standing(now, reply.standing, reply.reason))
            return True

    def _addresses(self) -> tuple[str, ...]:
        announced = self._folder.settings.announce
        return (f"{announced}/p2p/{self._transport.peer}",) if announced else self._transport.addresses

    async def _end(self, peer: PeerId, addresses: tuple[str, ...], call: Withdrawal) -> None:
        """Send a withdrawal now, and again in the background until the peer acknowledges it, or it is superseded."""
        self._supersede(peer)
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

    def _supersede(self, peer: PeerId) -> None:
        """Send a withdrawal to a peer no more: something later is agreed on, or said."""
        if peer in self._withdrawals:
            self._withdrawals.pop(peer).cancel()


def _standing(known: Known, standing: Standing, reason: str) -> Acquaintance:
    """An acquaintance as the other side says that it stands."""
    return replace(known.acquaintance, standing=standing, reason=reason[:_MOST_REASON])


def _other_fault(known: Known, schema: str) -> str:
    """What is wrong with a mapping for a peer that has this schema now, if it says which."""
    if known.mapping is None or not schema:
        return ""
    theirs = schema_key(schema_at(known.mapping, known.acquaintance.side.other))
    return "" if theirs == schema else "it has another schema now than that of the mapping"
