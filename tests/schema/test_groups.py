"""Groups as the report's Figures 3 and 4 have them, repaired (``semantics.md`` section 3)."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest

from heptox.schema import Box, Group, SchemaGraph, SchemaTree, alike_boxes, groups, parse_dtd, read_dtd
from tests.support.shared import DATA

HOSPITAL = FilePath(__file__).parents[2] / "heptox" / "demo" / "hospital"
MONTREAL = read_dtd(HOSPITAL / "mongenhosp.dtd")
BOSTON = read_dtd(HOSPITAL / "massgeneral.dtd")


def names(graph: SchemaGraph, *boxes: Box) -> list[set[str]]:
    return [set(group.names) for group in groups(SchemaTree(graph, boxes))]


def test_figure_4_of_the_source() -> None:
    assert names(MONTREAL) == [
        {"MonGenHosp", "Patient", "Hist", "Event", "Event/Problem", "Event/Date"},
        {"MonGenHosp", "Patient", "Treat", "Treat/Date", "Desc", "Doc"},
        {"MonGenHosp", "Admission", "Admission/Problem", "AdmDate", "DisDate", "@PatRef"},
        {"MonGenHosp", "Patient", "@ID", "MedCrNo", "Name"},
    ]


FIGURE_4_TARGET = [
    {
        *("MassGeneral", "Admission", "Pulmonary", "Coronary"),
        *("@ID", "InsName", "PolicyNo", "Enter", "Leave", "Patient"),
    },
    {"MassGeneral", "Progress", "Symptom", "Symptom/Date", "Symptom/Desc"},
    {"MassGeneral", "Progress", "Treatment", "Treatment/Date", "Treatment/Desc"},
    {"MassGeneral", "Progress", "@PatRef"},
]


def test_figure_4_of_the_target() -> None:
    assert names(BOSTON, Box("Illness", ("Admission",), ("Pulmonary", "Coronary"))) == FIGURE_4_TARGET


def test_figure_4_of_the_target_before_a_mapping_has_drawn_the_box() -> None:
    boxes = alike_boxes(SchemaTree(BOSTON))
    assert [(box.parent, box.members) for box in boxes] == [(("Admission",), ("Pulmonary", "Coronary"))]
    assert names(BOSTON, *boxes) == FIGURE_4_TARGET


def test_a_group_tells_its_nodes_and_leaves() -> None:
    event, *_, patient = groups(SchemaTree(MONTREAL))
    assert event == Group(
        stop=("Patient", "Hist", "Event"),
        nodes=(
            (),
            ("Patient",),
            ("Patient", "Hist"),
            ("Patient", "Hist", "Event"),
            ("Patient", "Hist", "Event", "Problem"),
            ("Patient", "Hist", "Event", "Date"),
        ),
        leaves=(("Patient", "Hist", "Event", "Problem"), ("Patient", "Hist", "Event", "Date")),
        names=("MonGenHosp", "Patient", "Hist", "Event", "Event/Problem", "Event/Date"),
    )
    assert patient.stop == ("Patient",)
    assert patient.leaves == (("Patient", "@ID"), ("Patient", "MedCrNo"), ("Patient", "Name"))


BIBLIOGRAPHY = """<!ELEMENT bib (book*)> <!ELEMENT book (title, author{}, pub)> <!ELEMENT title (#PCDATA)>
    <!ELEMENT author (name)> <!ELEMENT pub (name)> <!ELEMENT name (#PCDATA)>"""


@pytest.mark.parametrize(("sign", "count"), [("", 1), ("?", 1), ("*", 2), ("+", 2)])
def test_the_bibliography(sign: str, count: int) -> None:
    found = groups(SchemaTree(parse_dtd(BIBLIOGRAPHY.format(sign))))
    assert len(found) == count
    assert set(found[-1].names) >= {"bib", "book", "title", "pub", "pub/name"}


def test_a_repeating_leaf_is_a_group() -> None:
    (group,) = groups(SchemaTree(parse_dtd("<!ELEMENT a (b+)> <!ELEMENT b (#PCDATA)>")))
    assert (group.names, group.leaves) == (("a", "b"), (("b",),))


def test_what_the_root_owns_is_the_last_group() -> None:
    dtd = """<!ELEMENT a (b, c*)> <!ATTLIST a k CDATA #IMPLIED> <!ELEMENT b (#PCDATA)> <!ELEMENT c (b, d*)>
        <!ELEMENT d (b)>"""
    assert [group.names for group in groups(SchemaTree(parse_dtd(dtd)))] == [
        ("a", "c", "d", "d/b"),
        ("a", "c", "c/b"),
        ("a", "@k", "a/b"),
    ]


def test_a_group_without_a_leaf_is_none_but_a_box_has_its_tag() -> None:
    graph = parse_dtd("<!ELEMENT a (b*, c*)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>")
    assert names(graph) == []
    assert names(graph, Box("B", (), ("b", "c"))) == [{"a", "b", "c"}]


def test_names_below_a_box() -> None:
    graph = parse_dtd(
        "<!ELEMENT a (b*, c*, d)> <!ELEMENT b (e)> <!ELEMENT c (e)> <!ELEMENT d (e)> <!ELEMENT e (#PCDATA)>"
    )
    assert names(graph, Box("B", (), ("b", "c"))) == [{"a", "b", "c", "(b | c)/e"}, {"a", "d", "d/e"}]


def test_text_has_the_name_of_its_element() -> None:
    graph = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)> <!ATTLIST b c CDATA #IMPLIED>")
    assert names(graph) == [{"a", "b", "@c", "b/text()"}]


@pytest.mark.parametrize(
    ("content", "boxes"),
    [
        ("(b*, c+)", [("b", "c")]),
        ("(b*, c)", []),
        ("(b | c)*", [("b", "c")]),
        ("(t*, u*)", []),
        ("(b*, d*)", []),
        ("(b*, c*, e*)", [("b", "c")]),
        ("(b*, d*, c*, f*)", [("b", "c"), ("d", "f")]),
        ("(e*, g*)", []),
    ],
)
def test_alike_boxes(content: str, boxes: list[tuple[str, ...]]) -> None:
    dtd = f"""<!ELEMENT a {content}> <!ELEMENT b (t, u?)> <!ELEMENT c (t, u?)> <!ELEMENT d (u?, t)> <!ELEMENT f (u?, t)>
        <!ELEMENT e (t, u?)> <!ATTLIST e k CDATA #IMPLIED> <!ELEMENT g (t, u?)> <!ATTLIST g k ID #IMPLIED>
        <!ELEMENT t (#PCDATA)> <!ELEMENT u (#PCDATA)>"""
    assert [box.members for box in alike_boxes(SchemaTree(parse_dtd(dtd, "a")))] == boxes


def test_boxes_that_are_drawn_stay() -> None:
    illness = Box("Illness", ("Admission",), ("Pulmonary", "Coronary"))
    assert alike_boxes(SchemaTree(BOSTON, (illness,))) == (illness,)


TREES = {
    "Montreal": lambda: SchemaTree(MONTREAL),
    "Boston": lambda: SchemaTree(BOSTON, alike_boxes(SchemaTree(BOSTON))),
    "mondial": lambda: SchemaTree(read_dtd(DATA / "mondial" / "mondial-europe.dtd", "mondial")),
    "courses": lambda: SchemaTree(read_dtd(DATA / "courses" / "uwm-derived.dtd")),
    "auction": lambda: SchemaTree(read_dtd(DATA / "xmark" / "auction.dtd", "site")),
}


@pytest.mark.parametrize("name", TREES)
def test_groups_share_out_the_leaves(name: str) -> None:
    tree = TREES[name]()
    found = groups(tree)
    leaves = [leaf for group in found for leaf in group.leaves]
    assert len(set(leaves)) == len(leaves)
    assert set(leaves) >= {path for path in tree.walk() if tree.is_leaf(path)}
    for group in found:
        assert tree.is_stop(group.stop)
        assert {tree.stop(leaf) for leaf in group.leaves} <= {group.stop}
        assert all(node[:-1] in group.nodes for node in group.nodes if node)
        assert len(set(group.names)) == len(group.names)
