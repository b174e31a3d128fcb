"""What is inferred from real documents: all are valid, by lxml's judgement."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from lxml import etree

from heptox.errors import SchemaError
from heptox.schema import extend_dtd, extend_xsd, infer_dtd, infer_xsd, parse_dtd, random_document
from tests.schema.inference.judging import dtd_faults, xsd_faults
from tests.support.shared import DATA, reads_shared


def files(pattern: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted(DATA.glob(pattern))]


def records(name: str) -> list[bytes]:
    return [etree.tostring(record) for record in etree.parse(DATA / "library" / name).getroot()]


KINDS: dict[str, Callable[[], list[bytes]]] = {
    "ubl": lambda: files("invoices/pairs/*_ubl.xml"),
    "cii": lambda: files("invoices/pairs/*_uncefact.xml"),
    "ubl and cii": lambda: files("invoices/pairs/*.xml"),
    "invoices in the model": lambda: files("invoices/judged/*.xml"),
    "marc": lambda: records("marc/loc_general.xml"),
    "mods": lambda: records("judged/loc_general.mods.xml"),
    "dublin core": lambda: records("judged/loc_general.dc.xml"),
    "reed": lambda: files("courses/reed.xml"),
    "uwm": lambda: files("courses/uwm.xml"),
    "wsu": lambda: files("courses/wsu.xml"),
    "mondial": lambda: files("mondial/*.xml"),
}


@reads_shared
@pytest.mark.parametrize("kind", KINDS)
def test_real_documents_are_valid_for_what_is_inferred_from_them(kind: str, tmp_path: Path) -> None:
    documents = KINDS[kind]()
    assert documents
    assert not xsd_faults(tmp_path, infer_xsd(((text, None) for text in documents), constraints=True), documents)
    assert not dtd_faults(infer_dtd((text, None) for text in documents), documents)


@reads_shared
@pytest.mark.parametrize("kind", ["ubl", "marc", "mods"])
def test_a_schema_of_half_of_the_documents_is_extended_for_the_others(kind: str, tmp_path: Path) -> None:
    documents = KINDS[kind]()
    half = len(documents) // 2
    assert not xsd_faults(tmp_path, infer_xsd((text, None) for text in documents[:half]), documents[:half])
    extended, _ = extend_xsd(str(tmp_path / "schema.xsd"), [(text, None) for text in documents[half:]])
    assert not xsd_faults(tmp_path, extended, documents)


@reads_shared
def test_three_catalogues_together_need_a_local_type(tmp_path: Path) -> None:
    documents = files("courses/*.xml")
    assert not xsd_faults(tmp_path, infer_xsd((text, None) for text in documents), documents)
    with pytest.raises(SchemaError, match="HX2061 course holds text alone below course_listing, and elements below"):
        infer_dtd((text, None) for text in documents)


@reads_shared
def test_the_references_of_mondial_are_found() -> None:
    dtd = infer_dtd((text, None) for text in files("mondial/*.xml"))
    assert "<!-- reference: city/@province -> province/@id: " in dtd
    assert "  car_code ID #REQUIRED\n" in dtd and "  memberships IDREFS #IMPLIED>" in dtd


@reads_shared
def test_a_dtd_with_parameter_entities_is_extended_in_its_own_text() -> None:
    text = (DATA / "nitf" / "nitf-2-5.dtd").read_text(encoding="utf-8")
    graph = parse_dtd(text, "nitf")
    old = [random_document(graph, Random(seed), elements=100, repeats=2) for seed in range(4)]
    new = [re.sub(r"(<body\b[^>]*>)", r'\1<novel x="1">t</novel>', document) for document in old]
    extended, changed = extend_dtd(text, [(document.encode(), None) for document in new])
    assert "nitf/body: novel added, optional" in changed and "<!ENTITY % " in extended
    assert not dtd_faults(extended, [document.encode() for document in [*old, *new]])
