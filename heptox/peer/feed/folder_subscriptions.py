"""What is done to the subscriptions in a peer's folder: by its daemon, and by commands where none runs.

The caller holds the folder's lock, and writes to the audit log what was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

# The matcher not by its name: numpy is loaded when it is asked for, and who only speaks to a daemon starts without it.
from heptox import matching
from heptox.errors import DisseminationError, Fault, PeerError
from heptox.feed import FeedLog
from heptox.grammar import NameTable
from heptox.matching import (
    BATCH,
    AllAdded,
    Broker,
    DeadLetter,
    Notification,
    Publication,
    PublishOutcome,
    Subscription,
    SubscriptionLog,
    SubscriptionRequest,
    Words,
    read_subscriptions,
)
from heptox.peer.acquaintance.acquainting import schema_at, schema_key, worded_trees
from heptox.peer.feed.own_schema import OwnSchema
from heptox.peer.feed.publishing import Offer, Publisher, gate_of
from heptox.peer.folder.folder import FEED, MATCHER, SUBSCRIPTIONS, PeerFolder
from heptox.peer.models.subscriptions import NotificationModel, SubscriptionsRequest
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.schema import SchemaTree
from heptox.xml import Prefixes


def open_log(folder: PeerFolder) -> SubscriptionLog:
    """The subscription log of a peer, whose folder the caller has locked; raises :class:`DisseminationError`."""
    return SubscriptionLog(folder.path / SUBSCRIPTIONS)


def open_feed(folder: PeerFolder) -> FeedLog:
    """The feed log of a peer, whose folder the caller has locked; raises :class:`DisseminationError`."""
    return FeedLog(folder.path / FEED, gate=gate_of(folder.identity))


@contextmanager
def open_broker(folder: PeerFolder, log: SubscriptionLog) -> Iterator[Broker]:
    """The broker of a peer, with the matcher that its settings say, whose folder the caller has locked.

    What is published there is of the peer's schema, unless its feed is of anything, or it takes no part in feeds.

    Raises :class:`DisseminationError` as the matchers.
    """
    peer = folder.identity.peer_id
    root = folder.settings.root if folder.settings.feed == "schema" else None
    schema = folder.schema()
    if folder.settings.matching == "disk":
        with matching.DiskMatcher(folder.path / MATCHER, log) as matcher:
            yield Broker(log, matcher, filled=True, peer=peer, root=root, schema=schema)
    else:
        yield Broker(log, matching.MemoryMatcher(), peer=peer, root=root, schema=schema)


@dataclass(frozen=True, slots=True)
class Replay:
    """What a subscriber wants: from a sequence number or a time on, else what is not acknowledged, at most ``limit``.

    With ``follow`` it goes on as documents are published; with ``content`` the documents come too.
    """

    name: str
    start: int | None = None
    since: datetime | None = None
    limit: int | None = None
    follow: bool = False
    content: bool = False


class Replaying:
    """How far a replay is. Raises :class:`PeerError` (HX7060) for one that begins at a number and at a time."""

    def __init__(self, log: SubscriptionLog, wanted: Replay) -> None:
        self.left = wanted.limit
        self.next = wanted.start
        self._log = log
        self._name = wanted.name
        if wanted.since is None:
            return
        if wanted.start is not None:
            raise PeerError(Fault("HX7060", "a replay begins at a sequence number or at a time, not at both"))
        try:
            self.next = log.sequence_at(wanted.name, int(wanted.since.timestamp() * 1000))
        except OverflowError:
            raise PeerError(Fault("HX7060", f"{wanted.since} is no time of the years 1 to 9999")) from None

    @property
    def ended(self) -> bool:
        """Whether there were as many as are wanted."""
        return self.left is not None and self.left <= 0

    def page(self) -> list[Notification]:
        """The next notifications, none where there are no more yet; raises as :meth:`SubscriptionLog.fetch`."""
        found = self._log.fetch(self._name, self.next, BATCH if self.left is None else min(self.left, BATCH))
        if found:
            self.next = found[-1].sequence + 1
            self.left = None if self.left is None else self.left - len(found)
        return found


def all_dead_letters(log: SubscriptionLog, name: str, after: int) -> Iterator[DeadLetter]:
    """The dead letters of a subscription that follow the number ``after``, the oldest first; raises as
    :meth:`SubscriptionLog.dead_letters`."""
    while found := log.dead_letters(name, after):
        yield from found
        after = found[-1].letter


class FolderSubscriptions:
    """The subscriptions in a folder: ``broker`` matches documents with them; it is opened when it is needed.

    A context manager. Only one thread uses it at a time, unless the broker is given, which has a lock of its own.
    ``worded`` gives the trees of the peer's schema on which mappings draw boxes, unless those in the folder are read.
    """

    def __init__(
        self,
        folder: PeerFolder,
        log: SubscriptionLog,
        broker: Broker | None = None,
        worded: Callable[[], Sequence[SchemaTree]] | None = None,
    ) -> None:
        self.log = log
        self._folder = folder
        self._opened = broker
        self._opening = ExitStack()
        self._worded = worded or partial(_worded, folder)
        self._own_schema: OwnSchema | None = None
        self._prefixes = folder.schema().prefixes

    def __enter__(self) -> FolderSubscriptions:
        return self

    def __exit__(self, *_: object) -> None:
        self._opening.close()

    @property
    def broker(self) -> Broker:
        """The broker; making its matcher takes a while, and not everything needs it."""
        if self._opened is None:
            self._opened = self._opening.enter_context(open_broker(self._folder, self.log))
        return self._opened

    def named(
        self, wanted: Sequence[SubscriptionRequest], faults: Sequence[Fault]
    ) -> tuple[list[SubscriptionRequest], list[Fault]]:
        """Subscriptions with names that need no prefixes: those of the schema are known, besides those that they come
        with. Also the ``faults``, with those of subscriptions that are none."""
        named, more = matching.named_requests(wanted, self._prefixes)
        return named, [*faults, *more]

    def subscribe(self, wanted: Sequence[SubscriptionRequest], faults: Sequence[Fault], *, skipping: bool) -> AllAdded:
        """Add subscriptions that are :meth:`named`; raises as :meth:`Broker.add`, with HX9070 for those in own words
        that ask for what the peer's schema does not have, nor boxes that are drawn on it."""
        if any(one.options.words is Words.OWN for one in wanted):
            self._own_schema = self._own_schema or OwnSchema(self._folder.schema())
            known, unknown = self._own_schema.check(wanted)
            if unknown:  # it may be tags that mappings make
                known, unknown = self._own_schema.check(wanted, self._worded())
            wanted, faults = known, [*faults, *unknown]
        if self._opened is not None:
            return self._opened.add(wanted, skipping=skipping, faults=faults)
        names = NameTable.of(self._folder.schema())
        return read_subscriptions(wanted, skipping=skipping, faults=faults, names=names).add_to(self.log)

    def unsubscribe(self, name: str) -> Subscription:
        """Remove a subscription; raises as :meth:`Broker.remove`."""
        return (self.log if self._opened is None else self._opened).remove(name)

    def publish(self, publication: Publication, file: str | None) -> PublishOutcome:
        """Publish a document to the subscriptions; raises as :meth:`Broker.publish`."""
        return self.broker.publish(publication, file)

    def acknowledge(self, name: str, sequence: int, reject: str | None) -> Subscription:
        """Acknowledge up to a sequence number, whose notification becomes a dead letter if there is a reason to;
        raises as the log's methods."""
        if reject is None:
            return self.log.acknowledge(name, sequence)
        return self.log.reject(name, sequence, reject)

    def offer(self, outcome: PublishOutcome, data: bytes) -> Offer:
        """Let others have a document when the daemon runs again, if there are any, or ever were."""
        settings = self._folder.settings
        alone = not any(one.standing.in_force for one in self._folder.acquaintances())
        if settings.feed == "off" or (alone and not (self._folder.path / FEED).exists()):
            return Offer()
        with open_feed(self._folder) as log:
            if alone and not log.announced:
                return Offer()
            publisher = Publisher(self._folder.identity.peer_id, settings, self._folder.schema(), log)
            return publisher.offer(outcome.published, data, outcome.document)


