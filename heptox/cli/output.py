"""What commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final

from heptox.errors import HeptoxError
from heptox.printable import shown


class ExitCode(IntEnum):
    """What a command's exit code says."""

    DONE = 0
    WRONG_INPUT = 1
    WRONG_USAGE = 2
    INCOMPLETE = 3
    UNREACHABLE = 4
    DEFECT = 70


UNREACHABLE_CODES: Final = frozenset({"HX7055", "HX8003", "HX8006"})
"""The error codes that end a command with :attr:`ExitCode.UNREACHABLE`."""


def exit_code(error: HeptoxError) -> ExitCode:
    """The exit code for an error that ends a command."""
    unreachable = any(fault.code in UNREACHABLE_CODES for fault in error.faults)
    return ExitCode.UNREACHABLE if unreachable else ExitCode.WRONG_INPUT


def print_result(text: str) -> None:
    """Print a result, ended by a line end, on stdout: as it is, and on a terminal as it can be :func:`shown`."""
    print_results([text])


def print_results(texts: Iterable[str]) -> None:
    """Print results as :func:`print_result` as they come."""
    written = map(shown, texts) if on_terminal() else texts
    for text in written:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def print_note(text: str) -> None:
    """Print what is no result, ended by a line end, on stderr, after the results that came before it: as it can be
    :func:`shown`, wherever that is read."""
    sys.stdout.flush()
    sys.stderr.write(f"{shown(text)}\n")


def print_json(value: object) -> None:
    """Print a result as JSON on stdout, indented, with characters as they are, but for what is not UTF-8; it may hold
    what the control API says."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=_to_json)
    print_result(text.encode(errors="backslashreplace").decode())


def json_line(value: object) -> str:
    """A result as JSON on one line; it may be what the control API says."""
    return json.dumps(value, ensure_ascii=False, default=_to_json)


def print_json_line(value: object) -> None:
    """Print a result as :func:`json_line` as it comes."""
    print_result(json_line(value))
    sys.stdout.flush()


def _to_json(value: Any) -> object:
    return value.to_json()


def print_faults(error: HeptoxError) -> None:
    """Print an error on stderr, one line for each fault, in the order of their places."""
    for fault in error.faults:
        print_error(str(fault))


def print_error(line: str) -> None:
    """Print one line about an error on stderr."""
    print_note(" ".join(line.splitlines()))


def on_terminal() -> bool:
    """Whether stdout is a terminal: only there do results carry colours and lines."""
    return sys.stdout.isatty()
