"""Printing: what is printed reads back as it was, is standard XQuery, and looks as one would write it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from heptox.grammar import Expression, parse_query, print_query, syntax
from heptox.grammar.tag_value import tag_value_form
from heptox.xml import unescaped_name
from tests.support import saxon
from tests.support.budget import tries
from tests.support.queries import KEYWORDS, STRINGS, UNUSUAL_NAMES, Vocabulary, queries

ANYTHING = Vocabulary(
    elements=("a", "Patient", *KEYWORDS, *UNUSUAL_NAMES),
    attributes=("id", "PatRef", *KEYWORDS[:8], *UNUSUAL_NAMES),
    strings=STRINGS,
    numeric=("a", "@id"),
    variables=("$a", "$for", "$return", "$é", "$a-b"),
)
STATIC_ERRORS = ("XPST", "XQST")


@given(queries(replace(ANYTHING, starts=("/", "/", syntax.COLLECTION))))
@settings(max_examples=tries(300), deadline=None)
def test_what_is_printed_reads_back(query: Expression) -> None:
    assert parse_query(print_query(query)) == query


@given(queries(ANYTHING))
@settings(max_examples=tries(150), deadline=None)
def test_what_is_printed_is_xquery(query: Expression) -> None:
    message = ""
    try:
        saxon.evaluate(print_query(query), "<a/>")
    except saxon.XQueryError as error:
        message = str(error)
    assert not any(code in message for code in STATIC_ERRORS), message


@pytest.mark.parametrize(
    ("query", "printed"),
    [
        (
            'FOR $A IN //Admission, $P IN //Patient[@ID=$A/@PatRef] WHERE $A/Problem="Coronary" AND '
            '$P/Treat/Date="12/25/2003" RETURN {$P/Name}',
            "for $A in //Admission, $P in //Patient[@ID = $A/@PatRef]\n"
            'where $A/Problem = "Coronary" and $P/Treat/Date = "12/25/2003"\n'
            "return $P/Name",
        ),
        (
            "for $c in //Coronary, $g in //Progress[@PatRef=$c/@ID] where $g/Treatment/Date='12/25/2003' "
            "return <Name>{ data($c/Patient) }</Name>",
            "for $c in //Coronary, $g in //Progress[@PatRef = $c/@ID]\n"
            'where $g/Treatment/Date = "12/25/2003"\n'
            "return <Name>{data($c/Patient)}</Name>",
        ),
        (
            f"for $first in //{'a' * 40}, $second in //{'b' * 40}, $third in //{'c' * 40} return $first",
            f"for $first in //{'a' * 40},\n    $second in //{'b' * 40},\n    $third in //{'c' * 40}\nreturn $first",
        ),
        (
            "for $a in //a let $b := $a/b, $c := $a/c for $d in $b/d order by $a/x descending, data($b) "
            "return (for $e in $a/e return <r>{for $f in $e/f return $f}</r>, <none/>)",
            "for $a in //a\nlet $b := $a/b, $c := $a/c\nfor $d in $b/d\norder by $a/x descending, data($b)\nreturn (\n"
            "  for $e in $a/e\n  return <r>{for $f in $e/f return $f}</r>,\n  <none/>\n)",
        ),
        ("//a[(b and c) or d][.//e and .//@f and . = 'x' and (g|h)/i]", None),
        ("(//a, data(//b), -5, 'it''s \"x\"')", '(//a, data(//b), -5, "it\'s ""x""")'),
        ("<a b=' {{ {//c} &#10;'> x {{&amp;&#x20;<d/>{'e'}</a>", '<a b=" &#x7B; {//c} &#xA;"> x {{&amp; <d/>{"e"}</a>'),
        ("<a>&#x20; {()}&#13;</a>", "<a>&#x20; {()}&#xD;</a>"),
    ],
)
def test_layout(query: str, printed: str | None) -> None:
    text = print_query(parse_query(query))
    assert parse_query(text) == parse_query(query)
    if printed is not None:
        assert text == printed


def test_names_may_lie_outside_the_basic_plane() -> None:
    # Saxon does not read them in constructors.
    query = parse_query("for $𐀀 in //𐀀/@𐀀 return <𐀀>{$𐀀}</𐀀>")
    assert parse_query(print_query(query)) == query


def test_line_ends_in_literals_survive_indentation() -> None:
    query = parse_query("(for $a in //a return 'x&#10;y', <b>&#10;z</b>)")
    assert parse_query(print_query(query)) == query


TAGS = (
    "Asthma", "_x0000_", "_x000000_", "Chest_x0020_pain_x002F_acute", "_x0020_", "_x0041_x0042_", "_x00e9_", "_x005F_x",
    "_xD800_", "_xD800_x0041_", "_xFFFF_", "_xFFFD_", "_x110000_", "_x01F600_", "_x10FFFF_", "_x000041_", "_x0000_x",
    "a_x0000_", "_x0001_", "_x000D_", "_x000A_", "_x0009_x", "_x0085_", "_x2028_", "_x0026__x003C_", "_x0024_1", "_x",
    "é_x00E9_", "_x005B__x005D_", "_x_x0041_", "_x004_", "__x0041__", "_x0130_", "_x0FFE_", "_xE000_", "_xF8FF_",
    "_x00_", "é_x010000_",
)  # fmt: skip


@pytest.mark.parametrize("tag", TAGS)
def test_the_printed_tag_has_the_value_that_the_name_stands_for(tag: str) -> None:
    expression = f"for $v in /* return string({tag_value_form('$v')})"
    value = unescaped_name(tag).replace('"', '""')
    assert saxon.evaluate(expression, f"<{tag}/>") == [f'"{value}"']


def test_the_printed_tag_is_untyped() -> None:
    assert saxon.evaluate(f"for $v in /* return {tag_value_form('$v')} = 12", "<_x0031_2.0/>") == ["true()"]


def test_only_the_printed_form_of_a_tag_is_read() -> None:
    form = tag_value_form("$v")
    query = parse_query(f"for $v in //a return {form}")
    assert isinstance(query, syntax.Flwor)
    assert query.result == syntax.TagValue(syntax.PathExpression("$v"))
    assert form in print_query(query)
