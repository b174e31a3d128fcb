"""The schema tree: nodes, stop nodes, leaves, steps, boxes, recursion."""

from __future__ import annotations

from itertools import islice
from pathlib import Path as FilePath

import pytest

from heptox.errors import SchemaError
from heptox.schema import (
    TEXT,
    Axis,
    Box,
    Cardinality,
    Match,
    Path,
    SchemaTree,
    axis_matches,
    groups,
    parse_dtd,
    read_dtd,
)
from tests.support.shared import DATA

HOSPITAL = FilePath(__file__).parents[2] / "heptox" / "demo" / "hospital"

MONTREAL = SchemaTree(read_dtd(HOSPITAL / "mongenhosp.dtd"))
ILLNESS = Box("Illness", ("Admission",), ("Pulmonary", "Coronary"))
BOSTON = SchemaTree(read_dtd(HOSPITAL / "massgeneral.dtd"), (ILLNESS,))
PLAIN_BOSTON = SchemaTree(BOSTON.graph)
MIXED = SchemaTree(parse_dtd(
    "<!ELEMENT r (p, q*, price)> <!ELEMENT p (#PCDATA | em)*> <!ELEMENT q (#PCDATA)> <!ELEMENT em (#PCDATA)>"
    "<!ELEMENT price (#PCDATA)> <!ATTLIST price unit CDATA 'EUR'>"
))  # fmt: skip
PARTS = SchemaTree(parse_dtd(
    "<!ELEMENT store (part*, note)> <!ELEMENT part (name, piece*)> <!ELEMENT piece (part?, name)>"
    "<!ELEMENT name (#PCDATA)> <!ELEMENT note (#PCDATA)>", "store"
))  # fmt: skip


def path(text: str) -> Path:
    return tuple(text.split("/")) if text else ()


def match(tree: SchemaTree, context: Path, axis: Axis, test: str) -> tuple[Match, ...]:
    return tuple(axis_matches(tree, context, axis, test))


def paths(*texts: str) -> tuple[Path, ...]:
    return tuple(map(path, texts))


# -- nodes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("", True),
        ("Patient", True),
        ("Patient/@ID", True),
        ("Patient/Hist/Event/Date", True),
        ("Patient/Treat/Date", True),
        ("MonGenHosp", False),
        ("Patient/Date", False),
        ("Patient/@Name", False),
        ("Patient/Name/text()", False),
        ("Patient/@ID/x", False),
        ("@ID", False),
    ],
)
def test_known_paths(text: str, known: bool) -> None:
    assert (path(text) in MONTREAL) == known
    if not known:
        with pytest.raises(KeyError):
            MONTREAL.edge(path(text))


def test_other_things_are_no_paths() -> None:
    assert "Patient" not in MONTREAL
    with pytest.raises(KeyError):
        MONTREAL.attribute(())


def test_the_same_type_is_several_nodes() -> None:
    assert MONTREAL.element(path("Patient/Treat/Date")) == MONTREAL.element(path("Patient/Hist/Event/Date"))
    assert [p for p in MONTREAL.walk() if p[-1:] == ("Date",)] == list(
        paths("Patient/Hist/Event/Date", "Patient/Treat/Date")
    )


def test_edges_and_stop_nodes() -> None:
    assert MONTREAL.edge(()) == Cardinality.ONE
    assert MONTREAL.edge(path("Patient")) == Cardinality.MANY
    assert MONTREAL.edge(path("Patient/MedCrNo")) == Cardinality.OPTIONAL
    assert MONTREAL.stops(path("Patient/Hist/Event/Date")) == paths("", "Patient", "Patient/Hist/Event")
    assert MONTREAL.stop(path("Patient/Hist")) == path("Patient")
    assert MONTREAL.stop(path("Patient/@ID")) == path("Patient")
    assert MONTREAL.child_stops(()) == paths("Patient", "Admission")
    assert MONTREAL.child_stops(path("Patient")) == paths("Patient/Hist/Event", "Patient/Treat")


def test_what_validity_guarantees() -> None:
    assert MONTREAL.required(path("Patient/Hist"), path("Patient"))
    assert not MONTREAL.required(path("Patient/Hist"))
    assert not MONTREAL.required(path("Patient/MedCrNo"), path("Patient"))
    assert BOSTON.required(path("Admission"))


def test_leaves() -> None:
    assert MONTREAL.own_leaves(path("Patient")) == paths("@ID", "MedCrNo", "Name")
    assert MONTREAL.own_leaves(()) == ()
    assert MONTREAL.is_leaf(path("Patient/@ID"))
    assert not MONTREAL.is_leaf(path("Patient/Hist"))
    assert MIXED.own_leaves(path("q")) == ((),)


