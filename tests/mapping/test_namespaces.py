"""Mappings between schemas whose names are in namespaces: their files, exchange, and translation in both directions."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Final

import pytest

from heptox.errors import Fault
from heptox.grammar import NameTable, parse_query, print_query
from heptox.mapping import ArrowsText, ExchangeReceipt, Mapping, exchange, exchange_stored, print_rules
from heptox.mapping.loading import read_mapping_rules
from heptox.schema import conform, validity_faults
from heptox.store import Store
from heptox.translate import Direction, translate
from heptox.xml import Prefixes, parse_document, write_document
from tests.mapping.building import text_set
from tests.support.budget import tries
from tests.support.checking import Outcome
from tests.support.definition import making, same_items
from tests.support.invoices import INVOICES, arrows, invoices, prefixed_schema, read_schema
from tests.support.namespaced_mappings import check_namespaced, namespaced
from tests.support.random_mappings import random_documents, random_problem
from tests.support.saxon import answer_set

IMAGE: Final = (
    '<acc:Ledger xmlns:cbc="urn:example:amounts" xmlns:acc="urn:example:ledger" xmlns:pty="urn:example:parties">'
    '<acc:Entry pty:scheme="GLN"><acc:ID>7</acc:ID><acc:Date>2026-11-26</acc:Date><pty:Name>Ana &amp; Co</pty:Name>'
    '<cbc:Debit currency="CAD" line="1">10</cbc:Debit><cbc:ID currency="EUR" line="2">3</cbc:ID></acc:Entry>'
    "<acc:Entry><acc:ID>8</acc:ID><pty:Name>Li</pty:Name></acc:Entry></acc:Ledger>\n"
)


def document() -> str:
    return (INVOICES / "document.xml").read_text(encoding="utf-8")


def faults(text: str) -> list[Fault]:
    return list(ArrowsText(text, read_schema, "test.arrows").examined().faults)


# -- files -----------------------------------------------------------------------------------------------------------


def test_printed_rules_declare_what_the_schemas_do_not_and_load_as_an_equal_mapping() -> None:
    printed = print_rules(invoices())
    assert [line for line in printed.splitlines() if "namespace" in line] == [
        'source namespace line = "urn:example:aggregates"'
    ]
    assert "    cac:Supplier -> $Invoice_Supplier[@cbc:scheme -> $Invoice_Supplier_scheme," in printed
    assert read_mapping_rules(printed, read_schema) == invoices()


def test_what_no_prefix_is_bound_for_is_declared_where_rules_are_printed() -> None:
    bare = invoices()
    sides = [type(tree)(replace(tree.graph, prefixes=Prefixes()), tree.boxes) for tree in (bare.source, bare.target)]
    printed = print_rules(replace(bare, source=sides[0], target=sides[1]))
    assert 'target namespace ns1 = "urn:example:amounts"' in printed

    def without_prefixes(file: str, root: str | None) -> object:
        del root
        return replace(read_schema(file, None), prefixes=Prefixes())

    assert read_mapping_rules(printed, without_prefixes) == bare  # type: ignore[arg-type]


HEAD: Final = 'source "invoices.dtd"\ntarget "ledger.dtd"\n'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "Invoice/cbd:ID -> acc:Entry/acc:ID",
            "test.arrows:3:9: HX3066 the prefix cbd is not bound for names of the source (bound are xml, cac, cbc; "
            'declare it: source namespace cbd = "...")',
        ),
        (
            "Invoice/ID -> acc:Entry/acc:ID",
            "test.arrows:3:1: HX4001 the source schema has no Invoice/ID (did you mean Invoice/cbc:ID?)",
        ),
        (
            "Invoice/cbc:ID -> acc:Entry/pty:Nam",
            "test.arrows:3:19: HX4001 the target schema has no acc:Entry/pty:Nam (did you mean acc:Entry/pty:Name?)",
        ),
        (
            'namespace a = "urn:a"\nnamespace a = "urn:b"',
            "test.arrows:4:1: HX4003 the prefix a is declared again (keep one of the lines)",
        ),
        (
            'namespace xmlns = "urn:a"',
            "test.arrows:3:11: HX3001 xml and xmlns are bound, and cannot be declared",
        ),
        (
            "target box Kind = acc:Entry/(cbc:Debit | cbc:Debt)",
            "test.arrows:3:42: HX4001 the target schema has no acc:Entry/cbc:Debt (did you mean acc:Entry/cbc:Debit?)",
        ),
        (
            "source box Kind = Invoice/cac:Line/(cbc:ID | cbc:Kind)\nsource key Invoice/@Q{urn:a#b}x",
            "test.arrows:4:12: HX4001 the source schema has no Invoice/@Q{urn:a#b}x "
            "(below Invoice there are Invoice/cbc:ID, Invoice/cbc:IssueDate, Invoice/cac:Supplier, Invoice/cac:Line)",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_names_is_said_with_prefixes(lines: str, expected: str) -> None:
    assert expected in map(str, faults(HEAD + lines + "\n"))


def test_what_is_declared_for_one_side_counts_before_what_is_for_both() -> None:
    lines = """target namespace x = "urn:example:ledger"
