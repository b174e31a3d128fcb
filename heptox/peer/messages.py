"""What peers say to each other about one query, and how it looks on the wire (``peers.md``, Protocol).

A message is a CBOR map ``{"version": 1, "kind": ..., "query": ..., ...}`` of plain values: integers, strings,
booleans, null, arrays and maps of definite length, no tags. Its bytes follow a length of four bytes (big-endian, at
most :data:`MESSAGE_LIMIT`); the whole is cut into frames, each a length of four bytes (big-endian, 1 to
:data:`FRAME_LIMIT` - 4) and that many bytes. Every message begins a frame of its own. Unknown fields are ignored; a
version or a kind that is not known is refused by name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import cbor2

from heptox.errors import Fault, PeerError

VERSION: Final = 1
FRAME_LIMIT: Final = 64 * 1024
"""Bytes of a frame with its length at most."""
MESSAGE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of an encoded message at most."""
ITEM_LIMIT: Final = MESSAGE_LIMIT - 2 * FRAME_LIMIT
"""Bytes of one item at most (UTF-8): what a message has left beside the longest origin."""
PATH_LIMIT: Final = 32
"""Peers on a path at most."""
NAME_LIMIT: Final = 200
"""Characters of a peer id, a name or a query id at most."""
DEPTH_LIMIT: Final = 200
"""Nesting of a message at most."""
VALUES_LIMIT: Final = 2**19
"""CBOR values in a message at most: small ones take much more room than their bytes once they are read."""
ITEM_COST: Final = 128
"""Bytes that an item takes off the budget beside its own: what a peer remembers of it, about."""
UNREAD: Final = "*"
"""The query id in an :class:`Error` by which a query is refused before it is read."""

PeerId: TypeAlias = str
Body: TypeAlias = Any
"""A query in the receiver's schema as a CBOR value: ``None``, ``bool``, ``int``, ``float``, ``str``, ``list`` of
bodies, ``dict`` from ``str`` to bodies. The peer protocol does not look into it; two bodies are the same query when
their encodings are."""


class Status(StrEnum):
    """How a peer on a path has answered."""

    ANSWERED = "answered"
    NOTHING = "nothing to say"
    """The translation for this peer is empty, so it was not asked; the losses name the leaf without an arrow."""
    REFUSED = "refused"
    """The query cannot be translated exactly for this peer, so it was not asked."""
    DENIED = "denied"
    TIMED_OUT = "timed out"
    UNREACHABLE = "unreachable"
    """The peer could not be reached, or was lost while it answered."""
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def complete(self) -> bool:
        """Whether nothing of the network's answer is missing: an empty translation has no answers to lose."""
        return self in (Status.ANSWERED, Status.NOTHING)


@dataclass(frozen=True, slots=True)
class Hop:
    """A peer on a path: its id, the name its acquaintance knows it by, and the query as it was translated for it.

    ``text`` is the printed query, for people; it is empty where only the way matters (origins).
    """

    peer: PeerId
    name: str
    text: str = ""


HopPath: TypeAlias = tuple[Hop, ...]
"""The way of a query from the asker, first, to the peer that is spoken of, last. No peer occurs twice."""


def peers_of(path: HopPath) -> tuple[PeerId, ...]:
    """The peer ids along a path: what identifies it (names and texts are for people)."""
    return tuple(hop.peer for hop in path)


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """What became of the query at the last peer of ``path``, along this path.

    ``items`` is the number of different items that came from it, ``losses`` the leaves without an arrow on the last
    hop, ``reason`` a sentence for a status that is not plain, ``text`` the translation when an explanation was asked
    for, ``milliseconds`` from the question to this line. ``beyond`` says that peers behind this one were not reached
    along this path, or did not report: their answers along this path, if any, are missing from the count.
    """

    path: HopPath
    status: Status
    items: int = 0
    losses: tuple[str, ...] = ()
    reason: str = ""
    text: str = ""
    milliseconds: int = 0
    beyond: bool = False

    @property
    def peer(self) -> PeerId:
        return self.path[-1].peer

    @property
    def name(self) -> str:
        return self.path[-1].name

    @property
    def complete(self) -> bool:
        """Whether nothing of this peer's answer is missing."""
        return self.status.complete


