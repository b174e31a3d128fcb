"""Matching beyond memory: as in memory, whatever happens to the file and whenever the process ends."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from signal import SIGKILL

import duckdb
import pytest

from heptox.errors import DisseminationError, Fault
from heptox.matching import (
    Broker,
    DiskMatcher,
    MemoryMatcher,
    RelationalMatcher,
    SubscriptionLog,
    SubscriptionRequest,
    disk,
)
from heptox.peer import SubscriptionEntry, SubscriptionsRequest, examine_peer, subscriptions_at
from heptox.peer.folder.folder import MATCHER, SETTINGS
from heptox.xml import Document, parse_document
from tests.peer.daemons import daemon, hospital_peer, log_of

SUBSCRIPTIONS = (
    "/a[b > {0}]", "//b = {0}", "/a/b or //d[@x = '{0}']", "//*[c = '{0}' or @x < {0}]", "/a[.//b = {0}][d]",
)  # fmt: skip


def subscription(random: Random) -> str:
    return random.choice(SUBSCRIPTIONS).format(random.randrange(6))


def document(random: Random, depth: int = 3) -> str:
    name = random.choice("abcd") if depth < 3 else "a"
    attribute = f" x='{random.randrange(6)}'" if random.random() < 0.4 else ""
    inside = "".join(document(random, depth - 1) for _ in range(random.randrange(3))) if depth else ""
    return f"<{name}{attribute}>{inside or random.randrange(6)}</{name}>"


class World:
    """A log and a matcher's file in a folder, with the broker over them."""

    def __init__(self, folder: Path, batch: int = 5) -> None:
        self.log_file, self.file = folder / "log.sqlite", folder / "matcher.duckdb"
        self.batch = batch
        self.names = 0
        self.open()

    def open(self) -> None:
        self.log = SubscriptionLog(self.log_file)
        self.matcher = DiskMatcher(self.file, self.log, batch=self.batch)
        self.broker = Broker(self.log, self.matcher, filled=True)

    def close(self) -> None:
        self.matcher.close()
        self.log.close()

    def add(self, *texts: str) -> None:
        first, self.names = self.names, self.names + len(texts)
        self.broker.add([SubscriptionRequest(f"s{first + place}", text) for place, text in enumerate(texts)])

    def remove(self, random: Random) -> None:
        if held := [name for _, name, _ in self.log.texts()]:
            self.broker.remove(random.choice(held))

    def check(self, *texts: str) -> None:
        """The same decisions as a matcher in memory that is made from the log."""
        in_memory = Broker(self.log, MemoryMatcher())
        for text in texts:
            assert self.broker.match(text.encode()) == in_memory.match(text.encode()), text

    def copied(self) -> dict[Path, bytes]:
        """The matcher's file as a ``kill -9`` now would leave it."""
        return {file: file.read_bytes() for file in self.file.parent.glob("matcher.duckdb*") if file.is_file()}

    def put_back(self, copy: dict[Path, bytes]) -> None:
        for file in self.file.parent.glob("matcher.duckdb*"):
            file.unlink()
        for file, data in copy.items():
            file.write_bytes(data)

    def copy_log(self, to: Path) -> None:
        with closing(sqlite3.connect(self.log_file)) as source, closing(sqlite3.connect(to)) as target:
            source.backup(target)

    def restore_log(self, copy: Path) -> None:
        for ending in ("-wal", "-shm"):
            self.log_file.with_name(self.log_file.name + ending).unlink(missing_ok=True)
        shutil.copy(copy, self.log_file)


