"""Making an acquaintance: a mapping is checked, packed with its two schemas, and kept in the peer's folder."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping as Table, Set
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from heptox.errors import Fault, PeerError
from heptox.mapping import Mapping
from heptox.peer.folder.folder import Acquaintance, PeerFolder
from heptox.peer.folder.requests import Requests
from heptox.peer.models.control import RequestModel
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import Offer
from heptox.peer.wire.standing import Side, Standing
from heptox.schema import Path as SchemaPath, SchemaGraph, SchemaTree
from heptox.xml import split_name


@dataclass(frozen=True, slots=True)
class Proposal:
    """An acquaintance to make: where the other listens, and the mapping with its schemas.

    ``side`` is our side of it where that is not plain, ``name`` what to call the other, else it goes by the root of its
    schema.
    """

    address: PeerAddress
    files: MappingFiles
    side: Side | None = None
    name: str | None = None


def propose(address: str, mapping: Path, side: Side | None = None, name: str | None = None) -> Proposal:
    """Check and pack a mapping file for :func:`acquaint`; the schemas that it names go with it.

    Raises what :func:`heptox.mapping.load_mapping` raises, with positions in the file, and :class:`PeerError` (HX7054)
    when the address is none.
    """
    return Proposal(PeerAddress.parse(address), MappingFiles.pack(mapping), side, name)


def acquaint(folder: PeerFolder, requests: Requests, proposal: Proposal) -> Acquaintance:
    """Make the acquaintance, as far as it is ours to make; it is on the disk when this returns.

    Of the ``requests`` of the folder, an equal offer waits no more, and what was refused of the peer is forgotten.
    The folder's lock is held by the caller. An equal one that is known keeps its standing; else the other side has to
    agree. Raises :class:`PeerError`: HX7058 when neither side of the mapping has the peer's schema, HX7059 when both
    have and the proposal does not say which is ours, HX7061 for itself and for a name that another has.
    """
    peer_id = proposal.address.peer_id
    if peer_id == folder.identity.peer_id:
        raise PeerError(Fault("HX7061", f"{proposal.address} is this peer itself"))
    mapping = proposal.files.load()
    side = our_side(folder.schema(), mapping, proposal.side)
    name = proposal.name
    if name is None:
        graph = schema_at(mapping, side.other)
        name = free_name(folder, peer_id, split_name(graph.elements[graph.root].name)[1])
    known = [one for one in folder.acquaintances() if one.peer_id == peer_id]
    agreed = any(
        one.standing is Standing.AGREED
        and one.side is side
        and MappingFiles.read(one.mapping).digest == proposal.files.digest
        for one in known
    )
    standing = Standing.AGREED if agreed else Standing.PROPOSED
    made = folder.keep_acquaintance(name, proposal.address, side, proposal.files, standing)
    waiting = requests.waiting().get(peer_id)
    if waiting is not None and waiting.files.digest == proposal.files.digest:
        requests.drop(peer_id)
    requests.forgive(peer_id)
    return made


def accept(folder: PeerFolder, address: PeerAddress, offer: Offer, name: str | None = None) -> Acquaintance:
    """Make the acquaintance that a peer offers, which is to be reached at ``address``; it is on the disk when this
    returns.

    The folder's lock is held by the caller, who has checked the offer. Raises as :meth:`PeerFolder.keep_acquaintance`.
    """
    peer_id = address.peer_id
    if name is None:
        name = free_name(folder, peer_id, offer.name)
    return folder.keep_acquaintance(name, address, offer.side.other, offer.files, Standing.AGREED)


def check_offer(folder: PeerFolder, peer_id: PeerId, offer: Offer, mapping: Mapping) -> tuple[PeerAddress, ...]:
    """Where the peer says that it is to be reached that offers ``mapping``: at least one address.

    Raises :class:`PeerError`: HX7054 when it names no address of its own, HX7058 when our side of the mapping does not
    have our schema, or the other side not the sender's.
    """
    side = our_side(folder.schema(), mapping, offer.side.other)
    if schema_key(schema_at(mapping, side.other)) != offer.schema:
        raise PeerError(Fault("HX7058", "its own schema is not that of the mapping"))
    addresses = own_addresses(peer_id, offer)
    if not addresses:
        hint = "set `announce` in its peer.toml"
        raise PeerError(Fault("HX7054", "it says no address where it can be reached", hint=hint))
    return addresses


def address_now(known: PeerAddress, offer: Offer) -> PeerAddress:
    """Where an acquaintance is to be dialled from now on: where we did, unless it says that it has moved.

    A peer that says that it is on this very machine, though we have reached it elsewhere, does not know better.
    """
    said = own_addresses(known.peer_id, offer)
    reachable = [address for address in said if known.endpoint.is_here or not address.endpoint.is_here]
    return known if known in said or not reachable else reachable[0]


def own_addresses(peer_id: PeerId, offer: Offer) -> tuple[PeerAddress, ...]:
    """Where the peer that makes an offer says that it listens."""
    return tuple(address for address in map(_address, offer.addresses) if address and address.peer_id == peer_id)


def _address(text: str) -> PeerAddress | None:
    try:
        return PeerAddress.parse(text)
    except PeerError:
        return None


def schema_at(mapping: Mapping, side: Side) -> SchemaGraph:
    """The schema at one side of a mapping."""
    return _tree_at(mapping, side).graph


def _tree_at(mapping: Mapping, side: Side) -> SchemaTree:
    return mapping.source if side is Side.SOURCE else mapping.target


def worded_trees(mappings: Iterable[tuple[Mapping, Side]]) -> tuple[SchemaTree, ...]:
    """The trees of a schema, which is at these sides of mappings, on which they draw boxes: tags may be there that are
    not declared."""
    trees = (_tree_at(mapping, side) for mapping, side in mappings)
    return tuple(tree for tree in trees if tree.boxes)


def declared_keys(mappings: Iterable[tuple[Mapping, Side]]) -> frozenset[SchemaPath]:
    """The leaves that mappings declare to be keys of a schema, which is at these sides of them."""
    keys = (
        mapping.declared_source_keys if side is Side.SOURCE else mapping.declared_target_keys
        for mapping, side in mappings
    )
    return frozenset[SchemaPath]().union(*keys)


def our_side(schema: SchemaGraph, mapping: Mapping, wanted: Side | None) -> Side:
    """Which side of a mapping has our schema; raises :class:`PeerError` (HX7058, HX7059) when that is not plain."""
    key = schema_key(schema)
    ours = [side for side in Side if schema_key(schema_at(mapping, side)) == key]
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


def schema_key(graph: SchemaGraph) -> str:
    """What identifies a schema: a digest of its root and of every element that it declares, however it is written.

    ``docs/protocol.md`` describes it for programs that are not heptox.
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


