"""The feed log against a model of it in memory, and what it does when its file fails."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from heptox.errors import DisseminationError
from heptox.feed import Gate, Publish, log as module
from heptox.feed.events import Distrusted, Reached
from heptox.feed.log import WORDINGS, FeedLog, FeedRetention, Kept
from heptox.feed.messages import FeedDocument, Wording
from heptox.matching import SubscriptionLog
from heptox.peer.wire.identity import Ed25519, Identity
from tests.support.budget import tries

KEY: Final = Identity(bytes(32))
GATE: Final = Gate(KEY.peer_id, Ed25519(KEY))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "feed.sqlite"


@pytest.fixture
def log(file: Path) -> Iterator[FeedLog]:
    with FeedLog(file) as opened:
        yield opened


def published(log: FeedLog, documents: int, size: int = 10) -> None:
    """Publish so many more documents of a size."""
    for number in range(log.position + 1, log.position + documents + 1):
        assert log.append(f"d{number}.xml", f"i{number}", b"x" * size) == number


def positions(log: FeedLog, since: int, upto: int, documents: int = 64, size: int = 1 << 20) -> list[int]:
    return [one.position for one in log.fetch(since, upto, documents, size).documents]


def without_ids(documents: Iterable[Kept]) -> list[Kept]:
    """The documents but for their ids, which are by chance."""
    return [document._replace(id="") for document in documents]


# -- the model -------------------------------------------------------------------------------------------------------


class LogMachine(RuleBasedStateMachine):
    """Whatever is done to a log, it is as the model says; closing and opening it changes nothing."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.time = 1000
        self.documents: list[Kept] = []
        self.gone = 0
        self.versions = [0]
        self.others: dict[str, Reached] = {}
        self.retention = FeedRetention(documents=5, bytes=60)
        self._open()
        self.feed = self.log.feed

    def _open(self) -> None:
        self.log = FeedLog(Path(self.folder.name) / "feed.sqlite", self.retention, clock=lambda: self.time)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()
            self.folder.cleanup()

    @rule(documents=st.integers(0, 6), size=st.integers(0, 80))
    def reopen(self, documents: int, size: int) -> None:
        self.log.close()
        self.retention = FeedRetention(documents, size)
        self._open()

    @rule(name=st.sampled_from("abcdefghijklmnop"), size=st.integers(0, 30))
    def append(self, name: str, size: int) -> None:
        held = [one.position for one in self.documents[self.gone :] if one.name == name]
        position, data = len(self.documents) + 1, bytes([len(self.documents) % 256]) * size
        assert self.log.append(name, f"{name}!", data) == (held[0] if held else position)
        if not held:
            self.documents.append(Kept(position, name, "", data))
            self._forget()

    def _forget(self) -> None:
        while True:
            kept = self.documents[self.gone :]
            if len(kept) <= self.retention.documents and sum(len(one.data) for one in kept) <= self.retention.bytes:
                return
            self.gone += 1

    @rule(since=st.integers(-2, 20), more=st.integers(-2, 20), documents=st.integers(0, 4), size=st.integers(0, 60))
    def fetch(self, since: int, more: int, documents: int, size: int) -> None:
        page = self.log.fetch(since, since + more, documents, size)
        since, upto = max(since, 0), min(since + more, len(self.documents))
        there = [one for one in self.documents[self.gone :] if since < one.position <= upto]
        assert without_ids(page.documents) == there[: len(page.documents)]
        assert bool(page.documents) == bool(there)
        if len(page.documents) > 1:
            assert len(page.documents) <= documents
            assert sum(len(one.data) for one in page.documents) <= size
        if len(page.documents) < len(there):
            one_more = there[: len(page.documents) + 1]
            assert len(one_more) > documents or sum(len(one.data) for one in one_more) > size
            assert page.position == page.documents[-1].position
        else:
            assert page.position == max(since, upto)
        assert page.missing == sum(since < one.position <= upto for one in self.documents[: self.gone])

    @rule(passed=st.integers(-5, 5))
    def next_version(self, passed: int) -> None:
        self.time += passed
        version = self.log.next_version()
        assert version == max(self.versions[-1] + 1, self.time)
        self.versions.append(version)

    @rule(publisher=st.sampled_from("PQR"), feed=st.sampled_from(("f", "g")), position=st.integers(0, 1 << 62))
    def keep(self, publisher: str, feed: str, position: int) -> None:
        self.log.keep(publisher, feed, position, position % 7)
        self.others[publisher] = Reached(publisher, feed, position, position % 7)

    @invariant()
    def is_as_the_model_says(self) -> None:
        if not hasattr(self, "log"):
            return
        assert (self.log.feed, self.log.position) == (self.feed, len(self.documents))
        assert self.log.reached() == [self.others[publisher] for publisher in sorted(self.others)]
        assert self.log.check() == []


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=tries(50), stateful_step_count=40, deadline=None)


