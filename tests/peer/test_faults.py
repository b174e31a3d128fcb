"""What goes wrong in a network, done to real daemons: each must go on answering, with its memory as it was before.

``Scene`` is one daemon beside an honest neighbour and a hostile one; :func:`attacked` does something to it, and sees
that nothing is left of that. ``Ring`` is a cycle of daemons, of which some are killed, frozen and ended.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import socket
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from typing import Any, Final

import pytest
import trio
from libp2p.stream_muxer.yamux import yamux

from heptox.demo import HOSPITAL, records
from heptox.errors import PeerError
from heptox.peer import (
    Client,
    ItemLine,
    PeerFolder,
    QuestionRequest,
    ReceiptLast,
    ReceiptModel,
    add_acquaintance,
    propose,
)
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.wire.address import Listening
from heptox.peer.wire.messages import Answers, Cancel, End, Error, Hop, Query, ReceiptLine, Status, encode
from heptox.peer.wire.stream import MessageStream
from tests.peer.daemons import (
    DEADLINE,
    HEPTOX,
    Daemon,
    acquaint,
    ask,
    begun,
    daemon,
    daemons,
    files_of,
    hospital_peer,
    log_of,
    memory_of,
    received,
    wait_until,
    work_of,
)
from tests.peer.hostile import (
    ITEM,
    Behaviour,
    Hostile,
    honest,
    hostile,
    identity,
    receipt,
    write_raw,
    yamux_frame,
)

QUERY: Final = "//Patient/Name"
MONTREAL_TO_BOSTON: Final = "montreal-boston.arrows"
ST_LUKE_TO_BOSTON: Final = "stluke-boston.arrows"
PATIENTS: Final = 20
BUDGET: Final = 8 * 1024 * 1024
ANSWERS_WAITING: Final = (256 + 128) * 1024 * 1024
"""Bytes that answers to a neighbour that takes none may hold: what the database may, and what is under way."""
MEMORY: Final = 1.5
"""How much of its memory before an attack a daemon may have after it; allocators keep some, once and for all."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class Scene:
    """A daemon with what it had before anything happened; its hostile neighbour is to listen at ``port``."""

    victim: Daemon
    friend: Daemon
    port: int
    schema: str
    memory: int = 0

    @property
    def process(self) -> int:
        return self.victim.process.pid

    async def ask(self, query: str = QUERY, **more: Any) -> tuple[list[ItemLine], ReceiptModel]:
        return await trio.to_thread.run_sync(lambda: ask(self.victim.folder, query, **more))


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    # The neighbour is in this process, and what other tests have left in its memory would slow it down.
    gc.collect()
    gc.freeze()
    folder = tmp_path_factory.mktemp("scene")
    port = free_port()
    victim, friend = (hospital_peer(folder / name, name, PATIENTS) for name in ("montreal", "boston"))
    settings = victim / "peer.toml"
    settings.write_text(settings.read_text().replace("budget = 67108864", f"budget = {BUDGET}"))
    with daemons(victim, friend) as (asked, other):
        acquaint(victim, other, MONTREAL_TO_BOSTON)
        acquaint(friend, asked, MONTREAL_TO_BOSTON)
        address = f"/ip4/127.0.0.1/tcp/{port}/p2p/{identity().peer_id}"
        add_acquaintance(victim, propose(address, HOSPITAL / MONTREAL_TO_BOSTON, name="mallory"))
        fresh = Scene(asked, other, port, schema_key(PeerFolder.open(victim).schema()))
        played(fresh, warmed_up)
        wait_until(lambda: files_of(fresh.process) < 30)
        files = files_of(fresh.process)
        yield replace(fresh, memory=memory_of(fresh.process))
        wait_until(lambda: files_of(fresh.process) <= files)  # connections of the control API end some seconds later
        assert asked.end(SIGTERM) == 0
        assert asked.process.communicate()[0] == ""
        assert not re.search("ERROR|Traceback", log_of(victim).read_text()), "no stranger finds a defect"


PLAY_SECONDS: Final = 240.0
"""Seconds after which a play has failed: far more than any needs, for what is large takes long on a busy machine."""


async def warmed_up(scene: Scene, neighbour: Hostile) -> None:
    """All that a daemon does in its life was done once: a large answer, and an answer that is too large."""
    peer = await neighbour.reach(scene.victim.address)
    for _ in range(2):
        await neighbour.ask(neighbour.query(peer, MANY, scene.schema))
        await scene.ask(MANY)
        neighbour.behaviour = flood
        await scene.ask()
        neighbour.behaviour = honest
        for _ in range(10):
            await scene.ask()


def played(scene: Scene, what: Callable[[Scene, Hostile], Awaitable[None]], behaviour: Behaviour = honest) -> None:
    """Let the hostile neighbour do something."""

    async def play() -> None:
        with trio.fail_after(PLAY_SECONDS):
            async with hostile(scene.port, behaviour) as neighbour:
                await what(scene, neighbour)

    trio.run(play)


