"""Filters read: what they mean, and what is wrong with those that are refused."""

from __future__ import annotations

import pytest

from heptox.errors import GrammarError, Position
from heptox.filtering import Version, read_filter
from heptox.filtering.expression import (
    ANYWHERE,
    Axis,
    Call,
    Literal,
    LocationPath,
    Operation,
    Selection,
    Step,
    from_document,
)


def printed(text: str) -> str:
    return str(read_filter(text))


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "/a/b",
        "a/b",
        "//a",
        "/a//b//c",
        "/a/*/b",
        "/a/../b",
        "./a",
        ".//a",
        "/a/.",
        "/a/@x",
        "/a/@*",
        "//@x",
        "/a/text()",
        "/a/node()",
        "/descendant-or-self::node()",
        "/a/descendant::b",
        "/a/descendant-or-self::*[b]",
        "/a/ancestor-or-self::a/self::a",
        "/a/b/following-sibling::c/preceding-sibling::*",
        "/a/b/following::c/preceding::d/ancestor::a",
        "/a/parent::node()[b]",
        "/a/self::node()[b]",
        "/a[b][2][@x = '1']/c[last()]",
        "/a[b[c[d]]]",
        "/a[b = 'x']",
        '/a[b = "it\'s"]',
        "/a[b != 1.5]",
        "/a[(b = 1) and (c or d)]",
        "/a[not(b)]",
        "/a[-1 = b]",
        "/a[(1 + 2) * 3 = b]",
        "/a[(b - c) div 2 mod 3]",
        "/a | //b | @c",
        "(//a)[1]",
        "(//a | //b)[1][c]/d//e",
        "count(//a)",
        "concat(/a, '-', string(//b))",
        "id('x')",
        "/a[contains(., 'x')]",
        "1 + 2",
        "'x'",
        "true()",
    ],
)
def test_a_filter_is_printed_as_it_means(text: str) -> None:
    once = printed(text)
    assert read_filter(once) == read_filter(text)
    assert once.replace("(", "").replace(")", "") == text.replace("(", "").replace(")", "")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("/child::a/attribute::x", "/a/@x"),
        ("  / a\n[ b ] ", "/a[b]"),
        ("/a/descendant-or-self::node()/b", "/a//b"),
        ("/a/self::node()/parent::node()", "/a/./.."),
        ("/a/comment()", "/a/comment()"),
        ("/a/processing-instruction('x')", "/a/comment()"),
        ("((/a))", "/a"),
        ("(/a)[b]/c", "(/a)[b]/c"),
        ("(/a[1])[2]", "(/a[1])[2]"),
        ("/a[b=1 or c=2 and d]", "/a[(b = 1) or ((c = 2) and d)]"),
        ("1 - 2 - 3", "(1 - 2) - 3"),
        ("1 - (2 - 3)", "1 - (2 - 3)"),
        ("- -1", "-(-1)"),
        ("/a[.='\"']", "/a[. = '\"']"),
        ("/div/and/or[mod]", "/div/and/or[mod]"),
        ("/*", "/*"),
        ("/a * 2", "/a * 2"),
    ],
)
def test_what_a_text_means(text: str, meaning: str) -> None:
    assert printed(text) == meaning


def test_a_filter_is_a_value() -> None:
    b = Step(
        Axis.CHILD, "b", (Operation("=", (LocationPath(False, (Step(Axis.ATTRIBUTE, "x"),)), Literal("1", True))),)
    )
    assert read_filter("/a//b[@x=1]") == LocationPath(True, (Step(Axis.CHILD, "a"), ANYWHERE, b))
    assert read_filter("(//a)[1]/b[@x=1]") == Selection(
        LocationPath(True, (ANYWHERE, Step(Axis.CHILD, "a"))), (Literal("1", True),), (b,)
    )
    assert read_filter("not('a')") == Call("not", (Literal("'a'", False),))


