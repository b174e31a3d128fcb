"""Subscribers and publishers at a peer that is killed at random moments, and what is looked at after each kill."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from heptox.matching import SubscriptionLog
from heptox.peer import Client, NotificationModel, SubscriptionEntry, SubscriptionModel, SubscriptionsRequest
from tests.kills.attack import Attack, LostError, Step
from tests.kills.ledger import Register
from tests.peer.daemons import Daemon, daemon

STANDING: Final = {"all": "/d[n]", "even": "/d[n/@even = 'yes']", "either": "//n[. >= 0 or @even]", "none": "/d/other"}
"""Subscriptions that are always there, and are read and acknowledged."""
COMING: Final = 8
"""Subscriptions that come and go."""
NO_BOUND: Final = 1_000_000


def matched(name: str, number: int) -> bool:
    """Whether the standing subscription ``name`` matches the document ``number``."""
    return name in ("all", "either") or (name == "even" and number % 2 == 0)


@dataclass(slots=True)
class Span:
    """When something was begun, and when it was acknowledged, if it was: by the clock of the subscribers."""

    begun: float
    acknowledged: float | None = None


@dataclass(slots=True)
class Reader:
    """What the reader of one subscription has got: ids of documents by sequence number, and what it acknowledged."""

    got: dict[int, str] = field(default_factory=dict)
    acknowledged: int = 0
    pending: int = 0


class Subscribers(Attack):
    """Publishers, readers and those who come and go, at a peer in ``folder``; ``figures`` tell what was done."""

    most_acknowledged = 60
    most_seconds = 0.05

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._published: dict[str, Span] = {}
        self._numbers = iter(range(1, 1_000_000_000))
        self._held = Register[str]()
        self._spans: dict[str, Span] = {}
        """Of each XPath of those that come and go, which is never the same again, when it was added."""
        self._readers = {name: Reader() for name in STANDING}
        self._drawing = threading.Lock()
        self._begun: set[str] = set()
        """Ids of the documents that somebody has begun to publish since the last kill."""

    def acknowledged(self, name: str) -> int:
        """Up to where what is always there has been acknowledged."""
        return self._readers[name].acknowledged

    @contextmanager
    def laid(self) -> Iterator[None]:
        """Add what is always there; nothing runs between the plays."""
        with daemon(self._folder) as besieged, besieged.client() as client:
            for name, xpath in STANDING.items():
                client.subscribe(
                    SubscriptionsRequest(subscriptions=(SubscriptionEntry(name=name, xpath=xpath),), backlog=NO_BOUND)
                )
            besieged.end(signal.SIGKILL)
        yield

    def _look_at_files(self) -> None:
        with SubscriptionLog(self._folder / "subscriptions.sqlite") as log:
            if problems := log.check():
                raise LostError("\n".join(problems))

    def _look_at_the_end(self, besieged: Daemon) -> None:
        self.look(besieged)
        with besieged.client() as client:
            for name in STANDING:
                for one in client.notifications(name):  # what is left
                    self._got(name, one)
        self.look(besieged)
        with besieged.client() as client:
            last = {name: client.subscription(name).last for name in STANDING}
        undelivered = [
            f"{name} was not told of {last[name] - len(reader.got)} notifications"
            for name, reader in self._readers.items()
            if len(reader.got) != last[name]
        ]
        if undelivered:
            raise LostError("\n".join(undelivered))

    def _acknowledged(self) -> int:
        return self._held.counts.total() + self.figures["documents, acknowledged"]

    # -- load --------------------------------------------------------------------------------------------------------

    def _steps(self) -> Sequence[Step]:
        return [
            self._publish,
            self._publish,
            *(self._read(name, 20) for name in STANDING),
            *(self._come_and_go(worker) for worker in range(2)),
        ]

    def _publish(self, client: Client, _: Random) -> None:
        """Publish a document, or once more one that was cut off."""
        with self._drawing:
            cut_off = (one for one, span in self._published.items() if span.acknowledged is None)
            again = next((one for one in cut_off if one not in self._begun), None)
            identity = again or str(next(self._numbers))
            self._begun.add(identity)
            span = self._published.setdefault(identity, Span(time.monotonic()))
        told = client.publish(f"{identity}.xml", _document(int(identity)), identity=identity)
        span.acknowledged = time.monotonic()
        self.figures["documents, acknowledged"] += 1
        if again:
            self.figures[f"documents cut off, published again: {told.outcome}"] += 1

    def _read(self, name: str, limit: int) -> Step:
        reader = self._readers[name]

        def read(client: Client, random: Random) -> None:
            found = list(client.notifications(name, limit=limit))
            for one in found:
                self._got(name, one)
            if not found:
                time.sleep(0.01)
                return
            reader.pending = random.choice(found).sequence
            client.acknowledge(name, reader.pending)
            reader.acknowledged = max(reader.acknowledged, reader.pending)
            self.figures["acknowledgements"] += 1

        return read

    def _got(self, name: str, one: NotificationModel) -> None:
        got = self._readers[name].got
        before = got.setdefault(one.sequence, one.id)
        if before != one.id:
            raise LostError(f"{name} told {one.sequence} to be {before}, then {one.id}")
        self.figures["notifications delivered"] += 1

    def _come_and_go(self, worker: int) -> Step:
        names = [f"coming-{number}" for number in range(worker, COMING, 2)]

        def change(client: Client, random: Random) -> None:
            name = random.choice(names)
            if name in self._held.acknowledged:
                with self._held.changing(name, "removed", None):
                    client.unsubscribe(name)
                return
            with self._drawing:
                xpath = f"/d[n >= 0][n < 1{next(self._numbers):09}]"
            self._spans[xpath] = span = Span(time.monotonic())
            with self._held.changing(name, "added", xpath):
                client.subscribe(
                    SubscriptionsRequest(subscriptions=(SubscriptionEntry(name=name, xpath=xpath),), backlog=NO_BOUND)
                )
            span.acknowledged = time.monotonic()

        return change

    # -- what is looked at -------------------------------------------------------------------------------------------

    def look(self, besieged: Daemon) -> None:
        with besieged.client() as client:
            self._look(client)

    def _look(self, client: Client) -> None:
        self._begun = set()
        told = {one.name: one for one in client.subscriptions()}
        wrong = [f"{name} is not there" for name in STANDING.keys() - told.keys()]
        wrong += self._held.settle({name: one.xpath for name, one in told.items() if name not in STANDING})
        for name, one in told.items():
            replayed = list(client.notifications(name, 1))
            wrong += self._unlike(name, one, replayed)
            wrong += self._misread(name, one, replayed) if name in STANDING else self._mismatched(one, replayed)
        if wrong:
            raise LostError("\n".join(wrong))
        self.figures["looks"] += 1
        self.figures["documents"] = len(self._published)
        for state in ("counts", "cut_off"):
            for what in ("added", "removed"):
                number = sum(count for (_, one), count in getattr(self._held, state).items() if one == what)
                self.figures[f"subscriptions {what}, {'acknowledged' if state == 'counts' else 'cut off'}"] = number

    def _unlike(self, name: str, one: SubscriptionModel, replayed: list[NotificationModel]) -> list[str]:
        """What is wrong with the numbers and the documents of a subscription, whatever it is."""
        wrong = []
        if [told.sequence for told in replayed] != list(range(1, one.last + 1)):
            wrong.append(f"{name} leaves numbers out: {[told.sequence for told in replayed]} of {one.last}")
        ids = Counter(told.id for told in replayed)
        wrong += [f"{name} is told {count} times of {identity}" for identity, count in ids.items() if count > 1]
        wrong += [f"{name} is told of {identity}, which nobody published" for identity in ids - self._published.keys()]
        return wrong

    def _misread(self, name: str, one: SubscriptionModel, replayed: list[NotificationModel]) -> list[str]:
        """What is wrong with a subscription that is always there."""
        reader = self._readers[name]
        ids = {told.sequence: told.id for told in replayed}
        wrong = [
            f"{name} told {sequence} to be {identity}, and now {ids.get(sequence)}"
            for sequence, identity in reader.got.items()
            if ids.get(sequence) != identity
        ]
        expected = {
            identity
            for identity, span in self._published.items()
            if span.acknowledged is not None and matched(name, int(identity))
        }
        wrong += [f"{name} is not told of {identity}" for identity in expected - set(ids.values())]
        wrong += [
            f"{name} is told of {identity}, in error" for identity in ids.values() if not matched(name, int(identity))
        ]
        if not reader.acknowledged <= one.acknowledged <= max(reader.acknowledged, reader.pending):
            wrong.append(f"{name} is acknowledged up to {one.acknowledged}, not {reader.acknowledged}")
        wrong += [
            f"{name} has acknowledged {sequence}, and was not told of it"
            for sequence in range(1, one.acknowledged + 1)
            if sequence not in reader.got
        ]
        reader.acknowledged = one.acknowledged
        return wrong

    def _mismatched(self, one: SubscriptionModel, replayed: list[NotificationModel]) -> list[str]:
        """What is wrong with a subscription that has come: what it must be told of, and what it cannot be."""
        span, ids = self._spans[one.xpath], {told.id for told in replayed}
        wrong = []
        for identity, published in self._published.items():
            if published.acknowledged is None:
                continue
            if span.acknowledged is not None and published.begun > span.acknowledged and identity not in ids:
                wrong.append(f"{one.name} is not told of {identity}, which was published after it came")
            if published.acknowledged < span.begun and identity in ids:
                wrong.append(f"{one.name} is told of {identity}, which was published before it came")
        return wrong


def _document(number: int) -> bytes:
    return f"<d><n even='{'no' if number % 2 else 'yes'}'>{number}</n></d>".encode()
