"""A peer of an earlier version beside one of this: they understand each other, and this version opens its folder."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from tests.peer.daemons import HEPTOX, daemon, heptox, wait_until
from tests.support.fixtures import FIXTURES
from tools import daemons as processes
from tools.daemons import DEADLINE, Daemon

EARLIER: Final = "f75bd316570edb0f2b626a725cc94d0b9eb15c00"
"""The version whose messages and folders are kept in ``tests/fixtures/frozen``."""
ROOT: Final = FIXTURES.parents[1]
HOSPITAL: Final = ROOT / "examples" / "hospital"
QUERY: Final = (HOSPITAL / "queries" / "example1.xq").read_text(encoding="utf-8")
NEW: Final = (
    '<MassGeneral><Admission><Coronary ID="z1"><PolicyNo>1</PolicyNo><Enter>12/24/2003</Enter><Patient>Zoe</Patient>'
    '</Coronary></Admission><Progress PatRef="z1"/></MassGeneral>'
)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which ``heptox`` is that version."""
    command = ["git", "-C", str(ROOT), "archive", EARLIER, "heptox"]
    archive = subprocess.run(command, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the history of this clone does not have {EARLIER[:7]}")
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return {**os.environ, "PYTHONPATH": str(folder)}


def _run(environment: dict[str, str] | None, *arguments: str | Path) -> str:
    if environment is None:
        ended = heptox(*arguments)
    else:
        command = [*HEPTOX, *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env=environment, check=False)
    assert not ended.returncode, ended.stderr
    return ended.stdout


def _answers(environment: dict[str, str] | None, folder: Path, query: str) -> tuple[set[str], dict[str, Any]]:
    lines = map(json.loads, _run(environment, "query", "--peer", folder, "--json", "--partial", query).splitlines())
    *items, last = lines
    return {item["item"] for item in items}, last["receipt"]


@pytest.fixture(scope="module")
def peers(earlier: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, Daemon]]:
    """Boston with the earlier version, Montreal with this one, acquainted."""
    folder = tmp_path_factory.mktemp("peers")
    boston, montreal = folder / "boston", folder / "montreal"
    _run(earlier, "peer", "init", boston, "--schema", HOSPITAL / "massgeneral.dtd", "--data", HOSPITAL / "boston.xml")
    _run(None, "peer", "init", montreal, "--schema", HOSPITAL / "mongenhosp.dtd", "--data", HOSPITAL / "montreal.xml")
    with processes.daemon(boston, earlier) as old, daemon(montreal) as new:
        arrows = HOSPITAL / "montreal-boston.arrows"
        _run(None, "peer", "acquaint", montreal, old.address, "--arrows", arrows, "--name", "boston")
        wait_until(lambda: "montreal" in _run(earlier, "peer", "acquaintances", boston))
        _run(earlier, "peer", "acquaintances", boston, "--accept", "montreal")
        yield old, new


def test_each_answers_the_other(peers: tuple[Daemon, Daemon], earlier: dict[str, str]) -> None:
    old, new = peers
    for environment, asking, query in ((None, new, QUERY), (earlier, old, "//Coronary/Patient")):
        wait_until(lambda: _answers(environment, asking.folder, query)[1]["complete"])  # noqa: B023
        items, receipt = _answers(environment, asking.folder, query)
        assert len(receipt["lines"]) == 2
        assert all(line["items"] for line in receipt["lines"])
        assert len(items) > 1


def test_documents_go_from_one_to_the_other(peers: tuple[Daemon, Daemon], earlier: dict[str, str]) -> None:
    old, new = peers
    _run(None, "subscription", "add", "zoe", "//Patient[Name = 'Zoe']", "--words", "own", "--peer", new.folder)
    _run(earlier, "subscription", "add", "all", "//Patient", "--peer", old.folder)
    texts = (NEW, (HOSPITAL / "montreal.xml").read_text(encoding="utf-8"))
    sides = ((earlier, old, None, new, "zoe"), (None, new, earlier, old, "all"))
    for (at, publisher, reading, subscriber, name), text in zip(sides, texts, strict=True):
        attempts = count(1)

        def comes() -> bool:
            """Whether a document has come: those that are published before the subscription is known do not."""
            document = publisher.folder.parent / f"{name}-{next(attempts)}.xml"  # noqa: B023
            document.write_text(f"<!-- {document.name} -->{text}", encoding="utf-8")  # noqa: B023
            _run(at, "publish", document, "--peer", publisher.folder)  # noqa: B023
            replay = ("subscription", "replay", name, "--json", "--from", "1")  # noqa: B023
            return f'"{name}-' in _run(reading, *replay, "--peer", subscriber.folder)  # noqa: B023

        wait_until(comes)


def test_what_the_earlier_version_kept_is_served_by_this_one(
    peers: tuple[Daemon, Daemon], earlier: dict[str, str]
) -> None:
    old, new = peers
    before, _ = _answers(earlier, old.folder, "//Coronary/Patient")
    _run(earlier, "peer", "stop", old.folder)
    replay = ("subscription", "replay", "all", "--json", "--content", "--from", "1", "--peer", old.folder)
    notified = _run(earlier, *replay)
    assert notified
    with daemon(old.folder):
        wait_until(lambda: _answers(None, old.folder, "//Coronary/Patient")[1]["complete"])
        assert _answers(None, old.folder, "//Coronary/Patient")[0] == before
        assert _run(None, *replay).startswith(notified)
        assert heptox("peer", "doctor", old.folder).returncode == 0
    assert new.process.poll() is None
