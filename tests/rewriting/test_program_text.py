"""Programs as text."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import DisseminationError
from heptox.rewriting import (
    Insert,
    Program,
    Rename,
    Swap,
    Upgrade,
    load_program,
    parse_program,
    print_program,
)
from heptox.schema import SchemaTree, parse_dtd, read_dtd
from tests.support.budget import tries
from tests.support.rewriting.making import random_program, random_schema

DTD = """\
<!ELEMENT uni (faculty*)> <!ELEMENT faculty (name, course*)> <!ELEMENT course (title, author*)>
<!ATTLIST course code CDATA #REQUIRED> <!ELEMENT author (name, article*)>
<!ELEMENT name (#PCDATA)> <!ELEMENT title (#PCDATA)> <!ELEMENT article (#PCDATA)>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "uni.dtd").write_text(DTD)
    return tmp_path


def test_a_program_is_loaded_from_a_file(folder: Path) -> None:
    file = folder / "uni.operators"
    file.write_text(
        'source "uni.dtd" root uni\n'
        "swap faculty/course/author with faculty/course/author/article\n"
        "insert by in faculty/course for faculty/course/author/article\n"
        "upgrade * from faculty\n"
        "rename faculty/course/+by to written\n"
    )
    author = ("faculty", "course", "author")
    assert load_program(file).operators == (
        Swap(author, (*author, "article")),
        Insert(author[:2], ("by",), ((*author, "article"),)),
        Upgrade(author[:1]),
        Rename((*author[:2], "+by"), "written"),
    )
    assert print_program(load_program(file), folder) == file.read_text()
    assert parse_program(print_program(load_program(file)), "") == load_program(file)


def test_every_fault_of_a_file_is_told_in_one_run(folder: Path) -> None:
    lines = [
        'source "uni.dtd" root uni',
        "renam faculty to school",
        "rename facluty to school",
        "dissolve .",
        "upgrade faculty/course/title from faculty/course",
        "insert w in faculty/course for faculty/course/title",
        "drop faculty/course/+w/text()",
        "to element faculty/course",
        "rename faculty/course/@code to number",
        'source "other.dtd"',
        "swap . with faculty",
        "drop faculty",
        "prune faculty/course",
    ]
    with pytest.raises(DisseminationError) as caught:
        parse_program("\n".join(lines), folder, "f.operators")
    assert [str(fault) for fault in caught.value.faults] == [
        "f.operators:2:1: HX3001 unexpected 'renam' (did you mean 'rename'?)",
        "f.operators:3:8: HX9102 facluty is not there (did you mean faculty?)",
        "f.operators:4:1: HX9102 dissolve cannot be applied to the root (a document has one root)",
        "f.operators:6:1: HX9102 faculty/course/title is not a child of faculty/course here",
        "f.operators:7:6: HX9102 faculty/course/+w/text() is not there (nodes are named by their paths in the source"
        " schema, wherever they stand by now)",
        "f.operators:8:1: HX9102 faculty/course is no attribute",
        "f.operators:9:1: HX9102 faculty/course/@code cannot be called number (to element and to attribute make one of"
        " the other)",
        "f.operators:10:1: HX4003 the source schema is declared again (keep one of the lines)",
        "f.operators:11:1: HX9102 swap cannot be applied to the root (a document has one root)",
        "f.operators:13:7: HX9102 faculty/course is not there (nodes are named by their paths in the source schema,"
        " wherever they stand by now)",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rename . to x", "HX4002 the source schema is not declared"),
        ('source "none.dtd"', '<text>:1:1: HX4002 the schema "none.dtd" cannot be used'),
        ('source "uni.dtd" root x', "HX2005"),
    ],
)
def test_a_schema_that_cannot_be_had_is_told(folder: Path, text: str, message: str) -> None:
    with pytest.raises(DisseminationError) as caught:
        parse_program(text, folder)
    assert message in str(caught.value)


def test_a_program_without_a_schema_file_cannot_be_printed() -> None:
    with pytest.raises(ValueError, match="the schema was not read from a file"):
        print_program(Program(SchemaTree(parse_dtd("<!ELEMENT a EMPTY>")), ()))


@settings(max_examples=tries(150))
@given(st.randoms(use_true_random=False))
def test_what_is_printed_is_read_as_the_same_program(tmp_path_factory: pytest.TempPathFactory, random: Random) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "random.dtd").write_text(random_schema(random).graph.text or "")
    program = random_program(random, SchemaTree(read_dtd(folder / "random.dtd", "e0")))
    assert parse_program(print_program(program, folder), folder) == program