def attacked(scene: Scene, what: Callable[[Scene, Hostile], Awaitable[None]], behaviour: Behaviour = honest) -> None:
    """Let the hostile neighbour do something, and see that the daemon is none the worse for it."""
    played(scene, what, behaviour)
    assert_unharmed(scene)


def assert_unharmed(scene: Scene) -> None:
    """The daemon answers and asks completely, over new connections too, and holds no more than it did."""
    played(scene, assert_answers)
    wait_until(lambda: has_memory_back(scene.victim, scene.memory))


def has_memory_back(asked: Daemon, before: int) -> bool:
    """Whether a daemon has as much memory as before, about; allocators give back lazily, and only while they work."""
    if memory_of(asked.process.pid) <= MEMORY * before:
        return True
    time.sleep(0.5)
    ask(asked.folder, QUERY, hops=0)
    return False


async def assert_answers(scene: Scene, neighbour: Hostile) -> None:
    peer = await neighbour.reach(scene.victim.address)
    *batches, end = await neighbour.ask(neighbour.query(peer, QUERY, scene.schema))
    assert isinstance(end, End)
    assert (end.receipt[0].status, end.receipt[0].items) == (Status.ANSWERED, PATIENTS)
    assert sum(len(batch.items) for batch in batches if isinstance(batch, Answers)) == PATIENTS
    parts, answer = await scene.ask()
    assert [(line.name, line.status, line.items) for line in answer.lines] == [
        ("montreal", "answered", PATIENTS),
        ("boston", "answered", PATIENTS),
        ("mallory", "answered", 1),
    ]
    assert answer.complete
    assert ITEM in {part.item for part in parts}


# -- a neighbour that is asked ---------------------------------------------------------------------------------------


def says(*messages: Callable[[Query], Any]) -> Behaviour:
    """Post messages, and then nothing more."""

    async def behaviour(stream: MessageStream, query: Query) -> None:
        for message in messages:
            stream.post(message(query))
        await trio.sleep_forever()

    return behaviour


def writes(data: bytes) -> Behaviour:
    """Write bytes, and then nothing more."""

    async def behaviour(stream: MessageStream, query: Query) -> None:  # noqa: ARG001
        await write_raw(stream, data)
        await trio.sleep_forever()

    return behaviour


async def leave(stream: MessageStream, query: Query) -> None:
    """Say nothing, and leave."""


