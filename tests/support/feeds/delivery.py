"""The law of delivery: each document comes once to all subscriptions that count, and to none that it does not match.

A subscription counts at a publisher from the moment that the publisher has confirmed it, whatever fails afterwards.
What it **must** get are the documents that are published while it counts; what it **may** get are those that are
published while it is there, and what had been published after an announcement that its peer had not heard of when it
was added, in this life of the peer or in one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from benchmarks.routing.emulated_feeds import Conditions, Delivery, EmulatedFeeds
from heptox.feed import NO_MAPPING
from tests.support.feeds.graphs import crooked
from tests.support.feeds.making import Happening, Scenario, Step, World

_T = TypeVar("_T")

HEALING: Final = 700.0
"""Seconds in which what has failed is tried again: more than twice as long as a peer waits at most."""
QUIET: Final = 20.0
"""Seconds in which nothing is said once everything has healed."""
SETTLING: Final = 3.0
"""Seconds in which everything has arrived where nothing fails; so few that peers do not ask whether it has."""
MISSING: Final = 0.2
"""How often a mapping is missing for a while."""
OWN: Final = 3
"""Each of so many subscriptions is in own words."""
MAPPINGS: Final = 3
"""So many different mappings are agreed on, on one link, and sometimes none."""
ROUTES: Final = ("Announce", "Withdraw", "Subscribe", "Unsubscribe")
"""Messages of which there are none when nothing happens."""
SUSPICIONS: Final = ("neighbour distrusted", "neighbour silent", "feed forked")
"""What administrators are told of those who are not honest, and here of nobody."""


@dataclass(slots=True)
class _Subscription:
    peer: str
    number: int
    text: str
    announced: dict[str, int]
    """The publishers that its peer had heard of when it was added, with the versions of what they had announced."""
    added: int
    removed: int | None = None
    confirmed: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Document:
    publisher: str
    sequence: int
    text: str
    moment: int
    version: int
    """The publisher has made so many announcements."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong, in words, and how much was judged."""

    faults: tuple[str, ...]
    owed: int
    delivered: int
    everything: int
    """How often a neighbour was told that everything is wanted."""


