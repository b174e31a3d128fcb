"""What is done with a mapping follows the arrows that are drawn, not the size of the schemas."""

from __future__ import annotations

from functools import cache

import pytest

from heptox.grammar import NameTable, parse_query
from heptox.mapping import ArrowsText, exchange
from heptox.schema import Path, SchemaGraph, SchemaTree, read_schema
from heptox.translate import Direction, translate
from heptox.verification import Law, checked, random_documents
from heptox.xml import parse_document
from tests.support.invoices import INVOICES
from tests.support.shared import DATA

_FILES = {
    "UBL-Invoice-2.1.xsd": DATA / "invoices" / "ubl" / "maindoc",
    "CrossIndustryInvoice_100pD16B.xsd": DATA / "invoices" / "cii" / "data" / "standard",
}
_RAM = "{urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100}"


@cache
def _read(file: str, root: str | None) -> SchemaGraph:
    return read_schema(_FILES[file] / file, root)


@cache
def _invoices() -> ArrowsText:
    text = (INVOICES / "ubl-cii.arrows").read_text(encoding="utf-8")
    return ArrowsText(text, _read, "ubl-cii.arrows")


@pytest.fixture
def unfolded(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The nodes whose children are looked at."""
    found: list[Path] = []
    children = SchemaTree._unfolded

    def counted(tree: SchemaTree, path: Path) -> tuple[Path, ...]:
        found.append(path)
        return children(tree, path)

    monkeypatch.setattr(SchemaTree, "_unfolded", counted)
    return found


def test_forty_arrows_are_checked_without_unfolding_the_schemas(unfolded: list[Path]) -> None:
    arrows = _invoices()
    examined = arrows.examined()
    assert examined.sound is not None and not examined.faults
    assert len(examined.correspondences) == 40
    assert len(unfolded) < 500
    sides = {law.answers: random_documents(examined.sound, law) for law in Law}
    assert all(len(documents) == 9 for documents in sides.values())
    found = checked(examined.sound, arrows, sides, are_random=True).remarks
    assert any(
        "leaves of the source right below nodes that the mapping speaks of are used" in one.text for one in found
    )
    assert len(unfolded) < 10_000


def test_a_real_invoice_becomes_one_in_the_other_syntax() -> None:
    mapping = _invoices().examined().sound
    assert mapping is not None
    ubl, cii = (
        parse_document((DATA / "invoices" / "pairs" / f"01.01a-INVOICE_{name}.xml").read_text(encoding="utf-8"))
        for name in ("ubl", "uncefact")
    )
    image = exchange(mapping, ubl)
    for name in ("BilledQuantity", "GrandTotalAmount", "DuePayableAmount", "IBANID", "PersonName"):
        values = [{(element.text or "").strip() for element in one.root.iter(_RAM + name)} for one in (image, cii)]
        assert values[0] == values[1], name


@pytest.mark.parametrize(("asked", "places"), [("//cbc:ID", 6), ("//cac:InvoiceLine//cbc:Name", 1)])
def test_a_name_anywhere_is_asked_for_where_arrows_lead(unfolded: list[Path], asked: str, places: int) -> None:
    mapping = _invoices().examined().sound
    assert mapping is not None
    query = parse_query(asked, names=NameTable.of(mapping.source.graph))
    found = translate(mapping, query, Direction.TARGET)
    assert len(found.pattern.members) == places
    passed = [str(loss) for loss in found.losses if "no arrow leads to other places" in str(loss)]
    assert len(passed) == len(asked.split("//")) - 1
    assert len(unfolded) < 5_000
