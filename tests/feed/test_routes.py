"""Routes become trees of shortest paths, whatever happened, and nobody hunts for a publisher that is gone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.emulated_feeds import Conditions, EmulatedFeeds
from heptox.feed import ANYTHING, Announce, Distrusted, Following, KeepDistrusted, Suspicion
from heptox.feed.reports import TrustChange
from heptox.feed.route_table import HOLD, STALE, RouteTable
from heptox.feed.trust import MOST_DISTRUSTED, Trust
from tests.support.budget import tries
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


@settings(max_examples=tries(30))
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
    routes = RouteTable("me", Trust())
    routes.offer(announced("m", "a"), 0.0)
    assert routes.offer(announced("b", "a"), 0.0) is None
    turn = routes.offer(announced("m", "a", version=2), 0.0)
    assert turn and turn.after == announced("m", "a", version=2)


def test_a_longer_path_is_taken_after_a_while_and_a_shorter_one_at_once() -> None:
    routes = RouteTable("me", Trust())
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
    routes = RouteTable("me", Trust())
    routes.offer(announced("b", "c", "a"), 0.0)
    turn = routes.offer(announced("b", "d", "a"), 0.0)
    assert turn and (turn.before, turn.after) == (announced("b", "c", "a"), announced("b", "d", "a"))


def test_who_leads_through_here_is_a_child_and_no_way() -> None:
    routes = RouteTable("me", Trust())
    routes.offer(announced("a"), 0.0)
    assert routes.offer(announced("b", "me", "a"), 0.0) is None
    assert [*routes.children("a")] == ["b"] and routes.is_child("b", "a")
    (turn,) = routes.lose("a", 1.0)
    assert turn.after is None and routes.due(9.0) == []


# -- whom to follow --------------------------------------------------------------------------------------------------


def offer(*path: str, version: int = 1, digest: str = "d") -> Announce:
    return Announce(path[-1], "f", version, 0, path, digest)


def way(routes: RouteTable, publisher: str = "a") -> tuple[str, ...]:
    followed = routes.followed(publisher)
    return () if followed is None else followed.path


def test_nothing_comes_any_more_through_one_that_is_not_trusted_however_often_it_comes_back() -> None:
    trust = Trust()
    routes = RouteTable("me", trust)
    routes.offer(offer("b", "a"), 0.0)
    routes.offer(offer("c", "d", "a"), 0.0)
    routes.offer(offer("b", "e"), 0.0)
    assert [*trust.distrust(Distrusted("b", "a", "it lies"))] == [TrustChange("a")]
    routes.look_again("a", 1.0)
    routes.due(1.0 + HOLD)
    assert way(routes) == ("c", "d", "a") and way(routes, "e") == ("b", "e")
    routes.lose("b", 2.0)
    routes.offer(offer("b", "a", version=9), 3.0)
    routes.due(30.0)
    assert way(routes) == ()  # there is only an older announcement elsewhere
    routes.offer(offer("c", "d", "a", version=9), 31.0)
    routes.due(31.0)
    assert way(routes) == ("c", "d", "a")
    assert [*trust.acquaint(frozenset())] == [KeepDistrusted("b"), TrustChange(None)]
    routes.look_again(None, 32.0)
    assert way(routes) == ("b", "a")


def test_a_neighbour_that_lies_about_too_many_publishers_is_trusted_with_none() -> None:
    trust = Trust()
    routes = RouteTable("me", trust)
    routes.offer(offer("b", "e"), 0.0)
    for number in range(MOST_DISTRUSTED):
        assert way(routes, "e") == ("b", "e")
        (change,) = trust.distrust(Distrusted("b", f"p{number}", "it lies"))
        assert isinstance(change, TrustChange)
        routes.look_again(change.publisher, 1.0)
    assert way(routes, "e") == ()


def test_one_that_does_not_answer_is_followed_where_there_is_no_other() -> None:
    trust = Trust()
    routes = RouteTable("me", trust)
    routes.offer(offer("b", "a"), 0.0)
    assert [*trust.suspect(Suspicion("b", "a", "it is silent", distrusted=False))][1:] == [TrustChange("a")]
    assert routes.look_again("a", 1.0) == []
    assert way(routes) == ("b", "a")
    routes.offer(offer("c", "d", "a"), 2.0)
    routes.due(2.0 + HOLD)
    assert way(routes) == ("c", "d", "a")


def test_an_older_announcement_never_takes_the_place_of_a_newer_one() -> None:
    routes = RouteTable("me", Trust())
    routes.offer(offer("b", "a", version=5), 0.0)
    routes.offer(offer("c", "a", version=4), 0.0)
    routes.withdraw("b", "a", 1.0)
    routes.due(1.0 + HOLD)
    assert way(routes) == ()
    routes.offer(offer("b", "a", version=4), 2.0)
    assert way(routes) == ()
    routes.offer(offer("c", "a", version=5), 3.0)
    assert way(routes) == ("c", "a")


def test_whoever_keeps_a_newer_announcement_back_is_followed_for_a_while_only() -> None:
    routes = RouteTable("me", Trust())
    routes.offer(offer("b", "a", version=1), 0.0)
    routes.offer(offer("c", "d", "a", version=2), 1.0)
    assert way(routes) == ("b", "a")
    assert routes.next_due == 1.0 + STALE
    routes.due(1.0 + STALE)
    routes.due(1.0 + STALE + HOLD)
    assert way(routes) == ("c", "d", "a")


@pytest.mark.parametrize(
    ("following", "followed"),
    [
        (Following(), {"known", "schema", "anything"}),
        (Following(anything=False), {"known", "schema"}),
        (Following(advertised=False, anything=False), {"known"}),
        (Following(advertised=False, anything=False, named=frozenset({"anything"})), {"known", "anything"}),
    ],
)
def test_publishers_are_followed_as_it_is_set(following: Following, followed: set[str]) -> None:
    trust = Trust(following)
    assert [*trust.acquaint(frozenset({"known"}))] == [TrustChange(None)]
    routes = RouteTable("me", trust)
    for publisher, digest in (("known", ANYTHING), ("schema", "d"), ("anything", ANYTHING)):
        routes.offer(offer("b", publisher, digest=digest), 0.0)
    assert {one.publisher for one in routes} == followed
    assert set(routes.unfollowed) == {"known", "schema", "anything"} - followed
