"""The transports under test, made alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import trio
from trio.abc import Clock

from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.messages import Answers, End, Hop, Message, Query, ReceiptLine, Status
from heptox.peer.wire.muxer import close_socket
from heptox.peer.wire.transport import (
    Calls,
    FeedHandler,
    LossHandler,
    Stream,
    StreamHandler,
    Transport,
    TransportLimits,
)
from tests.support.memory_transport import MemoryNetwork

DEADLINE = 300.0
"""Seconds after which a test has failed: far more than any of them needs."""

PATH = (Hop("A", "a"), Hop("B", "b"))
QUERY = Query("q", "A", ["body"], PATH, 1, 1000, 1000)
END = End("q", (ReceiptLine(PATH, Status.ANSWERED),))


def answers(item: str) -> Answers:
    return Answers("q", PATH, (item,))


def run(test: Callable[[], Awaitable[None]], clock: Clock | None = None) -> None:
    """Run an asynchronous test, which must come to its end."""

    async def limited() -> None:
        with trio.fail_after(DEADLINE):
            await test()

    trio.run(limited, clock=clock)


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition; the deadline of the test is its deadline."""
    while not condition():
        await trio.sleep(0.002)


async def everything(stream: Stream) -> list[Message]:
    """What comes on a stream up to its end."""
    received = [await stream.receive()]
    while not isinstance(received[-1], End):
        received.append(await stream.receive())
    return received


class Network(ABC):
    """A way to make transports that can reach each other."""

    @abstractmethod
    def transport(self, limits: TransportLimits | None = None) -> Any: ...

    @abstractmethod
    async def kill(self, transport: Transport) -> None:
        """End a peer as ``kill -9`` does: its sockets are closed, it says nothing more."""

    @asynccontextmanager
    async def peer(
        self,
        on_stream: StreamHandler | None = None,
        on_loss: LossHandler | None = None,
        limits: TransportLimits | None = None,
        calls: Calls | None = None,
        on_feed: FeedHandler | None = None,
    ) -> AsyncIterator[Transport]:
        transport: Transport = self.transport(limits)
        async with transport.serving(on_stream or _nothing, on_loss, calls=calls, on_feed=on_feed):
            yield transport

    @asynccontextmanager
    async def pair(
        self,
        on_stream: StreamHandler | None = None,
        on_loss: LossHandler | None = None,
        limits: TransportLimits | None = None,
    ) -> AsyncIterator[tuple[Transport, Transport]]:
        """An asker, whose losses are told, and a peer that is asked, with a connection between them."""
        async with (
            self.peer(on_stream, limits=limits) as asked,
            self.peer(on_loss=on_loss, limits=limits) as asker,
        ):
            await asker.dial(asked.peer, asked.addresses)
            yield asker, asked


async def _nothing(stream: Stream) -> None:
    """Take a stream and leave it."""


class Memory(Network):
    def __init__(self) -> None:
        self.network = MemoryNetwork()
        self.names = (f"peer-{number}" for number in count(1))

    def transport(self, limits: TransportLimits | None = None) -> Any:
        return self.network.transport(next(self.names), limits)

    async def kill(self, transport: Transport) -> None:
        self.network.kill(transport.peer)


class Libp2p(Network):
    def __init__(self) -> None:
        self.seeds = (bytes([number]) * 32 for number in count(1))

    def transport(self, limits: TransportLimits | None = None) -> Any:
        return Libp2pTransport(next(self.seeds), "/ip4/127.0.0.1/tcp/0", limits=limits)

    async def kill(self, transport: Transport) -> None:
        assert isinstance(transport, Libp2pTransport)
        swarm = transport._swarm
        for listener in swarm.listeners.values():
            await listener.close()
        for connection in swarm.get_connections():
            await close_socket(connection.muxed_conn)
