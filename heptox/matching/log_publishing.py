"""Publishing in the subscription log, in a transaction: who gets a document, and what of it is kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from heptox.errors import DisseminationError, Fault
from heptox.matching.log_changes import bury, count_letters, settle
from heptox.matching.log_tables import FIELDS, Row
from heptox.matching.subscriptions import Matched, Policy, Publication, Published

NO_ROOM: Final = "the backlog was full"
SUSPENDED: Final = "the subscription was suspended, for its backlog was full"
_NAMED: Final = 5
"""Subscriptions that are named where there may be many."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept for replay, and to know a document again that is published twice, at most.

    The newest are kept. What is not acknowledged is kept beyond that.
    """

    documents: int = 100_000
    bytes: int = 256 * 1024 * 1024
    notifications: int = 10_000_000


USUAL: Final = Retention()


def publish_all(
    connection: sqlite3.Connection, matched: Sequence[Matched], now: int, limits: Retention
) -> list[Published]:
    published: list[Published] = []
    for place, one in enumerate(matched, start=1):
        before = published if place == len(matched) else []
        others = (sum(other.matched for other in before), sum(other.dead for other in before))
        values = json.dumps(list(one.numbers))
        publish = _Publishing(one.publication, values, now, limits, one.undeliverable, others)
        published.append(publish.carry_out(connection))
    return published


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
        before = published_before(connection, self.publication)
        if before is not None:
            return before
        document = self._insert(connection)
        dead = {**self._make_room(connection), **self._known(connection)}
        for number, reason in dead.items():
            self._bury(connection, document, number, reason)
        matched = self._notify(connection, document, dead)
        counts = (matched + len(dead) + self.others[0], len(dead) + self.others[1])
        self._keep(connection, document, matched, kept=bool(matched or dead), counts=counts)
        self._forget(connection)
        return Published(document, self.publication.identity, self.publication.name, "new", *counts)

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
            SELECT {FIELDS} FROM subscription
            WHERE number IN (SELECT value FROM json_each(?))
              AND (backlog >= most OR backlog_bytes + ? > most_bytes OR suspended IS NOT NULL)
        """
        dead: dict[int, str] = {}
        full: list[str] = []
        too_small: list[Fault] = []
        for row in [Row(*found) for found in connection.execute(query, (self.numbers, size))]:
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

    def _drop_oldest(self, connection: sqlite3.Connection, row: Row) -> None:
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
        bury(connection, row.number, row.acknowledged + 1, upto, NO_ROOM, self.now)
        settle(connection, row.number, row.acknowledged, upto)

    def _bury(self, connection: sqlite3.Connection, document: int, number: int, reason: str) -> None:
        connection.execute(
            """
            INSERT INTO dead_letter
            SELECT s.number, s.letters + 1, NULL, d.number, d.id, d.name, d.size, ?, ?
            FROM subscription s, document d WHERE s.number = ? AND d.number = ?
            """,
            (reason, self.now, number, document),
        )
        count_letters(connection, number, 1)

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
        self, connection: sqlite3.Connection, document: int, matched: int, *, kept: bool, counts: tuple[int, int]
    ) -> None:
        """Keep the document, if anybody may want it, and count what is kept."""
        size = 0
        if kept:
            size = len(self.publication.data)
            connection.execute("INSERT INTO content VALUES (?, ?)", (document, self.publication.data))
        connection.execute(
            "UPDATE document SET matched = ?, dead = ?, holds = ? WHERE number = ?",
            (*counts, matched, document),
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


def published_before(connection: sqlite3.Connection, publication: Publication) -> Published | None:
    """What came of the same document before; raises :class:`DisseminationError` (HX9065)."""
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


def _too_large(row: Row, size: int) -> str:
    return f"the document has {size:,} bytes, the whole backlog at most {row.most_bytes:,}"


def _too_small(document: str, row: Row, size: int) -> Fault:
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
