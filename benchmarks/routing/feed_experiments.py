"""Experiments with brokers: what a method of routing costs in messages, on networks of any size.

Each experiment is one emulation on one processor (:class:`~benchmarks.routing.emulated_feeds.EmulatedFeeds`): messages
depend on each other one by one, and the smallest delays would leave executors nothing to do at the same time. Several
experiments, such as the four methods on one network, run at the same time on Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import TYPE_CHECKING, Final

from benchmarks.routing.emulated_feeds import Conditions, Delivery, EmulatedFeeds
from heptox.cluster import spark_faults
from heptox.feed import Method
from heptox.routing import Advertisement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTLING: Final = 30.0
"""Seconds of the virtual clock in which everything has arrived: links are up at once, and nothing fails."""


@dataclass(frozen=True, slots=True)
class FeedExperiment:
    """What happens: the ``links`` of the network (``peers`` are those that may have none), what is ``advertised`` by
    whom, who has ``subscribed`` to what, one each ``pause`` seconds, and then who has ``published`` what."""

    links: Sequence[tuple[str, str]]
    advertised: Mapping[str, Advertisement | None]
    subscribed: Sequence[tuple[str, str]]
    published: Sequence[tuple[str, bytes]]
    method: Method = field(default_factory=Method)
    conditions: Conditions = field(default_factory=Conditions)
    peers: Sequence[str] = ()
    pause: float = 0.01


@dataclass(frozen=True, slots=True)
class Traffic:
    """What it took: ``messages`` by kind; what was ``delivered``; the subscriptions that neighbours have told a broker,
    most and mean; pairs of a publisher and a peer that knows no route to it; and ``seconds`` of the processor."""

    messages: Counter[str]
    delivered: frozenset[Delivery]
    most_told: int
    mean_told: float
    unreached: int
    seconds: float


def measure(experiment: FeedExperiment) -> Traffic:
    """Carry out one experiment in this process."""
    begin = process_time()
    network = EmulatedFeeds(experiment.links, experiment.method, experiment.conditions, experiment.peers)
    network.run(SETTLING)
    for publisher, advertisement in experiment.advertised.items():
        network.advertise(publisher, advertisement)
    network.run(SETTLING)
    for peer, text in experiment.subscribed:
        network.subscribe(peer, text)
        network.run(experiment.pause)
    network.run(SETTLING)
    for publisher, data in experiment.published:
        network.publish(publisher, data)
    network.run(SETTLING)
    told = network.sizes().values()
    known = sum(len(network.router(peer).publishers) for peer in network.up)
    unreached = len(experiment.advertised) * (len(network.up) - 1) - known
    delivered = frozenset(network.delivered)
    return Traffic(network.messages, delivered, max(told), sum(told) / len(told), unreached, process_time() - begin)


def measure_all(experiments: Sequence[FeedExperiment], spark: SparkSession | None = None) -> Iterator[Traffic]:
    """Carry out experiments, on Spark if there is a session, a task for each; what they took, in order.

    Raises :class:`ClusterError` for what fails on Spark.
    """
    if spark is None or not experiments:
        yield from map(measure, experiments)
        return
    with spark_faults():
        tasks = spark.sparkContext.parallelize(experiments, len(experiments))
        yield from tasks.map(measure).collect()
