"""``heptox eval``."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from heptox.cli import main
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
        ("for $p in //a return count($p/b)", "<text>:1:22:", "count()"),
        ("following::x", "<text>:1:1:", "following"),
        ("//a/following-sibling::x", "<text>:1:5:", "following-sibling"),
        ("for $p in //a return\n  $q/b", "<text>:2:3:", "$q"),
        ("", "<text>:1:1:", "HX3001"),
    ],
)
def test_a_query_that_is_none_is_one_line_with_its_place(document: Path, query: str, place: str, named: str) -> None:
    ended = heptox_ended("eval", query, document)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith(place)
    assert named in ended.err


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
