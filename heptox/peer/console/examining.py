"""What the text of a mapping in work says: its boxes, arrows and faults, the rules inferred from what is sound, and a
sample document with what exchange makes of it, each value with the arrows that carried it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar import Arrow, BoxDeclaration, ComputedValue, Entity, SchemaPath, Side, Statement, line_parts
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
    constant_value,
    drawn_path,
    exchange,
    is_selected,
    print_rule,
)
from heptox.pattern import TAG, leaf_paths, value_expression
from heptox.peer.console.mapping_shapes import (
    MOST_TEXT,
    ArrowModel,
    BoxModel,
    ConditionModel,
    ElementModel,
    ExampleModel,
    MappingModel,
    MappingRequest,
    PartModel,
    ReferenceModel,
    RemarkModel,
    RuleModel,
    SelectionModel,
    SideModel,
    StatementModel,
    Steps,
    ValueModel,
)
from heptox.peer.console.own_records import OwnRecords, sample_of
from heptox.peer.console.samples import made_sample, read_sample
from heptox.peer.console.schemas import drawn_prefixes, reader, tables
from heptox.schema import TEXT, Path, SchemaGraph, SchemaTree, is_identifier, plain, split_selection, written_step
from heptox.verification import remarks
from heptox.xml import Document, Prefixes, XmlElement

MOST_REFERENCES: Final = 500
"""References of one schema that are listed."""
MOST_TRIES: Final = 12
"""Lines that are tried for remarks, so that who types does not wait for them."""
NO_RECORDS: Final = OwnRecords()
_SIDES: Final[tuple[Side, ...]] = ("source", "target")
WHOLE: Final = ""
"""What stands for all of an element, or its tag, where otherwise a leaf of it is named."""


def examine(wanted: MappingRequest, own: OwnRecords = NO_RECORDS) -> MappingModel:
    """What a text says, tried on the peer's ``own`` records where there are some; nothing that is wrong with it is
    raised."""
    names = DrawnNames(reader(wanted.files))
    arrows = ArrowsText(wanted.text, names.read, tables=tables(wanted.files))
    examined = arrows.examined()
    lines = _Lines(examined.correspondences)
    mapping = examined.sound
    tried = _Tried(mapping, wanted, own) if mapping else None
    example, carried = (None, None) if tried is None else tried.example(lines, names)
    return MappingModel(
        source=_side(examined, "source", names, own),
        target=_side(examined, "target", names, own),
        statements=[_statement(statement) for statement in examined.statements],
        arrows=list(_arrows(examined, names, wanted.text, carried)),
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
    is_made = wanted.sample is None and not example.held
    found = remarks(mapping, arrows, documents, are_random=is_made, tries=MOST_TRIES)
    return [
        RemarkModel(direction=one.direction.value, text=one.text, hint=one.hint, code=one.code, line=one.line)
        for one in found
    ]


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
        return [written_step(step, self.of(side.tree).step) for step in path]


def _place(graph: SchemaGraph) -> str:
    return f"{graph.file}\n{graph.root}"


def _line(node: Statement) -> int:
    assert node.position is not None
    return node.position.line


def _declared(examined: Examination, name: Side) -> DeclaredSide | None:
    return examined.declared.source if name == "source" else examined.declared.target


def _side(examined: Examination, name: Side, names: DrawnNames, own: OwnRecords) -> SideModel | None:
    side = _declared(examined, name)
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
        selections=list(_selections(examined, side, names)),
        own=own.holds(side.tree.graph),
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


def _selections(examined: Examination, side: DeclaredSide, names: DrawnNames) -> Iterator[SelectionModel]:
    """The nodes that lines select, in the order of the text."""
    ends = (end for one in examined.statements if isinstance(one, Arrow | Entity) for end in _ends(one, side.name))
    paths = [path for end in ends if (path := drawn_path(side, end))]
    for node in dict.fromkeys(path[:length] for path in paths for length in range(1, len(path) + 1)):
        name, tests = split_selection(node[-1])
        if tests:
            yield SelectionModel(
                path=names.steps(side, node),
                name=names.of(side.tree).step(name),
                tests=[
                    ConditionModel(test=one.test, leaf=names.steps(side, one.path), values=list(one.values))
                    for one in tests
                ],
            )


def _ends(line: Arrow | Entity, side: Side) -> tuple[SchemaPath, ...]:
    """The paths of a line on one side."""
    end = line.source if side == "source" else line.target
    return end.leaves if isinstance(end, ComputedValue) else (end,)


def _arrows(examined: Examination, names: DrawnNames, text: str, carried: Counter[int] | None) -> Iterator[ArrowModel]:
    sound = {_line(found.arrow) for found in examined.correspondences if found.arrow}
    faulty = {fault.position.line for fault in examined.faults if fault.position and fault.position.file is None}
    lines = text.split("\n")
    for arrow in examined.statements:
        if isinstance(arrow, Arrow | Entity):
            line, target = _line(arrow), _drawn(examined, arrow, "target", names)
            makes_values = isinstance(arrow, Arrow) and constant_value(arrow) is None
            is_sound = line not in faulty and bool(target) and (line in sound or not makes_values)
            is_tried = carried is not None and is_sound and makes_values and arrow.reading != "against"
            yield ArrowModel(
                line=line,
                kind="each" if isinstance(arrow, Entity) else "copy" if arrow.copies else "value",
                sources=_drawn(examined, arrow, "source", names),
                target=target[0] if target else None,
                reading=arrow.reading,
                sound=is_sound,
                parts=list(_line_parts(lines[line - 1], arrow, examined)),
                carried=carried[line] if carried is not None and is_tried else None,
            )


def _drawn(examined: Examination, arrow: Arrow | Entity, name: Side, names: DrawnNames) -> list[Steps]:
    """Where a line is drawn on a side."""
    side = _declared(examined, name)
    paths = [] if side is None else [drawn_path(side, end) for end in _ends(arrow, name)]
    return [names.steps(side, path) for path in dict.fromkeys(paths) if side and path is not None]


def _line_parts(line: str, arrow: Arrow | Entity, examined: Examination) -> Iterator[PartModel]:
    """The parts of a line; conditions where there are some, or a node repeats, of which some can be selected."""
    ends = {
        end.position.column - 1: (_declared(examined, side), end.steps)
        for side in _SIDES
        for end in _ends(arrow, side)
        if end.position
    }

    def place(characters: int) -> int:
        return len(line[:characters].encode("utf-16-le", "surrogatepass")) // 2

    for part in line_parts(line):
        node = ""
        if part.kind == "conditions":
            side, steps = ends.get(part.path, (None, ()))
            step = plain(steps[: part.depth])
            if part.begin == part.end and not (side and step in side.tree and side.tree.edge(step).repeats):
                continue
            node = line[part.path : part.begin]
        yield PartModel(kind=part.kind, begin=place(part.begin), end=place(part.end), node=node)


# -- which arrow ------------------------------------------------------------------------------------------------------


class _Lines:
    """The lines of arrows by the leaves that they join."""

    def __init__(self, correspondences: Iterable[Correspondence]) -> None:
        self._found: dict[tuple[Path, Path], list[Correspondence]] = {}
        for one in correspondences:
            self._found.setdefault((plain(one.source.absolute), plain(one.target.absolute)), []).append(one)

    def mirrored(self) -> _Lines:
        """The lines as they are read from target to source."""
        return _Lines(back for several in self._found.values() for one in several for back in one.mirrored())

    def between(self, source: Path, target: Path) -> list[Correspondence]:
        """The arrows between two leaves as rules have them, whose nodes may be selected by more than the arrows say."""
        return [
            one
            for one in self._found.get((plain(source), plain(target)), [])
            if _selects(one.source.absolute, source) and _selects(one.target.absolute, target)
        ]

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
            for one in self.between(*carried.ends)
            if one.arrow and _is_in(carried.start, one.out_of) and _is_in(carried.end, one.into)
        )


def _selects(written: Path, found: Path) -> bool:
    """Whether a node as rules select it is one of those that an arrow selects; of equal plain paths."""
    if written == found:
        return True
    return all(
        any(test[:2] == other[:2] and set(other[2]) <= set(test[2]) for other in _tests(met))
        for step, met in zip(written, found, strict=True)
        for test in _tests(step)
    )


def _tests(step: str) -> list[tuple[str, Path, tuple[str, ...]]]:
    return [(one.test, one.path, one.values) for one in split_selection(step)[1]]


def _is_in(element: XmlElement, members: frozenset[tuple[Path, str]]) -> bool:
    if not members:
        return True
    above = [str(element.tag), *(str(one.tag) for one in element.iterancestors())][::-1]
    return all(above[len(box) : len(box) + 1] == [member] for box, member in members)


# -- the sample and its image -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tried:
    """What a mapping is tried on: a sample, and the peer's own records where it is of these."""

    mapping: Mapping
    wanted: MappingRequest
    own: OwnRecords

    def example(self, lines: _Lines, names: DrawnNames) -> tuple[ExampleModel, Counter[int] | None]:
        """The sample with its image, and how many values each line has carried, if anything was exchanged."""
        graph, text = self.mapping.source.graph, self.wanted.sample
        records = list(self.own.documents(graph)) if text is None else []
        counts = [found for one in records if (found := self._counted(one, lines)) is not None]
        counted = {"tried": len(counts), "held": len(self.own.files) if records else 0}
        try:
            if text is None:
                seed = self.wanted.seed
                text = sample_of(records, self.mapping, seed) if records else made_sample(self.mapping, seed)
            document, faults = read_sample(text, graph)
        except HeptoxError as error:
            # what is too large is not sent back
            text = (text or "")[:MOST_TEXT]
            return ExampleModel(text=text, source=None, target=None, faults=error.faults, **counted), None
        trace = Trace()
        before, after = names.of(self.mapping.source), names.of(self.mapping.target)
        try:
            image = exchange(self.mapping, document, trace)
        except HeptoxError as error:
            source = _element(document.root, _Marks(), before)
            faults = (*faults, *error.faults)
            return ExampleModel(text=text, source=source, target=None, faults=faults, **counted), None
        starts, ends = _Marks(), _Marks()
        carried: Counter[int] = Counter()
        for value in trace.values():
            for line in lines.of_value(value):
                carried[line] += 1
                ends.add(value.end, WHOLE if value.copied else _leaf_of(value.target), line)
                for element, leaf in _places(value):
                    starts.add(element, leaf, line)
        source, target = _element(document.root, starts, before), _element(image.root, ends, after)
        example = ExampleModel(text=text, source=source, target=target, faults=tuple(faults), **counted)
        return example, (sum(counts, Counter()) if counts else None) if records else carried

    def _counted(self, document: Document, lines: _Lines) -> Counter[int] | None:
        """How many values of a document each line carries; ``None`` for one that cannot be exchanged."""
        trace = Trace()
        try:
            exchange(self.mapping, document, trace)
        except HeptoxError:
            return None
        return Counter(line for value in trace.values() for line in lines.of_value(value))


def _places(carried: ValueTrace) -> Iterator[tuple[XmlElement, str]]:
    """Where what was carried stood: of a computed value, all that it was computed of."""
    expression = value_expression(carried.source)
    if carried.copied:
        yield carried.start, WHOLE
    elif expression is None:
        yield carried.start, _leaf_of(carried.source)
    else:
        for path in leaf_paths(expression):
            yield from _leaves_at(carried.start, path)


def _leaves_at(element: XmlElement, path: Path) -> Iterator[tuple[XmlElement, str]]:
    """The leaves at a path below an element, each by the element that it is in or at."""
    if not path or path[0] == TEXT or path[0].startswith("@"):
        yield element, _leaf_of(path)
        return
    name, tests = split_selection(path[0])
    for child in element.iterchildren(name):
        if is_selected(child, tests):
            yield from _leaves_at(child, path[1:])


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
