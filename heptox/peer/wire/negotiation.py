"""Agreeing on a stream's protocol, as multistream-select 1.0 says, in one round trip and few frames.

libp2p's own client waits for an answer twice, and reads byte by byte, each with a window update of its own.
"""

from __future__ import annotations

from typing import Final

from libp2p.abc import IMultiselectCommunicator
from libp2p.protocol_muxer.exceptions import MultiselectClientError, MultiselectCommunicatorError

from heptox.peer.wire.muxer import MuxedBytes

MULTISTREAM: Final = "/multistream/1.0.0"
LINE_LIMIT: Final = 1024
"""Bytes of a line at most; a protocol's name is much shorter."""


class Negotiator(IMultiselectCommunicator):
    """The lines of a negotiation, each with its length before it, over a stream of bytes."""

    def __init__(self, content: MuxedBytes) -> None:
        self._content = content
        self._held = b""

    async def write(self, msg_str: str) -> None:
        await self._content.write(_line(msg_str))

    async def read(self) -> str:
        while (line := self._next()) is None:
            data = await self._content.read()
            if not data:
                raise MultiselectCommunicatorError("the stream has ended")
            self._held += data
        return line

    def _next(self) -> str | None:
        length = position = 0
        for position, byte in enumerate(self._held[:3]):
            length |= (byte & 127) << 7 * position
            if byte < 128:
                break
        else:
            if len(self._held) >= 3:
                raise MultiselectCommunicatorError("a line is too long")
            return None
        start = position + 1
        if not 1 <= length <= LINE_LIMIT:
            raise MultiselectCommunicatorError(f"a line of {length} bytes is none")
        if len(self._held) < start + length:
            return None
        line, self._held = self._held[start : start + length], self._held[start + length :]
        if not line.endswith(b"\n"):
            raise MultiselectCommunicatorError("a line has no end")
        return line[:-1].decode(errors="replace")

    def end(self) -> None:
        """Leave what has come behind the last line to the reader of the stream."""
        self._content.unread(self._held)
        self._held = b""

    async def select(self, protocol: str) -> None:
        """Agree on one protocol as the side that has opened the stream.

        Raises :class:`MultiselectClientError` when the other side does not speak it.
        """
        await self._content.write(_line(MULTISTREAM) + _line(protocol))
        for wanted in (MULTISTREAM, protocol):
            said = await self.read()
            if said != wanted:
                raise MultiselectClientError(f"it answers {said[:100]!r} to {wanted}")
        self.end()


def _line(text: str) -> bytes:
    data = text.encode() + b"\n"
    prefix = bytearray()
    length = len(data)
    while length > 127:
        prefix.append(length & 127 | 128)
        length >>= 7
    prefix.append(length)
    return bytes(prefix) + data
