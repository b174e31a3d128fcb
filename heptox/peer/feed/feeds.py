"""The feeds of a running peer: what is published here goes to others, and what others publish comes here.

The decisions are those of :class:`heptox.feed.Router`; here are the logs that it needs, and the reports that people
get.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from math import inf
from typing import Final, TypeVar

import trio

from heptox import matching
from heptox.errors import DisseminationError
from heptox.feed import (
    MOST_DECIDED,
    NO_MAPPING,
    TEXT_LIMIT,
    Acknowledged,
    Acquaintances,
    Agreed,
    Event,
    FeedDocument,
    FeedLog,
    Fetch,
    Fetched,
    Following,
    Instruction,
    KeepDistrusted,
    Method,
    Published as PublishedEvent,
    Publishes,
    Reached,
    Record,
    Router,
    Subscribed,
    Translate,
    Unsubscribed,
    wanted as wanted_of,
)
from heptox.grammar import parse_subscription
from heptox.matching import Broker, Delivery, Options, Publication, Published, Words, kept_patterns
from heptox.peer.acquaintance.kept_mappings import KeptMappings
from heptox.peer.acquaintance.mapping_fetching import MappingFetching, link_with
from heptox.peer.acquaintance.register import Known
from heptox.peer.feed.feeding import Feeding
from heptox.peer.feed.own_words import OwnWords, Translating
from heptox.peer.feed.publishing import Offer, Publisher, gate_of
from heptox.peer.feed.renderings import OwnSubscription
from heptox.peer.feed.view import FeedView
from heptox.peer.folder.folder import MAPPINGS, PeerFolder
from heptox.peer.process.workers import Working
from heptox.peer.record.metrics import FeedNumbers
from heptox.peer.record.recording import REASON_LIMIT, Recorder
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.transport import Transport
from heptox.xml import Document

CONFIRMED_WITHIN: Final = 3.0
"""Seconds that a subscriber waits for the publishers to confirm it; what they publish until then may not come."""
STORED: Final = 0.5
"""To store what comes by one neighbour may take this share of what its queries may take of the processor in a minute:
one thread does it for all neighbours."""
_FIRST_REQUEST: Final = 2**52
_BATCH: Final = 64

_Value = TypeVar("_Value")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedDisk:
    """What feeds keep on the disk: in the peer's folder, its subscriptions, and what it has published."""

    folder: PeerFolder
    broker: Broker
    log: FeedLog


