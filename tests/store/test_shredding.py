"""What becomes of a document while it is read, against trees in memory and against Saxon."""

from __future__ import annotations

import io
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from heptox.errors import InputError
from heptox.schema import EdgeValidator, SchemaGraph, parse_dtd
from heptox.schema.validation import MAXIMUM_FAULTS
from heptox.store import canonical
from heptox.store.canonical import CanonicalReader, Form
from heptox.store.markup import Names
from heptox.store.places import Places
from heptox.store.relations import Catalogue, Part
from heptox.store.shredding import Cell, MisfitError, Shredder
from heptox.store.written_names import WrittenNames
from heptox.xml import Prefixes, XmlReader
from tests.store.stored import expected, random_graph, random_text
from tests.support import saxon
from tests.support.budget import tries


class Small(io.BytesIO):
    """A source that gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self._size = size

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(self._size, size or 0))


@dataclass
class Shredded:
    """What becomes of a document: its text, its rows by relation, what does not fit."""

    text: str
    rows: list[list[list[Cell]]]
    taken: int
    misfits: EdgeValidator | None = None


def misfits_of(graph: SchemaGraph, reader: XmlReader) -> EdgeValidator:
    """What of a document does not fit, as a store finds it when it reads the document again."""
    misfits = EdgeValidator(graph, lambda: reader.position, "HX6020")
    for _ in reader.read(misfits.start, misfits.end, misfits.text):
        pass
    return misfits


def shred(text: str | bytes, graph: SchemaGraph, size: int = 1 << 18) -> Shredded:
    data = text.encode() if isinstance(text, str) else text
    places = Places(Catalogue(graph))
    shredder = Shredder(places)
    found = Shredded("", [[] for _ in places.sources], 0)
    form = Form(graph, Names(places.types, places.attributes), WrittenNames())
    reader = CanonicalReader(form, XmlReader(Small(data, size)))
    parts: list[bytes] = []
    for block in reader.blocks():
        parts.append(block.text)
        if found.misfits is None:
            try:
                for relation, rows in shredder.rows(block):
                    found.rows[relation] += map(
                        list, zip(*(column.to_pylist() for column in rows.columns), strict=True)
                    )
            except MisfitError:
                found.misfits = misfits_of(graph, XmlReader(Small(data, size)))
    found.text = b"".join(parts).decode()
    found.taken = reader.taken
    return found


@pytest.mark.usefixtures("small_blocks")
@given(st.integers(0, 1 << 32), st.sampled_from((7, 64, 500, 1 << 18)))
@settings(max_examples=tries(600), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_and_rows_are_those_of_a_tree_in_memory(seed: int, size: int) -> None:
    random = Random(seed)
    graph = random_graph(random)
    text = random_text(graph, random)
    wanted = expected(text, graph, Catalogue(graph))
    found = shred(text, graph, size)
    assert found.misfits is None
    assert found.text.encode() == wanted.text
    assert [sorted(rows) for rows in found.rows] == [sorted(rows) for rows in wanted.rows.values()]
    assert saxon.evaluate("/*", found.text) == [found.text]
    slices = [wanted.text[node:stop].decode() for node, stop in sorted(wanted.places.values())]
    assert saxon.evaluate("//*", found.text) == slices


@pytest.mark.usefixtures("small_blocks")
def test_names_without_a_prefix_are_taken_with_that_of_the_schema() -> None:
    written = WrittenNames(Prefixes((("p", "urn:u"),)))
    attributes = "<!ATTLIST a xmlns CDATA #FIXED 'urn:u'> <!ATTLIST b k CDATA #IMPLIED>"
    graph = written.graph(parse_dtd(f"<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)> {attributes}", "a"))
    data = b'<a xmlns="urn:u">' + 40 * b'<b k="1">x</b><b/>' + b"<!-- <b/> --><b><![CDATA[<b>]]></b></a>"
    form = Form(graph, Names({"p:a": 0, "p:b": 1}, {"k": 0}), written)
    reader = CanonicalReader(form, XmlReader(Small(data, 64)))
    blocks = b"".join(block.text for block in reader.blocks())
    assert blocks == b"<p:a>" + 40 * b'<p:b k="1">x</p:b><p:b/>' + b"<p:b>&lt;b&gt;</p:b></p:a>"
    assert reader.taken > len(data) / 2


GRAPH = parse_dtd(
    """<!ELEMENT a (b?, c*, m?, n?, e?)> <!ATTLIST a k CDATA #IMPLIED>
    <!ELEMENT b (#PCDATA)> <!ELEMENT c (b?, d?)> <!ELEMENT d (#PCDATA)> <!ATTLIST d t NMTOKENS "x  y">
    <!ELEMENT m (#PCDATA|b)*> <!ELEMENT n (b?, n*)> <!ELEMENT e EMPTY>""",
    "a",
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<a><c/><m>x<b>y</b><b/></m><n><b/><n><b/></n></n><e/></a>", []),
        ("<b/>", ["1:1 /: b cannot stand as the root"]),
        ("<z/>", ["1:1 /: z cannot stand as the root"]),
        ("<a><b/>\n<b/></a>", ["2:1 /a: b stands twice"]),
        ("<a><c/><c><d/><d/></c></a>", ["1:15 /a/c: d stands twice"]),
        ("<a><z><b/><y k='1'>x</y></z><d/></a>", ["1:4 /a: z cannot stand in a", "1:29 /a: d cannot stand in a"]),
        ("<a z='1' k='2'/>", ["1:1 /a: a has no attribute z"]),
        ("<a>x<b/></a>", ["1:5 /a: a holds text"]),
        ("<a>\u00a0</a>", ["1:5 /a: a holds text"]),
        ("<a><e> </e></a>", ["1:8 /a/e: e holds text"]),
        ("<a><m><c/></m></a>", ["1:7 /a/m: c cannot stand in m"]),
        ("<a><m><b k=''/></m></a>", ["1:7 /a/m/b: b has no attribute k"]),
        ("<a><m/><m/></a>", ["1:8 /a: m stands twice"]),
        ("<a><n><n><b/><n/><b/></n><b/></n></a>", ["1:18 /a/n/n: b stands twice"]),
        ("<a><n>x<n> </n></n></a>", ["1:8 /a/n: n holds text"]),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(text: str, told: list[str]) -> None:
    found = shred(text, GRAPH).misfits
    faults = [] if found is None else found.faults
    assert [f"{fault.position}".removeprefix("<text>:") + f" {fault.message}" for fault in faults] == told
    assert found is None or found.count == len(told)
    assert {fault.code for fault in faults} <= {"HX6020"}


def test_what_does_not_fit_is_kept_with_the_defaults_of_its_types() -> None:
    text = "<!DOCTYPE q SYSTEM 'q.dtd'><q x='1'><d t=' 1  2'/><!-- c --><z>&lt;<d>></d></z></q >"
    assert shred(text, GRAPH).text == '<q x="1"><d t="1 2"/><z>&lt;<d t="x y">&gt;</d></z></q>'


def test_only_the_first_misfits_are_told_and_all_are_counted() -> None:
    found = shred(f"<a>{'<z/>' * 50}</a>", GRAPH).misfits
    assert found is not None
    assert (len(found.faults), found.count) == (MAXIMUM_FAULTS, 50)


def test_text_that_is_there_and_empty_is_not_absent() -> None:
    columns = [(column.path, column.part) for column in Catalogue(GRAPH).root.columns]
    (row,) = shred("<a><b/></a>", GRAPH).rows[0]
    cells = dict(zip(columns, row[4:], strict=True))
    assert cells[("b",), Part.TEXT] == ""
    assert cells[("@k",), Part.TEXT] is None
    assert cells[("m",), Part.NODE] is None


@pytest.mark.parametrize(
    ("text", "written"),
    [("<a xmlns:p='u'/>", "<a/>"), ("<a xmlns=''><b xmlns=''/></a>", "<a><b/></a>")],
)
def test_a_namespace_that_nothing_belongs_to_is_none(text: str, written: str) -> None:
    assert shred(text, GRAPH).text == written


@pytest.mark.parametrize(
    "text",
    [
        "<p:a/>",
        "<a p:k='1'/>",
        "<z z:z='1'/>",
    ],
)
def test_prefixes_without_declaration_are_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        shred(text, GRAPH)
    assert [fault.code for fault in caught.value.faults] == ["HX1007"]


@pytest.mark.parametrize(
    ("element", "code"),
    [
        (b"<\xff/>", "HX1003"),
        (b"<c \xff='1'/>", "HX1003"),
        (b'<c \xff="1"/>', "HX1003"),
        (b"<c><b>\xff</b></c>", "HX1003"),
        (b'<c><d t="\xff y"/></c>', "HX1003"),
        (b"<c></d>", "HX1002"),
        (b"<c>&lt;&</c>", "HX1002"),
        (b"<c><b>x</b>]]></c>", "HX1002"),
        (b'<a k="1" k="2"/>', "HX1002"),
        (b"</a><a>", "HX1002"),
        (b"<b>&u;</b>", "HX1005"),
    ],
)
def test_what_is_no_document_is_refused_wherever_it_is(element: bytes, code: str) -> None:
    for before in (0, 3_000):
        with pytest.raises(InputError) as caught:
            shred(b"<a>" + b"<c/>" * before + element + b"<c/>" * 3_000 + b"</a>", GRAPH)
        assert [fault.code for fault in caught.value.faults] == [code]
        assert caught.value.faults[0].position is not None


def test_deep_nesting_is_kept_and_too_deep_nesting_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = f"<a>{'<n>' * 99_999}{'</n>' * 99_999}</a>"
    found = shred(deep, GRAPH)
    assert found.misfits is None
    assert found.text == deep.replace("<n></n>", "<n/>")
    assert len(found.rows[0]) == 1
    monkeypatch.setattr(canonical, "MAXIMUM_DEPTH", 50_000)
    with pytest.raises(InputError) as caught:
        shred(deep, GRAPH, 1000)
    assert [fault.code for fault in caught.value.faults] == ["HX1006"]


def test_distinct_tags_are_kept() -> None:
    text = f"<a>{''.join(f'<t{number}/>' for number in range(200_000))}</a>"
    found = shred(text, GRAPH)
    assert found.text == text
    assert found.misfits is not None
    assert found.misfits.count == 200_000


def test_a_long_text_that_does_not_fit_is_kept() -> None:
    text = f"<a><b>{'x' * 1_000_000}<d t='1'>{'y' * 1_000_000}</d>z</b><m>{'x' * 1_000_000}</m></a>"
    found = shred(text, GRAPH)
    assert found.text == text.replace("'", '"')
    assert found.misfits is not None
    assert found.misfits.count == 1


def test_many_attributes_are_kept() -> None:
    attributes = " ".join(f't{number}="1"' for number in range(100_000))
    text = f"<a {attributes}/>"
    found = shred(text, GRAPH)
    assert found.text == text
    assert found.misfits is not None
    assert found.misfits.count == 100_000


def test_a_long_text_is_one_value() -> None:
    text = "x &gt; y\n" * 1_000_000
    found = shred(f"<a><b>{text}</b></a>", GRAPH)
    assert found.misfits is None
    assert found.text == f"<a><b>{text}</b></a>"
    assert text.replace("&gt;", ">") in found.rows[0][0]
