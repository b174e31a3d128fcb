"""Overlap of subscriptions with advertisements."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.witness import overlap_witness
from heptox.grammar import parse_subscription
from heptox.routing import (
    Overlaps,
    UndecidedError,
    advertised,
    covers_any_document,
    overlap,
    patience,
)
from heptox.schema import parse_dtd, random_document
from heptox.xml import parse_document
from tests.support.budget import tries
from tests.support.checking import Outcome
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.making import random_condition, random_schema
from tests.support.routing.checking import check_overlap
from tests.support.routing.making import loosened, parsed, random_paths

ORDERS = """
    <!ELEMENT orders (order*)> <!ELEMENT order (line+, note?)> <!ELEMENT line (item, part*)> <!ELEMENT item (#PCDATA)>
    <!ELEMENT part (part | item)> <!ELEMENT note EMPTY>
    <!ATTLIST order id CDATA #REQUIRED> <!ATTLIST item code CDATA #IMPLIED>
"""


def orders() -> Overlaps:
    return Overlaps(advertised(parse_dtd(ORDERS, "orders")))


@pytest.mark.parametrize(
    ("path", "witness"),
    [
        ("/orders", "/orders"),
        ("/order", None),
        ("//part//item", "/orders/order/line/part/item"),
        ("//part/*/*/item", "/orders/order/line/part/part/part/item"),
        ("//item/*", None),
        ("//@code", "/orders/order/line/item/@code"),
        ("//part//@*", "/orders/order/line/part/item/@code"),
        ("//order/@*", "/orders/order/@id"),
        ("//line/@*", None),
        ("//order//@id", "/orders/order/@id"),
        ("//note/text()", None),
        ("//note//text()", None),
        ("//text()", "/orders/text()"),
        ("/text()", None),
        ("/@id", None),
        ("/orders/*/*/*/*", "/orders/order/line/part/item"),
        ("//nothing", None),
    ],
)
def test_the_shortest_witness(path: str, witness: str | None) -> None:
    found = overlap_witness(orders().advertisement, parsed(path))
    assert (str(found) if found else None) == witness
    assert orders().path(parsed(path)) is (witness is not None)


@pytest.mark.parametrize(
    ("subscription", "expected"),
    [
        ("//order[line and note]", True),
        ("//order[line/note]", False),
        ("//line[item = 'tea' and part/item/@code > 3]", True),
        ("//*[@id and item]", False),
        ("//*[@id]//*[@code]", True),
        ("//note/x or //part[item]", True),
        ("//part[note] or /order", False),
        ("/orders and //line/part", True),
        ("/orders and //item/part", False),
    ],
)
def test_tree_patterns_are_followed_element_by_element(subscription: str, expected: bool) -> None:
    assert orders().subscription(parse_subscription(subscription)) is expected


def test_automata_decide_the_same() -> None:
    outcome = Outcome()
    for seed in range(10):
        check_overlap(Random(seed), 200, outcome)
    assert not outcome.broken
    assert outcome.counts["overlapping"] > 200


@settings(max_examples=tries(60), deadline=None)
@given(st.integers(0, 1 << 32))
def test_what_matches_a_valid_document_overlaps(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    overlaps = Overlaps(advertised(schema))
    nodes = [document_node(parse_document(random_document(schema, random, elements=10))) for _ in range(3)]
    for _ in range(10):
        patterns = parse_subscription(printed(random_condition(random, nodes)))
        if any(matches(patterns, node) for node in nodes):
            assert overlaps.subscription(patterns), patterns


@settings(max_examples=tries(60), deadline=None)
@given(st.integers(0, 1 << 32))
def test_what_covers_overlaps_too(seed: int) -> None:
    random = Random(seed)
    overlaps = Overlaps(advertised(random_schema(random)))
    for special in random_paths(random, 10, 4):
        general = loosened(random, special)
        if covers_any_document(general, special):
            assert overlaps.path(general) or not overlaps.path(special)


def test_a_witness_is_not_searched_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "MOST_STEPS", 3)
    assert orders().path(parsed("//part//@code"))
    with pytest.raises(UndecidedError):
        overlap_witness(orders().advertisement, parsed("//part//@code"))


def test_nested_branches_are_looked_at_once() -> None:
    names = [f"e{number}" for number in range(40)]
    dtd = "".join(f"<!ELEMENT {name} ({' | '.join(names)})*>" for name in names)
    pattern = "e1"
    for _ in range(12):
        pattern = f"*[e2]//*[e3][.//{pattern}]"
    overlaps = Overlaps(advertised(parse_dtd(dtd, "e0")))
    assert overlaps.subscription(parse_subscription(f"/{pattern}"))
    assert not overlaps.subscription(parse_subscription(f"/{pattern.replace('e1', 'none')}"))


def test_what_is_kept_is_bounded_and_forgotten_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "MOST_KEPT", 5)
    overlaps = orders()
    for number in range(100):
        assert not overlaps.path(parsed(f"//x{number}"))
        assert overlaps.path(parsed("//part//item"))
        assert overlaps.remembered.steps <= 8
