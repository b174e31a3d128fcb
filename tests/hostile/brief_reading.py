"""heptox where reading what strangers send may take two seconds of the processor: what takes too long ends sooner."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import IO, Final
from unittest import mock

from heptox.bounded import WorkLimits
from heptox.cli import main
from heptox.peer.process.workers import READING, Workers, open_workers
from tests.support.forking import Forked

BRIEFLY: Final = replace(READING, processor_seconds=2)


def starting(
    folder: Path, log: IO[str] | int = subprocess.DEVNULL, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Such a daemon that starts, and prints to a pipe."""
    return Forked(["peer", "start", folder], environment, module=__name__, stdout=subprocess.PIPE, stderr=log)


def _open_briefly(limits: WorkLimits = BRIEFLY) -> AbstractAsyncContextManager[Workers]:
    return open_workers(limits)


if __name__ == "__main__":
    with mock.patch("heptox.peer.daemon.open_workers", _open_briefly):
        main()