def _worded(folder: PeerFolder) -> tuple[SchemaTree, ...]:
    """The trees of a peer's schema on which the mappings in its folder draw boxes; raises :class:`HeptoxError` for a
    mapping that cannot be read."""
    key = schema_key(folder.schema())
    read = ((MappingFiles.read(one.mapping).load(), one.side) for one in folder.acquaintances())
    return worded_trees((mapping, side) for mapping, side in read if schema_key(schema_at(mapping, side)) == key)


# -- what the audit log says -----------------------------------------------------------------------------------------


def subscribed_fields(result: AllAdded) -> dict[str, Any]:
    """What the audit log says of subscriptions that were added."""
    new = [one.name for one in result.added if one.outcome == "new"]
    return {"subscriptions": new[:_AUDITED], "number": len(new), "held": len(result.added) - len(new)}


_AUDITED: Final = 20
"""Subscriptions that are named in one line of the audit log."""


def unsubscribed_fields(removed: Subscription) -> dict[str, Any]:
    """What the audit log says of a subscription that was removed."""
    return {"subscription": removed.name, "backlog": removed.backlog}


def notification_model(log: SubscriptionLog, name: str, one: Notification, *, content: bool) -> NotificationModel:
    """A notification of a subscription; with the document if its ``content`` is wanted."""
    return NotificationModel.of(one, log.content(name, one.sequence)[1] if content else None)


def requested(request: SubscriptionsRequest) -> tuple[list[SubscriptionRequest], list[Fault]]:
    """The subscriptions of a request, and the faults of those that cannot be."""
    options, prefixes = request.options, Prefixes.of(request.namespaces)
    wanted: list[SubscriptionRequest] = []
    faults: list[Fault] = []
    for one in request.subscriptions:
        try:
            wanted.append(SubscriptionRequest(one.name, one.xpath, options, request.file, one.line, prefixes))
        except DisseminationError as error:
            faults.extend(error.faults)
    return wanted, faults
