"""``docs/protocol.md`` says what is so: its limits, its tables and its example are those of the code."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields
from typing import Any, Final, get_args

import cbor2
import pytest

from heptox import feed
from heptox.codec import DEPTH_LIMIT, MESSAGE_LIMIT, NAME_LIMIT, SHORT_DEPTH, SHORT_VALUES, VALUES_LIMIT
from heptox.demo import HOSPITAL
from heptox.errors import PeerError
from heptox.feed import MOST_HOPS, TEXT_LIMIT, FeedDocument
from heptox.feed.messages import MOST_SUPPORT
from heptox.feed.receiving import AUDITED_EVERY
from heptox.feed.route_table import STALE
from heptox.feed.table import EVERYTHING
from heptox.grammar import encode_query, parse_query, parse_subscription, syntax
from heptox.matching import MOST_PUBLISHED, MemoryMatcher
from heptox.matching.subscriptions import MOST_ID
from heptox.peer import Limits, PeerState, Status
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.acquaintance.offer_answers import OFFER_LIMIT
from heptox.peer.answering import TRANSLATIONS, Answering
from heptox.peer.feed.links import FIRST_PAUSE, LONGEST_PAUSE
from heptox.peer.feed.publishing import gate_of
from heptox.peer.query.forwarding import HOP_COST, HOP_SECONDS, HOP_SHARE
from heptox.peer.runner import SILENCE, Runner
from heptox.peer.wire.feed_wire import PART, VALUES_LIMIT as FEED_VALUES_LIMIT, FeedDecoder, encode_feed
from heptox.peer.wire.frames import FRAME_LIMIT, frames_of
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.libp2p import PROTOCOL, Libp2pTransport
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import (
    MAPPING_LIMIT,
    PROTOCOL as PROTOCOL_OF_MAPPINGS,
    MappingRequest,
    NoMapping,
    decode_mapping,
    decode_request,
    encode_mapping,
    encode_request,
)
from heptox.peer.wire.messages import ITEM_COST, ITEM_LIMIT, PATH_LIMIT, Acknowledge, Message, encode
from heptox.peer.wire.muxer import WINDOW
from heptox.peer.wire.offers import (
    PROTOCOL as PROTOCOL_OF_ACQUAINTANCE,
    Offer,
    Reply,
    Withdrawal,
    decode_call,
    decode_reply,
    encode_call,
    encode_reply,
)
from heptox.peer.wire.standing import Side, Standing
from heptox.peer.wire.stream import MessageStream
from heptox.peer.wire.transport import FEED, OLD_FEED, TransportLimits
from heptox.printable import is_printable
from heptox.routing import MOST_ADVERTISEMENT_BYTES, advertised, digest as digest_of, to_bytes
from heptox.routing.encoding import MOST_CONTENT_DEPTH, MOST_ELEMENT_TYPES
from heptox.schema import AttributeType, parse_dtd
from heptox.store import Store
from tests.peer.networks import run
from tests.support.framing import Decoder, frames
from tools.console import ROOT

PAGE: Final = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
WORDS: Final = " ".join(PAGE.split())
"""The page without its line ends."""
ANN, CLINIC = (bytes([number]) * 32 for number in (1, 2))
DOCUMENT: Final = '<list><patient id="p1">Élise</patient></list>'


def section(title: str, page: str = PAGE) -> str:
    """What stands under a heading, up to the next one of its level or above."""
    heads = list(re.finditer(r"^(#+) (.*)\n", page, re.MULTILINE))
    (head,) = (head for head in heads if head[2] == title)
    after = (other.start() for other in heads if other.start() > head.start() and len(other[1]) <= len(head[1]))
    return page[head.end() : next(after, len(page))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def rows(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without their heads."""
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for table in tables for line in table.splitlines()[2:]
    ]


def example(title: str = "An example") -> list[tuple[Any, bytes]]:
    """The messages of an example, as values and as bytes."""
    text = section(title)
    values = map(json.loads, blocks(text, "json"))
    return list(zip(values, map(bytes.fromhex, blocks(text, "text")), strict=True))


