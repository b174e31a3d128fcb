"""Values and tags of an open box (``semantics.md`` section 2): injective, apart from the schema's own names."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from heptox.errors import SchemaError
from heptox.schema import Box, Cardinality, Child, Element, SchemaGraph, SchemaTree

NASTY = ("Admission", "_x0020_", "_x0041_dmission", "a_x0020_b", "_x0061__x0020_b", "é")
MEMBERS = ("Pulmonary", "c_x0020_d", "_x0042_")
BOX = Box("Illness", (), MEMBERS)


def tree(*declared: str) -> SchemaTree:
    names = (*MEMBERS, *declared)
    root = Element("root", tuple(Child(name, Cardinality.MANY) for name in names))
    elements = {name: Element(name, text=True) for name in names}
    return SchemaTree(SchemaGraph("root", {"root": root, **elements}), (BOX,))


NASTY_TREE = tree(*NASTY)


@given(st.lists(st.sampled_from(NASTY + MEMBERS) | st.text("_x0041dmison bB \u00e9", max_size=8), unique=True))
def test_different_values_have_different_tags_that_are_read_back(values: list[str]) -> None:
    tags = [NASTY_TREE.tag_of_value(BOX.path, value) for value in values]
    assert len(set(tags)) == len(tags)
    assert [NASTY_TREE.value_of_tag(BOX.path, tag) for tag in tags] == values
    assert all(tag in MEMBERS or tag not in NASTY_TREE.graph.elements for tag in tags)


def test_a_declared_name_has_its_first_character_escaped() -> None:
    assert tree("Admission").tag_of_value(BOX.path, "Admission") == "_x0041_dmission"
    assert tree("Admission").value_of_tag(BOX.path, "_x0041_dmission") == "Admission"
    assert tree("Admission").value_of_tag(BOX.path, "Admission") is None


def test_members_stand_for_their_local_names_without_escapes() -> None:
    assert [NASTY_TREE.value_of_tag(BOX.path, member) for member in MEMBERS] == ["Pulmonary", "c d", "B"]
    assert [NASTY_TREE.tag_of_value(BOX.path, value) for value in ("c d", "B")] == ["c_x0020_d", "_x0042_"]
    assert NASTY_TREE.tag_of_value(BOX.path, "c_x0020_d") == "c_x005F_x0020_d"


def test_a_value_is_put_in_the_namespace_of_all_members() -> None:
    one, other = ("{urn:a}x", "{urn:a}y"), ("{urn:a}x", "{urn:b}y")
    found = []
    for members in (one, other):
        names = (*members, "{urn:a}taken", "taken")
        root = Element("root", tuple(Child(name, Cardinality.MANY) for name in names))
        elements = {name: Element(name, text=True) for name in names}
        box = Box("B", (), members)
        here = SchemaTree(SchemaGraph("root", {"root": root, **elements}), (box,))
        tags = [here.tag_of_value(box.path, value) for value in ("y", "new", "taken")]
        assert [here.value_of_tag(box.path, tag) for tag in tags] == ["y", "new", "taken"]
        assert here.value_of_tag(box.path, "{urn:c}z") is None
        found.append(tags)
    assert found == [["{urn:a}y", "{urn:a}new", "{urn:a}_x0074_aken"], ["{urn:b}y", "new", "_x0074_aken"]]


def test_a_schema_that_declares_every_spelling_is_refused() -> None:
    with pytest.raises(SchemaError, match="HX2011"):
        tree("A", "_x0041_").tag_of_value(BOX.path, "A")
