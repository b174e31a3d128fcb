"""Whole peers of one process, each on its folder: started, stopped, acquainted, cut off from each other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import trio
from prometheus_client.parser import text_string_to_metric_families

from heptox.matching import Options, Publication, SubscriptionRequest
from heptox.peer import PeerFolder, propose
from heptox.peer.control.service import PeerService
from heptox.peer.daemon import running
from heptox.peer.feed.feeds import Feeds
from heptox.peer.feed.publishing import Offer
from heptox.peer.folder.audit import read_audit
from heptox.peer.wire.standing import Side
from heptox.settings import peer_settings_text

DTDS: Final = {
    "left": "<!ELEMENT a (b | c)*> <!ELEMENT b (d?)> <!ELEMENT c (b | d)*> <!ELEMENT d (#PCDATA)>",
    "right": "<!ELEMENT a (e | c)*> <!ELEMENT e (e?, f?)> <!ELEMENT c (#PCDATA)> <!ELEMENT f (#PCDATA)>",
}
"""Two schemas, of which each has paths that the other has not."""
LEAVES: Final = {"left": "b/d", "right": "c"}
MOST: Final = 1_000_000


class Peer:
    """A peer in ``folder``, which runs or does not."""

    def __init__(self, folder: Path, schema: str) -> None:
        self.folder = folder
        self.schema = schema
        self.service: PeerService | None = None
        self.peer_id = PeerFolder.open(folder).identity.peer_id
        self.busy = trio.Lock()
        """Held by whoever does something there, or stops it."""
        self._ended = trio.Event()

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def at_work(self) -> PeerService:
        assert self.service is not None
        return self.service

    @property
    def feeds(self) -> Feeds:
        feeds = self.at_work.subscribing.feeds
        assert feeds is not None
        return feeds

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until :meth:`stop`."""
        self._ended = trio.Event()
        opened = PeerFolder.open(self.folder)
        try:
            with opened.locked():
                async with running(opened) as self.service:
                    task_status.started()
                    await self.service.stopping.wait()
                    self.service = None  # from now on nobody asks it for anything
        finally:
            self.service = None
            self._ended.set()

    async def stop(self) -> None:
        if self.service is not None:
            self.service.stopping.set()
            await self._ended.wait()

    # -- what people do there ----------------------------------------------------------------------------------------

    async def subscribe(self, name: str, xpath: str, **options: Any) -> tuple[str, ...]:
        """Add a subscription; the publishers that have not confirmed it."""
        wanted = SubscriptionRequest(name, xpath, Options(**{"backlog": MOST, **options}))
        return (await self.at_work.subscribing.subscribe([wanted], [], skipping=False)).unconfirmed

    async def publish(self, name: str, text: str) -> Offer:
        return (await self.at_work.subscribing.publish(Publication(name, text.encode()), None))[1]

    async def acquaint(self, other: Peer) -> None:
        """Offer ``other`` an acquaintance, which it accepts by itself; it runs."""
        mapping = arrows(self.folder.parent, self.schema, other.schema)
        proposal = propose(other.at_work.transport.addresses[0], mapping, Side.SOURCE, other.name)
        await self.at_work.acquaintances.acquaint(proposal)

    # -- what is seen ------------------------------------------------------------------------------------------------

    def number(self, name: str) -> int:
        return self.at_work.subscribing.log.subscription(name).number

    def delivered(self, name: str) -> Counter[str]:
        """The documents of which a subscription was notified."""
        return Counter(one.name for one in self.at_work.subscribing.log.fetch(name, 1, MOST))

    def notes(self, what: str) -> list[dict[str, Any]]:
        """What the audit log says of feeds."""
        events = map(json.loads, read_audit(self.folder, MOST))
        return [one for one in events if one["event"] == "feed" and one["what"] == what]

    @property
    def acquaintances(self) -> set[str]:
        """The ids of its acquaintances."""
        return {known.peer for known in self.at_work.acquaintances.known}

    def metric(self, name: str) -> float:
        """A number without labels, as Prometheus reads it."""
        found = text_string_to_metric_families(self.at_work.recorder.metrics.exposition().decode())
        return next(sample.value for family in found for sample in family.samples if sample.name == name)

    def linked(self, other: Peer) -> bool:
        return self.feeds.feeding.links.linked(other.peer_id)

    @property
    def publishers(self) -> set[str]:
        """The ids of the publishers that it reaches."""
        return {seen.publisher for seen in self.feeds.router.publishers}

    def reaches(self, publisher: Peer) -> bool:
        return publisher.peer_id in self.publishers


def arrows(folder: Path, source: str, target: str) -> Path:
    """The file of the mapping from a schema to another one, for peers in ``folder``."""
    return folder / f"{source}-{target}.arrows"


def new_peer(path: Path, schema: str = "left", **settings: Any) -> Peer:
    """A new peer, which becomes acquainted with whoever wants it."""
    for name, text in DTDS.items():
        (path.parent / f"{name}.dtd").write_text(text)
        for other in DTDS:
            arrows(path.parent, name, other).write_text(
                f'source "{name}.dtd" root a\ntarget "{other}.dtd" root a\n{LEAVES[name]} -> {LEAVES[other]}\n'
            )
    made = PeerFolder.create(path, path.parent / f"{schema}.dtd", root="a")
    changed = replace(made.settings, policy="open", log="error", **settings)
    (path / "peer.toml").write_text(peer_settings_text(changed))
    return Peer(path, schema)


@asynccontextmanager
async def peers_at_work(*peers: Peer) -> AsyncIterator[trio.Nursery]:
    """Run peers, which may be stopped and run again in the nursery; in the end all are stopped."""
    async with trio.open_nursery() as nursery:
        async with trio.open_nursery() as starting:
            for peer in peers:
                starting.start_soon(nursery.start, peer.run)
        yield nursery
        for peer in peers:
            await peer.stop()
