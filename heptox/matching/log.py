"""The subscription log: the truth about subscriptions, what was published, notifications and acknowledgements.

A match of a published document is a notification of its subscription, with the next sequence number of that
subscription: no number is left out, and none is given twice, whatever happens in between. A notification stays in the
backlog until it is acknowledged, or its subscriber's :class:`Policy` makes a dead letter of it. After that it can be
replayed until the document leaves the :class:`Retention`.

Everything is on the disk before it is told (:mod:`heptox.matching.database`).
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from heptox.errors import DisseminationError, Fault
from heptox.matching.database import BUSY_SECONDS, Database
from heptox.matching.subscriptions import (
    Added,
    DeadLetter,
    Delivery,
    Matched,
    Notification,
    Options,
    Policy,
    Publication,
    Published,
    Subscription,
    Totals,
    Wanted,
    Words,
    check_text,
)
from heptox.settings import NAME

APPLICATION: Final = 0x48585355
"""What marks the file: "HXSU"."""
VERSION: Final = 3
DEAD_LETTERS: Final = 10_000
"""Dead letters of one subscription that are listed; the oldest are forgotten, and counted."""
BATCH: Final = 100
"""Notifications that are handed out at once, unless it is said how many."""
MOST_BATCH: Final = 10_000
NO_ROOM: Final = "the backlog was full"
SUSPENDED: Final = "the subscription was suspended, for its backlog was full"
_NAMED: Final = 5
"""Subscriptions that are named where there may be many."""
_PAGE: Final = 1000

_SCHEMA: Final = """
CREATE TABLE subscription (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    text TEXT NOT NULL,
    policy TEXT NOT NULL,
    most INTEGER NOT NULL,
    most_bytes INTEGER NOT NULL,
    added INTEGER NOT NULL,
    last INTEGER NOT NULL DEFAULT 0,
    acknowledged INTEGER NOT NULL DEFAULT 0,
    delivered INTEGER NOT NULL DEFAULT 0,
    backlog INTEGER NOT NULL DEFAULT 0,
    backlog_bytes INTEGER NOT NULL DEFAULT 0,
    letters INTEGER NOT NULL DEFAULT 0,
    suspended INTEGER,
    words TEXT NOT NULL DEFAULT 'theirs',
    deliver TEXT NOT NULL DEFAULT 'original',
    first_read INTEGER
);
CREATE TABLE document (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    size INTEGER NOT NULL,
    time INTEGER NOT NULL,
    matched INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    holds INTEGER NOT NULL
);
CREATE TABLE content (document INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE notification (
    subscription INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (subscription, sequence)
) WITHOUT ROWID;
CREATE INDEX notification_document ON notification (document);
CREATE TABLE dead_letter (
    subscription INTEGER NOT NULL,
    letter INTEGER NOT NULL,
    sequence INTEGER,
    document INTEGER NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    reason TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (subscription, letter)
) WITHOUT ROWID;
CREATE TABLE horizon (
    document INTEGER NOT NULL,
    time INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    notifications INTEGER NOT NULL,
    removed INTEGER NOT NULL
);
INSERT INTO horizon VALUES (0, 0, 0, 0, 0, 0);
"""
_UPGRADES: Final = {
    1: """
        ALTER TABLE subscription ADD COLUMN words TEXT NOT NULL DEFAULT 'theirs';
        ALTER TABLE subscription ADD COLUMN deliver TEXT NOT NULL DEFAULT 'original';
    """,
    2: "ALTER TABLE subscription ADD COLUMN first_read INTEGER;",
}
# `content` is its own table, for a scan of `document` shall not read over what may be large. `holds` counts the
# notifications of a document that are not acknowledged. Documents up to the horizon are kept only while they are held;
# `documents`, `bytes` and `notifications` count those beyond it. Of a document that nobody wants no bytes are kept.
# `removed` is the greatest number of a subscription that was removed: so no number is given twice, and none costs what
# AUTOINCREMENT would, another page in each commit.


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept for replay, and to know a document again that is published twice, at most.

    The newest are kept. What is not acknowledged is kept beyond that.
    """

    documents: int = 100_000
    bytes: int = 256 * 1024 * 1024
    notifications: int = 10_000_000


@dataclass(frozen=True, slots=True)
class _Row:
    """A subscription of the table, as far as a change needs it."""

    number: int
    name: str
    policy: str
    most: int
    most_bytes: int
    last: int
    acknowledged: int
    backlog: int
    backlog_bytes: int
    letters: int
    suspended: int | None

    @classmethod
    def find(cls, connection: sqlite3.Connection, name: str) -> _Row:
        _check_known(name)
        row = connection.execute(f"SELECT {_FIELDS} FROM subscription WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise _unknown(name)
        return cls(*row)


_FIELDS: Final = (
    "number, name, policy, most, most_bytes, last, acknowledged, backlog, backlog_bytes, letters, suspended"
)
_TOLD: Final = """
SELECT s.number, s.name, s.text, s.policy, s.most, s.most_bytes, s.added, s.last, s.acknowledged, s.delivered,
       s.backlog, s.backlog_bytes, s.letters, s.suspended, s.words, s.deliver, s.first_read,
       (SELECT min(sequence) FROM notification WHERE subscription = s.number),
       (SELECT count(*) FROM dead_letter WHERE subscription = s.number),
       (SELECT d.time FROM notification n JOIN document d ON d.number = n.document
        WHERE n.subscription = s.number AND n.sequence = s.acknowledged + 1)
FROM subscription s
"""


def _now() -> int:
    return time.time_ns() // 1_000_000


class SubscriptionLog:
    """The log in one file; a context manager. Any number of threads may use it, of one process.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = SubscriptionLog(Path(folder.name) / "subscriptions.sqlite")
    >>> added = log.add(Wanted("cheap", "//Book[Price < 10]"))
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
        retention: Retention = Retention(),
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
        self._database = Database(file, APPLICATION, VERSION, _SCHEMA, busy, upgrades=_UPGRADES)

    def __enter__(self) -> SubscriptionLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was told is on the disk already."""
        self._database.close()

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def add(self, wanted: Wanted) -> Added:
        """Add one subscription; it is on the disk when this returns.

        The very same one again is ``held``. Raises :class:`DisseminationError` (HX9060) when another one has the name.
        """
        return self._database.write(partial(_add, wanted=wanted, now=self._clock()))

    def add_all(self, wanted: Sequence[Wanted], *, skipping: bool = False) -> tuple[list[Added], list[Fault]]:
        """Add many, all or none, or if ``skipping`` all that can be: those that are there now, the faults of others.

        Raises as :meth:`add` unless ``skipping``, with a fault for each whose name is taken.
        """
        return self._database.write(partial(_add_all, wanted=wanted, now=self._clock(), skipping=skipping))

    def remove(self, name: str) -> Subscription:
        """Remove a subscription with its backlog and dead letters; what it was.

        Raises :class:`DisseminationError` (HX9061) when there is none of that name.
        """
        return self._database.write(partial(_remove, name=name))

    def subscription(self, name: str) -> Subscription:
        """A subscription by its name; raises :class:`DisseminationError` (HX9061)."""
        with self._database.reading() as reader:
            return _told(reader, name)

    def subscriptions(self, after: int = 0) -> Iterator[Subscription]:
        """All subscriptions with a number greater than ``after``, by number. Changes meanwhile may be seen or not."""
        while True:
            with self._database.reading() as reader:
                query = f"{_TOLD} WHERE s.number > ? ORDER BY s.number LIMIT {_PAGE}"
                page = [_subscription(row) for row in reader.execute(query, (after,))]
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
            return _published_before(reader, publication)

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
        return self._database.write(partial(_publish_all, matched=matched, now=self._clock(), limits=self._retention))

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
            self._database.write(partial(_deliver, name=name, last=last, now=self._clock()))
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
                raise _ungiven(name, sequence, _Row.find(reader, name).last)
            row = reader.execute("SELECT bytes FROM content WHERE document = ?", (found[0].document,)).fetchone()
        if row is None:
            raise DisseminationError(Fault("HX9050", f"has no document {found[0].document}", file=str(self.file)))
        return found[0], row[0]

    def acknowledge(self, name: str, upto: int) -> Subscription:
        """Settle all notifications up to a sequence number; one that is settled already changes nothing.

        Raises :class:`DisseminationError`: HX9061, HX9062 for a number that was not given yet.
        """
        return self._database.write(partial(_acknowledge, name=name, upto=upto))

    def reject(self, name: str, sequence: int, reason: str) -> Subscription:
        """Settle all notifications up to a sequence number; the last of them becomes a dead letter, with a reason.

        Raises as :meth:`acknowledge`, HX9062 for one that is settled already, HX9067 for a reason that cannot be kept.
        """
        check_text(reason, "the reason")
        return self._database.write(
            partial(_reject, name=name, sequence=sequence, reason=f"rejected: {reason}", now=self._clock())
        )

    def dead_letters(self, name: str, after: int = 0, limit: int = BATCH) -> list[DeadLetter]:
        """The dead letters of a subscription whose number is greater than ``after``, the oldest first.

        Raises :class:`DisseminationError` (HX9061).
        """
        with self._database.reading() as reader:
            row = _Row.find(reader, name)
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
            row = _Row.find(reader, name)
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
            return [f"{what}: {row}" for what, query in _CHECKS.items() for row in reader.execute(query)]


# -- changes: each is carried out in a transaction -------------------------------------------------------------------


def _add(connection: sqlite3.Connection, wanted: Wanted, now: int) -> Added:
    options = wanted.options
    bounds = (options.policy.value, options.backlog, options.backlog_bytes)
    values = (wanted.name, wanted.text, *bounds, options.words.value, options.deliver.value)
    try:
        cursor = connection.execute(
            """
            INSERT INTO subscription (number, name, text, policy, most, most_bytes, words, deliver, added)
            SELECT max(ifnull((SELECT max(number) FROM subscription), 0), removed) + 1, ?, ?, ?, ?, ?, ?, ?, ?
            FROM horizon
            """,
            (*values, now),
        )
    except sqlite3.IntegrityError:
        query = """
            SELECT number, name, text, policy, most, most_bytes, words, deliver FROM subscription WHERE name = ?
        """
        number, *held = connection.execute(query, (wanted.name,)).fetchone()
        if tuple(held) == values:
            return Added(number, wanted.name, "held")
        hint = "remove it first, or give another name"
        message = f"there is a subscription {wanted.name} already, with another XPath or other options: {held[1]}"
        raise DisseminationError(Fault("HX9060", message, wanted.position, hint=hint)) from None
    assert cursor.lastrowid is not None
    return Added(cursor.lastrowid, wanted.name, "new")


def _add_all(
    connection: sqlite3.Connection, wanted: Sequence[Wanted], now: int, *, skipping: bool
) -> tuple[list[Added], list[Fault]]:
    added: list[Added] = []
    faults: list[Fault] = []
    for one in wanted:
        try:
            added.append(_add(connection, one, now))
        except DisseminationError as error:
            faults.extend(error.faults)
    if faults and not skipping:
        raise DisseminationError(faults)
    return added, faults


def _remove(connection: sqlite3.Connection, name: str) -> Subscription:
    removed = _told(connection, name)
    held = "SELECT document FROM notification WHERE subscription = ? AND sequence > ?"
    _release(connection, held, (removed.number, removed.acknowledged))
    connection.execute(
        """
        UPDATE horizon SET notifications = notifications -
            (SELECT count(*) FROM notification WHERE subscription = ? AND document > horizon.document)
        """,
        (removed.number,),
    )
    for table in ("notification", "dead_letter"):
        connection.execute(f"DELETE FROM {table} WHERE subscription = ?", (removed.number,))
    connection.execute("DELETE FROM subscription WHERE number = ?", (removed.number,))
    connection.execute("UPDATE horizon SET removed = max(removed, ?)", (removed.number,))
    return removed


def _deliver(connection: sqlite3.Connection, name: str, last: int, now: int) -> None:
    connection.execute(
        "UPDATE subscription SET delivered = max(delivered, ?), first_read = ifnull(first_read, ?) WHERE name = ?",
        (last, now, name),
    )


def _acknowledge(connection: sqlite3.Connection, name: str, upto: int) -> Subscription:
    row = _Row.find(connection, name)
    if not 0 <= upto <= row.last:
        raise _ungiven(name, upto, row.last)
    _settle(connection, row.number, row.acknowledged, upto)
    return _told(connection, name)


def _reject(connection: sqlite3.Connection, name: str, sequence: int, reason: str, now: int) -> Subscription:
    row = _Row.find(connection, name)
    if not row.acknowledged < sequence <= row.last:
        if sequence <= row.acknowledged:
            message = f"notification {sequence} of {name} is acknowledged already"
            raise DisseminationError(Fault("HX9062", message, hint=f"up to {row.acknowledged} all are"))
        raise _ungiven(name, sequence, row.last)
    _bury(connection, row.number, sequence, sequence, reason, now)
    _settle(connection, row.number, row.acknowledged, sequence)
    return _told(connection, name)


def _settle(connection: sqlite3.Connection, number: int, acknowledged: int, upto: int) -> None:
    """Take the notifications up to a sequence number out of the backlog."""
    if upto <= acknowledged:
        return
    between = (number, acknowledged, upto)
    held = "SELECT document FROM notification WHERE subscription = ? AND sequence > ? AND sequence <= ?"
    count, size = connection.execute(
        f"SELECT count(*), ifnull(sum(size), 0) FROM ({held}) h JOIN document d ON d.number = h.document", between
    ).fetchone()
    connection.execute(
        """
        UPDATE subscription SET acknowledged = ?, backlog = backlog - ?, backlog_bytes = backlog_bytes - ?,
               suspended = CASE WHEN backlog = ? THEN NULL ELSE suspended END
        WHERE number = ?
        """,
        (upto, count, size, count, number),
    )
    _release(connection, held, between)
    # what was kept beyond the horizon only because it was not acknowledged
    connection.execute(
        """
        DELETE FROM notification WHERE subscription = ? AND sequence > ? AND sequence <= ?
               AND document <= (SELECT document FROM horizon)
        """,
        between,
    )


def _release(connection: sqlite3.Connection, held: str, parameters: tuple[int, ...]) -> None:
    """Hold the documents that the query ``held`` gives once less; those that are beyond keeping then are gone."""
    connection.execute(f"UPDATE document SET holds = holds - 1 WHERE number IN ({held})", parameters)
    gone = f"""
        SELECT number FROM document
        WHERE number IN ({held}) AND holds = 0 AND number <= (SELECT document FROM horizon)
    """
    connection.execute(f"DELETE FROM content WHERE document IN ({gone})", parameters)
    connection.execute(f"DELETE FROM document WHERE number IN ({gone})", parameters)


def _bury(connection: sqlite3.Connection, number: int, first: int, last: int, reason: str, now: int) -> None:
    """Make dead letters of the notifications of a subscription from ``first`` to ``last``."""
    connection.execute(
        """
        INSERT INTO dead_letter
        SELECT s.number, s.letters + n.sequence - ? + 1, n.sequence, d.number, d.id, d.name, d.size, ?, ?
        FROM subscription s JOIN notification n ON n.subscription = s.number JOIN document d ON d.number = n.document
        WHERE s.number = ? AND n.sequence BETWEEN ? AND ?
        """,
        (first, reason, now, number, first, last),
    )
    _count_letters(connection, number, last - first + 1)


def _count_letters(connection: sqlite3.Connection, number: int, more: int) -> None:
    connection.execute("UPDATE subscription SET letters = letters + ? WHERE number = ?", (more, number))
    forgotten = "(SELECT letters FROM subscription WHERE number = ?)"
    connection.execute(
        f"DELETE FROM dead_letter WHERE subscription = ? AND letter <= {forgotten} - {DEAD_LETTERS}", (number, number)
    )


def _publish_all(
    connection: sqlite3.Connection, matched: Sequence[Matched], now: int, limits: Retention
) -> list[Published]:
    told: list[Published] = []
    for place, one in enumerate(matched, start=1):
        before = told if place == len(matched) else []
        others = (sum(other.matched for other in before), sum(other.dead for other in before))
        values = json.dumps(list(one.numbers))
        publish = _Publishing(one.publication, values, now, limits, one.undeliverable, others)
        told.append(publish.carry_out(connection))
    return told


@dataclass(frozen=True, slots=True)
class _Publishing:
    """A document that is published; ``numbers``: the subscriptions that match, as JSON, for SQLite reads it. ``others``
    are the notifications and dead letters that count besides."""

    publication: Publication
    numbers: str
    now: int
    retention: Retention
    undeliverable: Mapping[int, str]
    others: tuple[int, int]

    def carry_out(self, connection: sqlite3.Connection) -> Published:
        before = _published_before(connection, self.publication)
        if before is not None:
            return before
        document = self._insert(connection)
        dead = {**self._make_room(connection), **self._known(connection)}
        for number, reason in dead.items():
            self._bury(connection, document, number, reason)
        matched = self._notify(connection, document, dead)
        told = (matched + len(dead) + self.others[0], len(dead) + self.others[1])
        self._keep(connection, document, matched, kept=bool(matched or dead), told=told)
        self._forget(connection)
        return Published(document, self.publication.identity, self.publication.name, "new", *told)

    def _insert(self, connection: sqlite3.Connection) -> int:
        publication = self.publication
        cursor = connection.execute(
            """
            INSERT INTO document (number, id, name, digest, size, time, matched, dead, holds)
            SELECT max(ifnull((SELECT max(number) FROM document), 0), document) + 1, ?, ?, ?, ?,
                   max(?, ifnull((SELECT time FROM document ORDER BY number DESC LIMIT 1), 0), time), 0, 0, 0
            FROM horizon
            """,  # times do not go back, whatever clocks do: replay from a time relies on it
            (publication.identity, publication.name, publication.digest, len(publication.data), self.now),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _make_room(self, connection: sqlite3.Connection) -> dict[int, str]:
        """Carry out the policies of the subscriptions whose backlog is full: who does not get the document, and why."""
        size = len(self.publication.data)
        query = f"""
            SELECT {_FIELDS} FROM subscription
            WHERE number IN (SELECT value FROM json_each(?))
              AND (backlog >= most OR backlog_bytes + ? > most_bytes OR suspended IS NOT NULL)
        """
        dead: dict[int, str] = {}
        full: list[str] = []
        too_small: list[Fault] = []
        for row in [_Row(*found) for found in connection.execute(query, (self.numbers, size))]:
            if row.policy == Policy.REFUSE and size > row.most_bytes:
                too_small.append(_too_small(self.publication.name, row, size))
            elif row.policy == Policy.REFUSE:
                full.append(row.name)
            elif row.suspended is not None:
                dead[row.number] = SUSPENDED
            elif row.policy == Policy.SUSPEND:
                suspend = "UPDATE subscription SET suspended = ? WHERE number = ? AND backlog > 0"
                connection.execute(suspend, (self.now, row.number))
                dead[row.number] = SUSPENDED if row.backlog else _too_large(row, size)
            elif row.policy == Policy.DROP_NEWEST or size > row.most_bytes:
                dead[row.number] = _too_large(row, size) if size > row.most_bytes else NO_ROOM
            else:
                self._drop_oldest(connection, row)
        if full or too_small:
            raise DisseminationError([*too_small, *([_full(self.publication.name, full)] if full else [])])
        return dead

    def _known(self, connection: sqlite3.Connection) -> dict[int, str]:
        """Those that it cannot be delivered to, and that are still there."""
        query = "SELECT number FROM subscription WHERE number IN (SELECT value FROM json_each(?))"
        there = connection.execute(query, (json.dumps(list(self.undeliverable)),)).fetchall()
        return {number: self.undeliverable[number] for (number,) in there}

    def _drop_oldest(self, connection: sqlite3.Connection, row: _Row) -> None:
        upto, count, size = row.acknowledged, row.backlog, row.backlog_bytes
        backlog = connection.execute(
            """
            SELECT sequence, size FROM notification n JOIN document d ON d.number = n.document
            WHERE subscription = ? AND sequence > ? ORDER BY sequence
            """,
            (row.number, row.acknowledged),
        )
        while count >= row.most or size + len(self.publication.data) > row.most_bytes:
            upto, dropped = backlog.fetchone()
            count, size = count - 1, size - dropped
        backlog.close()
        _bury(connection, row.number, row.acknowledged + 1, upto, NO_ROOM, self.now)
        _settle(connection, row.number, row.acknowledged, upto)

    def _bury(self, connection: sqlite3.Connection, document: int, number: int, reason: str) -> None:
        connection.execute(
            """
            INSERT INTO dead_letter
            SELECT s.number, s.letters + 1, NULL, d.number, d.id, d.name, d.size, ?, ?
            FROM subscription s, document d WHERE s.number = ? AND d.number = ?
            """,
            (reason, self.now, number, document),
        )
        _count_letters(connection, number, 1)

    def _notify(self, connection: sqlite3.Connection, document: int, dead: Iterable[int]) -> int:
        """Give the document to all others that match, and tell how many there are."""
        wanted = "SELECT value FROM json_each(?) EXCEPT SELECT value FROM json_each(?)"
        numbers = (self.numbers, json.dumps(list(dead)))
        cursor = connection.execute(
            f"""
            INSERT INTO notification
            SELECT number, last + 1, ? FROM subscription WHERE number IN ({wanted})
            """,
            (document, *numbers),
        )
        matched = cursor.rowcount
        if matched:
            connection.execute(
                f"""
                UPDATE subscription SET last = last + 1, backlog = backlog + 1, backlog_bytes = backlog_bytes + ?
                WHERE number IN ({wanted})
                """,
                (len(self.publication.data), *numbers),
            )
        return matched

    def _keep(
        self, connection: sqlite3.Connection, document: int, matched: int, *, kept: bool, told: tuple[int, int]
    ) -> None:
        """Keep the document, if anybody may want it, and count what is kept."""
        size = 0
        if kept:
            size = len(self.publication.data)
            connection.execute("INSERT INTO content VALUES (?, ?)", (document, self.publication.data))
        connection.execute(
            "UPDATE document SET matched = ?, dead = ?, holds = ? WHERE number = ?",
            (*told, matched, document),
        )
        connection.execute(
            "UPDATE horizon SET documents = documents + 1, bytes = bytes + ?, notifications = notifications + ?",
            (size, matched),
        )

    def _forget(self, connection: sqlite3.Connection) -> None:
        """Let the oldest documents go that are more than is kept, and the notifications of them that are settled."""
        limits = self.retention
        horizon = connection.execute("SELECT document, documents, bytes, notifications FROM horizon").fetchone()
        passed, documents, size, notifications = horizon
        while documents > limits.documents or size > limits.bytes or notifications > limits.notifications:
            oldest = connection.execute(
                """
                SELECT number, time, holds, ifnull((SELECT length(bytes) FROM content WHERE document = number), 0),
                       (SELECT count(*) FROM notification WHERE document = number)
                FROM document WHERE number > ? ORDER BY number LIMIT 1
                """,
                (passed,),
            ).fetchone()
            if oldest is None:
                break
            passed, then, holds, length, notified = oldest
            documents, size, notifications = documents - 1, size - length, notifications - notified
            connection.execute(
                """
                DELETE FROM notification WHERE document = ? AND sequence <=
                    (SELECT acknowledged FROM subscription s WHERE s.number = notification.subscription)
                """,
                (passed,),
            )
            if not holds:
                connection.execute("DELETE FROM content WHERE document = ?", (passed,))
                connection.execute("DELETE FROM document WHERE number = ?", (passed,))
            connection.execute("UPDATE horizon SET document = ?, time = ?", (passed, then))
        if passed != horizon[0]:
            connection.execute(
                "UPDATE horizon SET documents = ?, bytes = ?, notifications = ?", (documents, size, notifications)
            )


# -- looking ---------------------------------------------------------------------------------------------------------


def _published_before(connection: sqlite3.Connection, publication: Publication) -> Published | None:
    identity = publication.identity
    query = "SELECT number, name, digest, matched, dead FROM document WHERE id = ?"
    row = connection.execute(query, (identity,)).fetchone()
    if row is None:
        return None
    number, name, digest, matched, dead = row
    if digest != publication.digest:
        message = f"another document was published under the id {identity}"
        raise DisseminationError(Fault("HX9065", message, hint="give it another id", file=publication.name))
    return Published(number, identity, name, "held", matched, dead)


def _check_known(name: str) -> None:
    """Raise for what can be no name, which SQLite may not even be asked for."""
    if not NAME.fullmatch(name):
        raise _unknown(name)


def _told(connection: sqlite3.Connection, name: str) -> Subscription:
    _check_known(name)
    row = connection.execute(f"{_TOLD} WHERE s.name = ?", (name,)).fetchone()
    if row is None:
        raise _unknown(name)
    return _subscription(row)


def _subscription(row: tuple[Any, ...]) -> Subscription:
    number, name, text, policy, most, most_bytes, added, last, acknowledged, delivered = row[:10]
    backlog, backlog_bytes, letters, suspended, words, deliver, first_read, first, dead, oldest = row[10:]
    return Subscription(
        number,
        name,
        text,
        Options(Policy(policy), most, most_bytes, Words(words), Delivery(deliver)),
        added,
        last,
        acknowledged,
        last + 1 if first is None else first,
        delivered,
        backlog,
        backlog_bytes,
        dead,
        letters - dead,
        oldest,
        suspended,
        first_read,
    )


def _fetch(connection: sqlite3.Connection, name: str, start: int | None, limit: int) -> list[Notification]:
    found = _told(connection, name)
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
        raise _ungiven(name, start, found.last)
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
    found = _told(connection, name)
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


_CHECKS: Final = {
    "sequence numbers are left out of subscription (number, first, last, found)": """
        SELECT s.number, min(n.sequence), s.last, count(*) FROM subscription s
        JOIN notification n ON n.subscription = s.number
        GROUP BY s.number HAVING count(*) != s.last - min(n.sequence) + 1 OR max(n.sequence) != s.last
    """,
    "the backlog of subscription is miscounted (number, backlog, bytes, found)": """
        SELECT s.number, s.backlog, s.backlog_bytes, count(d.number), ifnull(sum(d.size), 0) FROM subscription s
        LEFT JOIN notification n ON n.subscription = s.number AND n.sequence > s.acknowledged
        LEFT JOIN document d ON d.number = n.document
        GROUP BY s.number
        HAVING s.backlog != count(d.number) OR s.backlog_bytes != ifnull(sum(d.size), 0)
            OR s.backlog != s.last - s.acknowledged
    """,
    "the holders of document are miscounted (number, holds, found)": """
        SELECT d.number, d.holds, count(s.number) FROM document d
        LEFT JOIN notification n ON n.document = d.number
        LEFT JOIN subscription s ON s.number = n.subscription AND n.sequence > s.acknowledged
        GROUP BY d.number HAVING d.holds != count(s.number)
    """,
    "the document of a notification is not kept (subscription, sequence, document)": """
        SELECT n.subscription, n.sequence, n.document FROM notification n
        LEFT JOIN content c ON c.document = n.document LEFT JOIN document d ON d.number = n.document
        WHERE c.document IS NULL OR d.number IS NULL OR length(c.bytes) != d.size LIMIT 20
    """,
    "a notification is of no subscription (subscription, sequence)": """
        SELECT subscription, sequence FROM notification
        WHERE subscription NOT IN (SELECT number FROM subscription) LIMIT 20
    """,
    "a document is notified twice (subscription, document)": """
        SELECT subscription, document FROM notification GROUP BY subscription, document HAVING count(*) > 1 LIMIT 20
    """,
    "what is kept is miscounted (documents, bytes, notifications)": """
        SELECT documents, bytes, notifications FROM horizon h
        WHERE documents != (SELECT count(*) FROM document d WHERE d.number > h.document)
           OR bytes != (SELECT ifnull(sum(length(c.bytes)), 0) FROM content c WHERE c.document > h.document)
           OR notifications != (SELECT count(*) FROM notification n WHERE n.document > h.document)
    """,
}


def _unknown(name: str) -> DisseminationError:
    hint = "`heptox subscription list` lists them"
    return DisseminationError(Fault("HX9061", f"no subscription is named {name!r}", hint=hint))


def _ungiven(name: str, sequence: int, last: int) -> DisseminationError:
    hint = f"the last one is {last}" if last else "there is none yet"
    return DisseminationError(Fault("HX9062", f"{name} has no notification {sequence}", hint=hint))


def _too_large(row: _Row, size: int) -> str:
    return f"the document has {size:,} bytes, the whole backlog at most {row.most_bytes:,}"


def _too_small(document: str, row: _Row, size: int) -> Fault:
    return Fault(
        "HX9064",
        f"it was not published, for {row.name} refuses it: {_too_large(row, size)}",
        hint="remove the subscription, and add it with larger --backlog-bytes or another --policy",
        file=document,
    )


def _full(document: str, names: Sequence[str]) -> Fault:
    some = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return Fault(
        "HX9064",
        f"it was not published, for the backlog is full of {some}",
        hint="its subscriber must acknowledge, or be removed",
        file=document,
    )
