"""The subscription log against a model of it in memory, and what it does when its file or its disk fails."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from heptox.errors import DisseminationError
from heptox.matching import (
    Delivery,
    Options,
    Policy,
    Publication,
    Retention,
    SubscriptionLog,
    SubscriptionRequest,
    Words,
)
from heptox.matching.database import Database, FileFormat
from heptox.matching.log_publishing import NO_ROOM, SUSPENDED
from tests.support.budget import tries

NAMES: Final = ("one", "two", "three")
TEXT: Final = "//Book[Price < 10]"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "subscriptions.sqlite"


@pytest.fixture
def log(file: Path) -> Iterator[SubscriptionLog]:
    with SubscriptionLog(file) as opened:
        yield opened


def document(number: int, size: int = 10) -> Publication:
    return Publication(f"d{number}.xml", f"<a>{number:0{size - 7}}</a>".encode())


# -- the model -------------------------------------------------------------------------------------------------------


@dataclass
class Held:
    """A subscription as it should be; ``notifications`` are the documents, by sequence number from 1."""

    options: Options
    notifications: list[int] = field(default_factory=list)
    acknowledged: int = 0
    delivered: int = 0
    dead: list[tuple[int | None, int, str]] = field(default_factory=list)
    suspended: bool = False

    def backlog(self) -> list[int]:
        return self.notifications[self.acknowledged :]


class LogMachine(RuleBasedStateMachine):
    """Whatever is done to a log, it is as the model says; closing and opening it changes nothing."""

    RETENTION: Final = Retention(documents=6, bytes=150, notifications=9)

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.time = 1000
        self.held: dict[str, Held] = {}
        self.sizes: dict[int, int] = {}
        self.times: dict[int, int] = {}
        self.matched: dict[int, int] = {}
        self.horizon = 0
        self.publications: list[tuple[Publication, int]] = []
        self._open()

    def _open(self) -> None:
        file = Path(self.folder.name) / "log.sqlite"
        self.log = SubscriptionLog(file, self.RETENTION, clock=lambda: self.time)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
            self.folder.cleanup()

    @rule()
    def reopen(self) -> None:
        self.log.close()
        self._open()

    @rule(
        name=st.sampled_from(NAMES),
        policy=st.sampled_from(Policy),
        backlog=st.integers(1, 4),
        size=st.sampled_from((15, 40, 1000)),
    )
    def add(self, name: str, policy: Policy, backlog: int, size: int) -> None:
        options = Options(policy, backlog, size)
        if name not in self.held:
            assert self.log.add(SubscriptionRequest(name, TEXT, options)).outcome == "new"
            self.held[name] = Held(options)
        elif self.held[name].options == options:
            assert self.log.add(SubscriptionRequest(name, TEXT, options)).outcome == "held"
        else:
            with pytest.raises(DisseminationError, match="HX9060"):
                self.log.add(SubscriptionRequest(name, TEXT, options))

    @rule(name=st.sampled_from(NAMES))
    def remove(self, name: str) -> None:
        if name in self.held:
            assert self.log.remove(name).backlog == len(self.held.pop(name).backlog())
        else:
            with pytest.raises(DisseminationError, match="HX9061"):
                self.log.remove(name)

    @rule(names=st.sets(st.sampled_from(NAMES)), size=st.sampled_from((10, 20, 60)), passed=st.integers(-5, 5))
    def publish(self, names: set[str], size: int, passed: int) -> None:
        self.time += passed
        numbers = {one.name: one.number for one in self.log.subscriptions()}
        wanted = sorted(names & self.held.keys(), key=lambda name: numbers[name])
        publication = document(len(self.publications), size)
        full = [name for name in wanted if self._full(name, size) and self.held[name].options.policy == "refuse"]
        if full:
            with pytest.raises(DisseminationError, match="HX9064") as error:
                self.log.publish(publication, [numbers[name] for name in wanted])
            assert all(name in str(error.value) for name in full)
            return
        told = self.log.publish(publication, [999_999, *(numbers[name] for name in wanted)])
        number = told.number
        self.publications.append((publication, number))
        self.sizes[number] = size
        self.times[number] = max([self.time, *self.times.values()])
        dead = [name for name in wanted if not self._give(name, number)]
        assert (told.outcome, told.matched, told.dead) == ("new", len(wanted), len(dead))
        self.matched[number] = told.matched
        self._forget()

    def _full(self, name: str, size: int) -> bool:
        one = self.held[name]
        backlog = one.backlog()
        size += sum(self.sizes[number] for number in backlog)
        return one.suspended or len(backlog) >= one.options.backlog or size > one.options.backlog_bytes

    def _give(self, name: str, number: int) -> bool:
        """Give a document to a subscription as its policy says, and whether it is delivered."""
        one, size = self.held[name], self.sizes[number]
        policy, most = one.options.policy, one.options.backlog_bytes
        while self._full(name, size):
            if policy == "drop-oldest" and size <= most:
                one.acknowledged += 1
                one.dead.append((one.acknowledged, one.notifications[one.acknowledged - 1], NO_ROOM))
                continue
            reason = f"the document has {size} bytes, the whole backlog at most {most}" if size > most else NO_ROOM
            if policy == "suspend" and one.backlog():
                one.suspended, reason = True, SUSPENDED
            one.dead.append((None, number, reason))
            return False
        one.notifications.append(number)
        return True

    def _forget(self) -> None:
        limits = self.RETENTION
        while True:
            kept = [number for number in self.sizes if number > self.horizon]
            size = sum(self.sizes[number] for number in kept if self.matched[number])
            notified = sum(number > self.horizon for one in self.held.values() for number in one.notifications)
            if len(kept) <= limits.documents and size <= limits.bytes and notified <= limits.notifications:
                return
            self.horizon = kept[0]

    def _first(self, one: Held) -> int:
        """The first sequence number that can be replayed."""
        return 1 + sum(number <= self.horizon for number in one.notifications[: one.acknowledged])

    @rule(which=st.integers(0, 20))
    def publish_again(self, which: int) -> None:
        if not self.publications:
            return
        publication, number = self.publications[which % len(self.publications)]
        told = self.log.published(publication)
        if number <= self.horizon and not any(number in one.backlog() for one in self.held.values()):
            assert told is None
            return
        assert told is not None
        assert (told.number, told.outcome, told.matched) == (number, "held", self.matched[number])
        assert self.log.publish(publication, []) == told
        with pytest.raises(DisseminationError, match="HX9065"):
            self.log.publish(replace(publication, id=told.id, data=b"<other/>"), [])

    @rule(name=st.sampled_from(NAMES), upto=st.integers(-1, 12), reject=st.booleans())
    def acknowledge(self, name: str, upto: int, reject: bool) -> None:
        def act() -> Any:
            return self.log.reject(name, upto, "odd") if reject else self.log.acknowledge(name, upto)

        one = self.held.get(name)
        if one is None:
            with pytest.raises(DisseminationError, match="HX9061"):
                act()
        elif upto > len(one.notifications) or upto < 0 or (reject and upto <= one.acknowledged):
            with pytest.raises(DisseminationError, match="HX9062"):
                act()
        else:
            told = act()
            if reject:
                one.dead.append((upto, one.notifications[upto - 1], "rejected: odd"))
            one.acknowledged = max(upto, one.acknowledged)
            one.suspended = one.suspended and bool(one.backlog())
            assert told.acknowledged == one.acknowledged

    @rule(name=st.sampled_from(NAMES), start=st.none() | st.integers(0, 12), limit=st.integers(1, 5))
    def fetch(self, name: str, start: int | None, limit: int) -> None:
        one = self.held.get(name)
        if one is None:
            with pytest.raises(DisseminationError, match="HX9061"):
                self.log.fetch(name, start, limit)
            return
        begin = one.acknowledged + 1 if start is None else start
        if not self._first(one) <= begin <= len(one.notifications) + 1:
            code = "HX9063" if 1 <= begin < self._first(one) else "HX9062"
            with pytest.raises(DisseminationError, match=code):
                self.log.fetch(name, start, limit)
            return
        found = self.log.fetch(name, start, limit)
        expected = list(enumerate(one.notifications, 1))[begin - 1 : begin - 1 + limit]
        assert [(told.sequence, told.document) for told in found] == expected
        before, one.delivered = one.delivered, max([one.delivered, *(told.sequence for told in found)])
        for told in found:
            assert told.acknowledged is (told.sequence <= one.acknowledged)
            assert told.redelivered is (told.sequence <= before)
            published = next(one for one, number in self.publications if number == told.document)
            assert (told.name, told.size, told.digest) == (published.name, len(published.data), published.digest)
            assert told.time == self.times[told.document]
            again, data = self.log.content(name, told.sequence)
            assert replace(again, redelivered=told.redelivered) == told
            assert data == published.data

    @rule(name=st.sampled_from(NAMES), back=st.integers(-2, 20))
    def replay_since(self, name: str, back: int) -> None:
        one = self.held.get(name)
        if one is None:
            return
        since, first = self.time - back, self._first(one)
        if first > 1 and since <= self.times[self.horizon]:
            with pytest.raises(DisseminationError, match="HX9063"):
                self.log.sequence_at(name, since)
            return
        sequences = enumerate(one.notifications, 1)
        later = (sequence for sequence, number in sequences if sequence >= first and self.times[number] >= since)
        assert self.log.sequence_at(name, since) == next(later, len(one.notifications) + 1)

    @invariant()
    def is_as_the_model_says(self) -> None:
        if not hasattr(self, "log"):
            return
        told = {one.name: one for one in self.log.subscriptions()}
        assert told.keys() == self.held.keys()
        for name, one in self.held.items():
            found = told[name]
            assert found == self.log.subscription(name)
            assert (found.text, found.options) == (TEXT, one.options)
            assert (found.first, found.last) == (self._first(one), len(one.notifications))
            assert (found.acknowledged, found.delivered) == (one.acknowledged, one.delivered)
            assert (found.dead, found.forgotten) == (len(one.dead), 0)
            assert found.backlog == len(one.backlog())
            assert found.backlog_bytes == sum(self.sizes[number] for number in one.backlog())
            assert found.oldest == (self.times[one.backlog()[0]] if one.backlog() else None)
            assert (found.suspended is not None) == one.suspended
            letters = self.log.dead_letters(name)
            assert [(letter.sequence, letter.document, letter.reason) for letter in letters] == one.dead
            assert [letter.letter for letter in letters] == list(range(1, len(letters) + 1))
        totals = self.log.totals()
        assert (totals.subscriptions, totals.dead) == (len(told), sum(len(one.dead) for one in self.held.values()))
        assert totals.backlog == sum(one.backlog for one in told.values())
        assert totals.suspended == sum(one.suspended for one in self.held.values())
        assert self.log.check() == []


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=tries(50), stateful_step_count=40, deadline=None)


# -- what is told ----------------------------------------------------------------------------------------------------


CONTROLS = "\0\t\n\r\x1b\x1f\x7f\x85\x9f\u2028\u2029"


def test_what_can_be_no_subscription_or_document_is_refused() -> None:
    refused: tuple[Callable[[], object], ...] = (
        lambda: SubscriptionRequest("a/b", TEXT),
        lambda: SubscriptionRequest("", TEXT),
        lambda: SubscriptionRequest("a", "//a[b = '\udcff']"),
        lambda: SubscriptionRequest("a", "//a\0"),
        lambda: SubscriptionRequest("a", "/" * 2_000_000),
        lambda: Options(backlog=0),
        lambda: Options(backlog_bytes=-1),
        lambda: Options(backlog=1 << 70),
        lambda: Publication("", b"<a/>"),
        lambda: Publication("a\udcff", b"<a/>"),
        lambda: Publication("a", b"<a/>", "i" * 2000),
        *(partial(Publication, f"a{control}b", b"<a/>") for control in CONTROLS),
        *(partial(Publication, "a", b"<a/>", f"a{control}b") for control in CONTROLS),
    )
    for make in refused:
        with pytest.raises(DisseminationError, match="HX9067"):
            make()
    with pytest.raises(DisseminationError, match=r"a.xml: HX9066 has 67,108,865 bytes"):
        Publication("a.xml", b" " * (64 * 1024 * 1024 + 1))
    with pytest.raises(DisseminationError, match=r"a.txt:7:4: HX9067 the subscription holds the character U\+0000"):
        SubscriptionRequest("a", "//a\0", file="a.txt", line=7)
    assert Publication("a b\xa0é\u3000😀", b"<a/>", " ~").id == " ~", "what is no control character is no matter"


def test_all_or_none_of_many_are_added_and_each_that_cannot_be_is_told(log: SubscriptionLog) -> None:
    log.add(SubscriptionRequest("s2", "//a"))
    wanted = [SubscriptionRequest(f"s{number}", f"//a[b = {number}]") for number in range(5)]
    with pytest.raises(DisseminationError) as error:
        log.add_all([*wanted, SubscriptionRequest("s4", "//other")])
    assert [fault.code for fault in error.value.faults] == ["HX9060", "HX9060"]
    assert [one.name for one in log.subscriptions()] == ["s2"]
    del wanted[2]
    added, faults = log.add_all([*wanted, SubscriptionRequest("s2", "//b", file="s.txt", line=7)], skipping=True)
    assert [str(fault).partition(" there")[0] for fault in faults] == ["s.txt:7:1: HX9060"]
    assert [(one.name, one.outcome) for one in added] == [(one.name, "new") for one in wanted]
    assert [(one.number, one.name) for one in added] == [(number, name) for number, name, _ in log.texts()][1:]
    assert [one.outcome for one in log.add_all(wanted)[0]] == ["held"] * 4


def test_numbers_are_not_given_twice(log: SubscriptionLog) -> None:
    first = log.add(SubscriptionRequest("a", TEXT))
    log.remove("a")
    assert log.add(SubscriptionRequest("a", TEXT)).number > first.number
    published = log.publish(document(1), [first.number])
    assert published.matched == 0, "a matcher that is behind brings nobody what was removed"


def test_dead_letters_keep_their_document_for_as_long_as_it_is_kept(file: Path) -> None:
    with SubscriptionLog(file, Retention(documents=2)) as log:
        number = log.add(SubscriptionRequest("a", TEXT, Options(Policy.DROP_NEWEST, 1))).number
        for which in range(5):
            log.publish(document(which), [number])
        letters = log.dead_letters("a")
        told = [(letter.name, letter.kept) for letter in letters]
        assert told == [("d1.xml", False), ("d2.xml", False), ("d3.xml", True), ("d4.xml", True)]
        assert log.dead_content("a", 4) == document(4).data
        assert log.dead_letters("a", after=3, limit=5) == letters[3:]
        for letter, code in ((1, "HX9063"), (5, "HX9062")):
            with pytest.raises(DisseminationError, match=code):
                log.dead_content("a", letter)
        assert log.content("a", 1)[1] == document(0).data, "what is not acknowledged is kept"


def test_more_dead_letters_than_are_listed_are_counted(log: SubscriptionLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.matching.log_changes.DEAD_LETTERS", 3)
    number = log.add(SubscriptionRequest("a", TEXT, Options(Policy.DROP_OLDEST, 1))).number
    for which in range(8):
        log.publish(document(which), [number])
    told = log.subscription("a")
    assert (told.dead, told.forgotten, told.backlog, told.last) == (3, 4, 1, 8)
    assert [letter.sequence for letter in log.dead_letters("a")] == [5, 6, 7]
    assert [one.sequence for one in log.fetch("a", 1)] == list(range(1, 9)), "what is dropped can be replayed"


# -- threads and processes -------------------------------------------------------------------------------------------


def test_threads_commit_together_and_each_is_refused_by_itself(log: SubscriptionLog) -> None:
    numbers = [one.number for one in log.add_all([SubscriptionRequest(f"s{number}", TEXT) for number in range(4)])[0]]
    log.add(SubscriptionRequest("taken", "//other"))
    refused: list[str] = []
    barrier = threading.Barrier(8)

    def work(worker: int) -> None:
        barrier.wait()
        for step in range(25):
            log.add(SubscriptionRequest(f"w{worker}.{step}", TEXT))
            log.publish(document(worker * 1000 + step), numbers)
            with suppress(DisseminationError):
                log.add(SubscriptionRequest("taken", TEXT))
                refused.append("not")
            refused.append(f"{worker}.{step}")

    _run(work, 8)
    assert len(refused) == 200 and "not" not in refused
    assert sum(1 for _ in log.subscriptions()) == 205
    sequences = [[(one.sequence, one.document) for one in log.fetch(f"s{which}", 1, 1000)] for which in range(4)]
    assert all(one == sequences[0] for one in sequences), "documents come in the same order to all"
    assert [sequence for sequence, _ in sequences[0]] == list(range(1, 201))
    assert log.check() == []


def _run(work: Callable[[int], None], workers: int) -> None:
    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


KILLED: Final = """
import sys
from pathlib import Path
from heptox.matching import Publication, SubscriptionLog, SubscriptionRequest
with SubscriptionLog(Path(sys.argv[1])) as log:
    begin = sum(1 for _ in log.subscriptions())
    for number in range(begin, 1_000_000):
        added = log.add(SubscriptionRequest(f"s{number}", "//a"))
        log.publish(Publication(f"d{number}.xml", b"<a/>"), [added.number])
        log.acknowledge(f"s{number}", 1)
        print(number, flush=True)
