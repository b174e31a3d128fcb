"""Runs command lines in this process, and says how they ended."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest import mock

import heptox.demo
from heptox.cli import main

HOSPITAL: Final = Path(heptox.demo.__file__).parent / "hospital"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command line ended: its exit code, and what it printed."""

    code: object
    out: str
    err: str


def heptox_ended(*arguments: str | Path, stdin: str | bytes = "") -> Ended:
    """Run ``heptox`` with these arguments; a defect of heptox raises."""
    given = io.TextIOWrapper(io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin))
    out, err = io.TextIOWrapper(io.BytesIO(), write_through=True), io.TextIOWrapper(io.BytesIO(), write_through=True)
    with (
        mock.patch("sys.stdin", given),
        mock.patch.dict("os.environ", {"HEPTOX_TRACEBACK": "1"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    return Ended(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
