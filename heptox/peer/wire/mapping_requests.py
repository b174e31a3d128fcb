"""What peers say to each other about the mappings on the way of a feed (``protocol.md``): calls of :data:`PROTOCOL`.

Who hears of a publisher hears which mappings lead there, by their digests. A mapping that it does not have it asks for
of the neighbour from which it has heard; that one has it, or asks on along the way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from heptox.codec import Identifier, Messages, Sentence, malformed, matching, number
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.messages import PATH_LIMIT, PeerId
from heptox.peer.wire.standing import Side

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

    digest: Annotated[Identifier, matching(_DIGEST, "none of a mapping")]
    publisher: PeerId
    hops: Annotated[int, number(PATH_LIMIT)]


@dataclass(frozen=True, slots=True)
class NoMapping:
    """The mapping is not to be had, and why."""

    reason: Sentence


MappingReply: TypeAlias = MappingFiles | NoMapping

_REQUESTS: Final = Messages[MappingRequest]({"mapping-request": MappingRequest})
encode_request: Final = _REQUESTS.encode
decode_request: Final = _REQUESTS.decode
_REPLIES: Final = Messages[MappingReply]({"mapping": MappingFiles, "no-mapping": NoMapping})


def encode_mapping(reply: MappingReply) -> bytes:
    """The bytes of a reply; raises as :meth:`heptox.codec.Messages.encode`."""
    data = _REPLIES.encode(reply)
    if isinstance(reply, MappingFiles) and len(data) > MAPPING_LIMIT:
        return _REPLIES.encode(NoMapping(f"it is longer than {MAPPING_LIMIT} bytes"))
    return data


def decode_mapping(data: bytes) -> MappingReply:
    """The reply in some bytes; raises :class:`PeerError` as :meth:`heptox.codec.Messages.decode`, and HX7061 for names
    of files."""
    if len(data) > MAPPING_LIMIT:
        malformed(f"a mapping of {len(data)} bytes is longer than {MAPPING_LIMIT}")
    return _REPLIES.decode(data)
