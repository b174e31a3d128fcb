"""Saxon on Java, driven by its command line: it reports its times itself."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.store.answers import Answer, Measured
from benchmarks.store.workload import counted

JAR: Final = Path("/usr/share/java/Saxon-HE.jar")
"""Where Debian's package has Saxon."""

_EXECUTION: Final = re.compile(r"^Execution time: (?:([\d.]+)s \()?([\d.]+)ms", re.MULTILINE)
_MOST_RUNS: Final = 99
"""Of more it tells an average only."""
_VERSION: Final = re.compile(r"Saxon-HE [\w.]+")
_MAPS: Final = 'declare namespace map = "http://www.w3.org/2005/xpath-functions/map";\n'


def java() -> str | None:
    """The Java that runs Saxon; nothing where either is not there."""
    return shutil.which("java") if JAR.exists() else None


def version() -> str:
    """The version of Saxon."""
    command = [str(java()), "-cp", str(JAR), "net.sf.saxon.Query", "-t", "-qs:1"]
    found = _VERSION.search(subprocess.run(command, capture_output=True, text=True, check=False).stderr)
    return found[0] if found else "Saxon-HE"


def once(document: Path, text: str) -> list[str]:
    """The command that answers a query on a file."""
    query = ["net.sf.saxon.Query", f"-s:{document}", f"-qs:{_MAPS}{text}", "!method=adaptive"]
    return [str(java()), "-cp", str(JAR), *query]


def session(document: Path, text: str, count: int, *, seconds: float) -> Measured | None:
    """Read a document and answer a query on it again and again; ``None`` where that takes longer than ``seconds``.

    A time is that of a run, with the writing of the items; the query was compiled before.
    """
    with TemporaryDirectory(prefix="saxon-") as folder:
        output = Path(folder, "items")
        command = [
            *once(document, text),
            "!item-separator=\n",
            "-t",
            f"-repeat:{min(count, _MOST_RUNS)}",
            f"-o:{output}",
        ]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        times = [float(milliseconds) / 1000 for _, milliseconds in _EXECUTION.findall(ended.stderr)]
        return Measured(tuple(counted(times)), Answer.of(output.read_text(encoding="utf-8").split("\n")))
