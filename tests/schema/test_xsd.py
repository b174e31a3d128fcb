"""Schema graphs of XSDs: what each construct becomes, which files are read, and what is said of those that are not."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

import pytest

from heptox.bounded import WorkLimits
from heptox.errors import HeptoxError
from heptox.schema import (
    Cardinality,
    KeyConstraint,
    KeyReference,
    SchemaGraph,
    SchemaTree,
    ValueType,
    by_name,
    parse_graph,
    read_schema,
    read_schema_roots,
    write_graph,
)
from heptox.schema.reading import schema_files
from tests.support.shared import DATA, reads_shared

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
XSI = "{http://www.w3.org/2001/XMLSchema-instance}"


def xsd(path: Path, text: str, *, namespace: str = "urn:t") -> Path:
    """A file with a schema; ``t`` is the prefix of its namespace."""
    target = f' xmlns:t="{namespace}" targetNamespace="{namespace}" elementFormDefault="qualified"' if namespace else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<xs:schema {XS}{target}>\n{text}\n</xs:schema>", encoding="utf-8")
    return path


def local(path: Path, text: str, root: str | None = None) -> SchemaGraph:
    """The graph of a schema without a namespace."""
    return read_schema(xsd(path / "a.xsd", text, namespace=""), root)


def children(graph: SchemaGraph, key: str) -> list[str]:
    return [f"{child.name}{child.cardinality}" for child in graph.elements[key].children]


def attributes(graph: SchemaGraph, key: str) -> list[str]:
    return [f"{one.name}{one.cardinality}" for one in graph.elements[key].attributes]


def faults(path: Path, root: str | None = None) -> list[str]:
    with pytest.raises(HeptoxError) as caught:
        read_schema(path, root)
    return [str(fault) for fault in caught.value.faults]


# -- content -----------------------------------------------------------------------------------------------------------


def test_content_models_become_edges(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:sequence>
             <xs:element name="b" type="xs:int"/>
             <xs:element name="c" minOccurs="0" maxOccurs="5" type="xs:date"/>
             <xs:element name="d" minOccurs="2" maxOccurs="3" type="xs:string"/>
             <xs:choice><xs:element name="e" type="xs:string"/><xs:element name="f" type="xs:string"/></xs:choice>
             <xs:group ref="g"/>
             <xs:element name="none" minOccurs="0" maxOccurs="0" type="xs:string"/>
           </xs:sequence></xs:complexType></xs:element>
           <xs:group name="g"><xs:sequence><xs:element name="h" type="xs:anyURI"/></xs:sequence></xs:group>""",
    )
    assert graph.root == "a"
    assert children(graph, "a") == ["b1", "c*", "d+", "e?", "f?", "h1"]
    assert [graph.elements[name].value_type for name in "bch"] == [ValueType.INTEGER, ValueType.DATE, ValueType.URI]
    assert all(graph.elements[name].text_only for name in "bcdefh")


def test_a_child_that_every_branch_holds_keeps_one(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:choice>
             <xs:sequence><xs:element name="b" type="xs:string"/><xs:element name="c" type="xs:string"/></xs:sequence>
             <xs:sequence><xs:element name="d" type="xs:string"/><xs:element name="b" type="xs:string"/></xs:sequence>
           </xs:choice></xs:complexType></xs:element>""",
    )
    assert children(graph, "a") == ["b1", "c?", "d?"]


def test_a_choice_with_a_wildcard_needs_none_of_its_members(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:choice>
             <xs:element name="b" type="xs:string"/><xs:any namespace="urn:o"/>
           </xs:choice></xs:complexType></xs:element>""",
    )
    assert children(graph, "a") == ["b?"] and graph.elements["a"].open


