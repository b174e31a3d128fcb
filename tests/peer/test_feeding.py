"""A broker's instructions carried out, and its neighbours heard; what is decided is the tests' own."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from heptox.errors import DisseminationError, Fault, InputError, PeerError
from heptox.feed import (
    TEXT_LIMIT,
    Break,
    CatchUp,
    Event,
    FeedDocument,
    Fetch,
    Fetched,
    Gate,
    Hello,
    Instruction,
    Keep,
    KeepDistrusted,
    LinkDown,
    LinkUp,
    Message,
    Note,
    NotFetched,
    NotStored,
    PeerId,
    Publish,
    Published,
    Reached,
    Received,
    Record,
    Replay,
    Send,
    Store,
    Stored,
    Subscribe,
    Subscribed,
    Tick,
    Translate,
    Unsigned,
    Wake,
    Withdraw,
)
from heptox.peer.feed import feeding, storing as feed_storing
from heptox.peer.feed.feeding import Feeding
from heptox.peer.feed.links import FIRST_PAUSE, LONGEST_PAUSE
from heptox.peer.feed.storing import STORING
from heptox.peer.wire.feed_wire import encode_feed
from heptox.peer.wire.transport import ByteMessages, Transport
from tests.peer.networks import Libp2p, Memory, Network, run, until

_Event = TypeVar("_Event")


@pytest.fixture(params=[Memory, Libp2p])
def network(request: pytest.FixtureRequest) -> Network:
    make: Callable[[], Network] = request.param
    return make()


class Scripted:
    """A router that writes down what it hears, and says what the test has it say."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.decide: Callable[[Event], Iterable[Instruction]] = lambda _: ()

    def prepare(self, event: Event) -> None:
        assert threading.current_thread() is not threading.main_thread()
        documents: Iterable[FeedDocument] = ()
        match event:
            case Published(document=one) | Received(message=Publish(document=one) | Replay(document=one)):
                documents = (one,)
            case Fetched():
                documents = event.documents
        for document in documents:
            with suppress(InputError):
                _ = document.parsed

    def way(self, publisher: PeerId) -> tuple[PeerId, ...]:  # noqa: ARG002
        return ()

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        assert now <= trio.current_time()
        self.heard.append(event)
        return tuple(self.decide(event))

    def all(self, kind: type[_Event]) -> list[_Event]:
        return [event for event in self.heard if isinstance(event, kind)]

    def links(self) -> list[Event]:
        return [event for event in self.heard if isinstance(event, LinkUp | LinkDown)]

    def said(self) -> list[Any]:
        return [event.message for event in self.all(Received)]


@dataclass
class Doing:
    """Work that takes no time unless ``going`` is cleared, and is written down."""

    done: list[Any] = field(default_factory=list)
    notes: list[tuple[str, dict[str, str | int]]] = field(default_factory=list)
    wanted: list[Translate] = field(default_factory=list)
    going: threading.Event = field(default_factory=threading.Event)
    fault: Exception | None = None

    def __post_init__(self) -> None:
        self.going.set()

    def _do(self, what: Any) -> None:
        assert threading.current_thread() is not threading.main_thread()
        assert self.going.wait(240)
        if self.fault is not None:
            raise self.fault
        self.done.append(what)

    def store(self, document: FeedDocument, number: int, *, own: bool) -> None:
        assert not own
        self._do((document.sequence, number))

    def keep(self, reached: Reached) -> None:
        self._do(reached)

    def keep_distrusted(self, kept: KeepDistrusted) -> None:
        self._do(kept)

    def fetch(self, wanted: Fetch) -> Fetched:
        self._do(wanted)
        return Fetched(wanted.task, (document(wanted.since + 1),), wanted.since + 1)

    def record(self, wanted: Record) -> None:
        self._do(wanted)

    def translate(self, wanted: Translate) -> None:
        self.wanted.append(wanted)

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        self.notes.append((event, dict(fields)))


@dataclass
class Host:
    """A broker under test."""

    transport: Any
    router: Scripted
    work: Doing
    feeding: Feeding

    @property
    def peer(self) -> str:
        peer: str = self.transport.peer
        return peer


def document(sequence: int, data: bytes = b"<a/>") -> FeedDocument:
    return FeedDocument("P", "feed", sequence, f"{sequence}.xml", str(sequence), data)


async def refused(stream: object) -> None:
    raise AssertionError(f"nobody asks on {stream}")


