"""From arrows to rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.mapping import Mapping, OptionalPart, Rule, load_mapping, parse_mapping_rules, print_rules
from heptox.pattern import TAG, Comparison, Term, atom_terms
from tests.mapping.building import HOSPITAL, hospital, image_set, mapping, text_set

FIXTURES = Path(__file__).parent.parent / "fixtures" / "mapping"

BIB = "<!ELEMENT bib (book*)> <!ELEMENT book (title, author*, pub)> <!ELEMENT title (#PCDATA)> \
<!ELEMENT author (#PCDATA)> <!ELEMENT pub (name)> <!ELEMENT name (#PCDATA)>"
LIBRARY = "<!ELEMENT library (item*)> <!ELEMENT item (name, by*)> <!ELEMENT name (#PCDATA)> <!ELEMENT by (#PCDATA)>"


def links(rule: Rule) -> list[tuple[Term, ...]]:
    """The pairs of terms that a body compares."""
    compared = (*rule.conditions, *(link for part in rule.optional for link in part.conditions))
    return [atom_terms(condition) for condition in compared]


def print_rules_of(rules: Mapping) -> list[str]:
    return [part for part in rule_text(rules).split("\n\n") if "<-" in part]


def rule_text(rules: Mapping) -> str:
    return print_rules(rules, rules.source.graph.file and Path(rules.source.graph.file).parent)


def test_the_hospital_has_the_four_rules_of_figure_2() -> None:
    expected = (FIXTURES / "montreal-boston.rules").read_text(encoding="utf-8")
    assert print_rules(hospital(), HOSPITAL) == expected


def test_the_symptoms_rule_reads_as_in_the_specification() -> None:
    symptoms = print_rules_of(hospital())[1]
    for name, short in (("MonGenHosp", "Mgh"), ("Admission_PatRef", "PR"), ("Event_Problem", "EP"),
                        ("Event_Date", "ED"),
                        ("Patient_ID", "ID"), ("Patient_Hist", "H"), ("Patient", "P"), ("Event", "E"),
                        ("Admission", "A")):  # fmt: skip
        symptoms = symptoms.replace(f"${name}", f"${short}")
    written = """\
