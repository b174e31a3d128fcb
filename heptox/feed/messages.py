"""What brokers say to each other on a link: where publishers are, what is wanted, and documents (``routing.md``).

A link leads to one neighbour. What is said on it arrives once and in order, or the link is down; when it is up again,
both sides begin anew.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from typing import Annotated, Any, Final, TypeAlias

import cbor2

from heptox.codec import Check, Default, Identifier, Inline, Kind, Named, Text, data, malformed, matching, number, text
from heptox.errors import DisseminationError, Fault, InputError, PeerError
from heptox.matching import MOST_NODES, MOST_PUBLISHED, Publication
from heptox.routing import (
    MOST_ADVERTISEMENT_BYTES,
    Advertisement,
    Overlaps,
    digest as digest_of,
    from_bytes,
    to_bytes,
)
from heptox.xml import Document, parse_document

PeerId: TypeAlias = Identifier

ANYTHING: Final = ""
"""The digest that stands for no advertisement: any document may be published."""
MOST_HOPS: Final = 32
"""Peers on a route, at most."""
KEPT_PARSED: Final = 256 * 1024
"""Bytes of a document at most that stays parsed until it is done with."""
MOST_SUPPORT: Final = 2 * MOST_HOPS
"""The greatest ``hops`` of a subscription: twice as many as there are, for peers may send too great a number."""
MOST_SENT: Final = 4096
"""Documents that are sent for one question, at most."""
MOST_HELD: Final = 4096
"""Documents beyond the position that a question says are there; others come again."""
MOST_WANTED: Final = 1024 * 1024
"""Characters of the subscriptions in a question, at most: what the others match is not audited."""
TEXT_LIMIT: Final = 64 * 1024
"""Characters of a subscription at most."""
UNLIMITED: Final = 2**53
"""The ``memory`` of a budget that does not say it."""

Signature: TypeAlias = Annotated[bytes, data(64)]
Digest: TypeAlias = Annotated[bytes, data(32)]


def _check_route(name: str, peers: tuple[str, ...]) -> None:
    if not 1 <= len(peers) <= MOST_HOPS or len(set(peers)) < len(peers):
        malformed(f"the field {name!r} does not hold 1 to {MOST_HOPS} different peers")


Route: TypeAlias = Annotated[tuple[PeerId, ...], Check(_check_route)]
"""Peers from one to another, all different."""


def _at_most(most: int, what: str) -> Check:
    """At most so many values; ``what`` they are."""

    def check(name: str, values: Sequence[object]) -> None:
        if len(values) > most:
            malformed(f"the field {name!r} holds more than {most} {what}")

    return Check(check)


def _ascending(most: int) -> Check:
    """At most so many positions in ascending order."""

    def check(name: str, positions: tuple[int, ...]) -> None:
        if len(positions) > most or any(one >= other for one, other in pairwise(positions)):
            malformed(f"the field {name!r} does not hold up to {most} positions in ascending order")

    return Check(check)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a peer keeps for one neighbour, at most: its ``subscriptions``, and ``publishers`` that it has announced.

    ``memory`` is bytes that are held for its subscriptions, and as many for what it has announced
    (:mod:`~heptox.feed.holding`). By ``text``, characters of subscriptions, peers keep within it that do
    not know of ``memory``.
    """

    subscriptions: int = 200_000
    text: int = 2 * 1024 * 1024
    publishers: int = 10_000
    memory: Annotated[int, Default(UNLIMITED)] = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message on a link, from each side: what it keeps for the other one, and whether it reads subscriptions
    with names in namespaces."""

    budget: Budget = Budget()
    namespaces: Annotated[bool, Default(False, written=False)] = False


NO_MAPPING: Final = ""
"""What stands for the mapping of a link on which none is agreed."""
_Agreed: TypeAlias = Annotated[
    Text, matching(re.compile(f"{NO_MAPPING}|(source|target) [0-9a-f]{{32}}"), "no mapping of a link")
]


@dataclass(frozen=True, slots=True)
class Wording:
    """In which words a publisher writes, and which mappings lead from there to the receiver.

    ``schema`` identifies the publisher's schema, in which it has written since the position ``since``; empty: that is
    not known. ``mappings`` has for each peer on the path what it has agreed on with the peer before it, the receiver
    first; :data:`NO_MAPPING` where that is nothing.
    """

    schema: Annotated[Identifier, matching(re.compile("[0-9a-f]{32}"), "no key of a schema")] = ""
    since: int = 0
    mappings: Annotated[tuple[_Agreed, ...], _at_most(MOST_HOPS, "mappings")] = ()

    @property
    def is_known(self) -> bool:
        """Whether all on the path have reported it."""
        return bool(self.schema)

    def behind(self, mapping: str) -> Wording:
        """The same for a peer that has agreed on a mapping with this one; what is not known stays so."""
        return Wording(self.schema, self.since, (mapping, *self.mappings)) if self.is_known else self


UNKNOWN: Final = Wording()
"""Of a publisher that some peer on the path does not report."""


def _read_advertisement(name: str, value: Any) -> Advertisement | None:
    if value is None:
        return None
    try:
        return from_bytes(_ADVERTISEMENT_BYTES.read(name, value))
    except DisseminationError as error:
        malformed(error.reason)


def _write_advertisement(advertisement: Advertisement | None) -> bytes | None:
    try:
        return None if advertisement is None else to_bytes(advertisement)
    except DisseminationError as error:
        raise PeerError(Fault("HX7004", f"an announce message cannot be encoded: {error.reason}")) from None


_ADVERTISEMENT_BYTES: Final = data(MOST_ADVERTISEMENT_BYTES)
_ADVERTISEMENT: Final = Kind(_read_advertisement, _write_advertisement)
_SHA_256: Final = matching(re.compile(f"{ANYTHING}|[0-9a-f]{{64}}"), "no SHA-256 in hexadecimal")


@dataclass(frozen=True, slots=True)
class Announce:
    """A publisher is reached through the sender.

    ``path`` leads from the sender, first, to the publisher, last. ``feed`` names the publisher's feed log, of which
    positions are. ``version`` grows with every announcement that the publisher itself makes, ``position`` is the last
    one before it was made. ``digest`` identifies the advertisement, which is sent once on a link; :data:`ANYTHING` says
    that there is none. ``news``: the publisher has just made it, and nothing else has changed on its way.
    ``wording`` identifies the words of its documents, with a mapping for each peer of the path.

    ``signature`` is the publisher's, under what it says itself: all but the path, ``news`` and the mappings.
    ``attestations`` are those of the peers of the path, each of which has signed that it passes this on to the one
    before it (:mod:`~heptox.feed.signing`).
    """

    publisher: PeerId
    feed: Identifier
    version: Annotated[int, Named("number")]
    position: int
    path: Route
    digest: Annotated[str, text(64), _SHA_256] = ANYTHING
    advertisement: Annotated[Advertisement | None, _ADVERTISEMENT] = None
    news: bool = False
    signature: Signature = b""
    attestations: Annotated[tuple[Signature, ...], _at_most(MOST_HOPS, "signatures")] = ()
    wording: Annotated[Wording, Default(UNKNOWN, written=False)] = UNKNOWN
    _overlaps: list[Overlaps] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def overlaps(self) -> Overlaps | None:
        """What overlaps the advertisement, made when it is first asked for: of a large one that takes a second."""
        if not self._overlaps and self.advertisement is not None:
            self._overlaps.append(Overlaps(self.advertisement))
        return self._overlaps[0] if self._overlaps else None

    def validate(self) -> None:
        """Raise :class:`PeerError` (HX7002) where the digest is that of another advertisement."""
        if self.advertisement is not None and digest_of(self.advertisement) != self.digest:
            malformed("the field 'digest' is that of another advertisement")


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A publisher is no longer reached through the sender."""

    publisher: PeerId