@asynccontextmanager
async def hosts(network: Network, number: int = 2, *, connected: bool = True) -> AsyncIterator[list[Host]]:
    """Brokers in the order of their ids, all acquainted with each other."""
    transports = sorted((network.transport() for _ in range(number)), key=lambda transport: str(transport.peer))
    async with AsyncExitStack() as stack:
        found = []
        for transport in transports:
            router, work = Scripted(), Doing()
            host = Host(transport, router, work, Feeding(router, transport, work, Gate(transport.peer, Unsigned())))
            serving = transport.serving(refused, on_feed=host.feeding.links.take, on_gain=host.feeding.links.gained)
            await stack.enter_async_context(serving)
            host.feeding.links.acquaint([other.peer for other in transports if other is not transport])
            await stack.enter_async_context(host.feeding.serving())
            found.append(host)
        if connected:
            for host in found:
                for other in found[: found.index(host)]:
                    await host.transport.dial(other.peer, other.transport.addresses)
        yield found


async def linked(*brokers: Host) -> None:
    """Wait until all of them have links to all others."""
    for one in brokers:
        await until(lambda: all(one.feeding.links.linked(other.peer) for other in brokers if other is not one))  # noqa: B023


# -- links -----------------------------------------------------------------------------------------------------------


def test_a_link_is_made_once_there_is_a_connection_and_leads_both_ways_in_order(network: Network) -> None:
    said: list[Message] = [Hello(), *(Subscribe(number, "//a") for number in range(300))]

    async def test() -> None:
        async with hosts(network, connected=False) as (one, other):
            for host in (one, other):
                host.router.decide = lambda event: (
                    [Send(event.neighbour, message) for message in said] if isinstance(event, LinkUp) else []
                )
            await other.transport.dial(one.peer, one.transport.addresses)
            for host, neighbour in ((one, other), (other, one)):
                await until(lambda: len(host.router.heard) > 301)  # noqa: B023
                assert host.router.links() == [LinkUp(neighbour.peer)]
                assert host.router.said() == said
            assert other.transport._inbound.streams.total() == 1, "the smaller id opens, and nobody else"
            assert one.transport._inbound.streams.total() == 0

    run(test)


def test_a_link_that_is_lost_is_made_again(network: Network) -> None:
    async def test() -> None:
        async with hosts(network) as (one, other):
            for times in range(1, 4):
                await until(lambda: len(one.router.links()) == len(other.router.links()) == 2 * times - 1)  # noqa: B023
                await other.transport.disconnect(one.peer)
                await until(lambda: len(one.router.links()) == len(other.router.links()) == 2 * times)  # noqa: B023
                assert not one.feeding.links.linked(other.peer)
                await one.transport.dial(other.peer, other.transport.addresses)
            await linked(one, other)
            for host, neighbour in ((one, other), (other, one)):
                assert host.router.links() == [LinkUp(neighbour.peer), LinkDown(neighbour.peer)] * 3 + [
                    LinkUp(neighbour.peer)
                ]

    run(test)


@asynccontextmanager
async def beside(network: Network, *, greater: bool = False) -> AsyncIterator[tuple[Transport, Host]]:
    """A transport on which the test says what it likes, and a broker; the ``greater`` id is the test's or not."""
    bare, transport = sorted(
        (network.transport(), network.transport()), key=lambda each: str(each.peer), reverse=greater
    )
    router, work = Scripted(), Doing()
    broker = Host(transport, router, work, Feeding(router, transport, work, Gate(transport.peer, Unsigned())))
    taken: list[ByteMessages] = []

    async def take(stream: ByteMessages) -> None:
        taken.append(stream)
        await stream.closed()

    async with (
        bare.serving(refused, on_feed=take),
        transport.serving(refused, on_feed=broker.feeding.links.take, on_gain=broker.feeding.links.gained),
        broker.feeding.serving(),
    ):
        broker.feeding.links.acquaint([bare.peer])
        await bare.dial(broker.peer, broker.transport.addresses)
        yield bare, broker


async def lost(stream: ByteMessages) -> None:
    with pytest.raises(PeerError, match="HX7011"):
        while True:
            await stream.receive()


def test_a_newer_stream_takes_the_place_of_the_older(network: Network) -> None:
    async def test() -> None:
        async with beside(network) as (bare, broker):
            older = await bare.open_feed(broker.peer)
            await until(lambda: broker.router.heard)
            newer = await bare.open_feed(broker.peer)
            await lost(older)
            older.post(*encode_feed(Withdraw("older")))
            newer.post(*encode_feed(Withdraw("newer")))
            await until(broker.router.said)
            up, down = LinkUp(bare.peer), LinkDown(bare.peer)
            assert broker.router.heard == [up, down, up, Received(bare.peer, Withdraw("newer"))]

    run(test)


