"""The invoices of EN 16931: what the mappings make, and what queries in other words find, beside the judged ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import pytest

from benchmarks.crosswalks.__main__ import Results, by_term, measured, summary
from benchmarks.crosswalks.terms import below
from benchmarks.translation import block
from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.shell import split, with_schema
from heptox.store import evaluate
from heptox.translate import Direction, Hop, translate, translate_path
from heptox.xml import parse_document, read_document, write_document
from tests.mapping.building import as_set
from tests.support import shells
from tests.support.shared import DATA, reads_shared

pytestmark = reads_shared

ROOT: Final = Path(__file__).parents[2]
INVOICES: Final = DATA / "invoices"
SYNTAXES: Final = {"ubl": "ubl", "cii": "uncefact"}
TERMS: Final = r"BT-[0-9]+"
ROLES: Final = 'declare namespace xr = "urn:ce.eu:en16931:2017:xoev-de:kosit:standard:xrechnung-1"; '


@cache
def mapping(syntax: str) -> Mapping:
    return load_mapping(ROOT / "examples" / "invoices" / f"{syntax}-xr.arrows")


def invoices(syntax: str) -> list[Path]:
    return sorted((INVOICES / "pairs").glob(f"*_{SYNTAXES[syntax]}.xml"))


@cache
def results(syntax: str) -> Results:
    return measured(mapping(syntax), invoices(syntax), INVOICES / "judged", TERMS)


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_each_term_attribute_and_group_is_as_judged(syntax: str) -> None:
    found = results(syntax)
    assert (found.documents, len(found.terms)) == (10, 164)
    assert [score for score in (*found.terms, *found.attributes, *found.groups) if not score.is_right] == []


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_the_page_shows_the_tables(syntax: str) -> None:
    page = (ROOT / "docs" / "invoices.md").read_text(encoding="utf-8")
    assert block(page, f"{syntax}-xr").strip() == summary(results(syntax)).strip()
    assert block(page, f"{syntax}-xr by term").strip() == by_term(results(syntax)).strip()


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_the_model_comes_back(syntax: str, tmp_path: Path) -> None:
    """What the mirrored rules make of a judged document is exchanged to the same terms again."""
    judged = INVOICES / "judged"
    files = []
    for file in invoices(syntax)[::3]:
        made = exchange(mapping(syntax).mirrored(), read_document(judged / file.name))
        files.append(tmp_path / file.name)
        files[-1].write_text(write_document(made.root), encoding="utf-8")
    found = measured(mapping(syntax), files, judged, TERMS)
    assert [score for score in found.terms if not score.is_right] == []


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_queries_in_words_of_the_model_find_what_is_judged(syntax: str) -> None:
    """Each path of the model that one of two invoices has."""
    for file in invoices(syntax)[1:3]:
        given, judged = read_document(file), read_document(INVOICES / "judged" / file.name)
        expected: dict[tuple[str, ...], set[str]] = {}
        for path, element in below(judged.root):
            if len(element) == 0:
                expected.setdefault(path, set()).add(element.text or "")
        assert len(expected) > 40
        for path, values in expected.items():
            steps = "/".join(f"xr:{step.rpartition('}')[2]}" for step in path)
            query = parse_query(f"{ROLES}/xr:invoice/{steps}/text()")
            answers = evaluate(translate(mapping(syntax), query, Direction.SOURCE).query, [given])
            assert {str(answer) for answer in answers} == values, steps


def _item(answer: object) -> Hashable:
    """An item, whatever prefixes its names have."""
    return as_set(parse_document(str(answer)).root) if str(answer).startswith("<") else str(answer)


CBC: Final = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
CAC: Final = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"


@pytest.mark.parametrize(
    "query",
    [
        "/*/cbc:IssueDate/text()",
        "//cac:PaymentMeans/cac:PayeeFinancialAccount/cbc:ID/text()",
        '//cac:PartyTaxScheme[cac:TaxScheme/cbc:ID = "VAT"]/cbc:CompanyID/text()',
        "//cac:InvoiceLine/cbc:LineExtensionAmount",
        '//cac:InvoiceLine[cac:Item/cac:ClassifiedTaxCategory/cbc:Percent = "7"]/cac:Item/cbc:Name/text()',
        "for $l in //cac:InvoiceLine return <l>{data($l/cbc:ID)}{data($l/cac:Price/cbc:PriceAmount/@currencyID)}</l>",
        "//cac:TaxSubtotal/cbc:TaxableAmount",
    ],
)
def test_queries_in_words_of_one_syntax_find_the_same_in_the_other(query: str) -> None:
    asked = parse_query(f'declare namespace cbc = "{CBC}"; declare namespace cac = "{CAC}"; {query}')
    way = [Hop(mapping("ubl"), Direction.TARGET), Hop(mapping("cii"), Direction.SOURCE)]
    translated = translate_path(way, asked).query
    some = False
    for one, other in list(zip(invoices("ubl"), invoices("cii"), strict=True))[:6]:
        expected = set(map(_item, evaluate(asked, [read_document(one)])))
        assert set(map(_item, evaluate(translated, [read_document(other)]))) == expected
        some = some or expected != set()
    assert some


UBL: Final = "".join(
    f'declare namespace {prefix} = "urn:oasis:names:specification:ubl:schema:xsd:{name}-2"; '
    for prefix, name in {"cbc": "CommonBasicComponents", "cac": "CommonAggregateComponents", "i": "Invoice"}.items()
)


def computed_in_both(query: str) -> list[str]:
    """The items of a query in UBL's words over the invoices of both syntaxes: those of CII by way of the model."""

    def in_ubl(query: Expression) -> Iterable[str]:
        return evaluate(query, map(read_document, invoices("ubl")))

    def in_cii(query: Expression) -> Iterable[str]:
        in_model = translate(mapping("ubl"), query, Direction.TARGET)
        said = translate(mapping("cii"), in_model.query, Direction.SOURCE)
        return evaluate(said.query, map(read_document, invoices("cii")))

    tree = mapping("ubl").source
    known = partial(with_schema, tree=tree, keys=frozenset())
    return shells.computed(split(UBL + query), {"ubl": in_ubl, "cii": in_cii}, known)


