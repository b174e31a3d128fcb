"""Questions of subscribers on their way to a publisher, and the answers on the way back: each peer on it audits them.

What a publisher has sent for a question, it signs (:class:`~heptox.feed.CaughtUp`). The peer that passes a
question on sees whether all of it has come from the neighbour that was asked, and whether the publisher has answered
that very question. So it is the first honest peer behind a dishonest one that finds it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

# The matcher not by its name: numpy is loaded when it is asked for.
from heptox import matching
from heptox.errors import HeptoxError
from heptox.feed.events import Fetch, Send
from heptox.feed.links import Links
from heptox.feed.messages import MOST_WANTED, CatchUp, CaughtUp, FeedDocument, PeerId, Replay
from heptox.feed.table import MOST_DECIDED, Entry
from heptox.grammar import parse_subscription
from heptox.matching import Matcher
from heptox.routing import CoveringIndex

MOST_OPEN: Final = 1000
"""Questions of one neighbour that are audited at a time; the oldest are not any more where there are others. Nobody is
blamed then for an answer that does not fit one of the others: it may be to one of those."""
MOST_READ: Final = 128 * 1024
"""Characters of the subscriptions in a question that a publisher reads, at most, which takes about half a second for
each page of documents: a question with more is answered with all."""
MOST_COMPARED: Final = 500
"""Subscriptions among which it is looked for those that others cover; where there are more, all are in a question."""
SILENT_AFTER: Final = 10.0
SILENT_QUESTIONS: Final = 3
"""A neighbour is silent that has answered no question to a publisher since so many, each of which it has had so many
seconds for. But for the first, they are those of this peer: not all that others ask is answered by who is honest."""

_Key: TypeAlias = tuple[PeerId, tuple[PeerId, ...], int]


def wants_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    """The texts of subscriptions as they are in a question: those that no other one covers."""
    known = list(entries)
    if len(known) <= MOST_COMPARED:
        index = CoveringIndex[int]()
        for place, entry in enumerate(known):
            index.add(place, entry.patterns)
        known = [known[place] for place in sorted(index.roots)]
    length, found = 0, []
    for entry in known:
        length += len(entry.text)
        if length <= MOST_WANTED:
            found.append(entry.text)
    return tuple(found)


def wanted(fetch: Fetch, documents: Sequence[FeedDocument]) -> tuple[FeedDocument, ...]:
    """Those of some documents that are asked for, at least; takes time. What is not well-formed is wanted by nobody."""
    left = [one for one in documents if one.sequence not in fetch.has]
    matcher = _matcher(fetch.wants) if sum(map(len, fetch.wants)) <= MOST_READ else None
    return tuple(one for one in left if one.sequence <= fetch.all_upto or _matches(matcher, one))


def _matches(matcher: Matcher | None, document: FeedDocument) -> bool:
    """Whether a matcher has a subscription that a document matches; without one each is matched."""
    try:
        parsed = document.parsed
        return matcher is None or any(True for _ in matcher.match(parsed))
    except HeptoxError:
        return False


def _matcher(wants: tuple[str, ...]) -> Matcher:
    matcher = matching.MemoryMatcher(decided=MOST_DECIDED)
    for number, text in enumerate(wants):
        try:
            matcher.add(number, parse_subscription(text))
        except HeptoxError:  # of a subscriber that wants what is no subscription
            continue
    return matcher


@dataclass(slots=True)
class _Open:
    """A question that was passed on to ``neighbour``; ``came``: the positions of the documents that it has sent. The
    link ``is_lost`` on which it was asked: what is answered goes nowhere, but its number is used until then."""

    neighbour: PeerId
    digest: bytes
    came: set[int] = field(default_factory=set)
    is_lost: bool = False


@dataclass(slots=True)
class _Silence:
    """When a neighbour was asked since its last answer; ``question`` is the digest of the last one of this peer."""

    times: list[float]
    question: bytes = b""


class Questions:
    """Those that one peer has passed on; ``links`` are the neighbours that there is a link to."""

    def __init__(self, links: Links) -> None:
        self._links = links
        self._open: dict[PeerId, dict[_Key, _Open]] = {}
        self._dropped: set[tuple[PeerId, PeerId]] = set()  # who asked, and who may still answer
        self._unanswered: dict[tuple[PeerId, PeerId], _Silence] = {}

    def pass_on(self, question: CatchUp, neighbour: PeerId, now: float) -> bool:
        """Let a question go on to a neighbour, as it has come from the last one on its route; not where there is one
        of that number, for the answers could not be distinguished, and the neighbour would be blamed for it."""
        some = self._open.setdefault(question.route[-1], {})
        key = (question.publisher, question.route, question.request)
        if key in some:
            return False
        some[key] = _Open(neighbour, question.digest)
        if len(some) > MOST_OPEN:
            dropped = some.pop(next(iter(some)))
            self._dropped.add((question.route[-1], dropped.neighbour))
        self._unanswered.setdefault((neighbour, question.publisher), _Silence([now]))
        return True

    def is_due(self, neighbour: PeerId, publisher: PeerId, now: float) -> bool:
        """Whether a neighbour has had time enough to answer the last question."""
        found = self._unanswered.get((neighbour, publisher))
        return found is not None and now - found.times[-1] >= SILENT_AFTER

    def is_silent(self, neighbour: PeerId, publisher: PeerId) -> bool:
        """Whether a neighbour that is due has had so many questions; then it is asked anew."""
        times = self._unanswered[neighbour, publisher].times
        is_silent = len(times) == SILENT_QUESTIONS
        if is_silent:
            del times[:-1]
        return is_silent

    def ask(self, neighbour: PeerId, question: CatchUp, now: float) -> Send:
        """Have this peer ask by itself a neighbour that is due."""
        found = self._unanswered[neighbour, question.publisher]
        found.times.append(now)
        found.question = question.digest
        return Send(neighbour, question)

    def has_answered(self, neighbour: PeerId, message: CaughtUp) -> bool:
        """Whether an answer is the one to the last question that this peer has asked by itself."""
        found = self._unanswered.get((neighbour, message.publisher))
        return found is not None and found.question == message.question != b""

    def came(self, neighbour: PeerId, message: Replay) -> bool:
        """Whether a document that is on its way through here was asked for, of this neighbour."""
        found = self._find(message.document.publisher, message)
        if found is None or found.neighbour != neighbour or found.is_lost:
            return False
        found.came.add(message.document.sequence)
        return True

    def answered(self, neighbour: PeerId, message: CaughtUp) -> bool:
        """Whether an answer that is on its way through here was asked for, of this neighbour, and is still awaited."""
        found = self._find(message.publisher, message)
        if found is None or found.neighbour != neighbour:
            return False
        if not self._links.trust.is_silent(neighbour, message.publisher):  # else it has to answer this peer
            self.speaks(neighbour, message.publisher)
        if found.is_lost:
            self._take(message)
            return False
        is_dropped = (message.route[-2], neighbour) in self._dropped
        return not (is_dropped and untrue(message, found.digest, found.came))

    def close(self, message: CaughtUp) -> str | None:
        """What is wrong with an answer to an open question, if something is; it is open no more."""
        found = self._take(message)
        return untrue(message, found.digest, found.came)

    def speaks(self, neighbour: PeerId, publisher: PeerId) -> None:
        """A neighbour has answered for a publisher, or says that it no longer reaches it."""
        self._unanswered.pop((neighbour, publisher), None)

    def lose(self, neighbour: PeerId) -> None:
        """There is no link to a neighbour any more: what it has asked may still be answered, and nothing that it was
        asked."""
        for one in self._open.get(neighbour, {}).values():
            one.is_lost, one.came = True, set()
        for asker, some in tuple(self._open.items()):
            kept = {key: one for key, one in some.items() if not one.is_lost or one.neighbour in self._links}
            self._open[asker] = kept
            if not kept:
                del self._open[asker]
        self._dropped = {one for one in self._dropped if one[1] != neighbour}
        for key in [key for key in self._unanswered if key[0] == neighbour]:
            del self._unanswered[key]

    def _take(self, message: CaughtUp) -> _Open:
        return self._open[message.route[-2]].pop((message.publisher, message.route[:-1], message.request))

    def _find(self, publisher: PeerId, message: Replay | CaughtUp) -> _Open | None:
        route = message.route[:-1]
        return self._open.get(route[-1], {}).get((publisher, route, message.request)) if route else None


def untrue(answer: CaughtUp, question: bytes, came: Iterable[int]) -> str | None:
    """Why a publisher's answer shows that the peer that it came from is not honest, if it does: ``question`` is the
    digest of what was asked, ``came`` are the positions of the documents that have come."""
    if answer.question != question:
        return "the question was changed on its way"
    lacking = set(answer.sent).difference(came)
    return f"document {min(lacking)} was withheld" if lacking else None
