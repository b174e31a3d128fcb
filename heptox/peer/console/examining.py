"""What the text of a mapping in work says: its boxes, arrows and faults, the rules inferred from what is sound, and a
sample document with what exchange makes of it, each value with the arrows that carried it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping as Table
from typing import Final

from heptox.errors import Fault, HeptoxError, InputError
from heptox.grammar import Arrow, BoxDeclaration, ComputedValue, Side, Statement
from heptox.mapping import (
    ArrowsText,
    Correspondence,
    DeclaredSide,
    Examination,
    Mapping,
    ReadSchema,
    Rule,
    Trace,
    ValueTrace,
    drawn_path,
    exchange,
    print_rule,
)
from heptox.pattern import TAG
from heptox.peer.console.mapping_shapes import (
    MOST_TEXT,
    ArrowModel,
    BoxModel,
    ElementModel,
    ExampleModel,
    MappingModel,
    MappingRequest,
    ReferenceModel,
    RemarkModel,
    RuleModel,
    SideModel,
    StatementModel,
    Steps,
    ValueModel,
)
from heptox.peer.console.samples import made_sample, read_sample
from heptox.peer.console.schemas import drawn_prefixes, parsed_schema
from heptox.schema import TEXT, Path, SchemaGraph, SchemaTree, is_identifier
from heptox.verification import remarks
from heptox.xml import Prefixes, XmlElement

MOST_REFERENCES: Final = 500
"""References of one schema that are listed."""
MOST_TRIES: Final = 12
"""Lines that are tried for remarks, so that who types does not wait for them."""
WHOLE: Final = ""
"""What stands for all of an element, or its tag, where otherwise a leaf of it is named."""


def examine(wanted: MappingRequest) -> MappingModel:
    """What a text says; nothing that is wrong with it is raised."""
    names = DrawnNames(reader(wanted.files))
    arrows = ArrowsText(wanted.text, names.read)
    examined = arrows.examined()
    lines = _Lines(examined.correspondences)
    mapping = examined.sound
    example = _example(mapping, wanted, lines, names) if mapping else None
    return MappingModel(
        source=_side(examined, "source", names),
        target=_side(examined, "target", names),
        statements=[_statement(statement) for statement in examined.statements],
        arrows=list(_arrows(examined, names)),
        faults=tuple(examined.faults),
        rules=_rules(mapping, lines) if mapping else [],
        against=_rules(mapping.mirrored(), lines.mirrored()) if mapping else [],
        remarks=_remarks(mapping, arrows, wanted, example)
        if wanted.remarks and mapping and example and not examined.faults
        else [],
        example=example,
    )


def _rules(mapping: Mapping, lines: _Lines) -> list[RuleModel]:
    return [RuleModel(text=print_rule(mapping, rule), arrows=lines.of_rule(rule)) for rule in mapping.rules]


def _remarks(mapping: Mapping, arrows: ArrowsText, wanted: MappingRequest, example: ExampleModel) -> list[RemarkModel]:
    """What is to be said of a mapping without faults, counted on the sample if that is valid."""
    documents = [] if example.faults else [read_sample(example.text, mapping.source.graph)[0]]
    found = remarks(mapping, arrows, documents, are_random=wanted.sample is None, tries=MOST_TRIES)
    return [
        RemarkModel(direction=one.direction.value, text=one.text, hint=one.hint, code=one.code, line=one.line)
        for one in found
    ]


def reader(files: Table[str, str]) -> ReadSchema:
    """Reads schemas from texts by the names that a mapping has for them; raises :class:`InputError` (HX1001)."""

    def read(file: str, root: str | None) -> SchemaGraph:
        if file not in files:
            raise InputError(Fault("HX1001", "the file is not here", hint=f"here are: {', '.join(files)}", file=file))
        return parsed_schema(files[file], root, file)

    return read


class DrawnNames:
    """Steps as the console draws them: by the prefixes that a schema has without those that the mapping declares."""

    def __init__(self, read: ReadSchema) -> None:
        self._read = read
        self._known: dict[tuple[str, str | None], SchemaGraph] = {}
        self._prefixes: dict[str, Prefixes] = {}

    def read(self, file: str, root: str | None) -> SchemaGraph:
        """The schema that a mapping names, whose names are known from then on."""
        if (file, root) not in self._known:
            self._known[file, root] = found = self._read(file, root)
            self._prefixes[_place(found)] = drawn_prefixes(found)
        return self._known[file, root]

    def of(self, tree: SchemaTree) -> Prefixes:
        """The prefixes of the schema of a side."""
        return self._prefixes[_place(tree.graph)]

    def steps(self, side: DeclaredSide, path: Path) -> Steps:
        """A path as the console has it."""
        return [self.of(side.tree).step(step) for step in path]


def _place(graph: SchemaGraph) -> str:
    return f"{graph.file}\n{graph.root}"


def _line(node: Statement) -> int:
    assert node.position is not None
    return node.position.line


def _side(examined: Examination, name: Side, names: DrawnNames) -> SideModel | None:
    declared = examined.declared
    side = declared.source if name == "source" else declared.target
    if side is None:
        return None
    lines = {s.name: _line(s) for s in examined.statements if isinstance(s, BoxDeclaration) and s.side == name}
    boxes = [
        BoxModel(
            name=box.name,
            parent=names.steps(side, box.parent),
            members=names.steps(side, box.members),
            line=lines[box.name],
        )
        for box in side.tree.boxes
    ]
    return SideModel(
        file=side.tree.graph.file,
        root=side.tree.root,
        prefixes=side.tree.graph.prefixes.namespaces,
        boxes=boxes,
        keys=[names.steps(side, key) for key in sorted(side.keys) if not is_identifier(side.tree, key)],
        references=[
            ReferenceModel(
                source=names.steps(side, one.source), target=names.steps(side, one.target), inferred=one.inferred
            )
            for one in side.references[:MOST_REFERENCES]
        ],
    )


def _statement(statement: Statement) -> StatementModel:
    kind = type(statement).__name__.removesuffix("Declaration").lower()
    return StatementModel.model_validate({"line": _line(statement), "kind": kind, "text": str(statement)})


def _arrows(examined: Examination, names: DrawnNames) -> Iterator[ArrowModel]:
    sound = {_line(found.arrow) for found in examined.correspondences if found.arrow}
    faulty = {fault.position.line for fault in examined.faults if fault.position and fault.position.file is None}
    for arrow in examined.statements:
        if isinstance(arrow, Arrow):
            line = _line(arrow)
            yield ArrowModel(
                line=line,
                source=_end(examined.declared.source, arrow, "source", names),
                target=_end(examined.declared.target, arrow, "target", names),
                copies=arrow.copies,
                sound=line in sound and line not in faulty,
            )


def _end(side: DeclaredSide | None, arrow: Arrow, name: Side, names: DrawnNames) -> Steps | None:
    if side is None:
        return None
    end = arrow.source if name == "source" else arrow.target
    leaf = next(iter(end.leaves), None) if isinstance(end, ComputedValue) else end
    path = None if leaf is None else drawn_path(side, leaf)
    return None if path is None else names.steps(side, path)


# -- which arrow ------------------------------------------------------------------------------------------------------


class _Lines:
    """The lines of arrows by the leaves that they join."""

    def __init__(self, correspondences: Iterable[Correspondence]) -> None:
        self._found: dict[tuple[Path, Path], list[Correspondence]] = {}
        for one in correspondences:
            self._found.setdefault((one.source.absolute, one.target.absolute), []).append(one)

    def mirrored(self) -> _Lines:
        """The lines as they are read from target to source."""
        return _Lines(back for several in self._found.values() for one in several for back in one.mirrored())

    def between(self, source: Path, target: Path) -> list[Correspondence]:
        return self._found.get((source, target), [])

    def of_rule(self, rule: Rule) -> list[int]:
        """The arrows whose values a rule carries."""
        found = {
            _line(one.arrow)
            for head in rule.head
            for leaf, term in head.leaves
            for one in self.between((*rule.node(term.variable), *term.path), (*head.node, *leaf))
            if one.arrow
        }
        return sorted(found)

    def of_value(self, carried: ValueTrace) -> list[int]:
        """The arrows that carry a value: of those between two leaves, the ones for the members that it is in."""
        return sorted(
            _line(one.arrow)
            for one in self.between(carried.source, carried.target)
            if one.arrow and _is_in(carried.start, one.out_of) and _is_in(carried.end, one.into)
        )


def _is_in(element: XmlElement, members: frozenset[tuple[Path, str]]) -> bool:
    if not members:
        return True
    above = [str(element.tag), *(str(one.tag) for one in element.iterancestors())][::-1]
    return all(above[len(box) : len(box) + 1] == [member] for box, member in members)


# -- the sample and its image -----------------------------------------------------------------------------------------


def _example(mapping: Mapping, wanted: MappingRequest, lines: _Lines, names: DrawnNames) -> ExampleModel:
    text = wanted.sample
    try:
        text = made_sample(mapping, wanted.seed) if text is None else text
        document, faults = read_sample(text, mapping.source.graph)
    except HeptoxError as error:
        # what is too large is not sent back
        return ExampleModel(text=(text or "")[:MOST_TEXT], source=None, target=None, faults=error.faults)
    trace = Trace()
    before, after = names.of(mapping.source), names.of(mapping.target)
    try:
        image = exchange(mapping, document, trace)
    except HeptoxError as error:
        source = _element(document.root, _Marks(), before)
        return ExampleModel(text=text, source=source, target=None, faults=(*faults, *error.faults))
    starts, ends = _Marks(), _Marks()
    for carried in trace.values():
        for line in lines.of_value(carried):
            starts.add(carried.start, WHOLE if carried.copied else _leaf_of(carried.source), line)
            ends.add(carried.end, WHOLE if carried.copied else _leaf_of(carried.target), line)
    source, target = _element(document.root, starts, before), _element(image.root, ends, after)
    return ExampleModel(text=text, source=source, target=target, faults=tuple(faults))


def _leaf_of(path: Path) -> str:
    """Where in or at an element the value of a leaf stands; its tag stands for the whole."""
    last = path[-1] if path else TEXT
    return last if last.startswith("@") else WHOLE if last == TAG else TEXT


class _Marks:
    """The lines of arrows by the place in a document that they concern: an attribute, a text, or a whole element."""

    def __init__(self) -> None:
        # elements are the same objects only while somebody holds them
        self._found: dict[tuple[XmlElement, str], set[int]] = {}

    def add(self, element: XmlElement, leaf: str, line: int) -> None:
        """An arrow concerns an attribute (``@name``), the text (``TEXT``) or the whole (``WHOLE``) of an element."""
        self._found.setdefault((element, leaf), set()).add(line)

    def at(self, element: XmlElement, leaf: str) -> list[int]:
        """The lines at a place, as :meth:`add` has it."""
        return sorted(self._found.get((element, leaf), ()))


def _element(element: XmlElement, marks: _Marks, names: Prefixes) -> ElementModel:
    texts = marks.at(element, TEXT)
    content: list[ValueModel | ElementModel] = []
    for text, child in ((element.text, None), *((child.tail, child) for child in element)):
        if child is not None:
            content.append(_element(child, marks, names))
        if text and (texts or text.strip()):
            content.append(ValueModel(name="", value=text, arrows=texts))
    return ElementModel(
        tag=names.step(str(element.tag)),
        arrows=marks.at(element, WHOLE),
        attributes=[
            ValueModel(
                name=names.step(f"@{name!s}").removeprefix("@"),
                value=str(value),
                arrows=marks.at(element, f"@{name!s}"),
            )
            for name, value in element.attrib.items()
        ],
        content=content,
    )