def test_one_that_is_no_acquaintance_or_has_the_greater_id_gets_no_link(network: Network) -> None:
    async def test() -> None:
        async with beside(network, greater=True) as (bare, broker):
            await until(lambda: broker.feeding.links.linked(bare.peer))
            await lost(await bare.open_feed(broker.peer))
            assert broker.router.heard == [LinkUp(bare.peer)]
        async with beside(network) as (bare, broker):
            broker.feeding.links.acquaint([])
            await lost(await bare.open_feed(broker.peer))
            assert broker.router.heard == []

    run(test)


def test_the_end_of_an_acquaintance_is_the_end_of_its_link(network: Network) -> None:
    async def test() -> None:
        async with hosts(network, 3) as (one, middle, other):
            await linked(one, middle, other)
            middle.feeding.links.acquaint([one.peer])
            assert middle.router.heard[-1] == LinkDown(other.peer)
            await until(lambda: LinkDown(middle.peer) in other.router.heard)
            heard = len(middle.router.heard)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert len(middle.router.heard) == heard
            assert middle.feeding.links.linked(one.peer)
            middle.feeding.links.acquaint([one.peer, other.peer])
            await linked(one, middle, other)

    run(test)


@pytest.mark.parametrize("greater", [False, True])
def test_a_link_that_is_broken_is_told_to_nobody_and_made_again_later(network: Network, greater: bool) -> None:
    def decide(event: Event) -> Iterable[Instruction]:
        if isinstance(event, Received):
            yield Break(event.neighbour, "it has not kept to what was agreed")
            yield Send(event.neighbour, Hello())

    async def test() -> None:
        async with hosts(network) as brokers:
            strict, other = brokers[greater], brokers[not greater]
            strict.router.decide = decide
            other.router.decide = lambda event: (
                [Send(event.neighbour, Hello()), Send(event.neighbour, Hello())] if isinstance(event, LinkUp) else []
            )
            await until(lambda: len(strict.router.all(Received)) > 2)
            heard = strict.router.heard[:6]
            assert heard == [LinkUp(other.peer), Received(other.peer, Hello())] * 3

    run(test)


def test_attempts_become_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []

    async def fail(neighbour: str) -> ByteMessages:
        times.append(trio.current_time())
        raise PeerError(Fault("HX7010", f"{neighbour} opens no stream"))

    async def test() -> None:
        async with hosts(Memory(), connected=False) as (one, other):
            monkeypatch.setattr(one.transport, "open_feed", fail)
            await one.transport.dial(other.peer, other.transport.addresses)
            await until(lambda: len(times) == 10)

    run(test, MockClock(autojump_threshold=0))
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == pytest.approx([min(LONGEST_PAUSE, FIRST_PAUSE * 2**number) for number in range(9)], abs=0.01)


@pytest.mark.parametrize("garbage", [b"\xff", next(encode_feed(Publish(document(1)))) * 2])
def test_garbage_costs_the_link_and_is_noted(network: Network, garbage: bytes) -> None:
    async def test() -> None:
        async with beside(network) as (bare, broker):
            stream = await bare.open_feed(broker.peer)
            stream.post(garbage)
            await lost(stream)
            await until(lambda: len(broker.router.heard) == 2)
            assert broker.router.heard == [LinkUp(bare.peer), LinkDown(bare.peer)]
            ((event, fields),) = broker.work.notes
            assert (event, fields["neighbour"], str(fields["reason"])[:6]) == ("link broken", bare.peer, "HX7002")

    run(test)


def test_a_mistake_in_a_decision_costs_the_link_alone(network: Network) -> None:
    def decide(event: Event) -> list[Instruction]:
        if isinstance(event, Received):
            raise ValueError("a mistake in the router")
        return [Send(event.neighbour, Hello())] if isinstance(event, LinkUp) else []

    async def test() -> None:
        async with hosts(network) as (one, other):
            one.router.decide = decide
            other.router.decide = lambda event: [Send(event.neighbour, Hello())] if isinstance(event, LinkUp) else []
            await until(lambda: len(one.router.all(LinkDown)) > 1)
            await one.feeding.hand_in(Tick())

    run(test)