class Trial:
    """A scenario as it happens. Moments count what happens, for much of it happens at the same time of the clock."""

    def __init__(self, world: World, scenario: Scenario) -> None:
        self._world = world
        self._scenario = scenario
        missing = 0.0 if scenario.is_calm else MISSING
        conditions = Conditions(scenario.seed, budget=scenario.budget, missing=missing)
        self.network = EmulatedFeeds(scenario.links, scenario.method, conditions)
        self._moment = 0
        self._advertised: dict[str, int] = {}
        self._subscriptions: list[_Subscription] = []
        self._documents: list[_Document] = []
        self._full: set[str] = set()
        self._heard: dict[tuple[str, str], int] = {}

    def verdict(self) -> Verdict:
        """Let everything happen, and everything heal, and judge."""
        if self._scenario.is_calm:
            self.network.run(SETTLING)
        for step in self._scenario.steps:
            self._take(step)
        self._heal()
        everything = self.network.notes["everything is wanted"]
        owed = {key for subscription in self._subscriptions for key in self._owed(subscription)}
        faults = (*self._unquiet(), *self._misdelivered(owed), *self._left_over(), *self._accused())
        return Verdict(faults, len(owed), sum(self.network.delivered.values()), everything)

    # -- what happens --------------------------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        self._moment += 1
        self._look()
        peers, network = self._scenario.peers, self.network
        match step.happening:
            case Happening.WAIT:
                network.run(step.seconds)
            case Happening.SUBSCRIBE:
                own = step.what // len(self._world.subscriptions) % OWN == 0
                self._subscribe(_chosen(peers, step.which), _chosen(self._world.subscriptions, step.what), own=own)
            case Happening.UNSUBSCRIBE:
                self._unsubscribe(step.which)
            case Happening.ADVERTISE:
                self._advertise(_chosen(self._scenario.publishers, step.which), step.what)
            case Happening.PUBLISH:
                self._publish(_chosen(self._scenario.publishers, step.which), step.what)
            case Happening.CUT:
                if connected := sorted(sorted(link) for link in network.connected):
                    network.cut(*_chosen(connected, step.which))
            case Happening.CONNECT:
                network.connect(*_chosen(self._scenario.links, step.which))
            case Happening.KILL:
                if len(network.up) > 2:
                    self._kill(_chosen(sorted(network.up), step.which))
            case Happening.START:
                if down := sorted(set(peers) - {*network.up}):
                    network.start(_chosen(down, step.which))
            case Happening.FILL:
                self._fill(_chosen(peers, step.which))
            case Happening.AGREE:
                mapping = step.what % (MAPPINGS + 1)
                told = f"mapping {mapping}" if mapping < MAPPINGS else NO_MAPPING
                network.agree(*_chosen(self._scenario.links, step.which), told)

    def _kill(self, peer: str) -> None:
        """End a peer; it has heard of those publishers only of which it has that on the disk."""
        self._look()
        self.network.kill(peer)
        lost = {publisher for one, publisher in self._heard if one == peer and not self.network.knows(peer, publisher)}
        for publisher in lost:
            del self._heard[peer, publisher]
            for one in self._subscriptions:
                if one.peer == peer:
                    one.announced.pop(publisher, None)

    def _look(self) -> None:
        """Mark what is announced, and what has been confirmed, and is on the disk as such."""
        for peer in self.network.up:
            self._heard |= {(peer, seen.publisher): seen.version for seen in self.network.router(peer).publishers}
        for one in self._subscriptions:
            if one.removed is None and one.peer in self.network.up:
                for publisher in self._scenario.publishers:
                    if self.network.counts(one.peer, publisher, one.number):
                        one.confirmed.setdefault(publisher, self._moment)

    def _subscribe(self, peer: str, text: str, *, own: bool) -> None:
        announced = {publisher: version for (one, publisher), version in self._heard.items() if one == peer}
        number = self.network.subscribe(peer, text, own=own)
        self._subscriptions.append(_Subscription(peer, number, text, announced, self._moment))
        if self._scenario.is_calm:
            self._settle()

    def _settle(self) -> None:
        until = self.network.now + SETTLING
        while not self._all_confirmed() and self.network.now < until:
            self.network.run(0.1)

    def _all_confirmed(self) -> bool:
        return all(
            one.removed is not None or self.network.confirmed(one.peer, one.number) for one in self._subscriptions
        )

    def _unsubscribe(self, which: int) -> None:
        if there := [one for one in self._subscriptions if one.removed is None]:
            if self._scenario.is_calm:
                self.network.run(SETTLING)
            removed = _chosen(there, which)
            removed.removed = self._moment
            self.network.unsubscribe(removed.peer, removed.number)

    def _advertise(self, publisher: str, what: int) -> None:
        """Have another schema from now on, and publish a document of it at once."""
        self._advertised[publisher] = what % len(self._world.schemas)
        self.network.advertise(publisher, self._world.advertisements[self._advertised[publisher]])
        self._publish(publisher, what // len(self._world.schemas))

    def _publish(self, publisher: str, what: int) -> None:
        if publisher not in self._advertised:
            self._advertise(publisher, what)
            return
        text = _chosen(self._world.documents[self._advertised[publisher]], what)
        sequence = self.network.publish(publisher, text.encode()).sequence
        self._documents.append(_Document(publisher, sequence, text, self._moment, self.network.version(publisher)))

    def _fill(self, peer: str) -> None:
        self.network.fill(peer, full=peer not in self._full)
        self._full ^= {peer}

    def _heal(self) -> None:
        for peer in self._full:
            self.network.fill(peer, full=False)
        for peer in set(self._scenario.peers) - {*self.network.up}:
            self.network.start(peer)
        for link in self._scenario.links:
            self.network.connect(*link)
            self.network.agree(*link, "mapping 0")
        self.network.run(SETTLING if self._scenario.is_calm else HEALING)
        self._take(Step(Happening.WAIT))
        for publisher in self._advertised:
            for what in range(len(self._world.documents[0])):
                self._publish(publisher, what)
        self.network.run(SETTLING)

    # -- what is right -------------------------------------------------------------------------------------------------

    def _owed(self, one: _Subscription) -> Iterator[Delivery]:
        if one.removed is None or self._scenario.is_calm:
            for document in self._matching(one):
                since = one.added if self._scenario.is_calm else one.confirmed.get(document.publisher)
                if since is not None and document.moment >= since:
                    yield one.peer, one.number, f"{document.publisher}/{document.sequence}"

    def _allowed(self, one: _Subscription) -> Iterator[Delivery]:
        for document in self._matching(one):
            if document.moment >= one.added or document.version > one.announced.get(document.publisher, 0):
                yield one.peer, one.number, f"{document.publisher}/{document.sequence}"

    def _matching(self, one: _Subscription) -> Iterator[_Document]:
        """The documents of others that a subscription matches, and that were published before it was removed."""
        for document in self._documents:
            there = one.removed is None or document.moment < one.removed
            if there and document.publisher != one.peer and (one.text, document.text) in self._world.matching:
                yield document

    def _misdelivered(self, owed: set[Delivery]) -> Iterator[str]:
        allowed = {key for subscription in self._subscriptions for key in self._allowed(subscription)}
        got = self.network.delivered
        yield from (f"lost: {key}" for key in sorted(owed - got.keys()))
        yield from (f"not wanted: {key}" for key in sorted(got.keys() - allowed))
        yield from (f"{times} times: {key}" for key, times in sorted(got.items()) if times > 1)

    def _accused(self) -> Iterator[str]:
        """What is held against peers, all of which are honest."""
        for peer in self.network.up:
            yield from (f"{peer} suspects {one}" for one in self.network.router(peer).suspicions)
        yield from (f"it is said: {note}" for note in SUSPICIONS if self.network.notes[note])

    def _unquiet(self) -> Iterator[str]:
        """What is not as it should be when nothing happens any more."""
        before = self.network.messages.copy()
        self.network.run(QUIET)
        for kind, number in (self.network.messages - before).items():
            if kind not in ("CatchUp", "CaughtUp"):  # which are said now and then, to be sure
                yield f"{number} times {kind} is said, though nothing happens"
        for one in self._subscriptions:
            if one.removed is None and not self.network.confirmed(one.peer, one.number):
                yield f"not confirmed: {one.number} of {one.peer}"
        yield from crooked(self.network, self._scenario.links, self._advertised)
        told = {
            (peer, seen.neighbour): (seen.sent, seen.wants)
            for peer in self._scenario.peers
            for seen in self.network.router(peer).neighbours
        }
        for (peer, neighbour), (said, _) in told.items():
            if told[neighbour, peer][1] != said:
                yield f"{peer} has told {neighbour} {said} subscriptions, which has {told[neighbour, peer][1]}"

    def _left_over(self) -> Iterator[str]:
        """What is still asked for when nobody has subscriptions any more, and what is said without need."""
        for one in self._subscriptions:
            if one.removed is None:
                self.network.unsubscribe(one.peer, one.number)
        self.network.run(SETTLING)
        yield from (f"{peer} is asked for {number}" for peer, number in self.network.sizes().items() if number)
        said = [self.network.messages[kind] for kind in ROUTES]
        self.network.run(SETTLING)
        if said != [self.network.messages[kind] for kind in ROUTES]:
            yield "it does not get quiet"


def _chosen(choices: Sequence[_T], which: int) -> _T:
    return choices[which % len(choices)]
