"""Questions to the own feed of this peer, and what they are answered with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from heptox.feed.events import Fetch, Fetched, Record, Send
from heptox.feed.messages import CatchUp, CaughtUp, PeerId, Replay
from heptox.feed.reports import Outputs
from heptox.feed.routes import OwnFeed

CONFIRMED_FOR: Final = 86400.0
"""Seconds after which it is looked at on the disk again that a subscriber was confirmed: who is seen is not forgotten
there."""
MOST_CONFIRMED: Final = 10_000
"""Subscribers of which it need not be looked at, at most."""


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a question is answered with, once that is recorded."""

    asked: CatchUp
    fetched: Fetched
    complete: bool


class Replays:
    """The publisher's part of the machine for catch-up. It owns the tasks that read the feed log, and for which
    subscribers it was looked at lately that they are confirmed."""

    def __init__(self, own: OwnFeed) -> None:
        self._own = own
        self._confirmed: dict[tuple[PeerId, PeerId], float] = {}
        self._fetching: dict[int, tuple[CatchUp, Fetch]] = {}
        self._replies: dict[int, _Reply] = {}
        self._last_task = 0

    def ask(self, asked: CatchUp, now: float) -> Outputs:
        """A subscriber asks for what it has missed."""
        own = self._own.publishes
        if own is None or own.feed != asked.feed:
            return
        since = own.position if asked.since is None else min(asked.since, own.position)
        has = frozenset(one for one in asked.has if since < one <= own.position)
        if since + len(has) >= own.position and self._is_confirmed(asked, now):
            yield _answer(asked, own.position, own.last, complete=True)
            return
        self._last_task += 1
        upto = self._own.advertised_since
        fetch = Fetch(self._last_task, since, own.position, asked.route, asked.wants, has, upto)
        self._fetching[self._last_task] = asked, fetch
        yield fetch

    def fetched(self, event: Fetched, now: float) -> Outputs:
        """Have it recorded what is sent."""
        asked, fetch = self._fetching.pop(event.task, (None, None))
        if asked is None or fetch is None:
            return
        if len(self._confirmed) >= MOST_CONFIRMED:
            self._confirmed.clear()
        self._confirmed[asked.route[0], asked.route[-1]] = now
        if event.position == fetch.since:  # there was nothing to send; by now there may be
            yield from self.ask(asked, now)
            return
        self._replies[event.task] = _Reply(asked, event, complete=event.position >= fetch.upto)
        yield Record(event, fetch.since, tuple(one.sequence for one in event.documents), asked.route)

    def recorded(self, task: int) -> Outputs:
        """Send what was to be recorded before."""
        reply = self._replies.pop(task, None)
        if reply is None:
            return
        asked, fetched = reply.asked, reply.fetched
        for document in fetched.documents:
            yield Send(asked.route[-1], Replay(document, asked.request, asked.route))
        sent = tuple(document.sequence for document in fetched.documents)
        last, missing = fetched.last, fetched.lacking
        yield _answer(asked, fetched.position, last, sent, complete=reply.complete, missing=missing)

    def drop(self, task: int) -> None:
        """A task has failed: nothing is answered."""
        self._fetching.pop(task, None)
        self._replies.pop(task, None)

    def lose(self, neighbour: PeerId) -> None:
        """There is no link to a neighbour any more."""
        self._fetching = {task: one for task, one in self._fetching.items() if one[0].route[-1] != neighbour}
        self._replies = {task: one for task, one in self._replies.items() if one.asked.route[-1] != neighbour}

    def _is_confirmed(self, asked: CatchUp, now: float) -> bool:
        """Whether it was on the disk lately that a subscriber was confirmed."""
        found = self._confirmed.get((asked.route[0], asked.route[-1]))
        return found is not None and now < found + CONFIRMED_FOR


def _answer(
    asked: CatchUp, position: int, last: bytes, sent: tuple[int, ...] = (), *, complete: bool, missing: int = 0
) -> Send:
    place = (asked.publisher, asked.feed, asked.request, position, complete, missing, asked.route)
    return Send(asked.route[-1], CaughtUp(*place, sent, last, asked.digest))
