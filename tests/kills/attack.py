"""Kills of a peer at random moments, as it starts and under load, whatever the load is."""

from __future__ import annotations

import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from heptox.errors import HeptoxError
from heptox.peer import Client
from tests.peer.daemons import DEADLINE, Daemon, daemon, hospital_peer, log_of, starting, wait_until

STARTING: Final = 0.2
"""How many of the kills come while it starts."""
LONGEST_START: Final = 0.6
"""Seconds after which they come, at most: a start takes some 0.2 s."""

Step: TypeAlias = Callable[[Client, Random], None]
"""What a thread does with the peer again and again."""


class LostError(AssertionError):
    """Something that was acknowledged is not there."""


class Attack(ABC):
    """A peer in ``folder`` that is killed; ``figures`` tell what was done to it."""

    most_acknowledged: int
    """Changes that the peer has acknowledged when it is killed, at most."""
    most_seconds: float
    """How long after them it is killed, at most."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.figures: Counter[str] = Counter()
        self._random = Random(seed)
        self._folder = hospital_peer(folder / "besieged", "montreal", 0, feed="anything")

    @abstractmethod
    def laid(self) -> AbstractContextManager[None]:
        """Make what has to be there for as long as the block lasts."""

    @abstractmethod
    def look(self, besieged: Daemon) -> None:
        """Look at all that was acknowledged after a start; raises :class:`LostError` with everything that is wrong."""

    @abstractmethod
    def _steps(self) -> Sequence[Step]:
        """What loads the peer, each in a thread of its own."""

    @abstractmethod
    def _acknowledged(self) -> int:
        """How many changes the peer has acknowledged."""

    @abstractmethod
    def _look_at_files(self) -> None:
        """Look at what a killed peer has left, before it is started."""

    def _look_at_the_end(self, besieged: Daemon) -> None:
        """Look a last time."""
        self.look(besieged)

    def run(self, kills: int, told: Callable[[int], None] = lambda _: None) -> None:
        """Kill it so many times, and look at it a last time; raises :class:`LostError`."""
        for number in range(kills):
            if self._random.random() < STARTING:
                self.kill_while_starting()
            else:
                self.kill_under_load()
            told(number + 1)
        with daemon(self._folder) as besieged:
            self._look_at_the_end(besieged)

    def kill_while_starting(self) -> None:
        """Start the peer, and kill it before it serves, or a little later."""
        with log_of(self._folder).open("a") as log:
            process = starting(self._folder, log)
        time.sleep(self._random.uniform(0, LONGEST_START))
        process.kill()
        process.communicate()
        self.figures["kills while it started"] += 1

    def kill_under_load(self) -> None:
        """Start the peer, look at all that it holds, load it, and kill it."""
        self._look_at_files()
        with daemon(self._folder) as besieged:
            self.look(besieged)
            enough = self._acknowledged() + self._random.randrange(self.most_acknowledged)
            with self._loaded():
                wait_until(lambda: self._acknowledged() > enough)
                time.sleep(self._random.uniform(0, self.most_seconds))
                besieged.end(signal.SIGKILL)
        self.figures["kills under load"] += 1

    @contextmanager
    def _loaded(self) -> Iterator[None]:
        """Load the peer from several threads, each until it is gone; raises what the peer refuses."""
        refused: list[str] = []
        over = threading.Event()

        def work(step: Step, seed: int) -> None:
            random = Random(seed)
            try:
                with Client.connect(self._folder) as client:
                    while not over.is_set():
                        step(client, random)
            except HeptoxError as error:
                refused.extend(str(fault) for fault in error.faults if fault.code != "HX7055")
            except LostError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=work, args=(step, self._random.randrange(2**32))) for step in self._steps()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(DEADLINE)
        if refused or any(thread.is_alive() for thread in threads):
            raise LostError("\n".join(["the peer refused what it should have done, or hangs:", *refused]))