def values(file: Path, *path: str) -> list[ElementTree.Element]:
    """Elements of a file by their local names, whatever their namespaces."""
    return ElementTree.parse(file).getroot().findall("/".join(f"{{*}}{name}" for name in path))


def test_the_tax_of_all_invoices_is_summed_by_rate() -> None:
    query = """for $t in /i:Invoice/cac:TaxTotal/cac:TaxSubtotal
        group by $rate := string($t/cac:TaxCategory/cbc:Percent) order by number($rate)
        return concat($rate, ": ", sum($t/xs:decimal(cbc:TaxAmount)))"""
    taxes = [
        (one.findtext(f"{{*}}{rate}") or one.findtext(f"{{*}}TaxCategory/{{*}}{rate}"), one.findtext(f"{{*}}{amount}"))
        for syntax, path, rate, amount in (
            ("ubl", ("TaxTotal", "TaxSubtotal"), "Percent", "TaxAmount"),
            ("cii", (*SETTLEMENT, "ApplicableTradeTax"), "RateApplicablePercent", "CalculatedAmount"),
        )
        for file in invoices(syntax)
        for one in values(file, *path)
    ]
    sums: dict[str, Decimal] = {}
    for rate, amount in taxes:
        sums[str(rate)] = sums.get(str(rate), Decimal()) + Decimal(str(amount))
    assert computed_in_both(query) == [f"{rate}: {sums[rate].normalize():f}" for rate in sorted(sums, key=float)]


def test_invoices_without_an_order_reference_are_counted() -> None:
    given = [values(file, "OrderReference", "ID") for file in invoices("ubl")]
    given += [values(file, *AGREEMENT, "BuyerOrderReferencedDocument", "IssuerAssignedID") for file in invoices("cii")]
    query = "count(/i:Invoice[not(cac:OrderReference/cbc:ID)])"
    assert computed_in_both(query) == [str(sum(not found for found in given))] != ["0"]


def test_the_largest_line_of_each_invoice_is_found() -> None:
    query = """for $i in /i:Invoice
        return string((for $l in $i/cac:InvoiceLine order by number($l/cbc:LineExtensionAmount) descending
                       return $l/cbc:LineExtensionAmount)[1])"""
    lines = [values(file, "InvoiceLine", "LineExtensionAmount") for file in invoices("ubl")]
    lines += [values(file, *LINE_TOTAL) for file in invoices("cii")]
    largest = [max((str(each.text) for each in found), key=float) for found in lines]
    assert sorted(computed_in_both(query)) == sorted(largest)


TRANSACTION: Final = "SupplyChainTradeTransaction"
SETTLEMENT: Final = (TRANSACTION, "ApplicableHeaderTradeSettlement")
AGREEMENT: Final = (TRANSACTION, "ApplicableHeaderTradeAgreement")
LINE_TOTAL: Final = (
    TRANSACTION,
    "IncludedSupplyChainTradeLineItem",
    "SpecifiedLineTradeSettlement",
    "SpecifiedTradeSettlementLineMonetarySummation",
    "LineTotalAmount",
)
