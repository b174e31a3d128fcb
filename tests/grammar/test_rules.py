"""Mapping rules as text."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, strategies as st

from heptox.errors import Position
from heptox.grammar import (
    BodyTree,
    Constant,
    HeadLeaf,
    HeadTree,
    Identity,
    KeyDeclaration,
    Label,
    LeafCondition,
    NodeAbsence,
    NodeTest,
    RuleCondition,
    RulesFile,
    RuleText,
    SchemaDeclaration,
    SchemaPath,
    parse_rule_parts,
    print_rules_file,
)

# The rule of section 4 of the specification, laid out as it is there.
SYMPTOMS: Final = """\
MassGeneral -> f_MassGeneral($Mgh)[
  Progress -> f_Progress($PR)[@PatRef -> $PR,
    Symptom -> f_Progress_Symptom($EP, $ED)[Desc -> $EP, Date -> $ED]]]
<-
MonGenHosp -> $Mgh[
  Patient -> $P[@ID -> $ID, Hist -> $H[Event -> $E[Problem -> $EP, Date -> $ED]]],
  Admission -> $A[@PatRef -> $PR]],
$PR = $ID.
"""

names = st.sampled_from(
    ["a", "b-c", "x.y", "z.", "ns:e", "source", "text", "each", "present", "absent", "along", "name", "_x0020_", "Œd·1",
     "LongerNameForBreakingLines"]
)  # fmt: skip
variables = st.sampled_from(["$a", "$Patient_ID", "$x-1", "$é", "$a_rather_long_name_of_a_variable"])
leaf_labels = st.one_of(names, names.map(lambda name: f"@{name}"), st.just("text()")).map(Label)
labels = st.one_of(
    names.map(Label), st.builds(Label, names.map(lambda name: f"[{name}]"), st.one_of(st.none(), variables))
)
identities = st.builds(
    Identity, names.map("f_{}".format), st.lists(variables, max_size=3).map(tuple), st.one_of(st.none(), variables)
)
leaves = st.builds(HeadLeaf, st.one_of(leaf_labels, st.just(Label("."))), variables, st.booleans())
heads = st.recursive(
    st.builds(HeadTree, labels, identities),
    lambda below: st.builds(HeadTree, labels, identities, st.lists(leaves | below, max_size=4).map(tuple)),
    max_leaves=8,
)
bodies = st.recursive(
    st.builds(BodyTree, leaf_labels, variables),
    lambda below: st.builds(BodyTree, labels, variables, st.lists(below, max_size=4).map(tuple), st.booleans()),
    max_leaves=10,
)
constants = st.one_of(st.text('ab "#.\n'), st.just("\nalong:\n")).map(Constant)
steps = st.lists(st.one_of(names, names.map(lambda name: f"[{name}]")), min_size=1, max_size=3)
test_paths = st.one_of(
    st.sampled_from([(".",), ("name()",)]),
    st.lists(leaf_labels.map(lambda label: label.name), min_size=1, max_size=3).map(tuple),
).map(SchemaPath)
tests = st.builds(NodeTest, test_paths, st.one_of(st.none(), variables, constants))
conditions = st.one_of(
    st.builds(RuleCondition, variables, variables | constants),
    st.builds(RuleCondition, variables, constants, st.just("!=")),
    st.builds(RuleCondition, variables, variables, st.just("=?")),
    st.builds(LeafCondition, variables, st.booleans()),
    st.builds(
        NodeAbsence,
        st.one_of(st.none(), variables),
        steps.map(tuple).map(SchemaPath),
        st.lists(tests, max_size=2).map(tuple),
    ),
)
rules = st.builds(RuleText, heads, bodies, st.lists(conditions, max_size=2).map(tuple))
declarations = st.lists(
    st.sampled_from(
        [SchemaDeclaration("source", "a.dtd", "root"), KeyDeclaration("target", SchemaPath(("key", "@x")))]
    ),
    max_size=2,
)


sections = st.lists(rules, max_size=3).map(tuple)
files = st.one_of(
    st.builds(RulesFile, declarations.map(tuple), sections, st.one_of(st.none(), sections)),
    st.builds(RulesFile, declarations.map(tuple), st.none(), sections),
)


@given(files)
def test_what_is_printed_is_parsed_again(file: RulesFile) -> None:
    assert parse_rule_parts(print_rules_file(file))[0] == file


def test_the_rule_of_the_specification_is_printed_as_it_stands_there() -> None:
    assert print_rules_file(parse_rule_parts(SYMPTOMS)[0]) == f"along:\n\n{SYMPTOMS}"


def test_positions_count_in_the_whole_file() -> None:
    file = parse_rule_parts(f'source "a.dtd"\n# a comment\n\n{SYMPTOMS}\n{SYMPTOMS}', "x.rules")[0]
    assert file.declarations[0].position == Position(1, 1, "x.rules")
    assert file.along is not None
    assert [rule.position for rule in file.along] == [Position(4, 1, "x.rules"), Position(13, 1, "x.rules")]
    assert file.along[1].conditions[0].position == Position(20, 1, "x.rules")


def test_each_rule_that_is_wrong_is_told() -> None:
    text = f"source key\n{SYMPTOMS}a -> f_a($a) < b -> $b.\n{SYMPTOMS}a -> f_a(\n"
    faults = parse_rule_parts(text)[1]
    assert [(f.code, f.position and f.position.line) for f in faults] == [
        ("HX3001", 1),
        ("HX3001", 10),
        ("HX3001", 19),
    ]


def test_a_string_has_no_character_that_xml_has_not() -> None:
    text = 'a -> f_a($b)[c -> "\x01"]\n<-\nb -> $b[c -> $c],\n$c = "\x02".\n'
    faults = parse_rule_parts(text)[1]
    assert [(f.code, f.position and f.position.line, f.hint) for f in faults] == [
        ("HX3001", line, "leave it out of the string") for line in (4, 1)
    ]


BOOKS: Final = """\
source "a.dtd" root store

