"""Connections and streams without end, to a real daemon: an acquaintance, a stranger and the owner are served all the
while."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import pytest
import trio
from libp2p.io.exceptions import ConnectionClosedError
from libp2p.peer.id import ID
from libp2p.stream_muxer.yamux import yamux
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from heptox.demo import HOSPITAL
from heptox.peer import PeerFolder, Standing, add_acquaintance, propose
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.wire.address import Listening
from heptox.peer.wire.libp2p import PROTOCOL as QUERY, Libp2pTransport
from heptox.peer.wire.messages import End, Status
from heptox.peer.wire.offers import PROTOCOL as OFFER
from heptox.peer.wire.transport import TransportLimits
from tests.hostile.test_offers import Stranger, boston_peer, run, served, stranger
from tests.peer.daemons import Daemon, daemon, files_of, log_of, wait_until
from tests.peer.hostile import hostile, identity, yamux_frame

HOSTS: Final = tuple(f"127.0.0.{number}" for number in range(1, 10))
EACH: Final = 32
LIMITS: Final = TransportLimits()
NOISE: Final = b"\x13/multistream/1.0.0\n\x07/noise\n" + bytes(1000)


@dataclass(frozen=True, slots=True)
class Target:
    """A daemon that knows one acquaintance, which dials it; ``files`` are what it has open when nobody attacks."""

    daemon: Daemon
    schema: str
    files: int

    @property
    def endpoint(self) -> Listening:
        return Listening.parse(self.daemon.address.partition("/p2p/")[0])


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = boston_peer(tmp_path_factory.mktemp("places") / "boston", offers=1000)
    nowhere = f"/ip4/127.0.0.1/tcp/1/p2p/{identity().peer_id}"
    add_acquaintance(folder, propose(nowhere, HOSPITAL / "montreal-boston.arrows", name="known"))
    with daemon(folder) as running:
        served(running)
        reached = Target(running, schema_key(PeerFolder.open(folder).schema()), files_of(running.process.pid))
        run(lambda: newcomers_are_served(reached))
        yield reached
        assert running.process.poll() is None
        assert "Traceback" not in log_of(folder).read_text()


@pytest.fixture(autouse=True)
def _gives_places_back(target: Target) -> Iterator[None]:
    yield
    wait_until(lambda: files_of(target.daemon.process.pid) <= target.files + 10)


async def newcomers_are_served(target: Target) -> None:
    """The acquaintance connects and asks, a stranger connects and makes an offer, and the owner asks."""
    async with hostile(0) as known:
        peer = await known.reach(target.daemon.address)
        *_, end = await known.ask(known.query(peer, "//Patient", target.schema))
        assert isinstance(end, End)
        assert end.receipt[0].status is Status.ANSWERED
    async with stranger(target.daemon) as made:
        assert (await made.make(made.offer())).standing is Standing.PROPOSED
    await trio.to_thread.run_sync(served, target.daemon)


def attacked(target: Target, attack: Callable[[trio.Nursery], Awaitable[None]]) -> None:
    """Newcomers are served while what an attack has begun goes on."""

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            await attack(nursery)
            await newcomers_are_served(target)
            nursery.cancel_scope.cancel()

    run(test)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await trio.sleep(0.01)


# -- connections ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", NOISE], ids=["silent", "a byte a second"])
def test_connections_that_do_not_come_to_say_who_they_are_keep_nobody_out(target: Target, said: bytes) -> None:
    made: list[str] = []

    async def attack(nursery: trio.Nursery) -> None:
        for host in HOSTS * EACH:
            nursery.start_soon(insist, target, host, said, made)
        await until(lambda: len(made) >= len(HOSTS) * EACH)

    attacked(target, attack)


async def insist(target: Target, host: str, said: bytes, made: list[str]) -> None:
    """Be connected from an address, and again whenever that was ended; say a byte a second of something."""
    while True:
        try:
            with trio.socket.socket() as connection:
                await connection.bind((host, 0))
                await connection.connect((target.endpoint.host, target.endpoint.port))
                made.append(host)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(drip, connection, said)
                    while await connection.recv(1000):
                        pass
                    nursery.cancel_scope.cancel()
        except* OSError:
            pass
        await trio.sleep(1)


async def drip(connection: trio.socket.SocketType, said: bytes) -> None:
    for byte in said:
        await connection.send(bytes([byte]))
        await trio.sleep(1)


def test_strangers_that_hold_all_places_keep_nobody_out(target: Target) -> None:
    hosts, made = HOSTS[:4], list[Any]()

    async def attack(nursery: trio.Nursery) -> None:
        at_once = trio.CapacityLimiter(8)
        for _ in range(LIMITS.connections // len(hosts) + 10):
            nursery.start_soon(strange, target, hosts, at_once, made)
        await until(lambda: len(made) > LIMITS.connections)
        assert LIMITS.connections / 2 < held()
        for connection in made:  # and all places of streams
            if not connection.is_closed:
                with suppress(Exception):  # it had to make room
                    await connection.new_stream()

    def held() -> int:
        return sum(not connection.is_closed for connection in made)

    attacked(target, attack)


async def strange(target: Target, hosts: tuple[str, ...], at_once: trio.CapacityLimiter, made: list[Any]) -> None:
    """Be connected as one stranger from all of some addresses."""
    address, peer = Multiaddr(str(target.endpoint)), ID.from_base58(target.daemon.peer_id)
    transport = Libp2pTransport(secrets.token_bytes(32))
    async with transport.serving(hang_up):
        for host in hosts:
            async with at_once:
                connection = await transport._swarm.dial_addr(address, peer, (host, 0))
            made.append(connection)
        await trio.sleep_forever()


async def hang_up(_: Any) -> None:
    pass


# -- streams ----------------------------------------------------------------------------------------------------------


async def half_open(made: Stranger) -> None:
    await made.transport._connections(made.asked)[-1].new_stream()


async def silent_call(made: Stranger) -> None:
    await made.transport._opened(made.asked, OFFER)


async def silent_query(made: Stranger) -> None:
    await made.transport._opened(made.asked, QUERY)


@pytest.mark.parametrize("begin", [half_open, silent_call, silent_query])
def test_streams_of_one_stranger_keep_nobody_out(target: Target, begin: Callable[[Stranger], Awaitable[None]]) -> None:
    begun: list[bool] = []

    async def go_on(made: Stranger) -> None:
        while True:
            with trio.move_on_after(1):  # libp2p lets so many streams wait to be taken
                with suppress(Exception):  # it had to make room
                    await begin(made)
                begun.append(True)
            await trio.sleep(0.01)

    async def attack(nursery: trio.Nursery) -> None:
        made = await nursery.start(stay, target)
        for _ in range(4):
            nursery.start_soon(go_on, made)
        await until(lambda: len(begun) > 2 * LIMITS.refusals)

    attacked(target, attack)


async def stay(target: Target, task_status: trio.TaskStatus[Stranger]) -> None:
    async with stranger(target.daemon) as made:
        task_status.started(made)
        await trio.sleep_forever()


def test_who_opens_streams_and_reads_nothing_loses_its_connection(target: Target) -> None:
    async def test() -> None:
        async with stranger(target.daemon) as made:
            (connection,) = made.transport._connections(made.asked)
            secured: Any = connection.muxed_conn.secured_conn  # type: ignore[attr-defined]
            secured.read = never
            with pytest.raises(ConnectionClosedError):
                for number in range(1001, 400_000, 200):
                    opening = (
                        yamux_frame(yamux.TYPE_WINDOW_UPDATE, yamux.FLAG_SYN, stream, 0)
                        for stream in range(number, number + 200, 2)
                    )
                    await secured.write(b"".join(opening))
        await newcomers_are_served(target)

    run(test)


async def never(_: int) -> bytes:
    await trio.sleep_forever()
    raise AssertionError