def test_text_nodes() -> None:
    assert MIXED.children(()) == paths("p", "q", "price")
    assert MIXED.children(path("p")) == paths("p/text()", "p/em")
    assert MIXED.children(path("price")) == paths("price/@unit", "price/text()")
    assert MIXED.children(path("q")) == ()
    assert MIXED.edge(path("p/text()")) == Cardinality.MANY
    assert MIXED.edge(path("price/text()")) == Cardinality.ONE
    assert MIXED.own_leaves(()) == paths("price/@unit", "price/text()")
    assert match(MIXED, path("q"), "child", TEXT) == (Match(path("q/text()")),)
    assert match(MIXED, (), "child", TEXT) == ()


# -- boxes -------------------------------------------------------------------------------------------------------


def test_a_box_stands_for_its_members() -> None:
    assert BOSTON.children(path("Admission")) == paths("Admission/[Illness]")
    assert PLAIN_BOSTON.children(path("Admission")) == paths("Admission/Pulmonary", "Admission/Coronary")
    assert path("Admission/Pulmonary") not in BOSTON
    assert BOSTON.edge(ILLNESS.path) == Cardinality.MANY
    assert BOSTON.box(ILLNESS.path) is ILLNESS
    assert BOSTON.box(path("Progress")) is None
    assert BOSTON.own_leaves(ILLNESS.path) == paths("@ID", "InsName", "PolicyNo", "Enter", "Leave", "Patient")
    assert BOSTON.edge(path("Admission/[Illness]/Patient")) == Cardinality.ONE


def test_a_box_repeats_whatever_its_members_do() -> None:
    graph = parse_dtd("<!ELEMENT r (a, b?)> <!ELEMENT a (t)> <!ELEMENT b (t)> <!ELEMENT t (#PCDATA)>")
    assert SchemaTree(graph, (Box("B", (), ("a", "b")),)).child_stops(()) == paths("[B]")


def test_a_box_of_leaves_has_text() -> None:
    graph = parse_dtd("<!ELEMENT r (a, b?)> <!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)>")
    tree = SchemaTree(graph, (Box("B", (), ("a", "b")),))
    assert not tree.is_leaf(path("[B]"))
    assert tree.own_leaves(path("[B]")) == paths("text()")
    assert tree.edge(path("[B]/text()")) == Cardinality.ONE


def test_trees_compare_by_graph_and_boxes() -> None:
    assert SchemaTree(read_dtd(HOSPITAL / "massgeneral.dtd"), (ILLNESS,)) == BOSTON
    assert hash(BOSTON) == hash(SchemaTree(read_dtd(HOSPITAL / "massgeneral.dtd"), (ILLNESS,)))
    assert BOSTON not in (PLAIN_BOSTON, "BOSTON")


# -- steps -------------------------------------------------------------------------------------------------------


def test_child_and_attribute_steps() -> None:
    assert match(MONTREAL, path("Patient"), "child", "Name") == (Match(path("Patient/Name")),)
    assert match(MONTREAL, path("Patient"), "child", "Date") == ()
    assert [m.path[-1] for m in match(MONTREAL, path("Patient"), "child", "*")] == ["MedCrNo", "Name", "Hist", "Treat"]
    assert match(MONTREAL, path("Patient"), "attribute", "ID") == (Match(path("Patient/@ID")),)
    assert match(MONTREAL, path("Patient"), "attribute", "*") == (Match(path("Patient/@ID")),)
    assert match(MONTREAL, path("Patient/@ID"), "child", "*") == ()


def test_descendant_steps() -> None:
    assert match(MONTREAL, (), "descendant", "Date") == (
        Match(path("Patient/Treat/Date")),
        Match(path("Patient/Hist/Event/Date")),
    )
    assert match(MONTREAL, (), "descendant", "Nobody") == ()
    assert {m.path for m in match(MONTREAL, (), "descendant", "*")} == {
        p for p in MONTREAL.walk() if p and MONTREAL.is_element(p)
    }
    assert len(match(MIXED, (), "descendant", TEXT)) == 4


def test_steps_into_an_open_box() -> None:
    assert match(BOSTON, (), "descendant", "Coronary") == (Match(ILLNESS.path, "Coronary"),)
    assert match(BOSTON, (), "descendant", "Asthma") == (Match(ILLNESS.path, "Asthma"),)
    assert match(BOSTON, path("Admission"), "child", "*") == (Match(ILLNESS.path),)
    assert match(BOSTON, path("Admission"), "child", "Progress") == ()
    assert match(BOSTON, path("Admission"), "child", "_x0050_rogress") == (Match(ILLNESS.path, "_x0050_rogress"),)
    assert match(BOSTON, path("Admission"), "child", "_x0041_sthma") == ()
    assert match(BOSTON, path("Progress"), "descendant", "Asthma") == ()


