"""Tree patterns as conjunctions of predicates."""

from __future__ import annotations

import pytest

from heptox.grammar import parse_subscription
from heptox.matching import branches


def printed(text: str) -> list[str]:
    (pattern,) = parse_subscription(text)
    return [str(branch) for branch in branches(pattern)]


def test_the_papers_subscription_has_four_branches_and_two_branching_points() -> None:
    text = '/a//b[.//c/d/text()="v1" and p//q/text()="v2"]/x[@y="v3"]//z/text() = "v4"'
    assert printed(text) == [
        '/a//b{bp#1}//c/d/text() = "v1"',
        '/a//b{bp#1}/p//q/text() = "v2"',
        '/a//b{bp#1}/x{bp#2}/@y = "v3"',
        '/a//b{bp#1}/x{bp#2}//z/text() = "v4"',
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a", ["/a"]),
        ("/a/b[c]", ["/a/b/c"]),
        ("/a[b][c]", ["/a/b", "/a/c"]),
        ("/*[b][c]", ["/*/b", "/*/c"]),
        ("//a[b][c]", ["//a{bp#1}/b", "//a{bp#1}/c"]),
        ("/a/b[. > 3 and . < 5]", ["/a/b{bp#1} > 3", "/a/b{bp#1} < 5"]),
        ("//a[. = 'x']/b", ['//a{bp#1} = "x"', "//a{bp#1}/b"]),
        ("/a = 1 and //b = 2", ["/a = 1", "//b = 2"]),
        ("//a[/b/c = 1]/@x", ["//a/@x", "/b/c = 1"]),
        ("//a[@* = 1 and text() = 2]", ["//a{bp#1}/@* = 1", "//a{bp#1}/text() = 2"]),
        (
            "//a[b[c and d] and e[f and g]]",
            ["//a{bp#1}/b{bp#2}/c", "//a{bp#1}/b{bp#2}/d", "//a{bp#1}/e{bp#3}/f", "//a{bp#1}/e{bp#3}/g"],
        ),
    ],
)
def test_each_branch_is_a_predicate(text: str, expected: list[str]) -> None:
    assert printed(text) == expected


def test_the_tests_of_one_node_are_asked_of_one_node() -> None:
    (pattern,) = parse_subscription("/a/text()[. > 3 and . < 5]")
    first, second = branches(pattern)
    assert first.points == second.points == ((1, 2),)
