"""The course catalogues under three schemas: what is exchanged and translated, on the whole real documents."""

from __future__ import annotations

import re
from typing import Final

import pytest

from heptox.grammar import parse_query
from heptox.mapping import exchange
from heptox.schema import parse_dtd, read_dtd, validity_faults
from heptox.translate import Direction, translate
from heptox.xml import parse_document, read_text, write_document
from tests.examples.courses import (
    FOLDER,
    MAPPINGS,
    SCHEMAS,
    Case,
    Result,
    answer,
    cases,
    catalogue,
    expected,
    image,
    mapping,
    result,
    shown_tables,
    tables,
    translated,
)
from tests.support.definition import standard
from tests.support.saxon import answer_set, evaluate

MISSING: Final = {
    "reed-uwm": {"note", "level", "restrictions", "section_note"},
    "uwm-reed": {"reg_num", "subj"},
    "wsu-uwm": {"note", "level", "restrictions"},
    "uwm-wsu": {"sln", "prefix", "lab", "limit", "enrolled"},
    "reed-wsu": {"footnote", "lab", "limit", "enrolled"},
    "wsu-reed": set[str](),
}
"""What the target's schema requires and no arrow supplies: why an image is not valid."""

SIZES: Final = {
    "reed-uwm": ("count(//course_listing), count(//section_listing)", ["453", "685"]),
    "uwm-reed": ("count(//course)", ["4575"]),
    "wsu-uwm": ("count(//course_listing), count(//section_listing)", ["2014", "3368"]),
    "uwm-wsu": ("count(//course)", ["4575"]),
    "reed-wsu": ("count(//course)", ["703"]),
    "wsu-reed": ("count(//course)", ["3924"]),
}

RESULTS: Final = [(case, found) for case in cases() for found in case.results]
TRANSLATED: Final = [(case, found) for case, found in RESULTS if not found.refused]


def target_of(over: str) -> str:
    return over.split("-")[1]


def name(value: object) -> str:
    return value.mapping if isinstance(value, Result) else str(value)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_catalogues_are_valid(schema: str) -> None:
    assert validity_faults(catalogue(schema), read_dtd(FOLDER / f"{schema}.dtd")) == ()


@pytest.mark.parametrize("over", MAPPINGS)
def test_images_have_the_size_of_what_they_are_made_from(over: str) -> None:
    query, sizes = SIZES[over]
    assert evaluate(query, image(over)) == sizes


@pytest.mark.parametrize("over", MAPPINGS)
def test_images_lack_only_what_no_arrow_supplies(over: str) -> None:
    """With the missing leaves declared optional, the whole image is valid; as its schema stands, it is not."""
    target, missing = mapping(over).target.graph, MISSING[over]
    document = parse_document(image(over))
    assert bool(validity_faults(document, target)) == bool(missing)
    required = re.compile(rf"\b({'|'.join(sorted(missing))})(?=[,)])")
    declared, found = required.subn(r"\1?", read_text(FOLDER / f"{target_of(over)}.dtd")) if missing else ("", 0)
    assert found == len(missing)
    assert not missing or validity_faults(document, parse_dtd(declared, "root")) == ()


def test_every_query_is_tried_over_every_mapping_of_its_schema() -> None:
    assert [tuple(found.mapping for found in case.results) for case in cases()] == [case.mappings for case in cases()]
    assert {case.schema for case in cases()} == set(SCHEMAS)


def test_the_page_shows_what_is_expected() -> None:
    assert shown_tables() == tables(cases())


@pytest.mark.parametrize(("case", "found"), RESULTS, ids=name)
def test_translations_and_losses(case: Case, found: Result) -> None:
    assert result(case, found.mapping) == found


@pytest.mark.parametrize(("case", "found"), TRANSLATED, ids=name)
def test_answers_are_those_on_what_exchange_makes(case: Case, found: Result) -> None:
    to = case.to(found.mapping)
    there = translated(case, found.mapping).text
    assert answer(there, found.mapping, to) == expected(standard(case.query), found.mapping, to)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_mapping_answers_as_one_that_was_drawn_the_other_way(case: Case) -> None:
    items = {found.mapping: found.items for found in case.results}
    assert all(items["-".join(reversed(over.split("-")))] == count for over, count in items.items())


@pytest.mark.parametrize(("last", "first"), [("uwm-reed", "wsu-uwm"), ("uwm-wsu", "reed-uwm")])
def test_into_the_nesting_and_out_of_it(last: str, first: str) -> None:
    """A flat catalogue that is nested and unnested again answers as the query that is translated over both steps."""
    twice = write_document(exchange(mapping(last), parse_document(image(first))).root)
    asked = [case.query for case in cases() if case.schema == target_of(last)]
    answers = [answer_set(standard(query), twice) for query in asked]
    assert any(answers)
    for query, wanted in zip(asked, answers, strict=True):
        nested = translate(mapping(last), parse_query(query), Direction.SOURCE)
        flat = translate(mapping(first), nested.query, Direction.SOURCE)
        assert answer(flat.text, first, Direction.SOURCE) == wanted, query
