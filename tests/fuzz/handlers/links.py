"""The link of an acquaintance that publishes: it answers questions as it should, and publishes what it wants."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import trio

from heptox.errors import PeerError
from heptox.feed import Announce, CatchUp, CaughtUp, FeedDocument, Hello, Message, Publish, Subscribe
from heptox.peer.feed.publishing import gate_of
from heptox.peer.wire.feed_wire import FeedDecoder, encode_feed
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.transport import ByteMessages
from tests.hostile.test_offers import Stranger

FEED_NAME = "feed"
OUTBOX = 2**20
"""Bytes that wait to be written at most."""


@dataclass
class Link:
    """A link of the peer ``made``, whose key is ``seed``; ``confirmed`` once a question was answered on it,
    ``ended`` once nothing comes on it any more."""

    made: Stranger
    seed: bytes
    link: ByteMessages

    def __post_init__(self) -> None:
        self.gate = gate_of(Identity(self.seed))
        self.confirmed, self.ended = trio.Event(), trio.Event()
        self.position = 0

    async def begin(self) -> None:
        """Greet, announce a feed of anything, and want everything."""
        own = self.made.peer
        await self.say(
            Hello(), Announce(own, FEED_NAME, trio.current_time().__trunc__(), 0, (own,)), Subscribe(1, "/*")
        )

    async def answer(self) -> None:
        """Say where the feed is to whoever asks, until the link ends."""
        decoder = FeedDecoder()
        with suppress(PeerError):
            while True:
                message = decoder.take(await self.link.receive())
                if isinstance(message, CatchUp) and message.publisher == self.made.peer:
                    said = (message.publisher, message.feed, message.request, self.position, True, 0, message.route)
                    await self.say(CaughtUp(*said, (), b"", message.digest))
                    self.confirmed.set()
        self.ended.set()

    async def say(self, *messages: Message) -> None:
        for message in messages:
            for data in encode_feed(self.gate.seal(message, self.made.asked)):
                await self.say_bytes(data)

    async def say_bytes(self, data: bytes) -> None:
        self.link.post(data)
        await self.link.settle(OUTBOX)

    async def publish(self, data: bytes) -> None:
        """Publish the next document."""
        self.position += 1
        name = f"{self.position}"
        document = FeedDocument(self.made.peer, FEED_NAME, self.position, f"{name}.xml", name, data)
        await self.say(Publish(self.gate.signed(document)))
