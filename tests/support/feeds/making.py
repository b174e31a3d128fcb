"""Random worlds, connected graphs, and scenarios: what happens to a network of brokers, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Final, TypeAlias

from benchmarks.routing.methods import PaperMethod
from heptox.errors import GrammarError
from heptox.feed import Budget, Method
from heptox.grammar import parse_subscription
from heptox.routing import Advertisement, advertised
from heptox.schema import SchemaGraph, random_document
from heptox.xml import parse_document
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.making import random_condition, random_schema
from tests.support.routing.making import random_path

METHODS: Final = (
    Method(),
    PaperMethod(advertisements=True, covering=False),
    PaperMethod(advertisements=False, covering=True),
    PaperMethod(advertisements=False, covering=False),
    Method(merging=True),
    Method(merging=True, most_imperfect=Fraction(1, 2)),
)
VALUES: Final = ("1", "2", "3")
SCHEMAS: Final = 3
DOCUMENTS: Final = 6
SUBSCRIPTIONS: Final = 20

Links: TypeAlias = tuple[tuple[str, str], ...]


# -- worlds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """What can be published under each schema, and asked for; ``matching`` are pairs of a subscription and a document,
    by a matcher that tries everything."""

    schemas: tuple[SchemaGraph, ...]
    documents: tuple[tuple[str, ...], ...]
    subscriptions: tuple[str, ...]

    @cached_property
    def advertisements(self) -> tuple[Advertisement, ...]:
        return tuple(map(advertised, self.schemas))

    @cached_property
    def matching(self) -> frozenset[tuple[str, str]]:
        patterns = {text: parse_subscription(text) for text in self.subscriptions}
        nodes = {text: document_node(parse_document(text)) for group in self.documents for text in group}
        return frozenset(
            (subscription, document)
            for subscription, wanted in patterns.items()
            for document, node in nodes.items()
            if matches(wanted, node)
        )


def random_world(random: Random) -> World:
    """Small schemas with the same few names; half of the subscriptions are paths, the others walk in the documents."""
    schemas = tuple(random_schema(random) for _ in range(SCHEMAS))
    documents = tuple(tuple(_document(random, schema) for _ in range(DOCUMENTS)) for schema in schemas)
    nodes = [document_node(parse_document(text)) for group in documents for text in group]
    found: dict[str, None] = {}
    while len(found) < SUBSCRIPTIONS:
        drawn = str(random_path(random, 4)) if random.random() < 0.5 else printed(random_condition(random, nodes))
        if _is_read(drawn):
            found[drawn] = None
    return World(schemas, documents, tuple(found))


def _document(random: Random, schema: SchemaGraph) -> str:
    return random_document(schema, random, repeats=2, elements=random.choice((2, 5, 9)), depth=4, pool=VALUES)


def _is_read(text: str) -> bool:
    try:
        return bool(parse_subscription(text))
    except GrammarError:  # some have too many alternatives
        return False


# -- graphs ------------------------------------------------------------------------------------------------------------


def random_graph(random: Random, peers: int) -> Links:
    """A connected graph: a tree, a tree with a few more links, a ring, or a clique."""
    names = [f"p{number}" for number in range(peers)]
    kind = random.choice(("tree", "tree", "meshed", "meshed", "meshed", "ring", "clique"))
    if kind == "ring":
        found = {(names[number - 1], names[number]) for number in range(1, peers)} | {(names[0], names[-1])}
    elif kind == "clique":
        found = {(one, other) for place, other in enumerate(names) for one in names[:place]}
    else:
        found = {(random.choice(names[:place]), names[place]) for place in range(1, peers)}
        more = peers // 2 if kind == "meshed" else 0
        found |= {(names[one], names[other]) for one, other in (_pair(random, peers) for _ in range(more))}
    return tuple(sorted(found))


def _pair(random: Random, peers: int) -> tuple[int, int]:
    one, other = sorted(random.sample(range(peers), 2))
    return one, other


# -- scenarios ---------------------------------------------------------------------------------------------------------


class Happening(StrEnum):
    """What may happen; with ``which`` and ``what`` of a :class:`Step` choosing from what there is."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    ADVERTISE = "advertise"
    PUBLISH = "publish"
    WAIT = "wait"
    CUT = "cut"
    CONNECT = "connect"
    KILL = "kill"
    START = "start"
    FILL = "fill"
    AGREE = "agree"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens; where there is nothing to choose from nothing does, so that steps can be left out."""

    happening: Happening
    which: int = 0
    what: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        if self.happening is Happening.WAIT:
            return f"wait {self.seconds}"
        return f"{self.happening} {self.which} {self.what}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A network, and what happens in it. ``is_calm``: nothing fails, and subscriptions are waited for."""

    seed: int
    links: Links
    method: Method
    budget: Budget
    publishers: tuple[str, ...]
    steps: tuple[Step, ...]
    is_calm: bool

    @property
    def peers(self) -> tuple[str, ...]:
        return tuple(sorted({peer for link in self.links for peer in link}))

    def __str__(self) -> str:
        head = f"seed {self.seed}, {self.method}, at most {self.budget.subscriptions} subscriptions"
        graph = " ".join("-".join(link) for link in self.links)
        return "\n".join((head, graph, f"publishers {' '.join(self.publishers)}", *map(str, self.steps)))


CALM: Final = {Happening.SUBSCRIBE: 8, Happening.UNSUBSCRIBE: 6, Happening.ADVERTISE: 2, Happening.PUBLISH: 9}
STORMY: Final = {
    Happening.SUBSCRIBE: 20,
    Happening.UNSUBSCRIBE: 7,
    Happening.ADVERTISE: 5,
    Happening.PUBLISH: 38,
    Happening.CUT: 8,
    Happening.CONNECT: 11,
    Happening.KILL: 4,
    Happening.START: 5,
    Happening.FILL: 3,
    Happening.AGREE: 6,
}
"""How often things happen."""
CHANGES: Final = (Happening.UNSUBSCRIBE, Happening.ADVERTISE, Happening.AGREE)
BURST: Final = 8
"""So many documents are often published while a change is under way."""
PAUSES: Final = (0.005, 0.005, 0.02, 0.05, 0.5, 2.0, 8.0)


def random_scenario(random: Random, steps: int, *, is_calm: bool) -> Scenario:
    """A scenario of so many steps, with any of the methods; the budget is mostly large enough."""
    links = random_graph(random, random.randint(3, 9))
    peers = sorted({peer for link in links for peer in link})
    budget = Budget(subscriptions=random.randint(1, 5)) if random.random() < 0.25 else Budget()
    return Scenario(
        seed=random.randrange(1 << 32),
        links=links,
        method=random.choice(METHODS),
        budget=budget,
        publishers=tuple(random.sample(peers, random.randint(1, 3))),
        steps=tuple(_steps(random, CALM if is_calm else STORMY, steps)),
        is_calm=is_calm,
    )


def _steps(random: Random, weights: dict[Happening, int], number: int) -> Sequence[Step]:
    found: list[Step] = []
    for happening in random.choices([*weights], [*weights.values()], k=number):
        found.append(_step(random, happening))
        if happening in CHANGES and random.random() < 0.5:
            for _ in range(BURST):
                found += (Step(Happening.WAIT, seconds=PAUSES[0]), _step(random, Happening.PUBLISH))
        elif random.random() < 0.5:
            found.append(Step(Happening.WAIT, seconds=random.choice(PAUSES)))
    return found


def _step(random: Random, happening: Happening) -> Step:
    return Step(happening, random.randrange(1 << 16), random.randrange(1 << 16))
