"""Work in processes that have limits."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Any, Final

import pytest
import trio
import trio.testing

from heptox.bounded import TooCostlyError, run_bounded
from heptox.errors import Fault, MappingError, PeerError
from heptox.peer.process.workers import READING, Workers, open_workers
from tests.peer.networks import run

LIMITS: Final = replace(READING, processor_seconds=1)


def work(test: Callable[[Workers], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with open_workers(LIMITS) as workers:
            await test(workers)

    run(opened)


def faulty(code: str) -> None:
    raise MappingError(Fault(code, "it is wrong"))


def endless() -> int:
    return next(number for number in count() if number < 0)


class Laborious:
    """What takes long to read, as a piece of work does whose modules are still to be imported."""

    def __reduce__(self) -> tuple[Callable[[int], int], tuple[int]]:
        return busy, (2,)


def busy(seconds: int) -> int:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def asleep() -> None:
    trio.run(trio.sleep_forever)


def large(size: int) -> bytes:
    return bytes(size)


def used(size: int) -> int:
    return len(bytes(size))


def test_a_defect_is_not_taken_for_work_that_costs_too_much() -> None:
    with pytest.raises(AssertionError, match="ValueError: invalid literal"):
        run_bounded(LIMITS, int, "x")
    with pytest.raises(MappingError, match="HX4036 it is wrong"):
        run_bounded(LIMITS, faulty, "HX4036")
    with pytest.raises(TooCostlyError):
        run_bounded(LIMITS, endless)
    assert run_bounded(LIMITS, abs, -1) == 1


def test_what_a_piece_of_work_may_take_is_no_limit_of_reading_the_next() -> None:
    assert run_bounded(LIMITS, abs, -1) == 1
    assert run_bounded(LIMITS, str, Laborious()) == "2"


def test_results_and_errors_come_back() -> None:
    async def test(workers: Workers) -> None:
        process = await workers.run(os.getpid)
        assert process not in (os.getpid(), await workers.run(sum, (0, 0)))
        assert await workers.run(sum, (1, 2)) == 3
        with pytest.raises(MappingError, match="HX4036 it is wrong"):
            await workers.run(faulty, "HX4036")
        assert await workers.run(os.getpid) == process

    work(test)


@pytest.mark.parametrize(
    "costly",
    [
        pytest.param((endless,), id="processor"),
        pytest.param((used, READING.memory * 3 // 2), id="memory"),
        pytest.param((large, READING.result_bytes), id="result"),
        pytest.param((os.abort,), id="crash"),
    ],
)
def test_what_takes_too_much_is_ended_and_the_next_is_done(costly: tuple[Any, ...]) -> None:
    async def test(workers: Workers) -> None:
        with pytest.raises(PeerError) as raised:
            await workers.run(*costly)
        (fault,) = raised.value.faults
        assert (fault.code, fault.message) == (
            "HX7100", "to read it takes more than 1 s of the processor or 1 GB of memory"
        )  # fmt: skip
        assert await workers.run(sum, (1, 2)) == 3

    work(test)


def test_who_is_cancelled_waits_for_no_worker() -> None:
    async def test(workers: Workers) -> None:
        assert await workers.run(sum, (1, 2)) == 3
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workers.run, asleep)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    work(test)
