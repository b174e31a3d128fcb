"""How messages between peers are cut into frames (``peers.md``, Protocol); :mod:`heptox.codec` says what is in them.

The bytes of a message follow a length of four bytes (big-endian, at most :data:`~heptox.codec.MESSAGE_LIMIT`); the
whole is cut into frames, each a length of four bytes (big-endian, 1 to :data:`FRAME_LIMIT` - 4) and that many bytes.
Every message begins a frame of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from heptox.codec import MESSAGE_LIMIT, malformed
from heptox.errors import Fault, PeerError

FRAME_LIMIT: Final = 64 * 1024
"""Bytes of a frame with its length at most."""


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