@dataclass(frozen=True, slots=True)
class Query:
    """A query for the last peer of ``path``, from the one before it.

    ``body`` is the query in the receiver's schema; ``hops`` how many hops it may still travel from the receiver;
    ``milliseconds`` what remains until the deadline (a duration, since clocks differ); ``budget`` how many bytes of
    items may come back, in UTF-8 and with :data:`ITEM_COST` for each; ``explain`` whether the receipt's lines carry
    translations; ``schema`` identifies the receiver's schema as the sender knows it (``acquainting.schema_key``).
    """

    query: str
    asker: PeerId
    body: Body
    path: HopPath
    hops: int
    milliseconds: int
    budget: int
    explain: bool = False
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """A batch of items that all come from the last peer of ``origin``, along that path."""

    query: str
    origin: HopPath
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class End:
    """All answers were sent; one line for the sender and for each peer behind it that was asked or left out."""

    query: str
    receipt: tuple[ReceiptLine, ...]


@dataclass(frozen=True, slots=True)
class Error:
    """The query was not taken: nobody behind the sender was asked. ``query`` may be :data:`UNREAD`."""

    query: str
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """The asker no longer wants answers; the sender closes the stream and expects nothing more."""

    query: str


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The :class:`End` or :class:`Error` has arrived; the stream may close."""

    query: str


Message: TypeAlias = Query | Answers | End | Error | Cancel | Acknowledge


def body_key(body: Body) -> bytes:
    """The identity of a query body: a digest of its canonical encoding.

    >>> body_key({"a": 1, "b": 2}) == body_key({"b": 2, "a": 1})
    True
    """
    return hashlib.blake2b(cbor2.dumps(body, canonical=True), digest_size=32).digest()


_NOT_PRINTABLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
_NO_XML_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_printable(text: str) -> bool:
    """Whether a text, shown on a terminal, is that text and nothing else.

    It holds no control characters (those of the direction of text included) and no line ends. This does not depend on
    the version of Unicode that a peer knows.
    """
    return _NOT_PRINTABLE.search(text) is None


def printable(text: str, *, lines: bool = False) -> str:
    """A text as it is said to others: what is not printable is escaped, line ends are kept as they are or are spaces.

    >>> printable("two\\nlines \\x1b[31m")
    'two lines \\\\u001b[31m'
    """
    ends = "\n" if lines else " "
    return ends.join(_NOT_PRINTABLE.sub(_escape, line) for line in text.splitlines())


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def is_item(text: str) -> bool:
    """Whether a text may be an item: it holds nothing but characters of XML 1.0."""
    return _NO_XML_CHARACTER.search(text) is None


# -- writing ---------------------------------------------------------------------------------------------------------


def encode(message: Message) -> bytes:
    """The CBOR bytes of a message, without length and frames.

    Raises :class:`PeerError`: HX7004 when longer than :data:`MESSAGE_LIMIT`, HX7002 when a value has no encoding.
    """
    kind, fields = _fields_of(message)
    try:
        data = cbor2.dumps({"version": VERSION, "kind": kind, "query": message.query, **fields})
    except (cbor2.CBORError, UnicodeError, RecursionError, TypeError, ValueError) as error:
        raise PeerError(Fault("HX7002", f"a {kind} message cannot be encoded: {error}")) from None
    if len(data) > MESSAGE_LIMIT:
        raise PeerError(Fault("HX7004", f"a {kind} message of {len(data)} bytes is longer than {MESSAGE_LIMIT}"))
    if len(data) > VALUES_LIMIT:  # a value takes a byte at least
        _check_plain(data)
    return data


def frames(message: Message) -> Iterator[bytes]:
    """The frames of a message, each with its length, ready to write; raises as :func:`encode` does, before the
    first."""
    return frames_of(encode(message))


def frames_of(data: bytes) -> Iterator[bytes]:
    """The frames of an encoded message."""
    data = len(data).to_bytes(4, "big") + data
    for start in range(0, len(data), FRAME_LIMIT - 4):
        payload = data[start : start + FRAME_LIMIT - 4]
        yield len(payload).to_bytes(4, "big") + payload


def _fields_of(message: Message) -> tuple[str, dict[str, Any]]:
    match message:
        case Query():
            return "query", {
                "asker": message.asker,
                "body": message.body,
                "path": _path_value(message.path),
                "hops": message.hops,
                "milliseconds": message.milliseconds,
                "budget": message.budget,
                "explain": message.explain,
                "schema": message.schema,
            }
        case Answers():
            return "answers", {"origin": _path_value(message.origin), "items": list(message.items)}
        case End():
            return "end", {"receipt": [_line_value(line) for line in message.receipt]}
        case Error():
            return "error", {"status": message.status.value, "reason": message.reason}
        case Cancel():
            return "cancel", {}
        case Acknowledge():
            return "acknowledge", {}


def _path_value(path: HopPath) -> list[dict[str, str]]:
    return [{"peer": hop.peer, "name": hop.name, **({"text": hop.text} if hop.text else {})} for hop in path]


def _line_value(line: ReceiptLine) -> dict[str, Any]:
    return {
        "path": _path_value(line.path),
        "status": line.status.value,
        "items": line.items,
        "losses": list(line.losses),
        "reason": line.reason,
        "text": line.text,
        "milliseconds": line.milliseconds,
        "beyond": line.beyond,
    }


# -- reading ---------------------------------------------------------------------------------------------------------


def decode(data: bytes) -> Message:
    """The message in CBOR bytes.

    Raises :class:`PeerError`: HX7002 malformed, HX7003 unknown version or kind, HX7004 too long. No other exception.
    """
    if len(data) > MESSAGE_LIMIT:
        raise PeerError(Fault("HX7004", f"a message of {len(data)} bytes is longer than {MESSAGE_LIMIT}"))
    _check_plain(data)
    try:
        value = cbor2.loads(data, max_depth=DEPTH_LIMIT, allow_indefinite=False, allow_duplicate_keys=False)
    except Exception as error:  # the bytes come from strangers: whatever the decoder stumbles over is malformed
        _malformed(f"no CBOR value: {str(error)[:NAME_LIMIT]}")
    fields = _Fields(value)
    version = fields.integer("version")
    if version != VERSION:
        raise PeerError(
            Fault("HX7003", f"message version {version} is unknown", hint=f"this peer speaks version {VERSION}")
        )
    kind = fields.text("kind", NAME_LIMIT)
    if kind not in _READERS:
        raise PeerError(Fault("HX7003", f"message kind {kind!r} is unknown", hint=f"one of {', '.join(_READERS)}"))
    return _READERS[kind](fields)


class Decoder:
    """Messages out of a stream of bytes that arrives in pieces of any size; holds at most one message.

    >>> decoder = Decoder()
    >>> wire = b"".join(frames(Cancel("q1")))
    >>> list(decoder.feed(wire[:3])), list(decoder.feed(wire[3:]))
    ([], [Cancel(query='q1')])
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._message = bytearray()
        self._total: int | None = None

    @property
    def empty(self) -> bool:
        """Whether the bytes so far end with a whole message: else the end of the stream has cut one off."""
        return not self._buffer and self._total is None

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that ``data`` completes.

        Raises :class:`PeerError` as :func:`decode` does; after that the rest of the stream means nothing.
        """
        self._buffer += data
        while (payload := self._next_frame()) is not None:
            message = self._add(payload)
            if message is not None:
                yield message

    def _next_frame(self) -> bytes | None:
        if len(self._buffer) < 4:
            return None
        length = int.from_bytes(self._buffer[:4], "big")
        if not 1 <= length <= FRAME_LIMIT - 4:
            raise PeerError(Fault("HX7004", f"a frame declares {length} bytes", hint=f"1 to {FRAME_LIMIT - 4}"))
        if len(self._buffer) < 4 + length:
            return None
        payload = bytes(self._buffer[4 : 4 + length])
        del self._buffer[: 4 + length]
        return payload

    def _add(self, payload: bytes) -> Message | None:
        if self._total is None:
            if len(payload) < 4:
                _malformed("the first frame is too short to declare the message's length")
            self._total = int.from_bytes(payload[:4], "big")
            if self._total > MESSAGE_LIMIT:
                raise PeerError(Fault("HX7004", f"a message declares {self._total} bytes, over {MESSAGE_LIMIT}"))
            payload = payload[4:]
        self._message += payload
        if len(self._message) < self._total:
            return None
        if len(self._message) > self._total:
            _malformed("the frames hold more bytes than the message declares")
        data, self._message, self._total = bytes(self._message), bytearray(), None
        return decode(data)


def _malformed(reason: str) -> NoReturn:
    raise PeerError(Fault("HX7002", f"a message is malformed: {reason}"))


def _check_plain(data: bytes) -> None:
    """Refuse tags and indefinite lengths before the decoder sees them: shared references make small messages huge."""
    position, needed, values = 0, 1, 0
    while needed:
        if position >= len(data):
            _malformed("it ends too early")
        major, info = data[position] >> 5, data[position] & 31
        if major == 6 or info > 27 or (major == 7 and info == 24):
            _malformed("tags, indefinite lengths and simple values are not spoken")
        size = 0 if info < 24 else 1 << (info - 24)
        argument = info if size == 0 else int.from_bytes(data[position + 1 : position + 1 + size], "big")
        position += 1 + size
        needed -= 1
        if major in (2, 3):
            position += argument
        elif major == 4:
            needed += argument
        elif major == 5:
            needed += 2 * argument
        if needed > len(data):
            _malformed("it declares more values than it has bytes")
        values += 1
        if values > VALUES_LIMIT:
            raise PeerError(Fault("HX7004", f"a message has more than {VALUES_LIMIT} values"))
    if position != len(data):
        _malformed("bytes follow its value" if position < len(data) else "it ends too early")


_Read = TypeVar("_Read")


class _Fields:
    """A decoded map, read field by field; anything of the wrong type or size is malformed."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            _malformed("a map was expected")
        self._value: dict[Any, Any] = value

    def value(self, name: str) -> Any:
        if name not in self._value:
            _malformed(f"the field {name!r} is missing")
        return self._value[name]

    def text(self, name: str, limit: int = MESSAGE_LIMIT) -> str:
        value = self.value(name) if name in self._value or limit == NAME_LIMIT else ""
        if not isinstance(value, str) or len(value) > limit:
            _malformed(f"the field {name!r} is no string of at most {limit} characters")
        return value

    def identifier(self, name: str) -> str:
        value = self.text(name, NAME_LIMIT)
        if not value or not is_printable(value):
            _malformed(f"the field {name!r} is no identifier")
        return value

    def name(self, name: str) -> str:
        return _printable(name, self.text(name, NAME_LIMIT))

    def sentence(self, name: str) -> str:
        return _printable(name, self.text(name))

    def sentences(self, name: str) -> tuple[str, ...]:
        return tuple(_printable(name, value) for value in self.texts(name))

    def lines(self, name: str) -> str:
        value = self.text(name)
        _printable(name, value.replace("\n", ""))
        return value

    def items(self, name: str) -> tuple[str, ...]:
        value = self.texts(name)
        if not all(map(is_item, value)):
            _malformed(f"the field {name!r} holds what is no character of XML")
        return value

    def integer(self, name: str, limit: int = 2**53) -> int:
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
            _malformed(f"the field {name!r} is no integer from 0 to {limit}")
        return value

    def boolean(self, name: str) -> bool:
        value = self._value.get(name, False)
        if not isinstance(value, bool):
            _malformed(f"the field {name!r} is neither true nor false")
        return value

    def sequence(self, name: str) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list):
            _malformed(f"the field {name!r} is no array")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.sequence(name)
        if not all(isinstance(item, str) for item in value):
            _malformed(f"the field {name!r} holds something else than strings")
        return tuple(value)

    def each(self, name: str, read: Callable[[_Fields], _Read]) -> tuple[_Read, ...]:
        return tuple(read(_Fields(item)) for item in self.sequence(name))

    def path(self, name: str) -> HopPath:
        path = self.each(name, _read_hop)
        if not 1 <= len(path) <= PATH_LIMIT or len(set(peers_of(path))) < len(path):
            _malformed(f"the field {name!r} is no path of 1 to {PATH_LIMIT} different peers")
        return path

    def status(self, name: str) -> Status:
        try:
            return Status(self.text(name, NAME_LIMIT))
        except ValueError:
            _malformed(f"the field {name!r} is no known status")