# -- recursion ---------------------------------------------------------------------------------------------------


def test_recursion_is_found_and_unfolded_on_demand() -> None:
    assert PARTS.types.recursive == {"part", "piece"}
    deep = path("part/piece/part/piece/part/name")
    assert deep in PARTS
    assert PARTS.is_cyclic(deep)
    assert not PARTS.is_cyclic(path("part/piece"))
    assert PARTS.stops(deep) == paths("", "part", "part/piece", "part/piece/part/piece")


def test_a_walk_unfolds_each_recursive_type_once() -> None:
    assert tuple(PARTS.walk()) == paths("", "part", "part/name", "part/piece", "part/piece/name", "note")
    assert tuple(PARTS.walk(path("part/piece/part"))) == paths(
        "part/piece/part", "part/piece/part/name", "part/piece/part/piece", "part/piece/part/piece/name"
    )


def test_a_descendant_step_into_a_recursion_unfolds_it_once() -> None:
    assert match(PARTS, (), "descendant", "note") == (Match(path("note")),)
    assert match(PARTS, path("note"), "descendant", "*") == ()
    assert [m.path for m in match(PARTS, path("part"), "descendant", "piece")] == [
        path("part/piece"),
        (*path("part/piece/part"), "//piece"),
    ]


def test_elements_at_any_depth_are_nodes_like_others() -> None:
    anywhere = (*path("part/piece/part"), "//piece")
    assert PARTS.is_stop(anywhere)
    assert (*anywhere, "part") in PARTS
    assert (*path("part/piece/part"), "//note") not in PARTS


def test_what_is_taken_whole_is_a_leaf_and_not_unfolded() -> None:
    whole = SchemaTree(PARTS.graph, (), frozenset({path("part")}))
    assert whole.child_stops(path("part")) == ()
    assert whole.own_leaves(path("part")) == ((),)
    assert [m.path for m in match(whole, (), "descendant", "piece")] == [(*path("part"), "//piece")]


def test_any_element_of_a_recursion_is_no_step() -> None:
    for test in ("*", TEXT):
        with pytest.raises(SchemaError, match="HX2010"):
            match(PARTS, (), "descendant", test)
    assert [m.path for m in match(PARTS, path("part"), "child", "piece")] == [path("part/piece")]


def test_real_recursive_schemas_stay_small() -> None:
    auction = SchemaTree(read_dtd(DATA / "xmark" / "auction.dtd", "site"))
    assert auction.types.recursive == {"parlist", "listitem", "bold", "keyword", "emph"}
    assert [m.path for m in match(auction, (), "descendant", "person")] == [path("people/person")]
    assert len(match(auction, (), "descendant", "item")) == 6
    assert sum(1 for _ in auction.walk()) == 680
    nitf = SchemaTree(read_dtd(DATA / "nitf" / "nitf-2-5.dtd"))
    assert len(nitf.types.recursive) == 26
    assert {nitf.element(p).name for p in nitf.walk() if nitf.is_element(p)} == nitf.graph.elements.keys()


def test_a_long_chain_of_types_is_asked_without_unfolding_it() -> None:
    chain = "".join(f"<!ELEMENT a{n} (a{n + 1})>" for n in range(20_000))
    tree = SchemaTree(parse_dtd(f"{chain} <!ELEMENT a20000 EMPTY>"))
    assert not tree.is_recursive(("a1",)) and tree.children(("a1",)) == (("a1", "a2"),)
    with pytest.raises(SchemaError, match="HX2012"):
        sum(1 for _ in tree.walk())


def test_a_tree_that_grows_without_measure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("steps", "tree"):
        monkeypatch.setattr(f"heptox.schema.{module}.MAXIMUM_NODES", 5000)
    level = "<!ELEMENT a{0} (b{0}, c{0})> <!ELEMENT b{0} (a{1})> <!ELEMENT c{0} (a{1})>"
    levels = "".join(level.format(n, n + 1) for n in range(40))
    tree = SchemaTree(parse_dtd(f"{levels} <!ELEMENT a40 EMPTY>"))
    with pytest.raises(SchemaError, match="HX2012"):
        sum(1 for _ in tree.walk())
    with pytest.raises(SchemaError, match="HX2012"):
        groups(tree)
    few = axis_matches(tree, (), "descendant", "a11")
    assert {len(match.path) for match in islice(few, 100)} == {22}
    with pytest.raises(SchemaError, match="HX2012"):
        sum(1 for _ in few)
    with pytest.raises(SchemaError, match="HX2012"):
        match(tree, (), "descendant", "a40")
    assert match(tree, (), "child", "b0") == (Match(("b0",)),)
