"""What attacks have in common: a watch that looks each second whether the daemon serves its owner and its neighbours,
and what it uses up.

A step of the event loop counts by the time of its own thread on a processor, and all bounds grow with the load of the
machine, so that a loaded one fails no test.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from math import inf
from threading import Thread
from typing import Any, Final

import trio

from heptox.peer import ControlAddress
from heptox.peer.wire.messages import End, Status
from tests.peer.daemons import DEADLINE, Daemon, ask, heptox, log_of, memory_of
from tests.peer.hostile import Hostile, hostile
from tests.peer.test_metrics import scrape

MEGABYTE: Final = 2**20
FAULTS: Final = ("Traceback", " has failed", "was not carried out")
"""What stands in the log of a daemon in which something was not foreseen."""

HELD: Final = re.compile(r"the event loop was held for (\d+) ms by ")
"""What the log says of a step of the event loop that took the processor for longer than 50 ms."""
GRACE: Final = 5
"""How many times over a bound by the clock an answer may come."""
SELDOM: Final = 2
"""In how many of a hundred rounds it may be over that at all."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an attack may come to.

    ``healthz``, ``query`` and ``neighbour`` are seconds by the clock in which those are answered, infinite where only
    it counts that they are; ``step`` seconds of the processor that a step of the event loop takes; ``factor`` and
    ``growth`` how much memory there is, against that at the beginning, and in bytes besides; ``disk`` bytes by which
    the folder grows.
    """

    healthz: float = inf
    query: float = inf
    neighbour: float = inf
    step: float = 0.1
    factor: float = 1.0
    growth: float = 64 * MEGABYTE
    disk: float = inf


@dataclass(frozen=True, slots=True)
class Friend:
    """An acquaintance of the daemon that asks it: its key, and the key of the daemon's schema."""

    seed: bytes
    schema: str


