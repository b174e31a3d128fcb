"""How long the event loop is held by one step of a task: everybody else waits meanwhile."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

from heptox.peer.record.metrics import Metrics

STALL: Final = 0.05
"""Seconds of the processor that a step may take."""

_log = logging.getLogger(__name__)


class StallWatch(trio.abc.Instrument):
    """Measures each step of each task.

    ``stalls`` counts the steps that took the loop's own thread longer than :data:`STALL` of the processor, which does
    not depend on what else the machine does; ``longest`` is the longest such time in seconds, ``longest_clock`` the
    longest by the clock: it grows, too, where another thread holds the interpreter's lock.
    """

    def __init__(self) -> None:
        self.stalls = 0
        self.longest = 0.0
        self.longest_clock = 0.0
        self._processor = time.thread_time()  # the step that makes it has begun
        self._clock = time.perf_counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:  # noqa: ARG002
        """Begin to measure."""
        self._processor, self._clock = time.thread_time(), time.perf_counter()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Take in what a step has taken."""
        self.longest_clock = max(self.longest_clock, time.perf_counter() - self._clock)
        taken = time.thread_time() - self._processor
        self.longest = max(self.longest, taken)
        if taken > STALL:
            self.stalls += 1
            _log.warning("the event loop was held for %.0f ms by %s", 1000 * taken, task.name)


@contextmanager
def stalls_watched(metrics: Metrics) -> Iterator[StallWatch]:
    """Measure the steps of the event loop while the context is open, for the metrics."""
    watch = StallWatch()
    metrics.watch(
        "heptox_loop_stalls", f"Steps of the event loop over {STALL:g} s of the processor", lambda: watch.stalls
    )
    metrics.watch("heptox_loop_longest_step_seconds", "The longest step, of the processor", lambda: watch.longest)
    metrics.watch(
        "heptox_loop_longest_step_clock_seconds", "The longest step, by the clock", lambda: watch.longest_clock
    )
    trio.lowlevel.add_instrument(watch)
    try:
        yield watch
    finally:
        trio.lowlevel.remove_instrument(watch)
