"""Subscriptions of a peer for its subscribers and publishers, whether its daemon runs or not.

A running daemon does it itself, asked through its control API; else it is done to the folder under its lock. Results
are the same either way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from heptox.errors import Fault, PeerError
from heptox.matching import Publication
from heptox.peer.control.client import Client, not_running
from heptox.peer.feed.folder_subscriptions import (
    FolderSubscriptions,
    Replay,
    Replaying,
    all_dead_letters,
    notification_model,
    open_log,
    requested,
    subscribed_fields,
    unsubscribed_fields,
)
from heptox.peer.folder.audit import AuditLog
from heptox.peer.folder.folder import PeerFolder
from heptox.peer.folder.loading import open_audit
from heptox.peer.models.subscriptions import (
    DeadLetterModel,
    NotificationModel,
    PublishedModel,
    SubscriptionModel,
    SubscriptionsAdded,
    SubscriptionsRequest,
)

Subscriptions: TypeAlias = "Client | _FolderClient"
"""What a subscriber and a publisher do at a peer, as :class:`Client` says. Everything raises :class:`HeptoxError`."""


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

    def subscribe(self, request: SubscriptionsRequest) -> SubscriptionsAdded:
        wanted, faults = self._subscriptions.named(*requested(request))
        added = self._subscriptions.subscribe(wanted, faults, skipping=request.skipping)
        self._audit.write_synced("subscribed", **subscribed_fields(added))
        return SubscriptionsAdded.of(added)

    def unsubscribe(self, name: str) -> SubscriptionModel:
        removed = self._subscriptions.unsubscribe(name)
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
        replaying = Replaying(self._log, Replay(name, start, None if since is None else _time(since), limit))
        while not replaying.ended and (found := replaying.page()):
            yield from (notification_model(self._log, name, one, content=content) for one in found)

    def document(self, name: str, sequence: int) -> bytes:
        return self._log.content(name, sequence)[1]

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> SubscriptionModel:
        found = self._subscriptions.acknowledge(name, sequence, reject)
        if reject is not None:
            self._audit.write_synced("rejected", subscription=name, sequence=sequence, reason=reject)
        return SubscriptionModel.of(found)

    def dead_letters(self, name: str, after: int = 0) -> Iterator[DeadLetterModel]:
        return map(DeadLetterModel.of, all_dead_letters(self._log, name, after))

    def dead_document(self, name: str, letter: int) -> bytes:
        return self._log.dead_content(name, letter)

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> PublishedModel:
        outcome = self._subscriptions.publish(Publication(name, data, identity), file)
        published = PublishedModel.of(outcome.published, self._subscriptions.offer(outcome, data))
        self._audit.write_synced("published", **published.to_json())
        return published


def _time(text: str) -> datetime:
    with suppress(ValueError):
        then = datetime.fromisoformat(text)
        if then.tzinfo is not None:
            return then
    raise PeerError(Fault("HX7060", f"{text!r} is no time", hint="such as 2026-01-01T00:00:00Z"))
