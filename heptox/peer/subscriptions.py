"""Subscriptions of a peer for whoever subscribes and publishes at it, whether its daemon runs or not.

A running daemon does it itself, told through its control API; else it is done to the folder under its lock. Results are
JSON objects, the same either way.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime
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
    DeadLetter,
    Delivery,
    Notification,
    Options,
    Policy,
    Publication,
    Published,
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
from heptox.peer.faults import fault_to_json
from heptox.peer.folder import FEED, MATCHER, SUBSCRIPTIONS, PeerFolder
from heptox.peer.messages import PeerId
from heptox.peer.own_schema import OwnSchema
from heptox.peer.publishing import Offer, Publisher, gate_of


class Subscriptions(Protocol):
    """What a subscriber and a publisher do at a peer. Everything raises :class:`HeptoxError`."""

    def subscribe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Add subscriptions; how many were ``added`` and ``held``, and the ``faults`` of those that are skipped."""
        ...

    def unsubscribe(self, name: str) -> dict[str, Any]:
        """Remove a subscription; what it was."""
        ...

    def subscriptions(self) -> Iterator[dict[str, Any]]:
        """All subscriptions, in the order in which they were added."""
        ...

    def subscription(self, name: str) -> dict[str, Any]:
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
    ) -> Iterator[dict[str, Any]]:
        """Notifications from a sequence number or time on, else those that are not acknowledged, at most ``limit``.

        To ``follow`` needs a daemon: then they go on as documents are published.
        """
        ...

    def document(self, name: str, sequence: int) -> bytes:
        """The document of a notification, byte for byte."""
        ...

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> dict[str, Any]:
        """Acknowledge up to a sequence number, whose notification becomes a dead letter if there is a reason to."""
        ...

    def dead_letters(self, name: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """The dead letters of a subscription, the oldest first."""
        ...

    def dead_document(self, name: str, letter: int) -> bytes:
        """The document of a dead letter, byte for byte."""
        ...

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> dict[str, Any]:
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

    def subscribe(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted, faults = wanted_from_json(request)
        if any(one.options.words is Words.OWN for one in wanted):
            wanted, unknown = OwnSchema(self._folder.schema()).check(wanted)
            faults = [*faults, *unknown]
        told = read_subscriptions(wanted, skipping=request.get("skipping", False), faults=faults).add_to(self._log)
        self._forget_broker()
        self._audit.write_synced("subscribed", **subscribed_fields(told))
        return added_to_json(told)

    def unsubscribe(self, name: str) -> dict[str, Any]:
        removed = self._log.remove(name)
        self._forget_broker()
        self._audit.write_synced("unsubscribed", **unsubscribed_fields(removed))
        return subscription_to_json(removed)

    def subscriptions(self) -> Iterator[dict[str, Any]]:
        return map(subscription_to_json, self._log.subscriptions())

    def subscription(self, name: str) -> dict[str, Any]:
        return subscription_to_json(self._log.subscription(name))

    def notifications(
        self,
        name: str,
        start: int | None = None,
        since: str | None = None,
        limit: int | None = None,
        *,
        follow: bool = False,
        content: bool = False,
    ) -> Iterator[dict[str, Any]]:
        if follow:
            raise not_running(self._folder.path)
        left = limit
        first = first_sequence(self._log, name, start, since)
        while left is None or left > 0:
            found = self._log.fetch(name, first, BATCH if left is None else min(left, BATCH))
            if not found:
                return
            yield from (notification_to_json(self._log, name, one, content=content) for one in found)
            first = found[-1].sequence + 1
            left = None if left is None else left - len(found)

    def document(self, name: str, sequence: int) -> bytes:
        return self._log.content(name, sequence)[1]

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> dict[str, Any]:
        if reject is None:
            return subscription_to_json(self._log.acknowledge(name, sequence))
        told = self._log.reject(name, sequence, reject)
        self._audit.write_synced("rejected", subscription=name, sequence=sequence, reason=reject)
        return subscription_to_json(told)

    def dead_letters(self, name: str, after: int = 0) -> Iterator[dict[str, Any]]:
        while found := self._log.dead_letters(name, after):
            yield from map(dead_letter_to_json, found)
            after = found[-1].letter

    def dead_document(self, name: str, letter: int) -> bytes:
        return self._log.dead_content(name, letter)

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> dict[str, Any]:
        outcome = self._broker.publish(Publication(name, data, identity), file)
        told = published_to_json(outcome.published, self._offer(outcome, data))
        self._audit.write_synced("published", **told)
        return told

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


def wanted_from_json(request: dict[str, Any]) -> tuple[list[Wanted], list[Fault]]:
    """The subscriptions of a request, and the faults of those that cannot be."""
    standard = Options()
    options = Options(
        Policy(request.get("policy", standard.policy)),
        request.get("backlog", standard.backlog),
        request.get("backlog_bytes", standard.backlog_bytes),
        Words(request.get("words", standard.words)),
        Delivery(request.get("deliver", standard.deliver)),
    )
    file = request.get("file")
    wanted: list[Wanted] = []
    faults: list[Fault] = []
    for one in request["subscriptions"]:
        try:
            wanted.append(Wanted(one["name"], one["xpath"], options, file, one.get("line", 1)))
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


# -- as JSON ---------------------------------------------------------------------------------------------------------


def added_to_json(
    told: AllAdded,
    unconfirmed: Sequence[PeerId] = (),
    unreached: Sequence[PeerId] = (),
    untold: Sequence[str] = (),
    untranslated: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """What became of subscriptions that were to be added.

    ``unconfirmed`` are publishers that are reached and have not confirmed them, ``unreached`` those that are not
    reached, ``untold`` the names of subscriptions that are too long to be told to others; ``untranslated`` tells of
    subscriptions in own words that lose something on the way to a publisher, or get nothing from it.
    """
    held = sum(one.outcome == "held" for one in told.added)
    return {
        "added": len(told.added) - held,
        "held": held,
        "faults": [fault_to_json(fault) for fault in told.faults],
        "unconfirmed": list(unconfirmed),
        "unreached": list(unreached),
        "untold": list(untold),
        "untranslated": list(untranslated),
    }


def subscription_to_json(one: Subscription) -> dict[str, Any]:
    """A subscription; ``lag`` is the age in seconds of what waits longest, ``null`` where nothing does. What it comes
    to for ``publishers`` is for a daemon to tell."""
    return {
        "name": one.name,
        "number": one.number,
        "xpath": one.text,
        "words": one.options.words.value,
        "deliver": one.options.deliver.value,
        "policy": one.options.policy.value,
        "most": one.options.backlog,
        "most_bytes": one.options.backlog_bytes,
        "added": time_to_json(one.added),
        "first": one.first,
        "last": one.last,
        "delivered": one.delivered,
        "acknowledged": one.acknowledged,
        "backlog": one.backlog,
        "backlog_bytes": one.backlog_bytes,
        "lag": None if one.oldest is None else max(0.0, round(time.time() - one.oldest / 1000, 3)),
        "dead_letters": one.dead,
        "forgotten": one.forgotten,
        "suspended": None if one.suspended is None else time_to_json(one.suspended),
        "first_read": None if one.first_read is None else time_to_json(one.first_read),
        "publishers": None,
    }


def notification_to_json(log: SubscriptionLog, name: str, one: Notification, *, content: bool) -> dict[str, Any]:
    """A notification; with the document if its ``content`` is wanted, in Base64 where it is not UTF-8."""
    told = {
        "sequence": one.sequence,
        "document": one.name,
        "id": one.id,
        "bytes": one.size,
        "sha256": one.digest.hex(),
        "published": time_to_json(one.time),
        "acknowledged": one.acknowledged,
        "redelivered": one.redelivered,
    }
    return {**told, **_content(log.content(name, one.sequence)[1])} if content else told


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"content": data.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def dead_letter_to_json(one: DeadLetter) -> dict[str, Any]:
    """A dead letter."""
    return {
        "letter": one.letter,
        "sequence": one.sequence,
        "document": one.name,
        "id": one.id,
        "bytes": one.size,
        "reason": one.reason,
        "time": time_to_json(one.time),
        "kept": one.kept,
    }


def published_to_json(published: Published, offer: Offer) -> dict[str, Any]:
    """What became of a published document, as the API and the audit log say it; ``matched`` counts subscriptions, of
    which some may have got dead letters. It is ``offered`` to others, or ``kept`` at home for a reason."""
    return {
        "document": published.name,
        "id": published.id,
        "outcome": published.outcome,
        "matched": published.matched,
        "dead_letters": published.dead,
        "offered": offer.document is not None,
        "kept": offer.kept or None,
    }


def time_to_json(milliseconds: int) -> str:
    """A time of the log, to the millisecond, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
