"""What holds of the suggestions for any two schemas."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings, strategies as st

from heptox.mapping import Suggestion, suggest
from heptox.schema import Path, SchemaTree
from tests.mapping.suggesting.schemas import codes, declarations, tree
from tests.support.budget import tries

UNCONNECTED = {"HX4016", "HX4017", "HX4021"}
"""What decides on more than single arrows: connections between groups, and how many alternatives there are."""

Schema = tuple[str, ...]


def schema(lines: Schema) -> SchemaTree:
    return tree("\n".join(lines))


def by_ends(suggestions: tuple[Suggestion, ...]) -> dict[tuple[Path, Path], float]:
    return {(each.source, each.target): round(each.confidence, 6) for each in suggestions}


def can_be_ends(side: SchemaTree) -> set[Path]:
    """The leaves that an arrow can have."""
    return {
        path
        for path in side.walk()
        if path and side.is_leaf(path) and not (path[-1] == "text()" and side.edge(path).repeats)
    }


@given(declarations())
@settings(deadline=None, max_examples=tries(60))
def test_of_a_schema_and_itself_each_leaf_is_first_suggested_to_itself(lines: Schema) -> None:
    suggestions = suggest(schema(lines), schema(lines))
    copied = {each.source for each in suggestions if each.copies}
    first: dict[Path, Path] = {}
    for each in suggestions:
        first.setdefault(each.source, each.target)
    for leaf in can_be_ends(schema(lines)):
        if not any(leaf[:length] in copied for length in range(len(leaf))):
            assert first.get(leaf) == leaf


@given(declarations(), declarations())
@settings(deadline=None, max_examples=tries(60))
def test_what_is_suggested_can_be_drawn_together(one: Schema, other: Schema) -> None:
    source, target = schema(one), schema(other)
    assert codes(source, target, suggest(source, target)) <= UNCONNECTED


@given(declarations(), declarations())
@settings(deadline=None, max_examples=tries(60))
def test_confidence_falls_and_each_arrow_has_a_reason(one: Schema, other: Schema) -> None:
    suggestions = suggest(schema(one), schema(other))
    confidences = [each.confidence for each in suggestions]
    assert all(0.5 <= confidence <= 1 for confidence in confidences)
    assert all(before >= after - 1e-9 for before, after in pairwise(confidences))
    assert all(each.reasons for each in suggestions)
    assert len(by_ends(suggestions)) == len(suggestions)


@given(declarations(), declarations(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=tries(60))
def test_the_order_of_declarations_does_not_matter(one: Schema, other: Schema, random: Random) -> None:
    def shuffled(lines: Schema) -> Schema:
        return (lines[0], *random.sample(lines[1:], len(lines) - 1))

    assert by_ends(suggest(schema(one), schema(other))) == by_ends(
        suggest(schema(shuffled(one)), schema(shuffled(other)))
    )


@given(declarations(), declarations())
@settings(deadline=None, max_examples=tries(60))
def test_both_directions_are_alike(one: Schema, other: Schema) -> None:
    """Below a root that owns nothing: what a root owns takes no leaf that repeats (HX4013), and one only (HX4019)."""
    below = [f"<!ELEMENT top ({lines[0].split()[1]}*)>" for lines in (one, other)]
    source, target = schema((below[0], *one)), schema((below[1], *other))
    there, back = by_ends(suggest(source, target)), by_ends(suggest(target, source))
    assert {(b, a): confidence for (a, b), confidence in there.items()} == back


@given(declarations(), declarations(), st.data())
@settings(deadline=None, max_examples=tries(60))
def test_what_is_drawn_is_not_suggested_again(one: Schema, other: Schema, data: st.DataObject) -> None:
    source, target = schema(one), schema(other)
    before = suggest(source, target)
    drawn = [each for each in before if data.draw(st.booleans())]
    after = suggest(source, target, drawn=[(each.source, each.target) for each in drawn])
    assert not by_ends(tuple(drawn)).keys() & by_ends(after).keys()
    assert codes(source, target, (*drawn, *after)) <= UNCONNECTED
