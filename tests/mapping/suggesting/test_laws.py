"""What holds of the suggestions for any two schemas, and for pairs of documents of any mapping."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings, strategies as st

from heptox.errors import HeptoxError
from heptox.mapping import Suggestion, exchange, suggest
from heptox.schema import Path, SchemaTree
from heptox.xml import XmlElement, parse_document
from tests.mapping.suggesting.schemas import codes, declarations, made, tree
from tests.support.budget import tries
from tests.support.random_mappings import random_documents, random_problem

UNCONNECTED = {"HX4016", "HX4017", "HX4021"}
"""What decides on more than single arrows: connections between groups, and how many alternatives there are."""

IDENTIFIERS = frozenset(("id", "ref"))

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


@given(st.integers(0, 1 << 30))
@settings(deadline=None, max_examples=tries(25))
def test_what_pairs_support_makes_nothing_that_they_refute(seed: int) -> None:
    """Of any mapping: what all lines make of the source of a pair is in its target, node by node."""
    random = Random(seed)
    problem = random_problem(random)
    mapping = problem.mapping
    documents = [parse_document(text) for text in random_documents(random, problem, 3)]
    try:
        pairs = [(each, exchange(mapping, each)) for each in documents]
    except HeptoxError:
        return  # a value for which the target has no tag left
    source, target = (SchemaTree(side.graph, side.boxes) for side in (mapping.source, mapping.target))
    found = suggest(source, target, pairs=pairs)
    for document, image in pairs:
        assert is_within(made(source, target, found, document).root, image.root), (str(problem), [*map(str, found)])


def is_within(one: XmlElement, other: XmlElement) -> bool:
    """Whether an element has nothing that another has not, but for identifiers, which may be invented."""
    values = {name: value for name, value in one.items() if name not in IDENTIFIERS}
    if one.tag != other.tag or not values.items() <= dict(other.items()).items():
        return False
    if not len(one) and one.text and one.text != other.text:
        return False
    return are_within([child for child in one if says_something(child)], list(other))


def says_something(element: XmlElement) -> bool:
    """Whether an element has more than an identifier."""
    return any(one.text or set(one.keys()) - IDENTIFIERS for one in element.iter()) or not element.keys()


def are_within(ones: list[XmlElement], others: list[XmlElement]) -> bool:
    """Whether each element is in one of some others, and no two in the same."""
    if not ones:
        return True
    return any(
        is_within(ones[0], other) and are_within(ones[1:], others[:place] + others[place + 1 :])
        for place, other in enumerate(others)
    )
