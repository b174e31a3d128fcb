"""Schemas for suggestions: small ones as text, random ones, and the mapping that suggestions make."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory

from hypothesis import strategies as st

from heptox.errors import MappingError
from heptox.mapping import Suggestion, examine_arrows, exchange, parse_mapping_arrows
from heptox.schema import Box, SchemaTree, parse_dtd
from heptox.xml import Document

NAMES = (
    "name",
    "title",
    "date",
    "startDate",
    "start_time",
    "price",
    "qty",
    "quantity",
    "id",
    "ref",
    "city",
    "note",
    "a",
)
INNER = ("root", "order", "item", "customer", "address", "section", "Person", "people")


def tree(dtd: str, *boxes: Box) -> SchemaTree:
    """A schema tree; the root is the first element that is declared."""
    return SchemaTree(parse_dtd(dtd, dtd.split(None, 2)[1]), boxes)


def codes(source: SchemaTree, target: SchemaTree, suggestions: Iterable[Suggestion]) -> set[str]:
    """The codes of the faults of a mapping whose arrows are the suggestions."""
    sides = {"source": source, "target": target}
    with TemporaryDirectory() as folder:
        lines = []
        for name, side in sides.items():
            (FilePath(folder) / f"{name}.dtd").write_text(side.graph.text or "", encoding="utf-8")
            lines.append(f'{name} "{name}.dtd" root {side.root}')
        for name, side in sides.items():
            lines += [_box(name, box) for box in side.boxes]
        lines += map(str, suggestions)
        try:
            parse_mapping_arrows("\n".join(lines) + "\n", folder)
        except MappingError as error:
            return {fault.code for fault in error.faults}
    return set()


def made(source: SchemaTree, target: SchemaTree, lines: Iterable[Suggestion], document: Document) -> Document:
    """What exchange makes of a document by suggestions; none of them may be a fault."""
    graphs = {"source": source.graph, "target": target.graph}
    tables = {each.table.file: each.table.text for each in lines if each.table is not None}
    declared = [f'{name} "{name}" root {graph.root}' for name, graph in graphs.items()]
    for side, side_tree in (("source", source), ("target", target)):
        declared += [_box(side, box) for box in side_tree.boxes]
    text = "\n".join((*declared, *map(str, lines), ""))
    examined = examine_arrows(text, lambda file, _: graphs[file], None, tables.__getitem__)
    assert {fault.code for fault in examined.faults} <= {"HX4008"} and examined.sound is not None, examined.faults
    return exchange(examined.sound, document)


def _box(side: str, box: Box) -> str:
    parent = "".join(f"{step}/" for step in box.parent)
    return f"{side} box {box.name} = {parent}({' | '.join(box.members)})"


@st.composite
def declarations(draw: st.DrawFn) -> tuple[str, ...]:
    """The declarations of a random schema, the root's first: shared types, recursion, mixed content, attributes."""
    inner = draw(st.lists(st.sampled_from(INNER), min_size=1, max_size=5, unique=True))
    lines = []
    for number, name in enumerate(inner):
        leaves = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
        later = inner[number + 1 : number + 2] + draw(st.lists(st.sampled_from(inner), max_size=2))
        below = [f"{each}{draw(st.sampled_from(('', '?', '*')))}" for each in leaves]
        below += [f"{each}{draw(st.sampled_from(('?', '*')))}" for each in dict.fromkeys(later)]
        mixed = number > 0 and draw(st.integers(0, 4)) == 0
        if mixed:
            content = "(#PCDATA" + "".join(f" | {each.rstrip('?*')}" for each in below) + ")*"
        else:
            content = f"({', '.join(below)})" if below else "EMPTY"
        lines.append(f"<!ELEMENT {name} {content}>")
        kinds = draw(st.lists(st.sampled_from(("ID", "IDREF", "CDATA", "(x | y)")), max_size=2, unique=True))
        for place, kind in enumerate(kinds):
            lines.append(f"<!ATTLIST {name} {('key', 'of')[place]} {kind} #IMPLIED>")
    return (*lines, *(f"<!ELEMENT {name} (#PCDATA)>" for name in NAMES))
