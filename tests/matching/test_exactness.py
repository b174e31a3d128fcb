"""Every engine decides as XPath does: random schemas, documents and subscriptions, judged by elementpath and lxml.

``python -m tests.fuzz --of matching`` does the same for as long as one likes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from random import Random

import pytest
from hypothesis import given, strategies as st

from heptox.grammar import parse_subscription
from heptox.matching import PLANS
from heptox.xml import Document, parse_document, write_element
from tests.fuzz.trial import Size, trial
from tests.support.checking import Outcome
from tests.support.fixtures import cases
from tests.support.matching.checking import check_matching
from tests.support.matching.conditions import Comparison, Constant, Path, Step, printed, smaller
from tests.support.matching.embedding import Node, document_node, matches
from tests.support.matching.engines import ENGINES, Engine, Naive, Numbered, Opened
from tests.support.matching.judging import DisagreementError, Judge, Judged, Plain
from tests.support.matching.making import random_condition, random_schema, random_text

IN_DATABASES = (*PLANS, "relational")
QUICK = Size(20, 10, "matching", ",".join(name for name in ENGINES if name not in IN_DATABASES))


@cache
def quick_trial(number: int) -> Outcome:
    return trial(number, QUICK)


@pytest.mark.parametrize("number", range(8))
def test_random_cases(number: int) -> None:
    outcome = quick_trial(number)
    assert not outcome.broken, outcome.broken[0]
    assert outcome.counts["cases"] > 150


@pytest.mark.parametrize(("number", "name"), [*enumerate(IN_DATABASES)])
def test_random_cases_in_databases(number: int, name: str) -> None:
    outcome = trial(number, Size(12, 8, "matching", name))
    assert not outcome.broken, outcome.broken[0]
    assert outcome.counts[f"decisions of {name}"] == outcome.counts["cases"] > 80


def test_random_cases_are_of_all_kinds() -> None:
    """What is drawn matches often and not always, is judged by all judges, and engines see subscriptions change."""
    counts = sum((quick_trial(number).counts for number in range(8)), Counter[str]())
    assert 0.1 < counts["matches"] / counts["cases"] < 0.9
    assert counts["decisions of guarded"] == counts["cases"]
    assert counts["decisions of elementpath"] > 0.6 * counts["cases"]
    assert counts["decisions of lxml"] > 0.2 * counts["cases"]
    assert all(counts[f"decisions of {name}"] == counts["cases"] for name in QUICK.engines.split(","))
    assert counts["changes while matching"] > 10
    assert counts["refused for too many alternatives"] < 0.05 * counts["subscriptions"]
    assert 0.1 < counts["damaged texts that are read"] / counts["damaged texts"] < 0.6


@dataclass(frozen=True, slots=True)
class Corner:
    """A subscription and a document, and whether they match."""

    subscription: str
    document: Document
    matches: bool


def corners() -> list[Corner]:
    found = []
    for written, expected in cases("subscriptions/decisions.txt"):
        lines = [line for line in written.split("\n") if not line.startswith("(:")]
        found.append(Corner(lines[0], parse_document("\n".join(lines[1:])), expected == "yes"))
    return found


@pytest.mark.parametrize("opened", ENGINES.values(), ids=ENGINES)
def test_corners(opened: Opened) -> None:
    """What engines decide alone and among others is what is written down."""
    found = corners()
    with opened() as engine:
        engine.add(
            [Numbered(number, c.subscription, parse_subscription(c.subscription)) for number, c in enumerate(found)]
        )
        matched = engine.match([corner.document for corner in found])
    for number, corner in enumerate(found):
        assert (number in matched[number]) == corner.matches, corner.subscription


@pytest.mark.parametrize("corner", corners(), ids=lambda corner: corner.subscription)
def test_what_is_written_down_is_what_xpath_says(corner: Corner) -> None:
    truth = Plain(corner.subscription).decide(Judged(corner.document))
    assert truth in (None, corner.matches)  # none where values are no numbers


@given(st.integers(min_value=0), st.booleans())
def test_embedding_is_what_the_judges_say(seed: int, plain: bool) -> None:
    random = Random(seed)
    document = parse_document(random_text(random, random_schema(random)))
    condition = random_condition(random, [document_node(document)])
    text = printed(condition, None if plain else random)
    truth = Judge(condition, text).decide(Judged(document))
    assert matches(parse_subscription(text), document_node(document)) == truth


# -- the checks notice what is wrong -----------------------------------------------------------------------------


class _Wrong(Naive):
    """Takes ``a//@x`` for attributes below ``a``, not those of its own."""

    def matched(self, number: int, document: Node) -> bool:
        return super().matched(number, document) and not any(
            "//@" in str(pattern) for pattern in self.subscriptions[number]
        )


class _Forgetful(Naive):
    """Loses the first of many subscriptions when one is removed."""

    def remove(self, number: int) -> None:
        self.subscriptions.pop(number, None)
        self.subscriptions.pop(min(self.subscriptions, default=number), None)


@contextmanager
def _opened(made: type[Naive]) -> Iterator[Engine]:
    yield made()


def _broken(made: type[Naive]) -> list[str]:
    outcome = Outcome()
    for number in range(6):
        check_matching(Random(number), 20, 6, {"wrong": partial(_opened, made)}, outcome)
    return [text for text in outcome.broken if text.startswith("wrong\n")]


def test_a_wrong_engine_is_noticed_and_its_fault_made_small() -> None:
    told = _broken(_Wrong)
    assert told
    smallest = min((text.splitlines()[2:] for text in told), key=lambda lines: len("".join(lines)))
    assert smallest[0] in ("//@x", "//@y", "//@*")
    assert len(smallest[1]) < len('<a x="1"><b/></a>')
    assert smallest[2] == "expected True, got False"


def test_an_engine_that_forgets_is_noticed() -> None:
    told = _broken(_Forgetful)
    assert told
    assert all(text.endswith("no new engine goes wrong") for text in told)


def test_judges_that_disagree_are_noticed() -> None:
    five = Comparison(Path(True, (Step("/", "a"),)), "=", Constant("5", True))
    with pytest.raises(DisagreementError):
        Judge(five, "/a = 6").decide(Judged(parse_document("<a>5</a>")))


def test_smaller_conditions_are_conditions_and_there_is_an_end() -> None:
    random = Random(1)
    document = document_node(parse_document(random_text(random, random_schema(random))))
    for _ in range(30):
        condition = random_condition(random, [document])
        while less := next(smaller(condition), None):
            assert len(printed(less)) < len(printed(condition))
            condition = less


def test_the_judge_has_the_document_that_engines_have() -> None:
    """Comments, entities and CDATA sections do not divide texts, however lxml keeps them."""
    text = '<!DOCTYPE a [<!ENTITY e "5">]><a>1<!-- c -->2<?p i?>&e;<![CDATA[<]]>&#51;<b/>4&e;</a>'
    document = parse_document(text)
    assert write_element(document.root) == "<a>125&lt;3<b/>45</a>"
    assert [node.value for node in document_node(document) if node.test == "text()"] == ["125<3", "45"]
    assert document.root.xpath("//text()") == ["125<3", "45"]
