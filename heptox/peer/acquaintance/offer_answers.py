"""What a peer answers to those who offer it an acquaintance, or withdraw one."""

from __future__ import annotations

import logging
import shlex
import time
from dataclasses import replace
from typing import Final, Protocol

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.mapping import Mapping
from heptox.peer.acquaintance.acquainting import accept, address_now, check_offer
from heptox.peer.acquaintance.links import AcquaintanceLinks
from heptox.peer.acquaintance.register import AcquaintanceRegister, standing_as
from heptox.peer.folder.folder import Acquaintance
from heptox.peer.process.rates import Rate
from heptox.peer.process.workers import Working
from heptox.peer.record.logs import STRANGERS
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import Offer, Reply, Withdrawal, decode_call, encode_reply
from heptox.peer.wire.standing import CurrentMapping, OfferedMapping, Standing, Step, step
from heptox.peer.wire.transport import Transport
from heptox.printable import printable

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
"""All that is said about a call that is not taken: details would show strangers what is here."""
_MOST_LOGGED: Final = 2000
"""Characters of what is wrong with an offer in the audit log at most."""
_UNDECIDED: Final = "its administrator has not decided"

_log = logging.getLogger(__name__)
_strangers = logging.getLogger(STRANGERS)


class Note(Protocol):
    """Writes to the audit log what others bring about at their own speed; whether it is in a line of its own."""

    def __call__(self, event: str, **fields: str | int) -> bool: ...


