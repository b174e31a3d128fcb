"""Mappings whose arrows are known: two schemas, sample documents, and what was drawn between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Final, Literal, TypeAlias

import heptox.demo
from heptox.cluster import auction_document
from heptox.demo.records import records
from heptox.grammar import Arrow, SchemaPath, parse_arrow_lines
from heptox.mapping import load_mapping
from heptox.schema import Box, Path, SchemaTree, read_dtd
from heptox.xml import Document, parse_document, read_document, read_text

Ends: TypeAlias = tuple[Path, Path]

_HERE: Final = FilePath(__file__).parent
_ROOT: Final = _HERE.parents[1]
_HOSPITAL: Final = FilePath(heptox.demo.__file__).parent / "hospital"
_PATIENTS: Final = 200
_PEOPLE: Final = 100


@dataclass(frozen=True, slots=True)
class Case:
    """Two schemas, sample documents of each, and the arrows that are right."""

    family: str
    name: str
    source: SchemaTree
    target: SchemaTree
    right: frozenset[Ends]
    source_documents: Sequence[Document] = ()
    target_documents: Sequence[Document] = ()
    boxes: Literal["given", "none drawn", "none"] = "none"

    @property
    def has_documents(self) -> bool:
        return bool(self.source_documents or self.target_documents)

    def without_boxes(self) -> Case:
        """The same before any box is drawn: what is right for a box is right for each member; a tag is no end then."""
        right = frozenset(
            (one, other)
            for ends in self.right
            for one in _members(self.source, ends[0])
            for other in _members(self.target, ends[1])
            if _alike(self.source, self.target, ends, (one, other))
        )
        trees = SchemaTree(self.source.graph), SchemaTree(self.target.graph)
        return replace(self, source=trees[0], target=trees[1], right=right, boxes="none drawn")


def case(family: str, arrows: FilePath) -> Case:
    """A file of arrows without documents."""
    mapping = load_mapping(arrows)
    drawn = [each for each in parse_arrow_lines(read_text(arrows))[0] if isinstance(each, Arrow)]
    right = frozenset(_ends(mapping.source, mapping.target, drawn))
    boxes: Literal["given", "none"] = "given" if mapping.source.boxes or mapping.target.boxes else "none"
    return Case(family, arrows.stem, mapping.source, mapping.target, right, boxes=boxes)


def _ends(source: SchemaTree, target: SchemaTree, drawn: Iterable[Arrow]) -> Iterator[tuple[Path, Path]]:
    """The ends of the arrows that lead from one leaf to another."""
    for arrow in drawn:
        if isinstance(arrow.source, SchemaPath):
            yield _absolute(source, arrow.source), _absolute(target, arrow.target)


def courses(folder: FilePath | None) -> Iterator[Case]:
    """The course catalogues, all directions; with their documents when ``folder`` has them."""
    for arrows in sorted((_ROOT / "examples/courses").glob("*.arrows")):
        found = case("courses", arrows)
        yield found
        if folder is not None:
            names = arrows.stem.split("-")
            documents = [(read_document(folder / f"{name}.xml"),) for name in names]
            yield _with(found, *documents)


def hospitals() -> Iterator[Case]:
    """The hospitals, with and without documents, with and without the box."""
    documents = {name: (parse_document(records(name, _PATIENTS)),) for name in ("boston", "montreal", "stluke")}
    for arrows in sorted(_HOSPITAL.glob("*.arrows")):
        found = case("hospital", arrows)
        source, target = arrows.stem.split("-")
        for each in (found, _with(found, documents[source], documents[target])):
            yield from _with_and_without_boxes(each)


def auctions() -> Iterator[Case]:
    """The auctions, with and without generated documents."""
    for arrows in sorted((_ROOT / "examples/xmark").glob("*.arrows")):
        found = case("xmark", arrows)
        source, target = arrows.stem.split("-")
        for each in (found, _with(found, _market(source, 0), _market(target, 1))):
            yield from _with_and_without_boxes(each)


def geography(dtd: FilePath) -> Iterator[Case]:
    """The geography that ``dtd`` declares and the same under other words, in both directions."""
    trees = SchemaTree(read_dtd(dtd, "mondial")), SchemaTree(read_dtd(_HERE / "atlas.dtd", "atlas"))
    drawn = parse_arrow_lines(read_text(_HERE / "mondial-atlas.arrows"))[0]
    right = frozenset(_ends(*trees, (a for a in drawn if isinstance(a, Arrow))))
    yield Case("mondial", "mondial-atlas", *trees, right)
    yield Case("mondial", "atlas-mondial", trees[1], trees[0], frozenset((b, a) for a, b in right))


def _with_and_without_boxes(found: Case) -> Iterator[Case]:
    yield found
    if found.boxes == "given":
        yield found.without_boxes()


def _market(schema: str, seed: int) -> tuple[Document]:
    """A generated market; another seed gives other people, items and sales."""
    return (parse_document("".join(auction_document(schema, _PEOPLE, seed))),)


def _with(found: Case, source: Sequence[Document], target: Sequence[Document]) -> Case:
    return replace(found, source_documents=source, target_documents=target)


def _absolute(tree: SchemaTree, written: SchemaPath) -> Path:
    box = next((box for box in tree.boxes if written.steps[:1] == (box.step,)), None)
    return written.steps if box is None else box.path + written.steps[1:]


def _box(tree: SchemaTree, path: Path) -> Box | None:
    return next((box for box in tree.boxes if path[: len(box.path)] == box.path), None)


def _members(tree: SchemaTree, path: Path) -> tuple[Path, ...]:
    box = _box(tree, path)
    if box is None:
        return (path,)
    below = path[len(box.path) :]
    return tuple((*box.parent, member, *below) for member in box.members) if below else ()


def _alike(source: SchemaTree, target: SchemaTree, ends: Ends, members: Ends) -> bool:
    """Between boxes with the same tags, members correspond by name."""
    boxes = _box(source, ends[0]), _box(target, ends[1])
    if boxes[0] is None or boxes[1] is None or set(boxes[0].members) != set(boxes[1].members):
        return True
    steps = [path[len(box.parent)] for path, box in zip(members, boxes, strict=True) if box]
    return steps[0] == steps[1]
