"""Catch-up: what was missed is asked for, until all has come that publishers have signed that they have sent.

A subscription counts at a publisher from the moment that the publisher has confirmed it: what is published before does
not come, and what is published after comes, whatever happens in between, as long as it is kept there
(:mod:`~heptox.feed.receiving`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Final

from heptox.feed.events import Keep, Note, NotStored, Reached, Send, Store, Stored, Subscribed, Wake
from heptox.feed.links import AgreementError, Links
from heptox.feed.messages import MOST_HOPS, Announce, CatchUp, CaughtUp, FeedDocument, PeerId, Replay
from heptox.feed.questions import Questions, untrue, wants_of
from heptox.feed.receiving import AUDITED_EVERY, WAITING, Reception, Request
from heptox.feed.receptions import Receptions
from heptox.feed.replays import Replays
from heptox.feed.reports import (
    Answered,
    Fork,
    Output,
    Outputs,
    RouteChange,
    Suspicion,
    TranslationChange,
    TranslationNeed,
)
from heptox.feed.routes import Routes
from heptox.feed.subscriptions import Subscriptions

CHECKED_EVERY: Final = 300.0
"""Seconds after which a subscriber asks a publisher whether it has everything, though nothing has changed."""
GATHERED: Final = 0.1
"""Seconds between two questions to a publisher whether it confirms new subscriptions."""
SILENT: Final = "it answers no question to the publisher"
MISSING: Final = "its publisher does not keep them any more, or withholds them"


class Recovery:
    """The machine for catch-up. It owns how far this peer is with each feed (``receptions``), the questions of others
    that it has passed on, and those to the feed of its own (``replays``).

    Its own questions have numbers from ``first_request`` on.
    """

    def __init__(
        self, peer: PeerId, links: Links, routes: Routes, subscriptions: Subscriptions, first_request: int
    ) -> None:
        self._peer = peer
        self._links = links
        self._routes = routes.table
        self._subscriptions = subscriptions
        self._questions = Questions(links)
        self.receptions = Receptions(routes.table, subscriptions)
        self.replays = Replays(routes.own)
        self._last_number = 0
        self._last_request = first_request - 1

    # what others say

    def ask(self, neighbour: PeerId, message: CatchUp, now: float) -> Outputs:
        """A subscriber asks a publisher, through here, for what it has missed. Raises :class:`AgreementError`."""
        route, publisher = message.route, message.publisher
        if not route or route[-1] != neighbour or self._peer in route or len(set(route)) < len(route):
            raise AgreementError("the route of a request does not lead to this peer")
        if publisher == self._peer:
            # A subscriber that is a neighbour asks by itself: others could have what it has a right to, in its name.
            if len(route) == 1 or route[0] not in self._links:
                yield from self.replays.ask(message, now)
            return
        followed = self._routes.followed(publisher)
        if followed is None or followed.feed != message.feed:  # which nobody answers
            return
        if (next_hop := followed.path[0]) not in route and len(route) < MOST_HOPS:
            if self._questions.pass_on(message, next_hop, now):
                yield Send(next_hop, replace(message, route=(*route, self._peer)))
            if self._questions.is_due(next_hop, publisher, now):
                yield from self._doubt(followed, now)

    def answer(self, neighbour: PeerId, message: Replay | CaughtUp, now: float) -> Outputs:
        """Pass on, or take, what a publisher sends to one subscriber. Raises :class:`AgreementError`."""
        route = message.route
        if not route or route[-1] != self._peer:
            raise AgreementError("what was asked for has gone astray")
        if len(route) > 1:
            yield from self._pass_back(neighbour, message)
        elif isinstance(message, Replay):
            yield from self._take_replay(neighbour, message, now)
        else:
            yield from self._take_answer(neighbour, message, now)

    def _pass_back(self, neighbour: PeerId, message: Replay | CaughtUp) -> Outputs:
        """Pass on what was asked for through here, if it is all that its publisher has signed."""
        passed_on = replace(message, route=message.route[:-1])
        if isinstance(message, Replay):
            if self._questions.came(neighbour, message):
                yield Send(message.route[-2], passed_on)
        elif self._questions.answered(neighbour, message):
            why = self._questions.close(message)
            if why is None:
                yield Send(message.route[-2], passed_on)
            else:
                yield Suspicion(neighbour, message.publisher, why, distrusted=True)

    def withdraw(self, neighbour: PeerId, publisher: PeerId) -> None:
        """A neighbour no longer reaches a publisher."""
        self._questions.speaks(neighbour, publisher)

    def lose(self, neighbour: PeerId) -> None:
        """There is a link no more."""
        self._questions.lose(neighbour)
        self.replays.lose(neighbour)

    def _doubt(self, route: Announce, now: float) -> Outputs:
        """Others wait for answers: see whether this peer gets one, which asks for nothing but where the feed is."""
        neighbour, publisher = route.path[0], route.publisher
        if self._questions.is_silent(neighbour, publisher):
            yield from self._avoid(neighbour, publisher, now)
            return
        self._last_request += 1
        question = CatchUp(publisher, route.feed, None, self._last_request, (self._peer,))
        yield self._questions.ask(neighbour, question, now)

    def _avoid(self, neighbour: PeerId, publisher: PeerId, now: float) -> Outputs:
        if self._links.trust.is_silent(neighbour, publisher):
            return
        for reception in self.receptions.of(publisher):
            reception.live = False
        yield Suspicion(neighbour, publisher, SILENT, distrusted=False)
        for reception in self.receptions.of(publisher):
            if reception.request is None:
                yield from self._ask(reception, now)

    # what changes here

    def subscribe(self, event: Subscribed, now: float) -> Outputs:
        """There is a local subscription."""
        self._last_number = max(self._last_number, event.number)
        for route in self._routes:
            if event.own:
                self.receptions.open(route, own=True)
            elif event.number in self._subscriptions.interests(route, own=False):
                yield from self._confirm(self.receptions.open(route, own=False), now)

    def take_words(self, change: TranslationChange, now: float) -> Outputs:
        """Other things are asked of a publisher: see what was missed."""
        reception = self.receptions.get(change.publisher, own=True)
        if reception is None:
            return
        if not change.available:
            reception.interrupt()
        elif change.first or any(number <= reception.number for number in change.numbers):
            reception.interrupt()
            yield from self._ask(reception, now)
        elif self.receptions.is_behind(reception):
            yield from self._confirm(reception, now)

    def reroute(self, change: RouteChange, now: float) -> Outputs:
        """The route to a publisher has changed: what was sent on the old one may be lost."""
        after = change.after
        for reception in self.receptions.of(change.publisher):
            reception.interrupt()
        if after is None:
            return
        # Of what was heard of in the life before it is not known what was said there.
        is_new = after.version > change.newest and (change.newest or not self.receptions.is_kept(change.publisher))
        kinds = (False, True) if self._subscriptions.numbers(own=True) else (False,)
        for reception in [self.receptions.open(after, own=own) for own in kinds]:
            if change.news and is_new:  # what it publishes from now on all were there for
                reception.count(self._last_number, after.position)
            if reception.own:
                yield TranslationNeed(after)
            yield from self._ask(reception, now)

    def tick(self, now: float) -> Outputs:
        """Ask for what is due."""
        for reception in self.receptions:
            request = reception.request
            if request is not None and request.again <= now:
                yield from self._ask_again(reception, request, now)
            elif request is None and self.receptions.is_behind(reception):
                yield from self._confirm(reception, now)
            elif request is None and reception.checked + CHECKED_EVERY <= now:
                yield from self._ask(reception, now)

    # questions

    def _confirm(self, reception: Reception, now: float) -> Outputs:
        """Have new subscriptions confirmed, behind what is asked for already, those together that come soon after each
        other."""
        if reception.request is None:
            due = reception.asked + GATHERED
            if due <= now:
                yield from self._ask(reception, now)
            else:
                yield Wake(due)

    def _ask(self, reception: Reception, now: float) -> Outputs:
        """Ask for what has been missed, or only where the feed is now, where nothing counts yet."""
        route = self._routes.followed(reception.publisher)
        awaits = self.receptions.awaits(reception)
        reception.request = None
        if route is None or not self._subscriptions.is_readable(reception.publisher, own=reception.own):
            return
        if not (awaits or self.receptions.interests(route, reception)):
            return
        if not reception.is_kept:  # its news shall not count again after the next start
            reception.count(reception.number, route.position)
            yield from self._keep(reception)
        self._last_request += 1
        again, number = now + reception.patience, self._last_number
        reception.asked = now
        if reception.own:
            number = max(reception.number, self._subscriptions.countable(reception.publisher, number))
        question = self._question(route, reception, reception.position if awaits else None)
        reception.request = Request(question.request, number, again, route.path[0], question.since, question.digest)
        yield Send(route.path[0], question)
        yield Wake(again)

    def _question(self, route: Announce, reception: Reception, since: int | None) -> CatchUp:
        question = CatchUp(reception.publisher, reception.feed, since, self._last_request, (self._peer,))
        if since is None:
            return question
        wants = wants_of(self.receptions.counting(route, reception))
        return replace(question, wants=wants, has=tuple(sorted(reception.came)))

    def _ask_again(self, reception: Reception, request: Request, now: float) -> Outputs:
        if request.request != WAITING:
            reception.failures += 1
            reception.unanswered.append(request.neighbour)
            if reception.is_unanswered:
                yield from self._avoid(request.neighbour, reception.publisher, now)
        yield from self._ask(reception, now)

    def _take_answer(self, neighbour: PeerId, answer: CaughtUp, now: float) -> Outputs:
        if self._questions.has_answered(neighbour, answer):
            yield from self._trust_again(neighbour, answer.publisher)
        reception = self.receptions.asking(answer.publisher, answer.request, neighbour)
        if reception is None or reception.request is None:
            return
        request = reception.request
        why = untrue(answer, request.question, reception.came)
        if why is not None:
            yield Suspicion(neighbour, answer.publisher, why, distrusted=True)
            return
        if reception.contradicts(answer):
            yield Fork(answer.publisher, answer.position)
        reception.answered(answer, request)
        yield from self._settle(reception, now)
        yield from self._trust_again(neighbour, answer.publisher)

    def _trust_again(self, neighbour: PeerId, publisher: PeerId) -> Outputs:
        """A neighbour has answered a question of this peer's own; if it is avoided, others may do so more often."""
        self._questions.speaks(neighbour, publisher)
        followed = self._routes.followed(publisher)
        if followed and followed.path[0] == neighbour and self._links.trust.is_silent(neighbour, publisher):
            yield Answered(neighbour, publisher)

    def _settle(self, reception: Reception, now: float) -> Outputs:
        answer = reception.settled(now)
        if answer is None:
            return
        if answer.missing:
            missing = {"documents": answer.missing, "position": answer.position}
            yield Note("documents missing", {"publisher": reception.publisher, **missing, "why": MISSING})
        yield from self._keep(reception)
        if not answer.complete:
            yield from self._ask(reception, now)
        elif self.receptions.is_behind(reception):
            yield from self._confirm(reception, now)
        else:
            yield Wake(now + CHECKED_EVERY)

    def _keep(self, reception: Reception) -> Outputs:
        if reception.position is not None:
            reception.is_kept = True
            place = (reception.publisher, reception.feed, reception.position)
            yield Keep(Reached(*place, reception.number_at(reception.position + 1), reception.own))

    # documents

    def arrive(self, document: FeedDocument, now: float) -> Outputs:
        """A document has come down the tree."""
        for reception in self.receptions.of(document.publisher):
            if document.sequence > (reception.position or 0) and (yield from _fits(document, reception)):
                yield from self._store(document, reception, now)

    def _take_replay(self, neighbour: PeerId, message: Replay, now: float) -> Outputs:
        document = message.document
        reception = self.receptions.asking(document.publisher, message.request, neighbour)
        route = self._routes.followed(document.publisher)
        if reception is None or reception.request is None or route is None:
            return
        if document.sequence <= (reception.request.since or 0) or not (yield from _fits(document, reception)):
            return
        reception.take(document)
        if not (yield from self._subscriptions.documents.refuses(route, document)):
            yield from self._store(document, reception, now)

    def _store(self, document: FeedDocument, reception: Reception, now: float) -> Outputs:
        if reception.feed != document.feed or not self.receptions.awaits(reception):
            return
        reception.storing.add(document.sequence)
        reception.take(document)
        yield Store(document, reception.number_at(document.sequence), reception.own)
        if reception.request is None and len(reception.came) >= AUDITED_EVERY:
            yield from self._ask(reception, now)

    def stored(self, event: Stored, now: float) -> Outputs:
        """A document is stored."""
        reception = self.receptions.get(event.publisher, event.feed, own=event.own)
        if reception is not None:
            reception.stored(event.sequence)
            yield from self._settle(reception, now)

    def not_stored(self, event: NotStored, now: float) -> Outputs:
        """A document is not stored: ask for it later."""
        reception = self.receptions.get(event.publisher, event.feed, own=event.own)
        if reception is None:
            return
        reception.drop(event.sequence)
        if reception.waits:  # for another document: they are asked for together
            return
        reception.interrupt()
        again = now + reception.patience
        reception.failures += 1
        reception.request = Request(WAITING, reception.number, again)
        yield Wake(again)
        yield Note("document waits", {"publisher": event.publisher, "position": event.sequence, "why": event.reason})

    def acknowledged(self, now: float) -> Outputs:
        """Ask for what was not stored no later than if it had not been for the first time."""
        for reception in self.receptions:
            if reception.waits and reception.request is not None:
                reception.failures = 0
                reception.request.again = min(reception.request.again, now + reception.patience)
                yield Wake(reception.request.again)


def _fits(document: FeedDocument, reception: Reception) -> Generator[Output, None, bool]:
    """Whether a document is new, and in the chain of what has come."""
    if reception.feed != document.feed:
        return False
    if reception.is_forked(document):
        yield Fork(document.publisher, document.sequence)
        return False
    return document.sequence not in reception.came
