"""Keys and inferred references (``semantics.md`` section 1)."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from heptox.schema import Box, SchemaTree, id_paths, idref_paths, inferred_references, parse_dtd, read_dtd
from tests.support.shared import DATA

HOSPITAL = FilePath(__file__).parents[2] / "heptox" / "demo" / "hospital"


def test_one_node_with_an_id_is_what_references_point_to() -> None:
    tree = SchemaTree(read_dtd(HOSPITAL / "mongenhosp.dtd"))
    assert id_paths(tree) == (("Patient", "@ID"),)
    assert idref_paths(tree) == (("Admission", "@PatRef"),)
    assert inferred_references(tree) == ((("Admission", "@PatRef"), ("Patient", "@ID")),)


def test_a_box_is_one_node() -> None:
    graph = read_dtd(HOSPITAL / "massgeneral.dtd")
    assert inferred_references(SchemaTree(graph)) == ()
    assert len(id_paths(SchemaTree(graph))) == 2
    boxed = SchemaTree(graph, (Box("Illness", ("Admission",), ("Pulmonary", "Coronary")),))
    assert id_paths(boxed) == (("Admission", "[Illness]", "@ID"),)
    assert inferred_references(boxed)[0].target == ("Admission", "[Illness]", "@ID")


def test_a_shared_type_is_several_nodes() -> None:
    tree = SchemaTree(parse_dtd(
        "<!ELEMENT a (b, c)> <!ELEMENT b (d)> <!ELEMENT c (d)> <!ELEMENT d EMPTY>"
        "<!ATTLIST d k ID #IMPLIED r IDREF #IMPLIED>"
    ))  # fmt: skip
    assert id_paths(tree) == (("b", "d", "@k"), ("c", "d", "@k"))
    assert inferred_references(tree) == ()


def test_what_can_recur_is_many_nodes() -> None:
    attributes = "<!ATTLIST part k ID #REQUIRED r IDREF #IMPLIED>"
    for part in ("(part*)", "(sub?)"):
        tree = SchemaTree(
            parse_dtd(f"<!ELEMENT a (part)> <!ELEMENT part {part}> <!ELEMENT sub (part)> {attributes}", "a")
        )
        assert id_paths(tree) == (("part", "@k"),)
        assert inferred_references(tree) == ()
    below = "<!ELEMENT a (part)> <!ELEMENT part (part?, label)> <!ELEMENT label EMPTY> <!ATTLIST label k ID #IMPLIED>"
    assert inferred_references(SchemaTree(parse_dtd(below + "<!ATTLIST part r IDREF #IMPLIED>", "a"))) == ()


def test_references_from_within_a_recursion() -> None:
    tree = SchemaTree(parse_dtd(
        "<!ELEMENT a (b*, part)> <!ELEMENT b EMPTY> <!ATTLIST b k ID #REQUIRED> <!ELEMENT part (part?)>"
        "<!ATTLIST part r IDREF #IMPLIED s IDREFS #IMPLIED>"
    ))  # fmt: skip
    assert inferred_references(tree) == ((("part", "@r"), ("b", "@k")),)


def test_ids_of_types_that_cannot_stand_in_a_document_do_not_count() -> None:
    tree = SchemaTree(parse_dtd(
        "<!ELEMENT a (b*)> <!ELEMENT b EMPTY> <!ATTLIST b k ID #REQUIRED r IDREF #IMPLIED>"
        "<!ELEMENT z EMPTY> <!ATTLIST z k ID #IMPLIED>", "a"
    ))  # fmt: skip
    assert inferred_references(tree) == ((("b", "@r"), ("b", "@k")),)


def test_real_schemas() -> None:
    mondial = SchemaTree(read_dtd(DATA / "mondial" / "mondial-europe.dtd", "mondial"))
    assert ("country", "@car_code") in id_paths(mondial)
    assert len(id_paths(mondial)) == 12
    assert ("country", "@memberships") not in idref_paths(mondial)
    assert inferred_references(mondial) == ()
    auction = SchemaTree(read_dtd(DATA / "xmark" / "auction.dtd", "site"))
    assert len(id_paths(auction)) == 9


def test_of_very_many_identifiers_those_of_nodes_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.schema.references.MOST_IDENTIFIERS", 3)
    dtd = "<!ELEMENT a (b*, c*)> <!ELEMENT b (c*)> <!ELEMENT c (b*)>" + "".join(
        f"<!ATTLIST {name} k ID #REQUIRED r IDREF #IMPLIED>" for name in "abc"
    )
    tree = SchemaTree(parse_dtd(dtd))
    assert id_paths(tree) == ()
    assert id_paths(tree, [("b", "c", "@r")]) == (("@k",), ("b", "@k"), ("b", "c", "@k"))
    assert idref_paths(tree, [("b",)]) == (("@r",), ("b", "@r"))
    assert inferred_references(tree) == ()
