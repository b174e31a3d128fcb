"""What the control API takes and says about subscriptions and published documents, as
:mod:`heptox.peer.models.control`."""

from __future__ import annotations

import builtins
import time
from base64 import b64encode
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from pydantic import Field, StrictBool, StrictInt

from heptox.errors import Fault
from heptox.matching import (
    MOST_BACKLOG,
    MOST_BACKLOG_BYTES,
    Delivery,
    Options,
    Policy as SubscriptionPolicy,
    Words,
)
from heptox.peer.models.control import Exact

if TYPE_CHECKING:
    from heptox.matching import AllAdded, DeadLetter, Notification, Published, Subscription
    from heptox.peer.feed.publishing import Offer

_OPTIONS: Final = Options()
_NO_NAMESPACES: Final[dict[str, str]] = {}
MOST_NAMESPACES: Final = 1000
"""How many prefixes may be bound in one request."""


class SubscriptionEntry(Exact):
    """One subscription; ``line`` is where in the ``file`` of all it was read, for messages. Where ``answers`` are to be
    delivered, ``xpath`` is a query."""

    name: Annotated[str, Field(examples=["cheap"])]
    xpath: Annotated[str, Field(examples=["//Book[Price < 10]"])]
    line: Annotated[StrictInt, Field(ge=1, le=1 << 31)] = 1


class SubscriptionsRequest(Exact):
    """Subscriptions to add, all or none, or if ``skipping`` all that can be; the bounds and the policy are of each, and
    so is in whose ``words`` they are, and what to ``deliver``. ``namespaces`` are what prefixes stand for in all
    of them, ``""`` for no prefix."""

    subscriptions: tuple[SubscriptionEntry, ...]
    file: str | None = None
    policy: SubscriptionPolicy = _OPTIONS.policy
    backlog: Annotated[StrictInt, Field(ge=1, le=MOST_BACKLOG)] = _OPTIONS.backlog
    backlog_bytes: Annotated[StrictInt, Field(ge=1, le=MOST_BACKLOG_BYTES)] = _OPTIONS.backlog_bytes
    words: Words = _OPTIONS.words
    deliver: Delivery = _OPTIONS.deliver
    skipping: StrictBool = False
    namespaces: Annotated[dict[str, str], Field(max_length=MOST_NAMESPACES)] = _NO_NAMESPACES

    @property
    def options(self) -> Options:
        """The options of each."""
        return Options(self.policy, self.backlog, self.backlog_bytes, self.words, self.deliver)


class Understanding(StrEnum):
    """How the words of a publisher are understood."""

    SAME = "same"
    """It has the schema of this peer."""
    MAPPED = "mapped"
    WAITING = "waiting"
    """What is needed is being asked for, or translated: what is published meanwhile comes then."""
    NONE = "none"
    """Nothing comes for subscriptions in own words."""


class RenderingModel(Exact):
    """The translation of a subscription in own words for a publisher: its ``text`` in the publisher's words, whether
    these say it ``exact`` (else what comes is looked through), what is lost on the way, and the ``reason`` why nothing
    comes.

    ``words``: how the publisher's words are understood, as in the status of feeds.
    """

    publisher: str
    name: str
    words: Understanding
    text: str | None
    exact: bool
    losses: tuple[str, ...]
    reason: str | None


class LackingModel(RenderingModel):
    """What a subscription in own words lacks at a publisher."""

    subscription: str


class SubscriptionsAdded(Exact):
    """How many subscriptions were added, and were held before; ``faults`` of those that are skipped.

    ``unconfirmed`` are the ids of peers whose documents may not come yet: they can be reached, and have not answered.
    ``unreached`` are those that are known, and cannot be reached. ``untold`` are the names of those that are too long
    to be announced to others, whose documents may not come. ``untranslated``: of subscriptions in own words, the
    publishers from which nothing, or not everything, comes.
    """

    added: int
    held: int
    faults: tuple[Fault, ...]
    unconfirmed: tuple[str, ...]
    unreached: tuple[str, ...]
    untold: tuple[str, ...]
    untranslated: tuple[LackingModel, ...]

    @classmethod
    def of(cls, added: AllAdded, **announced: Any) -> Self:
        """Subscriptions that were added; ``announced`` are the other members, which a daemon alone has."""
        held = sum(one.outcome == "held" for one in added.added)
        nobody: dict[str, Any] = {"unconfirmed": (), "unreached": (), "untold": (), "untranslated": ()}
        return cls(added=len(added.added) - held, held=held, faults=added.faults, **nobody | announced)


