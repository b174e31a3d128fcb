"""Which documents that are published at a peer go to others, and which are kept at home.

Others learn which documents to expect: those whose paths the peer's schema has, unless the settings say that it may
be anything. What they do not expect would be lost on its way; so it does not leave, and its publisher
learns why. Neither does a document leave that shows something which the export policy hides from anybody: who reads it
in the end is not known. It leaves byte for byte; so where anything is hidden, it has nothing but what the schema has a
place for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from heptox.errors import DisseminationError
from heptox.feed import FeedDocument, FeedLog, Gate
from heptox.matching import MOST_NODES, Published
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.wire.identity import Ed25519, Identity
from heptox.peer.wire.messages import PeerId
from heptox.routing import Advertisement, Conformity, advertised, to_bytes
from heptox.schema import SchemaGraph
from heptox.settings import PeerSettings
from heptox.store import Hiding
from heptox.xml import Document, parse_document

MOST_JUDGED: Final = 200_000
"""Documents of the feed log of which it is remembered whether they may leave."""


def gate_of(identity: Identity) -> Gate:
    """What stands before the router of a peer of that identity."""
    return Gate(identity.peer_id, Ed25519(identity))


@dataclass(frozen=True, slots=True)
class Offer:
    """The outcome of offering a published document: it is in the feed log, as ``document`` if it is ``new`` there, or
    it is ``kept`` at home, for a reason."""

    document: FeedDocument | None = None
    new: bool = False
    kept: str = ""


class Publisher:
    """What a peer publishes for others. Only one thread uses it at a time.

    ``advertisement`` is what others expect; ``None``: anything. ``schema`` is the key of the schema that
    documents are of.
    """

    def __init__(self, peer: PeerId, settings: PeerSettings, schema: SchemaGraph, log: FeedLog) -> None:
        self.peer = peer
        self.log = log
        self.advertisement = _advertisement(settings, schema)
        self.schema = schema_key(schema)
        hidden = frozenset(path for hide in settings.hide for path in hide.paths)
        self._hiding = Hiding(schema, hidden) if hidden else None
        self._judged: dict[int, bool] = {}
        self._conformity = None if self.advertisement is None else Conformity(self.advertisement)

    def offer(self, published: Published, data: bytes, document: Document | None = None) -> Offer:
        """Keep a document that was published here for others, on the disk, unless it is to be kept at home. It is
        parsed where it is not given as a tree.

        The same once more changes nothing. Raises :class:`DisseminationError` as :class:`FeedLog`.
        """
        parsed = document or parse_document(data, published.name, most_nodes=MOST_NODES)
        kept = self.kept(parsed, data)
        if kept is not None:
            return Offer(kept=kept)
        self.log.write_under(self.schema)
        before = self.log.position
        position = self.log.append(published.name, published.id, data)
        logged = self.log.document(position).of(self.peer, self.log.feed)
        return Offer(logged.as_tree(parsed), new=position > before)

    def kept(self, document: Document, data: bytes) -> str | None:
        """Why a document, which is read from ``data``, is kept at home; ``None`` for one that is not."""
        misfit = self._conformity.first_misfit(document) if self._conformity else None
        if misfit is not None:
            return f"it is not of the schema that others are told: {misfit}"
        return self._hiding.shown(data) if self._hiding else None

    def withholds(self, position: int, data: bytes) -> bool:
        """Whether a document of the feed log may not leave any more: something has been hidden since."""
        if self._hiding is None:
            return False
        judged = self._judged.get(position)
        if judged is None:
            if len(self._judged) >= MOST_JUDGED:
                self._judged.clear()
            judged = self._judged[position] = self._hiding.shown(data) is not None
        return judged


def _advertisement(settings: PeerSettings, schema: SchemaGraph) -> Advertisement | None:
    if settings.feed != "schema":
        return None
    try:
        found = advertised(schema)
        to_bytes(found)
    except DisseminationError:  # no document of the schema is finite, or it is too large to be sent
        return None
    return found
