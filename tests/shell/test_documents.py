"""A path from documents means each document by itself, also where the shell joins what two paths bring."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pytest

from heptox.errors import GrammarError
from heptox.shell import split
from heptox.store import evaluate
from heptox.xml import parse_document
from tests.support import shells
from tests.support.saxon import evaluate_module

DOCUMENTS = (
    "<l><branch><city>p</city><book><title>X</title><author>Q</author><price>3</price></book></branch>"
    "<member><name>Ann</name><town>p</town><loan><what>X</what><days>1</days></loan>"
    "<loan><what>Y</what><days>9</days></loan></member></l>",
    "<l><branch><city>q</city><book><title>Y</title><author>Q</author><price>5</price></book>"
    "<book><title>Z</title></book></branch><member><name>Bob</name><town>q</town></member>"
    "<member><name>Cy</name><town>q</town><loan><what>Z</what><days>2</days></loan></member></l>",
)


def computed(query: str, documents: Iterable[str] = DOCUMENTS) -> list[str]:
    """The items of a query that peers with a document each answer."""
    held = [[parse_document(document)] for document in documents]
    peers = {str(number): partial(evaluate, documents=each) for number, each in enumerate(held)}
    return shells.computed(split(query), peers)


@pytest.mark.parametrize(
    "query",
    [
        "for $l in //loan where not($l/what = //book/title) return $l/what",
        "for $m in //member let $n := count($m/loan) for $b in //book where $b/title = $m/loan/what "
        "return <x>{$b/title}{$n}</x>",
        "for $m in //member let $w := $m/loan[1]/what return <x>{count(//book[title = $w])}</x>",
        "let $t := //book/title for $l in //loan where not($l/what = $t) return $l/what",
        "let $t := //book/title return for $l in //loan where not($l/what = $t) return $l/what",
        "for $b in //branch return if (some $m in //member satisfies $m/town = $b/city) "
        "then <n>{count(//member[town = $b/city])}</n> else 'none'",
        "for $b in //branch return every $m in //member satisfies exists($m/loan)",
        "//branch/book[author][1]",
        "//book[count(author) = 1]/title",
        "for $m in //member, $l in $m/loan group by $n := string($m/name) "
        "return <g>{count($m/name), count($m), sum($l/days)}</g>",
        "for $m in //member return <m>{for $l in $m/loan, $b in //book where $b/title = $l/what order by $b/price "
        "return $b/title}</m>",
    ],
)
def test_joins_stay_in_their_documents(query: str) -> None:
    each = [item for document in DOCUMENTS for item in evaluate_module(query, document)]
    assert sorted(computed(query)) == sorted(each)


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("count(for $l in //loan where not($l/what = //book/title) return $l)", ["1"]),
        ("every $l in //loan satisfies $l/what = //book/title", ["false"]),
        ("some $x in //book, $y in //book satisfies $x/price < $y/price", ["false"]),
        ("count(//book[title = 'X']) + count(//loan)", ["4"]),
        ("declare function local:n() { count(//book) }; local:n()", ["3"]),
        ("for $l in collection()//loan where not($l/what = collection()//book/title) return string($l/what)", ["Y"]),
        ("for $c in distinct-values(//city) order by $c return count(//member[town = $c])", ["1", "2"]),
    ],
)
def test_what_is_computed_over_all_is_of_all(query: str, items: list[str]) -> None:
    assert computed(query) == items


@pytest.mark.parametrize(
    "query",
    [
        "//loan[not(what = //book/title)]",
        "//member/count(//book)",
        "//loan ! (let $w := what return //book[title = $w])",
        "declare variable $t := //book/title; for $l in //loan where $l/what = $t return $l",
        "declare function local:n() { count(//book) }; for $m in //member return local:n()",
        "count((for $m in //member, $l in $m/loan return $m)/name)",
        "count((//book, //book)/title)",
        "//book[author][1]/title",
        "let $heptox-core1 := 5 return count(//book) + $heptox-core1",
    ],
)
def test_what_would_mix_documents_or_nodes_is_refused(query: str) -> None:
    with pytest.raises(GrammarError) as raised:
        split(query)
    assert raised.value.faults[0].code == "HX3070"