# -- what is published -----------------------------------------------------------------------------------------------


def test_the_name_is_made_with_the_file(tmp_path: Path) -> None:
    names = set[str]()
    for file in (tmp_path / "one.sqlite", tmp_path / "two.sqlite", tmp_path / "one.sqlite"):
        with FeedLog(file) as log:
            names.add(log.feed)
            assert len(log.feed) == 16 and set(log.feed) <= set("0123456789abcdef")
    assert len(names) == 2


def test_an_id_has_one_position_whatever_else_is_given(log: FeedLog) -> None:
    assert [log.append("a.xml", "i", b"<a/>"), log.append("b.xml", "j", b"<a/>")] == [1, 2]
    assert log.append("other.xml", "i", b"<other/>") == 1
    assert without_ids(log.fetch(0, 2).documents) == [Kept(1, "a.xml", "", b"<a/>"), Kept(2, "b.xml", "", b"<a/>")]
    assert log.position == 2


def test_positions_go_on_when_all_documents_went(file: Path) -> None:
    with FeedLog(file, FeedRetention(bytes=20)) as log:
        published(log, 2)
        assert log.append("large.xml", "large", b"x" * 21) == 3
        assert log.fetch(0, 3).missing == 3
        assert (log.fetch(1, 2).position, log.fetch(1, 2).missing) == (2, 1)
    with FeedLog(file, FeedRetention(documents=0)) as log:
        published(log, 2)
        assert (log.fetch(3, 5).documents, log.fetch(3, 5).missing) == ((), 2)
        assert log.check() == []
    with FeedLog(file) as log:
        published(log, 1)
        assert positions(log, 0, 6) == [6]


def test_pages_lead_to_the_end(log: FeedLog) -> None:
    published(log, 10, size=100)
    since, pages = 0, []
    while since < 10:
        page = log.fetch(since, 10, limit_documents=4, limit_bytes=350)
        pages.append([one.position for one in page.documents])
        since = page.position
    assert pages == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]


def test_where_a_page_ends_tells_nothing_of_how_long_is_what_is_withheld(log: FeedLog) -> None:
    for number, size in enumerate((10, 10, 1000, 10, 10), 1):
        log.append(f"{number}.xml", f"{number}", b"x" * size)

    def pages(limit_documents: int, limit_bytes: int) -> list[tuple[list[int], tuple[int, ...], int]]:
        since, found = 0, []
        while since < 5:
            page = log.fetch(since, 5, limit_documents, limit_bytes, lambda _, data: len(data) == 1000)
            found.append(([one.position for one in page.documents], page.withheld, page.position))
            since = page.position
        return found

    assert pages(64, 30) == [([1, 2, 4], (3,), 4), ([5], (), 5)]
    assert pages(3, 1000) == [([1, 2], (3,), 3), ([4, 5], (), 5)]
    assert pages(1, 1000) == [([1], (), 1), ([2], (), 2), ([], (3,), 3), ([4], (), 4), ([5], (), 5)]


def test_limits_may_be_reached(file: Path) -> None:
    with FeedLog(file, FeedRetention(documents=3, bytes=30)) as log:
        published(log, 3, size=10)
        assert positions(log, 0, 3, documents=2, size=20) == [1, 2]
        assert positions(log, 0, 3) == [1, 2, 3]
        published(log, 1, size=10)
        assert positions(log, 0, 4) == [2, 3, 4]


