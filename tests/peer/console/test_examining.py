"""What the console is told of a mapping in work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from heptox.demo import HOSPITAL
from heptox.errors import MappingError, Position
from heptox.peer import PeerFolder
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.console.examining import NO_RECORDS, examine
from heptox.peer.console.mapping_shapes import ElementModel, MappingModel, MappingRequest, ValueModel, ValuesRequest
from heptox.peer.console.own_records import OwnRecords, leaf_values
from heptox.peer.console.samples import MOST_CHARACTERS, MOST_ELEMENTS
from heptox.schema import parse_schema, read_schema
from tests.peer.daemons import Daemon

DTDS: Final = {name: (HOSPITAL / name).read_text(encoding="utf-8") for name in ("mongenhosp.dtd", "massgeneral.dtd")}
ARROWS: Final = (HOSPITAL / "montreal-boston.arrows").read_text(encoding="utf-8")


def told(
    text: str = ARROWS, sample: str | None = None, seed: int = 0, own: OwnRecords = NO_RECORDS, **more: str
) -> MappingModel:
    return examine(MappingRequest(text=text, files=DTDS | more, sample=sample, seed=seed), own)


def values(element: ElementModel) -> Iterator[tuple[str, str, list[int]]]:
    """Tag or name, value, and lines, of everything in an element that an arrow may have carried."""
    if element.arrows:
        yield element.tag, element.tag, element.arrows
    for one in element.attributes:
        yield f"@{one.name}", one.value, one.arrows
    for part in element.content:
        if isinstance(part, ValueModel):
            yield element.tag, part.value, part.arrows
        else:
            yield from values(part)


def line_of(statement: str, text: str = ARROWS) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(statement))


def test_a_mapping_without_faults_is_told_whole() -> None:
    found = told()
    assert found.faults == ()
    assert [one.kind for one in found.statements][:3] == ["schema", "schema", "box"]
    assert all(arrow.sound for arrow in found.arrows)
    assert [arrow.line for arrow in found.arrows] == [one.line for one in found.statements if one.kind == "arrow"]
    assert found.target is not None
    assert [(box.name, box.parent, box.members) for box in found.target.boxes] == [
        ("Illness", ["Admission"], ["Pulmonary", "Coronary"])
    ]
    assert found.source is not None
    assert [(one.source, one.target, one.inferred) for one in found.source.references] == [
        (["Admission", "@PatRef"], ["Patient", "@ID"], True)
    ]
    assert len(found.rules) == 4
    assert found.rules[0].arrows == [
        line_of(arrow)
        for arrow in (
            "Admission/Problem",
            "Patient/@ID",
            "Patient/MedCrNo",
            "Patient/Name",
            "Admission/AdmDate",
            "Admission/DisDate",
        )
    ]


def test_arrows_are_drawn_where_they_are_written() -> None:
    text = ARROWS + "Patient/Treat/Doc -> Admission/Coronary/InsName\n"
    arrows = {tuple(one.sources[0]): one.target for one in told(text).arrows}
    assert arrows["Admission", "Problem"] == ["Admission", "[Illness]"]
    assert arrows["Patient", "@ID"] == ["Admission", "[Illness]", "@ID"]
    assert arrows["Patient", "Treat", "Doc"] == ["Admission", "Coronary", "InsName"]


def test_faults_are_told_beside_what_is_sound() -> None:
    text = ARROWS.replace("Patient/Name ", "Patient/Nam ") + "what is this\n"
    found = told(text)
    assert {fault.code for fault in found.faults} == {"HX4001", "HX3001"}
    wrong = line_of("Patient/Nam", text)
    assert [arrow.line for arrow in found.arrows if not arrow.sound] == [wrong]
    assert next(arrow for arrow in found.arrows if arrow.line == wrong).sources == []
    assert len(found.rules) == 4
    assert found.example is not None and found.example.target is not None


@pytest.mark.parametrize(
    "text",
    ["", "# nothing", 'source "mongenhosp.dtd"', 'source "none.dtd"\ntarget "massgeneral.dtd"', "\x00", "a -> b"],
)
def test_what_has_no_schemas_has_faults_and_no_example(text: str) -> None:
    found = told(text)
    assert "HX4002" in {fault.code for fault in found.faults}
    assert found.example is None
    assert found.rules == []


def test_values_tell_which_arrow_carried_them() -> None:
    found = told()
    assert found.example is not None and found.example.source is not None and found.example.target is not None
    assert found.example.faults == ()
    there = list(values(found.example.target))
    lines = {line for _, _, carried in there for line in carried}
    assert lines == {arrow.line for arrow in found.arrows}
    assert all(carried for _, _, carried in there)
    tag = line_of("Admission/Problem")
    tags = {value for _, value, carried in there if carried == [tag]}
    assert tags and tags <= {"Pulmonary", "Coronary"}
    assert tags == {value for name, value, carried in values(found.example.source) if carried == [tag]}
    lost = [value for name, value, carried in values(found.example.source) if name == "Doc" and not carried]
    assert lost, "the arrows carry no Doc, and the sample has one"


def test_an_arrow_to_one_member_carries_the_values_of_that_member() -> None:
    text = ARROWS + "Patient/Treat/Doc -> Admission/Coronary/InsName\n"
    sample = (
        "<MonGenHosp><Patient ID='p'><Name>A</Name><Hist/>"
        "<Treat><Date>1</Date><Desc>2</Desc><Doc>D</Doc></Treat></Patient>"
        "<Admission PatRef='p'><Problem>Coronary</Problem><AdmDate>3</AdmDate></Admission>"
        "<Admission PatRef='p'><Problem>Pulmonary</Problem><AdmDate>4</AdmDate></Admission></MonGenHosp>"
    )
    found = told(text, sample)
    assert found.example is not None and found.example.target is not None
    own = line_of("Patient/Treat/Doc", text)
    assert [(name, value) for name, value, lines in values(found.example.target) if own in lines] == [("InsName", "D")]


def test_a_sample_stays_while_arrows_come_and_go() -> None:
    lines = ARROWS.split("\n")
    texts = ["\n".join(lines[:count]) for count in range(line_of("Admission/Problem") + 1, len(lines))]
    shapes = {
        str([value for _, value, _ in values(one.example.source)])
        for one in map(told, texts)
        if one.example and one.example.source
    }
    assert len(shapes) == 1
    assert told(seed=1).example != told().example


@pytest.mark.parametrize(
    ("sample", "code", "exchanged"),
    [
        ("<MonGenHosp>", "HX1002", False),
        ("", "HX1002", False),
        ("<Other/>", "HX4040", False),
        ("<MonGenHosp><Patient ID='p'><Name>A</Name></Patient></MonGenHosp>", "HX2007", True),
        ("<MonGenHosp>" + "<Patient ID='p'/>" * MOST_ELEMENTS + "</MonGenHosp>", "HX1006", False),
        (f"<MonGenHosp><!--{'x' * MOST_CHARACTERS}--></MonGenHosp>", "HX1006", False),
        (
            '<!DOCTYPE MonGenHosp [<!ENTITY x SYSTEM "file:///etc/passwd">]><MonGenHosp>&x;</MonGenHosp>',
            "HX1004",
            False,
        ),
    ],
)
def test_what_is_wrong_with_a_sample_is_told(sample: str, code: str, exchanged: bool) -> None:
    found = told(sample=sample).example
    assert found is not None
    assert code in {fault.code for fault in found.faults}
    assert (found.target is not None) == exchanged
    assert found.text == sample


def test_a_schema_without_finite_documents_has_no_sample() -> None:
    dtd = "<!ELEMENT a (b)> <!ELEMENT b (b, c)> <!ELEMENT c (#PCDATA)>"
    request = MappingRequest(text='source "a.dtd" root a\ntarget "a.dtd" root a\n', files={"a.dtd": dtd})
    found = examine(request).example
    assert found is not None
    assert [fault.code for fault in found.faults] == ["HX2012"]


def test_markup_in_values_is_told_as_text() -> None:
    text = (
        '<MonGenHosp><Patient ID="p"><Name>&lt;script&gt;alert(1)&lt;/script&gt;</Name><Hist/></Patient></MonGenHosp>'
    )
    found = told(sample=text).example
    assert found is not None and found.source is not None
    assert "<script>alert(1)</script>" in {value for _, value, _ in values(found.source)}


def test_the_operation_tries_what_is_drawn_on_the_peers_own_records(http: httpx.Client, peer: Daemon) -> None:
    answer = http.post("/mappings/examine", json={"text": ARROWS, "files": DTDS})
    assert answer.status_code == 200
    found = MappingModel.model_validate(answer.json())
    own = OwnRecords(
        schema_key(read_schema(HOSPITAL / "mongenhosp.dtd")), PeerFolder.open(peer.folder).document_files()
    )
    assert found == told(own=own) != told()
    assert found.example is not None and found.example.tried == found.example.held == 1
    assert all(arrow.carried for arrow in found.arrows)


@pytest.mark.parametrize(
    "wrong", [{}, {"text": 1, "files": {}}, {"text": "", "files": {}, "seed": -1}, {"text": "", "files": {}, "more": 1}]
)
def test_a_request_that_is_none_is_refused(http: httpx.Client, wrong: dict[str, object]) -> None:
    answer = http.post("/mappings/examine", json=wrong)
    assert answer.status_code == 422
    assert answer.json()["faults"][0]["code"] == "HX7060"


# -- selections, functions, tables -----------------------------------------------------------------------------------

SHELF: Final = (
    "<!ELEMENT shelf (item*)> <!ELEMENT item (first?, last?, note*)> <!ATTLIST item kind CDATA #REQUIRED>"
    "<!ELEMENT first (#PCDATA)> <!ELEMENT last (#PCDATA)> <!ELEMENT note (#PCDATA)> <!ATTLIST note of CDATA #IMPLIED>"
)
BOOKS: Final = (
    "<!ELEMENT books (book*)> <!ELEMENT book (name?, remark*)> <!ATTLIST book kind CDATA #IMPLIED>"
    "<!ELEMENT name (#PCDATA)> <!ELEMENT remark (#PCDATA)>"
)
ITEM: Final = 'item[@kind = ("b", "c")]'
NAME: Final = f'if (exists({ITEM}/last)) then concat({ITEM}/first, "\U0001d11e ", {ITEM}/last) else () -> book/name'
SHELVED: Final = f"""source "shelf.dtd" root shelf
target "books.dtd" root books
{NAME}
{ITEM}/note[@of = "x"] -> book/remark
lookup("kinds.csv", {ITEM}/@kind) -> book/@kind oneway
each {ITEM} -> book
"""
RECORDS: Final = (
    '<shelf><item kind="b"><first>A</first><last>B</last><note of="x">1</note><note>2</note></item>'
    '<item kind="d"><first>C</first><last>D</last><note of="x">3</note></item></shelf>'
)


def shelved(own: OwnRecords = NO_RECORDS, table: str = "b,book\nc,copy\n") -> MappingModel:
    files = {"shelf.dtd": SHELF, "books.dtd": BOOKS, "kinds.csv": table}
    return examine(MappingRequest(text=SHELVED, files=files), own)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> OwnRecords:
    """The records of a peer."""
    file = tmp_path_factory.mktemp("shelf") / "shelf.xml"
    file.write_text(RECORDS)
    return OwnRecords(schema_key(parse_schema(SHELF, "shelf")), (file,))


def test_an_arrow_begins_at_all_leaves_of_its_function_in_nodes_that_are_selected(held: OwnRecords) -> None:
    found = shelved(own=held)
    assert found.faults == ()
    assert [(one.kind, one.sources, one.carried) for one in found.arrows] == [
        ("value", [[ITEM, "last"], [ITEM, "first"]], 1),
        ("value", [[ITEM, 'note[@of = "x"]']], 1),
        ("value", [[ITEM, "@kind"]], 1),
        ("each", [[ITEM]], None),
    ]
    assert found.source is not None and found.source.own and found.target is not None and not found.target.own
    assert [(one.path[-1], one.name) for one in found.source.selections] == [
        (ITEM, "item"),
        ('note[@of = "x"]', "note"),
    ]
    assert {line for rule in found.rules for line in rule.arrows} == {3, 4, 5}
    assert found.example is not None and found.example.source is not None
    assert ("first", "A", [3]) in values(found.example.source) and ("last", "B", [3]) in values(found.example.source)
    assert ("@kind", "b", [5]) in values(found.example.source) and ("first", "C", []) in values(found.example.source)


def test_the_parts_of_a_line_are_told_by_16_bit_units() -> None:
    (arrow, *_) = shelved().arrows
    encoded = NAME.encode("utf-16-le")
    parts = [(one.kind, encoded[2 * one.begin : 2 * one.end].decode("utf-16-le")) for one in arrow.parts]
    assert [part for part in parts if part[0] != "conditions"] == [
        ("source", NAME.partition(" -> ")[0]),
        ("condition", 'exists(item[@kind = ("b", "c")]/last)'),
        ("value", NAME.partition(" then ")[2].partition(" else ")[0]),
        ("otherwise", "()"),
        ("target", "book/name"),
    ]
    assert [part for part in parts if part[0] == "conditions"] == [
        ("conditions", '[@kind = ("b", "c")]'),
    ] * 3 + [("conditions", "")]


def test_a_sample_that_is_made_has_values_that_conditions_ask_for() -> None:
    assert all(arrow.carried for arrow in shelved().arrows if arrow.kind == "value")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("b,book\nb,volume\n", 'the table "kinds.csv" cannot be used: two values for the code "b"'),
        ("b\n", 'the table "kinds.csv" cannot be used: 1 columns in a row of a table of codes'),
    ],
)
def test_a_table_that_cannot_be_used_is_named(table: str, message: str) -> None:
    fault = next(fault for fault in shelved(table=table).faults if fault.position and fault.position.file is None)
    assert fault.code == "HX4042" and fault.message.startswith(message)
    assert fault.position == Position(5, 8)


def test_values_are_those_of_the_nodes_that_are_selected(held: OwnRecords) -> None:
    def counted(path: str, own: OwnRecords = held) -> dict[str, int]:
        files = {"shelf.dtd": SHELF, "books.dtd": BOOKS}
        wanted = ValuesRequest(text=SHELVED, files=files, side="source", path=path)
        return {one.value: one.count for one in leaf_values(wanted, own).values}

    assert counted("item/@kind") == {"b": 1, "d": 1}
    assert counted('item[@kind = "d"]/note[@of = "x"]') == {"3": 1}
    assert counted("item/note") == {"1": 1, "2": 1, "3": 1}
    assert counted("item/note", NO_RECORDS) == {}
    with pytest.raises(MappingError, match="HX4001"):
        counted("item/nothing")
    with pytest.raises(MappingError, match="HX3001"):
        counted("-> x")
