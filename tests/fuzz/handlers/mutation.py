"""Messages changed at random: fields of another type, size or number, and bytes that are flipped, cut or lie about
their length."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any, Final, TypeVar

import cbor2

from heptox.peer.wire.frames import FRAME_LIMIT, frames_of
from tests.hostile.test_control_bytes import cut

_Text = TypeVar("_Text", str, bytes)

LONG: Final = 70_000
_TEXTS: Final = (
    "", "\0", "a" * 201, "x" * LONG, "\u202eabc", "../../etc/passwd", "/", "*", "//*", "\N{GRINNING FACE}" * 60, "\n",
    "12D3KooW" + "1" * 44, "f" * 32, "f" * 64, "agreed", "source", "é" * 200, "<a/>", "%s%n", "9" * 5000,
)  # fmt: skip
_NUMBERS: Final = (
    -1, 0, 1, 31, 32, 33, 2**31, 2**32, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63),
    -(2**70), 10**400, 0.0, -0.5, 1e308, float("nan"), float("inf"),
)  # fmt: skip
_BYTES: Final = (b"", b"\0", b"\xff" * 32, b"\0" * 64, b"\x80" * 65, b"<a/>", b"x" * LONG)


def any_value(random: Random) -> Any:
    """A value that few expect."""
    match random.randrange(8):
        case 0 | 1:
            return random.choice(_TEXTS)
        case 2 | 3:
            return random.choice(_NUMBERS)
        case 4:
            return random.choice(_BYTES)
        case 5:
            return random.choice((None, True, False, [], {}))
        case 6:
            return nested(random.choice((3, 15, 17, 100, 199, 201, 500)), random)
        case _:
            return many(random.choice((2, 9, 33, 4096, 20_000)), random)


def nested(depth: int, random: Random) -> Any:
    """A value within arrays, or maps, as deep as wanted."""
    value: Any = random.choice((0, "x", [], {}))
    inside = random.random() < 0.5
    for _ in range(depth):
        value = {"a": value} if inside else [value]
    return value


def many(number: int, random: Random) -> Any:
    """An array, or a map, of many values."""
    value: Any = random.choice((0, "x", b"x", [], {}, None, 2**53))
    return {f"{key:x}": value for key in range(number)} if random.random() < 0.3 else [value] * number


def mutated_value(value: Any, random: Random) -> Any:
    """The value, changed in one place."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        return _mutated_map(value, random)
    if isinstance(value, list | tuple) and value and random.random() < 0.8:
        return _mutated_array(list(value), random)
    if isinstance(value, int) and not isinstance(value, bool) and random.random() < 0.4:
        return value + random.choice((-1, 1, 10, 2**32))
    if isinstance(value, str) and value and random.random() < 0.4:
        return _cut(value, random)
    if isinstance(value, bytes) and value and random.random() < 0.4:
        return _cut(value, random)
    return any_value(random)


def _cut(value: _Text, random: Random) -> _Text:
    """A part of a text, or the text with a part twice or left out."""
    begin, end = sorted(random.choices(range(len(value) + 1), k=2))
    return random.choice((value[begin:end], value + value[:end], value[:begin] + value[end:]))


def _mutated_map(value: dict[Any, Any], random: Random) -> dict[Any, Any]:
    key = random.choice(list(value))
    match random.randrange(8):
        case 0:
            return {name: one for name, one in value.items() if name != key}
        case 1:
            return {**value, random.choice((*_TEXTS[:8], "extra", 7, b"k", None)): any_value(random)}
        case 2:
            return {**value, key: value[random.choice(list(value))]}
        case _:
            return {**value, key: mutated_value(value[key], random)}


def _mutated_array(value: list[Any], random: Random) -> list[Any]:
    place = random.randrange(len(value))
    match random.randrange(6):
        case 0:
            del value[place]
        case 1:
            value.insert(place, value[place])
        case 2:
            value *= random.choice((2, 33, 2000))
        case 3:
            random.shuffle(value)
        case _:
            value[place] = mutated_value(value[place], random)
    return value


def mutated_message(data: bytes, random: Random) -> bytes:
    """The CBOR bytes of a message with up to three fields changed, or some bytes."""
    if random.random() < 0.25:
        return damaged(data, random)
    try:
        value = cbor2.loads(data)
    except (cbor2.CBORError, ValueError, RecursionError):  # it is changed already
        return damaged(data, random)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        value = mutated_value(value, random)
    with suppress(cbor2.CBORError, RecursionError, UnicodeError, TypeError, ValueError):
        return cbor2.dumps(value)
    return damaged(data, random)


def damaged(data: bytes, random: Random) -> bytes:
    """Bytes of which some are flipped, left out, put twice or added."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5))):
        begin = random.randrange(len(changed) + 1)
        end = min(len(changed), begin + random.choice((1, 1, 2, 4, 8, 100)))
        match random.randrange(6):
            case 0 if begin < len(changed):
                changed[begin] ^= 1 << random.randrange(8)
            case 1:
                del changed[begin:end]
            case 2:
                changed[begin:begin] = changed[begin:end]
            case 3:
                changed[begin:end] = random.randbytes(end - begin)
            case 4:
                changed[begin:begin] = random.choice((b"\x9f", b"\xff", b"\xc1", b"\xd8\x1c", b"\xbb" + b"\xff" * 8))
            case _:
                changed[begin:] = random.randbytes(random.choice((0, 1, 10)))
    return bytes(changed)


def framed(data: bytes, random: Random) -> bytes:
    """A message in frames, which now and then lie about their lengths, or are tiny."""
    match random.randrange(12):
        case 0:
            return b"".join(frames_of(data))[: random.randrange(len(data) + 8)]
        case 1:
            return random.choice((0, 1, 3, len(data) + 3, FRAME_LIMIT, 2**32 - 1)).to_bytes(4, "big") + data
        case 2:
            declared = random.choice((0, 1, len(data) - 1, len(data) + 1, 4 * 2**20, 2**32 - 1)) % 2**32
            return _frames_of_size(declared.to_bytes(4, "big") + data, FRAME_LIMIT - 4)
        case 3:
            return _frames_of_size(len(data).to_bytes(4, "big") + data, random.choice((4, 5, 64)))
        case 4:
            return random.randbytes(random.choice((1, 4, 100, 10_000)))
        case _:
            return b"".join(frames_of(data))


def _frames_of_size(data: bytes, size: int) -> bytes:
    pieces = (data[start : start + size] for start in range(0, len(data), size))
    return b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)


def pieces_of(data: bytes, random: Random) -> Iterator[bytes]:
    """Bytes as they are written: whole, or in some pieces."""
    yield from (piece for piece in cut(data, random) if piece)
