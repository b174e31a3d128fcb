"""What a neighbour is told: enough at every moment, within its budget, and at no greater cost than without covering."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.emulated_feeds import Conditions, EmulatedFeeds
from benchmarks.routing.methods import METHODS
from heptox.feed import ANYTHING, Budget, Method, Subscribe, Unsubscribe
from heptox.feed.forwarding import ALL, LEAST_JUDGED, Branch, Forwarding
from heptox.feed.messages import MOST_SUPPORT
from heptox.feed.table import EVERYTHING, PublicationTable
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from tests.support.budget import tries

Told = list[Subscribe | Unsubscribe]


class Link:
    """What one neighbour is told of local subscriptions, and what it knows then."""

    def __init__(self, budget: Budget | None = None, method: Method = Method()) -> None:  # noqa: B008
        self.table = PublicationTable(MemoryMatcher())
        self.forwarding = Forwarding("n", method, {})
        self.forwarding.budget = budget or Budget()
        self.known: dict[int, str] = {}
        assert not [*self.forwarding.publishers([Branch(ANYTHING, frozenset("mo"))], [], self.table)]

    def _heard(self, messages: Iterable[Subscribe | Unsubscribe]) -> Told:
        told = list(messages)
        for message in told:
            if isinstance(message, Subscribe):
                self.known[message.number] = message.text
            else:
                del self.known[message.number]
        return told

    def add(self, number: int, text: str) -> Told:
        return self._heard(self.forwarding.refresh(self.table.add_local(number, text, parse_subscription(text))))

    def remove(self, number: int) -> Told:
        return self._heard(self.forwarding.refresh(self.table.remove_local(number)))

    def neighbour(self, name: str, number: int, text: str, hops: int) -> Told:
        return self._heard(self.forwarding.refresh(self.table.add(name, number, text, hops)))

    def lost(self, name: str, number: int) -> Told:
        return self._heard(self.forwarding.refresh(self.table.remove(name, number)))


def test_what_is_exposed_is_told_before_what_covered_it_is_taken_back() -> None:
    link = Link()
    assert link.add(1, "//b") == [Subscribe(1, "//b")]
    assert link.add(2, "/a/b") == []
    assert link.add(3, "/*//b") == []
    assert link.add(4, "//*") == [Subscribe(4, "//*"), Unsubscribe(1)]
    assert link.remove(1) == []
    assert link.remove(4) == [Subscribe(3, "/*//b"), Unsubscribe(4)]


def test_a_removed_root_exposes_first() -> None:
    link = Link()
    link.add(1, "//b")
    link.add(2, "/a/b")
    assert link.remove(1) == [Subscribe(2, "/a/b"), Unsubscribe(1)]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_lost_while_what_covers_others_comes_and_goes(seed: int) -> None:
    network = EmulatedFeeds([("a", "b"), ("b", "c"), ("c", "d")], conditions=Conditions(seed))
    network.advertise("a", None)
    network.run(2.0)
    covered = network.subscribe("d", "/x/y")
    network.run(2.0)
    documents = 0
    for _ in range(5):
        general = network.subscribe("d", "//y")
        for _ in range(2):
            for _ in range(30):
                documents += 1
                network.publish("a", b"<x><y/></x>")
                network.run(0.002)
            if general:
                network.run(1.0)
                network.unsubscribe("d", general)
                general = 0
    network.run(2.0)
    got = [number for peer, number, _ in network.delivered.elements() if peer == "d"]
    assert got.count(covered) == documents


def test_a_neighbour_with_a_small_budget_is_told_that_everything_is_wanted() -> None:
    link = Link(budget=Budget(subscriptions=2))
    assert link.add(1, "/a") == [Subscribe(1, "/a")]
    assert link.add(2, "/b") == [Subscribe(2, "/b")]
    assert link.add(3, "/c") == [Subscribe(ALL, EVERYTHING), Unsubscribe(1), Unsubscribe(2)]
    assert link.forwarding.everything and link.forwarding.subscribed == 1 and link.forwarding.members == 3
    assert link.add(4, "/d") == link.remove(1) == link.remove(2) == []
    assert link.remove(4) == [Subscribe(3, "/c"), Unsubscribe(ALL)]
    assert link.known == {3: "/c"}


def test_a_budget_of_text_is_one_too() -> None:
    link = Link(budget=Budget(text=10))
    link.add(1, "/abcd")
    assert link.add(2, "/efgh") == [Subscribe(2, "/efgh")]
    link.add(3, "/i")
    assert link.known == {ALL: EVERYTHING}
    link.remove(1)
    assert link.known == {ALL: EVERYTHING}, "what is left takes more than half of the budget"
    link.remove(2)
    assert link.known == {3: "/i"}


@settings(max_examples=tries(50))
@given(st.integers(0, 1 << 32), st.sampled_from(["both", "advertisements"]), st.integers(1, 6))
def test_the_budget_is_kept_to(seed: int, method: str, most: int) -> None:
    random, link = Random(seed), Link(Budget(subscriptions=most), METHODS[method])
    present: list[int] = []
    for number in range(60):
        if present and random.random() < 0.5:
            link.remove(present.pop(random.randrange(len(present))))
        else:
            present.append(number)
            link.add(number, random.choice(("/", "//")) + "/".join(random.choices("ab*", k=random.randint(1, 3))))
        assert len(link.known) <= most
        assert bool(link.known) == bool(present)


def costly(link: Link, first: int, rounds: int) -> int:
    """Add pairs of which the second covers the first, and remove them again; the messages."""
    sent = 0
    for number in range(first, first + 2 * rounds, 2):
        sent += len(link.add(number, f"/a/x{number}")) + len(link.add(number + 1, f"//x{number}"))
    for number in range(first, first + 2 * rounds, 2):
        sent += len(link.remove(number + 1)) + len(link.remove(number))
    return sent


def test_covering_that_costs_messages_is_not_told_any_more() -> None:
    link, plain = Link(), Link(method=METHODS["advertisements"])
    assert costly(link, 0, LEAST_JUDGED // 2) > costly(plain, 0, LEAST_JUDGED // 2) == 2 * LEAST_JUDGED
    assert not link.forwarding.withdraws
    assert costly(link, 10_000, 100) <= costly(plain, 10_000, 100)
    assert link.known == plain.known == {}


def test_covering_that_saves_messages_goes_on() -> None:
    link = Link()
    link.add(0, "//x")
    assert sum(len(link.add(number, f"/a{number}//x")) for number in range(1, 2 * LEAST_JUDGED)) == 0
    assert link.forwarding.withdraws


def test_what_is_wanted_from_farther_away_is_told_again() -> None:
    link = Link()
    assert link.neighbour("m", 1, "/a", 3) == [Subscribe(1, "/a", 4)]
    assert link.neighbour("o", 1, "/a", 5) == link.neighbour("n", 1, "/a", 1) == []
    assert link.lost("m", 1) == [Subscribe(1, "/a", 6)]
    assert link.add(1, "/a") == [], "it is told no less for every nearer peer"
    assert link.lost("o", 1) == [] and link.remove(1) == [Unsubscribe(1)]
    assert link.neighbour("m", 1, "/b", MOST_SUPPORT) == [], "so far away nobody is"


def test_what_a_neighbour_wants_is_told_where_its_documents_come_from() -> None:
    link = Link()
    assert link.neighbour("x", 1, "/a", 1) == [], "what is published behind n comes to x on another way"
    to_x, to_m = Branch(ANYTHING, frozenset("x")), Branch(ANYTHING, frozenset("m"))
    assert [*link.forwarding.publishers([to_x], [], link.table)] == [Subscribe(1, "/a", 2)]
    assert [*link.forwarding.publishers([to_m], [to_x], link.table)] == [Unsubscribe(1)]


def test_in_a_clique_each_publisher_is_asked_and_nobody_else() -> None:
    peers = "abcdefgh"
    network = EmulatedFeeds([(one, other) for place, other in enumerate(peers) for one in peers[:place]])
    for peer in peers:
        network.advertise(peer, None)
    network.run(5.0)
    number = network.subscribe("a", "//x")
    network.run(5.0)
    assert network.sizes() == {peer: int(peer != "a") for peer in peers}
    network.unsubscribe("a", number)
    network.run(5.0)
    assert (network.messages["Subscribe"], network.messages["Unsubscribe"]) == (7, 7)


def test_everything_is_wanted_from_somewhere_too() -> None:
    link = Link(budget=Budget(subscriptions=1))
    link.neighbour("m", 1, "/a", 2)
    link.neighbour("m", 2, "/b", 4)
    assert link.known == {ALL: EVERYTHING}
    assert link.lost("m", 1) == [Subscribe(ALL, EVERYTHING, 5)]
    assert link.lost("m", 2) == [Unsubscribe(ALL)]


def test_nobody_wants_what_a_circle_of_peers_wants_for_each_other() -> None:
    """All publish: each peer asks the next one on behalf of the one before, for whom that one is the way to it."""
    peers = "abcdef"
    ring = [(one, peers[place - 1]) for place, one in enumerate(peers)]
    network = EmulatedFeeds(ring)
    for peer in peers:
        network.advertise(peer, None)
    network.run(5.0)
    number = network.subscribe("a", "//x")
    network.run(5.0)
    assert sum(network.sizes().values()) > 5
    network.unsubscribe("a", number)
    network.run(5.0)
    assert set(network.sizes().values()) == {0}
    told = network.messages["Subscribe"] + network.messages["Unsubscribe"]
    assert 12 < told <= 2 * len(ring) * (MOST_SUPPORT + 1), "on each of twelve ways hops only grow, up to the most"
    network.run(60.0)
    assert network.messages["Subscribe"] + network.messages["Unsubscribe"] == told


def test_who_reads_no_namespaces_is_told_what_it_reads() -> None:
    link = Link()
    assert link.add(1, "//Q{urn:a}b") == []
    assert link.add(2, "//Q{urn:a}c or //d[@x = 1]") == [Subscribe(2, "//d[@x[. = 1]]")]
    assert link.add(3, "//e = 'Q{urn:a}f'") == [Subscribe(3, "//e = 'Q{urn:a}f'")]
    assert link.add(4, "/*/@Q{urn:a}b") == []
    assert link.remove(1) == []
    assert link.remove(2) == [Unsubscribe(2)]


def test_who_reads_namespaces_is_told_all() -> None:
    link = Link()
    link.forwarding.reads_namespaces = True
    assert link.add(1, "//Q{urn:a}b") == [Subscribe(1, "//Q{urn:a}b")]
    assert link.add(2, "/Q{urn:a}c/Q{urn:a}b") == [], "it is covered"
    assert link.add(3, "//b") == [Subscribe(3, "//b")]
