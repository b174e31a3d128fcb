"""The subscription log: the truth about subscriptions, what was published, notifications and acknowledgements.

A match of a published document is a notification of its subscription, with the next sequence number of that
subscription: no number is left out, and none is given twice, whatever happens in between. A notification stays in the
backlog until it is acknowledged, or its subscriber's :class:`Policy` makes a dead letter of it. After that it can be
replayed until the document leaves the :class:`Retention`.

Everything is on the disk before it is reported (:mod:`heptox.matching.database`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from heptox.errors import DisseminationError, Fault
from heptox.matching import log_changes
from heptox.matching.database import BUSY_SECONDS, Database
from heptox.matching.log_publishing import USUAL, Retention, publish_all, published_before
from heptox.matching.log_tables import (
    CHECKS,
    LOG_FORMAT,
    SUBSCRIPTIONS,
    Row,
    not_given,
    read_subscription,
    subscription_of,
)
from heptox.matching.subscriptions import (
    Added,
    DeadLetter,
    Delivery,
    Matched,
    Notification,
    Publication,
    Published,
    Subscription,
    SubscriptionRequest,
    Totals,
    Words,
    check_text,
)

BATCH: Final = 100
"""Notifications that are handed out at once, unless it is said how many."""
MOST_BATCH: Final = 10_000
_PAGE: Final = 1000


def _now() -> int:
    return time.time_ns() // 1_000_000


class SubscriptionLog:
    """The log in one file; a context manager. Any number of threads may use it, of one process.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = SubscriptionLog(Path(folder.name) / "subscriptions.sqlite")
    >>> added = log.add(SubscriptionRequest("cheap", "//Book[Price < 10]"))
    >>> published = log.publish(Publication("books.xml", b"<Books/>"), [added.number])
    >>> [(one.sequence, one.name) for one in log.fetch("cheap")]
    [(1, 'books.xml')]
    >>> log.acknowledge("cheap", 1).backlog
    0
    >>> log.close(); folder.cleanup()
    """

    def __init__(
        self,
        file: Path,
        retention: Retention = USUAL,
        *,
        busy: float = BUSY_SECONDS,
        clock: Callable[[], int] = _now,
    ) -> None:
        """Open the log in ``file``, or begin one. ``busy``: seconds to wait for another process; ``clock``: the time.

        Raises :class:`DisseminationError` as :class:`Database`.
        """
        self.file = file
        self._retention = retention
        self._clock = clock
        self._database = Database(file, LOG_FORMAT, busy)

    def __enter__(self) -> SubscriptionLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was reported is on the disk already."""
        self._database.close()

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def add(self, wanted: SubscriptionRequest) -> Added:
        """Add one subscription; it is on the disk when this returns.

        The very same one again is ``held``. Raises :class:`DisseminationError` (HX9060) when another one has the name.
        """
        return self._database.write(partial(log_changes.add, wanted=wanted, now=self._clock()))

    def add_all(
        self, wanted: Sequence[SubscriptionRequest], *, skipping: bool = False
    ) -> tuple[list[Added], list[Fault]]:
        """Add many, all or none, or if ``skipping`` all that can be: those that are there now, the faults of others.

        Raises as :meth:`add` unless ``skipping``, with a fault for each whose name is taken.
        """
        return self._database.write(partial(log_changes.add_all, wanted=wanted, now=self._clock(), skipping=skipping))

    def remove(self, name: str) -> Subscription:
        """Remove a subscription with its backlog and dead letters; what it was.

        Raises :class:`DisseminationError` (HX9061) when there is none of that name.
        """
        return self._database.write(partial(log_changes.remove, name=name))

    def subscription(self, name: str) -> Subscription:
        """A subscription by its name; raises :class:`DisseminationError` (HX9061)."""
        with self._database.reading() as reader:
            return read_subscription(reader, name)

    def subscriptions(self, after: int = 0) -> Iterator[Subscription]:
        """All subscriptions with a number greater than ``after``, by number. Changes meanwhile may be seen or not."""
        while True:
            with self._database.reading() as reader:
                query = f"{SUBSCRIPTIONS} WHERE s.number > ? ORDER BY s.number LIMIT {_PAGE}"
                page = [subscription_of(row) for row in reader.execute(query, (after,))]
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].number

    def texts(self, after: int = 0, *, queries: bool = False) -> Iterator[tuple[int, str, str]]:
        """Number, name and text of all subscriptions with a number greater than ``after``, by number: what a matcher is
        made from. Those that follow ``queries`` are among them only where that is said."""
        patterns = "" if queries else f"AND deliver != '{Delivery.ANSWERS.value}'"
        query = f"SELECT number, name, text FROM subscription WHERE number > ? {patterns} ORDER BY number LIMIT {_PAGE}"
        while True:
            with self._database.reading() as reader:
                page = reader.execute(query, (after,)).fetchall()
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1][0]

    def queries(self) -> list[tuple[int, str, str]]:
        """Number, name and text of the subscriptions that follow queries, by number."""
        found = self.in_own_words()
        return [(number, name, text) for number, name, text, deliver in found if deliver is Delivery.ANSWERS]

    def in_own_words(self) -> list[tuple[int, str, str, Delivery]]:
        """Number, name, text and delivery of the subscriptions that are in the peer's own words, by number."""
        with self._database.reading() as reader:
            query = "SELECT number, name, text, deliver FROM subscription WHERE words = ? ORDER BY number"
            found = reader.execute(query, (Words.OWN.value,)).fetchall()
        return [(number, name, text, Delivery(deliver)) for number, name, text, deliver in found]

    # -- publishing --------------------------------------------------------------------------------------------------

    def has_published(self, identity: str) -> bool:
        """Whether a document is known by an id, whichever it is."""
        with self._database.reading() as reader:
            return reader.execute("SELECT 1 FROM document WHERE id = ?", (identity,)).fetchone() is not None

    def published(self, publication: Publication) -> Published | None:
        """What became of the same document when it was published before; ``None`` when it is not known.

        Raises :class:`DisseminationError` (HX9065) when another document was published under its id.
        """
        with self._database.reading() as reader:
            return published_before(reader, publication)

    def publish(
        self, publication: Publication, numbers: Iterable[int], undeliverable: Mapping[int, str] | None = None
    ) -> Published:
        """Publish a document that the subscriptions ``numbers`` match; those removed meanwhile are left out.

        For those that are ``undeliverable``, with the reasons, it is a dead letter.

        The document and all of its notifications are on the disk when this returns. One that was published before is
        ``held``, and nothing is done. Raises :class:`DisseminationError`: HX9064 when the backlog of a subscription is
        full whose policy is to refuse, HX9065 when another document was published under its id. Nothing is done then.
        """
        return self.publish_all([Matched(publication, tuple(numbers), undeliverable or {})])[0]

    def publish_all(self, matched: Sequence[Matched]) -> list[Published]:
        """Publish several documents that are made of one, all or none, as :meth:`publish` does.

        The last of them is the one that they are made of: its counts are those of all.
        """
        return self._database.write(partial(publish_all, matched=matched, now=self._clock(), limits=self._retention))

    # -- the subscriber ----------------------------------------------------------------------------------------------

    def fetch(
        self, name: str, start: int | None = None, limit: int = BATCH, *, delivering: bool = True
    ) -> list[Notification]:
        """Notifications from the sequence number ``start`` on, at most ``limit``; ``None``: the first of the backlog.

        They count as handed out, on the disk, before this returns, if ``delivering``. Raises
        :class:`DisseminationError`: HX9061, HX9063 when ``start`` is not kept any more, HX9062 for a number that no
        notification can have yet, which is any beyond the next one.
        """
        with self._database.reading() as reader:
            found = _fetch(reader, name, start, limit)
            query = "SELECT delivered, first_read FROM subscription WHERE name = ?"
            delivered, first_read = reader.execute(query, (name,)).fetchone()
        last = found[-1].sequence if found else 0
        if delivering and (last > delivered or first_read is None):
            self._database.write(partial(log_changes.deliver, name=name, last=last, now=self._clock()))
        return found

    def sequence_at(self, name: str, since: int) -> int:
        """The sequence number of the first notification of a document that was published at or after a time.

        It is the next number to be given where there is none yet. Raises :class:`DisseminationError`: HX9061, HX9063
        when notifications since then may not be kept any more.
        """
        with self._database.reading() as reader:
            return _sequence_at(reader, name, since)

    def content(self, name: str, sequence: int) -> tuple[Notification, bytes]:
        """A notification, and the bytes of its document; raises as :meth:`fetch` (HX9062 for one that is none)."""
        with self._database.reading() as reader:
            found = _fetch(reader, name, sequence, 1)
            if not found:
                raise not_given(name, sequence, Row.find(reader, name).last)
            row = reader.execute("SELECT bytes FROM content WHERE document = ?", (found[0].document,)).fetchone()
        if row is None:
            raise DisseminationError(Fault("HX9050", f"has no document {found[0].document}", file=str(self.file)))
        return found[0], row[0]

    def acknowledge(self, name: str, upto: int) -> Subscription:
        """Settle all notifications up to a sequence number; one that is settled already changes nothing.

        Raises :class:`DisseminationError`: HX9061, HX9062 for a number that was not given yet.
        """
        return self._database.write(partial(log_changes.acknowledge, name=name, upto=upto))

    def reject(self, name: str, sequence: int, reason: str) -> Subscription:
        """Settle all notifications up to a sequence number; the last of them becomes a dead letter, with a reason.

        Raises as :meth:`acknowledge`, HX9062 for one that is settled already, HX9067 for a reason that cannot be kept.
        """
        check_text(reason, "the reason")
        return self._database.write(
            partial(log_changes.reject, name=name, sequence=sequence, reason=f"rejected: {reason}", now=self._clock())
        )

    def dead_letters(self, name: str, after: int = 0, limit: int = BATCH) -> list[DeadLetter]:
        """The dead letters of a subscription whose number is greater than ``after``, the oldest first.

        Raises :class:`DisseminationError` (HX9061).
        """
        with self._database.reading() as reader:
            row = Row.find(reader, name)
            query = """
                SELECT letter, sequence, document, id, name, size, reason, time,
                       EXISTS (SELECT 1 FROM content c WHERE c.document = dead_letter.document)
                FROM dead_letter WHERE subscription = ? AND letter > ? ORDER BY letter LIMIT ?
            """
            found = reader.execute(query, (row.number, after, limit))
            return [DeadLetter(*fields) for fields in _with_flags(found, 1)]

    def dead_content(self, name: str, letter: int) -> bytes:
        """The bytes of the document of a dead letter; raises :class:`DisseminationError` (HX9061, HX9062, HX9063)."""
        with self._database.reading() as reader:
            row = Row.find(reader, name)
            query = """
                SELECT c.bytes FROM dead_letter d LEFT JOIN content c ON c.document = d.document
                WHERE d.subscription = ? AND d.letter = ?
            """
            found = reader.execute(query, (row.number, letter)).fetchone()
        if found is None:
            raise DisseminationError(Fault("HX9062", f"{name} has no dead letter {letter}"))
        if found[0] is None:
            raise DisseminationError(Fault("HX9063", f"the document of dead letter {letter} is not kept any more"))
        content: bytes = found[0]
        return content

    # -- looking after it --------------------------------------------------------------------------------------------

    def totals(self) -> Totals:
        """All subscriptions together."""
        with self._database.reading() as reader:
            subscriptions, suspended, backlog, largest, letters = reader.execute(
                """
                SELECT count(*), count(suspended), ifnull(sum(backlog), 0), ifnull(max(backlog), 0),
                       ifnull(sum(letters), 0) FROM subscription
                """
            ).fetchone()
            documents, oldest = reader.execute(
                "SELECT count(*), min(CASE WHEN holds > 0 THEN time END) FROM document"
            ).fetchone()
            size = reader.execute("SELECT ifnull(sum(length(bytes)), 0) FROM content").fetchone()[0]
        return Totals(subscriptions, suspended, backlog, largest, letters, documents, size, oldest)

    def check(self) -> list[str]:
        """What is wrong with the file, or between its parts; empty when nothing is. It reads everything."""
        problems = self._database.problems()
        if problems:
            return problems
        with self._database.reading() as reader:
            return [f"{what}: {row}" for what, query in CHECKS.items() for row in reader.execute(query)]


