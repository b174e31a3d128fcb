"""Reading queries: spellings that mean the same, and refusals by name and position."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar import parse_query, print_query, syntax
from tests.support.budget import tries
from tests.support.fixtures import cases


def shown(fault: Fault) -> str:
    assert fault.position is not None
    hint = f" ({fault.hint})" if fault.hint else ""
    return f"{fault.position.line}:{fault.position.column} {fault.code} {fault.message}{hint}"


@pytest.mark.parametrize(("query", "expected"), [*cases("queries/outside.xq"), *cases("queries/malformed.xq")])
def test_what_is_refused_is_named_and_placed(query: str, expected: str) -> None:
    with pytest.raises(GrammarError) as raised:
        parse_query(query)
    assert "\n".join(shown(fault) for fault in raised.value.faults) == expected
    assert all(fault.hint for fault in raised.value.faults if fault.code == "HX3002")


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("FOR $a IN //A WHERE $a/b = 1 RETURN {$a}", "for $a in //A where $a/b = 1 return $a"),
        ("for $a in //A where $a/b AND $a/c OR $a return $a", "for $a in //A where ($a/b and $a/c) or $a return $a"),
        ("for $a in //a ORDER BY $a/b DESCENDING return $a", "for $a in //a order by $a/b descending return $a"),
        ("for $a in //a order by $a ascending return {$a/b, $a/c}", "for $a in //a order by $a return ($a/b, $a/c)"),
        ("for $a in //a, $b in //b return ()", "for $a in //a for $b in //b return ()"),
        ("let $a := //a let $b := $a return $b", "let $a := //a, $b := $a return $b"),
        ("//a, //b", "(//a, //b)"),
        ("((//a))", "//a"),
        ("//a(: one (: two (: three :) :) :)/(: :)b", "//a/b"),
        ("//a[(((b = 1)) and c) and (d and e)]", "//a[b = 1 and c and d and e]"),
        ("//a[not(b) or not((c|d)/e)]", "//a[empty(b) or empty((c | d)/e)]"),
        ("//a[./b = 'x' and .//c = . and .]", '//a[b = "x" and .//c = . and .]'),
        ("//a/data(), //a[data() = 'x']", "(data(//a), //a[data(.) = 'x'])"),
        ("fn:data(//a), //a[fn:exists(b)]", "(data(//a), //a[exists(b)])"),
        ("//a[number() <= 2][5 > fn:number(b)]", "//a[number(.) <= 2][5 > number(b)]"),
        ("//a[(number((b))) = -1 or number(b/data()) = 1]", "//a[number(b) = -1 or number(data(b)) = 1]"),
        ("//number/text()[number(.)<1]", "//number/text()[number(.) < 1]"),
        ("/child::a/descendant::b/attribute::c", "/a//b/@c"),
        ("//a[child::text() and child  ::b]", "//a[text() and b]"),
        ("//(a)/(b)", "//a/b"),
        ("/(a|b)[c]", "/(a | b)[c]"),
        ("//a/(*  except( b|c ))/d[(* except (e))/f]", "//a/(* except (b | c))/d[(* except (e))/f]"),
        ("//except/(except)", "//except/except"),
        ("//a[@b>=1][c<2][d!=3][e<f][g>h]", "//a[@b >= 1][c < 2][d != 3][e < f][g > h]"),
        ("'it''s', \"a\"\"b\", '&#65;&#x42;&lt;&gt;&amp;&quot;&apos;'", '("it\'s", "a""b", "AB<>&amp;""\'")'),
        ("- 5, +2.5, .5, 5., 1e3", "(-5, +2.5, .5, 5., 1e3)"),
        ("<a  b = '1''2'  c=\"{ //d }\" ></a>", '<a b="1\'2" c="{//d}"/>'),
        ("<a>\n  <b/>\n  {//c}\n</a>", "<a><b/>{//c}</a>"),
        ("<a> x <![CDATA[<&{]]> </a>", "<a> x &lt;&amp;{{ </a>"),
        ("<a> <![CDATA[]]> </a>", "<a>&#x20; </a>"),
        ("<a> &#x20; </a>", "<a>&#x20;  </a>"),
        ("<a>{}</a>", "<a>{()}</a>"),
        ("<a>{<b/>}</a>", "<a><b/></a>"),
        ("<a>(: text :)</a>", "<a>(&#58; text :)</a>"),
        ("<a b='x\ny\tz&#10;'/>", "<a b='x y z&#10;'/>"),
        ("attribute a {}, text { 'x' }", "(attribute a {()}, text {\"x\"})"),
        ("'a\r\nb\rc'", "'a\nb\nc'"),
    ],
)  # fmt: skip
def test_spellings_that_mean_the_same(query: str, same: str) -> None:
    assert parse_query(query) == parse_query(same)


def test_a_tree_has_positions() -> None:
    query = parse_query("for $a in //a\nwhere $a/b = 'x'\nreturn <r>{$a/c}</r>", "q.xq")
    assert isinstance(query, syntax.Flwor)
    assert query.position == Position(1, 1, "q.xq")
    assert query.clauses[0].position == Position(1, 5, "q.xq")
    assert query.clauses[0].source.position == Position(1, 11, "q.xq")
    assert query.clauses[0].source.steps[0].position == Position(1, 13, "q.xq")
    assert isinstance(query.where, syntax.Comparison)
    assert query.where.position == Position(2, 7, "q.xq")
    assert query.result.position == Position(3, 8, "q.xq")


def test_a_fault_shows_its_line() -> None:
    with pytest.raises(GrammarError) as raised:
        parse_query("for $a in //a\nwhere count($a/b) = 1\nreturn $a", "q.xq")
    (fault,) = raised.value.faults
    assert str(fault).startswith("q.xq:2:7: HX3002 function count() is outside the query fragment (")
    assert fault.excerpt == "where count($a/b) = 1\n      ^"


def test_descendant_attributes_have_an_axis_of_their_own() -> None:
    assert parse_query("//@a//@*") == syntax.PathExpression(
        "/", (syntax.Step("descendant-attribute", ("a",)), syntax.Step("descendant-attribute", ("*",)))
    )


WORDS = """
    for let $a $b in := where return order by and or not( exists( data( count( ( ) [ ] { } / // @ a b * . .. , | = != <
    <= > << + - 1 2.5 'x' " "y" <a> </a> <a/> <a b=" &amp; &x; {{ }} text() text{ attribute if( some eq is :: child:: (:
    :) <!-- ]]> <![CDATA[ : ; # % é $a:b x:y Q{ `` ? ! =>
"""
TOKENS = st.sampled_from([*WORDS.split(), "\n", "\t", "\x00"])


@given(st.lists(TOKENS, max_size=14).map(" ".join) | st.lists(TOKENS, max_size=14).map("".join) | st.text(max_size=20))
@settings(max_examples=tries(500), deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        query = parse_query(text)
    except GrammarError as error:
        refused = error.faults
    else:
        refused = ()
        assert parse_query(print_query(query)) == query
    assert all(fault.position is not None and fault.excerpt is not None for fault in refused)


def is_read(text: str) -> bool:
    try:
        parse_query(text)
    except GrammarError as error:
        assert {fault.code for fault in error.faults} == {"HX3003"}
        return False
    return True


def nested(begin: str, inside: str, end: str) -> str:
    """The deepest nesting that is read."""
    least, most = 1, 500
    while least + 1 < most:
        middle = (least + most) // 2
        if is_read(begin * middle + inside + end * middle):
            least = middle
        else:
            most = middle
    return begin * least + inside + end * least


@pytest.mark.parametrize(
    ("begin", "inside", "end"),
    [
        ("(", "//a, //b", ")"),
        ("<a>", "x", "</a>"),
        ("<a>{", "//a", "}</a>"),
        ("//a[", "b", "]"),
        ("//a[b = 1 and (c or exists(", "b", "))]"),
        ("for $a in //a return ", "$a", ""),
    ],
)
def test_nesting_has_a_limit_that_everything_stands(begin: str, inside: str, end: str) -> None:
    text = nested(begin, inside, end)
    query = parse_query(text)
    assert parse_query(print_query(query)) == query
    assert not is_read(begin * 5000 + inside + end * 5000)


@pytest.mark.parametrize(
    "text",
    [
        "//a[" + " or ".join(["b"] * 2000) + "]",
        "/a" * 2000,
        "for " + ", ".join(f"$v{number} in //a" for number in range(1000)) + " return $v0",
        ", ".join(["//a"] * 2000),
        "<a " + " ".join(f"b{number}=''" for number in range(1000)) + "/>",
    ],
)
def test_what_is_long_but_not_deep_is_read(text: str) -> None:
    query = parse_query(text)
    assert parse_query(print_query(query)) == query
