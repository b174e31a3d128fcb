"""Links: which neighbours there are, what each side keeps for the other one, and whom this peer trusts."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.feed.events import Send
from heptox.feed.messages import Budget, Hello, Message, PeerId
from heptox.feed.reports import Outputs
from heptox.feed.trust import Following, Trust


class AgreementError(Exception):
    """A neighbour does not keep to what is agreed: the link to it is to be broken."""


class Links:
    """The machine for links. It owns which neighbours there are, and what is held against them.

    ``budget`` is what each of them may ask this peer to keep.
    """

    def __init__(self, budget: Budget, following: Following) -> None:
        self.budget = budget
        self._links: dict[PeerId, Budget | None] = {}  # what each keeps, once it has said so
        self.trust = Trust(following, self._links)

    def __contains__(self, neighbour: PeerId) -> bool:
        return neighbour in self._links

    def __iter__(self) -> Iterator[PeerId]:
        return iter(self._links)

    def budget_of(self, neighbour: PeerId) -> Budget:
        """What a neighbour keeps for this peer."""
        return self._links[neighbour] or Budget()

    def up(self, neighbour: PeerId) -> Outputs:
        """There is a new link."""
        self._links[neighbour] = None
        yield Send(neighbour, Hello(self.budget, namespaces=True))

    def down(self, neighbour: PeerId) -> None:
        """There is a link no more."""
        del self._links[neighbour]

    def check(self, neighbour: PeerId, message: Message) -> None:
        """Raises :class:`AgreementError` where a neighbour does not begin with one greeting."""
        if isinstance(message, Hello) == (self._links[neighbour] is not None):
            raise AgreementError("a link begins with one greeting")
        if isinstance(message, Hello):
            self._links[neighbour] = message.budget
