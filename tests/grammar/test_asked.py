"""Names that the asker's schema does not have."""

from __future__ import annotations

import pytest

from heptox.errors import GrammarError
from heptox.grammar import check_names, parse_query, unknown_steps
from heptox.schema import Box, Cardinality, Child, Element, SchemaGraph, SchemaTree, parse_dtd

SCHEMA = SchemaTree(
    parse_dtd(
        """<!ELEMENT bib (book*, note?)> <!ELEMENT book (title, author*, sold)> <!ATTLIST book isbn CDATA #REQUIRED>
    <!ELEMENT title (#PCDATA)> <!ELEMENT author (first, last)> <!ELEMENT first (#PCDATA)> <!ELEMENT last (#PCDATA)>
    <!ELEMENT sold EMPTY> <!ELEMENT note (#PCDATA)>"""
    )
)


@pytest.mark.parametrize(
    ("query", "column", "message", "hint"),
    [
        ("//titel", 3, "no node titel anywhere in the schema", "did you mean /bib/book/title?"),
        ("//BOOK", 3, "no node BOOK anywhere in the schema", "did you mean /bib/book?"),
        ("/book/title", 2, "no node book at the root", "the root is bib; did you mean /bib/book?"),
        ("/bib/title", 6, "no node title below bib", "did you mean /bib/book/title?"),
        ("//book/titles", 8, "no node titles below bib/book", "did you mean title?"),
        ("//book/isbn", 8, "no node isbn below bib/book", "did you mean @isbn?"),
        ("//book/@title", 8, "no node @title below bib/book", "did you mean title?"),
        ("//@ISBN", 3, "no node @ISBN anywhere in the schema", "did you mean /bib/book/@isbn?"),
        ("//qwxyz", 3, "no node qwxyz anywhere in the schema", "the root is bib"),
        ("//book/qwxyz", 8, "no node qwxyz below bib/book", "known there: @isbn, title, author, sold"),
        ("//book/text()", 8, "no node text() below bib/book", "known there: @isbn, title, author, sold"),
        ("//sold/*", 8, "no element below bib/book/sold", "sold is always empty"),
        ("//title/@*", 9, "no attribute below bib/book/title", "title holds text only"),
        ("//title/(* except (note))", 9, "no element but note below bib/book/title", "title holds text only"),
        (
            "//title/text()/a", 16, "no node a below bib/book/title/text()",
            "nothing stands below a text or an attribute",
        ),
        ("//book[autor/first = 'x']/title", 8, "no node autor below bib/book", "did you mean author?"),
        ("//book[not(tilte)]/title", 12, "no node tilte below bib/book", "did you mean title?"),
        # order by, and what the fragment refuses, are not resolved; their names are looked up all the same
        ("for $b in //book order by $b/tilte return $b/title", 30, "no node tilte anywhere in the schema",
         "did you mean /bib/book/title?"),
        ("for $b in //book return <r>{$b/author}{$b/tilte}</r>", 43, "no node tilte below bib/book",
         "did you mean title?"),
    ],
)  # fmt: skip
def test_a_step_that_stands_for_nothing_is_told_with_what_was_meant(
    query: str, column: int, message: str, hint: str
) -> None:
    (fault,) = unknown_steps(parse_query(query), SCHEMA)
    assert (fault.code, fault.position and fault.position.column, fault.message) == ("HX3041", column, message)
    assert fault.hint == hint
    with pytest.raises(GrammarError, match="HX3041"):
        check_names(parse_query(query), SCHEMA)


@pytest.mark.parametrize(
    "query",
    [
        "//book/(title | name)", "//*/title", "//text()", "/bib/*/title", "//book/title/text()", "//@*",
        "for $x in //book/* where $x/first = 'a' return $x/last", "()",
        "for $b in //book where $b/title = 'a' and empty($b/title) return $b/title",
        "//book[title = 'a' or author/first = 'b']/title",
        "for $b in //book/(* except (foo)) return $b/last",
    ],
)  # fmt: skip
def test_what_stands_for_something_in_one_branch_is_no_typo(query: str) -> None:
    assert unknown_steps(parse_query(query), SCHEMA) == ()
    check_names(parse_query(query), SCHEMA)


def test_of_several_schemas_any_may_have_the_name() -> None:
    other = SchemaTree(parse_dtd("<!ELEMENT shop (price*)> <!ELEMENT price (#PCDATA)>"))
    check_names(parse_query("(//title, //price)"), SCHEMA, other)
    with pytest.raises(GrammarError) as error:
        check_names(parse_query("(//title, //prize)"), SCHEMA, other)
    assert [fault.position and fault.position.column for fault in error.value.faults] == [13]


def test_a_large_schema_is_compared_soon() -> None:
    names = [f"element{number}" for number in range(20_000)]
    children = tuple(Child(name, Cardinality.MANY) for name in names)
    schema = SchemaGraph("r", {"r": Element("r", children)} | {name: Element(name, text=True) for name in names})
    (fault,) = unknown_steps(parse_query("//Elemnt17"), SchemaTree(schema))
    assert fault.hint and fault.hint.startswith("did you mean /r/element")


BOXED = SchemaTree(
    parse_dtd(
        """<!ELEMENT shelf (book | film)*> <!ELEMENT book (title)> <!ELEMENT film (title)> <!ELEMENT title (#PCDATA)>"""
    ),
    (Box("Kind", (), ("book", "film")),),
)


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("//game/title", []),
        ("/shelf/game/title", []),
        ("//game/titel", [8]),
        ("//boook/title", [3]),
        ("//title/game", [9]),
        ("//game/@size", [8]),
    ],
)
def test_a_name_that_is_near_no_other_may_be_a_tag_in_a_box(query: str, columns: list[int]) -> None:
    expression = parse_query(query)
    faults = unknown_steps(expression, SchemaTree(BOXED.graph), BOXED)
    assert [fault.position and fault.position.column for fault in faults] == columns
    assert unknown_steps(expression, SchemaTree(BOXED.graph))
