"""Sketches of values: bounded, and the same whatever the order."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, strategies as st

from heptox.mapping.suggesting.samples import Samples, Sketch, shape


def sketch(values: list[str]) -> Sketch:
    made = Sketch()
    for value in values:
        made.add(value)
    made.finish()
    return made


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("-3.5", "numbers"),
        ("85%", "numbers"),
        ("03:10PM", "times"),
        ("2003-12-25", "dates"),
        ("12/25/2003", "dates"),
        ("Oedème", "words"),
        ("B. Jones", "phrases"),
        ("AB-12", "codes"),
        ("it is a rather long text", "texts"),
        ("#", "signs"),
        ("TU,TH", "signs"),
    ],
)
def test_shapes(value: str, expected: str) -> None:
    assert shape(value) == expected


@given(st.lists(st.text(max_size=6), max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[str], random: Random) -> None:
    assert sketch(values) == sketch(random.sample(values, len(values)))


def test_many_values_are_sampled_alike_on_both_sides() -> None:
    """Of two large sets of which half is the same, sketches tell about half, and stay small."""
    one = [f"a{number}" for number in range(20_000)]
    other = [f"a{number}" for number in range(10_000, 30_000)]
    samples = Samples({0: sketch(one)}, {0: sketch(other[::-1])})
    share, both, least = samples.overlap(0, 0)
    assert 0.3 < share < 0.7
    assert both < least < 1000
    assert len(sketch(one).chosen) < 1000
    assert sketch(one) == sketch(one[::-1])


def test_space_and_case_do_not_matter_and_nothing_is_no_value() -> None:
    assert sketch([" Chest \n Pain", "chest pain", "", "  "]).chosen.keys() == {"chest pain"}


def test_values_that_many_leaves_have_count_for_less() -> None:
    common, rare = sketch(["1", "2", "x", "y"]), sketch(["1", "2", "p", "q"])
    other = sketch(["x", "y", "r", "s"])
    samples = Samples({0: common, **{n: sketch(["1", "2"]) for n in range(1, 9)}}, {0: rare, 1: other})
    assert samples.overlap(0, 1)[0] > samples.overlap(0, 0)[0]


@given(st.lists(st.text(max_size=4)), st.lists(st.text(max_size=4)))
def test_both_sides_are_alike(one: list[str], other: list[str]) -> None:
    there = Samples({0: sketch(one)}, {0: sketch(other)})
    back = Samples({0: sketch(other)}, {0: sketch(one)})
    assert there.overlap(0, 0) == back.overlap(0, 0)
    assert there.likeness(0, 0)[:2] == pytest.approx(back.likeness(0, 0)[:2])
    assert 0 <= there.overlap(0, 0)[0] <= 1 + 1e-9
