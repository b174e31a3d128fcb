"""Subscriptions at a peer whose daemon runs, or not."""

from __future__ import annotations

import json
import resource
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest

from heptox.errors import HeptoxError, PeerError
from heptox.peer import (
    Client,
    Finding,
    PublishedModel,
    SubscriptionEntry,
    Subscriptions,
    SubscriptionsRequest,
    examine_peer,
    subscriptions_at,
)
from heptox.peer.folder.folder import SUBSCRIPTIONS
from heptox.peer.models.control import Exact
from tests.peer.daemons import Daemon, daemon, heptox, hospital_peer, wait_until


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A peer whose daemon runs; each test has subscriptions of its own."""
    folder = hospital_peer(tmp_path_factory.mktemp("running") / "peer", "montreal", 0, feed="anything")
    with daemon(folder) as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return hospital_peer(tmp_path / "peer", "montreal", 0, feed="anything")


def one(name: str, xpath: str, **more: Any) -> SubscriptionsRequest:
    return SubscriptionsRequest(subscriptions=(SubscriptionEntry(name=name, xpath=xpath),), **more)


def refused(act: Callable[[], object]) -> set[str]:
    with pytest.raises(HeptoxError) as error:
        act()
    return {fault.code for fault in error.value.faults}


def numbered(number: int, tag: str = "a") -> bytes:
    return f"<{tag}><b>{number}</b></{tag}>".encode()


# -- the same, whether the daemon runs or not ------------------------------------------------------------------------


def play(at: Subscriptions) -> list[Any]:
    """All that can be done, and what is told of it."""
    told: list[Any] = [
        at.subscribe(one("large", "/a[b > 2]")),
        at.subscribe(one("either", "/a[b = 1 or b = 3 or b >= 3]", policy="drop-oldest", backlog=2)),
        at.subscribe(one("large", "/a[b > 2]")),
        at.subscribe(
            SubscriptionsRequest(
                subscriptions=(
                    SubscriptionEntry(name="f-1", xpath="//b["),
                    SubscriptionEntry(name="f-2", xpath="//c", line=2),
                    SubscriptionEntry(name="large", xpath="//c", line=3),
                    SubscriptionEntry(name="no/name", xpath="//c", line=4),
                ),
                file="f.txt",
                skipping=True,
            )
        ),
        [at.publish(f"d{number}.xml", numbered(number), file="here") for number in range(6)],
        at.publish("d3.xml", numbered(3)),
        at.publish("d3.xml", numbered(3), identity="again"),
        list(at.notifications("large")),
        list(at.notifications("either", 1, limit=3, content=True)),
        at.acknowledge("large", 2),
        list(at.notifications("large", content=True)),
        at.acknowledge("large", 3, "odd"),
        list(at.dead_letters("large")),
        list(at.dead_letters("either", after=1)),
        at.document("large", 1).decode(),
        at.dead_document("either", 1).decode(),
        list(at.notifications("large", since="2020-01-01T00:00:00Z", limit=1)),
        list(at.notifications("large", since="2999-01-01T00:00:00+01:00")),
        at.subscription("large"),
        at.unsubscribe("either"),
        list(at.subscriptions()),
    ]
    refusals = (
        lambda: at.subscribe(one("large", "//other")),
        lambda: at.subscribe(one("new", "//b[")),
        lambda: at.subscription("either"),
        lambda: list(at.notifications("large", 99)),
        lambda: list(at.notifications("large", 1, since="2020-01-01T00:00:00Z")),
        lambda: list(at.notifications("either", content=True)),
        lambda: at.acknowledge("large", 99),
        lambda: at.acknowledge("large", 1, "too late"),
        lambda: at.document("large", 99),
        lambda: at.dead_document("large", 99),
        lambda: list(at.dead_letters("either")),
        lambda: at.publish("bad.xml", b"<a>"),
        lambda: at.publish("d3.xml", numbered(4), identity="again"),
        lambda: at.publish("large.xml", b"<a>" + b" " * (65 * 1024 * 1024) + b"</a>"),
    )
    return [*told, *(sorted(refused(act)) for act in refusals)]


def timeless(told: Any) -> Any:
    """What is told without what differs each time."""
    if isinstance(told, dict):
        varying = {"published", "time", "lag", "number", "first_read"} | ({"added"} if "name" in told else set())
        return {key: None if key in varying else timeless(value) for key, value in told.items()}
    if isinstance(told, Exact):
        return timeless(told.to_json())
    return [timeless(value) for value in told] if isinstance(told, list) else told


def test_the_same_is_told_whether_the_daemon_runs_or_not(running: Daemon, folder: Path) -> None:
    with running.client() as client:
        there = play(client)
    with subscriptions_at(folder) as at:
        here = play(at)
    assert timeless(there) == timeless(here)
    assert [len(found) for found in there[7:9]] == [4, 3], "one for each pair, also where two alternatives match"
    assert [letter.sequence for letter in there[13]] == [2, 3], "two of the last five are in the backlog"
    codes = "9060 3001 9061 9062 7060 9061 9062 9062 9062 9062 9061 1002 9065"
    assert [code for codes in there[-14:-1] for code in codes] == [f"HX{code}" for code in codes.split()]


# -- a daemon --------------------------------------------------------------------------------------------------------


def test_a_subscriber_follows_what_is_published_until_the_subscription_is_removed(running: Daemon) -> None:
    got: list[int] = []
    ends: list[str] = []

    def follow() -> None:
        with running.client() as client:
            try:
                got.extend(one.sequence for one in client.notifications("followed", follow=True))
            except PeerError as error:
                ends.append(str(error))

    with running.client() as client:
        client.subscribe(one("followed", "//followed"))
        for number in range(3):
            client.publish("d.xml", numbered(number, "followed"))
        threads = [threading.Thread(target=follow) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(got) == 6)
        for number in range(3, 6):
            client.publish("d.xml", numbered(number, "followed"))
            wait_until(lambda number=number: len(got) == 2 * number + 2)  # type: ignore[misc]
        client.publish("other.xml", b"<other/>")
        client.unsubscribe("followed")
        for thread in threads:
            thread.join(240)
    assert sorted(got) == sorted([*range(1, 7)] * 2)
    assert len(ends) == 2 and all("HX9061" in end for end in ends)


def test_a_follower_gets_as_many_as_it_wants_and_leaves(running: Daemon) -> None:
    with running.client() as client, running.client() as other:
        client.subscribe(one("some", "//some"))
        client.publish("d.xml", numbered(1, "some"))
        following = client.notifications("some", limit=3, follow=True)
        assert next(following).sequence == 1
        for number in (2, 3, 4):
            other.publish("d.xml", numbered(number, "some"))
        assert [notification.sequence for notification in following] == [2, 3]
        leaving = client.notifications("some", 4, follow=True)
        assert next(leaving).document == "d.xml"
        del leaving
        client.unsubscribe("some")


def test_what_is_acknowledged_to_whom_survives_a_kill(folder: Path) -> None:
    with daemon(folder) as running, running.client() as client:
        client.subscribe(one("kept", "//b"))
        client.subscribe(one("removed", "//b"))
        for number in range(5):
            client.publish("d.xml", numbered(number))
        client.acknowledge("kept", 2)
        before = list(client.notifications("kept", 1))
        client.unsubscribe("removed")
        running.end(SIGKILL)
    with daemon(folder) as running, running.client() as client:
        assert [told.name for told in client.subscriptions()] == ["kept"]
        assert client.publish("d.xml", numbered(4)).outcome == "held"
        again = list(client.notifications("kept", 1))
        assert [told.redelivered for told in again] == [True] * 5
        assert [told.model_copy(update={"redelivered": False}) for told in again] == before
        assert [told.sequence for told in client.notifications("kept")] == [3, 4, 5]
        assert client.publish("d.xml", numbered(5)).matched == 1, "the matcher is made from the log"
        assert running.end(SIGTERM) == 0


def test_a_full_backlog_refuses_the_document_and_says_whose(running: Daemon) -> None:
    with running.client() as client:
        client.subscribe(one("lazy", "//full", backlog=2))
        client.subscribe(one("busy", "//full"))
        for number in range(2):
            client.publish("d.xml", numbered(number, "full"))
        with pytest.raises(PeerError, match=r"HX9064 .* full of lazy") as error:
            client.publish("d.xml", numbered(2, "full"))
        assert "its subscriber must acknowledge, or be removed" in str(error.value)
        assert client.subscription("busy").last == 2
        client.acknowledge("lazy", 1)
        assert client.publish("d.xml", numbered(2, "full")).outcome == "new"


def test_subscriptions_come_and_go_while_documents_are_matched(running: Daemon) -> None:
    """Each document meets all that were there before it, and none that was gone before it."""
    over = threading.Event()
    published: list[PublishedModel] = []

    def publish() -> None:
        with running.client() as client:
            while not over.is_set():
                published.append(client.publish(f"d{len(published)}.xml", numbered(len(published), "storm")))

    thread = threading.Thread(target=publish)
    with running.client() as client:
        client.subscribe(one("always", "/storm"))
        thread.start()
        for number in range(60):
            name = f"storm-{number}"
            client.subscribe(one(name, f"/storm[b >= {number - 1000}]"))
            begin = len(published)
            wait_until(lambda begin=begin: len(published) > begin + 1)  # type: ignore[misc]
            # the one after the next was begun when the subscription was there
            last = client.notifications(name, limit=10_000)
            assert f"d{begin + 1}.xml" in {told.document for told in last}
            assert client.unsubscribe(name).last > 0
        over.set()
        thread.join()
        assert client.publish("last.xml", b"<storm/>").matched == 1
        told = [one.document for one in client.notifications("always", 1)]
    assert told == [*(f"d{number}.xml" for number in range(len(published))), "last.xml"]


def test_numbers_of_subscriptions_are_metrics_and_changes_are_audited(folder: Path) -> None:
    with daemon(folder) as running, running.client() as client:
        client.subscribe(one("a", "//b", policy="drop-newest", backlog=2))
        for number in range(3):
            client.publish("d.xml", numbered(number))
        client.publish("d.xml", numbered(0))
        assert len(list(client.notifications("a"))) == 2
        client.acknowledge("a", 1, "odd")
        told = dict(
            line.rsplit(" ", 1) for line in client._http.get("/metrics").text.splitlines() if not line.startswith("#")
        )
        client.unsubscribe("a")
        assert running.end(SIGTERM) == 0
    expected = {
        "heptox_published_documents_total": 3,
        "heptox_matched_subscriptions_total": 3,
        "heptox_delivered_notifications_total": 2,
        "heptox_subscriptions": 1,
        "heptox_suspended_subscriptions": 0,
        "heptox_backlog_notifications": 1,
        "heptox_largest_backlog_notifications": 1,
        "heptox_dead_letters": 2,
    }
    assert {name: float(told[name]) for name in expected} == expected
    assert float(told["heptox_subscription_lag_seconds"]) > 0
    events = [json.loads(line) for line in (folder / "audit.log").read_text().splitlines()]
    changes = [event for event in events if event["event"] in ("subscribed", "unsubscribed", "published", "rejected")]
    assert [event["event"] for event in changes] == ["subscribed", *["published"] * 4, "rejected", "unsubscribed"]
    assert changes[0]["subscriptions"] == ["a"]
    assert [event["outcome"] for event in changes[1:5]] == ["new", "new", "new", "held"]


# -- faults ----------------------------------------------------------------------------------------------------------


def test_what_it_keeps_is_for_its_owner_only(running: Daemon) -> None:
    files = list(running.folder.glob(f"{SUBSCRIPTIONS}*"))
    assert files and {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize("what", ["damaged", "newer", "of another"])
def test_a_log_that_cannot_be_used_keeps_the_daemon_from_starting_and_says_why(folder: Path, what: str) -> None:
    with subscriptions_at(folder) as at:
        at.subscribe(one("a", "//b"))
    file = folder / SUBSCRIPTIONS
    if what == "damaged":
        file.write_bytes(b"\0" * 4096 + file.read_bytes())
        code = "HX9050"
    else:
        changed = sqlite3.connect(file)
        changed.execute("PRAGMA user_version = 9" if what == "newer" else "PRAGMA application_id = 5")
        changed.close()
        code = "HX9051" if what == "newer" else "HX9050"
    before = file.read_bytes()
    ended = heptox(*(("peer", "start", folder) if what == "damaged" else ("subscription", "list", "--peer", folder)))
    assert ended.returncode == 1
    assert f"{file}: {code}" in ended.stderr
    assert "Traceback" not in ended.stderr
    found = [finding for finding in examine_peer(folder) if finding.subject == "subscriptions"]
    assert [(finding.level, code in finding.message) for finding in found] == [("fault", True)]
    assert file.read_bytes() == before


def test_the_doctor_knows_the_log(folder: Path) -> None:
    def finding() -> Finding:
        return next(finding for finding in examine_peer(folder) if finding.subject == "subscriptions")

    assert not any(finding.subject == "subscriptions" for finding in examine_peer(folder))
    with subscriptions_at(folder) as at:
        at.subscribe(one("a", "//b", policy="suspend", backlog=1))
        at.publish("d.xml", numbered(1))
        assert finding().level == "ok"
        at.publish("d.xml", numbered(2))
    told = finding()
    assert (told.level, told.message) == (
        "warning",
        "1, 1 notifications not acknowledged, 1 dead letters; 1 are suspended",
    )
    changed = sqlite3.connect(folder / SUBSCRIPTIONS)
    with changed:
        changed.execute("UPDATE subscription SET backlog = 5")
    changed.close()
    told = finding()
    assert told.level == "fault" and "the backlog of subscription is miscounted" in told.message


@contextmanager
def files_no_longer_than(process: int, size: int) -> Iterator[None]:
    """Let every write of a process fail that would make a file longer, as a full disk does in its middle."""
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_and_a_lock_refuse_what_comes_and_the_daemon_goes_on(folder: Path) -> None:
    with daemon(folder) as running, running.client() as client:
        client.subscribe(one("a", "//b"))
        client.publish("d.xml", numbered(0))
        large = b"<a><b>" + b"1" * 3_000_000 + b"</b></a>"
        with files_no_longer_than(running.process.pid, 1_000_000):
            with pytest.raises(PeerError, match=r"HX9053 .*; large\.xml was refused"):
                client.publish("large.xml", large)
            assert [told.document for told in client.notifications("a")] == ["d.xml"]
        assert client.publish("large.xml", large).matched == 1
        other = sqlite3.connect(folder / SUBSCRIPTIONS, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert refused(lambda: client.acknowledge("a", 1)) == {"HX9052"}
        other.close()
        assert client.acknowledge("a", 1).acknowledged == 1
        assert running.end(SIGTERM) == 0
    with subscriptions_at(folder) as at:
        assert [told.document for told in at.notifications("a")] == ["large.xml"]


def test_following_needs_a_daemon(folder: Path) -> None:
    with subscriptions_at(folder) as at:
        at.subscribe(one("a", "//b"))
        assert not isinstance(at, Client)
        assert refused(lambda: list(at.notifications("a", follow=True))) == {"HX7055"}