def test_members_of_all_keep_what_they_say_and_come_in_any_order(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:all>
             <xs:element name="b" type="xs:string"/><xs:element name="c" type="xs:string" minOccurs="0"/>
           </xs:all></xs:complexType></xs:element>""",
    )
    assert children(graph, "a") == ["b1", "c?"]
    content = graph.elements["a"].content
    assert content is not None and content.kind == "choice" and len(content.members) == 2


def test_attributes_with_use_default_fixed_enumeration_and_groups(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType>
             <xs:attribute name="r" use="required" type="xs:ID"/>
             <xs:attribute name="o" type="xs:decimal"><xs:annotation><xs:documentation>How
               much.</xs:documentation></xs:annotation></xs:attribute>
             <xs:attribute name="d" default="x"/>
             <xs:attribute name="f" fixed="y"/>
             <xs:attributeGroup ref="g"/>
           </xs:complexType></xs:element>
           <xs:attributeGroup name="g"><xs:attribute name="e"><xs:simpleType><xs:restriction base="xs:token">
             <xs:enumeration value="u"/><xs:enumeration value="v"/>
           </xs:restriction></xs:simpleType></xs:attribute></xs:attributeGroup>""",
    )
    assert attributes(graph, "a") == ["r1", "o?", "d?", "f?", "e?"]
    required, optional, _, fixed, enumerated = graph.elements["a"].attributes
    assert (required.type, enumerated.type) == ("ID", "ENUMERATION")
    assert (optional.value_type, optional.documentation) == (ValueType.DECIMAL, "How much.")
    assert (fixed.default, fixed.values, enumerated.values) == (None, ("y",), ("u", "v"))


def test_simple_content_has_text_and_attributes(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="price"><xs:complexType><xs:simpleContent><xs:extension base="xs:decimal">
             <xs:attribute name="cur" type="xs:string"/></xs:extension></xs:simpleContent></xs:complexType>
           </xs:element>""",
    )
    price = graph.elements["price"]
    assert (price.text, price.text_only, price.value_type) == (True, False, ValueType.DECIMAL)
    assert SchemaTree(graph).children(()) == (("@cur",), ("text()",))


def test_lists_and_unions_and_enumerated_elements_are_text(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:sequence>
             <xs:element name="l"><xs:simpleType><xs:list itemType="xs:int"/></xs:simpleType></xs:element>
             <xs:element name="u"><xs:simpleType><xs:union memberTypes="xs:int xs:date"/></xs:simpleType></xs:element>
             <xs:element name="e"><xs:simpleType><xs:restriction base="xs:string">
               <xs:enumeration value="x"/><xs:enumeration value="y"/></xs:restriction></xs:simpleType></xs:element>
           </xs:sequence></xs:complexType></xs:element>""",
    )
    found = [graph.elements[name] for name in "lue"]
    assert [one.value_type for one in found] == [ValueType.LIST, ValueType.UNION, ValueType.STRING]
    assert found[2].values == ("x", "y")


def test_mixed_empty_and_any_content(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType mixed="true"><xs:sequence>
             <xs:element name="b"><xs:complexType/></xs:element><xs:element name="c"/>
           </xs:sequence><xs:anyAttribute/></xs:complexType></xs:element>""",
    )
    mixed, empty, anything = (graph.elements[name] for name in "abc")
    assert (mixed.mixed, mixed.open) == (True, True)
    assert (empty.text, empty.open, empty.children) == (False, False, ())
    assert (anything.text, anything.open) == (True, True)


def test_what_may_be_nil_may_be_empty(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a" nillable="true"><xs:complexType><xs:sequence>
             <xs:element name="b" type="xs:string"/></xs:sequence></xs:complexType></xs:element>""",
    )
    assert children(graph, "a") == ["b?"] and attributes(graph, "a") == [f"{XSI}nil?"]


# -- types -------------------------------------------------------------------------------------------------------------

