"""Patterns for documents as they are written: they miss none that the patterns match as its schema declares it."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest
from hypothesis import given, strategies as st

from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.pattern import (
    ANY_ATTRIBUTE,
    ANY_ELEMENT,
    Axis,
    Number,
    PatternNode,
    Text,
    TreePattern,
    ValueTest,
    holds,
)
from heptox.pattern.operators import Sign
from heptox.rewriting import patterns_as_written
from heptox.rewriting.query_patterns import MOST_PATTERNS
from heptox.schema import as_declared, parse_dtd
from heptox.xml import Document, XmlElement, parse_document

SCHEMA: Final = parse_dtd(
    """<!ELEMENT a (a | b)*> <!ATTLIST a k NMTOKENS #IMPLIED u CDATA "kg" n CDATA #IMPLIED>
    <!ELEMENT b EMPTY> <!ATTLIST b k (x | y | 7) "y" u NMTOKEN #IMPLIED m CDATA #IMPLIED>""",
    "a",
)
VALUES: Final = ("", "x", "y", "7", "kg", "x y", "x  y", " x", "x!", "xy", "!")
RAW: Final = ("x", " x", "x ", "y", "7", " 7 ", "kg", " kg", "x y", " x   y ", "", " ", "xy", "&#9;x", "&#10;")


def random_element(random: Random, depth: int) -> str:
    names = ("k", "u", "n", "m")
    attributes = "".join(f' {name}="{random.choice(RAW)}"' for name in names if random.random() < 0.4)
    below = (random_element(random, depth - 1) for _ in range(random.randrange(3))) if depth else ()
    name = random.choice("ab")
    return f"<{name}{attributes}>{''.join(below)}</{name}>"


def pattern_of(random: Random, element: XmlElement) -> PatternNode:
    """A pattern that an element with what is below it matches."""
    attributes = sorted((str(name), str(value)) for name, value in element.items())
    leaves = [leaf_of(random, *attribute) for attribute in attributes if random.random() < 0.6]
    below = [pattern_of(random, child) for child in element if random.random() < 0.4]
    name = random.choice((str(element.tag), ANY_ELEMENT))
    return PatternNode(random_axis(random), name, (), tuple(dict.fromkeys((*leaves, *below))))


def leaf_of(random: Random, name: str, value: str) -> PatternNode:
    signs: tuple[Sign, ...] = ("=", "!=", "<", "<=", ">", ">=")
    constants: tuple[Text | Number, ...] = (*map(Text, (value, value, *VALUES)), Number("7"), Number("0"))
    tests = (ValueTest(random.choice(signs), random.choice(constants)) for _ in range(random.randrange(8)))
    values = tuple(dict.fromkeys(test for test in tests if holds(value, test.operator, test.constant)))
    return PatternNode(random_axis(random), random.choice((f"@{name}", ANY_ATTRIBUTE)), values)


def random_axis(random: Random) -> Axis:
    return "//" if random.random() < 0.5 else "/"


def is_matched(patterns: tuple[TreePattern, ...], document: Document) -> bool:
    matcher = MemoryMatcher()
    matcher.add(0, patterns)
    return len(matcher.match(document)) > 0


@given(st.integers(min_value=0))
def test_no_document_is_missed(seed: int) -> None:
    random = Random(seed)
    document = parse_document(f"<a>{random_element(random, 2)}</a>")
    declared = as_declared(document, SCHEMA)
    patterns = (TreePattern((pattern_of(random, declared.root),)),)
    assert is_matched(patterns, declared)
    assert is_matched(patterns_as_written(patterns, SCHEMA), document)


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("//b[@k = 'x']", "<a><b k='x '/></a>"),
        ("//b[@k = 'x']", "<a><b k=' x'/></a>"),
        ("//a[@k = 'x y']", "<a k='x   y '/>"),
        ("//*[@k = 'y']", "<a><b/></a>"),
        ("/a//@k = 'y'", "<a><b/></a>"),
        ("//@u > 'kf'", "<a/>"),
        ("//a[@* = 'x']", "<a k='x '/>"),
        ("//a[@* != 'x']", "<a/>"),
        ("//b[@k <= 'x']", "<a><b k='x '/></a>"),
        ("//b[@u = '']", "<a><b u=' '/></a>"),
    ],
)
def test_what_matches_by_the_schema_is_asked_for(text: str, document: str) -> None:
    patterns, parsed = parse_subscription(text), parse_document(document)
    assert not is_matched(patterns, parsed)
    assert is_matched(patterns, as_declared(parsed, SCHEMA))
    assert is_matched(patterns_as_written(patterns, SCHEMA), parsed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//a[@n = 'x']", "//a[@n = 'x']"),
        ("//a[@u]", "//a"),
        ("//a[@u > 'k']/b", "//a[b]"),
        ("//a[@u = 'x']", "//a[@u = 'x']"),
        ("//@u", "/a"),
        ("//b[@k = 'y']", "//b"),
        ("//b[@k = 'x']", "//b[@k[. >= 'x'][. < 'x!']] or //b[@k < '!']"),
        ("//a[@k = 'x y']", "//a[@k[. >= 'x'][. < 'x y!']] or //a[@k < '!']"),
        ("//a[@k != 'x']", "//a[@k != 'x']"),
        ("//a[@k < 'x']", "//a[@k]"),
        ("//b[@u > 6]", "//b[@u > 6]"),
    ],
)
def test_no_more_is_left_out_than_has_to_be(text: str, expected: str) -> None:
    assert set(patterns_as_written(parse_subscription(text), SCHEMA)) == set(parse_subscription(expected))


def test_there_are_no_more_patterns_than_a_subscription_may_stand_for() -> None:
    text = "//a" + "".join(f"[b[@k = 'x'][@u = 'v{number}']]" for number in range(5))
    assert patterns_as_written(parse_subscription(text), SCHEMA) == parse_subscription("//a[b[@k][@u]]")
    many = parse_subscription(" or ".join(f"//b[@u = 'v{number}']" for number in range(MOST_PATTERNS)))
    assert patterns_as_written(many, SCHEMA) == parse_subscription("//b[@u]")