def test_one_document_is_told_however_large_it_is(log: FeedLog) -> None:
    published(log, 2, size=3 << 20)
    assert [positions(log, 0, 2), positions(log, 1, 2), positions(log, 0, 2, 0, 0)] == [[1], [2], [1]]


def test_what_others_ask_for_may_be_any_number(log: FeedLog) -> None:
    published(log, 2)
    assert positions(log, -(1 << 70), 1 << 70) == [1, 2]
    assert log.fetch(-5, 1 << 70).position == 2
    for since in (2, 3, 1 << 70):
        page = log.fetch(since, 1 << 71)
        assert (page.documents, page.position, page.missing) == ((), since, 0)


def test_versions_grow_also_when_the_file_was_lost(file: Path) -> None:
    with FeedLog(file, clock=lambda: 5000) as log:
        assert [log.next_version() for _ in range(3)] == [5000, 5001, 5002]
    with FeedLog(file, clock=lambda: 10) as log:
        assert log.next_version() == 5003
    file.unlink()
    with FeedLog(file, clock=lambda: 5004) as log:
        assert log.next_version() == 5004


def test_threads_are_given_each_position_once(log: FeedLog) -> None:
    given: list[tuple[int, str]] = []
    versions: list[int] = []

    def work(worker: int) -> None:
        for step in range(50):
            name = f"{step}" if step % 5 == 0 else f"{worker}.{step}"
            given.append((log.append(name, name, b"<a/>"), name))
            versions.append(log.next_version())

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == len(versions) == len(set(versions)) == 200
    told = {one.position: one.name for one in log.fetch(0, 1000, 1000).documents}
    assert set(given) == set(told.items())
    assert sorted(told) == list(range(1, 171)), "ten ids are the same in all threads"
    assert log.check() == []


# -- files that fail -------------------------------------------------------------------------------------------------


KILLED: Final = """
import sys
from pathlib import Path
from heptox.feed.log import FeedLog, FeedRetention
with FeedLog(Path(sys.argv[1]), FeedRetention(documents=20)) as log:
    while True:
        position = log.append("d.xml", f"i{log.position + 1}", b"<a/>")
        log.keep("P", "f", position, 0)
        print(position, log.next_version(), flush=True)
"""


