"""Texts of schema graphs: round trips are in ``test_xsd_laws.py``; what others may have written is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import SchemaError
from heptox.schema import (
    Attribute,
    AttributeType,
    Cardinality,
    Child,
    Element,
    KeyConstraint,
    KeyReference,
    Particle,
    SchemaGraph,
    ValueType,
    parse_dtd,
    parse_graph,
    parse_schema,
    write_graph,
)
from heptox.xml import Prefixes

DTD = """<!ELEMENT a (b*, (c | d)?)> <!ELEMENT b (#PCDATA)> <!ELEMENT c EMPTY> <!ELEMENT d (a)>
<!ATTLIST b k ID #REQUIRED t (u | v) "u" n NMTOKENS #IMPLIED>"""
GRAPH = parse_dtd(DTD, "a")


NAMES = st.sampled_from(["a", "b", "{urn:x}a", "{urn:y}a", "{urn:y}été"])
TEXTS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=5)
CARDINALITIES = st.sampled_from(list(Cardinality))
VALUE_TYPES = st.sampled_from(list(ValueType))
PATHS = st.lists(
    st.lists(st.sampled_from(["a", "//{urn:x}a", "@{urn:y}a", "*", "{urn:x}*"]), max_size=2).map(tuple)
).map(tuple)


@st.composite
def graphs(draw: st.DrawFn) -> SchemaGraph:
    """Random graphs, with several types of one name."""
    names = draw(st.lists(st.tuples(NAMES, st.sampled_from(["", " of T", " of T 2"])), min_size=1, unique=True))
    keys = [name + more for name, more in names]
    elements = {}
    for (name, more), key in zip(names, keys, strict=True):
        below = draw(st.lists(st.sampled_from(names), max_size=3, unique_by=lambda one: one[0]))
        children = tuple(Child(one, draw(CARDINALITIES), one + rest if rest else "") for one, rest in below)
        parts = tuple(Particle("name", draw(CARDINALITIES), child.name) for child in children)
        content = Particle(draw(st.sampled_from(["sequence", "choice"])), draw(CARDINALITIES), members=parts)
        attributes = tuple(
            Attribute(
                one, draw(st.sampled_from(list(AttributeType))), draw(CARDINALITIES), draw(st.none() | TEXTS),
                tuple(draw(st.lists(TEXTS))), draw(st.booleans()), draw(VALUE_TYPES), draw(TEXTS),
            )
            for one in draw(st.lists(NAMES, unique=True, max_size=2))
        )  # fmt: skip
        elements[key] = Element(
            name, children, attributes, draw(st.booleans()), content if parts else None, key if more else "",
            draw(st.booleans()), draw(VALUE_TYPES), tuple(draw(st.lists(TEXTS))), draw(TEXTS),
        )  # fmt: skip
    constraints = [
        (draw(NAMES), draw(st.sampled_from(keys)), draw(PATHS), tuple(draw(st.lists(PATHS, max_size=2))))
        for _ in range(2)
    ]
    return SchemaGraph(
        draw(st.sampled_from(keys)), elements, None, None,
        Prefixes.of({"": "urn:x", "p": "urn:y"} if draw(st.booleans()) else {}),
        (KeyConstraint(*constraints[0], draw(st.booleans())),), (KeyReference(*constraints[1], draw(NAMES)),),
        tuple(draw(st.lists(st.sampled_from(keys), unique=True))),
    )  # fmt: skip


@given(graphs())
def test_every_part_of_a_graph_comes_back(graph: SchemaGraph) -> None:
    again = parse_graph(write_graph(graph))
    assert again == graph and (again.prefixes, again.roots) == (graph.prefixes, graph.roots)
    for key, element in graph.elements.items():
        found = again.elements[key]
        for name in ("content", "value_type", "values", "documentation"):
            assert getattr(found, name) == getattr(element, name)
        for one, other in zip(found.attributes, element.attributes, strict=True):
            assert (one.value_type, one.documentation) == (other.value_type, other.documentation)


def damaged(*path: Any, value: Any) -> str:
    """The text of a graph in which something else stands at a place."""
    whole = json.loads(write_graph(GRAPH))
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(whole)


def test_a_dtd_is_written_and_read() -> None:
    assert parse_graph(write_graph(GRAPH)) == GRAPH
    assert parse_graph(write_graph(GRAPH)).elements["a"].content == GRAPH.elements["a"].content


def test_a_text_is_a_dtd_or_a_graph() -> None:
    assert parse_schema(DTD, "a") == parse_schema(write_graph(GRAPH)) == GRAPH
    assert parse_schema(write_graph(GRAPH), "d").root == "d"
    with pytest.raises(SchemaError, match="HX2005 the root x is not declared"):
        parse_schema(write_graph(GRAPH), "x")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        "[" * 100_000,
        '{"version": ' + "1" * 10_000 + "}",
        damaged("version", value=2),
        damaged("root", value=":x"),
        damaged("root", value="5:a"),
        damaged("root", value="9" * 30 + ":a"),
        damaged("root", value=["a"]),
        damaged("elements", value={}),
        damaged("elements", 0, value=[]),
        damaged("elements", 0, "name", value=":a b"),
        damaged("elements", 0, "name", value="a"),
        damaged("elements", 0, "name", value=":b"),
        damaged("elements", 0, "text", value=1),
        damaged("elements", 0, "documentation", value="\ud800"),
        damaged("elements", 0, "documentation", value="x" * 200_000),
        damaged("elements", 0, "valueType", value="xs:string"),
        damaged("elements", 0, "children", value=[[":b", "2"]]),
        damaged("elements", 0, "children", value=[[":b", "1"], [":b", "1"]]),
        damaged("elements", 0, "children", value=[[":x", "1"]]),
        damaged("elements", 0, "content", value=["name", "1", ":x"]),
        damaged("elements", 0, "content", value=None),
        damaged("elements", 0, "content", value=["all", "1", ["name", "1", ":b"]]),
        damaged("elements", 0, "content", value=["sequence", "1"]),
        damaged("elements", 1, "attributes", 0, "type", value="XID"),
        damaged("elements", 1, "attributes", 1, "name", value=":k"),
        damaged("prefixes", value=[["a b", "urn:x"]]),
        damaged("prefixes", value=[["a", "x}y"]]),
        damaged("prefixes", value=[["xml", "urn:x"]]),
        damaged("prefixes", value=[["xmlns", "urn:x"]]),
        damaged("namespaces", value=["a b"]),
        damaged("roots", value=[":x"]),
        damaged("keys", value=[{"name": ":k", "element": ":a", "selectors": [["a/b"]], "fields": [[["@k"]]]}]),
        damaged("keys", value=[{"name": ":k", "element": ":a"}]),
        damaged("references", value=[{"name": ":k", "element": ":x", "selectors": [], "fields": [], "key": ":k"}]),
    ],
)
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="HX2034"):
        parse_graph(text, "peer")


def test_deep_content_models_are_refused() -> None:
    content: Any = ["name", "1", ":b"]
    for _ in range(200):
        content = ["sequence", "1", content]
    with pytest.raises(SchemaError, match="nested more than 100 deep"):
        parse_graph(damaged("elements", 0, "content", value=content))


@settings(max_examples=300)
@given(st.integers(0, 2000), st.text(max_size=4), st.integers(0, 10))
def test_a_damaged_text_is_a_graph_or_refused(place: int, instead: str, length: int) -> None:
    text = write_graph(GRAPH)
    place %= len(text)
    try:
        graph = parse_graph(text[:place] + instead + text[place + length :])
    except SchemaError:
        return
    assert parse_graph(write_graph(graph)) == graph
