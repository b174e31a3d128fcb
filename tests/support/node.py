"""Node, for the tests that run programs of its: whether it is here, and the packages that they need."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

FIRST: Final = 20
"""The first version of Node that will do."""
INSTALLING: Final = 300.0
"""Seconds that npm may take."""
TELLING: Final = 60.0
"""Seconds that Node may take to tell its version."""
HOW: Final = f"install Node {FIRST} or later with npm (Debian, Ubuntu: apt install nodejs npm)"


def missing() -> str | None:
    """What this machine lacks, and what to do about it."""
    if (node := shutil.which("node")) is None or shutil.which("npm") is None:
        return f"node or npm is missing; {HOW}"
    told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=TELLING).stdout
    found = re.match(r"v(\d+)\.", told)
    return None if found and int(found[1]) >= FIRST else f"Node {told.strip()} is too old; {HOW}"


def install(folder: Path) -> None:
    """Install the packages that are pinned in a folder unless that was done; whoever comes at the same time waits."""
    with (folder / "package-lock.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        digest, done = hashlib.file_digest(lock, "sha256").hexdigest(), folder / "node_modules" / ".digest"
        if done.exists() and done.read_text() == digest:
            return
        command = ["npm", "ci", "--loglevel=error"]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALLING)
        assert ended.returncode == 0, ended.stderr
        done.write_text(digest)