DERIVED = """
  <xs:element name="a"><xs:complexType><xs:sequence><xs:element name="p" type="Base"/></xs:sequence></xs:complexType>
  </xs:element>
  <xs:complexType name="Base"><xs:sequence><xs:element name="b" type="xs:string"/></xs:sequence>
    <xs:attribute name="k" use="required"/></xs:complexType>
  <xs:complexType name="More"><xs:complexContent><xs:extension base="Base"><xs:sequence>
    <xs:element name="c" type="xs:string"/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>
"""


def test_an_element_has_what_holds_for_all_types_that_it_may_have(tmp_path: Path) -> None:
    graph = local(tmp_path, DERIVED)
    assert children(graph, "p") == ["b1", "c?"]
    assert attributes(graph, "p") == ["k1", f"{XSI}type?"]


def test_an_abstract_type_has_to_be_replaced(tmp_path: Path) -> None:
    graph = local(tmp_path, DERIVED.replace('name="Base"', 'name="Base" abstract="true"'))
    assert children(graph, "p") == ["b1", "c1"]
    assert attributes(graph, "p") == ["k1", f"{XSI}type1"]


@pytest.mark.parametrize("blocked", ["extension", "#all"])
def test_types_that_are_blocked_are_none(tmp_path: Path, blocked: str) -> None:
    graph = local(tmp_path, DERIVED.replace('type="Base"', f'type="Base" block="{blocked}"'))
    assert (children(graph, "p"), attributes(graph, "p")) == (["b1"], ["k1"])


def test_a_restriction_weakens_what_it_may_replace(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a" type="Base"/>
           <xs:complexType name="Base"><xs:sequence>
             <xs:element name="b" type="xs:string" minOccurs="0"/></xs:sequence></xs:complexType>
           <xs:complexType name="Less"><xs:complexContent><xs:restriction base="Base"><xs:sequence>
             <xs:element name="b" type="xs:string"/></xs:sequence></xs:restriction></xs:complexContent>
           </xs:complexType>""",
    )
    assert children(graph, "a") == ["b?"]


def test_a_substitution_group_is_a_choice_of_its_members(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:sequence>
             <xs:element ref="h"/><xs:element ref="i" maxOccurs="unbounded"/>
           </xs:sequence></xs:complexType></xs:element>
           <xs:element name="h" type="xs:string"/><xs:element name="h1" type="xs:string" substitutionGroup="h"/>
           <xs:element name="h2" type="xs:string" substitutionGroup="h1"/>
           <xs:element name="i" type="xs:string" abstract="true"/>
           <xs:element name="i1" type="xs:string" substitutionGroup="i"/>""",
        "a",
    )
    assert children(graph, "a") == ["h?", "h1?", "h2?", "i1+"]


SEVERAL = """
  <xs:element name="a"><xs:complexType><xs:sequence>
    <xs:element name="b" type="B"/><xs:element name="n" type="xs:string"/><xs:element name="o" type="O"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:complexType name="B"><xs:sequence><xs:element name="n" type="xs:string"/></xs:sequence></xs:complexType>
  <xs:complexType name="O"><xs:sequence><xs:element name="n" type="xs:int"/></xs:sequence></xs:complexType>
"""


def test_declarations_of_one_name_and_type_share_an_element_type_and_others_do_not(tmp_path: Path) -> None:
    graph = local(tmp_path, SEVERAL)
    types = {key: [child.key for child in graph.elements[key].children if child.name == "n"] for key in "abo"}
    assert types == {"a": ["n of a"], "b": ["n of a"], "o": ["n of O"]}
    assert graph.elements["n of O"].value_type is ValueType.INTEGER
    assert SchemaTree(graph).element(("o", "n")).key == "n of O"
    merged = by_name(graph)
    assert merged.elements["n"].value_type is ValueType.STRING and merged.roots == ("a",)


def test_a_global_element_is_called_by_its_name(tmp_path: Path) -> None:
    local(tmp_path, SEVERAL + '<xs:element name="n" type="xs:date"/>', "a")
    graph = read_schema_roots(tmp_path / "a.xsd")["n"]
    assert list(graph.elements) == ["n"]
    assert graph.elements["n"].value_type is ValueType.DATE
    assert {"n of a", "n of O"} <= read_schema(tmp_path / "a.xsd", "a").elements.keys()


