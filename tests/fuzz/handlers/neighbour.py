"""What comes over libp2p: messages of every protocol that a peer speaks, changed, cut, out of order, half said; and
what is below them, down to the bytes of a connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

import trio
from libp2p.stream_muxer.yamux import yamux

from heptox.demo import HOSPITAL, records
from heptox.feed import (
    Announce,
    Budget,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Hello,
    Message as FeedMessage,
    Publish,
    Replay,
    Subscribe,
    Unsubscribe,
    Withdraw,
)
from heptox.feed.messages import Wording
from heptox.grammar import encode_query, parse_query
from heptox.peer.feed.publishing import gate_of
from heptox.peer.wire.address import Listening
from heptox.peer.wire.feed_wire import encode_feed
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.libp2p import PROTOCOL as QUERY_PROTOCOL, Libp2pTransport
from heptox.peer.wire.mapping_requests import PROTOCOL as MAPPING, MappingRequest, encode_mapping, encode_request
from heptox.peer.wire.messages import (
    Acknowledge,
    Answers,
    Cancel,
    End,
    Error,
    Hop,
    Message,
    Query,
    ReceiptLine,
    Status,
    encode,
)
from heptox.peer.wire.muxer import MuxedBytes
from heptox.peer.wire.offers import PROTOCOL as OFFER, Reply, Withdrawal, encode_call, encode_reply
from heptox.peer.wire.standing import Standing
from heptox.peer.wire.stream import MessageStream
from heptox.peer.wire.transport import FEED, OLD_FEED
from heptox.routing import advertised, digest
from heptox.schema import read_dtd
from tests.fuzz.handlers.links import Link
from tests.fuzz.handlers.mutation import damaged, framed, mutated_message, pieces_of
from tests.fuzz.handlers.offering import mutated_offer
from tests.fuzz.handlers.target import Target
from tests.hostile.test_offers import GOOD, MONTREAL, Stranger
from tests.peer.hostile import write_raw, yamux_frame

PROTOCOLS: Final = (
    QUERY_PROTOCOL, OFFER, MAPPING, FEED, OLD_FEED, "/ipfs/id/1.0.0", "/ipfs/ping/1.0.0", "/heptox/query/2",
)  # fmt: skip
QUERIES: Final = (
    "//Patient", "//*", "/*/*", 'for $p in //Patient where $p/Name = "x" return <a>{data($p/Name)}</a>', "collection()",
    "for $a in //Patient, $b in //Patient return <a>{$a}{$b}</a>", "//Patient[Name]", '//Patient[Name > "a"]/Name',
)  # fmt: skip
_ADVERTISED: Final = advertised(read_dtd(HOSPITAL / "mongenhosp.dtd"))
_TEXTS: Final = (
    "/*",
    "//Patient",
    '//Patient[Name = "x"]',
    "//*",
    "/a/b/c",
    "//*" * 40,
    "//a[b][c][d]",
    "/",
    "//a" * 20_000,
    "(" * 9000,
)
_FLAGS: Final = (0, yamux.FLAG_SYN, yamux.FLAG_ACK, yamux.FLAG_FIN, yamux.FLAG_RST, 15, 0xFFFF)


@dataclass
class Attacker:
    """Somebody who is connected to the target, with all that he says at random."""

    made: Stranger
    target: Target
    random: Random
    counts: Counter[str]
    seed: bytes
    polite: bool = False
    """Whether it has one link at a time, and breaks it seldom: who does has to wait for the next one."""

    def __post_init__(self) -> None:
        self.gate = gate_of(Identity(self.seed))
        self.own = self.made.peer
        self._publishing = trio.Lock()

    @property
    def peers(self) -> tuple[str, ...]:
        """Ids that one can speak of."""
        return (self.own, self.target.peer_id, Identity(bytes(32)).peer_id, Identity(bytes([1]) * 32).peer_id)

    # -- messages that could be ------------------------------------------------------------------------------------

    def query_messages(self) -> list[bytes]:
        path = (Hop(self.own, "attacker"), Hop(self.target.peer_id, "target"))
        name = f"query-{self.random.getrandbits(32)}"
        body = encode_query(parse_query(self.random.choice(QUERIES)))
        if self.random.random() < 0.3:
            body = self.random.choice(QUERIES)  # a text may be sent too
        query = Query(name, self.own, body, path, self.random.randrange(4), 3000, 2**20, schema=self.target.schema)
        lines = (ReceiptLine(path, self.random.choice(list(Status)), 1, ("lost",), "because", "text"),)
        others: tuple[Message, ...] = (
            Cancel(name),
            Acknowledge(name),
            Answers(name, path, ("<a/>",)),
            End(name, lines),
        )
        others = (*others, Error(name, Status.FAILED, "no"), query)
        return [encode(message) for message in (query, *self.random.sample(others, k=self.random.randrange(3)))]

    def offer_messages(self) -> list[bytes]:
        offer = self.made.offer(name=f"attacker {self.random.randrange(100)}")
        offer = replace(offer, agreed=self.random.random() < 0.5, version=self.random.randrange(3))
        reply = encode_reply(Reply(self.random.choice(list(Standing)), "because", MONTREAL, 1))
        if self.random.random() < 0.05:
            return [encode_call(Withdrawal("because"))]
        return [self.random.choice((encode_call(offer), mutated_offer(offer, self.random), reply))]

    def mapping_messages(self) -> list[bytes]:
        wanted = MappingRequest(GOOD.digest, self.random.choice(self.peers), self.random.randrange(32))
        return [self.random.choice((encode_request(wanted), encode_mapping(GOOD)))]

    def feed_messages(self) -> list[bytes]:
        """A greeting, and what may come behind it, signed as it should be."""
        said: list[FeedMessage] = [Hello(Budget(10_000, 2**20, 100, 2**26))]
        said += (self._feed_message() for _ in range(self.random.randrange(12)))
        if self.random.random() < 0.1:
            self.random.shuffle(said)
        return [data for message in said for data in encode_feed(self.gate.seal(message, self.target.peer_id))]

    def _feed_message(self) -> FeedMessage:
        random, number = self.random, self.random.choice((0, 1, 2, 3, 10**9))
        publisher, feed = random.choice((self.own, self.own, *self.peers)), random.choice(("feed", "other"))
        route = tuple(random.sample(self.peers, k=random.randrange(1, 4)))
        match random.randrange(10):
            case 0:
                return Subscribe(number, random.choice(_TEXTS), random.randrange(3), random.random() < 0.3)
            case 1:
                return Unsubscribe(number)
            case 2 | 3:
                return self._announcement(publisher, feed, number)
            case 4:
                return Withdraw(publisher)
            case 5:
                texts = tuple(random.choices(_TEXTS, k=random.randrange(4)))
                return CatchUp(publisher, feed, random.choice((None, 0, 1)), number, route, texts, (1, 5))
            case 6:
                return CaughtUp(publisher, feed, number, 3, random.random() < 0.5, 1, route, (1, 2), b"", bytes(32))
            case 7:
                return Replay(self._document(publisher, feed), number, route)
            case _:
                return Publish(self._document(publisher, feed))

    def _announcement(self, publisher: str, feed: str, number: int) -> Announce:
        known = self.random.random() < 0.5
        path = (self.own,) if publisher == self.own else (self.own, publisher)
        mappings = tuple(f"source {self.random.getrandbits(128):032x}" for _ in path)
        wording = Wording(MONTREAL, 0, mappings) if self.random.random() < 0.6 else Wording()
        advertisement, named = (_ADVERTISED, digest(_ADVERTISED)) if known else (None, "")
        news = self.random.random() < 0.3
        return Announce(publisher, feed, number, 0, path, named, advertisement, news, wording=wording)

    def _document(self, publisher: str, feed: str) -> FeedDocument:
        sequence = self.random.choice((1, 2, 3, 4, 10**9))
        document = FeedDocument(publisher, feed, sequence, f"{sequence}.xml", f"{sequence}", self._text())
        return self.gate.signed(document)

    def _text(self) -> bytes:
        """A document, or what is none."""
        text = self.random.choice((
            records("montreal", self.random.randrange(4), 1), "<Patient/>", "<a/>", "<a", "", "<a>" * 5000,
            "<r>" + "<a b='1'/>" * self.random.choice((10, 20_000)) + "</r>", '<!DOCTYPE a SYSTEM "/etc/passwd"><a/>',
        ))  # fmt: skip
        return text.encode()

    # -- conversations -----------------------------------------------------------------------------------------------

    def messages(self, protocol: str) -> list[bytes]:
        """Messages of a protocol, or now and then of another one, of which some are changed."""
        of_protocol: dict[str, Callable[[], list[bytes]]] = {
            QUERY_PROTOCOL: self.query_messages,
            OFFER: self.offer_messages,
            MAPPING: self.mapping_messages,
            FEED: self.feed_messages,
        }
        wanted = protocol if self.random.random() < 0.97 else self.random.choice(list(of_protocol))
        made = of_protocol.get(wanted, self.random.choice(list(of_protocol.values())))()
        chance = self.random.choice((0.0, 0.2, 1.0))
        made = [mutated_message(one, self.random) if self.random.random() < chance else one for one in made]
        if self.random.random() < 0.1:
            self.random.shuffle(made)
        self.counts[f"messages of {protocol}"] += len(made)
        return made

    async def converse(self) -> None:
        """One stream: negotiated, or not; some messages; and an end of some kind, or none."""
        protocol = self.random.choice(PROTOCOLS[:4]) if self.random.random() < 0.9 else self.random.choice(PROTOCOLS)
        if self.polite and protocol == FEED and self.random.random() < 0.95:
            await self.publish()
            return
        messages = self.messages(protocol)
        wire = b"".join(framed(one, self.random) for one in messages)
        content = await self._stream(protocol)
        await self._say(content, wire)

    async def _stream(self, protocol: str) -> MuxedBytes:
        if self.random.random() < 0.95:
            return await self.made.transport._opened(self.target.peer_id, protocol)
        stream: Any = await self.made.transport._connections(self.target.peer_id)[-1].new_stream()
        return MuxedBytes(self.target.peer_id, stream, self.made.transport._limits)

    async def _say(self, content: MuxedBytes, wire: bytes) -> None:
        try:
            for piece in pieces_of(wire, self.random):
                await content.write(piece)
                if self.random.random() < 0.05:
                    await trio.sleep(self.random.random())
            await self._finish(content)
        finally:
            with trio.CancelScope(shield=True), trio.move_on_after(1):
                await content.reset()

    async def _finish(self, content: MuxedBytes) -> None:
        match self.random.randrange(6):
            case 0:
                await content.close()
            case 1:
                pass  # a reset in the midst
            case 2:
                await trio.sleep(self.random.random() * 3)  # silence, with nothing read
            case 3:
                await content.read()
            case _:
                with trio.move_on_after(2):
                    while await content.read():
                        pass

    async def publish(self) -> None:
        """A link on which questions are answered, and documents published."""
        async with self._publishing, trio.open_nursery() as nursery:
            link = Link(self.made, self.seed, await self.made.transport.open_feed(self.target.peer_id))
            nursery.start_soon(link.answer)
            await link.begin()
            with trio.move_on_after(1):
                await link.confirmed.wait()
                self.counts["links confirmed"] += 1
            for _ in range(self.random.randrange(1, 8)):
                data = self._text()
                self.counts["documents published"] += 1
                await link.publish(damaged(data, self.random) if data and self.random.random() < 0.2 else data)
                if self.random.random() < 0.3:
                    await link.say(self._feed_message())
            await trio.sleep(self.random.random() * 2)
            nursery.cancel_scope.cancel()
            link.link.abort()

    async def many_streams(self) -> None:
        """Streams that are opened and left as they are."""
        for _ in range(self.random.choice((10, 200))):
            stream: Any = await self.made.transport._connections(self.target.peer_id)[-1].new_stream()
            self.counts["streams left open"] += 1
            if self.random.random() < 0.2:
                await stream.reset()

    async def frames_of_yamux(self) -> None:
        """Frames of the multiplexer that break its rules."""
        secured: Any = self.made.transport._connections(self.target.peer_id)[-1].muxed_conn.secured_conn  # type: ignore[attr-defined]
        for _ in range(self.random.choice((1, 5, 50))):
            data = self.random.randbytes(self.random.choice((0, 0, 1, 100, 5000)))
            length = self.random.choice((len(data), len(data), 0, 2**31, 2**32 - 1, len(data) + 1))
            stream = self.random.choice((0, 1, 2, 3, 4, 2**32 - 1, self.random.getrandbits(32)))
            frame = yamux_frame(self.random.choice((0, 0, 1, 2, 3, 4, 255)), self.random.choice(_FLAGS), stream, length)
            self.counts["frames of yamux"] += 1
            await secured.write(frame + data)

    # -- what the target asks ----------------------------------------------------------------------------------------

    async def answer_stream(self, stream: Any) -> None:
        """Answer a query of the target's owner with anything."""
        assert isinstance(stream, MessageStream)
        query = await stream.receive()
        assert isinstance(query, Query)
        lines = (ReceiptLine(query.path, Status.ANSWERED, self.random.choice((0, 1, 2, 10**9))),)
        deeper = (*query.path, Hop(self.random.choice(self.peers), "deeper"))
        items = tuple(self.random.choices(("<a/>", "<Name>x</Name>", "x" * 100_000, '"', ""), k=3))
        said: list[Message] = [
            Answers(query.query, query.path, items),
            Answers(query.query, deeper, items),
            End(query.query, lines),
        ]
        if self.random.random() < 0.3:
            self.random.shuffle(said)
        for message in said:
            data = encode(message)
            data = mutated_message(data, self.random) if self.random.random() < 0.3 else data
            self.counts["answers to the owner"] += 1
            await write_raw(stream, framed(data, self.random))
        await trio.sleep(self.random.random())

    async def answer_call(self, _: str, __: bytes) -> bytes:
        """Reply to an offer or a request of the target with anything."""
        self.counts["replies"] += 1
        standing = Standing.AGREED if self.random.random() < 0.9 else self.random.choice(list(Standing))
        reply = encode_reply(Reply(standing, "because", MONTREAL, 1))
        if self.random.random() < 0.5:
            return reply
        return mutated_message(self.random.choice((reply, encode_mapping(GOOD))), self.random)


