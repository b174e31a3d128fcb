"""Trials against one daemon, one after the other, while a watch looks whether it serves those whom it should."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path
from random import Random
from traceback import format_exc
from typing import Any, Final

import trio

from heptox.errors import HeptoxError
from heptox.peer import Client, QuestionRequest
from tests.fuzz.handlers.control import one_request
from tests.fuzz.handlers.neighbour import attack_as, attacker, raw_connection
from tests.fuzz.handlers.target import QUERY, RECORDS, Target, agree, attacked_daemon, key_of
from tests.hostile.attacks import MEGABYTE, Bounds, Friend, Watch, stop, watching
from tests.peer.daemons import Daemon

SPARE: Final = 200 * MEGABYTE
"""Bytes of memory besides those that the bounds are reckoned from."""
DISK: Final = 300 * MEGABYTE
"""Bytes by which the folder may grow: offers that wait, two audit logs, the feed log, documents of the owner."""
BY_THE_CLOCK: Final = Bounds(healthz=0.1, query=1.0, neighbour=2.0, factor=1.5, growth=SPARE, disk=DISK)
BY_THE_PROCESSOR: Final = Bounds(factor=1.5, growth=SPARE, disk=DISK)
STOPPING: Final = 10.0
"""Seconds in which the daemon ends."""
TRIAL: Final = 30.0
"""Seconds after which a trial is given up."""
CONVERSATIONS: Final = 100


@dataclass(slots=True)
class Report:
    """What came of a campaign: how many trials and messages, the worst figures, and what is broken, by the seed."""

    trials: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    broken: list[tuple[int, str]] = field(default_factory=list)

    def take(self, number: int, watch: Watch) -> None:
        """Take in what the watch has found broken during a trial."""
        while watch.broken:
            self.broken.append((number, watch.broken.pop(0)))
            print(f"== seed {number}\n{self.broken[-1][1]}\n", flush=True)
        self.worst, self.counts["rounds of the watch"] = watch.worst, watch.rounds

    def print(self) -> None:
        for name, number in sorted(self.counts.items()):
            print(f"{number:>9,} {name}")
        for name, value in sorted(self.worst.items()):
            print(f"{value:>14,.3f} worst {name}")
        print(f"{len(self.broken):>9,} broken in {self.trials:,} trials", flush=True)


def campaign(folder: Path, first: int, trials: int, minutes: float, conversations: int = CONVERSATIONS) -> Report:
    """Attack a new daemon in ``folder`` by so many trials, from the number ``first`` on, or for so long."""
    report, end = Report(), time.monotonic() + 60 * minutes
    numbers = takewhile(lambda _: time.monotonic() < end, range(first, first + trials))
    with attacked_daemon(folder) as (running, target, friend):
        _warm_up(target)
        attack(report, running, target, friend, numbers, BY_THE_CLOCK, conversations)
        if running.process.poll() is None:
            report.worst["stop"] = stop(running)
            if report.worst["stop"] > STOPPING:
                report.broken.append((first, f"it took {report.worst['stop']:.1f} s to end"))
    return report


def attack(
    report: Report,
    running: Daemon,
    target: Target,
    friend: Friend,
    numbers: Iterable[int],
    bounds: Bounds,
    conversations: int = CONVERSATIONS,
) -> None:
    """Attack a daemon by some trials, while it is watched."""
    watch, number = Watch(running, QUERY, bounds, friend), -1
    with watching([watch]), ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for number in numbers:
            if running.process.poll() is not None:
                break
            try:
                report.counts += pool.submit(trial, number, target, conversations).result()
            except Exception:  # the harness itself, which has lost the daemon perhaps
                watch.broken.append(f"the trial has failed\n{format_exc()}")
            report.trials += 1
            report.take(number, watch)
    report.take(number, watch)


def _warm_up(target: Target) -> None:
    """Do once what is done again and again: what the daemon keeps for good does not count as growth."""
    done = trial(-1, target)
    assert done["trials"] == 1, done


def trial(number: int, target: Target, conversations: int = CONVERSATIONS) -> Counter[str]:
    """Attack as an acquaintance, as a stranger, and at the control API, all at once; what was done, by kind.

    What is said depends on ``number`` and ``conversations`` alone, but for keys, which depend on the target's, too.
    """
    counts: Counter[str] = Counter()
    trio.run(_trial, number, target, counts, conversations)
    counts["trials"] += 1
    return counts


async def _trial(number: int, target: Target, counts: Counter[str], conversations: int) -> None:
    with target.client() as client:
        description = await trio.to_thread.run_sync(partial(_described, client))
    with trio.move_on_after(TRIAL) as scope:
        async with trio.open_nursery() as nursery:
            for kind in ("polite", "rude"):
                known, random = key_of(f"{kind} {number}", target), Random(f"{number} {kind}")
                polite = kind == "polite"
                nursery.start_soon(_as_acquaintance, target, known, random, counts, conversations // 2, polite)
            nursery.start_soon(_as_stranger, target, Random(f"{number} stranger"), counts, conversations)
            nursery.start_soon(_at_the_control, target, description, Random(f"{number} control"), counts, conversations)
    counts["trials given up"] += scope.cancelled_caught
    await trio.to_thread.run_sync(_tidy, target)


def _described(client: Client) -> dict[str, Any]:
    found = client._request("GET", "/openapi.json").json()
    assert isinstance(found, dict)
    return found


async def _as_acquaintance(
    target: Target, known: bytes, random: Random, counts: Counter[str], number: int, polite: bool
) -> None:
    try:
        async with attacker(target, known, random, counts, polite) as who:
            with suppress(HeptoxError):
                agreed = await agree(who.made, target, "attacker")
                counts["acquaintances agreed"] += agreed
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.to_thread.run_sync, _ask_all, target, random.random() < 0.5)
                await attack_as(who, number)
    except* HeptoxError:
        counts["connections refused"] += 1


async def _as_stranger(target: Target, random: Random, counts: Counter[str], number: int) -> None:
    for _ in range(2):
        try:
            async with attacker(target, random.randbytes(32), random, counts) as who:
                await attack_as(who, number // 2)
        except* HeptoxError:
            counts["connections refused"] += 1
        with suppress(OSError, trio.BrokenResourceError):
            await raw_connection(target, random, counts)


async def _at_the_control(
    target: Target, description: dict[str, Any], random: Random, counts: Counter[str], number: int
) -> None:
    limiter = trio.CapacityLimiter(6)

    async def one(seed: float) -> None:
        async with limiter:
            with suppress(OSError, trio.BrokenResourceError, trio.ClosedResourceError), trio.move_on_after(8):
                await one_request(target, description, Random(seed), counts)

    async with trio.open_nursery() as nursery:
        for _ in range(number):
            nursery.start_soon(one, random.random())


def _ask_all(target: Target, publishing: bool) -> None:
    """What the owner does meanwhile: ask the network, and publish."""
    with suppress(HeptoxError), target.client() as client:
        if publishing:
            client.publish("records.xml", RECORDS)
        list(client.query(QuestionRequest(query=QUERY, hops=2, timeout=2)))


def _tidy(target: Target) -> None:
    """What the owner does after an attack: end all acquaintances but that of the friend, and refuse what waits."""
    with suppress(HeptoxError), target.client() as client:
        status = client.status()
        for one in status.acquaintances:
            if one.name != "friend":
                with suppress(HeptoxError):
                    client.withdraw(one.peer_id, "enough")
        for request in status.requests:
            with suppress(HeptoxError):
                client.refuse(request.peer_id, "no")
