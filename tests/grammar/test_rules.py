"""Mapping rules as text."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given, strategies as st

from heptox.errors import GrammarError, Position
from heptox.grammar import (
    BodyTree,
    Constant,
    HeadLeaf,
    HeadTree,
    Identity,
    KeyDeclaration,
    Label,
    RuleCondition,
    RulesFile,
    RuleText,
    SchemaDeclaration,
    SchemaPath,
    parse_rules,
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

names = st.sampled_from(["a", "b-c", "x.y", "ns:e", "source", "text", "_x0020_", "Œd·1", "LongerNameForBreakingLines"])
variables = st.sampled_from(["$a", "$Patient_ID", "$x-1", "$é", "$a_rather_long_name_of_a_variable"])
leaf_labels = st.one_of(names, names.map(lambda name: f"@{name}"), st.just("text()")).map(Label)
labels = st.one_of(
    names.map(Label), st.builds(Label, names.map(lambda name: f"[{name}]"), st.one_of(st.none(), variables))
)
identities = st.builds(Identity, names, st.lists(variables, max_size=3).map(tuple))
leaves = st.builds(HeadLeaf, leaf_labels, variables, st.booleans())
heads = st.recursive(
    st.builds(HeadTree, labels, identities),
    lambda below: st.builds(HeadTree, labels, identities, st.lists(leaves | below, max_size=4).map(tuple)),
    max_leaves=8,
)
bodies = st.recursive(
    st.builds(BodyTree, leaf_labels, variables),
    lambda below: st.builds(BodyTree, labels, variables, st.lists(below, max_size=4).map(tuple)),
    max_leaves=10,
)
constants = st.text('ab "#.\n').map(Constant)
conditions = st.one_of(
    st.builds(RuleCondition, variables, variables | constants),
    st.builds(RuleCondition, variables, constants, st.just("!=")),
)
rules = st.builds(RuleText, heads, bodies, st.lists(conditions, max_size=2).map(tuple))
declarations = st.lists(
    st.sampled_from(
        [SchemaDeclaration("source", "a.dtd", "root"), KeyDeclaration("target", SchemaPath(("key", "@x")))]
    ),
    max_size=2,
)


@given(st.builds(RulesFile, declarations.map(tuple), st.lists(rules, max_size=3).map(tuple)))
def test_what_is_printed_is_parsed_again(file: RulesFile) -> None:
    assert parse_rules(print_rules_file(file)) == file


def test_the_rule_of_the_specification_is_printed_as_it_stands_there() -> None:
    assert print_rules_file(parse_rules(SYMPTOMS)) == SYMPTOMS


def test_positions_count_in_the_whole_file() -> None:
    file = parse_rules(f'source "a.dtd"\n# a comment\n\n{SYMPTOMS}\n{SYMPTOMS}', "x.rules")
    assert file.declarations[0].position == Position(1, 1, "x.rules")
    assert [rule.position for rule in file.rules] == [Position(4, 1, "x.rules"), Position(13, 1, "x.rules")]
    assert file.rules[1].conditions[0].position == Position(20, 1, "x.rules")


def test_each_rule_that_is_wrong_is_told() -> None:
    text = f"source key\n{SYMPTOMS}a -> f_a($a) < b -> $b.\n{SYMPTOMS}a -> f_a(\n"
    with pytest.raises(GrammarError) as caught:
        parse_rules(text)
    assert [(f.code, f.position and f.position.line) for f in caught.value.faults] == [
        ("HX3001", 1),
        ("HX3001", 10),
        ("HX3001", 19),
    ]


def test_a_tag_variable_stands_with_a_box_only() -> None:
    with pytest.raises(ValueError, match="only a box"):
        Label("a", "$t")