class Feeds:
    """The feeds of one peer. ``notify`` is called with the numbers of subscriptions that were notified."""

    def __init__(
        self,
        disk: FeedDisk,
        transport: Transport,
        recorder: Recorder,
        notify: Callable[[Sequence[int]], None],
        translating: Translating,
        workers: Working,
    ) -> None:
        folder, broker, log = disk.folder, disk.broker, disk.log
        self._peer = transport.peer
        self._broker = broker
        self._recorder = recorder
        self._notify = notify
        self._names: Mapping[PeerId, str] = {}
        self._agreed: dict[PeerId, str] = {}
        schema = folder.schema()
        self._publisher = Publisher(self._peer, folder.settings, schema, log)
        self._publishing = trio.Lock()
        self._announced = False
        settings = folder.settings
        method = Method(merging=settings.merging == "on", most_imperfect=Fraction(str(settings.most_imperfect)))
        following = Following(
            settings.follow != "acquaintances", settings.follow == "all", frozenset(settings.followed)
        )
        first = secrets.randbelow(_FIRST_REQUEST)
        matcher = matching.MemoryMatcher(decided=MOST_DECIDED)
        self.router = Router(self._peer, matcher, method, following=following, first_request=first)
        self.feeding = Feeding(self, transport, self, gate_of(folder.identity), settings.query_seconds * STORED)
        self.mappings = MappingFetching(KeptMappings(folder.path / MAPPINGS), transport, self.router.way, workers)
        self.own_words = OwnWords(schema, broker.log, log, self.mappings, translating, self)
        self.view = FeedView(self.router, self.feeding.links, self.own_words, self._publisher, broker, self.name)
        self._gives_history = settings.history == "retained"
        self._kept: dict[tuple[PeerId, bool], int] = {}
        self._meet, self._met = trio.open_memory_channel[tuple[PeerId, ...]](inf)
        self._numbers = FeedNumbers(recorder.metrics.registry)
        self._watch()
        self._progressed = trio.Event()

    def _watch(self) -> None:
        """Let the metrics look at what the router sees."""
        watch, router = self._recorder.metrics.watch, self.router
        watch("heptox_feed_links", "Links to neighbours, for feeds", lambda: len(router.neighbours))
        watch("heptox_feed_publishers", "Other peers that publish, and are reached", lambda: len(router.publishers))
        refused = "Documents of others that are none, or not as advertised"
        watch("heptox_refused_documents", refused, lambda: router.refused)
        wants = "heptox_neighbour_subscriptions"
        watch(wants, "Subscriptions that neighbours have told", lambda: sum(one.wants for one in router.neighbours))

    async def open(self) -> None:
        """Take up what is on the disk: how far this peer is, its subscriptions, and what it has published."""
        log = self._publisher.log
        await trio.to_thread.run_sync(log.meet, tuple(self._names))
        await trio.to_thread.run_sync(self.own_words.open)
        await self.hand_in(*await trio.to_thread.run_sync(log.distrusted))
        for reached in await trio.to_thread.run_sync(log.reached):
            self._kept[reached.publisher, reached.own] = reached.number
            await self.hand_in(reached)
        texts = await trio.to_thread.run_sync(lambda: list(self._broker.log.texts(queries=True)))
        if texts and log.is_new:
            self.note("subscriptions count anew", {"subscriptions": len(texts), "why": "a feed log was begun"})
        for some in _batches(texts):
            events = await trio.to_thread.run_sync(partial(_subscribed, some, self.own_words.numbers))
            await self.hand_in(*(event for event in events if event.own or is_short(event.text)))
        if await trio.to_thread.run_sync(lambda: log.position):
            await self._announce()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Have links and translate while the context is open; the transport serves meanwhile."""
        async with self.own_words.serving(), self.feeding.serving(), trio.open_nursery() as nursery:
            nursery.start_soon(self._meet_all)
            yield
            nursery.cancel_scope.cancel()

    async def _meet_all(self) -> None:
        """Keep since when acquaintances are such."""
        async for peers in self._met:
            try:
                await trio.to_thread.run_sync(self._publisher.log.meet, peers)
            except DisseminationError as error:  # what they have a right to begins with their first question then
                _log.warning("it is not kept since when there are acquaintances: %s", error)

    def acquaint(self, known: Iterable[Known]) -> None:
        """There are links to these acquaintances from now on, and to nobody else; they may have agreed on other
        mappings."""
        self.mappings.neighbours = {one.peer: one for one in known}
        gone = self._names.keys() - self.mappings.neighbours.keys()
        if new := self.mappings.neighbours.keys() - self._names.keys():
            self._meet.send_nowait(tuple(sorted(new)))
        self._names = {peer: one.acquaintance.name for peer, one in self.mappings.neighbours.items()}
        self.feeding.links.acquaint(tuple(self._names))
        self.feeding.hand_in_soon(Acquaintances(frozenset(self._names)))
        agreed = {peer: str(link_with(one) or NO_MAPPING) for peer, one in self.mappings.neighbours.items()}
        changed = {**dict.fromkeys(gone, NO_MAPPING), **agreed}.items() - self._agreed.items()
        for peer, mapping in sorted(changed):
            self.feeding.hand_in_soon(Agreed(peer, mapping))
        self._agreed = agreed
        if changed:
            self.own_words.look_again()

    # -- what people do here -----------------------------------------------------------------------------------------

    async def subscribed(self, added: Iterable[tuple[int, str, str, Options]]) -> tuple[PeerId, ...]:
        """There are new subscriptions, by number, name and text; the publishers that have not confirmed them in time.

        One that is too long is not sent to others (:func:`is_short`).
        """
        numbers = []
        for number, name, text, options in added:
            if own := options.words is Words.OWN:
                self.own_words.add(OwnSubscription(number, name, text, Delivery(options.deliver)))
            elif not is_short(text):
                continue
            numbers.append(number)
            patterns = () if own else await trio.to_thread.run_sync(parse_subscription, text)
            await self.hand_in(Subscribed(number, text, patterns, own))
        with trio.move_on_after(CONFIRMED_WITHIN):
            while self._is_unconfirmed(numbers):
                await self._progressed.wait()
        return tuple(self.unconfirmed(numbers))

    def _is_unconfirmed(self, numbers: Sequence[int]) -> bool:
        """Whether some are not confirmed; the last ones are so last."""
        return any(self.unconfirmed((number,)) for number in reversed(numbers))

    @property
    def unreached(self) -> tuple[PeerId, ...]:
        """The publishers that cannot be reached now, as far as they are known."""
        return self.router.unreached

    def unconfirmed(self, numbers: Iterable[int]) -> dict[PeerId, None]:
        """The publishers that can be reached, and at which some subscription of this peer does not count yet."""
        return {
            publisher: None
            for number in numbers
            for publisher in self.router.concerned(number)
            if not self.counts(publisher, number)
        }

    def counts(self, publisher: PeerId, number: int) -> bool:
        """Whether a publisher has confirmed a subscription of this peer, which knows that after a crash, too."""
        kept = self._kept.get((publisher, number in self.own_words.numbers), 0)
        return self.router.counts(publisher, number) and number <= kept

    async def unsubscribed(self, number: int) -> None:
        """A subscription is no more."""
        self.own_words.remove(number)
        await self.hand_in(Unsubscribed(number))

    async def acknowledged(self) -> None:
        """A subscriber has acknowledged something, or is no more: there may be room for documents that wait."""
        if self.router.waits:
            await self.hand_in(Acknowledged())

    async def published(self, published: Published, data: bytes, document: Document | None) -> Offer:
        """A document was published here: offer it to others, if there are any, or ever were. Raises as
        :meth:`Publisher.offer`."""
        if not self._names and not self._announced:
            return Offer()
        async with self._publishing:
            if not self._announced:
                await self._announce()
            offer = await trio.to_thread.run_sync(self._publisher.offer, published, data, document)
            if offer.document is not None and offer.new:
                await self.hand_in(PublishedEvent(offer.document))
        return offer

    async def _announce(self) -> None:
        log = self._publisher.log
        since = None if await trio.to_thread.run_sync(lambda: log.announced) else 0
        version = await trio.to_thread.run_sync(log.next_version)
        schema = self._publisher.schema
        written_since = await trio.to_thread.run_sync(log.write_under, schema)
        position, last = await trio.to_thread.run_sync(lambda: (log.position, log.last))
        self._announced = True
        advertisement = self._publisher.advertisement
        await self.hand_in(Publishes(log.feed, position, version, advertisement, since, schema, written_since, last))

    async def hand_in(self, *events: Event) -> None:
        """Hand in what happens at this peer, one after the other, as :meth:`Feeding.hand_in`."""
        for event in events:
            await self.feeding.hand_in(event)

    # -- what the router has done ------------------------------------------------------------------------------------

    def store(self, document: FeedDocument, number: int, *, own: bool) -> None:
        """Notify subscriptions of a document; raises :class:`HeptoxError`. Called in a thread."""
        if own:
            delivered = self.own_words.deliver(document, number)
            for published in delivered.published:
                trio.from_thread.run_sync(self._delivered, document, published, delivered.numbers)
            return
        identity = f"{document.publisher}/{document.feed}/{document.sequence}"
        publication = Publication(document.name, document.data, identity)
        outcome = self._broker.deliver(publication, document.parsed, number, without=self.own_words.numbers)
        if outcome is not None and outcome.published.outcome == "new":
            trio.from_thread.run_sync(self._delivered, document, outcome.published, outcome.numbers)

    def _delivered(self, document: FeedDocument, published: Published, numbers: Sequence[int]) -> None:
        publisher = document.publisher
        self._numbers.received.inc()
        self._recorder.audit.write(
            "received", document=published.name, id=published.id, publisher=publisher, matched=published.matched
        )
        self._notify(numbers)

    def keep(self, reached: Reached) -> None:
        """Keep how far this peer is. Called in a thread."""
        place = (reached.publisher, reached.feed, reached.position, reached.number)
        self._publisher.log.keep(*place, own=reached.own)
        trio.from_thread.run_sync(self._is_kept, reached)

    def _is_kept(self, reached: Reached) -> None:
        self._kept[reached.publisher, reached.own] = reached.number
        self._progress()

    def keep_distrusted(self, kept: KeepDistrusted) -> None:
        """Keep, or forget, what is held against a neighbour. Called in a thread."""
        log = self._publisher.log
        if kept.distrusted is None:
            log.forgive(kept.neighbour)
        else:
            log.distrust(kept.distrusted)

    def translate(self, wanted: Translate) -> None:
        """Have subscriptions in own words translated."""
        self.own_words.translate(wanted)

    def fetch(self, wanted: Fetch) -> Fetched:
        """Read the feed log. Called in a thread."""
        log, publisher = self._publisher.log, self._publisher
        since = log.confirm(wanted.route[0], wanted.route[-1], wanted.upto)
        since = wanted.since if self._gives_history else min(max(wanted.since, since), wanted.upto)
        page = log.fetch(since, wanted.upto, withholds=publisher.withholds)
        documents = wanted_of(wanted, [one.of(self._peer, log.feed) for one in page.documents])
        # Whatever is wanted: whether what is hidden matches that is nothing to be counted.
        withheld = tuple(position for position in page.withheld if position not in wanted.has)
        earlier = since - wanted.since
        return Fetched(wanted.task, documents, page.position, page.missing, withheld, earlier, page.last)

    def record(self, wanted: Record) -> None:
        """Record what is about to be served. Called in a thread."""
        self._recorder.repeated.served(wanted)

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        """Report something to the administrator, and count what others do again and again."""
        cut = {key: value[:REASON_LIMIT] if isinstance(value, str) else value for key, value in fields.items()}
        if self._recorder.repeated.note("feed", what=event, **cut):
            _log.info("%s: %s", event, ", ".join(f"{key} {value}" for key, value in cut.items()))
        self._numbers.note(event, fields)

    def prepare(self, event: Event) -> None:
        """As :meth:`Router.prepare`."""
        self.router.prepare(event)

    def way(self, publisher: PeerId) -> tuple[PeerId, ...]:
        """As :meth:`Router.way`."""
        return self.router.way(publisher)

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """Have the router decide, and let those look again who wait for something to be confirmed."""
        decided = self.router.handle(event, now)
        self._progress()
        return decided

    def _progress(self) -> None:
        self._progressed.set()
        self._progressed = trio.Event()

    def name(self, peer: PeerId) -> str:
        """What a peer is called here, if it is an acquaintance; else its id."""
        return self._names.get(peer, peer)


def is_short(text: str) -> bool:
    """Whether a subscription is short enough to be sent to others; else what they publish comes by chance only."""
    return len(text) <= TEXT_LIMIT


def _batches(values: Iterable[_Value]) -> Iterator[tuple[_Value, ...]]:
    left = iter(values)
    while some := tuple(islice(left, _BATCH)):
        yield some


def _subscribed(texts: Iterable[tuple[int, str, str]], own: Container[int]) -> list[Subscribed]:
    return [
        Subscribed(number, text, () if number in own else kept_patterns(name, text), number in own)
        for number, name, text in texts
    ]
