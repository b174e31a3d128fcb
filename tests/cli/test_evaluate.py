"""``heptox eval``."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from heptox.cli import main
from heptox.errors import HeptoxError
from heptox.schema import conform, read_dtd
from heptox.xml import read_document
from tests.cli.running import heptox_ended

DOCUMENT = "<r><a k='1'>x</a><a k='2'>y &lt; z</a></r>"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "document.xml"
    file.write_text(DOCUMENT)
    return file


def test_items_are_lines(document: Path) -> None:
    ended = heptox_ended("eval", "//a, //a/@k, data(//a)".replace(", ", " , ").join("()"), document)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        '<a k="1">x</a>',
        '<a k="2">y &lt; z</a>',
        'k="1"',
        'k="2"',
        '"x"',
        '"y < z"',
    ]


def test_items_as_json(document: Path) -> None:
    ended = heptox_ended("eval", "//a/@k", document, "--json")
    assert json.loads(ended.out) == ['k="1"', 'k="2"']
    assert json.loads(heptox_ended("eval", "//none", document, "--json").out) == []


def test_each_document_is_asked_on_its_own(document: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_text("<r><a k='3'>x</a></r>")
    ended = heptox_ended("eval", "for $a in //a, $b in //a where $a/@k < $b/@k return $a/@k", other, document)
    assert ended.out == 'k="1"\n'


def test_query_and_document_on_standard_input_and_in_files(document: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.xq"
    query.write_text("//a[@k = 1]/@k\n")
    for arguments, stdin in (
        (["-f", str(query), str(document)], ""),
        (["-", str(document)], "//a[@k = 1]/@k"),
        (["-f", "-", str(document)], "//a[@k = 1]/@k"),
        (["//a[@k = 1]/@k", "-"], DOCUMENT),
        (["-f", str(query), "-"], DOCUMENT),
    ):
        ended = heptox_ended("eval", *arguments, stdin=stdin)
        assert (ended.code, ended.out, ended.err) == (0, 'k="1"\n', ""), arguments


@pytest.mark.parametrize(
    ("query", "place", "named"),
    [
        ("//a[", "<text>:1:5:", "HX3001"),
        ("for $p in //a return\n  coun($p/b)", "<text>:2:3:", "HX3007 XPST0017"),
        ("count(//a) +\n  $q", "<text>:2:3:", "HX3004"),
        ("count(//a) div 0", "<text>:1:7:", "HX6017 FOAR0001"),
        ("for $p in //a return\n  $q/b", "<text>:2:3:", "$q"),
        ("", "<text>:1:1:", "HX3001"),
    ],
)
def test_a_query_that_is_none_is_one_line_with_its_place(document: Path, query: str, place: str, named: str) -> None:
    ended = heptox_ended("eval", query, document)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith(place)
    assert named in ended.err


def test_any_other_xquery_is_evaluated_by_saxon(document: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_text("<r xmlns:n='urn:n'><a k='3'>x</a><n:b/></r>")
    query = """declare namespace n = "urn:n"; declare variable $k external; declare variable $v external;
        count(//a), //n:b, (for $a in //a order by $a/@k descending return $a)[1], //a[@k = $k] = $v"""
    value = tmp_path / "value"
    value.write_text("x")
    ended = heptox_ended("eval", query, document, other, "--bind", "k=1", "--bind", f"v=@{value}", "--explain")
    items = [
        "2",
        '<a k="2">y &lt; z</a>',
        "true()",
        "1",
        '<n:b xmlns:n="urn:n"/>',
        '<a xmlns:n="urn:n" k="3">x</a>',
        "false()",
    ]
    assert (ended.code, ended.out.splitlines()) == (0, items)
    explained, times = ended.err.splitlines()
    assert explained.startswith("by Saxon: <text>:1:32: HX3002 ")
    assert re.sub(r"[\d.]+", "0", times) == "read 0 ms, Saxon 0 ms"
    ended = heptox_ended("eval", query, document, "--bind", "k=1", "--bind", "x=2")
    assert (ended.code, ended.err) == (1, "HX3008 the query declares no external variable $x (declared: $k, $v)\n")
    ended = heptox_ended("eval", query, document, "--bind", "k=1")
    assert (ended.code, "HX3008" in ended.err, "$v" in ended.err) == (1, True, True)


def test_documents_may_have_names_in_namespaces(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text('<a><b xml:lang="de">1</b><b>2</b></a>')
    ended = heptox_ended("eval", "//b/@*", document, "--explain")
    assert (ended.code, ended.out) == (0, 'xml:lang="de"\n')
    assert "interpreted: " in ended.err
    assert heptox_ended("eval", "//b", document).out == '<b xml:lang="de">1</b>\n<b>2</b>\n'
    refused = heptox_ended("eval", "//b", document, document.with_name("none.xml"))
    assert (refused.code, refused.out) == (1, "")


def test_saxon_has_all_documents_as_the_collection(document: Path) -> None:
    ended = heptox_ended("eval", "count(collection()//a), count(collection() | collection())", document, document)
    assert (ended.code, ended.out.splitlines()) == (0, ["4", "2"])
    ended = heptox_ended("eval", "let $all := fn:collection#0 return count($all()/r)", document, document, "--together")
    assert (ended.code, ended.out) == (0, "2\n")
    ended = heptox_ended("eval", "--together", "//a", document)
    assert (ended.code, ended.out, "XPDY0002" in ended.err) == (1, "", True)


IDENTIFIED = "<!ATTLIST e k ID #IMPLIED r IDREF #IMPLIED>"


@pytest.mark.parametrize("inside", [True, False], ids=["internal subset", "schema"])
def test_saxon_knows_what_is_declared_to_identify(tmp_path: Path, inside: bool) -> None:
    document, schema = tmp_path / "r.xml", tmp_path / "r.dtd"
    schema.write_text(f"<!ELEMENT r (e*)> <!ELEMENT e (#PCDATA)> {IDENTIFIED}")
    subset = f"<!DOCTYPE r [{IDENTIFIED}]>" if inside else ""
    document.write_text(f'{subset}<r><e k="a">1</e><e k="b" r="a">2</e></r>')
    options = () if inside else ("--schema", schema)
    query = 'id("b")/@r/id(.)/string(), idref("a")/../string(@k), count(id("c"))'
    ended = heptox_ended("eval", query, document, *options)
    assert (ended.code, ended.out.splitlines()) == (0, ['"1"', '"b"', "0"])
    ended = heptox_ended("eval", 'collection()/id("a")/string()', document, "--together", *options)
    assert (ended.code, ended.out) == (0, '"1"\n')


def test_a_query_that_needs_no_document() -> None:
    for query, item in (("1 + 1", "2"), ('"a"', '"a"'), ("<a/>", "<a/>")):
        assert heptox_ended("eval", query).out == f"{item}\n"
    assert (heptox_ended("eval", "()").code, heptox_ended("eval", "()").out) == (0, "")
    ended = heptox_ended("eval", "//a")
    assert (ended.code, "no document is given" in ended.err) == (2, True)
    ended = heptox_ended("eval", "declare function local:f($n) { local:f($n) }; local:f(1)", "--timeout", "0.2")
    assert (ended.code, ended.out, "longer than 0.2 s" in ended.err) == (1, "", True)


def test_a_query_file_is_named_in_its_faults(document: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.xq"
    query.write_text("\n//a[")
    ended = heptox_ended("eval", "-f", query, document)
    assert ended.code == 1
    assert ended.err.startswith(f"{query}:2:")


def test_a_query_that_is_no_text(document: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.xq"
    query.write_bytes(b'//a[@k = "\xff"]')
    ended = heptox_ended("eval", "-f", query, document)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert " HX1003 " in ended.err
    ended = heptox_ended("eval", '//a[@k = "\udcff"]', document)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert " HX1003 " in ended.err or ended.err.startswith("HX1003 ")


def test_one_unreadable_document_gives_no_half_answer(document: Path, tmp_path: Path) -> None:
    ended = heptox_ended("eval", "//a", document, tmp_path / "no.xml")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"{tmp_path / 'no.xml'}: HX1001 ")


def test_both_a_query_and_a_file_of_one_are_documents_then(document: Path, tmp_path: Path) -> None:
    query = tmp_path / "query.xq"
    query.write_text("//a/@k")
    ended = heptox_ended("eval", "-f", query, "//a", document)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("//a: HX1001 ")


def test_with_its_schema_a_document_has_its_defaults_and_must_be_valid(tmp_path: Path) -> None:
    schema = tmp_path / "schema.dtd"
    schema.write_text('<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)><!ATTLIST a k CDATA "7">')
    valid, invalid = "<r><a>x</a></r>", "<r>\n<b/></r>"
    assert heptox_ended("eval", "//a/@k", "-", stdin=valid).out == ""
    assert heptox_ended("eval", "//a/@k", "-", "--schema", schema, stdin=valid).out == 'k="7"\n'
    ended = heptox_ended("eval", "//b", "-", "--schema", schema, stdin=invalid)
    assert (ended.code, ended.out) == (1, "")
    assert all(line.startswith("<stdin>:") and " HX2007 " in line for line in ended.err.splitlines())


def test_with_its_schema_a_name_that_it_does_not_have_is_refused(tmp_path: Path) -> None:
    schema = tmp_path / "schema.dtd"
    schema.write_text("<!ELEMENT bib (book*)><!ELEMENT book (title)><!ELEMENT title (#PCDATA)>")
    valid = "<bib><book><title>x</title></book></bib>"
    for query, hint in (
        ("//book/titel", "did you mean title?"),
        ("//book/@title", "did you mean title?"),
        ("/books/title", "the root is bib"),
        ("//book/text()", "known there: title"),
    ):
        ended = heptox_ended("eval", query, "-", "--schema", schema, stdin=valid)
        assert (ended.code, ended.out) == (1, ""), query
        assert " HX3041 " in ended.err and hint in ended.err
        assert heptox_ended("eval", query, "-", stdin=valid).code == 0
    assert heptox_ended("eval", "//(titel | title)/text()", "-", "--schema", schema, stdin=valid).out == "x\n"


def test_what_open_content_alone_may_have_is_told_where_another_name_was_probably_meant(tmp_path: Path) -> None:
    schema = tmp_path / "schema.dtd"
    schema.write_text("<!ELEMENT r (name, o)><!ELEMENT name (#PCDATA)><!ELEMENT o ANY>")
    found = [
        heptox_ended("eval", query, "-", "--schema", schema, stdin="<r><name>x</name><o/></r>")
        for query in ("//nmae", "//other", "//name/text()")
    ]
    assert [ended.code for ended in found] == [0, 0, 0]
    assert "did you mean /r/name?" in found[0].err and "did you mean" not in found[1].err + found[2].err


SCHEMA = """
<!ELEMENT r (a*)> <!ELEMENT a (#PCDATA | b)*> <!ATTLIST a k CDATA "7"> <!ELEMENT b (a*)>
<!ELEMENT s (c*)> <!ELEMENT c (#PCDATA)>
"""


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    file = tmp_path / "schema.dtd"
    file.write_text(SCHEMA)
    return file


def test_with_a_schema_documents_are_answered_in_the_order_given(schema: Path, tmp_path: Path) -> None:
    files = []
    for number, text in enumerate(("<r><a>1</a></r>", "<s><c>2</c></s>", "<r><a>3</a></r>", "<r/>")):
        files.append(tmp_path / f"{number}.xml")
        files[-1].write_text(text)
    ended = heptox_ended("eval", "//a/@k, //c, //a".join("()"), *files, files[2], "--schema", schema)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.split("\n") == ['k="7"', '<a k="7">1</a>', "<c>2</c>", *(['k="7"', '<a k="7">3</a>'] * 2), ""]


def test_documents_are_asked_together_where_the_query_says_so(schema: Path, tmp_path: Path) -> None:
    files = []
    for number, text in enumerate(("<r><a>1</a></r>", "<s><c>2</c><c>3</c></s>", "<r><a>3</a></r>")):
        files.append(tmp_path / f"{number}.xml")
        files[-1].write_text(text)
    same = "for $a in collection()//a, $b in {}//{} where $a = $b return <m>{{data($a)}}</m>"
    with_schema: tuple[str | Path, ...] = ("--schema", schema)
    for options in ((), with_schema):
        ended = heptox_ended("eval", same.format("collection()", "c"), *files, *options)
        assert (ended.code, ended.out, ended.err) == (0, "<m>3</m>\n", "")
        ended = heptox_ended("eval", same.format("", "a"), files[0], files[2], *options)
        assert (ended.code, ended.out, ended.err) == (0, "<m>1</m>\n<m>3</m>\n", "")
    told = heptox_ended("eval", same.format("collection()", "c"), *files, *with_schema, "--explain")
    assert "interpreted: it asks several documents together, and their roots differ" in told.err
    pairs = "for $c in collection()//c, $d in collection()//c where $c = $d return data($c)"
    told = heptox_ended("eval", pairs, files[1], files[1], *with_schema, "--explain")
    assert told.out == '"2"\n"2"\n"3"\n"3"\n' * 2
    assert told.err.startswith("SELECT ")


@pytest.mark.parametrize("text", ["<r>\n<a k=''></r>", "<r>\n<b/></r>", "<r>&x;</r>", "<s><c/><c><c/></c></s>"])
def test_with_a_schema_one_bad_document_gives_no_half_answer(schema: Path, tmp_path: Path, text: str) -> None:
    good, bad = tmp_path / "good.xml", tmp_path / "bad.xml"
    good.write_text("<r><a>1</a></r>")
    bad.write_text(text)
    ended = heptox_ended("eval", "//a", good, bad, "--schema", schema)
    with pytest.raises(HeptoxError) as raised:
        document = read_document(bad)
        conform(document, read_dtd(schema, str(document.root.tag)))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "".join(f"{' '.join(str(fault).splitlines())}\n" for fault in raised.value.faults)


def test_a_document_whose_root_is_none_of_the_schemas_is_refused(tmp_path: Path, schema: Path) -> None:
    for text, tag in (("<unknown/>", "unknown"), ("<!-- x -->\n<c>1</c>", "c")):
        (tmp_path / "bad.xml").write_text(text)
        ended = heptox_ended("eval", "//c", tmp_path / "bad.xml", "--schema", schema)
        assert (ended.code, ended.out) == (1, "")
        line = text.count("\n") + 1
        assert ended.err.startswith(f"{tmp_path / 'bad.xml'}:{line}:1: HX2013 the root element is {tag}, not r or s")
    (tmp_path / "recursive.dtd").write_text("<!ELEMENT a (b?)> <!ELEMENT b (a?)>")
    for text in ("<a><b/></a>", "<b/>"):
        assert heptox_ended("eval", "//b", "-", "--schema", tmp_path / "recursive.dtd", stdin=text).out == "<b/>\n"


@pytest.mark.parametrize(
    ("query", "shown", "parts"),
    [
        ("//c", "SELECT ", ["read", "start", "load", "plan", "statement", "items"]),
        ("()", "no statement: ", ["read", "start", "load", "plan", "items"]),
        ("//a/b", "interpreted: ", ["read", "start", "load", "plan", "items"]),
    ],
)
def test_explain_shows_the_statement_and_the_times(schema: Path, query: str, shown: str, parts: list[str]) -> None:
    given = "<r/>" if "a" in query else "<s><c>1</c></s>"
    ended = heptox_ended("eval", query, "-", "--schema", schema, "--explain", stdin=given)
    assert ended.code == 0
    assert ended.out == ("<c>1</c>\n" if query == "//c" else "")
    *explanation, times = ended.err.splitlines()
    assert explanation[0].startswith(shown)
    assert [re.sub(r" \d+\.\d ms", "", part) for part in times.split(", ")] == parts


def test_a_large_document_without_a_schema_is_asked_by_a_statement(tmp_path: Path) -> None:
    large = tmp_path / "large.xml"
    people = "".join(f"<p n='{number}'><name>N{number} &amp; co</name></p>\n" for number in range(120_000))
    large.write_text(f"<all>{people}</all>", encoding="utf-8")
    ended = heptox_ended("eval", "for $p in //p where $p/@n = '77' return <x>{$p/name}</x>", large, "--explain")
    assert (ended.code, ended.out) == (0, "<x><name>N77 &amp; co</name></x>\n")
    assert ended.err.startswith("SELECT")
    interpreted = heptox_ended("eval", "(//p[@n = '0']/name/text(), /all[empty(text())])", large, "--explain")
    assert (interpreted.code, interpreted.out) == (0, "N0 &amp; co\n")
    assert "it asks for text" in interpreted.err
    large.write_text(f"<all>{people}</oll>", encoding="utf-8")
    broken = heptox_ended("eval", "//p/name", large)
    assert (broken.code, broken.out) == (1, "")
    assert "large.xml:120001:" in broken.err
    assert "HX1002" in broken.err


def test_explain_without_a_schema_says_that_the_query_is_interpreted(document: Path) -> None:
    ended = heptox_ended("eval", "//a/@k", document, "--explain", "--json")
    assert json.loads(ended.out) == ['k="1"', 'k="2"']
    assert re.fullmatch(
        r"interpreted: no schema is given, and \S+ has less than 4,000,000 bytes\nread [\d.]+ ms, items [\d.]+ ms\n",
        ended.err,
    )


class FullDevice(io.BytesIO):
    """A device without space, until it is given some."""

    full = True

    def write(self, data: Any) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(data)


def test_output_that_cannot_be_written_is_one_line(
    document: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    device = FullDevice()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(device))
    with pytest.raises(SystemExit) as ended:
        main(["eval", "//a", str(document)])
    device.full = False
    assert ended.value.code == 1
    assert capsys.readouterr().err == "heptox: [Errno 28] No space left on device\n"


def test_an_xsd_is_read_and_checked_by_the_same_catalogues(tmp_path: Path) -> None:
    space = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
    address = "http://nowhere.example/o.xsd"
    files = {
        "a.xsd": f'<xs:schema {space} xmlns:o="urn:o" targetNamespace="urn:t" elementFormDefault="qualified">'
        f'<xs:import namespace="urn:o" schemaLocation="{address}"/><xs:element name="a"><xs:complexType><xs:sequence>'
        '<xs:element ref="o:b"/></xs:sequence></xs:complexType></xs:element></xs:schema>',
        "other.xsd": f'<xs:schema {space} targetNamespace="urn:o"><xs:element name="b" type="xs:int"/></xs:schema>',
        "named.xml": '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        f'<uri name="{address}" uri="other.xsd"/></catalog>',
        "d.xml": '<a xmlns="urn:t"><b xmlns="urn:o">1</b></a>',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ("--schema", tmp_path / "a.xsd", "--catalog", tmp_path / "named.xml")
    ended = heptox_ended("eval", "//o:b", tmp_path / "d.xml", *options)
    assert (ended.code, ended.out) == (0, '<b xmlns="urn:o">1</b>\n'), ended.err