def test_the_bytes_of_the_example_are_its_messages() -> None:
    decoder, kinds = Decoder(), []
    for value, wire in example():
        (message,) = decoder.feed(wire)
        assert cbor2.loads(wire[8:]) == value
        assert b"".join(frames(message)) == wire
        assert list(cbor2.loads(encode(message))) == list(value), "heptox writes the fields in this order"
        kinds.append(value["kind"])
    assert kinds == ["query", "answers", "end", "acknowledge"]


def test_a_peer_answers_the_example_as_it_says() -> None:
    """The bytes of the page go to a peer over libp2p; what it answers is on the page, but for the milliseconds."""
    (question, sent), *expected, (last, acknowledged) = example()
    schema = parse_dtd(blocks(section("The key of a schema"), "xml")[0])
    answers: list[Any] = []

    async def test() -> None:
        with Store.open(None, schema) as store:
            store.load("one", DOCUMENT.encode())
            answering = Answering(TRANSLATIONS, store)
            state = PeerState(Identity(CLINIC).peer_id, "Clinic", schema=schema_key(schema))
            clinic = Libp2pTransport(CLINIC, "/ip4/127.0.0.1/tcp/0")
            ann = Libp2pTransport(ANN)
            runner = Runner(state, clinic, answering)
            runner.acquaint((), strangers=True)
            async with runner.serving(), ann.serving(_nobody):
                await ann.dial(clinic.peer, clinic.addresses)
                stream = await ann.open(clinic.peer)
                assert isinstance(stream, MessageStream)
                stream._queue(sent[8:])
                while not answers or answers[-1]["kind"] == "answers":
                    answers.append(plain(await stream.receive()))
                await stream.close()
            await answering.ended()

    run(test)
    for value in (answers[-1], expected[-1][0]):
        value["receipt"][0]["milliseconds"] = 0
    assert answers == [value for value, _ in expected]
    assert question["path"][-1]["peer"] == Identity(CLINIC).peer_id
    assert question["asker"] == question["path"][0]["peer"] == Identity(ANN).peer_id
    assert acknowledged == b"".join(frames(Acknowledge(last["query"])))
    assert "`" + DOCUMENT + "`" in WORDS


def plain(message: Message) -> Any:
    return cbor2.loads(encode(message))


async def _nobody(stream: object) -> None:
    raise AssertionError(f"nobody asks Ann: {stream}")


def test_the_key_of_a_schema_is_computed_as_the_page_says() -> None:
    text = section("The key of a schema")
    (dtd,), (written,) = blocks(text, "xml"), blocks(text, "json")
    key = hashlib.blake2b(written.rstrip("\n").encode(), digest_size=16).hexdigest()
    assert key == schema_key(parse_dtd(dtd))
    assert f"`{key}`" in text
    assert example()[0][0]["schema"] == key
    assert all(f"`{kind}`" in text for kind in AttributeType)


def test_characters_beyond_ascii_are_written_as_the_page_says() -> None:
    dtd = "<!ELEMENT é (#PCDATA)><!ATTLIST é a CDATA '\U0001f600'>"
    written = r'["\u00e9", [["\u00e9", true, [], [["a", "CDATA", "1", "\ud83d\ude00", [], false]]]]]'
    assert schema_key(parse_dtd(dtd)) == hashlib.blake2b(written.encode(), digest_size=16).hexdigest()


def test_the_body_of_the_page_is_the_same_as_text_and_as_lists() -> None:
    text, lists = map(json.loads, blocks(section("The body"), "json"))
    assert encode_query(parse_query(text)) == lists


def test_the_nodes_of_a_body_have_the_parts_that_the_page_names() -> None:
    known = {
        name: [field.name for field in fields(node) if field.name != "position"]
        for name, node in vars(syntax).items()
        if isinstance(node, type) and issubclass(node, syntax.Node) and node is not syntax.Node
    }
    assert {name.strip("`"): parts_of(parts) for name, parts in rows(section("The body"))} == known


