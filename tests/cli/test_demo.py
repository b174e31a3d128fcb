"""``heptox demo``: what it shows, and that it leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from heptox.demo import HOSPITALS
from heptox.peer import ControlAddress
from tests.peer.daemons import DEADLINE, heptox, wait_until
from tests.support.forking import Forked, shell_function

DEMO = ("--patients", "40", "--seed", "3")


def begun(temporary: Path, *arguments: str) -> subprocess.Popen[str]:
    """The demonstration in a process of its own."""
    return Forked(
        [*DEMO, *arguments],
        {**os.environ, "TMPDIR": str(temporary)},
        "tests.cli.forked_demo",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def daemons_in(temporary: Path) -> list[int]:
    """The processes of the demonstration's peers, by their own telling."""
    folders = [folder / one.folder for folder in temporary.glob("heptox-demo-*") for one in HOSPITALS]
    return [address.process for folder in folders if (address := ControlAddress.read(folder))]


def test_it_shows_three_questions_with_translations_origins_and_receipts(tmp_path: Path) -> None:
    out, err = begun(tmp_path).communicate(timeout=2 * DEADLINE)
    assert err == ""
    assert out.count("the answer is complete") == 3
    assert [line for line in out.splitlines() if line.startswith("==")] == [
        "== the report's Example 1, asked in Montreal ==",
        "== the report's Example 2, asked in Boston ==",
        "== a question of our own, asked in Montreal ==",
    ]
    for line in (
        "RETURN {$P/Name}",
        "      for $c in //Coronary, $p in //Progress[@PatRef = $c/@ID]",
        "Montreal General > Massachusetts General > St Luke  answered",
        "from St Luke:",
    ):
        assert f"\n{line}" in out
    assert re.search(r"\n  \.\.\. and \d+ more\n", out)
    assert "\x1b" not in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_interrupted_it_ends_its_peers_and_removes_their_folders(tmp_path: Path, number: signal.Signals) -> None:
    with begun(tmp_path) as demo:
        wait_until(lambda: len(daemons_in(tmp_path)) == len(HOSPITALS))
        processes = daemons_in(tmp_path)
        demo.send_signal(number)
        assert demo.wait(DEADLINE) != 0
    assert not any(map(alive, processes))
    assert list(tmp_path.iterdir()) == []


def test_kept_peers_are_asked_and_stopped_as_it_tells(tmp_path: Path) -> None:
    out, err = begun(tmp_path, "--keep").communicate(timeout=2 * DEADLINE)
    processes = daemons_in(tmp_path)
    try:
        assert err == ""
        lines = out.partition("The peers go on. Ask them:\n")[2].splitlines()
        assert len(processes) == 3
        assert all(map(alive, processes))
        asked = heptox(*shlex.split(lines[0])[1:])
        assert asked.returncode == 0, asked.stderr
        assert "the answer is complete" in asked.stderr
        subprocess.run(["sh", "-c", f"{shell_function()}; {lines[-1]}"], timeout=DEADLINE, check=True)
        wait_until(lambda: not any(map(alive, processes)))
        assert list(tmp_path.iterdir()) == []
    finally:
        for process in filter(alive, processes):
            os.kill(process, signal.SIGKILL)
