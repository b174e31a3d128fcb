"""Functions in queries: printed forms, what they mean as function terms, and that every processor computes the same."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import GrammarError
from heptox.grammar import lower, parse_query, print_query, render
from heptox.pattern import (
    Absence,
    Atom,
    Call,
    Comparison,
    Constant,
    Constraints,
    ElementItem,
    Leaf,
    LeafItem,
    Lookup,
    Member,
    Presence,
    Query,
    SameValue,
    StringJoin,
    Term,
    Text,
    Type,
    ValueExpression,
    Variable,
    computed_step,
    evaluate_expression,
    normalise,
    or_empty,
    result_type,
)
from heptox.schema import Path, SchemaTree, parse_dtd
from tests.support import saxon
from tests.support.budget import tries

TREE: Final = SchemaTree(
    parse_dtd(
        """<!ELEMENT list (book*)> <!ELEMENT book (title, a?, b?, kw*)>
        <!ATTLIST book id CDATA #REQUIRED n CDATA #IMPLIED>
        <!ELEMENT title (#PCDATA)> <!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)> <!ATTLIST b u CDATA #IMPLIED>
        <!ELEMENT kw (#PCDATA)>"""
    )
)
CONSTRAINTS: Final = Constraints(TREE)
ROOT: Final = (Variable("r", ()), Variable("x", ("book",), "r"))


def normal(query: Query) -> tuple[Member, ...]:
    return tuple(found for member in query.members if (found := normalise(member, CONSTRAINTS)) is not None)


@pytest.mark.parametrize(
    "query",
    [
        'for $b in //book\nwhere upper-case($b/title) = "X"\nreturn <t>{concat($b/a, " ", $b/b)}</t>',
        'for $k in //kw\nwhere contains($k, "x") and not(ends-with($k, "y"))\nreturn <kw>{data($k)}</kw>',
        'for $b in //book\nwhere string-length($b/title) > 5\nreturn concat($b/a, string-join($b/kw, "; "))',
        "for $b in //book\nreturn <t>{if ($b/a and $b/b) then concat($b/a, $b/b) else ()}</t>",
        "for $b in //book\nreturn <t>{if ($b/a and $b/b) then <n>{concat($b/a, $b/b)}</n> else ()}</t>",
        "for $b in //book\nreturn <t>{if ($b/a) then attribute n {upper-case($b/a)} else ()}</t>",
        'for $b in //book\nreturn <t>{if ($b/a = "1" or number($b/@n) > 5) then data($b/title) else "n"}</t>',
        'for $b in //book\nreturn switch ($b/a) case "x" return "y" default return "z"',
        'for $b in //book\nreturn <t>{switch ($b/a) case "x" return "y" case "z" return "y" default return ()}</t>',
        'for $b in //book\nwhere number(concat($b/a, "0")) <= 70\nreturn string(string-length($b/title))',
        "for $b in //book\nwhere (xs:decimal($b/@n[. castable as xs:decimal]) + 1.5) > 2\n"
        'return <n m="{xs:decimal($b/@n[. castable as xs:decimal]) * 2}"/>',
        'for $b in //book\nwhere string($b/a) = ""\nreturn <t>{upper-case(substring($b/title, 2, 1))}</t>',
        "for $b in //book, $b2 in //book[$b/title = upper-case(title)]\nreturn <r>{lower-case($b2/@id)}</r>",
    ],
)
def test_what_is_printed_is_read_again(query: str) -> None:
    members = normal(lower(parse_query(query), TREE).query)
    printed = print_query(render(Query(members), CONSTRAINTS))
    assert printed == query
    assert normal(lower(parse_query(printed), TREE).query) == members


@pytest.mark.parametrize(
    ("query", "printed"),
    [
        ('//book[$x || "-" = "a-"]', "variable"),
        ("//book[lower-case(kw) = 'x']/@id", "HX3046"),
        ("for $b in //book, $c in //book where contains($b/a, $c/a) return $c/@id", "HX3046"),
        ("for $b in //book return string-length($b/a)", "HX3045"),
        ("for $b in //book return <t>{if ($b/a) then $b/a else $b/b}</t>", "HX3045"),
        ("for $b in //book where upper-case($b/a) = 5 return $b/@id", "number"),
        ("for $b in //book where $b/@n + 1 = 5 return $b/@id", "xs:decimal"),
        ("for $b in //book where substring($b/a, 'x') = 'y' return $b/@id", "integer"),
        ("for $b in //book where concat($b/a) = 'y' return $b/@id", "1 arguments"),
        ("for $b in //book where contains($b/a, 'x') = 'true' return $b/@id", "condition"),
        ("for $b in //book where string-join(('a', 'b'), 'x') = 'y' return $b/@id", "argument"),
    ],
)
def test_what_is_not_said_is_refused(query: str, printed: str) -> None:
    with pytest.raises(GrammarError, match=printed):
        lower(parse_query(query), TREE)