class OfferAnswers:
    """Answers calls. What is offered is read by ``workers``, and never while others wait for it.

    ``note`` gets what goes to the audit log of offers that wait or are not taken.
    """

    def __init__(
        self,
        register: AcquaintanceRegister,
        links: AcquaintanceLinks,
        transport: Transport,
        note: Note,
        workers: Working,
    ) -> None:
        self._register = register
        self._links = links
        self._transport = transport
        self._note = note
        self._workers = workers
        self._settings = register.folder.settings
        self._strange = Rate(self._settings.offers, MINUTE)
        self._coming = Rate(COMING, HOUR)
        self._changes: dict[PeerId, Rate] = {}
        self._one_stranger = trio.CapacityLimiter(1)

    async def answer(self, peer: PeerId, message: bytes) -> bytes:
        """Answer a call of any peer; raises :class:`PeerError` for what is no call."""
        if len(message) > OFFER_LIMIT:
            raise PeerError(Fault("HX7004", f"an offer of {len(message)} bytes is longer than {OFFER_LIMIT}"))
        call = decode_call(message)
        if isinstance(call, Withdrawal):
            async with self._register.writing:
                standing, reason = await self._withdrawn(peer, call.reason)
        else:
            standing, reason = await self._answered(peer, call)
            if standing.in_force and peer in self._register.known:
                self._links.agreed(peer)
        self._links.supersede(peer)  # the reply says how it stands now
        # Who offers a mapping that fits knows the key already; others need not learn it.
        schema = self._register.key if standing.in_force else ""
        return encode_reply(Reply(standing, reason, schema, int(time.time())))

    async def _withdrawn(self, peer: PeerId, reason: str) -> tuple[Standing, str]:
        known = self._register.known.get(peer)
        self._register.requests.drop(peer)
        if known is not None and (before := known.acquaintance.standing).in_force:  # else it is said again
            standing = Standing.REFUSED if before is Standing.PROPOSED else Standing.WITHDRAWN
            if not await self._change(standing_as(known, standing, reason)):
                self._links.lost(peer)  # its supervisor pauses, and learns by an offer then how it stands
                return self._changes_too_often(peer)
        return Standing.WITHDRAWN, ""

    async def _answered(self, peer: PeerId, offer: Offer) -> tuple[Standing, str]:
        async with self._register.writing:
            said = await self._said(peer, offer)
        if said is not None:
            return said
        try:
            self._admit(peer)
            mapping, addresses = await self.examined(peer, offer)
            async with self._register.writing:  # something may have been decided meanwhile
                return await self._said(peer, offer) or await self._taken(peer, offer, mapping, addresses)
        except HeptoxError as error:
            return self._not_taken(peer, offer.name, error)

    def _step(self, peer: PeerId, offer: Offer) -> Step:
        """What is to be done about an offer."""
        known = self._register.known.get(peer)
        refused = self._register.requests.refused(peer)
        return step(
            OfferedMapping(offer.files.digest, offer.side, offer.agreed),
            CurrentMapping(known.files.digest, known.acquaintance.side) if known else None,
            self._settings.policy,
            listed=peer in self._settings.listed,
            refused=refused.digest if refused else None,
        )

    async def _said(self, peer: PeerId, offer: Offer) -> tuple[Standing, str] | None:
        """What is said about an offer without reading its mapping; ``None`` where that has to be read."""
        wanted = self._step(peer, offer)
        match wanted:
            case Step.CONFIRM:
                self._register.requests.drop(peer)
                before = self._register.known[peer].acquaintance  # it is what we hold
                address = self._address_now(before.address, offer)
                after = replace(before, address=address, standing=Standing.AGREED, reason="")
                return (Standing.AGREED, "") if await self._change(after) else self._changes_too_often(peer)
            case Step.WAIT:
                return Standing.PROPOSED, "the other side has another mapping now"
            case Step.END:
                return Standing.WITHDRAWN, "its administrator has ended it"
            case Step.REFUSE:
                refused = self._register.requests.refused(peer)
                return Standing.REFUSED, refused.reason if refused else "it takes offers of those only whom it lists"
        # it is made over each new connection
        if wanted is Step.ASK and self._register.requests.waiting().get(peer) == offer:
            return Standing.PROPOSED, _UNDECIDED
        return None

    def _admit(self, peer: PeerId) -> None:
        """Raise :class:`PeerError` (HX7102) for a stranger whose offer is not read now."""
        is_stranger = peer not in self._register.known and peer not in self._settings.listed
        if is_stranger and not self._strange.take(trio.current_time()):
            raise PeerError(Fault("HX7102", f"strangers offer more than {self._settings.offers} times a minute"))

    async def examined(self, peer: PeerId, offer: Offer) -> tuple[Mapping, tuple[PeerAddress, ...]]:
        """The mapping that is offered, and where its sender listens; raises what is wrong, HX7100 and HX7103 too."""
        await trio.to_thread.run_sync(offer.files.check_bounds)
        if peer in self._register.known:
            mapping = await self._workers.run(offer.files.load)
        else:
            async with self._one_stranger:
                mapping = await self._workers.run(offer.files.load)
        return mapping, await trio.to_thread.run_sync(check_offer, self._register.folder, peer, offer, mapping)

    async def _taken(
        self, peer: PeerId, offer: Offer, mapping: Mapping, addresses: tuple[PeerAddress, ...]
    ) -> tuple[Standing, str]:
        """Take an offer that was examined: it is accepted, or waits for the administrator."""
        if self._step(peer, offer) is Step.ACCEPT and (address := self._trusted(peer, addresses)):
            made = await trio.to_thread.run_sync(accept, self._register.folder, address, offer)
            await self._register.add("accepted", made, mapping, offer)
            return Standing.AGREED, ""
        if self._register.requests.waiting().get(peer) == offer:
            return Standing.PROPOSED, _UNDECIDED
        await trio.to_thread.run_sync(self._register.requests.keep, peer, offer)
        called = self._register.names()[peer]
        self._note("offered", neighbour=peer, name=called, version=offer.version)
        self.announce(peer, called)
        self._register.changed()
        return Standing.PROPOSED, _UNDECIDED

    def _trusted(self, peer: PeerId, addresses: tuple[PeerAddress, ...]) -> PeerAddress | None:
        """Where a peer is dialled that becomes an acquaintance by itself; ``None`` where the administrator has to see
        the address: one that is not where the connection comes from may be anybody's."""
        if peer in self._settings.listed:
            return addresses[0] if self._may_change(peer) else None
        address = next((one for one in addresses if self._comes_from(one)), None)
        return address if address and self._coming.take(trio.current_time()) else None

    def _comes_from(self, address: PeerAddress) -> bool:
        """Whether the connection to a peer comes from the machine of that address."""
        host = self._transport.host(address.peer_id)
        return host is not None and address.endpoint.is_at(host)

    def _address_now(self, known: PeerAddress, offer: Offer) -> PeerAddress:
        """Where an acquaintance is dialled from now on: another address counts if the offer comes from there."""
        now = address_now(known, offer)
        return now if now == known or self._comes_from(now) else known

    def _not_taken(self, peer: PeerId, name: str, error: HeptoxError) -> tuple[Standing, str]:
        """Keep for the administrator what is wrong with a call; its sender gets the kind only."""
        code = error.faults[0].code if error.faults[0].code in _REFUSALS else "HX7104"
        reason = printable(error.summary[:_MOST_LOGGED])
        if self._note("not taken", neighbour=peer, name=printable(name), reason=reason):
            _log.info("a call of %s (%s) is not taken: %s", printable(name), peer, reason)
        return Standing.PROPOSED if code in _UNREAD else Standing.REFUSED, f"{code} {_REFUSALS[code]}"

    def _may_change(self, peer: PeerId) -> bool:
        """Whether a neighbour may change once more how an acquaintance with it stands."""
        return self._changes.setdefault(peer, Rate(CHANGES, CHANGE_SECONDS)).take(trio.current_time())

    async def _change(self, after: Acquaintance) -> bool:
        """Keep what a neighbour changes of an acquaintance by a call, unless it does so too often; whether it is kept
        on the disk."""
        if after != self._register.known[after.peer_id].acquaintance and not self._may_change(after.peer_id):
            return False
        await self._register.change(after)
        return True

    def _changes_too_often(self, peer: PeerId) -> tuple[Standing, str]:
        reason = f"it changes more than {CHANGES} times in {CHANGE_SECONDS / 60:g} minutes"
        return self._not_taken(peer, self._register.known[peer].acquaintance.name, PeerError(Fault("HX7105", reason)))

    def announce(self, peer: PeerId, called: str) -> None:
        """Say in the log that a peer offers an acquaintance, and how to decide."""
        command = f"heptox peer acquaintances {shlex.quote(str(self._register.folder.path))}"
        name = printable(called)
        who = shlex.quote(name)
        advice = f"`{command} --show {who}` prints its mapping; decide with `{command} --accept {who}`, or --refuse"
        _strangers.info("%s (%s) offers an acquaintance: %s", name, peer, advice)

    def forget(self, peer: PeerId) -> None:
        """An acquaintance has ended here: what its peer may change is counted anew."""
        self._changes.pop(peer, None)
