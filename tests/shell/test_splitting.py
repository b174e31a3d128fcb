"""XQueries split into cores and a shell: what is computed of the cores' answers is the query's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import pytest

from heptox.cluster import auction_document
from heptox.errors import GrammarError, HeptoxError
from heptox.grammar import print_query, syntax
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.shell import split
from heptox.store import evaluate
from heptox.translate import Direction, translate
from heptox.xml import parse_document, write_document
from tests.store.test_use_cases import FOLDER, plain, use_cases
from tests.support import shells
from tests.support.saxon import evaluate_module
from tools.console import ROOT

XMARK: Final = dict(enumerate((FOLDER / "xmark.xq").read_text().split("\n--\n"), 1))


def computed(query: str, asked: Callable[[syntax.Expression], Iterable[str]]) -> list[str]:
    """The items of a query whose cores are ``asked``."""
    return shells.computed(split(query), {"peer": asked})


def evaluated(documents: Iterable[str], core: syntax.Expression) -> Iterable[str]:
    return evaluate(core, [parse_document(text) for text in documents])


def code_of(error: HeptoxError) -> str:
    return error.faults[0].code


NOT_ASKED: Final = {
    **dict.fromkeys(("maps an array", "maps maps as items", "maps windows"), "HX3002"),
    "maps a map": "HX3001",
    **dict.fromkeys(("maps axes", "ns Q1", "parts Q1", "seq Q3", "seq Q4", "seq Q5", "sgml Q10", "xmp Q12"), "HX3070"),
}
"""The use cases that peers cannot be asked, for what they say of order, of documents, or of what is not read yet."""


def test_use_cases_are_computed_of_cores_as_published() -> None:
    answers: dict[str, object] = {}
    expected: dict[str, object] = {}
    for case in use_cases():
        expected[case.name] = NOT_ASKED.get(case.name) or "".join(plain(item.strip('"')) for item in case.items)
        try:
            found = computed(case.query.text, partial(evaluated, case.query.documents))
            answers[case.name] = "".join(plain(item.strip('"')) for item in found)
        except GrammarError as error:
            answers[case.name] = code_of(error)
    assert {name: answer for name, answer in answers.items() if answer != expected[name]} == {}


@pytest.fixture(scope="module")
def auctions() -> dict[str, str]:
    return {schema: "".join(auction_document(schema, 25)) for schema in ("auction", "kinds", "attributes", "nested")}


LOST: Final = {
    ("kinds", 4): "HX3070",
    ("attributes", 4): "HX3070",
    ("nested", 4): "HX3070",
    **dict.fromkeys((("attributes", 15), ("attributes", 16), ("nested", 15), ("nested", 16)), "HX5021"),
}


@pytest.mark.parametrize(("schema", "to"), [("kinds", Direction.TARGET), ("attributes", Direction.SOURCE)])
def test_the_queries_of_xmark_are_computed_of_what_other_schemas_answer(
    auctions: dict[str, str], schema: str, to: Direction
) -> None:
    """The answers of ``Q(mu(D))``, order aside."""
    ends = ("auction", schema) if to is Direction.TARGET else (schema, "auction")
    mapping = load_mapping(ROOT / "examples" / "xmark" / f"{'-'.join(ends)}.arrows")
    document = parse_document(auctions[schema])
    image = image_text(mapping if to is Direction.SOURCE else mapping.mirrored(), auctions[schema])
    for number, query in XMARK.items():
        try:
            found = computed(query, lambda core: evaluate(translate(mapping, core, to).query, [document]))
        except HeptoxError as error:
            assert code_of(error) == LOST.get((schema, number)), (number, error)
            continue
        assert sorted(map(plain, found)) == sorted(map(plain, evaluate_module(query, image))), number


def image_text(mapping: Mapping, document: str) -> str:
    return write_document(exchange(mapping, parse_document(document)).root)


SUMS: Final = "$heptox-core1/Q{}v1/Q{}heptox-sum"


def rows(query: str, *folds: str) -> str:
    """The core of which the shell takes folds."""
    each = "<heptox-each>{$heptox-item1}</heptox-each>"
    slots = [f"<v{n}><heptox-{fold}>{each}</heptox-{fold}></v{n}>" for n, fold in enumerate(folds, 1)]
    made = f"<heptox-tuple>{''.join(slots)}</heptox-tuple>" if slots else "<heptox-tuple/>"
    return f"for $heptox-item1 in {query}\nreturn {made}"


@pytest.mark.parametrize(
    ("query", "cores", "shell"),
    [
        ("not(//p)", ["for $heptox-node in //p\nreturn <p/>"], "not($heptox-core1)"),
        ("//p[n = 'x'][count(k) > 1]/n", ["//p[n = \"x\"]"], "$heptox-core1[count(k) > 1]/n"),
        (
            "for $p in //p where $p/n = 'x' and $p/n > $p/m * 2 order by $p/n return $p/k/text()",
            [
                'for $p in //p\nwhere $p/n = "x"\nreturn <heptox-tuple><v1><p>{for $heptox-p1 in $p/k return '
                "<k>{$heptox-p1/text()}</k>}{$p/m}{$p/n}</p></v1></heptox-tuple>"
            ],
            "for $heptox-tuple1 in $heptox-core1 let $p := $heptox-tuple1/Q{}v1/(@*|node()) "
            "where ($p/n > $p/m * 2) order by $p/n return $p/k/text()",
        ),
        (
            "for $p in //p return <r>{max(//q[@r = $p/@id]/n)}</r>",
            [
                "for $p in //p\nreturn <heptox-tuple><v1><p/></v1><v2>{for $heptox-each1 in //q[@r = $p/@id]/n "
                "return <heptox-each>{$heptox-each1}</heptox-each>}</v2></heptox-tuple>"
            ],
            "for $heptox-tuple1 in $heptox-core1 let $p := $heptox-tuple1/Q{}v1/(@*|node()) "
            "return <r>{max($heptox-tuple1/Q{}v2/Q{}heptox-each/(@*|node()))}</r>",
        ),
        (
            "declare function local:f($x) { $x * 2 }; let $d := (/) return local:f(sum($d//p/n))",
            [rows("//p/n", "sum")],
            f"declare function local:f($x) {{ $x * 2 }}; let $d := () return local:f(sum({SUMS}))",
        ),
        (
            "for $p in //p return <r>{for $t in $p/t order by $t/n return $t/n/text()}</r>",
            [
                "for $p in //p\nreturn <heptox-tuple><v1><p>{for $heptox-p1 in $p/t return "
                "<t>{$heptox-p1/n}</t>}</p></v1></heptox-tuple>"
            ],
            "for $heptox-tuple1 in $heptox-core1 let $p := $heptox-tuple1/Q{}v1/(@*|node()) "
            "return <r>{for $t in $p/t order by $t/n return $t/n/text()}</r>",
        ),
        (
            "count(//p[k]) + sum(//p[k]/n) + count(//p[k])",
            [rows("//p[k]"), rows("//p[k]/n", "sum")],
            "xs:integer(sum($heptox-core1/@n)) + sum($heptox-core2/Q{}v1/Q{}heptox-sum) + "
            "xs:integer(sum($heptox-core1/@n))",
        ),
        (
            "avg(//n) - fn:max(//n)",
            [rows("//n", "sum", "most")],
            f"(sum({SUMS}/@n)[. gt 0] ! (sum({SUMS}) div .)) - max($heptox-core1/Q{{}}v2/Q{{}}heptox-most)",
        ),
        (
            "for $p in //p where $p/n > $p/m * 2 group by $k := string($p/k) where count($p) > 1 "
            "return <g>{$k, sum($p/n)}</g>",
            [
                "for $p in //p\nreturn <heptox-tuple><v1><p>{$p/k}{$p/m}{$p/n}</p></v1><v2><heptox-sum>"
                "{for $heptox-each1 in $p/n return <heptox-each>{$heptox-each1}</heptox-each>}</heptox-sum></v2>"
                "</heptox-tuple>"
            ],
            "for $heptox-tuple1 in $heptox-core1 let $p := $heptox-tuple1/Q{}v1/(@*|node()) "
            "where ($p/n > $p/m * 2) group by $k := string($p/k) where xs:integer(sum($heptox-tuple1/@n)) > 1 "
            "return <g>{$k, sum($heptox-tuple1/Q{}v2/Q{}heptox-sum)}</g>",
        ),
        ("1 + 1", [], "1 + 1"),
    ],
)  # fmt: skip
def test_only_what_the_shell_looks_at_is_asked(query: str, cores: list[str], shell: str) -> None:
    found = split(query)
    assert ([print_query(core.query) for core in found.cores], found.shell) == (cores, shell)


@pytest.mark.parametrize(
    "prolog",
    [
        'declare default function namespace "http://www.w3.org/2005/xquery-local-functions"; declare function count',
        "declare namespace fn = 'urn:x'; declare function fn:count",
    ],
)
def test_a_function_of_ones_own_is_no_aggregate(prolog: str) -> None:
    name = prolog.rpartition(" ")[2]
    assert computed(f"{prolog}($x) {{ 5 }}; {name}(//p)", partial(evaluated, ["<r><p/></r>"])) == ["5"]


@pytest.mark.parametrize(
    ("query", "place", "hint"),
    [
        ("//p/..", "1:5", "bind the node above"),
        ("for $p in //p return $p/ancestor::q", "1:25", "bind the node above"),
        ("count(doc('x')//p)", "1:7", "begin the path with / or //"),
        ("//p | //q", "1:1", "(a | b) as a step"),
        ("//p[1]/n", "1:1", None),
        ("for $p in //p, $q in //q where $p << $q return $p", "1:32", "compare values"),
        ("let $p := //p, $q := //q return $p intersect $q", "1:33", "(a | b) as a step"),
        ("id('x', (/))", "1:1", "join by the values"),
    ],
)
def test_what_no_peer_can_be_asked_is_refused_where_it_stands(query: str, place: str, hint: str | None) -> None:
    with pytest.raises(GrammarError) as raised:
        split(query)
    fault = raised.value.faults[0]
    assert (fault.code, f"{fault.position.line}:{fault.position.column}" if fault.position else "") == ("HX3070", place)
    assert hint is None or hint in str(fault.hint)


def test_cores_are_not_too_many() -> None:
    with pytest.raises(GrammarError) as raised:
        split(" + ".join(f"count(//a{number})" for number in range(21)))
    assert code_of(raised.value) == "HX3071"