def test_what_was_told_survives_kill_9(file: Path) -> None:
    version = 0
    for kill in range(3):
        with subprocess.Popen([sys.executable, "-c", KILLED, str(file)], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            told = [process.stdout.readline() for _ in range(10 + 9 * kill)]
            process.kill()
            told += [line for line in process.stdout if line.endswith("\n")]
        first, last = (tuple(map(int, told[place].split())) for place in (0, -1))
        assert version < first[1] < last[1]
        with FeedLog(file, FeedRetention(documents=20)) as log:
            assert log.check() == []
            assert log.position >= last[0]
            assert log.reached()[0].position >= last[0]
            assert log.append("d.xml", f"i{last[0]}", b"<a/>") == last[0]
            version = log.next_version()
            assert version > last[1]


def test_the_file_and_what_is_beside_it_are_for_the_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with FeedLog(tmp_path / "feed.sqlite") as log:
            published(log, 1)
            assert [stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()] == [0o600] * 3
    finally:
        os.umask(before)


def test_a_file_that_is_no_feed_log_is_refused(file: Path) -> None:
    with SubscriptionLog(file):
        pass
    with pytest.raises(DisseminationError, match="HX9050 is no feed log") as error:
        FeedLog(file)
    assert "move it away for a new one: what others have not fetched" in str(error.value)
    file.unlink()
    with FeedLog(file):
        pass
    with pytest.raises(DisseminationError, match="HX9050 is no subscription log"):
        SubscriptionLog(file)
    file.write_bytes(b"feed = []\n" * 1000)
    with pytest.raises(DisseminationError, match="HX9050"):
        FeedLog(file)


def test_a_file_of_a_newer_version_is_refused(file: Path) -> None:
    with FeedLog(file):
        pass
    _spoiled(file, "PRAGMA user_version = 7")
    with pytest.raises(DisseminationError, match=r"HX9051 .* version is 7, this heptox reads up to 1"):
        FeedLog(file)


def _spoiled(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute(statement)


def test_damage_is_told_when_it_is_met(file: Path) -> None:
    with FeedLog(file) as log:
        published(log, 200, size=1000)
    whole = file.read_bytes()
    with closing(sqlite3.connect(file)) as other:
        feed = other.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'feed'").fetchone()[0]
    for page in range(2, len(whole) // 4096 + 1):
        if page != feed:
            whole = whole[: (page - 1) * 4096] + b"\xff" * 4096 + whole[page * 4096 :]
    file.write_bytes(whole)
    with FeedLog(file) as log:
        acts: tuple[Callable[[], object], ...] = (
            lambda: log.fetch(0, 10),
            lambda: log.append("new.xml", "new", b""),
            lambda: log.keep("P", "f", 1, 1),
            log.reached,
        )
        for act in acts:
            with pytest.raises(DisseminationError, match="HX9050 is damaged"):
                act()
        assert log.check()


@pytest.mark.parametrize("statement", ["DELETE FROM feed", "INSERT INTO feed SELECT * FROM feed"])
def test_a_file_that_is_not_of_one_feed_is_damaged(file: Path, statement: str) -> None:
    with FeedLog(file):
        pass
    _spoiled(file, statement)
    with pytest.raises(DisseminationError, match=r"HX9050 is damaged: it is of (no feed|several feeds)"):
        FeedLog(file)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM document WHERE position = 2",
        "UPDATE document SET position = 7 WHERE position = 3",
        "UPDATE document SET data = x'00' WHERE position = 1",
        "UPDATE feed SET position = 4",
        "UPDATE feed SET gone = 1",
        "UPDATE feed SET bytes = 1",
    ],
)
def test_what_does_not_agree_is_found(file: Path, statement: str) -> None:
    with FeedLog(file) as log:
        published(log, 3)
        assert log.check() == []
        _spoiled(file, statement)
        assert log.check()


def test_a_file_that_another_process_keeps_is_told_and_can_be_tried_again(file: Path) -> None:
    with FeedLog(file, busy=0.05) as log:
        published(log, 1)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DisseminationError, match="HX9052 is in use by another process"):
                log.append("new.xml", "new", b"")
            assert positions(log, 0, 1) == [1], "reading goes on"
            other.execute("ROLLBACK")
        assert log.append("new.xml", "new", b"") == 2


# -- words -----------------------------------------------------------------------------------------------------------


def test_how_far_it_is_with_subscriptions_in_own_words_is_kept_apart(file: Path) -> None:
    with FeedLog(file) as log:
        log.keep("p", "feed", 3, 1)
        log.keep("p", "feed", 2, 2, own=True)
        log.keep("p", "feed", 4, 2, own=True)
    with FeedLog(file) as log:
        assert log.reached() == [Reached("p", "feed", 3, 1), Reached("p", "feed", 4, 2, own=True)]


def test_a_file_of_before_there_were_own_words_is_read(file: Path) -> None:
    with FeedLog(file) as log:
        log.append("a.xml", "a", b"<a/>")
        log.keep("p", "feed", 3, 1)
    older = sqlite3.connect(file)
    older.executescript("DROP TABLE own_reached; DROP TABLE wording; DROP TABLE written;")
    older.close()
    with FeedLog(file) as log:
        assert log.reached() == [Reached("p", "feed", 3, 1)]
        assert log.write_under("schema") == 1
        assert log.wordings() == []
        assert not log.check()


def test_documents_are_under_a_schema_since_the_position_at_which_it_was_first_said(file: Path) -> None:
    with FeedLog(file) as log:
        assert log.write_under("one") == 0
        for name in "ab":
            log.append(name, name, b"<a/>")
        assert log.write_under("one") == 0
        assert log.write_under("other") == 2
    with FeedLog(file) as log:
        log.append("c", "c", b"<a/>")
        assert log.write_under("other") == 2
        assert log.write_under("one") == 3, "it is another time"


