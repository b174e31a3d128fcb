"""Tasks under supervision, and the end of a daemon that does not come by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import trio
from trio.testing import MockClock

from heptox.errors import PeerError
from heptox.peer import stop_peer
from heptox.peer.process.supervision import RESTARTS, WINDOW, contained, failures, supervised, supervised_for_one
from heptox.peer.record.metrics import Metrics
from heptox.peer.runner import Runner
from heptox.peer.wire.transport import Stream
from tests.peer.asked_peers import Holding, Knowing, ask, asked_peers
from tests.peer.daemons import DEADLINE, hospital_peer, process_of
from tests.peer.networks import run
from tests.peer.test_what_a_query_says import SCHEMAS


@pytest.fixture(autouse=True)
def counted() -> None:
    failures.clear()


def clock() -> MockClock:
    return MockClock(autojump_threshold=0)


def test_a_task_that_fails_is_begun_again_and_counted() -> None:
    tries = []

    async def work() -> None:
        tries.append(trio.current_time())
        if len(tries) < RESTARTS:
            raise ValueError("not yet")

    run(lambda: supervised("some task", work), clock())
    assert len(tries) == RESTARTS
    assert sorted(tries) == tries
    assert failures["some task"] == RESTARTS - 1
    line = f'heptox_task_failures_total{{task="some task"}} {RESTARTS - 1:.1f}'
    assert line in Metrics().exposition().decode().splitlines()


def test_a_task_that_fails_again_and_again_ends_the_daemon_by_name() -> None:
    async def work() -> None:
        raise ValueError("for ever")

    with pytest.raises(PeerError) as error:
        run(lambda: supervised("some task", work), clock())
    assert [fault.code for fault in error.value.faults] == ["HX7110"]
    assert "some task" in str(error.value)
    assert "for ever" in str(error.value)
    assert failures["some task"] == RESTARTS + 1


def test_a_task_that_fails_now_and_then_goes_on() -> None:
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        await trio.sleep(WINDOW)
        if tries < 3 * RESTARTS:
            raise ValueError("once more")

    trio.run(supervised, "some task", work, clock=clock())
    assert tries == 3 * RESTARTS


def test_a_task_for_one_neighbour_goes_on_however_often_it_fails() -> None:
    tries = 0

    async def work() -> None:
        nonlocal tries
        tries += 1
        if tries < 20 * RESTARTS:
            raise ValueError("again")

    trio.run(supervised_for_one, "some task", work, clock=clock())
    assert tries == 20 * RESTARTS


def test_what_is_contained_ends_nothing_else_and_can_be_cancelled() -> None:
    async def fail() -> None:
        raise ValueError("of one connection")

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(contained, "one", fail)
            with trio.move_on_after(1) as scope:
                await contained("other", trio.sleep_forever)
            assert scope.cancelled_caught

    run(test, clock())
    assert failures == {"one": 1}


HANGING: Final = """
import ctypes, sys, threading, time
from pathlib import Path
import trio
from heptox.peer import daemon, serve
from heptox.peer.process import ending, machine, supervision

ending.END_SECONDS = 1.0

async def hang():
    if sys.argv[2] == "task":  # which nothing cancels
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()
    if sys.argv[2] == "thread":  # which does not come out of a library
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(ctypes.CDLL(None).sleep, 600)
    time.sleep(600)  # the event loop stands still

async def fail(*arguments):
    raise ValueError("a defect")

if sys.argv[2] == "defect":
    supervision.FIRST_PAUSE = supervision.LONGEST_PAUSE = 0.01
    machine.MachineLoop.keep_time = fail

started = daemon.Recorder.started

async def starting(recorder, addresses):
    await started(recorder, addresses)
    if sys.argv[2] != "defect":
        trio.lowlevel.current_root_task().child_nurseries[0].start_soon(hang)

daemon.Recorder.started = starting

def announce(address):
    print(address, flush=True)

serve(Path(sys.argv[1]), announce=announce)
"""
"""A daemon in which something hangs for ever, as soon as it serves."""


@contextmanager
def hanging(folder: Path, what: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HANGING, str(folder), what]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        if what != "loop":
            assert process.stdout.readline()
        else:  # it comes no further
            end = time.monotonic() + DEADLINE
            audit = folder / "audit.log"
            while not (audit.exists() and b"started" in audit.read_bytes()) and time.monotonic() < end:
                time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hospital_peer(tmp_path_factory.mktemp("hanging") / "boston", "boston", 2)


@pytest.mark.parametrize("what", ["task", "thread", "loop"])
def test_sigterm_ends_a_daemon_in_which_something_hangs(folder: Path, what: str) -> None:
    (folder / "audit.log").unlink(missing_ok=True)
    with hanging(folder, what) as process:
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 70
        assert time.monotonic() - began < DEADLINE
        assert process.stderr
        assert "ended by force" in process.stderr.read()


def test_stop_ends_a_daemon_in_which_something_hangs(folder: Path) -> None:
    with hanging(folder, "task") as process:
        stop_peer(folder)
        assert process.wait(DEADLINE) in (70, -signal.SIGKILL)


def test_stop_ends_a_daemon_that_does_not_go_on_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.peer.control.administration.STOP_SECONDS", 1.0)
    monkeypatch.setattr("heptox.peer.control.client.HEALTH_SECONDS", 1.0)
    with hanging(folder, "task") as process:
        os.kill(process_of(folder), signal.SIGSTOP)
        stop_peer(folder)
        assert process.wait(DEADLINE) == -signal.SIGKILL


def test_a_daemon_that_cannot_do_its_work_ends_and_says_so(folder: Path) -> None:
    command = [sys.executable, "-c", HANGING, str(folder), "defect"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert ended.returncode == 1
    assert "HX7110" in ended.stderr
    assert "clock of queries" in ended.stderr


def test_what_fails_for_one_query_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect where a query is taken: its asker hears that the answer is not whole, and the next one is answered."""
    for name, text in SCHEMAS.items():
        (tmp_path / f"{name}.dtd").write_text(text)
    (tmp_path / "a-b.arrows").write_text('source "a.dtd" root a\ntarget "b.dtd" root b\np/name -> q/label\n')
    holding = {
        "a": Holding(tmp_path / "a.dtd"),
        "b": Holding(tmp_path / "b.dtd", ("<b><q><label>x</label><room/></q></b>",)),
    }
    serve, calls = Runner._serve, []

    async def failing(self: Runner, stream: Stream) -> None:
        calls.append(stream)
        if len(calls) < 3:
            raise ValueError("a defect")
        await serve(self, stream)

    monkeypatch.setattr(Runner, "_serve", failing)

    async def test() -> None:
        async with asked_peers(tmp_path / "peers", holding, [Knowing("a", "b", tmp_path / "a-b.arrows")]) as peers:
            found = [await ask(peers["a"], "//p/name") for _ in range(3)]
            assert [one.receipt.complete for one in found] == [False, False, True]
            assert found[2].items == {"<name>x</name>"}
            assert failures["stream"] == 2
            assert peers["b"].metric("heptox_arrived_queries_total") == 1
            findings = {one.subject: one.message for one in await peers["b"].at_work.examine()}
            assert findings["tasks that have failed"] == "stream: 2"

    run(test)
