"""The tour of ``docs/tour.md``, run as it is written: two terminals, an empty folder, the installed ``heptox``."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest

from tools.console import ROOT

PAGE: Final = ROOT / "docs" / "tour.md"
MOST_COMMANDS: Final = 10
"""Commands from the first peer to the first answer."""
DEADLINE: Final = 240.0

_BLOCK: Final = re.compile(r"^```console terminal (\d)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND: Final = re.compile(r"\$ ((?:.*\\\n)*.*)\n")
_NAMES: Final = re.compile(r"12D3KooW\w{44}|(?<=/tcp/)\d+")
_TIMES: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d+(?= ms\b)|(?<=digest )[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Step:
    """What happens in a terminal: a command and what it prints, or what the one that goes on prints meanwhile."""

    terminal: str
    command: str
    output: str

    @property
    def goes_on(self) -> bool:
        """Whether the command keeps its terminal."""
        return self.command.startswith("heptox peer start") and "--background" not in self.command


def steps(page: str) -> Iterator[Step]:
    for block in _BLOCK.finditer(page):
        before, *pairs = _COMMAND.split(block[2])
        if before:
            yield Step(block[1], "", before)
        for command, output in zip(pairs[::2], pairs[1::2], strict=True):
            yield Step(block[1], command, output)


class Names:
    """Peer ids and ports: what each is on the page. They are told apart by the order in which they appear."""

    def __init__(self, page: str) -> None:
        self._unused = list(dict.fromkeys(name for block in _BLOCK.finditer(page) for name in _NAMES.findall(block[2])))
        self._shown: dict[str, str] = {}

    def shown(self, printed: str) -> str:
        """What is printed as the page would show it."""
        return _NAMES.sub(lambda found: self._as_shown(found[0]), printed)

    def _as_shown(self, name: str) -> str:
        if name not in self._shown:
            alike = [one for one in self._unused if one.isdecimal() == name.isdecimal()]
            if not alike:
                return name
            self._unused.remove(alike[0])
            self._shown[name] = alike[0]
        return self._shown[name]

    def typed(self, command: str) -> str:
        """A command of the page as it is typed here."""
        names = {shown: name for name, shown in self._shown.items()}
        return _NAMES.sub(lambda found: names[found[0]], command)


def comparable(text: str) -> list[str]:
    """Lines without times; items, which come as they come, are in order."""
    lines = _TIMES.sub("...", text).splitlines()
    groups = groupby(lines, key=lambda line: line.startswith("<"))
    return [line for items, group in groups for line in (sorted(group) if items else group)]


def is_part(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are among others, in the same order: of a log, the page shows what matters."""
    rest = iter(printed)
    return all(line in rest for line in shown)


class Terminal:
    """A shell in a folder; at most one command of it goes on."""

    def __init__(self, folder: Path, number: str) -> None:
        self._folder = folder
        self._screen = folder.parent / f"terminal-{number}"
        self._going_on: subprocess.Popen[bytes] | None = None

    def run(self, command: str) -> str:
        """Run a command until it has ended; what it prints."""
        assert self._going_on is None, "the terminal is busy"
        process = self._begun(command)
        try:
            assert process.wait(DEADLINE) == 0, self.printed()
        finally:
            process.kill()
        return self.printed()

    def begin(self, command: str) -> None:
        """Run a command that goes on."""
        assert self._going_on is None, "the terminal is busy"
        self._going_on = self._begun(command)

    def _begun(self, command: str) -> subprocess.Popen[bytes]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
        environment.pop("HEPTOX_PEER", None)
        with self._screen.open("wb") as screen:
            return subprocess.Popen(
                ["bash", "-c", command],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def printed(self) -> str:
        """What the last command has printed so far."""
        return self._screen.read_text(encoding="utf-8")

    def close(self) -> None:
        """End the command that goes on; it has ended by itself when it was asked to."""
        if self._going_on is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._going_on.pid, signal.SIGKILL)
            self._going_on.wait()

    @property
    def end(self) -> int | None:
        """The exit code of the command that went on."""
        return self._going_on.wait(DEADLINE) if self._going_on else None


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An empty folder beside the examples. No peer that was started in it outlives the test."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    made = tmp_path / "tour"
    made.mkdir()
    yield made
    for peer in made.glob("*/peer.toml"):
        subprocess.run([sys.executable, "-m", "heptox", "peer", "stop", peer.parent], stderr=subprocess.DEVNULL)


def test_the_tour_goes_as_the_page_says(folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = Names(page)
    terminals = {number: Terminal(folder, number) for number in ("1", "2")}
    try:
        for step in steps(page):
            terminal, shown = terminals[step.terminal], comparable(step.output)
            if step.command and not step.goes_on:
                assert comparable(names.shown(terminal.run(names.typed(step.command)))) == shown
                continue
            if step.command:
                terminal.begin(names.typed(step.command))
            deadline = time.monotonic() + DEADLINE
            while not is_part(shown, comparable(names.shown(terminal.printed()))):
                assert time.monotonic() < deadline, terminal.printed()
                time.sleep(0.05)
        assert terminals["1"].end == 0
    finally:
        for terminal in terminals.values():
            terminal.close()


def test_the_first_answer_takes_few_commands_and_needs_no_tricks() -> None:
    commands = [step.command for step in steps(PAGE.read_text(encoding="utf-8")) if step.command]
    first = next(number for number, command in enumerate(commands, 1) if command.startswith("heptox query"))
    assert first <= MOST_COMMANDS
    assert all(re.fullmatch(r"heptox (peer \w+|query) [^;|&<>$`]+", command) for command in commands)


def test_the_answer_comes_from_both_peers_in_the_words_of_the_asker() -> None:
    (asked,) = (step for step in steps(PAGE.read_text(encoding="utf-8")) if step.command.startswith("heptox query"))
    assert "--explain" in asked.command
    items = [line for line in asked.output.splitlines() if line.startswith("<")]
    assert [re.fullmatch(r"<Name>[^<]+</Name>", item) is not None for item in items] == [True, True]
    assert re.search(r"^montreal +answered +1$\n^montreal > boston +answered +1$", asked.output, re.MULTILINE)
