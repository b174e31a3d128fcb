"""What a subscriber keeps of each feed, so that nothing is lost when routes change, peers fail, or start anew.

The publisher numbers its documents, and keeps them for a while. A subscriber has all that its subscriptions match up to
a **position**. While nothing changes on the route, what comes down the tree is all that follows it. When something does
change, which the subscriber hears before anything else that comes on the new route, it asks the publisher for what it
may have missed (:class:`~heptox.feed.CatchUp`), behind its subscriptions, so that they hold when that
arrives. What comes twice is recognised by its position.

The position is an audited one: the publisher has signed which documents up to there it has sent, and all have come.
What has come after it is ``has`` in the next question.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import Final

from heptox.feed.messages import MOST_HELD, CaughtUp, FeedDocument, PeerId

PATIENCE: Final = 10.0
"""Seconds to wait for the answer to a request before it is made again; twice as long each time, up to MOST_PATIENCE."""
MOST_PATIENCE: Final = 300.0
AUDITED_EVERY: Final = 64
"""Documents that come before a subscriber asks whether these are all. When it starts anew, so many may come again."""
MOST_UNANSWERED: Final = 4
"""Questions in a row that a neighbour does not answer before its path to the publisher is avoided."""

WAITING: Final = 0
"""Instead of the number of a request: it is to be made later."""


@dataclass(slots=True)
class Request:
    """A request under way: made when ``number`` was the last local subscription, due for another try at ``again``.

    ``neighbour`` was asked, for what is after ``since``; ``question`` is the digest of that.
    """

    request: int
    number: int
    again: float
    neighbour: PeerId = ""
    since: int | None = None
    question: bytes = b""


@dataclass(slots=True)
class Reception:
    """How far this peer is with a feed.

    ``position``: all up to it has come that the subscriptions up to ``number`` match; ``None`` before any was sent. It
    is ``live`` while all that follows comes down the tree. ``last`` is the digest of the document at the position, and
    ``came`` are those of documents after it that have come, by position. ``storing`` are documents that are being
    stored; ``checked`` is when it was last reported, ``asked`` when the last request was made, ``failures`` the
    requests in a row that have failed, ``unanswered`` the neighbours that have not answered the last ones. It is about
    the subscriptions in ``own`` words, or about the others, and ``is_kept`` once there is anything of it on the disk.
    """

    publisher: PeerId
    feed: str
    position: int | None = None
    number: int = 0
    live: bool = False
    request: Request | None = None
    storing: set[int] = field(default_factory=set)
    last: bytes = b""
    came: dict[int, bytes] = field(default_factory=dict)
    checked: float = 0.0
    asked: float = -inf
    failures: int = 0
    unanswered: deque[PeerId] = field(default_factory=lambda: deque(maxlen=MOST_UNANSWERED))
    own: bool = False
    is_kept: bool = False
    _answer: CaughtUp | None = None
    _waiting: set[int] = field(default_factory=set)
    _number_before: int = 0
    _fewer: list[tuple[int, int]] = field(default_factory=list)

    def begun_anew(self, feed: str) -> Reception:
        """The publisher has lost its feed log, and begun another one: all in it was published after what it has
        confirmed before."""
        return Reception(self.publisher, feed, 0 if self.number else None, self.number, own=self.own)

    @property
    def patience(self) -> float:
        """Seconds before the next try."""
        return min(MOST_PATIENCE, PATIENCE * 2.0 ** min(self.failures, 10))

    def take(self, document: FeedDocument) -> None:
        """A document has come."""
        if len(self.came) < MOST_HELD:
            self.came[document.sequence] = document.digest

    def drop(self, sequence: int) -> None:
        """A document that has come is to be asked for again."""
        self.storing.discard(sequence)
        self.came.pop(sequence, None)

    def is_forked(self, document: FeedDocument) -> bool:
        """Whether the publisher has said something else before: what is at the position, or before it, is another
        document."""
        before, other = self._digest(document.sequence - 1), self._digest(document.sequence)
        parts = bool(before and document.previous) and before != document.previous
        return parts or (other or document.digest) != document.digest

    def contradicts(self, answer: CaughtUp) -> bool:
        """Whether the publisher has said something else before: what is at its position is another document,
        or the feed was further."""
        is_back = self.request is not None and answer.position < (self.request.since or 0)
        known = self._digest(answer.position)
        return is_back or (bool(known and answer.last) and known != answer.last)

    def _digest(self, position: int) -> bytes:
        """The digest of the document at a position, as far as it is known; else empty."""
        return self.last if position == self.position else self.came.get(position, b"")

    @property
    def waits(self) -> bool:
        """Whether a document was not stored, and all that was not is to be asked for later."""
        return self.request is not None and self.request.request == WAITING

    def interrupt(self) -> None:
        """What comes from now on need not be all."""
        if self._answer is not None:
            self.number = self._number_before
        self.live, self.request, self._answer = False, None, None

    def count(self, number: int, position: int) -> None:
        """The subscriptions up to ``number`` count from now on, for what is published after a position."""
        if self.position is None:
            self.position = position
        elif number > self.number:
            self._fewer.append((position, self.number))
        self.number = number

    def number_at(self, sequence: int) -> int:
        """Up to which number subscriptions count for a document."""
        return next((number for position, number in self._fewer if sequence <= position), self.number)

    @property
    def is_unanswered(self) -> bool:
        """Whether one neighbour has left the last questions unanswered."""
        return len(self.unanswered) == MOST_UNANSWERED and len(set(self.unanswered)) == 1

    def answered(self, answer: CaughtUp, request: Request) -> None:
        """The publisher has answered. It is true once all is stored that came before; what comes from now on is for
        the subscriptions that it has confirmed, too."""
        self.unanswered.clear()
        self._answer, self._waiting, self._number_before = answer, set(self.storing), self.number
        if answer.complete:
            self.number = request.number

    def stored(self, sequence: int) -> None:
        """A document is stored; they are in order."""
        self.storing.discard(sequence)
        self._waiting.discard(sequence)

    def settled(self, now: float) -> CaughtUp | None:
        """Take the answer for true, if it is by now, and report it."""
        answer, request = self._answer, self.request
        if answer is None or request is None or self._waiting:
            return None
        if request.since is None or answer.position >= request.since:
            self.position, self.last = answer.position, answer.last
            self.came = {one: digest for one, digest in self.came.items() if one > answer.position}
        self.live = self.live or answer.complete
        self.request, self._answer, self.failures, self.checked = None, None, 0, now
        fewer = self._fewer
        self._fewer = [(position, number) for position, number in fewer if position > (self.position or 0)]
        return answer
