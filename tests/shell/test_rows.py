"""Rows of items that say the same: what peers send of them, and what comes of what they send."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st

from heptox.errors import StoreError
from heptox.grammar import syntax
from heptox.shell import CoreAnswers, Gathered, answers_document, folded
from heptox.store import Allowance
from tests.support.saxon import evaluate_module

QUERY = syntax.Sequence()


def item(number: int, *values: str, says: str = "", key: str = "") -> str:
    """An item of a node, of whose values all folds are asked."""
    each = "".join(f"<heptox-each>{value}</heptox-each>" for value in values)
    folds = "".join(f"<v{place}><{name}>{each}</{name}></v{place}>" for place, name in enumerate(FOLDS, 2))
    keys = f"<k0>{key}</k0>" if key else ""
    nodes = f"<heptox-nodes>0<n0>{number}</n0>{keys}</heptox-nodes>"
    return f"<heptox-row><heptox-tuple><v1>{says}</v1>{folds}</heptox-tuple>{nodes}</heptox-row>"


FOLDS = ("heptox-count", "heptox-sum", "heptox-least", "heptox-most")


def rows(items: Iterable[str], least: int = 0, allowance: Allowance | None = None) -> list[str]:
    return list(folded(QUERY, items, allowance or Allowance(), least))


def gathered(paths: dict[str, list[str]]) -> Gathered:
    """What comes of texts along paths, written as names with blanks."""
    answers = CoreAnswers(brings_rows=True)
    for path, texts in paths.items():
        answers.add(tuple(path.split()), texts)
    return answers.gathered()


def found(paths: dict[str, list[str]], query: str) -> list[str]:
    """The items of a query over the tuples that come along paths."""
    return evaluate_module(
        f"declare variable $c := /*/c/heptox-item/*; {query}", answers_document({"c": gathered(paths)})
    )


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(-9, 9), max_size=3))))
def test_rows_come_to_what_the_items_come_to(said: list[tuple[str, list[int]]]) -> None:
    items = [item(number, *map(str, values), says=says) for number, (says, values) in enumerate(said)]
    query = (
        "for $says in distinct-values($c/v1) let $g := $c[v1 = $says] return <g>{$says, sum($g/@n), "
        "sum($g/v2/*/@n), sum($g/v3/*), min($g/v4/*), max($g/v5/*)}</g>"
    )
    expected = []
    for says in sorted({says for says, _ in said}):
        values = [value for each, several in said if each == says for value in several]
        extremes = (min(values), max(values)) if values else ()
        numbers = (sum(each == says for each, _ in said), len(values), sum(values), *extremes)
        expected.append(f"<g>{says} {' '.join(map(str, numbers))}</g>")
    assert sorted(found({"a": items}, query)) == expected
    assert sorted(found({"a": rows(items)}, query)) == expected
    assert len(rows(items)) == len({says for says, _ in said})


def test_an_item_counts_once_however_often_it_comes() -> None:
    assert found({"a": rows([item(1, "2"), item(2, "2"), item(1, "2")])}, "string($c/@n)") == ["2"]


def test_of_several_paths_to_one_peer_the_one_with_most_counts_and_peers_add() -> None:
    one, two = rows([item(1, "2")]), rows([item(1, "2"), item(2, "3")])
    paths = {"b a": one, "a": two, "c": one}
    assert found(paths, "sum($c/@n)") == ["3"]
    assert found(paths, "sum($c/v3/*)") == ["7"]
    assert gathered(paths).overlapping == {"a", "c"}


def test_what_has_a_key_is_sent_by_itself_and_is_one_with_that_of_other_peers() -> None:
    one = [item(1, "2", key="x"), item(2, "5", key="y")]
    assert rows(one) == one
    both = {"a": one, "b": [item(7, "2", key="x")]}
    assert found(both, "sum($c/@n)") == ["2"]
    assert found(both, "sum($c/v3/*)") == ["7"]
    assert gathered(both).merged == 1


def test_few_are_held_back_and_no_keys_are_told() -> None:
    many = [item(number, "1", says="many", key=f"k{number}") for number in range(10)]
    few = [item(number, "1", says="few", key=f"k{number}") for number in range(20, 29)]
    (row,) = rows(map(of_source, range(20), [*many, *few]), least=10)
    assert "many" in row
    assert "k1" not in row


def of_source(number: int, text: str) -> str:
    return text.replace("</heptox-nodes>", f"<heptox-source>{number}</heptox-source></heptox-nodes>")


def test_many_of_one_source_are_few() -> None:
    items = [item(number, "1", says="x") for number in range(10)]
    assert rows((of_source(number // 2, text) for number, text in enumerate(items)), least=6) == []
    assert rows(items, least=2) == []
    ((row),) = rows((of_source(number // 2, text) for number, text in enumerate(items)), least=5)
    assert 'heptox-row n="5"' in row


def test_what_few_have_a_value_for_has_none() -> None:
    items = [item(number, *(["7"] if number < 4 else []), says="x") for number in range(10)]
    (row,) = rows(map(of_source, range(10), items), least=5)
    assert "<heptox-sum" not in row
    (row,) = rows(map(of_source, range(10), items), least=4)
    assert '<heptox-sum n="4">28.0</heptox-sum>' in row


@pytest.mark.parametrize(
    ("values", "sums"),
    [
        (["1e308", "1e308"], ["INF"]),
        (["0.1", "0.2", "-0.3"], ["2.7755575615628914E-17"]),
        ([" 7 ", "+1", ".5"], ["8.5"]),
        (["INF", "-INF"], ["NaN"]),
        (["NaN", "1"], ["NaN"]),
        ([], ["0"]),
    ],
)
def test_sums_are_of_doubles_rounded_once(values: list[str], sums: list[str]) -> None:
    items = [item(number, value) for number, value in enumerate(values)]
    assert found({"a": rows(items)}, "sum($c/v3/*)") == sums


def test_of_what_is_no_number_there_is_no_sum() -> None:
    texts = rows([item(1, "seven"), item(2, "8")])
    assert "seven" not in texts[0]
    with pytest.raises(Exception, match="FORG0001"):
        found({"a": texts}, "sum($c/v3/*)")
    assert found({"a": texts}, "sum($c/@n)") == ["2"]


@pytest.mark.parametrize(
    "text",
    [
        '<heptox-row n="0"><heptox-tuple/><heptox-nodes/></heptox-row>',
        '<heptox-row n="-3"><heptox-tuple/><heptox-nodes/></heptox-row>',
        '<heptox-row n="1e9"><heptox-tuple/><heptox-nodes/></heptox-row>',
        '<heptox-row n="99999999999999999"><heptox-tuple/><heptox-nodes/></heptox-row>',
        '<heptox-row n="3"><heptox-tuple><v1><heptox-sum n="2">x</heptox-sum></v1></heptox-tuple><heptox-nodes/>'
        "</heptox-row>",
        '<heptox-row n="3"><heptox-tuple><v1><heptox-sum n="x">1</heptox-sum></v1></heptox-tuple><heptox-nodes/>'
        "</heptox-row>",
        '<heptox-row n="3"><heptox-tuple/>',
        "<heptox-row><heptox-tuple/></heptox-row>",
        '<heptox-row n="3"><heptox-nodes/></heptox-row>',
        "<heptox-row><x/><heptox-nodes>0<n0>1</n0><k0>a</k0></heptox-nodes></heptox-row>",
        '<heptox-row n="2"><heptox-tuple/><heptox-nodes>0<n0>1</n0><k0>a</k0></heptox-nodes></heptox-row>',
        '<heptox-row><heptox-tuple><v1><heptox-sum n="0">1</heptox-sum></v1></heptox-tuple><heptox-nodes>0<n0>1</n0>'
        "<k0>a</k0></heptox-nodes></heptox-row>",
    ],
)
def test_what_is_no_row_is_left_out_and_said(text: str) -> None:
    taken = gathered({"a": [*rows([item(1, "2")]), text], "b": rows([item(1, "2")])})
    assert (len(taken.items), taken.garbled) == (2, frozenset({"a"}))


def test_comments_are_no_harm() -> None:
    said = "f<!--x-->lu<?y z?>"
    assert found({"a": [item(1, "2", says=said), item(2, "3", says=said)]}, "string($c/@n)") == ["2"]


def test_contradicting_values_of_one_node_are_two() -> None:
    both = {"a": [item(1, "<d>3</d>", key="x")], "b": [item(7, "<d>2</d>", key="x")]}
    assert found(both, "($c/@n/string(), sum($c/v3/*), max($c/v5/*))") == ["1", "5", "3"]
    assert gathered(both).conflicts > 0


def test_a_peer_holds_no_more_than_it_may() -> None:
    with pytest.raises(StoreError, match="HX6006"):
        rows((item(number, "1") for number in range(9)), allowance=Allowance(values=5))
    with pytest.raises(StoreError, match="HX6007"):
        rows((item(number, says=f"s{number}") for number in range(9)), allowance=Allowance(characters=900))