def parts_of(text: str) -> list[str]:
    """The names of parts: ``left, right: what they are; name`` and so on, what is in brackets and notes aside."""
    parts = re.sub(r"\(.*?\)|\. .*", "", text).split(";")
    return [name.strip() for part in parts for name in part.partition(":")[0].split(",")]


@pytest.mark.parametrize("kind", [kind.__name__.lower() for kind in get_args(Message)])
def test_every_field_of_a_message_has_its_row_and_no_other(kind: str) -> None:
    """A query, say, has the fields that it is written with, in the page's table of its kind."""
    common = ["version", "kind", "query"]
    messages = section("Messages")
    assert [name.strip("`") for name, *_ in rows(messages.partition("A **path**")[0])] == common
    head = section(kind).partition("| `answered` |")[0]
    named = [name.strip("`") for name, *_ in rows(head) if name != "status" or kind == "end"]
    written = next((list(value) for value, _ in example() if value["kind"] == kind), None)
    if kind == "end":
        receipt = example()[2][0]["receipt"]
        assert named == [*receipt[0], "behind", "signature"]  # which are left out where there are none
        assert written == [*common, "receipt"]
    elif written is not None:
        assert [*common, *named] == written
    else:
        assert named == {"error": ["status", "reason"], "cancel": []}[kind]


def test_every_status_has_its_row() -> None:
    assert [name.strip("`") for name, *_ in rows("|" + section("end").partition("| status |")[2].partition("|")[2])][
        -len(Status) :
    ] == list(Status)
    complete = re.search(r"lacks nothing when it says `([^`]*)` or `([^`]*)`", WORDS)
    assert complete
    assert set(complete.groups()) == {status for status in Status if status.complete}


def test_the_limits_are_those_of_the_code() -> None:
    limits, transport = Limits(), TransportLimits()
    assert [int(most) for _, most in rows(section("Frames"))] == [
        FRAME_LIMIT,
        MESSAGE_LIMIT,
        ITEM_LIMIT,
        PATH_LIMIT,
        NAME_LIMIT,
        DEPTH_LIMIT,
        VALUES_LIMIT,
        2**53,
    ]
    for said in (
        f"`{PROTOCOL}`",
        f"nests at most {SHORT_DEPTH} deep, and has at most {SHORT_VALUES} values, one of feeds {FEED_VALUES_LIMIT}",
        f"a peer grants {WINDOW // 1024} KiB",
        f"for {transport.acknowledge:g} seconds at most",
        f"no byte for {transport.stall:g} seconds",
        f"after {transport.dial:g} seconds at most",
        f"no ping of yamux within {transport.keep_alive:g} seconds",
        f"no query within {SILENCE:g} seconds",
        f"over {transport.streams} streams of one peer",
        f"over {transport.inbound} streams of strangers that may ask at a time, or {transport.refusals} of those",
        f"a handshake (noise, then yamux) that takes over {transport.dial:g} seconds",
        f"over {transport.handshakes} connections in the handshake, or {transport.handshakes_per_address} from one",
        f"over {transport.connections} connections of strangers, or {transport.connections_per_address} from one",
        f"over {transport.connections_per_acquaintance} connections of one acquaintance",
        f"over {limits.queries} queries of one sender",
        f"and {ITEM_COST} more",
        f"{HOP_COST} less",
        f"and at least {HOP_SECONDS * 1000:g} less",
        f"| {limits.seconds * 1000:g}, or the receiver's setting `timeout`",
        f"number up to {PATH_LIMIT}",
    ):
        assert said in WORDS, said
    assert (HOP_SHARE, limits.items) == (0.1, 1_000_000)


def test_what_cannot_be_printed_is_what_the_page_lists() -> None:
    (listed,) = re.findall(r"What cannot be printed is (.*?)\. A \*number\*", WORDS)
    found: set[int] = set(range(0xD800, 0xE000))  # surrogates are no characters of a text
    for first, last in re.findall(r"U\+([0-9A-F]+)(?: to U\+([0-9A-F]+))?", listed):
        found |= set(range(int(first, 16), int(last or first, 16) + 1))
    assert found == {code for code in range(0x110000) if not is_printable(chr(code))}


