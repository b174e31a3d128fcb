"""What a schema graph says of an XSD holds for the documents that are valid for it, and xmlschema judges which are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import xmlschema
from hypothesis import HealthCheck, given, settings, strategies as st
from lxml import etree

from heptox.errors import HeptoxError
from heptox.schema import (
    Element,
    SchemaGraph,
    document_checker,
    parse_graph,
    random_document,
    read_schema,
    validity_faults,
    write_graph,
)
from heptox.xml import XSI_NAMESPACE, XmlElement, parse_document
from tests.support.random_schemas import RandomSchema

SEEDS = st.integers(0, 2**32)


def is_schema(text: str, *, newer: bool = False) -> bool:
    """Whether the judge takes an XSD: a random one may have two wildcards between which it cannot decide."""
    try:
        (xmlschema.XMLSchema11 if newer else xmlschema.XMLSchema10)(text)
    except xmlschema.XMLSchemaException:
        return False
    return True


def is_taken_by_libxml(text: str) -> bool:
    """Whether libxml2 takes an XSD, which misses some of what is wrong with one."""
    try:
        etree.XMLSchema(etree.fromstring(text))
    except etree.LxmlError:
        return False
    return True


def breaches(graph: SchemaGraph, element: XmlElement, type_: Element) -> list[str]:
    """What of an element, which has the given element type, the graph says otherwise."""
    known = {attribute.name: attribute for attribute in type_.attributes}
    unknown = [str(name) for name in element.attrib if name not in known and not type_.open]
    found = [f"{element.tag}: {name} has no edge" for name in unknown]
    for name, attribute in known.items():
        if attribute.cardinality.required and attribute.default is None and name not in element.attrib:
            found.append(f"{element.tag} lacks {name}")
    texts = [element.text, *(child.tail for child in element)]
    if any(text and text.strip() for text in texts) and not type_.text and not type_.open:
        found.append(f"{element.tag} holds text")
    children = {child.name: child for child in type_.children}
    counts = Counter(str(child.tag) for child in element)
    for name, child in children.items():
        if counts[name] > 1 and not child.cardinality.repeats:
            found.append(f"{element.tag}: {name} stands {counts[name]} times")
        if not counts[name] and child.cardinality.required:
            found.append(f"{element.tag}: {name} is missing")
    for one in element:
        edge = children.get(str(one.tag))
        if edge is not None:
            found += breaches(graph, one, graph.elements[edge.key])
        elif not type_.open:
            found.append(f"{element.tag}: {one.tag} has no edge")
    return found


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_every_valid_document_keeps_to_the_graph(seed: int, tmp_path: Path) -> None:
    schema = RandomSchema(Random(seed))
    if not is_schema(schema.text()):
        return
    path = tmp_path / "schema.xsd"
    path.write_text(schema.text(), encoding="utf-8")
    graph = read_schema(path, "root")
    judge = xmlschema.XMLSchema10(schema.text())
    checker = document_checker(path)
    for number in range(4):
        text = schema.document(Random(number))
        if text is None:
            continue
        assert [error.reason for error in judge.iter_errors(text)] == []
        document = parse_document(text)
        assert breaches(graph, document.root, graph.elements[graph.root]) == []
        assert validity_faults(document, graph) == ()
        (tmp_path / "document.xml").write_text(text, encoding="utf-8")
        assert checker.check(tmp_path / "document.xml").faults == ()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_random_documents_of_a_graph_are_valid_for_its_xsd(seed: int, tmp_path: Path) -> None:
    """Where the XSD has nothing that a graph weakens."""
    schema = RandomSchema(Random(seed), plain=True)
    path = tmp_path / "schema.xsd"
    path.write_text(schema.text(), encoding="utf-8")
    graph = read_schema(path, "root")
    judge = xmlschema.XMLSchema10(schema.text())
    for number in range(3):
        text = random_document(graph, Random(number), elements=40)
        assert [(error.reason, text) for error in judge.iter_errors(text)] == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_the_text_of_a_graph_is_read_as_the_same_graph(seed: int, tmp_path: Path) -> None:
    schema = RandomSchema(Random(seed))
    if not is_schema(schema.text()):
        return
    (tmp_path / "schema.xsd").write_text(schema.text(), encoding="utf-8")
    graph = read_schema(tmp_path / "schema.xsd", "root")
    again = parse_graph(write_graph(graph))
    assert again == graph
    assert write_graph(again) == write_graph(graph) == graph.text
    for key, element in graph.elements.items():
        other = again.elements[key]
        assert (other.content, other.value_type, other.values) == (element.content, element.value_type, element.values)
    assert (again.prefixes, again.roots) == (graph.prefixes, graph.roots)
    assert replace(again, text=graph.text, file=graph.file) == graph
    assert not any(XSI_NAMESPACE in child.name for element in again.elements.values() for child in element.children)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=SEEDS)
def test_a_damaged_schema_is_read_or_refused(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    text = RandomSchema(random).text()
    parts = re.findall(r"<[^>]*>|[^<]+", text)
    place = random.randrange(1, len(parts) - 1)
    damage = random.choice(["drop", "double", "value"])
    if damage == "value":
        values = re.findall(r'"[^"]*"', text)
        parts[place] = re.sub(r'"[^"]*"', lambda _: random.choice(values), parts[place], count=1)
    else:
        parts[place : place + 1] = [] if damage == "drop" else [parts[place]] * 2
    path = tmp_path / "schema.xsd"
    path.write_text("".join(parts), encoding="utf-8")
    try:
        graph = read_schema(path, "root")
    except HeptoxError as error:
        assert all(fault.file or fault.position for fault in error.faults)
    else:
        damaged = "".join(parts)
        assert is_schema(damaged) or is_schema(damaged, newer=True) or is_taken_by_libxml(damaged)
        assert graph.roots
