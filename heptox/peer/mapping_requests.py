"""What peers say to each other about the mappings on the way of a feed (``protocol.md``): calls of :data:`PROTOCOL`.

Who hears of a publisher hears which mappings lead there, by their digests. A mapping that it does not have it asks for
of the neighbour from which it has heard; that one has it, or asks on along the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from heptox.peer.mapping_files import MappingFiles
from heptox.peer.messages import PATH_LIMIT, PeerId
from heptox.peer.standing import Side
from heptox.peer.wire import Fields, malformed, pack, unpack

PROTOCOL: Final = "/heptox/mapping/1"
MAPPING_LIMIT: Final = 1024 * 1024
"""Bytes of a message with a mapping at most, as of an offer."""
_DIGEST: Final = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Link:
    """What is agreed on a link: the mapping's ``digest``, and which ``side`` of it the peer is that tells of it."""

    side: Side
    digest: str

    def __str__(self) -> str:
        """As it is told beside a path; :meth:`parse` reads it.

        >>> print(Link(Side.SOURCE, "0" * 32))
        source 00000000000000000000000000000000
        """
        return f"{self.side.value} {self.digest}"

    @classmethod
    def parse(cls, text: str) -> Link:
        """The link that a text tells of; raises ``ValueError`` for one that tells of none."""
        side, _, digest = text.partition(" ")
        return cls(Side(side), digest)


@dataclass(frozen=True, slots=True)
class MappingRequest:
    """The receiver is asked for a mapping on its way to a publisher; it may ask on over so many ``hops``."""

    digest: str
    publisher: PeerId
    hops: int


@dataclass(frozen=True, slots=True)
class NoMapping:
    """The mapping is not to be had, and why."""

    reason: str


MappingReply: TypeAlias = MappingFiles | NoMapping


def encode_request(request: MappingRequest) -> bytes:
    """The bytes of a request."""
    fields = {"digest": request.digest, "publisher": request.publisher, "hops": request.hops}
    return pack("mapping-request", fields)


def decode_request(data: bytes) -> MappingRequest:
    """The request in some bytes; raises :class:`PeerError` as :func:`heptox.peer.wire.unpack`."""
    return unpack(data, {"mapping-request": _read_request})


def encode_mapping(reply: MappingReply) -> bytes:
    """The bytes of a reply; raises as :func:`heptox.peer.wire.pack`."""
    if isinstance(reply, NoMapping):
        return pack("no-mapping", {"reason": reply.reason})
    fields: dict[str, Any] = {"files": dict(reply.files), "mapping": reply.mapping}
    data = pack("mapping", fields)
    if len(data) > MAPPING_LIMIT:
        return pack("no-mapping", {"reason": f"it is longer than {MAPPING_LIMIT} bytes"})
    return data


def decode_mapping(data: bytes) -> MappingReply:
    """The reply in some bytes; raises :class:`PeerError` as :func:`heptox.peer.wire.unpack`, and HX7061 for names of
    files."""
    if len(data) > MAPPING_LIMIT:
        malformed(f"a mapping of {len(data)} bytes is longer than {MAPPING_LIMIT}")
    return unpack(data, _REPLIES)


def _read_request(fields: Fields) -> MappingRequest:
    digest = fields.identifier("digest")
    if not _DIGEST.fullmatch(digest):
        malformed("the field 'digest' is none of a mapping")
    return MappingRequest(digest, fields.identifier("publisher"), fields.integer("hops", PATH_LIMIT))


_REPLIES: Final[dict[str, Callable[[Fields], MappingReply]]] = {
    "mapping": lambda fields: MappingFiles(fields.contents("files"), fields.identifier("mapping")),
    "no-mapping": lambda fields: NoMapping(fields.sentence("reason")),
}
