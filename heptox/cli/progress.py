"""How far a long piece of work is, shown on stderr when that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from heptox.cli.answers import console
from heptox.printable import shown

LONG: Final = 4 * 1024 * 1024
"""From how many bytes on the progress of a piece of work is shown."""


@contextmanager
def progress_bar(name: str, size: int) -> Iterator[Callable[[int], None] | None]:
    """A bar with the rate, gone when the block ends; gives what takes how many of ``size`` bytes are done.

    ``None`` where nothing is shown: for what is not long, and where stderr is no terminal.
    """
    if size < LONG or not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console(sys.stderr), transient=True) as progress:
        task = progress.add_task(shown(name), total=size)
        yield lambda done: progress.update(task, completed=done)
