"""Feeds of whole peers: what whoever subscribes, publishes and looks after them meets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
import trio

from heptox.dissemination.feed import FeedLog
from heptox.errors import DisseminationError, Fault
from heptox.peer import feeds
from tests.peer.networks import run, until
from tests.peer.whole_peers import Peer, new_peer, peers_at_work

DOCUMENT: Final = "<a><b><d>1</d></b></a>"


@asynccontextmanager
async def line(*peers: Peer) -> AsyncIterator[trio.Nursery]:
    """Peers of which each is acquainted with the next one."""
    async with peers_at_work(*peers) as nursery:
        for one, other in pairwise(peers):
            await one.acquaint(other)
            await until(lambda: one.linked(other) and other.linked(one))  # noqa: B023
        yield nursery


def test_a_subscription_counts_once_that_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")
    full = DisseminationError(Fault("HX9053", "the disk is full"))
    keep = FeedLog.keep

    def not_kept(*_: object) -> None:
        raise full

    async def test() -> None:
        async with line(publisher, subscriber):
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            monkeypatch.setattr(FeedLog, "keep", not_kept)
            monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 0.3)
            assert await subscriber.subscribe("one", "//d") == (publisher.peer_id,)
            assert subscriber.feeds.router.counts(publisher.peer_id, subscriber.number("one"))
            monkeypatch.setattr(FeedLog, "keep", keep)
            monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 30.0)
            assert await subscriber.subscribe("other", "//d") == ()

    run(test)
