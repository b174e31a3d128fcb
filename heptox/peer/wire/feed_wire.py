"""Messages of feeds as they go over a link: :mod:`heptox.feed` says what is in them, :mod:`heptox.codec` writes it.

A document may be longer than a message: ``publish`` and ``replay`` have its ``size``, and as many bytes follow in
messages ``part``, with nothing in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final

from heptox.codec import SHORT_VALUES, Messages, data, malformed
from heptox.feed import (
    Announce,
    CatchUp,
    CaughtUp,
    Hello,
    Message,
    Publish,
    Replay,
    Subscribe,
    Unsubscribe,
    Withdraw,
)

PART: Final = 1024 * 1024
"""Bytes of a document in one message at most."""
VALUES_LIMIT: Final = 4 * SHORT_VALUES
"""Values of a message at most: a question may name :data:`~heptox.feed.MOST_HELD` documents."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Some bytes of a document."""

    data: Annotated[bytes, data(PART)]

    def validate(self) -> None:
        """Raise :class:`PeerError` (HX7002) where there are none."""
        if not self.data:
            malformed("a part holds nothing")


_MESSAGES: Final = Messages[Message | _Part](
    {
        "hello": Hello,
        "announce": Announce,
        "withdraw": Withdraw,
        "subscribe": Subscribe,
        "unsubscribe": Unsubscribe,
        "publish": Publish,
        "catch-up": CatchUp,
        "replay": Replay,
        "caught-up": CaughtUp,
        "part": _Part,
    },
    values=VALUES_LIMIT,
)


def encode_feed(message: Message) -> Iterator[bytes]:
    """The CBOR bytes of a message, and of the parts that follow it, to be sent one behind the other.

    Raises :class:`PeerError`, before the first: HX7004 when a subscription or an advertisement is too long, and as
    :meth:`heptox.codec.Messages.encode`.

    >>> from heptox.feed import FeedDocument
    >>> decoder = FeedDecoder()
    >>> document = FeedDocument("a", "feed", 1, "long.xml", "long", b"x" * 3_000_000)
    >>> [decoder.take(data) == Publish(document) for data in encode_feed(Publish(document))]
    [False, False, False, True]
    """
    first = _MESSAGES.encode(message)
    return _with_parts(first, message.document.data if isinstance(message, Publish | Replay) else b"")


def _with_parts(first: bytes, document: bytes) -> Iterator[bytes]:
    yield first
    for start in range(0, len(document), PART):
        yield _MESSAGES.encode(_Part(document[start : start + PART]))


class FeedDecoder:
    """The messages that come on one link; holds at most one document that is under way."""

    def __init__(self) -> None:
        self._message: Publish | Replay | None = None
        self._parts: list[bytes] = []
        self._missing = 0

    def take(self, encoded: bytes) -> Message | None:
        """The message in some bytes, or the one that they complete; ``None`` while parts of a document are to come.

        Raises :class:`PeerError` as :meth:`heptox.codec.Messages.decode`, and HX7002 for parts that do not belong;
        after that the rest of the link means nothing.
        """
        fields = _MESSAGES.unpack(encoded)
        message = _MESSAGES.read(fields)
        if isinstance(message, _Part):
            self._add(message.data)
        elif self._message is not None:
            malformed("a message comes before the rest of a document")
        elif isinstance(message, Publish | Replay):
            self._message, self._missing = message, fields["size"]
        else:
            return message
        return self._whole() if not self._missing else None

    def _add(self, part: bytes) -> None:
        if self._message is None:
            malformed("a part belongs to no document")
        if len(part) > self._missing:
            malformed("the parts hold more bytes than the document has")
        self._missing -= len(part)
        self._parts.append(part)

    def _whole(self) -> Publish | Replay:
        assert self._message is not None
        message, self._message = self._message, None
        parts, self._parts = self._parts, []
        return replace(message, document=replace(message.document, data=b"".join(parts)))