leaves = st.sampled_from((("title",), ("a",), ("b", "text()"), ("@n",))).map(Leaf)
NUMBER: Final = Leaf(("@n",))
numbers = st.sampled_from(
    (
        Call("xs:decimal", (NUMBER,)),
        Call("*", (Call("+", (NUMBER, Constant("1.5"))), Constant("2"))),
        Call("round", (Call("div", (NUMBER, Constant("4"))),)),
        Call("if", (Call(">", (Call("xs:decimal", (NUMBER,)), Call("xs:decimal", (Constant("2"),)))), NUMBER)),
        Call("-", (Call("string-length", (Leaf(("a",)),)), NUMBER)),
    )
)
texts = st.sampled_from(("", "x", "a b", "Xx")).map(Constant)


def computed(inner: st.SearchStrategy[ValueExpression]) -> st.SearchStrategy[ValueExpression]:
    one = st.sampled_from(("upper-case", "lower-case", "normalize-space"))
    two = st.sampled_from(("substring-after", "concat"))
    conditions = st.one_of(
        st.builds(lambda part: Call("exists", (part,)), inner),
        st.builds(lambda name, a, b: Call(name, (a, b)), st.sampled_from(("contains", "ends-with", "=")), inner, inner),
    )
    return st.one_of(
        st.builds(lambda name, part: Call(name, (part,)), one, inner),
        st.builds(lambda name, a, b: Call(name, (a, b)), two, inner, inner),
        st.builds(lambda a, b, c: Call("concat", (a, b, c)), inner, inner, inner),
        st.builds(lambda a: Call("substring-before", (a, Constant(" "))), inner),  # Saxon errs in what is before ""
        st.builds(or_empty, inner),
        st.builds(lambda c, a, b: Call("if", (c, a, b)), conditions, inner, inner),
        st.builds(lambda c, a: Call("if", (c, a)), conditions, inner),
        st.builds(lambda a, b: Lookup(a, (("x", "1"), ("Xx", "")), b), inner, st.none() | inner),
        st.just(StringJoin(("kw",), ",")),
        st.builds(lambda a: Call("string-length", (a,)), inner).map(lambda a: Call("concat", (a, Constant("")))),
    )


expressions = st.recursive(leaves | texts | numbers | st.just(StringJoin(("kw",), "-")), computed, max_leaves=6)
values = st.sampled_from(("", "x", "Xx", " a  b ", "1"))
books = st.fixed_dictionaries(
    {("title",): values},
    optional={("a",): values, ("b", "text()"): values, ("@n",): st.sampled_from(("1", "2.50", " 3 "))},
)


@given(expressions.filter(lambda one: isinstance(one, Call | Lookup)), books, st.lists(values, max_size=2), st.data())
@settings(max_examples=tries(200), deadline=None)
def test_a_function_term_is_what_its_query_computes(
    expression: ValueExpression, leaves: dict[Path, str], keywords: list[str], data: st.DataObject
) -> None:
    value = evaluate_expression(expression, leaves.get, lambda _: keywords)
    term = Term("x", (computed_step(expression),))
    slot = LeafItem(data.draw(st.sampled_from(("value", "element", "attribute"))), "n", term)
    wanted = data.draw(st.sampled_from(("", "X", "x1")) | st.just(value or ""))
    kinds: tuple[tuple[Atom, bool], ...] = (
        (Presence(term), value is not None),
        (Absence(term), value is None),
        (Comparison("=", term, Text(wanted)), value == wanted),
        (SameValue(term, Term("x", ("@n",))), value == leaves.get(("@n",))),
    )
    atom, holds = data.draw(st.sampled_from(kinds))
    shown = "" if value is None else f"<n>{value}</n>" if slot.shape == "element" else value
    expected = [f"<r>{shown}</r>" if slot.shape != "attribute" else "<r/>" if value is None else f'<r n="{value}"/>']
    expected = [item.replace("<n></n>", "<n/>").replace("<r></r>", "<r/>") for item in expected if holds]
    try:
        printed = print_query(
            render(Query((Member(ROOT, frozenset({atom}), ElementItem("r", (), (slot,))),)), CONSTRAINTS)
        )
    except GrammarError as error:
        assert error.faults[0].code == "HX3068"
        return
    assert {*saxon.evaluate(printed, document(leaves, keywords))} == {*expected}, printed
    again = render(lower(parse_query(printed), TREE).query, CONSTRAINTS)
    assert {*saxon.evaluate(print_query(again), document(leaves, keywords))} == {*expected}, print_query(again)


def document(leaves: dict[Path, str], keywords: list[str]) -> str:
    number = f' n="{leaves[("@n",)]}"' if ("@n",) in leaves else ""
    parts = "".join(f"<{path[0]}>{value}</{path[0]}>" for path, value in leaves.items() if path != ("@n",))
    return f'<list><book id="1"{number}>{parts}{"".join(f"<kw>{one}</kw>" for one in keywords)}</book></list>'


def test_types_are_known() -> None:
    assert result_type(Call("string-length", (Leaf(("a",)),))) is Type.INTEGER
