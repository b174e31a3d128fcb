"""Links: which neighbours there are, what each side keeps for the other one, and whom this peer trusts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from heptox.feed.events import Distrusted, KeepDistrusted, Note, Send
from heptox.feed.messages import Budget, Hello, Message, PeerId
from heptox.feed.reports import Accusation, Fork, Outputs, Silence, TrustChange
from heptox.feed.trust import Following, Trust


class AgreementError(Exception):
    """A neighbour does not keep to what is agreed: the link to it is to be broken."""


@dataclass(slots=True)
class _Link:
    """A neighbour, what it keeps for this peer, and whether it has said so."""

    budget: Budget = field(default_factory=Budget)
    greeted: bool = False


class Links:
    """The machine for links. It owns which neighbours there are, and what is held against them.

    ``budget`` is what each of them may ask this peer to keep.
    """

    def __init__(self, budget: Budget, following: Following) -> None:
        self.budget = budget
        self.trust = Trust(following)
        """Read by others; changed here only."""
        self._links: dict[PeerId, _Link] = {}

    def __contains__(self, neighbour: PeerId) -> bool:
        return neighbour in self._links

    def __iter__(self) -> Iterator[PeerId]:
        return iter(self._links)

    def budget_of(self, neighbour: PeerId) -> Budget:
        """What a neighbour keeps for this peer."""
        return self._links[neighbour].budget

    def up(self, neighbour: PeerId) -> Outputs:
        """There is a new link."""
        self._links[neighbour] = _Link()
        yield Send(neighbour, Hello(self.budget))

    def down(self, neighbour: PeerId) -> None:
        """There is a link no more."""
        del self._links[neighbour]

    def check(self, neighbour: PeerId, message: Message) -> None:
        """Raises :class:`AgreementError` where a neighbour does not begin with one greeting."""
        link = self._links[neighbour]
        if isinstance(message, Hello) == link.greeted:
            raise AgreementError("a link begins with one greeting")
        if isinstance(message, Hello):
            link.greeted, link.budget = True, message.budget

    # trust

    def acquaint(self, peers: frozenset[PeerId]) -> Outputs:
        """Forget what is held against those that are acquaintances no more, and follow others."""
        for neighbour in self.trust.acquaint(peers):
            yield KeepDistrusted(neighbour)
        yield TrustChange(None)

    def distrust(self, distrusted: Distrusted) -> Outputs:
        """Follow nothing of a publisher that comes through a neighbour."""
        neighbour, publisher = distrusted.neighbour, distrusted.publisher
        is_with_none = self.trust.distrust(neighbour, publisher, distrusted.reason)
        yield TrustChange(None if is_with_none else publisher)

    def accuse(self, accusation: Accusation) -> Outputs:
        """A neighbour is not honest about the feed of a publisher: nothing of it is taken from there any more."""
        neighbour, publisher, reason = accusation.neighbour, accusation.publisher, accusation.reason
        yield Note("neighbour distrusted", {"neighbour": neighbour, "publisher": publisher, "why": reason})
        if neighbour in self and not self.trust.is_distrusted(neighbour, publisher):
            distrusted = Distrusted(neighbour, publisher, reason)
            yield KeepDistrusted(neighbour, distrusted)
            yield from self.distrust(distrusted)

    def avoid(self, silence: Silence) -> Outputs:
        """A neighbour answers no question to a publisher: another path to it is better, if there is one."""
        neighbour, publisher = silence.neighbour, silence.publisher
        yield Note("neighbour silent", {"neighbour": neighbour, "publisher": publisher})
        self.trust.avoid(neighbour, publisher)
        yield TrustChange(publisher)

    def fork(self, fork: Fork) -> Outputs:
        """A publisher has signed two feeds."""
        reason = f"it has signed two feeds that part before document {fork.sequence + 1}"
        if self.trust.fork(fork.publisher, reason):
            yield Note("feed forked", {"publisher": fork.publisher, "position": fork.sequence})