def _read_subscription(name: str, value: Any) -> str:
    if not _SUBSCRIPTION_TEXT.read(name, value):
        malformed(f"the field {name!r} is empty")
    return str(value)


def _write_subscription(text: str) -> str:
    if len(text) > TEXT_LIMIT:
        raise PeerError(Fault("HX7004", f"a subscription of {len(text)} characters is longer than {TEXT_LIMIT}"))
    return text


_SUBSCRIPTION_TEXT: Final = text(TEXT_LIMIT)


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The sender wants documents that a subscription matches; the ``number`` is the sender's.

    ``hops``: 1 where it wants them for itself, else more than one of those has sent for whom it does. So what is
    wanted goes back to a peer that wants it, and peers in a circle do not want something for each other for ever. The
    same subscription sent again replaces the hops. A ``merged`` one stands for others, and covers nothing elsewhere:
    what it stands for would be covered by it, when it comes round in a circle, and taken back, and it with that.
    """

    number: int
    text: Annotated[str, Kind(_read_subscription, _write_subscription)]
    hops: int = 1
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """A subscription of the sender is no more."""

    number: int


def chain_digest(
    previous: bytes,
    publisher: PeerId,
    feed: str,
    sequence: int,
    name: str,
    id: str,  # noqa: A002  # as publications name it
    data: bytes,
) -> bytes:
    """The SHA-256 digest of a document, in which that of the one before it is: 32 bytes."""
    content = sha256(data).digest()
    return digest_under("document", [previous, publisher, feed, sequence, name, id, content])


def digest_under(context: str, values: list[Any]) -> bytes:
    """The SHA-256 digest of values in canonical CBOR, behind the context that they are said in: nothing that is signed
    in one context means anything in another."""
    return sha256(cbor2.dumps([f"heptox feed 2 {context}", *values], canonical=True)).digest()


def _read_size(name: str, value: Any) -> bytes:
    _SIZE.read(name, value)
    return b""


_SIZE: Final = number(MOST_PUBLISHED)


@dataclass(frozen=True, slots=True)
class FeedDocument:
    """A document of a publisher: the one at position ``sequence`` of its ``feed``.

    ``name`` is the one that it was published under, ``id`` by chance, so that nobody finds a document by its
    digest. ``previous`` is the :attr:`digest` of the document before it, so that the feed is a chain, and empty where
    that begins; ``signature`` is the publisher's, under the
    digest. In a message there is the size of ``data``, which may be longer than a message and comes behind it.
    """

    publisher: PeerId
    feed: Identifier
    sequence: int
    name: Text
    id: Text
    data: Annotated[bytes, Named("size"), Kind(_read_size, len)]
    previous: Digest = b""
    signature: Signature = b""
    _digest: list[bytes] = field(default_factory=list, init=False, repr=False, compare=False)
    _parsed: list[Document | InputError] = field(default_factory=list, init=False, repr=False, compare=False)
    _matched: list[Matched] = field(default_factory=list, init=False, repr=False, compare=False)
    misfits: dict[str, str | None] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By digests of advertisements why it is not as advertised, where that was looked at: ``None`` where it is."""

    @property
    def digest(self) -> bytes:
        """What identifies the document and all before it: see :func:`chain_digest`."""
        if not self._digest:
            self._digest.append(
                chain_digest(self.previous, self.publisher, self.feed, self.sequence, self.name, self.id, self.data)
            )
        return self._digest[0]

    def validate(self) -> None:
        """Raise :class:`PeerError` (HX7002) where the name or the id is none that one can be published under."""
        try:
            Publication(self.name, b"", self.id)
        except DisseminationError as error:
            malformed(error.reason)
        if not self.id:
            malformed("the field 'id' is empty")

    @property
    def parsed(self) -> Document:
        """The document, parsed when it is first asked for; raises as :func:`~heptox.xml.parse_document`, each
        time."""
        if not self._parsed:
            try:
                self._parsed.append(parse_document(self.data, self.name, most_nodes=MOST_NODES))
            except InputError as error:
                self._parsed.append(error)
        found = self._parsed[0]
        if isinstance(found, InputError):
            raise InputError(found.faults)
        return found

    def as_tree(self, document: Document) -> FeedDocument:
        """This, with the tree of its bytes, which others have parsed."""
        self._parsed[:] = [document]
        return self

    def matched(self, table: object) -> Matched | None:
        """What it matches of a table, where that was looked for before the router has it."""
        return self._matched[0] if self._matched and self._matched[0].table is table else None

    def examined(self, matched: Matched) -> None:
        """It matches this; a document that takes much memory is parsed anew where it is asked for again."""
        self._matched[:] = [matched]
        if len(self.data) > KEPT_PARSED:
            self._parsed.clear()


