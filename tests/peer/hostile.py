"""A neighbour that means no good, in the process of the tests: a real transport under a key of its own, on which each
test says what it likes."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final

import trio
from libp2p.stream_muxer.yamux import yamux

from heptox.grammar import encode_query, parse_query
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.messages import Answers, End, Error, Hop, Message, Query, ReceiptLine, Status
from heptox.peer.wire.muxer import BoundedYamux
from heptox.peer.wire.stream import MessageStream
from heptox.peer.wire.transport import Stream

SEED: Final = b"mallory" + bytes(25)
NAME: Final = "mallory"
ITEM: Final = "<Name>Mallory</Name>"
_NUMBERS: Final = count(1)
"""Of queries: none has the name of one before, which may still be under way."""

Behaviour = Callable[[MessageStream, Query], Awaitable[None]]
"""What to do with a query that came on a stream."""


async def honest(stream: MessageStream, query: Query) -> None:
    """Answer as a good neighbour with one item does."""
    stream.post(Answers(query.query, query.path, (ITEM,)))
    stream.post(receipt(query))
    await stream.close()


def receipt(query: Query, items: int = 1) -> End:
    return End(query.query, (ReceiptLine(query.path, Status.ANSWERED, items),))


@dataclass(slots=True)
class Hostile:
    """The neighbour at work; ``behaviour`` may be set at any time, ``asked`` are the queries that came."""

    transport: Libp2pTransport
    nursery: trio.Nursery
    behaviour: Behaviour = honest
    asked: list[Query] = field(default_factory=list)

    @property
    def peer(self) -> str:
        return self.transport.peer

    async def take(self, stream: Stream) -> None:
        query = await stream.receive()
        assert isinstance(query, Query)
        assert isinstance(stream, MessageStream)
        self.asked.append(query)
        await self.behaviour(stream, query)

    # -- as the asker ------------------------------------------------------------------------------------------------

    async def reach(self, address: str) -> str:
        """Connect to a multiaddress; the peer id of whoever is there."""
        peer = address.rpartition("/")[2]
        await self.transport.dial(peer, (address,))
        return peer

    def query(self, asked: str, text: str, schema: str, **changes: Any) -> Query:
        """A query for a neighbour with a new id, as good as one can be but for ``changes``."""
        path = (Hop(self.peer, NAME), Hop(asked, "victim"))
        body = encode_query(parse_query(text))
        name = f"hostile-{next(_NUMBERS)}"
        return replace(Query(name, self.peer, body, path, 0, 30_000, 2**24, schema=schema), **changes)

    async def ask(self, query: Query, peer: str | None = None) -> list[Message]:
        """What comes as the answer to a query, the end or error last."""
        stream = await self.begin(query, peer)
        received = [await stream.receive()]
        while not isinstance(received[-1], End | Error):
            received.append(await stream.receive())
        await stream.close()
        return received

    async def begin(self, query: Query, peer: str | None = None) -> MessageStream:
        """The stream on which a query was put to a peer, the last of its path if not to another."""
        stream = await self.transport.open(peer or query.path[-1].peer)
        assert isinstance(stream, MessageStream)
        stream.post(query)
        return stream

    # -- below the protocol ------------------------------------------------------------------------------------------

    def muxer(self, peer: str) -> BoundedYamux:
        """The multiplexer of the last connection to a peer."""
        muxer = self.transport._connections(peer)[-1].muxed_conn
        assert isinstance(muxer, BoundedYamux)
        return muxer

    def reset_connections(self, peer: str) -> None:
        """Reset all connections to a peer, as a machine does that was switched off and on again."""
        for connection in self.transport._connections(peer):
            inner: Any = connection.muxed_conn.secured_conn  # type: ignore[attr-defined]
            while not isinstance(inner, trio.SocketStream):
                inner = _inner(inner)
            inner.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            inner.socket.close()


def _inner(wrapped: Any) -> Any:
    """What a connection is wrapped around."""
    names = ("conn", "read_writer", "read_write_closer", "stream")
    return next(getattr(wrapped, name) for name in names if hasattr(wrapped, name))


async def write_raw(stream: MessageStream, data: bytes) -> None:
    """Write bytes that are no message on a stream on which nothing else is being written."""
    await stream._bytes.write(data)


def yamux_frame(kind: int, flags: int, stream: int, length: int, data: bytes = b"") -> bytes:
    return struct.pack(yamux.YAMUX_HEADER_FORMAT, 0, kind, flags, stream, length) + data


def identity() -> Identity:
    """Who the hostile neighbour is."""
    return Identity(SEED)


@asynccontextmanager
async def hostile(port: int, behaviour: Behaviour = honest, seed: bytes = SEED) -> AsyncIterator[Hostile]:
    """The hostile neighbour, listening at a port while the block lasts; with another ``seed`` it is a stranger."""
    transport = Libp2pTransport(seed, f"/ip4/127.0.0.1/tcp/{port}")
    async with trio.open_nursery() as nursery:
        neighbour = Hostile(transport, nursery, behaviour)
        async with transport.serving(neighbour.take):
            yield neighbour
        nursery.cancel_scope.cancel()