"""


def test_what_was_acknowledged_survives_kill_9(file: Path) -> None:
    settled = 0
    for kill in range(4):
        with subprocess.Popen([sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            told = [process.stdout.readline() for _ in range(10 + 7 * kill)]
            process.kill()
            told += [line for line in process.stdout if line.endswith("\n")]
        with SubscriptionLog(file) as log:
            assert log.check() == []
            acknowledged = {one.name for one in log.subscriptions() if one.acknowledged == 1}
            assert {f"s{int(line)}" for line in told} <= acknowledged
            assert len(acknowledged) >= settled + len(told)
            settled = len(acknowledged)


# -- files and disks that fail ---------------------------------------------------------------------------------------


def made(file: Path, subscriptions: int = 2000) -> None:
    with SubscriptionLog(file) as log:
        log.add_all([SubscriptionRequest(f"s{number}", TEXT) for number in range(subscriptions)])


def test_the_file_and_what_is_beside_it_are_for_the_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with SubscriptionLog(tmp_path / "log.sqlite") as log:
            log.add(SubscriptionRequest("a", TEXT))
            assert [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()] == [0o600] * 3
    finally:
        os.umask(before)


def test_a_file_that_is_no_log_is_refused(file: Path) -> None:
    file.write_bytes(b"subscriptions = []\n" * 1000)
    with pytest.raises(DisseminationError, match="HX9050") as error:
        SubscriptionLog(file)
    assert str(file) in str(error.value) and "restore it from a backup" in str(error.value)
    file.write_bytes(b"")
    with pytest.raises(DisseminationError, match="HX9050 is no subscription log"):
        SubscriptionLog(file)
    file.unlink()
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE something (else_ TEXT)")
    other.close()
    with pytest.raises(DisseminationError, match="HX9050 is no subscription log"):
        SubscriptionLog(file)


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(file: Path) -> None:
    made(file)
    newer = sqlite3.connect(file)
    newer.execute("PRAGMA user_version = 7")
    newer.close()
    before = file.read_bytes()
    with pytest.raises(DisseminationError, match=r"HX9051 .* version is 7, this heptox reads up to 3"):
        SubscriptionLog(file)
    assert file.read_bytes() == before


def test_a_file_of_the_first_version_is_read_and_has_subscriptions_in_the_words_of_publishers(file: Path) -> None:
    made(file, 3)
    older = sqlite3.connect(file)
    older.executescript(
        "ALTER TABLE subscription DROP COLUMN words; ALTER TABLE subscription DROP COLUMN deliver;"
        "ALTER TABLE subscription DROP COLUMN first_read; PRAGMA user_version = 1;"
    )
    older.close()
    with SubscriptionLog(file) as log:
        assert {one.options for one in log.subscriptions()} == {Options()}
        assert log.add(SubscriptionRequest("s0", TEXT)).outcome == "held"
        own = Options(words=Words.OWN, deliver=Delivery.OWN)
        assert log.add(SubscriptionRequest("own", TEXT, own)).number == 4
        with pytest.raises(DisseminationError, match="HX9060"):
            log.add(SubscriptionRequest("own", TEXT, Options(words=Words.OWN)))
    with SubscriptionLog(file) as log:
        assert log.subscription("own").options == own
        assert log.in_own_words() == [(4, "own", TEXT, Delivery.OWN)]
        assert not log.check()


def test_what_cannot_be_delivered_is_a_dead_letter_of_those_that_it_cannot_be_delivered_to(
    log: SubscriptionLog,
) -> None:
    one, other = (log.add(SubscriptionRequest(name, TEXT)).number for name in ("one", "other"))
    published = log.publish(document(1), [one], {other: "it has two names", 99: "it is not there"})
    assert (published.matched, published.dead) == (2, 1)
    assert [letter.reason for letter in log.dead_letters("other")] == ["it has two names"]
    assert log.dead_content("other", 1) == document(1).data
    assert [found.name for found in log.fetch("one")] == ["d1.xml"] and log.fetch("other") == []
    assert log.has_published(published.id) and not log.has_published("another")
    assert not log.check()


def test_documents_are_rewritten_for_subscriptions_in_own_words_only() -> None:
    with pytest.raises(DisseminationError, match="HX9067 documents are rewritten for subscriptions in own words only"):
        Options(deliver=Delivery.OWN)


def test_damage_is_told_when_it_is_met(file: Path) -> None:
    made(file)
    with file.open("r+b") as opened:
        for page in range(2, file.stat().st_size // 4096):
            opened.seek(page * 4096)
            opened.write(b"\xff" * 4096)
    with SubscriptionLog(file) as log:
        acts: tuple[Callable[[], object], ...] = (
            lambda: list(log.subscriptions()),
            lambda: log.add(SubscriptionRequest("new", TEXT)),
            lambda: log.subscription("s1"),
            lambda: log.remove("s1"),
        )
        for act in acts:
            with pytest.raises(DisseminationError, match="HX9050 is damaged"):
                act()
        assert log.check()


def test_a_file_that_is_cut_off_is_told(file: Path) -> None:
    made(file)
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(DisseminationError, match="HX9050"), SubscriptionLog(file) as log:
        list(log.subscriptions())


SPOILED: Final = (
    "DELETE FROM notification WHERE sequence = 2",
    "UPDATE subscription SET backlog = 7",
    "UPDATE document SET holds = 4 WHERE number = 2",
    "DELETE FROM content WHERE document = 3",
    "DELETE FROM subscription",
    "UPDATE horizon SET bytes = 1",
)


@pytest.mark.parametrize("statement", SPOILED)
def test_what_does_not_agree_is_found(file: Path, statement: str) -> None:
    with SubscriptionLog(file) as log:
        number = log.add(SubscriptionRequest("a", TEXT)).number
        for which in range(3):
            log.publish(document(which), [number])
        log.acknowledge("a", 1)
        assert log.check() == []
        other = sqlite3.connect(file, isolation_level=None)
        other.execute(statement)
        other.close()
        assert log.check()


def test_a_file_that_another_process_keeps_is_told_and_can_be_tried_again(file: Path) -> None:
    made(file, 1)
    with SubscriptionLog(file, busy=0.05) as log:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DisseminationError, match="HX9052 is in use by another process"):
            log.add(SubscriptionRequest("new", TEXT))
        assert log.subscription("s0").name == "s0", "reading goes on"
        other.execute("ROLLBACK")
        other.close()
        assert log.add(SubscriptionRequest("new", TEXT)).outcome == "new"


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """Let every write fail that would make a file longer, as a full disk does in its middle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_disk_that_is_full_refuses_and_goes_on(file: Path) -> None:
    with SubscriptionLog(file) as log:
        number = log.add(SubscriptionRequest("a", TEXT)).number
        log.publish(document(0), [number])
        with files_no_longer_than(file.with_name(f"{file.name}-wal").stat().st_size + 10_000):
            with pytest.raises(DisseminationError, match="HX9053 cannot be written"):
                log.publish(document(1, 100_000), [number])
            with pytest.raises(DisseminationError, match="HX9053"):
                log.add_all([SubscriptionRequest(f"s{number}", TEXT * 50) for number in range(1000)])
            assert [one.name for one in log.fetch("a", delivering=False)] == ["d0.xml"]
        assert log.publish(document(1, 100_000), [number]).outcome == "new"
        assert log.check() == []
    with SubscriptionLog(file) as log:
        assert [one.name for one in log.fetch("a")] == ["d0.xml", "d1.xml"]