@dataclass(frozen=True, slots=True)
class Matched:
    """The ``numbers`` of the entries of a ``table`` that a document matches, of those until its ``revision``."""

    table: object
    numbers: tuple[int, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class Publish:
    """A document comes down the tree of its publisher."""

    document: Annotated[FeedDocument, Inline()]


def _check_wants(name: str, texts: tuple[str, ...]) -> None:
    if sum(map(len, texts)) > MOST_WANTED:
        malformed(f"the field {name!r} has more than {MOST_WANTED} characters")


@dataclass(frozen=True, slots=True)
class CatchUp:
    """A subscriber asks the publisher for the documents after the position ``since``; ``None``: where the feed is now.

    ``wants`` are its subscriptions, of which none covers another; ``has`` the positions after ``since`` of the
    documents that it has. ``route`` are the peers that it came along, from the subscriber, first, to the sender, last.
    Behind the subscriptions of those on the route it goes up the tree: when it arrives, they hold there.
    """

    publisher: PeerId
    feed: Identifier
    since: int | None
    request: int
    route: Route
    wants: Annotated[tuple[Text, ...], Check(_check_wants)] = ()
    has: Annotated[tuple[int, ...], _ascending(MOST_HELD)] = ()

    @property
    def digest(self) -> bytes:
        """What identifies the question, no matter who passes it on: SHA-256, 32 bytes."""
        since = -1 if self.since is None else self.since
        asked = [self.publisher, self.feed, since, self.request, self.route[0], list(self.wants), list(self.has)]
        return digest_under("question", asked)


@dataclass(frozen=True, slots=True)
class Replay:
    """A document that a subscriber has asked for, on its way along the rest of the ``route``, from the last to the
    first."""

    document: Annotated[FeedDocument, Inline()]
    request: int
    route: Route


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The publisher has sent what the subscriber has asked for, up to ``position``; ``complete`` when no more is there,
    and all that follows comes down the tree.

    ``missing`` documents after the position asked for do not come: they are not kept any more, or are withheld.
    ``sent`` are the positions of those that were sent: of the documents up to ``position`` that the subscriber does not
    have, and may have, the ones that it wants. ``last`` is the digest of the document at ``position``, ``question``
    that of the question as it has arrived; ``signature`` is the publisher's, under all but the route.
    """

    publisher: PeerId
    feed: Identifier
    request: int
    position: int
    complete: bool
    missing: int
    route: Route
    sent: Annotated[tuple[int, ...], _ascending(MOST_SENT)] = ()
    last: Digest = b""
    question: Digest = b""
    signature: Signature = b""


Message: TypeAlias = Hello | Announce | Withdraw | Subscribe | Unsubscribe | Publish | CatchUp | Replay | CaughtUp
