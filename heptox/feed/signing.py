"""What is signed in feeds, and by whom: the only module that knows (``docs/protocol.md``, Signatures).

A publisher signs its announcements, documents and answers; each peer on a path signs for whom it is. The router knows
nothing of it: a :class:`Gate` stands before it, signs what it sends, and lets in only what is signed as it should be.
"""

from __future__ import annotations

from dataclasses import replace

from heptox.feed.messages import (
    Announce,
    CaughtUp,
    FeedDocument,
    Message,
    PeerId,
    Publish,
    Replay,
    digest_under,
)
from heptox.signatures import Signatures


class UnverifiedError(Exception):
    """A message is not signed as it should be; ``publisher`` is whom it speaks of."""

    def __init__(self, publisher: PeerId, what: str) -> None:
        super().__init__(f"{what} is not signed as it should be")
        self.publisher = publisher


class Gate:
    """What goes out of, and comes in to, the router of ``peer``.

    >>> from heptox.signatures import Unsigned
    >>> gate = Gate("a", Unsigned())
    >>> announce = Announce("a", "feed", 1, 0, ("a",))
    >>> gate.check(gate.seal(announce, "b"), "b") == gate.seal(announce, "b")
    True
    """

    def __init__(self, peer: PeerId, signatures: Signatures) -> None:
        self.peer = peer
        self._signatures = signatures

    def signed(self, document: FeedDocument) -> FeedDocument:
        """A document of this peer with its signature."""
        return replace(document, signature=self._signatures.sign(document.digest))

    def seal(self, message: Message, receiver: PeerId) -> Message:
        """A message as it goes to a neighbour: signed where it is this peer that says it."""
        match message:
            case Announce():
                return self._attested(message, receiver)
            case CaughtUp() if message.publisher == self.peer:
                return replace(message, signature=self._signatures.sign(_of_answer(message)))
        return message

    def check(self, message: Message, receiver: PeerId) -> Message:
        """A message that ``receiver`` has received; raises :class:`UnverifiedError`. Documents take some time."""
        match message:
            case Announce():
                self._check_announcement(message, receiver)
            case Publish() | Replay():
                self._check_document(message.document)
            case CaughtUp() if not self._is_signed(message, _of_answer(message)):
                raise UnverifiedError(message.publisher, f"that the feed is at {message.position}")
        return message

    def _attested(self, message: Announce, receiver: PeerId) -> Announce:
        if message.publisher == self.peer:
            message = replace(message, signature=self._signatures.sign(_of_announcement(message)))
        attested = self._signatures.sign(_of_attestation(message, 0, receiver))
        return replace(message, attestations=(attested, *message.attestations))

    def _check_announcement(self, message: Announce, receiver: PeerId) -> None:
        publisher = message.publisher
        if not self._is_signed(message, _of_announcement(message)):
            raise UnverifiedError(publisher, "an announcement")
        if len(message.attestations) != len(message.path):
            raise UnverifiedError(publisher, "a path")
        receivers = (receiver, *message.path)
        for place, (peer, signature) in enumerate(zip(message.path, message.attestations, strict=True)):
            if not self._signatures.verify(peer, signature, _of_attestation(message, place, receivers[place])):
                raise UnverifiedError(publisher, f"that {peer} passes it on to {receivers[place]}")

    def _check_document(self, document: FeedDocument) -> None:
        if not self._signatures.verify(document.publisher, document.signature, document.digest):
            raise UnverifiedError(document.publisher, f"document {document.sequence}")

    def _is_signed(self, message: Announce | CaughtUp, data: bytes) -> bool:
        return self._signatures.verify(message.publisher, message.signature, data)


def _of_announcement(message: Announce) -> bytes:
    wording = message.wording
    said = [message.publisher, message.feed, message.version, message.position, message.digest]
    return digest_under("announcement", [*said, wording.schema, wording.since])


def _of_attestation(message: Announce, place: int, receiver: PeerId) -> bytes:
    """What the peer at a place of the path signs for the one before it: the announcement, and the rest of the path."""
    path, mappings = list(message.path[place:]), list(message.wording.mappings[place:])
    return digest_under("path", [_of_announcement(message), path, mappings, receiver])


def _of_answer(message: CaughtUp) -> bytes:
    said = [message.publisher, message.feed, message.request, message.position, message.complete, message.missing]
    return digest_under("answer", [*said, list(message.sent), message.last, message.question])
