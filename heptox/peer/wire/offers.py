"""What peers say to each other about being acquainted (``peers.md``): calls of the protocol :data:`PROTOCOL`.

A peer offers an acquaintance whenever it has got a connection, and the other replies how it stands there. Saying the
same again changes nothing, so whatever was lost on the way is made up for by the next connection.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from heptox.codec import Check, Identifier, Inline, Messages, Named, Sentence, malformed
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.standing import Side, Standing

PROTOCOL: Final = "/heptox/acquaint/1"
ADDRESSES_LIMIT: Final = 8
"""Addresses in an offer at most."""


def _check_addresses(name: str, addresses: tuple[str, ...]) -> None:
    if len(addresses) > ADDRESSES_LIMIT:
        malformed(f"the field {name!r} holds more than {ADDRESSES_LIMIT}")


@dataclass(frozen=True, slots=True)
class Offer:
    """The sender's side of an acquaintance, as it has it on its disk.

    ``name`` is what it calls itself, ``addresses`` where it listens, ``side`` which side of the mapping it is;
    ``schema`` identifies the schema that it has now (``acquainting.schema_key``); ``agreed`` whether the receiver had
    agreed before; ``version`` counts the mappings that the two have had.
    """

    name: Identifier
    addresses: Annotated[tuple[Sentence, ...], Check(_check_addresses)]
    files: Annotated[MappingFiles, Inline()]
    side: Side
    schema: Sentence
    agreed: bool = False
    version: Annotated[int, Named("number")] = 1

    def digest(self, peer: str) -> str:
        """What identifies all that is decided on when ``peer`` makes this offer: who it is, what it calls itself, where
        it listens, its side, the mapping and both schemas."""
        hashed = hashlib.blake2b(digest_size=20)
        for text in (peer, self.name, self.side, self.schema, self.files.digest, *self.addresses):
            hashed.update(f"{len(text)}\n{text}\n".encode())
        for file, content in sorted(self.files.files.items()):
            hashed.update(f"{file}\n{len(content)}\n".encode())
            hashed.update(content)
        return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The sender is no acquaintance of the receiver any more, or will not become one."""

    reason: Sentence


@dataclass(frozen=True, slots=True)
class Reply:
    """How the acquaintance stands at the receiver of an :class:`Offer` or :class:`Withdrawal`.

    ``PROPOSED``: its administrator has not decided. ``schema`` is the one that it has now; ``clock`` its time, in
    seconds since 1970.
    """

    standing: Standing
    reason: Sentence
    schema: Sentence
    clock: int


Call: TypeAlias = Offer | Withdrawal


_CALLS: Final = Messages[Call]({"offer": Offer, "withdraw": Withdrawal})
encode_call: Final = _CALLS.encode
decode_call: Final = _CALLS.decode
"""The call in some bytes; raises :class:`PeerError` as :meth:`heptox.codec.Messages.decode`, and HX7061 for names of
files."""

_REPLIES: Final = Messages[Reply]({"reply": Reply})
encode_reply: Final = _REPLIES.encode
decode_reply: Final = _REPLIES.decode