def test_calls_have_the_fields_that_the_page_tells() -> None:
    files = MappingFiles.pack(HOSPITAL / "montreal-boston.arrows")
    offer = Offer("Ann", ("/ip4/127.0.0.1/tcp/1",), files, Side.SOURCE, "key", agreed=True, version=2)
    reply = Reply(Standing.AGREED, "", "key", 1)
    acquainted = section("Becoming acquainted")
    for title, encoded in (
        ("offer", encode_call(offer)),
        ("withdraw", encode_call(Withdrawal("no"))),
        ("reply", encode_reply(reply)),
    ):
        value = cbor2.loads(encoded)
        assert value["kind"] == title
        assert [f"`{name}`" for name in value] == [
            "`version`",
            "`kind`",
            *(row[0] for row in rows(section(title, acquainted))),
        ]
    assert decode_call(encode_call(offer)) == offer
    assert decode_reply(encode_reply(reply)) == reply
    assert str(OFFER_LIMIT) in section("offer")
    assert PROTOCOL_OF_ACQUAINTANCE in WORDS
    told = section("reply")
    assert all(f"`{standing}`" in told for standing in Standing)


def test_mappings_of_others_are_asked_for_as_the_page_tells() -> None:
    told = section("Mappings of others")
    files = MappingFiles.pack(HOSPITAL / "montreal-boston.arrows")
    request = MappingRequest(files.digest, "P", 3)
    for title, encoded in (
        ("mapping-request", encode_request(request)),
        ("mapping", encode_mapping(files)),
        ("no-mapping", encode_mapping(NoMapping("no"))),
    ):
        value = cbor2.loads(encoded)
        assert value["kind"] == title
        assert [f"`{name}`" for name in list(value)[2:]] == [row[0] for row in rows(section(title, told))]
    assert decode_request(encode_request(request)) == request
    assert decode_mapping(encode_mapping(files)) == files
    assert f"at most {MAPPING_LIMIT} bytes" in told and PROTOCOL_OF_MAPPINGS in told
    written = b"".join(b"%s\n%d\n%s" % (name.encode(), len(data), data) for name, data in sorted(files.files.items()))
    last = f"{files.mapping}\n0\n".encode()
    assert hashlib.blake2b(written + last, digest_size=16).hexdigest() == files.digest


@pytest.mark.parametrize(
    "wrong", [{"digest": "x"}, {"digest": "A" * 32}, {"hops": 33}, {"publisher": ""}, {"kind": "mapping"}]
)
def test_a_request_for_a_mapping_that_is_not_as_the_page_tells_is_refused(wrong: dict[str, Any]) -> None:
    value = cbor2.loads(encode_request(MappingRequest("0" * 32, "P", 3)))
    with pytest.raises(PeerError):
        decode_request(cbor2.dumps({**value, **wrong}))


@pytest.mark.parametrize(
    "wrong", [{"addresses": ["x"] * 9}, {"side": "middle"}, {"files": {}}, {"files": {"a/b": b""}}]
)
def test_an_offer_that_is_not_as_the_page_tells_is_refused(wrong: dict[str, Any]) -> None:
    files = MappingFiles.pack(HOSPITAL / "montreal-boston.arrows")
    value = cbor2.loads(encode_call(Offer("Ann", (), files, Side.SOURCE, "key")))
    with pytest.raises(PeerError):
        decode_call(cbor2.dumps({**value, **wrong}))


# -- feeds -----------------------------------------------------------------------------------------------------------

