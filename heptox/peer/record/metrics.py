"""What a peer has done and does, as numbers for Prometheus.

No label comes from others: nobody can make new time series.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from heptox.matching import Totals
from heptox.peer.process.supervision import failures
from heptox.peer.wire.messages import Status

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
_SECONDS: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
disable_created_metrics()  # type: ignore[no-untyped-call]  # a second line for each number, of no use to anybody here
_BYTES_OF_ITEMS: Final = "Bytes of items, in UTF-8"


class Metrics:
    """The numbers of one peer, in a registry of its own: several peers may run in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}
        registry = self.registry
        ProcessCollector(registry=registry)
        registry.register(_TaskFailures())
        self.info = Info("heptox_peer", "Which peer this is", registry=registry)
        self.own = Counter(
            "heptox_own_queries", "Queries of the own user, by how they ended", ["end"], registry=registry
        )
        self.arrived = Counter("heptox_arrived_queries", "Queries of neighbours that were taken", registry=registry)
        self.answered = Counter(
            "heptox_answered_queries", "Queries of neighbours, by how they ended", ["status"], registry=registry
        )
        self.denied = Counter("heptox_denied_streams", "Streams of strangers that may not ask", registry=registry)
        self.asked = Counter("heptox_asked_queries", "Queries that neighbours were asked", registry=registry)
        self.heard = Counter(
            "heptox_heard_queries",
            "Queries that neighbours were asked, by how they ended",
            ["status"],
            registry=registry,
        )
        self.items_out = Counter("heptox_sent_items", "Items sent to neighbours", registry=registry)
        self.bytes_out = Counter("heptox_sent_bytes", f"{_BYTES_OF_ITEMS}, sent to neighbours", registry=registry)
        self.items_in = Counter("heptox_received_items", "Items that came from neighbours", registry=registry)
        self.bytes_in = Counter("heptox_received_bytes", f"{_BYTES_OF_ITEMS}, from neighbours", registry=registry)
        self.evaluation = Histogram(
            "heptox_evaluation_seconds",
            "Evaluations of queries on the own documents",
            buckets=_SECONDS,
            registry=registry,
        )
        self.translation = Histogram(
            "heptox_translation_seconds", "Translations of queries for neighbours", buckets=_SECONDS, registry=registry
        )
        self.unevaluated = Counter(
            "heptox_failed_evaluations", "Evaluations that did not come to their end", registry=registry
        )
        for status in Status:
            self.answered.labels(status.value)
            self.heard.labels(status.value)
        for end in ("complete", "incomplete", "cancelled", "refused"):
            self.own.labels(end)

    def watch(self, name: str, documentation: str, value: Callable[[], float], **labels: str) -> None:
        """Look at a number whenever somebody asks for it."""
        gauge = self._gauges.get(name)
        if gauge is None:
            gauge = self._gauges[name] = Gauge(name, documentation, list(labels), registry=self.registry)
        (gauge.labels(**labels) if labels else gauge).set_function(value)

    def exposition(self) -> bytes:
        """All numbers in Prometheus' text format."""
        return generate_latest(self.registry)


class _TaskFailures(Collector):
    """How often tasks of this process have failed."""

    def collect(self) -> Iterable[Metric]:
        found = CounterMetricFamily("heptox_task_failures", "Failures of tasks of the daemon", labels=["task"])
        for task, count in sorted(failures.items()):
            found.add_metric([task], count)
        yield found


class FeedNumbers:
    """The numbers of one peer about documents that come from other ones."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.received = Counter(
            "heptox_received_documents", "Documents of others that own subscriptions match", registry=registry
        )
        self.missing = Counter(
            "heptox_missing_documents", "Documents of others that were not kept long enough to come", registry=registry
        )
        self.suspicions = Counter(
            "heptox_feed_suspicions", "Times that a peer was found not to be honest with feeds", registry=registry
        )
        self.broken = Counter(
            "heptox_broken_links", "Links to neighbours that did not keep to what is agreed", registry=registry
        )

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        """Count what a broker has noted."""
        match event:
            case "documents missing":
                self.missing.inc(int(fields["documents"]))
            case "link broken":
                self.broken.inc()
            case "neighbour distrusted" | "neighbour silent" | "feed forked":
                self.suspicions.inc()


class SubscriptionNumbers:
    """The numbers of one peer about its subscriptions, all of them together."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.published = Counter("heptox_published_documents", "Documents published", registry=registry)
        self.matched = Counter(
            "heptox_matched_subscriptions", "Subscriptions that published documents matched", registry=registry
        )
        self.delivered = Counter(
            "heptox_delivered_notifications", "Notifications handed out, again or not", registry=registry
        )
        self._subscriptions = Gauge("heptox_subscriptions", "Subscriptions", registry=registry)
        self._suspended = Gauge(
            "heptox_suspended_subscriptions",
            "Subscriptions that are suspended, for their backlog is full",
            registry=registry,
        )
        self._backlog = Gauge(
            "heptox_backlog_notifications", "Notifications that are not acknowledged", registry=registry
        )
        self._largest = Gauge(
            "heptox_largest_backlog_notifications", "The same of the subscription that has most", registry=registry
        )
        self._lag = Gauge(
            "heptox_subscription_lag_seconds",
            "Age of the oldest notification that is not acknowledged",
            registry=registry,
        )
        self._dead = Gauge("heptox_dead_letters", "Dead letters that the subscriptions have had", registry=registry)
        self._bytes = Gauge("heptox_published_bytes", "Bytes of published documents that are kept", registry=registry)

    def tell(self, totals: Totals) -> None:
        """These are the totals now."""
        self._subscriptions.set(totals.subscriptions)
        self._suspended.set(totals.suspended)
        self._backlog.set(totals.backlog)
        self._largest.set(totals.largest_backlog)
        self._lag.set(0 if totals.oldest is None else max(0.0, time.time() - totals.oldest / 1000))
        self._dead.set(totals.dead)
        self._bytes.set(totals.document_bytes)
