"""Experiments with brokers: on Spark they tell what they tell here."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from benchmarks.routing.feed_experiments import FeedExperiment, Traffic, measure, measure_all
from benchmarks.routing.methods import METHODS
from heptox.routing import advertised
from heptox.schema import parse_dtd

NEWS = advertised(parse_dtd("<!ELEMENT news (title, item*)> <!ELEMENT title (#PCDATA)> <!ELEMENT item (#PCDATA)>"))
CHAIN = FeedExperiment(
    links=(("a", "b"), ("b", "c"), ("c", "d")),
    advertised={"a": NEWS},
    subscribed=(("c", "//item"), ("d", "/news/item"), ("d", "/book"), ("d", "//item[. = 'rain']")),
    published=(("a", b"<news><title/></news>"), ("a", b"<news><title/><item>rain</item></news>")),
)


def experiments() -> list[FeedExperiment]:
    return [replace(CHAIN, method=method) for method in METHODS.values()]


def untimed(traffic: Traffic) -> Traffic:
    return replace(traffic, seconds=0.0)


def test_a_method_costs_what_it_does_not_save() -> None:
    found = dict(zip(METHODS, map(measure, experiments()), strict=True))
    assert all(one.delivered == {("c", 1, "a/2"), ("d", 1, "a/2"), ("d", 3, "a/2")} for one in found.values())
    assert {name: one.messages["Subscribe"] for name, one in found.items()} == {
        "neither": 11, "covering": 7, "advertisements": 8, "both": 4,
    }  # fmt: skip
    assert all(one.messages["Publish"] == 3 for one in found.values())


def test_spark_tells_the_same(spark: SparkSession) -> None:
    assert [*map(untimed, measure_all(experiments(), spark))] == [*map(untimed, measure_all(experiments()))]
    assert [*measure_all([], spark)] == []
