"""The acquaintances of a running peer: what its administrator decides about them."""

from __future__ import annotations

from collections.abc import Callable

import trio

from heptox.errors import Fault, PeerError
from heptox.peer.acquaintance.acquainting import Proposal, accept, acquaint, resolve_peer
from heptox.peer.acquaintance.links import AcquaintanceLinks
from heptox.peer.acquaintance.offer_answers import Note, OfferAnswers
from heptox.peer.acquaintance.register import AcquaintanceRegister, Known, Record
from heptox.peer.folder.folder import Acquaintance, PeerFolder
from heptox.peer.folder.requests import Refusal
from heptox.peer.process.workers import Working
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import Offer, Withdrawal
from heptox.peer.wire.transport import Transport
from heptox.printable import printable


class Acquaintances:
    """The acquaintances of a peer.

    ``changed`` is called whenever they, or how one of them stands, have changed; ``record`` with what goes to the audit
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
        self._register = AcquaintanceRegister(folder, changed, record)
        self._links = AcquaintanceLinks(self._register, transport)
        self._answers = OfferAnswers(self._register, self._links, transport, note, workers)
        self.find = self._register.find
        self.names = self._register.names
        self.kept = self._links.kept
        self.lost = self._links.lost
        self.reach = self._links.reach
        self.answer = self._answers.answer

    @property
    def known(self) -> tuple[Known, ...]:
        """All acquaintances, whether agreed on or not."""
        return tuple(self._register.known.values())

    def requests(self) -> dict[PeerId, Offer]:
        """The offers that wait for the administrator, by the peers that make them."""
        return self._register.requests.waiting()

    async def open(self) -> None:
        """Read the acquaintances and their mappings; raises what is wrong with any."""
        await self._register.open()
        for peer, name in self.names().items():
            self._answers.announce(peer, name)

    async def acquaint(self, proposal: Proposal) -> Known:
        """Make an acquaintance, and offer it; it is on the disk when this returns, whatever the other side says."""
        async with self._register.writing:
            made = await trio.to_thread.run_sync(acquaint, self._register.folder, self._register.requests, proposal)
            known = await self._register.add("acquainted", made)
        await self.reach(known.peer)
        return self._register.known.get(known.peer, known)

    async def accept(self, who: str, name: str | None = None, digest: str | None = None) -> tuple[Known, str]:
        """Accept the offer of ``who``, a peer id or the name that it goes by here; an offer is sent at once.

        Gives the acquaintance, and the digest of the offer that was accepted. Raises :class:`PeerError`: HX7067 when
        nobody is meant, or several; HX7101 when the offer is not, or no longer, the one of that ``digest``.
        """
        peer = resolve_peer(who, self.names(), "offers an acquaintance")
        offer = self.requests()[peer]
        self._check_digest(peer, digest or offer.digest(peer))
        mapping, addresses = await self._answers.examined(peer, offer)
        async with self._register.writing:
            self._check_digest(peer, offer.digest(peer))
            made = await trio.to_thread.run_sync(accept, self._register.folder, addresses[0], offer, name)
            self._register.requests.forgive(peer)
            known = await self._register.add("accepted", made, mapping, offer)
        await self.reach(peer)
        return self._register.known.get(peer, known), offer.digest(peer)

    def _check_digest(self, peer: PeerId, digest: str) -> None:
        """Raise :class:`PeerError` (HX7101) unless the offer of that digest waits."""
        offer = self.requests().get(peer)
        if offer is None or offer.digest(peer) != digest:
            now = f"its digest is {offer.digest(peer)}: look at it with --show" if offer else "it is there no more"
            raise PeerError(Fault("HX7101", f"no offer of {peer} has the digest {digest!r}", hint=now))

    async def refuse(self, who: str, reason: str = "") -> PeerId:
        """Refuse the offer of ``who``; a withdrawal is sent at once. The same is not asked about again.

        Raises as :meth:`accept`.
        """
        async with self._register.writing:
            waiting = self.requests()
            peer = resolve_peer(who, self.names(), "offers an acquaintance")
            reason = printable(reason) or "its administrator has refused"
            self._register.requests.refuse(peer, Refusal(waiting[peer].files.digest, reason))
            await self._register.record("refused", neighbour=peer, name=waiting[peer].name, reason=reason)
        await self._links.withdraw(peer, (), Withdrawal(reason))  # where it says that it listens, anybody may
        self._register.changed()
        return peer

    async def withdraw(self, who: str, reason: str = "") -> Acquaintance:
        """End the acquaintance with ``who``, a peer id or the name that we call it; a withdrawal is sent at once.

        Raises :class:`PeerError` (HX7067) when nobody is meant.
        """
        async with self._register.writing:
            known = self.find(who)
            await self._register.remove(known, reason)
            self._answers.forget(known.peer)
        call = Withdrawal(printable(reason) or "its administrator has ended it")
        await self._links.withdraw(known.peer, (str(known.acquaintance.address),), call)
        return known.acquaintance
