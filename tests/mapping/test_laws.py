"""Laws of exchange on random documents, and the hospital's images as an XQuery written by hand makes them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Final

import pytest
from hypothesis import given, strategies as st

from heptox.mapping import Mapping, exchange, parse_mapping_rules, print_rules
from heptox.schema import validity_faults
from heptox.xml import XmlElement, parse_document, write_element
from tests.mapping.building import HOSPITAL, as_set, hospital, image, image_set, text_set
from tests.support import documents, evaluate, random_document

PROBLEMS: Final = ("Pulmonary", "Coronary", "Asthma", "Chest pain/acute", "Treatment", "", "_x0041_", "4 \U0001f600")
VALUES: Final[dict[tuple[str, ...] | str, tuple[str, ...]]] = {
    ("Admission", "Problem"): PROBLEMS, ("Stay", "Diagnosis"): PROBLEMS,
    "Problem": ("Cough", "Fever", ""), "What": ("Cough", "Fever", ""), "Person": ("p1", "p2", "p3"), "Name": ("A", "B"),
    "Date": ("1", "2"), "AdmDate": ("1", "2"), "DisDate": ("2", "3"), "Since": ("1", "2"), "Day": ("1", "2"),
    "Arrived": ("1", "2"), "Left": ("2", "3"), "MedCrNo": ("7", "8"), "Company": ("X", ""), "Number": ("7", "8"),
}  # fmt: skip
NAMES: Final = ("montreal-boston", "stluke-boston")


@cache
def by_text(name: str) -> Mapping:
    """The same mapping, its rules printed and read again."""
    return parse_mapping_rules(print_rules(hospital(name), HOSPITAL), HOSPITAL)


def hospital_documents(name: str) -> st.SearchStrategy[str]:
    return documents(hospital(name).source.graph, values=VALUES, repeats=4)


montreal: Final = hospital_documents("montreal-boston")
stluke: Final = hospital_documents("stluke-boston")


def shuffled(document: str, random: Random) -> str:
    """A document with the repeated children of its root in another order."""
    root = parse_document(document).root
    children = list(root)
    random.shuffle(children)
    for child in children:
        root.append(child)
    return write_element(root)


def doubled(document: str) -> str:
    """A document with each child of its root twice: another set of nodes that says the same."""
    root: XmlElement = parse_document(document).root
    copies = [parse_document(write_element(child)).root for child in root]
    for child in copies:
        root.append(child)
    return write_element(root)


@given(montreal)
def test_exchange_is_deterministic_and_the_same_by_printed_rules(document: str) -> None:
    assert image(hospital(), document) == image(hospital(), document) == image(by_text(NAMES[0]), document)


@given(stluke)
def test_the_third_hospital_by_printed_rules(document: str) -> None:
    assert image(hospital(NAMES[1]), document) == image(by_text(NAMES[1]), document)


@given(montreal, st.randoms(use_true_random=False))
def test_the_order_of_the_source_makes_no_difference(document: str, random: Random) -> None:
    assert image_set(hospital(), shuffled(document, random)) == image_set(hospital(), document)


@given(documents(hospital(NAMES[1]).source.graph, values=VALUES, elements=30))
def test_gluing_is_idempotent(document: str) -> None:
    """An image does not change when every source node is there twice: equal leaves, equal identities."""
    assert image(hospital(NAMES[1]), doubled(document)) == image(hospital(NAMES[1]), document)


@given(montreal)
def test_nodes_of_several_rules_with_equal_identities_are_one(document: str) -> None:
    """The rules of symptoms and treatments make no ``Progress`` besides those of its own rule."""
    rules = hospital()
    fewer = replace(rules, along=rules.rules[3:])
    alone = [child.get("PatRef") for child in exchange(fewer, parse_document(document)).root]
    whole = [child.get("PatRef") for child in exchange(rules, parse_document(document)).root.findall("Progress")]
    assert alone == whole


@given(documents(hospital().source.graph, values={**VALUES, ("Admission", "Problem"): PROBLEMS[:2]}))
def test_the_image_validates_where_arrows_supply_what_is_required(document: str) -> None:
    """Problems that are declared tags, and one admission for each patient, so that no ID repeats."""
    root = parse_document(document).root
    admitted: set[str | None] = set()
    for admission in root.findall("Admission"):
        if admission.get("PatRef") in admitted:
            root.remove(admission)
        admitted.add(admission.get("PatRef"))
    made = exchange(hospital(), parse_document(write_element(root)))
    faults = validity_faults(made, hospital().target.graph)
    if admitted:
        assert faults == ()
    else:
        assert len(made.root) == 0


# -- the same image by hand --------------------------------------------------------------------------------------

# Characters that no XML name has there are escaped, and all above FFFF, which is not read alike everywhere; declared
# names that are no member of the box have their first character escaped.
TAG: Final = r"""
let $hexadecimal := function($code) {
  string-join(for $unit in (if ($code > 65535) then (1048576, 65536) else (), 4096, 256, 16, 1)
              return substring("0123456789ABCDEF", $code idiv $unit mod 16 + 1, 1)) }
