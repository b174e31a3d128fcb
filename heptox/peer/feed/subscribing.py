"""Subscriptions in a running daemon: the broker's work in threads, and subscribers that follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from heptox.errors import DisseminationError, Fault
from heptox.matching import (
    AllAdded,
    Notification,
    Publication,
    Published,
    Subscription,
    SubscriptionLog,
    SubscriptionRequest,
    Words,
)
from heptox.peer.feed.feeds import Feeds, is_short
from heptox.peer.feed.folder_subscriptions import (
    FolderSubscriptions,
    Replay,
    Replaying,
    notification_model,
    subscribed_fields,
    unsubscribed_fields,
)
from heptox.peer.feed.publishing import Offer
from heptox.peer.models.subscriptions import (
    EndLast,
    LackingModel,
    NotificationLine,
    NotificationModel,
    PublishedModel,
    ReplayLine,
    SubscriptionModel,
    WaitingLine,
)
from heptox.peer.record.metrics import SubscriptionNumbers
from heptox.peer.record.recording import Recorder
from heptox.peer.wire.messages import PeerId

WAITING_SECONDS: Final = 15.0
"""How often a follower is sent that it still waits."""


@dataclass(frozen=True, slots=True)
class Announced:
    """What was announced of subscriptions that were ``added``: the publishers that have not confirmed them yet,
    those that cannot be reached, and the names of those that are too long to be announced to others. ``untranslated``
    names the publishers from which nothing, or not all, comes for those in own words."""

    added: AllAdded
    unconfirmed: tuple[PeerId, ...] = ()
    unreached: tuple[PeerId, ...] = ()
    untold: tuple[str, ...] = ()
    untranslated: tuple[LackingModel, ...] = ()


class Subscribing:
    """The subscriptions of one running peer."""

    def __init__(self, subscriptions: FolderSubscriptions, recorder: Recorder) -> None:
        self.feeds: Feeds | None = None
        self._subscriptions = subscriptions
        self._recorder = recorder
        self._following: defaultdict[int, set[trio.Event]] = defaultdict(set)
        self._numbers = SubscriptionNumbers(recorder.metrics.registry)

    @property
    def log(self) -> SubscriptionLog:
        """The log, to look at."""
        return self._subscriptions.log

    async def subscribe(
        self, wanted: Sequence[SubscriptionRequest], faults: Sequence[Fault], *, skipping: bool
    ) -> Announced:
        """Add subscriptions, and announce them to others; raises as :meth:`FolderSubscriptions.subscribe`."""
        wanted, faults = await trio.to_thread.run_sync(self._subscriptions.named, wanted, faults)
        subscribe = partial(self._subscriptions.subscribe, wanted, faults, skipping=skipping)
        result = await trio.to_thread.run_sync(subscribe)
        await self._recorder.administered("subscribed", **subscribed_fields(result))
        if self.feeds is None:
            return Announced(result)
        by_name = {one.name: one for one in wanted}
        new = [
            (one.number, one.name, by_name[one.name].text, by_name[one.name].options)
            for one in result.added
            if one.outcome == "new"
        ]
        untold = tuple(one.name for one in result.added if not _is_told(by_name[one.name]))
        unconfirmed = await self.feeds.subscribed(new)
        lacking = tuple(one for number, name, _, _ in new for one in self.feeds.view.lacking(number, name))
        return Announced(result, unconfirmed, self.feeds.unreached if new else (), untold, lacking)

    def model(self, one: Subscription) -> SubscriptionModel:
        """A subscription, with its translation for each publisher, if it is in own words."""
        if self.feeds is None or one.options.words is not Words.OWN:
            return SubscriptionModel.of(one)
        return SubscriptionModel.of(one, self.feeds.view.renderings(one.number))

    async def unsubscribe(self, name: str) -> Subscription:
        """Remove a subscription; raises as :meth:`Broker.remove`."""
        removed = await trio.to_thread.run_sync(self._subscriptions.unsubscribe, name)
        self.wake([removed.number])
        if self.feeds is not None:
            await self.feeds.unsubscribed(removed.number)
            await self.feeds.acknowledged()
        await self._recorder.administered("unsubscribed", **unsubscribed_fields(removed))
        return removed

    async def publish(self, publication: Publication, file: str | None) -> tuple[Published, Offer]:
        """Publish a document, and offer it to others; raises as :meth:`Broker.publish` and :meth:`Feeds.published`."""
        outcome = await trio.to_thread.run_sync(self._subscriptions.publish, publication, file)
        self.wake(outcome.numbers)
        published = outcome.published
        offer = Offer()
        if self.feeds is not None:
            offer = await self.feeds.published(published, publication.data, outcome.document)
        self._recorder.audit.write("published", **PublishedModel.of(published, offer).to_json())
        if published.outcome == "new":
            self._numbers.published.inc()
            self._numbers.matched.inc(published.matched)
        return published, offer

    async def acknowledge(self, name: str, sequence: int, reject: str | None) -> Subscription:
        """Acknowledge up to a sequence number; raises as the log's methods."""
        found = await trio.to_thread.run_sync(self._subscriptions.acknowledge, name, sequence, reject)
        if reject is not None:
            self._recorder.audit.write("rejected", subscription=name, sequence=sequence, reason=reject)
        if self.feeds is not None:
            await self.feeds.acknowledged()
        return found

    # -- replay ------------------------------------------------------------------------------------------------------

    async def replay(self, wanted: Replay) -> AsyncGenerator[list[ReplayLine], None]:
        """Notifications, and what says that there are no more of them, or no more yet."""
        name = wanted.name
        replaying = await trio.to_thread.run_sync(Replaying, self.log, wanted)
        number = (await trio.to_thread.run_sync(self.log.subscription, name)).number
        came = trio.Event()
        self._following[number].add(came)
        try:
            while not replaying.ended:
                found = await trio.to_thread.run_sync(replaying.page)
                await self._still(name, number)
                for one in found:
                    yield [NotificationLine(notification=await self._notification(wanted, one))]
                if found:
                    self._numbers.delivered.inc(len(found))
                elif not wanted.follow:
                    break
                else:
                    yield [WaitingLine(waiting=replaying.next)]
                    with trio.move_on_after(WAITING_SECONDS):
                        await came.wait()
                    self._following[number].discard(came)
                    came = trio.Event()
                    self._following[number].add(came)
            yield [EndLast(end=SubscriptionModel.of(await self._still(name, number)))]
        finally:
            self._following[number].discard(came)
            if not self._following[number]:
                del self._following[number]

    async def _notification(self, wanted: Replay, one: Notification) -> NotificationModel:
        make = partial(notification_model, self.log, wanted.name, one, content=wanted.content)
        return await trio.to_thread.run_sync(make) if wanted.content else make()

    async def _still(self, name: str, number: int) -> Subscription:
        """The subscription, unless another one has its name by now."""
        found = await trio.to_thread.run_sync(self.log.subscription, name)
        if found.number != number:
            raise DisseminationError(Fault("HX9061", f"the subscription {name} was removed, and another one added"))
        return found

    def wake(self, numbers: Sequence[int]) -> None:
        """Wake those who follow subscriptions: there is something new."""
        if self._following:
            for number in self._following.keys() & set(numbers):
                for came in self._following[number]:
                    came.set()

    # -- looking -----------------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Bring the metrics up to now."""
        self._numbers.tell(await trio.to_thread.run_sync(self.log.totals))


def _is_told(one: SubscriptionRequest) -> bool:
    """Whether a subscription can be announced to others as it stands."""
    return one.options.words is Words.OWN or is_short(one.text)
