"""Arrows into and out of one member of a box: the rules are split by the tag."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.errors import MappingError
from heptox.grammar import parse_rule_parts, print_rules_file
from heptox.mapping import Mapping, exchange, load_mapping, parse_mapping_arrows, print_rules
from heptox.pattern import Comparison
from heptox.xml import parse_document
from tests.mapping.building import HOSPITAL, as_set, image, mapping, text_set
from tests.support import random_document
from tests.support.documents import Values
from tests.support.oracle import by_the_letter

SOURCE: Final = """<!ELEMENT s (a*)> <!ELEMENT a (v?, w?, n?, b*)> <!ELEMENT v (#PCDATA)> <!ELEMENT w (#PCDATA)>
<!ELEMENT n (#PCDATA)> <!ELEMENT b (#PCDATA)>"""
TARGET: Final = """<!ELEMENT t (x | y)*> <!ELEMENT x (w?, n?, c*)> <!ELEMENT y (w?, n?, c*)> <!ELEMENT w (#PCDATA)>
<!ELEMENT n (#PCDATA)> <!ELEMENT c (#PCDATA)>"""
BOX: Final = "target box B = (x | y)\na/v -> [B]\n"
DOCUMENT: Final = """<s><a><v>x</v><w>1</w><n>2</n><b>3</b></a><a><v>y</v><w>1</w><n>2</n><b>3</b></a>
<a><v>z</v><w>1</w><n>2</n><b>3</b></a><a><w>1</w></a><a><v>x</v><w>4</w></a></s>"""

MEMBERS: Final = """<!ELEMENT s (a*)> <!ELEMENT a (k?, (x | y | z)*)> <!ELEMENT x (w?, n?)> <!ELEMENT y (w?, n?)>
<!ELEMENT z (w?, n?)> <!ELEMENT k (#PCDATA)> <!ELEMENT w (#PCDATA)> <!ELEMENT n (#PCDATA)>"""
TAGS: Final = "<!ELEMENT t (p*)> <!ELEMENT p (a?, b?, c?)> <!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)> \
<!ELEMENT c (#PCDATA)>"
SOURCE_BOX: Final = "source box S = a/(x | y | z)\n[S] -> p/a\n"


def rules_of(found: Mapping) -> str:
    """The rules alone, without what is declared."""
    along = replace(parse_rule_parts(print_rules(found, "/"))[0], against=None)
    return print_rules_file(along).split("along:\n\n", 1)[1]


def test_a_rule_for_the_member_and_one_for_all_other_tags() -> None:
    found = mapping(SOURCE, TARGET, f"{BOX}a/w -> [B]/w\na/n -> x/n\na/b -> [B]/c")
    assert (
        rules_of(found)
        == """\
t -> f_t($s)[[B]:$a_v -> f_B($a_v, $a_w, $a_n)[w -> $a_w, n -> $a_n, c -> $b]]
<-
s -> $s[a -> $a[v -> $a_v, w -> $a_w, n -> $a_n, b -> $b]],
$a_v = "x".

t -> f_t($s)[[B]:$a_v -> f_B($a_v, $a_w)[w -> $a_w, c -> $b]]
<-
s -> $s[a -> $a[v -> $a_v, w -> $a_w, b -> $b]],
$a_v != "x".

t -> f_t($s)[[B]:$a_v -> f_B($a_v, $a_w, $a_n)[w -> $a_w, n -> $a_n]]
<-
s -> $s[a -> $a[v -> $a_v, w -> $a_w, n -> $a_n]],
$a_v = "x".

t -> f_t($s)[[B]:$a_v -> f_B($a_v, $a_w)[w -> $a_w]]
<-
s -> $s[a -> $a[v -> $a_v, w -> $a_w]],
$a_v != "x".
"""
    )
    assert text_set(image(found, DOCUMENT)) == text_set(
        "<t><x><w>1</w><n>2</n><c>3</c></x><x><w>4</w></x><y><w>1</w><c>3</c></y><z><w>1</w><c>3</c></z></t>"
    )


def test_every_member_has_its_own_arrows_and_the_box_stays_open() -> None:
    found = mapping(SOURCE, TARGET, f"{BOX}a/w -> x/w\na/n -> y/w")
    assert image(found, DOCUMENT) == "<t><x><w>1</w></x><x><w>4</w></x><y><w>2</w></y><z/></t>"


def test_an_arrow_into_a_member_is_an_alternative_to_one_into_the_box() -> None:
    found = mapping(SOURCE, TARGET, f"{BOX}a/w -> [B]/w\na/n -> x/w")
    assert image(found, DOCUMENT) == (
        "<t><x><w>1</w></x><x><w>4</w></x><x><w>2</w></x><y><w>1</w></y><z><w>1</w></z></t>"
    )


def test_what_is_nested_in_one_member_is_made_there_alone() -> None:
    found = mapping(SOURCE, TARGET, f"{BOX}a/w -> [B]/w\na/b -> y/c")
    assert [len(rule.conditions) for rule in found.rules] == [1, 0]
    assert image(found, DOCUMENT) == ("<t><x><w>1</w></x><x><w>4</w></x><y><w>1</w><c>3</c></y><z><w>1</w></z></t>")


def test_a_whole_subtree_goes_into_one_member() -> None:
    source = SOURCE.replace("b*)", "b*, e?)") + "<!ELEMENT e (w, n?)>"
    target = TARGET.replace("c*)", "c*, e?)") + "<!ELEMENT e (w, n?)>"
    found = mapping(source, target, f"{BOX}a/e => x/e")
    document = "<s><a><v>x</v><e><w>1</w></e></a><a><v>y</v><e><w>1</w></e></a></s>"
    assert image(found, document) == "<t><x><e><w>1</w></e></x><y/></t>"


def test_an_arrow_out_of_a_member() -> None:
    found = mapping(MEMBERS, TAGS, f"{SOURCE_BOX}[S]/w -> p/b\na/x/n -> p/c")
    assert (
        rules_of(found)
        == """\
t -> f_t($s)[p -> f_p($S_tag, $S_w, $S_n)[a -> $S_tag, b -> $S_w, c -> $S_n]]
<-
s -> $s[a -> $a[[S]:$S_tag -> $S[w -> $S_w, n -> $S_n]]],
$S_tag = "x".

t -> f_t($s)[p -> f_p($S_tag, $S_w)[a -> $S_tag, b -> $S_w]]
<-
s -> $s[a -> $a[[S]:$S_tag -> $S[w -> $S_w]]],
$S_tag != "x".
"""
    )
    document = "<s><a><x><w>1</w><n>2</n></x><y><w>1</w><n>2</n></y></a></s>"
    assert image(found, document) == "<t><p><a>x</a><b>1</b><c>2</c></p><p><a>y</a><b>1</b></p></t>"


def test_a_member_that_a_choice_does_not_bind_must_be_there() -> None:
    """As with any stop node: the ``p`` of an ``a`` that has no ``x`` is lost, for its body binds one."""
    target = "<!ELEMENT t (p*, q*)> <!ELEMENT p (b?, c?)> <!ELEMENT q (#PCDATA)> <!ELEMENT b (#PCDATA)> \
<!ELEMENT c (#PCDATA)>"
    found = mapping(MEMBERS, target, "source box S = a/(x | y | z)\n[S] -> q\na/k -> p/b\na/x/n -> p/c")
    document = "<s><a><k>1</k><x><n>2</n></x></a><a><k>2</k><y><n>2</n></y></a></s>"
    assert image(found, document) == "<t><p><b>1</b><c>2</c></p><q>x</q><q>y</q></t>"


def test_members_on_both_sides_whose_tags_are_one_value() -> None:
    source = MEMBERS.replace("s (a*)", "s (a)").replace("(k?, (x", "((x")
    arrows = "source box S = a/(x | y | z)\ntarget box B = (x | y)\n[S] -> [B]\n[S]/w -> [B]/w\n"
    found = mapping(source, TARGET, f"{arrows}a/x/n -> x/n")
    tags = [[c.operator for c in rule.conditions if isinstance(c, Comparison)] for rule in found.rules]
    assert tags == [["="], ["!="]]
    with pytest.raises(MappingError) as caught:
        mapping(source, TARGET, f"{arrows}a/x/n -> y/n")
    (fault,) = caught.value.faults
    assert fault.code == "HX4018"
    assert "a/x/n -> y/n" in fault.message


def test_a_box_within_a_box() -> None:
    target = """<!ELEMENT t (x | y)*> <!ELEMENT x (j | k)*> <!ELEMENT y (j | k)*> <!ELEMENT j (w?)> <!ELEMENT k (w?)>
<!ELEMENT w (#PCDATA)>"""
    source = "<!ELEMENT s (a*)> <!ELEMENT a EMPTY> <!ATTLIST a v CDATA #IMPLIED u CDATA #IMPLIED n CDATA #IMPLIED>"
    arrows = "target box B = (x | y)\ntarget box C = [B]/(j | k)\na/@v -> [B]\na/@u -> [C]\na/@n -> x/j/w"
    found = mapping(source, target, arrows)
    document = "<s>" + "".join(f'<a v="{v}" u="{u}" n="1"/>' for v in "xy" for u in "jk") + "</s>"
    assert image(found, document) == "<t><x><j><w>1</w></j><k/></x><y><j/><k/></y></t>"


@pytest.mark.parametrize(
    "arrows", ["[S] -> [B]\n[S]/w -> [B]/w\na/x/n -> [B]/n\na/k -> y/n", "[S] -> [B]/n\na/k -> [B]\na/x/w -> x/w"]
)
@pytest.mark.parametrize("seed", range(3))
def test_exchange_by_the_letter_and_by_printed_rules(arrows: str, seed: int, tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text(MEMBERS)
    (tmp_path / "t.dtd").write_text(TARGET)
    boxes = "source box S = a/(x | y | z)\ntarget box B = (x | y)\n"
    declared = f'source "s.dtd" root s\ntarget "t.dtd" root t\n{boxes}'
    found = parse_mapping_arrows(declared + arrows, tmp_path)
    (tmp_path / "x.rules").write_text(print_rules(found, tmp_path))
    loaded = load_mapping(tmp_path / "x.rules")
    assert loaded == found
    random = Random(seed)
    values: Values = {"k": ("x", "y", "z", "a b", "")}
    for _ in range(10):
        text = random_document(found.source.graph, random, values=values, elements=20, pool=("1", "2", ""))
        made = exchange(loaded, parse_document(text)).root
        assert as_set(made) == text_set(by_the_letter(found, text).text), text


def test_a_box_that_stands_before_other_leaves_needs_its_tag_as_well() -> None:
    source = "<!ELEMENT s (n*, b*, z?)> <!ELEMENT b (w, n)> <!ELEMENT n (#PCDATA)> <!ELEMENT w (#PCDATA)> \
<!ELEMENT z (#PCDATA)>"
    target = "<!ELEMENT t (r*)> <!ELEMENT r (w?, (x | y)?, z?)> <!ELEMENT x (v?)> <!ELEMENT y (v?)> \
<!ELEMENT v (#PCDATA)> <!ELEMENT w (#PCDATA)> <!ELEMENT z (#PCDATA)>"
    arrows = "target box B = r/(x | y)\nb/w -> r/w\nn -> r/w\nn -> [B]/v\nb/n -> [B]\nz -> r/z"
    with pytest.raises(MappingError, match=r"the tag in \[B\] comes with other groups") as caught:
        mapping(source, target, arrows)
    assert [fault.code for fault in caught.value.faults] == ["HX4020"]


def test_the_tag_may_come_with_some_members_only_where_nothing_else_needs_it() -> None:
    arrows = "source box S = a/(x | y | z)\ntarget box B = (x | y)\n[S] -> [B]/w\n"
    with pytest.raises(MappingError) as caught:
        mapping(MEMBERS, TARGET, f"{arrows}a/x/n -> [B]")
    assert [fault.code for fault in caught.value.faults] == ["HX4020"]
    found = mapping(MEMBERS, TARGET, f"{arrows}a/x/n -> [B]\na/y/n -> [B]\na/z/w -> [B]")
    document = "<s><a><x><n>x</n></x><y><n>q</n></y><z><w>y</w></z></a></s>"
    assert image(found, document) == "<t><x><w>x</w></x><y><w>z</w></y><q><w>y</w></q></t>"


def test_the_policy_of_coronary_patients() -> None:
    """The hospital: in Boston, only heart patients have a policy."""
    declared = (HOSPITAL / "montreal-boston.arrows").read_text(encoding="utf-8")
    assert "[Illness]/PolicyNo" in declared
    found = parse_mapping_arrows(declared.replace("[Illness]/PolicyNo", "Admission/Coronary/PolicyNo"), HOSPITAL)
    patients = "".join(
        f'<Patient ID="{name}"><MedCrNo>7</MedCrNo><Name>{name}</Name><Sex>f</Sex><Hist/></Patient>' for name in "ABC"
    )
    problems = {"A": "Coronary", "B": "Pulmonary", "C": "Asthma"}
    admissions = "".join(
        f'<Admission PatRef="{name}"><Problem>{problem}</Problem><AdmDate>1</AdmDate></Admission>'
        for name, problem in problems.items()
    )
    root = parse_document(image(found, f"<MonGenHosp>{patients}{admissions}</MonGenHosp>")).root
    made = [child for admission in root.findall("Admission") for child in admission]
    assert {(child.tag, child.findtext("PolicyNo")) for child in made} == {
        ("Coronary", "7"), ("Pulmonary", None), ("Asthma", None),
    }  # fmt: skip
