"""Reading subscriptions: what they stand for, refusals by name and position, and the scanner beside the grammar."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import Fault, GrammarError
from heptox.grammar import parse_subscription
from heptox.grammar.alternatives import TRUE, all_of, both, either, there_is
from heptox.grammar.subscription import parse_by_grammar
from heptox.grammar.subscription_scanner import scan_subscription
from heptox.pattern import Number, PatternNode, Text, TreePattern, ValueTest, is_leaf_test
from tests.support.budget import tries
from tests.support.fixtures import cases


def shown(fault: Fault) -> str:
    assert fault.position is not None
    hint = f" ({fault.hint})" if fault.hint else ""
    return f"{fault.position.line}:{fault.position.column} {fault.code} {fault.message}{hint}"


@pytest.mark.parametrize(("text", "expected"), cases("subscriptions/patterns.txt"))
def test_a_subscription_stands_for_patterns(text: str, expected: str) -> None:
    found = parse_subscription(text)
    assert "\n".join(map(str, found)) == expected
    assert parse_by_grammar(text) == found
    for pattern in found:
        assert parse_subscription(str(pattern)) == (pattern,)


@pytest.mark.parametrize(("text", "expected"), cases("subscriptions/outside.txt"))
def test_what_is_refused_is_named_and_placed(text: str, expected: str) -> None:
    assert scan_subscription(text) is None
    with pytest.raises(GrammarError) as raised:
        parse_subscription(text)
    assert "\n".join(shown(fault) for fault in raised.value.faults) == expected


def test_positions_tell_where_the_text_comes_from() -> None:
    with pytest.raises(GrammarError, match=r"^wanted\.txt:7:3: HX3060 the parent step"):
        parse_subscription("//..", "wanted.txt", 7)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("/a" + "[b" * 300 + "]" * 300, "HX3003"),
        ("/a" * 201, "HX3003"),
        ("//a" * 2000 + " = 5", "HX3003"),
        ("/a" * 100 + "[" + "/".join("b" * 101) + "]", "HX3003"),
        ("/a[" + " and ".join(f"(b{number} or c{number})" for number in range(9)) + "]", "HX3061"),
        (" or ".join(f"/a{number}" for number in range(257)), "HX3061"),
        ("/a[b = '\x01']", "HX3001"),
    ],
)
def test_what_is_too_large_or_no_text_is_refused(text: str, code: str) -> None:
    with pytest.raises(GrammarError, match=code):
        parse_subscription(text)


def test_paths_of_many_steps_are_read() -> None:
    for text in ("/a" * 200, "/a" * 20 + "[b" * 19 + "]" * 19, "/a" * 100 + "[" + "/".join("b" * 100) + " < 5]"):
        (pattern,) = parse_subscription(text)
        assert hash(pattern) == hash(parse_by_grammar(text)[0])
        assert str(pattern).count("a") == text.count("a")


def test_as_many_alternatives_as_may_be_are_read() -> None:
    assert len(parse_subscription(" or ".join(f"/a{number}" for number in range(256)))) == 256


NAMES = st.sampled_from(["a", "b", "and", "or", "text", "a-b.c", "_x"])
CONSTANTS = st.one_of(
    st.text('ab "=[]', max_size=4).map(Text), st.sampled_from(["5", "-5", ".5", "5.", "1e3", "-1.5E-2"]).map(Number)
)
VALUES = st.lists(
    st.builds(ValueTest, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), CONSTANTS), max_size=2, unique=True
).map(tuple)
TESTS = st.one_of(NAMES, NAMES.map("@{}".format), st.sampled_from(["*", "@*", "text()"]))


def nodes(below: st.SearchStrategy[PatternNode]) -> st.SearchStrategy[PatternNode]:
    children = st.lists(below, max_size=3, unique=True).map(tuple)
    node = st.builds(PatternNode, st.sampled_from(["/", "//"]), NAMES | st.just("*"), VALUES, children)
    return node | LEAVES


LEAVES = st.builds(PatternNode, st.sampled_from(["/", "//"]), TESTS, VALUES)
PATTERNS = st.lists(st.recursive(LEAVES, nodes, max_leaves=8), min_size=1, max_size=3, unique=True).map(
    lambda found: TreePattern(tuple(found))
)


@given(PATTERNS)
def test_a_pattern_that_is_printed_and_read_is_the_same(pattern: TreePattern) -> None:
    assert parse_by_grammar(str(pattern)) == (pattern,)
    assert all(not node.children or not is_leaf_test(node.test) for node in pattern.children)


TOKENS = ["/", "//", "a", "b", "*", "@a", "@*", "text()", "[", "]", "(", ")", "and", "or", "=", "<", ".", "5", "-5"]


@settings(max_examples=tries(1000))
@given(st.lists(st.sampled_from([*TOKENS, "'x'", '"y"', " ", "1.", "..", "!", "é", "'", "::", "$"]), max_size=14))
def test_the_scanner_reads_nothing_otherwise_than_the_grammar(tokens: list[str]) -> None:
    for text in ("".join(tokens), " ".join(tokens), "/a[" + " ".join(tokens) + "]"):
        scanned = scan_subscription(text)
        if scanned is not None:
            assert scanned == parse_by_grammar(text)


@given(PATTERNS)
def test_the_scanner_reads_what_is_plain(pattern: TreePattern) -> None:
    text = str(pattern)
    assert '""' in text or scan_subscription(text) == (pattern,)


@given(st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=3), max_size=6))
def test_conditions_beside_each_other_are_joined_as_one_after_the_other(alternatives: list[list[str]]) -> None:
    conditions = [either(there_is("/", name, TRUE) for name in names) for names in alternatives]
    assert all_of(conditions) == reduce(both, conditions, TRUE)
