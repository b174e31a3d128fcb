"""What peers say to each other about one query (``peers.md``, Protocol), as :mod:`heptox.codec` writes it.

Every message names its query: ``{"version": 1, "kind": ..., "query": ..., ...}``.
"""

from __future__ import annotations

import hashlib
import marshal
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from heptox.codec import (
    DEPTH_LIMIT,
    MESSAGE_LIMIT,
    VALUES_LIMIT,
    Check,
    Default,
    Identifier,
    Kind,
    Lines,
    Messages,
    Name,
    Plain,
    Sentence,
    data,
    malformed,
    number,
    sequence,
)
from heptox.errors import Fault, PeerError
from heptox.peer.wire.frames import FRAME_LIMIT
from heptox.xml import is_element

ITEM_LIMIT: Final = MESSAGE_LIMIT - 2 * FRAME_LIMIT
"""Bytes of one item at most (UTF-8): what a message has left beside the longest origin."""
PATH_LIMIT: Final = 32
"""Peers on a path at most."""
HELD_BACK: Final = re.compile(r": (hidden|not in groups of fewer than [0-9]+)\Z")
"""How a loss ends that a peer makes on purpose; others come from translations."""
ITEM_COST: Final = 128
"""Bytes that an item takes off the budget beside its own: what a peer remembers of it, about."""
UNREAD: Final = "*"
"""The query id in an :class:`Error` by which a query is refused before it is read."""
OWN: Final = ""
"""Who asks, where it is the own user."""

MOST_TEXT: Final = 256 * 1024
"""Characters of a query that is a text, and of each text in a tree: a megabyte of steps takes ten seconds to read."""
MOST_TEXTS: Final = 100_000
"""Texts in the tree of a query: one for each node, name and value. Ten thousand comparisons of paths with literals have
90,000."""

PeerId: TypeAlias = Identifier
Body: TypeAlias = Plain
"""A query in the receiver's schema as a CBOR value: ``None``, ``bool``, ``int``, ``float``, ``str``, ``list`` of
bodies, ``dict`` from ``str`` to bodies. The peer protocol does not look into it; two bodies are the same query when
their encodings are."""


class Status(StrEnum):
    """How a peer on a path has answered."""

    ANSWERED = "answered"
    NOTHING = "nothing to say"
    """The translation for this peer is empty, so it was not asked; the losses name the leaf without an arrow."""
    REFUSED = "refused"
    """The query cannot be translated exactly for this peer, so it was not asked."""
    DENIED = "denied"
    TIMED_OUT = "timed out"
    UNREACHABLE = "unreachable"
    """The peer could not be reached, or was lost while it answered."""
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def complete(self) -> bool:
        """Whether the peer has said all that it was asked for: of an empty translation, nothing."""
        return self in (Status.ANSWERED, Status.NOTHING)


@dataclass(frozen=True, slots=True)
class Hop:
    """A peer on a path: its id, and the name its acquaintance knows it by."""

    peer: PeerId
    name: Name


def _check_path(name: str, path: tuple[Hop, ...]) -> None:
    if not 1 <= len(path) <= PATH_LIMIT or len({hop.peer for hop in path}) < len(path):
        malformed(f"the field {name!r} is no path of 1 to {PATH_LIMIT} different peers")


HopPath: TypeAlias = Annotated[tuple[Hop, ...], Check(_check_path)]
"""The way of a query from the asker, first, to the peer that is spoken of, last. No peer occurs twice."""


def peers_of(path: HopPath) -> tuple[PeerId, ...]:
    """The peer ids along a path: what identifies it (names are for people)."""
    return tuple(hop.peer for hop in path)


def sender(path: HopPath) -> PeerId:
    """Who has sent a query that came along a path: a neighbour, or the own user."""
    return path[-2].peer if len(path) > 1 else OWN


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """The outcome of the query at the last peer of ``path``, along this path.

    ``items`` is the number of different items that came from it, ``losses`` the leaves without an arrow on the last hop
    and the paths that the peer hides, ``reason`` a sentence for a status that is not plain, ``text`` the translation
    when an explanation was asked for, ``milliseconds`` from the question to this line. ``beyond`` says that peers
    behind this one were not reached along this path, or did not report: their answers along this path, if any, are
    missing from the count. ``behind`` are the digests (``reach.peer_digest``) of those of them that are known, or none
    where these are too many. ``signature`` is that of the peer itself (:mod:`heptox.peer.query.signing`), which the
    asker leaves only where it is right.
    """

    path: HopPath
    status: Status
    items: int = 0
    losses: tuple[Sentence, ...] = ()
    reason: Sentence = ""
    text: Lines = ""
    milliseconds: int = 0
    beyond: bool = False
    behind: Annotated[tuple[Identifier, ...], Default((), written=False)] = ()
    signature: Annotated[bytes, data(64), Default(b"", written=False)] = b""

    @property
    def peer(self) -> PeerId:
        return self.path[-1].peer

    @property
    def name(self) -> str:
        return self.path[-1].name

    @property
    def complete(self) -> bool:
        """Whether nothing of this peer's answer along this path is missing."""
        return self.status.complete and not self.losses


