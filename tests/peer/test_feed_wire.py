"""What brokers say, on the wire: what is written is read again, and nothing that a stranger sends does any harm."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest
from hypothesis import given, strategies as st

from heptox.codec import pack
from heptox.errors import PeerError
from heptox.feed import (
    ANYTHING,
    MOST_HELD,
    MOST_HOPS,
    MOST_WANTED,
    TEXT_LIMIT,
    Announce,
    Budget,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Hello,
    Message,
    Publish,
    Replay,
    Subscribe,
    Unsubscribe,
    Withdraw,
    Wording,
)
from heptox.matching import MOST_PUBLISHED
from heptox.peer.wire import feed_wire
from heptox.peer.wire.feed_wire import PART, FeedDecoder, encode_feed
from heptox.routing import Advertisement, advertised, digest, to_bytes
from heptox.schema import parse_dtd
from tests.peer.test_messages import CONTROLS, code_of, codes

LIBRARY = advertised(parse_dtd("<!ELEMENT a (b?, a*)> <!ELEMENT b (#PCDATA)> <!ATTLIST b c CDATA #IMPLIED>", "a"))
LEAF = advertised(parse_dtd("<!ELEMENT leaf EMPTY>", "leaf"))
DOCUMENT = FeedDocument("P", "feed", 7, "a.xml", "id", b"<a/>")

identifiers = st.text("abcXYZ019-", min_size=1, max_size=12)
names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20)
numbers = st.integers(0, 2**53)
routes = st.lists(identifiers, min_size=1, max_size=5, unique=True).map(tuple)
advertisements = st.sampled_from([LIBRARY, LEAF])
digests, signatures = st.binary(max_size=32), st.binary(max_size=64)
ascending = st.sets(numbers, max_size=5).map(sorted).map(tuple)
texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=3).map(tuple)
documents = st.builds(
    FeedDocument, identifiers, identifiers, numbers, names, names, st.binary(max_size=100), digests, signatures
)


def announcement(advertisement: Advertisement | None, *, sent: bool, **fields: Any) -> Announce:
    """With the digest of an advertisement, and with the advertisement itself if it is ``sent``."""
    if fields["wording"] is not None:
        schema, since, mapping = fields["wording"]
        fields["wording"] = Wording(schema * 32, since, (mapping,) * len(fields["path"]))
    else:
        del fields["wording"]
    if advertisement is None:
        return Announce(**fields)
    return Announce(**fields, digest=digest(advertisement), advertisement=advertisement if sent else None)


messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Hello, st.builds(Budget, numbers, numbers, numbers)),
    st.builds(
        announcement,
        st.none() | advertisements,
        sent=st.booleans(),
        publisher=identifiers,
        feed=identifiers,
        version=numbers,
        position=numbers,
        path=routes,
        news=st.booleans(),
        signature=signatures,
        attestations=st.lists(signatures, max_size=3).map(tuple),
        wording=st.none() | st.tuples(st.sampled_from("0f"), numbers, st.sampled_from(["", f"source {'a' * 32}"])),
    ),
    st.builds(Withdraw, identifiers),
    st.builds(
        Subscribe,
        numbers,
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
        numbers,
        st.booleans(),
    ),
    st.builds(Unsubscribe, numbers),
    st.builds(Publish, documents),
    st.builds(CatchUp, identifiers, identifiers, st.none() | numbers, numbers, routes, texts, ascending),
    st.builds(Replay, documents, numbers, routes),
    st.builds(
        CaughtUp,
        *(identifiers, identifiers, numbers, numbers, st.booleans(), numbers, routes),
        *(ascending, digests, digests, signatures),
    ),
)


def received(*wire: bytes) -> list[Message]:
    decoder = FeedDecoder()
    return [message for data in wire if (message := decoder.take(data)) is not None]


def fields_of(message: Message) -> dict[str, Any]:
    """The fields of a message, or of the first one of a document."""
    fields: dict[str, Any] = cbor2.loads(next(encode_feed(message)))
    return fields


def take_changed(message: Message, **changes: Any) -> list[Message]:
    first, *parts = encode_feed(message)
    return received(cbor2.dumps({**cbor2.loads(first), **changes}), *parts)


@given(st.lists(messages, max_size=4), st.integers(1, 100))
def test_what_is_encoded_is_decoded_in_order(sent: list[Message], part: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed_wire, "PART", part)
        wire = [data for message in sent for data in encode_feed(message)]
        assert received(*wire) == sent


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, MOST_PUBLISHED])
def test_a_document_of_any_size_comes_in_parts(size: int) -> None:
    document = FeedDocument("P", "feed", 7, "a.xml", "id", b"x" * size)
    for message in (Publish(document), Replay(document, 3, ("A", "B"))):
        wire = list(encode_feed(message))
        assert len(wire) == 1 + -(-size // PART)
        assert max(map(len, wire)) < PART + 1000
        assert received(*wire) == [message]


def test_a_document_that_is_too_long_is_refused_before_its_bytes_come() -> None:
    with pytest.raises(PeerError, match="'size'") as error:
        received(cbor2.dumps({**fields_of(Publish(DOCUMENT)), "size": MOST_PUBLISHED + 1}))
    assert codes(error) == ["HX7002"]


FIRST, PART_OF_IT = encode_feed(Publish(DOCUMENT))


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        ([PART_OF_IT], "belongs to no document"),
        ([FIRST, PART_OF_IT, PART_OF_IT], "belongs to no document"),
        ([FIRST, FIRST], "before the rest"),
        ([FIRST, *encode_feed(Withdraw("P"))], "before the rest"),
        ([FIRST, pack("part", {"data": b"<a/>!"})], "more bytes"),
        ([FIRST, pack("part", {"data": b"<a"}), PART_OF_IT], "more bytes"),
        ([FIRST, pack("part", {"data": b""})], "holds nothing"),
        ([FIRST, pack("part", {"data": "<a/>"})], "'data'"),
        ([FIRST, pack("part", {"data": b"x" * (PART + 1)})], "'data'"),
    ],
)
def test_parts_that_do_not_belong_are_malformed(wire: list[bytes], reason: str) -> None:
    with pytest.raises(PeerError, match=reason) as error:
        received(*wire)
    assert codes(error) == ["HX7002"]


ANNOUNCE = Announce("P", "feed", 1, 0, ("A", "P"), digest(LEAF), LEAF)
WORDING: dict[str, Any] = {"schema": "0" * 32, "since": 0, "mappings": ["", ""]}
CATCH_UP = CatchUp("P", "feed", 1, 1, ("A",))
REPLAY = Replay(DOCUMENT, 1, ("A",))
CAUGHT_UP = CaughtUp("P", "feed", 1, 1, True, 0, ("A",))
MANY = [f"P{number}" for number in range(MOST_HOPS + 1)]


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        (Hello(), {"budget": 5}),
        (Hello(), {"budget": {"subscriptions": 1, "text": 1}}),
        (Hello(), {"budget": {"subscriptions": 1, "text": 1, "publishers": -1}}),
        (ANNOUNCE, {"wording": 5}),
        (ANNOUNCE, {"wording": {**WORDING, "schema": ""}}),
        (ANNOUNCE, {"wording": {**WORDING, "schema": "A" * 32}}),
        (ANNOUNCE, {"wording": {**WORDING, "since": -1}}),
        (ANNOUNCE, {"wording": {**WORDING, "mappings": ["middle " + "0" * 32]}}),
        (ANNOUNCE, {"wording": {**WORDING, "mappings": ["source"]}}),
        (ANNOUNCE, {"wording": {**WORDING, "mappings": [""] * (MOST_HOPS + 1)}}),
        (ANNOUNCE, {"wording": {**WORDING, "mappings": [1]}}),
        (ANNOUNCE, {"publisher": ""}),
        (ANNOUNCE, {"feed": 5}),
        (ANNOUNCE, {"number": -1}),
        (ANNOUNCE, {"position": 1.0}),
        (ANNOUNCE, {"path": []}),
        (ANNOUNCE, {"path": ["A", "A"]}),
        (ANNOUNCE, {"path": MANY}),
        (ANNOUNCE, {"path": [1]}),
        (ANNOUNCE, {"path": [""]}),
        (ANNOUNCE, {"path": ["A" * 201]}),
        (ANNOUNCE, {"digest": "abc", "advertisement": None}),
        (ANNOUNCE, {"digest": digest(LEAF).upper(), "advertisement": None}),
        (ANNOUNCE, {"digest": digest(LIBRARY)}),
        (ANNOUNCE, {"digest": ANYTHING}),
        (ANNOUNCE, {"advertisement": to_bytes(LIBRARY)}),
        (ANNOUNCE, {"advertisement": b"\xff"}),
        (ANNOUNCE, {"advertisement": "text"}),
        (ANNOUNCE, {"advertisement": b"[" * 100_000}),
        (ANNOUNCE, {"news": 1}),
        (Withdraw("P"), {"publisher": None}),
        (Subscribe(1, "//a"), {"number": "1"}),
        (Subscribe(1, "//a"), {"text": ""}),
        (Subscribe(1, "//a"), {"text": b"//a"}),
        (Subscribe(1, "//a"), {"hops": -1}),
        (Subscribe(1, "//a"), {"text": "x" * (TEXT_LIMIT + 1)}),
        (Unsubscribe(1), {"number": True}),
        (Publish(DOCUMENT), {"publisher": "P\n"}),
        (Publish(DOCUMENT), {"feed": ""}),
        (Publish(DOCUMENT), {"sequence": -1}),
        (Publish(DOCUMENT), {"name": ""}),
        (Publish(DOCUMENT), {"name": "x" * 1001}),
        (Publish(DOCUMENT), {"id": ""}),
        (Publish(DOCUMENT), {"id": "x" * 1001}),
        (Publish(DOCUMENT), {"size": None}),
        (CATCH_UP, {"since": -1}),
        (CATCH_UP, {"request": None}),
        (CATCH_UP, {"route": MANY}),
        (REPLAY, {"route": []}),
        (REPLAY, {"request": -1}),
        (REPLAY, {"name": "\0"}),
        (REPLAY, {"previous": b"x" * 33}),
        (REPLAY, {"signature": b"x" * 65}),
        (ANNOUNCE, {"signature": "x"}),
        (ANNOUNCE, {"attestations": ["x"]}),
        (ANNOUNCE, {"attestations": [b"x" * 65]}),
        (ANNOUNCE, {"attestations": [b""] * (MOST_HOPS + 1)}),
        (CATCH_UP, {"wants": [1]}),
        (CATCH_UP, {"wants": ["x" * MOST_WANTED, "y"]}),
        (CATCH_UP, {"has": [2, 1]}),
        (CATCH_UP, {"has": [True]}),
        (CATCH_UP, {"has": list(range(MOST_HELD + 1))}),
        (CAUGHT_UP, {"sent": [-1]}),
        (CAUGHT_UP, {"sent": [1, 1]}),
        (CAUGHT_UP, {"last": b"x" * 33}),
        (CAUGHT_UP, {"question": None}),
        (CAUGHT_UP, {"complete": None}),
        (CAUGHT_UP, {"position": "1"}),
        (CAUGHT_UP, {"missing": -1}),
        (CAUGHT_UP, {"route": ["A", "A"]}),
    ],
)
def test_a_field_of_the_wrong_type_or_size_is_malformed(message: Message, changes: dict[str, Any]) -> None:
    with pytest.raises(PeerError) as error:
        take_changed(message, **changes)
    assert codes(error) == ["HX7002"]


@pytest.mark.parametrize(
    "message", [Hello(), ANNOUNCE, Withdraw("P"), Subscribe(1, "//a"), Unsubscribe(1), REPLAY, CATCH_UP, CAUGHT_UP]
)
def test_a_missing_field_is_malformed(message: Message) -> None:
    assert take_changed(message) == [message]
    for name in fields_of(message).keys() - {"news", "complete", "merged", "version", "kind"}:
        fields = fields_of(message)
        del fields[name]
        with pytest.raises(PeerError) as error:
            received(cbor2.dumps(fields))
        assert codes(error) == ["HX7002"], name


@pytest.mark.parametrize("control", [*CONTROLS, "\n"])
@pytest.mark.parametrize(
    ("message", "name"),
    [(Withdraw("P"), "publisher"), (CATCH_UP, "feed"), (ANNOUNCE, "publisher"), (Publish(DOCUMENT), "feed")],
)
def test_what_would_move_a_terminal_is_no_identifier(message: Message, name: str, control: str) -> None:
    with pytest.raises(PeerError) as error:
        take_changed(message, **{name: f"a{control}b"})
    assert codes(error) == ["HX7002"]


@pytest.mark.parametrize("control", ["\x00", "\x1b[2J", "\r", "\n", "\x7f", "\x9b31m", "\u2028"])
def test_a_document_has_a_name_and_an_id_that_can_be_published(control: str) -> None:
    for name in ("name", "id"):
        with pytest.raises(PeerError) as error:
            take_changed(Publish(DOCUMENT), **{name: f"a{control}b"})
        assert codes(error) == ["HX7002"]


def test_what_no_neighbour_would_take_is_not_sent() -> None:
    for number in (0, 1):
        message = Subscribe(1, "x" * (TEXT_LIMIT + number))
        assert code_of(lambda: encode_feed(message)) == (None, "HX7004")[number]  # noqa: B023
    elements = [f"e{number}" for number in range(2001)]
    declared = "".join(f"<!ELEMENT {element} EMPTY>" for element in elements)
    many = advertised(parse_dtd(f"<!ELEMENT a ({'|'.join(elements)})> {declared}", "a"))
    with pytest.raises(PeerError, match="element types") as error:
        encode_feed(Announce("P", "feed", 1, 0, ("P",), "0" * 64, many))
    assert codes(error) == ["HX7004"]


def test_unknown_fields_are_ignored_and_unknown_kinds_and_versions_refused_by_name() -> None:
    assert take_changed(CATCH_UP, colour=["blue"]) == [CATCH_UP]
    for changes in ({"version": 7}, {"kind": "gossip"}):
        with pytest.raises(PeerError, match="is unknown") as error:
            take_changed(CATCH_UP, **changes)
        assert codes(error) == ["HX7003"]


@given(st.binary(max_size=200))
def test_garbage_gives_a_peer_error(data: bytes) -> None:
    with pytest.raises(PeerError):
        FeedDecoder().take(data)


@given(messages, st.data())
def test_a_damaged_message_is_read_or_refused(message: Message, data: st.DataObject) -> None:
    wire = [bytearray(each) for each in encode_feed(message)]
    for _ in range(data.draw(st.integers(1, 3))):
        damaged = data.draw(st.sampled_from(wire))
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    assert code_of(lambda: received(*map(bytes, wire))) in {None, "HX7002", "HX7003"}
