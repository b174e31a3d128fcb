"""Schemas by what they hold, and what is kept of XSDs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from heptox.errors import HeptoxError
from heptox.schema import parse_dtd, read_schema, write_graph
from tests.schema.test_xsd import ELEMENT, XS, xsd
from tests.support.shared import DATA, reads_shared
from tools.console import ROOT

INCLUDING = '<xs:include schemaLocation="b.xsd"/>'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which schemas are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/heptox/schemas"


def test_schemas_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    dtd = tmp_path / "a.xsd"
    dtd.write_text("<!-- xs:schema --><!ELEMENT schema EMPTY>", encoding="utf-8")
    assert read_schema(dtd).root == "schema"
    assert read_schema(xsd(tmp_path / "b.dtd", ELEMENT)).root == "{urn:t}a"
    wide = tmp_path / "c"
    wide.write_text((tmp_path / "b.dtd").read_text(encoding="utf-8"), encoding="utf-16")
    assert read_schema(wide).root == "{urn:t}a"
    text = tmp_path / "d.dtd"
    text.write_text(write_graph(parse_dtd("<!ELEMENT x EMPTY>")), encoding="utf-8")
    assert read_schema(text).root == "x"
    with pytest.raises(HeptoxError, match=r"none\.xsd: HX1001 cannot be read: No such file"):
        read_schema(tmp_path / "none.xsd")


@pytest.mark.parametrize("text", ["<!ELEMENT a EMPTY>", f"<xs:schema {XS}>{ELEMENT}</xs:schema>"])
def test_a_schema_is_read_from_standard_input(text: str) -> None:
    with mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()))):
        assert read_schema("-").root == "a"


def test_what_was_read_is_kept_until_a_file_changes(tmp_path: Path, cache: Path) -> None:
    path = xsd(tmp_path / "a.xsd", INCLUDING)
    other = xsd(tmp_path / "b.xsd", ELEMENT)
    graph = read_schema(path)
    assert len(list(cache.iterdir())) == 2
    with mock.patch("heptox.schema.reading.schema_files", side_effect=AssertionError):
        again = read_schema(path)
    assert (again, again.text, again.file, again.prefixes) == (graph, graph.text, graph.file, graph.prefixes)
    xsd(other, ELEMENT.replace("xs:string", "xs:int"))
    assert read_schema(path).elements["{urn:t}a"].value_type == "integer"
    assert read_schema(path, "a") == read_schema(path)


def test_a_file_that_was_missing_counts_once_it_is_there(tmp_path: Path, cache: Path) -> None:
    text = """<xs:import namespace="http://www.w3.org/1999/xlink" schemaLocation="x.xsd"/>
              <xs:element name="a" xmlns:x="http://www.w3.org/1999/xlink"><xs:complexType>
              <xs:attribute ref="x:href"/></xs:complexType></xs:element>"""
    path = xsd(tmp_path / "a.xsd", text)
    assert read_schema(path).elements["{urn:t}a"].attributes[0].value_type == "anyURI"
    xsd(tmp_path / "x.xsd", '<xs:attribute name="href" type="xs:int"/>', namespace="http://www.w3.org/1999/xlink")
    assert read_schema(path).elements["{urn:t}a"].attributes[0].value_type == "integer"
    assert cache.is_dir()


def test_what_is_kept_and_damaged_is_read_anew(tmp_path: Path, cache: Path) -> None:
    path = xsd(tmp_path / "a.xsd", ELEMENT)
    graph = read_schema(path)
    for kept in list(cache.iterdir()):
        for content in (b"", b"{}", b"[]", b"\xff", b"[" * 100_000, kept.read_bytes()[:-9]):
            kept.write_bytes(content)
            assert read_schema(path) == graph
        kept.unlink()
        os.mkfifo(kept)
        assert read_schema(path) == graph


def test_what_is_kept_of_another_schema_is_not_taken(tmp_path: Path, cache: Path) -> None:
    read_schema(xsd(tmp_path / "a.xsd", ELEMENT))
    (one,) = cache.glob("*.files")
    read_schema(other := xsd(tmp_path / "b.xsd", ELEMENT.replace('"a"', '"b"')))
    (two,) = set(cache.glob("*.files")) - {one}
    for suffix in (".files", ".graph"):
        one.with_suffix(suffix).rename(two.with_suffix(suffix))
    assert read_schema(other).root == "{urn:t}b"


def test_pipes_and_devices_are_no_files_of_schemas(tmp_path: Path, cache: Path) -> None:
    """Nobody waits for who writes to a pipe, or reads a device that has no end."""
    main = xsd(tmp_path / "a.xsd", INCLUDING)
    other = xsd(tmp_path / "b.xsd", ELEMENT)
    read_schema(main)
    other.unlink()
    os.mkfifo(other)
    with pytest.raises(HeptoxError, match="HX2031"):
        read_schema(main)
    with pytest.raises(HeptoxError, match="HX1001 cannot be read: it is no regular file"):
        read_schema(other)
    other.unlink()
    other.symlink_to("/dev/zero")
    with pytest.raises(HeptoxError, match="HX2031"):
        read_schema(main)
    assert cache.is_dir()


def test_nothing_is_kept_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = xsd(tmp_path / "a.xsd", ELEMENT)
    assert read_schema(path) == read_schema(path)


@reads_shared
def test_what_is_kept_is_read_without_the_library(cache: Path) -> None:
    path = DATA / "library/xsd/MARC21slim.xsd"
    read_schema(path)
    program = f"""import sys
from heptox.schema import read_schema
read_schema({str(path)!r})
print("xmlschema" in sys.modules)"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert ended.stdout == "False\n" and cache.is_dir()
