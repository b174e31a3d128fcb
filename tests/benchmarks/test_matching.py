"""The workloads of the matching benchmark are what the literature says, and the same in every run."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from itertools import islice
from statistics import mean

import numpy as np
import pytest

from benchmarks.matching.astronomy import PREDICATES, SUBSCRIPTIONS, astronomy_documents, astronomy_root, schema
from benchmarks.matching.documents import DocumentShape, documents
from benchmarks.matching.stock import Messages, Subscriptions, stock_workload
from benchmarks.matching.subscriptions import (
    Place,
    SubscriptionShape,
    places_of_document,
    places_of_schema,
    some_subscriptions,
    subscriptions,
)
from heptox.grammar import parse_subscription
from heptox.pattern import PatternNode, TreePattern, ValueTest
from heptox.schema import SchemaGraph, validity_faults
from heptox.xmlio import XmlElement, parse_document
from tests.fuzz.matched import nitf
from tests.support.matching.embedding import document_node, matches

ASTRONOMY = schema()


@pytest.fixture(scope="module")
def news() -> Place:
    return places_of_schema(nitf(), documents(nitf(), 20))


def nodes(patterns: tuple[TreePattern, ...]) -> list[PatternNode]:
    """All nodes of the patterns."""
    found = [node for pattern in patterns for node in pattern.children]
    for node in found:
        found.extend(node.children)
    return found


def value_tests(text: str) -> list[ValueTest]:
    """All value predicates of a subscription."""
    return [test for node in nodes(parse_subscription(text)) for test in node.values]


def digest(texts: list[str]) -> str:
    return sha256("\n".join(texts).encode()).hexdigest()[:16]


# -- documents ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [nitf, lambda: ASTRONOMY], ids=["nitf", "astronomy"])
def test_documents_are_valid(schema: Callable[[], SchemaGraph]) -> None:
    graph = schema()
    for text in documents(graph, 40, seed=1):
        assert validity_faults(parse_document(text), graph) == ()


def test_news_have_four_kilobytes_in_the_mean() -> None:
    sizes = [len(text.encode()) for text in documents(nitf(), 200)]
    assert 3_500 < mean(sizes) < 5_000
    assert max(sizes) < 10_000


def test_documents_are_as_large_and_deep_as_asked() -> None:
    small, large = (mean(map(len, documents(nitf(), 40, shape=DocumentShape(elements=n)))) for n in (20, 80))
    assert 2 * small < large
    roots = [parse_document(text).root for text in documents(nitf(), 40, shape=DocumentShape(depth=5))]
    assert max(depth(root) for root in roots) < 10  # what must be there may lie deeper


def depth(element: XmlElement) -> int:
    return 1 + max(map(depth, element), default=0)


def test_documents_depend_on_seed_and_place_alone() -> None:
    four = list(documents(nitf(), 4, seed=5))
    assert list(documents(nitf(), 2, seed=5)) == four[:2]
    assert len({*four, *documents(nitf(), 4, seed=6)}) == 8


def test_other_machines_draw_the_same(news: Place) -> None:
    """Once written down, so that a change of a generator, which spoils what was measured before, is noticed."""
    shape = SubscriptionShape(branches=(0, 2), predicates=(0, 1, 3), skew=1.0)
    messages, wanted = stock_workload(100, 10, notifications=50, symbols=2)
    assert digest([*documents(nitf(), 3), *some_subscriptions([news], 50, 3, shape)]) == "4c31f9eac133ece5"
    assert (
        digest([*astronomy_documents(3), *some_subscriptions([astronomy_root(5)], 20, 3, SUBSCRIPTIONS)])
        == "c1620a1053a0da32"
    )
    assert digest([*messages.texts(), *wanted.texts()]) == "551482ed83d42144"


def test_recursion_is_there() -> None:
    root = parse_document(max(astronomy_documents(20), key=len)).root
    assert (
        root.xpath("//description//description") or root.xpath("//para//para") or root.xpath("//reference//reference")
    )


# -- subscriptions -----------------------------------------------------------------------------------------------


def test_all_subscriptions_are_read(news: Place) -> None:
    shape = SubscriptionShape(branches=(0, 1, 2, 3), predicates=(0, 1, 2, 5))
    for text in some_subscriptions([news], 500, 1, shape):
        assert len(parse_subscription(text)) == 1


@pytest.mark.parametrize("skew", [0.0, 1.0])
@pytest.mark.parametrize("probability", [0.0, 0.2, 0.6])
def test_steps_are_wild_as_often_as_asked(news: Place, probability: float, skew: float) -> None:
    shape = SubscriptionShape(wildcard=probability, descendant=probability, skew=skew)
    steps = [node for text in some_subscriptions([news], 3000, 2, shape) for node in nodes(parse_subscription(text))]
    assert mean(node.test == "*" for node in steps) == pytest.approx(probability, abs=0.02)
    assert mean(node.axis == "//" for node in steps) == pytest.approx(probability, abs=0.02)


def test_paths_are_as_deep_as_asked_where_the_schema_is(news: Place) -> None:
    lengths = [len(nodes(parse_subscription(text))) for text in some_subscriptions([news], 500, 3)]
    assert set(lengths) <= {2, 3, 4, 5, 6}
    assert set(islice(map(lengths.count, (4, 5, 6)), 3)) & {0} == set()


@pytest.mark.parametrize("equalities", [0.0, 0.5, 1.0])
def test_equalities_have_their_share(news: Place, equalities: float) -> None:
    shape = SubscriptionShape(predicates=(1, 2), equalities=equalities)
    found = [test for text in some_subscriptions([news], 1500, 4, shape) for test in value_tests(text)]
    assert len(found) > 1000
    assert mean(test.operator == "=" for test in found) == pytest.approx(equalities, abs=0.04)


def test_nested_paths_are_there_as_often_as_asked(news: Place) -> None:
    shape = SubscriptionShape(branches=(2,), predicates=(0,), branch_depth=(1, 2))
    for text in some_subscriptions([news], 200, 5, shape):
        assert len(re.findall(r"\[", text)) == 2
        assert all(len(re.findall("[^/]+", path)) <= 3 for path in re.findall(r"\[(.*?)\]", text))


def test_skew_repeats_what_comes_first(news: Place) -> None:
    evenly, skewed = (
        len(set(some_subscriptions([news], 3000, 6, SubscriptionShape(skew=skew)))) for skew in (0.0, 1.5)
    )
    assert skewed < 0.8 * evenly


def test_distinct_ones_do_not_repeat_and_there_may_be_too_few(news: Place) -> None:
    found = some_subscriptions([news], 3000, 7, distinct=True)
    assert len(set(found)) == 3000
    assert len(set(some_subscriptions([news], 3000, 7))) < 3000
    with pytest.raises(ValueError, match="only 1 distinct"):
        some_subscriptions([Place("a")], 2, 0, SubscriptionShape(wildcard=0, descendant=0), distinct=True)


def test_seeds_draw_different_ones(news: Place) -> None:
    one, same, other = (list(islice(subscriptions([news], seed), 50)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_along_a_document_all_match_but_for_inequalities() -> None:
    shape = SubscriptionShape(branches=(0, 1, 2), predicates=(0, 1, 2, 4), equalities=1.0)
    for text in documents(nitf(), 5, seed=8):
        node = document_node(parse_document(text))
        for subscription in some_subscriptions([places_of_document(text)], 60, 8, shape):
            assert matches(parse_subscription(subscription), node), subscription


def test_the_second_experiment_has_the_predicates_of_the_paper() -> None:
    found = [value_tests(text) for text in some_subscriptions([astronomy_root(30)], 1000, 9, SUBSCRIPTIONS)]
    numbers = [len(set(one)) for one in found]
    assert min(numbers) >= 1  # equal ones on one path count once
    assert max(numbers) == max(PREDICATES)
    assert mean(map(len, found)) == pytest.approx(7, abs=0.4)
    assert mean(test.operator == "=" for one in found for test in one) == pytest.approx(0.8, abs=0.02)


# -- stock messages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("notifications", [500, 5_000, 40_000])
def test_there_are_about_as_many_notifications_as_asked(notifications: int) -> None:
    messages, wanted = stock_workload(20_000, 2_000, notifications=notifications, symbols=200, seed=1)
    assert wanted.matched_by(messages) == pytest.approx(notifications, rel=0.1)


def test_texts_say_what_the_columns_say() -> None:
    messages, wanted = stock_workload(60, 40, notifications=100, symbols=4, seed=2)
    patterns = [parse_subscription(text) for text in wanted.texts()]
    documents_ = [document_node(parse_document(text)) for text in messages.texts()]
    assert sum(matches(one, document) for document in documents_ for one in patterns) == wanted.matched_by(messages)
    assert all(len(value_tests(text)) == 5 for text in wanted.texts())
    assert all(len(set(fields)) == 4 for fields in wanted.field.tolist())
    assert [float(x) for x in re.findall(r"<price>(.*?)<", "".join(messages.texts()))] == messages.values[:, 0].tolist()


def test_more_notifications_than_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="1000 pairs"):
        stock_workload(100, 20, notifications=1001, symbols=2)


def test_nothing_matches_nothing() -> None:
    none = np.empty((0, 4))
    wanted = Subscriptions(np.empty(0, np.int64), none.astype(np.int64), none.astype(np.int64), none)
    assert wanted.matched_by(Messages(np.zeros(3, np.int64), np.zeros((3, 6)))) == 0
