"""The declarations of a mapping: schemas, boxes, keys, references, joins (``semantics.md`` sections 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

from heptox.errors import HeptoxError, MappingError, near_names
from heptox.grammar import (
    BoxDeclaration,
    Declaration,
    JoinDeclaration,
    KeyDeclaration,
    Name,
    NamespaceDeclaration,
    Node,
    ReferenceDeclaration,
    SchemaDeclaration,
    SchemaPath,
    Side,
)
from heptox.mapping.content import content_difference
from heptox.mapping.file_names import side_prefixes
from heptox.mapping.findings import Findings
from heptox.mapping.model import Reference
from heptox.mapping.paths import path_text, suggestion
from heptox.mapping.selected_paths import with_selections
from heptox.schema import (
    TEXT,
    AttributeType,
    Box,
    Path,
    SchemaGraph,
    SchemaTree,
    id_paths,
    inferred_references,
    is_identifier,
    is_selection,
    plain,
)
from heptox.xml import NO_PREFIXES, Prefixes, UnboundPrefixError, split_name, unescaped_name

_SIDES: Final[tuple[Side, ...]] = ("source", "target")
_Statement = TypeVar("_Statement", bound=Node)
_Link = TypeVar("_Link", ReferenceDeclaration, JoinDeclaration)

ReadSchema: TypeAlias = Callable[[str, str | None], SchemaGraph]
"""Gives the schema of a file by the name that a declaration has for it, and its root element if that is said there."""

Members: TypeAlias = tuple[tuple[Box, str], ...]
"""The members of boxes that a path goes through, from the root down."""


@dataclass(frozen=True, slots=True)
class DeclaredSide:
    """What is known of one side: its schema with the boxes drawn on it, its keys, its references, and its joins.

    ``keys`` are the ``declared_keys`` and the ``ID`` attributes, of a large schema only those of nodes that the mapping
    speaks of; ``joins`` the references to connect by where several
    would do; ``faulty_boxes`` are the names of those that are declared and cannot be drawn, which is reported once.
    """

    name: Side
    tree: SchemaTree
    keys: frozenset[Path] = frozenset()
    references: tuple[Reference, ...] = ()
    joins: tuple[Reference, ...] = ()
    faulty_boxes: frozenset[str] = frozenset()
    declared_keys: frozenset[Path] = frozenset()

    def with_identifiers(self, nodes: Iterable[Path]) -> DeclaredSide:
        """The side with the ``ID`` attributes of nodes, and of what references lead to, among its keys."""
        ends = (end for one in self.references for end in (one.source, one.target))
        return replace(self, keys=self.keys.union(id_paths(self.tree, (*nodes, *ends))))


def with_virtual_nodes(side: DeclaredSide, used: Iterable[Path]) -> DeclaredSide:
    """The side with the keys and references of its nodes for the virtual nodes on ``used`` paths beside them, too."""
    nodes = {path[:length] for path in used for length in range(1, len(path) + 1) if is_selection(path[length - 1])}
    if not nodes:
        return side
    beside: dict[Path, list[Path]] = {}
    for node in sorted(nodes):
        beside.setdefault(plain(node), []).append(node)

    def versions(path: Path) -> list[Path]:
        heads = (head for length in range(1, len(path) + 1) for head in beside.get(path[:length], ()))
        return [path, *((*head, *path[len(head) :]) for head in heads)]

    def links(references: Sequence[Reference]) -> tuple[Reference, ...]:
        return tuple(
            replace(reference, source=source, target=target)
            for reference in references
            for source in versions(reference.source)
            for target in versions(reference.target)
        )

    return replace(
        side,
        keys=frozenset(version for key in side.keys for version in versions(key)),
        declared_keys=frozenset(version for key in side.declared_keys for version in versions(key)),
        references=links(side.references),
        joins=links(side.joins),
    )


@dataclass(frozen=True, slots=True)
class DeclaredSides:
    """What a file declares; a side is ``None`` when its schema cannot be had, which is a fault already reported."""

    source: DeclaredSide | None
    target: DeclaredSide | None


def read_schemas(
    declarations: Sequence[Declaration], read: ReadSchema, findings: Findings
) -> Mapping[Side, SchemaGraph | None]:
    """The schemas that a file declares, with the prefixes that it declares for their names; ``None`` for one that
    cannot be had, which goes to ``findings``.
    """
    lines = [line for line in declarations if isinstance(line, NamespaceDeclaration)]
    lines = [*_once(lines, lambda one: (one.side, one.prefix), lambda one: f"the prefix {one.prefix}", findings)]
    found: dict[Side, SchemaGraph | None] = {}
    for side in _SIDES:
        graph = _schema(side, declarations, side_prefixes(side, lines, NO_PREFIXES), read, findings)
        prefixes = side_prefixes(side, lines, NO_PREFIXES if graph is None else graph.prefixes)
        found[side] = graph if graph is None or prefixes is graph.prefixes else replace(graph, prefixes=prefixes)
    return found


def declare(
    declarations: Sequence[Declaration], schemas: Mapping[Side, SchemaGraph | None], findings: Findings
) -> DeclaredSides:
    """Resolve all declarations of a file, whose names are expanded; what is wrong goes to ``findings``."""
    sides = (
        None if (graph := schemas[name]) is None else _side(name, graph, declarations, findings) for name in _SIDES
    )
    return DeclaredSides(*sides)


# -- paths -------------------------------------------------------------------------------------------------------


def resolve(side: DeclaredSide, written: SchemaPath, findings: Findings) -> Path | None:
    """The absolute path of a schema node as it is written in a mapping; ``None`` after reporting what is wrong with it.

    ``a/text()`` of an element that holds nothing but text is that leaf itself. A path through a single member of a box
    is reported (HX4018): there all members must be meant.
    """
    found = resolve_member(side, written, findings)
    if found is None or not found[1]:
        return found and found[0]
    box, member = found[1][-1]
    name = side.tree.written((member,))
    message = f"{written} goes through {name}, one member of the box {box.name}, which only an arrow to a leaf can"
    findings.add("HX4018", message, written, f"write {path_text(side.tree, found[0])}, for all members of the box")
    return None


def resolve_member(side: DeclaredSide, written: SchemaPath, findings: Findings) -> tuple[Path, Members] | None:
    """As :func:`resolve`, with the members of boxes that the path goes through; it does not end at one."""
    tree, steps = side.tree, written.steps
    if steps[:1] and steps[0].startswith("["):
        box = next((box for box in tree.boxes if box.step == steps[0]), None)
        if steps[0][1:-1] in side.faulty_boxes:
            return None
        if box is None:
            findings.add("HX4005", f"the {side.name} has no box {steps[0]}", written, _box_hint(side, steps[0]))
            return None
        steps = box.path + steps[1:]
    path, members = _through_boxes(tree, steps)
    if path[-1] == TEXT and path not in tree and path[:-1] in tree and tree.element(path[:-1]).text_only:
        path = path[:-1]
    if plain(path) not in tree:
        findings.add("HX4001", f"the {side.name} schema has no {written}", written, suggestion(tree, plain(path)))
        return None
    selected = with_selections(tree, path, written, findings)
    if selected is None:
        return None
    path = selected
    if tree.is_cyclic(path if tree.is_element(path) else path[:-1]):
        message = f"{path_text(side.tree, path)} enters a recursive element type again"
        findings.add("HX4010", message, written, "copy the recursive part whole with =>")
        return None
    if path[-1:] == (TEXT,) and tree.edge(path).repeats:
        message = f"the text of {path_text(side.tree, path[:-1])} stands between its child elements and can repeat"
        findings.add("HX4011", message, written, f"copy {path_text(side.tree, path[:-1])} whole with =>")
        return None
    if members and members[-1][0].path == path:
        box, member = members[-1]
        name = tree.written((member,))
        message = f"{written} is a member of the box {box.name}: its tag is a value of {box.step}"
        findings.add("HX4018", message, written, f"write {box.step} for the tag, {name}/LEAF for what {name} holds")
        return None
    return path, members


def drawn_path(side: DeclaredSide, written: SchemaPath, findings: Findings | None = None) -> Path | None:
    """The node at which an arrow is drawn: as :func:`resolve_member`, with members in the place of their boxes."""
    found = resolve_member(side, written, Findings("", None) if findings is None else findings)
    if found is None:
        return None
    path, members = found
    names = {len(box.parent): member for box, member in members}
    return tuple(names.get(place, step) for place, step in enumerate(path))


def _through_boxes(tree: SchemaTree, steps: Path) -> tuple[Path, Members]:
    """The path with boxes in the place of their members, and these."""
    path: Path = ()
    members: Members = ()
    for step in steps:
        box = next((box for box in tree.boxes if box.parent == path and step in box.members), None)
        if box is not None:
            members = (*members, (box, step))
        path = (*path, step if box is None else box.step)
    return path, members


def _box_hint(side: DeclaredSide, step: str) -> str:
    steps = [box.step for box in side.tree.boxes]
    if close := near_names(step, steps):
        return f"did you mean {close[0]}?"
    example = f"declare it: {side.name} box {step[1:-1]} = PARENT/(MEMBER | MEMBER)"
    return f"{example}; boxes there: {', '.join(steps)}" if steps else example


# -- one side ----------------------------------------------------------------------------------------------------


def _side(name: Side, graph: SchemaGraph, declarations: Sequence[Declaration], findings: Findings) -> DeclaredSide:
    declared = [d for d in declarations if isinstance(d, BoxDeclaration) and d.side == name]
    boxes = _boxes(name, graph, declared, findings)
    faulty = {box.name for box in declared} - {box.name for box in boxes}
    side = DeclaredSide(name, SchemaTree(graph, boxes), faulty_boxes=frozenset(faulty))
    keys = _keys(side, declarations, findings)
    side = replace(side, keys=keys | frozenset(id_paths(side.tree)), declared_keys=keys)
    side = replace(side, references=_references(side, declarations, findings))
    return replace(side, joins=_joins(declarations, side, findings))


def _schema(
    name: Side, declarations: Sequence[Declaration], prefixes: Prefixes, read: ReadSchema, findings: Findings
) -> SchemaGraph | None:
    declared = [d for d in declarations if isinstance(d, SchemaDeclaration) and d.side == name]
    for again in declared[1:]:
        findings.add("HX4003", f"the {name} schema is declared again", again, "keep one of the lines")
    if not declared:
        findings.add("HX4002", f"the {name} schema is not declared", None, f'write: {name} "FILE.dtd" root NAME')
        return None
    try:
        return read(declared[0].file, declared[0].root and _root(declared[0].root, prefixes))
    except MappingError as error:  # the name cannot be meant
        fault = error.faults[0]
        findings.add(fault.code, fault.message, declared[0], fault.hint)
        return None
    except HeptoxError as error:
        reason = error.faults[0].message
        hint = "the file stands relative to the mapping's folder"
        findings.add("HX4002", f'the schema "{declared[0].file}" cannot be used: {reason}', declared[0], hint)
        findings.extend(fault for fault in error.faults if fault.position)
        return None


def _root(written: str, prefixes: Prefixes) -> str:
    """The name of a root, expanded where the file of the mapping says its namespace; else the schema has to know it."""
    try:
        return prefixes.expanded(written) if ":" in written else written
    except UnboundPrefixError:
        return written


def _boxes(name: Side, graph: SchemaGraph, declared: Sequence[BoxDeclaration], findings: Findings) -> tuple[Box, ...]:
    """The boxes of one side; one whose parent lies in another box waits for that one."""
    boxes: list[Box] = []
    waiting = list(_once(declared, lambda box: box.name, lambda box: f"the {name} box {box.name}", findings))
    while waiting:
        drawn = {box.step for box in boxes}
        ready = [d for d in waiting if not any(step.startswith("[") and step not in drawn for step in d.parent.steps)]
        for declaration in ready or waiting:
            side = DeclaredSide(name, SchemaTree(graph, tuple(boxes)))
            if box := _box(side, declaration, findings):
                boxes.append(box)
        waiting = [declaration for declaration in waiting if declaration not in ready] if ready else []
    return tuple(boxes)


def _box(side: DeclaredSide, declared: BoxDeclaration, findings: Findings) -> Box | None:
    parent = resolve(side, declared.parent, findings) if declared.parent.steps else ()
    if parent is None:
        return None
    tree = side.tree
    if not tree.is_element(parent):
        findings.add("HX4007", f"{path_text(side.tree, parent)} holds no elements", declared.parent)
        return None
    if other := next((box for box in tree.boxes if box.parent == parent), None):
        message = f"the boxes {other.name} and {declared.name} stand below one parent"
        findings.add("HX4007", message, declared, "a tag that neither declares would belong to both: draw one box")
        return None
    if twins := _twins(declared.members):
        message = f"{' and '.join(map(str, twins))} are one value as tags in the box {declared.name}"
        findings.add("HX4007", message, twins[1], "a tag is its local name: draw a box for one namespace")
        return None
    names = [member.text for member in declared.members]
    below = [child[-1] for child in tree.children(parent) if tree.is_element(child)]
    known = True
    for number, member in enumerate(declared.members):
        if member.text not in below:
            known = False
            message = (
                f"the {side.name} schema has no {path_text(side.tree, (*parent, member.text)) if parent else member}"
            )
            findings.add("HX4001", message, member, suggestion(tree, (*parent, member.text)))
        elif member.text in names[:number]:
            known = False
            findings.add("HX4003", f"{member} stands in the box twice", member)
    if not known:
        return None
    for member in declared.members[1:]:
        types = tree.element((*parent, names[0])).key, tree.element((*parent, member.text)).key
        if difference := content_difference(tree.graph, types[0], tree.graph, types[1]):
            message = f"members of the box {declared.name} differ: {difference}"
            findings.add("HX4006", message, member, "all members of a box hold the same")
            known = False
    return Box(declared.name, parent, tuple(names)) if known else None


def _twins(members: Sequence[Name]) -> tuple[Name, Name] | None:
    """Two members of different names that are one value as tags."""
    met: dict[str, Name] = {}
    for member in members:
        value = unescaped_name(split_name(member.text)[1])
        other = met.setdefault(value, member)
        if other.text != member.text:
            return other, member
    return None


def _keys(side: DeclaredSide, declarations: Sequence[Declaration], findings: Findings) -> frozenset[Path]:
    declared = [d for d in declarations if isinstance(d, KeyDeclaration) and d.side == side.name]
    keys: set[Path] = set()
    for declaration in _once(declared, lambda d: d.path.steps, lambda d: f"the key {d.path}", findings):
        path = resolve(side, declaration.path, findings)
        if path is not None and _is_key(side, path, declaration, findings):
            keys.add(path)
    return frozenset(keys)


def _is_key(side: DeclaredSide, path: Path, declaration: KeyDeclaration, findings: Findings) -> bool:
    hint = "a key is an attribute or a single leaf below the element that it identifies"
    if not side.tree.is_leaf(path) or path[-1] == TEXT:
        findings.add("HX4014", f"{path_text(side.tree, path)} cannot be a key: it is no leaf", declaration.path, hint)
        return False
    if side.tree.edge(path).repeats:
        findings.add("HX4014", f"{path_text(side.tree, path)} cannot be a key: it repeats", declaration.path, hint)
        return False
    return True


# -- references --------------------------------------------------------------------------------------------------


def _references(side: DeclaredSide, declarations: Sequence[Declaration], findings: Findings) -> tuple[Reference, ...]:
    """The inferred references, then those declared besides, in the order of the file."""
    declared = [d for d in declarations if isinstance(d, ReferenceDeclaration) and d.side == side.name]
    found = {reference.source: reference for reference in _inferred(side.tree)}

    for declaration, reference in _sound(side, declared, "reference", findings):
        known = found.get(reference.source)
        if known is None:
            found[reference.source] = reference
        elif known.target != reference.target:
            message = f"{path_text(side.tree, reference.source)} refers to {path_text(side.tree, known.target)} already"
            reason = "the only ID of the schema" if known.inferred else "declared in another line"
            findings.add("HX4015", message, declaration, f"{reason}; a leaf refers to one key")
    return tuple(found.values())


def _inferred(tree: SchemaTree) -> Iterable[Reference]:
    return (Reference(source, target, inferred=True) for source, target in inferred_references(tree))


def _sound(
    side: DeclaredSide, declared: Sequence[_Link], kind: str, findings: Findings
) -> Iterator[tuple[_Link, Reference]]:
    """The declarations whose ends can refer, each the first time."""

    def called(declaration: _Link) -> str:
        return f"the {kind} {declaration.source} -> {declaration.target}"

    for declaration in _once(declared, lambda one: (one.source.steps, one.target.steps), called, findings):
        reference = _reference(side, declaration, findings)
        if reference is not None:
            yield declaration, reference


def _reference(
    side: DeclaredSide, declared: ReferenceDeclaration | JoinDeclaration, findings: Findings
) -> Reference | None:
    source = resolve(side, declared.source, findings)
    target = resolve(side, declared.target, findings)
    fits = True
    if source is not None and not side.tree.is_leaf(source):
        fits = False
        findings.add("HX4014", f"{path_text(side.tree, source)} cannot refer: it is no leaf", declared.source)
    elif source is not None and _is_list(side.tree, source):
        fits = False
        message = f"{path_text(side.tree, source)} cannot refer: it holds several values (IDREFS)"
        findings.add("HX4014", message, declared.source, "only a leaf with one value refers")
    if target is not None and target not in side.keys and not is_identifier(side.tree, target):
        fits = False
        message = f"{path_text(side.tree, target)} is no key"
        findings.add("HX4014", message, declared.target, _key_hint(side, target))
    return Reference(source, target) if fits and source is not None and target is not None else None


def _is_list(tree: SchemaTree, path: Path) -> bool:
    lists = (AttributeType.IDREFS, AttributeType.NMTOKENS, AttributeType.ENTITIES)
    return path[-1].startswith("@") and tree.attribute(path).type in lists


def _key_hint(side: DeclaredSide, path: Path) -> str:
    if side.tree.is_leaf(path) and not side.tree.edge(path).repeats:
        return f"declare it: {side.name} key {path_text(side.tree, path)}"
    keys = sorted(path_text(side.tree, key) for key in side.keys)
    return f"keys there: {', '.join(keys)}" if keys else f"declare one: {side.name} key LEAF"


def _joins(declarations: Sequence[Declaration], side: DeclaredSide, findings: Findings) -> tuple[Reference, ...]:
    joins = []
    declared = [d for d in declarations if isinstance(d, JoinDeclaration) and d.side == side.name]

    for declaration, reference in _sound(side, declared, f"{side.name} join", findings):
        known = [known for known in side.references if known.source == reference.source]
        if [known.target for known in known] == [reference.target]:
            joins += known
        else:
            hint = f"declare it: {side.name} reference {declaration.source} -> {declaration.target}"
            findings.add("HX4014", f"{declaration.source} -> {declaration.target} is no reference", declaration, hint)
    return tuple(joins)


# -- repetition --------------------------------------------------------------------------------------------------


def _once(
    declared: Iterable[_Statement],
    key: Callable[[_Statement], Hashable],
    called: Callable[[_Statement], str],
    findings: Findings,
) -> Iterable[_Statement]:
    """Each statement the first time; a repetition is reported."""
    seen: set[Hashable] = set()
    for statement in declared:
        if key(statement) in seen:
            findings.add("HX4003", f"{called(statement)} is declared again", statement, "keep one of the lines")
        else:
            seen.add(key(statement))
            yield statement
