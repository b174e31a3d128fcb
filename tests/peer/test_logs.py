"""The log: one printable line an event, one query through all peers, and bounds to what strangers can write."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from heptox.errors import PeerError
from heptox.peer.record.logs import BOUND_LINES, BOUNDED, CONNECTIONS, STRANGERS, WAITING_LINES, logged, named
from heptox.settings import PeerSettings
from tests.peer.daemons import acquaint, ask, daemon, daemons, hospital_peer, log_of, wait_until

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) heptox[\w.]*: .+")


@contextmanager
def logging_to(file: Path, level: str = "info") -> Iterator[None]:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        with logged(level, descriptor):
            yield
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("journal", [True, False])
def test_the_time_is_left_out_only_where_journald_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: bool
) -> None:
    file = tmp_path / "log"
    file.touch()
    device, number = file.stat().st_dev, file.stat().st_ino
    monkeypatch.setenv("JOURNAL_STREAM", f"{device}:{number if journal else number + 1}")
    with logging_to(file):
        logging.getLogger("heptox.peer").info("one")
    (line,) = file.read_text().splitlines()
    assert (line == "INFO heptox.peer: one") is journal
    assert (LINE.fullmatch(line) is None) is journal


def test_one_query_can_be_followed_through_the_logs_of_three_daemons(tmp_path: Path) -> None:
    montreal, boston, st_luke = (hospital_peer(tmp_path / name, name, 5) for name in ("montreal", "boston", "stluke"))
    with daemons(montreal, boston, st_luke) as (first, second, third):
        for one, other, arrows in ((montreal, second, "montreal"), (st_luke, second, "stluke")):
            acquaint(one, other, f"{arrows}-boston.arrows")
        acquaint(boston, first, "montreal-boston.arrows")
        acquaint(boston, third, "stluke-boston.arrows")
        ask(montreal, "//Treat/Doc")
        _, receipt = ask(montreal, "//Patient/Name")
        query = receipt.query
        said = {folder.name: _said(folder, query) for folder in (montreal, boston, st_luke)}
    assert receipt.complete
    items = {line.name: line.items for line in receipt.lines}
    # The work on the own documents and that of the neighbours go on side by side.
    assert sorted(said["montreal"]) == sorted(
        [
            "asked by our user: //Patient/Name",
            "translated for boston (ID) in N ms",
            "asks boston (ID)",
            f"evaluated, {items['montreal']} items in N ms",
            f"from boston (ID): answered, {items['boston'] + items['stluke']} items in N ms",
            f"the answer is complete, {receipt.items} items, N ms",
        ]
    )
    assert said["boston"][0].startswith("arrived from montreal (ID) along montreal > boston: for $")
    assert said["boston"][-1].startswith(
        f"ended for montreal (ID): answered, {items['boston'] + items['stluke']} items, "
    )
    assert {"translated for stluke (ID) in N ms", "asks stluke (ID)"} <= set(said["boston"])
    assert said["stluke"][0].startswith("arrived from boston (ID) along montreal > boston > stluke: ")
    assert said["stluke"][-1].startswith(f"ended for boston (ID): answered, {items['stluke']} items, ")
    assert any(line.startswith("evaluated, ") for line in said["stluke"])
    for folder in (montreal, boston, st_luke):
        assert all(LINE.fullmatch(line) for line in log_of(folder).read_text().splitlines())


def _said(folder: Path, query: str) -> list[str]:
    """What a log says of a query, without what differs each time; it is written when the last is said."""
    last = "the answer is" if folder.name == "montreal" else "ended for"
    found: list[str] = []

    def whole() -> bool:
        lines = (line.partition(f": query {query}: ") for line in log_of(folder).read_text().splitlines())
        found[:] = [said for _, _, said in lines if said]
        return any(said.startswith(last) for said in found)

    wait_until(whole)
    return [re.sub(r"\b12D3\w+", "ID", re.sub(r"\d+ ms", "N ms", said)) for said in found]


def test_connections_gained_and_lost_are_logged(tmp_path: Path) -> None:
    montreal, boston = (hospital_peer(tmp_path / name, name, 0) for name in ("montreal", "boston"))
    with daemon(montreal) as asker:
        with daemon(boston) as asked:
            acquaint(montreal, asked, "montreal-boston.arrows")
            acquaint(boston, asker, "montreal-boston.arrows")
            ask(montreal, "//Patient/Name")
            wait_until(lambda: "connected with" in log_of(boston).read_text())
        wait_until(lambda: "no connection with boston (12D3" in log_of(montreal).read_text())


def test_a_level_leaves_out_what_is_below_and_another_is_refused(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    settings = folder / "peer.toml"
    settings.write_text(settings.read_text().replace('log = "info"', 'log = "warning"'))
    with daemon(folder):
        ask(folder, "//Patient/Name")
    assert log_of(folder).read_text() == ""
    with pytest.raises(PeerError, match="HX7052 log 'loud' is unknown"):
        PeerSettings("name", "root", log="loud")  # type: ignore[arg-type]


def test_a_line_is_one_line_whatever_is_said(tmp_path: Path) -> None:
    log = logging.getLogger("heptox.peer.test")
    with logging_to(tmp_path / "log"):
        log.info("a name: %s", "two\nlines\x1b[31m\u202e\r\n\udcff")
        log.warning("long: %s", "x" * 100_000)
        try:
            raise ValueError("what\nhappened")
        except ValueError:
            log.exception("a defect")
    text = (tmp_path / "log").read_text()
    first, second, third = text.splitlines()
    assert all(LINE.fullmatch(line) for line in (first, second, third))
    assert first.endswith(r"a name: two lines\u001b[31m\u202e \udcff")
    assert len(second) < 5000
    assert "a defect Traceback" in third
    assert "what happened" in third
    assert named("q\n2026 INFO heptox: query 1: ended") == r'query "q\n2026 INFO heptox: query 1: ended"'


def test_bounded_loggers_are_those_of_modules_that_there_are() -> None:
    assert all(find_spec(name) for name in BOUNDED - {STRANGERS, CONNECTIONS})


@pytest.mark.parametrize("name", [STRANGERS, CONNECTIONS, "heptox.peer.acquaintance.links", "heptox.peer.feed.links"])
def test_lines_of_others_are_bounded_and_what_is_left_out_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("heptox.peer.record.logs.BOUND_SECONDS", 0.2)
    strangers, own = logging.getLogger(name), logging.getLogger("heptox.peer.record.recording")
    with logging_to(tmp_path / "log"):
        for number in range(1000):
            strangers.info("denied %s", number)
            own.info("query %s", number)
        wait_until(lambda: "more lines were left out of this kind: denied %s" in (tmp_path / "log").read_text())
    lines = (tmp_path / "log").read_text().splitlines()
    denied = [line for line in lines if re.search(r"denied \d+$", line)]
    left_out = [int(found[1]) for line in lines if (found := re.search(r"(\d+) more lines were left out", line))]
    assert len(denied) + sum(left_out) == 1000
    assert BOUND_LINES <= len(denied) <= BOUND_LINES * (len(left_out) + 1)
    assert sum(bool(re.search(r"query \d+$", line)) for line in lines) == 1000


def test_a_reader_that_stands_still_holds_nothing_up() -> None:
    reading, writing = os.pipe()
    log = logging.getLogger("heptox.peer.test")
    with logged("info", writing):
        for number in range(3 * WAITING_LINES):  # far more than a pipe takes
            log.info("%s", json.dumps({"number": number, "text": "x" * 100}))
    os.set_blocking(reading, False)
    assert os.read(reading, 100).startswith(b"2")
    os.close(reading)
    os.close(writing)
