"""What brokers say to each other on a link: where publishers are, what is wanted, and documents (``routing.md``).

A link leads to one neighbour. What is said on it arrives once and in order, or the link is down; when it is up again,
both sides begin anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, TypeAlias

import cbor2

from heptox.errors import InputError
from heptox.matching import MOST_NODES
from heptox.routing import Advertisement, Overlaps
from heptox.xml import Document, parse_document

PeerId: TypeAlias = str

ANYTHING: Final = ""
"""The digest that stands for no advertisement: any document may be published."""
MOST_HOPS: Final = 32
"""Peers on a route, at most."""
KEPT_PARSED: Final = 256 * 1024
"""Bytes of a document at most that stays parsed until it is done with."""
MOST_SUPPORT: Final = 2 * MOST_HOPS
"""The greatest ``hops`` of a subscription: twice as many as there are, for they may be told too great."""


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
    memory: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message on a link, from each side: what it keeps for the other one."""

    budget: Budget = Budget()


NO_MAPPING: Final = ""
"""What stands for the mapping of a link on which none is agreed."""


@dataclass(frozen=True, slots=True)
class Wording:
    """In which words a publisher writes, and which mappings lead from there to the receiver.

    ``schema`` identifies the publisher's schema, in which it has written since the position ``since``; empty: that is
    not known. ``mappings`` has for each peer on the path what it has agreed on with the peer before it, the receiver
    first; :data:`NO_MAPPING` where that is nothing.
    """

    schema: str = ""
    since: int = 0
    mappings: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether all on the path have told of it."""
        return bool(self.schema)

    def behind(self, mapping: str) -> Wording:
        """The same for whoever has agreed on a mapping with the one who has it; what is not known stays so."""
        return Wording(self.schema, self.since, (mapping, *self.mappings)) if self.is_known else self


UNKNOWN: Final = Wording()
"""Of a publisher of whom some peer on the path does not tell."""


@dataclass(frozen=True, slots=True)
class Announce:
    """A publisher is reached through the sender.

    ``path`` leads from the sender, first, to the publisher, last. ``feed`` names the publisher's feed log, of which
    positions are. ``version`` grows with every announcement that the publisher itself makes, ``position`` is the last
    one before it was made. ``digest`` identifies the advertisement, which is sent once on a link; :data:`ANYTHING` says
    that there is none. ``news``: the publisher has just made it, and nothing else has changed on its way.
    ``wording`` tells the words of its documents, with a mapping for each peer of the path.

    ``signature`` is the publisher's, under what it says itself: all but the path, ``news`` and the mappings.
    ``attestations`` are those of the peers of the path, each of which has signed that it passes this on to the one
    before it (:mod:`~heptox.feed.signing`).
    """

    publisher: PeerId
    feed: str
    version: int
    position: int
    path: tuple[PeerId, ...]
    digest: str = ANYTHING
    advertisement: Advertisement | None = None
    news: bool = False
    wording: Wording = UNKNOWN
    signature: bytes = b""
    attestations: tuple[bytes, ...] = ()
    _overlaps: list[Overlaps] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def overlaps(self) -> Overlaps | None:
        """What overlaps the advertisement, made when it is first asked for: of a large one that takes a second."""
        if not self._overlaps and self.advertisement is not None:
            self._overlaps.append(Overlaps(self.advertisement))
        return self._overlaps[0] if self._overlaps else None


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A publisher is no longer reached through the sender."""

    publisher: PeerId


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The sender wants documents that a subscription matches; the ``number`` is the sender's.

    ``hops``: 1 where it wants them for itself, else more than it was told by one of those for whom it does. So what is
    wanted goes back to a peer that wants it, and peers in a circle do not want something for each other for ever. The
    same subscription told again replaces the hops. A ``merged`` one stands for others, and covers nothing elsewhere:
    what it stands for would be covered by it, when it comes round in a circle, and taken back, and it with that.
    """

    number: int
    text: str
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


@dataclass(frozen=True, slots=True)
class FeedDocument:
    """A document of a publisher: the one at position ``sequence`` of its ``feed``.

    ``name`` and ``id`` are those that it was published under. ``previous`` is the :attr:`digest` of the document
    before it, so that the feed is a chain, and empty where that begins; ``signature`` is the publisher's, under the
    digest.
    """

    publisher: PeerId
    feed: str
    sequence: int
    name: str
    id: str
    data: bytes
    previous: bytes = b""
    signature: bytes = b""
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

    document: FeedDocument


@dataclass(frozen=True, slots=True)
class CatchUp:
    """A subscriber asks the publisher for the documents after the position ``since``; ``None``: where the feed is now.

    ``wants`` are its subscriptions, of which none covers another; ``has`` the positions after ``since`` of the
    documents that it has. ``route`` are the peers that it came along, from the subscriber, first, to the sender, last.
    Behind the subscriptions of those on the route it goes up the tree: when it arrives, they hold there.
    """

    publisher: PeerId
    feed: str
    since: int | None
    request: int
    route: tuple[PeerId, ...]
    wants: tuple[str, ...] = ()
    has: tuple[int, ...] = ()

    @property
    def digest(self) -> bytes:
        """What identifies the question, whoever passes it on: SHA-256, 32 bytes."""
        since = -1 if self.since is None else self.since
        asked = [self.publisher, self.feed, since, self.request, self.route[0], list(self.wants), list(self.has)]
        return digest_under("question", asked)


@dataclass(frozen=True, slots=True)
class Replay:
    """A document that a subscriber has asked for, on its way along the rest of the ``route``, from the last to the
    first."""

    document: FeedDocument
    request: int
    route: tuple[PeerId, ...]


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
    feed: str
    request: int
    position: int
    complete: bool
    missing: int
    route: tuple[PeerId, ...]
    sent: tuple[int, ...] = ()
    last: bytes = b""
    question: bytes = b""
    signature: bytes = b""


Message: TypeAlias = Hello | Announce | Withdraw | Subscribe | Unsubscribe | Publish | CatchUp | Replay | CaughtUp