namespace x = "urn:example:aggregates"
Invoice/x:Supplier/cbc:Name -> x:Entry/Q{urn:example:parties}Name
"""
    assert faults(HEAD + lines) == []
    (fault,) = faults(HEAD + lines.replace("-> x:", "-> y:"))
    assert str(fault).startswith(
        "test.arrows:5:32: HX3066 the prefix y is not bound for names of the target (bound are"
    )


def test_members_of_one_local_name_are_no_box() -> None:
    dtd = """<!ELEMENT r (a:x*, b:x*)> <!ATTLIST r xmlns:a CDATA #FIXED "urn:a" xmlns:b CDATA #FIXED "urn:b">
<!ELEMENT a:x EMPTY> <!ELEMENT b:x EMPTY>"""
    text = 'source "s"\ntarget "t"\nsource box B = (a:x | b:x)\n'
    found = ArrowsText(text, lambda _, __: prefixed_schema(dtd, "r"), "test.arrows").examined().faults
    expected = "test.arrows:3:23: HX4007 a:x and b:x are one value as tags in the box B"
    assert any(str(fault).startswith(expected) for fault in found)


# -- exchange --------------------------------------------------------------------------------------------------------


def in_memory(mapping: Mapping, text: str, receipt: ExchangeReceipt | None = None) -> str:
    read = conform(parse_document(text), mapping.source.graph)
    return write_document(exchange(mapping, read, receipt=receipt).root)


def on_store(mapping: Mapping, text: str, receipt: ExchangeReceipt, told: list[str]) -> str:
    with Store.open(None, mapping.source.graph, threads=1) as store:
        store.load("d", text.encode())
        return "".join(exchange_stored(mapping, store, "d", told.append, receipt))


def test_images_have_the_prefixes_of_their_schema() -> None:
    told: list[str] = []
    assert in_memory(invoices(), document()) == IMAGE
    assert on_store(invoices(), document(), ExchangeReceipt(), told) == IMAGE
    assert told == []
    back = in_memory(invoices().mirrored(), IMAGE.replace("cbc:ID", "cbc:Credit"))
    assert text_set(back) == text_set(document().replace("<b:Kind>ID<", "<b:Kind>Credit<"))
    assert not validity_faults(parse_document(back), invoices().source.graph)


@pytest.mark.parametrize("seed", range(tries(4)))
def test_random_mappings_in_namespaces(seed: int) -> None:
    """Printed rules load as equal mappings, and exchange on a store gives what exchange in memory does."""
    random, compiled = Random(1000 + seed), 0
    for _ in range(6):
        given = random_problem(random)
        named = namespaced(random, given)
        outcome = Outcome()
        check_namespaced(named, outcome)
        assert outcome.broken == []
        for to in Direction:
            mapping = making(named.problem.mapping, to)
            for plain in random_documents(random, given, 2, side=to):
                text = named.document(plain, to)
                assert not validity_faults(parse_document(text), mapping.source.graph)
                found, expected, told = ExchangeReceipt(), ExchangeReceipt(), list[str]()
                assert on_store(mapping, text, found, told) == in_memory(mapping, text, expected)
                assert found == expected
                compiled += not told
    assert compiled > 0


# -- translation -----------------------------------------------------------------------------------------------------


def queries(file: str) -> list[str]:
    return (INVOICES / file).read_text(encoding="utf-8").strip().split("\n\n====\n\n")


@pytest.mark.parametrize(
    ("to", "query"),
    [
        *((Direction.SOURCE, query) for query in queries("queries-ledger.xq")),
        *((Direction.TARGET, query) for query in queries("queries-invoices.xq")),
    ],
)
def test_queries_are_answered_as_on_the_image(to: Direction, query: str) -> None:
    made = making(invoices(), to)
    given = document() if to is Direction.SOURCE else IMAGE.replace("cbc:ID", "cbc:Credit")
    image = in_memory(made, given)
    expression = parse_query(query, names=NameTable.of(made.target.graph))
    translation = translate(invoices(), expression, to)
    expected = answer_set(print_query(expression), image)
    assert same_items(answer_set(translation.text, given), expected)
    assert parse_query(translation.text) == translation.query
    assert bool(expected) == ("Nothing" not in query)


def test_translations_have_the_prefixes_of_the_query_then_of_the_schema_that_answers() -> None:
    expression = parse_query('declare namespace p = "urn:example:parties"; //p:Name')
    asked = Prefixes.of({"p": "urn:example:parties"})
    assert translate(invoices(), expression, "source", prefixes=asked).text == (
        'declare default element namespace "urn:example:invoices";\n'
        'declare namespace cbc = "http://example.org/basics#";\n'
        'declare namespace cac = "urn:example:aggregates";\n'
        'declare namespace p = "urn:example:parties";\n'
        "for $n in //Invoice/cac:Supplier/cbc:Name\n"
        "return <p:Name>{data($n)}</p:Name>"
    )


def test_losses_are_named_with_the_prefixes_of_the_asker() -> None:
    without = ArrowsText(
        "\n".join(line for line in arrows().splitlines() if "Date" not in line), read_schema
    ).examined()
    assert without.sound is not None
    expression = parse_query("//acc:Entry/acc:Date", names=NameTable.of(without.sound.target.graph))
    losses = translate(without.sound, expression, "source").losses
    assert list(map(str, losses)) == ["acc:Entry/acc:Date: no arrow supplies it, and the query needs it"]
