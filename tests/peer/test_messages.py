"""Messages between peers: what is written is read again, and nothing that a stranger sends does any harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cbor2
import pytest
from hypothesis import given, strategies as st

from heptox.codec import MESSAGE_LIMIT, VALUES_LIMIT
from heptox.errors import PeerError
from heptox.peer import Acknowledge, Answers, Cancel, End, Error, Hop, HopPath, Message, Query, ReceiptLine, Status
from heptox.peer.wire.frames import FRAME_LIMIT, frames_of
from heptox.peer.wire.messages import body_key, decode, encode, is_item, is_written_item
from heptox.printable import is_printable, printable
from tests.support.framing import Decoder, frames

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
sentences = texts.map(printable)
lines_of_text = texts.map(lambda text: printable(text, lines=True))
items = st.text(st.characters(exclude_categories=["Cs"]).filter(is_item), max_size=20).filter(is_written_item)
identifiers = st.text("abcXYZ019-", min_size=1, max_size=12)
numbers = st.integers(0, 2**53)
hops = st.builds(Hop, identifiers, sentences)
paths: st.SearchStrategy[HopPath] = st.lists(hops, min_size=1, max_size=5, unique_by=lambda hop: hop.peer).map(tuple)
lines = st.builds(
    ReceiptLine,
    paths,
    st.sampled_from(Status),
    numbers,
    st.lists(sentences, max_size=3).map(tuple),
    sentences,
    lines_of_text,
    numbers,
    st.booleans(),
)
bodies = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | texts | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Query, identifiers, identifiers, bodies, paths, st.integers(0, 32), numbers, numbers, st.booleans()),
    st.builds(Answers, identifiers, paths, st.lists(items, max_size=5).map(tuple)),
    st.builds(End, identifiers, st.lists(lines, max_size=4).map(tuple)),
    st.builds(Error, identifiers, st.sampled_from(Status), sentences),
    st.builds(Cancel, identifiers),
    st.builds(Acknowledge, identifiers),
)


def codes(error: pytest.ExceptionInfo[PeerError]) -> list[str]:
    return [fault.code for fault in error.value.faults]


def code_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except PeerError as error:
        return error.faults[0].code
    return None


def fields_of(message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = cbor2.loads(encode(message))
    return fields


@given(messages)
def test_what_is_encoded_is_decoded(message: Message) -> None:
    assert decode(encode(message)) == message


@given(st.lists(messages, max_size=4), st.data())
def test_messages_come_through_in_pieces_of_any_size(sent: list[Message], data: st.DataObject) -> None:
    wire = b"".join(frame for message in sent for frame in frames(message))
    decoder, received = Decoder(), []
    while wire:
        size = data.draw(st.integers(1, len(wire)))
        received += list(decoder.feed(wire[:size]))
        wire = wire[size:]
    assert received == sent
    assert decoder.empty


def test_a_long_message_is_cut_into_frames_of_bounded_size() -> None:
    message = Answers("q", (Hop("A", "a"),), ("x" * 1_000_000,))
    cut = list(frames(message))
    assert len(cut) > 10
    assert max(map(len, cut)) == FRAME_LIMIT
    assert list(Decoder().feed(b"".join(cut))) == [message]


def test_a_message_that_is_too_long_is_not_sent() -> None:
    with pytest.raises(PeerError) as error:
        encode(Answers("q", (Hop("A", "a"),), ("x" * MESSAGE_LIMIT,)))
    assert codes(error) == ["HX7004"]


@pytest.mark.parametrize("body", [object(), "\ud800", {1: {2: object()}}])
def test_a_body_without_an_encoding_is_refused(body: object) -> None:
    with pytest.raises(PeerError) as error:
        encode(Query("q", "A", body, (Hop("A", "a"),), 1, 1, 1))
    assert codes(error) == ["HX7002"]


def test_unknown_fields_are_ignored() -> None:
    assert decode(cbor2.dumps({**fields_of(Cancel("q")), "colour": ["blue"]})) == Cancel("q")


def test_an_unknown_version_is_refused_by_name() -> None:
    with pytest.raises(PeerError, match="version 7 is unknown") as error:
        decode(cbor2.dumps({**fields_of(Cancel("q")), "version": 7}))
    assert codes(error) == ["HX7003"]


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(PeerError, match="'gossip' is unknown") as error:
        decode(cbor2.dumps({**fields_of(Cancel("q")), "kind": "gossip"}))
    assert codes(error) == ["HX7003"]


QUERY = Query("q", "A", [], (Hop("A", "a"), Hop("B", "b")), 1, 1, 1)


@pytest.mark.parametrize(
    ("message", "change"),
    [
        (QUERY, {"query": 5}),
        (QUERY, {"query": ""}),
        (QUERY, {"query": "q\n"}),
        (QUERY, {"query": "q" * 1000}),
        (QUERY, {"hops": -1}),
        (QUERY, {"hops": True}),
        (QUERY, {"hops": 1000}),
        (QUERY, {"milliseconds": "soon"}),
        (QUERY, {"explain": 1}),
        (QUERY, {"path": []}),
        (QUERY, {"path": [{"peer": "A", "name": "a"}, {"peer": "A", "name": "b"}]}),
        (QUERY, {"path": [{"peer": f"P{number}", "name": ""} for number in range(33)]}),
        (QUERY, {"path": ["A"]}),
        (Answers("q", (Hop("A", "a"),), ()), {"items": [1]}),
        (Answers("q", (Hop("A", "a"),), ()), {"items": "ab"}),
        (Error("q", Status.FAILED, ""), {"status": "tired"}),
        (End("q", ()), {"receipt": {}}),
        (End("q", ()), {"receipt": [[]]}),
    ],
)
def test_a_field_of_the_wrong_type_or_size_is_malformed(message: Message, change: dict[str, Any]) -> None:
    with pytest.raises(PeerError) as error:
        decode(cbor2.dumps({**fields_of(message), **change}))
    assert codes(error) == ["HX7002"]


CONTROLS = ("\x00", "\x1b[2J", "\r", "\t", "\x7f", "\x9b31m", "\u2028", "\u202e", "\u2066", "\U000e0041")
LINE = ReceiptLine((Hop("A", "a"),), Status.FAILED)
HOP = {"peer": "A", "name": "a"}


@pytest.mark.parametrize("control", [*CONTROLS, "\n"])
@pytest.mark.parametrize(
    ("message", "change"),
    [
        (Answers("q", (Hop("A", "a"),), ()), lambda text: {"origin": [{**HOP, "name": text}]}),
        (Answers("q", (Hop("A", "a"),), ()), lambda text: {"origin": [{**HOP, "peer": text}]}),
        (Error("q", Status.FAILED, ""), lambda text: {"reason": text}),
        (End("q", (LINE,)), lambda text: {"receipt": [{**line_of(LINE), "reason": text}]}),
        (End("q", (LINE,)), lambda text: {"receipt": [{**line_of(LINE), "losses": ["", text]}]}),
    ],
)
def test_what_would_move_a_terminal_is_malformed(
    message: Message, change: Callable[[str], dict[str, Any]], control: str
) -> None:
    with pytest.raises(PeerError) as error:
        decode(cbor2.dumps({**fields_of(message), **change(f"a{control}b")}))
    assert codes(error) == ["HX7002"]
    decode(cbor2.dumps({**fields_of(message), **change("a b \u00a0 \u200d \u4e2d")}))


@pytest.mark.parametrize("control", CONTROLS)
def test_a_translation_holds_line_feeds_and_nothing_else_of_the_kind(control: str) -> None:
    with pytest.raises(PeerError) as error:
        decode(cbor2.dumps({**fields_of(End("q", ())), "receipt": [{**line_of(LINE), "text": f"for\n{control}"}]}))
    assert codes(error) == ["HX7002"]
    decode(cbor2.dumps({**fields_of(End("q", ())), "receipt": [{**line_of(LINE), "text": "for\n  return"}]}))


def test_a_text_of_a_hop_is_ignored_and_not_passed_on() -> None:
    """Peers of before 1.0 sent one."""
    read = decode(cbor2.dumps({**fields_of(QUERY), "path": [{**HOP, "text": "for \x1b"}, {"peer": "B", "name": "b"}]}))
    assert read == QUERY
    assert b"for" not in encode(read)


def line_of(line: ReceiptLine) -> dict[str, Any]:
    found: dict[str, Any] = fields_of(End("q", (line,)))["receipt"][0]
    return found


@pytest.mark.parametrize(
    "item",
    [
        "\x00", "a\x1b[2J", "\x08", "\ufffe", "\uffff",
        "<p:a/>", "<a xmlns:xml='urn:s'/>", "<a xmlns:p='u' xmlns:q='u' p:x='1' q:x='2'/>", "<{urn:s}a/>", "</a>",
        "<a>", "<a/><b/>", "<!DOCTYPE a [<!ENTITY e 'e'>]><a>&e;</a>", "<?xml version='1.0'?><a/>", "<a/><!-- -->",
        "1<a/>",
    ],
)  # fmt: skip
def test_an_item_of_no_xml_is_malformed(item: str) -> None:
    with pytest.raises(PeerError) as error:
        decode(encode(Answers("q", (Hop("A", "a"),), ("<a/>", item))))
    assert codes(error) == ["HX7002"]
    given = (
        "\t\n\r\x85\x9b\u202e\U0001f600",
        '"<p:a>"',
        "a &lt; b",
        "<a xmlns='b c' xml:lang='x'><b xmlns=''>&#9;</b></a>",
    )
    whole = Answers("q", (Hop("A", "a"),), given)
    assert decode(encode(whole)) == whole


@given(texts)
def test_what_is_said_to_others_can_be_printed(text: str) -> None:
    assert is_printable(printable(text))
    assert is_printable(printable(text, lines=True).replace("\n", ""))
    assert printable(printable(text)) == printable(text)


def test_a_message_of_many_small_values_is_refused_before_it_is_read() -> None:
    with pytest.raises(PeerError, match="values") as error:
        decode(cbor2.dumps([[]] * (VALUES_LIMIT + 1)))
    assert codes(error) == ["HX7004"]
    with pytest.raises(PeerError, match="values") as error:
        encode(Answers("q", (Hop("A", "a"),), ("",) * VALUES_LIMIT))
    assert codes(error) == ["HX7004"]


@pytest.mark.parametrize(
    "name", ["query", "asker", "body", "path", "hops", "milliseconds", "budget", "version", "kind"]
)
def test_a_missing_field_is_malformed(name: str) -> None:
    fields = fields_of(QUERY)
    del fields[name]
    with pytest.raises(PeerError) as error:
        decode(cbor2.dumps(fields))
    assert codes(error) == ["HX7002"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80",
        b"\xf6",
        b"\x9b" + b"\xff" * 8,  # an array of 2**64 - 1 values
        b"\x5b\x7f" + b"\xff" * 7,  # a string of 2**63 - 1 bytes
        b"\x81" * 100_000,  # arrays in arrays
        b"\xd8\x1c\x81\xd8\x1d\x00",  # an array that shares itself
        b"\xd8\x23\x62((",  # a regular expression
        b"\xbf\xff",  # a map of indefinite length
        cbor2.dumps({"version": 1}) + b"\x00",
        b"\xa2\x61a\x01\x61a\x01",  # a key twice
        b"\xa1\x80\x01",  # an array as key
        b"\x61\xff",  # no UTF-8
    ],
)
def test_a_malicious_value_is_malformed(data: bytes) -> None:
    with pytest.raises(PeerError) as error:
        decode(data)
    assert codes(error) == ["HX7002"]


@given(st.binary(max_size=200))
def test_garbage_gives_a_peer_error(data: bytes) -> None:
    with pytest.raises(PeerError):
        decode(data)


@given(messages, st.data())
def test_a_damaged_message_is_read_or_refused(message: Message, data: st.DataObject) -> None:
    wire = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    assert code_of(lambda: encode(decode(bytes(wire)))) in {None, "HX7002", "HX7003"}


@given(st.lists(st.binary(max_size=100), max_size=5))
def test_garbage_on_a_stream_gives_a_peer_error_or_waits_for_more(pieces: list[bytes]) -> None:
    decoder = Decoder()
    found = [code_of(lambda: list(decoder.feed(piece))) for piece in pieces]  # noqa: B023
    assert set(found) <= {None, "HX7002", "HX7003", "HX7004"}


@pytest.mark.parametrize(
    ("wire", "code"),
    [
        ((0).to_bytes(4, "big"), "HX7004"),
        ((FRAME_LIMIT).to_bytes(4, "big"), "HX7004"),
        ((2**32 - 1).to_bytes(4, "big"), "HX7004"),
        ((4).to_bytes(4, "big") + (MESSAGE_LIMIT + 1).to_bytes(4, "big"), "HX7004"),
        ((3).to_bytes(4, "big") + b"abc", "HX7002"),
        ((6).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"ab", "HX7002"),
    ],
)
def test_a_length_out_of_bounds_is_refused_before_its_bytes_come(wire: bytes, code: str) -> None:
    with pytest.raises(PeerError) as error:
        list(Decoder().feed(wire))
    assert codes(error) == [code]


def test_a_message_cut_off_is_noticed() -> None:
    decoder = Decoder()
    wire = b"".join(frames_of(encode(Cancel("q"))))
    assert list(decoder.feed(wire[:-1])) == []
    assert not decoder.empty


@given(bodies)
def test_the_key_of_a_body_depends_on_what_it_says_alone(body: Any) -> None:
    assert body_key(body) == body_key(cbor2.loads(cbor2.dumps(body)))