def test_identity_constraints_are_keys_and_references(tmp_path: Path) -> None:
    graph = read_schema(
        xsd(
            tmp_path / "a.xsd",
            """<xs:element name="a"><xs:complexType><xs:sequence>
                 <xs:element name="b" maxOccurs="unbounded"><xs:complexType><xs:attribute name="k"/></xs:complexType>
                 </xs:element>
                 <xs:element name="c"><xs:complexType><xs:sequence><xs:element name="r" type="xs:string"/></xs:sequence>
                 </xs:complexType></xs:element>
               </xs:sequence></xs:complexType>
                 <xs:key name="key"><xs:selector xpath="t:b | .//t:none"/><xs:field xpath="@k"/></xs:key>
                 <xs:unique name="one"><xs:selector xpath="./t:c"/><xs:field xpath="t:r"/></xs:unique>
                 <xs:keyref name="ref" refer="t:key"><xs:selector xpath="t:c/t:r"/><xs:field xpath="."/></xs:keyref>
               </xs:element>""",
        )
    )
    paths = (("{urn:t}b",), ("//{urn:t}none",))
    assert graph.keys == (
        KeyConstraint("{urn:t}key", "{urn:t}a", paths, ((("@k",),),)),
        KeyConstraint("{urn:t}one", "{urn:t}a", (("{urn:t}c",),), ((("{urn:t}r",),),), required=False),
    )
    reference = KeyReference("{urn:t}ref", "{urn:t}a", (("{urn:t}c", "{urn:t}r"),), (((),),), "{urn:t}key")
    assert graph.references == (reference,)
    assert parse_graph(write_graph(graph)) == graph


def test_a_type_that_is_redefined_is_the_new_one(tmp_path: Path) -> None:
    xsd(
        tmp_path / "b.xsd",
        """<xs:complexType name="Base"><xs:sequence>
             <xs:element name="b" type="xs:string"/></xs:sequence></xs:complexType>
           <xs:complexType name="T"><xs:complexContent>
             <xs:extension base="t:Base"/></xs:complexContent></xs:complexType>""",
    )
    text = """<xs:redefine schemaLocation="b.xsd"><xs:complexType name="T"><xs:complexContent><xs:extension base="t:T">
      <xs:sequence><xs:element name="c" type="xs:string"/></xs:sequence></xs:extension></xs:complexContent>
      </xs:complexType></xs:redefine><xs:element name="a"><xs:complexType><xs:sequence>
      <xs:element name="x" type="t:T"/><xs:element name="y" type="t:Base"/>
      </xs:sequence></xs:complexType></xs:element>"""
    graph = read_schema(xsd(tmp_path / "a.xsd", text))
    assert children(graph, "{urn:t}x") == ["{urn:t}b1", "{urn:t}c1"]
    assert children(graph, "{urn:t}y") == ["{urn:t}b1", "{urn:t}c?"]


