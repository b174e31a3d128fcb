"""The tables of the subscription log, what has to hold of them, and subscriptions as they stand there."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, Final

from heptox.errors import DisseminationError, Fault
from heptox.matching.database import FileFormat
from heptox.matching.subscriptions import Delivery, Options, Policy, Subscription, Words
from heptox.settings import NAME

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

LOG_FORMAT: Final = FileFormat(
    "subscription log",
    application=0x48585355,  # "HXSU"
    version=3,
    schema=_SCHEMA,
    remedy="restore it from a backup, or move it away for a new one without subscriptions",
    upgrades=_UPGRADES,
)

CHECKS: Final = {
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


@dataclass(frozen=True, slots=True)
class Row:
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
    def find(cls, connection: sqlite3.Connection, name: str) -> Row:
        """The row of a name; raises :class:`DisseminationError` (HX9061)."""
        _check_known(name)
        row = connection.execute(f"SELECT {FIELDS} FROM subscription WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise unknown(name)
        return cls(*row)


FIELDS: Final = "number, name, policy, most, most_bytes, last, acknowledged, backlog, backlog_bytes, letters, suspended"
SUBSCRIPTIONS: Final = """
SELECT s.number, s.name, s.text, s.policy, s.most, s.most_bytes, s.added, s.last, s.acknowledged, s.delivered,
       s.backlog, s.backlog_bytes, s.letters, s.suspended, s.words, s.deliver, s.first_read,
       (SELECT min(sequence) FROM notification WHERE subscription = s.number),
       (SELECT count(*) FROM dead_letter WHERE subscription = s.number),
       (SELECT d.time FROM notification n JOIN document d ON d.number = n.document
        WHERE n.subscription = s.number AND n.sequence = s.acknowledged + 1)
FROM subscription s
"""


def _check_known(name: str) -> None:
    """Raise for what can be no name, which SQLite may not even be asked for."""
    if not NAME.fullmatch(name):
        raise unknown(name)


def read_subscription(connection: sqlite3.Connection, name: str) -> Subscription:
    """A subscription by its name; raises :class:`DisseminationError` (HX9061)."""
    _check_known(name)
    row = connection.execute(f"{SUBSCRIPTIONS} WHERE s.name = ?", (name,)).fetchone()
    if row is None:
        raise unknown(name)
    return subscription_of(row)


def subscription_of(row: tuple[Any, ...]) -> Subscription:
    """The subscription that a row of :data:`SUBSCRIPTIONS` is."""
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


def unknown(name: str) -> DisseminationError:
    """That there is no subscription of a name."""
    hint = "`heptox subscription list` lists them"
    return DisseminationError(Fault("HX9061", f"no subscription is named {name!r}", hint=hint))


def not_given(name: str, sequence: int, last: int) -> DisseminationError:
    """That no notification has a sequence number."""
    hint = f"the last one is {last}" if last else "there is none yet"
    return DisseminationError(Fault("HX9062", f"{name} has no notification {sequence}", hint=hint))
