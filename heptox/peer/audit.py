"""The audit log of a peer: who asked what and what was sent, who was turned away, and what its administrator did.

``audit.log`` in the peer's folder holds one JSON object a line: ``time`` (UTC, ISO 8601), ``event``, and what belongs
to the event. A line that somebody waited for is on the disk and is never lost. A thread writes, so that nobody
else waits for the disk; whoever waits at the same time shares one ``fsync``. A file that is full is renamed to
``audit-<UTC time>.log``, and never removed. What a crash has torn off the end is kept aside in ``audit.torn``.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from heptox.errors import Fault, PeerError
from heptox.peer.files import sync_folder
from heptox.printable import shown

AUDIT: Final = "audit.log"
TORN: Final = "audit.torn"
FULL: Final = "audit-*.log"
"""Files that were full, by name in the order of their time."""
MEGABYTE: Final = 1024 * 1024
WAITING_LINES: Final = 10_000
"""Lines nobody waits for that are held while the disk takes none; what comes beyond is counted, and told later."""
CLOSING_SECONDS: Final = 10.0
"""How long the disk may take for the last lines."""
BLOCK: Final = 64 * 1024

_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """The time of day."""
    return datetime.now(UTC)


def audit_time(time: datetime) -> str:
    """A time as the log has it: such texts are in the order of their times.

    >>> audit_time(datetime(2026, 11, 21, 9, 5, tzinfo=UTC))
    '2026-11-21T09:05:00.000000Z'
    """
    return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


@dataclass(frozen=True, slots=True)
class _Line:
    """Bytes to write; ``done`` hears when they are on the disk, or why not, where somebody waits for it."""

    data: bytes
    done: Future[None] | None = None


class AuditLog:
    """The audit log in a peer's folder, whose lock the caller holds; a context manager, and safe for threads.

    It is opened, and repaired, before its first line; a file of ``megabytes`` is full. ``failures`` counts the writes
    that the disk has refused, ``lines`` the lines that it has taken.
    """

    def __init__(self, folder: Path, megabytes: int, clock: Callable[[], datetime] = utc_now) -> None:
        self.failures = 0
        self.lines = 0
        self._clock = clock
        self._file = _File(folder, megabytes * MEGABYTE, clock)
        self._waiting: deque[_Line] = deque()
        self._kept: list[_Line] = []
        self._left_out = 0
        self._failing = False
        self._closing = False
        self._came = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)

    def __enter__(self) -> AuditLog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._came:
            self._closing = True
            self._came.notify()
        self._thread.join(CLOSING_SECONDS)

    @property
    def failing(self) -> bool:
        """Whether the disk has refused the last write."""
        return self._failing

    def write(self, event: str, **fields: Any) -> None:
        """Write a line soon, and wait for nothing. It outlives ``kill -9`` once written, but not a loss of power."""
        line = _Line(self._encoded(event, fields))
        with self._came:
            if self._closing or len(self._waiting) >= WAITING_LINES:
                self._left_out += 1
            else:
                self._waiting.append(line)
                self._came.notify()

    def write_durably(self, event: str, **fields: Any) -> Future[None]:
        """Write a line; the result tells when it is on the disk, and holds a :class:`PeerError` (HX7082) if it is
        not."""
        return self._durably(self._encoded(event, fields))

    def write_synced(self, event: str, **fields: Any) -> None:
        """Write a line; it is on the disk when this returns, or the log of the program says why it is not."""
        self.write(event, **fields)
        with suppress(PeerError):
            self.flushed().result()

    def flushed(self) -> Future[None]:
        """When everything that was to be written before now is on the disk."""
        return self._durably(b"")

    def _durably(self, data: bytes) -> Future[None]:
        done: Future[None] = Future()
        with self._came:
            if self._closing:
                done.set_exception(_failure("it is closed"))
            else:
                self._waiting.append(_Line(data, done))
                self._came.notify()
        return done

    def _encoded(self, event: str, fields: dict[str, Any]) -> bytes:
        value = {"time": audit_time(self._clock()), "event": event, **fields}
        return shown(json.dumps(value, ensure_ascii=False)).encode() + b"\n"

    # -- in the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._came:
                while not self._waiting and not self._closing:
                    self._came.wait()
                batch = list(self._waiting)
                self._waiting.clear()
            if not batch:
                self._file.close()
                return
            self._commit(batch)

    def _commit(self, batch: list[_Line]) -> None:
        with self._came:
            left_out, self._left_out = self._left_out, 0
        told = self._encoded("left out", {"count": left_out}) if left_out else b""
        lines = [*self._kept, *batch]
        try:
            self._file.append(
                b"".join((*(line.data for line in self._kept), told, *(line.data for line in batch))),
                sync=any(line.done is not None for line in lines),
            )
        except OSError as error:
            self._fail(lines, left_out, error.strerror or str(error))
            return
        if self._failing:
            _log.warning("the audit log is written again")
        self._failing, self._kept = False, []
        self.lines += sum(bool(line.data) for line in lines) + bool(told)
        for line in batch:
            if line.done is not None:
                line.done.set_result(None)

    def _fail(self, lines: list[_Line], left_out: int, reason: str) -> None:
        if not self._failing:
            _log.error("the audit log cannot be written, so queries of others are refused: %s", reason)
        self._failing = True
        self.failures += 1
        unawaited = [line for line in lines if line.done is None]
        self._kept = unawaited[:WAITING_LINES]
        with self._came:
            self._left_out += left_out + len(unawaited) - len(self._kept)
        for line in lines:
            if line.done is not None:
                line.done.set_exception(_failure(reason))


def _failure(reason: str) -> PeerError:
    return PeerError(Fault("HX7082", f"the audit log cannot be written: {reason}"))


class _File:
    """The file at the end of which lines are written: all of a batch, or nothing."""

    def __init__(self, folder: Path, limit: int, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._limit = limit
        self._clock = clock
        self._descriptor: int | None = None
        self._known: tuple[int, int] | None = None
        self._size = 0
        self._stays = False

    def append(self, data: bytes, *, sync: bool) -> None:
        """Write lines, and wait until they are on the disk if ``sync``; raises ``OSError``, and the file is as before.

        Its end is cut off again then at once, or before it is next written.
        """
        try:
            descriptor = self._opened()
            if self._size and self._size + len(data) > self._limit and self._moved_away():
                descriptor = self._opened()
            _write(descriptor, data)
            if sync:
                os.fsync(descriptor)
        except OSError:
            self._drop()
            raise
        self._size += len(data)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _opened(self) -> int:
        path = self._folder / AUDIT
        if self._descriptor is not None:
            with suppress(FileNotFoundError):
                if _identity(path.stat()) == self._known:
                    return self._descriptor
            self.close()  # somebody has moved it away: what is said to be in the log is in this file
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._descriptor = descriptor
        found = os.fstat(descriptor)
        # A write has failed, and its end could not be cut off: nobody was told that it is there.
        if _identity(found) == self._known and found.st_size > self._size:
            os.ftruncate(descriptor, self._size)
        size = _repair(self._folder, descriptor)
        sync_folder(self._folder)
        self._known, self._size = _identity(found), size
        return descriptor

    def _moved_away(self) -> bool:
        """Rename the file, which is full; where that cannot be, it grows on."""
        assert self._descriptor is not None
        os.fsync(self._descriptor)
        try:
            (self._folder / AUDIT).rename(self._folder / self._full_name())
        except OSError as error:
            if not self._stays:
                _log.warning("the audit log is full, and cannot be renamed: %s", error.strerror)
            self._stays = True
            return False
        self.close()
        self._known, self._stays = None, False
        return True

    def _full_name(self) -> str:
        """A name after those of all files that were full before, even where the clock was put back."""
        name = f"audit-{self._clock():%Y%m%dT%H%M%S.%f}Z.log"
        last = max((file.name for file in self._folder.glob(FULL)), default="")
        return name if name > last else f"{last.removesuffix('.log')}Z.log"

    def _drop(self) -> None:
        """Cut off what was not written whole. The file is opened anew: after a failed sync nothing is sure of it."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            if _identity(os.fstat(self._descriptor)) == self._known:
                os.ftruncate(self._descriptor, self._size)
        with suppress(OSError):
            self.close()
        self._descriptor = None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _repair(folder: Path, descriptor: int) -> int:
    """Make every line at the end of the file one that can be read; its size then."""
    size = good = os.fstat(descriptor).st_size
    for start, line in _lines_backwards(descriptor, size):
        if _parsed(line) is not None:
            if not line.endswith(b"\n"):  # whole but for its end
                _write(descriptor, b"\n")
                os.fsync(descriptor)
                return size + 1
            break
        good = start
    if good < size:
        _log.warning("%s bytes at the end of the audit log are torn, and are kept in %s", size - good, TORN)
        aside = os.open(folder / TORN, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            for start in range(good, size, BLOCK):
                _write(aside, os.pread(descriptor, min(BLOCK, size - start), start))
            _write(aside, b"\n")
            os.fsync(aside)
        finally:
            os.close(aside)
        os.ftruncate(descriptor, good)
        os.fsync(descriptor)
    return good


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _lines_backwards(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from its end: where each starts, and its bytes."""
    pieces: deque[bytes] = deque()
    position = end = size
    while position > 0:
        start = max(0, position - BLOCK)
        block = os.pread(descriptor, position - start, start)
        rest = len(block)
        # The end of a line belongs to it: what is looked for is the one before its first byte.
        while (found := block.rfind(b"\n", 0, rest - (not pieces))) >= 0:
            pieces.appendleft(block[found + 1 : rest])
            line = b"".join(pieces)
            pieces.clear()
            end -= len(line)
            yield end, line
            rest = found + 1
        if rest:
            pieces.appendleft(block[:rest])
        position = start
    if pieces:
        yield 0, b"".join(pieces)


# -- reading ---------------------------------------------------------------------------------------------------------


def read_audit(folder: Path, last: int, since: datetime | None = None) -> Iterator[bytes]:
    """The ``last`` lines of a peer's audit log, of those since a time, oldest first, each with its line end.

    Files that were full are read too. It may be written meanwhile. A line that cannot be read becomes one with the
    event ``unreadable``. Raises ``OSError``.
    """
    least = audit_time(since) if since is not None else ""
    with ExitStack() as stack:
        wanted: list[tuple[int, int, int]] = []
        for descriptor in _files(folder, stack):
            size = _whole(descriptor)
            begin = size
            for start, line in _lines_backwards(descriptor, size):
                if last <= 0 or _time(line) < least:
                    last = 0
                    break
                begin, last = start, last - 1
            wanted.append((descriptor, begin, size))
            if last <= 0:
                break
        for descriptor, begin, size in reversed(wanted):
            yield from _lines(descriptor, begin, size)


def _files(folder: Path, stack: ExitStack) -> Iterator[int]:
    """The files of a log, newest first. The current one is opened before the others are looked for: it may become one
    of them."""
    seen: set[tuple[int, int]] = set()
    with suppress(FileNotFoundError):
        yield _readable(folder / AUDIT, stack, seen)
    for file in sorted(folder.glob(FULL), reverse=True):
        descriptor = _readable(file, stack, seen)
        if descriptor >= 0:
            yield descriptor


def _readable(file: Path, stack: ExitStack, seen: set[tuple[int, int]]) -> int:
    """An open file; -1 for one that was seen already."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    identity = _identity(os.fstat(descriptor))
    if identity in seen:
        return -1
    seen.add(identity)
    return descriptor


def _whole(descriptor: int) -> int:
    """The size of a file up to its last line end: what follows is being written."""
    size = os.fstat(descriptor).st_size
    last = next(_lines_backwards(descriptor, size), None)
    return size if last is None or last[1].endswith(b"\n") else last[0]


def _time(line: bytes) -> str:
    value = _parsed(line)
    # What cannot be read is as new as can be: it is told, and those before it are looked at.
    return str(value.get("time", "")) if value is not None else "~"


def _lines(descriptor: int, begin: int, end: int) -> Iterator[bytes]:
    rest = b""
    while begin < end:
        block = os.pread(descriptor, min(BLOCK, end - begin), begin)
        if not block:
            return
        begin += len(block)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield _told_as_it_is(line)


def _told_as_it_is(line: bytes) -> bytes:
    if _parsed(line) is not None:
        return line + b"\n"
    text = line.decode("utf-8", "backslashreplace")
    return json.dumps({"time": None, "event": "unreadable", "text": text}).encode() + b"\n"
