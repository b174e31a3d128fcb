"""Arrows and boxes as text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from heptox.errors import Position
from heptox.grammar import (
    Arrow,
    BoxDeclaration,
    Entity,
    JoinDeclaration,
    KeyDeclaration,
    Name,
    ReferenceDeclaration,
    SchemaDeclaration,
    SchemaPath,
    Statement,
    parse_arrow_lines,
)

names = st.sampled_from(
    [
        "a",
        "b-c",
        "x.y",
        "ns:e",
        "source",
        "target",
        "root",
        "reference",
        "key",
        "join",
        "box",
        "each",
        "oneway",
        "mirrored",
        "text",
        "_x0020_",
        "Œd·1",
    ]
)
sides = st.sampled_from(["source", "target"])
readings = st.sampled_from(["both", "along", "against"])


def _path(first: list[str], inner: list[str], last: str | None) -> SchemaPath:
    return SchemaPath((*first, *inner, *([last] if last else [])))


lasts = st.one_of(st.none(), names.map(lambda name: f"@{name}"), st.just("text()"))
paths = st.one_of(
    st.builds(_path, names.map(lambda name: [f"[{name}]"]), st.lists(names, max_size=2), lasts),
    st.builds(_path, st.just([]), st.lists(names, min_size=1, max_size=3), lasts),
    st.builds(_path, st.just([]), st.just([]), lasts.filter(bool)),
)
parents = st.builds(
    _path, st.one_of(st.just([]), names.map(lambda n: [f"[{n}]"])), st.lists(names, max_size=2), st.none()
)
statements: st.SearchStrategy[Statement] = st.one_of(
    st.builds(SchemaDeclaration, sides, st.text('abc/. #"'.replace('"', ""), min_size=1), st.one_of(st.none(), names)),
    st.builds(ReferenceDeclaration, sides, paths, paths),
    st.builds(KeyDeclaration, sides, paths),
    st.builds(JoinDeclaration, sides, paths, paths),
    st.builds(BoxDeclaration, sides, names, parents, st.lists(names.map(Name), min_size=1, max_size=3).map(tuple)),
    st.builds(Arrow, paths, paths, st.booleans(), readings),
    st.builds(Entity, paths, paths, readings),
)


@given(st.lists(statements, max_size=4).map(tuple))
def test_what_is_printed_is_parsed_again(written: tuple[Statement, ...]) -> None:
    assert parse_arrow_lines("".join(f"{statement}\n" for statement in written)) == (written, ())


def test_the_example_of_the_specification() -> None:
    text = """
source "mongenhosp.dtd" root MonGenHosp
target "massgeneral.dtd" root MassGeneral

source reference Admission/@PatRef -> Patient/@ID
source key Patient/MedCrNo                       # optional: more keys than the ID attributes
source join Admission/@PatRef -> Patient/@ID
target box Illness = Admission/(Pulmonary | Coronary)
Patient/@ID             -> [Illness]/@ID
description => text
"""
    parsed = parse_arrow_lines(text, "x.arrows")[0]
    assert [type(statement).__name__ for statement in parsed] == [
        "SchemaDeclaration", "SchemaDeclaration", "ReferenceDeclaration", "KeyDeclaration", "JoinDeclaration",
        "BoxDeclaration", "Arrow", "Arrow",
    ]  # fmt: skip
    box, arrow, copy = parsed[-3:]
    assert isinstance(box, BoxDeclaration)
    assert [member.position for member in box.members] == [
        Position(8, 33, "x.arrows"),
        Position(8, 45, "x.arrows"),
    ]
    assert isinstance(arrow, Arrow)
    assert arrow.target.position == Position(9, 28, "x.arrows")
    assert isinstance(copy, Arrow)
    assert copy.copies


def test_an_arrow_needs_no_spaces() -> None:
    assert parse_arrow_lines("a-b->c-d")[0] == (Arrow(SchemaPath(("a-b",)), SchemaPath(("c-d",))),)


def test_a_line_can_be_said_of_one_direction_only() -> None:
    text = "each item/a -> book oneway\na => b mirrored\ntarget join b/@r -> c/@i\na -> b/oneway oneway # why\n"
    assert parse_arrow_lines(text)[0] == (
        Entity(SchemaPath(("item", "a")), SchemaPath(("book",)), "along"),
        Arrow(SchemaPath(("a",)), SchemaPath(("b",)), True, "against"),
        JoinDeclaration("target", SchemaPath(("b", "@r")), SchemaPath(("c", "@i"))),
        Arrow(SchemaPath(("a",)), SchemaPath(("b", "oneway")), reading="along"),
    )


def test_elements_may_be_called_as_the_words_are() -> None:
    text = "each each -> each oneway\neach -> each\neach/each -> oneway\neach oneway -> mirrored\n"
    assert [str(statement) for statement in parse_arrow_lines(text)[0]] == text.splitlines()


def test_every_line_that_is_wrong_is_told() -> None:
    text = "a -> b\na ->\nbox X = (a)\na/@b/c -> d\nsource key [X\n"
    faults = parse_arrow_lines(text, "x.arrows")[1]
    places = [(fault.code, fault.position and (fault.position.line, fault.position.column)) for fault in faults]
    assert places == [
        ("HX3001", (2, 5)),
        ("HX3001", (3, 5)),
        ("HX3001", (4, 3)),
        ("HX3001", (5, 14)),
    ]
    assert all(fault.hint for fault in faults)
    assert faults[0].excerpt == "a ->\n    ^"


def test_a_string_has_no_character_that_xml_has_not() -> None:
    text = '# \x1b[1m read as before\n"a\x01" -> b\nreplace(a, "k", "\uffff") -> b\na[c = ("x", "\x02")]/d -> b\n'
    faults = parse_arrow_lines(text, "x.arrows")[1]
    assert [str(fault).partition(":")[2].partition(" is no")[0] for fault in faults] == [
        "2:1: HX3001 U+0001",
        "3:17: HX3001 U+FFFF",
        "4:13: HX3001 U+0002",
    ]
    assert {fault.hint for fault in faults} == {"leave it out of the string"}


def test_a_file_name_that_cannot_be_written_is_no_declaration() -> None:
    with pytest.raises(ValueError, match="quotation mark"):
        SchemaDeclaration("source", 'a".dtd')
