"""Open content: what stands there is kept, asked for and validated as far as the schema says something of it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import GrammarError
from heptox.grammar import check_names, parse_query, print_query
from heptox.schema import (
    Cardinality,
    Child,
    Element,
    Particle,
    SchemaGraph,
    SchemaTree,
    parse_dtd,
    read_schema,
    validity_faults,
)
from heptox.store import Store, evaluate, plan_query, query
from heptox.xml import parse_document
from tests.support import saxon
from tests.support.budget import tries

_PLAIN: Final = parse_dtd(
    "<!ELEMENT r (a*, o?)> <!ELEMENT a (t?, o*)> <!ATTLIST a k CDATA #IMPLIED> <!ELEMENT t (#PCDATA)>"
    "<!ELEMENT o (t?)> <!ELEMENT c (t, t)>",
    "r",
)
GRAPH: Final = SchemaGraph(
    "r", {**_PLAIN.elements, "o": Element("o", (Child("t", Cardinality.OPTIONAL),), text=True, open=True)}
)
ASKED: Final = (
    "//x", "//o", "//t", "/r/a/t", "//a[o/x]/@k", "//a[empty(o//y)]/@k", "//o/*", "//o/@q", "//o/text()", "//c/t",
    "for $o in //o where $o/x = '1' return <f>{$o/x}</f>", "//a[@k = '1']/t", "data(//o)", "//a/*", "/r/o/x/@k",
)  # fmt: skip


def document(seed: int) -> str:
    random = Random(seed)

    def held(name: str, *attributes: str) -> str:
        inside = "".join(anything(2) for _ in range(3))
        return f"<{name}{random.choice(attributes)}>{inside}</{name}>"

    def anything(depth: int) -> str:
        inside = "".join(anything(depth - 1) for _ in range(random.randint(0, 2))) if depth else ""
        said = random.choice("12")
        name = random.choice("xyo")
        attribute = random.choice(("", f" q='{said}'", f" k='{said}'"))
        return random.choice(
            (
                random.choice(("1", " ", "")),
                f"<t>{said}</t>",
                f"<a k='{said}'><t>1</t></a>",
                "<c><t>1</t><t>2</t></c>",
                f"<{name}{attribute}>{inside}</{name}>",
            )
        )

    def some(number: int) -> str:
        text = random.choice(("", "<t>2</t>"))
        inner = random.choice(("", held("o", "", " q='3'")))
        return f"<a k='{number}'>{text}{inner}</a>"

    parts = [some(number) for number in range(random.randint(0, 3))]
    last = random.choice(("", held("o", "")))
    return f"<r>{''.join(parts)}{last}</r>"


@given(st.integers(0, 1_000_000), st.sampled_from(ASKED))
@settings(max_examples=tries(120))
def test_answers_are_saxons(seed: int, text: str) -> None:
    found = document(seed)
    expression = parse_query(text)
    expected = saxon.evaluate(print_query(expression), found)
    assert list(evaluate(expression, [parse_document(found)])) == expected
    with Store.open(None, GRAPH) as store:
        store.load("d", found.encode())
        (held,) = store.documents()
        assert held.misfits == ()
        assert list(query(store, plan_query(expression, store.catalogue))) == expected


def test_documents_with_open_content_have_rows_beside_it() -> None:
    with Store.open(None, GRAPH) as store:
        store.load("d", b"<r><a k='1'><t>2</t><o><x q='1'>1<t>3</t></x></o></a></r>")
        (held,) = store.documents()
        assert held.regular
        assert plan_query(parse_query("/r/a[@k = '1']/t"), store.catalogue).sql
        assert plan_query(parse_query("//x"), store.catalogue).reason == "it looks into open content"


def test_names_in_open_content_need_not_be_declared() -> None:
    tree = SchemaTree(GRAPH)
    for text in ("//x", "/r/a/o/x", "/r/a//x"):
        check_names(parse_query(text), tree)
    with pytest.raises(GrammarError, match="HX3041"):
        check_names(parse_query("/r/x"), tree)


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<t>1</t>1<a/><t>2</t>", []),
        ("<x/>", ["/r/o: x is not declared"]),
        ("<c><t/></c>", ["/r/o/c: c is not complete"]),
    ],
)
def test_open_content_holds_what_is_declared(inside: str, said: list[str]) -> None:
    one = Particle("name", Cardinality.ONE, "t")
    both = Particle("sequence", Cardinality.ONE, members=(one, one))
    graph = SchemaGraph(
        "r",
        {
            **GRAPH.elements,
            "o": Element("o", text=True, open=True),
            "c": Element("c", (Child("t", Cardinality.SOME),), content=both),
        },
    )
    faults = validity_faults(parse_document(f"<r><o>{inside}</o></r>"), graph)
    assert [fault.message for fault in faults] == said


_OTHERS: Final = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="r"><xs:complexType>
<xs:sequence><xs:element name="a" maxOccurs="unbounded"><xs:complexType mixed="true"><xs:sequence>
<xs:any namespace="##other" processContents="lax" minOccurs="0"/></xs:sequence>
<xs:anyAttribute namespace="##other" processContents="lax"/></xs:complexType></xs:element></xs:sequence>
</xs:complexType></xs:element></xs:schema>"""


def test_names_for_which_a_schema_has_no_prefix_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "r.xsd").write_text(_OTHERS, encoding="utf-8")
    graph = read_schema(tmp_path / "r.xsd")
    found = '<r xmlns:o="urn:o/1"><a o:k="1 Q{x}y">t</a><a><o:b>2</o:b></a></r>'
    assert validity_faults(parse_document(found), graph) == ()
    with Store.open(None, graph) as store:
        store.load("r", found.encode())
        asked = ("//a[empty(Q{urn:o/1}b)]/text()", "//Q{urn:o/1}b/text()", "data(//a/@Q{urn:o/1}k)")
        answers = [list(query(store, plan_query(parse_query(text), store.catalogue))) for text in asked]
    assert answers == [list(evaluate(parse_query(text), [parse_document(found)])) for text in asked]
    assert all(answers)
