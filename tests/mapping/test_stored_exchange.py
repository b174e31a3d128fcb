"""Exchange on a store: the same text as exchange in memory, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

import heptox.demo
from heptox.demo.records import records
from heptox.errors import StoreError
from heptox.mapping import ExchangeReceipt, Mapping, exchange, exchange_stored, load_mapping, selects_or_computes
from heptox.schema import conform, parse_dtd
from heptox.store import Store
from heptox.xml import parse_document, write_document
from tests.mapping.building import hospital
from tests.mapping.random_rules import random_rules, random_text
from tests.support.budget import tries
from tests.support.definition import takes_nodes
from tests.support.random_mappings import problem, random_documents, random_problem

HOSPITAL = Path(heptox.demo.__file__).parent / "hospital"
EXAMPLES = Path(__file__).parents[2] / "examples"
ODD = ("a & b", "<", "]]>", '"q"', "it's", "x\ry", "\t", "\n", "\x7f\x85\u2028", "\U0001f600", "back\\slash", "{}")


def in_memory(mapping: Mapping, text: str, receipt: ExchangeReceipt | None = None) -> str:
    document = conform(parse_document(text), mapping.source.graph)
    return write_document(exchange(mapping, document, receipt=receipt).root)


def on_store(
    mapping: Mapping, *texts: str, told: list[str] | None = None, receipt: ExchangeReceipt | None = None
) -> list[str]:
    """The images of documents that are held side by side."""
    reasons: list[str] = []
    with Store.open(None, mapping.source.graph, threads=1) as store:
        for number, text in enumerate(texts):
            store.load(str(number), text.encode())
        found = [
            "".join(exchange_stored(mapping, store, str(number), reasons.append, receipt))
            for number in range(len(texts))
        ]
    if told is None:
        if _looks_into_copies(mapping):
            reasons = [reason for reason in reasons if not reason.endswith(" is no column of the relations")]
        assert reasons == [*_reasons(mapping)] * len(texts)
    else:
        told += reasons
    return found


def _reasons(mapping: Mapping) -> Iterator[str]:
    """Why a mapping is not exchanged by statements."""
    if takes_nodes(mapping):
        yield "a leaf takes what a node is itself"


def _looks_into_copies(mapping: Mapping) -> bool:
    """Whether selections and functions may speak of what a store keeps as it stands: of recursive elements."""
    return bool(mapping.source.types.recursive) and any(map(selects_or_computes, mapping.rules))


def check(mapping: Mapping, *texts: str) -> None:
    found = ExchangeReceipt()
    expected = ExchangeReceipt()
    assert on_store(mapping, *texts, receipt=found) == [in_memory(mapping, text, expected) for text in texts]
    assert found == expected


@pytest.mark.parametrize("arrows", ["montreal-boston.arrows", "stluke-boston.arrows"])
def test_the_hospitals(arrows: str) -> None:
    mapping = load_mapping(HOSPITAL / arrows)
    city = arrows.partition("-")[0]
    check(mapping, *(records(city, patients, seed) for seed, patients in enumerate((0, 1, 7, 300))))


@pytest.mark.parametrize("mapping", sorted(EXAMPLES.glob("*/*/mapping.arrows")), ids=lambda path: path.parent.name)
def test_the_transformations(mapping: Path) -> None:
    check(load_mapping(mapping), mapping.with_name("document.xml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("seed", range(tries(6)))
def test_random_mappings(seed: int) -> None:
    random = Random(seed)
    for _ in range(6):
        found = random_problem(random)
        check(found.mapping, *random_documents(random, found, 3, elements=random.choice((8, 16, 40))))


@pytest.mark.parametrize("seed", range(5))
def test_random_rules(seed: int) -> None:
    """Rules with optional parts, conditions on what is there or not, and nodes by each, by key and by value."""
    random = Random(seed)
    for _ in range(3):
        rules = random_rules(random)
        check(rules, *(random_text(random) for _ in range(3)))


def test_bindings_are_numbered_where_their_places_do_not_fit_into_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.mapping.node_tables._NUMBER_BITS", 0)
    check(load_mapping(HOSPITAL / "montreal-boston.arrows"), records("montreal", 40))
    random = Random(1)
    for _ in range(6):
        found = random_problem(random)
        check(found.mapping, *random_documents(random, found, 2))
        check(random_rules(random), *(random_text(random) for _ in range(2)))


def test_values_are_written_as_elsewhere() -> None:
    names = "".join(
        f'<Patient ID="p{number}"><MedCrNo>{_escaped(value)}</MedCrNo><Name>{_escaped(value)}</Name><Hist><Event>'
        f"<Problem>{_escaped(value)}</Problem><Date/></Event></Hist></Patient>"
        for number, value in enumerate(ODD)
    )
    stays = "".join(
        f'<Admission PatRef="p{number}"><Problem>{_escaped(value)}</Problem><AdmDate>{_escaped(value)}</AdmDate>'
        "</Admission>"
        for number, value in enumerate(ODD)
    )
    check(hospital(), f"<MonGenHosp>{names}{stays}</MonGenHosp>")
    attributes = problem(
        "<!ELEMENT s (a*)> <!ELEMENT a (#PCDATA)>",
        "<!ELEMENT t (p*)> <!ELEMENT p EMPTY> <!ATTLIST p k CDATA #IMPLIED>",
        "a -> p/@k",
    )
    check(attributes.mapping, f"<s>{''.join(f'<a>{_escaped(value)}</a>' for value in ODD)}</s>")


def _escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


COPYING = problem(
    "<!ELEMENT s (z*)> <!ELEMENT z (#PCDATA | z)*> <!ATTLIST z k CDATA #IMPLIED m CDATA #IMPLIED>",
    "<!ELEMENT t (y*)> <!ELEMENT y (#PCDATA | z)*> <!ATTLIST y k CDATA #IMPLIED m CDATA #IMPLIED>"
    "<!ELEMENT z (#PCDATA | z)*> <!ATTLIST z k CDATA #IMPLIED m CDATA #IMPLIED>",
    "z => y",
)


def test_subtrees_that_are_deep_equal_are_one_and_the_first_stays() -> None:
    document = (
        '<s><z k="1" m="2">a&amp;<z m="3"/>&#13;</z><z m="2" k="1">a&amp;<z m="3"/>&#13;</z><z/>'
        '<z m="2" k="1">a&amp;<z m="4"/></z><z></z></s>'
    )
    check(COPYING.mapping, document)
    assert on_store(COPYING.mapping, document)[0].count("<y") == 3


def test_conditions_of_rules(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text(
        "<!ELEMENT s (a*, b*)> <!ELEMENT a (v?, c*)> <!ELEMENT b (#PCDATA)> <!ATTLIST b k CDATA #IMPLIED>"
        "<!ELEMENT v (#PCDATA)> <!ELEMENT c (#PCDATA)> <!ATTLIST a k CDATA #IMPLIED>"
    )
    (tmp_path / "t.dtd").write_text(
        "<!ELEMENT t (p*)> <!ELEMENT p (q*)> <!ATTLIST p k CDATA #IMPLIED> <!ELEMENT q (#PCDATA)>"
    )
    rules = tmp_path / "m.rules"
    rules.write_text(
        'source "s.dtd" root s\ntarget "t.dtd" root t\n\n'
        "t -> f_t($s)[p -> f_p($k)[@k -> $k, q -> $c]]\n<-\n"
        "s -> $s[a -> $a[@k -> $k, v -> $v, c -> $c], b -> $b[@k -> $bk, text() -> $bt]],\n"
        '$k = $bk, $v != "x", $bt = $c.\n'
    )
    text = (
        '<s><a k="1"><v>y</v><c>o</c><c>u</c></a><a k="1"><v>x</v><c>i</c></a><a k="2"><c>o</c></a>'
        '<a k="2"><v/><c/><c>u</c></a><b k="1">u</b><b k="2">u</b><b k="2"/><b>o</b></s>'
    )
    check(load_mapping(rules), text)


RECORDS: Final = """<!ELEMENT s (k?, r*)> <!ELEMENT k (#PCDATA)> <!ELEMENT r (l?, f*, g?)> <!ELEMENT l (#PCDATA)>
<!ELEMENT f (c*, d?)> <!ATTLIST f tag CDATA #IMPLIED ind CDATA #IMPLIED> <!ELEMENT c (#PCDATA)>
<!ATTLIST c code CDATA #IMPLIED> <!ELEMENT d (#PCDATA)> <!ELEMENT g (h*, i?)> <!ELEMENT h (#PCDATA)>
<!ELEMENT i (#PCDATA)> <!ATTLIST i z CDATA #IMPLIED>"""
ENTRIES: Final = """<!ELEMENT t (top?, e*)> <!ELEMENT top (#PCDATA)> <!ATTLIST top v CDATA #IMPLIED>
<!ELEMENT e (title*, name?, p*)> <!ATTLIST e a CDATA #IMPLIED b CDATA #IMPLIED> <!ELEMENT title (#PCDATA)>
<!ATTLIST title kind CDATA #IMPLIED lang CDATA #IMPLIED> <!ELEMENT name (#PCDATA)> <!ELEMENT p (role?, q*)>
<!ATTLIST p kind CDATA #IMPLIED> <!ELEMENT role (#PCDATA)> <!ELEMENT q (#PCDATA)> <!ATTLIST q x CDATA #IMPLIED>"""
RECORD: Final = (
    '<s><k>K</k><r><l>abc</l><f tag="1" ind="a"><c code="a">x</c><c code="b"/><c code="a">\\y$</c><d>D</d></f>'
    '<f tag="2"><c>n</c><c code="a">é</c></f><f><d/></f><g><h>1</h><h>2</h><i z="q">I</i></g></r><r><f tag="1" ind="">'
    '<c code="b">ß</c></f><f tag="2" ind="b"/><f tag="1"><c code="a">zz</c></f></r><r><l/><g/></r></s>'
)


@pytest.mark.parametrize(
    "arrows",
    [
        'r/f[@tag = "1"]/c[@code = "a"] -> e/title[@kind = "z"]\n'
        'r/f[@tag = "1"]/c[@code = "b"] -> e/title[@kind = "b"]\n'
        'r/f[@tag = "2"]/c -> e/title\nr/f[not(@tag)]/d -> e/title[@kind = "z" and @lang = "en"]',
        'r/f[@tag != "1"]/c[@code] -> e/title\nr/f[not(d) and @tag = ("1", "2")]/c[not(@code)] -> e/p/q\n'
        'r/f[d = "D"]/@ind -> e/p/@kind',
        'each r/f[@tag = "1"] -> e/p[@kind = "K"]\nr/f[@tag = "1"]/c -> e/p[@kind = "K"]/q\n'
        'each r/f[@tag = "2"] -> e/p\nr/f[@tag = "2"]/c -> e/p/q[@x = "X"]',
        '"book" -> e/@a\n"x" -> e/name\nr/l -> e/@b\n"top" -> top',
        'r/f/@tag -> e/p/@kind\n"lit" -> e/p/q\n"u" -> e/p/role',
        'string-join(r/f[@tag = "1"]/c[@code = ("a", "b")], "; ") -> e/@a\nstring-join(r/f/@tag, "") -> e/@b\n'
        'string-join(r/g/h, "${\\x}\'") -> e/name\nstring-join(r/f[d]/c, "-") -> top/@v',
        'string-join(r/g/i, ",") -> e/@a\nstring-join(r/g/i/@z, ",") -> e/@b\nconcat(k, "!") -> top',
        'if (r/l = "abc") then "yes" else "no" -> e/@a\nupper-case(concat(r/f/@tag, r/f/d)) -> e/p/@kind\n'
        "substring(r/f/@ind, 1, 1) -> e/p/role",
    ],
)
def test_rules_that_select_and_compute(arrows: str) -> None:
    check(problem(RECORDS, ENTRIES, f"each r -> e\n{arrows}").mapping, RECORD, "<s/>", '<s><r/><r><f tag=""/></r></s>')


def test_conditions_with_many_values() -> None:
    values = ", ".join(f'"{number}"' for number in range(2_000))
    check(
        problem(RECORDS, ENTRIES, f'each r -> e\nstring-join(r/f[@tag = ({values})]/c, " ") -> e/name').mapping, RECORD
    )


# -- what is not stated ------------------------------------------------------------------------------------------


def test_a_document_that_does_not_fit_is_exchanged_in_memory() -> None:
    text = (
        '<MonGenHosp><Stranger/><Patient ID="p"><Name>A</Name><Hist/></Patient>'
        '<Admission PatRef="p"><Problem>x</Problem></Admission></MonGenHosp>'
    )
    told: list[str] = []
    found = on_store(hospital(), text, told=told)
    assert found == [write_document(exchange(hospital(), parse_document(text)).root)]
    assert told == ["the document does not fit its schema"]


def test_one_that_is_too_large_for_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.store.database.MOST_IN_MEMORY", 10)
    with pytest.raises(StoreError) as caught:
        on_store(hospital(), "<MonGenHosp><Stranger/></MonGenHosp>", told=[])
    assert [fault.code for fault in caught.value.faults] == ["HX6008"]
    assert "does not fit" in str(caught.value.faults[0].hint)


def test_an_unknown_document_and_another_schema_are_refused() -> None:
    with Store.open(None, hospital().source.graph) as store, pytest.raises(StoreError) as caught:
        list(exchange_stored(hospital(), store, "none"))
    assert caught.value.faults[0].code == "HX6015"
    with Store.open(None, parse_dtd("<!ELEMENT a EMPTY>", "a")) as store, pytest.raises(StoreError) as caught:
        list(exchange_stored(hospital(), store, "none"))
    assert caught.value.faults[0].code == "HX6012"


def test_nothing_is_left_in_the_store_and_the_document_can_be_exchanged_again() -> None:
    mapping, text = hospital(), records("montreal", 5)
    with Store.open(None, mapping.source.graph) as store:
        store.load("d", text.encode())
        stream = exchange_stored(mapping, store, "d")
        next(stream)
        del stream
        assert "".join(exchange_stored(mapping, store, "d")) == in_memory(mapping, text)
        assert "".join(exchange_stored(mapping, store, "d")) == in_memory(mapping, text)
