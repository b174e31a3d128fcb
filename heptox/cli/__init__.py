"""The command line: commands parse, call and print, nothing else (``architecture.md``, "Command line")."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

INTERRUPTED: Final = 130
"""The exit code of a command that Ctrl-C has ended, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line (``sys.argv`` when none is given); always ends in ``SystemExit``."""
    try:
        # Not above: who presses Ctrl-C while modules are loaded shall see no traceback either.
        from heptox.cli.application import main as run

        run(arguments)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
