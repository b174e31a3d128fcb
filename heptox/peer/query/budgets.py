"""How much of the processor others can have in the course of time: each neighbour has a budget for its queries."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from heptox.errors import Fault, PeerError
from heptox.peer.wire.messages import OWN, PeerId

MINUTE: Final = 60.0
STRANGERS: Final = "strangers"
"""Whose budget strangers use, all of them together: a new key gives nobody more. No peer id is written like that."""

AGAIN: Final = 0.25
"""The share of a budget that is used up which has to be there again, before work is done again: so that what is begun
then has a chance to end."""

_LEAST: Final = 0.02
"""Seconds after which work that goes on is charged again: charging has its own cost."""


class Budget:
    """The work that may be done for one asker: ``seconds`` at once, and as many again in a minute; where they are used
    up, none is done until :data:`AGAIN` of them are there again. For several threads.

    ``now`` is a clock that never goes back, in seconds.

    >>> budget = Budget(60)
    >>> budget.spend(61, 0.0)
    >>> [budget.is_used_up(now) for now in (0.0, 15.9, 16.0)]
    [True, True, False]
    """

    def __init__(self, seconds: float) -> None:
        self._most = self._left = seconds
        self._looked = 0.0
        self._used_up = False
        self._lock = Lock()

    def is_used_up(self, now: float) -> bool:
        """Whether nothing more is done now."""
        self.spend(0, now)
        return self._used_up

    def is_little_used(self, now: float) -> bool:
        """Whether no more is used up than :data:`AGAIN`."""
        return self.left(now) >= (1 - AGAIN) * self._most

    def is_whole(self, now: float) -> bool:
        """Whether nothing is used up."""
        return self.left(now) >= self._most

    def left(self, now: float) -> float:
        """Seconds that are left."""
        self.spend(0, now)
        return self._left

    def spend(self, seconds: float, now: float) -> None:
        """Work was done. It is known only afterwards how much, so that less than nothing may be left."""
        with self._lock:
            since = max(0.0, now - self._looked)
            self._looked += since
            if since:
                self._left = min(self._most, self._left + since * self._most / MINUTE)
            self._left -= seconds
            self._used_up = self._left < (self._most * AGAIN if self._used_up else 0)


class _Running:
    """How many pieces of work are under way."""

    def __init__(self) -> None:
        self.number = 0
        self._lock = Lock()

    def add(self, number: int) -> None:
        with self._lock:
            self.number += number


class Meter:
    """Charges a budget with one piece of work while that goes on, in one thread after the other.

    A piece of work costs the time that the process has of the processor meanwhile, shared equally among the ``running``
    pieces of work, and no more than it takes by the clock: which threads of the database work for whom cannot be seen.
    """

    def __init__(self, budget: Budget, running: _Running) -> None:
        self._budget = budget
        self._running = running
        self._lock = Lock()
        self._clock = self._processor = math.inf

    @contextmanager
    def running(self) -> Iterator[None]:
        """The work goes on while the block lasts. Raises as :meth:`check`, before it."""
        _check_left(self._budget)
        self._running.add(1)
        self._clock, self._processor = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self._charge()
            self._clock = math.inf
            self._running.add(-1)

    def check(self) -> None:
        """To be called again and again, from any thread. Raises :class:`PeerError` (HX7106) when nothing is left."""
        if time.monotonic() > self._clock + _LEAST:
            self._charge()
            _check_left(self._budget)

    def _charge(self) -> None:
        with self._lock:
            clock, processor = time.monotonic(), time.process_time()
            spent = min(clock - self._clock, (processor - self._processor) / self._running.number)
            self._clock, self._processor = clock, processor
        if spent > 0:
            self._budget.spend(spent, clock)


class Budgets:
    """The budgets of all who ask, ``seconds`` in a minute for each; the own user's has no end.

    ``is_known`` tells acquaintances from strangers. A budget of which nothing is used up is forgotten.
    """

    def __init__(self, seconds: float, is_known: Callable[[PeerId], bool]) -> None:
        self._seconds = seconds
        self._is_known = is_known
        self._own = Budget(math.inf)
        self._budgets: dict[str, Budget] = {}
        self._running = _Running()

    def meter(self, asker: PeerId) -> Meter:
        """What charges a neighbour with a piece of work."""
        return Meter(self.of(asker), self._running)

    def check(self, asker: PeerId) -> None:
        """Raise :class:`PeerError` (HX7106) where a neighbour has used up what it may for now."""
        _check_left(self.of(asker))

    def who(self, asker: PeerId) -> str:
        """Whose share of the work a piece of it is in: that of the own user, of an acquaintance, or of strangers."""
        return asker if asker == OWN or self._is_known(asker) else STRANGERS

    def is_little_used(self, who: str) -> bool:
        """Whether an acquaintance (:meth:`who`) has used little lately; strangers are not told apart, and have not."""
        return who != STRANGERS and self.of(who).is_little_used(time.monotonic())

    def of(self, asker: PeerId) -> Budget:
        """The budget of a neighbour, or of the own user."""
        if asker == OWN:
            return self._own
        who = self.who(asker)
        found = self._budgets.get(who)
        if found is None:
            now = time.monotonic()
            self._budgets = {one: budget for one, budget in self._budgets.items() if not budget.is_whole(now)}
            found = self._budgets[who] = Budget(self._seconds)
        return found


def _check_left(budget: Budget) -> None:
    """Raise :class:`PeerError` (HX7106) where nothing is left of a budget."""
    if budget.is_used_up(time.monotonic()):
        message = "the queries of this neighbour have taken the time of the processor that they may take in a minute"
        raise PeerError(Fault("HX7106", message, hint="ask again in a minute, and for less"))
