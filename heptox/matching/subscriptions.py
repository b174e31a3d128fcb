"""What the subscription log gives: subscriptions, what was published, notifications and dead letters.

Times are milliseconds since 1970, UTC.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from heptox.errors import DisseminationError, Fault, Position
from heptox.settings import NAME
from heptox.xml import NO_PREFIXES, Prefixes

MOST_BACKLOG: Final = 10_000_000
MOST_BACKLOG_BYTES: Final = 1 << 40
"""Bounds that a subscriber may state, at most."""
MOST_ID: Final = 1000
"""Characters in the id of a document."""
MOST_NODES: Final = 500_000
"""Elements and attributes of a document that is published at most: they take much more memory than their bytes."""
MOST_PUBLISHED: Final = 64 * 1024 * 1024
"""Bytes in a document that is published."""
MOST_TEXT: Final = 1024 * 1024
"""Characters in the text of a subscription."""
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""What would end a line, or command the terminal, where a name is printed."""


class Policy(StrEnum):
    """What happens when a document would take the backlog of a subscription beyond its bounds.

    ``refuse``: it is not published, and the publisher gets an error that says why. ``drop-oldest``: the oldest
    notifications make room. ``drop-newest``: this one is not delivered. ``suspend``: nothing more is, until the whole
    backlog is acknowledged. What is not delivered is among the dead letters.
    """

    REFUSE = "refuse"
    DROP_OLDEST = "drop-oldest"
    DROP_NEWEST = "drop-newest"
    SUSPEND = "suspend"


class Words(StrEnum):
    """In whose words a subscription is: ``theirs``, of the publisher, or the peer's ``own``, which are translated
    for each publisher."""

    THEIRS = "theirs"
    OWN = "own"


class Delivery(StrEnum):
    """What is delivered: the ``original`` document, byte for byte, or one in the peer's ``own`` schema; or the
    subscription is a query, and its ``answers`` on the document are."""

    ORIGINAL = "original"
    OWN = "own"
    ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class Options:
    """What a subscriber states: the bounds of the backlog (notifications, bytes of their documents) and the policy;
    in whose ``words`` the subscription is, and what to ``deliver``.

    Raises :class:`DisseminationError` (HX9067) for bounds that cannot be.
    """

    policy: Policy = Policy.REFUSE
    backlog: int = 10_000
    backlog_bytes: int = 256 * 1024 * 1024
    words: Words = Words.THEIRS
    deliver: Delivery = Delivery.ORIGINAL

    def __post_init__(self) -> None:
        faults = [
            Fault("HX9067", f"a backlog of {value} {what} cannot be", hint=f"from 1 to {most:,}")
            for what, value, most in (
                ("notifications", self.backlog, MOST_BACKLOG),
                ("bytes", self.backlog_bytes, MOST_BACKLOG_BYTES),
            )
            if not 1 <= value <= most
        ]
        if self.deliver is not Delivery.ORIGINAL and self.words is not Words.OWN:
            done = "documents are rewritten" if self.deliver is Delivery.OWN else "queries are answered"
            message = f"{done} for subscriptions in own words only"
            faults.append(Fault("HX9067", message, hint=f"say --words own with --deliver {self.deliver}"))
        if faults:
            raise DisseminationError(faults)


@dataclass(frozen=True, slots=True)
class SubscriptionRequest:
    """A subscription to add: its name, and its XPath as text; ``file`` and ``line`` are where it was read, if anywhere.
    ``prefixes`` are those of its text, as far as they are said with it; :func:`named_requests` makes texts that need
    none.

    Raises :class:`DisseminationError` (HX9067) for what cannot be kept. What the text means is the matcher's affair.
    """

    name: str
    text: str
    options: Options = Options()
    file: str | None = None
    line: int = 1
    prefixes: Prefixes = NO_PREFIXES

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            hint = "up to 64 letters, digits, spaces and _ . ' -; first a letter, digit or _, last one of them, . or '"
            message = f"{self.name!r} is no name of a subscription"
            raise DisseminationError(Fault("HX9067", message, self.position, hint=hint))
        if len(self.text) > MOST_TEXT:
            message = f"a subscription has at most {MOST_TEXT:,} characters, not {len(self.text):,}"
            raise DisseminationError(Fault("HX9067", message, self.position))
        column = self.text.find("\0") + 1 or 1
        place = None if self.file is None else Position(self.line, column, self.file)
        check_text(self.text, "the subscription", place)

    @property
    def position(self) -> Position | None:
        """Where it was read."""
        return None if self.file is None else Position(self.line, 1, self.file)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A durable subscription, and how far it is.

    ``last`` is the last sequence number that was given, ``acknowledged`` up to which notifications are settled,
    ``first`` the first one that can be replayed, ``delivered`` the last one that was handed out. ``backlog`` and
    ``backlog_bytes`` count what is not acknowledged, ``oldest`` is when its first was published. ``dead`` counts the
    dead letters that are listed, ``forgotten`` those that are not any more. ``suspended``: since when. ``first_read``:
    when somebody first asked for notifications of it, whether there were any or not.
    """

    number: int
    name: str
    text: str
    options: Options
    added: int
    last: int = 0
    acknowledged: int = 0
    first: int = 1
    delivered: int = 0
    backlog: int = 0
    backlog_bytes: int = 0
    dead: int = 0
    forgotten: int = 0
    oldest: int | None = None
    suspended: int | None = None
    first_read: int | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a subscription that was to be added: ``held`` when the very same one was there."""

    number: int
    name: str
    outcome: Literal["new", "held"]