let $escape := function($character) { "_x" || $hexadecimal(string-to-codepoints($character)) || "_" }
let $declared := ("MassGeneral", "Admission", "InsName", "PolicyNo", "Enter", "Leave", "Patient", "Progress", "Symptom",
                  "Treatment", "Desc", "Date")
let $tag := function($value) {
  if ($value = "") then "_x0000_"
  else if ($value = $declared) then $escape(substring($value, 1, 1)) || substring($value, 2)
  else string-join(for $place in 1 to string-length($value)
    let $character := substring($value, $place, 1)
    return if ($character = "_" and substring($value, $place + 1, 1) = "x") then $escape($character)
           else if (string-to-codepoints($character) > 65535) then $escape($character)
           else if (matches($character, if ($place = 1) then "^[\i-[:]]$" else "^[\c-[:]]$")) then $character
           else $escape($character)) }
let $argument := function($leaf) { if (exists($leaf)) then "=" || $leaf else "" }
"""

MONTREAL: Final = (
    TAG
    + """
let $illnesses :=
  for $admission in /MonGenHosp/Admission, $patient in /MonGenHosp/Patient[@ID = $admission/@PatRef]
  group by $problem := string($admission/Problem), $id := string($patient/@ID), $name := string($patient/Name),
    $card := $argument($patient/MedCrNo), $in := string($admission/AdmDate),
    $out := $argument($admission/DisDate)
  return element { $tag($problem) } {
    attribute ID { $id }, $patient[1]/MedCrNo ! <PolicyNo>{ string() }</PolicyNo>, <Enter>{ $in }</Enter>,
    $admission[1]/DisDate ! <Leave>{ string() }</Leave>, <Patient>{ $name }</Patient> }
return <MassGeneral>{
  if (exists($illnesses)) then <Admission>{ $illnesses }</Admission> else (),
  for $reference in distinct-values(/MonGenHosp/Admission/@PatRef)
  let $patient := /MonGenHosp/Patient[@ID = $reference]
  return <Progress PatRef="{ $reference }">{
    for $event in $patient/Hist/Event group by $problem := string($event/Problem), $date := string($event/Date)
    return <Symptom><Desc>{ $problem }</Desc><Date>{ $date }</Date></Symptom>,
    for $treat in $patient/Treat group by $date := string($treat/Date), $what := string($treat/Desc)
    return <Treatment><Date>{ $date }</Date><Desc>{ $what }</Desc></Treatment>
  }</Progress>
}</MassGeneral>
"""
)

STLUKE: Final = (
    TAG
    + """
let $illnesses :=
  for $stay in /StLuke/Stay
  group by $diagnosis := string($stay/Diagnosis), $person := string($stay/Person), $name := string($stay/Name),
    $company := $argument($stay/Insurance/Company), $number := $argument($stay/Insurance/Number),
    $in := string($stay/Arrived), $out := $argument($stay/Left)
  return element { $tag($diagnosis) } {
    attribute ID { $person }, $stay[1]/Insurance ! (<InsName>{ string(Company) }</InsName>,
    <PolicyNo>{ string(Number) }</PolicyNo>), <Enter>{ $in }</Enter>, $stay[1]/Left ! <Leave>{ string() }</Leave>,
    <Patient>{ $name }</Patient> }
return <MassGeneral>{
  if (exists($illnesses)) then <Admission>{ $illnesses }</Admission> else (),
  for $stay in /StLuke/Stay group by $person := string($stay/Person)
  return <Progress PatRef="{ $person }">{
    for $complaint in $stay/Complaint group by $what := string($complaint/What), $since := string($complaint/Since)
    return <Symptom><Desc>{ $what }</Desc><Date>{ $since }</Date></Symptom>,
    for $care in $stay/Care group by $day := string($care/Day), $measure := string($care/Measure)
    return <Treatment><Date>{ $day }</Date><Desc>{ $measure }</Desc></Treatment>
  }</Progress>
}</MassGeneral>
"""
)


@pytest.mark.parametrize(("name", "query"), [(NAMES[0], MONTREAL), (NAMES[1], STLUKE)])
def test_the_image_is_what_an_independent_query_makes(name: str, query: str) -> None:
    random = Random(20050215)
    rules, kinds = hospital(name), set[int]()
    for _ in range(150):
        document = random_document(rules.source.graph, random, values=VALUES, repeats=4)
        (expected,) = evaluate(query, document)
        made = exchange(rules, parse_document(document)).root
        assert as_set(made) == text_set(expected), document
        assert len(made) == len(parse_document(expected).root), document
        assert sorted(len(part) for part in made) == sorted(len(part) for part in parse_document(expected).root), (
            document
        )
        kinds.add(len(made))
    assert len(kinds) > 2, "the documents must be of several sizes"
