"""The benchmarks of routing measure what they say, on less than they do."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.routing.feed_experiments import Traffic, measure
from benchmarks.routing.methods import METHODS
from benchmarks.routing.table import table_sizes
from benchmarks.routing.times import routing_times
from benchmarks.routing.traffic import (
    TREE,
    Links,
    Size,
    of_kind,
    on_a_network,
    on_the_tree,
    random_cubic,
    random_tree,
)
from tests.support.feeds.graphs import distances, neighbours

SMALL = Size(brokers=12, publishers=2, subscribers=6, subscriptions=5, documents=3)


def check_methods(found: dict[str, Traffic]) -> None:
    assert len({traffic.delivered for traffic in found.values()}) == 1
    assert all(traffic.delivered and traffic.unreached == 0 for traffic in found.values())
    assert found["both"].mean_told < found["covering"].mean_told < found["neither"].mean_told
    assert of_kind(found["neither"], "unsubscribe") == 0 < of_kind(found["neither"], "catch up")


@pytest.mark.parametrize("links", [random_tree(12), random_cubic(12)], ids=["tree", "three links"])
def test_all_methods_deliver_the_same_on_a_network(links: Links) -> None:
    check_methods({name: measure(on_a_network(method, links, SMALL)) for name, method in METHODS.items()})


def test_on_the_tree_subscriptions_go_up_three_links_or_everywhere() -> None:
    found = {name: measure(on_the_tree(METHODS[name], 4, subscriptions=3, number=2)) for name in METHODS}
    assert of_kind(found["neither"], "subscribe") == 12 * len(TREE)
    assert 2 * 12 < of_kind(found["advertisements"], "subscribe") <= 3 * 12, "some have been told the same"
    assert {of_kind(one, "hello") for one in found.values()} == {2 * len(TREE)}
    assert of_kind(found["both"], "announce") == 2 * len(TREE)
    assert len({one.delivered for one in found.values()}) == 1


def test_graphs_are_connected_and_have_their_degrees() -> None:
    for links in (random_tree(50), random_cubic(50)):
        assert len(distances(links, "p0")) == 50
    assert Counter(map(len, neighbours(random_cubic(50)).values())) == {3: 50}


def test_the_table_and_the_scan_agree() -> None:
    plain, covered = routing_times(4, 300, 20)
    assert covered.table < plain.table == 300
    assert min(plain.cold, plain.warm, plain.scan, covered.warm) > 0


def test_the_table_grows_less_over_advertised_paths() -> None:
    over_any, advertised = ([*table_sizes(4, (100, 300), over_advertised=over)] for over in (False, True))
    assert [row.subscriptions for row in over_any] == [100, 300]
    assert 0 < advertised[-1].roots < over_any[-1].roots < 300