def test_open_content_of_xsd_1_1_is_open(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:defaultOpenContent><xs:any/></xs:defaultOpenContent><xs:element name="a"><xs:complexType><xs:sequence>
             <xs:element name="b" type="xs:int"/></xs:sequence></xs:complexType></xs:element>""",
    )
    assert graph.elements["a"].open and not graph.elements["b"].open


@pytest.mark.parametrize(("least", "found"), [("1.1", ["b1"]), ("1.0", ["b1"]), ("1.2", [])])
def test_parts_for_other_versions_are_left_out(tmp_path: Path, least: str, found: list[str]) -> None:
    graph = local(
        tmp_path,
        f"""<xs:element name="a" xmlns:vc="http://www.w3.org/2007/XMLSchema-versioning"><xs:complexType><xs:sequence>
              <xs:element name="b" type="xs:int" vc:minVersion="{least}"/>
              <xs:element name="c" type="xs:int" vc:maxVersion="1.0"/></xs:sequence></xs:complexType></xs:element>""",
    )
    assert children(graph, "a") == found


def test_xsd_1_1_is_read_as_such(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:element name="a"><xs:complexType><xs:all><xs:element name="b" type="xs:int" maxOccurs="2"/>
             <xs:element name="c" type="xs:int"/></xs:all><xs:assert test="b le c"/></xs:complexType></xs:element>
           <xs:element name="d" type="D"><xs:alternative test="@x" type="E"/></xs:element>
           <xs:complexType name="D"><xs:attribute name="x"/></xs:complexType>
           <xs:complexType name="E"><xs:complexContent><xs:extension base="D"><xs:attribute name="y" use="required"/>
           </xs:extension></xs:complexContent></xs:complexType>""",
        "a",
    )
    assert children(graph, "a") == ["b+", "c1"]
    graph = read_schema_roots(tmp_path / "a.xsd")["d"]
    assert attributes(graph, "d") == ["x?", "y?", f"{XSI}type?"]


# -- prefixes and roots ------------------------------------------------------------------------------------------------


def test_prefixes_are_those_of_all_files_and_the_target_namespace_is_the_default(tmp_path: Path) -> None:
    xsd(tmp_path / "o.xsd", '<xs:element name="o" type="xs:string"/>', namespace="urn:o")
    path = xsd(
        tmp_path / "a.xsd",
        """<xs:import namespace="urn:o" schemaLocation="o.xsd"/><xs:element name="a"><xs:complexType><xs:sequence>
           <xs:element xmlns:p="urn:o" ref="p:o"/></xs:sequence></xs:complexType></xs:element>""",
    )
    path.write_text(
        path.read_text(encoding="utf-8").replace("xmlns:t=", 'xmlns:other="urn:o" xmlns:t='), encoding="utf-8"
    )
    graph = read_schema(path)
    assert [graph.prefixes.step(name) for name in ("{urn:t}a", "{urn:o}o", f"@{XSI}nil")] == [
        "a",
        "other:o",
        "@xsi:nil",
    ]


def test_local_elements_without_a_namespace_take_the_default_away(tmp_path: Path) -> None:
    path = xsd(
        tmp_path / "a.xsd",
        """<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="b" form="unqualified" type="xs:string"/>
           </xs:sequence></xs:complexType></xs:element>""",
    )
    graph = read_schema(path)
    assert [graph.prefixes.step(name) for name in ("{urn:t}a", "b")] == ["t:a", "b"]


ROOTS = """<xs:element name="a" type="xs:string"/><xs:element name="b"><xs:complexType><xs:sequence>
  <xs:element ref="t:c"/></xs:sequence></xs:complexType></xs:element><xs:element name="c" type="xs:string"/>"""


@pytest.mark.parametrize("root", ["c", "t:c", "{urn:t}c"])
def test_the_root_is_named_in_any_way(tmp_path: Path, root: str) -> None:
    assert read_schema(xsd(tmp_path / "a.xsd", ROOTS), root).root == "{urn:t}c"


def test_several_roots_are_listed_and_unknown_ones_refused(tmp_path: Path) -> None:
    path = xsd(tmp_path / "a.xsd", ROOTS)
    assert faults(path) == [f"{path}: HX2005 several elements may be the root (name the root: a, b)"]
    assert faults(path, "t:d")[0].startswith(f"{path}: HX2005 the root t:d is not declared (such as ")
    nothing = xsd(tmp_path / "b.xsd", '<xs:simpleType name="s"><xs:restriction base="xs:string"/></xs:simpleType>')
    assert "no element is declared globally" in faults(nothing)[0]


# -- files -------------------------------------------------------------------------------------------------------------

ELEMENT = '<xs:element name="a" type="xs:string"/>'