def free_name(folder: PeerFolder, peer_id: PeerId, wanted: str) -> str:
    """What to call a peer: as we do already, else ``wanted`` or, where another has that name, a number with it."""
    acquaintances = folder.acquaintances()
    for known in acquaintances:
        if known.peer_id == peer_id:
            return known.name
    plain = re.sub(r"[^\w .'-]", "_", wanted)[:60].lstrip(" .'-").rstrip(" -") or "peer"
    return _numbered(plain, {_folded(known.name) for known in acquaintances})


def offered_names(offers: Table[PeerId, Offer], acquaintances: Iterable[Acquaintance]) -> dict[PeerId, str]:
    """What those are called here who make offers: as they call themselves, and none as an acquaintance that it is
    not."""
    names = {one.peer_id: _folded(one.name) for one in acquaintances}
    return {
        peer: _numbered(offer.name, {name for known, name in names.items() if known != peer})
        for peer, offer in offers.items()
    }


def request_models(
    offers: Table[PeerId, Offer], names: Table[PeerId, str], connected: Callable[[PeerId], bool] = lambda _: False
) -> tuple[RequestModel, ...]:
    """The offers that wait, each from a peer that goes by one of the ``names``, as the control API has them."""
    return tuple(
        RequestModel.of(peer, offer, names[peer], own_addresses(peer, offer), connected=connected(peer))
        for peer, offer in offers.items()
    )


def _numbered(name: str, taken: Set[str]) -> str:
    """The name, with a number where a name like it is taken."""
    numbered = (name if number == 1 else f"{name} {number}" for number in count(1))
    return next(one for one in numbered if _folded(one) not in taken)


def _folded(name: str) -> str:
    """What names have in common that look nearly the same."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def acquaintance_fields(one: Acquaintance) -> dict[str, Any]:
    """What the audit log says of an acquaintance."""
    fields = {"neighbour": one.peer_id, "name": one.name, "address": str(one.address)}
    return {**fields, "standing": one.standing.value, "version": one.version}


def resolve_peer(who: str, names: Table[PeerId, str], what: str) -> PeerId:
    """The one peer of that id or name, of those that do ``what``; raises :class:`PeerError` (HX7067)."""
    found = [peer for peer, name in names.items() if who in (peer, name)]
    if len(found) == 1:
        return found[0]
    count = "more than one" if found else "nobody"
    others = ", ".join(f"{name} ({peer})" for peer, name in names.items()) or "nobody does"
    raise PeerError(Fault("HX7067", f"{count} of the name {who!r} {what}", hint=others))
