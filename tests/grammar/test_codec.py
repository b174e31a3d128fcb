"""Queries as peers exchange them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given, strategies as st

from heptox.errors import GrammarError
from heptox.grammar import decode_query, encode_query, parse_query
from tests.support.fixtures import cases

QUERIES = [
    given
    for name in ("montreal-boston.source.xq", "montreal-boston.target.xq")
    for given, _ in cases(f"translate/{name}")
] + [
    "for $a in //a where not(contains($a/b, 'x')) return <c>{if ($a/b) then concat($a/b, 1) else ()}</c>",
    "//a[(switch (b) case 'x' return 'y' default return ()) = 'y' and string-join(c, ',') = 'z']",
    "//a[number(b) <= 2 and 5 > number(data(c))]",
    "//a[starts-with(b, 'x') or starts-with(data(@c), '(')]",
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["Data", "PathExpression", "Step", "$x"]),
    lambda inner: st.lists(inner, max_size=5),
    max_leaves=20,
)


@pytest.mark.parametrize("query", QUERIES)
def test_decoding_is_the_inverse_of_encoding(query: str) -> None:
    expression = parse_query(query)
    assert decode_query(json.loads(json.dumps(encode_query(expression)))) == expression


@given(json_values)
def test_garbage_is_refused_or_an_expression(value: object) -> None:
    try:
        expression = decode_query(value)
    except GrammarError as error:
        assert error.faults[0].code == "HX3049"
    else:
        assert encode_query(expression) == value


def test_endless_nesting_is_refused() -> None:
    value: object = ["Sequence", []]
    for _ in range(5000):
        value = ["Sequence", [value]]
    with pytest.raises(GrammarError, match="nests deeper"):
        decode_query(value)


@pytest.mark.parametrize(
    "value",
    [
        ["Data", ["PathExpression", "$x", []]],
        ["Flwor", [], None, ["Sequence", []], []],
        ["ElementConstructor", "a><b", [], []],
        ["NumberLiteral", "abc"],
        ["NumberValue", ["PathExpression", "/", [["Step", "descendant", ["a"], [], []]]]],
        ["PathExpression", "zzz", []],
        ["FunctionCall", "system", [["StringLiteral", "x"]]],
        ["FunctionCall", "upper-case", [["NumberLiteral", "1"]]],
        ["Sequence", [["Sequence", []]]],
    ],
)
def test_what_no_text_says_is_refused(value: object) -> None:
    with pytest.raises(GrammarError, match="HX3049"):
        decode_query(value)


def test_a_word_of_a_newer_peer_is_refused_by_name() -> None:
    path = ["PathExpression", ".", [["Step", "child", ["b"], [], []]]]
    step = ["Step", "descendant", ["a"], [["Comparison", "sounds-like\x1b", path, ["StringLiteral", "x"]]], []]
    with pytest.raises(GrammarError, match=r"HX3049 encoded query at \S+: unknown sounds-like\\u001b$"):
        decode_query(["PathExpression", "/", [step]])


def test_a_node_of_a_newer_peer_is_refused_by_name() -> None:
    with pytest.raises(GrammarError, match=r"HX3049 encoded query at \S+: unexpected Hologram$"):
        decode_query(["ElementConstructor", "a", [], [["Hologram", "x"]]])


def test_reading_ends_when_nobody_waits() -> None:
    """At each node, token and part: a large tree took a thread for minutes."""
    tree = ["Sequence", [["StringLiteral", "a"]] * 5000]
    calls = count(1)

    def counted() -> None:
        next(calls)

    decode_query(tree, counted)
    whole = next(calls)
    assert whole > 3 * 5000
    for last in (1, whole // 3, whole - 2):
        calls = count(1)

        def check(calls: Iterator[int] = calls, last: int = last) -> None:
            if next(calls) >= last:
                raise TimeoutError

        with pytest.raises(TimeoutError):
            decode_query(tree, check)
        assert next(calls) == last + 1
