"""What atoms imply together; the judge is trying values."""

from __future__ import annotations

from itertools import product
from typing import Final, TypeAlias, get_args

from hypothesis import given, strategies as st

from heptox.pattern import (
    Absence,
    Closure,
    Comparison,
    Constraints,
    DeepEqual,
    LeafItem,
    Member,
    Number,
    Operator,
    Presence,
    Term,
    Text,
    Variable,
    holds,
    normalise,
)
from heptox.schema import SchemaTree, parse_dtd

TREE: Final = SchemaTree(
    parse_dtd(
        "<!ELEMENT r (n*)> <!ELEMENT n (a?, b?, c)><!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>"
    )
)
CONSTRAINTS: Final = Constraints(TREE)
TERMS: Final = [Term("n", (leaf,)) for leaf in "abc"]
VALUES: Final = ("1", "2", "10", "x")

Known: TypeAlias = Comparison | Presence | Absence

terms = st.sampled_from(TERMS)
operands = terms | st.sampled_from([Text("1"), Text("2"), Text("x"), Number("2"), Number("10")])
atoms = (
    st.builds(Comparison, st.sampled_from(get_args(Operator)), terms, operands)
    | st.builds(Presence, terms)
    | st.builds(Absence, terms)
)


def member(given_atoms: list[Known]) -> Member:
    variables = (Variable("r", ()), Variable("n", ("n",), "r"))
    return Member(variables, frozenset(given_atoms), LeafItem("value", "", Text("item")))


def true(atom: Known, values: dict[Term, str | None]) -> bool:
    match atom:
        case Presence(term):
            return values[term] is not None
        case Absence(term):
            return values[term] is None
        case Comparison(operator, left, right):
            value = values[left]
            other = values[right] if isinstance(right, Term) else right
            if value is None or other is None:
                return False
            return holds(value, operator, Text(other) if isinstance(other, str) else other)


def worlds() -> list[dict[Term, str | None]]:
    optional = (None, *VALUES)
    return [dict(zip(TERMS, world, strict=True)) for world in product(optional, optional, VALUES)]


WORLDS: Final = worlds()


@given(st.lists(atoms, max_size=4), atoms)
def test_what_is_implied_holds_in_every_world(known: list[Known], asked: Known) -> None:
    closure = Closure(member(known), CONSTRAINTS)
    possible = [world for world in WORLDS if all(true(atom, world) for atom in known)]
    if closure.contradictory:
        assert not possible
    elif closure.implies(asked):
        assert all(true(asked, world) for world in possible)


@given(st.lists(atoms, max_size=5))
def test_the_normal_form_holds_in_the_same_worlds(known: list[Known]) -> None:
    normal = normalise(member(known), CONSTRAINTS)
    for world in WORLDS:
        before = all(true(atom, world) for atom in known)
        after = normal is not None and all(
            true(atom, world) for atom in normal.atoms if not isinstance(atom, DeepEqual)
        )
        assert before == after


@given(st.lists(atoms, max_size=5))
def test_the_normal_form_is_its_own(known: list[Known]) -> None:
    normal = normalise(member(known), CONSTRAINTS)
    assert normal is None or normalise(normal, CONSTRAINTS) == normal