def test_a_link_on_which_something_cannot_be_said_is_taken_down(network: Network) -> None:
    async def test() -> None:
        async with hosts(network) as (one, other):
            await linked(one, other)
            one.router.decide = lambda event: (
                [Send(other.peer, Subscribe(1, "x" * (TEXT_LIMIT + 1))), Send(other.peer, Hello())]
                if isinstance(event, Tick)
                else []
            )
            await one.feeding.hand_in(Tick())
            await until(lambda: one.router.all(LinkDown) and other.router.all(LinkDown))
            assert other.router.said() == []

    run(test)


def test_a_subscription_that_is_too_long_for_others_is_refused_when_it_is_told() -> None:
    async def test() -> None:
        async with hosts(Memory(), 1) as (broker,):
            await broker.feeding.hand_in(Subscribed(1, "x" * TEXT_LIMIT, ()))
            with pytest.raises(PeerError, match="HX7004"):
                await broker.feeding.hand_in(Subscribed(2, "x" * (TEXT_LIMIT + 1), ()))
            assert [event.number for event in broker.router.all(Subscribed)] == [1]

    run(test)


# -- documents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"<a/>", b"<a>" + b"x" * 3_000_000 + b"</a>", b"<a>", b""])
def test_documents_come_parsed(network: Network, data: bytes) -> None:
    sent: list[Message] = [Publish(document(1, data)), Replay(document(2, data), 1, ("here",)), Publish(document(3))]

    async def test() -> None:
        async with hosts(network) as (one, other):
            await linked(one, other)
            one.router.decide = lambda event: [Send(other.peer, message) for message in sent] if event == Tick() else []
            await one.feeding.hand_in(Tick())
            await until(lambda: len(other.router.said()) == 3)
            assert other.router.said() == sent
            for message in other.router.said():
                assert message.document._parsed
                if message.document.data in (b"<a>", b""):
                    with pytest.raises(InputError):
                        _ = message.document.parsed

    run(test)


def test_what_is_on_its_way_to_somebody_else_is_not_parsed() -> None:
    async def test() -> None:
        async with hosts(Memory()) as (one, other):
            await linked(one, other)
            message = Replay(document(1), 1, ("further", "here"))
            one.router.decide = lambda event: [Send(other.peer, message)] if event == Tick() else []
            await one.feeding.hand_in(Tick())
            await until(other.router.said)
            assert not other.router.said()[0].document._parsed

    run(test)


def test_a_message_for_many_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[Any] = []

    def counting(message: Any) -> Any:
        encoded.append(message)
        return encode_feed(message)

    async def test() -> None:
        monkeypatch.setattr(feeding, "encode_feed", counting)
        async with hosts(Memory(), 4) as (one, *others):
            await linked(one, *others)
            one.router.decide = lambda event: (
                [Send(other.peer, Publish(event.document)) for other in others] if isinstance(event, Published) else []
            )
            for number in range(3):
                await one.feeding.hand_in(Published(document(number)))
            for other in others:
                await until(lambda: len(other.router.said()) == 3)  # noqa: B023
        assert encoded == [Publish(document(number)) for number in range(3)]

    run(test)


def test_what_is_told_counts_in_order_and_is_prepared() -> None:
    first = threading.Event()
    prepared: list[int] = []

    def slowly(event: Event) -> None:
        assert isinstance(event, Published)
        if event.document.sequence == 0:
            assert first.wait(240)
        prepared.append(event.document.sequence)

    async def test() -> None:
        async with hosts(Memory(), 1) as (broker,), trio.open_nursery() as nursery:
            broker.router.prepare = slowly  # type: ignore[method-assign]
            for number in range(5):
                nursery.start_soon(broker.feeding.hand_in, Published(document(number)))
                await trio.testing.wait_all_tasks_blocked()
            assert broker.router.heard == []
            first.set()
            await until(lambda: len(broker.router.heard) == 5)
            assert [event.document.sequence for event in broker.router.all(Published)] == prepared == [0, 1, 2, 3, 4]

    run(test)


# -- work ------------------------------------------------------------------------------------------------------------


def stores(event: Event) -> Iterable[Instruction]:
    """Store each document that comes, and keep where it is."""
    if isinstance(event, Received) and isinstance(event.message, Publish):
        yield Store(event.message.document, 7)
    elif isinstance(event, Stored):
        yield Keep(Reached(event.publisher, event.feed, event.sequence, 7))


