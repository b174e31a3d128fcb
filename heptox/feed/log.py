"""The feed log: what a peer has published for others, and how far it is with the feeds of others.

Each document that is published has a position: 1, 2, 3 and so on. It is kept until it leaves the
:class:`FeedRetention`, the oldest first; no position is given twice. Everything is on the disk before it is announced
(:mod:`heptox.matching.database`).

Each document is signed with the transaction that gives it its position, in a chain: so no two are signed for one
position, whatever happens. What older files hold is signed when they are opened: their chain begins with the oldest
document that they still have.

Positions count in one file only, which has a name by chance. A file must not be restored from a copy, for it would give
positions again that others have seen: a peer that loses it begins a new one, with another name.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from heptox.errors import DisseminationError, Fault
from heptox.feed.events import Distrusted, Reached
from heptox.feed.log_tables import ADDED, FORMAT, REMEDY
from heptox.feed.messages import FeedDocument, PeerId, Wording
from heptox.feed.signing import Gate
from heptox.matching import BUSY_SECONDS, Database

WORDINGS: Final = 16
"""Schemas that a publisher has written under one after the other, of which it is kept how they are translated."""
MOST_WORDED: Final = 2000
"""Publishers of which that is kept, at most."""
PAGE_DOCUMENTS: Final = 64
PAGE_BYTES: Final = 1024 * 1024
"""Documents in a page, and bytes of them, at most, unless it is said how many."""
BEGINNING: Final = 60_000
"""Milliseconds after the first announcement of the feed in which subscribers count from its first document on."""
MOST_CONFIRMED: Final = 10_000
"""Subscribers that are remembered for each neighbour through which they have asked first, and neighbours."""
MOST_CONFIRMED_IN_ALL: Final = 100_000
MOST_REACHED: Final = 20_000
"""Publishers of which it is kept how far this peer is, at most."""
REMEMBERED: Final = 90 * 86_400_000
"""Milliseconds after which a subscriber is forgotten of which nothing was seen."""
SEEN_EVERY: Final = 86_400_000
"""Milliseconds after which it is written again that a subscriber was seen."""


@dataclass(frozen=True, slots=True)
class FeedRetention:
    """What is kept for others to fetch, at most: ``documents``, and ``bytes`` of their data. The newest are kept."""

    documents: int = 100_000
    bytes: int = 1024 * 1024 * 1024


class Kept(NamedTuple):
    """A document of the feed, with the name that it was published under, and an ``id`` by chance.

    By chance, because the next document carries the digest of this one: whoever is not given this one, but knows most
    of it, cannot try the rest against that. Documents of older versions have the ids they were published under.
    """

    position: int
    name: str
    id: str
    data: bytes
    previous: bytes = b""
    signature: bytes = b""

    def of(self, publisher: PeerId, feed: str) -> FeedDocument:
        """The document as it goes to others; ``previous`` and ``signature`` are the ones of that."""
        return FeedDocument(publisher, feed, *self)


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents of the feed, by position: all that are kept up to ``position``.

    ``missing`` counts those up to there that are not kept any more, ``withheld`` are the positions of those that are
    not to be served; ``last`` is the digest of the one at ``position``.
    """

    documents: tuple[Kept, ...]
    position: int
    missing: int = 0
    last: bytes = b""
    withheld: tuple[int, ...] = ()


def _now() -> int:
    return time.time_ns() // 1_000_000


