"""Making an acquaintance: a mapping is checked, packed with its two schemas, and kept in the peer's folder."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping as Table
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from heptox.errors import Fault, PeerError
from heptox.mapping import Mapping, load_mapping
from heptox.peer.address import PeerAddress
from heptox.peer.folder import Acquaintance, PeerFolder, Side
from heptox.schema import SchemaGraph
from heptox.xmlio import read_bytes, read_text

# In .arrows and .rules alike, a schema is declared by a line that begins so (semantics.md section 2).
_SCHEMA_LINE: Final = re.compile(
    r'^(?P<before>[^\S\n]*(?P<side>source|target)\s*")(?P<file>[^"\n]+)(?=")', re.MULTILINE
)
_FILE_NAME: Final = re.compile(r"\w[\w.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Proposal:
    """An acquaintance to make: where the other listens, and the mapping with its schemas.

    ``files`` are the contents of all files by name, ``mapping`` the one to load; ``side`` is our side of it where that
    is not plain, ``name`` what to call the other, else it goes by the root of its schema.

    Raises :class:`PeerError` (HX7061) for files whose names are none.
    """

    address: PeerAddress
    files: Table[str, bytes]
    mapping: str
    side: Side | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.mapping not in self.files or not all(_FILE_NAME.fullmatch(file) for file in self.files):
            raise PeerError(Fault("HX7061", "the mapping's files have names that cannot be"))

    def to_json(self) -> dict[str, Any]:
        """The proposal as a JSON object; file contents are Base64."""
        return {
            "address": str(self.address),
            "files": {file: base64.b64encode(content).decode() for file, content in self.files.items()},
            "mapping": self.mapping,
            "side": self.side,
            "name": self.name,
        }


def propose(address: str, mapping: Path, side: Side | None = None, name: str | None = None) -> Proposal:
    """Check and pack a mapping file for :func:`acquaint`; the schemas that it names go with it.

    Raises what :func:`heptox.mapping.load_mapping` raises, with positions in the file, and :class:`PeerError` (HX7054)
    when the address is none.
    """
    parsed = PeerAddress.parse(address)
    load_mapping(mapping)
    files: dict[str, bytes] = {}

    def packed(found: re.Match[str]) -> str:
        file = f"{found['side']}.dtd"
        files[file] = read_bytes(mapping.parent / found["file"])
        return found["before"] + file

    kept = f"mapping{mapping.suffix}"
    files[kept] = _SCHEMA_LINE.sub(packed, read_text(mapping)).encode()
    return Proposal(parsed, files, kept, side, name)


def acquaint(folder: PeerFolder, proposal: Proposal) -> Acquaintance:
    """Make the acquaintance; it is on the disk when this returns. The folder's lock is held by the caller.

    Raises :class:`PeerError`: HX7058 when neither side of the mapping has the peer's schema, HX7059 when both have and
    the proposal does not say which is ours, HX7061 for itself and for a name that another has.
    """
    if proposal.address.peer_id == folder.identity.peer_id:
        raise PeerError(Fault("HX7061", f"{proposal.address} is this peer itself"))
    with TemporaryDirectory() as temporary:
        for file, content in proposal.files.items():
            (Path(temporary) / file).write_bytes(content)
        mapping = load_mapping(Path(temporary) / proposal.mapping)
    side = _our_side(folder.schema(), mapping, proposal.side)
    name = proposal.name or _free_name(folder, proposal.address.peer_id, mapping, side)
    return folder.keep_acquaintance(name, proposal.address, side, proposal.files, proposal.mapping)


def _our_side(schema: SchemaGraph, mapping: Mapping, wanted: Side | None) -> Side:
    graphs = {Side.SOURCE: mapping.source.graph, Side.TARGET: mapping.target.graph}
    ours = [side for side, graph in graphs.items() if _same(graph, schema)]
    if wanted in ours:
        return wanted
    if not ours or wanted:
        raise PeerError(
            Fault(
                "HX7058",
                f"the {wanted} of the mapping has another schema" if wanted else "the mapping is between other schemas",
                hint=f"this peer has the schema {schema.root}, the mapping's are "
                f"{mapping.source.root} and {mapping.target.root}, and they must be equal in every element",
            )
        )
    if len(ours) > 1:
        raise PeerError(
            Fault("HX7059", "both sides of the mapping have this peer's schema", hint="say --as source or --as target")
        )
    return ours[0]


def _same(one: SchemaGraph, other: SchemaGraph) -> bool:
    return schema_key(one) == schema_key(other)


def schema_key(graph: SchemaGraph) -> str:
    """What identifies a schema: a digest of its root and of every element that it declares, however it is written.

    ``docs/protocol.md`` tells it to programs that are not heptox.
    """
    elements = [
        [
            element.name,
            element.text,
            [[child.name, child.cardinality] for child in element.children],
            [
                [one.name, one.type, one.cardinality, one.default, list(one.values), one.fixed]
                for one in sorted(element.attributes, key=lambda attribute: attribute.name)
            ],
        ]
        for _, element in sorted(graph.elements.items())
    ]
    return hashlib.blake2b(json.dumps([graph.root, elements]).encode(), digest_size=16).hexdigest()


def _free_name(folder: PeerFolder, peer_id: str, mapping: Mapping, side: Side) -> str:
    root = mapping.target.root if side is Side.SOURCE else mapping.source.root
    taken = {known.name for known in folder.acquaintances() if known.peer_id != peer_id}
    known = [known.name for known in folder.acquaintances() if known.peer_id == peer_id]
    plain = re.sub(r"[^\w.-]", "_", root)[:60]
    return (
        known[0]
        if known
        else next(name for number in count(1) if (name := plain if number == 1 else f"{plain} {number}") not in taken)
    )
