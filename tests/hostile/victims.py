"""The daemon that the attacks of several modules share, its friend, and an acquaintance of it that publishes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import trio

from heptox.errors import HeptoxError
from tests.fuzz.handlers.links import Link
from tests.fuzz.handlers.target import QUERY, Target, agree, key_of
from tests.hostile.attacks import MEGABYTE, Bounds, Friend, no_harm
from tests.hostile.test_offers import stranger
from tests.peer.daemons import Daemon


@dataclass(frozen=True, slots=True)
class Victim:
    """The daemon that is attacked, as attacks see it, and its friend, who is served meanwhile."""

    daemon: Daemon
    target: Target
    friend: Friend


def harmless(victim: Victim, attack: Callable[[], object], growth: int = 64 * MEGABYTE) -> None:
    """Owner and friend are served while an attack goes on, and the daemon keeps within its bounds."""
    with no_harm(victim.daemon, query=QUERY, bounds=Bounds(growth=growth), friend=victim.friend):
        attack()


@asynccontextmanager
async def agreed(victim: Victim, link_of: type[Link] = Link) -> AsyncIterator[Link]:
    """A new acquaintance of the daemon with a link, on which nothing was said yet."""
    seed = key_of(secrets.token_hex(), victim.target)
    async with stranger(victim.daemon, seed) as made, trio.open_nursery() as nursery:
        assert await agree(made, victim.target, "publisher")
        link = link_of(made, seed, await made.transport.open_feed(made.asked))
        nursery.start_soon(link.answer)
        yield link
        nursery.cancel_scope.cancel()
    with victim.target.client() as client, suppress(HeptoxError):
        client.withdraw(made.peer)


@asynccontextmanager
async def linked(victim: Victim) -> AsyncIterator[Link]:
    """A link of a new acquaintance of the daemon, of whose feed it has asked."""
    async with agreed(victim) as link:
        await link.begin()
        await link.confirmed.wait()
        yield link
