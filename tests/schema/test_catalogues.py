"""XSDs of which a catalogue names the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.errors import SchemaError
from heptox.schema import copy_schema, document_checker, read_schema
from heptox.schema.reading import schema_files

MAIN = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:p="urn:p" targetNamespace="urn:m">
  <xs:include schemaLocation="urn:example:module"/>
  <xs:import namespace="urn:p"/>
  <xs:element name="m"><xs:complexType><xs:sequence><xs:element ref="p:a"/></xs:sequence></xs:complexType></xs:element>
</xs:schema>"""
MODULE = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="n"/></xs:schema>'
PART = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:p">
  <xs:element name="a" type="xs:date"/>
</xs:schema>"""
CATALOGUE = """<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
  <rewriteURI uriStartString="urn:example:" rewritePrefix="{parts}/"/>
  <uri name="urn:p" uri="{parts}/part.xsd"/>
</catalog>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A schema with a catalogue beside it; the other files are elsewhere."""
    made = {"schema/main.xsd": MAIN, "parts/module": MODULE, "parts/part.xsd": PART}
    made["schema/catalog.xml"] = CATALOGUE.format(parts="../parts")
    for name, text in made.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_catalogue_names_files_of_locations_and_namespaces(folder: Path) -> None:
    main = folder / "schema" / "main.xsd"
    graph = read_schema(main, "{urn:m}m")
    assert [child.name for child in graph.elements["{urn:m}m"].children] == ["{urn:p}a"]
    assert len(schema_files(main).files) == 3
    (folder / "parts" / "part.xsd").write_text(PART.replace("xs:date", "xs:time"))
    assert read_schema(main, "{urn:m}m").elements["{urn:p}a"].value_type == "time"
    (folder / "schema" / "catalog.xml").unlink()
    with pytest.raises(SchemaError) as caught:
        read_schema(main, "{urn:m}m")
    assert "HX2031 the file is to be read from urn:example:module, which is not here" in str(caught.value)


def test_a_copy_has_a_catalogue_of_its_own(folder: Path, tmp_path: Path) -> None:
    (folder / "schema" / "catalog.xml").rename(folder / "named.xml")
    (folder / "named.xml").write_text(CATALOGUE.format(parts="parts"))
    copied = copy_schema(folder / "schema" / "main.xsd", "{urn:m}m", [folder / "named.xml"])
    for name, content in copied.files.items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    for part in ("schema", "parts"):
        (folder / part).rename(folder / f"old {part}")
    main = tmp_path / "copy" / copied.main
    assert read_schema(main, "{urn:m}m") == copied.graph
    document = tmp_path / "m.xml"
    for date, valid in (("2026-01-01", True), ("yesterday", False)):
        document.write_text(f'<m xmlns="urn:m"><a xmlns="urn:p">{date}</a></m>')
        assert document_checker(main).check(document).is_valid is valid
