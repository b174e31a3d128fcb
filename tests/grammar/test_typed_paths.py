"""What the types of a schema decide of a query is what its places say."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, event, given, strategies as st

from heptox.errors import GrammarError, SchemaError
from heptox.grammar import Expression, lower, parse_query, unknown_steps
from heptox.grammar.typed_paths import all_steps_stand
from heptox.schema import Cardinality, Child, Element, SchemaGraph, SchemaTree, parse_dtd
from tests.support.queries import Vocabulary, queries

SCHEMAS = [
    parse_dtd(
        """<!ELEMENT r (a*, b?)> <!ELEMENT a (b?, c*)> <!ATTLIST a i CDATA #IMPLIED> <!ELEMENT b (#PCDATA | c)*>
        <!ELEMENT c (#PCDATA)> <!ATTLIST c k CDATA #IMPLIED>"""
    ),
    parse_dtd("<!ELEMENT r (a, c*)> <!ELEMENT a (b | a)*> <!ATTLIST a i CDATA #IMPLIED> <!ELEMENT b (c)> "
              "<!ELEMENT c (#PCDATA)>"),
    SchemaGraph(
        "r",
        {
            "r": Element("r", (Child("a", Cardinality.MANY, "a1"), Child("b", Cardinality.MANY))),
            "a1": Element("a", (Child("c", Cardinality.ONE),), type="a1"),
            "a2": Element("a", text=True, type="a2"),
            "b": Element("b", (Child("a", Cardinality.ONE, "a2"),)),
            "c": Element("c", text=True),
        },
    ),
]  # fmt: skip
VOCABULARY = Vocabulary(("r", "a", "b", "c"), ("i", "k"), st.sampled_from(("", "x")))


@given(st.sampled_from(SCHEMAS), queries(VOCABULARY))
def test_steps_that_stand_by_their_types_stand_at_places(schema: SchemaGraph, expression: Expression) -> None:
    assume(all_steps_stand(expression, SchemaTree(schema)))
    try:
        lowering = lower(expression, SchemaTree(schema))
    except (GrammarError, SchemaError):
        event("outside the fragment")
        return
    assert lowering.unmatched == ()


@pytest.mark.parametrize(
    ("query", "stand"),
    [
        ("//a/c", True),
        ("//a[c]/text()", False),  # the types of a are told apart: one holds c, another text
        ("/r/*/a", True),
        ("/r/a/a", False),
        ("for $x in //a where $x/c return $x/c", False),  # the condition chooses: types alone do not decide
    ],
)
def test_types_of_one_name_are_told_apart(query: str, stand: bool) -> None:
    assert all_steps_stand(parse_query(query), SchemaTree(SCHEMAS[2])) == stand


def test_names_are_looked_up_where_places_are_too_many_to_list() -> None:
    levels = [f"e{number}" for number in range(60)]
    below = dict(pairwise(levels))
    elements = {
        name: Element(name, (Child("x", Cardinality.ONE, f"x{name}"), Child("y", Cardinality.ONE, f"y{name}")))
        for name in below
    }
    for name, lower_name in below.items():
        for side in ("x", "y"):
            elements[f"{side}{name}"] = Element(side, (Child(lower_name, Cardinality.ONE),), type=f"{side}{name}")
    elements[levels[-1]] = Element(levels[-1], text=True)
    tree = SchemaTree(SchemaGraph("e0", elements))  # 2 ** 59 places of e59
    expression = parse_query("for $x in //x where $x//e59 = 'a' return $x//e59")
    assert all_steps_stand(expression, tree)
    assert unknown_steps(expression, tree) == ()