MassGeneral -> f_MassGeneral($Mgh)[Progress -> f_Progress($PR)[@PatRef -> $PR,
Symptom -> f_Progress_Symptom($EP, $ED)[Desc -> $EP, Date -> $ED]]] <- MonGenHosp -> $Mgh[
Patient -> $P[@ID -> $ID, Hist -> $H[Event -> $E[Problem -> $EP, Date -> $ED]]],
Admission -> $A[@PatRef -> $PR]], $PR = $ID."""
    assert "".join(symptoms.split()) == "".join(written.split())


def test_progress_itself_needs_the_admission_alone() -> None:
    rule = hospital().rules[3]
    assert [variable.node for variable in rule.variables] == [(), ("Admission",)]
    assert rule.conditions == ()
    assert rule.head[1].leaves == ((("@PatRef",), Term("Admission", ("@PatRef",))),)


def test_keys_and_references_of_the_hospital() -> None:
    rules = hospital()
    assert rules.source_keys == {("Patient", "@ID")}
    assert rules.target_keys == {("Admission", "[Illness]", "@ID")}
    assert [(r.source, r.target, r.inferred) for r in rules.source_references] == [
        (("Admission", "@PatRef"), ("Patient", "@ID"), True)
    ]
    assert [(r.source, r.target) for r in rules.target_references] == [
        (("Progress", "@PatRef"), ("Admission", "[Illness]", "@ID"))
    ]


@pytest.mark.parametrize("name", ["montreal-boston", "stluke-boston"])
def test_printed_rules_load_as_the_same_mapping(name: str, tmp_path: Path) -> None:
    for file in HOSPITAL.glob("*.dtd"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "x.rules").write_text(print_rules(hospital(name), HOSPITAL), encoding="utf-8")
    loaded = load_mapping(tmp_path / "x.rules")
    assert loaded == hospital(name)
    assert print_rules(loaded, tmp_path) == print_rules(hospital(name), HOSPITAL)


def test_an_author_who_repeats_is_a_group_of_his_own() -> None:
    rules = mapping(BIB, LIBRARY, "book/title -> item/name\nbook/author -> item/by")
    assert [[node.node for node in rule.head] for rule in rules.rules] == [
        [(), ("item",), ("item", "by")],
        [(), ("item",)],
    ]
    assert rules.rules[0].head[2].leaves == (((), Term("author")),)


def test_alternatives_are_rules_of_their_own() -> None:
    source = (
        "<!ELEMENT s (a*, b*)> <!ELEMENT a (x, y)> <!ELEMENT b (x, z)> <!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)> \
<!ELEMENT z (#PCDATA)>"
    )
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, y?, z?)> <!ELEMENT k (#PCDATA)> \
<!ELEMENT y (#PCDATA)> <!ELEMENT z (#PCDATA)>"
    rules = mapping(source, target, "a/x -> r/k\nb/x -> r/k\na/y -> r/y\nb/z -> r/z")
    assert [dict(rule.head[1].leaves) for rule in rules.rules] == [
        {("k",): Term("a", ("x",)), ("y",): Term("a", ("y",))},
        {("k",): Term("b", ("x",)), ("z",): Term("b", ("z",))},
    ]
    assert image_set(rules, "<s><a><x>1</x><y>2</y></a><b><x>1</x><z>3</z></b></s>") == image_set(
        rules, "<s><b><x>1</x><z>3</z></b><a><x>1</x><y>2</y></a></s>"
    )


def test_alternatives_of_one_group_are_all_choices() -> None:
    source = "<!ELEMENT s (a*)> <!ELEMENT a (x, y)> <!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)>"
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, l)> <!ELEMENT k (#PCDATA)> <!ELEMENT l (#PCDATA)>"
    rules = mapping(source, target, "a/x -> r/k\na/y -> r/k\na/x -> r/l\na/y -> r/l")
    assert len(rules.rules) == 4


def test_one_leaf_goes_to_several_places() -> None:
    source = "<!ELEMENT s (a*)> <!ELEMENT a (#PCDATA)>"
    target = "<!ELEMENT t (r*, q*)> <!ELEMENT r (#PCDATA)> <!ELEMENT q (k)> <!ELEMENT k (#PCDATA)>"
    rules = mapping(source, target, "a -> r\na -> q/k")
    assert len(rules.rules) == 2


CHAIN = """<!ELEMENT s (a*, b*, c*)> <!ELEMENT a (x)> <!ELEMENT b (e*)> <!ELEMENT c (y)> <!ELEMENT e EMPTY>
<!ATTLIST a id ID #REQUIRED> <!ATTLIST b a IDREF #REQUIRED> <!ATTLIST e c CDATA #REQUIRED>
<!ATTLIST c no CDATA #REQUIRED>
<!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)>"""
PAIR = "<!ELEMENT t (r*)> <!ELEMENT r (k, l)> <!ELEMENT k (#PCDATA)> <!ELEMENT l (#PCDATA)>"


def test_groups_in_between_join_the_body() -> None:
    declared = "source key c/@no\nsource reference b/e/@c -> c/@no\n"
    rules = mapping(CHAIN, PAIR, f"{declared}a/x -> r/k\nc/y -> r/l")
    (rule,) = rules.rules
    assert [variable.node for variable in rule.variables] == [(), ("a",), ("b",), ("b", "e"), ("c",)]
    assert rule.conditions == (Comparison("=", Term("b", ("@a",)), Term("a", ("@id",))),)
    link = Comparison("=", Term("e", ("@c",)), Term("c", ("@no",)))
    assert rule.optional == (OptionalPart(("c",), (link,)),)  # nothing guarantees a declared reference


def test_a_group_keeps_the_connection_of_the_one_around_it() -> None:
    """The outer node's groups a and c connect through b; that c and d connect otherwise makes no difference to them."""
    source = """<!ELEMENT s (a*, b*, c*, d*)> <!ELEMENT a EMPTY> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>
<!ELEMENT d EMPTY> <!ATTLIST a id ID #REQUIRED b CDATA #REQUIRED v CDATA #REQUIRED>
<!ATTLIST b k CDATA #REQUIRED c CDATA #REQUIRED>
<!ATTLIST c k CDATA #REQUIRED v CDATA #REQUIRED> <!ATTLIST d c CDATA #REQUIRED v CDATA #REQUIRED>"""
    target = """<!ELEMENT t (r*)> <!ELEMENT r (i*)> <!ATTLIST r a CDATA #REQUIRED c CDATA #REQUIRED>
<!ELEMENT i EMPTY> <!ATTLIST i d CDATA #REQUIRED>"""
    declared = """source key b/@k
source key c/@k
source reference a/@b -> b/@k
source reference b/@c -> c/@k
source reference d/@c -> c/@k
"""
    rules = mapping(source, target, f"{declared}a/@v -> r/@a\nc/@v -> r/@c\nd/@v -> r/i/@d")
    inner = [rule for rule in rules.rules if len(rule.head) == 3]
    outer = [rule for rule in rules.rules if len(rule.head) == 2]
    assert {frozenset(map(frozenset, links(rule))) for rule in inner} == {
        frozenset(map(frozenset, (*links(outer[0]), (Term("d", ("@c",)), Term("c", ("@k",))))))
    }
    assert [rule.required[-1].node for rule in (*inner, *outer)] == [("a",), ("d",), ("a",)]