def test_files_up_to_five_folders_above_are_read(tmp_path: Path) -> None:
    xsd(tmp_path / "one/common/c.xsd", ELEMENT)
    assert read_schema(
        xsd(tmp_path / "one/v/w/x/y/z/a.xsd", f'<xs:include schemaLocation="{5 * "../"}common/c.xsd"/>')
    ).root


@pytest.mark.parametrize(
    ("location", "said"),
    [
        (6 * "../" + "c.xsd", "../c.xsd leads too far out of the schema's folder (what lies below"),
        ("../c.txt", "c.txt is outside the folder of a.xsd, and is not called .xsd"),
        ("/etc/passwd", "is to be read from /etc/passwd, which is not here (looked for passwd beside a.xsd;"),
        ("file:///etc/passwd", "looked for passwd beside a.xsd; nothing is fetched"),
        ("http://example.org/x/none.xsd", "looked for none.xsd beside a.xsd; nothing is fetched: save the file there"),
        ("link.xsd", "link.xsd is a link that leads out of the schema's folder"),
        ("none.xsd", "which is not here (looked for none.xsd beside a.xsd"),
        ("%00", "a location holds a character that no file has"),
        ("x" * 1000, "which is not here"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, location: str, said: str) -> None:
    folder = tmp_path / "1/2/3/4/5/6/7"
    xsd(tmp_path / "1/c.xsd", ELEMENT)
    path = xsd(folder / "a.xsd", f'<xs:include schemaLocation="{location}"/>' + ELEMENT)
    (folder.parent / "c.txt").write_text("x", encoding="utf-8")
    (folder / "link.xsd").symlink_to("/etc/passwd")
    found = faults(path)
    assert len(found) == 1 and found[0].startswith(f"{path}:2:1: HX2031 ") and said in found[0]


def test_entities_that_are_elsewhere_are_left_out_where_nothing_needs_them(tmp_path: Path) -> None:
    path = tmp_path / "a.xsd"
    doctype = (
        """<!DOCTYPE xs:schema [<!ENTITY % latin PUBLIC "-//x//ENTITIES" "latin.ent"> %latin;<!ENTITY one "1">]>"""
    )
    text = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">' + ELEMENT + "</xs:schema>"
    path.write_text(doctype + text)
    assert read_schema(path).root == "a"
    path.write_text(doctype + text.replace('name="a"', 'name="a&eacute;"'))
    assert "HX1005" in faults(path)[0]


def test_the_file_of_an_address_is_read_beside_the_schema(tmp_path: Path) -> None:
    xsd(tmp_path / "o.xsd", '<xs:element name="o" type="xs:string"/>', namespace="urn:o")
    text = '<xs:import namespace="urn:o" schemaLocation="http://example.org/some/o.xsd"/>' + ELEMENT
    assert "{urn:o}o" in read_schema_roots(xsd(tmp_path / "a.xsd", text))


def test_the_namespace_of_xml_lang_is_known_without_a_file(tmp_path: Path) -> None:
    graph = local(
        tmp_path,
        """<xs:import namespace="http://www.w3.org/XML/1998/namespace" schemaLocation="http://www.w3.org/2001/xml.xsd"/>
           <xs:element name="a"><xs:complexType><xs:attribute ref="xml:lang"/></xs:complexType></xs:element>""",
    )
    assert attributes(graph, "a") == ["{http://www.w3.org/XML/1998/namespace}lang?"]


def test_two_schemas_of_one_namespace_are_told_apart(tmp_path: Path) -> None:
    xsd(tmp_path / "o1.xsd", '<xs:element name="o" type="xs:string"/>', namespace="urn:o")
    other = xsd(tmp_path / "o2.xsd", '<xs:element name="o" type="xs:int"/>', namespace="urn:o")
    text = "".join(f'<xs:import namespace="urn:o" schemaLocation="{name}.xsd"/>\n' for name in ("o1", "o2"))
    found = faults(xsd(tmp_path / "a.xsd", text + ELEMENT))
    assert found[0].startswith(
        f"{other}:2:1: HX2032 o is declared in {tmp_path / 'o1.xsd'} as well (the namespace urn:o"
    )


def test_copies_of_a_file_are_one(tmp_path: Path) -> None:
    for name in ("o1", "o2"):
        xsd(tmp_path / f"{name}.xsd", '<xs:element name="o" type="xs:string"/>', namespace="urn:o")
    text = "".join(f'<xs:import namespace="urn:o" schemaLocation="{name}.xsd"/>\n' for name in ("o1", "o2"))
    assert read_schema(xsd(tmp_path / "a.xsd", text + ELEMENT)).root == "{urn:t}a"


def test_the_files_of_a_schema_are_bounded(tmp_path: Path) -> None:
    for name, more in (("b", "c"), ("c", "d"), ("d", "a")):
        xsd(tmp_path / f"{name}.xsd", f'<xs:include schemaLocation="{more}.xsd"/>')
    path = xsd(tmp_path / "a.xsd", '<xs:include schemaLocation="b.xsd"/>' + ELEMENT)
    assert read_schema(path).root == "{urn:t}a"
    more = re.escape(f"{tmp_path / 'd.xsd'}: HX2033 the schema has more than 3 files")
    with mock.patch("heptox.schema.xsd_files.MOST_FILES", 3), pytest.raises(HeptoxError, match=more):
        schema_files(path)
    size, more = path.stat().st_size + 9, "HX2033 the files of the schema have more than"
    with mock.patch("heptox.schema.xsd_files.MOST_BYTES", size), pytest.raises(HeptoxError, match=more):
        schema_files(path)


TWICE = '<xs:attributeGroup ref="t:g{0}"/>' * 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "".join(f'<xs:attributeGroup name="g{i}">{TWICE.format(i + 1)}</xs:attributeGroup>' for i in range(24))
            + '<xs:attributeGroup name="g24"><xs:attribute name="b"/></xs:attributeGroup>'
            + '<xs:element name="a"><xs:complexType><xs:attributeGroup ref="t:g0"/></xs:complexType></xs:element>',
            id="groups that name the next twice",
        ),
        pytest.param(
            '<xs:complexType name="t0"/>'
            + "".join(f'<xs:complexType name="t{i}"><xs:complexContent><xs:extension base="t:t{i - 1}"/>'
                      "</xs:complexContent></xs:complexType>" for i in range(1, 1000))
            + '<xs:element name="a" type="t:t999"/>',
            id="a chain of extensions",
        ),
    ],
)  # fmt: skip
def test_what_takes_too_much_to_read_is_refused(tmp_path: Path, text: str) -> None:
    limits = WorkLimits(2, 60.0, 2**28, 2**20)
    with mock.patch("heptox.schema.reading.READING", limits):
        (fault,) = faults(xsd(tmp_path / "a.xsd", text))
    assert "a.xsd: HX2035 to read the schema takes more than 2 s of the processor or 0.25 GB of memory, or" in fault