def test_changes_that_meet_a_full_disk_together_are_told_so_and_none_is_there(file: Path) -> None:
    added: list[str] = []
    refused: list[str] = []
    with SubscriptionLog(file) as log:

        def work(worker: int) -> None:
            for step in range(40):
                name = f"w{worker}.{step}"
                try:
                    log.add(SubscriptionRequest(name, TEXT + " " * 2000))
                    added.append(name)
                except DisseminationError as error:
                    assert {fault.code for fault in error.faults} == {"HX9053"}
                    refused.append(name)

        with files_no_longer_than(300_000):
            _run(work, 4)
        assert added and refused
        assert {one.name for one in log.subscriptions()} == set(added)
    with SubscriptionLog(file) as log:
        assert {one.name for one in log.subscriptions()} == set(added)
        assert log.check() == []


def test_a_folder_where_nothing_may_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (tmp_path / "missing" / "log.sqlite", tmp_path):
        with pytest.raises(DisseminationError, match="HX9053"):
            SubscriptionLog(file)
    made(tmp_path / "log.sqlite", 1)
    connect = sqlite3.connect

    def read_only(file: Path, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(f"{file.as_uri()}?mode=ro", uri=True, **options)
        return connection

    monkeypatch.setattr("heptox.matching.database.sqlite3.connect", read_only)
    with SubscriptionLog(tmp_path / "log.sqlite") as log, pytest.raises(DisseminationError, match="HX9053") as error:
        log.add(SubscriptionRequest("a", TEXT))
    assert "cannot be written" in str(error.value)


def test_a_log_that_cannot_be_begun_leaves_nothing(file: Path) -> None:
    with pytest.raises(DisseminationError):
        Database(file, FileFormat("log", 1, 1, "CREATE NOTHING;", "begin a new one"))
    assert not list(file.parent.iterdir())
    made(file, 1)


def test_a_defect_in_a_change_is_raised_where_it_was_wanted(file: Path) -> None:
    with Database(file, FileFormat("log", 1, 1, "CREATE TABLE t (a INTEGER);", "begin a new one")) as database:
        with pytest.raises(ZeroDivisionError):
            database.write(lambda _: 1 // 0)
        database.write(lambda writer: writer.execute("INSERT INTO t VALUES (1)"))
        with database.reading() as reader:
            assert reader.execute("SELECT a FROM t").fetchall() == [(1,)]
