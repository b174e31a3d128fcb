"""The tables of the feed log, :mod:`heptox.feed.log`."""

from __future__ import annotations

from typing import Final

from heptox.matching import FileFormat

REMEDY: Final = "move it away for a new one: what others have not fetched yet does not come to them then"
_SCHEMA: Final = """
CREATE TABLE document (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    data BLOB NOT NULL
);
CREATE TABLE reached (
    publisher TEXT PRIMARY KEY,
    feed TEXT NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE feed (
    name TEXT NOT NULL,
    position INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    version INTEGER NOT NULL
);
INSERT INTO feed VALUES (lower(hex(randomblob(8))), 0, 0, 0, 0);
"""
FORMAT: Final = FileFormat("feed log", application=0x48584645, version=1, schema=_SCHEMA, remedy=REMEDY)  # "HXFE"
ADDED: Final = """
CREATE TABLE IF NOT EXISTS own_reached (
    publisher TEXT PRIMARY KEY,
    feed TEXT NOT NULL,
    position INTEGER NOT NULL,
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS wording (
    publisher TEXT NOT NULL,
    feed TEXT NOT NULL,
    since INTEGER NOT NULL,
    schema TEXT NOT NULL,
    mappings TEXT NOT NULL,
    PRIMARY KEY (publisher, feed, since)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written (since INTEGER NOT NULL, schema TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS begun (at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS met (
    peer TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    seen INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS confirmed (
    peer TEXT PRIMARY KEY,
    neighbour TEXT NOT NULL,
    since INTEGER NOT NULL,
    seen INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS confirmed_through ON confirmed (neighbour, seen);
CREATE INDEX IF NOT EXISTS confirmed_seen ON confirmed (seen);
CREATE TABLE IF NOT EXISTS published (id TEXT PRIMARY KEY, position INTEGER NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS signed (position INTEGER PRIMARY KEY, digest BLOB NOT NULL, signature BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS distrusted (
    neighbour TEXT NOT NULL,
    publisher TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (neighbour, publisher)
) WITHOUT ROWID;
"""
# Tables that older files do not have; who does not know them does without. `written` has the schema of this peer's own
# documents, from a position on, the newest last. `begun` has the time of the first announcement; `met` the position at
# which a peer became an acquaintance, `confirmed` that at which a subscriber was first confirmed, and through whom.
# `published` has the ids that documents were published under: where it has one, `document` has an id by chance.
# `signed` has the documents that are kept, and the last one that is gone.
# The documents that are kept are those after `gone`, up to `position`; `bytes` is the size of their data.
