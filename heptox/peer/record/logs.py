"""The log of a daemon: one line an event on stderr, printable whatever strangers say, and never in the daemon's way.

A thread writes: a reader of stderr that stands still costs lines, which are counted, and not the peer's service.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Final

from heptox.peer.process.coalescing import Coalescing
from heptox.peer.wire.messages import HopPath
from heptox.printable import printable

ROOT: Final = "heptox"
STDERR: Final = 2
STRANGERS: Final = "heptox.peer.strangers"
"""The logger for what those who are no acquaintances do."""
CONNECTIONS: Final = "heptox.peer.connections"
"""The logger for connections with acquaintances."""
_MODULES: Final = (
    "acquaintance.links",
    "acquaintance.mapping_fetching",
    "acquaintance.offer_answers",
    "acquaintance.register",
    "answering",
    "control.server",
    "feed.feeding",
    "feed.feeds",
    "feed.links",
    "feed.own_words",
    "feed.renderings",
    "feed.storing",
    "process.supervision",
    "process.workers",
    "runner",
    "wire.libp2p",
    "wire.muxer",
    "wire.stream",
    "wire.swarm",
)
BOUNDED: Final = frozenset({STRANGERS, CONNECTIONS, *(f"heptox.peer.{module}" for module in _MODULES)})
"""Loggers of what strangers and neighbours can bring about at their own speed."""
BOUND_SECONDS: Final = 10.0
BOUND_LINES: Final = 10
"""Lines of one kind that a bounded logger may write in so many seconds."""
WAITING_LINES: Final = 10_000
"""Lines that may wait for the reader of stderr."""
LINE_LIMIT: Final = 4000
"""Characters of a line at most."""
TEXT_LIMIT: Final = 200
"""Characters of a query in a line at most."""
CLOSING_SECONDS: Final = 1.0
"""How long the last lines may take."""

_PLAIN: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)


@contextmanager
def logged(level: str, descriptor: int = STDERR) -> Iterator[None]:
    """Write what heptox logs at ``level`` (a name of :mod:`logging`, in any case) or above to stderr."""
    handler = LineHandler(descriptor)
    handler.setFormatter(LineFormatter(descriptor))
    handler.addFilter(Bounded(handler))
    root, own = logging.getLogger(), logging.getLogger(ROOT)
    before = root.level, own.level
    root.setLevel(logging.WARNING)
    own.setLevel(level.upper())
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before[0])
        own.setLevel(before[1])
        handler.close()


class LineFormatter(logging.Formatter):
    """One printable line for each event, tracebacks included; with the time, unless journald writes that itself."""

    def __init__(self, descriptor: int = STDERR) -> None:
        timed = "" if _is_journal(descriptor) else "%(asctime)s.%(msecs)03dZ "
        super().__init__(f"{timed}%(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        line = printable(super().format(record))
        return line if len(line) <= LINE_LIMIT else f"{line[:LINE_LIMIT]} ..."


def _is_journal(descriptor: int) -> bool:
    """Whether journald reads what is written: the variable alone is inherited by whatever a session starts."""
    try:
        file = os.fstat(descriptor)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{file.st_dev}:{file.st_ino}"


class LineHandler(logging.Handler):
    """Hands lines to a thread that writes them."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._lines: deque[str] = deque()
        self._left_out = 0
        self._closing = False
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        with self._came:
            if len(self._lines) >= WAITING_LINES:
                self._left_out += 1
            else:
                self._lines.append(line)
            self._came.notify()

    def close(self) -> None:
        with self._came:
            self._closing = True
            self._came.notify()
        self._thread.join(CLOSING_SECONDS)
        super().close()

    def _run(self) -> None:
        ended = False
        while not ended:
            with self._came:
                if not self._lines and not self._closing:
                    self._came.wait(BOUND_SECONDS)
                ended = self._closing
            for bound in self.filters:
                if isinstance(bound, Bounded):
                    bound.report(float("inf") if ended else time.monotonic())
            with self._came:
                lines, left_out = list(self._lines), self._left_out
                self._lines.clear()
                self._left_out = 0
            if left_out:
                lines.append(f"WARNING {__name__}: {left_out} lines were left out: stderr was not read")
            self._write("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))

    def _write(self, data: bytes) -> None:
        # Not by way of sys.stderr: its lock, held by a thread that waits for a reader, would not let Python end.
        with suppress(OSError):  # nobody reads it any more
            while data:
                data = data[os.write(self._descriptor, data) :]


class Bounded(logging.Filter):
    """Lets through some lines of each kind of a bounded logger, and reports to ``handler`` how many it has not."""

    def __init__(self, handler: logging.Handler) -> None:
        super().__init__()
        self._handler = handler
        self._lock = threading.Lock()
        self._kinds: dict[tuple[str, str], tuple[logging.LogRecord, Coalescing[int], Iterator[int]]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name not in BOUNDED:
            return True
        now = time.monotonic()
        self.report(now)
        with self._lock:
            kind = (record.name, str(record.msg))
            _, lines, numbers = self._kinds.setdefault(kind, (record, Coalescing(BOUND_LINES, BOUND_SECONDS), count()))
            return lines.first(next(numbers), now)

    def report(self, now: float) -> None:
        """Report how many lines were left out, once their time is over."""
        with self._lock:
            due = [(record, number) for record, lines, _ in self._kinds.values() for _, number in lines.due(now)]
        for record, number in due:
            words = (record.name, record.levelno, record.pathname, record.lineno)
            omission = logging.LogRecord(
                *words, "%s more lines were left out of this kind: %s", (number, record.msg), None
            )
            self._handler.emit(omission)


# -- what is said of queries -----------------------------------------------------------------------------------------


def named(query: str) -> str:
    """A query id in a line: as it is, or in quotes where it might be taken for more than that.

    >>> named("q-1"), named("q: ended")
    ('query q-1', 'query "q: ended"')
    """
    return f"query {query if _PLAIN.fullmatch(query) else json.dumps(query, ensure_ascii=False)}"


def shown(text: str, limit: int = TEXT_LIMIT) -> str:
    """A text in a line: without what is not printable, and not too long.

    >>> shown("for $a in //a\\n  return $a", 20)
    'for $a in //a return ...'
    """
    line = " ".join(printable(text[: 4 * limit]).split())
    return line if len(line) <= limit else f"{line[:limit]} ..."


def path_names(path: HopPath) -> str:
    """The names along a path."""
    return " > ".join(printable(hop.name) for hop in path)
