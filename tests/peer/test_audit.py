"""The audit log: on the disk before anything is told, whole after any crash, and nothing is answered without it."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
import trio.testing

from heptox.errors import PeerError
from heptox.peer import Conclude, ControlAddress, Deliver, HopPath, Neighbour, PeerState, Receipt, Status
from heptox.peer.folder.audit import AuditLog, audit_faults, read_audit
from heptox.peer.record.metrics import Metrics
from heptox.peer.record.recording import Recorder
from heptox.peer.record.repeated_events import NEIGHBOURS, PUBLISHERS, REFUSAL_SECONDS, REFUSALS
from heptox.peer.runner import Runner
from tests.peer.daemons import (
    DEADLINE,
    Daemon,
    acquaint,
    ask,
    begun,
    daemon,
    daemons,
    hospital_peer,
    wait_until,
)
from tests.peer.networks import Memory, run, until
from tests.peer.test_transport_runner import Doing

MONTREAL_TO_BOSTON = "montreal-boston.arrows"
NAMES = "//Patient/Name"


def lines(folder: Path, event: str | None = None) -> list[dict[str, Any]]:
    """What the log holds, file by file as it lies there: every line of it parses."""
    files = [*sorted(folder.glob("audit-*.log")), *folder.glob("audit.log")]
    found = [json.loads(line) for file in files for line in file.read_bytes().splitlines()]
    return [line for line in found if event in (None, line["event"])]


def told(folder: Path, last: int = 10**6, since: datetime | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_audit(folder, last, since)]


@contextmanager
def opened(folder: Path, clock: Callable[[], datetime] | None = None) -> Iterator[AuditLog]:
    with AuditLog(folder, 1, **({"clock": clock} if clock else {})) as log:
        yield log


def ticking() -> Callable[[], datetime]:
    """A clock that goes on by a second whenever it is looked at."""
    seconds = count()
    return lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds))


def wait(future: Future[None]) -> None:
    future.result(DEADLINE)


# -- the file --------------------------------------------------------------------------------------------------------


def test_a_line_that_was_waited_for_is_synced_and_those_who_wait_together_share_one_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on, synced = threading.Event(), threading.Event(), []
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        began.set()
        assert goes_on.wait(DEADLINE)
        synced.append(len(lines(tmp_path)))
        fsync(descriptor)

    with opened(tmp_path) as log:
        wait(log.write_durably("first"))
        monkeypatch.setattr("heptox.peer.folder.audit.os.fsync", slow)
        second = log.write_durably("second")
        assert began.wait(DEADLINE)
        many = [log.write_durably("many", number=number) for number in range(50)]
        assert not second.done(), "it is not on the disk yet"
        goes_on.set()
        for future in (second, *many):
            wait(future)
        assert synced == [2, 52]
    assert [line["event"] for line in lines(tmp_path)] == ["first", "second", *["many"] * 50]


@pytest.mark.parametrize(
    ("tail", "kept", "aside"),
    [
        (b"", 2, b""),
        (b'{"time": "x", "event": "to', 2, b'{"time": "x", "event": "to'),
        (b'{"time": "x", "event": "whole"}', 3, b""),
        (b"\0" * 5000, 2, b"\0" * 5000),
        (b"\0\0\n{}\n\0\xff", 4, None),
        (b'no line\n[1]\n{"a', 2, b'no line\n[1]\n{"a'),
        ('{"text": "é'.encode()[:-1], 2, '{"text": "é'.encode()[:-1]),
    ],
)
def test_what_a_crash_has_torn_off_is_kept_aside_and_every_line_parses(
    tmp_path: Path, tail: bytes, kept: int, aside: bytes | None
) -> None:
    file = tmp_path / "audit.log"
    with opened(tmp_path) as log:
        wait(log.write_durably("one"))
        wait(log.write_durably("two"))
    with file.open("ab") as appended:
        appended.write(tail)
    with opened(tmp_path) as log:
        wait(log.write_durably("three"))
    torn = tmp_path / "audit.torn"
    if aside is None:  # before it there are lines again: only the end can be torn by a crash
        assert [line["event"] for line in told(tmp_path) if "event" in line] == ["one", "two", "unreadable", "three"]
        return
    assert (torn.read_bytes() if aside else b"\n") == aside + b"\n"
    assert torn.exists() == bool(aside)
    assert len(lines(tmp_path)) == kept + 1
    assert [line["event"] for line in lines(tmp_path)][:2] == ["one", "two"]


def test_a_full_file_is_renamed_and_none_is_lost_or_overwritten(tmp_path: Path) -> None:
    with opened(tmp_path, ticking()) as log:
        for number in range(70):
            wait(log.write_durably("line", number=number, text="x" * 50_000))
    files = sorted(tmp_path.glob("audit-*.log"))
    assert len(files) == 3
    assert all(file.stat().st_size <= 1024 * 1024 for file in tmp_path.glob("audit*.log"))
    assert [line["number"] for line in lines(tmp_path)] == list(range(70))
    assert [line["number"] for line in told(tmp_path, 30)] == list(range(40, 70))


def test_files_stay_in_order_when_the_clock_is_put_back(tmp_path: Path) -> None:
    days = iter(range(10_000, 0, -1))
    with opened(tmp_path, lambda: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=next(days))) as log:
        for number in range(70):
            wait(log.write_durably("line", number=number, text="x" * 50_000))
    assert len(list(tmp_path.glob("audit-*.log"))) == 3
    assert [line["number"] for line in told(tmp_path)] == list(range(70))


def test_the_last_lines_and_those_since_a_time_are_told(tmp_path: Path) -> None:
    with opened(tmp_path, ticking()) as log:
        for number in range(100):
            wait(log.write_durably("line", number=number))
    everything = lines(tmp_path)
    since = datetime.fromisoformat(everything[60]["time"])
    assert told(tmp_path) == everything
    assert told(tmp_path, 7) == everything[-7:]
    assert told(tmp_path, since=since) == everything[60:]
    assert told(tmp_path, 7, since) == everything[-7:]
    assert told(tmp_path, since=since + timedelta(days=1)) == []
    with (tmp_path / "audit.log").open("ab") as file:
        file.write(b'{"event": "being wri')
    assert told(tmp_path, 1) == everything[-1:]


def test_a_log_that_was_moved_away_is_begun_anew(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        wait(log.write_durably("one"))
        (tmp_path / "audit.log").rename(tmp_path / "elsewhere")
        wait(log.write_durably("two"))
    assert [line["event"] for line in lines(tmp_path)] == ["two"]
    assert len((tmp_path / "elsewhere").read_bytes().splitlines()) == 1


@pytest.mark.parametrize("operation", ["write", "fsync"])
def test_while_the_disk_takes_nothing_who_waits_is_told_and_the_other_lines_come_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    real_write, real_fsync = os.write, os.fsync
    full = threading.Event()

    def write(descriptor: int, data: bytes) -> int:
        if full.is_set() and operation == "write":
            real_write(descriptor, data[:5])  # some of it still goes
            raise OSError(errno.ENOSPC, "No space left on device")
        return real_write(descriptor, data)

    def fsync(descriptor: int) -> None:
        if full.is_set() and operation == "fsync":
            raise OSError(errno.EIO, "Input/output error")
        real_fsync(descriptor)

    monkeypatch.setattr("heptox.peer.folder.audit.os.write", write)
    monkeypatch.setattr("heptox.peer.folder.audit.os.fsync", fsync)
    with opened(tmp_path) as log:
        wait(log.write_durably("one"))
        full.set()
        for _ in range(3):
            log.write("load")
            with pytest.raises(PeerError, match="HX7082 the audit log cannot be written"):
                wait(log.write_durably("asked"))
            assert [line["event"] for line in lines(tmp_path)] == ["one"], "nothing of it stays"
        assert log.failures >= 3
        full.clear()
        wait(log.write_durably("two"))
    assert [line["event"] for line in lines(tmp_path)] == ["one", "load", "load", "load", "two"]
    assert not (tmp_path / "audit.torn").exists()


def test_lines_that_are_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.peer.folder.audit.WAITING_LINES", 5)
    (tmp_path / "audit.log").symlink_to("/dev/full")
    with opened(tmp_path) as log:
        for number in range(12):
            log.write("load", number=number)
            with pytest.raises(PeerError):
                wait(log.flushed())
        (tmp_path / "audit.log").unlink()
        wait(log.flushed())
    kept = [line["number"] for line in lines(tmp_path, "load")]
    left_out = sum(line["count"] for line in lines(tmp_path, "left out"))
    assert kept == list(range(len(kept)))
    assert len(kept) + left_out == 12
    assert 0 < len(kept) <= 5


# -- a runner with its books -----------------------------------------------------------------------------------------


@dataclass
class Held(Doing):
    """It ends when it is let go."""

    go: trio.Event = field(default_factory=trio.Event)

    async def evaluate(
        self, query: str, body: Any, path: HopPath, budget: int, hidden: frozenset[str] = frozenset()
    ) -> AsyncGenerator[tuple[str, ...], None]:
        async with aclosing(super().evaluate(query, body, path, budget, hidden)) as batches:
            async for items in batches:
                yield items
        await self.go.wait()


@dataclass
class Two:
    """A, which asks, and B, which is asked and keeps books in ``folder``."""

    folder: Path
    asker: Runner
    asked: Runner
    books: Recorder
    work: Held

    async def ask(self) -> tuple[list[Deliver], Receipt]:
        delivered: list[Deliver] = []
        async with aclosing(self.asker.ask("body", "", hops=1, seconds=20, budget=10**6)) as parts:
            async for part in parts:
                if isinstance(part, Conclude):
                    return delivered, part.receipt
                delivered.append(part)
        raise AssertionError("there is no receipt")


@asynccontextmanager
async def two(folder: Path, *, may_ask: bool = True) -> AsyncIterator[Two]:
    network = Memory()
    asker, asked = network.transport(), network.transport()
    with AuditLog(folder, 1) as log:
        books = Recorder(asked.peer, log, Metrics())
        books.names = {asker.peer: "the asker"}
        work = Held("B", {})
        one = Runner(PeerState(asker.peer, "A"), asker, Doing("A", {asked.peer: asked}))
        other = Runner(PeerState(asked.peer, "B"), asked, work, books)
        one.acquaint((Neighbour(asked.peer, "B"),))
        other.acquaint((Neighbour(asker.peer, "A"),) if may_ask else ())
        async with one.serving(), other.serving():
            yield Two(folder, one, other, books, work)


def test_the_lines_of_a_query_are_on_the_disk_before_its_work_begins_and_before_its_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = threading.Lock()
    fsync = os.fsync

    def held_up(descriptor: int) -> None:
        with disk:
            fsync(descriptor)

    async def test() -> None:
        async with two(tmp_path) as peers, trio.open_nursery() as nursery:
            receipts: list[Receipt] = []

            async def ask() -> None:
                receipts.append((await peers.ask())[1])

            await peers.books.administered("loaded")
            monkeypatch.setattr("heptox.peer.folder.audit.os.fsync", held_up)
            with disk:
                nursery.start_soon(ask)
                await until(lambda: lines(tmp_path, "asked"))  # it is written, but not synced
                await trio.testing.wait_all_tasks_blocked(0.05)
                assert peers.work.produced == 0
                assert not peers.asked.state.in_flight
            await until(lambda: peers.work.produced == 2)
            with disk:
                peers.work.go.set()
                await until(lambda: lines(tmp_path, "answered"))
                await trio.testing.wait_all_tasks_blocked(0.05)
                assert peers.asker.state.in_flight, "the end was told"
            await until(lambda: receipts)
            assert receipts[0].complete
        (asked,), (answered,) = lines(tmp_path, "asked"), lines(tmp_path, "answered")
        peer = peers.asker.transport.peer
        assert (asked["name"], asked["neighbour"], asked["asker"]) == ("the asker", peer, peer)
        assert asked["path"] == ["A", "B"]
        assert asked["query"] == answered["query"] == receipts[0].query
        assert (answered["items"], answered["bytes"], answered["complete"]) == (4, 16, True)
        assert datetime.fromisoformat(asked["time"]).tzinfo == UTC

    run(test)


def test_nothing_is_answered_while_the_log_cannot_be_written(tmp_path: Path) -> None:
    async def test() -> None:
        async with two(tmp_path) as peers:
            peers.work.go.set()
            (tmp_path / "audit.log").symlink_to("/dev/full")
            for _ in range(2):
                delivered, receipt = await peers.ask()
                assert {part.origin[-1].name for part in delivered} == {"A"}
                assert (receipt.lines[1].status, receipt.lines[1].items) == (Status.FAILED, 0)
                assert receipt.lines[1].reason == "the audit log cannot be written: No space left on device"
            assert peers.work.produced == 0
            (tmp_path / "audit.log").unlink()
            _, receipt = await peers.ask()
            assert receipt.complete
        assert [line["event"] for line in lines(tmp_path)] == ["refused", "asked", "answered"]

    run(test)


def test_an_answer_whose_end_cannot_be_logged_is_told_as_failed(tmp_path: Path) -> None:
    async def test() -> None:
        async with two(tmp_path) as peers, trio.open_nursery() as nursery:
            receipts: list[Receipt] = []

            async def ask() -> None:
                receipts.append((await peers.ask())[1])

            nursery.start_soon(ask)
            await until(lambda: peers.work.produced == 2)
            (tmp_path / "audit.log").rename(tmp_path / "moved")
            (tmp_path / "audit.log").symlink_to("/dev/full")
            peers.work.go.set()
            await until(lambda: receipts)
            assert (receipts[0].lines[1].status, receipts[0].lines[1].items) == (Status.FAILED, 4)
            assert "the audit log cannot be written" in receipts[0].lines[1].reason
            (tmp_path / "audit.log").unlink()
            (tmp_path / "moved").rename(tmp_path / "audit.log")
            await peers.books.administered("loaded")
        assert [line["event"] for line in lines(tmp_path)] == ["asked", "failed", "loaded"]
        assert not any(line["event"] == "answered" for line in lines(tmp_path))

    run(test)


def test_a_query_that_its_asker_leaves_has_a_line_too(tmp_path: Path) -> None:
    async def test() -> None:
        async with two(tmp_path) as peers:
            async with aclosing(peers.asker.ask("body", "", hops=1, seconds=20, budget=10**6)) as parts:
                async for part in parts:
                    if isinstance(part, Deliver) and part.origin[-1].name == "B":
                        break
            await until(lambda: lines(tmp_path, "cancelled"))
            assert peers.books.in_flight == 0
        (line,) = lines(tmp_path, "cancelled")
        assert line["items"] > 0
        assert line["reason"] == "the asker has left"

    run(test)


def test_a_stranger_is_logged_once_a_minute_with_how_often_it_came(tmp_path: Path) -> None:
    clock = trio.testing.MockClock(rate=1.0)

    async def test() -> None:
        async with two(tmp_path, may_ask=False) as peers:
            for _ in range(7):
                _, receipt = await peers.ask()
                assert receipt.lines[1].status is Status.DENIED
            await until(lambda: lines(tmp_path, "denied"))
            await trio.testing.wait_all_tasks_blocked()
            clock.jump(2 * REFUSAL_SECONDS)
            await until(lambda: len(lines(tmp_path, "denied")) > 1)
            first, more = lines(tmp_path, "denied")
            assert (first["neighbour"], more["neighbour"]) == (peers.asker.transport.peer,) * 2
            assert more["more"] == 6
            await peers.ask()
            await until(lambda: len(lines(tmp_path, "denied")) > 2)
            assert "more" not in lines(tmp_path, "denied")[2]

    trio.run(test, clock=clock)


def test_many_strangers_do_not_fill_the_disk(tmp_path: Path) -> None:
    clock = trio.testing.MockClock(rate=1.0)

    async def test() -> None:
        async with two(tmp_path) as peers:
            for number in range(10_000):
                peers.books.denied(f"stranger {number}")
            await trio.testing.wait_all_tasks_blocked()
            clock.jump(2 * REFUSAL_SECONDS)
            await until(lambda: len(lines(tmp_path, "denied")) > REFUSALS)
            *_, others = lines(tmp_path)
            assert len(lines(tmp_path)) == REFUSALS + 1
            assert (others["neighbour"], others["more"]) == ("", 10_000 - REFUSALS)

    trio.run(test, clock=clock)


def test_what_a_neighbour_does_again_is_counted_by_kind_and_neighbour(tmp_path: Path) -> None:
    clock = trio.testing.MockClock(rate=1.0)

    async def test() -> None:
        async with two(tmp_path) as peers:
            peers.books.names = {f"neighbour {number}": f"name {number}" for number in range(2 * REFUSALS)}
            for _ in range(3):
                for number in range(100):
                    peers.books.denied(f"stranger {number}")
                for neighbour in peers.books.names:
                    peers.books.repeated.note("feed", what="link broken", neighbour=neighbour, reason="why")
                for what in ("documents missing", "document refused"):
                    peers.books.repeated.note("feed", what=what, publisher="somebody", documents=2)
            await until(lambda: len(lines(tmp_path)) == 3 * REFUSALS + 2)
            await trio.testing.wait_all_tasks_blocked()  # the clock of the books runs
            clock.jump(2 * REFUSAL_SECONDS)
            await until(lambda: len(lines(tmp_path)) == 2 * (3 * REFUSALS + 2) + 1)
            peers.books.repeated.note("feed", what="documents missing", publisher="somebody", documents=3)
            peers.books.repeated.note("feed", what="documents missing", publisher="somebody", documents=3)
            await peers.books.stopped()
            await peers.books.flush()
        feed = [_essence(line) for line in lines(tmp_path, "feed")]
        first, more = feed[: 2 * REFUSALS + 2], feed[2 * REFUSALS + 2 : -2]
        broken = [{"what": "link broken", "neighbour": peer} for peer in peers.books.names]
        others = [{"what": what, "publisher": "somebody"} for what in ("documents missing", "document refused")]
        assert [line for line in first if line["what"] == "link broken"] == [{**one, "reason": "why"} for one in broken]
        assert [line for line in first if "publisher" in line] == [{**one, "documents": 2} for one in others]
        names = peers.books.names.values()
        assert more == [
            *({**one, "name": name, "more": 2} for one, name in zip(broken, names, strict=True)),
            *({**one, "name": "", "more": 2} for one in others),
        ]
        assert feed[-2:] == [{**others[0], "documents": 3}, {**others[0], "name": "", "more": 1}]

    trio.run(test, clock=clock)


def test_a_neighbour_is_named_with_each_of_some_publishers_and_hides_no_other_neighbour(tmp_path: Path) -> None:
    clock = trio.testing.MockClock(rate=1.0)

    async def test() -> None:
        async with two(tmp_path) as peers:
            peers.books.names = {"bad": "b", "worse": "w"}
            for _ in range(2):
                for number in range(NEIGHBOURS):
                    peers.books.repeated.note(
                        "feed", what="neighbour distrusted", neighbour="bad", publisher=f"p{number}"
                    )
                peers.books.repeated.note("feed", what="neighbour distrusted", neighbour="worse", publisher="p0")
            await until(lambda: len(lines(tmp_path, "feed")) == PUBLISHERS + 1)
            await trio.testing.wait_all_tasks_blocked()  # the clock of the books runs
            clock.jump(2 * REFUSAL_SECONDS)
            await until(lambda: len(lines(tmp_path, "feed")) == 2 * (PUBLISHERS + 1) + 1)
        first = [{"neighbour": "bad", "publisher": f"p{number}"} for number in range(PUBLISHERS)]
        first.append({"neighbour": "worse", "publisher": "p0"})
        more = [{**one, "name": one["neighbour"][0], "more": 1} for one in first]
        others = {"neighbour": "bad", "name": "b", "more": 2 * (NEIGHBOURS - PUBLISHERS)}
        expected: list[dict[str, Any]] = [*first, *more[:-1], others, more[-1]]
        assert [_essence(line) for line in lines(tmp_path, "feed")] == [
            {"what": "neighbour distrusted", **line} for line in expected
        ]

    trio.run(test, clock=clock)


def _essence(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in ("time", "event", "entry", "chain")}


# -- daemons ---------------------------------------------------------------------------------------------------------


def api(running: Daemon, path: str) -> httpx.Response:
    address = ControlAddress.read(running.folder)
    assert address
    return httpx.get(f"{address.url}{path}", headers={"Authorization": f"Bearer {address.token}"}, trust_env=False)


def test_what_a_peer_does_is_told_by_its_control_api(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 3)
    boston = hospital_peer(tmp_path / "boston", "boston", 3)
    with daemons(montreal, boston) as (asker, asked):
        acquaint(montreal, asked, MONTREAL_TO_BOSTON)
        _, receipt = ask(montreal, NAMES)
        assert receipt.lines[1].status == "denied"
        acquaint(boston, asker, MONTREAL_TO_BOSTON)
        parts, receipt = ask(montreal, NAMES)
        answer = api(asked, "/audit")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
        found = [json.loads(line) for line in answer.text.splitlines()]
        own = [json.loads(line) for line in api(asker, "/audit?last=1").text.splitlines()]
        for wrong in ("last=0", "since=yesterday", "since=2026-01-01T00:00:00", "since=0001-01-01T00:00:00%2B23:59"):
            refused = api(asked, f"/audit?{wrong}")
            assert (refused.status_code, refused.json()["faults"][0]["code"]) == (422, "HX7060")
        last = f"/audit?since={found[-1]['time']}"
        assert [json.loads(line) for line in api(asked, last).text.splitlines()] == found[-1:]
        with asked.client() as client:
            client.stop()
        asked.process.wait(DEADLINE)
    told = ["loaded", "started", "offered", "denied", "acquainted", "stands", "asked", "answered"]
    assert [line["event"] for line in found] == told
    assert [line["event"] for line in lines(boston)] == [*told, "stopped"]
    assert found[2]["neighbour"] == found[4]["neighbour"] == found[6]["neighbour"]
    assert found[5]["standing"] == "agreed"
    assert "//Admission" in found[6]["text"], "in our words, not those of the asker"
    assert found[6]["name"] == "montreal"
    here = [part.item for part in parts if part.origin.name == "boston"]
    assert (found[7]["items"], found[7]["bytes"]) == (len(here), sum(len(item.encode()) for item in here))
    (line,) = own
    assert (line["event"], line["text"], line["query"]) == ("own", NAMES, receipt.query)
    assert (line["status"], line["items"]) == ("complete", receipt.items)


def test_who_has_the_first_item_of_a_peer_that_is_killed_is_in_its_log(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 0)
    boston = hospital_peer(tmp_path / "boston", "boston", 400)
    with daemons(montreal, boston) as (asker, asked):
        acquaint(montreal, asked, MONTREAL_TO_BOSTON)
        acquaint(boston, asker, MONTREAL_TO_BOSTON)
        asking = begun("query", "--peer", montreal, NAMES)
        assert asking.stdout
        assert asking.stdout.readline(), "it has the first item"
        asked.end(signal.SIGKILL)
        asking.kill()
        asking.communicate()
    (line,) = lines(boston, "asked")
    assert line["name"] == "montreal"
    with (boston / "audit.log").open("ab") as file:
        file.write(b'{"time": "2026')
    with daemon(boston):
        assert (boston / "audit.torn").read_bytes() == b'{"time": "2026\n'
        assert lines(boston, "asked") == [line]
        assert lines(boston)[-1]["event"] == "started"


def test_a_peer_whose_disk_is_full_denies_answers_but_obeys_its_administrator(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 3)
    boston = hospital_peer(tmp_path / "boston", "boston", 3)
    (boston / "audit.log").unlink()
    (boston / "audit.log").symlink_to("/dev/full")
    with daemons(montreal, boston) as (asker, asked):
        acquaint(montreal, asked, MONTREAL_TO_BOSTON)
        acquaint(boston, asker, MONTREAL_TO_BOSTON)
        _, receipt = ask(montreal, NAMES)
        line = receipt.lines[1]
        assert (line.name, line.status) == ("boston", "failed")
        assert line.reason == "the audit log cannot be written: No space left on device"
        _, receipt = ask(boston, "//Patient", hops=0)
        assert receipt.complete
        with asked.client() as client:
            client.load("more.xml", b"<MassGeneral><Admission/></MassGeneral>")
        (boston / "audit.log").unlink()
        wait_until(lambda: bool(ask(montreal, NAMES)[1].complete))
    events = [line["event"] for line in lines(boston)]
    told = ["cut", "started", "offered", "acquainted", "stands", "refused", "own", "loaded", "asked", "answered"]
    assert events == told


# -- a log that was cut ----------------------------------------------------------------------------------------------


def written_log(folder: Path, lines: int = 6, megabytes: int = 1) -> bytes:
    """A log of some lines, each of which is on the disk; the whole of its file."""
    with AuditLog(folder, megabytes) as log:
        for number in range(lines):
            log.write_durably("event", nested={"number": number}).result()
    return (folder / "audit.log").read_bytes()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda lines: lines[:-2], "2 lines are missing after line 4"),
        (lambda _: [], "6 lines are missing after line 0"),
        (lambda lines: lines[:2] + lines[4:], "2 lines are missing after line 2"),
        (lambda lines: [*lines[:2], lines[2].replace(b"2}", b"7}"), *lines[3:]], "line 3 is not as it was written"),
        (lambda lines: [*lines[:2], *lines[3:4], lines[2], *lines[4:]], "missing after line 2"),
    ],
)
def test_a_log_that_was_cut_or_changed_is_found(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], fault: str
) -> None:
    whole = written_log(tmp_path)
    assert audit_faults(tmp_path) == []
    (tmp_path / "audit.log").write_bytes(b"".join(change(whole.splitlines(keepends=True))))
    assert any(fault in one for one in audit_faults(tmp_path))
    written_log(tmp_path)  # and goes on to be, when the daemon has been started again
    assert any(fault in one for one in audit_faults(tmp_path))


def test_the_start_of_a_daemon_tells_of_lines_that_are_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = written_log(tmp_path)
    (tmp_path / "audit.log").write_bytes(whole[: len(whole) // 2])  # a line is torn besides
    written_log(tmp_path, 1)
    assert "the audit log was cut" in caplog.text
    last = json.loads((tmp_path / "audit.log").read_bytes().splitlines()[-1])
    assert last["entry"] == 8  # behind the line that says so


def test_a_crash_between_a_line_and_its_head_is_no_cut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written_log(tmp_path, 3)
    head = (tmp_path / "audit.head").read_bytes()
    written_log(tmp_path, 3)
    for before in (head, None):
        if before is None:
            (tmp_path / "audit.head").unlink()
        else:
            (tmp_path / "audit.head").write_bytes(before)
        assert audit_faults(tmp_path) == []
        written_log(tmp_path, 1)
        assert audit_faults(tmp_path) == []
    assert caplog.text == ""


def test_a_log_of_before_has_no_chain_and_gets_one(tmp_path: Path) -> None:
    old = b'{"time": "2026-01-01T00:00:00.000000Z", "event": "started"}\n'
    (tmp_path / "audit.log").write_bytes(old)
    assert audit_faults(tmp_path) == []
    assert written_log(tmp_path, 2).startswith(old)
    assert audit_faults(tmp_path) == []
    assert [json.loads(line).get("entry") for line in read_audit(tmp_path, 9)] == [None, 1, 2]


def test_the_chain_goes_on_in_the_next_file(tmp_path: Path) -> None:
    with AuditLog(tmp_path, 1) as log:
        for number in range(30):
            log.write_durably("event", filler="x" * 100_000, number_of=number).result()
    assert len(list(tmp_path.glob("audit-*.log"))) >= 2
    assert audit_faults(tmp_path) == []
    newest = max(tmp_path.glob("audit-*.log"))
    newest.write_bytes(b"".join(newest.read_bytes().splitlines(keepends=True)[:-1]))
    assert any("missing after" in one for one in audit_faults(tmp_path))
    written_log(tmp_path, 1)