def test_documents_are_stored_and_positions_kept_in_order() -> None:
    async def test() -> None:
        async with hosts(Memory(), 1) as (broker,):
            broker.router.decide = lambda event: (
                [Store(document(1), 3), Keep(Reached("P", "feed", 1, 3)), Store(document(2), 3)]
                if event == Tick()
                else []
            )
            await broker.feeding.hand_in(Tick())
            await until(lambda: len(broker.router.all(Stored)) == 2)
            assert broker.work.done == [(1, 3), Reached("P", "feed", 1, 3), (2, 3)]
            assert broker.router.heard == [Tick(), Stored("P", "feed", 1), Stored("P", "feed", 2)]

    run(test)


@pytest.mark.parametrize("fault", [DisseminationError(Fault("HX9064", "full")), ValueError("full")])
def test_what_is_not_stored_is_told(fault: Exception) -> None:
    async def test() -> None:
        async with hosts(Memory(), 1) as (broker,):
            broker.work.fault = fault
            broker.router.decide = lambda event: [Store(document(1), 3)] if event == Tick() else []
            await broker.feeding.hand_in(Tick())
            await until(lambda: broker.router.all(NotStored))
            assert "full" in broker.router.all(NotStored)[0].reason
            broker.work.fault = None
            await broker.feeding.hand_in(Tick())
            await until(lambda: broker.router.all(Stored))

    run(test)


def test_a_position_that_cannot_be_kept_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with hosts(Memory(), 1) as (broker,):
            broker.router.decide = lambda event: [Keep(Reached("P", "feed", 1, 3))] if event == Tick() else []
            broker.work.fault = DisseminationError(Fault("HX9064", "full"))
            await broker.feeding.hand_in(Tick())
            await until(lambda: "full" in caplog.text)
            broker.work.fault = None
            await broker.feeding.hand_in(Tick())
            await until(lambda: broker.work.done == [Reached("P", "feed", 1, 3)])

    run(test)


def test_a_slow_store_slows_the_publisher(network: Network) -> None:
    size, number = 500_000, 60

    async def publish(one: Host, told: list[int]) -> None:
        for sequence in range(number):
            await one.feeding.hand_in(Published(document(sequence, b"<a>" + b"x" * size + b"</a>")))
            told.append(sequence)

    async def test() -> None:
        told: list[int] = []
        async with hosts(network) as (one, other):
            await linked(one, other)
            other.work.going.clear()
            one.router.decide = lambda event: (
                [Send(other.peer, Publish(event.document))] if isinstance(event, Published) else []
            )
            other.router.decide = stores
            async with trio.open_nursery() as nursery:
                nursery.start_soon(publish, one, told)
                await until(lambda: len(told) * size > STORING)
                await trio.sleep(0.3)
                assert len(told) * size < 2 * STORING
                assert len(other.router.said()) * size < STORING + 2 * size
                other.work.going.set()
            await until(lambda: len(other.router.all(Stored)) == number)
            assert [each for each in other.work.done if isinstance(each, tuple)] == [(n, 7) for n in range(number)]

    run(test)


