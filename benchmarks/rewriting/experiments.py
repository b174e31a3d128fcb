"""The experiments of section 5 of Ni and Chan, with QRA besides: what a document needs until subscribers have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from benchmarks.matching.subscriptions import SubscriptionShape
from benchmarks.rewriting.documents import document
from benchmarks.rewriting.emulation import LINEAR, LINEAR_LEAF, TREE, Response, Topology, Work, response, work_of
from benchmarks.rewriting.peers import ROUTERS, Given, responses
from benchmarks.rewriting.routers import Parcel, Router
from benchmarks.rewriting.schemas import SCHEMAS, global_schema, mappings, schemas
from benchmarks.rewriting.subscriptions import PATHS, SHAPE, domain_subscriptions
from heptox.rewriting import Publisher, Strategy, Swap

BANDWIDTH: Final = 50.0
SIZE: Final = 20_000
_BYTES_OF_TURNS: Final = 200_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured: subscriptions of each router, publishers with a schema each, turns, sizes of documents."""

    subscriptions: int = 1000
    publishers: int = 8
    turns: int = 7
    document_sizes: tuple[int, ...] = (10_000, 20_000, 40_000, 1_000_000)
    subscription_sizes: tuple[int, ...] = (1000, 2000, 4000)
    repetitions: tuple[int, ...] = (2, 4, 6, 8)

    @property
    def chosen(self) -> tuple[int, ...]:
        """The numbers of the publishers' schemas."""
        return tuple(number * SCHEMAS // self.publishers for number in range(self.publishers))


@dataclass(frozen=True, slots=True)
class Row:
    """What an experiment has found at one of its settings; ``paper`` is what the paper says of it."""

    experiment: str
    setting: str
    found: Mapping[Strategy, Response]
    paper: str = ""

    def gain(self, way: Strategy, over: Strategy) -> float:
        """By which share the response time of a way is less than that of another one."""
        return 1 - self.found[way].seconds / self.found[over].seconds


class Network:
    """Four sets of subscriptions for routers, and publishers; the routers of larger networks take them in turn."""

    def __init__(self, sizes: Sizes, chosen: tuple[int, ...], shape: SubscriptionShape = SHAPE) -> None:
        self._sizes = sizes
        self._chosen = [schemas()[number] for number in chosen]
        self._publishers = [*map(Publisher, mappings(tuple(self._chosen)))]
        self._shape = shape

    @cached_property
    def _routers(self) -> list[Router]:
        drawn = [domain_subscriptions(self._sizes.subscriptions, seed, self._shape) for seed in range(ROUTERS)]
        return [Router(global_schema(), self._publishers, texts) for texts in drawn]

    def documents(self, size: int, repetitions: int | None = None) -> list[tuple[int, bytes]]:
        """A document of each publisher."""
        texts = [document(schema, size, repetitions=repetitions) for schema in self._chosen]
        return [(number, text.encode()) for number, text in enumerate(texts)]

    def sent(
        self, topology: Topology, size: int = SIZE, repetitions: int | None = None
    ) -> list[tuple[int, dict[Strategy, list[Work]]]]:
        """What the routers do with a document of each publisher; large ones are sent in fewer turns."""
        turns = max(1, min(self._sizes.turns, _BYTES_OF_TURNS // size))
        return [
            (len(data), work_of(topology, self._routers, Parcel(number, data), turns))
            for number, data in self.documents(size, repetitions)
        ]


def over(
    topology: Topology, megabits: float, sent: Sequence[tuple[int, Mapping[Strategy, Sequence[Work]]]]
) -> dict[Strategy, Response]:
    """The response times by all ways; raises ``AssertionError`` where they do not deliver the same."""
    found = {way: response(topology, megabits, [(size, works[way]) for size, works in sent]) for way in Strategy}
    assert len({each.deliveries for each in found.values()}) == 1, found
    return found


# -- figure 5 ----------------------------------------------------------------------------------------------------


class Experiments:
    """The experiments, by name; what several of them need is made once."""

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    @cached_property
    def _network(self) -> Network:
        return Network(self._sizes, self._sizes.chosen)

    def bandwidth(self) -> Iterator[Row]:
        """Figure 5(a)."""
        sent = self._network.sent(LINEAR)
        for megabits, paper in ((10, "NDDR 41 % under SDR"), (50, "NDDR under IDDR under SDR"), (100, "NDDR 12 %")):
            yield Row("5(a) bandwidth", f"{megabits} Mbit/s", over(LINEAR, megabits, sent), paper)

    def size(self) -> Iterator[Row]:
        """Figure 5(b)."""
        said = {10_000: "NDDR 20 % under SDR", 40_000: "NDDR 25 %", 1_000_000: "NDDR 28 %, 10 % under IDDR"}
        for size in self._sizes.document_sizes:
            found = over(LINEAR, BANDWIDTH, self._network.sent(LINEAR, size))
            yield Row("5(b) document size", f"{size // 1000:,} KB", found, said.get(size, ""))

    def topology(self) -> Iterator[Row]:
        """Figure 5(c) but for the real network."""
        for topology in (LINEAR, LINEAR_LEAF, TREE):
            paper = "" if topology is LINEAR else "SDR further behind than on a line"
            yield Row("5(c) topology", topology.name, over(topology, BANDWIDTH, self._network.sent(topology)), paper)

    def peers(self) -> Iterator[Row]:
        """Figure 5(c), the real network: processes on this machine, that send over libp2p; as fast as they can, and no
        faster than the emulated links."""
        for megabits, name in ((BANDWIDTH, f"four real peers at {BANDWIDTH:.0f} Mbit/s"), (0, "four real peers")):
            given = Given(self._sizes.subscriptions, 0, self._sizes.chosen, megabits)
            found = responses(given, self._network.documents(SIZE), self._sizes.turns)
            yield Row("5(c) topology", name, found, "as at 50 Mbit/s" if megabits else "")

    def repetition(self) -> Iterator[Row]:
        """Figure 5(d), with the schemas from which a swap leads; and with subscriptions that are paths alone."""
        exchanging = tuple(
            number
            for number, schema in enumerate(schemas())
            if any(isinstance(operator, Swap) for operator in schema.operators)
        )
        for shape, told in ((SHAPE, ""), (PATHS, ", paths alone")):
            network = Network(self._sizes, exchanging, shape)
            for repetitions in self._sizes.repetitions:
                found = over(LINEAR, BANDWIDTH, network.sent(LINEAR, repetitions=repetitions))
                paper = "" if told else "NDDR under IDDR" if repetitions == 2 else "IDDR under NDDR"
                yield Row("5(d) repetition", f"{repetitions} times{told}", found, paper)

    def subscriptions(self) -> Iterator[Row]:
        """What the paper tells without a figure; a fourth of the publishers."""
        for number in self._sizes.subscription_sizes:
            sizes = replace(self._sizes, subscriptions=number, publishers=max(1, self._sizes.publishers // 4))
            found = over(LINEAR, BANDWIDTH, Network(sizes, sizes.chosen).sent(LINEAR))
            yield Row("subscriptions", f"{number:,} each", found, "querying grows, that of IDDR most")

    def paths(self) -> Iterator[Row]:
        """Subscriptions without nested paths and values, which no document has to be rewritten for by IDDR."""
        sizes = replace(self._sizes, publishers=max(1, self._sizes.publishers // 4))
        found = over(LINEAR, BANDWIDTH, Network(sizes, sizes.chosen, PATHS).sent(LINEAR))
        yield Row("paths alone", "50 Mbit/s", found)

    @property
    def all(self) -> dict[str, Callable[[], Iterator[Row]]]:
        """The experiments."""
        return {
            "bandwidth": self.bandwidth,
            "size": self.size,
            "topology": self.topology,
            "peers": self.peers,
            "repetition": self.repetition,
            "subscriptions": self.subscriptions,
            "paths": self.paths,
        }
