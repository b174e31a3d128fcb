"""The covering index over advertised paths: what it forwards suffices, and no more than that is forwarded."""

from __future__ import annotations

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import invariant, rule

from benchmarks.routing.advertised_index import AdvertisedIndex
from benchmarks.routing.covering import Strength
from heptox.routing import Change, CoveringIndex, advertised
from heptox.schema import parse_dtd
from tests.routing.test_covering_index import NUMBER, TEXTS, Churn, Pairs, add, compared_with_few
from tests.support.budget import tries
from tests.support.routing.schemas import schema_of


class AdvertisedChurn(Churn):
    """Subscriptions come and go, and advertisements change, on a link."""

    def new_index(self) -> CoveringIndex[int]:
        self.advertised = AdvertisedIndex[int]()
        return self.advertised

    @rule(number=st.integers(0, 2))
    def advertise(self, number: int) -> None:
        advertisements = [advertised(schema_of(self.random)) for _ in range(number)]
        self.pairs = Pairs(advertisements)
        self.replay(self.advertised.advertise(*advertisements))

    @invariant()
    def edges_are_justified(self) -> None:
        for number, patterns in self.wanted.items():
            edge = self.advertised.edge(number)
            assert (edge is None) == (number in self.forwarded)
            if edge is not None:
                found = Pairs(edge.advertisements)
                assert found.covers(self.wanted[edge.parent], patterns)
                assert bool(edge.advertisements) == (edge.strength is Strength.ADVERTISED_PATHS)


TestAdvertisedChurn = AdvertisedChurn.TestCase
TestAdvertisedChurn.settings = settings(max_examples=tries(80), stateful_step_count=16, deadline=None)


@pytest.mark.parametrize("text", TEXTS)
def test_what_differs_in_a_constant_or_a_name_is_not_compared_one_by_one(text: str) -> None:
    parts = ("isbn", "lang", "price", *(f"a{each}" for each in range(NUMBER)))
    dtd = f"<!ELEMENT books (book*)> <!ELEMENT book (#PCDATA | {' | '.join(parts)})*>"
    schema = parse_dtd(dtd + "".join(f"<!ELEMENT {part} (#PCDATA)>" for part in parts), "books")
    index = AdvertisedIndex[int]()
    index.advertise(advertised(schema))
    compared_with_few(index, text)


def test_an_advertisement_justifies_edges_and_its_end_brings_them_back() -> None:
    index = AdvertisedIndex[str]()
    add(index, "/a/b")
    add(index, "//c")
    found = advertised(parse_dtd("<!ELEMENT a (b)> <!ELEMENT b (c?)> <!ELEMENT c EMPTY>", "a"))
    assert index.advertise(found) == Change((), ("//c",))
    edge = index.edge("//c")
    assert edge is not None
    assert (edge.parent, edge.strength, edge.advertisements) == ("/a/b", Strength.ADVERTISED_PATHS, (found,))
    other = advertised(parse_dtd("<!ELEMENT a (c)> <!ELEMENT c EMPTY>", "a"))
    assert index.advertise(found, other) == Change(("//c",))
    assert index.advertise() == Change()


def test_what_is_covered_through_another_is_covered_by_the_weaker_strength() -> None:
    index = AdvertisedIndex[str]()
    dtd = "<!ELEMENT a (b)> <!ELEMENT b (c?)> <!ELEMENT c (d?)> <!ELEMENT d EMPTY>"
    index.advertise(advertised(parse_dtd(dtd, "a")))
    for text in ("//c", "//c/d", "/a/b"):
        add(index, text)
    assert index.remove("//c") == Change()
    edge = index.edge("//c/d")
    assert edge is not None
    assert (edge.parent, edge.strength) == ("/a/b", Strength.ADVERTISED_PATHS)
    assert index.advertise() == Change(("//c/d",))
