"""Subscriptions of a peer for its subscribers and publishers, whether its daemon runs or not.

A running daemon does it itself, asked through its control API; else it is done to the folder under its lock. Results
are JSON objects, the same either way.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from heptox.errors import DisseminationError, Fault, PeerError
from heptox.matching import (
    AllAdded,
    DeadLetter,
    Delivery,
    Notification,
    Options,
    Policy,
    Publication,
    Published,
    Subscription,
    SubscriptionLog,
    SubscriptionRequest,
    Words,
)
from heptox.peer.administration import open_audit
from heptox.peer.audit import AuditLog
from heptox.peer.client import Client, not_running
from heptox.peer.faults import fault_to_json
from heptox.peer.folder import PeerFolder
from heptox.peer.folder_subscriptions import (
    FolderSubscriptions,
    Replay,
    Replaying,
    all_dead_letters,
    open_log,
    subscribed_fields,
    unsubscribed_fields,
)
from heptox.peer.messages import PeerId
from heptox.peer.publishing import Offer


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
    with (
        folder.locked(),
        open_log(folder) as log,
        open_audit(folder) as audit,
        FolderSubscriptions(folder, log) as made,
    ):
        yield _FolderClient(folder, made, audit)


class _FolderClient:
    """Does to the folder itself what a :class:`Client` has a daemon do."""

    def __init__(self, folder: PeerFolder, subscriptions: FolderSubscriptions, audit: AuditLog) -> None:
        self._folder = folder
        self._subscriptions = subscriptions
        self._log = subscriptions.log
        self._audit = audit

    def subscribe(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted, faults = wanted_from_json(request)
        added = self._subscriptions.subscribe(wanted, faults, skipping=request.get("skipping", False))
        self._audit.write_synced("subscribed", **subscribed_fields(added))
        return added_to_json(added)

    def unsubscribe(self, name: str) -> dict[str, Any]:
        removed = self._subscriptions.unsubscribe(name)
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
        replaying = Replaying(self._log, Replay(name, start, None if since is None else _time(since), limit))
        while not replaying.ended and (found := replaying.page()):
            yield from (notification_to_json(self._log, name, one, content=content) for one in found)

    def document(self, name: str, sequence: int) -> bytes:
        return self._log.content(name, sequence)[1]

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> dict[str, Any]:
        found = self._subscriptions.acknowledge(name, sequence, reject)
        if reject is not None:
            self._audit.write_synced("rejected", subscription=name, sequence=sequence, reason=reject)
        return subscription_to_json(found)

    def dead_letters(self, name: str, after: int = 0) -> Iterator[dict[str, Any]]:
        return map(dead_letter_to_json, all_dead_letters(self._log, name, after))

    def dead_document(self, name: str, letter: int) -> bytes:
        return self._log.dead_content(name, letter)

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> dict[str, Any]:
        outcome = self._subscriptions.publish(Publication(name, data, identity), file)
        published = published_to_json(outcome.published, self._subscriptions.offer(outcome, data))
        self._audit.write_synced("published", **published)
        return published


def _time(text: str) -> datetime:
    with suppress(ValueError):
        then = datetime.fromisoformat(text)
        if then.tzinfo is not None:
            return then
    raise PeerError(Fault("HX7060", f"{text!r} is no time", hint="such as 2026-01-01T00:00:00Z"))


def wanted_from_json(request: dict[str, Any]) -> tuple[list[SubscriptionRequest], list[Fault]]:
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
    wanted: list[SubscriptionRequest] = []
    faults: list[Fault] = []
    for one in request["subscriptions"]:
        try:
            wanted.append(SubscriptionRequest(one["name"], one["xpath"], options, file, one.get("line", 1)))
        except DisseminationError as error:
            faults.extend(error.faults)
    return wanted, faults


# -- as JSON ---------------------------------------------------------------------------------------------------------


def added_to_json(
    result: AllAdded,
    unconfirmed: Sequence[PeerId] = (),
    unreached: Sequence[PeerId] = (),
    untold: Sequence[str] = (),
    untranslated: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """The outcome of adding subscriptions.

    ``unconfirmed`` are publishers that are reached and have not confirmed them, ``unreached`` those that are not
    reached, ``untold`` the names of subscriptions that are too long to be announced to others; ``untranslated`` names
    subscriptions in own words that lose something on the way to a publisher, or get nothing from it.
    """
    held = sum(one.outcome == "held" for one in result.added)
    return {
        "added": len(result.added) - held,
        "held": held,
        "faults": [fault_to_json(fault) for fault in result.faults],
        "unconfirmed": list(unconfirmed),
        "unreached": list(unreached),
        "untold": list(untold),
        "untranslated": list(untranslated),
    }


def subscription_to_json(one: Subscription) -> dict[str, Any]:
    """A subscription; ``lag`` is the age in seconds of what waits longest, ``null`` where nothing does. Its
    translations for ``publishers`` are known to a daemon only."""
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
    fields = {
        "sequence": one.sequence,
        "document": one.name,
        "id": one.id,
        "bytes": one.size,
        "sha256": one.digest.hex(),
        "published": time_to_json(one.time),
        "acknowledged": one.acknowledged,
        "redelivered": one.redelivered,
    }
    return {**fields, **_content(log.content(name, one.sequence)[1])} if content else fields


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
    """The outcome of publishing a document, as the API and the audit log say it; ``matched`` counts subscriptions, of
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
