"""How messages between peers look on the wire, whatever they are about (``peers.md``, Protocol).

A message is a CBOR map ``{"version": 1, "kind": ..., ...}`` of plain values: integers, strings, booleans, null, arrays
and maps of definite length, no tags. Its bytes follow a length of four bytes (big-endian, at most
:data:`MESSAGE_LIMIT`); the whole is cut into frames, each a length of four bytes (big-endian, 1 to
:data:`FRAME_LIMIT` - 4) and that many bytes. Every message begins a frame of its own. Unknown fields are ignored; a
version or a kind that is not known is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeVar

import cbor2

from heptox.errors import Fault, PeerError
from heptox.printable import is_printable

VERSION: Final = 1
FRAME_LIMIT: Final = 64 * 1024
"""Bytes of a frame with its length at most."""
MESSAGE_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of an encoded message at most."""
NAME_LIMIT: Final = 200
"""Characters of a peer id, a name or a query id at most."""
MOST_INTEGER: Final = 2**53
DEPTH_LIMIT: Final = 200
"""Nesting of a message at most."""
VALUES_LIMIT: Final = 2**19
"""CBOR values in a message at most: small ones take much more room than their bytes once they are read."""
SHORT_VALUES: Final = 4096
SHORT_DEPTH: Final = 16
"""The same of a message in which nothing is repeated or nested much, as in all but queries and their answers: it is
decoded before anybody else gets his turn."""
AT_ONCE: Final = 16 * 1024
"""Bytes of any other message that is decoded so, however many values they are."""
LONG_AT_ONCE: Final = 16 * AT_ONCE
"""Bytes of those with ``SHORT_VALUES`` at most, as answers have: handing them to a thread takes longer."""

_Read = TypeVar("_Read")
_Choice = TypeVar("_Choice", bound=StrEnum)


# -- writing ---------------------------------------------------------------------------------------------------------


def pack(kind: str, fields: Mapping[str, Any]) -> bytes:
    """The CBOR bytes of a message, without length and frames.

    Raises :class:`PeerError`: HX7004 when longer than :data:`MESSAGE_LIMIT`, HX7002 when a value has no encoding.
    """
    try:
        data = cbor2.dumps({"version": VERSION, "kind": kind, **fields})
    except (cbor2.CBORError, UnicodeError, RecursionError, TypeError, ValueError) as error:
        raise PeerError(Fault("HX7002", f"a {kind} message cannot be encoded: {error}")) from None
    if len(data) > MESSAGE_LIMIT:
        raise PeerError(Fault("HX7004", f"a {kind} message of {len(data)} bytes is longer than {MESSAGE_LIMIT}"))
    if len(data) > VALUES_LIMIT:  # a value takes a byte at least
        _check_plain(data)
    return data


def frames_of(data: bytes) -> Iterator[bytes]:
    """The frames of an encoded message."""
    data = len(data).to_bytes(4, "big") + data
    for start in range(0, len(data), FRAME_LIMIT - 4):
        payload = data[start : start + FRAME_LIMIT - 4]
        yield len(payload).to_bytes(4, "big") + payload


