"""Subscriptions of a peer for whoever subscribes and publishes at it, whether its daemon runs or not.

A running daemon does it itself, asked through its control API; else it is done to the folder under its lock. Results
are the same either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol

# The matcher not by its name: numpy is loaded when it is asked for, and who only speaks to a daemon starts without it.
from heptox import matching
from heptox.errors import DisseminationError, Fault, PeerError
from heptox.feed import FeedLog
from heptox.matching import (
    BATCH,
    AllAdded,
    Broker,
    Notification,
    Publication,
    PublishOutcome,
    Subscription,
    SubscriptionLog,
    Wanted,
    Words,
    read_subscriptions,
)
from heptox.peer.administration import open_audit
from heptox.peer.audit import AuditLog
from heptox.peer.client import Client, not_running
from heptox.peer.folder import FEED, MATCHER, SUBSCRIPTIONS, PeerFolder
from heptox.peer.own_schema import OwnSchema
from heptox.peer.publishing import Offer, Publisher, gate_of
from heptox.peer.subscription_models import (
    DeadLetterModel,
    NotificationModel,
    PublishedModel,
    SubscriptionModel,
    SubscriptionsAdded,
    SubscriptionsRequest,
)


class Subscriptions(Protocol):
    """What a subscriber and a publisher do at a peer. Everything raises :class:`HeptoxError`."""

    def subscribe(self, request: SubscriptionsRequest) -> SubscriptionsAdded:
        """Add subscriptions; how many were ``added`` and ``held``, and the ``faults`` of those that are skipped."""
        ...

    def unsubscribe(self, name: str) -> SubscriptionModel:
        """Remove a subscription; what it was."""
        ...

    def subscriptions(self) -> Iterator[SubscriptionModel]:
        """All subscriptions, in the order in which they were added."""
        ...

    def subscription(self, name: str) -> SubscriptionModel:
        """One subscription."""
        ...

    def notifications(
        self,
        name: str,
        start: int | None = None,
        since: str | None = None,
        limit: int | None = None,
        *,
        follow: bool = False,
        content: bool = False,
    ) -> Iterator[NotificationModel]:
        """Notifications from a sequence number or time on, else those that are not acknowledged, at most ``limit``.

        To ``follow`` needs a daemon: then they go on as documents are published.
        """
        ...

    def document(self, name: str, sequence: int) -> bytes:
        """The document of a notification, byte for byte."""
        ...

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> SubscriptionModel:
        """Acknowledge up to a sequence number, whose notification becomes a dead letter if there is a reason to."""
        ...

    def dead_letters(self, name: str, after: int = 0) -> Iterator[DeadLetterModel]:
        """The dead letters of a subscription, the oldest first."""
        ...

    def dead_document(self, name: str, letter: int) -> bytes:
        """The document of a dead letter, byte for byte."""
        ...

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> PublishedModel:
        """Publish a document, which messages call ``file``."""
        ...


def subscriptions_at(path: Path) -> AbstractContextManager[Subscriptions]:
    """The subscriptions of the peer in the folder ``path``; raises :class:`PeerError` when it is none or is in use."""
    client = Client.running(path)
    return client if client is not None else _in_folder(path)


@contextmanager
def _in_folder(path: Path) -> Iterator[Subscriptions]:
    folder = PeerFolder.open(path)
    with folder.locked(), open_log(folder) as log, open_audit(folder) as audit, ExitStack() as opened:
        yield _FolderSubscriptions(folder, log, audit, opened)


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
    if folder.settings.matching == "disk":
        with matching.DiskMatcher(folder.path / MATCHER, log) as matcher:
            yield Broker(log, matcher, filled=True, peer=peer, root=root)
    else:
        yield Broker(log, matching.MemoryMatcher(), peer=peer, root=root)


class _FolderSubscriptions:
    def __init__(self, folder: PeerFolder, log: SubscriptionLog, audit: AuditLog, opened: ExitStack) -> None:
        self._folder = folder
        self._opening = opened
        self._log = log
        self._audit = audit
        self._opened: Broker | None = None

    @property
    def _broker(self) -> Broker:
        """The broker; making its matcher takes a while, and not everything needs it."""
        if self._opened is None:
            self._opened = self._opening.enter_context(open_broker(self._folder, self._log))
        return self._opened

    def _forget_broker(self) -> None:
        """Make another one when it is needed: what is in the log has changed."""
        self._opening.close()
        self._opened = None

    def subscribe(self, request: SubscriptionsRequest) -> SubscriptionsAdded:
        wanted, faults = wanted_of(request)
        if any(one.options.words is Words.OWN for one in wanted):
            wanted, unknown = OwnSchema(self._folder.schema()).check(wanted)
            faults = [*faults, *unknown]
        told = read_subscriptions(wanted, skipping=request.skipping, faults=faults).add_to(self._log)
        self._forget_broker()
        self._audit.write_synced("subscribed", **subscribed_fields(told))
        return SubscriptionsAdded.of(told)

    def unsubscribe(self, name: str) -> SubscriptionModel:
        removed = self._log.remove(name)
        self._forget_broker()
        self._audit.write_synced("unsubscribed", **unsubscribed_fields(removed))
        return SubscriptionModel.of(removed)

    def subscriptions(self) -> Iterator[SubscriptionModel]:
        return map(SubscriptionModel.of, self._log.subscriptions())

    def subscription(self, name: str) -> SubscriptionModel:
        return SubscriptionModel.of(self._log.subscription(name))

    def notifications(
        self,
        name: str,
        start: int | None = None,
        since: str | None = None,
        limit: int | None = None,
        *,
        follow: bool = False,
        content: bool = False,
    ) -> Iterator[NotificationModel]:
        if follow:
            raise not_running(self._folder.path)
        left = limit
        first = first_sequence(self._log, name, start, since)
        while left is None or left > 0:
            found = self._log.fetch(name, first, BATCH if left is None else min(left, BATCH))
            if not found:
                return
            yield from (notification_model(self._log, name, one, content=content) for one in found)
            first = found[-1].sequence + 1
            left = None if left is None else left - len(found)

    def document(self, name: str, sequence: int) -> bytes:
        return self._log.content(name, sequence)[1]

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> SubscriptionModel:
        if reject is None:
            return SubscriptionModel.of(self._log.acknowledge(name, sequence))
        told = self._log.reject(name, sequence, reject)
        self._audit.write_synced("rejected", subscription=name, sequence=sequence, reason=reject)
        return SubscriptionModel.of(told)

    def dead_letters(self, name: str, after: int = 0) -> Iterator[DeadLetterModel]:
        while found := self._log.dead_letters(name, after):
            yield from map(DeadLetterModel.of, found)
            after = found[-1].letter

    def dead_document(self, name: str, letter: int) -> bytes:
        return self._log.dead_content(name, letter)

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> PublishedModel:
        outcome = self._broker.publish(Publication(name, data, identity), file)
        published = PublishedModel.of(outcome.published, self._offer(outcome, data))
        self._audit.write_synced("published", **published.to_json())
        return published

    def _offer(self, outcome: PublishOutcome, data: bytes) -> Offer:
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


# -- what both do ----------------------------------------------------------------------------------------------------


def first_sequence(log: SubscriptionLog, name: str, start: int | None, since: str | datetime | None) -> int | None:
    """Where a replay begins; raises :class:`PeerError` (HX7060) where both are given or that is no time."""
    if since is None:
        return start
    if start is not None:
        raise PeerError(Fault("HX7060", "a replay begins at a sequence number or at a time, not at both"))
    then = _time(since) if isinstance(since, str) else since
    try:
        return log.sequence_at(name, int(then.timestamp() * 1000))
    except OverflowError:
        raise PeerError(Fault("HX7060", f"{since} is no time of the years 1 to 9999")) from None


def _time(text: str) -> datetime:
    with suppress(ValueError):
        then = datetime.fromisoformat(text)
        if then.tzinfo is not None:
            return then
    raise PeerError(Fault("HX7060", f"{text!r} is no time", hint="such as 2026-01-01T00:00:00Z"))


def notification_model(log: SubscriptionLog, name: str, one: Notification, *, content: bool) -> NotificationModel:
    """A notification of a subscription; with the document if its ``content`` is wanted."""
    return NotificationModel.of(one, log.content(name, one.sequence)[1] if content else None)


def wanted_of(request: SubscriptionsRequest) -> tuple[list[Wanted], list[Fault]]:
    """The subscriptions of a request, and the faults of those that cannot be."""
    options = request.options
    wanted: list[Wanted] = []
    faults: list[Fault] = []
    for one in request.subscriptions:
        try:
            wanted.append(Wanted(one.name, one.xpath, options, request.file, one.line))
        except DisseminationError as error:
            faults.extend(error.faults)
    return wanted, faults


def subscribed_fields(told: AllAdded) -> dict[str, Any]:
    """What the audit log says of subscriptions that were added."""
    new = [one.name for one in told.added if one.outcome == "new"]
    return {"subscriptions": new[:_AUDITED], "number": len(new), "held": len(told.added) - len(new)}


_AUDITED: Final = 20
"""Subscriptions that are named in one line of the audit log."""


def unsubscribed_fields(removed: Subscription) -> dict[str, Any]:
    """What the audit log says of a subscription that was removed."""
    return {"subscription": removed.name, "backlog": removed.backlog}