def test_a_slow_peer_behind_another_slows_the_publisher(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    size, number = 200_000, 100

    async def publish(one: Host, told: list[int]) -> None:
        for sequence in range(number):
            await one.feeding.hand_in(Published(document(sequence, b"<a>" + b"x" * size + b"</a>")))
            told.append(sequence)

    async def test() -> None:
        told: list[int] = []
        async with hosts(network, 3) as (one, middle, other):
            await linked(one, middle, other)
            one.router.decide = lambda event: (
                [Send(middle.peer, Publish(event.document))] if isinstance(event, Published) else []
            )
            middle.router.decide = lambda event: (
                [Send(other.peer, event.message)] if isinstance(event, Received) else []
            )
            other.router.decide = stores
            await one.feeding.hand_in(Published(document(number, b"<a/>")))
            await until(lambda: other.router.all(Stored))  # two links that were made at once are one by now
            other.work.going.clear()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(publish, one, told)
                await until(lambda: len(told) > 2)
                await trio.sleep(
                    0.3
                )  # not until all tasks are blocked: a muxer whose window is full looks again and again
                assert len(told) < number // 2
                assert len(middle.router.said()) * size < 4_000_000
                other.work.going.set()
            await until(lambda: len(other.router.all(Stored)) == number + 1)
            assert middle.router.all(LinkDown) == []

    monkeypatch.setattr(feeding, "TRANSIT", 1_000_000)
    monkeypatch.setattr(feed_storing, "STORING", 1_000_000)
    run(test)


def test_the_feed_log_is_read_for_whoever_asks(network: Network) -> None:
    def decide(event: Event) -> Iterable[Instruction]:
        if isinstance(event, Received) and isinstance(event.message, CatchUp):
            yield Fetch(1, event.message.since or 0, 3, event.message.route)
        elif isinstance(event, Fetched) and event.position < 3:
            yield Fetch(event.task + 1, event.position, 3, ("P",))

    async def test() -> None:
        async with hosts(network) as (one, other):
            await linked(one, other)
            other.router.decide = decide
            asks = [Send(other.peer, CatchUp("P", "feed", 1, 1, (one.peer,))), Send(other.peer, Withdraw("P"))]
            one.router.decide = lambda event: asks if event == Tick() else []
            await one.feeding.hand_in(Tick())
            await until(lambda: len(other.router.said()) == 2)
            assert other.work.done == [Fetch(1, 1, 3, (one.peer,)), Fetch(2, 2, 3, ("P",))]
            fetched = other.router.all(Fetched)
            assert [(each.task, each.position) for each in fetched] == [(1, 2), (2, 3)]
            assert other.router.heard[-1] == Received(one.peer, Withdraw("P")), "what it asks for comes first"
            other.work.fault = DisseminationError(Fault("HX9050", "no feed log"))
            await one.feeding.hand_in(Tick())
            await until(lambda: other.router.all(NotFetched))
            assert other.router.all(NotFetched) == [NotFetched(1)]

    run(test)


def test_it_is_woken_when_it_wants_to_be() -> None:
    ticks: list[float] = []

    def decide(event: Event) -> Iterable[Instruction]:
        if isinstance(event, Subscribed):
            began = trio.current_time()
            yield from (Wake(began + 4), Wake(began + 2), Note("waits", {"seconds": 2}))
        elif event == Tick():
            ticks.append(trio.current_time())
            yield Fetch(1, 0, 1, ("P",))

    async def test() -> None:
        async with hosts(Memory(), 1) as (broker,):
            broker.router.decide = decide
            began = trio.current_time()
            await broker.feeding.hand_in(Subscribed(1, "//a", ()))
            assert broker.work.notes == [("waits", {"seconds": 2})]
            for number in (1, 2):
                clock.jump(3)
                await until(lambda: len(ticks) == len(broker.router.all(Fetched)) == number)  # noqa: B023
            assert [round(tick - began) for tick in ticks] == [3, 6]

    clock = MockClock(rate=1)
    run(test, clock)


# -- many ------------------------------------------------------------------------------------------------------------


def test_two_that_have_much_to_tell_each_other_at_once_do_not_wait_for_each_other(network: Network) -> None:
    number = 2000

    def decide(event: Event) -> Iterable[Instruction]:
        if isinstance(event, LinkUp):
            yield Send(event.neighbour, Hello())
        elif isinstance(event, Received) and event.message == Hello():
            yield from (Send(event.neighbour, Subscribe(each, "x" * 1000)) for each in range(number))

    async def test() -> None:
        async with hosts(network, connected=False) as (one, other):
            one.router.decide = other.router.decide = decide
            await one.transport.dial(other.peer, other.transport.addresses)
            for host in (one, other):
                await until(lambda: len(host.router.said()) == number + 1)  # noqa: B023

    run(test)


def test_peers_in_a_ring_do_not_wait_for_each_other(network: Network) -> None:
    size, number = 100_000, 30

    def relay(to: str) -> Callable[[Event], Iterable[Instruction]]:
        """Publish to the next one in the ring, and hand on what comes from the one before."""

        def decide(event: Event) -> Iterable[Instruction]:
            if isinstance(event, Published):
                yield Send(to, Replay(event.document, 2, ("far", "near")))
            elif isinstance(event, Received) and event.message.request == 2:  # type: ignore[union-attr]
                yield Send(to, Replay(event.message.document, 1, ("far",)))  # type: ignore[union-attr]

        return decide

    async def publish(host: Host) -> None:
        for sequence in range(number):
            await host.feeding.hand_in(Published(document(sequence, b"<a>" + b"x" * size + b"</a>")))

    async def test() -> None:
        async with hosts(network, 3) as ring:
            await linked(*ring)
            for host, following in zip(ring, (*ring[1:], ring[0]), strict=True):
                host.router.decide = relay(following.peer)
            async with trio.open_nursery() as nursery:
                for host in ring:
                    nursery.start_soon(publish, host)
            for host in ring:
                await until(lambda: len(host.router.said()) == 2 * number)  # noqa: B023
                assert host.router.all(LinkDown) == []

    run(test)
