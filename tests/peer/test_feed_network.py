"""Brokers that decide for themselves, with feed logs on the disk, in small networks: who has subscribed gets it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from heptox.errors import DisseminationError, Fault
from heptox.feed import (
    FeedDocument,
    FeedLog,
    Fetch,
    Fetched,
    Gate,
    KeepDistrusted,
    Published,
    Publishes,
    Reached,
    Record,
    Router,
    Subscribed,
    Translate,
    Unsigned,
    Unsubscribed,
)
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.peer.feed.feeding import Feeding
from heptox.routing import Advertisement, advertised
from heptox.schema import parse_dtd
from tests.peer.networks import Libp2p, Memory, Network, run, until

BOOKS = advertised(parse_dtd("<!ELEMENT books (book*)> <!ELEMENT book (#PCDATA)>", "books"))
PATIENCE = 11.0
"""Seconds after which a broker asks again for what it could not store."""
BOOK, OTHER = b"<books><book>Faust</book></books>", b"<books/>"


@pytest.fixture(params=[Memory, Libp2p])
def network(request: pytest.FixtureRequest) -> Network:
    make: Callable[[], Network] = request.param
    return make()


@dataclass
class Work:
    """The own feed log, and notifications by subscription, which go nowhere."""

    peer: str
    log: FeedLog
    matcher: MemoryMatcher = field(default_factory=MemoryMatcher)
    notified: Counter[tuple[int, str]] = field(default_factory=Counter)
    stored: set[tuple[str, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    full: bool = False

    def store(self, document: FeedDocument, number: int, *, own: bool) -> None:
        assert not own
        if self.full:
            raise DisseminationError(Fault("HX9064", "the backlog is full"))
        place = (document.publisher, document.sequence)
        if place not in self.stored:
            self.stored.add(place)
            matched = (subscription for subscription in self.matcher.match(document.parsed) if subscription <= number)
            self.notified.update((subscription, document.name) for subscription in matched)

    def keep(self, reached: Reached) -> None:
        self.log.keep(reached.publisher, reached.feed, reached.position, reached.number)

    def keep_distrusted(self, kept: KeepDistrusted) -> None:
        raise AssertionError(f"nobody is dishonest: {kept}")

    def fetch(self, wanted: Fetch) -> Fetched:
        self.log.confirm(wanted.route[0], wanted.route[-1], wanted.upto)
        page = self.log.fetch(wanted.since, wanted.upto)
        documents = tuple(FeedDocument(self.peer, self.log.feed, *kept) for kept in page.documents)
        return Fetched(wanted.task, documents, page.position, page.missing)

    def record(self, wanted: Record) -> None:
        pass

    def translate(self, wanted: Translate) -> None:
        raise AssertionError(f"there is nothing in own words: {wanted}")

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        self.notes.append(f"{event} {dict(fields)}")


@dataclass
class Host:
    """A broker of a small network."""

    transport: Any
    router: Router
    work: Work
    feeding: Feeding

    @property
    def peer(self) -> str:
        peer: str = self.transport.peer
        return peer

    async def subscribe(self, number: int, text: str) -> None:
        patterns = parse_subscription(text)
        self.work.matcher.add(number, patterns)
        await self.feeding.hand_in(Subscribed(number, text, patterns))

    async def publishes(self, advertisement: Advertisement | None = None) -> None:
        log = self.work.log
        await self.feeding.hand_in(Publishes(log.feed, log.position, log.next_version(), advertisement))

    async def publish(self, name: str, data: bytes = BOOK) -> None:
        log = self.work.log
        position = log.append(name, name, data)
        await self.feeding.hand_in(Published(FeedDocument(self.peer, log.feed, position, name, name, data)))

    async def connect(self, other: Host) -> None:
        await self.transport.dial(other.peer, other.transport.addresses)

    def counts(self, publisher: Host, number: int) -> bool:
        """Whether a subscription counts at a publisher."""
        return self.router.counts(publisher.peer, number)


@asynccontextmanager
async def brokers(network: Network, folder: Path, number: int, *edges: tuple[int, int]) -> AsyncIterator[list[Host]]:
    """Brokers of which some are acquainted with each other, and connected."""
    async with AsyncExitStack() as stack:
        hosts = []
        for place in range(number):
            transport = network.transport()
            work = Work(transport.peer, stack.enter_context(FeedLog(folder / f"{place}.sqlite")))
            router = Router(transport.peer, MemoryMatcher())
            hosts.append(
                Host(transport, router, work, Feeding(router, transport, work, Gate(transport.peer, Unsigned())))
            )
            await start(hosts[-1], stack)
        for place, host in enumerate(hosts):
            host.feeding.links.acquaint([hosts[a + b - place].peer for a, b in edges if place in (a, b)])
        for one, other in edges:
            await hosts[one].connect(hosts[other])
        yield hosts


async def start(host: Host, stack: AsyncExitStack) -> None:
    async def refused(stream: object) -> None:
        raise AssertionError(f"nobody asks on {stream}")

    taking, gained = host.feeding.links.take, host.feeding.links.gained
    await stack.enter_async_context(host.transport.serving(refused, on_feed=taking, on_gain=gained))
    await stack.enter_async_context(host.feeding.serving())


LINE = ((0, 1), (1, 2), (2, 3))
RING = (*LINE, (3, 0))


@pytest.mark.parametrize("edges", [LINE, RING])
def test_documents_come_to_those_that_want_them_once(
    network: Network, tmp_path: Path, edges: tuple[tuple[int, int], ...]
) -> None:
    async def test() -> None:
        async with brokers(network, tmp_path, 4, *edges) as hosts:
            first, second, third, last = hosts
            await first.publishes(BOOKS)
            await last.publishes()
            await last.subscribe(1, "//book")
            await last.subscribe(2, "/books")
            await first.subscribe(1, "//book[. = 'Faust']")
            await until(lambda: last.counts(first, 2) and first.counts(last, 1))
            for number in range(20):
                await first.publish(f"first {number}", BOOK if number % 2 else OTHER)
                await last.publish(f"last {number}", OTHER if number % 2 else BOOK)
            await until(lambda: len(last.work.notified) == 30 and len(first.work.notified) == 10)
            expected = {(2, f"first {number}"): 1 for number in range(20)}
            assert last.work.notified == expected | {(1, f"first {number}"): 1 for number in range(1, 20, 2)}
            assert first.work.notified == {(1, f"last {number}"): 1 for number in range(0, 20, 2)}
            assert second.work.stored == third.work.stored == set()
            assert [note for host in hosts for note in host.work.notes] == []

    run(test)


def test_what_was_published_while_a_link_was_down_comes_when_it_is_up_again(network: Network, tmp_path: Path) -> None:
    async def test() -> None:
        async with brokers(network, tmp_path, 3, (0, 1), (1, 2)) as (first, middle, last):
            await first.publishes()
            await last.subscribe(1, "//book")
            await until(lambda: last.counts(first, 1))
            for times in range(3):
                await first.publish(f"before {times}")
                await middle.transport.disconnect(last.peer)
                for number in range(100):
                    await first.publish(f"{times}.{number}")
                await until(lambda: not last.feeding.links.linked(middle.peer))
                await middle.connect(last)
                await until(lambda: len(last.work.notified) == 101 * (times + 1))  # noqa: B023
            assert set(last.work.notified.values()) == {1}

    run(test)


def test_documents_of_any_size_come(network: Network, tmp_path: Path) -> None:
    async def test() -> None:
        async with brokers(network, tmp_path, 3, (0, 1), (1, 2)) as (first, middle, last):
            await first.publishes()
            await last.subscribe(1, "//book")
            await until(lambda: last.counts(first, 1))
            for size in (0, 1_000_000, 5_000_000):
                await first.publish(str(size), b"<book>" + b"x" * size + b"</book>")
            await until(lambda: len(last.work.notified) == 3)
            await middle.transport.disconnect(last.peer)
            await until(lambda: not last.feeding.links.linked(middle.peer))
            await first.publish("later", b"<book>" + b"x" * 5_000_000 + b"</book>")
            await middle.connect(last)
            await until(lambda: last.work.notified[1, "later"])

    run(test)


def test_a_subscription_that_ends_brings_nothing_more(network: Network, tmp_path: Path) -> None:
    async def test() -> None:
        async with brokers(network, tmp_path, 2, (0, 1)) as (first, last):
            await first.publishes()
            await last.subscribe(1, "//book")
            await last.subscribe(2, "//other")
            await until(lambda: last.counts(first, 2))
            await first.publish("one")
            await until(lambda: last.work.notified[1, "one"])
            await last.feeding.hand_in(Unsubscribed(1))
            await until(lambda: first.router.neighbours[0].wants == 1)
            await first.publish("two")
            await first.publish("three", b"<other/>")
            await until(lambda: last.work.notified[2, "three"])
            assert (first.peer, 2) not in last.work.stored

    run(test)


def test_a_peer_that_starts_anew_goes_on_where_it_was(network: Network, tmp_path: Path) -> None:
    async def test() -> None:
        async with brokers(network, tmp_path, 1) as (first,):
            await first.publishes()
            seen: Counter[str] = Counter()
            for times in range(2):
                async with AsyncExitStack() as stack:
                    transport = network.transport()
                    work = Work(transport.peer, stack.enter_context(FeedLog(tmp_path / "last.sqlite")))
                    router = Router(transport.peer, MemoryMatcher())
                    last = Host(
                        transport, router, work, Feeding(router, transport, work, Gate(transport.peer, Unsigned()))
                    )
                    for reached in work.log.reached():
                        await last.feeding.hand_in(reached)
                    await last.subscribe(1, "//book")
                    await start(last, stack)
                    for one, other in ((first, last), (last, first)):
                        one.feeding.links.acquaint([other.peer])
                    await last.connect(first)
                    await until(lambda: last.counts(first, 1))  # noqa: B023
                    await first.publish(f"during {times}")
                    await until(lambda: work.notified[1, f"during {times}"])  # noqa: B023
                    seen.update(name for _, name in work.notified)
                for number in range(5):
                    await first.publish(f"after {times}.{number}")
            assert {f"after 0.{number}" for number in range(5)} <= set(seen)

    run(test)


def test_what_a_full_store_refuses_is_offered_again(tmp_path: Path) -> None:
    clock = MockClock(rate=1)

    async def test() -> None:
        async with brokers(Memory(), tmp_path, 2, (0, 1)) as (first, last):
            await first.publishes()
            await last.subscribe(1, "//book")
            await until(lambda: last.counts(first, 1))
            last.work.full = True
            await first.publish("one")
            await until(lambda: any(note.startswith("document waits") for note in last.work.notes))
            last.work.full = False
            await first.publish("two")
            clock.jump(PATIENCE)
            await until(lambda: last.work.notified == {(1, "one"): 1, (1, "two"): 1})

    run(test, clock)
