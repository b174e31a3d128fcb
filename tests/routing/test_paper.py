"""The examples of the paper, and what refutes its algorithms: each by a path that a publisher may send."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from benchmarks.routing.covering import Coverings
from heptox.routing import Advertisement, Overlaps, advertised
from heptox.schema import parse_dtd
from tests.support.routing import paper
from tests.support.routing.judging import accepts
from tests.support.routing.making import parsed


def steps(text: str) -> list[str]:
    return text.strip("/").split("/") if text else []


@pytest.mark.parametrize(
    ("elements", "path", "expected"),
    [
        # Algorithm 1: /b/*/*/c/c/d
        ("b:x x:x,c c:c,d d:", "/*/c/*/b/c", False),
        # Algorithm 5: /a/*/e/*/d/*/c/b, by the path /a/a/e/x/d/x/c/b
        ("a:a,e e:x x:d,c d:x c:b b:", "//*/a//d/*/c//b", True),
        # Algorithm 6: /a/*/c(/e/d)+/*/c/e, by the path /a/a/c/e/d/e/d/x/c/e
        ("a:a,c c:e e:d d:e,x x:c", "/*/a/c/*/d/e/d/*", True),
    ],
)
def test_examples_of_overlap(elements: str, path: str, expected: bool) -> None:
    assert Overlaps(local(elements)).path(parsed(path)) is expected


def local(elements: str) -> Advertisement:
    """An advertisement by the edges of its graph: ``a:b,c b: c:``; each path may end anywhere."""
    declared = [each.split(":") for each in elements.split()]
    models = ((name, f"({below.replace(',', '|')})*" if below else "EMPTY") for name, below in declared)
    return advertised(parse_dtd("".join(f"<!ELEMENT {name} {model}>" for name, model in models), declared[0][0]))


@pytest.mark.parametrize(
    ("general", "special", "covers", "by_the_paper"),
    [
        ("/*/a//*/c", "/a/a/*//c/e/c/d", True, True),
        ("/a/*//*/d", "/a//b/c/d", True, True),
        # The paper says that */c does not cover *//c; //*/c does
        ("/*/a//*/c", "/a/a/*//c/b/d", True, False),
        ("//*/a", "/a//a", True, False),
        ("/*", "//a", True, False),
        ("/a/*//a//a", "/a//a/a/b", False, True),
    ],
)
def test_covering(general: str, special: str, covers: bool, by_the_paper: bool) -> None:
    found = Coverings().path(parsed(general), parsed(special))
    assert found.covers is covers
    assert paper.des_cov(general, special) is by_the_paper


def test_what_refutes_the_papers_covering() -> None:
    found = Coverings().path(parsed("/a/*//a//a"), parsed("/a//a/a/b"))
    assert found.counterexample == "/a/a/a/b"


@pytest.mark.parametrize(
    ("advertisement", "subscription", "witness", "by_the_paper"),
    [
        ("/*/*/a/b", "b/a/b", "c b a b", False),
        ("/*/a/a/b", "b/*/b", None, True),
    ],
)
def test_search_with_wildcards(advertisement: str, subscription: str, witness: str | None, by_the_paper: bool) -> None:
    assert paper.rel_adv(steps(advertisement), steps(subscription)) is by_the_paper
    overlaps = abs_somewhere(steps(advertisement), steps(subscription))
    assert overlaps is (witness is not None) is not by_the_paper
    if witness:
        assert accepts(parsed(advertisement), witness.split()) and accepts(parsed(f"//{subscription}"), witness.split())


def abs_somewhere(advertisement: list[str], subscription: list[str]) -> bool:
    return any(paper.abs_adv(advertisement[place:], subscription) for place in range(len(advertisement)))


@pytest.mark.parametrize(
    ("algorithm", "expression", "edges", "subscription", "expected"),
    [
        (lambda s: paper.sim_rec_adv([], ["a"], ["a"], s), "(/a)+/a", "a:a", "/a/a/b", False),
        (lambda s: paper.sim_rec_adv([], ["a"], ["a", "b"], s), "(/a)+/a/b", "a:a,b b:", "/a/a/a/b", True),
        (
            lambda s: paper.ser_rec_adv(["a"], ["b"], ["c"], ["d"], ["e"], s),
            "/a(/b)+/c(/d)+/e",
            "a:b b:b,c c:d d:d,e e:",
            "/a/b/b/c/d/e",
            True,
        ),
        (
            lambda s: paper.emb_rec_adv(["a"], ["b"], ["c"], ["d"], ["e"], s),
            "/a(/b(/c)+/d)+/e",
            "a:b b:c c:c,d d:b,e e:",
            "/a/b/c/d/b/c/d/e",
            True,
        ),
    ],
)
def test_recursive_advertisements(
    algorithm: Callable[[list[str]], bool], expression: str, edges: str, subscription: str, expected: bool
) -> None:
    assert Overlaps(local(edges)).path(parsed(subscription)) is expected
    if expected:
        assert re.fullmatch(expression, subscription)
    assert algorithm(steps(subscription)) is not expected


def test_an_example_that_the_paper_decides_by_repeating_once_more() -> None:
    assert paper.sim_rec_adv(["a", "*", "c"], ["e", "d"], ["*", "c", "e"], steps("/*/a/c/*/d/e/d/*"))
