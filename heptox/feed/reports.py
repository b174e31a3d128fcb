"""What the machines of a broker report to each other: :class:`~heptox.feed.Router` hands each report on, at once, to
those that it concerns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from heptox.feed.events import Instruction
from heptox.feed.messages import Announce, FeedDocument, PeerId


@dataclass(frozen=True, slots=True)
class TrustChange:
    """Other announcements of a publisher may be followed than before; ``None``: of any publisher."""

    publisher: PeerId | None


@dataclass(frozen=True, slots=True)
class RouteChange:
    """The route to a publisher has changed: the announcements that were and are followed; ``None``: there is none.

    ``newest`` is the newest version of its announcements that was followed before; 0 for none. ``news``: the publisher
    has just made the announcement, and nothing else has changed.
    """

    publisher: PeerId
    before: Announce | None
    after: Announce | None
    newest: int = 0
    news: bool = False


@dataclass(frozen=True, slots=True)
class TreeChange:
    """The next hop to a publisher, or the neighbours that its documents go to, may be others."""

    publisher: PeerId


@dataclass(frozen=True, slots=True)
class AdvertisementsGone:
    """No neighbour is answerable for the advertisements of these digests any more."""

    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A document has come down the tree of its publisher, and is not refused."""

    document: FeedDocument


@dataclass(frozen=True, slots=True)
class TranslationChange:
    """There are other translations of subscriptions in own words for a publisher: those of the ``numbers`` are new.
    ``available``: they are known; ``first``: they were not before."""

    publisher: PeerId
    available: bool
    first: bool
    numbers: frozenset[int]


@dataclass(frozen=True, slots=True)
class NoSubscriptions:
    """The last local subscription is gone, but for those in own words."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is held against a ``neighbour``, about the feed of a ``publisher``: it is not honest (``distrusted``), or
    does not answer. A publisher that says different things to others is its own neighbour."""

    neighbour: PeerId
    publisher: PeerId
    reason: str
    distrusted: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """A neighbour that was silent has answered a question to a publisher."""

    neighbour: PeerId
    publisher: PeerId


@dataclass(frozen=True, slots=True)
class Fork:
    """A publisher has signed two documents for the position ``sequence``, or has another one before it than it said."""

    publisher: PeerId
    sequence: int


@dataclass(frozen=True, slots=True)
class TranslationNeed:
    """Subscriptions in own words are needed in those of a publisher as it is announced now."""

    announce: Announce


Change: TypeAlias = TrustChange | RouteChange | TreeChange | AdvertisementsGone | NoSubscriptions | TranslationChange
Output: TypeAlias = Instruction | Change | TranslationNeed | Arrival | Suspicion | Answered | Fork
Outputs: TypeAlias = Iterator[Output]
"""What a machine does about an event, step by step: what it reports has its effects before it goes on."""