FEEDS: Final = section("Feeds")
FEED_WORDS: Final = " ".join(FEEDS.split())
ADVERTISED: Final = advertised(parse_dtd("<!ELEMENT a (b?, a*)> <!ELEMENT b (#PCDATA)>", "a"))
SAMPLE: Final = FeedDocument("P", "feed", 7, "a.xml", "id", b"<a/>")
WORDING: Final = feed.Wording("0" * 32, 7, ("source " + "1" * 32, ""))
SAMPLES: Final[tuple[feed.Message, ...]] = (
    feed.Hello(namespaces=True),
    feed.Announce("P", "feed", 1, 0, ("A", "P"), digest_of(ADVERTISED), ADVERTISED, wording=WORDING),
    feed.Withdraw("P"),
    feed.Subscribe(1, "//a", 2, merged=True),
    feed.Unsubscribe(1),
    feed.Publish(SAMPLE),
    feed.CatchUp("P", "feed", None, 1, ("A",)),
    feed.Replay(SAMPLE, 1, ("A",)),
    feed.CaughtUp("P", "feed", 1, 7, True, 0, ("A",)),
)


def said(*values: Any) -> list[feed.Message]:
    """What comes out of messages, as values, one behind the other."""
    decoder = FeedDecoder()
    found = [decoder.take(cbor2.dumps(value)) for value in values]
    return [message for message in found if message is not None]


WRITTEN: Final = [[cbor2.loads(data) for data in encode_feed(message)] for message in SAMPLES]
FEED_KINDS: Final = (
    "hello",
    "announce",
    "withdraw",
    "subscribe",
    "unsubscribe",
    "publish",
    "catch-up",
    "replay",
    "caught-up",
    "part",
)
FEED_FIELDS: Final = [
    (number, place, name)
    for number, values in enumerate(WRITTEN)
    for place, value in enumerate(values)
    for name in value
    if name not in ("version", "kind")
]


def row_of(kind: str, name: str) -> list[str]:
    (row,) = (row for row in rows(section(kind, FEEDS)) if row[0] == f"`{name}`")
    return row


def test_every_kind_of_a_feed_has_its_section_with_its_fields() -> None:
    assert len({type(message) for message in SAMPLES}) == len(get_args(feed.Message))
    told = {value["kind"]: value for values in WRITTEN for value in values}
    with pytest.raises(PeerError) as error:
        said({"version": 1, "kind": "other"})
    assert error.value.faults[0].hint == f"one of {', '.join(FEED_KINDS)}"
    assert sorted(told) == sorted(FEED_KINDS)
    for kind, value in told.items():
        inner = [name for field in ("budget", "wording") for name in value.get(field, ())]
        assert [row[0] for row in rows(section(kind, FEEDS))] == [f"`{name}`" for name in [*list(value)[2:], *inner]]


@pytest.mark.parametrize(("number", "place", "name"), FEED_FIELDS)
def test_a_field_of_a_feed_is_as_the_page_says(number: int, place: int, name: str) -> None:
    """It may be missing where its row tells a default, and nowhere else; it is of no other type."""
    values, kind = WRITTEN[number], WRITTEN[number][place]["kind"]
    _, told, _ = row_of(kind, name)

    def changed(value: Any) -> list[Any]:
        return [*values[:place], value, *values[place + 1 :]]

    missing = changed({key: value for key, value in values[place].items() if key != name})
    if name == "digest":  # the advertisement that is there is another one than none
        missing[0]["advertisement"] = None
    if "(" in told:
        assert len(said(*missing)) == 1
    else:
        with pytest.raises(PeerError):
            said(*missing)
    wrong: list[Any] = [1.5]
    if "null" not in told:
        wrong.append(None)
    if "number" in told:
        wrong += [-1, (int(told.rpartition(" ")[2]) if "up to" in told else 2**53) + 1]
    if "route" in told:
        wrong += [["A", "A"], [""], [1], [], [f"P{each}" for each in range(MOST_HOPS + 1)]]
    for value in wrong:
        with pytest.raises(PeerError):
            said(*changed({**values[place], name: value}))


