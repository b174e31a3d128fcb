"""The audit log of a peer: who asked what and what was sent, who was turned away, and what its administrator did.

``audit.log`` in the peer's folder holds one JSON object a line: ``time`` (UTC, ISO 8601), ``event``, and what belongs
to the event. A line that somebody waited for is on the disk and is never lost. A thread writes, so that nobody
else waits for the disk; those that wait at the same time share one ``fsync``. A file that is full is renamed to
``audit-<UTC time>.log``, and never removed. What a crash has torn off the end is kept aside in ``audit.torn``.

Each line carries its number, ``entry``, and in ``chain`` a digest of itself and of the chain before it. ``audit.head``
has those of the last line that is on the disk: so lines that are missing, or are not as they were written, are found.
It is written after the lines, so that it is never ahead of them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from heptox.errors import Fault, PeerError
from heptox.peer.folder.files import sync_folder
from heptox.printable import shown

AUDIT: Final = "audit.log"
TORN: Final = "audit.torn"
HEAD: Final = "audit.head"
CUT: Final = "cut"
"""The event of a line that says that lines before it are missing."""
FULL: Final = "audit-*.log"
"""Files that were full, by name in the order of their time."""
MEGABYTE: Final = 1024 * 1024
WAITING_LINES: Final = 10_000
"""Lines nobody waits for that are held while the disk takes none; what comes beyond is counted, and reported later."""
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
        """Write a line; the result comes when it is on the disk, or holds a :class:`PeerError` (HX7082) if it is
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
        omission = self._encoded("left out", {"count": left_out}) if left_out else b""
        lines = [*self._kept, *batch]
        try:
            self._file.append(
                [*(line.data for line in self._kept), omission, *(line.data for line in batch)],
                sync=any(line.done is not None for line in lines),
            )
        except OSError as error:
            self._fail(lines, left_out, error.strerror or str(error))
            return
        if self._failing:
            _log.warning("the audit log is written again")
        self._failing, self._kept = False, []
        self.lines += sum(bool(line.data) for line in lines) + bool(omission)
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


@dataclass(frozen=True, slots=True)
class _Link:
    """The number and the chain of a line, and how it is written; ``cut`` is what it says of lines that are missing."""

    number: int = 0
    chain: str = ""
    line: bytes = b""
    cut: str = ""

    def next(self, line: bytes) -> _Link:
        """The line that follows it, of an object without either."""
        number = self.number + 1
        body = line.removesuffix(b"\n").removesuffix(b"}") + b', "entry": %d' % number
        chain = hashlib.blake2b(self.chain.encode() + body, digest_size=16).hexdigest()
        return _Link(number, chain, body + b', "chain": "' + chain.encode() + b'"}\n')

    def follows(self, before: _Link) -> bool:
        """Whether it is as it was written behind another one."""
        body = self.line.rpartition(b', "chain": ')[0]
        return self.chain == hashlib.blake2b(before.chain.encode() + body, digest_size=16).hexdigest()

    def keep(self, folder: Path) -> None:
        """Put down that it is on the disk. In one place and of one length: a crash leaves this, or the one before."""
        descriptor = os.open(folder / HEAD, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, b"%020d %s\n" % (self.number, self.chain.encode()), 0)
        finally:
            os.close(descriptor)


def _link_of(line: bytes) -> _Link | None:
    """The link of a line; ``None`` for one that has none: it was written by an older version."""
    value = _parsed(line) or {}
    number, chain = value.get("entry"), value.get("chain")
    if not isinstance(number, int) or not isinstance(chain, str):
        return None
    missing = value.get("missing") if value.get("event") == CUT else None
    cut = _missing(number - 1 - missing, number - 1) if isinstance(missing, int) else ""
    return _Link(number, chain, line, cut)


