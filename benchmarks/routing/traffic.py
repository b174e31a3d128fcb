"""Messages between brokers, by kind, for the four methods: the paper's tree of 8, and networks of a thousand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Final, TypeAlias

from benchmarks.matching.documents import documents
from benchmarks.routing.emulated_feeds import Conditions
from benchmarks.routing.feed_experiments import FeedExperiment, Traffic
from benchmarks.routing.methods import PaperMethod
from benchmarks.routing.workload import auctions, nitf, texts
from heptox.routing import Advertisement, advertised
from heptox.schema import SchemaGraph

Links: TypeAlias = Sequence[tuple[str, str]]

TREE: Final[Links] = (
    ("root", "b"),
    ("b", "west"), ("b", "east"),
    ("west", "leaf1"), ("west", "leaf2"), ("east", "leaf3"), ("east", "leaf4"),
)  # fmt: skip
"""Section 6.3: 8 brokers, each with one or two below it but for the four leaves; the publisher is at the root."""
SUBSCRIPTIONS: Final = 1000
"""Of each leaf."""
DOCUMENTS: Final = 50
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "subscribe": ("Subscribe",),
    "unsubscribe": ("Unsubscribe",),
    "documents": ("Publish", "Replay"),
    "announce": ("Announce", "Withdraw"),
    "hello": ("Hello",),
    "catch up": ("CatchUp", "CaughtUp"),
}


def of_kind(traffic: Traffic, kind: str) -> int:
    """How many messages there were of a kind."""
    return sum(traffic.messages[name] for name in KINDS[kind])


def on_the_tree(
    method: PaperMethod,
    least_labels: int,
    pause: float = 0.01,
    subscriptions: int = SUBSCRIPTIONS,
    number: int = DOCUMENTS,
) -> FeedExperiment:
    """The experiment of the paper, with NITF for the protein database; ``pause`` are seconds between subscriptions."""
    wanted = [(f"leaf{leaf}", texts(least_labels, subscriptions, leaf)) for leaf in range(1, 5)]
    subscribed = [(peer, text) for row in zip(*(of for _, of in wanted), strict=True)
                  for (peer, _), text in zip(wanted, row, strict=True)]  # fmt: skip
    publishers = {"root": nitf()}
    published = tuple(_published(publishers, number))
    told = _advertised(publishers)
    if not method.advertisements:  # then nobody knows who publishes
        told |= {peer: None for link in TREE for peer in link}
    return FeedExperiment(TREE, told, subscribed, published, method, pause=pause)


@dataclass(frozen=True, slots=True)
class Size:
    """How large a network is: its brokers, those that publish, and those that subscribe, with how many
    subscriptions each; and documents of each publisher."""

    brokers: int = 1000
    publishers: int = 10
    subscribers: int = 100
    subscriptions: int = 10
    documents: int = 5


def on_a_network(method: PaperMethod, links: Links, size: Size, seed: int = 0) -> FeedExperiment:
    """Half of the publishers, and of the subscribers, are about news, the others about auctions."""
    random = Random(seed)
    peers = [f"p{number}" for number in range(size.brokers)]
    schemas = (nitf(), auctions())
    publishers = {peer: schemas[place % 2] for place, peer in enumerate(random.sample(peers, size.publishers))}
    drawn = [texts(2, size.subscribers * size.subscriptions, seed, schema) for schema in schemas]
    subscribed = [
        (peer, drawn[place % 2][place * size.subscriptions + number])
        for place, peer in enumerate(random.sample(peers, size.subscribers))
        for number in range(size.subscriptions)
    ]
    published = tuple(_published(publishers, size.documents))
    return FeedExperiment(links, _advertised(publishers), subscribed, published, method, Conditions(seed), peers)


def random_tree(brokers: int, seed: int = 0) -> Links:
    """Each broker joins one that is there."""
    random = Random(seed)
    return [(f"p{random.randrange(number)}", f"p{number}") for number in range(1, brokers)]


def random_cubic(brokers: int, seed: int = 0) -> Links:
    """A random graph in which each broker has three links: a ring, and a random matching."""
    random = Random(seed)
    ring = {(number, (number + 1) % brokers) for number in range(brokers)}
    while True:
        order = random.sample(range(brokers), brokers)
        chords = set(zip(order[::2], order[1::2], strict=True))
        if not any(one in ring or one[::-1] in ring for one in chords):
            return [(f"p{one}", f"p{other}") for one, other in sorted(ring | chords)]


def _advertised(publishers: Mapping[str, SchemaGraph]) -> dict[str, Advertisement | None]:
    return {publisher: advertised(schema) for publisher, schema in publishers.items()}


def _published(publishers: Mapping[str, SchemaGraph], number: int) -> Iterator[tuple[str, bytes]]:
    for place, (publisher, schema) in enumerate(publishers.items()):
        yield from ((publisher, text.encode()) for text in islice(documents(schema, number, place), number))