def test_the_limits_of_feeds_are_those_of_the_code() -> None:
    for told in (
        f"`{FEED}`",
        f"A *route* is an array of 1 to {MOST_HOPS} identifiers",
        f"it has at most {MOST_ADVERTISEMENT_BYTES} bytes",
        f"the subscription, 1 to {TEXT_LIMIT} characters",
        f"from {MOST_SUPPORT} on nobody passes it on",
        f"1 to {MOST_ID} characters, none of U+0000 to U+001F",
        f"number up to {MOST_PUBLISHED}",
        f"1 to {PART} bytes",
        f"up to {MOST_ELEMENT_TYPES} element types",
        f"at most {MOST_CONTENT_DEPTH} deep",
        f"no byte for {TransportLimits().stall:g} seconds",
        f"for {FIRST_PAUSE:g} seconds then, twice as long each time up to {LONGEST_PAUSE:g} seconds",
        f"everything instead, `{EVERYTHING}`",
        f"after {AUDITED_EVERY} documents or five minutes",
        f"{feed.MOST_WANTED} characters at most, together",
        f"ascending, {feed.MOST_HELD} at most",
        f"no longer than {STALE:g} seconds one of a smaller `number`",
        f"`{OLD_FEED}`, in which nothing was signed, is refused",
    ):
        assert told in FEED_WORDS, told
    written = json.loads(to_bytes(ADVERTISED))
    names = [f"`{name}`" for name in ("elements", *written["elements"]["b"], "format", "root")]
    assert [row[0] for row in rows(section("An advertisement"))] == names
    assert f"`{written['format']}`" in FEED_WORDS


def shown(key: str, value: Any) -> Any:
    """A value as it is in the example: byte strings are texts, digests and signatures hexadecimal."""
    if isinstance(value, list):
        return [shown(key, each) for each in value]
    if not isinstance(value, bytes):
        return value
    return value.decode() if key in ("advertisement", "data") else value.hex()


def test_two_brokers_say_what_the_page_says() -> None:
    """Ann's and the peer's, which hear each other: what they say is on the page, byte for byte and in that order."""
    ann, clinic = (Identity(key).peer_id for key in (ANN, CLINIC))
    assert clinic < ann
    schema = parse_dtd(blocks(section("The key of a schema"), "xml")[0])
    messages = example("A link, byte by byte")
    (text,) = (value["text"] for value, _ in messages if value["kind"] == "subscribe")
    (opened,) = (value for value, _ in messages if value["kind"] == "publish")
    brokers = {peer: feed.Router(peer, MemoryMatcher()) for peer in (ann, clinic)}
    gates = {Identity(key).peer_id: gate_of(Identity(key)) for key in (ANN, CLINIC)}
    waiting: list[tuple[str, str, feed.Message]] = []

    def happens(peer: str, event: feed.Event) -> None:
        for each in brokers[peer].handle(event, 0.0):
            if isinstance(each, feed.Send):
                waiting.append((peer, each.neighbour, gates[peer].seal(each.message, each.neighbour)))
            elif isinstance(each, feed.Fetch):
                happens(peer, feed.Fetched(each.task, (), each.upto))

    happens(ann, feed.Subscribed(1, text, parse_subscription(text)))
    happens(clinic, feed.Publishes(opened["feed"], 0, 1, advertised(schema)))
    happens(clinic, feed.LinkUp(ann))
    happens(ann, feed.LinkUp(clinic))
    found: list[bytes] = []
    unsigned = FeedDocument(clinic, opened["feed"], 1, opened["name"], opened["id"], DOCUMENT.encode())
    for event in (None, feed.Published(gates[clinic].signed(unsigned))):
        if event is not None:
            happens(clinic, event)
        while waiting:
            sender, receiver, message = waiting.pop(0)
            found += [b"".join(frames_of(data)) for data in encode_feed(message)]
            happens(receiver, feed.Received(sender, gates[receiver].check(message, receiver)))
    assert found == [wire for _, wire in messages]
    for value, wire in messages:
        decoded = cbor2.loads(wire[8:])
        assert {key: shown(key, each) for key, each in decoded.items()} == value
        assert list(decoded) == list(value), "heptox writes the fields in this order"
