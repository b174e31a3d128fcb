"""Subscriptions in a running daemon: the broker's work in threads, and subscribers that follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

import trio

from heptox.errors import DisseminationError, Fault
from heptox.matching import (
    BATCH,
    AllAdded,
    Broker,
    Notification,
    Publication,
    Published,
    Subscription,
    SubscriptionLog,
    Wanted,
    Words,
)
from heptox.peer.feeds import Feeds, is_told
from heptox.peer.messages import PeerId
from heptox.peer.metrics import SubscriptionNumbers
from heptox.peer.own_schema import OwnSchema
from heptox.peer.publishing import Offer
from heptox.peer.recording import Recorder
from heptox.peer.subscription_models import (
    EndLast,
    LackingModel,
    NotificationLine,
    NotificationModel,
    PublishedModel,
    ReplayLine,
    SubscriptionModel,
    WaitingLine,
)
from heptox.peer.subscriptions import (
    first_sequence,
    notification_model,
    subscribed_fields,
    unsubscribed_fields,
)
from heptox.schema import SchemaGraph

WAITING_SECONDS: Final = 15.0
"""How often it is told that a follower still waits."""


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


@dataclass(frozen=True, slots=True)
class Announced:
    """What others have heard of subscriptions that were ``added``: the publishers that have not confirmed them yet,
    those that cannot be reached, and the names of those that are too long to be told to others. ``untranslated`` tells
    of publishers from which nothing, or not all, comes for those in own words."""

    added: AllAdded
    unconfirmed: tuple[PeerId, ...] = ()
    unreached: tuple[PeerId, ...] = ()
    untold: tuple[str, ...] = ()
    untranslated: tuple[LackingModel, ...] = ()


class Subscribing:
    """The subscriptions of one running peer."""

    def __init__(self, broker: Broker, recorder: Recorder, schema: SchemaGraph) -> None:
        self.feeds: Feeds | None = None
        self._own_schema = OwnSchema(schema)
        self._broker = broker
        self._recorder = recorder
        self._following: defaultdict[int, set[trio.Event]] = defaultdict(set)
        self._numbers = SubscriptionNumbers(recorder.metrics.registry)

    @property
    def log(self) -> SubscriptionLog:
        """The log, to look at."""
        return self._broker.log

    async def subscribe(self, wanted: Sequence[Wanted], faults: Sequence[Fault], *, skipping: bool) -> Announced:
        """Add subscriptions, and tell others of them; raises as :meth:`Broker.add`, with HX9070 for those in own words
        that ask for what the peer's schema does not have."""
        if any(one.options.words is Words.OWN for one in wanted):
            wanted, unknown = await trio.to_thread.run_sync(self._own_schema.check, wanted)
            faults = [*faults, *unknown]
        told = await trio.to_thread.run_sync(partial(self._broker.add, wanted, skipping=skipping, faults=faults))
        await self._recorder.administered("subscribed", **subscribed_fields(told))
        if self.feeds is None:
            return Announced(told)
        by_name = {one.name: one for one in wanted}
        new = [
            (one.number, one.name, by_name[one.name].text, by_name[one.name].options)
            for one in told.added
            if one.outcome == "new"
        ]
        untold = tuple(one.name for one in told.added if not _is_told(by_name[one.name]))
        unconfirmed = await self.feeds.subscribed(new)
        lacking = tuple(one for number, name, _, _ in new for one in self.feeds.lacking(number, name))
        return Announced(told, unconfirmed, self.feeds.unreached if new else (), untold, lacking)

    def model(self, one: Subscription) -> SubscriptionModel:
        """A subscription, with what it is for each publisher, if it is in own words."""
        if self.feeds is None or one.options.words is not Words.OWN:
            return SubscriptionModel.of(one)
        return SubscriptionModel.of(one, self.feeds.renderings(one.number))

    async def unsubscribe(self, name: str) -> Subscription:
        """Remove a subscription; raises as :meth:`Broker.remove`."""
        removed = await trio.to_thread.run_sync(self._broker.remove, name)
        self.wake([removed.number])
        if self.feeds is not None:
            await self.feeds.unsubscribed(removed.number)
            await self.feeds.acknowledged()
        await self._recorder.administered("unsubscribed", **unsubscribed_fields(removed))
        return removed

    async def publish(self, publication: Publication, file: str | None) -> tuple[Published, Offer]:
        """Publish a document, and offer it to others; raises as :meth:`Broker.publish` and :meth:`Feeds.published`."""
        outcome = await trio.to_thread.run_sync(self._broker.publish, publication, file)
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
        log = self._broker.log
        if reject is None:
            told = await trio.to_thread.run_sync(log.acknowledge, name, sequence)
        else:
            told = await trio.to_thread.run_sync(log.reject, name, sequence, reject)
            self._recorder.audit.write("rejected", subscription=name, sequence=sequence, reason=reject)
        if self.feeds is not None:
            await self.feeds.acknowledged()
        return told

    # -- replay ------------------------------------------------------------------------------------------------------

    async def replay(self, wanted: Replay) -> AsyncGenerator[list[ReplayLine], None]:
        """Notifications, and what says that there are no more of them, or no more yet."""
        log, name = self._broker.log, wanted.name
        start = await trio.to_thread.run_sync(first_sequence, log, name, wanted.start, wanted.since)
        left = wanted.limit
        number = (await trio.to_thread.run_sync(log.subscription, name)).number
        came = trio.Event()
        self._following[number].add(came)
        try:
            while left is None or left > 0:
                limit = BATCH if left is None else min(left, BATCH)
                found = await trio.to_thread.run_sync(log.fetch, name, start, limit)
                await self._still(name, number)
                for one in found:
                    yield [NotificationLine(notification=await self._notification(wanted, one))]
                if found:
                    self._numbers.delivered.inc(len(found))
                    start = found[-1].sequence + 1
                    left = None if left is None else left - len(found)
                elif not wanted.follow:
                    break
                else:
                    yield [WaitingLine(waiting=start)]
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
        make = partial(notification_model, self._broker.log, wanted.name, one, content=wanted.content)
        return await trio.to_thread.run_sync(make) if wanted.content else make()

    async def _still(self, name: str, number: int) -> Subscription:
        """The subscription, unless another one has its name by now."""
        found = await trio.to_thread.run_sync(self._broker.log.subscription, name)
        if found.number != number:
            raise DisseminationError(Fault("HX9061", f"the subscription {name} was removed, and another one added"))
        return found

    def wake(self, numbers: Sequence[int]) -> None:
        """Tell those who follow subscriptions that there is something new."""
        if self._following:
            for number in self._following.keys() & set(numbers):
                for came in self._following[number]:
                    came.set()

    # -- looking -----------------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Bring what the metrics tell up to now."""
        self._numbers.tell(await trio.to_thread.run_sync(self._broker.log.totals))


def _is_told(one: Wanted) -> bool:
    """Whether others are told a subscription as it stands, if they are to be."""
    return one.options.words is Words.OWN or is_told(one.text)
