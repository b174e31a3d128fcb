"""How brokers' messages look on the wire (``wire.py``): maps with the fields of
:mod:`heptox.feed.messages`, by the same names.

The version of an announcement is its ``number``, since each message has the ``version`` of what is spoken. A document
may be longer than a message: ``publish`` and ``replay`` tell its ``size``, and as many bytes follow in messages
``part``, with nothing in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Final, TypeAlias

from heptox.errors import DisseminationError, Fault, PeerError
from heptox.feed import (
    ANYTHING,
    MOST_HELD,
    MOST_HOPS,
    MOST_WANTED,
    NO_MAPPING,
    UNKNOWN,
    Announce,
    Budget,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Hello,
    Message,
    PeerId,
    Publish,
    Replay,
    Subscribe,
    Unsubscribe,
    Withdraw,
    Wording,
)
from heptox.matching import MOST_PUBLISHED, Publication
from heptox.peer.wire import SHORT_VALUES, Fields, malformed, pack, unpack
from heptox.routing import (
    MOST_ADVERTISEMENT_BYTES,
    Advertisement,
    digest as digest_of,
    from_bytes,
    to_bytes,
)

PART: Final = 1024 * 1024
"""Bytes of a document in one message at most."""
VALUES_LIMIT: Final = 4 * SHORT_VALUES
"""Values of a message at most: a question may name :data:`MOST_HELD` documents."""
TEXT_LIMIT: Final = 64 * 1024
"""Characters of a subscription at most."""
SIGNATURE: Final = 64
DIGEST: Final = 32
"""Bytes of a signature, and of a digest, at most."""
MOST_SENT: Final = 4096
"""Documents that are sent for one question, at most."""

UNLIMITED: Final = 1 << 53
"""The ``memory`` of a budget that tells none."""

_DIGEST: Final = re.compile("[0-9a-f]{64}")
_MAPPING: Final = re.compile("(source|target) [0-9a-f]{32}")
_SCHEMA: Final = re.compile("[0-9a-f]{32}")

_Whole: TypeAlias = Callable[[bytes], Publish | Replay]
"""Makes the message of a document once its bytes are there."""

# -- writing ---------------------------------------------------------------------------------------------------------


def encode_feed(message: Message) -> Iterator[bytes]:
    """The CBOR bytes of a message, and of the parts that follow it, to be sent one behind the other.

    Raises :class:`PeerError`, before the first: HX7004 when a subscription or an advertisement is too long, and as
    :func:`heptox.peer.wire.pack`.

    >>> decoder = FeedDecoder()
    >>> document = FeedDocument("a", "feed", 1, "long.xml", "long", b"x" * 3_000_000)
    >>> [decoder.take(data) == Publish(document) for data in encode_feed(Publish(document))]
    [False, False, False, True]
    """
    kind, fields = _fields_of(message)
    first = pack(kind, fields)
    return _with_parts(first, message.document.data if isinstance(message, Publish | Replay) else b"")


def _with_parts(first: bytes, document: bytes) -> Iterator[bytes]:
    yield first
    for start in range(0, len(document), PART):
        yield pack("part", {"data": document[start : start + PART]})


def _fields_of(message: Message) -> tuple[str, dict[str, Any]]:
    match message:
        case Hello():
            return "hello", {"budget": asdict(message.budget)}
        case Announce():
            return "announce", _announce_fields(message)
        case Withdraw():
            return "withdraw", {"publisher": message.publisher}
        case Subscribe():
            if len(message.text) > TEXT_LIMIT:
                reason = f"a subscription of {len(message.text)} characters is longer than {TEXT_LIMIT}"
                raise PeerError(Fault("HX7004", reason))
            return "subscribe", {
                "number": message.number,
                "text": message.text,
                "hops": message.hops,
                "merged": message.merged,
            }
        case Unsubscribe():
            return "unsubscribe", {"number": message.number}
        case Publish():
            return "publish", _document_fields(message.document)
        case CatchUp():
            return "catch-up", {
                "publisher": message.publisher,
                "feed": message.feed,
                "since": message.since,
                "request": message.request,
                "route": list(message.route),
                "wants": list(message.wants),
                "has": list(message.has),
            }
        case Replay():
            return "replay", {
                **_document_fields(message.document),
                "request": message.request,
                "route": list(message.route),
            }
        case CaughtUp():
            return "caught-up", {
                "publisher": message.publisher,
                "feed": message.feed,
                "request": message.request,
                "position": message.position,
                "complete": message.complete,
                "missing": message.missing,
                "route": list(message.route),
                "sent": list(message.sent),
                "last": message.last,
                "question": message.question,
                "signature": message.signature,
            }


def _announce_fields(message: Announce) -> dict[str, Any]:
    return {
        "publisher": message.publisher,
        "feed": message.feed,
        "number": message.version,
        "position": message.position,
        "path": list(message.path),
        "digest": message.digest,
        "advertisement": None if message.advertisement is None else _advertisement_bytes(message.advertisement),
        "news": message.news,
        "signature": message.signature,
        "attestations": list(message.attestations),
        **({"wording": _wording_fields(message.wording)} if message.wording.is_known else {}),
    }


def _wording_fields(wording: Wording) -> dict[str, Any]:
    return {"schema": wording.schema, "since": wording.since, "mappings": list(wording.mappings)}


def _advertisement_bytes(advertisement: Advertisement) -> bytes:
    try:
        return to_bytes(advertisement)
    except DisseminationError as error:
        raise PeerError(Fault("HX7004", f"an announce message cannot be encoded: {error.reason}")) from None


def _document_fields(document: FeedDocument) -> dict[str, Any]:
    return {
        "publisher": document.publisher,
        "feed": document.feed,
        "sequence": document.sequence,
        "name": document.name,
        "id": document.id,
        "size": len(document.data),
        "previous": document.previous,
        "signature": document.signature,
    }


# -- reading ---------------------------------------------------------------------------------------------------------


class FeedDecoder:
    """The messages that come on one link; holds at most one document that is under way."""

    def __init__(self) -> None:
        self._document: _Parts | None = None

    def take(self, data: bytes) -> Message | None:
        """The message that ``data`` is, or completes; ``None`` while parts of a document are to come.

        Raises :class:`PeerError` as :func:`heptox.peer.wire.unpack`, and HX7002 for parts that do not belong; after
        that the rest of the link means nothing.
        """
        found = unpack(data, _READERS, values=VALUES_LIMIT)
        if isinstance(found, _Part):
            if self._document is None:
                malformed("a part belongs to no document")
            self._document.add(found.data)
        elif self._document is not None:
            malformed("a message comes before the rest of a document")
        elif isinstance(found, _Parts):
            self._document = found
        else:
            return found
        if not self._document.complete:
            return None
        whole, self._document = self._document.whole(), None
        return whole


class _Part:
    """Some bytes of a document."""

    def __init__(self, fields: Fields) -> None:
        self.data = fields.data("data", PART)
        if not self.data:
            malformed("a part holds nothing")


class _Parts:
    """A document under way: ``size`` bytes are to come, of which ``make`` makes the message."""

    def __init__(self, size: int, make: _Whole) -> None:
        self._missing = size
        self._make = make
        self._parts: list[bytes] = []

    @property
    def complete(self) -> bool:
        return not self._missing

    def add(self, part: bytes) -> None:
        if len(part) > self._missing:
            malformed("the parts hold more bytes than the document has")
        self._missing -= len(part)
        self._parts.append(part)

    def whole(self) -> Publish | Replay:
        return self._make(b"".join(self._parts))


def _read_hello(fields: Fields) -> Hello:
    budget = Fields(fields.value("budget"))
    told = (budget.integer("subscriptions"), budget.integer("text"), budget.integer("publishers"))
    # Peers that do not tell it count the text of subscriptions, and nothing else.
    return Hello(Budget(*told, UNLIMITED if budget.optional("memory") is None else budget.integer("memory")))


def _read_announce(fields: Fields) -> Announce:
    digest = fields.text("digest", len(ANYTHING) + 64)
    if digest != ANYTHING and not _DIGEST.fullmatch(digest):
        malformed("the field 'digest' is no SHA-256 in hexadecimal")
    return Announce(
        fields.identifier("publisher"),
        fields.identifier("feed"),
        fields.integer("number"),
        fields.integer("position"),
        _peers(fields, "path"),
        digest,
        None if fields.value("advertisement") is None else _advertisement(fields, digest),
        fields.boolean("news"),
        UNKNOWN if fields.optional("wording") is None else _wording(Fields(fields.value("wording"))),
        fields.data("signature", SIGNATURE),
        _attestations(fields),
    )


def _attestations(fields: Fields) -> tuple[bytes, ...]:
    found = fields.sequence("attestations")
    if len(found) > MOST_HOPS or not all(isinstance(one, bytes) and len(one) <= SIGNATURE for one in found):
        malformed("the field 'attestations' holds what is no signature")
    return tuple(found)


def _wording(fields: Fields) -> Wording:
    mappings = fields.texts("mappings")
    if len(mappings) > MOST_HOPS or not all(one == NO_MAPPING or _MAPPING.fullmatch(one) for one in mappings):
        malformed("the field 'mappings' holds what is no mapping")
    schema = fields.identifier("schema")
    if not _SCHEMA.fullmatch(schema):
        malformed("the field 'schema' is no key of a schema")
    return Wording(schema, fields.integer("since"), mappings)


def _advertisement(fields: Fields, digest: str) -> Advertisement:
    try:
        advertisement = from_bytes(fields.data("advertisement", MOST_ADVERTISEMENT_BYTES))
        if digest_of(advertisement) == digest:
            return advertisement
    except DisseminationError as error:
        malformed(error.reason)
    malformed("the field 'digest' is that of another advertisement")


def _read_subscribe(fields: Fields) -> Subscribe:
    text = fields.text("text", TEXT_LIMIT)
    if not text:
        malformed("the field 'text' is empty")
    return Subscribe(fields.integer("number"), text, fields.integer("hops"), fields.boolean("merged"))


def _read_publish(fields: Fields) -> _Parts:
    document = _document(fields)
    return _Parts(fields.integer("size", MOST_PUBLISHED), lambda data: Publish(document(data)))


def _read_replay(fields: Fields) -> _Parts:
    document, request, route = _document(fields), fields.integer("request"), _peers(fields, "route")
    return _Parts(fields.integer("size", MOST_PUBLISHED), lambda data: Replay(document(data), request, route))


def _document(fields: Fields) -> Callable[[bytes], FeedDocument]:
    """A document but for its bytes. It has a name and an id that one can be published under."""
    publisher, feed, sequence = fields.identifier("publisher"), fields.identifier("feed"), fields.integer("sequence")
    name, identity = fields.text("name"), fields.text("id")
    previous, signature = fields.data("previous", DIGEST), fields.data("signature", SIGNATURE)
    try:
        Publication(name, b"", identity)
    except DisseminationError as error:
        malformed(error.reason)
    if not identity:
        malformed("the field 'id' is empty")
    return lambda data: FeedDocument(publisher, feed, sequence, name, identity, data, previous, signature)


def _read_catch_up(fields: Fields) -> CatchUp:
    return CatchUp(
        fields.identifier("publisher"),
        fields.identifier("feed"),
        None if fields.value("since") is None else fields.integer("since"),
        fields.integer("request"),
        _peers(fields, "route"),
        _wants(fields),
        _positions(fields, "has", MOST_HELD),
    )


def _wants(fields: Fields) -> tuple[str, ...]:
    texts = fields.texts("wants")
    if sum(map(len, texts)) > MOST_WANTED:
        malformed(f"the field 'wants' has more than {MOST_WANTED} characters")
    return texts


def _positions(fields: Fields, name: str, most: int) -> tuple[int, ...]:
    """Positions in ascending order."""
    found = fields.integers(name)
    if len(found) > most or any(one >= other for one, other in pairwise(found)):
        malformed(f"the field {name!r} does not hold up to {most} positions in ascending order")
    return found


def _read_caught_up(fields: Fields) -> CaughtUp:
    return CaughtUp(
        fields.identifier("publisher"),
        fields.identifier("feed"),
        fields.integer("request"),
        fields.integer("position"),
        fields.boolean("complete"),
        fields.integer("missing"),
        _peers(fields, "route"),
        _positions(fields, "sent", MOST_SENT),
        fields.data("last", DIGEST),
        fields.data("question", DIGEST),
        fields.data("signature", SIGNATURE),
    )


def _peers(fields: Fields, name: str, least: int = 1) -> tuple[PeerId, ...]:
    peers = fields.identifiers(name)
    if not least <= len(peers) <= MOST_HOPS or len(set(peers)) < len(peers):
        malformed(f"the field {name!r} does not hold {least} to {MOST_HOPS} different peers")
    return peers


_READERS: Final[dict[str, Callable[[Fields], Message | _Parts | _Part]]] = {
    "hello": _read_hello,
    "announce": _read_announce,
    "withdraw": lambda fields: Withdraw(fields.identifier("publisher")),
    "subscribe": _read_subscribe,
    "unsubscribe": lambda fields: Unsubscribe(fields.integer("number")),
    "publish": _read_publish,
    "catch-up": _read_catch_up,
    "replay": _read_replay,
    "caught-up": _read_caught_up,
    "part": _Part,
}
