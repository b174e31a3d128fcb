"""Documents rewritten while they are read."""

from __future__ import annotations

from io import BytesIO
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import DisseminationError, HeptoxError
from heptox.rewriting import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    Operator,
    Program,
    Prune,
    Rename,
    Rewriter,
    StreamingRewriter,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
    scopes,
)
from heptox.schema import SchemaTree, parse_dtd
from heptox.xml import parse_document, write_element
from tests.support.budget import tries
from tests.support.checking import Outcome
from tests.support.rewriting.checking import check_streaming

SCHEMA = SchemaTree(
    parse_dtd(
        "<!ELEMENT uni (name, faculty*)> <!ELEMENT faculty (name, course*)> <!ELEMENT course (title, time*, room?)>"
        "<!ATTLIST course code CDATA #IMPLIED> <!ELEMENT name (#PCDATA)> <!ELEMENT title (#PCDATA)>"
        "<!ELEMENT time (#PCDATA)> <!ELEMENT room (#PCDATA)>"
    )
)
NAME, FACULTY = ("name",), ("faculty",)
FACULTY_NAME, COURSE = (*FACULTY, "name"), (*FACULTY, "course")
TITLE, TIME, ROOM, CODE = ((*COURSE, step) for step in ("title", "time", "room", "@code"))


def program(*operators: Operator) -> Program:
    return Program(SCHEMA, operators)


def university(faculties: int = 20, courses: int = 20) -> bytes:
    course = '<course code="{0}">\n<title>T{0}</title><time>9</time><time>10</time><room>{0}</room></course>'
    one = "<faculty>\n<name>F</name>" + "".join(map(course.format, range(courses))) + "\n</faculty>"
    return f"<uni><name>U</name>{one * faculties}</uni>".encode()


def streamed(text: bytes, *operators: Operator, most_held: int = 5000) -> str:
    parts = StreamingRewriter(program(*operators), most_held=most_held, piece=200).rewrite(BytesIO(text), "uni.xml")
    return b"".join(parts).decode()


@pytest.mark.parametrize(
    ("operators", "blocking"),
    [
        ((Rename((), "university"), Rename(COURSE, "subject"), ToElement(CODE)), set()),
        ((Drop(FACULTY_NAME), Dissolve(FACULTY), Drop(NAME)), set()),
        ((Insert(COURSE, ("when",), (TIME, ROOM)),), set()),
        ((Insert(COURSE, ("all",)), Insert(FACULTY, ("courses",), (COURSE,)), Insert((), ("in", "it"))), set()),
        ((Insert(COURSE, ("what",), (TITLE,)),), {COURSE}),
        ((Insert(FACULTY, ("of",), (FACULTY_NAME,)),), {FACULTY}),
        ((Swap(COURSE, TIME), Downgrade(COURSE, (TITLE,), ROOM), Rename(TIME, "hour")), {COURSE}),
        ((Swap(COURSE, TIME), Insert(FACULTY, ("times",), (TIME,))), {FACULTY}),
        ((Upgrade(COURSE, (ROOM,)), Prune(FACULTY_NAME), Prune(FACULTY)), {COURSE}),
        ((Upgrade(COURSE), Upgrade(FACULTY, (COURSE,))), {FACULTY}),
        ((Downgrade((), (NAME,), FACULTY), Swap(COURSE, TIME)), {()}),
        ((ToAttribute(TITLE), Arrange(COURSE, (ROOM, TIME))), {COURSE}),
        ((Dissolve(FACULTY), Insert((), ("courses",), (COURSE,))), {()}),
        ((Drop(FACULTY_NAME), Dissolve(FACULTY), Insert((), ("courses",), (COURSE,))), set()),
        ((Insert((), ("faculties",), (FACULTY,)), Arrange(("+faculties",), (FACULTY,))), set()),
        ((Insert((), ("faculties",), (FACULTY,)), Prune(FACULTY), Prune(("+faculties",))), set()),
        ((Insert(COURSE, ("what",), (TITLE,)), Prune((*COURSE, "+what"))), {COURSE}),
        ((Insert((), ("in",), (FACULTY,)), Arrange((), (NAME, ("+in",))), Arrange(FACULTY, (FACULTY_NAME,))), set()),
        ((Insert((), ("in",), (FACULTY,)), Arrange((), (("+in",), NAME))), {()}),
    ],
)  # fmt: skip
def test_scopes_are_the_elements_that_operators_need_as_a_whole(
    operators: tuple[Operator, ...], blocking: set[tuple[str, ...]]
) -> None:
    assert set(scopes(program(*operators)).blocking) == blocking
    text = university(3, 5)
    expected = write_element(Rewriter(program(*operators)).rewrite(parse_document(text)).root)
    assert write_element(parse_document(streamed(text, *operators)).root) == expected


