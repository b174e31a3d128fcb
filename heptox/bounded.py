"""Work that others can make costly, in processes of their own that have limits.

What others write is read by libraries that hold the interpreter's lock, and may take any time and memory. Here that
ends a process that nobody misses. It is a limit of what work costs, no prison: what comes back is unpickled.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock, Timer
from typing import Any, Final, TypeVar, TypeVarTuple, cast
from weakref import finalize

from heptox.errors import HeptoxError


@dataclass(frozen=True, slots=True)
class WorkLimits:
    """What a piece of work may cost.

    ``processor_seconds`` are those of a processor; after ``clock_seconds`` it is given up, a process that has to start
    for it included: where work waits for nothing but the processor, which others may use, this only ends what hangs.
    ``memory`` is in bytes, besides those with which its process starts: private memory that can be written. What is
    reserved only, as by Saxon, is not counted. ``result_bytes`` are those of a result, pickled.
    """

    processor_seconds: int
    clock_seconds: float
    memory: int
    result_bytes: int

    def __str__(self) -> str:
        return f"{self.processor_seconds} s of the processor or {self.memory / 2**30:.3g} GB of memory"


class TooCostlyError(Exception):
    """Work has taken more than it may, is nested too deeply, or its process was ended by others."""


T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def run_bounded(limits: WorkLimits, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """What a function returns, or raises of heptox, in another process that may be lost.

    One process does all such work of this one, a piece at a time, in this one's working directory; it is started when
    there is any, and again when it was lost. Function, arguments and result go between processes by ``pickle``. Raises
    :class:`TooCostlyError`.

    >>> run_bounded(WorkLimits(5, 60.0, 2**28, 2**20), divmod, 7, 2)
    (3, 1)
    """
    result = _process(os.getpid()).run(limits, function, arguments)
    if isinstance(result, HeptoxError):
        raise result
    return cast(T, result)


@cache
def _process(_of: int) -> _Process:
    """The process that works for the process ``_of``: one that is forked must not share that of another."""
    return _Process()


class _Process:
    """A process that is sent pieces of work; it ends with the one that has started it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._end: finalize[..., Any] | None = None

    def run(self, limits: WorkLimits, function: Callable[..., Any], arguments: tuple[Any, ...]) -> object:
        asked = pickle.dumps((_folder(), limits, function, arguments))
        with self._lock:
            process = self._started()
            hanging = Timer(limits.clock_seconds, process.kill)
            hanging.daemon = True
            hanging.start()
            try:
                requests, answers = process.stdin, process.stdout
                assert requests is not None
                assert answers is not None
                requests.write(len(asked).to_bytes(8, "big") + asked)
                requests.flush()
                done, is_last = pickle.load(answers)
            except (EOFError, BrokenPipeError, pickle.UnpicklingError):
                self._close()
                raise TooCostlyError from None
            except BaseException:  # what is still to come must not be taken for another answer
                self._close()
                raise
            finally:
                hanging.cancel()
            if is_last:
                self._close()
        if done is None:
            raise TooCostlyError
        if isinstance(done, str):
            raise AssertionError(done)
        result: object = pickle.loads(done)
        return result

    def _started(self) -> subprocess.Popen[bytes]:
        if self._running is None:
            # not forked: threads of who asks may hold locks, and a child would wait for them for ever
            command = [sys.executable, "-P", "-c", "from heptox.bounded import serve; serve()"]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
            pipe = subprocess.PIPE
            self._running = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
            )
            self._end = finalize(self, _ended, self._running, os.getpid())
        return self._running

    def _close(self) -> None:
        if self._end is not None:
            self._end()
        self._running = self._end = None


def _folder() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # which others have removed
        return os.sep


def _ended(process: subprocess.Popen[bytes], owner: int) -> None:
    """End a process and what leads there, unless this one was forked from its owner."""
    if os.getpid() == owner:
        process.kill()
        with suppress(BrokenPipeError), process:  # which waits for it
            pass


# -- in the process that works ---------------------------------------------------------------------------------------

_GROWN: Final = 256 * 2**20
"""Bytes by which a process may have grown when its work is done; another one takes its place then."""

_began: int | None = None
"""Bytes of memory before the first piece of work."""
_statistics: int | None = None
"""What says how much memory the process has, kept open: work may close off what else there is to open."""


def serve() -> None:
    """Do what comes on standard input until that ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks says when it ends
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    while size := sys.stdin.buffer.read(8):
        folder, limits, function, arguments = pickle.loads(sys.stdin.buffer.read(int.from_bytes(size, "big")))
        with suppress(OSError):
            os.chdir(folder)
        try:
            done: bytes | str | None = bounded_work(limits, function, arguments)
        except Exception:
            done = traceback.format_exc()  # a defect, which who asks tells of
        pickle.dump((done, has_grown()), answers)
        answers.flush()
    os._exit(0)


def bounded_work(limits: WorkLimits, function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes | None:
    """The pickled result of a function, or the error of heptox that it raises; ``None`` when it has taken too much.

    A process that takes too much of the processor is ended by the system.
    """
    _limit(limits)
    try:
        try:
            result = function(*arguments)
        except HeptoxError as error:
            result = error
        done = pickle.dumps(result)
    except (MemoryError, RecursionError):
        return None
    finally:
        _lift()
    return done if len(done) <= limits.result_bytes else None


def has_grown() -> bool:
    """Whether this process is so large that another one should take its place."""
    return _began is not None and _memory() > _began + _GROWN


def _limit(limits: WorkLimits) -> None:
    """Let the process go on for one piece of work."""
    global _began
    used = int(time.process_time()) + 1
    _soften(resource.RLIMIT_CPU, used + limits.processor_seconds)
    _soften(resource.RLIMIT_CORE, 0)
    if _began is None:
        _began = _memory()
    if _began:  # elsewhere than on Linux the clock limits it alone
        _soften(resource.RLIMIT_DATA, _began + limits.memory)


def _lift() -> None:
    """Let the process read its next piece of work, whose modules it may have to import, at nobody's expense."""
    _soften(resource.RLIMIT_CPU, resource.RLIM_INFINITY)
    _soften(resource.RLIMIT_DATA, resource.RLIM_INFINITY)


def _soften(which: int, limit: int) -> None:
    hard = resource.getrlimit(which)[1]
    within = (bound for bound in (limit, hard) if bound != resource.RLIM_INFINITY)
    resource.setrlimit(which, (min(within, default=resource.RLIM_INFINITY), hard))


def _memory() -> int:
    """Bytes of the process's data; 0 where the system does not say."""
    global _statistics
    try:
        if _statistics is None:
            _statistics = os.open("/proc/self/statm", os.O_RDONLY)
        return int(os.pread(_statistics, 200, 0).split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