Attack = Callable[[], Awaitable[None]]


@asynccontextmanager
async def attacker(
    target: Target, seed: bytes, random: Random, counts: Counter[str], polite: bool = False
) -> AsyncIterator[Attacker]:
    """Be connected to the target under a key."""
    transport = Libp2pTransport(seed, "/ip4/127.0.0.1/tcp/0")
    who = Attacker(Stranger(transport, target.peer_id), target, random, counts, seed, polite)
    calls = {OFFER: who.answer_call, MAPPING: who.answer_call}
    async with transport.serving(who.answer_stream, calls=calls):
        await transport.dial(target.peer_id, (target.address,))
        yield who


async def raw_connection(target: Target, random: Random, counts: Counter[str]) -> None:
    """Bytes on a connection that is not secured yet."""
    endpoint = Listening.parse(target.address.partition("/p2p/")[0])
    starts = (b"\x13/multistream/1.0.0\n", b"\x13/multistream/1.0.0\n\x07/noise\n", b"\x13/multistream/1.0.0\n\x03ls\n")
    data = random.choice((b"", *starts)) + random.choice((b"", b"\x00\x20" + bytes(32), b"\xff\xff", b"\0\0"))
    data += random.randbytes(random.choice((0, 1, 100, 70_000)))
    counts["raw connections"] += 1
    stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
    async with stream:
        for piece in pieces_of(data, random):
            await stream.send_all(piece)
        if random.random() < 0.5:
            with trio.move_on_after(random.random() * 3):
                await stream.receive_some()


async def attack_as(who: Attacker, number: int) -> None:
    """So many conversations, some at a time; what fails of them is their own matter."""
    limiter = trio.CapacityLimiter(24)
    async with trio.open_nursery() as nursery:
        for _ in range(number):
            kinds: list[Attack] = [who.many_streams, who.frames_of_yamux, *[who.converse] * 40]
            kinds += [who.publish] * (10 * who.polite)
            nursery.start_soon(_one, who, who.random.choice(kinds), limiter)


async def _one(who: Attacker, attack: Attack, limiter: trio.CapacityLimiter) -> None:
    async with limiter:
        with suppress(Exception), trio.move_on_after(8):
            if not who.made.transport.connected(who.target.peer_id):
                await who.made.transport.dial(who.target.peer_id, (who.target.address,))
                who.counts["connections made again"] += 1
            await attack()