def test_parts_come_before_the_end_is_read() -> None:
    source = BytesIO(university())
    parts = StreamingRewriter(program(Swap(COURSE, TIME)), piece=200).rewrite(source)
    first = next(parts)
    assert first.startswith(b"<uni><name>U</name><faculty>")
    assert source.tell() < 5000


def test_what_is_inserted_at_the_end_is_open_from_its_first_child_on() -> None:
    text = university()
    made = streamed(text, Insert((), ("faculties",), (FACULTY,)), Insert(FACULTY, ("courses", "list"), (COURSE,)))
    assert (made.count("<faculties>"), made.count("</faculties>"), made.count("<list>")) == (1, 1, 20)
    assert made.endswith("</list></courses></faculty></faculties></uni>")


def test_children_that_do_not_come_last_as_the_schema_has_it_are_refused() -> None:
    text = university().replace(b"</uni>", b"<name>late</name>" + b" " * 300 + b"</uni>")
    with pytest.raises(DisseminationError, match=r"uni.xml:\d+:\d+: HX9103 children of \. do not come in the order"):
        streamed(text, Insert((), ("faculties",), (FACULTY,)))


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        (
            (Rename(NAME, "n"), Downgrade((), (NAME,), FACULTY)),
            "uni.xml: HX9104 an element uni has more than 5000 bytes, and is needed as a whole to downgrade name of .",
        ),
        (
            (Insert(FACULTY, ("of",), (FACULTY_NAME,)),),
            "HX9104 an element faculty has more than 5000 bytes, and is needed as a whole to insert of in faculty",
        ),
    ],
)
def test_what_is_too_large_to_be_held_is_refused_by_name(operators: tuple[Operator, ...], message: str) -> None:
    with pytest.raises(DisseminationError) as caught:
        streamed(university(4, 400), *operators)
    assert message in str(caught.value)
    assert streamed(university(4, 400), *operators, most_held=1_000_000)


def test_copies_are_limited() -> None:
    text = b"<uni><name>U</name>" + b"<faculty/>" * 3000 + b"</uni>"
    rewriter = Rewriter(program(Downgrade((), (NAME,), FACULTY)), most_copies=4000)
    with pytest.raises(DisseminationError, match="HX9105 elements name are copied into too many others"):
        rewriter.rewrite(parse_document(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"<x/>", "uni.xml:1:1: HX9103 the root element is x, not uni"),
        (
            university().replace(b"<room>3<", b"<title/><room>3<", 2),
            "uni.xml:6:1: HX9103 an element course has several",
        ),
        (b"<!DOCTYPE uni [<!ENTITY e SYSTEM 'e'>]><uni>&e;</uni>", "uni.xml:1:37: HX1004"),
        (b"<uni>&e;</uni>", "uni.xml:1:6: HX1005"),
        (university()[:-2], "HX1002"),
        (university().replace(b"</uni>", b"<n:x xmlns:m='n'/></uni>"), "uni.xml:441:11: HX1007"),
        (university().replace(b"</uni>", b"\n <n:x/></uni>"), "uni.xml:442:2: HX1007"),
        (university().replace(b"</uni>", b"\n" + b"<x>" * 300 + b"</x>" * 300 + b"</uni>"), "uni.xml:442:773: HX1006"),
    ],
    ids=["root", "values", "external", "undeclared", "end", "other prefix", "prefix", "depth"],
)
def test_what_cannot_be_read_or_does_not_fit_is_told_with_its_place(text: bytes, message: str) -> None:
    with pytest.raises(HeptoxError) as caught:
        streamed(text, ToAttribute(TITLE))
    assert message in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_every_encoding_becomes_utf_8(encoding: str) -> None:
    text = university().decode().replace("T1<", "Été \r&amp;&lt;]]&gt;<")
    declared = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}'?>\n{text}"
    assert streamed(declared.encode(encoding)) == streamed(text.encode())


def test_what_the_document_declares_is_put_in_its_place() -> None:
    subset = "<!DOCTYPE uni [<!ENTITY c '<course><title>&#38;amp;</title></course>'><!ATTLIST course code CDATA '7'>]>"
    text = f"{subset}<uni><name>U</name><faculty>{'&c;' * 100}</faculty></uni>"
    made = streamed(text.encode(), ToElement(CODE))
    assert made.count("<course><code>7</code><title>&amp;</title></course>") == 100


@settings(max_examples=tries(100))
@given(st.randoms(use_true_random=False))
def test_streams_are_rewritten_as_documents_in_memory(random: Random) -> None:
    outcome = Outcome()
    check_streaming(random, 2, 2, outcome)
    assert not outcome.broken, outcome.broken[0]
