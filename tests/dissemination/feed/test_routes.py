"""Routes become trees of shortest paths, whatever happened, and nobody hunts for a publisher that is gone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.cluster.emulated_feeds import Conditions, EmulatedFeeds
from heptox.dissemination.feed import Announce
from heptox.dissemination.feed.routes import HOLD, Routes
from tests.support.feeds.graphs import crooked
from tests.support.feeds.making import Links, random_graph

QUIET = 60.0
"""Seconds after which routes do not change any more."""


def clique(peers: int) -> Links:
    return tuple((f"p{one}", f"p{other}") for other in range(peers) for one in range(other))


def announcing(links: Links, publishers: list[str], seed: int) -> EmulatedFeeds:
    network = EmulatedFeeds(links, conditions=Conditions(seed))
    for publisher in publishers:
        network.advertise(publisher, None)
    network.run(QUIET)
    return network


@settings(max_examples=30)
@given(st.integers(0, 1 << 32))
def test_all_follow_trees_of_shortest_paths_also_after_cuts(seed: int) -> None:
    random = Random(seed)
    links = random_graph(random, random.randint(3, 12))
    peers = sorted({peer for link in links for peer in link})
    publishers = random.sample(peers, min(len(peers), 4))
    network = announcing(links, publishers, seed)
    assert not [*crooked(network, links, publishers)]
    cut = random.sample(links, random.randint(1, max(1, len(links) // 3)))
    for link in cut:
        network.cut(*link)
        network.run(random.choice((0.0, 0.01, 0.3, 1.0)))
    network.run(QUIET)
    assert not [*crooked(network, [link for link in links if link not in cut], publishers)]
    for link in cut:
        network.connect(*link)
    network.run(QUIET)
    assert not [*crooked(network, links, publishers)]


@pytest.mark.parametrize("seed", range(5))
def test_who_notices_in_time_only_says_that_a_publisher_is_gone(seed: int) -> None:
    """Each of the 7 that are left tells the 6 others once: all have heard of it before anybody tries another path."""
    network = EmulatedFeeds(clique(8), conditions=Conditions(seed, notice=(0.0, HOLD - 0.05)))
    network.advertise("p0", None)
    network.run(QUIET)
    before = network.messages.copy()
    network.kill("p0")
    network.run(QUIET)
    sent = network.messages - before
    assert (sent["Withdraw"], sent["Announce"]) == (7 * 6, 0)


@pytest.mark.parametrize("seed", range(5))
def test_who_notices_late_is_followed_once_at_most(seed: int) -> None:
    """Who tries the path of one that is late takes that back when the other notices: three messages to each of 6."""
    network = EmulatedFeeds(clique(8), conditions=Conditions(seed, notice=(0.0, 2 * HOLD)))
    network.advertise("p0", None)
    network.run(QUIET)
    before = network.messages.copy()
    network.kill("p0")
    network.run(QUIET)
    sent = network.messages - before
    assert 7 * 6 < sent["Withdraw"] + sent["Announce"] <= 3 * 7 * 6
    assert not any(network.router(peer).publishers for peer in network.up)


def announced(*path: str, version: int = 1) -> Announce:
    return Announce(path[-1], "feed", version, 0, path)


def test_the_neighbour_that_is_followed_is_kept_among_equals() -> None:
    routes = Routes("me")
    routes.offer(announced("m", "a"), 0.0)
    assert routes.offer(announced("b", "a"), 0.0) is None
    turn = routes.offer(announced("m", "a", version=2), 0.0)
    assert turn and turn.after == announced("m", "a", version=2)


def test_a_longer_path_is_taken_after_a_while_and_a_shorter_one_at_once() -> None:
    routes = Routes("me")
    routes.offer(announced("b", "a"), 0.0)
    routes.offer(announced("c", "d", "a"), 0.0)
    (turn,) = routes.lose("b", 1.0)
    assert (turn.before, turn.after) == (announced("b", "a"), None)
    assert routes.followed("a") is None and routes.next_due == 1.0 + HOLD
    assert routes.due(1.0 + HOLD / 2) == []
    assert [turn.after for turn in routes.due(1.0 + HOLD)] == [announced("c", "d", "a")]
    shorter = routes.offer(announced("a"), 2.0)
    assert shorter and shorter.after == announced("a")


def test_a_path_that_becomes_another_one_is_told() -> None:
    routes = Routes("me")
    routes.offer(announced("b", "c", "a"), 0.0)
    turn = routes.offer(announced("b", "d", "a"), 0.0)
    assert turn and (turn.before, turn.after) == (announced("b", "c", "a"), announced("b", "d", "a"))


def test_who_leads_through_here_is_a_child_and_no_way() -> None:
    routes = Routes("me")
    routes.offer(announced("a"), 0.0)
    assert routes.offer(announced("b", "me", "a"), 0.0) is None
    assert [*routes.children("a")] == ["b"] and routes.is_child("b", "a")
    (turn,) = routes.lose("a", 1.0)
    assert turn.after is None and routes.due(9.0) == []