class FeedLog:
    """The log in one file; a context manager. Any number of threads may use it, of one process.

    All methods raise :class:`DisseminationError` as :class:`~heptox.matching.database.Database` (HX9050, HX9052,
    HX9053).

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> log = FeedLog(Path(folder.name) / "feed.sqlite")
    >>> [log.append(name, name, b"<Books/>") for name in ("a.xml", "b.xml", "a.xml")]
    [1, 2, 1]
    >>> page = log.fetch(1, 2)
    >>> [(one.position, one.name) for one in page.documents], page.position, page.missing
    ([(2, 'b.xml')], 2, 0)
    >>> log.close(); folder.cleanup()
    """

    feed: str
    """The name of the feed: 16 hexadecimal digits, by chance, made with the file."""

    def __init__(
        self,
        file: Path,
        retention: FeedRetention = FeedRetention(),
        gate: Gate | None = None,
        *,
        busy: float = BUSY_SECONDS,
        clock: Callable[[], int] = _now,
    ) -> None:
        """Open the log in ``file``, or begin one. The ``gate`` signs what is published; without one that is left until
        there is one. ``busy``: seconds to wait for another process; ``clock``: the time, milliseconds since 1970.

        Raises :class:`DisseminationError` as :class:`~heptox.matching.database.Database`.
        """
        self.file = file
        self.is_new = not file.exists()
        """Whether the file was made just now."""
        self._gate = gate
        self._retention = retention
        self._clock = clock
        self._database = Database(file, FORMAT, busy)
        try:
            self._database.write(_add_tables)
            self.feed = self._name()
            self._database.write(self._sign)
        except BaseException:
            self._database.close()
            raise

    def _name(self) -> str:
        with self._database.reading() as reader:
            names = [row[0] for row in reader.execute("SELECT name FROM feed LIMIT 2")]
        if len(names) != 1:
            message = f"is damaged: it is of {'several feeds' if names else 'no feed'}"
            raise DisseminationError(Fault("HX9050", message, hint=REMEDY, file=str(self.file)))
        name: str = names[0]
        return name

    def __enter__(self) -> FeedLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was announced is on the disk already."""
        self._database.close()

    # -- what is published -------------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """The position of the last document that was published, whether or not it is kept; 0: none was."""
        with self._database.reading() as reader:
            return _Feed.of(reader).position

    def append(self, name: str, id: str, data: bytes) -> int:  # noqa: A002  # as publications name it
        """Publish a document; its position, once it is on the disk.

        One whose id is kept already changes nothing, and has the position that it was given first; its name and data
        are not compared.
        """

        def append(connection: sqlite3.Connection) -> int:
            position = _append(connection, (id, name, data), self._retention)
            self._sign(connection)
            return position

        return self._database.write(append)

    def _sign(self, connection: sqlite3.Connection) -> None:
        """Sign what is not signed yet."""
        if self._gate is None:
            return
        last, previous = connection.execute(
            "SELECT position, digest FROM signed UNION ALL SELECT 0, x'' ORDER BY 1 DESC LIMIT 1"
        ).fetchone()
        query = "SELECT position, name, id, data FROM document WHERE position > ? ORDER BY position"
        for row in connection.execute(query, (last,)):
            position, name, identity, content = row
            before = previous if position == last + 1 else b""
            kept = Kept(position, name, identity, content, before)
            document = self._gate.signed(kept.of(self._gate.peer, self.feed))
            last, previous = document.sequence, document.digest
            connection.execute("INSERT INTO signed VALUES (?, ?, ?)", (last, previous, document.signature))
        connection.execute("DELETE FROM signed WHERE position < (SELECT gone FROM feed)")

    @property
    def last(self) -> bytes:
        """The digest of the last document that was published; empty where it is not signed."""
        with self._database.reading() as reader:
            return _digest(reader, _Feed.of(reader).position)

    def document(self, position: int) -> Kept:
        """A document that is kept; raises ``LookupError`` for one that is not."""
        for kept in self.fetch(position - 1, position).documents:
            return kept
        raise LookupError(position)

    def fetch(
        self,
        since: int,
        upto: int,
        limit_documents: int = PAGE_DOCUMENTS,
        limit_bytes: int = PAGE_BYTES,
        withholds: Callable[[int, bytes], bool] = lambda _, __: False,
    ) -> Page:
        """The first documents after the position ``since`` and up to ``upto``; at least one if there is one.

        More than one only within both limits, the second one bytes of data. The next page is asked for since the
        position of this one; when that is ``upto``, or that of the last document, there is none. ``withholds`` tells,
        by position and data, what is not to be served: where a page ends tells nothing of how long that is.
        """
        with self._database.reading() as reader:
            feed = _Feed.of(reader)
            since, upto = max(since, 0), min(upto, feed.position)
            if since >= upto:
                return Page((), since)
            begin = max(since, min(feed.gone, upto))
            documents, withheld, size = list[Kept](), list[int](), 0
            limit = max(limit_documents, 1)
            rows = reader.execute(_FETCH, (begin, upto, limit))
            for kept in map(Kept._make, rows):
                if withholds(kept.position, kept.data):
                    withheld.append(kept.position)
                    continue
                size += len(kept.data)
                if documents and size > limit_bytes:
                    upto = kept.position - 1
                    break
                documents.append(kept)
            rows.close()
            end = min(upto, begin + limit)
            return Page(tuple(documents), end, begin - since, _digest(reader, end), tuple(withheld))

    @property
    def announced(self) -> bool:
        """Whether the feed was ever announced: :meth:`next_version` was asked."""
        with self._database.reading() as reader:
            return bool(reader.execute("SELECT version FROM feed").fetchone()[0])

    def next_version(self) -> int:
        """The version of the next announcement: greater than any before, on the disk.

        It is the time in milliseconds, or one more than the version before: so it grows also when the file was lost.
        """
        return self._database.write(partial(_next_version, now=self._clock()))

    # -- who has a right to what was published before ----------------------------------------------------------------

    def meet(self, peers: Iterable[str]) -> None:
        """Some peers are acquaintances now: what was published before is not served through them.

        For those that were before nothing changes. Before the feed was announced, all of it is for them.
        """
        self._database.write(partial(_meet, peers=tuple(peers), now=self._clock()))

    def confirm(self, subscriber: str, neighbour: str, position: int) -> int:
        """A subscriber asks through a neighbour, and is about to be confirmed at a position, unless it was before; the
        position after which it may have what was published.

        That is where it was first confirmed, but none before the neighbour became an acquaintance. Who asks first
        within :data:`BEGINNING` of the first announcement has a right to the feed from its beginning. At most
        :data:`MOST_CONFIRMED` subscribers are remembered for each neighbour, those that were seen last.
        """
        now = self._clock()
        with self._database.reading() as reader:
            found = _confirmed(reader, subscriber, neighbour)
        if found is None or now - found.seen > SEEN_EVERY:
            found = self._database.write(
                partial(_confirm, subscriber=subscriber, neighbour=neighbour, position=position, now=now)
            )
        return found.since

    # -- the feeds of others -----------------------------------------------------------------------------------------

    def keep(self, publisher: str, feed: str, position: int, number: int, *, own: bool = False) -> None:
        """Keep how far this peer is with the feed of a publisher, instead of what was kept before; see
        :class:`Reached`. Of more than :data:`MOST_REACHED` publishers those are forgotten that have confirmed nothing,
        and then those that have not confirmed the last subscriptions."""
        values = (publisher, feed, position, number)
        self._database.write(partial(_keep, table="own_reached" if own else "reached", values=values))

    def reached(self) -> list[Reached]:
        """How far this peer is with the feeds of others, by publisher."""
        with self._database.reading() as reader:
            query = "SELECT publisher, feed, position, number FROM {} ORDER BY publisher"
            plain = [Reached(*row) for row in reader.execute(query.format("reached"))]
            return [*plain, *(replace(Reached(*row), own=True) for row in reader.execute(query.format("own_reached")))]

    def distrust(self, distrusted: Distrusted) -> None:
        """Keep what is held against a neighbour."""
        values = (distrusted.neighbour, distrusted.publisher, distrusted.reason)
        self._database.write(
            lambda connection: connection.execute("INSERT OR REPLACE INTO distrusted VALUES (?, ?, ?)", values)
        )

    def forgive(self, neighbour: str) -> None:
        """Forget what is held against a neighbour."""
        self._database.write(
            lambda connection: connection.execute("DELETE FROM distrusted WHERE neighbour = ?", (neighbour,))
        )

    def distrusted(self) -> list[Distrusted]:
        """What is held against neighbours."""
        with self._database.reading() as reader:
            rows = reader.execute("SELECT neighbour, publisher, reason FROM distrusted ORDER BY neighbour, publisher")
            return [Distrusted(*row) for row in rows]

    # -- words -------------------------------------------------------------------------------------------------------

    def write_under(self, schema: str) -> int:
        """What is published from now on is written under a schema; the position since which it is."""
        return self._database.write(partial(_write_under, schema=schema))

    def keep_wording(self, publisher: str, feed: str, wording: Wording) -> None:
        """Keep in which words a publisher has written since a position; only the last :data:`WORDINGS` of it are
        kept. Of more than :data:`MOST_WORDED` publishers those are forgotten that have confirmed nothing in own words,
        or not the last subscriptions."""
        mappings = json.dumps(wording.mappings)
        values = (publisher, feed, wording.since, wording.schema, mappings)
        self._database.write(partial(_keep_wording, values=values))

    def wordings(self, publisher: str | None = None) -> list[tuple[str, str, Wording]]:
        """The publishers, or one of them, their feeds, and the words in which they have written, by position."""
        which = "" if publisher is None else "WHERE publisher = ?"
        query = f"SELECT publisher, feed, schema, since, mappings FROM wording {which} ORDER BY publisher, feed, since"
        with self._database.reading() as reader:
            return [
                (publisher, feed, Wording(schema, since, tuple(json.loads(mappings))))
                for publisher, feed, schema, since, mappings in reader.execute(query, (publisher,) if publisher else ())
            ]

    # -- looking after it --------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """What is wrong with the file, or between its parts; empty when nothing is. It reads everything."""
        problems = self._database.problems()
        if problems:
            return problems
        with self._database.reading() as reader:
            return [f"{what}: {row}" for what, query in _CHECKS.items() for row in reader.execute(query)]


# -- looking and changing: changes are carried out in a transaction --------------------------------------------------


class _Feed(NamedTuple):
    """The row of the table."""

    position: int
    gone: int
    bytes: int

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> _Feed:
        return cls._make(connection.execute("SELECT position, gone, bytes FROM feed").fetchone())


def _append(connection: sqlite3.Connection, publication: tuple[str, str, bytes], retention: FeedRetention) -> int:
    identity, name, data = publication
    found = connection.execute(_POSITION_OF, {"id": identity}).fetchone()
    if found is not None:
        held: int = found[0]
        return held
    feed = _Feed.of(connection)
    position = feed.position + 1
    document = (position, secrets.token_hex(16), name, data)
    connection.execute("INSERT INTO document (position, id, name, data) VALUES (?, ?, ?, ?)", document)
    connection.execute("INSERT INTO published (id, position) VALUES (?, ?)", (identity, position))
    _forget(connection, _Feed(position, feed.gone, feed.bytes + len(data)), retention)
    return position


def _forget(connection: sqlite3.Connection, feed: _Feed, retention: FeedRetention) -> None:
    """Let the oldest documents go that are more than is kept, and count what is left."""
    position, gone, size = feed
    oldest = connection.execute("SELECT length(data) FROM document ORDER BY position")
    for (length,) in oldest:
        if position - gone <= retention.documents and size <= retention.bytes:
            break
        gone, size = gone + 1, size - length
    oldest.close()
    if gone > feed.gone:
        connection.execute("DELETE FROM document WHERE position <= ?", (gone,))
        connection.execute("DELETE FROM published WHERE position <= ?", (gone,))
    connection.execute("UPDATE feed SET position = ?, gone = ?, bytes = ?", (position, gone, size))


class _Confirmed(NamedTuple):
    """After which position a subscriber may have documents, and when it was seen."""

    since: int
    seen: int


def _meet(connection: sqlite3.Connection, peers: tuple[str, ...], now: int) -> None:
    position, version = connection.execute("SELECT position, version FROM feed").fetchone()
    since = position if version else 0
    known = "INSERT INTO met VALUES (?, ?, ?) ON CONFLICT (peer) DO UPDATE SET seen = excluded.seen"
    connection.executemany(known, ((peer, since, now) for peer in peers))
    connection.execute(
        f"DELETE FROM met WHERE peer IN (SELECT peer FROM met ORDER BY seen DESC LIMIT -1 OFFSET {MOST_CONFIRMED})"
    )


def _confirmed(connection: sqlite3.Connection, subscriber: str, neighbour: str) -> _Confirmed | None:
    query = """
        SELECT max(confirmed.since, met.since), confirmed.seen FROM confirmed, met
        WHERE confirmed.peer = ? AND met.peer = ?
    """
    found = connection.execute(query, (subscriber, neighbour)).fetchone()
    return None if found is None else _Confirmed(*found)


def _confirm(connection: sqlite3.Connection, subscriber: str, neighbour: str, position: int, now: int) -> _Confirmed:
    connection.execute("INSERT OR IGNORE INTO met VALUES (?, ?, ?)", (neighbour, position, now))
    begun = connection.execute("SELECT max(at) FROM begun").fetchone()[0]
    is_new = begun is not None and 0 <= now - begun <= BEGINNING
    connection.execute(
        "INSERT INTO confirmed SELECT ?, peer, max(since, ?), ? FROM met WHERE peer = ? "
        "ON CONFLICT (peer) DO UPDATE SET seen = excluded.seen",
        (subscriber, 0 if is_new else position, now, neighbour),
    )
    connection.execute("DELETE FROM confirmed WHERE seen < ?", (now - REMEMBERED,))
    connection.execute(
        f"""
        DELETE FROM confirmed WHERE peer IN (
            SELECT peer FROM confirmed WHERE neighbour = ? ORDER BY seen DESC LIMIT -1 OFFSET {MOST_CONFIRMED})
        """,
        (neighbour,),
    )
    connection.execute(
        f"""
        DELETE FROM confirmed WHERE peer IN (
            SELECT peer FROM confirmed ORDER BY seen DESC LIMIT -1 OFFSET {MOST_CONFIRMED_IN_ALL})
        """
    )
    return _confirmed(connection, subscriber, neighbour) or _Confirmed(position, now)


def _next_version(connection: sqlite3.Connection, now: int) -> int:
    if not connection.execute("SELECT version FROM feed").fetchone()[0]:
        connection.execute("INSERT INTO begun VALUES (?)", (now,))
    connection.execute("UPDATE feed SET version = max(version + 1, ?)", (now,))
    version: int = connection.execute("SELECT version FROM feed").fetchone()[0]
    return version


def _add_tables(connection: sqlite3.Connection) -> None:
    for statement in ADDED.split(";"):
        if statement.strip():
            connection.execute(statement)


def _keep(connection: sqlite3.Connection, table: str, values: tuple[str, str, int, int]) -> None:
    is_known = connection.execute(f"SELECT 1 FROM {table} WHERE publisher = ?", values[:1]).fetchone()
    connection.execute(
        f"INSERT OR REPLACE INTO {table} (publisher, feed, position, number) VALUES (?, ?, ?, ?)", values
    )
    if not is_known:
        connection.execute(
            f"""
            DELETE FROM {table} WHERE publisher IN (
                SELECT publisher FROM {table} ORDER BY number DESC LIMIT -1 OFFSET {MOST_REACHED})
            """
        )


def _write_under(connection: sqlite3.Connection, schema: str) -> int:
    last = connection.execute("SELECT since, schema FROM written ORDER BY rowid DESC LIMIT 1").fetchone()
    if last is not None and last[1] == schema:
        known: int = last[0]
        return known
    since = _Feed.of(connection).position
    connection.execute("INSERT INTO written VALUES (?, ?)", (since, schema))
    return since


def _keep_wording(connection: sqlite3.Connection, values: tuple[str, str, int, str, str]) -> None:
    connection.execute("INSERT OR REPLACE INTO wording VALUES (?, ?, ?, ?, ?)", values)
    connection.execute(
        f"""
        DELETE FROM wording WHERE publisher = ? AND (feed != ? OR since NOT IN (
            SELECT since FROM wording WHERE publisher = ? AND feed = ? ORDER BY since DESC LIMIT {WORDINGS}))
        """,
        (*values[:2], *values[:2]),
    )
    connection.execute(
        f"""
        DELETE FROM wording WHERE publisher IN (
            SELECT one.publisher FROM (SELECT DISTINCT publisher FROM wording WHERE publisher != ?) AS one
            LEFT JOIN own_reached ON own_reached.publisher = one.publisher
            ORDER BY ifnull(number, -1) DESC LIMIT -1 OFFSET {MOST_WORDED - 1})
        """,
        values[:1],
    )


def _digest(connection: sqlite3.Connection, position: int) -> bytes:
    found = connection.execute("SELECT digest FROM signed WHERE position = ?", (position,)).fetchone()
    digest: bytes = found[0] if found is not None else b""
    return digest


_POSITION_OF: Final = """
    SELECT position FROM published WHERE id = :id UNION ALL SELECT position FROM document WHERE id = :id
"""
_FETCH: Final = """
    SELECT document.position, name, id, data, ifnull(before.digest, x''), ifnull(signed.signature, x'') FROM document
    LEFT JOIN signed ON signed.position = document.position
    LEFT JOIN signed AS before ON before.position = document.position - 1
    WHERE document.position > ? AND document.position <= ? ORDER BY document.position LIMIT ?
"""
_CHECKS: Final = {
    "positions are left out (gone, position, found)": """
        SELECT gone, position, (SELECT count(*) FROM document) FROM feed
        WHERE (SELECT count(*) FROM document) != position - gone
           OR (SELECT count(*) FROM document WHERE document.position > gone AND document.position <= feed.position)
              != position - gone
    """,
    "what is kept is miscounted (bytes, found)": """
        SELECT bytes, ifnull((SELECT sum(length(data)) FROM document), 0) FROM feed
        WHERE bytes != ifnull((SELECT sum(length(data)) FROM document), 0)
    """,
}
