"""What an evaluation may hold at a time: refused by name beyond it, and let go when it is done with."""

from __future__ import annotations

import tracemalloc

import pytest

from heptox.errors import Position, StoreError
from heptox.grammar import parse_query
from heptox.store import Allowance, Pool, evaluate
from heptox.xml import parse_document

DOCUMENT = parse_document("<r>" + "".join(f"<a k='{number}'><b>x{number:09}</b></a>" for number in range(100)) + "</r>")
LISTED = 6
"""What a list of a hundred nodes counts, which is looked through again and again."""
JOINED_LATE = "for $a in //a, $x in //a, $b in //b where $b = $a/b return $x/@k"


def refused(query: str, allowance: Allowance) -> tuple[str, Position | None]:
    with pytest.raises(StoreError) as error:
        for _ in evaluate(parse_query(query), [DOCUMENT], None, allowance):
            pass
    (fault,) = error.value.faults
    return fault.code, fault.position


@pytest.mark.parametrize(
    ("query", "code", "column"),
    [
        ("for $a in //a, $b in //a order by $a/b return $a/@k", "HX6006", 1),
        ("for $a in //a, $b in //a let $c := $b/b order by $a/b descending return 1", "HX6006", 1),
        ("for $a in //a let $b := //a[b != $a/b] order by $a/b return 1", "HX6006", 1),
        (JOINED_LATE, "HX6006", 1),
        ("(1, for $a in //a, $b in //a order by $a/b return $a/@k)", "HX6006", 5),
        ("for $a in //a order by $a/b return (for $b in //a order by $b/b return $a/@k)", "HX6006", 37),
        (f"//a[{' or '.join(['empty(//a)'] * 100)}]", "HX6006", 1061),
        ("//a[" + " or ".join(["'q' = //b"] * 100) + "]", "HX6007", 50),
        ("<r>{for $a in //a, $b in //a return $a}</r>", "HX6007", 1),
        ("<r>{for $a in //a, $b in //a return 'x'}</r>", "HX6007", 1),
        ("<r>{for $a in //a return <s>{for $b in //a return data($b)}</s>}</r>", "HX6007", 26),
        ("<r k='{for $a in //a, $b in //a return data($a)}'/>", "HX6007", 8),
        ("attribute k {for $a in //a, $b in //a return data($a)}", "HX6007", 14),
        ("text {for $a in //a, $b in //a return data($a)}", "HX6007", 7),
        ("text {for $a in //a, $b in //a return ''}", "HX6007", 7),
    ],
)
def test_what_holds_too_much_is_refused_where_it_stands(query: str, code: str, column: int) -> None:
    allowance = Allowance(values=450) if code == "HX6006" else Allowance(characters=3_000)
    assert refused(query, allowance) == (code, Position(1, column))


@pytest.mark.parametrize(
    ("query", "values", "characters"),
    [
        ("for $a in //a order by $a/b return $a/@k", LISTED + 200, 1_000),
        ("for $a in //a return (for $b in $a/b order by $b return $b)", 2 * 100, 10),
        ("for $a in //a let $b := //a order by $a/b return 1", 2 * LISTED + 400, 1_000),
        ("for $a in //a, $b in //b return <r>{$a}</r>", 2 * LISTED, 50),
        ("for $a in //a, $b in //b return text {$a}", 2 * LISTED, 10),
        ("for $a in //a, $b in //b return $a/@k", 2 * LISTED, 0),
    ],
)
def test_what_is_done_with_is_let_go(query: str, values: int, characters: int) -> None:
    expected = list(evaluate(parse_query(query), [DOCUMENT]))
    assert list(evaluate(parse_query(query), [DOCUMENT], None, Allowance(values, characters))) == expected


@pytest.mark.parametrize(
    ("query", "allowance"),
    [
        ("for $a in //a, $b in //a, $c in //a order by $a/b return $a", Allowance(values=30_000)),
        (
            "for $a in //a, $b in //a, $c in //a let $d := //a[b != $c/b] order by $c/b return 1",
            Allowance(values=10_000),
        ),
        ("<r>{for $a in //a, $b in //a, $c in //a return data($a)}</r>", Allowance(characters=300_000)),
        ("<r>{for $a in //a, $b in //a return ($a, $b)}</r>", Allowance(characters=400_000)),
    ],
)
def test_little_memory_is_used_before_it_is_refused(query: str, allowance: Allowance) -> None:
    list(evaluate(parse_query("//a"), [DOCUMENT]))  # the index of the document is not part of it
    tracemalloc.start()
    try:
        with pytest.raises(StoreError):
            list(evaluate(parse_query(query), [DOCUMENT], None, allowance))
        assert tracemalloc.get_traced_memory()[1] < 6_000_000
    finally:
        tracemalloc.stop()


def test_what_is_held_together_is_given_back() -> None:
    pool = Pool(40_000)
    ordered = parse_query("for $a in //a order by $a/b return $a/@k")
    first, second = (evaluate(ordered, [DOCUMENT], None, Allowance(pool=Pool(size, pool))) for size in (2**21, 10_000))
    with pytest.raises(StoreError, match="HX6019 evaluations would hold more than 40,000 bytes"):
        next(first)
    with pytest.raises(StoreError, match="HX6019 evaluations would hold more than 10,000 bytes"):
        next(second)
    pool.take(40_000)


def test_an_allowance_is_not_negative() -> None:
    with pytest.raises(ValueError, match="negative"):
        Allowance(values=-1)
