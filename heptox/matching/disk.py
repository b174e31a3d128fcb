"""Matching beyond memory: subscriptions in a file, and in memory those that came last (``matching.md``, "Two engines").

A change takes effect in memory at once, and the file is fed in batches. The file is no truth: when it is opened it is
compared with the log by number and text, and one that cannot be used is made anew.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import duckdb
import numpy as np
from numpy.typing import NDArray

from heptox import __version__
from heptox.errors import DisseminationError, Fault, GrammarError, HeptoxError
from heptox.matching.broker import kept_patterns
from heptox.matching.log import SubscriptionLog
from heptox.matching.memory import MemoryMatcher
from heptox.matching.relational import PORTION, RelationalMatcher
from heptox.pattern import TreePattern
from heptox.xml import Document

Row: TypeAlias = tuple[int, str, str]
"""Number, name and text of a subscription."""
Numbers: TypeAlias = NDArray[np.int64]

BATCH: Final = 1000
"""Changes that are collected in memory before the file takes them."""
_SHARE: Final = 16
"""What is collected may become this part of what is in the file: each batch looks through all that is there."""
_UNUSABLE: Final = frozenset({"HX9020", "HX9021", "HX9024"})

_log = logging.getLogger(__name__)


class DiskMatcher:
    """The subscriptions of a log, in a file and in memory; a context manager. Not for several threads at once.

    Opened, it holds what the log holds; from then on it takes changes after the log has them. It decides as
    :class:`MemoryMatcher`, whatever is found in the file and whenever the process ends.

    Raises :class:`DisseminationError`: HX9021 where no such file can be made, HX9050 as :class:`Broker`.

    >>> import tempfile
    >>> from heptox.matching import SubscriptionLog, SubscriptionRequest
    >>> from heptox.xml import parse_document
    >>> with tempfile.TemporaryDirectory() as folder, SubscriptionLog(Path(folder) / "log.sqlite") as log:
    ...     added = log.add(SubscriptionRequest("cheap", "//Book[Price < 10]"))
    ...     with DiskMatcher(Path(folder) / "matcher.duckdb", log) as matcher:
    ...         matcher.match(parse_document("<Book><Price>9</Price></Book>")).tolist()
    [1]
    """

    def __init__(self, file: Path, log: SubscriptionLog, *, batch: int = BATCH) -> None:
        self.path = file
        self._log = log
        self._batch = batch
        self._file: RelationalMatcher | None = None
        self._upto = 0
        self._forget_changes()
        try:
            self._open()
        except BaseException:
            self._let_go()
            raise

    def __enter__(self) -> DiskMatcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what the file has not, and let go of it."""
        if self._file is not None and (self._recent or self._removed):
            self._feed()
        self._let_go()

    # -- the matcher -------------------------------------------------------------------------------------------------

    def add(self, number: int, patterns: tuple[TreePattern, ...]) -> None:
        """Take in a subscription that is in the log.

        One that is known already, for the file was just made anew from the log, is known.
        """
        if number <= self._upto or number in self._recent:
            return
        self._recent.add(number)
        self._tail.add(number, patterns)
        self._feed_if_many()

    def remove(self, number: int) -> None:
        """Know a subscription no longer, which is not in the log any more."""
        is_recent = number in self._recent
        if is_recent:
            self._recent.remove(number)
            self._tail.remove(number)
        if not is_recent or self._has_failed:
            self._removed.add(number)
            self._feed_if_many()

    def match(self, document: Document) -> Numbers:
        """The numbers of the subscriptions that a document matches, ascending, each once.

        A file that fails is made anew, which may take a while. Raises :class:`DisseminationError`: HX9021 where that
        cannot be, HX9022 where it takes too long.
        """
        held = self._match_in_file(document)
        if self._removed:
            held = held[~np.isin(held, np.fromiter(self._removed, np.int64))]
        recent = np.asarray(self._tail.match(document), np.int64)
        return np.union1d(held, recent)

    def _match_in_file(self, document: Document) -> Numbers:
        if self._file is not None:
            try:
                return _matched(self._file, document)
            except DisseminationError as error:
                if not _is_of_file(error):
                    raise
                self._make_anew(error)
        else:
            self._make_anew(None)
        assert self._file is not None
        return _matched(self._file, document)

    # -- feeding the file --------------------------------------------------------------------------------------------

    def _forget_changes(self) -> None:
        self._tail = MemoryMatcher()
        self._recent: set[int] = set()  # what the tail has
        self._removed: set[int] = set()  # what the file may have, and nobody wants any more
        self._next_feed = self._batch
        self._has_failed = False  # to move the changes: some of the tail may be in the file too

    def _feed_if_many(self) -> None:
        if len(self._recent) + len(self._removed) >= self._next_feed:
            self._feed()

    def _feed(self) -> None:
        """Move the changes into the file; where it does not take them they stay in memory, until there are more."""
        file = self._file
        changes = len(self._recent) + len(self._removed)
        try:
            if file is None:
                self._make_anew(None)
                return
            with _told(self.path):
                file.remove_many([*self._removed, *(self._recent if self._has_failed else ())])
            self._take(file, np.array(sorted(self._recent), np.int64))
            held = _count(file, self.path)
        except HeptoxError as error:
            self._has_failed = True
            _log.warning("%s takes no subscriptions, which stay in memory: %s", self.path, error)
            self._next_feed = changes + self._batch
        else:
            self._forget_changes()
            self._next_feed = max(self._batch, min(held // _SHARE, PORTION))

    def _take(self, file: RelationalMatcher, numbers: Numbers) -> None:
        """Bring those of the log with these numbers, ascending, into the file."""
        if not len(numbers):
            return
        wanted = set(numbers.tolist())
        rows = (row for row in self._log.texts(after=int(numbers[0]) - 1) if row[0] in wanted)
        for portion in _portions(rows):
            try:
                with _told(self.path):
                    file.add_texts(
                        [(number, text) for number, _, text in portion],
                        marks={number: mark_of(text) for number, _, text in portion},
                    )
            except GrammarError:
                for _, name, text in portion:
                    kept_patterns(name, text)  # which says which subscription it is
                raise

    # -- opening -----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        if not self.path.exists():
            self._make_anew(None)
            return
        try:
            self._begin()
        except DisseminationError as error:
            if not _is_of_file(error):
                raise
            self._make_anew(error)

    def _make_anew(self, error: DisseminationError | None) -> None:
        """Make the file from the log, in place of the one that is there."""
        if error is not None:
            _log.warning("%s is made anew from the subscriptions: %s", self.path, error)
        self._let_go()
        _remove(self.path)
        try:
            self._begin()
        except BaseException:
            self._let_go()
            raise

    def _begin(self) -> None:
        """Open the file and make it hold what the log holds."""
        shutil.rmtree(_beside(self.path, ".tmp"), ignore_errors=True)  # what DuckDB put there before a crash
        with _told(self.path):
            self._file = RelationalMatcher(self.path)
            numbers, marks = self._file.marks()
        right, missing, upto = self._compare(numbers, marks)
        if len(numbers) and not right.any():
            raise DisseminationError(
                Fault("HX9020", "it holds none of them as they are now", hint="rebuild it", file=str(self.path))
            )
        with _told(self.path):
            if not right.all():
                self._file.remove_many(numbers[~right].tolist())
        self._take(self._file, missing)
        self._upto = upto
        self._forget_changes()

    def _compare(self, numbers: Numbers, marks: Numbers) -> tuple[NDArray[np.bool_], Numbers, int]:
        """Which of the file the log has with the same text; what the log has besides; its greatest number."""
        right = np.zeros(len(numbers), np.bool_)
        missing = [np.empty(0, np.int64)]
        upto = 0
        for portion in _portions(self._log.texts()):
            wanted = np.array([number for number, _, _ in portion], np.int64)
            given = np.array([mark_of(text) for _, _, text in portion], np.int64)
            at = np.searchsorted(numbers, wanted)
            same = at < len(numbers)
            same[same] = (numbers[at[same]] == wanted[same]) & (marks[at[same]] == given[same])
            right[at[same]] = True
            missing.append(wanted[~same])
            upto = portion[-1][0]
        return right, np.concatenate(missing), upto

    def _let_go(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(duckdb.Error):  # one that failed may fail again
                file.close()


def mark_of(text: str) -> int:
    """What distinguishes a text from others that had its number, from 0 on; a new version reads all texts anew."""
    digest = blake2b(f"{__version__}\n{text}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def _portions(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    rows = iter(rows)
    while portion := list(islice(rows, PORTION)):
        yield portion


def _matched(file: RelationalMatcher, document: Document) -> Numbers:
    with _told(file.path):
        return file.match([document]).numbers


def _count(file: RelationalMatcher, path: Path) -> int:
    with _told(path):
        return len(file)


@contextmanager
def _told(path: Path | None) -> Iterator[None]:
    """Say what DuckDB refuses."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        hint = "publish smaller documents, or give the machine more memory"
        raise DisseminationError(Fault("HX9022", f"memory is not enough: {_line(error)}", hint=hint)) from None
    except duckdb.Error as error:
        hint = "make room, or mend the disk; it is made anew from the subscriptions"
        raise DisseminationError(
            Fault("HX9021", f"cannot be used: {_line(error)}", hint=hint, file=str(path))
        ) from None


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _is_of_file(error: DisseminationError) -> bool:
    return all(fault.code in _UNUSABLE for fault in error.faults)


def _beside(file: Path, ending: str) -> Path:
    return file.with_name(file.name + ending)


def _remove(file: Path) -> None:
    try:
        for each in (file, _beside(file, ".wal")):
            each.unlink(missing_ok=True)
    except OSError as error:
        hint = "move it away"
        raise DisseminationError(
            Fault("HX9021", f"cannot be made anew: {error.strerror or error}", hint=hint, file=str(file))
        ) from None