# -- looking ---------------------------------------------------------------------------------------------------------


def _fetch(connection: sqlite3.Connection, name: str, start: int | None, limit: int) -> list[Notification]:
    found = read_subscription(connection, name)
    if start is None:
        start = found.acknowledged + 1
    if start < found.first:
        kept = f"from {found.first} on they are" if found.first <= found.last else "none is"
        if start < 1:
            message = f"no notification has the number {start}"
            raise DisseminationError(Fault("HX9062", message, hint=f"{kept} kept"))
        message = f"notification {start} of {name} is not kept any more"
        raise DisseminationError(Fault("HX9063", message, hint=f"{kept} kept"))
    if start > found.last + 1:
        raise not_given(name, start, found.last)
    query = """
        SELECT n.sequence, n.document, d.id, d.name, d.size, d.digest, d.time, n.sequence <= ?, n.sequence <= ?
        FROM notification n JOIN document d ON d.number = n.document
        WHERE n.subscription = ? AND n.sequence >= ? ORDER BY n.sequence LIMIT ?
    """
    rows = connection.execute(query, (found.acknowledged, found.delivered, found.number, start, limit))
    return [Notification(*fields) for fields in _with_flags(rows, 2)]


def _with_flags(rows: Iterable[tuple[Any, ...]], flags: int) -> Iterator[tuple[Any, ...]]:
    """Rows whose last fields are true or false, which SQLite gives as numbers."""
    return ((*row[:-flags], *map(bool, row[-flags:])) for row in rows)


def _sequence_at(connection: sqlite3.Connection, name: str, since: int) -> int:
    found = read_subscription(connection, name)
    then = connection.execute("SELECT time FROM horizon").fetchone()[0]
    if found.first > 1 and since <= then:
        message = "notifications since then are not all kept any more"
        raise DisseminationError(Fault("HX9063", message, hint=f"from {found.first} on they are: --from {found.first}"))
    low, high = found.first, found.last + 1
    query = """
        SELECT d.time FROM notification n JOIN document d ON d.number = n.document
        WHERE n.subscription = ? AND n.sequence = ?
    """
    while low < high:  # both grow
        middle = (low + high) // 2
        if connection.execute(query, (found.number, middle)).fetchone()[0] >= since:
            high = middle
        else:
            low = middle + 1
    return low
