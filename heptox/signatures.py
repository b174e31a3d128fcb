"""Who signs, and verifies: feeds and answers are signed alike, and among those who trust each other neither is."""

from __future__ import annotations

from typing import Protocol


class Signatures(Protocol):
    """Signs as one peer, and verifies what any peer has signed; any number of threads may."""

    def sign(self, data: bytes) -> bytes:
        """The signature of this peer under some bytes: always the same for the same."""
        ...

    def verify(self, peer: str, signature: bytes, data: bytes) -> bool:
        """Whether a peer has signed some bytes; ``False`` also for an id that is none."""
        ...


class Unsigned:
    """Signatures of those who trust each other, as emulated peers do: none."""

    def sign(self, data: bytes) -> bytes:  # noqa: ARG002
        """No signature."""
        return b""

    def verify(self, peer: str, signature: bytes, data: bytes) -> bool:  # noqa: ARG002
        """Everything is taken."""
        return True
