"""Brokers that are emulated in one process, on a virtual clock: what is delivered, and what it takes.

Each runs the decisions of a deployed one (:class:`heptox.feed.Router`). Links deliver in order, after
delays that are drawn; who is killed loses what was not on the disk, and a link that is cut what was under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, TypeAlias

from benchmarks.routing.methods import PaperRouter
from heptox.feed import (
    NEWS,
    NO_MAPPING,
    Agreed,
    Break,
    Budget,
    Distrusted,
    Event,
    FeedDocument,
    Fetch,
    Fetched,
    Forged,
    Gate,
    Instruction,
    InWords,
    Keep,
    KeepDistrusted,
    LinkDown,
    LinkUp,
    Message,
    Method,
    Note,
    NotStored,
    Published,
    Publishes,
    Reached,
    Received,
    Record,
    Recorded,
    Router,
    Send,
    Signatures,
    Store,
    Stored,
    Subscribed,
    Tick,
    Translate,
    Translated,
    Unsigned,
    Unsubscribed,
    UnverifiedError,
    Wake,
    wanted as wanted_of,
)
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.routing import Advertisement

PAGE: Final = 16
"""Documents that are read of a feed log at once."""
RECONNECTS: Final = 5.0
"""Seconds before a link that was broken off is tried again."""

_FIRST_MAPPING: Final = "mapping 0"
_FETCHED: Final = 0.3
"""Seconds after which a mapping is there that was missing."""

Delivery: TypeAlias = tuple[str, int, str]
"""The peer, the number of its subscription, and the document: its publisher's name, a slash, and its position."""

Saying: TypeAlias = Callable[[str, str, Message], Iterable[tuple[str, Message]]]
"""What a peer sends instead of a message to a neighbour: messages, each to a neighbour."""


