"""What atoms imply together; the judge is trying values."""

from __future__ import annotations

from itertools import product
from typing import Final, TypeAlias, get_args

from hypothesis import given, strategies as st

from heptox.pattern import (
    FUNCTIONS,
    Absence,
    Atom,
    Closure,
    Comparison,
    Constraints,
    DeepEqual,
    LeafItem,
    Member,
    NoNode,
    Number,
    Presence,
    SameValue,
    Sign,
    Term,
    Text,
    Variable,
    holds,
    normalise,
)
from heptox.schema import SchemaTree, parse_dtd

TREE: Final = SchemaTree(
    parse_dtd(
        "<!ELEMENT r (n*)> <!ELEMENT n (a?, b?, c, m*)> <!ELEMENT m (d?, e)> <!ELEMENT a (#PCDATA)> "
        "<!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)> <!ELEMENT d (#PCDATA)> <!ELEMENT e (#PCDATA)>"
    )
)
CONSTRAINTS: Final = Constraints(TREE)
TERMS: Final = [Term("n", (leaf,)) for leaf in "abc"]
VALUES: Final = ("1", "2", "10", "x")

Below: TypeAlias = dict[str, str | None]
"""The leaves of a node ``m``."""

terms = st.sampled_from(TERMS)
operands = terms | st.sampled_from([Text("1"), Text("2"), Text("x"), Number("2"), Number("10")])
atoms = (
    st.builds(Comparison, st.sampled_from(get_args(Sign)), terms, operands)
    | st.builds(
        Comparison, st.sampled_from([*FUNCTIONS] or ["="]), terms, st.sampled_from([Text("1"), Text("10"), Text("x")])
    )
    | st.builds(Presence, terms)
    | st.builds(Absence, terms)
    | st.builds(SameValue, terms, terms)
    | st.builds(
        NoNode,
        st.just("n"),
        st.just(("n", "m")),
        st.lists(
            st.tuples(st.sampled_from([("d",), ("e",)]), terms | st.sampled_from([Text("1"), Text("x"), None])),
            max_size=2,
        ).map(tuple),
    )
)


def member(given_atoms: list[Atom]) -> Member:
    variables = (Variable("r", ()), Variable("n", ("n",), "r"))
    return Member(variables, frozenset(given_atoms), LeafItem("value", "", Text("item")))


World: TypeAlias = tuple[dict[Term, str | None], tuple[Below, ...]]


def true(atom: Atom, world: World) -> bool:
    values, below = world
    match atom:
        case Presence(term):
            return values[term] is not None
        case Absence(term):
            return values[term] is None
        case SameValue(left, right) | DeepEqual(left, right):
            return values[left] == values[right]
        case NoNode(_, _, tests):
            return not any(all(meets(node[path[0]], wanted, values) for path, wanted in tests) for node in below)
        case Comparison(operator, left, right):
            value = values[left]
            other = values[right] if isinstance(right, Term) else right
            if value is None or other is None:
                return False
            return holds(value, operator, Text(other) if isinstance(other, str) else other)


def meets(value: str | None, wanted: Term | Text | None, values: dict[Term, str | None]) -> bool:
    if value is None or wanted is None:
        return value is not None
    return value == (wanted.value if isinstance(wanted, Text) else values[wanted])


def worlds() -> list[World]:
    optional = (None, *VALUES)
    every = [dict(zip(TERMS, world, strict=True)) for world in product(optional, optional, VALUES)]
    nodes: list[tuple[Below, ...]] = [
        (),
        ({"d": None, "e": "1"},),
        ({"d": "1", "e": "x"},),
        ({"d": "x", "e": "x"}, {"d": None, "e": "2"}),
        ({"d": "2", "e": "1"}, {"d": "10", "e": "10"}, {"d": "1", "e": "1"}),
    ]
    return list(product(every, nodes))


WORLDS: Final = worlds()


@given(st.lists(atoms, max_size=4), atoms)
def test_what_is_implied_holds_in_every_world(known: list[Atom], asked: Atom) -> None:
    closure = Closure(member(known), CONSTRAINTS)
    possible = [world for world in WORLDS if all(true(atom, world) for atom in known)]
    if closure.contradictory:
        assert not possible
    elif closure.implies(asked):
        assert all(true(asked, world) for world in possible)


@given(st.lists(atoms, max_size=5))
def test_the_normal_form_holds_in_the_same_worlds(known: list[Atom]) -> None:
    normal = normalise(member(known), CONSTRAINTS)
    for world in WORLDS:
        before = all(true(atom, world) for atom in known)
        after = normal is not None and all(true(atom, world) for atom in normal.atoms)
        assert before == after


@given(st.lists(atoms, max_size=5))
def test_the_normal_form_is_its_own(known: list[Atom]) -> None:
    normal = normalise(member(known), CONSTRAINTS)
    assert normal is None or normalise(normal, CONSTRAINTS) == normal


