"""What values mean by prefixes, and attributes that any element of an XSD may have, in what is given back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree

from heptox.grammar import parse_query
from heptox.mapping import Mapping, exchange, exchange_stored, load_mapping
from heptox.store import Store, evaluate, plan_query, query
from heptox.xml import XmlElement, parse_document, write_document

XSD = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:a="urn:a" targetNamespace="urn:a"
  elementFormDefault="qualified"><xs:element name="r"><xs:complexType><xs:sequence>
  <xs:element name="b" maxOccurs="unbounded"><xs:complexType><xs:sequence>
    <xs:element name="c" type="xs:string" minOccurs="0"/><xs:element name="d" type="xs:string" maxOccurs="unbounded"/>
  </xs:sequence><xs:attribute name="ref" type="xs:string"/></xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element></xs:schema>"""
INSTANCE = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
PREFIX = re.compile(r"(\w+):")


@pytest.fixture(scope="module")
def mapping(tmp_path_factory: pytest.TempPathFactory) -> Mapping:
    """One that copies all elements."""
    folder: Path = tmp_path_factory.mktemp("mapping")
    (folder / "a.xsd").write_text(XSD)
    (folder / "t.xsd").write_text(XSD.replace('name="r"', 'name="s"'))
    (folder / "m.arrows").write_text('source "a.xsd" root r\ntarget "t.xsd" root s\neach b -> b\nb => b\n')
    return load_mapping(folder / "m.arrows")


VALUES = st.sampled_from(["p:x", "q:x", "a:x", "1", "p:x q:y", "//p:x[q:y]", "http://p", "n:x", "é p:x", "a &lt; p:x"])
NAMESPACES = st.sampled_from(["urn:a", "urn:p", "urn:q", "urn:z"])


@st.composite
def tags(draw: st.DrawFn, name: str, content: str, *attributes: str) -> str:
    """An element that declares some prefixes, and the one of its name."""
    bound = draw(st.dictionaries(st.sampled_from(["p", "q"]), NAMESPACES, max_size=2))
    prefix = draw(st.sampled_from(["", "a", "p"]))
    bound |= {prefix: "urn:a"}
    declared = "".join(f' xmlns{":" if one else ""}{one}="{uri}"' for one, uri in bound.items())
    values = "".join(f' {attribute}="{draw(VALUES)}"' for attribute in attributes if draw(st.booleans()))
    start = f"{prefix}:{name}" if prefix else name
    return f"<{start}{declared}{values}>{content}</{start}>"


@st.composite
def documents(draw: st.DrawFn) -> str:
    def leaf(name: str) -> str:
        return draw(tags(name, draw(VALUES)))

    records = [
        draw(tags("b", leaf("c") * draw(st.booleans()) + leaf("d") * draw(st.integers(1, 2)), "ref"))
        for _ in range(draw(st.integers(1, 3)))
    ]
    return draw(tags("r", "<!--c-->" * draw(st.booleans()) + "".join(records)))


def means(element: XmlElement) -> list[object]:
    """What the values of an element and of all in it mean by each prefix, in the order of its elements."""
    return [
        sorted(
            {(prefix, each.nsmap.get(prefix)) for value in (*each.values(), each.text or "") for prefix in found(value)}
        )
        for each in element.iter("*")
    ]


def found(value: object) -> list[str]:
    return PREFIX.findall(str(value))


def bound_in(before: list[object], after: list[object]) -> bool:
    """Whether what is bound before is bound so after."""
    return all(
        {pair for pair in old if pair[1]} <= {*new}  # type: ignore[attr-defined, misc]
        for old, new in zip(before, after, strict=True)
    )


@settings(max_examples=20, deadline=None)
@given(texts=st.lists(documents(), min_size=1, max_size=2))
def test_prefixes_of_values_mean_what_they_meant(mapping: Mapping, texts: list[str]) -> None:
    roots = [etree.fromstring(text) for text in texts]
    with Store.open(None, mapping.source.graph) as store:
        for number, text in enumerate(texts):
            assert store.load(f"{number}", text.encode()).document.regular
        for name in ("r", "b", "c", "d"):
            wanted = [each for root in roots for each in root.iter(f"{{urn:a}}{name}")]
            for text in (f"//a:{name}", f"for $x in collection()//a:{name} return $x", f"//a:{name}[not(@none)]"):
                expression = parse_query(f"declare namespace a = 'urn:a'; {text}")
                at_rest = list(query(store, plan_query(expression, store.catalogue)))
                for items in (at_rest, list(evaluate(expression, map(parse_document, texts)))):
                    assert len(items) == len(wanted)
                    for item, element in zip(items, wanted, strict=True):
                        assert bound_in(means(element), means(etree.fromstring(item))), (item, text)


@settings(max_examples=20, deadline=None)
@given(documents())
def test_prefixes_of_values_that_are_copied_mean_what_they_meant(mapping: Mapping, text: str) -> None:
    wanted = means(etree.fromstring(text))[1:]
    image = write_document(exchange(mapping, parse_document(text)).root)
    with Store.open(None, mapping.source.graph) as store:
        store.load("d", text.encode())
        assert "".join(exchange_stored(mapping, store, "d")) == image
    assert bound_in(wanted, means(etree.fromstring(image))[1:]), image


def test_attributes_that_any_element_may_have_are_seen_by_who_asks_for_them(mapping: Mapping) -> None:
    leaf = '<d xsi:type="n:s" xmlns:n="urn:s">1</d>'
    text = f'<r xmlns="urn:a" {INSTANCE} xsi:schemaLocation="urn:a a.xsd"><b>{leaf}</b></r>'
    with Store.open(None, mapping.source.graph) as store:
        assert store.load("d", text.encode()).document.misfits == ()

        def found(asked: str) -> list[str]:
            expression = parse_query(f"declare namespace a = 'urn:a'; declare namespace {INSTANCE[6:]}; {asked}")
            return list(query(store, plan_query(expression, store.catalogue)))

        location, kind = (f"Q{{{INSTANCE[11:-1]}}}{name}" for name in ("schemaLocation", "type"))
        assert found("//@*") == [f'{location}="urn:a a.xsd"', f'{kind}="n:s"']
        assert found("//a:d/@xsi:type") == [f'{kind}="n:s"']
        assert found("data(//a:d)") == ['"1"']
        (leaf,) = found("//a:d")
        assert etree.canonicalize(leaf) == etree.canonicalize(
            f'<d xmlns="urn:a" {INSTANCE} xmlns:n="urn:s" xsi:type="n:s">1</d>'
        )