def honest(peer: str, neighbour: str, message: Message) -> Iterable[tuple[str, Message]]:  # noqa: ARG001
    """What it is to send."""
    return ((neighbour, message),)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the network is like: least and most seconds that a message, and work on a disk, take; the seed; the budget
    that every peer has for a neighbour; how often a mapping that a subscription in own words needs is ``missing`` for a
    while."""

    seed: int = 0
    message: tuple[float, float] = (0.001, 0.02)
    disk: tuple[float, float] = (0.0, 0.005)
    notice: tuple[float, float] = (0.0, 0.5)
    budget: Budget = field(default_factory=Budget)
    missing: float = 0.0


@dataclass(slots=True)
class _Disk:
    """What of a peer survives."""

    feed: str
    log: list[FeedDocument] = field(default_factory=list)
    version: int = 0
    advertisement: Advertisement | None = None
    publishes: bool = False
    reached: dict[tuple[str, bool], Reached] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    stored: set[tuple[str, int, bool]] = field(default_factory=set)
    last: int = 0
    full: bool = False
    confirmed: dict[str, int] = field(default_factory=dict)
    announced: list[tuple[float, int]] = field(default_factory=list)
    distrusted: dict[str, list[Distrusted]] = field(default_factory=dict)


@dataclass(slots=True)
class _Running:
    """A peer that is up, in one of its lives: its router, and a matcher for its own subscriptions."""

    router: Router
    matcher: MemoryMatcher
    free: float = 0.0


@dataclass(slots=True)
class _Link:
    """A link in one of its lives: whether its ends know of it, and when the last message to each of them arrives."""

    known: bool = False
    arrives: dict[str, float] = field(default_factory=dict)


class EmulatedFeeds:
    """A network of brokers. Times are seconds of its virtual clock, ``now``.

    ``delivered`` counts notifications by what they are about; ``messages`` those on links, by kind; ``notes`` what
    administrators are told. ``signatures`` gives those of a peer; ``saying`` has the last word on what is sent.

    >>> network = EmulatedFeeds([("a", "b"), ("b", "c")])
    >>> number = network.subscribe("c", "//x[y > 1]")
    >>> network.advertise("a", None)
    >>> network.run(5.0)
    >>> for text in ("<x><y>1</y></x>", "<x><y>2</y></x>"):
    ...     _ = network.publish("a", text.encode())
    >>> network.run(5.0)
    >>> dict(network.delivered), network.messages["Publish"]
    ({('c', 1, 'a/2'): 1}, 2)
    """

    def __init__(
        self,
        links: Iterable[tuple[str, str]],
        method: Method | None = None,
        conditions: Conditions | None = None,
        peers: Iterable[str] = (),
        signatures: Callable[[str], Signatures] = lambda _: Unsigned(),
        saying: Saying = honest,
    ) -> None:
        self._signatures = signatures
        self._saying = saying
        self.method = method or Method()
        self.conditions = conditions or Conditions()
        self.now = 0.0
        self.delivered: Counter[Delivery] = Counter()
        self.messages: Counter[str] = Counter()
        self.notes: Counter[str] = Counter()
        self._random = Random(self.conditions.seed)
        self._requests = Random(self.conditions.seed)
        self._order = count()
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._disks: dict[str, _Disk] = {}
        self._gates: dict[str, Gate] = {}
        self._running: dict[str, _Running] = {}
        self._links: dict[frozenset[str], _Link] = {}
        self._mappings: dict[frozenset[str], str] = {}
        for peer in peers:
            self._new(peer)
        for one, other in links:
            self._new(one)
            self._new(other)
            self.agree(one, other, _FIRST_MAPPING)
            self.connect(one, other)

    def _new(self, peer: str) -> None:
        if peer not in self._disks:
            self._disks[peer] = _Disk(f"feed of {peer}")
            self._gates[peer] = Gate(peer, self._signatures(peer))
            self._boot(peer)

    # -- what people do ----------------------------------------------------------------------------------------------

    @property
    def up(self) -> tuple[str, ...]:
        """The peers that run."""
        return tuple(self._running)

    @property
    def connected(self) -> tuple[frozenset[str], ...]:
        """The links that are not cut."""
        return tuple(self._links)

    def router(self, peer: str) -> Router:
        """The broker of a peer that runs."""
        return self._running[peer].router

    def advertise(self, peer: str, advertisement: Advertisement | None) -> None:
        """Let a peer be known as a publisher, of documents that keep to an advertisement if there is one."""
        disk = self._disks[peer]
        since = None if disk.publishes else 0
        disk.version, disk.advertisement, disk.publishes = disk.version + 1, advertisement, True
        disk.announced.append((self.now, len(disk.log)))
        if peer in self._running:
            place, words = (disk.feed, len(disk.log), disk.version), f"schema of {peer}"
            last = disk.log[-1].digest if disk.log else b""
            self._tell(peer, Publishes(*place, advertisement, since, words, last=last))

    def publish(self, peer: str, data: bytes, name: str = "") -> FeedDocument:
        """Publish a document; it is on the disk at once, also while the peer is down."""
        disk = self._disks[peer]
        sequence = len(disk.log) + 1
        previous = disk.log[-1].digest if disk.log else b""
        unsigned = FeedDocument(peer, disk.feed, sequence, name or f"{sequence}.xml", str(sequence), data, previous)
        document = self._gates[peer].signed(unsigned)
        disk.log.append(document)
        if peer in self._running:
            self._tell(peer, Published(document))
        return document

    def agree(self, one: str, other: str, mapping: str) -> None:
        """Let two peers agree on a mapping, or on none any more; each tells others of it a moment later."""
        ends = frozenset((one, other))
        self._mappings[ends] = mapping
        for end in sorted(ends):
            self._later(self._drawn(self.conditions.notice), partial(self._agreed, end, ends))

    def _agreed(self, end: str, ends: frozenset[str]) -> None:
        (other,) = ends - {end}
        if end in self._running:
            self._tell(end, Agreed(other, self._mappings[ends]))

    def subscribe(self, peer: str, text: str, *, own: bool = False) -> int:
        """Subscribe at a peer, in its ``own`` words or not; the number of the subscription.

        One in own words is translated into itself, and something else that matches nothing, for each publisher to which
        mappings lead.
        """
        disk = self._disks[peer]
        disk.last += 1
        disk.texts[disk.last] = text
        if own:
            disk.own.add(disk.last)
        if peer in self._running:
            self._add(peer, disk.last, text)
        return disk.last

    def unsubscribe(self, peer: str, number: int) -> None:
        """Remove a subscription."""
        del self._disks[peer].texts[number]
        if peer in self._running:
            self._running[peer].matcher.remove(number)
            self._tell(peer, Unsubscribed(number))

    def fill(self, peer: str, *, full: bool) -> None:
        """Let the disk of a peer be full, or have room again: documents are not stored meanwhile."""
        self._disks[peer].full = full

    def counts(self, peer: str, publisher: str, number: int) -> bool:
        """Whether a publisher has confirmed a subscription, and the peer has kept that on its disk."""
        disk = self._disks[peer]
        kept = disk.reached.get((publisher, number in disk.own))
        is_kept = kept is not None and number <= kept.number
        return is_kept and peer in self._running and self.router(peer).counts(publisher, number)

    def knows(self, peer: str, publisher: str) -> bool:
        """Whether a peer has on its disk that there is the feed of a publisher."""
        return any(key[0] == publisher for key in self._disks[peer].reached)

    def version(self, peer: str) -> int:
        """How many announcements a publisher has made."""
        return self._disks[peer].version

    def confirmed(self, peer: str, number: int) -> bool:
        """Whether all publishers that can be reached have confirmed a subscription."""
        return peer in self._running and not self.router(peer).unconfirmed(number)

    # -- what happens to them ----------------------------------------------------------------------------------------

    def kill(self, peer: str) -> None:
        """End a peer at once."""
        del self._running[peer]
        for ends in [ends for ends in self._links if peer in ends]:
            self._lose(ends, self._links.pop(ends))

    def start(self, peer: str) -> None:
        """Start a peer that was killed; its links are for :meth:`connect`."""
        self._boot(peer)

    def connect(self, one: str, other: str) -> None:
        """Make a link between two peers that run, if there is none."""
        ends = frozenset((one, other))
        if ends not in self._links and one in self._running and other in self._running:
            link = self._links[ends] = _Link()
            self._later(self._drawn(self.conditions.message), partial(self._appear, ends, link))

    def cut(self, one: str, other: str) -> None:
        """Cut a link, if there is one: what is under way on it is lost, and both ends notice after a while."""
        ends = frozenset((one, other))
        if ends in self._links:
            self._lose(ends, self._links.pop(ends))

    def _lose(self, ends: frozenset[str], link: _Link) -> None:
        for end in sorted(ends & self._running.keys()) if link.known else ():
            running = self._running[end]
            self._later(self._drawn(self.conditions.notice), partial(self._notice, end, ends, running))

    def _notice(self, end: str, ends: frozenset[str], running: _Running) -> None:
        link = self._links.get(ends)
        if self._running.get(end) is running and not (link and link.known):
            (other,) = ends - {end}
            self._tell(end, LinkDown(other))

    def _appear(self, ends: frozenset[str], link: _Link) -> None:
        if self._links.get(ends) is link:
            link.known = True
            for end in sorted(ends):
                (other,) = ends - {end}
                self._tell(end, LinkUp(other))

    # -- the peers ---------------------------------------------------------------------------------------------------

    def _boot(self, peer: str) -> None:
        disk = self._disks[peer]
        first = self._requests.randrange(1 << 48)
        router = PaperRouter(peer, MemoryMatcher(), self.method, self.conditions.budget, first_request=first)
        self._running[peer] = _Running(router, MemoryMatcher(), self.now)
        for distrusted in disk.distrusted.values():
            for one in distrusted:
                self._tell(peer, one)
        for ends, mapping in self._mappings.items():
            if peer in ends:
                (other,) = ends - {peer}
                self._tell(peer, Agreed(other, mapping))
        for reached in disk.reached.values():
            self._tell(peer, reached)
        for number, text in disk.texts.items():
            self._add(peer, number, text)
        if disk.publishes:
            self.advertise(peer, disk.advertisement)

    def _add(self, peer: str, number: int, text: str) -> None:
        patterns = parse_subscription(text)
        self._running[peer].matcher.add(number, patterns)
        own = number in self._disks[peer].own
        self._tell(peer, Subscribed(number, text, () if own else patterns, own))

    def _tell(self, peer: str, event: Event) -> None:
        for instruction in self._running[peer].router.handle(event, self.now):
            self._obey(peer, instruction)

    def _obey(self, peer: str, instruction: Instruction) -> None:
        running = self._running[peer]
        match instruction:
            case Send(neighbour, message):
                self._send(peer, neighbour, message)
            case Store():
                self._on_disk(running, partial(self._store, peer, running, instruction))
            case Translate():
                self._translate(peer, running, instruction)
            case Keep(reached):
                self._on_disk(running, partial(self._keep, peer, running, reached))
            case Record():
                self._on_disk(running, partial(self._while, peer, running, Recorded(instruction.fetched.task)))
            case KeepDistrusted(neighbour, distrusted):
                held = self._disks[peer].distrusted
                held[neighbour] = [*held.get(neighbour, ()), distrusted] if distrusted else []
            case Fetch():
                self._later(
                    self._drawn(self.conditions.disk),
                    partial(self._while, peer, running, self._fetch(peer, instruction)),
                )
            case Wake(at):
                self._later(max(0.0, at - self.now), partial(self._while, peer, running, Tick()))
            case Break(neighbour):
                self.cut(peer, neighbour)
                self._later(RECONNECTS, partial(self.connect, peer, neighbour))
            case Note(event):
                self.notes[event] += 1

    def _send(self, peer: str, neighbour: str, message: Message) -> None:
        sealed = self._gates[peer].seal(message, neighbour)
        for receiver, said in self._saying(peer, neighbour, sealed):
            self._say(peer, receiver, said)

    def _say(self, peer: str, neighbour: str, message: Message) -> None:
        self.messages[type(message).__name__] += 1
        ends = frozenset((peer, neighbour))
        link = self._links.get(ends)
        if link is not None and link.known:
            at = max(self.now + self._drawn(self.conditions.message), link.arrives.get(neighbour, 0.0))
            link.arrives[neighbour] = at
            self._later(at - self.now, partial(self._arrive, peer, neighbour, link, message))

    def _arrive(self, peer: str, neighbour: str, link: _Link, message: Message) -> None:
        if self._links.get(frozenset((peer, neighbour))) is not link:
            return
        try:
            self._tell(neighbour, Received(peer, self._gates[neighbour].check(message, neighbour)))
        except UnverifiedError as error:
            self._tell(neighbour, Forged(peer, error.publisher, str(error)))

    def _while(self, peer: str, running: _Running, event: Event) -> None:
        if self._running.get(peer) is running:
            self._tell(peer, event)

    def _on_disk(self, running: _Running, work: Callable[[], None]) -> None:
        """Have work done on the disk, behind what there is to do."""
        running.free = max(self.now, running.free) + self._drawn(self.conditions.disk)
        self._later(running.free - self.now, work)

    def _store(self, peer: str, running: _Running, instruction: Store) -> None:
        if self._running.get(peer) is not running:
            return
        document, disk = instruction.document, self._disks[peer]
        own, place = instruction.own, (document.publisher, document.feed, document.sequence)
        key = (document.publisher, document.sequence, own)
        if disk.full:
            self._tell(peer, NotStored(*place, "no space is left", own))
            return
        if key not in disk.stored:
            matching = map(int, running.matcher.match(document.parsed))
            numbers = [one for one in matching if one <= instruction.number and (one in disk.own) == own]
            for number in numbers:
                self.delivered[peer, number, f"{document.publisher}/{document.sequence}"] += 1
            if numbers:
                disk.stored.add(key)
        self._tell(peer, Stored(*place, own))

    def _keep(self, peer: str, running: _Running, reached: Reached) -> None:
        if self._running.get(peer) is running:
            self._disks[peer].reached[reached.publisher, reached.own] = reached

    def _translate(self, peer: str, running: _Running, wanted: Translate) -> None:
        delay = self._drawn(self.conditions.disk)
        leads_there = wanted.wording.is_known and NO_MAPPING not in wanted.wording.mappings
        if not leads_there or self._random.random() < self.conditions.missing:
            nothing = Translated(wanted.task, wanted.publisher)
            self._later(delay, partial(self._while, peer, running, nothing))
            delay += _FETCHED
        if leads_there:
            self._later(delay, partial(self._translated, peer, running, wanted))

    def _translated(self, peer: str, running: _Running, wanted: Translate) -> None:
        disk = self._disks[peer]
        beside = f"/nothing{sum(map(ord, ''.join(wanted.wording.mappings)))}"
        own = [(number, f"{disk.texts[number]} or {beside}") for number in sorted(disk.own & disk.texts.keys())]
        found = tuple(InWords(number, text, parse_subscription(text)) for number, text in own)
        self._while(peer, running, Translated(wanted.task, wanted.publisher, available=True, subscriptions=found))

    def _fetch(self, peer: str, wanted: Fetch) -> Fetched:
        disk = self._disks[peer]
        # Who hears the news of a feed counts from there on, and asks soon.
        new = min((position for at, position in disk.announced if self.now < at + NEWS), default=wanted.upto)
        since = max(wanted.since, disk.confirmed.setdefault(wanted.route[0], new))
        found = disk.log[since : wanted.upto][:PAGE]
        position = since + len(found)
        last = disk.log[position - 1].digest if position else b""
        return Fetched(wanted.task, wanted_of(wanted, found), position, earlier=since - wanted.since, last=last)

    # -- the clock ---------------------------------------------------------------------------------------------------

    def _drawn(self, bounds: tuple[float, float]) -> float:
        return self._random.uniform(*bounds)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        heappush(self._waiting, (self.now + seconds, next(self._order), work))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        until = self.now + seconds
        while self._waiting and self._waiting[0][0] <= until:
            self.now, _, work = heappop(self._waiting)
            work()
        self.now = until

    def sizes(self) -> Mapping[str, int]:
        """How many subscriptions neighbours have told each peer that runs."""
        return {peer: sum(seen.wants for seen in running.router.neighbours) for peer, running in self._running.items()}
