"""The acquaintances of a running peer and the offers that wait, in memory as on the disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import trio

from heptox.errors import HeptoxError
from heptox.mapping import Mapping, load_packed_mapping
from heptox.peer.acquaintance.acquainting import acquaintance_fields, offered_names, resolve_peer, schema_at, schema_key
from heptox.peer.folder.folder import Acquaintance, PeerFolder
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import Offer
from heptox.peer.wire.standing import Standing

MOST_REASON: Final = 1000
"""Characters at most of why the other side has refused or ended an acquaintance."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Known:
    """An acquaintance at work; ``mapping`` is ``None`` when ``fault`` keeps queries from it.

    ``clock`` is how many seconds its clock was ahead of ours when it replied last, ``other`` what was wrong with its
    schema then: it refuses our queries itself.
    """

    acquaintance: Acquaintance
    files: MappingFiles
    mapping: Mapping | None
    fault: str = ""
    clock: float | None = None
    other: str = ""

    @property
    def peer(self) -> PeerId:
        return self.acquaintance.peer_id


class Record(Protocol):
    """Writes to the audit log; what was written is on the disk when it returns."""

    async def __call__(self, event: str, **fields: Any) -> None: ...


class AcquaintanceRegister:
    """What a peer holds of its acquaintances. A task that changes it holds the lock ``writing``.

    ``changed`` is called whenever something has changed, ``record`` with what goes to the audit log, ``follow`` with
    the peer of an acquaintance that is new, is gone, or comes into force or out of it; it may be set at any time.
    """

    def __init__(self, folder: PeerFolder, changed: Callable[[], None], record: Record) -> None:
        self.folder = folder
        self.changed = changed
        self.record = record
        self.follow: Callable[[PeerId], None] = lambda _: None
        self.writing = trio.Lock()
        self.key = schema_key(folder.schema())
        self.known: dict[PeerId, Known] = {}
        self.requests = folder.requests()

    def find(self, who: str) -> Known:
        """The acquaintance of that name or peer id; raises :class:`PeerError` (HX7067) when nobody is meant."""
        names = {one.peer: one.acquaintance.name for one in self.known.values()}
        return self.known[resolve_peer(who, names, "is an acquaintance")]

    def names(self) -> dict[PeerId, str]:
        """The names of the peers whose offers wait."""
        return offered_names(self.requests.waiting(), (known.acquaintance for known in self.known.values()))

    async def open(self) -> None:
        """Read the acquaintances and their mappings; raises what is wrong with any."""
        for acquaintance in await trio.to_thread.run_sync(self.folder.acquaintances):
            known = await trio.to_thread.run_sync(self._read, acquaintance)
            self.known[known.peer] = known

    def _read(self, acquaintance: Acquaintance, mapping: Mapping | None = None) -> Known:
        """An acquaintance from the disk; ``mapping`` is its mapping, where that was read before."""
        files = MappingFiles.read(acquaintance.mapping)
        try:
            mapping = mapping or files.load()
        except HeptoxError:  # again, with the names of the files that are to be mended
            mapping = load_packed_mapping(files.files, files.mapping, acquaintance.mapping.parent)
        if schema_key(schema_at(mapping, acquaintance.side)) != self.key:
            reason = "the mapping is for another schema than the one that this peer has now"
            _log.warning("%s: %s", acquaintance.name, reason)
            return Known(acquaintance, files, None, reason)
        return Known(acquaintance, files, mapping)

    async def add(
        self, event: str, made: Acquaintance, mapping: Mapping | None = None, offer: Offer | None = None
    ) -> Known:
        """Take over an acquaintance that is on the disk; ``offer`` is that by which it was made, if any."""
        if offer is not None:
            self.requests.drop(made.peer_id)
        digest = {} if offer is None else {"digest": offer.digest(made.peer_id)}
        await self.record(event, **acquaintance_fields(made), **digest)
        known = await trio.to_thread.run_sync(self._read, made, mapping)
        self.known[known.peer] = known
        self.follow(known.peer)
        self.changed()
        return known

    async def change(self, after: Acquaintance) -> None:
        """Keep what has changed of an acquaintance, on the disk too."""
        known = self.known[after.peer_id]
        before = known.acquaintance
        if after == before:
            return
        await trio.to_thread.run_sync(self.folder.change_acquaintance, after)
        self.known[after.peer_id] = replace(known, acquaintance=after)
        await self.record("stands", **acquaintance_fields(after), reason=after.reason)
        if after.standing.in_force != before.standing.in_force:
            self.follow(after.peer_id)
        self.changed()

    async def remove(self, known: Known, reason: str) -> None:
        """End an acquaintance; raises as :meth:`PeerFolder.drop_acquaintance`."""
        await trio.to_thread.run_sync(self.folder.drop_acquaintance, known.acquaintance)
        await self.record("ended", **acquaintance_fields(known.acquaintance), reason=reason)
        del self.known[known.peer]
        self.follow(known.peer)
        self.changed()


def standing_as(known: Known, standing: Standing, reason: str) -> Acquaintance:
    """An acquaintance as the other side says that it stands."""
    return replace(known.acquaintance, standing=standing, reason=reason[:MOST_REASON])
