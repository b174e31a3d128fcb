"""Python programs of tests, each in a process of its own, since a process can have one session of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Final
from uuid import uuid4

ROOT: Final = Path(__file__).parent.parent.parent
MARK: Final = "HEPTOX_TEST_MARK"

QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options with which a Java that does little takes less time: it compiles less."""

QUICK: Final = {"spark.driver.extraJavaOptions": QUICK_JAVA}
"""Settings with which short sessions take less time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What a program printed, how it ended, and the processes that it left."""

    code: int
    out: str
    err: str
    left: list[str]


def run_script(script: str, *arguments: str, folder: Path, environment: Mapping[str, str] | None = None) -> Ended:
    """Run a program in ``folder``, with ``environment`` instead of this process's where it is given."""
    mark = uuid4().hex
    variables = {**(os.environ if environment is None else environment), "PYTHONPATH": str(ROOT), MARK: mark}
    variables.pop("COLUMNS", None)
    ended = subprocess.run(
        [sys.executable, "-c", dedent(script), *arguments],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=900,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr, marked(mark))


def marked(mark: str) -> list[str]:
    """The commands of other processes that have a mark in their environment, as children of a marked process have."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes() and folder.name != str(os.getpid()):
                found.append((folder / "cmdline").read_text(errors="replace").replace("\0", " ")[:200])
    return found
