"""Whole peers that come and go, while people subscribe and publish at them: what counts is delivered, exactly once."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest
import trio
from lxml import etree

from benchmarks.routing.methods import METHODS, PaperRouter
from heptox.peer.feed import feeds
from tests.peer.networks import until
from tests.peer.whole_peers import Peer, new_peer, peers_at_work
from tests.support.budget import usually

DEADLINE: Final = 400.0
PEERS: Final = usually(10, 16)
MORE: Final = 8
"""Acquaintances beyond those that connect all: so there are cycles."""
PUBLISHERS: Final = 5
PUBLICATIONS: Final = usually(30, 60)
SUBSCRIPTIONS: Final = usually(16, 24)
CHANGES: Final = usually(10, 16)
DOCUMENTS: Final = {
    "left": [
        "<a/>",
        "<a><b/></a>",
        "<a><b><d>1</d></b></a>",
        "<a><c><b/></c></a>",
        "<a><c><d>2</d></c><b/></a>",
        "<a><c><b><d>3</d></b></c></a>",
    ],
    "right": [
        "<a><e/></a>",
        "<a><e><e/></e></a>",
        "<a><c>1</c></a>",
        "<a><e><f>2</f></e><c>3</c></a>",
        "<a><e><e><f>1</f></e></e></a>",
    ],
}
XPATHS: Final = [
    *("/a", "/a/b", "//b", "//d", "//c/b", "/a/*", "//*/d", "/a/c/d", "//e", "/a/e/e", "//f", "//e//f", "/a[b]"),
    *("/a[c][e]", "//d[.>1]", "/a/b/d", "//c", "/a/c[b/d=3]", "//x", "/a/e[f=2]"),
]


@dataclass
class Subscription:
    """One of a ``peer``; ``added`` is when it was there, ``seen`` whom the peer reached when it ``began``, ``counts``
    since when it is known to count at whom."""

    peer: Peer
    name: str
    xpath: str
    began: float
    seen: frozenset[str]
    added: float | None = None
    number: int = 0
    counts: dict[str, float] = field(default_factory=dict)

    def must(self, one: Publication) -> bool:
        if one.publisher is self.peer:
            since = self.added
        else:
            since = self.counts.get(one.publisher.name) if one.offered else None
        return since is not None and one.began >= since and self.matches(one)

    def may(self, one: Publication) -> bool:
        elsewhere = one.publisher is not self.peer and one.publisher.peer_id not in self.seen
        comes = one.offered or one.publisher is self.peer
        return comes and (one.ended >= self.began or elsewhere) and self.matches(one)

    def matches(self, one: Publication) -> bool:
        return bool(etree.fromstring(one.text).getroottree().xpath(self.xpath))


@dataclass
class Publication:
    """A document, when it was published, and whether it was ``offered`` to others, if there were any."""

    publisher: Peer
    name: str
    text: str
    began: float
    ended: float
    offered: bool = False


class Life:
    """What happens in a network, as chance will have it."""

    def __init__(self, peers: list[Peer], seed: int, nursery: trio.Nursery) -> None:
        self.peers = peers
        self.subscriptions: list[Subscription] = []
        self.published: list[Publication] = []
        self._random = Random(seed)
        self._nursery = nursery
        self._numbers = count(1)
        tree = [(one, self._random.choice(peers[:place])) for place, one in enumerate(peers) if place]
        pairs = [(one, other) for place, one in enumerate(peers) for other in peers[:place]]
        self.edges = tree + self._random.sample([pair for pair in pairs if pair not in tree], MORE)
        self.publishers = self._random.sample(peers, PUBLISHERS)

    async def _pause(self, longest: float) -> None:
        await trio.sleep(longest * self._random.random() ** 3)

    def _one(self) -> Peer | None:
        """One that runs, and at which nobody does anything just now."""
        idle = [peer for peer in self.peers if peer.service is not None and not peer.busy.locked()]
        return self._random.choice(idle) if idle else None

    # -- those who publish and subscribe -----------------------------------------------------------------------------

    async def begin(self) -> None:
        for publisher in self.publishers:
            await self.publish(publisher)
        async with trio.open_nursery() as nursery:
            for peer in self.peers:
                nursery.start_soon(self._subscribe, peer)

    async def publish_all(self) -> None:
        for _ in range(PUBLICATIONS):
            await self._pause(0.2)
            publisher = self._random.choice(self.publishers)
            async with publisher.busy:
                if publisher.service is not None:
                    await self.publish(publisher)

    async def publish(self, publisher: Peer) -> None:
        self._look(publisher)
        text = self._random.choice(DOCUMENTS[publisher.schema])
        one = Publication(publisher, f"{next(self._numbers)}.xml", text, trio.current_time(), 0.0)
        offer = await publisher.publish(one.name, text)
        one.ended = trio.current_time()
        assert not offer.kept
        one.offered = offer.document is not None
        self.published.append(one)

    def _look(self, publisher: Peer) -> None:
        """See which subscriptions count at a publisher."""
        for one in self.subscriptions:
            running = one.added is not None and one.peer.service is not None and one.peer is not publisher
            if running and one.peer.feeds.counts(publisher.peer_id, one.number):
                one.counts.setdefault(publisher.name, trio.current_time())

    async def subscribe_all(self) -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(SUBSCRIPTIONS):
                await self._pause(0.6)
                peer = self._one()
                known = [one for one in self.subscriptions if one.peer is peer and one.added is not None]
                if peer is None:
                    continue
                if known and self._random.random() < 0.25:
                    await self._unsubscribe(self._random.choice(known))
                else:
                    nursery.start_soon(self._subscribe, peer)

    async def _subscribe(self, peer: Peer) -> None:
        async with peer.busy:
            if peer.service is None:
                return
            seen = frozenset(seen.publisher for seen in peer.feeds.router.publishers)
            xpath = self._random.choice(XPATHS)
            one = Subscription(peer, f"s{next(self._numbers)}", xpath, trio.current_time(), seen)
            self.subscriptions.append(one)
            await peer.subscribe(one.name, xpath)
            one.number, one.added = peer.number(one.name), trio.current_time()

    async def _unsubscribe(self, one: Subscription) -> None:
        async with one.peer.busy:
            if one.peer.service is not None:
                self.subscriptions.remove(one)
                await one.peer.at_work.subscribing.unsubscribe(one.name)

    # -- the network -------------------------------------------------------------------------------------------------

    async def change_all(self) -> None:
        for _ in range(CHANGES):
            await self._pause(0.8)
            what = self._random.choices((self._cut, self._stop, self._start, self._part, self._meet), (6, 4, 4, 2, 2))
            await what[0]()

    async def _cut(self) -> None:
        one, other = self._random.choice(self.edges)
        if one.service is not None:
            await one.at_work.transport.disconnect(other.peer_id)

    async def _stop(self) -> None:
        peer = self._one()
        if peer is not None:
            async with peer.busy:
                await peer.stop()

    async def _start(self) -> None:
        stopped = [peer for peer in self.peers if peer.service is None]
        for peer in stopped[:2]:
            async with peer.busy:
                await self._nursery.start(peer.run)

    async def _part(self) -> None:
        one, other = self._random.choice(self.edges)
        async with one.busy:
            if one.service is not None and other.peer_id in one.acquaintances:
                await one.at_work.acquaintances.withdraw(other.name)

    async def _meet(self) -> None:
        one, other = self._random.choice(self.edges)
        async with one.busy:
            if one.service is not None and other.service is not None:
                await one.acquaint(other)

    async def heal(self) -> None:
        for peer in self.peers:
            if peer.service is None:
                await self._nursery.start(peer.run)
        for one, other in self.edges:
            await one.acquaint(other)
        await until(lambda: all(one.linked(other) and other.linked(one) for one, other in self.edges))
        announced = [
            one for one in self.publishers if any(known.publisher is one and known.offered for known in self.published)
        ]
        await until(lambda: all(peer.reaches(one) for peer in self.peers for one in announced if peer is not one))
        await until(lambda: not any(one.peer.feeds.unconfirmed([one.number]) for one in self.subscriptions))

    # -- what must have come of it -----------------------------------------------------------------------------------

    def late(self) -> dict[str, set[str]]:
        """What was not delivered yet."""
        missing = {}
        for one in self.subscriptions:
            must = {published.name for published in self.published if one.must(published)}
            if late := must - one.peer.delivered(one.name).keys():
                missing[one.name] = late
        return missing

    def wrong(self) -> list[str]:
        """What was delivered in error, or more than once."""
        found = []
        for one in self.subscriptions:
            may = {published.name for published in self.published if one.may(published)}
            delivered = one.peer.delivered(one.name)
            found += [f"{one.name}: {name}" for name in delivered if name not in may or delivered[name] > 1]
        return found


@pytest.mark.parametrize("name", usually(("neither", "both"), tuple(METHODS)))
def test_what_counts_is_delivered_once_whoever_comes_and_goes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "Method", lambda **_: METHODS[name])
    monkeypatch.setattr(feeds, "Router", PaperRouter)
    # Of some methods nobody advertises what is published: who publishes anything is followed if all are.
    peers = [new_peer(tmp_path / f"p{number}", ("left", "right")[number % 2], follow="all") for number in range(PEERS)]

    async def test() -> None:
        with trio.fail_after(DEADLINE):
            async with peers_at_work(*peers) as nursery:
                life = Life(peers, 5, nursery)
                await life.heal()
                await life.begin()
                async with trio.open_nursery() as living:
                    for live in (life.publish_all, life.subscribe_all, life.change_all):
                        living.start_soon(live)
                await life.heal()
                for publisher in life.publishers:
                    await life.publish(publisher)
                with trio.move_on_after(DEADLINE / 3):
                    await until(lambda: not life.late())
                assert (life.late(), life.wrong()) == ({}, [])
                expected = sum(one.must(published) for one in life.subscriptions for published in life.published)
                assert expected > 100

    trio.run(test)