def test_the_schema_of_xml_schema_is_refused(tmp_path: Path) -> None:
    path = xsd(tmp_path / "a.xsd", ELEMENT, namespace="http://www.w3.org/2001/XMLSchema")
    assert faults(path)[0].startswith(f"{path}:1:1: HX2030 this is the schema of XML Schema itself")


def test_files_may_include_each_other(tmp_path: Path) -> None:
    xsd(tmp_path / "b.xsd", '<xs:include schemaLocation="a.xsd"/><xs:element name="b" type="t:T"/>')
    text = """<xs:include schemaLocation="b.xsd"/><xs:complexType name="T"><xs:sequence minOccurs="0">
              <xs:element ref="t:b"/></xs:sequence></xs:complexType>"""
    graph = read_schema(xsd(tmp_path / "a.xsd", text))
    assert (graph.root, children(graph, graph.root)) == ("{urn:t}b", ["{urn:t}b?"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '<xs:element name="a" type="q:x"/>',
            "2:1: HX2030 prefix 'q' not found in namespace map (declare it: xmlns:q)",
        ),
        (
            '<xs:element name="a" type="t:persom"/><xs:complexType name="person"/>',
            "2:1: HX2030 unknown type 't:persom' (did you mean person?)",
        ),
        ('<xs:elemant name="a"/>', "1:1: HX2030 Unexpected child with tag 'xs:elemant' at position 1"),
        (
            '<xs:group name="g"><xs:sequence><xs:group ref="t:g"/></xs:sequence></xs:group>',
            "2:1: HX2030 Circular definition detected for group '{urn:t}g'",
        ),
        ('<xs:element name="a">', "3:13: HX1002 Opening and ending tag mismatch: element line 2 and schema"),
        (
            '<xs:import namespace="urn:z" schemaLocation="o.xsd"/>',
            "2:1: HX2030 o.xsd has the namespace urn:o, not the namespace urn:z (import the namespace urn:o from it)",
        ),
    ],
)
def test_a_wrong_schema_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    xsd(tmp_path / "o.xsd", "", namespace="urn:o")
    path = xsd(tmp_path / "a.xsd", text)
    assert f"{path}:{said}" in faults(path)