async def leave_in_the_middle(stream: MessageStream, query: Query) -> None:
    """Say half of a message, and leave."""
    data = encode(Answers(query.query, query.path, (ITEM,)))
    length = (len(data) + 4).to_bytes(4, "big") + len(data).to_bytes(4, "big")
    await write_raw(stream, length + data[: len(data) // 2])


async def flood(stream: MessageStream, query: Query) -> None:
    """Bring new items until nobody wants more."""
    for number in count():
        if stream._closing or stream._closed.is_set():
            return
        items = tuple(f"<Name>{number} {index}</Name>" for index in range(500))
        stream.post(Answers(query.query, query.path, items))
        await stream.settle()


async def flood_with_nothing(stream: MessageStream, query: Query) -> None:
    """Bring batches without items, which cost no budget, until nobody wants more."""
    while not (stream._closing or stream._closed.is_set()):
        stream.post(Answers(query.query, query.path, ()))
        await stream.settle()


def elsewhere(query: Query) -> tuple[Hop, ...]:
    """A path that does not lead through who is asked."""
    return (query.path[0], Hop("somebody", "else"))


def behind(query: Query, number: int) -> tuple[Hop, ...]:
    """The path to a peer behind who is asked."""
    return (*query.path, Hop(f"peer {number}", "behind"))


def lines(*found: ReceiptLine) -> tuple[ReceiptLine, ...]:
    return found


def answered(path: tuple[Hop, ...], items: int = 0) -> ReceiptLine:
    return ReceiptLine(path, Status.ANSWERED, items)


def one(query: Query) -> Answers:
    return Answers(query.query, query.path, (ITEM,))


MISBEHAVIOUR: Final[dict[str, tuple[Behaviour, str, str]]] = {
    "says nothing": (says(), "timed out", ""),
    "leaves": (leave, "unreachable", ""),
    "leaves in the middle of a message": (leave_in_the_middle, "unreachable", ""),
    "sends garbage": (writes(b"\xff\x00" * 5000), "failed", "HX7004"),
    "sends a malformed message": (writes(b"\x00\x00\x00\x05\x00\x00\x00\x01\xff"), "failed", "HX7002"),
    "announces a frame of 4 GB": (writes(b"\xff\xff\xff\xff"), "failed", "HX7004"),
    "announces a message of 4 GB": (writes(b"\x00\x00\x00\x04\xff\xff\xff\xff"), "failed", "HX7004"),
    "sends a message byte by byte and never ends it": (
        writes(b"\x00\x00\x00\x05\x00\x10\x00\x00" + b"\xa1" + b"\x00\x00\x00\x01\xa1" * 2000),
        "timed out",
        "",
    ),
    "answers another query": (says(lambda query: Answers("other", query.path, (ITEM,))), "failed", "another query"),
    "brings items from elsewhere": (
        says(lambda query: Answers(query.query, elsewhere(query), (ITEM,))),
        "failed",
        "items come from where it was not asked",
    ),
    "brings items from too many peers": (
        says(
            *(
                (lambda query, number=number: Answers(query.query, behind(query, number), (str(number),)))
                for number in range(4001)
            )
        ),
        "failed",
        "too many origins",
    ),
    "brings what is no XML": (says(lambda query: Answers(query.query, query.path, ("\x00",))), "failed", "HX7002"),
    "asks back": (says(lambda query: query), "failed", "a message came that is not expected here"),
    "cancels": (says(lambda query: Cancel(query.query)), "failed", "a message came that is not expected here"),
    "says of an error that it is an answer": (
        says(lambda query: Error(query.query, Status.ANSWERED, "all is well")),
        "failed",
        "all is well",
    ),
    "signs nothing that it said": (
        says(one, lambda query: End(query.query, lines(replace(answered(query.path, 1), signature=bytes(64))))),
        "failed",
        "its signature does not fit what came",
    ),
    "ends another query": (says(one, lambda query: replace(receipt(query), query="other")), "failed", "another query"),
    "announces more than it brought": (says(one, lambda query: receipt(query, 7)), "failed", "7 items were announced"),
    "brought more than it announces": (says(one, lambda query: receipt(query, 0)), "failed", "0 items were announced"),
    "is not in its receipt": (says(one, lambda query: End(query.query, ())), "failed", "one line for each path"),
    "is in its receipt twice": (
        says(one, lambda query: End(query.query, lines(answered(query.path, 1), answered(query.path, 1)))),
        "failed",
        "one line for each path",
    ),
    "speaks of peers elsewhere": (
        says(one, lambda query: End(query.query, lines(answered(query.path, 1), answered(elsewhere(query), 5)))),
        "failed",
        "paths that are not behind it",
    ),
    "floods with batches without items": (flood_with_nothing, "timed out", ""),
}


@pytest.mark.parametrize("what", MISBEHAVIOUR)
def test_a_neighbour_that_answers_badly_is_told_and_nobody_else_suffers(scene: Scene, what: str) -> None:
    behaviour, status, reason = MISBEHAVIOUR[what]

    async def attack(scene: Scene, neighbour: Hostile) -> None:
        parts, answer = await heard(scene, (2.0, 20.0, 200.0) if status == "timed out" else (PLAY_SECONDS,))
        assert neighbour.asked
        assert not answer.complete
        found = {line.name: line for line in answer.lines}
        assert (found["mallory"].status, found["mallory"].complete) == (status, False)
        assert reason in found["mallory"].reason
        for name in ("montreal", "boston"):
            assert (found[name].status, found[name].items) == ("answered", PATIENTS)
            assert sum(part.origin.name == name for part in parts) == PATIENTS

    attacked(scene, attack, behaviour)


async def heard(scene: Scene, seconds: tuple[float, ...]) -> tuple[list[ItemLine], ReceiptModel]:
    """What comes of a query in so many seconds, or in more where a busy machine leaves honest peers too few."""
    for timeout in seconds:
        parts, answer = await scene.ask(timeout=timeout)
        if all(line.status == "answered" for line in answer.lines if line.name != "mallory"):
            break
    return parts, answer


def test_a_neighbour_that_brings_items_without_an_end_uses_up_the_budget(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:  # noqa: ARG001
        parts, answer = await scene.ask()
        (line,) = (line for line in answer.lines if line.name == "mallory")
        assert (line.status, line.reason) == ("failed", "the byte budget of the query is used up")
        assert sum(len(part.item.encode()) + 128 for part in parts) <= BUDGET
        assert not answer.complete

    attacked(scene, attack, flood)


def test_a_neighbour_that_resets_its_connection_is_unreachable(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        async def reset(stream: MessageStream, query: Query) -> None:
            assert query.query
            neighbour.reset_connections(stream.neighbour)

        neighbour.behaviour = reset
        for _ in range(3):
            _, answer = await scene.ask()
            assert [line.status for line in answer.lines] == ["answered", "answered", "unreachable"]

    attacked(scene, attack)


# -- a neighbour that asks -------------------------------------------------------------------------------------------


def patients(variables: int) -> str:
    """All combinations of so many patients."""
    return ", ".join(f"$v{number} in //Patient" for number in range(variables))


MANY: Final = f"for {patients(4)} return <r>{{$v0/Name}}{{$v1/Name}}{{$v2/Name}}{{$v3/Name}}</r>"
"""A query with a large answer: more than its budget."""
LONG: Final = f"for {patients(9)} where $v1/Name = $v8/Treat/Doc return $v0/Name"
"""A query that takes a very long time and has no answer."""


LIES: Final[dict[str, tuple[Callable[[Query], Query], str]]] = {
    "the path begins with somebody else": (
        lambda query: replace(query, path=(Hop("else", "where"), *query.path)),
        "does not lead from its asker",
    ),
    "the path goes around its sender": (
        lambda query: replace(query, asker="else", path=(Hop("else", "where"), query.path[1])),
        "does not lead from its asker",
    ),
    "the path ends with somebody else": (
        lambda query: replace(query, path=(query.path[0], Hop("else", "where"))),
        "does not lead from its asker",
    ),
    "the path has come through here before": (
        lambda query: replace(query, asker=query.path[1].peer, path=(query.path[1], query.path[0])),
        "does not lead from its asker",
    ),
    "the asker is somebody else": (lambda query: replace(query, asker="else"), "does not lead from its asker"),
    "it is in other words": (lambda query: replace(query, schema="other"), "the words of another schema"),
    "it is to travel too far": (lambda query: replace(query, hops=9), "over the limit"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_query_that_lies_is_refused_by_name(scene: Scene, lie: str) -> None:
    change, reason = LIES[lie]

    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        (refusal,) = await neighbour.ask(change(neighbour.query(peer, QUERY, scene.schema)), peer)
        assert isinstance(refusal, Error)
        assert refusal.status is Status.FAILED
        assert reason in refusal.reason

    attacked(scene, attack)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("body", [None, 5, "//Patient[", [], {}, ["for", [], []], deep(150), [["path"]] * 10_000])
def test_a_query_that_is_none_fails_by_name(scene: Scene, body: Any) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        (end,) = await neighbour.ask(neighbour.query(peer, QUERY, scene.schema, body=body))
        assert isinstance(end, End)
        (line,) = end.receipt
        assert (line.status, line.items) == (Status.FAILED, 0)
        assert line.reason
        assert "defect" not in line.reason

    attacked(scene, attack)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 100_000,
        b"\xff\xff\xff\xff",
        b"\x00\x00\x00\x04\xff\xff\xff\xff",
        b"\x00\x00\x00\x05\x00\x00\x00\x01\xff",
        b"\x00\x00\x00\x00",
    ],
)
def test_garbage_instead_of_a_query_costs_the_stream(scene: Scene, data: bytes) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        for _ in range(20):
            stream = await neighbour.transport.open(peer)
            assert isinstance(stream, MessageStream)
            with suppress(PeerError):  # it is reset while we still write
                await write_raw(stream, data)
            try:
                refusal = await stream.receive()
            except PeerError as error:  # the reset came before the refusal was read
                assert error.faults[0].code == "HX7011"
            else:
                assert isinstance(refusal, Error) and "HX700" in refusal.reason
                stream.abort()
        assert neighbour.transport.connected(peer), "the stream was the price, not the connection"

    attacked(scene, attack)


def test_streams_on_which_nothing_comes_are_dropped_and_others_are_answered_meanwhile(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        streams = [await neighbour.transport.open(peer) for _ in range(100)]
        for stream, data in zip(streams, (b"", b"\x00", b"\x00\x00\xff\x00abc", b"\x00\x00\x00\x05\x00"), strict=False):
            assert isinstance(stream, MessageStream)
            await write_raw(stream, data)
        await assert_answers(scene, neighbour)
        for stream in streams:
            with pytest.raises(PeerError, match="HX7011"):
                await stream.receive()
        assert neighbour.transport.connected(peer)

    attacked(scene, attack)


def test_a_flood_of_streams_takes_no_more_places_than_there_are(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        muxer = neighbour.muxer(peer)
        for number in range(20_001, 30_001, 2):
            with suppress(Exception):  # the connection may be closed: that is the price
                await muxer._write_whole(yamux_frame(yamux.TYPE_WINDOW_UPDATE, yamux.FLAG_SYN, number, 0))
        _, answer = await scene.ask()
        assert [line.status for line in answer.lines][:2] == ["answered", "answered"]

    attacked(scene, attack)


def test_queries_of_one_neighbour_in_flight_are_bounded_and_leave_enough_for_others(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        queries = (neighbour.query(peer, MANY, scene.schema, milliseconds=int(PLAY_SECONDS * 1000)) for _ in range(64))
        streams = [await neighbour.begin(query) for query in queries]
        for taken in streams[:8]:
            assert isinstance(await taken.receive(), Answers)
        refusal: Any = None
        while not isinstance(refusal, Error):  # the last may not have arrived yet, or the first have timed out already
            streams.append(await neighbour.begin(neighbour.query(peer, MANY, scene.schema)))
            refusal = (await neighbour.ask(neighbour.query(peer, QUERY, scene.schema, milliseconds=500)))[-1]
        assert refusal.reason == "montreal has too many queries in flight"
        assert memory_of(scene.process) < scene.memory + ANSWERS_WAITING, "what nobody takes does not pile up"
        _, answer = await scene.ask()
        assert answer.complete
        for text in (QUERY, MANY):  # the last uses up its budget, but not the memory
            _, answer = await scene.ask(text)
            assert answer.lines[0].reason in ("", "the byte budget of the query is used up")
        for stream in streams:
            stream.abort()

    attacked(scene, attack)


def test_a_query_id_that_is_repeated_is_refused_while_it_is_under_way_and_answered_again_after(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        query = neighbour.query(peer, MANY, scene.schema)
        stream = await neighbour.begin(query)
        await stream.receive()
        for _ in range(50):
            (refusal,) = await neighbour.ask(query)
            assert isinstance(refusal, Error)
            assert refusal.reason == "the query is under way along this path"
        stream.abort()
        short = neighbour.query(peer, QUERY, scene.schema)
        for _ in range(50):
            *batches, end = await neighbour.ask(short)
            assert isinstance(end, End)
            assert end.receipt[0].status is Status.ANSWERED
            assert sum(len(batch.items) for batch in batches if isinstance(batch, Answers)) == PATIENTS

    attacked(scene, attack)


def test_an_evaluation_ends_at_the_deadline_of_its_query(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        ends: list[Any] = []

        async def ask_long() -> None:
            ends.append((await neighbour.ask(neighbour.query(peer, LONG, scene.schema, milliseconds=500)))[-1])

        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(ask_long)
        assert [end.receipt[0].status for end in ends] == [Status.TIMED_OUT] * 8
        await trio.to_thread.run_sync(wait_until_idle, scene.process)

    attacked(scene, attack)


def wait_until_idle(*processes: int) -> None:
    """Wait until some processes have nothing to do."""

    def idle() -> bool:
        before = [work_of(process) for process in processes]
        time.sleep(0.5)
        return all(work_of(process) - begun < 0.1 for process, begun in zip(processes, before, strict=True))

    wait_until(idle)


def test_a_query_brings_no_more_bytes_than_its_budget(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        *batches, end = await neighbour.ask(neighbour.query(peer, MANY, scene.schema, budget=50_000))
        sizes = [len(item.encode()) + 128 for batch in batches if isinstance(batch, Answers) for item in batch.items]
        assert 0 < sum(sizes) <= 50_000
        assert isinstance(end, End)
        assert end.receipt[0].reason == "the byte budget of the query is used up"

    attacked(scene, attack)


# -- below the protocol ----------------------------------------------------------------------------------------------


def test_300_reconnects(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        for number in range(300):
            peer = await neighbour.reach(scene.victim.address)
            if number % 3 == 0:
                neighbour.reset_connections(peer)
            neighbour.nursery.start_soon(neighbour.transport.disconnect, peer)
            while neighbour.transport.connected(peer):
                await trio.sleep(0.001)

    attacked(scene, attack)


def endpoint(scene: Scene) -> tuple[str, int]:
    listening = Listening.parse(scene.victim.address.partition("/p2p/")[0])
    return listening.host, listening.port


@pytest.mark.parametrize("hosts", [1, 1000], ids=["one address", "many addresses"])
def test_1000_silent_connections(scene: Scene, hosts: int) -> None:
    silent = []
    try:
        for number in range(1000):
            host = number % hosts
            connection = socket.socket()
            silent.append(connection)
            connection.bind((f"127.1.{host // 250}.{host % 250 + 1}", 0))
            connection.setblocking(False)
            with suppress(BlockingIOError):
                connection.connect(endpoint(scene))
        _, answer = ask(scene.victim.folder, QUERY)  # over the connections that stood before
        assert [line.status for line in answer.lines][:2] == ["answered", "answered"]
        wait_until(lambda: files_of(scene.process) < 350)
        # The daemon itself ends those that say nothing: with all of them still there, newcomers find a place again.
        wait_until(lambda: can_connect(scene))
        assert_unharmed(scene)
    finally:
        for connection in silent:
            connection.close()


def can_connect(scene: Scene) -> bool:
    """Whether the hostile neighbour, behaving well, gets a connection."""
    reached: list[str] = []

    async def attack(scene: Scene, neighbour: Hostile) -> None:
        with suppress(PeerError):
            reached.append(await neighbour.reach(scene.victim.address))

    played(scene, attack)
    return bool(reached)


@pytest.mark.parametrize("rubbish", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 65_536, b"\x13/multistream/1.0.0\n\x00\x00"])
def test_rubbish_on_many_connections(scene: Scene, rubbish: bytes) -> None:
    for _ in range(200):
        with socket.create_connection(endpoint(scene)) as connection, suppress(OSError):
            connection.sendall(rubbish)
    wait_until(lambda: can_connect(scene))  # the places of all of them are given back
    assert_unharmed(scene)


FRAMES: Final[dict[str, bytes]] = {
    "a frame of 4 GB": yamux_frame(yamux.TYPE_DATA, 0, 1, 2**32 - 1),
    "a kind that is none": yamux_frame(77, 0, 1, 10),
    "data of streams that are not there": yamux_frame(yamux.TYPE_DATA, 0, 999, 10, bytes(10)) * 1000,
    "a window without bounds": yamux_frame(yamux.TYPE_WINDOW_UPDATE, 0, 1, 2**32 - 1) * 1000,
    "many pings": yamux_frame(yamux.TYPE_PING, yamux.FLAG_SYN, 0, 1) * 20_000,
    "an end": yamux_frame(yamux.TYPE_GO_AWAY, 0, 0, 1),
    "noise": bytes(range(256)) * 100,
}


@pytest.mark.parametrize("frames", FRAMES)
def test_frames_that_break_the_rules_of_the_multiplexer(scene: Scene, frames: str) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:
        peer = await neighbour.reach(scene.victim.address)
        await neighbour.begin(neighbour.query(peer, MANY, scene.schema))
        muxer = neighbour.muxer(peer)
        with trio.move_on_after(1), suppress(Exception):  # the connection may be closed: that is the price
            await muxer.secured_conn.write(FRAMES[frames])
        _, answer = await scene.ask()
        assert [line.status for line in answer.lines][:2] == ["answered", "answered"]

    attacked(scene, attack)


def test_strangers_may_ask_nothing_however_often(scene: Scene) -> None:
    async def attack(scene: Scene, neighbour: Hostile) -> None:  # noqa: ARG001
        for number in range(10):
            async with hostile(0, seed=bytes([number]) * 32) as stranger:
                peer = await stranger.reach(scene.victim.address)
                for _ in range(20):
                    (refusal,) = await stranger.ask(stranger.query(peer, QUERY, scene.schema))
                    assert isinstance(refusal, Error)
                    assert refusal.status is Status.DENIED

    attacked(scene, attack)


# -- documents, disks and folders ------------------------------------------------------------------------------------


def bomb() -> bytes:
    levels = "".join(f'<!ENTITY e{level} "{f"&e{level - 1};" * 10}">' for level in range(1, 10))
    return f'<!DOCTYPE MonGenHosp [<!ENTITY e0 "ha">{levels}]><MonGenHosp>&e9;</MonGenHosp>'.encode()


DOCUMENTS: Final[dict[str, tuple[bytes, str]]] = {
    "a file": (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "HX1004"),
    "the network": (b'<!DOCTYPE a [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]><a>&x;</a>', "HX1004"),
    "a parameter entity": (b'<!DOCTYPE a [<!ENTITY % x SYSTEM "file:///etc/passwd">%x;]><a/>', "HX1004"),
    "a billion laughs": (bomb(), "HX1006"),
    "elements without an end": (b"<a>" * 100_000, "HX1006"),
    "garbage": (b"\xff\xfe\x00" * 1000, "HX1002"),
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_a_document_that_is_not_safe_to_read_is_refused(scene: Scene, what: str) -> None:
    data, code = DOCUMENTS[what]
    with scene.victim.client() as client, pytest.raises(PeerError) as error:
        client.load("evil.xml", data)
    assert {fault.code for fault in error.value.faults} == {code}
    assert not (scene.victim.folder / "documents" / "evil.xml").exists()
    assert_unharmed(scene)


@contextmanager
def files_no_longer_than(process: int, size: int) -> Iterator[None]:
    """Let every write of a process fail that would make a file longer, as a full disk does in its middle."""
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more_of_a_document_refuses_it_by_name(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", PATIENTS)
    large = records("montreal", 3000, 9).encode()
    with daemon(folder) as running, running.client() as client:
        process = running.process.pid
        stored = (folder / "store.duckdb").stat().st_size
        # No room for the document; for the document but not for the store, at two different points.
        for size in (len(large) // 2, min(len(large) + 1000, stored // 2), stored // 4):
            with files_no_longer_than(process, size), pytest.raises(PeerError) as error:
                client.load("large.xml", large)
            assert {fault.code for fault in error.value.faults} <= {"HX7050", "HX6016"}
            assert [file.name for file in (folder / "documents").iterdir()] == ["records.xml"]
            parts, answer = ask(folder, QUERY)
            assert answer.complete
            assert len(parts) == PATIENTS
        assert client.load("large.xml", large).outcome == "new"
        after, _ = ask(folder, QUERY)
        assert len(after) > PATIENTS
        assert running.end(SIGTERM) == 0
    with daemon(folder):  # what was said to be on the disk is there
        again, answer = ask(folder, QUERY)
    assert {part.item for part in again} == {part.item for part in after}


FULL: Final = """
mount -t tmpfs -o size=12m tmpfs "$0/disk" && cp -r "$0/peer" "$0/disk/peer" && exec "$@"
"""


def test_a_disk_that_is_full_refuses_a_document_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    hospital_peer(tmp_path / "peer", "montreal", PATIENTS)
    here = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", FULL, str(tmp_path)]
    if subprocess.run([*here, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a file system of one's own may not be mounted here")
    with process_of_command([*here, *HEPTOX, "peer", "start", str(tmp_path / "disk" / "peer")]) as process:
        assert process.stdout
        assert process.stdout.readline()
        folder = Path(f"/proc/{process.pid}/root{tmp_path}/disk/peer")
        loaded, refused = [], None
        with Client.connect(folder) as client:
            for number in range(100):
                try:
                    client.load(f"d{number}.xml", records("montreal", 1000, number + 10).encode())
                except PeerError as error:
                    refused = error
                    break
                loaded.append(f"d{number}.xml")
            assert refused is not None
            assert {fault.code for fault in refused.faults} <= {"HX7050", "HX6016"}
            assert any(word in str(refused) for word in ("No space", "full"))
            held = {file.name for file in (folder / "documents").iterdir()}
            assert held == {"records.xml", *loaded}
            parts, answer = ask(folder, "//Patient/@ID")
            assert answer.complete
            assert len({part.item for part in parts}) == (1000 if loaded else PATIENTS)
            assert client.status().documents == len(held)
            fill(folder.parent / "filler")
            for name in (*loaded, "records.xml"):  # the smallest last
                assert client.remove(name) == name
                fill(folder.parent / f"filler of {name}")
            assert list((folder / "documents").iterdir()) == []
            assert ask(folder, "//Patient/@ID")[0] == []
            process.send_signal(SIGTERM)
            assert process.wait(DEADLINE) == 0


def fill(file: Path) -> None:
    """Leave no byte free on a disk."""
    with file.open("wb") as opened, suppress(OSError):
        while True:
            os.write(opened.fileno(), bytes(4096))


@contextmanager
def process_of_command(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_of_two_daemons_on_one_folder_one_serves(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", PATIENTS)
    both = [begun("peer", "start", folder) for _ in range(2)]
    try:
        wait_until(lambda: any(process.poll() is not None for process in both))
        (refused, serving) = sorted(both, key=lambda process: process.poll() is None)
        assert "HX7051 is in use" in refused.communicate()[1]
        assert refused.returncode == 1
        assert serving.stdout
        assert "/p2p/" in serving.stdout.readline()
        _, answer = ask(folder, QUERY)
        assert answer.complete
        assert answer.items == PATIENTS
    finally:
        for process in both:
            process.kill()
            process.communicate()


# -- neighbours that are lost ----------------------------------------------------------------------------------------

RING: Final = {"montreal": "montreal", "boston": "boston", "stluke": "stluke", "second": "boston"}
"""The peers of the ring, each an acquaintance of the next, the last of the first; and whose schema each has."""
PATHS: Final = {
    ("montreal",),
    ("montreal", "boston"),
    ("montreal", "boston", "stluke"),
    ("montreal", "boston", "stluke", "second"),
    ("montreal", "boston", "stluke", "mallory"),
    ("montreal", "second"),
    ("montreal", "second", "stluke"),
    ("montreal", "second", "stluke", "boston"),
    ("montreal", "second", "stluke", "mallory"),
}
"""The ways of a query of Montreal's; the hostile neighbour is known to St Luke only."""
TO_ST_LUKE: Final = (("montreal", "boston", "stluke"), ("montreal", "second", "stluke"))
INMATES: Final = 100
"""Patients of each peer of the ring."""
ASCENDING: Final = " and ".join(f"$v{number}/Name < $v{(number + 1) % 7}/Name" for number in range(7))
AFAR: Final = f"for {patients(7)} where {ASCENDING} return $v0/Name"
"""A query that takes a very long time at every peer of the ring and has no answer: the last is not before the first."""


@dataclass(slots=True)
class Ring:
    """Daemons in a cycle, and the memory that each had before anything happened."""

    folder: Path
    port: int
    stack: ExitStack
    running: dict[str, Daemon]
    memory: dict[str, int]

    def start(self, name: str) -> None:
        """Start a daemon again that has ended."""
        self.running[name] = self.stack.enter_context(daemon(self.folder / name))
        self.memory.pop(name, None)

    def process(self, name: str) -> int:
        return self.running[name].process.pid

    def ask(self, query: str = QUERY, **more: Any) -> tuple[list[ItemLine], ReceiptModel]:
        return ask(self.folder / "montreal", query, **more)

    def play(self, what: Callable[[Hostile], Awaitable[None]], behaviour: Behaviour) -> None:
        """Do something while the hostile neighbour behaves in some way; afterwards all is as before."""

        async def play() -> None:
            with trio.fail_after(DEADLINE):
                async with hostile(self.port, behaviour) as neighbour:
                    await what(neighbour)
                async with hostile(self.port):
                    await trio.to_thread.run_sync(self.assert_unharmed)

        trio.run(play)

    def assert_unharmed(self) -> None:
        wait_until(lambda: bool(self.ask()[1].complete))
        for name, before in self.memory.items():
            wait_until(lambda: has_memory_back(self.running[name], before))  # noqa: B023


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ring]:
    folder = tmp_path_factory.mktemp("ring")
    folders = [hospital_peer(folder / name, hospital, INMATES) for name, hospital in RING.items()]
    for path in folders:
        settings = path / "peer.toml"
        settings.write_text(settings.read_text().replace("keep_alive = 10.0", "keep_alive = 3.0"))
    with daemons(*folders) as (montreal, boston, st_luke, second), ExitStack() as stack:
        for middle in (boston, second):
            for one, other, arrows in (
                (montreal, middle, MONTREAL_TO_BOSTON),
                (st_luke, middle, ST_LUKE_TO_BOSTON),
            ):
                acquaint(one.folder, other, arrows)
                acquaint(other.folder, one, arrows)
        port = free_port()
        address = f"/ip4/127.0.0.1/tcp/{port}/p2p/{identity().peer_id}"
        add_acquaintance(st_luke.folder, propose(address, HOSPITAL / ST_LUKE_TO_BOSTON, name="mallory"))
        running = dict(zip(RING, (montreal, boston, st_luke, second), strict=True))
        made = Ring(folder, port, stack, running, {})

        async def warm_up(neighbour: Hostile) -> None:  # noqa: ARG001
            for _ in range(10):
                await trio.to_thread.run_sync(made.ask)
            await trio.to_thread.run_sync(partial(made.ask, AFAR, timeout=1.0))

        made.play(warm_up, honest)
        made.memory.update({name: memory_of(made.process(name)) for name in running})
        yield made


def test_a_cycle_of_acquaintances_ends_with_every_way_once(ring: Ring) -> None:
    async def ask_around(neighbour: Hostile) -> None:
        parts, answer = await trio.to_thread.run_sync(ring.ask)
        ways = [tuple(line.path) for line in answer.lines]
        assert set(ways) == PATHS
        assert len(ways) == len(PATHS)
        assert answer.complete
        assert {tuple(part.origin.path) for part in parts} == PATHS
        assert len(neighbour.asked) == 2

    ring.play(ask_around, honest)


def test_a_cancel_at_the_asker_stops_the_work_three_hops_away(ring: Ring) -> None:
    heard: list[Any] = []

    async def watch(stream: MessageStream, query: Query) -> None:
        assert len(query.path) == 4
        heard.append(await stream.receive())

    async def leave_early(neighbour: Hostile) -> None:
        asking = begun("query", "--peer", ring.folder / "montreal", "--timeout", "600", AFAR)
        processes = [ring.process(name) for name in RING]
        before = [work_of(process) for process in processes]
        try:
            while len(neighbour.asked) < 2:
                await trio.sleep(0.01)
            while not all(work_of(process) > start + 0.2 for process, start in zip(processes, before, strict=True)):
                await trio.sleep(0.01)
            assert not heard
        finally:
            asking.kill()
            asking.communicate()
        while len(heard) < 2:
            await trio.sleep(0.01)
        assert [type(message) for message in heard] == [Cancel, Cancel]
        await trio.to_thread.run_sync(partial(wait_until_idle, *processes))

    ring.play(leave_early, watch)


def test_a_peer_that_is_killed_before_while_or_after_it_answers_is_told(ring: Ring) -> None:
    async def kill_st_luke(neighbour: Hostile) -> None:
        answer = await told_of(ring, neighbour, lambda: ring.running["stluke"].end(SIGKILL))
        assert_st_luke_missing(answer, INMATES)
        _, answer = await trio.to_thread.run_sync(ring.ask)  # it had gone before it was asked
        assert_st_luke_missing(answer, 0)
        ring.start("stluke")
        neighbour.behaviour = honest
        await trio.to_thread.run_sync(wait_until, lambda: bool(ring.ask()[1].complete))
        parts, answer = await trio.to_thread.run_sync(ring.ask)
        ring.running["stluke"].end(SIGKILL)  # what it has answered stays an answer
        assert answer.complete
        assert {tuple(part.origin.path) for part in parts} == PATHS
        ring.start("stluke")

    ring.play(kill_st_luke, says(one))


def test_a_peer_that_leaves_while_it_answers_is_told(ring: Ring) -> None:
    async def end_st_luke(neighbour: Hostile) -> None:
        answer = await told_of(ring, neighbour, lambda: ring.running["stluke"].process.send_signal(SIGTERM))
        assert_st_luke_missing(answer, INMATES)
        assert ring.running["stluke"].process.wait(DEADLINE) == 0
        ring.start("stluke")

    ring.play(end_st_luke, says(one))


def test_a_frozen_peer_is_noticed_by_its_silence_and_told(ring: Ring) -> None:
    async def freeze_st_luke(neighbour: Hostile) -> None:
        process = ring.process("stluke")
        try:
            answer = await told_of(ring, neighbour, lambda: os.kill(process, SIGSTOP))
            assert_st_luke_missing(answer, INMATES)  # unreachable, not timed out
        finally:
            os.kill(process, SIGCONT)

    ring.play(freeze_st_luke, says(one))


async def told_of(ring: Ring, neighbour: Hostile, happens: Callable[[], object]) -> ReceiptModel:
    """The receipt of a query during which something happens, when St Luke has brought its own items."""
    parts: list[ItemLine | ReceiptLast] = []

    def collect() -> None:
        with ring.running["montreal"].client() as client:
            parts.extend(client.query(QuestionRequest(query=QUERY, timeout=600.0)))  # one by one, as they come

    def brought(way: tuple[str, ...]) -> int:
        return sum(part.origin.path == way for part in tuple(parts) if isinstance(part, ItemLine))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.to_thread.run_sync, collect)
        while len(neighbour.asked) < 2 or any(brought(way) < INMATES for way in TO_ST_LUKE):
            await trio.sleep(0.01)
        happens()
    return received(parts)


def assert_st_luke_missing(answer: ReceiptModel, items: int) -> None:
    found = {tuple(line.path): line for line in answer.lines}
    assert not answer.complete
    for whole in (("montreal",), ("montreal", "boston"), ("montreal", "second")):
        assert (found[whole].status, found[whole].items) == ("answered", INMATES)
    for way in TO_ST_LUKE:
        line = found[way]
        assert (line.status, line.complete, line.beyond) == ("unreachable", False, True)
        assert line.items == items
        assert line.reason
