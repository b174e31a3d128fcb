"""What a peer signs of its answer, and what an asker makes of that (``docs/protocol.md``, Signed lines).

The peer whose documents have answered signs its line of the receipt: for which query, along which path, and how many
items, in which order, it has sent. Those between pass items and lines on. So what they alter, leave out, add, put into
another order or keep from another answer does not fit what the asker has counted. What they say of others whom they
have not asked is their word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import cbor2

from heptox.peer.wire.messages import HELD_BACK, HopPath, PeerId, ReceiptLine, Status, peers_of
from heptox.signatures import Signatures, Unsigned

_MOST_SIGNERS: Final = 100_000
"""Peers of which it is remembered that they sign."""
_FORGED: Final = "its signature does not fit what came: somebody on the way has changed the answer"
_STRIPPED: Final = "its answer is not signed, as others of it were: somebody on the way has changed it"


@dataclass(slots=True)
class ItemDigests:
    """Digests of the items along each path, in the order in which they come."""

    _running: dict[tuple[PeerId, ...], hashlib.blake2b] = field(default_factory=dict)

    def add(self, origin: HopPath, items: Iterable[str]) -> None:
        """More items have come along a path."""
        running = self._running.setdefault(peers_of(origin), hashlib.blake2b(digest_size=32))
        for item in items:
            encoded = item.encode(errors="surrogatepass")
            running.update(len(encoded).to_bytes(8, "big"))
            running.update(encoded)

    def of(self, origin: HopPath) -> bytes:
        """The digest of all items that have come along a path."""
        running = self._running.get(peers_of(origin))
        return (running or hashlib.blake2b(digest_size=32)).digest()


class LineSigning:
    """Signs own lines by ``signatures``, and verifies those of others; peers that have signed once have to, again."""

    def __init__(self, signatures: Signatures) -> None:
        self._signatures = signatures
        self._signers: set[PeerId] = set()
        self.is_used = not isinstance(signatures, Unsigned)

    def signed(self, query: str, line: ReceiptLine, items: bytes) -> ReceiptLine:
        """The line of this peer itself, whose items have a digest."""
        return replace(line, signature=self._signatures.sign(_statement(query, line, items)))

    def verified(self, query: str, line: ReceiptLine, items: bytes) -> ReceiptLine:
        """A line as it has come, with what came: ``failed`` where the two do not fit each other."""
        if not self.is_used:
            return line
        if line.signature:
            if not self._signatures.verify(line.peer, line.signature, _statement(query, line, items)):
                return _failed(line, _FORGED)
            if len(self._signers) < _MOST_SIGNERS:
                self._signers.add(line.peer)
            return line
        if line.status is Status.ANSWERED and line.peer in self._signers:
            return _failed(line, _STRIPPED)
        return line


def _failed(line: ReceiptLine, reason: str) -> ReceiptLine:
    return replace(line, status=Status.FAILED, reason=reason, signature=b"")


def _statement(query: str, line: ReceiptLine, items: bytes) -> bytes:
    """The bytes that are signed: what a peer says of itself, without what those before it add."""
    held_back = [loss for loss in line.losses if HELD_BACK.search(loss)]
    path = list(peers_of(line.path))
    said = ["heptox answer 1", query, path, line.status.value, line.items, items, held_back, line.beyond]
    return cbor2.dumps(said, canonical=True)
