"""Documents whose names are in namespaces: in a store, read once, and in memory, judged by Saxon."""

from __future__ import annotations

from io import BytesIO
from typing import Final

import pytest
from hypothesis import assume, given, settings, strategies as st

from heptox.grammar import Expression, NameTable, parse_query, print_query
from heptox.schema import SchemaGraph, parse_dtd
from heptox.store import Hiding, Store, evaluate, plan_query, query
from heptox.xml import Prefixes, parse_document, split_name
from tests.store.stored import answer_once
from tests.store.test_querying import MIXED, REGULAR, VOCABULARY, document
from tests.support import saxon
from tests.support.budget import tries
from tests.support.namespaces import Namespacing, meaning
from tests.support.queries import queries


@given(
    queries(VOCABULARY), st.sampled_from((REGULAR, REGULAR, MIXED)), st.integers(0, 1_000_000), st.integers(0, 100_000)
)
@settings(max_examples=tries(60))
def test_answers_are_saxons(expression: Expression, plain: SchemaGraph, seed: int, places: int) -> None:
    namespacing = Namespacing(places)
    graph, asked = namespacing.graph(plain), namespacing.query(expression)
    documents = [namespacing.document(document(plain, seed + n), seed + n) for n in range(2)]
    try:
        expected = [saxon.evaluate(print_query(asked), text) for text in documents]
    except saxon.XQueryError:
        assume(False)
    together = [meaning(item) for items in expected for item in items]
    with Store.open(None, graph) as store:
        for number, text in enumerate(documents):
            store.load(f"document {number}", text.encode())
        found = list(query(store, plan_query(asked, store.catalogue)))
    assert _meanings(found) == together
    parsed = [parse_document(text) for text in documents]
    assert _meanings(list(evaluate(asked, parsed))) == together
    for text, items in zip(documents, expected, strict=True):
        once = answer_once(asked, text)
        assert once is None or _meanings(once) == list(map(meaning, items))


def _meanings(items: list[str]) -> list[object]:
    """What items say; an attribute's prefix is that of the document, or of the schema, and is not looked at."""
    return list(map(meaning, items))


INVOICE: Final = """<inv:Invoice xmlns:inv="urn:inv" xmlns="urn:cbc" xmlns:a="urn:agg"><ID a:scheme="x">7</ID>
<a:Line n="1"><ID>l1</ID><q:x xmlns:q="urn:q">t</q:x></a:Line></inv:Invoice>"""


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("//c:ID", ['<ID xmlns="urn:cbc" xmlns:a="urn:agg" a:scheme="x">7</ID>', '<ID xmlns="urn:cbc">l1</ID>']),
        ("//c:ID/@a:scheme", ['a:scheme="x"']),
        ("<r>{data(//c:ID)}</r>", ["<r>7 l1</r>"]),
        ("<r>{//a:Line/c:ID}</r>", ['<r><ID xmlns="urn:cbc">l1</ID></r>']),
        ("<c:r a:k='1'>{//a:Line/@n}</c:r>", ['<r xmlns="urn:cbc" xmlns:a="urn:agg" a:k="1" n="1"/>']),
        ("//Q{urn:q}x", ['<x xmlns="urn:q">t</x>']),
        ("//ID", []),
    ],
)
def test_items_declare_the_namespaces_of_their_names(text: str, items: list[str]) -> None:
    expression = parse_query(f'declare namespace c = "urn:cbc"; declare namespace a = "urn:agg"; {text}')
    assert list(evaluate(expression, [parse_document(INVOICE)])) == items


def test_a_schema_offers_its_prefixes_and_names() -> None:
    dtd = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)> <!ATTLIST b k CDATA #IMPLIED>")
    graph = Namespacing(3).graph(dtd)
    names = NameTable(Prefixes.of({"p": "urn:p"}), frozenset({"{urn:p}a", "{urn:q}b", "b"}), frozenset({"{urn:p}k"}))
    assert parse_query("//p:a/*:b/@p:*", names=names) == parse_query(
        'declare namespace x = "urn:p"; //x:a/(b | Q{urn:q}b)/@x:k'
    )
    assert NameTable.of(graph).elements == frozenset(graph.elements)


@given(st.integers(0, 100_000))
@settings(max_examples=tries(30))
def test_what_is_hidden_is_hidden_in_namespaces(seed: int) -> None:
    namespacing = Namespacing(seed)
    graph = namespacing.graph(REGULAR)
    name = namespacing.element("n")
    names = Hiding(graph, [_written(graph, name) if seed % 2 else "Q{{{}}}{}".format(*split_name(name))])
    text = namespacing.document(document(REGULAR, seed), seed)
    pruned = BytesIO()
    assert names.prune(BytesIO(text.encode()), pruned)
    left = parse_document(pruned.getvalue()).root
    before = parse_document(text).root
    for name in graph.elements:
        hidden = name == namespacing.element("n")
        assert len(list(left.iter(name))) == (0 if hidden else len(list(before.iter(name)))), name
    assert names.touched(namespacing.query(parse_query("//n")))
    assert not names.touched(namespacing.query(parse_query("//t")))


def _written(graph: SchemaGraph, name: str) -> str:
    elements = {element.name for element in graph.elements.values()}
    attributes = {one.name for element in graph.elements.values() for one in element.attributes}
    return graph.prefixes.covering(elements, attributes=attributes).written(name)


@pytest.mark.parametrize("text", ["//p:a", "//*", "//h:br", "for $b in //h:b return <r>{$b/@x:k}{$b/text()}</r>"])
def test_what_stands_in_open_content_may_be_in_namespaces_without_a_prefix(text: str) -> None:
    graph = parse_dtd("<!ELEMENT a ANY> <!ATTLIST a xmlns CDATA #FIXED 'urn:a'>")
    document = '<a xmlns="urn:a"><h:b xmlns:h="http://h/#b" xmlns:x="http://x/?&amp;" x:k="1">t<h:br/></h:b></a>'
    declared = 'declare namespace p = "urn:a"; declare namespace h = "http://h/#b";'
    asked = parse_query(f'{declared} declare namespace x = "http://x/?&amp;"; {text}')
    with Store.open(None, graph) as store:
        store.load("a.xml", document.encode())
        found = list(query(store, plan_query(asked, store.catalogue)))
    assert found and _meanings(found) == list(map(meaning, saxon.evaluate(print_query(asked), document)))
