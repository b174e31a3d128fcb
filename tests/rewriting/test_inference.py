"""Inference of operators."""

from __future__ import annotations

from random import Random

import pytest

from heptox.rewriting import Insert, Program, Swap, Upgrade, infer_operators
from tests.rewriting.building import schema_of, target_to
from tests.support.checking import Outcome
from tests.support.rewriting.checking import check_inference

SMALLEST_FAILURES_OF_THE_PAPER_S_RULES = {
    "insert for each child": ("r(course(time, location))", "r(course(schedule(time, location)))"),
    "downgrade twice": ("r(e1, e2, e3)", "r(e2(e3(e1)))"),
    "upgrade two levels": ("r(e1(e2(e3)))", "r(e1(e2), e3)"),
    "up, then down": ("r(e1(e2), e3)", "r(e3(e1, e2))"),
    "upgrade, then insert": ("r(e1(e2))", "r(e1, w(e2))"),
    "swap, wrapper between": ("r(e1(e2))", "r(e2(w(e1)))"),
    "two swaps of one parent": ("r(e1(e2, e3))", "r(e3(e2(e1)))"),
    "order": ("r(e1(e2))", "r(w(v(e1, e2)))"),
}


@pytest.mark.parametrize("case", SMALLEST_FAILURES_OF_THE_PAPER_S_RULES)
@pytest.mark.parametrize("keeping", [False, True])
def test_what_the_rules_of_the_paper_miss_is_made(case: str, keeping: bool) -> None:
    source, target = SMALLEST_FAILURES_OF_THE_PAPER_S_RULES[case]
    schema = schema_of(source)
    operators = infer_operators(schema, target_to(target, schema), keeping=keeping)
    assert str(Program(schema, operators).result) == target


def test_one_wrapper_takes_all_children_that_go_into_it() -> None:
    schema = schema_of("r(course*(time, location))")
    operators = infer_operators(schema, target_to("r(course(schedule(time, location)))", schema))
    assert operators == (Insert(("course",), ("schedule",), (("course", "time"), ("course", "location"))),)


def test_two_swaps_of_one_parent_come_from_within() -> None:
    schema = schema_of("r(e1(e2, e3))")
    operators = infer_operators(schema, target_to("r(e3(e2(e1)))", schema), or_drop=False)
    assert operators[0] == Swap(("e1",), ("e1", "e3"))


def test_what_nothing_corresponds_to_goes_or_is_kept() -> None:
    schema = schema_of("r(e1(e2, e4), e3)")
    target = target_to("r(e2)", schema)
    assert str(Program(schema, infer_operators(schema, target)).result) == "r(e2)"
    kept = infer_operators(schema, target, keeping=True)
    assert kept == (Upgrade(("e1",), (("e1", "e2"),)),)
    assert str(Program(schema, kept).result) == "r(e1(e4), e2, e3)"


@pytest.mark.parametrize("seed", range(8))
def test_targets_of_operators_that_interact_are_made(seed: int) -> None:
    outcome = Outcome()
    check_inference(Random(seed), 50, outcome)
    assert not outcome.broken, outcome.broken[0]
    assert outcome.counts["operators"] > outcome.counts["cases"]


def test_targets_that_cannot_be_meant_are_refused() -> None:
    schema = schema_of("r(e1, e2)")
    with pytest.raises(ValueError, match="the root of the target corresponds to that of the source"):
        infer_operators(schema, target_to("e1(e2)", schema))
    with pytest.raises(ValueError, match="corresponds to several nodes"):
        infer_operators(schema, target_to("r(e1, e2(e1))", schema))