LIBRARY: Final = SchemaTree(
    parse_dtd(
        "<!ELEMENT lib (pub*, book*, note+)> <!ELEMENT pub (name?, city?)> <!ELEMENT book (info?, alias*, part+)> "
        "<!ELEMENT info (year, place?, page*)> <!ELEMENT alias (#PCDATA)> <!ELEMENT part (#PCDATA)> "
        "<!ELEMENT name (#PCDATA)> <!ELEMENT city (#PCDATA)> <!ELEMENT year (#PCDATA)> <!ELEMENT place (#PCDATA)> "
        "<!ELEMENT page (#PCDATA)> <!ELEMENT note (#PCDATA)> <!ATTLIST pub id ID #REQUIRED> "
        "<!ATTLIST book pub IDREF #IMPLIED at CDATA #IMPLIED>"
    )
)
GUARANTEED: Final = Constraints(
    LIBRARY, frozenset({("pub", "@id")}), frozenset({(("book", "@pub"), ("pub", "@id"))}), valid=True
)
ROOT: Final = Variable("r", ())
BOOK: Final = Variable("b", ("book",), "r")
PUB: Final = Variable("p", ("pub",), "r")
REFERS: Final = Term("b", ("@pub",))
UNREFERRED: Final = NoNode("r", ("pub",), ((("@id",), REFERS),))


def normal(*given_atoms: Atom, variables: tuple[Variable, ...] = (ROOT, BOOK)) -> set[object] | None:
    found = normalise(Member(variables, frozenset(given_atoms), LeafItem("value", "", Text("item"))), GUARANTEED)
    return None if found is None else set(found.atoms)


def test_a_guaranteed_reference_dangles_only_where_it_is_absent() -> None:
    assert normal(UNREFERRED) == {Absence(REFERS)}
    assert normal(UNREFERRED, Presence(REFERS)) is None
    assert normal(UNREFERRED, SameValue(REFERS, Term("b", ("@at",)))) == {Absence(REFERS), Absence(Term("b", ("@at",)))}
    unlike = NoNode("r", ("pub",), ((("@id",), Term("b", ("@at",))),))
    assert normal(unlike) == {unlike}
    with_city = NoNode("r", ("pub",), ((("@id",), REFERS), (("city",), None)))
    assert normal(with_city) == {with_city}


def test_a_test_of_what_is_always_there_is_none() -> None:
    assert normal(NoNode("r", ("pub",), ((("@id",), None),))) == {NoNode("r", ("pub",))}
    assert normal(NoNode("r", ("note",))) is None
    assert normal(NoNode("r", ("note",), (((), None),))) is None
    assert normal(NoNode("r", ("book", "part"))) == {NoNode("r", ("book", "part"))}, "there may be no book"
    assert normal(NoNode("b", ("book", "part"))) is None


def test_a_node_that_stands_there_contradicts() -> None:
    with_pub = (ROOT, BOOK, PUB)
    assert normal(NoNode("r", ("pub",)), variables=with_pub) is None
    refers = Comparison("=", Term("p", ("@id",)), REFERS)
    assert normal(UNREFERRED, refers, variables=with_pub) is None
    city = NoNode("r", ("pub",), ((("city",), Text("Oslo")),))
    assert normal(city, variables=with_pub) == {city}
    assert normal(city, Comparison("=", Term("p", ("city",)), Text("Oslo")), variables=with_pub) is None


def test_nothing_stands_below_what_is_absent() -> None:
    pages = NoNode("b", ("book", "info", "page"))
    assert normal(pages, Absence(Term("b", ("info",)))) == {Absence(Term("b", ("info",)))}
    assert normal(pages, Absence(Term("b", ("info", "year")))) == {Absence(Term("b", ("info",)))}, (
        "there is no info without"
    )
    assert normal(pages, Absence(Term("b", ("info", "place")))) == {pages, Absence(Term("b", ("info", "place")))}
    assert normal(UNREFERRED, Absence(REFERS)) == {Absence(REFERS)}


def test_fewer_tests_and_more_places_say_more() -> None:
    lang = NoNode("r", ("book", "alias"), (((), Text("x")),))
    assert normal(lang, NoNode("r", ("book", "alias"))) == {NoNode("r", ("book", "alias"))}
    assert normal(lang, NoNode("b", ("book", "alias"), (((), Text("x")),))) == {lang}
    assert normal(lang, NoNode("r", ("book", "alias"), (((), Text("y")),))) is not None
    at = Term("b", ("@at",))
    assert normal(NoNode("b", ("book", "alias"), (((), at),)), Comparison("=", at, Text("x"))) == {
        NoNode("b", ("book", "alias"), (((), Text("x")),)),
        Comparison("=", at, Text("x")),
    }


def test_deep_equal_nodes_are_both_there_or_both_not() -> None:
    info = Term("b", ("info",))
    other = Variable("c", ("book",), "r")
    same = DeepEqual(info, Term("c", ("info",)))
    both = (ROOT, BOOK, other)
    assert normal(same, variables=both) == {same}
    assert normal(same, Absence(info), variables=both) == {Absence(info), Absence(Term("c", ("info",)))}
    assert normal(same, Presence(info), Absence(Term("c", ("info",))), variables=both) is None
    assert normal(DeepEqual(info, info)) == set()