along: # what books are made of

bib -> f_bib($store)[book -> f_book(each $item)[@id -> $isbn, alias -> f_book_alias(each $alias)[. -> $alias]]]
<-
store -> $store[item -> $item[@isbn -> $isbn, @by -> $by, alias ->? $alias], house -> $house[@id -> $id]],
$by =? $id, present $isbn, absent $item/note[@lang]["a"=.].

  against:
"""


def test_sections_and_what_is_optional() -> None:
    text = BOOKS.replace('["a"=.]', '[kind = "x.\n"][. = $isbn]')
    file = parse_rule_parts(text)[0]
    assert file.against == ()
    assert file.along is not None
    (rule,) = file.along
    assert [str(condition) for condition in rule.conditions] == [
        "$by =? $id",
        "present $isbn",
        'absent $item/note[@lang][kind = "x.\n"][. = $isbn]',
    ]
    assert rule.head.parts[0] == HeadTree(
        Label("book"),
        Identity("f_book", (), "$item"),
        (
            HeadLeaf(Label("@id"), "$isbn"),
            HeadTree(Label("alias"), Identity("f_book_alias", (), "$alias"), (HeadLeaf(Label("."), "$alias"),)),
        ),
    )
    assert rule.body.parts[0].parts[-1].optional
    assert parse_rule_parts(print_rules_file(file))[0] == file


def test_a_file_may_have_one_section() -> None:
    assert parse_rule_parts(f"against:\n{SYMPTOMS}")[0].along is None
    assert parse_rule_parts(SYMPTOMS)[0] == parse_rule_parts(f"along:\n{SYMPTOMS}")[0]
    assert parse_rule_parts("along:\nagainst:")[0] == RulesFile((), (), ())
    assert parse_rule_parts("")[0] == RulesFile()
    with pytest.raises(ValueError, match="has a section"):
        RulesFile((), None, None)


def test_a_heading_hides_no_rule_and_no_element() -> None:
    text = f"along:\n{SYMPTOMS}\nx -> f_x(\nagainst:\n{SYMPTOMS}"
    faults = parse_rule_parts(text)[1]
    assert len(faults) == 1
    element = "along:\nalong:\n -> f_along($a) <- against -> $a."
    (rule,) = parse_rule_parts(element)[0].along or ()
    assert rule.head.label == Label("along:")


def test_headings_that_are_wrong_are_told() -> None:
    text = f"{SYMPTOMS}\nalong:\n\nagainst:\nalong:\n{BOOKS.split(chr(10), 4)[4]}"
    faults = parse_rule_parts(text)[1]
    told = [(f.position and f.position.line, f.message) for f in faults]
    assert told[:2] == [(10, "rules stand above the first heading"), (13, "the section along: begins again")]


def test_a_full_stop_behind_a_step_ends_the_rule() -> None:
    (rule,) = parse_rule_parts("a -> f_a($a) <- b -> $b, absent $b/c.d. # why")[0].along or ()
    assert rule.conditions == (NodeAbsence("$b", SchemaPath(("c.d",))),)


def test_what_conditions_cannot_be() -> None:
    with pytest.raises(ValueError, match="connected by a variable"):
        RuleCondition("$a", Constant("x"), "=?")
    with pytest.raises(ValueError, match="constant only"):
        RuleCondition("$a", "$b", "!=")


def test_a_tag_variable_stands_with_a_box_only() -> None:
    with pytest.raises(ValueError, match="only a box"):
        Label("a", "$t")


def test_rules_of_any_depth_are_printed() -> None:
    depth = 80
    arguments = "$x, $a_variable_with_a_long_name, $another_variable_with_a_name"
    head = "".join(f"a{level} -> f_a{level}({arguments})[" for level in range(depth))
    text = f"{head}@k -> $x{']' * depth}\n<-\ns -> $s[@x -> $x, @y -> $a_variable_with_a_long_name, @z -> $z].\n"
    rules, faults = parse_rule_parts(f"along:\n\n{text}")
    assert not faults
    assert parse_rule_parts(print_rules_file(rules)) == (rules, ())
