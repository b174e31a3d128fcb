"""Expressions of XPath 3.1 evaluated by Saxon, in a process that may be lost.

Saxon takes the process along in which it overflows its stack or wants memory, and nothing else can end what it does. So
it has a process of its own, which is started again where an expression has ended it: that has no value then, and the
others go on.
"""

from __future__ import annotations

import os
import pickle
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast
from weakref import finalize

from heptox.errors import DisseminationError, Fault

Selected: TypeAlias = "list[tuple[str, int] | tuple[str, str]]"
"""Items: a node is its kind (``e``, ``a`` or ``t`` for an element, attribute or text) and its number among those of the
document, from 0 on; another value its type and its text."""

_LOST: Final = {-signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP}
"""How a process ends that others have ended, for want of memory say: no expression is at fault."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an evaluation may take: seconds of the processor, and bytes of memory besides those with which Saxon starts.

    Either is more by so much for each character of the document.
    """

    seconds: float = 10.0
    seconds_of_character: float = 50e-6
    memory: int = 1 << 30
    memory_of_character: int = 40


LIMITS: Final = Limits()


class Xpath3Process:
    """Evaluates expressions on documents in another process, which is started when there are any.

    It ends with this object, or with this process.

    >>> Xpath3Process().selected("<a><b/>x</a>", ["//b, count(//b)", "//text()", "1 idiv 0"])
    [[('e', 1), ('number', '1')], [('t', 0)], 'FOAR0001 Integer division by zero, at column 2 of 1 idiv 0']
    """

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._end: finalize[..., Any] | None = None

    def selected(self, document: str, expressions: Sequence[str], file: str | None = None) -> list[Selected | str]:
        """What each expression selects in a document, of which ``file`` is the name; or why it has no value.

        The document is well-formed, and without declarations. Raises :class:`DisseminationError` (HX9206) where the
        process has ended for another reason than an expression.
        """
        found: list[Selected | str] = []
        while len(found) < len(expressions):
            try:
                self._ask(document, expressions[len(found) :], found)
            except _EndedError as ended:
                if ended.code in _LOST or not ended.is_evaluating:
                    raise process_ended(file) from None
                found.append(self._reason(ended.code, len(document)))
        return found

    def _ask(self, document: str, expressions: Sequence[str], found: list[Selected | str]) -> None:
        """Add what is found to that of the expressions before."""
        process = self._running()
        requests, answers = process.stdin, process.stdout
        if requests is None or answers is None:
            raise AssertionError("the process has no pipes")
        is_evaluating = False
        try:
            pickle.dump((document, list(expressions), *self._most(len(document))), requests)
            requests.flush()
            problem = pickle.load(answers)
            if problem is not None:
                found += [f"Saxon cannot read the document: {problem}"] * len(expressions)
                return
            is_evaluating = True
            for _ in expressions:
                found.append(cast("Selected | str", pickle.load(answers)))
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            code = process.wait()
            self._close()
            raise _EndedError(code, is_evaluating) from None
        except BaseException:  # what is still to come must not be taken for other answers
            self._close()
            raise

    def _most(self, length: int) -> tuple[float, int]:
        """The seconds and bytes that an evaluation may take on a document of so many characters."""
        limits = self._limits
        return (
            limits.seconds + limits.seconds_of_character * length,
            limits.memory + limits.memory_of_character * length,
        )

    def _reason(self, code: int, length: int) -> str:
        seconds, memory = self._most(length)
        if code == -signal.SIGPROF:
            return f"its evaluation takes more than {seconds:.0f} s"
        return f"its evaluation takes more than {memory >> 20} MB, or its functions call each other without end"

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # as a command, for executors have this package in a zip file, and all of it takes long to load
            program = pkgutil.get_data("heptox.filtering", "xpath3_worker.py")
            if program is None:
                raise AssertionError("the program that evaluates filters is missing")
            command = [sys.executable, "-P", "-c", program.decode()]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
            )
            self._end = finalize(self, _ended, self._process)
        return self._process

    def _close(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._end = None


class _EndedError(Exception):
    def __init__(self, code: int, is_evaluating: bool) -> None:
        super().__init__(code)
        self.code = code
        self.is_evaluating = is_evaluating


def _ended(process: subprocess.Popen[bytes]) -> None:
    """End a process and what leads there."""
    process.kill()
    with suppress(BrokenPipeError), process:  # which waits for it
        pass


def process_ended(file: str | None) -> DisseminationError:
    """What to raise (HX9206) where a process has ended in which filters are evaluated on a document."""
    message = "a process that evaluates filters has ended, perhaps for want of memory"
    return DisseminationError(Fault("HX9206", message, file=file))
