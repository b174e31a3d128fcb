"""Subscriptions on documents, judged by elementpath and lxml: small random ones, and those of the literature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Final

from benchmarks.matching.astronomy import SUBSCRIPTIONS, astronomy_documents, astronomy_root
from benchmarks.matching.documents import documents
from benchmarks.matching.stock import stock_workload
from benchmarks.matching.subscriptions import (
    Place,
    SubscriptionShape,
    places_of_document,
    places_of_schema,
    some_subscriptions,
)
from heptox.schema import SchemaGraph, read_dtd
from tests.support.checking import Outcome
from tests.support.matching.checking import check_matching, check_workload
from tests.support.matching.engines import Opened
from tests.support.shared import DATA

NITF: Final = DATA / "nitf" / "nitf-2-5.dtd"


@cache
def nitf() -> SchemaGraph:
    """The schema of news, which is recursive."""
    return read_dtd(NITF, "nitf")


@cache
def _nitf_root() -> Place:
    return places_of_schema(nitf(), documents(nitf(), 30))


@cache
def _astronomy_root() -> Place:
    return astronomy_root(30)


def judge_matching(
    random: Random, number: int, subscriptions: int, documents: int, engines: Mapping[str, Opened], outcome: Outcome
) -> None:
    """Of ten trials one is of NITF, one of each experiment of the paper in turn, the others are small and random."""
    if number % 10 == 3:
        check_workload(random, *_nitf(random, subscriptions, documents), engines, outcome)
    elif number % 20 == 6:
        check_workload(random, *_astronomy(random, subscriptions, documents), engines, outcome)
    elif number % 20 == 16:
        check_workload(random, *_stock(random, subscriptions, documents), engines, outcome)
    else:
        check_matching(random, subscriptions, documents, engines, outcome)


_Workload = tuple[list[str], list[str]]


def _nitf(random: Random, subscriptions: int, number: int) -> _Workload:
    """Half of the subscriptions are drawn along the documents, so that they match."""
    seed = random.randrange(1 << 32)
    texts = list(documents(nitf(), number, seed))
    shape = SubscriptionShape(branches=(0, 1, 2), predicates=(0, 1, 3), equalities=0.7, skew=random.choice((0.0, 1.0)))
    return _drawn(_nitf_root(), texts, subscriptions, shape, seed), texts


def _astronomy(random: Random, subscriptions: int, number: int) -> _Workload:
    seed = random.randrange(1 << 32)
    texts = list(astronomy_documents(number, seed))
    return _drawn(
        _astronomy_root(), texts, subscriptions, replace(SUBSCRIPTIONS, predicates=(2, 3, 7, 10)), seed
    ), texts


def _drawn(root: Place, texts: list[str], number: int, shape: SubscriptionShape, seed: int) -> list[str]:
    half = number // 2
    along = [places_of_document(text) for text in texts]
    return some_subscriptions([root], half, seed, shape) + some_subscriptions(along, number - half, seed, shape)


def _stock(random: Random, subscriptions: int, documents: int) -> _Workload:
    messages, wanted = stock_workload(
        subscriptions,
        documents,
        notifications=subscriptions * documents / 6,
        symbols=3,
        seed=random.randrange(1 << 32),
    )
    return list(wanted.texts()), list(messages.texts())