def test_entities_are_bounded_and_files_by_entities_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xsd"
    names = "bcdefgh"
    grown = "".join(f'<!ENTITY {name} "{f"&{chr(ord(name) - 1)};" * 30}">' for name in names)
    path.write_text(f'<!DOCTYPE s [<!ENTITY a "{"x" * 99}">{grown}]><xs:schema {XS} id="&h;"/>', encoding="utf-8")
    assert "HX1006" in faults(path)[0]
    path.write_text(f'<!DOCTYPE s [<!ENTITY a SYSTEM "/etc/passwd">]><xs:schema {XS} id="&a;"/>', encoding="utf-8")
    assert "HX1004" in faults(path)[0]


# -- schemas of others -------------------------------------------------------------------------------------------------

MARC = "{http://www.loc.gov/MARC21/slim}"


@reads_shared
def test_marc_has_records_with_fields() -> None:
    graph = read_schema(DATA / "library/xsd/MARC21slim.xsd")
    assert (graph.root, children(graph, f"{MARC}collection")) == (f"{MARC}collection", [f"{MARC}record*"])
    assert children(graph, f"{MARC}record") == [f"{MARC}{name}" for name in ("leader?", "controlfield*", "datafield*")]
    assert children(graph, f"{MARC}datafield") == [f"{MARC}subfield+"]


@reads_shared
def test_mods_and_dublin_core_are_read_with_what_they_import() -> None:
    mods = read_schema(DATA / "library/xsd/mods-3-7.xsd")
    assert mods.prefixes.step(mods.root) == "modsCollection"
    dublin = read_schema(DATA / "library/xsd/oai_dc.xsd")
    assert len(dublin.elements[dublin.root].children) == 15


@reads_shared
def test_local_types_of_cii_are_told_apart() -> None:
    graph = read_schema(DATA / "invoices/cii/data/standard/CrossIndustryInvoice_100pD16B.xsd")
    names = [element.name for element in graph.elements.values()]
    several = {name for name in names if names.count(name) > 1}
    assert several and all(
        key == element.name or key.startswith(f"{element.name} of ") for key, element in graph.elements.items()
    )
    assert len(graph.elements) < 1000


@reads_shared
def test_recursive_ubl_is_a_graph_that_is_unfolded_on_demand() -> None:
    graph = read_schema(DATA / "invoices/ubl/maindoc/UBL-Invoice-2.1.xsd")
    tree = SchemaTree(graph)
    assert len(graph.elements) > 800 and graph.prefixes.step(graph.root) == "Invoice"
    line = next(path for path in tree.children(()) if path[0].endswith("}InvoiceLine"))
    assert tree.edge(line) is Cardinality.SOME and tree.is_recursive(line)
