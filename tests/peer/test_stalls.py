"""A step that holds the event loop is counted and named, by the time of its own thread alone."""

from __future__ import annotations

import logging
import time

import pytest
import trio

from heptox.peer.record.metrics import Metrics
from heptox.peer.record.stalls import STALL, stalls_watched


def test_a_step_that_takes_long_is_counted_and_named(caplog: pytest.LogCaptureFixture) -> None:
    async def hold() -> None:
        end = time.thread_time() + 2 * STALL
        while time.thread_time() < end:
            pass

    async def test() -> None:
        metrics = Metrics()
        with stalls_watched(metrics) as watch:
            await trio.sleep(0)
            time.sleep(2 * STALL)  # of this machine's time, not of the processor's
            await trio.sleep(0)
            assert watch.stalls == 0
            assert watch.longest_clock >= 2 * STALL
            async with trio.open_nursery() as nursery:
                nursery.start_soon(hold)
            assert watch.stalls == 1
            assert watch.longest >= 2 * STALL
            assert b"\nheptox_loop_stalls 1.0\n" in metrics.exposition()

    with caplog.at_level(logging.WARNING):
        trio.run(test)
    assert "hold" in caplog.text


def test_nothing_is_measured_afterwards() -> None:
    async def test() -> None:
        with stalls_watched(Metrics()) as watch:
            pass
        longest = watch.longest_clock
        await trio.sleep(0)
        time.sleep(STALL)
        await trio.sleep(0)
        assert watch.longest_clock == longest

    trio.run(test)
