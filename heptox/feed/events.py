"""What happens to a broker, and what it has others do: the two sides of :class:`~heptox.feed.Router`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.feed.messages import FeedDocument, Message, PeerId, Wording
from heptox.pattern import TreePattern
from heptox.routing import Advertisement

# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkUp:
    """There is a link to a neighbour, on which nothing was said yet."""

    neighbour: PeerId


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The link to a neighbour is no more; some of what was sent last may not have arrived."""

    neighbour: PeerId


@dataclass(frozen=True, slots=True)
class Acquaintances:
    """Who the acquaintances are, from now on: what is held against others is forgotten."""

    peers: frozenset[PeerId]


@dataclass(frozen=True, slots=True)
class Forged:
    """A neighbour has passed on what ``publisher`` has not signed, and says that it has: it was not let in."""

    neighbour: PeerId
    publisher: PeerId
    reason: str


@dataclass(frozen=True, slots=True)
class Distrusted:
    """A neighbour is not trusted with the feed of a publisher, since before this peer has started."""

    neighbour: PeerId
    publisher: PeerId
    reason: str


@dataclass(frozen=True, slots=True)
class Agreed:
    """What is agreed on with a neighbour, by its mapping; :data:`NO_MAPPING` for nothing. It holds for
    all links to come."""

    neighbour: PeerId
    mapping: str


@dataclass(frozen=True, slots=True)
class Received:
    """A message of a neighbour."""

    neighbour: PeerId
    message: Message


@dataclass(frozen=True, slots=True)
class Publishes:
    """This peer publishes from now on, or has another advertisement: ``None`` for any document.

    ``feed`` names its feed log, ``position`` is that of the last document in it; ``version`` is greater than ever
    before. Where nobody has heard of the feed yet, subscriptions count from the position ``since`` on; else, and for
    those who have not heard of it only, from the last one. ``schema`` identifies the schema that it writes under, and
    ``written_since`` is the position since which it does. ``last`` is the digest of the document at ``position``.
    """

    feed: str
    position: int
    version: int
    advertisement: Advertisement | None = None
    since: int | None = None
    schema: str = ""
    written_since: int = 0
    last: bytes = b""


@dataclass(frozen=True, slots=True)
class Published:
    """A document was published here. It is in the feed log; they come in the order of their positions."""

    document: FeedDocument


@dataclass(frozen=True, slots=True)
class Subscribed:
    """There is a subscription at this peer; numbers ascend.

    One that is in ``own`` words asks for nothing by itself: :class:`Translate` is for each publisher.
    """

    number: int
    text: str
    patterns: tuple[TreePattern, ...]
    own: bool = False


@dataclass(frozen=True, slots=True)
class InWords:
    """A subscription as it is for one publisher, in its words; it matches nothing where there are no patterns."""

    number: int
    text: str
    patterns: tuple[TreePattern, ...]