def test_two_nodes_of_one_name_have_two_variables() -> None:
    source = "<!ELEMENT s (a*)> <!ELEMENT a (i*, b)> <!ELEMENT b (i*)> <!ELEMENT i (#PCDATA)>"
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, l)> <!ELEMENT k (#PCDATA)> <!ELEMENT l (#PCDATA)>"
    (rule,) = mapping(source, target, "a/i -> r/k\na/b/i -> r/l").rules
    assert [variable.name for variable in rule.variables] == ["s", "a", "a_i", "a_b_i"]


def test_a_source_box_binds_its_tag() -> None:
    source = """<!ELEMENT s ((red | green)*)> <!ELEMENT red (n)> <!ELEMENT green (n)> <!ELEMENT n (#PCDATA)>"""
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, l)> <!ELEMENT k (#PCDATA)> <!ELEMENT l (#PCDATA)>"
    rules = mapping(source, target, "source box Colour = (red | green)\n[Colour] -> r/k\n[Colour]/n -> r/l")
    (rule,) = rules.rules
    assert rule.head[1].leaves == ((("k",), Term("Colour", (TAG,))), (("l",), Term("Colour", ("n",))))
    assert "[Colour]:$Colour_tag -> $Colour[n -> $Colour_n]" in rule_text(rules)


def test_rules_by_hand_may_bind_one_node_twice() -> None:
    """Brothers: patients with the same name. No arrows say that, an edited rule does."""
    text = """\
source "mongenhosp.dtd" root MonGenHosp
target "massgeneral.dtd" root MassGeneral

MassGeneral -> f_MassGeneral($m)[Progress -> f_Progress($i)[@PatRef -> $i,
  Symptom -> f_Progress_Symptom($d, $w)[Desc -> $d, Date -> $w]]]
<-
MonGenHosp -> $m[Patient -> $p[@ID -> $i, Name -> $n],
  Patient -> $q[Name -> $o, Hist -> $h[Event -> $e[Problem -> $d, Date -> $w]]]],
$n = $o, $d = "Coronary".
"""
    rules = parse_mapping_rules(text, HOSPITAL)
    assert parse_mapping_rules(print_rules(rules), Path()) == rules
    document = """<MonGenHosp><Patient ID="p1"><Name>A</Name><Hist/></Patient><Patient ID="p2"><Name>A</Name><Hist>
<Event><Problem>Coronary</Problem><Date>1</Date></Event><Event><Problem>Other</Problem><Date>1</Date></Event>
</Hist></Patient></MonGenHosp>"""
    symptom = "<Symptom><Desc>Coronary</Desc><Date>1</Date></Symptom>"
    expected = f'<Progress PatRef="p1">{symptom}</Progress><Progress PatRef="p2">{symptom}</Progress>'
    assert image_set(rules, document) == text_set(f"<MassGeneral>{expected}</MassGeneral>")


def test_standard_input_and_other_names_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    for file in HOSPITAL.glob("*.dtd"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for name, text in (
        ("a.txt", (HOSPITAL / "montreal-boston.arrows").read_text(encoding="utf-8")),
        ("b.txt", print_rules(hospital(), HOSPITAL)),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert load_mapping(tmp_path / name) == hospital()


def test_an_each_line_makes_nodes_where_the_arrows_lead_out_of_others() -> None:
    found = mapping(LIBRARY, BIB, """
each item[name = "x"] -> book
item[name = "y"]/name -> book/title
""")  # fmt: skip
    heads = [rule.head[-1] for rule in found.rules]
    assert [(head.each is not None, head.paths) for head in heads] == [(False, (("title",),)), (True, ())]