def test_the_last_words_of_a_publisher_are_kept_and_those_of_another_feed_are_not(file: Path) -> None:
    made = [Wording(f"schema {since}", since, ("source 1", "")) for since in range(WORDINGS + 3)]
    with FeedLog(file) as log:
        log.keep_wording("q", "feed", made[0])
        for wording in made:
            log.keep_wording("p", "feed", wording)
        log.keep_wording("p", "feed", replace(made[-1], mappings=()))
        assert log.wordings() == [
            *(("p", "feed", wording) for wording in made[3:-1]),
            ("p", "feed", replace(made[-1], mappings=())),
            ("q", "feed", made[0]),
        ]
        log.keep_wording("p", "another feed", made[0])
        assert log.wordings() == [("p", "another feed", made[0]), ("q", "feed", made[0])]


def test_so_many_publishers_words_are_kept_and_of_those_first_that_have_confirmed_most(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WORDED", 3)
    with FeedLog(file) as log:
        for number, publisher in enumerate("pqrs"):
            log.keep(publisher, "feed", 1, number, own=True)
        for publisher in "psabqc":
            log.keep_wording(publisher, "feed", Wording("schema", 0, ()))
        kept = [publisher for publisher, *_ in log.wordings()]
        assert kept == ["c", "q", "s"]
        assert [publisher for publisher, *_ in log.wordings("q")] == ["q"]
        assert not log.check()


# -- who has a right to what was published before ----------------------------------------------------------------------

MINUTE: Final = 60_000
YEAR: Final = 365 * 24 * 60 * MINUTE


@dataclass
class Clock:
    now: int = 10 * YEAR

    def __call__(self) -> int:
        return self.now


def test_a_subscriber_has_a_right_to_what_comes_after_it_was_first_confirmed(file: Path) -> None:
    clock = Clock()
    with FeedLog(file, clock=clock) as log:
        log.meet(["n", "o"])
        log.next_version()
        clock.now += MINUTE + 1
        log.append("a", "a", b"<a/>")
        assert [log.confirm("s", "n", 1), log.confirm("s", "n", 5), log.confirm("s", "o", 5)] == [1, 1, 1]
    with FeedLog(file, clock=clock) as log:
        clock.now += YEAR // 12
        assert log.confirm("s", "n", 9) == 1, "also after another start"
        clock.now += YEAR
        log.confirm("t", "n", 9)
        assert log.confirm("s", "n", 10) == 10, "who is not seen for long is forgotten"


def test_through_a_neighbour_nothing_comes_of_before_it_became_an_acquaintance(file: Path) -> None:
    clock = Clock()
    with FeedLog(file, clock=clock) as log:
        log.meet(["early"])
        log.next_version()
        for name in "abc":
            log.append(name, name, b"<a/>")
        log.meet(["early", "late"])
        assert log.confirm("s", "early", 3) == 0, "it was there when the feed began"
        assert log.confirm("s", "late", 3) == 3
        assert log.confirm("late", "late", 3) == log.confirm("late", "early", 3) == 3
        assert log.confirm("t", "unknown", 2) == 2
        clock.now += MINUTE + 1
        assert log.confirm("u", "early", 3) == 3, "the feed is not new any more"


def test_subscribers_are_remembered_within_bounds_that_a_neighbour_cannot_use_up_for_others(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CONFIRMED", 3)
    clock = Clock()
    with FeedLog(file, clock=clock) as log:
        log.next_version()
        clock.now += 2 * MINUTE
        log.meet(["n", "bad"])
        log.confirm("s", "n", 1)
        for number in range(10):
            clock.now += 1
            log.confirm(f"made up {number}", "bad", 2)
        assert log.confirm("s", "n", 5) == 1
        assert [log.confirm(f"made up {number}", "bad", 5) for number in (9, 8, 7, 6)] == [2, 2, 2, 5]
        assert log.check() == []


# -- signatures ------------------------------------------------------------------------------------------------------


def chained(log: FeedLog) -> list[FeedDocument]:
    """The documents of a log, each signed, and in a chain."""
    found = [one.of(GATE.peer, log.feed) for one in log.fetch(0, 99, 99).documents]
    for one in found:
        GATE.check(Publish(one), GATE.peer)
    assert all(other.previous == one.digest for one, other in pairwise(found))
    assert log.last == found[-1].digest == log.fetch(0, 99, 99).last
    return found


def test_documents_are_signed_in_a_chain_and_each_position_once(tmp_path: Path) -> None:
    file = tmp_path / "feed.sqlite"
    with FeedLog(file, FeedRetention(documents=3), GATE) as log:
        assert [log.append(name, name, b"<a/>") for name in "abacdbe"] == [1, 2, 1, 3, 4, 2, 5]
        before = chained(log)
        assert [one.sequence for one in before] == [3, 4, 5]
        assert before[0].previous != b"", "the one that is gone is before it"
    with FeedLog(file, gate=GATE) as log:
        log.append("f", "f", b"<a/>")
        assert chained(log)[:3] == before


def test_the_digest_of_a_document_tells_nothing_to_who_does_not_have_it(tmp_path: Path) -> None:
    said = list[bytes]()
    for number in range(2):
        with FeedLog(tmp_path / f"{number}.sqlite", gate=GATE) as log:
            log.append("a.xml", "i", b"<pin>1234</pin>")
            log.append("b.xml", "j", b"<b/>")
            first, second = chained(log)
            known = replace(first, id="i", feed="of the feed")
            said += [second.previous, replace(first, feed="of the feed").digest, known.digest]
    assert said[2] == said[5], "all of it but the id by chance"
    assert len(set(said)) == 5


def test_what_an_older_file_holds_keeps_the_ids_that_it_was_published_under(file: Path) -> None:
    with FeedLog(file, gate=GATE) as log:
        log.append("a.xml", "i", b"<a/>")
    with closing(sqlite3.connect(file)) as older, older:
        older.execute("DROP TABLE published")
        older.execute("DROP TABLE signed")
        older.execute("UPDATE document SET id = 'i'")
    with FeedLog(file, gate=GATE) as log:
        assert (log.append("a.xml", "i", b"<a/>"), log.append("b.xml", "j", b"<b/>")) == (1, 2)
        first, second = chained(log)
        assert first.id == "i"
        assert second.id not in ("i", "j")


def test_what_an_older_file_holds_is_signed_when_it_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "feed.sqlite"
    with FeedLog(file, FeedRetention(documents=2)) as log:
        for name in "abc":
            log.append(name, name, b"<a/>")
        assert log.last == b""
    with closing(sqlite3.connect(file)) as older, older:
        older.execute("DROP TABLE signed")
        older.execute("DROP TABLE distrusted")
    with FeedLog(file, gate=GATE) as log:
        first, second = chained(log)
        assert (first.sequence, first.previous, second.sequence) == (2, b"", 3)
    with FeedLog(file) as log:  # as somebody does who does not know of signatures
        log.append("d", "d", b"<a/>")
    with FeedLog(file, gate=GATE) as log:
        assert chained(log)[:2] == [first, second]


def test_what_is_held_against_neighbours_is_kept_until_it_is_forgotten(tmp_path: Path) -> None:
    held = [Distrusted("n", "p", "it lies"), Distrusted("n", "q", "it lies, too"), Distrusted("o", "p", "so does it")]
    with FeedLog(tmp_path / "feed.sqlite") as log:
        for one in (*held, held[0]):
            log.distrust(one)
    with FeedLog(tmp_path / "feed.sqlite") as log:
        assert log.distrusted() == held
        log.forgive("n")
        assert log.distrusted() == held[2:]


def test_of_too_many_publishers_those_are_forgotten_first_that_have_confirmed_least(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_REACHED", 3)
    with FeedLog(file) as log:
        for publisher, number in (("a", 2), ("b", 0), ("c", 1), ("d", 2), ("d", 3), ("e", 2), ("f", 0)):
            log.keep(publisher, "feed", 9, number)
            log.keep(publisher, "feed", 8, 1, own=True)
        reached = log.reached()
    assert [(one.publisher, one.number) for one in reached if not one.own] == [("a", 2), ("d", 3), ("e", 2)]
    assert sum(one.own for one in reached) == 3