class SubscriptionModel(Exact):
    """A subscription, and how far it is.

    Sequence numbers: the ``first`` one that can be replayed, the ``last`` one given, handed out up to ``delivered``,
    settled up to ``acknowledged``. ``lag``: seconds that what is not acknowledged has waited. ``dead_letters`` are
    listed, those ``forgotten`` are not any more. ``first_read``: when somebody first asked for its notifications.
    ``publishers``: the translations of one in own words for each that is reached, where it is asked for alone.
    """

    name: str
    number: int
    xpath: str
    words: Words
    deliver: Delivery
    policy: SubscriptionPolicy
    most: int
    most_bytes: int
    added: str
    first: int
    last: int
    delivered: int
    acknowledged: int
    backlog: int
    backlog_bytes: int
    lag: float | None
    dead_letters: int
    forgotten: int
    suspended: str | None
    first_read: str | None = None
    publishers: tuple[RenderingModel, ...] | None = None

    @classmethod
    def of(cls, one: Subscription, publishers: tuple[RenderingModel, ...] | None = None) -> Self:
        """A subscription as the log has it, now."""
        return cls.made_of(
            one,
            xpath=one.text,
            words=one.options.words,
            deliver=one.options.deliver,
            policy=one.options.policy,
            most=one.options.backlog,
            most_bytes=one.options.backlog_bytes,
            added=log_time(one.added),
            lag=None if one.oldest is None else max(0.0, round(time.time() - one.oldest / 1000, 3)),
            dead_letters=one.dead,
            suspended=None if one.suspended is None else log_time(one.suspended),
            first_read=None if one.first_read is None else log_time(one.first_read),
            publishers=publishers,
        )


class PublishedModel(Exact):
    """The outcome of publishing a document: how many subscriptions it ``matched``, for how many it is a dead letter.

    It is ``offered`` to others, unless there never were any; where it is ``kept`` at home, this says why.
    """

    document: str
    id: str
    outcome: Literal["new", "held"]
    matched: int
    dead_letters: int
    offered: bool
    kept: str | None

    @classmethod
    def of(cls, published: Published, offer: Offer) -> Self:
        """A document that was published, and the outcome of its offer to others."""
        return cls.made_of(
            published,
            document=published.name,
            dead_letters=published.dead,
            offered=offer.document is not None,
            kept=offer.kept or None,
        )


class NotificationModel(Exact):
    """That a document matches; with its bytes if they are wanted: ``content``, or ``base64`` where it is not UTF-8."""

    sequence: int
    document: str
    id: str
    bytes: int
    sha256: str
    published: str
    acknowledged: bool
    redelivered: bool
    content: str | None = None
    base64: str | None = None

    @classmethod
    def of(cls, one: Notification, data: builtins.bytes | None = None) -> Self:
        """A notification as the log has it, with the ``data`` of its document if they are wanted."""
        return cls(
            sequence=one.sequence,
            document=one.name,
            id=one.id,
            bytes=one.size,
            sha256=one.digest.hex(),
            published=log_time(one.time),
            acknowledged=one.acknowledged,
            redelivered=one.redelivered,
            **({} if data is None else _content(data)),
        )


class NotificationLine(Exact):
    """A notification."""

    notification: NotificationModel


class WaitingLine(Exact):
    """All that is there was sent; the next one will have this number."""

    waiting: int | None


class EndLast(Exact):
    """The last line of a replay."""

    end: SubscriptionModel


ReplayLine: TypeAlias = NotificationLine | WaitingLine | EndLast


class DeadLetterModel(Exact):
    """A match that is not delivered, and why; ``sequence`` is ``null`` when it never was a notification."""

    letter: int
    sequence: int | None
    document: str
    id: str
    bytes: int
    reason: str
    time: str
    kept: bool

    @classmethod
    def of(cls, one: DeadLetter) -> Self:
        """A dead letter as the log has it."""
        return cls.made_of(one, document=one.name, bytes=one.size, time=log_time(one.time))


def log_time(milliseconds: int) -> str:
    """A time of the log, to the millisecond, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"content": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}
