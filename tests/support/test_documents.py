"""The generator of random documents: valid, varied, quick; and Saxon's answers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import find, given, settings, strategies as st

from heptox.schema import SchemaGraph, parse_dtd, read_dtd, validity_faults
from heptox.xmlio import parse_document
from tests.support import VALUES, Values, XQueryError, answer_set, documents, evaluate, random_document
from tests.support.shared import DATA

HOSPITAL = Path(__file__).parents[2] / "heptox" / "demo" / "hospital"
MONTREAL = read_dtd(HOSPITAL / "mongenhosp.dtd")

GRAPHS: dict[str, Callable[[], SchemaGraph]] = {
    "montreal": lambda: MONTREAL,
    "boston": partial(read_dtd, HOSPITAL / "massgeneral.dtd"),
    "auction": partial(read_dtd, DATA / "xmark" / "auction.dtd", "site"),
    "nitf": partial(read_dtd, DATA / "nitf" / "nitf-2-5.dtd"),
    "mondial": partial(read_dtd, DATA / "mondial" / "mondial-europe.dtd", "mondial"),
    "uwm": partial(read_dtd, DATA / "courses" / "uwm-derived.dtd"),
    "recursive": partial(
        parse_dtd,
        "<!ELEMENT a ((a, b)?, (b | c)+)> <!ELEMENT b (a | c)> <!ELEMENT c (#PCDATA | b)*> <!ATTLIST c i ID #REQUIRED>",
        "a",
    ),
    "attributes": partial(
        parse_dtd,
        "<!NOTATION gif SYSTEM 'g'> <!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b i ID #IMPLIED r IDREFS #REQUIRED"
        " k (u | v) #REQUIRED f CDATA #FIXED 'x' d CDATA ' y ' n NMTOKENS #IMPLIED g NOTATION (gif) #REQUIRED>",
    ),
}


@cache
def graph(name: str) -> SchemaGraph:
    return GRAPHS[name]()


@pytest.mark.parametrize("name", GRAPHS)
def test_documents_are_valid(name: str) -> None:
    random = Random(7)
    for _ in range(60):
        text = random_document(graph(name), random)
        assert validity_faults(parse_document(text), graph(name)) == (), text


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(GRAPHS)).flatmap(lambda name: st.tuples(st.just(name), documents(graph(name)))))
def test_examples_are_valid(example: tuple[str, str]) -> None:
    name, text = example
    assert validity_faults(parse_document(text), graph(name)) == ()


def test_examples_shrink() -> None:
    strategy = documents(MONTREAL)
    smallest = find(strategy, lambda text: "<Admission" in text, settings=settings(database=None, max_examples=2000))
    assert len(smallest) < 220, smallest


def test_documents_vary() -> None:
    random = Random(1)
    texts = [random_document(MONTREAL, random) for _ in range(300)]
    assert len(set(texts)) > 200
    roots = [parse_document(text).root for text in texts]
    assert {len(root.findall("Patient")) for root in roots} == {0, 1, 2, 3}
    assert {len(patient.findall("MedCrNo")) for root in roots for patient in root} == {0, 1}
    values = Counter(leaf.text or "" for root in roots for leaf in root.iter("Problem", "Date", "Name"))
    assert set(VALUES) <= values.keys()
    assert values.keys() & MONTREAL.elements.keys()


def test_joins_hit() -> None:
    random = Random(2)
    query = "//Admission[@PatRef = //Patient[Hist/Event/Date = Treat/Date]/@ID]"
    assert sum(bool(evaluate(query, random_document(MONTREAL, random))) for _ in range(200)) > 20


def test_references_point_to_ids_and_need_them() -> None:
    random = Random(3)
    for _ in range(200):
        root = parse_document(random_document(MONTREAL, random)).root
        ids = [patient.get("ID") for patient in root.findall("Patient")]
        assert len(set(ids)) == len(ids)
        assert {admission.get("PatRef") for admission in root.findall("Admission")} <= set(ids)


def test_values_can_be_chosen() -> None:
    random = Random(4)
    values: Values = {("Patient", "Treat", "Date"): ["d1", "d2"], "Date": ["d3"], "@ID": ["x", "y"]}
    for _ in range(100):
        root = parse_document(random_document(MONTREAL, random, values=values, pool=["only"])).root
        assert {date.text for date in root.iterfind("Patient/Treat/Date")} <= {"d1", "d2"}
        assert {date.text for date in root.iterfind("Patient/Hist/Event/Date")} <= {"d3"}
        assert {patient.get("ID") for patient in root.iterfind("Patient")} <= {"x", "y", "p1"}
        assert {name.text for name in root.iterfind("Patient/Name")} <= {"only"}


def test_sizes_are_kept() -> None:
    random = Random(5)
    for _ in range(20):
        text = random_document(graph("nitf"), random, elements=30, repeats=1)
        assert sum(1 for _ in parse_document(text).root.iter()) < 120
        root = parse_document(random_document(MONTREAL, random, repeats=1)).root
        assert len(root.findall("Patient")) <= 1


@pytest.mark.parametrize(
    ("dtd", "part"),
    [
        ("<!ELEMENT a (b)> <!ELEMENT b (a)>", "finite"),
        ("<!ELEMENT a EMPTY> <!ATTLIST a r IDREF #REQUIRED>", "requires references"),
        ("<!ELEMENT a EMPTY> <!ATTLIST a e ENTITY #REQUIRED>", "finite"),
    ],
)
def test_schemas_without_documents(dtd: str, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        random_document(dtd, Random(0), root="a")


def test_what_has_no_finite_content_is_left_out() -> None:
    dtd = "<!ELEMENT a (b?, (d | c))+> <!ELEMENT b (b)> <!ELEMENT c EMPTY> <!ELEMENT d (c, b)>"
    random = Random(6)
    texts = {random_document(dtd, random) for _ in range(50)}
    assert texts == {f"<a>{'<c></c>' * count}</a>" for count in range(1, 4)}


def test_two_hundred_documents_take_well_under_a_second() -> None:
    random = Random(8)
    start = time.process_time()
    for _ in range(200):
        random_document(MONTREAL, random)
    assert time.process_time() - start < 0.7


# -- Saxon -------------------------------------------------------------------------------------------------------

DOCUMENT = '<r k=" v "><a> </a><a>x &lt; y\n</a><b c="1&#10;2"><d/>t</b></r>'


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("//a", ["<a> </a>", "<a>x &lt; y\n</a>"]),
        ("//@k", ['k=" v "']),
        ("//a/text()", [" ", "x &lt; y\n"]),
        ("data(//a)", ['" "', '"x < y\n"']),
        ('1, 2.5, "x", true()', ["1", "2.5", '"x"', "true()"]),
        ("()", []),
        ("//zzz (: no such :)", []),
        ("for $x in //a return <z>{data($x)}</z>", ["<z> </z>", "<z>x &lt; y\n</z>"]),
        ("/r/b", ['<b c="1&#xA;2"><d/>t</b>']),
        ("/*/name()", ['"r"']),
    ],
)
def test_answers(query: str, items: list[str]) -> None:
    assert evaluate(query, DOCUMENT) == items
    assert answer_set(query, DOCUMENT) == frozenset(items)


@pytest.mark.parametrize(
    ("query", "code"), [("//a[", "XPST0003"), ("1 div 0", "FOAR0001"), ("$x", "XPST0008"), ("//a + 1", "XPTY0004")]
)
def test_errors(query: str, code: str) -> None:
    with pytest.raises(XQueryError, match=code):
        evaluate(query, DOCUMENT)
    assert evaluate("1", DOCUMENT) == ["1"]


def test_a_document_that_is_none() -> None:
    with pytest.raises(XQueryError):
        evaluate("1", "<a>")


def test_a_graph_is_not_mistaken_for_another() -> None:
    def only(name: str) -> SchemaGraph:
        return parse_dtd(f"<!ELEMENT {name} EMPTY>")

    assert [random_document(only(name), Random(0)) for name in ("a", "b", "a")] == ["<a></a>", "<b></b>", "<a></a>"]