def _head(folder: Path) -> _Link:
    """The last line that is known to have been on the disk."""
    try:
        number, chain = (folder / HEAD).read_text(encoding="ascii").split()
        return _Link(int(number), chain)
    except (OSError, ValueError):
        return _Link()


def _last_link(folder: Path) -> _Link:
    """The last line with a number that is there."""
    with ExitStack() as stack:
        for descriptor in _files(folder, stack):
            for _, line in _lines_backwards(descriptor, os.fstat(descriptor).st_size):
                if (link := _link_of(line)) is not None:
                    return link
    return _Link()


def _missing(after: int, last: int) -> str:
    return f"{last - after} lines are missing after line {after}"


def audit_faults(folder: Path) -> list[str]:
    """What was done to the audit log of a peer since its last full file: lines that are missing, or are not as they
    were written. A log that was never cut has none, whatever crash it has been through. Raises ``OSError``.
    """
    faults: list[str] = []
    head, before = _head(folder), _Link()
    with ExitStack() as stack:
        files = list(islice(_files(folder, stack), 2))
        for place, descriptor in enumerate(reversed(files)):
            size = _whole(descriptor)
            lines = [next(_lines_backwards(descriptor, size), (0, b""))[1]] if len(files) - place > 1 else None
            for line in lines if lines is not None else _lines(descriptor, 0, size):
                link = _link_of(line)
                if link is None:
                    continue
                if link.cut:
                    faults.append(link.cut)
                elif before.number and link.number != before.number + 1:
                    faults.append(_missing(before.number, link.number - 1))
                elif before.number and not link.follows(before):
                    faults.append(f"line {link.number} is not as it was written")
                if link.number == head.number and link.chain != head.chain:
                    faults.append(f"line {link.number} is another one than was written")
                before = link
    if before.number < head.number:
        faults.append(_missing(before.number, head.number))
    return faults


class _File:
    """The file at the end of which lines are written: all of a batch, or nothing."""

    def __init__(self, folder: Path, limit: int, clock: Callable[[], datetime]) -> None:
        self._folder = folder
        self._limit = limit
        self._clock = clock
        self._descriptor: int | None = None
        self._known: tuple[int, int] | None = None
        self._last: _Link | None = None
        self._size = 0
        self._stays = False

    def append(self, lines: Iterable[bytes], *, sync: bool) -> None:
        """Write lines, and wait until they are on the disk if ``sync``; raises ``OSError``, and the file is as before.

        Its end is cut off again then at once, or before it is next written.
        """
        try:
            descriptor = self._opened()
            last, cut = (self._last, b"") if self._last else self._continued()
            data = b""
            for line in filter(None, (cut, *lines)):
                data += (last := last.next(line)).line
            if self._size and self._size + len(data) > self._limit and self._moved_away():
                descriptor = self._opened()
            _write(descriptor, data)
            if sync:
                os.fsync(descriptor)
        except OSError:
            self._drop()
            raise
        self._size += len(data)
        self._last = last
        if sync:
            with suppress(OSError):  # it is behind then, as after a crash
                last.keep(self._folder)

    def _continued(self) -> tuple[_Link, bytes]:
        """What the next line follows; where lines are missing, what is said of that."""
        head, last = _head(self._folder), _last_link(self._folder)
        missing = head.number - last.number
        if missing <= 0:
            return last, b""
        _log.error("the audit log was cut: %s", _missing(last.number, head.number))
        value = {"time": audit_time(self._clock()), "event": CUT, "missing": missing, "after": last.number}
        return head, json.dumps(value).encode()

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
        # A write has failed, and its end could not be cut off: nobody knows that it is there.
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
    # What cannot be read is as new as can be: it is shown, and those before it are looked at.
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
            yield _readable_line(line)


def _readable_line(line: bytes) -> bytes:
    if _parsed(line) is not None:
        return line + b"\n"
    text = line.decode("utf-8", "backslashreplace")
    return json.dumps({"time": None, "event": "unreadable", "text": text}).encode() + b"\n"
