"""Names in DTDs as expanded names: what ``xmlns`` attributes bind, and what they leave open."""

from __future__ import annotations

import pytest

from heptox.errors import SchemaError
from heptox.schema import parse_dtd, parse_dtd_roots
from heptox.xml import XML_NAMESPACE, Prefixes


@pytest.mark.parametrize(
    ("dtd", "names", "bound"),
    [
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY>", "a b", {}),
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY> <!ATTLIST a xmlns CDATA #FIXED 'u'>", "{u}a {u}b", {"": "u"}),
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY> <!ATTLIST a xmlns CDATA 'u'>", "{u}a {u}b", {"": "u"}),
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY> <!ATTLIST a xmlns CDATA #IMPLIED>", "a b", {}),
        ("<!ELEMENT a (b)> <!ELEMENT b EMPTY> <!ATTLIST b xmlns CDATA #FIXED 'u'>", "a {u}b", {}),
        (
            "<!ELEMENT a (b)> <!ELEMENT b (c)> <!ELEMENT c (b?)>"
            "<!ATTLIST a xmlns CDATA 'u'> <!ATTLIST b xmlns CDATA 'v'>",
            "{u}a {v}b {v}c",
            {"": "u"},
        ),
        (
            "<!ELEMENT a (b)> <!ELEMENT b EMPTY> <!ATTLIST a xmlns CDATA 'u'> <!ATTLIST b xmlns CDATA ''>",
            "{u}a b",
            {"": "u"},
        ),
        ("<!ELEMENT p:a (b)> <!ELEMENT b EMPTY> <!ATTLIST p:a xmlns:p CDATA #FIXED 'u'>", "{u}a b", {"p": "u"}),
        (
            "<!ELEMENT p:a (p:b)> <!ELEMENT p:b EMPTY> <!ATTLIST p:b xmlns:p CDATA #FIXED 'v'>"
            "<!ATTLIST p:a xmlns:p CDATA #FIXED 'u'>",
            "{u}a {v}b",
            {"p": "u"},
        ),
    ],
)
def test_names_of_elements(dtd: str, names: str, bound: dict[str, str]) -> None:
    graph = parse_dtd(dtd)
    assert " ".join(graph.elements) == names
    assert graph.root == names.split()[0]
    assert graph.prefixes == Prefixes.of(bound)
    assert not any(element.attributes for element in graph.elements.values())
    for root in {graph.root, dtd.split()[1]}:
        assert parse_dtd(dtd, root) == graph
    assert parse_dtd_roots(dtd) == {graph.root: graph}


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("xsi:type CDATA #IMPLIED xmlns:xsi CDATA #IMPLIED", "{http://www.w3.org/2001/XMLSchema-instance}type"),
        ("xlink:href CDATA #IMPLIED xmlns:xlink CDATA #IMPLIED", "{http://www.w3.org/1999/xlink}href"),
        ("xsi:type CDATA #IMPLIED", None),
        ("p:b CDATA #IMPLIED", None),
    ],
)
def test_documents_may_bind_what_is_well_known_and_nothing_that_is_not_declared(declared: str, name: str) -> None:
    graph = parse_dtd(f"<!ELEMENT a EMPTY> <!ATTLIST a {declared}>")
    assert [each.name for each in graph.elements["a"].attributes] == ([name] if name else [])
    assert [remark.code for remark in graph.remarks] == ([] if name else ["HX2006"])


def test_roots_are_those_whose_names_are_known() -> None:
    """As in SVG, where parts are in the namespace that the whole has."""
    dtd = "<!ELEMENT svg (g*)> <!ELEMENT g (svg | g)*> <!ATTLIST svg xmlns CDATA #FIXED 'u'>"
    assert list(parse_dtd_roots(dtd)) == ["{u}svg"]
    with pytest.raises(SchemaError) as caught:
        parse_dtd(dtd, "g")
    assert "g may stand where elements are in no namespace, and in namespace u" in str(caught.value)


def test_names_of_attributes() -> None:
    graph = parse_dtd(
        """<!ELEMENT a EMPTY> <!ATTLIST a xmlns CDATA #FIXED 'u' xmlns:p CDATA #FIXED 'v' p:b ID #REQUIRED b CDATA 'x'
        xml:lang NMTOKEN #IMPLIED xml:space (default | preserve) 'default' xml:base CDATA #IMPLIED>"""
    )
    names = [each.name for each in graph.elements["{u}a"].attributes]
    assert names == ["{v}b", "b", *(f"{{{XML_NAMESPACE}}}{local}" for local in ("lang", "space", "base"))]


@pytest.mark.parametrize(
    ("dtd", "message", "hint"),
    [
        (
            "<!ELEMENT p:a EMPTY>",
            "the prefix p of the element name p:a is not bound to a namespace",
            'declare what it stands for: <!ATTLIST p:a xmlns:p CDATA #FIXED "...">',
        ),
        (
            "<!ELEMENT a EMPTY> <!ATTLIST a p:b CDATA #IMPLIED xmlns:p CDATA #IMPLIED>",
            "the prefix p of the attribute name p:b of a is not bound to a namespace",
            'declare what it stands for: <!ATTLIST a xmlns:p CDATA #FIXED "...">',
        ),
        (
            "<!ELEMENT a (b, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY> <!ATTLIST a p:x CDATA #IMPLIED>"
            "<!ATTLIST b xmlns:p CDATA 'u'> <!ATTLIST c xmlns:p CDATA 'v'>",
            "the prefix p of the attribute name p:x of a is bound to several namespaces: u, v",
            'declare what it stands for: <!ATTLIST a xmlns:p CDATA #FIXED "...">',
        ),
        (
            "<!ELEMENT a (b, c)> <!ELEMENT b (c)> <!ELEMENT c EMPTY> <!ATTLIST b xmlns CDATA 'u'>",
            "c may stand where elements are in no namespace, and in namespace u",
            'declare it: <!ATTLIST c xmlns CDATA #FIXED "...">',
        ),
        (
            "<!ELEMENT a (p:a?)> <!ELEMENT p:a EMPTY> <!ATTLIST a xmlns CDATA 'u' xmlns:p CDATA 'u'>",
            "the element names a and p:a mean the same",
            "declare one of them",
        ),
        (
            "<!ELEMENT a EMPTY> <!ATTLIST a xmlns:p CDATA 'u' xmlns:q CDATA 'u' p:b CDATA '' q:b CDATA ''>",
            "the attribute names p:b and q:b of a mean the same",
            "declare one of them",
        ),
    ],
)
def test_names_that_mean_nothing_are_told(dtd: str, message: str, hint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_dtd(dtd)
    (fault,) = caught.value.faults
    assert (fault.code, fault.message, fault.hint) == ("HX2006", message, hint)
    assert fault.position is not None


def test_each_root_has_its_names() -> None:
    found = parse_dtd_roots(
        "<!ELEMENT a (c)> <!ELEMENT b (d)> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY> <!ATTLIST b xmlns CDATA 'u'>"
    )
    assert set(found) == {"a", "{u}b"}
    assert all(set(graph.elements) == {"a", "{u}b", "c", "{u}d"} for graph in found.values())
    assert found["{u}b"].prefixes.namespaces[""] == "u" and "" not in found["a"].prefixes.namespaces