@dataclass(slots=True)
class Watch:
    """Looks at a daemon each second; ``worst`` are the figures, ``broken`` sentences on what is out of ``bounds``."""

    daemon: Daemon
    query: str
    bounds: Bounds
    friend: Friend | None = None
    rounds: int = 0
    worst: dict[str, float] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    _memory: int = 0
    _disk: int = 0
    _logged: int = 0
    _late: Counter[str] = field(default_factory=Counter)
    _ended: bool = False

    def __post_init__(self) -> None:
        self._memory, self._disk = memory_of(self.daemon.process.pid), self._written()
        self._logged = log_of(self.daemon.folder).stat().st_size
        self.worst["memory at first"] = self._memory

    def run(self) -> None:
        """Look until :meth:`end`, from a thread of its own."""
        trio.run(self._look_again_and_again)

    def end(self) -> None:
        self._ended = True

    async def _look_again_and_again(self) -> None:
        async with AsyncExitStack() as stack:
            friend = None
            if self.friend is not None:
                friend = await stack.enter_async_context(hostile(0, seed=self.friend.seed))
            while True:
                began, last = trio.current_time(), self._ended  # once more after the end
                await self._look(friend)
                self.rounds += 1
                if self.daemon.process.poll() is not None:
                    return
                if last:
                    await self._look_at_metrics()
                    return
                while not self._ended and trio.current_time() < began + 1:
                    await trio.sleep(0.05)

    async def _look(self, friend: Hostile | None) -> None:
        self.look_at_process()
        if self.daemon.process.poll() is not None:
            return
        await self._timed("healthz", self.bounds.healthz, lambda: _in_thread(self._healthz))
        await self._timed("query", self.bounds.query, lambda: _in_thread(self._query))
        if friend is not None:
            await self._timed("neighbour", self.bounds.neighbour, lambda: self._ask(friend))

    async def _timed(self, what: str, bound: float, look: Callable[[], Any]) -> None:
        began = time.monotonic()
        try:
            with trio.fail_after(DEADLINE):
                await look()
        except Exception as error:
            self.broken.append(f"{what}: {error!r}")
            return
        self._note_time(what, time.monotonic() - began, bound)

    def _note_time(self, what: str, value: float, bound: float) -> None:
        """An answer may be late now and then."""
        bound *= crowding()
        self._note(what, value, GRACE * bound)
        self._late[what] += value > bound
        if self._late[what] > max(SELDOM, SELDOM * self.rounds / 100):
            self.broken.append(f"{what}: over {bound:g} s in {self._late[what]} of {self.rounds} rounds")
            self._late[what] = 0

    def _note(self, what: str, value: float, bound: float) -> None:
        self.worst[what] = max(value, self.worst.get(what, value))
        if value > bound:
            self.broken.append(f"{what}: {value:.3f}, over {bound:.3f}")

    def look_at_process(self) -> None:
        """What can be seen without asking the daemon: that it lives, its memory, its folder, its log."""
        self._note("folder", self._written() - self._disk, self.bounds.disk)
        with log_of(self.daemon.folder).open(errors="replace") as log:
            log.seek(self._logged)
            lines = log.readlines()
            self._logged = log.tell()
        for held in map(HELD.search, lines):
            if held is not None:
                self._note("step", int(held[1]) / 1000, self.bounds.step * crowding())
        for number, line in enumerate(lines):
            if any(fault in line for fault in FAULTS):
                self.broken.append("the log says: " + "".join(lines[number : number + 60]))
                break
        if (code := self.daemon.process.poll()) is not None:
            self.broken.append(f"the daemon has ended with {code}: {''.join(lines[-30:])}")
            return
        most = self._memory * self.bounds.factor + self.bounds.growth
        self._note("memory", memory_of(self.daemon.process.pid), most)

    def _healthz(self) -> None:
        address = ControlAddress.read(self.daemon.folder)
        assert address
        with urllib.request.urlopen(f"{address.url}/healthz", timeout=DEADLINE) as answer:
            assert json.load(answer)["status"] == "ok"

    def _query(self) -> None:
        items, receipt = ask(self.daemon.folder, self.query, hops=0)
        assert items
        assert receipt.complete

    async def _ask(self, friend: Hostile) -> None:
        peer = await friend.reach(self.daemon.address)
        assert self.friend is not None
        *_, end = await friend.ask(friend.query(peer, self.query, self.friend.schema))
        assert isinstance(end, End), end
        assert end.receipt[0].status is Status.ANSWERED, end

    async def _look_at_metrics(self) -> None:
        numbers = await trio.to_thread.run_sync(scrape, self.daemon.folder)
        for name, what in (("", "step since the start"), ("clock_", "step by the clock")):
            self.worst[what] = numbers(f"heptox_loop_longest_step_{name}seconds")

    def _written(self) -> int:
        """Bytes in all the files of the peer's folder but its log."""
        total = 0
        for file in self.daemon.folder.rglob("*"):
            try:
                total += file.stat().st_size * (file.is_file() and file != log_of(self.daemon.folder))
            except OSError:  # it is gone
                continue
        return total


def crowding() -> float:
    """How many times slower everything is, for what else the machine does; so is a processor that two threads share."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


async def _in_thread(work: Callable[[], None]) -> None:
    await trio.to_thread.run_sync(work, abandon_on_cancel=True)


@contextmanager
def watching(watches: Sequence[Watch]) -> Iterator[None]:
    """Have the watches look while the block lasts, and once more."""
    threads = [Thread(target=watch.run) for watch in watches]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for watch in watches:
            watch.end()
        for thread in threads:
            thread.join(DEADLINE)


@contextmanager
def no_harm(*daemons: Daemon, query: str, bounds: Bounds | None = None, friend: Friend | None = None) -> Iterator[None]:
    """Daemons serve while the block lasts, and keep within the bounds."""
    watches = [Watch(daemon, query, bounds or Bounds(), friend) for daemon in daemons]
    with watching(watches):
        yield
    for watch in watches:
        _log.info("%s: %s", watch.daemon.folder.name, watch.worst)
        assert not watch.broken, watch.broken


def stop(daemon: Daemon) -> float:
    """End a daemon as its owner does; in how many seconds it has ended."""
    began = time.monotonic()
    stopped = heptox("peer", "stop", daemon.folder)
    assert (stopped.returncode, daemon.process.wait(DEADLINE)) == (0, 0), stopped.stderr
    return time.monotonic() - began
