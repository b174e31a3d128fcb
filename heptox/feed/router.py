"""A broker's decisions about feeds, without I/O: :meth:`Router.handle` takes an event and the time, and returns
instructions.

Publishers are announced, and each one's documents come down the tree of the shortest routes to it
(:mod:`heptox.feed.routes`). Subscriptions go up the trees of those publishers that they overlap
(:mod:`~heptox.feed.forwarding`). A subscription counts at a publisher from the moment that the publisher
has confirmed it: what is published before does not come, and what is published after comes, whatever happens in
between, as long as it is kept there (:mod:`~heptox.feed.receiving`).

Source: section 3 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks", whose
overlay is one tree that never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from heptox.errors import HeptoxError
from heptox.feed.advertisements import Advertisements, Conforming
from heptox.feed.events import (
    Acknowledged,
    Acquaintances,
    Agreed,
    Break,
    Distrusted,
    Event,
    Fetch,
    Fetched,
    Forged,
    Instruction,
    Keep,
    KeepDistrusted,
    LinkDown,
    LinkUp,
    Note,
    NotFetched,
    NotStored,
    Published,
    Publishes,
    Reached,
    Received,
    Record,
    Recorded,
    Send,
    Store,
    Stored,
    Subscribed,
    Tick,
    Translate,
    Translated,
    Unsubscribed,
    Wake,
)
from heptox.feed.forwarding import Forwarding, Method, Way
from heptox.feed.holding import advertisement_bytes, announcement_bytes, subscription_bytes
from heptox.feed.messages import (
    ANYTHING,
    MOST_HOPS,
    NO_MAPPING,
    Announce,
    Budget,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Hello,
    Matched,
    Message,
    PeerId,
    Publish,
    Replay,
    Subscribe,
    Unsubscribe,
    Withdraw,
    Wording,
)
from heptox.feed.own_words import OwnWords
from heptox.feed.questions import Questions, untrue, wants_of
from heptox.feed.receiving import AUDITED_EVERY, WAITING, Reception, Request
from heptox.feed.routes import Routes, Turn
from heptox.feed.table import EVERYTHING, Entry, PublicationTable, read_patterns
from heptox.grammar import parse_subscription
from heptox.matching import Matcher
from heptox.routing import Advertisement, Conformity, digest as digest_of

CHECKED_EVERY: Final = 300.0
"""Seconds after which a subscriber asks a publisher whether it has everything, though nothing has changed."""
NEWS: Final = 60.0
"""Seconds in which the first announcement of a feed is news for a neighbour that there is a link to only now."""
GATHERED: Final = 0.1
"""Seconds between two questions to a publisher whether it confirms new subscriptions."""
MERGED_AFTER: Final = 1.0
"""Seconds after a change before what a neighbour is told is merged again."""
MOST_RECEPTIONS: Final = 20_000
"""Feeds of which it is known how far this peer is; beyond, those are forgotten that were not reached for longest."""
MOST_FORKED: Final = 1000
"""Publishers of which it is known that they have signed two feeds; the oldest are forgotten where there are more."""
EVERYTHING_BYTES: Final = subscription_bytes(parse_subscription(EVERYTHING))
FULL: Final = Method()
STANDARD: Final = Budget()
CONFIRMED_FOR: Final = 86400.0
"""Seconds after which it is looked at on the disk again that a subscriber was confirmed: who is seen is not forgotten
there."""
MISSING: Final = "its publisher does not keep them any more, or withholds them"
MOST_CONFIRMED: Final = 10_000
"""Subscribers of which it need not be looked at, at most."""


@dataclass(frozen=True, slots=True)
class Following:
    """Which publishers are followed, so that what is wanted here is asked of them: those that are ``named``, and
    acquaintances; with ``advertised`` also those that say what they publish, with ``anything`` all others, too."""

    advertised: bool = True
    anything: bool = True
    named: frozenset[PeerId] = frozenset()

    def allows(self, announce: Announce, acquaintances: Container[PeerId]) -> bool:
        """Whether the publisher of an announcement is followed."""
        if announce.publisher in self.named or announce.publisher in acquaintances:
            return True
        return self.anything if announce.digest == ANYTHING else self.advertised


EVERYBODY: Final = Following()


@dataclass(slots=True)
class _Link:
    """A neighbour; ``told`` has the announcements that it was sent, ``sent`` the advertisements with them: how many of
    these name each, and how many bytes it holds for it; ``held`` is how many for all. ``merging`` is when what it is
    told is to be merged again."""

    neighbour: PeerId
    forwarding: Forwarding
    greeted: bool = False
    told: dict[PeerId, tuple[str, int]] = field(default_factory=dict)
    sent: dict[str, tuple[int, int]] = field(default_factory=dict)
    held: int = 0
    merging: float | None = None

    def tell(self, announce: Announce, size: int) -> bool:
        """Count an announcement, in the place of the one before, and its advertisement, of so many bytes if it was not
        sent; ``False`` where the neighbour does not keep so much: it knows the publisher no longer."""
        self.leave(announce.publisher)
        digest, own = announce.digest, announcement_bytes(announce)
        names, size = self.sent.get(digest, (0, size))
        budget, more = self.forwarding.budget, own + (0 if names else size)
        if len(self.told) >= budget.publishers or self.held + more > budget.memory:
            return False
        self.told[announce.publisher] = digest, own
        self.sent[digest] = names + 1, size
        self.held += more
        return True

    def leave(self, publisher: PeerId) -> None:
        """It knows a publisher no longer."""
        if publisher not in self.told:
            return
        digest, own = self.told.pop(publisher)
        names, size = self.sent.pop(digest)
        if names > 1:
            self.sent[digest] = names - 1, size
        self.held -= own + (0 if names > 1 else size)


@dataclass(frozen=True, slots=True)
class _Served:
    """What a question is answered with, once that is recorded."""

    asked: CatchUp
    fetched: Fetched
    complete: bool


@dataclass(frozen=True, slots=True)
class PublisherSeen:
    """A publisher as this peer sees it: ``path`` from a neighbour to it, the ``digest`` of its advertisement, how many
    local subscriptions overlap that, up to which ``position`` documents have come, whether all that follows comes
    down the tree, and the ``version`` of the announcement and the ``wording`` that it tells. The publisher has signed
    that up to the position ``audited`` everything has come."""

    publisher: PeerId
    path: tuple[PeerId, ...]
    digest: str
    interested: int
    position: int | None
    live: bool
    version: int
    wording: Wording
    audited: int | None


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is held against a ``neighbour``, about the feed of a ``publisher``: it is not honest (``distrusted``), or
    does not answer. A publisher that says different things to others is its own neighbour."""

    neighbour: PeerId
    publisher: PeerId
    reason: str
    distrusted: bool