@dataclass(frozen=True, slots=True)
class Query:
    """A query for the last peer of ``path``, from the one before it.

    ``body`` is the query in the receiver's schema; ``hops`` how many hops it may still travel from the receiver;
    ``milliseconds`` what remains until the deadline (a duration, since clocks differ); ``budget`` how many bytes of
    items may come back, in UTF-8 and with :data:`ITEM_COST` for each; ``explain`` whether the receipt's lines carry
    translations; ``schema`` identifies the receiver's schema as the sender knows it (``acquainting.schema_key``).
    """

    query: Identifier
    asker: PeerId
    body: Body
    path: HopPath
    hops: Annotated[int, number(PATH_LIMIT)]
    milliseconds: int
    budget: int
    explain: bool = False
    schema: Sentence = ""

    def validate(self) -> None:
        """Raise :class:`PeerError` (HX3009) for a body that is too large: it is refused, with the reason, unread."""
        if fault := size_fault(self.body):
            raise PeerError(fault)


def size_fault(body: Body) -> Fault | None:
    """Why a body is too large; ``None`` for one that is not.

    >>> print(size_fault(["Sequence", [["StringLiteral", "a"]] * 60_000]).message)
    a query has more than 100,000 nodes, names and values
    """
    waiting, texts = [body], 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, str):
            texts += 1
            if len(part) > MOST_TEXT:
                message = f"a query, or a text in it, of {len(part):,} characters is longer than {MOST_TEXT:,}"
                return Fault("HX3009", message, hint="ask in several queries")
    if texts > MOST_TEXTS:
        return Fault(
            "HX3009", f"a query has more than {MOST_TEXTS:,} nodes, names and values", hint="ask in several queries"
        )
    return None


_NO_XML_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


_ASCII_OF_XML: Final = bytes([9, 10, 13, *range(32, 128)])


def is_item(text: str) -> bool:
    """Whether a text may be an item: it holds nothing but characters of XML 1.0."""
    if text.isascii():  # the same, many times faster
        return not text.encode().translate(None, _ASCII_OF_XML)
    return _NO_XML_CHARACTER.search(text) is None


def is_written_item(text: str) -> bool:
    """Whether a text is written as an item is: one element, or a string, or what has no markup in it.

    >>> [is_written_item(text) for text in ("<a/>", '"<a>"', "<p:a/>", "<a/><b/>", "1 <a/>")]
    [True, True, False, False, False]
    """
    return is_element(text) if text.startswith("<") else text.startswith('"') or "<" not in text


def _read_items(name: str, value: Any) -> tuple[str, ...]:
    items = sequence(value, name)
    if not all(isinstance(item, str) for item in items):
        malformed(f"the field {name!r} holds something else than strings")
    if not is_item("".join(items)):
        malformed(f"the field {name!r} holds what is no character of XML")
    if not all(map(is_written_item, items)):
        malformed(f"the field {name!r} holds an item that is no well-formed element")
    return tuple(items)


@dataclass(frozen=True, slots=True)
class Answers:
    """A batch of items that all come from the last peer of ``origin``, along that path."""

    query: Identifier
    origin: HopPath
    items: Annotated[tuple[str, ...], Kind(_read_items, list)]


@dataclass(frozen=True, slots=True)
class End:
    """All answers were sent; one line for the sender and for each peer behind it that was asked or left out."""

    query: Identifier
    receipt: tuple[ReceiptLine, ...]


@dataclass(frozen=True, slots=True)
class Error:
    """The query was not taken: nobody behind the sender was asked. ``query`` may be :data:`UNREAD`."""

    query: Identifier
    status: Status
    reason: Sentence


@dataclass(frozen=True, slots=True)
class Cancel:
    """The asker no longer wants answers; the sender closes the stream and expects nothing more."""

    query: Identifier


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """The :class:`End` or :class:`Error` has arrived; the stream may close."""

    query: Identifier


Message: TypeAlias = Query | Answers | End | Error | Cancel | Acknowledge


def body_key(body: Body) -> bytes:
    """The identity of a query body, for one process: bodies of one key are equal.

    >>> body_key(["Step", "child", ["a"]]) == body_key(["Step", "child", ["b"]])
    False
    """
    # As CBOR, the largest bodies would hold the event loop twenty times longer. From version 3 on, what marshal writes
    # depends on which texts are one object.
    return hashlib.blake2b(marshal.dumps(body, 2), digest_size=32).digest()


_MESSAGES: Final = Messages[Message](
    {
        "query": Query,
        "answers": Answers,
        "end": End,
        "error": Error,
        "cancel": Cancel,
        "acknowledge": Acknowledge,
    },
    values=VALUES_LIMIT,
    depth=DEPTH_LIMIT,
)
encode: Final = _MESSAGES.encode
decode: Final = _MESSAGES.decode
