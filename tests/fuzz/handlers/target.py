"""The daemon that is attacked, and those that attack it: strangers, and an acquaintance that it has agreed with."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import trio

from heptox.demo import HOSPITAL
from heptox.peer import Client, PeerFolder, Standing, SubscriptionEntry, SubscriptionsRequest
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.wire.identity import Identity
from tests.hostile.attacks import Friend
from tests.hostile.test_offers import Stranger, boston_peer, run, stranger
from tests.peer.daemons import Daemon, daemon, wait_until

QUERY: Final = "//Patient"
FRIEND: Final = b"friend" + bytes(26)
RECORDS: Final = (HOSPITAL / "boston.xml").read_bytes()


@dataclass(frozen=True, slots=True)
class Target:
    """A daemon as others see it who may run in other processes; ``schema`` is the key of its schema."""

    folder: Path
    address: str
    schema: str

    @property
    def peer_id(self) -> str:
        return self.address.rpartition("/")[2]

    def client(self) -> Client:
        return Client.connect(self.folder)


@contextmanager
def attacked_daemon(path: Path) -> Iterator[tuple[Daemon, Target, Friend]]:
    """A daemon whose administrator decides on offers, with records, subscriptions, a feed, and an honest friend."""
    folder = boston_peer(path / "boston", policy="ask", offers=1000, history="retained", audit_megabytes=1)
    schema = schema_key(PeerFolder.open(folder).schema())
    with daemon(folder) as running:
        target = Target(folder, running.address, schema)
        with running.client() as client:
            client.subscribe(SubscriptionsRequest(subscriptions=(SubscriptionEntry(name="kept", xpath="//Patient"),)))
            client.publish("records.xml", RECORDS)
        run(lambda: become_acquainted(running, target))
        with running.client() as client:
            wait_until(lambda: client.status().acquaintances[0].standing == "agreed")
        yield running, target, Friend(FRIEND, schema)


async def become_acquainted(running: Daemon, target: Target) -> None:
    async with stranger(running, FRIEND) as friend:
        await agree(friend, target, "friend")


async def agree(made: Stranger, target: Target, name: str) -> bool:
    """Offer an acquaintance, which the owner accepts; whether it is agreed then, by both."""
    reply = await made.make(made.offer(name=name))
    if reply.standing is Standing.PROPOSED:
        await trio.to_thread.run_sync(_accept, target, made.peer)
        reply = await made.make(made.offer(name=name))
    return reply.standing is Standing.AGREED


def _accept(target: Target, peer: str) -> None:
    with target.client() as client:
        client.accept(peer)


def key_of(name: str, target: Target) -> bytes:
    """The key of an acquaintance that attacks, by a name: its id is the smaller one, so that it opens links."""
    keys = (hashlib.sha256(f"{name} {one}".encode()).digest() for one in count())
    return next(key for key in keys if Identity(key).peer_id < target.peer_id)
