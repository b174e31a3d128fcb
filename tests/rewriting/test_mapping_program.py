"""Programs of mappings: what they make is what exchange makes, and what cannot be expressed is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.errors import DisseminationError
from heptox.mapping import exchange, load_mapping
from heptox.rewriting import (
    Downgrade,
    Insert,
    MappingProgram,
    Operator,
    Rewriter,
    Swap,
    mapping_program,
    paper_program,
)
from heptox.xml import parse_document, write_element
from tests.examples import courses
from tests.rewriting.building import dtd_of
from tests.support.random_mappings import problem
from tests.support.rewriting.ways import as_set, paths_of

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", courses.MAPPINGS)
def test_real_catalogues_are_rewritten_as_they_are_exchanged(name: str) -> None:
    mapping = courses.mapping(name)
    made = mapping_program(mapping)
    assert made.program is not None and made.is_exact == (not name.endswith("-uwm"))
    catalogue = courses.catalogue(name.split("-")[0])
    rewritten = Rewriter(made.program, made.inner).rewrite(catalogue).root
    exchanged = exchange(mapping, catalogue).root
    if made.is_exact:
        assert as_set(rewritten) == as_set(exchanged)
    assert paths_of(rewritten) == paths_of(exchanged)


def test_sections_below_courses_become_entries_with_what_their_course_says() -> None:
    made = mapping_program(courses.mapping("uwm-reed"))
    assert made.program is not None
    course, section = ("course_listing",), ("course_listing", "section_listing")
    assert Swap(course, section, or_drop=True) in made.program.operators
    document = parse_document(
        "<root><course_listing><course>1</course><title>t</title><section_listing><section>a</section></section_listing>"
        "<section_listing><section>b</section></section_listing></course_listing>"
        "<course_listing><course>2</course></course_listing></root>"
    )
    assert write_element(Rewriter(made.program).rewrite(document).root) == (
        "<root><course><crse>1</crse><sect>a</sect><title>t</title></course>"
        "<course><crse>1</crse><sect>b</sect><title>t</title></course></root>"
    )


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ("hospital/montreal-boston.arrows", "a rule has conditions: a reference, a box, a constant"),
        ("transformations/alternatives/mapping.arrows", "contact/phone has several arrows"),
        ("transformations/several-places/mapping.arrows", "employee/@number would have to be in several places"),
        ("transformations/merge-by-nesting/mapping.arrows", "which repeat independently"),
        ("transformations/tags-to-values/mapping.arrows", "[Kind]/name() -> article/kind has to do with a box"),
    ],
)
def test_what_operators_cannot_say_is_told_by_name(example: str, reason: str) -> None:
    mapping = load_mapping(EXAMPLES / example)
    made = mapping_program(mapping)
    assert made.program is None and any(reason in each for each in made.reasons)
    with pytest.raises(DisseminationError) as told:
        paper_program(mapping)
    assert {fault.code for fault in told.value.faults} == {"HX9101"}


def operators(source: str, target: str, arrows: str) -> tuple[Operator, ...]:
    made = mapping_program(problem(source, target, arrows).mapping)
    assert made.program is not None, made.reasons
    return made.program.operators


def test_what_goes_below_a_sibling_is_copied_into_each() -> None:
    source = dtd_of("r: c*; c: t, i*, a; t; i: n; n; a")
    target = dtd_of("s: d*; d: u, j*; u; j: m, b; m; b")
    found = operators(source, target, "c/t -> d/u\nc/i/n -> d/j/m\nc/a -> d/j/b")
    assert Downgrade(("c",), (("c", "a"),), ("c", "i"), or_drop=True) in found


def test_new_elements_are_made_as_one_trie() -> None:
    source = dtd_of("r: a, b, c; a; b; c")
    target = dtd_of("s: v; v: w, c; w: a, b; a; b; c")
    found = operators(source, target, "a -> v/w/a\nb -> v/w/b\nc -> v/c")
    inserts = [operator for operator in found if isinstance(operator, Insert)]
    assert inserts == [Insert((), ("v",), (("a",), ("b",), ("c",))), Insert(("+v",), ("w",), (("a",), ("b",)))]


def test_nodes_that_exchange_makes_one_stay_apart_unless_they_have_a_key() -> None:
    source = dtd_of("r: b*; b: t, a* @id {}; t; a")
    target = dtd_of("s: b*; b: t, a* @id CDATA #IMPLIED; t; a")
    arrows = "b/@id -> b/@id\nb/t -> b/t\nb/a -> b/a"
    assert mapping_program(problem(source.format("CDATA #REQUIRED"), target, arrows).mapping).glued == {("b",)}
    assert mapping_program(problem(source.format("ID #IMPLIED"), target, arrows).mapping).glued == {("b",)}
    assert mapping_program(problem(source.format("ID #REQUIRED"), target, arrows).mapping).is_exact


def made_both_ways(arrows: str, text: str) -> tuple[MappingProgram, str, str]:
    """The program of a mapping from ``r`` with ``b`` to ``s`` with ``c``; what it makes of a document, and exchange."""
    source = dtd_of("r: b*; b: t?, a* @k CDATA #REQUIRED; t; a")
    mapping = problem(source, dtd_of("s: c*; c: w?, d* @k CDATA #IMPLIED; w: t; t; d"), arrows).mapping
    made, document = mapping_program(mapping), parse_document(text)
    program = Rewriter(made.program).rewrite(document).root if made.program is not None else None
    return made, "" if program is None else write_element(program), write_element(exchange(mapping, document).root)


def test_nodes_that_stand_for_source_nodes_stay_apart_and_stay() -> None:
    made, program, exchanged = made_both_ways(
        "each b -> c\nb/t -> c/w/t\nb/a -> c/d", "<r><b k='1'/><b k='2'><a>1</a></b><b k='3'><a>1</a></b></r>"
    )
    assert made.is_exact
    assert program == exchanged == "<s><c/><c><d>1</d></c><c><d>1</d></c></s>"


def test_nodes_that_stand_for_others_than_those_they_are_made_of_are_exchanged() -> None:
    document = "<r><b k='1'><a>1</a></b><b k='1'><a>1</a></b></r>"
    made, _, exchanged = made_both_ways("each b -> c\nb/@k -> c/@k\nb/a -> c/w/t", document)
    assert made.program is None
    assert exchanged == '<s><c k="1"><w><t>1</t></w></c><c k="1"><w><t>1</t></w></c></s>'


def test_nodes_that_keys_make_one_are_exchanged() -> None:
    document = "<r><b k='1'><t>x</t></b><b k='1'><a>1</a></b></r>"
    arrows = "target key c/@k\nb/@k -> c/@k\nb/t -> c/w/t\nb/a -> c/d"
    made, _, exchanged = made_both_ways(arrows, document)
    assert made.program is None
    assert "c is one for each value of b/@k, which may come again" in made.reasons
    assert exchanged == '<s><c k="1"><w><t>x</t></w><d>1</d></c></s>'
    made, program, exchanged = made_both_ways(f"source key b/@k\n{arrows}", document.replace("1'><a", "2'><a"))
    assert made.is_exact
    assert program == exchanged


def test_an_element_with_nothing_to_carry_is_no_node() -> None:
    source = dtd_of("r: b*; b: t?, x?; t; x")
    target = dtd_of("s: c*; c: w?; w: t?; t")
    made = mapping_program(problem(source, target, "b/t -> c/w/t").mapping)
    assert made.program is not None
    document = parse_document("<r><b><x>1</x></b><b><t/></b></r>")
    assert write_element(Rewriter(made.program).rewrite(document).root) == "<s><c><w><t/></w></c></s>"


def test_the_paper_keeps_what_nothing_corresponds_to() -> None:
    source = dtd_of("r: b*; b: t?, x?; t; x")
    target = dtd_of("s: c*; c: t?; t")
    program = paper_program(problem(source, target, "b/t -> c/t").mapping)
    document = parse_document("<r><b><x>1</x></b><b/></r>")
    assert write_element(Rewriter(program).rewrite(document).root) == "<s><c><x>1</x></c><c/></s>"
