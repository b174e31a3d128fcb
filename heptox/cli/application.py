"""The ``heptox`` command: finds the function of the command invoked, and turns errors into lines and exit codes."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

import typer

from heptox import __version__
from heptox.cli.commands import COMMANDS, GROUPS
from heptox.cli.output import ExitCode, exit_code, print_error, print_faults
from heptox.errors import HeptoxError
from heptox.garbage import uncollected

TRACEBACK_VARIABLE: Final = "HEPTOX_TRACEBACK"
"""Set to anything, this environment variable lets a defect of heptox show its traceback."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line (``sys.argv`` when none is given); always ends in ``SystemExit`` with an :class:`ExitCode`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors=errors)
    try:
        try:
            with uncollected():
                made = application(invoked(words))
                gc.freeze()  # what is loaded stays: no garbage is looked for among it
            made(words, prog_name="heptox")
        finally:
            gc.unfreeze()  # libraries see at the end what was not given back
            sys.stdout.flush()  # while what goes wrong with it can still be reported
    except HeptoxError as error:
        print_faults(error)
        sys.exit(exit_code(error))
    except BrokenPipeError:  # who reads the results has read enough
        _drop_results()
        sys.exit(ExitCode.WRONG_INPUT)
    except OSError as error:
        _drop_results()
        print_error(f"heptox: {error}")
        sys.exit(ExitCode.WRONG_INPUT)
    except Exception as error:
        if TRACEBACK_VARIABLE in os.environ:
            raise
        print_error(
            f"heptox: a defect of heptox: {type(error).__name__}: {' '.join(str(error).split())} "
            f"(set {TRACEBACK_VARIABLE}=1 to see where)"
        )
        sys.exit(ExitCode.DEFECT)


def _drop_results() -> None:
    """Keep what stdout could not take, if it could not, from being written again."""
    with suppress(io.UnsupportedOperation):  # in memory it takes everything
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Let no file take the place of a stream that was closed before the start.

    To read from stdin and to write to stdout fails then; what is written to stderr is nowhere to be seen.
    """
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_null(0, os.O_WRONLY, "r")))
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_null(1, os.O_RDONLY, "w"), write_through=True)
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(_null(2, os.O_WRONLY, "w"), write_through=True)


def _null(stream: int, flags: int, mode: str) -> io.FileIO:
    """The null device as a stream that is opened by ``flags`` and used by ``mode``."""
    null = os.open(os.devnull, flags)
    if null != stream:
        os.dup2(null, stream)
        os.close(null)
    return io.FileIO(stream, mode, closefd=False)


def invoked(words: Sequence[str]) -> str | None:
    """The key of :data:`COMMANDS` that a command line invokes, if any.

    >>> invoked(["map", "check", "a.arrows"]), invoked(["--help"])
    ('map check', None)
    """
    return next((key for key in (" ".join(words[:2]), " ".join(words[:1])) if key in COMMANDS), None)


def application(*keys: str | None) -> typer.Typer:
    """The typer application in which the commands ``keys`` are loaded; the others are only listed."""
    app = _group(f"heptox {__version__}: one question, asked in your own schema, answered by every peer that knows.")
    app.callback(invoke_without_command=True)(_top)
    groups: dict[str, typer.Typer] = {}
    for key, entry in COMMANDS.items():
        group, _, name = key.rpartition(" ")
        if group and group not in groups:
            groups[group] = _group(GROUPS[group])
            app.add_typer(groups[group], name=group)
        function = entry.load() if key in keys else _listed(entry.summary)
        groups.get(group, app).command(name)(function)
    return app


def _group(summary: str) -> typer.Typer:
    return typer.Typer(
        help=summary, no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )


def _listed(summary: str) -> Callable[[], None]:
    def command() -> None: ...

    command.__doc__ = summary
    return command


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"heptox {__version__}")
        raise typer.Exit


def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> Any:
    pass