@dataclass(frozen=True, slots=True)
class Translated:
    """What a task has made of the subscriptions in own words, ascending; those that it has not heard of are left out.

    ``available`` is false where the publisher's words cannot be translated, now: nothing comes for these subscriptions,
    until the task hands in something else. What is published meanwhile comes then.
    """

    task: int
    publisher: PeerId
    available: bool = False
    subscriptions: tuple[InWords, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """There is no such subscription any more."""

    number: int


@dataclass(frozen=True, slots=True)
class Reached:
    """How far this peer is with a feed: it has what the subscriptions up to ``number`` match, up to ``position``; those
    in ``own`` words, or the others."""

    publisher: PeerId
    feed: str
    position: int
    number: int
    own: bool = False


@dataclass(frozen=True, slots=True)
class Stored:
    """A document was stored: its notifications are on the disk."""

    publisher: PeerId
    feed: str
    sequence: int
    own: bool = False


@dataclass(frozen=True, slots=True)
class NotStored:
    """A document was not stored, and may be offered again later."""

    publisher: PeerId
    feed: str
    sequence: int
    reason: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """There may be room again for documents that were not stored."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a task has read of the feed log: the ``documents`` up to ``position`` that are wanted; ``last`` is the
    digest of the one at ``position``.

    Of the others after the position asked for, ``missing`` are not kept any more, ``withheld`` are the positions of
    those that the export policy hides now, and ``earlier`` are those that the subscriber has no right to: they were
    published before it was first confirmed.
    """

    task: int
    documents: tuple[FeedDocument, ...]
    position: int
    missing: int = 0
    withheld: tuple[int, ...] = ()
    earlier: int = 0
    last: bytes = b""

    @property
    def lacking(self) -> int:
        """How many documents up to the position do not come."""
        return self.missing + len(self.withheld) + self.earlier


@dataclass(frozen=True, slots=True)
class NotFetched:
    """A task could not read the feed log, or what is served could not be recorded."""

    task: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a task serves is recorded."""

    task: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


Event: TypeAlias = (
    LinkUp
    | LinkDown
    | Acquaintances
    | Forged
    | Distrusted
    | Agreed
    | Received
    | Publishes
    | Published
    | Subscribed
    | Unsubscribed
    | Translated
    | Reached
    | Stored
    | NotStored
    | Acknowledged
    | Fetched
    | NotFetched
    | Recorded
    | Tick
)


# -- instructions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a neighbour, behind all that was sent before."""

    neighbour: PeerId
    message: Message


@dataclass(frozen=True, slots=True)
class Break:
    """Take the link to a neighbour down, which has not kept to what was agreed; hand in no :class:`LinkDown`."""

    neighbour: PeerId
    reason: str


@dataclass(frozen=True, slots=True)
class Store:
    """Notify the local subscriptions up to ``number`` that a document matches, those in ``own`` words or the others;
    hand in :class:`Stored` or :class:`NotStored`. One that was stored before is stored."""

    document: FeedDocument
    number: int
    own: bool = False


@dataclass(frozen=True, slots=True)
class Translate:
    """Translate the subscriptions in own words for a publisher, and hand in :class:`Translated`, also later, whenever
    something else is to be translated. It takes the place of the task before it for the same publisher.

    ``path`` leads from a neighbour to the publisher; ``wording`` has the mappings on it.
    """

    task: int
    publisher: PeerId
    feed: str
    path: tuple[PeerId, ...]
    wording: Wording


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep how far this peer is with a feed, to be handed in when it starts anew."""

    reached: Reached


@dataclass(frozen=True, slots=True)
class Fetch:
    """Read documents of the feed log after ``since`` and up to ``upto``, some of them, the first ones; hand in those
    that are :func:`~heptox.feed.wanted`, with :class:`Fetched`, or :class:`NotFetched`.

    Wanted are those that match one of the subscriptions ``wants``, or are at no later position than ``all_upto``; but
    none that the asker ``has``, by their positions. ``route`` leads from the subscriber that asks to a neighbour. It is
    on the disk then that the subscriber has been confirmed at ``upto``, unless it was before.
    """

    task: int
    since: int
    upto: int
    route: tuple[PeerId, ...]
    wants: tuple[str, ...] = ()
    has: frozenset[int] = frozenset()
    all_upto: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """Record what is about to be served to a subscriber of the documents after ``since``, up to that at
    ``fetched.position``: those at the positions ``served``. Hand in :class:`Recorded`, or :class:`NotFetched`."""

    fetched: Fetched
    since: int
    served: tuple[int, ...]
    route: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class Wake:
    """Hand in :class:`Tick` at this time, or soon after."""

    at: float


@dataclass(frozen=True, slots=True)
class KeepDistrusted:
    """Keep what is held against a neighbour, to be handed in when this peer starts anew; or forget all that is held
    against it, where there is no ``distrusted``."""

    neighbour: PeerId
    distrusted: Distrusted | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the administrator may want to know: what has happened, in a word, and the particulars."""

    event: str
    fields: Mapping[str, str | int] = field(default_factory=dict)


Instruction: TypeAlias = Send | Break | Store | Translate | Keep | KeepDistrusted | Fetch | Record | Wake | Note