def framed_length(data: bytes) -> int:
    """Bytes in the frames of an encoded message, all together."""
    length = 4 + len(data)
    return length + 4 * -(-length // (FRAME_LIMIT - 4))


# -- reading ---------------------------------------------------------------------------------------------------------


def unpack(
    data: bytes,
    readers: Mapping[str, Callable[[Fields], _Read]],
    *,
    values: int = SHORT_VALUES,
    depth: int = SHORT_DEPTH,
) -> _Read:
    """The message in CBOR bytes, of so many ``values`` and so deep at most, read by the reader of its kind.

    Raises :class:`PeerError`: HX7002 malformed, HX7003 unknown version or kind, HX7004 too long. No other exception.
    """
    if len(data) > MESSAGE_LIMIT:
        raise PeerError(Fault("HX7004", f"a message of {len(data)} bytes is longer than {MESSAGE_LIMIT}"))
    _check_plain(data, values)
    try:
        value = cbor2.loads(data, max_depth=depth, allow_indefinite=False, allow_duplicate_keys=False)
    except (cbor2.CBORError, ValueError, OverflowError, RecursionError) as error:
        malformed(f"no CBOR value: {str(error)[:NAME_LIMIT]}")
    fields = Fields(value)
    version = fields.integer("version")
    if version != VERSION:
        raise PeerError(
            Fault("HX7003", f"message version {version} is unknown", hint=f"this peer speaks version {VERSION}")
        )
    kind = fields.text("kind", NAME_LIMIT)
    if kind not in readers:
        raise PeerError(Fault("HX7003", f"message kind {kind!r} is unknown", hint=f"one of {', '.join(readers)}"))
    return readers[kind](fields)


class Assembler:
    """Encoded messages out of a stream of bytes that arrives in pieces of any size; holds at most one message.

    >>> assembler = Assembler()
    >>> wire = b"".join(frames_of(b"message"))
    >>> list(assembler.feed(wire[:3])), list(assembler.feed(wire[3:]))
    ([], [b'message'])
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._message = bytearray()
        self._total: int | None = None

    @property
    def empty(self) -> bool:
        """Whether the bytes so far end with a whole message: else the end of the stream has cut one off."""
        return not self._buffer and self._total is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` completes.

        Raises :class:`PeerError`: HX7002 malformed, HX7004 too long; after that the rest of the stream means nothing.
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

    def _add(self, payload: bytes) -> bytes | None:
        if self._total is None:
            if len(payload) < 4:
                malformed("the first frame is too short to declare the message's length")
            self._total = int.from_bytes(payload[:4], "big")
            if self._total > MESSAGE_LIMIT:
                raise PeerError(Fault("HX7004", f"a message declares {self._total} bytes, over {MESSAGE_LIMIT}"))
            payload = payload[4:]
        self._message += payload
        if len(self._message) < self._total:
            return None
        if len(self._message) > self._total:
            malformed("the frames hold more bytes than the message declares")
        data, self._message, self._total = bytes(self._message), bytearray(), None
        return data


def malformed(reason: str) -> NoReturn:
    """Raise :class:`PeerError` (HX7002)."""
    raise PeerError(Fault("HX7002", f"a message is malformed: {reason}"))


def is_quick(data: bytes) -> bool:
    """Whether a message is decoded in some milliseconds. Raises as :func:`unpack`."""
    if len(data) <= AT_ONCE:
        return True
    return len(data) <= LONG_AT_ONCE and _values(data, SHORT_VALUES) <= SHORT_VALUES


def _check_plain(data: bytes, most: int = VALUES_LIMIT) -> None:
    """Refuse tags and indefinite lengths before the decoder sees them: shared references make small messages huge."""
    if _values(data, most) > most:
        raise PeerError(Fault("HX7004", f"a message has more than {most} values"))


def _values(data: bytes, most: int) -> int:
    """How many plain values a message has, counted to one more than ``most``. Raises HX7002 for what is not plain."""
    position, needed, values = 0, 1, 0
    while needed:
        if position >= len(data):
            malformed("it ends too early")
        major, info = data[position] >> 5, data[position] & 31
        if major == 6 or info > 27 or (major == 7 and info == 24):
            malformed("tags, indefinite lengths and simple values are not spoken")
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
            malformed("it declares more values than it has bytes")
        values += 1
        if values > most:
            return values
    if position != len(data):
        malformed("bytes follow its value" if position < len(data) else "it ends too early")
    return values


class Fields:
    """A decoded map, read field by field; anything of the wrong type or size is malformed (HX7002)."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            malformed("a map was expected")
        self._value: dict[Any, Any] = value

    def value(self, name: str) -> Any:
        if name not in self._value:
            malformed(f"the field {name!r} is missing")
        return self._value[name]

    def optional(self, name: str) -> Any:
        """The value of a field; ``None`` where it is missing."""
        return self._value.get(name)

    def text(self, name: str, limit: int = MESSAGE_LIMIT) -> str:
        value = self.value(name) if name in self._value or limit == NAME_LIMIT else ""
        if not isinstance(value, str) or len(value) > limit:
            malformed(f"the field {name!r} is no string of at most {limit} characters")
        return value

    def identifier(self, name: str) -> str:
        value = self.text(name, NAME_LIMIT)
        if not value or not is_printable(value):
            malformed(f"the field {name!r} is no identifier")
        return value

    def identifiers(self, name: str) -> tuple[str, ...]:
        values = self.texts(name)
        if not all(0 < len(value) <= NAME_LIMIT and is_printable(value) for value in values):
            malformed(f"the field {name!r} holds something else than identifiers")
        return values

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

    def integer(self, name: str, limit: int = MOST_INTEGER) -> int:
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
            malformed(f"the field {name!r} is no integer from 0 to {limit}")
        return value

    def boolean(self, name: str) -> bool:
        value = self._value.get(name, False)
        if not isinstance(value, bool):
            malformed(f"the field {name!r} is neither true nor false")
        return value

    def sequence(self, name: str) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list):
            malformed(f"the field {name!r} is no array")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.sequence(name)
        if not all(isinstance(item, str) for item in value):
            malformed(f"the field {name!r} holds something else than strings")
        return tuple(value)

    def integers(self, name: str) -> tuple[int, ...]:
        value = self.sequence(name)
        if not all(type(item) is int and 0 <= item <= MOST_INTEGER for item in value):
            malformed(f"the field {name!r} holds something else than integers from 0 to {MOST_INTEGER}")
        return tuple(value)

    def data(self, name: str, limit: int) -> bytes:
        value = self.value(name)
        if not isinstance(value, bytes) or len(value) > limit:
            malformed(f"the field {name!r} is no string of at most {limit} bytes")
        return value

    def contents(self, name: str) -> dict[str, bytes]:
        """A map from names to byte strings."""
        value = self.value(name)
        if not isinstance(value, dict) or not all(
            isinstance(key, str) and isinstance(content, bytes) for key, content in value.items()
        ):
            malformed(f"the field {name!r} is no map from names to byte strings")
        return value

    def choice(self, name: str, choices: type[_Choice]) -> _Choice:
        """One of the values of an enumeration."""
        try:
            return choices(self.text(name, NAME_LIMIT))
        except ValueError:
            malformed(f"the field {name!r} is none of {', '.join(choices)}")

    def each(self, name: str, read: Callable[[Fields], _Read]) -> tuple[_Read, ...]:
        return tuple(read(Fields(item)) for item in self.sequence(name))


def _printable(name: str, value: str) -> str:
    if not is_printable(value):
        malformed(f"the field {name!r} holds what cannot be printed")
    return value