def _printable(name: str, value: str) -> str:
    if not is_printable(value):
        _malformed(f"the field {name!r} holds what cannot be printed")
    return value


def _read_hop(fields: _Fields) -> Hop:
    return Hop(fields.identifier("peer"), fields.name("name"), fields.lines("text"))


def _read_line(fields: _Fields) -> ReceiptLine:
    return ReceiptLine(
        fields.path("path"),
        fields.status("status"),
        fields.integer("items"),
        fields.sentences("losses"),
        fields.sentence("reason"),
        fields.lines("text"),
        fields.integer("milliseconds"),
        fields.boolean("beyond"),
    )


def _read_query(fields: _Fields) -> Query:
    return Query(
        fields.identifier("query"),
        fields.identifier("asker"),
        fields.value("body"),
        fields.path("path"),
        fields.integer("hops", PATH_LIMIT),
        fields.integer("milliseconds"),
        fields.integer("budget"),
        fields.boolean("explain"),
        fields.sentence("schema"),
    )


_READERS: Final[dict[str, Callable[[_Fields], Message]]] = {
    "query": _read_query,
    "answers": lambda fields: Answers(fields.identifier("query"), fields.path("origin"), fields.items("items")),
    "end": lambda fields: End(fields.identifier("query"), fields.each("receipt", _read_line)),
    "error": lambda fields: Error(fields.identifier("query"), fields.status("status"), fields.sentence("reason")),
    "cancel": lambda fields: Cancel(fields.identifier("query")),
    "acknowledge": lambda fields: Acknowledge(fields.identifier("query")),
}