@pytest.mark.parametrize("seed", range(2))
def test_it_decides_as_in_memory_after_any_crash_and_restore(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    world = World(tmp_path)
    copies = [world.copied()]
    world.copy_log(tmp_path / "backup")
    for step in range(30):
        act = random.choices(("add", "remove", "match", "reopen", "crash", "copy", "back up", "restore"),
                             (12, 8, 4, 1, 2, 2, 1, 1))[0]  # fmt: skip
        if act == "add":
            world.add(*(subscription(random) for _ in range(random.randrange(1, 5))))
        elif act == "remove":
            world.remove(random)
        elif act == "match":
            world.check(document(random))
        elif act == "copy":
            copies.append(world.copied())
        elif act == "back up":
            (tmp_path / "backup").unlink()
            world.copy_log(tmp_path / "backup")
        else:
            if act == "crash":
                copies.append(world.copied())
            world.close()
            if act == "crash":
                world.put_back(random.choice(copies[-2:]))
            if act == "restore":
                world.restore_log(tmp_path / "backup")
                world.names += 100 * (step + 1)
            world.open()
            world.check(document(random))
    world.check(*(document(random) for _ in range(3)))
    world.close()
    with RelationalMatcher(world.file) as file, SubscriptionLog(world.log_file) as log:
        assert file.marks()[0].tolist() == [number for number, _, _ in log.texts()]


def test_only_what_the_file_has_not_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.add(*(f"/a[b = {number}]" for number in range(20)))
    world.close()
    with SubscriptionLog(world.log_file) as log:
        log.add(SubscriptionRequest("later", "/a/c"))
        log.remove("s3")
    read: list[int] = []
    add_texts = RelationalMatcher.add_texts

    def noting(self: RelationalMatcher, subscriptions: list[tuple[int, str]], **more: dict[int, int]) -> None:
        read.extend(number for number, _ in subscriptions)
        add_texts(self, subscriptions, marks=more["marks"])

    monkeypatch.setattr(RelationalMatcher, "add_texts", noting)
    world.open()
    assert read == [21]
    world.check("<a><b>3</b><b>4</b><c/></a>", "<a><b>3</b></a>")
    world.close()


def test_numbers_that_mean_other_texts_now_are_read_anew(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add("/a", "/b", "/c")
    world.copy_log(tmp_path / "backup")
    world.add("/d", "/e")
    world.close()
    world.restore_log(tmp_path / "backup")
    with SubscriptionLog(world.log_file) as log:
        assert [log.add(SubscriptionRequest(f"other{tag}", f"/{tag}")).number for tag in "ed"] == [4, 5]
    world.open()
    assert [world.broker.match(f"<{tag}/>".encode()) for tag in "abcde"] == [(1,), (2,), (3,), (5,), (4,)]
    world.close()


# -- files that cannot be used ---------------------------------------------------------------------------------------


def with_garbage(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for place in range(12_288, len(data), 512):
        data[place] ^= 0x55
    file.write_bytes(data)


def with_nothing(file: Path) -> None:
    file.write_bytes(b"")


def with_text(file: Path) -> None:
    file.write_text("no database at all\n" * 1000)


def of_somebody(file: Path) -> None:
    file.unlink()
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE mine (number INTEGER)")


def of_another_version(file: Path) -> None:
    with duckdb.connect(str(file)) as connection:
        connection.execute("UPDATE state SET format = 0")


@pytest.mark.parametrize("damage", [with_garbage, with_nothing, with_text, of_somebody, of_another_version])
def test_a_file_that_cannot_be_used_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)
    world.add(*(f"/a[b = {number}]" for number in range(20)))
    world.close()
    damage(world.file)
    with caplog.at_level(logging.WARNING):
        world.open()
        world.check("<a><b>3</b><b>4</b></a>")
    assert [one.getMessage().partition(":")[0] for one in caplog.records] == [
        f"{world.file} is made anew from the subscriptions"
    ]
    world.add("/a/c")
    world.check("<a><b>3</b><c/></a>")
    world.close()


@pytest.mark.parametrize("kept", [0.1, 0.6, 0.97])
def test_a_write_ahead_log_that_is_torn_or_damaged_changes_no_decision(tmp_path: Path, kept: float) -> None:
    world = World(tmp_path, batch=1)
    world.add("/a", "/a/b", "/b")
    world.add("/a[b > 2]", "//b")
    world.broker.remove("s1")
    copy = world.copied()
    world.close()
    wal = world.file.with_name(world.file.name + ".wal")
    end = int(len(copy[wal]) * kept)
    for torn in (copy[wal][:end], copy[wal][:end] + b"\x17" * 40 + copy[wal][end + 40 :]):
        world.put_back({**copy, wal: torn})
        world.open()
        world.check("<a><b>3</b></a>", "<b/>")
        world.close()


def test_texts_of_another_version_are_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.add("/a")
    world.close()
    with monkeypatch.context() as patched:
        before = disk.mark_of("/a")
        patched.setattr(disk, "__version__", "another")
        assert disk.mark_of("/a") != before
        world.open()
        world.check("<a/>", "<b/>")
        world.close()


def test_what_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "matcher").mkdir()
    with SubscriptionLog(tmp_path / "log") as log, pytest.raises(DisseminationError) as error:
        DiskMatcher(tmp_path / "matcher", log)
    assert error.value.faults[0].code == "HX9021"


class Failing:
    """Makes the file fail, as a disk does that is full or damaged, until it has failed so often."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str, times: int) -> None:
        self.left = times
        works = getattr(RelationalMatcher, method)

        def act(matcher: RelationalMatcher, *given: object, **named: object) -> object:
            if self.left:
                self.left -= 1
                raise duckdb.IOException("No space left on device")
            return works(matcher, *given, **named)

        monkeypatch.setattr(RelationalMatcher, method, act)


def test_a_file_that_fails_while_matching_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.add(*("/a",) * 7)
    world.broker.remove("s1")
    Failing(monkeypatch, "match", 1)
    world.check("<a/>")
    Failing(monkeypatch, "match", 2)
    with pytest.raises(DisseminationError) as error:
        world.broker.match(b"<a/>")
    assert error.value.faults[0].code == "HX9021"
    world.add("/b or /a")
    world.broker.remove("s2")
    world.check("<a/>", "<b/>")
    world.close()


def test_what_the_file_does_not_take_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path)
    world.add("/a", "/b")
    Failing(monkeypatch, "__len__", 1)  # after the file took them: they are in both
    world.add("/a", "/b", "/a")
    world.broker.remove("s2")
    world.check("<a/>", "<b/>")
    Failing(monkeypatch, "add_texts", 1)
    world.add("/b", "/a", "/a", "/b", "/a", "/a")
    world.check("<a/>", "<b/>")
    world.close()
    world.open()
    world.check("<a/>", "<b/>")
    world.close()


def test_changes_that_come_while_the_file_is_made_anew_count_once(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.add("/a", "/b")
    added = world.log.add(SubscriptionRequest("meanwhile", "/a"))
    removed = world.log.remove("s0")
    world.matcher._make_anew(DisseminationError([Fault("HX9021", "it fails")]))
    world.matcher.add(added.number, ())
    world.matcher.remove(removed.number)
    world.check("<a/>", "<b/>")
    world.close()


def matched(matcher: DiskMatcher, given: Document) -> list[int]:
    return list(map(int, matcher.match(given)))


def test_a_log_that_cannot_be_read_is_told_of_and_no_file_is_blamed(tmp_path: Path) -> None:
    with SubscriptionLog(tmp_path / "log") as log:
        log.add(SubscriptionRequest("fine", "/a"))
        with DiskMatcher(tmp_path / "matcher", log) as matcher:
            assert matched(matcher, parse_document("<a/>")) == [1]
        log.add(SubscriptionRequest("newer", "/a[later()]"))
        with pytest.raises(DisseminationError) as error:
            DiskMatcher(tmp_path / "matcher", log)
    assert error.value.faults[0].code == "HX9050"
    assert "subscription newer" in str(error.value)


# -- a peer ----------------------------------------------------------------------------------------------------------


def test_a_peer_with_its_subscriptions_on_the_disk(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0, feed="anything")
    settings = folder / SETTINGS
    settings.write_text(settings.read_text().replace('matching = "memory"', 'matching = "disk"'))

    def publish(identity: str) -> int:
        with subscriptions_at(folder) as at:
            return int(at.publish("d", b"<a><b>2</b></a>", identity=identity).matched)

    def subscribe(name: str, *texts: str) -> None:
        with subscriptions_at(folder) as at:
            at.subscribe(
                SubscriptionsRequest(
                    subscriptions=tuple(
                        SubscriptionEntry(name=f"{name}{i}", xpath=text) for i, text in enumerate(texts)
                    )
                )
            )

    with daemon(folder) as first:
        subscribe("one", *(f"/a[b = {number % 4}]" for number in range(1500)))
        assert publish("1") == 375
        with subscriptions_at(folder) as at:
            at.unsubscribe("one2")
        first.end(SIGKILL)
    assert (folder / MATCHER).exists()
    subscribe("off", "/a/b", "//b > 2")
    with daemon(folder):
        assert publish("2") == 375
        subscribe("two", "//b")
        assert publish("3") == 376
        assert not [file for file in folder.glob(f"{MATCHER}*") if stat.S_IMODE(file.stat().st_mode) & 0o077]
    assert publish("4") == 376
    assert "is made anew" not in log_of(folder).read_text()
    assert not [one for one in examine_peer(folder) if one.subject == "subscriptions" and one.level != "ok"]
