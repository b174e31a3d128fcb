"""The network of an emulation: which peer has which schema, and which peers are acquainted along which mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

from heptox.cluster.outcome import NetworkOutcome
from heptox.cluster.plan import TOPOLOGIES, Plan, known_hint, read_table
from heptox.cluster.workload import SCHEMAS, Edge, neighbours
from heptox.errors import ClusterError, Fault
from heptox.settings import NAME
from heptox.translate import Direction

REWIRED: Final = 0.1
"""The share of acquaintances in a small world that are far away (Watts and Strogatz 1998)."""
_SAMPLE: Final = 6
"""Of how many candidates the one that is known least becomes an acquaintance, in a regular network."""
_MICROSECONDS: Final = 1000


Crossings: TypeAlias = Mapping[str, tuple[tuple[Edge, Direction], ...]]
"""The ways across mappings by the schemas that they lead away from."""


@dataclass(frozen=True, slots=True)
class Link:
    """What leads from a peer to an acquaintance: its number, how queries cross the mapping, microseconds one way."""

    peer: int
    edge: Edge
    to: Direction
    delay: int


@dataclass(frozen=True, slots=True)
class Network:
    """The schemas and the links of the peers, by their numbers from 0 on."""

    schemas: tuple[str, ...]
    links: tuple[tuple[Link, ...], ...]
    names: tuple[str, ...] = ()
    """What the peers are called, where a file says so."""

    def name(self, peer: int) -> str:
        """What a peer is called.

        >>> Network(("auction", "flat"), ((), ())).name(1)
        'flat-1'
        """
        return self.names[peer] if self.names else f"{self.schemas[peer]}-{peer}"

    @property
    def least_delay(self) -> int:
        """Microseconds that every message takes at least; 1 in a network without links."""
        return min((link.delay for links in self.links for link in links), default=1)

    def crossings(self) -> Crossings:
        """The directions of mappings at each schema that a peer uses."""
        found: dict[str, set[tuple[Edge, Direction]]] = {}
        for schema, links in zip(self.schemas, self.links, strict=True):
            found.setdefault(schema, set()).update((link.edge, link.to) for link in links)
        return {schema: tuple(sorted(ways)) for schema, ways in found.items()}

    def outcome(self) -> NetworkOutcome:
        """The network in numbers."""
        degrees = [len(links) for links in self.links]
        counted = Counter(self.schemas)
        return NetworkOutcome(
            {name: counted[name] for name in sorted(counted)}, sum(degrees) // 2, min(degrees), max(degrees), self.names
        )


def make_network(plan: Plan) -> Network:
    """The network of a plan: the same for the same plan, everywhere.

    Raises :class:`ClusterError`: HX8041 for a topology that is none and no file, HX8042 when the schemas are not
    connected by mappings, or what a file says cannot be.
    """
    if plan.topology not in TOPOLOGIES:
        names, schemas, pairs = _read(plan.topology)
    else:
        names = ()
        _check_connected(plan.schemas)
        schemas = tuple(plan.schemas[number % len(plan.schemas)] for number in range(plan.peers))
        pairs = _Maker(plan, schemas).pairs()
    return replace(_linked(plan, schemas, pairs), names=names)


def _linked(plan: Plan, schemas: tuple[str, ...], pairs: Sequence[tuple[int, int]]) -> Network:
    links: list[list[Link]] = [[] for _ in schemas]
    for one, other in pairs:
        chance = Random(f"{plan.seed} delay {min(one, other)} {max(one, other)}").uniform(-1, 1)
        delay = max(1, round(plan.delay_ms * (1 + plan.delay_spread * chance) * _MICROSECONDS))
        for here, there in ((one, other), (other, one)):
            edge, to = _crossing(schemas[here], schemas[there])
            links[here].append(Link(there, edge, to, delay))
    return Network(schemas, tuple(tuple(sorted(known, key=lambda link: link.peer)) for known in links))


def _crossing(here: str, there: str) -> tuple[Edge, Direction]:
    return next((edge, to) for edge, to, other in neighbours(here) if other == there)


def _reachable(schema: str) -> list[str]:
    return [there for _, _, there in neighbours(schema)]


def _check_connected(schemas: tuple[str, ...]) -> None:
    reached = {schemas[0]}
    waiting = [schemas[0]]
    while waiting:
        new = {there for there in _reachable(waiting.pop()) if there in schemas} - reached
        reached |= new
        waiting += sorted(new)
    missing = [name for name in schemas if name not in reached]
    if missing:
        hint = "; ".join(f"{name} has mappings with {', '.join(_reachable(name))}" for name in missing)
        raise ClusterError(Fault("HX8042", f"no mappings lead from {schemas[0]} to {', '.join(missing)}", hint=hint))


class _Maker:
    """Makes acquaintances by chance, among peers between whose schemas there is a mapping."""

    def __init__(self, plan: Plan, schemas: tuple[str, ...]) -> None:
        self._plan = plan
        self._random = Random(f"{plan.seed} network {plan.topology}")
        self._known: list[set[int]] = [set() for _ in schemas]
        self._schemas = schemas
        members: dict[str, list[int]] = {}
        for peer, schema in enumerate(schemas):
            members.setdefault(schema, []).append(peer)
        self._candidates = {
            schema: sorted(peer for there in _reachable(schema) for peer in members.get(there, ()))
            for schema in members
        }

    def pairs(self) -> list[tuple[int, int]]:
        order = list(range(len(self._schemas)))
        if self._plan.topology == "small-world":
            self._random.shuffle(order)
            self._make_ring(order)
        # Peers that can have few others come first: they are still little known then.
        order.sort(key=lambda peer: len(self._candidates[self._schemas[peer]]))
        for peer in order:
            for other in self._chosen(peer):
                self._meet(peer, other)
        return sorted((one, other) for one, known in enumerate(self._known) for other in known if one < other)

    def _meet(self, one: int, other: int) -> None:
        self._known[one].add(other)
        self._known[other].add(one)

    def _chosen(self, peer: int) -> Iterator[int]:
        """Acquaintances until there are enough, as far as there are others."""
        candidates = self._candidates[self._schemas[peer]]
        while len(self._known[peer]) < min(self._plan.acquaintances, len(candidates)):
            if len(candidates) < 4 * self._plan.acquaintances:
                free = [other for other in candidates if other not in self._known[peer]]
            else:
                free = [
                    other for other in self._random.sample(candidates, 2 * _SAMPLE) if other not in self._known[peer]
                ]
            if not free:
                continue
            if self._plan.topology == "regular":
                yield min(free, key=lambda other: (len(self._known[other]), other))
            else:
                yield self._random.choice(free)

    def _make_ring(self, ring: list[int]) -> None:
        """Let peers know those that follow next on a ring; some of them know one anywhere instead."""
        for place, peer in enumerate(ring):
            possible = set(_reachable(self._schemas[peer]))
            found = 0
            for step in range(1, len(ring)):
                other = ring[(place + step) % len(ring)]
                if self._schemas[other] not in possible:
                    continue
                if self._random.random() < REWIRED:
                    other = self._random.choice(self._candidates[self._schemas[peer]])
                self._meet(peer, other)
                found += 1
                if found >= (self._plan.acquaintances + 1) // 2:
                    break


# -- from a file ---------------------------------------------------------------------------------------------------


def _read(name: str) -> tuple[tuple[str, ...], tuple[str, ...], list[tuple[int, int]]]:
    """The names of peers, their schemas, and pairs of acquaintances in a TOML file.

    ``peers = {montreal = "auction", boston = "flat"}``, and ``acquaintances = [["montreal", "boston"]]``.
    """
    if not (name.endswith(".toml") or Path(name).is_file()):
        hint = f"there are {', '.join(TOPOLOGIES)}, or the name of a TOML file"
        raise ClusterError(Fault("HX8041", f"no topology {name!r}", hint=hint))
    table = read_table(Path(name), "HX8042")
    faults = [Fault("HX8042", message, file=name, hint=hint) for message, hint in _file_faults(table)]
    if faults:
        raise ClusterError(faults)
    peers: dict[str, str] = table["peers"]
    numbers = {peer: number for number, peer in enumerate(peers)}
    pairs = {tuple(sorted(numbers[peer] for peer in pair)) for pair in table["acquaintances"]}
    return tuple(peers), tuple(peers.values()), [(one, other) for one, other in sorted(pairs)]


_FILE_HINT: Final = 'such as peers = {montreal = "auction", boston = "flat"}, acquaintances = [["montreal", "boston"]]'


def _file_faults(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    peers, pairs = table.get("peers"), table.get("acquaintances")
    yield from ((f"{key} is not known here", _FILE_HINT) for key in table if key not in ("peers", "acquaintances"))
    if not isinstance(peers, dict) or not peers or not all(isinstance(schema, str) for schema in peers.values()):
        yield "peers is no table of schemas by the names of peers", _FILE_HINT
        return
    for peer, schema in peers.items():
        if not NAME.fullmatch(peer):
            yield f"{peer!r} is no name of a peer", "up to 64 letters, digits, spaces and _ . ' -"
        if schema not in SCHEMAS:
            yield f"the peer {peer} has an unknown schema {schema}", known_hint(schema, SCHEMAS)
    if not isinstance(pairs, list):
        yield "acquaintances is no list of pairs of peers", _FILE_HINT
        return
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(peer, str) for peer in pair):
            yield f"{pair!r} is no pair of peers", _FILE_HINT
            continue
        unknown = [peer for peer in pair if peer not in peers]
        if unknown:
            yield f"no peer {' and no peer '.join(unknown)} for the pair {' and '.join(pair)}", "name it under peers"
        elif pair[0] == pair[1]:
            yield f"{pair[0]} is its own acquaintance", "pair it with another"
        elif _are_known(pair, peers) and peers[pair[1]] not in (there := _reachable(peers[pair[0]])):
            schemas = f"{peers[pair[0]]} and {peers[pair[1]]}"
            yield (
                f"there is no mapping between {schemas}, the schemas of {pair[0]} and {pair[1]}",
                f"{peers[pair[0]]} has mappings with {', '.join(there)}",
            )


def _are_known(pair: list[str], peers: dict[str, str]) -> bool:
    return all(peers[peer] in SCHEMAS for peer in pair)
