"""A network of peers, killed at random moments while documents are published and people subscribe elsewhere."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from lxml import etree

from heptox.errors import HeptoxError
from heptox.feed import FeedLog
from heptox.matching import SubscriptionLog
from heptox.peer import Client, Side, SubscriptionEntry, SubscriptionsRequest, add_acquaintance, propose
from tests.kills.attack import LONGEST_START, STARTING, LostError
from tests.peer.daemons import DEADLINE, Daemon, daemon, daemons, log_of, starting, wait_until
from tests.peer.whole_peers import arrows, new_peer

SCHEMAS: Final = {"p0": "left", "p1": "right", "r0": "left", "r1": "right", "s0": "left", "s1": "right"}
"""Publishers, relays and subscribers, with their schemas."""
EDGES: Final = [("p0", "r0"), ("p0", "r1"), ("p1", "r1"), ("r0", "r1"), ("r0", "s0"), ("r1", "s1"), ("s0", "s1")]
PUBLISHERS: Final = ("p0", "p1")
SUBSCRIBERS: Final = ("s0", "s1", "p1")
STANDING: Final = ("/a", "//d[. >= 0]", "/a[b/d or e/f]", "//c")
COMING: Final = ("/a/b", "//d[. > 50]", "//e//f", "/a[b]/c", "//f[. < 50]", "/a/*", "//c[. > 20]", "/a/c/b/d", "//x")
DOCUMENTS: Final = {
    "left": ("<a><b><d>{}</d></b></a>", "<a><b/><c><d>{}</d></c></a>", "<a><c><b><d>{}</d></b></c></a>", "<a/>"),
    "right": ("<a><c>{}</c></a>", "<a><e><f>{}</f></e></a>", "<a><e><e><f>{}</f></e></e><c/></a>", "<a/>"),
}
NO_BOUND: Final = 1_000_000
MOST_ACKNOWLEDGED: Final = 30
"""Documents that were acknowledged between two kills, at most."""
MOST_DOWN: Final = 2
"""Peers that are down at a time."""


@dataclass(slots=True)
class Document:
    """A document, when it was begun to be published, and when that was acknowledged, if it was."""

    publisher: str
    text: str
    begun: float
    acknowledged: float | None = None


@dataclass(slots=True)
class Subscription:
    """A subscription of a ``peer``; ``counts`` tells since when it is known to count at each publisher."""

    peer: str
    name: str
    xpath: str
    begun: float
    number: int = 0
    counts: dict[str, float] = field(default_factory=dict)

    def must(self, one: Document) -> bool:
        """Whether a document has to be delivered to it."""
        since = self.counts.get(one.publisher)
        return (
            since is not None and one.acknowledged is not None and one.begun >= since and matches(self.xpath, one.text)
        )

    def may(self, one: Document) -> bool:
        """Whether a document may be delivered to it."""
        return (one.acknowledged is None or one.acknowledged >= self.begun) and matches(self.xpath, one.text)


@cache
def matches(xpath: str, text: str) -> bool:
    """Whether a document matches a subscription, as libxml2 sees it."""
    return bool(etree.fromstring(text).getroottree().xpath(xpath))


class Feeds:
    """Peers in ``folder``; ``figures`` tell what was done to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.figures: Counter[str] = Counter()
        self._random = Random(seed)
        self._folders = {name: new_peer(folder / name, schema).folder for name, schema in SCHEMAS.items()}
        self._stacks: dict[str, ExitStack] = {}
        self._running: dict[str, Daemon] = {}
        self._ids: dict[str, str] = {}
        self._documents: dict[str, Document] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._pending: dict[str, str] = {}
        """The document that each publisher is about to publish."""
        self._numbers = iter(range(1, 1_000_000_000))
        self._refused: list[str] = []
        self._over = threading.Event()

    # -- life and death ----------------------------------------------------------------------------------------------

    @contextmanager
    def laid(self) -> Iterator[None]:
        """Have all peers run, and acquainted, for as long as the block lasts."""
        with ExitStack() as opened:
            for one in opened.enter_context(daemons(*self._folders.values())):
                self._ids[one.peer_id] = one.folder.name
                self._running[one.folder.name] = one
                self._stacks[one.folder.name] = ExitStack()
            for name, other in EDGES:
                mapping = arrows(self._folders[name].parent, SCHEMAS[name], SCHEMAS[other])
                add_acquaintance(
                    self._folders[name], propose(self._running[other].address, mapping, Side.SOURCE, other)
                )
            for stack in self._stacks.values():
                opened.push(stack)
            for name in PUBLISHERS:
                with self._running[name].client() as client:
                    self._publish(name, client, self._random)
            wait_until(lambda: all(len(self._reached(name)) >= 2 for name in ("r0", "r1", "s0", "s1")))
            for name in SUBSCRIBERS:
                with self._running[name].client() as client:
                    for xpath in STANDING:
                        self._subscribe(name, client, xpath)
            wait_until(self._all_counts)
            yield

    def _reached(self, name: str) -> set[str]:
        with self._running[name].client() as client:
            return {one.publisher for one in client.feeds().publishers}

    def run(self, kills: int, told: Callable[[int], None] = lambda _: None) -> None:
        """Kill so many times, and look at everything at the end; raises :class:`LostError`."""
        with self._loaded():
            for number in range(kills):
                self._kill_one()
                told(number + 1)
            self._start_all()
        self.look()

    def _kill_one(self) -> None:
        """Kill a peer at some moment, and start one again, be it another one."""
        alive = [name for name in SCHEMAS if name in self._running]
        enough = self.figures["documents, acknowledged"] + self._random.randrange(MOST_ACKNOWLEDGED)
        wait_until(lambda: self.figures["documents, acknowledged"] > enough or bool(self._refused))
        time.sleep(self._random.uniform(0, 0.05))
        name = self._random.choice(alive)
        self._running.pop(name).end(signal.SIGKILL)
        self._stacks[name].close()
        self.figures[f"kills of {name}"] += 1
        self._look_at_files(name)
        if self._random.random() < STARTING:
            self._kill_while_starting(name)
        down = [name for name in SCHEMAS if name not in self._running]
        if len(down) >= MOST_DOWN or self._random.random() < 0.7:
            self._start(self._random.choice(down))

    def _start(self, name: str) -> None:
        self._running[name] = self._stacks[name].enter_context(daemon(self._folders[name]))

    def _start_all(self) -> None:
        for name in SCHEMAS:
            if name not in self._running:
                self._start(name)

    def _kill_while_starting(self, name: str) -> None:
        with log_of(self._folders[name]).open("a") as log:
            process = starting(self._folders[name], log)
        time.sleep(self._random.uniform(0, LONGEST_START))
        process.kill()
        process.communicate()
        self.figures["kills while they started"] += 1
        self._look_at_files(name)

    def _look_at_files(self, name: str) -> None:
        """Look at what a killed peer has left, before it is started."""
        with (
            SubscriptionLog(self._folders[name] / "subscriptions.sqlite") as subscriptions,
            FeedLog(self._folders[name] / "feed.sqlite") as feed,
        ):
            if problems := subscriptions.check() + feed.check():
                raise LostError("\n".join(f"{name}: {problem}" for problem in problems))

    # -- load --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _loaded(self) -> Iterator[None]:
        """Publish, subscribe and unsubscribe from several threads, also at peers that are down for a while."""
        self._over.clear()
        steps = [*((name, self._publish) for name in PUBLISHERS), *((name, self._come_and_go) for name in SUBSCRIBERS)]
        threads = [
            threading.Thread(target=self._work, args=(name, step, Random(self._random.randrange(2**32))))
            for name, step in steps
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(DEADLINE)
        if self._refused or any(thread.is_alive() for thread in threads):
            raise LostError("\n".join(["a peer refused what it should have done, or hangs:", *self._refused]))

    def _work(self, name: str, step: Callable[[str, Client, Random], None], random: Random) -> None:
        """Do something again and again; what is cut off is done again."""
        while not self._over.is_set() and not self._refused:
            try:
                with Client.connect(self._folders[name]) as client:
                    while not self._over.is_set():
                        step(name, client, random)
            except HeptoxError as error:
                self._refused.extend(str(fault) for fault in error.faults if fault.code != "HX7055")
                self.figures["calls cut off, or to nobody"] += 1
                time.sleep(0.05)
            except LostError as error:
                self._refused.append(str(error))

    def _publish(self, name: str, client: Client, random: Random) -> None:
        """Publish a document, or once more one that was cut off."""
        if name not in self._pending:
            text = random.choice(DOCUMENTS[SCHEMAS[name]]).format(random.randrange(100))
            self._pending[name] = f"{name}-{next(self._numbers)}.xml"
            self._documents[self._pending[name]] = Document(name, text, time.monotonic())
        document = self._pending[name]
        held = self._documents[document]
        told = client.publish(document, held.text.encode(), identity=document)
        held.acknowledged = time.monotonic()
        del self._pending[name]
        if told.kept:
            raise LostError(f"{document} is kept at home: {told.kept}")
        self.figures["documents, acknowledged"] += 1
        time.sleep(random.uniform(0, 0.1))

    def _come_and_go(self, name: str, client: Client, random: Random) -> None:
        self._look_what_counts()
        own = [one for one in tuple(self._subscriptions.values()) if one.peer == name and one.xpath in COMING]
        if len(own) > 3 and random.random() < 0.5:
            self._unsubscribe(client, random.choice(own))
        elif any(not one.number for one in own):
            self._added(client, next(one for one in own if not one.number))
        else:
            self._subscribe(name, client, random.choice(COMING))
        time.sleep(random.uniform(0, 0.3))

    def _subscribe(self, name: str, client: Client, xpath: str) -> None:
        one = Subscription(name, f"{name}-{next(self._numbers)}", xpath, time.monotonic())
        self._subscriptions[one.name] = one
        self._added(client, one)

    def _added(self, client: Client, one: Subscription) -> None:
        client.subscribe(
            SubscriptionsRequest(subscriptions=(SubscriptionEntry(name=one.name, xpath=one.xpath),), backlog=NO_BOUND)
        )
        one.number = client.subscription(one.name).number
        self.figures["subscriptions added"] += 1

    def _unsubscribe(self, client: Client, one: Subscription) -> None:
        del self._subscriptions[one.name]
        if one.name in {held.name for held in client.subscriptions()}:
            client.unsubscribe(one.name)
            self.figures["subscriptions removed"] += 1

    def _look_what_counts(self) -> None:
        """See which subscriptions their peers have kept as confirmed."""
        for peer in SUBSCRIBERS:
            for publisher, number in self._kept(peer).items():
                for one in tuple(self._subscriptions.values()):
                    if one.peer == peer and 0 < one.number <= number:
                        one.counts.setdefault(publisher, time.monotonic())

    def _kept(self, peer: str) -> dict[str, int]:
        """Up to which number subscriptions count, by publisher, as it is on the disk of a peer."""
        with closing(sqlite3.connect(self._folders[peer] / "feed.sqlite")) as connection:
            rows: Sequence[tuple[str, int]] = connection.execute("SELECT publisher, number FROM reached").fetchall()
        return {self._ids[publisher]: number for publisher, number in rows}

    def _all_counts(self) -> bool:
        self._look_what_counts()
        return all(
            publisher in one.counts
            for one in self._subscriptions.values()
            for publisher in PUBLISHERS
            if publisher != one.peer and one.xpath == "/a"
        )

    # -- what is looked at -------------------------------------------------------------------------------------------

    def look(self, seconds: float = DEADLINE) -> None:
        """Wait so long until all that has to be delivered is; raises :class:`LostError` with everything that is
        wrong."""
        end = time.monotonic() + seconds
        while (late := self._late()) and time.monotonic() < end:
            time.sleep(0.1)
        wrong = [*late, *self._in_error()]
        self.figures["documents"] = len(self._documents)
        self.figures["deliveries that had to be"] = self._count_due()
        self.figures["subscriptions at the end"] = len(self._subscriptions)
        if wrong:
            raise LostError("\n".join(wrong))

    def _count_due(self) -> int:
        return sum(one.must(held) for one in self._subscriptions.values() for held in self._documents.values())

    def _late(self) -> list[str]:
        return [
            f"{one.name} ({one.xpath}) is not told of {document}"
            for one, delivered in self._all_delivered()
            for document, held in self._documents.items()
            if one.must(held) and not delivered[document]
        ]

    def _in_error(self) -> list[str]:
        return [
            f"{one.name} ({one.xpath}) is told {times} times of {document}"
            for one, delivered in self._all_delivered()
            for document, times in delivered.items()
            if times > 1 or not one.may(self._documents[document])
        ]

    def _all_delivered(self) -> Iterator[tuple[Subscription, Counter[str]]]:
        for peer in SUBSCRIBERS:
            with self._running[peer].client() as client:
                for one in self._subscriptions.values():
                    if one.peer == peer and one.number:  # what was cut off last may not be there
                        yield one, Counter(told.document for told in client.notifications(one.name, 1))