@pytest.mark.parametrize(
    ("text", "positional"),
    [
        ("a[1]", True),
        ("a[last()]", True),
        ("a[position() < 3]", True),
        ("a[b or position() = 1]", True),
        ("a[count(b)]", True),
        ("a[b + 1]", True),
        ("a[-1]", True),
        ("a[not(last() = 2)]", True),
        ("a[(b)[last()]]", False),
        ("a[b[1]]", False),
        ("a[count(b) = 1]", False),
        ("a['1']", False),
        ("a[string(b)]", False),
        ("a[b | c]", False),
        ("a[@x = 1]", False),
    ],
)
def test_positional_predicates(text: str, positional: bool) -> None:
    found = read_filter(text)
    assert isinstance(found, LocationPath)
    assert found.steps[0].is_positional is positional


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a/b", "/a/b"),
        ("a | (b)[c]", "/a | (/b)[c]"),
        ("position() = last()", "1 = 1"),
        ("string()", "string(/)"),
        ("name() = count(a)", "name(/) = count(/a)"),
        ("..", "/.."),
        ("true()", "true()"),
        ("/a[b]", "/a[b]"),
    ],
)
def test_what_a_filter_means_at_the_document(text: str, meaning: str) -> None:
    found = read_filter(text)
    assert found is not None
    assert str(from_document(found)) == meaning


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/a[", "2:9"),
        ("/a]", "2:8"),
        ("//", "2:8"),
        ("/a/b[@x = ]", "2:16"),
        ("/a//[b]", "2:10"),
        ("/a[foo()]", "2:9"),
        ("", "2:6"),
        ("/a\n[b", "3:3"),
        ("/a[count()]", "2:9"),
        ("/a/b c", "2:11"),
        ("/a/(b | c)", "2:9"),
        ("/a/..[b]", "2:6"),
        ("/a[b='x]", "2:11"),
    ],
)
def test_what_is_no_xpath_is_refused_where_it_is_wrong(text: str, place: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_filter(text, position=Position(2, 6, "filters.txt"))
    (fault,) = caught.value.faults
    assert fault.code == "HX3001"
    assert str(fault.position) == f"filters.txt:{place}"


def test_a_variable_is_refused() -> None:
    with pytest.raises(GrammarError) as caught:
        read_filter("/a[b = $x]")
    (fault,) = caught.value.faults
    assert (fault.code, str(fault.position)) == ("HX3062", "<text>:1:8")
    assert fault.excerpt == "/a[b = $x]\n       ^"


@pytest.mark.parametrize("text", ["/x:a", "//x:a[b]", "/x:*", "/a[@x:b]/x:c"])
def test_a_prefix_that_is_not_bound_is_refused(text: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_filter(text)
    (fault,) = caught.value.faults
    assert (fault.code, fault.message) == ("HX3066", "the prefix x is not bound")
    assert fault.position is not None
    assert fault.position.column == text.index("x:") + 1


@pytest.mark.parametrize("text", ["//a/namespace::*", "/a[name(namespace::x) = 'x']"])
def test_the_namespace_axis_is_refused(text: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_filter(text)
    assert caught.value.faults[0].code == "HX3060"


@pytest.mark.parametrize("text", ["/a" + "[b" * 200 + "]" * 200, "(" * 5000 + "a" + ")" * 5000])
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_filter(text)
    assert caught.value.faults[0].code in {"HX3001", "HX3003"}
    assert "nested too deeply" in caught.value.faults[0].message


@pytest.mark.parametrize(
    "text",
    [
        "for $x in //a return $x",
        "//a[some $x in b satisfies $x = 'y']",
        "if (//a) then //b else //c",
        "//a intersect //b",
        "(//a, //b)",
        "//a ! name()",
        "//a[b eq 'x']",
        "//a/string()",
        "//a/(b | c)",
        "let $x := //a return $x",
        "//a => count()",
        "//a instance of element()",
        "1 to 3",
    ],
)
def test_constructs_of_later_versions_have_no_expression(text: str) -> None:
    assert read_filter(text, Version.THREE) is None
    with pytest.raises(GrammarError):
        read_filter(text)


@pytest.mark.parametrize("text", ["/a/b[c = 'x']", "//a[last()]/..", "count(//a)", "//a | //b"])
def test_what_all_versions_share_is_read_alike(text: str) -> None:
    assert read_filter(text, Version.THREE) == read_filter(text)


@pytest.mark.parametrize("text", ["id('x')/a", "(/a)/b", "(//a | //b)//c", "/a[(b)/c]", "/a[id(@x)/b]", "string(a)/b"])
def test_steps_behind_parentheses_and_calls_are_not_looked_into(text: str) -> None:
    assert read_filter(text) is None


@pytest.mark.parametrize(
    ("text", "code"), [("(a)/ends-with(b, 'x')", "HX3001"), ("(a)/b[foo()]", "HX3001"), ("(a)/b[$x]", "HX3062")]
)
def test_such_steps_have_to_be_right(text: str, code: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_filter(text)
    assert [fault.code for fault in caught.value.faults] == [code]


def test_many_conditions_alternatives_and_steps_are_not_nested() -> None:
    many = range(1000)
    assert read_filter(f"//b[{' or '.join(f'. = {number}' for number in many)}]") is not None
    assert read_filter(" | ".join(f"/a/b{number}" for number in many)) is not None
    steps = read_filter(f"/a{'/b/..' * 300}")
    assert isinstance(steps, LocationPath) and len(steps.steps) == 601


def test_predicates_behind_short_steps_are_refused_with_a_hint() -> None:
    with pytest.raises(GrammarError) as raised:
        read_filter("//x/../..[y = 2]/z")
    assert raised.value.faults[0].hint == "predicates stand behind parent::node() and self::node(), not behind .. and ."
