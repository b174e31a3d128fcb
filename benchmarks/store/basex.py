"""BaseX, driven by scripts of commands: it reports its times itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from benchmarks.store.answers import Answer, Measured
from benchmarks.store.workload import counted

JAR: Final = Path("/usr/share/java/basex.jar")
"""Where Debian's package has BaseX."""

_CREATED: Final = re.compile(r"Database '.*' created in ([\d.]+) ms")
_NEXT: Final = "the next query"
_TOTAL: Final = re.compile(r"Total Time: ([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class Session:
    """A process of BaseX that makes a database of a document, with indexes, and answers queries again and again.

    ``creating`` is in seconds, ``memory``, that of the process, and ``size``, that of the files, in megabytes.
    ``answered`` has what came of each query, in order.
    """

    creating: float | None
    memory: float
    size: float
    answered: tuple[Measured, ...]


def java() -> str | None:
    """The Java that runs BaseX; nothing where either is not there."""
    return shutil.which("java") if JAR.exists() else None


def version() -> str:
    """The version of BaseX, and of Java."""
    said = subprocess.run(_command("-h"), capture_output=True, text=True, check=False)
    java_said = subprocess.run([str(java()), "-version"], capture_output=True, text=True, check=False)
    number = re.search(r"BaseX [\d.]+\w*", said.stdout + said.stderr)
    runtime = re.search(r'version "([\d.]+)', java_said.stderr)
    return f"{number[0] if number else 'BaseX'} on Java {runtime[1] if runtime else ''}".rstrip()


def once(document: Path, text: str) -> list[str]:
    """The command that answers a query on a file."""
    return _command("-i", str(document), text)


def session(document: Path, texts: Sequence[str], count: int, *, in_memory: bool, seconds: float) -> Session:
    """Run a session, which is ended after so many seconds; what it has reported until then is what it has done."""
    with TemporaryDirectory(prefix="basex-") as folder:
        commands = [
            f"SET MAINMEM {str(in_memory).lower()}",
            "SET SERIALIZER indent=no",
            f"CREATE DB auction {document.resolve()}",
        ]
        for text in texts:
            query = f"XQUERY {' '.join(text.split())}"
            commands += [query, "SET QUERYINFO true", *[query] * count, "SET QUERYINFO false", f"XQUERY '{_NEXT}'"]
        script = Path(folder, "script.bxs")
        script.write_text("\n".join(commands), encoding="utf-8")
        output = Path(folder, "output")
        with output.open("wb") as file:
            memory = _run(_command("-V", "-c", str(script), folder=Path(folder)), file, seconds)
        size = sum(path.stat().st_size for path in Path(folder, "data").rglob("*") if path.is_file()) / 1e6
        with output.open(encoding="utf-8") as lines:
            creating, answered = _reported(lines, len(texts))
    return Session(creating, memory, size, answered)


def _command(*arguments: str, folder: Path | None = None) -> list[str]:
    home = [f"-Dorg.basex.path={folder}"] if folder else []
    return [str(java()), *home, "-cp", str(JAR), "org.basex.BaseX", *arguments]


def _run(command: Sequence[str], output: IO[bytes], seconds: float) -> float:
    """Run a process to its end, or for so many seconds; the megabytes of memory that it had at most."""
    began = subprocess.Popen(["timeout", "--signal=KILL", str(seconds), *command], stdout=output, stderr=output)
    _, _, used = os.wait4(began.pid, 0)
    began.returncode = 0
    return used.ru_maxrss / 1024


def _reported(lines: Iterable[str], queries: int) -> tuple[float | None, tuple[Measured, ...]]:
    """The seconds in which the database was made, and for each query its answer and times.

    The items of all queries here are elements on lines of their own; a query is answered once more than it is timed.
    """
    creating: float | None = None
    items: list[set[str]] = [set() for _ in range(queries + 1)]
    times: list[list[float]] = [[] for _ in range(queries + 1)]
    query = 0
    for line in lines:
        if found := _CREATED.match(line):
            creating = float(found[1]) / 1000
        elif found := _TOTAL.match(line):
            times[query].append(float(found[1]) / 1000)
        elif line.startswith(_NEXT):
            query += 1
        elif line.startswith("<"):
            items[query].add(line.rstrip("\n"))
    return creating, tuple(
        Measured(tuple(counted(taken)), Answer.of(answer) if taken else None)
        for answer, taken in zip(items[:-1], times[:-1], strict=True)
    )
