"""Exchange against section 5 of the specification taken word by word: nested loops, no plans, no sharing."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from heptox.errors import MappingError
from heptox.mapping import ExchangeReceipt, Mapping, exchange, parse_mapping_arrows
from heptox.xml import parse_document
from tests.mapping.building import as_set, mapping, text_set
from tests.mapping.random_rules import random_rules, random_text
from tests.support import evaluate, random_document
from tests.support.oracle import by_the_letter, steps
from tests.support.shared import DATA, reads_shared

SOURCE: Final = """<!ELEMENT s (title?, info?, a*, b*, c*)> <!ELEMENT title (#PCDATA)> <!ELEMENT info (from?)>
<!ELEMENT from (#PCDATA)> <!ELEMENT a (x, y?, part?, e*, f*)> <!ATTLIST a id CDATA #REQUIRED to CDATA #IMPLIED>
<!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)> <!ELEMENT part (z?, w*)> <!ELEMENT z (#PCDATA)> <!ELEMENT w (#PCDATA)>
<!ELEMENT e (red | green)*> <!ELEMENT red (n?)> <!ELEMENT green (n?)> <!ELEMENT n (#PCDATA)>
<!ELEMENT f (#PCDATA)> <!ATTLIST f k CDATA #IMPLIED>
<!ELEMENT b (x?)> <!ATTLIST b no CDATA #REQUIRED a CDATA #IMPLIED> <!ELEMENT c (y)> <!ATTLIST c b CDATA #IMPLIED>"""
TARGET: Final = """<!ELEMENT t (head?, list*, (one | two)*)> <!ATTLIST t v CDATA #IMPLIED> <!ELEMENT head (h?)>
<!ELEMENT h (#PCDATA)> <!ELEMENT list (k?, more?, item*)> <!ATTLIST list n CDATA #IMPLIED> <!ELEMENT k (#PCDATA)>
<!ELEMENT more (l?, m*)> <!ELEMENT l (#PCDATA)> <!ELEMENT m (#PCDATA)> <!ELEMENT item (#PCDATA)>
<!ATTLIST item c CDATA #IMPLIED> <!ELEMENT one (p?, q*)> <!ELEMENT two (p?, q*)> <!ELEMENT p (#PCDATA)>
<!ELEMENT q (u?)> <!ELEMENT u (#PCDATA)>"""
DECLARED: Final = """source key a/@id
source key b/@no
source reference b/@a -> a/@id
source reference c/@b -> b/@no
source box Colour = a/e/(red | green)
target box Kind = (one | two)
[Colour] -> [Kind]
"""
FROM_ROOT: Final = ("title", "info/from")
TO_ROOT: Final = ("@v", "head/h")
LEAVES: Final = ("a/x", "a/y", "a/@id", "a/part/z", "a/part/w", "a/f/text()", "a/f/@k", "[Colour]", "[Colour]/n", "b/x",
                 "b/@no", "c/y", "title")  # fmt: skip
ENDS: Final = ("list/k", "list/@n", "list/more/l", "list/more/m", "list/item/text()", "list/item/@c", "[Kind]/p",
               "[Kind]/q/u")  # fmt: skip
VALUES: Final[dict[tuple[str, ...] | str, tuple[str, ...]]] = {
    **dict.fromkeys("xyzwnf", ("1", "2", "")),
    **dict.fromkeys(("@id", "@no", "@a", "@b"), ("1", "2", "3")),
}


def random_mapping(random: Random) -> Mapping:
    """Some arrows at random; each leaf of the target takes one or two."""
    arrows = [f"{random.choice(FROM_ROOT)} -> {end}" for end in TO_ROOT if random.random() < 0.5]
    for end in random.sample(ENDS, random.randint(1, 5)):
        several = 2 if random.random() < 0.2 else 1
        arrows += [f"{begin} -> {end}" for begin in random.sample(LEAVES, several)]
    try:
        return mapping(SOURCE, TARGET, DECLARED + "\n".join(arrows))
    except MappingError as refused:  # arrows that compete, but are too far from each other for rules to say so
        assert {fault.code for fault in refused.faults} == {"HX4021"}
        return random_mapping(random)


@pytest.mark.parametrize("seed", range(30))
def test_random_mappings_of_random_documents(seed: int) -> None:
    random = Random(seed)
    rules = random_mapping(random)
    sizes = set()
    for _ in range(8):
        text = random_document(rules.source.graph, random, values=VALUES, repeats=3, elements=25, pool=("1", "2", ""))
        document = parse_document(text)
        made = exchange(rules, document).root
        expected = by_the_letter(rules, text)
        assert as_set(made) == text_set(expected.text), text
        assert {node: len(list(steps(rules.target, made, (), node))) for node in expected.nodes} == expected.nodes, text
        sizes.add(sum(expected.nodes.values()))
    assert len(sizes) > 1, "the documents must differ in their images"


@pytest.mark.parametrize("seed", range(60))
def test_random_rules_of_random_documents(seed: int) -> None:
    """Rules with optional parts, conditions on what is there or not, and nodes by each, by key and by value."""
    random = Random(seed)
    rules = random_rules(random)
    for _ in range(5):
        text = random_text(random)
        receipt = ExchangeReceipt()
        made = exchange(rules, parse_document(text), receipt=receipt).root
        expected = by_the_letter(rules, text)
        assert as_set(made) == text_set(expected.text), text
        assert {node: len(list(steps(rules.target, made, (), node))) for node in expected.nodes} == expected.nodes, text
        assert receipt.conflicts == expected.conflicts, text


COURSES: Final = """
source "uwm-derived.dtd" root root
target "reed.dtd" root root
course_listing/course -> course/crse
course_listing/title -> course/title
course_listing/section_listing/section -> course/sect
course_listing/section_listing/instructor -> course/instructor
course_listing/section_listing/hours/start -> course/time/start_time
course_listing/section_listing/bldg_and_rm/rm -> course/place/room
"""


@reads_shared
def test_a_real_catalogue_of_courses() -> None:
    rules = parse_mapping_arrows(COURSES, DATA / "courses")
    text = (DATA / "courses" / "uwm.xml").read_text(encoding="iso-8859-1")
    query = """
<root>{ for $course in /root/course_listing, $section in $course/section_listing
  group by $number := string($course/course), $name := string($section/section), $title := string($course/title),
    $teacher := string($section/instructor), $start := string($section/hours/start),
    $room := string($section/bldg_and_rm/rm)
  return <course><crse>{ $number }</crse><sect>{ $name }</sect><title>{ $title }</title>
    <instructor>{ $teacher }</instructor><time><start_time>{ $start }</start_time></time>
    <place><room>{ $room }</room></place></course> }</root>"""
    document = text[text.index("<root>") :]
    (expected,) = evaluate(query, document)
    made = exchange(rules, parse_document(document)).root
    assert len(made) > 4000
    assert as_set(made) == text_set(expected)
