"""What Saxon says of a query, in words of heptox, and which of two errors is shown."""

from __future__ import annotations

import pytest

from heptox.errors import GrammarError, StoreError
from heptox.grammar import parse_query
from heptox.store import XQuery, clearer_error
from heptox.store.xquery import MOST_AT_ONCE, error_of, external_values

BASE = "http://query.invalid/"


@pytest.mark.parametrize(
    ("text", "said", "shown"),
    [
        ("1 +\n  $x", "Static error on line 2 column 4 of BASE:|XPST0008  no $x", "q:2:4: HX3007 XPST0008: no $x"),
        ("'\U0001d11e' x", "Static error in {x} at char 6 of BASE |XPST0003  no", "q:1:5: HX3007 XPST0003: no"),
        ("1 div 0", "Error on line 1 column 1 of BASE:|FOAR0001  zero", "q:1:1: HX6017 FOAR0001: zero"),
        ("1", "Type error on line 1 column 1 of BASE:|XPTY0004  two|lines", "q:1:1: HX6017 XPTY0004: two lines"),
        ("f()\n + g()", "Static error |XPST0017  no named Q{u}g()", "q:2:4: HX3007 XPST0017: no named Q{u}g()"),
        ("g() + g()", "Static error |XPST0017  no named Q{u}g()", "HX3007 XPST0017: no named Q{u}g()"),
        ("1", "Too many nested function calls.", "HX6017 Too many nested function calls."),
        ("1", "Error |XPDY0130  too long", "HX6017 XPDY0130: too long"),
        ("1", "Error on line 1 column 9 of passwd:|SXXP0003  no", "HX6017 SXXP0003: no"),
        (
            "1 + 1",
            "Warning on line 1 column 1 of BASE:|SXWN9027  always\nError on line 1 column 2 of BASE:|FONS0004  no",
            "q:1:2: HX6017 FONS0004: no",
        ),
        ("a(1)", "Error on line 9 column 1 of BASE:|FOAR0001  zero", "HX6017 FOAR0001: zero"),
        ("1", "Error on line 1 column 1 of BASE:|FODC0005  URI BASEx.xml no", "q:1:1: HX6017 FODC0005: URI x.xml no"),
        ("1", "Error on line 1 column 1 of BASE:|URI scheme 'x' no", "q:1:1: HX6017 FODC0002: URI scheme 'x' no"),
    ],
)
def test_an_error_of_saxon_keeps_its_code_and_its_place(text: str, said: str, shown: str) -> None:
    said = " " + said.replace("BASE", BASE).replace("|", "\n  ") + "\n"
    assert str(error_of(said, XQuery(text, (), "q"))) == shown


@pytest.mark.parametrize(
    ("text", "place", "code"),
    [
        ("for $a in //a\nreturn $b", (2, 9), "HX3004"),
        ("for $a in //a\nreturn $b", (1, 3), "HX3007"),
        ("let $m := map{'a': 1} return $m?a + ", (1, 37), "HX3007"),
        ("every $a in //a", (1, 16), "HX3007"),
        ("//a[", (1, 5), "HX3001"),
        ("//a[", None, "HX3001"),
        ("every $a in //a", None, "HX3007"),
    ],
)
def test_the_error_with_the_better_place_is_shown(text: str, place: tuple[int, int] | None, code: str) -> None:
    at = f" on line {place[0]} column {place[1]} of {BASE}:" if place else ""
    with pytest.raises(GrammarError) as own:
        parse_query(text)
    other = error_of(f" Static error{at}\n  XPST0003  Saxon says no\n", XQuery(text, ()))
    assert isinstance(other, GrammarError)
    assert clearer_error(own.value, other, text).faults[0].code == code


def test_values_are_for_external_variables_that_are_declared() -> None:
    text = """declare namespace p = "urn:p"; declare(: c :)variable $a external; declare variable $b := 1;
        declare %private variable $p:n as xs:string external := "x"; declare variable $Q{urn:q}m external; 1"""
    bound = (("a", "1"), ("p:n", "2"), ("Q{urn:q}m", "3"))
    assert external_values(XQuery(text, (), bound=bound)) == {"a": "1", "{urn:p}n": "2", "{urn:q}m": "3"}
    for name in ("b", "n", "q:m", "Q{urn:p}m"):
        with pytest.raises(GrammarError, match="HX3008 the query declares no external variable "):
            external_values(XQuery(text, (), bound=((name, "1"),)))


def test_documents_that_are_too_large_are_not_evaluated() -> None:
    half = "<a>" + " " * (MOST_AT_ONCE // 2) + "</a>"
    XQuery("1", (half,)).parts()
    with pytest.raises(StoreError, match="HX6008 the query reads over 67,108,864 characters of 2 documents together"):
        XQuery("1", (half, half), together=True).parts()
