"""Messages as the bytes of a stream, and back, as the protocol says."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.peer.wire.frames import Assembler, frames_of
from heptox.peer.wire.messages import Message, decode, encode


def frames(message: Message) -> Iterator[bytes]:
    """The frames of a message, each with its length; raises as :func:`heptox.peer.wire.messages.encode`."""
    return frames_of(encode(message))


class Decoder:
    """Messages out of a stream of bytes that arrives in pieces of any size."""

    def __init__(self) -> None:
        self._assembler = Assembler()

    @property
    def empty(self) -> bool:
        """Whether the bytes so far end with a whole message."""
        return self._assembler.empty

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that ``data`` completes; raises as :func:`heptox.peer.wire.messages.decode`."""
        return map(decode, self._assembler.feed(data))
