"""What is shown of a broker: its neighbours, publishers, and why a document goes where it does."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.feed.messages import PeerId, Wording


@dataclass(frozen=True, slots=True)
class PublisherSeen:
    """A publisher as this peer sees it: ``path`` from a neighbour to it, the ``digest`` of its advertisement, how many
    local subscriptions overlap that, up to which ``position`` documents have come, whether all that follows comes
    down the tree, and the ``version`` of the announcement and the ``wording`` that it tells. The publisher has signed
    that up to the position ``audited`` everything has come."""

    publisher: PeerId
    path: tuple[PeerId, ...]
    digest: str
    interested: int
    position: int | None
    live: bool
    version: int
    wording: Wording
    audited: int | None


@dataclass(frozen=True, slots=True)
class NeighbourSeen:
    """A neighbour: how many subscriptions it has told (``wants``), how many of ours concern it (``members``), how many
    of these it was ``told``, whether it was told that ``everything`` is wanted, and whether what is covered later is
    taken back (``withdraws``)."""

    neighbour: PeerId
    wants: int
    members: int
    told: int
    everything: bool
    withdraws: bool


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a neighbour gets a document, or does not: whether the publisher's tree leads there, and what it asks for."""

    neighbour: PeerId
    is_child: bool
    subscriptions: tuple[str, ...]

    @property
    def gets(self) -> bool:
        """Whether it gets the document."""
        return self.is_child and bool(self.subscriptions)
