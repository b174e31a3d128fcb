"""Runs the console sessions that Markdown pages show, and compares what they print with what is shown.

``python -m tools.console PAGE.md...`` writes what they print now into the pages; the tests compare.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
ANYTHING: Final = "[...]"
"""What a page shows for what it leaves out: a line of its own for any lines, none included, else part of a line."""

_COMMAND: Final = re.compile(r"(.*<<'END'\n(?:.*\n)*?END|(?:.*\\\n)*.*)\n?")
_BLOCK: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Session:
    """A command that a page shows, and what it shows as its output (stdout and stderr as they come)."""

    page: str
    line: int
    command: str
    output: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def sessions(page: Path) -> Iterator[Session]:
    """The commands in the ``console`` blocks of a page; a command may continue after a backslash, or up to ``END``."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        starts = [found.start() for found in re.finditer(r"^\$ ", block[1], re.MULTILINE)]
        for start, end in zip(starts, [*starts[1:], len(block[1])], strict=True):
            shown = block[1][start + 2 : end]
            found = _COMMAND.match(shown)
            assert found
            line = text.count("\n", 0, block.start(1) + start) + 1
            yield Session(page.name, line, found[1], shown[found.end() :])


HEPTOX: Final = f'heptox() {{ {shlex.quote(sys.executable)} -m heptox "$@"; }}'


def run(session: Session, heptox: str = HEPTOX) -> str:
    """Run a session's command in a shell, where ``heptox`` is this function; what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    ended = subprocess.run(
        ["bash", "-c", f"{heptox}\n{session.command}"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
    )
    return ended.stdout


def matches(shown: str, printed: str) -> bool:
    """Whether ``printed`` is what a page shows, where ``[...]`` stands for any lines, or for any part of a line.

    >>> matches("a\\n[...]\\nd\\n", "a\\nb\\nc\\nd\\n"), matches("a\\n[...]\\n", "b\\n")
    (True, False)
    >>> matches("took [...] ms\\n", "took 7 ms\\n"), matches("took [...] ms\\n", "took 7 ms\\nor so\\n")
    (True, False)
    """
    lines = (
        r"(?:.*\n)*" if line == f"{ANYTHING}\n" else ".*".join(re.escape(part) for part in line.split(ANYTHING))
        for line in shown.splitlines(keepends=True)
    )
    return re.fullmatch("".join(lines), printed) is not None


def refreshed(page: Path) -> str:
    """The text of a page with what its sessions print now; those that are shown shortened stay as they are."""
    text = page.read_text(encoding="utf-8")
    for session in sessions(page):
        if ANYTHING not in session.output:
            begin = f"$ {session.command}\n"
            text = text.replace(begin + session.output, begin + run(session), 1)
    return text


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        Path(argument).write_text(refreshed(Path(argument)), encoding="utf-8")
