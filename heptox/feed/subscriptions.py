"""Subscriptions: what is wanted here and behind the neighbours, and what of it each neighbour is sent (``routing.md``).

Subscriptions go up the trees of those publishers that they overlap (:mod:`~heptox.feed.forwarding`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from heptox.errors import HeptoxError
from heptox.feed.documents import Documents
from heptox.feed.events import Note, Send, Subscribed, Translate, Translated, Wake
from heptox.feed.forwarding import Branch, Forwarding, Method
from heptox.feed.holding import subscription_bytes
from heptox.feed.links import AgreementError, Links
from heptox.feed.messages import Announce, Hello, PeerId, Subscribe, Unsubscribe
from heptox.feed.own_words import OwnWords
from heptox.feed.reports import NoSubscriptions, Outputs, TranslationChange
from heptox.feed.routes import Routes
from heptox.feed.table import EVERYTHING, Entry, PublicationTable
from heptox.grammar import parse_subscription
from heptox.matching import Matcher

MERGED_AFTER: Final = 1.0
"""Seconds after a change before what a neighbour is sent is merged again."""
MOST_LOST: Final = 500
"""Subscriptions of lost links that are seen to in one step."""
EVERYTHING_BYTES: Final = subscription_bytes(parse_subscription(EVERYTHING))


@dataclass(frozen=True, slots=True)
class NeighbourStatus:
    """A neighbour: how many subscriptions it has sent (``wants``), how many of ours concern it (``members``), how many
    it was sent (``sent``), whether one of them asks for ``everything``, and whether what is covered later is taken back
    (``withdraws``)."""

    neighbour: PeerId
    wants: int
    members: int
    sent: int
    everything: bool
    withdraws: bool


class Subscriptions:
    """The machine for subscriptions. It owns the publication table, which has those of neighbours and local ones, what
    each neighbour is sent of it, behind which neighbour each publisher is, and the translations of own words."""

    def __init__(self, matcher: Matcher, method: Method, links: Links, routes: Routes) -> None:
        self._method = method
        self._links = links
        self._routes = routes.table
        self._advertisements = routes.advertisements
        self._table = PublicationTable(matcher)
        self._own_words = OwnWords(self._table, self._advertisements)
        self._forwarding: dict[PeerId, Forwarding] = {}
        self._merges: dict[PeerId, float] = {}
        self._lost: deque[Entry] = deque()
        self._branches: dict[PeerId, tuple[PeerId, Branch]] = {}
        self._interest: dict[str, dict[int, None]] = {}
        self.documents = Documents(self._table, routes.table, routes.advertisements)
        """What sees to documents."""

    # what neighbours want

    def up(self, neighbour: PeerId) -> None:
        """There is a link to a neighbour."""
        self._forwarding[neighbour] = Forwarding(neighbour, self._method, self._advertisements)

    def greet(self, neighbour: PeerId, hello: Hello) -> None:
        """A neighbour has said what it keeps, and what it reads."""
        self._forwarding[neighbour].budget = hello.budget
        self._forwarding[neighbour].reads_namespaces = hello.namespaces

    def lose(self, neighbour: PeerId, now: float) -> Outputs:
        """There is a link no more; what is to be done about it once routes have changed."""
        del self._forwarding[neighbour]
        self._merges.pop(neighbour, None)
        fed = [publisher for publisher, (_, branch) in self._branches.items() if neighbour in branch.children]
        return self._make_up(fed, self._table.lose(neighbour), now)

    def _make_up(self, fed: Iterable[PeerId], lost: Iterable[Entry], now: float) -> Outputs:
        for publisher in fed:
            yield from self.rearrange(publisher, now)
        self._lost.extend(lost)
        yield from self._see_to_lost(now)

    def _see_to_lost(self, now: float) -> Outputs:
        """Take back some of what lost neighbours wanted; the rest in the next step."""
        yield from self._refresh([self._lost.popleft() for _ in range(min(MOST_LOST, len(self._lost)))], now)
        if self._table.learn(MOST_LOST) or self._lost:
            yield Wake(now)

    def learn(self) -> None:
        """Do what was left of large subscriptions. May be called in another thread."""
        self._table.learn_all()

    def want(self, neighbour: PeerId, message: Subscribe, now: float) -> Outputs:
        """A neighbour wants something. Raises :class:`AgreementError`."""
        budget = self._links.budget
        if message.hops < 1:
            raise AgreementError("it asks for somebody who is no hop away")
        # One more than the budget: everything is asked for before the rest is taken back.
        known = self._table.knows(neighbour, message.number)
        if not known and self._table.count_of(neighbour) > budget.subscriptions:
            raise AgreementError(f"it asks for more than {budget.subscriptions} subscriptions")
        try:
            entry = self._table.add(neighbour, message.number, message.text, message.hops, merged=message.merged)
        except (ValueError, HeptoxError) as error:
            raise AgreementError(f"it asks for what is no subscription: {error}") from None
        if self._table.held(neighbour) > budget.memory + EVERYTHING_BYTES:
            raise AgreementError(f"its subscriptions take more than {budget.memory} bytes")
        yield from self._refresh((entry,), now)

    def want_no_more(self, neighbour: PeerId, message: Unsubscribe, now: float) -> Outputs:
        """A neighbour wants something no more. Raises :class:`AgreementError`."""
        try:
            entry = self._table.remove(neighbour, message.number)
        except KeyError:
            raise AgreementError("it takes back a subscription that it has not told") from None
        yield from self._refresh((entry,), now)

    # what is wanted here

    def subscribe(self, event: Subscribed, now: float) -> Outputs:
        """There is a local subscription."""
        if event.own:
            self._own_words.numbers[event.number] = None
            for announce in self._routes:
                yield self._translation(announce)
            return
        entry = self._table.add_local(event.number, event.text, event.patterns)
        for digest, numbers in self._interest.items():
            if entry.overlaps(digest, self._advertisements):
                numbers[event.number] = None
        yield from self._refresh((entry,), now)

    def unsubscribe(self, number: int, now: float) -> Outputs:
        """There is a local subscription no more."""
        if number in self._own_words.numbers:
            yield from self._refresh(self._own_words.remove(number), now)
            return
        if self._table.local(number) is None:
            return
        entry = self._table.remove_local(number)
        for numbers in self._interest.values():
            numbers.pop(number, None)
        yield from self._refresh((entry,), now)
        if not self._table.local_numbers:
            yield NoSubscriptions()

    def translate(self, announce: Announce) -> Outputs:
        """Have the subscriptions in own words translated for a publisher, if they are not yet."""
        if not self._own_words.is_settled(announce):
            yield self._translation(announce)

    def _translation(self, announce: Announce) -> Translate:
        task = self._own_words.begin(announce)
        return Translate(task, announce.publisher, announce.feed, announce.path, announce.wording)

    def take_translations(self, event: Translated, now: float) -> Outputs:
        """Want what subscriptions in own words are for a publisher, before what they were is wanted no more."""
        was_translated = self._own_words.is_translated(event.publisher)
        change = self._own_words.take(event)
        if change is not None:
            yield from self._refresh(change.added, now)
            yield from self._refresh(change.removed, now)
            yield TranslationChange(event.publisher, event.available, not was_translated, change.numbers)

    def numbers(self, *, own: bool) -> Iterable[int]:
        """The local subscriptions, those in own words or the others, ascending."""
        return self._own_words.numbers if own else self._table.local_numbers

    def interests(self, route: Announce, *, own: bool) -> dict[int, None]:
        """Those of them that overlap what a publisher has advertised, ascending."""
        if own:
            return self._own_words.interested(route.publisher, route.digest)
        numbers = self._interest.get(route.digest)
        if numbers is None:
            entries = self._table.local_entries
            found = (number for number, entry in entries if entry.overlaps(route.digest, self._advertisements))
            numbers = self._interest[route.digest] = dict.fromkeys(found)
        return numbers

    def entry(self, publisher: PeerId, number: int, *, own: bool) -> Entry | None:
        """What one of them asks a publisher for, if it asks for anything."""
        return self._own_words.entry(publisher, number) if own else self._table.local(number)

    def is_readable(self, publisher: PeerId, *, own: bool) -> bool:
        """Whether it is known what they ask a publisher for; until then everything waits."""
        return not own or self._own_words.is_translated(publisher)

    def countable(self, publisher: PeerId, last: int) -> int:
        """Up to which number subscriptions in own words may count at a publisher, when the last one is ``last``."""
        return self._own_words.countable(publisher, last)

    def concerns(self, route: Announce, number: int) -> bool:
        """Whether a publisher may publish what a local subscription asks for."""
        own = number in self._own_words.numbers
        awaited = own and self._own_words.is_awaited(route.publisher, number)
        return awaited or number in self.interests(route, own=own)

    # what neighbours are sent

    def rearrange(self, publisher: PeerId, now: float) -> Outputs:
        """Want things of the neighbour that a publisher is behind now, and no longer of the one before: our own, and
        those of the neighbours that its documents go to."""
        before, after = self._branches.pop(publisher, None), None
        route = self._routes.followed(publisher)
        if route is not None:
            children = frozenset(self._routes.children(publisher)) - {route.path[0]}
            after = self._branches[publisher] = route.path[0], Branch(route.digest, children)
        if before == after:
            return
        if before and after and before[0] == after[0]:
            yield from self._move(after[0], (after[1],), (before[1],), now)
            return
        if after:
            yield from self._move(after[0], (after[1],), (), now)
        if before:
            yield from self._move(before[0], (), (before[1],), now)

    def _move(self, neighbour: PeerId, added: tuple[Branch, ...], removed: tuple[Branch, ...], now: float) -> Outputs:
        forwarding = self._forwarding.get(neighbour)
        if forwarding is not None:
            yield from self._forward(neighbour, forwarding.publishers(added, removed, self._table), now)

    def _refresh(self, entries: Iterable[Entry], now: float) -> Outputs:
        for entry in entries:
            for neighbour, forwarding in self._forwarding.items():
                yield from self._forward(neighbour, forwarding.refresh(entry), now)

    def _forward(self, neighbour: PeerId, messages: Iterable[Subscribe | Unsubscribe], now: float) -> Outputs:
        forwarding = self._forwarding[neighbour]
        withdrew, everything = forwarding.withdraws, forwarding.everything
        for message in messages:
            yield Send(neighbour, message)
        if withdrew and not forwarding.withdraws:
            yield Note("covering costs messages", {"neighbour": neighbour})
        if forwarding.everything and not everything:
            yield Note("everything is wanted", {"neighbour": neighbour, "subscriptions": forwarding.members})
        if self._method.merging and not forwarding.is_merged and neighbour not in self._merges:
            self._merges[neighbour] = now + MERGED_AFTER
            yield Wake(now + MERGED_AFTER)

    def tick(self, now: float) -> Outputs:
        """Merge what is to be merged by now, and go on with what lost neighbours wanted."""
        yield from self._see_to_lost(now)
        for neighbour, forwarding in self._forwarding.items():
            if self._merges.get(neighbour, inf) <= now:
                yield from self._forward(neighbour, forwarding.merge(), now)
                del self._merges[neighbour]

    # what is gone

    def forget(self, digests: Iterable[str]) -> None:
        """Nothing is known of these advertisements any more."""
        for digest in digests:
            self._interest.pop(digest, None)
            self._own_words.forget(digest)

    def leave(self, publisher: PeerId, now: float) -> Outputs:
        """A publisher is gone."""
        self.documents.leave(publisher)
        yield from self._refresh(self._own_words.leave(publisher), now)

    def seen(self) -> Iterator[NeighbourStatus]:
        """The neighbours, with what is wanted of each."""
        for name, forwarding in self._forwarding.items():
            wants, members, sent = self._table.count_of(name), forwarding.members, forwarding.subscribed
            yield NeighbourStatus(name, wants, members, sent, forwarding.everything, forwarding.withdraws)
