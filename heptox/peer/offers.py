"""What peers say to each other about being acquainted (``peers.md``): calls of the protocol :data:`PROTOCOL`.

A peer offers an acquaintance whenever it has got a connection, and the other replies how it stands there. Saying the
same again changes nothing, so whatever was lost on the way is made up for by the next connection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from heptox.peer.mapping_files import MappingFiles
from heptox.peer.standing import Side, Standing
from heptox.peer.wire import Fields, malformed, pack, unpack

PROTOCOL: Final = "/heptox/acquaint/1"
ADDRESSES_LIMIT: Final = 8
"""Addresses in an offer at most."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The sender's side of an acquaintance, as it has it on its disk.

    ``name`` is what it calls itself, ``addresses`` where it listens, ``side`` which side of the mapping it is;
    ``schema`` identifies the schema that it has now (``acquainting.schema_key``); ``agreed`` whether the receiver had
    agreed before; ``version`` counts the mappings that the two have had.
    """

    name: str
    addresses: tuple[str, ...]
    files: MappingFiles
    side: Side
    schema: str
    agreed: bool = False
    version: int = 1

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

    reason: str


@dataclass(frozen=True, slots=True)
class Reply:
    """How the acquaintance stands at the receiver of an :class:`Offer` or :class:`Withdrawal`.

    ``PROPOSED``: its administrator has not decided. ``schema`` is the one that it has now; ``clock`` its time, in
    seconds since 1970.
    """

    standing: Standing
    reason: str
    schema: str
    clock: int


Call: TypeAlias = Offer | Withdrawal


def encode_call(call: Call) -> bytes:
    """The bytes of a call; raises as :func:`heptox.peer.wire.pack`."""
    if isinstance(call, Withdrawal):
        return pack("withdraw", {"reason": call.reason})
    fields = {
        "name": call.name,
        "addresses": list(call.addresses),
        "files": dict(call.files.files),
        "mapping": call.files.mapping,
        "side": call.side.value,
        "schema": call.schema,
        "agreed": call.agreed,
        "number": call.version,
    }
    return pack("offer", fields)


def decode_call(data: bytes) -> Call:
    """The call in some bytes.

    Raises :class:`PeerError` as :func:`heptox.peer.wire.unpack`, and HX7061 for names of files.
    """
    return unpack(data, _CALLS)


def encode_reply(reply: Reply) -> bytes:
    """The bytes of a reply."""
    fields: dict[str, Any] = {"standing": reply.standing.value, "reason": reply.reason, "schema": reply.schema}
    return pack("reply", {**fields, "clock": reply.clock})


def decode_reply(data: bytes) -> Reply:
    """The reply in some bytes; raises :class:`PeerError` as :func:`heptox.peer.wire.unpack`."""
    return unpack(data, {"reply": _read_reply})


def _read_offer(fields: Fields) -> Offer:
    addresses = fields.sentences("addresses")
    if len(addresses) > ADDRESSES_LIMIT:
        malformed(f"the field 'addresses' holds more than {ADDRESSES_LIMIT}")
    return Offer(
        fields.identifier("name"),
        addresses,
        MappingFiles(fields.contents("files"), fields.identifier("mapping")),
        fields.choice("side", Side),
        fields.sentence("schema"),
        fields.boolean("agreed"),
        fields.integer("number"),
    )


def _read_reply(fields: Fields) -> Reply:
    return Reply(
        fields.choice("standing", Standing),
        fields.sentence("reason"),
        fields.sentence("schema"),
        fields.integer("clock"),
    )


_CALLS: Final[dict[str, Callable[[Fields], Call]]] = {
    "offer": _read_offer,
    "withdraw": lambda fields: Withdrawal(fields.sentence("reason")),
}
