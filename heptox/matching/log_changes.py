"""Changes of the subscription log by who subscribes: each is carried out in a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

from heptox.errors import DisseminationError, Fault
from heptox.matching.log_tables import Row, not_given, read_subscription
from heptox.matching.subscriptions import Added, Subscription, SubscriptionRequest

DEAD_LETTERS: Final = 10_000
"""Dead letters of one subscription that are listed; the oldest are forgotten, and counted."""


def add(connection: sqlite3.Connection, wanted: SubscriptionRequest, now: int) -> Added:
    """Add a subscription; raises :class:`DisseminationError` (HX9060)."""
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


def add_all(
    connection: sqlite3.Connection, wanted: Sequence[SubscriptionRequest], now: int, *, skipping: bool
) -> tuple[list[Added], list[Fault]]:
    """Add subscriptions; raises :class:`DisseminationError` (HX9060), unless ``skipping``."""
    added: list[Added] = []
    faults: list[Fault] = []
    for one in wanted:
        try:
            added.append(add(connection, one, now))
        except DisseminationError as error:
            faults.extend(error.faults)
    if faults and not skipping:
        raise DisseminationError(faults)
    return added, faults


def remove(connection: sqlite3.Connection, name: str) -> Subscription:
    """Remove a subscription; raises :class:`DisseminationError` (HX9061)."""
    removed = read_subscription(connection, name)
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


def deliver(connection: sqlite3.Connection, name: str, last: int, now: int) -> None:
    """Count notifications as handed out, up to a sequence number."""
    connection.execute(
        "UPDATE subscription SET delivered = max(delivered, ?), first_read = ifnull(first_read, ?) WHERE name = ?",
        (last, now, name),
    )


def acknowledge(connection: sqlite3.Connection, name: str, upto: int) -> Subscription:
    """Acknowledge up to a sequence number; raises :class:`DisseminationError` (HX9061, HX9062)."""
    row = Row.find(connection, name)
    if not 0 <= upto <= row.last:
        raise not_given(name, upto, row.last)
    settle(connection, row.number, row.acknowledged, upto)
    return read_subscription(connection, name)


def reject(connection: sqlite3.Connection, name: str, sequence: int, reason: str, now: int) -> Subscription:
    """Make a dead letter of a notification; raises :class:`DisseminationError` (HX9061, HX9062)."""
    row = Row.find(connection, name)
    if not row.acknowledged < sequence <= row.last:
        if sequence <= row.acknowledged:
            message = f"notification {sequence} of {name} is acknowledged already"
            raise DisseminationError(Fault("HX9062", message, hint=f"up to {row.acknowledged} all are"))
        raise not_given(name, sequence, row.last)
    bury(connection, row.number, sequence, sequence, reason, now)
    settle(connection, row.number, row.acknowledged, sequence)
    return read_subscription(connection, name)


def settle(connection: sqlite3.Connection, number: int, acknowledged: int, upto: int) -> None:
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


def bury(connection: sqlite3.Connection, number: int, first: int, last: int, reason: str, now: int) -> None:
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
    count_letters(connection, number, last - first + 1)


def count_letters(connection: sqlite3.Connection, number: int, more: int) -> None:
    """Count more dead letters of a subscription; of too many the oldest are forgotten."""
    connection.execute("UPDATE subscription SET letters = letters + ? WHERE number = ?", (more, number))
    forgotten = "(SELECT letters FROM subscription WHERE number = ?)"
    connection.execute(
        f"DELETE FROM dead_letter WHERE subscription = ? AND letter <= {forgotten} - {DEAD_LETTERS}", (number, number)
    )
