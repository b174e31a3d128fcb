"""Matching on Spark: the same notifications as the relational matcher's, which embedding judges."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

import pytest

from heptox.cluster import SubscriptionTables
from heptox.errors import ClusterError, GrammarError
from heptox.grammar import parse_subscription
from heptox.matching import RelationalMatcher
from heptox.pattern import TreePattern
from heptox.xml import parse_document, write_element
from tests.matching.test_namespaces import case, decided, numbered
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.making import random_condition, random_schema, random_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def matched(spark: SparkSession, matcher: RelationalMatcher, texts: Sequence[str]) -> list[tuple[int, int]]:
    documents = spark.createDataFrame(list(enumerate(texts)), "doc bigint, text string").repartition(2)
    with SubscriptionTables(spark, matcher) as tables:
        found = [(doc, number) for doc, number in tables.match(documents).collect()]
    assert len(set(found)) == len(found)
    return sorted(found)


@pytest.mark.parametrize("seed", range(1))
def test_notifications_are_those_that_embedding_tells(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    texts = [random_text(random, schema) for _ in range(6)]
    nodes = [document_node(parse_document(text)) for text in texts]
    subscriptions: dict[int, tuple[TreePattern, ...]] = {}
    while len(subscriptions) < 40:
        text = printed(random_condition(random, nodes), random)
        try:
            subscriptions[len(subscriptions)] = parse_subscription(text)
        except GrammarError:  # too many alternatives
            continue
    expected = [
        (doc, number)
        for doc, node in enumerate(nodes)
        for number, patterns in subscriptions.items()
        if matches(patterns, node)
    ]
    assert expected
    with RelationalMatcher() as matcher:
        matcher.add_many(subscriptions.items())
        assert matched(spark, matcher, texts) == expected


def test_documents_and_subscriptions_have_names_in_namespaces(spark: SparkSession) -> None:
    found = case(3)
    texts = [write_element(document.root) for document in found.documents]
    expected = [(doc, number) for doc, numbers in enumerate(decided(found)) for number in numbers]
    assert expected
    with RelationalMatcher() as matcher:
        matcher.add_many((one.number, one.patterns) for one in numbered(found))
        assert matched(spark, matcher, texts) == expected


def test_what_is_no_document_is_told(spark: SparkSession) -> None:
    with RelationalMatcher() as matcher, pytest.raises(ClusterError) as told:
        matcher.add_texts([(1, "/a/b = 1 and /a/c > 2")])
        matched(spark, matcher, ["<a><b>1</b></a>", "<a>"])
    assert told.value.faults[0].code == "HX8020" and "number 1" in str(told.value)