@dataclass(frozen=True, slots=True)
class Publication:
    """A document to publish, by name and bytes, under an id of which there is one document only.

    The id is the name and the digest of the bytes unless given. Raises :class:`DisseminationError` (HX9066, HX9067).
    """

    name: str
    data: bytes
    id: str = ""

    def __post_init__(self) -> None:
        for what, text, option in (
            ("the name of a document", self.name, "--name"),
            ("the id of a document", self.id, "--id"),
        ):
            check_text(text, what)
            if control := _CONTROL.search(text):
                message = f"{what}, {text[:MOST_ID]!r}, holds the character U+{ord(control[0]):04X}"
                raise DisseminationError(Fault("HX9067", message, hint=f"give it one with {option}"))
            if len(text) > MOST_ID:
                raise DisseminationError(Fault("HX9067", f"{what} has at most {MOST_ID} characters"))
        if not self.name:
            raise DisseminationError(Fault("HX9067", "a document is published by a name"))
        if len(self.data) > MOST_PUBLISHED:
            message = f"has {len(self.data):,} bytes; a document that is published has at most {MOST_PUBLISHED:,}"
            raise DisseminationError(Fault("HX9066", message, hint="publish its parts", file=self.name))

    @property
    def identity(self) -> str:
        """The id that it goes by."""
        return self.id or f"{self.name}@{self.digest.hex()}"

    @property
    def digest(self) -> bytes:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.data).digest()


def check_text(text: str, what: str, position: Position | None = None) -> None:
    """Raise :class:`DisseminationError` (HX9067) for a text that cannot be kept, at its place if it has one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DisseminationError(Fault("HX9067", f"{what} is not UTF-8", position)) from None
    if "\0" in text:
        raise DisseminationError(Fault("HX9067", f"{what} holds the character U+0000", position))


@dataclass(frozen=True, slots=True)
class Matched:
    """A document to publish, the ``numbers`` of the subscriptions that it is for, and those for which it is a dead
    letter, with the reasons."""

    publication: Publication
    numbers: tuple[int, ...] = ()
    undeliverable: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """What became of a document: ``held`` when it was published before; how many notifications and dead letters."""

    number: int
    id: str
    name: str
    outcome: Literal["new", "held"]
    matched: int
    dead: int = 0


@dataclass(frozen=True, slots=True)
class Notification:
    """That the document ``document`` satisfies a subscription: one for each such pair.

    ``redelivered``: it was handed out before, though perhaps nobody got it. ``id``, ``name``, ``size`` (bytes),
    ``digest`` (SHA-256) and ``time`` are the document's.
    """

    sequence: int
    document: int
    id: str
    name: str
    size: int
    digest: bytes
    time: int
    acknowledged: bool
    redelivered: bool


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A match that is not delivered, or no more, and why.

    ``sequence`` is the number of its notification, ``None`` when there never was one; ``kept``: the document is still
    there; ``time`` when it came here.
    """

    letter: int
    sequence: int | None
    document: int
    id: str
    name: str
    size: int
    reason: str
    time: int
    kept: bool


@dataclass(frozen=True, slots=True)
class Totals:
    """All subscriptions together, and what the log keeps. ``oldest``: when the oldest of all backlogs was published."""

    subscriptions: int
    suspended: int
    backlog: int
    largest_backlog: int
    dead: int
    documents: int
    document_bytes: int
    oldest: int | None
