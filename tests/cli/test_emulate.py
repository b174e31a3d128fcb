"""``heptox emulate``: plans from options, files and experiments; reports; what is wrong is told before Spark starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from heptox.cluster import EXPERIMENTS
from tests.cli.running import heptox_ended
from tests.cluster.scripts import MARK, ROOT, marked
from tests.peer.daemons import DEADLINE

SMALL = ("--peers", "4", "--schemas", "2", "--hops", "2", "--people", "2", "--master", "local[2]")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--queries", "Q1,Q11"), "heptox: HX8041 no query Q11 (did you mean Q1?)"),
        (("--schemas", "auction,flat"), "heptox: HX8042 no mappings lead from auction to flat"),
        (("--topology", "ring"), "heptox: HX8041 no topology 'ring'"),
        (("--loss", "2"), "heptox: HX8041 loss = 2.0 is out of range (from 0 to 1)"),
        (("none.toml",), "heptox: none.toml: HX8040 cannot be read"),
        (("--peers", "2", "--askers", "5"), "heptox: HX8041 5 peers under auction are to ask, there are 1"),
        (("--master", "spark:/wrong"), "heptox: HX8004"),
        (("--master", "spark://127.0.0.1:9"), "heptox: HX8003"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(arguments: tuple[str, ...], told: str) -> None:
    ended = heptox_ended("emulate", *arguments)
    assert ended.code == (4 if "HX8003" in told else 1)
    assert ended.out == ""
    assert ended.err.startswith(told.removeprefix("heptox: ")) or ended.err.startswith(told), ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--memory", "3"), "3 is no memory for Spark's driver: give 512m or more, such as 4g"),
        (("--memory", "1k"), "1k is no memory for Spark's driver"),
        (("--out", ""), "--out names no folder"),
        (("--experiment", "scale", "--peers", "7"), "the experiment scale varies peers itself"),
    ],
)
def test_contradictory_options_are_wrong_usage(arguments: tuple[str, ...], told: str) -> None:
    ended = heptox_ended("emulate", *arguments)
    assert ended.code == 2
    assert told in " ".join(ended.err.split())


def test_a_report_that_cannot_be_written_is_told_before_spark_is_started(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    ended = heptox_ended("emulate", "--master", "spark://127.0.0.1:9", "--out", file)
    assert ended.code == 1
    assert ended.err.startswith(f"{file}: HX8050 report cannot be written: ")
    assert file.read_text() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_an_emulation_that_is_ended(tmp_path: Path, number: int) -> None:
    mark = uuid4().hex
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "heptox", "emulate", *SMALL],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT), MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + DEADLINE
    while not any("java" in command for command in marked(mark)):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out, err) == (128 + number, b"", b"")
    assert marked(mark) == []
    assert list(folder.iterdir()) == []


def test_the_help_names_all_experiments() -> None:
    ended = heptox_ended("emulate", "--help")
    assert all(name in ended.out for name in EXPERIMENTS)
    assert all(heptox_ended("emulate", "--experiment", name, "--seed", "-1").code == 1 for name in EXPERIMENTS)


def test_an_unknown_experiment_is_wrong_usage() -> None:
    ended = heptox_ended("emulate", "--experiment", "table-3")
    assert ended.code == 2
    assert "there are table-1, table-2, figure-12, scale, churn" in " ".join(ended.err.split())


def test_a_topology_with_unknown_schemas_is_refused_with_all_its_faults(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text('acquaintances = [["a", "b"], ["b", "c"]]\n[peers]\na = "auctoin"\nb = "shop"\n')
    ended = heptox_ended("emulate", "--topology", file)
    assert ended.code == 1
    assert ended.err.splitlines() == [
        f"{file}: HX8042 the peer a has an unknown schema auctoin (did you mean auction?)",
        f"{file}: HX8042 the peer b has an unknown schema shop (there are auction, attributes, elements, nested, flat,"
        " regions, kinds, flipped, merged, split)",
        f"{file}: HX8042 no peer c for the pair b and c (name it under peers)",
    ]


# -- last, for from here on the process has the session that tests share ----------------------------------------------


@pytest.mark.usefixtures("quick_java")
def test_a_small_network_is_emulated_and_the_same_seed_gives_the_same_report(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = heptox_ended("emulate", *SMALL, "--queries", "Q1", "--seed", "3", "--out", tmp_path / "one")
    assert first.code == 0, first.err
    assert first.out.startswith("the check passed: ")
    assert first.err == f"written: {tmp_path / 'one' / 'report.html'} and 7 more files beside it\n"
    plan = tmp_path / "plan.toml"
    plan.write_text('peers = 5\nschemas = 2\nhops = 2\npeople = 2\nqueries = ["Q1"]\nseed = 3\n')
    request.getfixturevalue("shared_spark")  # not before: a process has one session, and the first command starts one
    second = heptox_ended("emulate", plan, "--peers", "4", "--master", "local[2]", "--out", tmp_path / "two", "--json")
    assert second.code == 0, second.err
    for name in ("report.json", "paths.csv", "arrival.svg", "hops.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    report = json.loads(second.out)
    assert report["times"]["seconds"].keys() >= {"documents", "translation", "statements", "peers at work", "check"}
    del report["times"]
    assert report == json.loads((tmp_path / "one" / "report.json").read_text())
    assert [query["complete"] for query in report["queries"]] == [True]
