"""Nodes that several rules, or several bindings of one, make together (``semantics.md`` sections 4 and 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.mapping import Mapping, parse_mapping_arrows, parse_mapping_rules
from heptox.translate import Direction
from tests.support.definition import check_equal, pairs

CODES = "<!ELEMENT s (r*)> <!ELEMENT r (f*)> <!ELEMENT f (#PCDATA)> <!ATTLIST f c CDATA #REQUIRED>"
WORKS = (
    "<!ELEMENT t (w*)> <!ELEMENT w (n?, h?, x*)> <!ELEMENT n (#PCDATA)> <!ELEMENT h (#PCDATA)> <!ELEMENT x (#PCDATA)>"
)
RECORDS = [
    '<s><r><f c="n">1</f><f c="h">A</f><f c="x">u</f><f c="x">v</f></r><r><f c="n">2</f></r><r><f c="h">B</f></r></s>',
    '<s><r><f c="x">u</f></r><r><f c="n">1</f><f c="z">9</f></r><r/></s>',
    "<s/>",
]
EACH = "".join(
    f"t -> f_t($s)[w -> f_w(each $r)[{leaf} -> $v]]"
    f' <- s -> $s[r -> $r[f -> $f[@c -> $c, text() -> $v]]], $c = "{leaf}".\n'
    for leaf in "nhx"
)


def written(folder: Path, source: str, target: str, text: str, *, rules: bool = False) -> Mapping:
    (folder / "s.dtd").write_text(source, encoding="utf-8")
    (folder / "t.dtd").write_text(target, encoding="utf-8")
    read = parse_mapping_rules if rules else parse_mapping_arrows
    return read(f'source "s.dtd" root s\ntarget "t.dtd" root t\n{text}', folder)


@pytest.mark.parametrize(
    "query",
    [
        "//w[n = '1']/h",
        "//w[empty(h)]/n",
        "for $w in //w return <r>{$w/n}{$w/h}</r>",
        "for $w in //w where $w/x = 'u' and $w/x = 'v' return $w/h",
        "for $w in //w where empty($w/x) return <r>{$w/n}</r>",
        "for $w in //w, $v in //w where $w/n = $v/n return <r>{$w/h}{$v/h}</r>",
    ],
)
def test_rules_that_each_supply_one_leaf_of_a_record(tmp_path: Path, query: str) -> None:
    mapping = written(tmp_path, CODES, WORKS, EACH, rules=True)
    check_equal(mapping, query, pairs(mapping, RECORDS, Direction.SOURCE), Direction.SOURCE)


STOCK = """<!ELEMENT s (a*, b*)> <!ELEMENT a (k, n?)> <!ELEMENT b (k, p?)> <!ELEMENT k (#PCDATA)> <!ELEMENT n (#PCDATA)>
<!ELEMENT p (#PCDATA)>"""
BOOKS = (
    "<!ELEMENT t (o*)> <!ELEMENT o (k, n?, p?)> <!ELEMENT k (#PCDATA)> <!ELEMENT n (#PCDATA)> <!ELEMENT p (#PCDATA)>"
)


@pytest.mark.parametrize(
    "query",
    [
        "for $o in //o where $o/n = 'x' return $o/p",
        "for $o in //o where $o/p = '7' return $o/n",
        "for $o in //o where exists($o/n) and exists($o/p) return <r>{$o/k}{$o/n}{$o/p}</r>",
        "//o/k",
    ],
)
def test_a_declared_key_puts_together_what_two_lists_say_of_one_node(tmp_path: Path, query: str) -> None:
    arrows = "target key o/k\na/k -> o/k\na/n -> o/n\nb/k -> o/k\nb/p -> o/p\n"
    mapping = written(tmp_path, STOCK, BOOKS, arrows)
    documents = [
        "<s><a><k>1</k><n>x</n></a><a><k>2</k></a><b><k>1</k><p>7</p></b><b><k>3</k><p>8</p></b></s>",
        "<s><a><k>1</k><n>x</n></a><b><k>1</k></b></s>",
    ]
    check_equal(mapping, query, pairs(mapping, documents, Direction.SOURCE), Direction.SOURCE)


VISITS = """<!ELEMENT s (p*, v*)> <!ELEMENT p EMPTY> <!ATTLIST p id ID #REQUIRED> <!ELEMENT v (d?)>
<!ATTLIST v p IDREF #REQUIRED> <!ELEMENT d (#PCDATA)>"""
PEOPLE = "<!ELEMENT t (h*)> <!ELEMENT h (d?)> <!ATTLIST h id CDATA #IMPLIED> <!ELEMENT d (#PCDATA)>"


@pytest.mark.parametrize("query", ["for $h in //h return <r>{$h/@id}{$h/d}</r>", "//h[empty(d)]/@id", "//h/d"])
def test_a_leaf_that_one_of_several_bindings_supplies_is_there(tmp_path: Path, query: str) -> None:
    mapping = written(tmp_path, VISITS, PEOPLE, "each p -> h\np/@id -> h/@id\nv/d -> h/d\n")
    documents = [
        '<s><p id="a"/><p id="b"/><p id="c"/><v p="a"><d>1</d></v><v p="a"/><v p="b"/></s>',
        '<s><p id="a"/><v p="a"/><v p="a"><d>1</d></v></s>',
    ]
    check_equal(mapping, query, pairs(mapping, documents, Direction.SOURCE), Direction.SOURCE)


def test_what_repeats_below_a_node_of_its_own_does_not_multiply_the_ways_to_make_it(tmp_path: Path) -> None:
    """A node stands for its source node whatever its leaves come from, so these are not looked at to tell it apart."""
    leaves = [f"x{number}" for number in range(14)]
    declared = "".join(f"<!ELEMENT {leaf} (#PCDATA)>" for leaf in (*leaves, "y"))
    repeated, once = (", ".join(f"{leaf}{sign}" for leaf in leaves) for sign in "*?")
    source = f"<!ELEMENT s (a*)> <!ELEMENT a ({repeated}, b*)> <!ELEMENT b (y)> {declared}"
    target = f"<!ELEMENT t (p*)> <!ELEMENT p ({once}, q*)> <!ELEMENT q (y)> {declared}"
    arrows = "".join(f"a/{leaf} -> p/{leaf}\n" for leaf in leaves)
    mapping = written(tmp_path, source, target, f"each a -> p\neach a/b -> p/q\na/b/y -> p/q/y\n{arrows}")
    documents = ["<s><a><x3>3</x3><x5>5</x5><b><y>1</y></b></a><a><x3>4</x3></a><a/></s>"]
    instances = pairs(mapping, documents, Direction.SOURCE)
    for query in ("//p/x3", 'for $p in //p, $q in $p/q where $p/x5 = "5" return <r>{$p/x3}{$q/y}</r>'):
        check_equal(mapping, query, instances, Direction.SOURCE)