@dataclass(frozen=True, slots=True)
class NeighbourSeen:
    """A neighbour: how many subscriptions it has told (``wants``), how many of ours concern it (``members``), how many
    of these it was ``told``, whether it was told that ``everything`` is wanted, and whether what is covered later is
    taken back (``withdraws``)."""

    neighbour: PeerId
    wants: int
    members: int
    told: int
    everything: bool
    withdraws: bool


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a neighbour gets a document, or does not: whether the publisher's tree leads there, and what it asks for."""

    neighbour: PeerId
    is_child: bool
    subscriptions: tuple[str, ...]

    @property
    def gets(self) -> bool:
        """Whether it gets the document."""
        return self.is_child and bool(self.subscriptions)


class _AgreementError(Exception):
    """A neighbour does not keep to what is agreed."""


class Router:
    """One broker. Times are seconds of one monotonic clock, whichever the caller uses.

    ``matcher`` is an empty one, for what neighbours want; ``budget`` is what each of them may ask this peer to keep.
    ``conformity`` makes what says of a document why it is not as advertised, if it is not: it goes no further then.
    ``following`` says which publishers are followed. Questions have numbers from ``first_request`` on, which should be
    drawn by chance: the answer to a question of before must not be one to a question of now.

    All that comes of others is taken for signed: a :class:`~heptox.feed.Gate` sees to that.

    >>> from heptox.matching import MemoryMatcher
    >>> from heptox.grammar import parse_subscription
    >>> router = Router("b", MemoryMatcher())
    >>> events = (
    ...     LinkUp("a"), Subscribed(1, "//x", parse_subscription("//x")), Received("a", Hello()),
    ...     Received("a", Announce("a", "feed", 1, 0, ("a",))),
    ... )
    >>> for instruction in [one for event in events for one in router.handle(event, 0.0)]:
    ...     print(type(instruction.message).__name__ if isinstance(instruction, Send) else instruction)
    Hello
    Subscribe
    Announce
    CatchUp
    Wake(at=10.0)
    """

    def __init__(
        self,
        peer: PeerId,
        matcher: Matcher,
        method: Method = FULL,
        budget: Budget = STANDARD,
        conformity: Callable[[Advertisement], Conforming] = Conformity,
        following: Following = EVERYBODY,
        first_request: int = 1,
    ) -> None:
        self.peer = peer
        self._following = following
        self._acquaintances: frozenset[PeerId] = frozenset()
        self._questions = Questions()
        self._forks: dict[PeerId, str] = {}
        self.method = method
        self._budget = budget
        self._table = PublicationTable(matcher)
        self._routes = Routes(peer, self._follows)
        self._links: dict[PeerId, _Link] = {}
        self._advertisements = Advertisements(conformity)
        self._ways: dict[PeerId, tuple[PeerId, Way]] = {}
        self._interest: dict[str, dict[int, None]] = {}
        self._own_words = OwnWords(self._table, self._advertisements)
        self._receptions: dict[tuple[PeerId, bool], Reception] = {}
        self._agreed: dict[PeerId, str] = {}
        self._passed: dict[PeerId, tuple[str, int]] = {}
        self.refused = 0
        """How many documents were refused, of all publishers."""
        self._own: Publishes | None = None
        self._own_digest = ANYTHING
        self._own_since = 0
        self._news_since = 0
        self._news_until = 0.0
        self._news_for: frozenset[PeerId] = frozenset()
        self._confirmed: dict[tuple[PeerId, PeerId], float] = {}
        self._fetching: dict[int, tuple[CatchUp, Fetch]] = {}
        self._serving: dict[int, _Served] = {}
        self._last_number = 0
        self._last_request = first_request - 1
        self._last_task = 0
        self._now = 0.0
        self._out: list[Instruction] = []

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """Take in one event and say what to do about it, in order. Events about what is over are ignored."""
        self._now = max(now, self._now)
        match event:
            case LinkUp():
                self._link_up(event.neighbour)
            case LinkDown():
                self._link_down(event.neighbour)
            case Acquaintances():
                self._acquainted(event.peers)
            case Forged():
                self._accuse(event.neighbour, event.publisher, event.reason)
            case Distrusted():
                self._turned(self._routes.distrust(event.neighbour, event.publisher, event.reason, self._now))
            case Agreed():
                self._agree(event)
            case Received():
                self._received(event.neighbour, event.message)
            case Publishes():
                self._publishes(event)
            case Published():
                self._published(event.document)
            case Subscribed():
                self._subscribed(event)
            case Unsubscribed():
                self._unsubscribed(event.number)
            case Translated():
                self._translated(event)
            case Reached():
                self._receptions[event.publisher, event.own] = Reception(
                    event.publisher, event.feed, event.position, event.number, own=event.own, is_kept=True
                )
            case Stored():
                self._stored(event)
            case NotStored():
                self._not_stored(event)
            case Acknowledged():
                self._acknowledged()
            case Fetched():
                self._fetched(event)
            case NotFetched():
                self._fetching.pop(event.task, None)
                self._serving.pop(event.task, None)
            case Recorded():
                self._recorded(event.task)
            case Tick():
                self._tick()
        out, self._out = tuple(self._out), []
        return out

    def prepare(self, event: Event) -> None:
        """Do beforehand what is costly about an event, which :meth:`handle` then does not. May be called in another
        thread."""
        match event:
            case Received(message=Announce() as announce):
                _ = announce.overlaps
            case Received(message=Subscribe() as wanted):
                with suppress(HeptoxError):  # which is raised again where it is asked for
                    read_patterns(wanted.text)
            case Received(message=Publish(document=document)) | Published(document=document):
                self._examine(document)
            case Received(message=Replay() as replay) if len(replay.route) == 1:
                self._examine(replay.document)

    def _examine(self, document: FeedDocument) -> None:
        try:
            _, parsed = document.digest, document.parsed
        except HeptoxError:  # which is raised again for whoever asks
            return
        route = self._routes.followed(document.publisher)
        conforming = self._advertisements.conforming(route.digest) if route and len(route.path) == 1 else None
        if route is not None and conforming is not None:
            document.misfits[route.digest] = conforming.first_misfit(parsed)
        document.examined(self._table.match(parsed))

    # -- links -------------------------------------------------------------------------------------------------------

    def _link_up(self, neighbour: PeerId) -> None:
        if neighbour in self._links:
            self._link_down(neighbour)
        link = self._links[neighbour] = _Link(neighbour, self._forwarding(neighbour))
        self._send(neighbour, Hello(self._budget))
        self._announce_all(link)

    def _forwarding(self, neighbour: PeerId) -> Forwarding:
        return Forwarding(neighbour, self.method, self._advertisements)

    def _agree(self, event: Agreed) -> None:
        """Tell a neighbour of the mapping that is agreed on with it from now on."""
        before = self._agreed.get(event.neighbour, NO_MAPPING)
        self._agreed[event.neighbour] = event.mapping
        if event.mapping == NO_MAPPING:
            del self._agreed[event.neighbour]
        link = self._links.get(event.neighbour)
        if link is not None and before != event.mapping:
            self._announce_all(link)

    def _announce_all(self, link: _Link) -> None:
        for announce in self._followed():
            is_news = self._now < self._news_until and link.neighbour in self._news_for
            if announce.publisher == self.peer and is_news:
                self._announce(link, replace(announce, position=self._news_since), news=True)
            else:
                self._announce(link, announce, news=False)

    def _followed(self) -> Iterator[Announce]:
        """The routes that are announced, as they are followed here; the own feed has an empty path."""
        if self._own is not None:
            own = self._own
            yield Announce(
                self.peer, own.feed, own.version, own.position, (), self._own_digest, own.advertisement,
                wording=Wording(own.schema, own.written_since),
            )  # fmt: skip
        yield from self._routes

    def _link_down(self, neighbour: PeerId) -> None:
        link = self._links.pop(neighbour, None)
        if link is None:
            return
        lost, announced = self._table.lose(neighbour), self._routes.publishers(neighbour)
        self._questions.lose(neighbour)
        fed = [publisher for publisher, (_, way) in self._ways.items() if neighbour in way.children]
        self._turned(self._routes.lose(neighbour, self._now))
        for publisher in fed:
            self._rearrange(publisher)
        self._refresh(lost)
        self._forget((ANYTHING, *self._advertisements.keep(neighbour, ())))
        self._fetching = {task: one for task, one in self._fetching.items() if one[0].route[-1] != neighbour}
        for publisher in announced:
            self._leave(publisher)

    def _leave(self, publisher: PeerId) -> None:
        """Forget what was known of a publisher that no neighbour announces any more, but for how far its feed was
        read."""
        if self._routes.is_offered(publisher):
            return
        self._passed.pop(publisher, None)
        self._refresh(self._own_words.leave(publisher))
        for own in (False, True):
            reception = self._receptions.get((publisher, own))
            if reception is not None and not self._counts_anything(reception):
                del self._receptions[publisher, own]
        if len(self._receptions) > MOST_RECEPTIONS:
            gone = (key for key in self._receptions if not self._routes.is_offered(key[0]))
            if (oldest := next(gone, None)) is not None:
                del self._receptions[oldest]

    def _counts_anything(self, reception: Reception) -> bool:
        """Whether some local subscription counts at a publisher."""
        numbers = self._own_words.numbers if reception.own else self._table.local_numbers
        return reception.position is not None and next(iter(numbers), inf) <= reception.number

    def _break(self, neighbour: PeerId, reason: str) -> None:
        self._link_down(neighbour)
        self._out.append(Break(neighbour, reason))
        self._note("link broken", neighbour=neighbour, reason=reason)

    def _received(self, neighbour: PeerId, message: Message) -> None:
        link = self._links.get(neighbour)
        if link is None:
            return
        try:
            self._take(link, message)
        except _AgreementError as error:
            self._break(neighbour, str(error))

    def _take(self, link: _Link, message: Message) -> None:
        if isinstance(message, Hello) == link.greeted:
            raise _AgreementError("a link begins with one greeting")
        match message:
            case Hello():
                link.greeted = True
                link.forwarding.budget = message.budget
            case Announce():
                self._offered(link, message)
            case Withdraw():
                self._questions.withdrawn(link.neighbour, message.publisher)
                turn = self._routes.withdraw(link.neighbour, message.publisher, self._now)
                self._turned([turn] if turn else [])
                self._rearrange(message.publisher)
                self._leave(message.publisher)
            case Subscribe():
                self._wanted(link, message)
            case Unsubscribe():
                self._not_wanted(link, message)
            case Publish():
                self._came(link, message.document)
            case CatchUp():
                self._asked(link, message)
            case Replay() | CaughtUp():
                self._answered(link.neighbour, message)

    def _send(self, neighbour: PeerId, message: Message) -> None:
        if neighbour in self._links:
            self._out.append(Send(neighbour, message))

    def _note(self, event: str, **fields: str | int) -> None:
        self._out.append(Note(event, fields))

    # -- trust -------------------------------------------------------------------------------------------------------

    def _follows(self, announce: Announce) -> bool:
        return self._following.allows(announce, self._acquaintances)

    def _acquainted(self, peers: frozenset[PeerId]) -> None:
        """Forget what is held against those that are acquaintances no more, and follow others."""
        blamed = {one.neighbour for one in self.suspicions}
        self._acquaintances = peers
        for neighbour in blamed - peers:
            self._routes.forgive(neighbour)
            self._forks.pop(neighbour, None)
            self._out.append(KeepDistrusted(neighbour))
        self._turned(self._routes.look_again(self._now))

    def _accuse(self, neighbour: PeerId, publisher: PeerId, reason: str) -> None:
        """A neighbour is not honest about the feed of a publisher: nothing of it is taken from there any more."""
        self._note("neighbour distrusted", neighbour=neighbour, publisher=publisher, why=reason)
        if neighbour in self._links and not self._routes.is_distrusted(neighbour, publisher):
            self._out.append(KeepDistrusted(neighbour, Distrusted(neighbour, publisher, reason)))
            self._turned(self._routes.distrust(neighbour, publisher, reason, self._now))

    def _avoid(self, neighbour: PeerId, publisher: PeerId) -> None:
        """A neighbour answers no question to a publisher: another path to it is better, if there is one."""
        if not self._routes.is_silent(neighbour, publisher):
            self._note("neighbour silent", neighbour=neighbour, publisher=publisher)
            for reception in self._receptions_of(publisher):
                reception.live = False
            self._turned(self._routes.avoid(neighbour, publisher, self._now))

    def _forked(self, publisher: PeerId, sequence: int) -> None:
        """A publisher has signed two documents for one position, or has another one before it than it said."""
        if publisher not in self._forks:
            self._forks[publisher] = f"it has signed two feeds that part before document {sequence + 1}"
            self._note("feed forked", publisher=publisher, position=sequence)
            if len(self._forks) > MOST_FORKED:
                del self._forks[next(iter(self._forks))]

    # -- routes ------------------------------------------------------------------------------------------------------

    def _publishes(self, event: Publishes) -> None:
        digest = ANYTHING if event.advertisement is None else digest_of(event.advertisement)
        if self._own is None or digest != self._own_digest:
            self._own_since = 0 if digest == ANYTHING else event.position
        self._own, self._own_digest = event, digest
        own = next(self._followed())
        if event.since is not None:  # nobody has heard of it
            self._news_since, self._news_until = event.since, self._now + NEWS
            # Who becomes an acquaintance later has not been there: what was published before is no news for it.
            self._news_for = frozenset(self._agreed.keys() | self._links.keys())
            own = replace(own, position=event.since)
        else:  # who has heard of the feed would count from its beginning again
            self._news_until = self._now
        for link in self._links.values():
            self._announce(link, own, news=True)

    def _announce(self, link: _Link, announce: Announce, *, news: bool) -> None:
        path, digest = (self.peer, *announce.path), announce.digest
        was_told, new = announce.publisher in link.told, digest != ANYTHING and digest not in link.sent
        advertisement = self._advertisement(announce) if new else None
        if not link.tell(replace(announce, path=path), advertisement_bytes(advertisement) if advertisement else 0):
            self._note("publisher not announced", neighbour=link.neighbour, publisher=announce.publisher)
            if was_told:
                self._send(link.neighbour, Withdraw(announce.publisher))
            return
        wording = announce.wording.behind(self._agreed.get(link.neighbour, NO_MAPPING))
        told = replace(announce, path=path, advertisement=advertisement, news=news, wording=wording)
        self._send(link.neighbour, told)

    def _advertisement(self, announce: Announce) -> Advertisement:
        if announce.advertisement is not None:
            return announce.advertisement
        return self._advertisements[announce.digest].advertisement

    def _offered(self, link: _Link, announce: Announce) -> None:
        path, neighbour = announce.path, link.neighbour
        if path[:1] != (neighbour,) or path[-1] != announce.publisher or len(set(path)) < len(path):
            raise _AgreementError("the path of an announcement does not lead from its sender to its publisher")
        if len(path) > MOST_HOPS:
            raise _AgreementError(f"a path has over {MOST_HOPS} peers")
        if announce.wording.is_known and len(announce.wording.mappings) != len(path):
            raise _AgreementError("an announcement does not tell of one mapping for each peer of its path")
        self._know(link, announce)
        known = self._routes.offered(neighbour, announce.publisher) is not None
        if not known and self._routes.offers(neighbour) >= self._budget.publishers:
            raise _AgreementError(f"over {self._budget.publishers} publishers are announced")
        turn = self._routes.offer(replace(announce, advertisement=None), self._now)
        news = announce.news and turn is not None and turn.after is not None and turn.after.path == path
        self._turned([turn] if turn else [], news=news)
        self._rearrange(announce.publisher)
        self._bound_announced(neighbour)

    def _bound_announced(self, neighbour: PeerId) -> None:
        """Keep within the budget what a neighbour has announced: advertisements that nothing names any more are
        forgotten first."""
        budget, routes = self._budget.memory, self._routes.held(neighbour)
        if routes + self._advertisements.held(neighbour) > budget:
            self._forget(self._advertisements.keep(neighbour, self._routes.digests(neighbour)))
            if routes + self._advertisements.held(neighbour) > budget:
                raise _AgreementError(f"what it announces takes more than {budget} bytes")

    def _forget(self, digests: Iterable[str]) -> None:
        for digest in digests:
            self._interest.pop(digest, None)
            self._own_words.forget(digest)

    def _know(self, link: _Link, announce: Announce) -> None:
        """Learn the advertisement of an announcement, which is sent before it is only named."""
        digest = announce.digest
        if digest == ANYTHING:
            return
        if announce.overlaps is not None:
            self._advertisements.add(link.neighbour, digest, announce.overlaps)
        elif not self._advertisements.knows(link.neighbour, digest):
            raise _AgreementError("an advertisement is named that was not sent")

    def _turned(self, turns: Iterable[Turn], *, news: bool = False) -> None:
        """Follow other routes: move subscriptions, tell all neighbours, and see what was missed."""
        for turn in turns:
            self._rearrange(turn.publisher)
            for link in self._links.values():
                if turn.after is None:
                    link.leave(turn.publisher)
                    self._send(link.neighbour, Withdraw(turn.publisher))
                else:
                    self._announce(link, turn.after, news=news)
            self._interrupted(turn, news=news)
        if (due := self._routes.next_due) is not None:
            self._out.append(Wake(due))

    def _rearrange(self, publisher: PeerId) -> None:
        """Tell subscriptions to the neighbour that a publisher is behind now, and no longer to the one before: our own,
        and those of the neighbours that its documents go to."""
        before, after = self._ways.pop(publisher, None), None
        route = self._routes.followed(publisher)
        if route is not None:
            children = frozenset(self._routes.children(publisher)) - {route.path[0]}
            after = self._ways[publisher] = route.path[0], Way(route.digest, children)
        if before == after:
            return
        if before and after and before[0] == after[0]:
            self._tell_publishers(after[0], (after[1],), (before[1],))
            return
        if after:
            self._tell_publishers(after[0], (after[1],), ())
        if before:
            self._tell_publishers(before[0], (), (before[1],))

    def _tell_publishers(self, neighbour: PeerId, added: tuple[Way, ...], removed: tuple[Way, ...]) -> None:
        link = self._links.get(neighbour)
        if link is not None:
            self._forward(link, link.forwarding.publishers(added, removed, self._table))

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def _forward(self, link: _Link, messages: Iterable[Subscribe | Unsubscribe]) -> None:
        withdrew, everything = link.forwarding.withdraws, link.forwarding.everything
        for message in messages:
            self._send(link.neighbour, message)
        if withdrew and not link.forwarding.withdraws:
            self._note("covering costs messages", neighbour=link.neighbour)
        if link.forwarding.everything and not everything:
            self._note("everything is wanted", neighbour=link.neighbour, subscriptions=link.forwarding.members)
        if self.method.merging and not link.forwarding.is_merged and link.merging is None:
            link.merging = self._now + MERGED_AFTER
            self._out.append(Wake(link.merging))

    def _refresh(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            for link in self._links.values():
                self._forward(link, link.forwarding.refresh(entry))

    def _wanted(self, link: _Link, message: Subscribe) -> None:
        neighbour, budget = link.neighbour, self._budget
        if message.hops < 1:
            raise _AgreementError("it asks for somebody who is no hop away")
        # One more than the budget: everything is asked for before the rest is taken back.
        known = self._table.knows(neighbour, message.number)
        if not known and self._table.told(neighbour) > budget.subscriptions:
            raise _AgreementError(f"it asks for more than {budget.subscriptions} subscriptions")
        try:
            entry = self._table.add(neighbour, message.number, message.text, message.hops, merged=message.merged)
        except (ValueError, HeptoxError) as error:
            raise _AgreementError(f"it asks for what is no subscription: {error}") from None
        if self._table.held(neighbour) > budget.memory + EVERYTHING_BYTES:
            raise _AgreementError(f"its subscriptions take more than {budget.memory} bytes")
        self._refresh((entry,))

    def _not_wanted(self, link: _Link, message: Unsubscribe) -> None:
        try:
            entry = self._table.remove(link.neighbour, message.number)
        except KeyError:
            raise _AgreementError("it takes back a subscription that it has not told") from None
        self._refresh((entry,))

    def _subscribed(self, event: Subscribed) -> None:
        self._last_number = max(self._last_number, event.number)
        if event.own:
            self._subscribed_in_own_words(event.number)
            return
        entry = self._table.add_local(event.number, event.text, event.patterns)
        for digest, numbers in self._interest.items():
            if entry.overlaps(digest, self._advertisements):
                numbers[event.number] = None
        self._refresh((entry,))
        for announce in self._routes:
            if event.number in self._interested(announce.digest):
                self._confirm(self._receptions[announce.publisher, False])

    def _subscribed_in_own_words(self, number: int) -> None:
        self._own_words.numbers[number] = None
        for announce in self._routes:
            self._reception(announce, own=True)
            self._translate(announce)

    def _translate(self, announce: Announce) -> None:
        """Have the subscriptions in own words translated for a publisher."""
        task = self._own_words.begin(announce)
        self._out.append(Translate(task, announce.publisher, announce.feed, announce.path, announce.wording))

    def _translated(self, event: Translated) -> None:
        """Tell what subscriptions in own words come to, before it is taken back what they came to before; then see what
        was missed."""
        was_translated = self._own_words.is_translated(event.publisher)
        changed = self._own_words.take(event)
        if changed is None:
            return
        self._refresh(changed.added)
        self._refresh(changed.removed)
        reception = self._receptions.get((event.publisher, True))
        if reception is None:
            return
        if not event.available:
            reception.interrupt()
        elif not was_translated or any(number <= reception.number for number in changed.numbers):
            reception.interrupt()
            self._ask(reception)
        elif self._is_behind(reception):
            self._confirm(reception)

    def _unsubscribed(self, number: int) -> None:
        if number in self._own_words.numbers:
            self._refresh(self._own_words.remove(number))
            return
        if self._table.local(number) is None:
            return
        entry = self._table.remove_local(number)
        for numbers in self._interest.values():
            numbers.pop(number, None)
        self._refresh((entry,))
        if not self._table.local_numbers:
            for publisher in {key[0] for key in self._receptions}:
                self._leave(publisher)

    def _interested(self, digest: str) -> dict[int, None]:
        """The local subscriptions that overlap an advertisement, ascending."""
        numbers = self._interest.get(digest)
        if numbers is None:
            found = (
                number for number, entry in self._table.local_entries if entry.overlaps(digest, self._advertisements)
            )
            numbers = self._interest[digest] = dict.fromkeys(found)
        return numbers

    # -- documents ---------------------------------------------------------------------------------------------------

    def _published(self, document: FeedDocument) -> None:
        if self._own is None:
            return
        if document.sequence > self._own.position:
            self._own = replace(self._own, position=document.sequence, last=document.digest)
        self._pass_on(document, without=None)

    def _came(self, link: _Link, document: FeedDocument) -> None:
        """A document comes down the tree; what comes from elsewhere, or again, was or will be asked for."""
        route = self._routes.followed(document.publisher)
        if route is None or route.path[0] != link.neighbour or route.feed != document.feed:
            return
        feed, passed = self._passed.get(document.publisher, ("", 0))
        if (feed == document.feed and document.sequence <= passed) or self._refuses(route, document):
            return
        self._passed[document.publisher] = document.feed, document.sequence
        self._pass_on(document, without=link.neighbour)
        for reception in self._receptions_of(document.publisher):
            if document.sequence > (reception.position or 0) and self._fits(document, reception):
                self._store(document, reception)

    def _fits(self, document: FeedDocument, reception: Reception) -> bool:
        """Whether a document is new, and in the chain of what has come."""
        if reception.feed != document.feed:
            return False
        if reception.is_forked(document):
            self._forked(document.publisher, document.sequence)
            return False
        return document.sequence not in reception.came

    def _refuses(self, route: Announce, document: FeedDocument) -> bool:
        """Whether a document is none, or not what its publisher, a neighbour, has advertised."""
        why = None
        try:
            is_direct = len(route.path) == 1 and route.digest != ANYTHING and document.sequence > route.position
            if document.matched(self._table) is None or (is_direct and route.digest not in document.misfits):
                self._examine(document)
                _ = document.parsed
            if is_direct:
                why = document.misfits[route.digest]
        except HeptoxError as error:
            why = str(error)
        if why is None:
            return False
        self.refused += 1
        publisher, name, position = document.publisher, document.name, document.sequence
        self._note("document refused", publisher=publisher, document=name, position=position, why=why)
        return True

    def _pass_on(self, document: FeedDocument, without: PeerId | None) -> None:
        children = [child for child in self._routes.children(document.publisher) if child != without]
        for neighbour in self._table.wanted_by(self._matched(document), children) if children else ():
            self._send(neighbour, Publish(document))

    def _matched(self, document: FeedDocument) -> Matched:
        return document.matched(self._table) or self._table.match(document.parsed)

    def _store(self, document: FeedDocument, reception: Reception | None) -> None:
        if reception is None or reception.feed != document.feed or not self._awaits(reception):
            return
        reception.storing.add(document.sequence)
        reception.take(document)
        self._out.append(Store(document, reception.number_at(document.sequence), reception.own))
        if reception.live and reception.request is None and len(reception.came) >= AUDITED_EVERY:
            self._ask(reception)

    def _receptions_of(self, publisher: PeerId) -> Iterator[Reception]:
        for own in (False, True):
            reception = self._receptions.get((publisher, own))
            if reception is not None:
                yield reception

    def _reception(self, route: Announce, *, own: bool) -> Reception:
        """How far this peer is with the feed that is announced; it begins where nothing is known of it."""
        key = (route.publisher, own)
        reception = self._receptions.get(key)
        if reception is None:
            reception = self._receptions[key] = Reception(route.publisher, route.feed, own=own)
        elif reception.feed != route.feed:
            reception = self._receptions[key] = reception.begun_anew(route.feed)
        return reception

    def _interests(self, route: Announce, reception: Reception) -> dict[int, None]:
        """The local subscriptions that a reception is about and that overlap what is advertised, ascending."""
        if reception.own:
            return self._own_words.interested(route.publisher, route.digest)
        return self._interested(route.digest)

    def _awaits(self, reception: Reception) -> bool:
        """Whether a local subscription counts at a publisher already, and documents may come that it matches."""
        route = self._routes.followed(reception.publisher)
        if route is None or not self._is_readable(reception):
            return False
        first = next(iter(self._interests(route, reception)), None)
        return (first is not None and first <= reception.number) or self._awaits_earlier(reception, route)

    def _is_readable(self, reception: Reception) -> bool:
        """Whether it is known what the subscriptions come to; until then everything waits."""
        return not reception.own or self._own_words.is_translated(reception.publisher)

    def _awaits_earlier(self, reception: Reception, route: Announce) -> bool:
        """Whether what was published before the announcement is awaited, which may be of another advertisement."""
        numbers = self._own_words.numbers if reception.own else self._table.local_numbers
        first = next(iter(numbers), None)
        awaits = first is not None and first <= reception.number
        return awaits and reception.position is not None and reception.position < route.position

    # -- catching up: the subscriber ---------------------------------------------------------------------------------

    def _interrupted(self, turn: Turn, *, news: bool) -> None:
        """The route to a publisher has changed: what was sent on the old one may be lost."""
        after = turn.after
        for reception in self._receptions_of(turn.publisher):
            reception.interrupt()
        if after is None:
            return
        # Of what was heard of in the life before it is not known what was said there.
        is_new = after.version > turn.newest and (turn.newest or not self._is_kept(turn.publisher))
        kinds = (False, True) if self._own_words.numbers else (False,)
        for reception in [self._reception(after, own=own) for own in kinds]:
            if news and is_new:  # what it publishes from now on all were there for
                reception.count(self._last_number, after.position)
            if reception.own and not self._own_words.is_settled(after):
                self._translate(after)
            self._ask(reception)

    def _is_kept(self, publisher: PeerId) -> bool:
        """Whether it is on the disk that there is a publisher."""
        return any(one.is_kept for one in self._receptions_of(publisher))

    def _confirm(self, reception: Reception) -> None:
        """Have new subscriptions confirmed, behind what is asked for already, those together that come soon after each
        other."""
        if reception.request is None:
            due = reception.asked + GATHERED
            if due <= self._now:
                self._ask(reception)
            else:
                self._out.append(Wake(due))

    def _ask(self, reception: Reception) -> None:
        """Ask for what has been missed, or only where the feed is now, where nothing counts yet."""
        route = self._routes.followed(reception.publisher)
        awaits = self._awaits(reception)
        reception.request = None
        if route is None or not self._is_readable(reception):
            return
        if not (awaits or self._interests(route, reception)):
            return
        if not reception.is_kept:  # its news shall not count again after the next start
            reception.count(reception.number, route.position)
            self._keep(reception)
        since = reception.position if awaits else None
        self._last_request += 1
        again = self._now + reception.patience
        reception.asked = self._now
        number = self._last_number
        if reception.own:
            number = max(reception.number, self._own_words.countable(reception.publisher, number))
        question = CatchUp(reception.publisher, reception.feed, since, self._last_request, (self.peer,))
        if since is not None:
            wants = wants_of(self._counting(route, reception))
            question = replace(question, wants=wants, has=tuple(sorted(reception.came)))
        neighbour = route.path[0]
        reception.request = Request(self._last_request, number, again, neighbour, since, question.digest)
        self._send(neighbour, question)
        self._out.append(Wake(again))

    def _counting(self, route: Announce, reception: Reception) -> Iterator[Entry]:
        """The subscriptions of a reception that count at the publisher."""
        for number in self._interests(route, reception):
            if number <= reception.number:
                entry = self._entry(number, reception)
                if entry is not None:
                    yield entry

    def _entry(self, number: int, reception: Reception) -> Entry | None:
        if reception.own:
            return self._own_words.entry(reception.publisher, number)
        return self._table.local(number)

    def _answered(self, neighbour: PeerId, message: Replay | CaughtUp) -> None:
        """Hand on, or take, what a publisher sends to one subscriber."""
        route = message.route
        if not route or route[-1] != self.peer:
            raise _AgreementError("what was asked for has gone astray")
        if len(route) > 1:
            self._pass_back(neighbour, message)
        elif isinstance(message, Replay):
            self._replayed(neighbour, message)
        else:
            self._caught_up(neighbour, message)

    def _pass_back(self, neighbour: PeerId, message: Replay | CaughtUp) -> None:
        """Hand on what was asked for through here, if it is all that its publisher has signed."""
        passed_on = replace(message, route=message.route[:-1])
        if isinstance(message, Replay):
            if self._questions.came(neighbour, message):
                self._send(message.route[-2], passed_on)
        elif self._questions.answered(neighbour, message):
            why = self._questions.close(message)
            if why is None:
                self._send(message.route[-2], passed_on)
            else:
                self._accuse(neighbour, message.publisher, why)

    def _replayed(self, neighbour: PeerId, message: Replay) -> None:
        document = message.document
        reception, route = self._asking(document.publisher, message.request), self._routes.followed(document.publisher)
        if reception is None or reception.request is None or reception.request.neighbour != neighbour or route is None:
            return
        if document.sequence <= (reception.request.since or 0) or not self._fits(document, reception):
            return
        reception.take(document)
        if not self._refuses(route, document):
            self._store(document, reception)

    def _asking(self, publisher: PeerId, request: int) -> Reception | None:
        """Whose request is under way by that number."""
        for reception in self._receptions_of(publisher):
            if reception.request is not None and reception.request.request == request:
                return reception
        return None

    def _caught_up(self, neighbour: PeerId, answer: CaughtUp) -> None:
        reception = self._asking(answer.publisher, answer.request)
        request = reception.request if reception is not None else None
        if reception is None or request is None or request.neighbour != neighbour:
            return
        why = untrue(answer, request.question, reception.came)
        if why is not None:
            self._accuse(neighbour, answer.publisher, why)
            return
        if reception.contradicts(answer):
            self._forked(answer.publisher, answer.position)
        reception.answered(answer, request)
        self._settle(reception)

    def _settle(self, reception: Reception) -> None:
        answer = reception.settled(self._now)
        if answer is None:
            return
        if answer.missing:
            publisher, missing = reception.publisher, answer.missing
            self._note(
                "documents missing", publisher=publisher, documents=missing, position=answer.position, why=MISSING
            )  # fmt: skip
        self._keep(reception)
        if not answer.complete:
            self._ask(reception)
        elif self._is_behind(reception):
            self._confirm(reception)
        else:
            self._out.append(Wake(self._now + CHECKED_EVERY))

    def _is_behind(self, reception: Reception) -> bool:
        """Whether a publisher that can be reached has not confirmed a local subscription."""
        route = self._routes.followed(reception.publisher)
        last = None if route is None else next(reversed(self._interests(route, reception)), None)
        return last is not None and last > reception.number

    def _keep(self, reception: Reception) -> None:
        if reception.position is not None:
            reception.is_kept = True
            place = (reception.publisher, reception.feed, reception.position)
            self._out.append(Keep(Reached(*place, reception.number_at(reception.position + 1), reception.own)))

    def _stored(self, event: Stored) -> None:
        reception = self._receptions.get((event.publisher, event.own))
        if reception is None or reception.feed != event.feed:
            return
        reception.stored(event.sequence)
        self._settle(reception)

    def _not_stored(self, event: NotStored) -> None:
        reception = self._receptions.get((event.publisher, event.own))
        if reception is None or reception.feed != event.feed:
            return
        reception.drop(event.sequence)
        if reception.waits:  # for another document: they are asked for together
            return
        reception.interrupt()
        again = self._now + reception.patience
        reception.failures += 1
        reception.request = Request(WAITING, reception.number, again)
        self._out.append(Wake(again))
        self._note("document waits", publisher=event.publisher, position=event.sequence, why=event.reason)

    def _acknowledged(self) -> None:
        """Ask for what was not stored no later than if it had not been for the first time."""
        for reception in self._receptions.values():
            if reception.waits and reception.request is not None:
                reception.failures = 0
                reception.request.again = min(reception.request.again, self._now + reception.patience)
                self._out.append(Wake(reception.request.again))

    def _tick(self) -> None:
        self._turned(self._routes.due(self._now))
        for link in self._links.values():
            if link.merging is not None and link.merging <= self._now:
                self._forward(link, link.forwarding.merge())
                link.merging = None
        for reception in self._receptions.values():
            request = reception.request
            if request is not None and request.again <= self._now:
                self._ask_again(reception, request)
            elif request is None and self._is_behind(reception):
                self._confirm(reception)
            elif request is None and reception.live and reception.checked + CHECKED_EVERY <= self._now:
                self._ask(reception)

    def _ask_again(self, reception: Reception, request: Request) -> None:
        if request.request != WAITING:
            reception.failures += 1
            reception.unanswered.append(request.neighbour)
            if reception.is_unanswered:
                self._avoid(request.neighbour, reception.publisher)
        self._ask(reception)

    # -- catching up: the publisher and those between ----------------------------------------------------------------

    def _asked(self, link: _Link, message: CatchUp) -> None:
        route = message.route
        if not route or route[-1] != link.neighbour or self.peer in route or len(set(route)) < len(route):
            raise _AgreementError("the route of a request does not lead to this peer")
        if message.publisher == self.peer:
            # A subscriber that is a neighbour asks by itself: others could have what it has a right to, in its name.
            if len(route) == 1 or route[0] not in self._links:
                self._ask_log(message)
            return
        followed = self._routes.followed(message.publisher)
        if followed is not None and followed.path[0] not in route and len(route) < MOST_HOPS:
            neighbour = followed.path[0]
            if self._questions.pass_on(message, neighbour, self._now):
                self._send(neighbour, replace(message, route=(*route, self.peer)))
            if self._questions.is_silent(neighbour, message.publisher, self._now):
                self._avoid(neighbour, message.publisher)

    def _ask_log(self, message: CatchUp) -> None:
        own = self._own
        if own is None or own.feed != message.feed:
            return
        since = own.position if message.since is None else min(message.since, own.position)
        has = frozenset(one for one in message.has if since < one <= own.position)
        if since + len(has) >= own.position and self._is_confirmed(message):
            self._tell_caught_up(message, own.position, own.last, complete=True)
            return
        self._last_task += 1
        fetch = Fetch(self._last_task, since, own.position, message.route, message.wants, has, self._own_since)
        self._fetching[self._last_task] = message, fetch
        self._out.append(fetch)

    def _is_confirmed(self, message: CatchUp) -> bool:
        """Whether it was on the disk lately that a subscriber was confirmed."""
        found = self._confirmed.get((message.route[0], message.route[-1]))
        return found is not None and self._now < found + CONFIRMED_FOR

    def _fetched(self, event: Fetched) -> None:
        """Have it recorded what is sent."""
        asked, fetch = self._fetching.pop(event.task, (None, None))
        if asked is None or fetch is None:
            return
        if len(self._confirmed) >= MOST_CONFIRMED:
            self._confirmed.clear()
        self._confirmed[asked.route[0], asked.route[-1]] = self._now
        if event.position == fetch.since:  # there was nothing to send; by now there may be
            self._ask_log(asked)
            return
        self._serving[event.task] = _Served(asked, event, complete=event.position >= fetch.upto)
        self._out.append(Record(event, fetch.since, tuple(one.sequence for one in event.documents), asked.route))

    def _recorded(self, task: int) -> None:
        """Send what was to be recorded before."""
        served = self._serving.pop(task, None)
        if served is None:
            return
        asked, fetched = served.asked, served.fetched
        for document in fetched.documents:
            self._send(asked.route[-1], Replay(document, asked.request, asked.route))
        sent = tuple(document.sequence for document in fetched.documents)
        self._tell_caught_up(
            asked, fetched.position, fetched.last, sent, complete=served.complete, missing=fetched.lacking
        )

    def _tell_caught_up(
        self,
        asked: CatchUp,
        position: int,
        last: bytes,
        sent: tuple[int, ...] = (),
        *,
        complete: bool,
        missing: int = 0,
    ) -> None:
        place = (asked.publisher, asked.feed, asked.request, position, complete, missing, asked.route)
        self._send(asked.route[-1], CaughtUp(*place, sent, last, asked.digest))

    # -- looking -----------------------------------------------------------------------------------------------------

    @property
    def publishers(self) -> tuple[PublisherSeen, ...]:
        """The publishers that can be reached."""
        found = []
        for route in self._routes:
            plain = self._receptions.get((route.publisher, False))
            receptions = [one for one in self._receptions_of(route.publisher) if self._interests(route, one)]
            shown = receptions or ([plain] if plain else [])
            audited = [one.position for one in shown if one.position is not None]
            positions = [max((one.position, *one.came)) for one in shown if one.position is not None]
            found.append(
                PublisherSeen(
                    route.publisher,
                    route.path,
                    route.digest,
                    sum(len(self._interests(route, one)) for one in receptions),
                    min(positions, default=None),
                    bool(shown) and all(one.live for one in shown),
                    route.version,
                    route.wording,
                    min(audited, default=None),
                )
            )
        return tuple(found)

    @property
    def neighbours(self) -> tuple[NeighbourSeen, ...]:
        """The neighbours that there is a link to."""
        return tuple(
            NeighbourSeen(
                name,
                self._table.told(name),
                link.forwarding.members,
                link.forwarding.told,
                link.forwarding.everything,
                link.forwarding.withdraws,
            )
            for name, link in self._links.items()
        )

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        """What is held against neighbours, and publishers."""
        found = [Suspicion(*one, distrusted=True) for one in self._routes.distrusted]
        found += [Suspicion(publisher, publisher, why, distrusted=True) for publisher, why in self._forks.items()]
        silent = "it answers no question to the publisher"
        return (*found, *(Suspicion(*one, silent, distrusted=False) for one in self._routes.silent))

    @property
    def unfollowed(self) -> tuple[PeerId, ...]:
        """The publishers that are announced and, as it is set, not followed."""
        return self._routes.unfollowed

    @property
    def waits(self) -> bool:
        """Whether there are documents that were not stored, and are to be asked for again."""
        return any(reception.waits for reception in self._receptions.values())

    @property
    def unreached(self) -> tuple[PeerId, ...]:
        """The publishers of which this peer has had documents, or a confirmation, and that cannot be reached now."""
        known = dict.fromkeys(one.publisher for one in self._receptions.values() if one.position is not None)
        return tuple(publisher for publisher in known if self._routes.followed(publisher) is None)

    def way(self, publisher: PeerId) -> tuple[PeerId, ...]:
        """The path from a neighbour to a publisher; empty where it is not reached."""
        route = self._routes.followed(publisher)
        return route.path if route is not None else ()

    def unconfirmed(self, number: int) -> tuple[PeerId, ...]:
        """The publishers that can be reached, may publish what a local subscription asks for, and have not confirmed it
        yet."""
        return tuple(publisher for publisher in self.concerned(number) if not self.counts(publisher, number))

    def concerned(self, number: int) -> tuple[PeerId, ...]:
        """The publishers that can be reached, and may publish what a local subscription asks for."""
        return tuple(route.publisher for route in self._routes if self._concerns(route, number))

    def _concerns(self, route: Announce, number: int) -> bool:
        if number not in self._own_words.numbers:
            return number in self._interested(route.digest)
        publisher = route.publisher
        return self._own_words.is_awaited(publisher, number) or number in self._own_words.interested(
            publisher, route.digest
        )

    def counts(self, publisher: PeerId, number: int) -> bool:
        """Whether a publisher has confirmed a local subscription, and all that it asks for comes down the tree."""
        reception = self._receptions.get((publisher, number in self._own_words.numbers))
        return reception is not None and reception.live and number <= reception.number

    def explain(self, document: FeedDocument) -> tuple[Explained, ...]:
        """For each neighbour, whether a document goes there, and why: the subscriptions that it matches. Raises as
        :attr:`FeedDocument.parsed`."""
        matching = list(self._table.matching(self._matched(document)))
        found = []
        for name in self._links:
            texts = tuple(entry.text for entry in matching if name in entry.neighbours)
            found.append(Explained(name, self._routes.is_child(name, document.publisher), texts))
        return tuple(found)
