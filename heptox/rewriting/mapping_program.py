"""The program of a mapping: operators that make of a document what exchange makes of it (``rewriting.md``, contract).

Operators are an implementation of ``mu`` (``semantics.md`` section 5) where a static check passes; elsewhere it is said
why there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heptox.errors import DisseminationError, Fault
from heptox.mapping import Mapping
from heptox.pattern import printed_test
from heptox.rewriting.inference import TargetNode, infer, infer_operators
from heptox.rewriting.operators import (
    Arrange,
    Downgrade,
    NodeId,
    Operator,
    Prune,
    lowest_above,
)
from heptox.rewriting.pairing import Paired, identifies, pair, text
from heptox.rewriting.program import Program
from heptox.rewriting.working_tree import WorkingTree
from heptox.schema import Path, SchemaTree


@dataclass(frozen=True, slots=True)
class MappingProgram:
    """What operators make of a mapping.

    ``program``: what it makes of a document valid for the source schema is what exchange makes of it, as a set of
    nodes, but that nodes at ``glued`` which exchange makes one, for all their leaves are equal, stay apart. So a
    subscription that does not branch there matches one document exactly when it matches the other. ``None`` where there
    is no such program; ``reasons`` say why.
    """

    mapping: Mapping
    program: Program | None
    glued: frozenset[Path] = frozenset()
    reasons: tuple[str, ...] = ()
    target: TargetNode | None = None
    """The target schema tree as far as the program makes it."""

    @property
    def inner(self) -> tuple[NodeId, ...]:
        """The source nodes that have element content, or none, in what the program makes."""
        nodes = () if self.target is None else self.target.walk()
        return tuple(
            node.source
            for node in nodes
            if node.source is not None and not (node.text or node.whole or node.name.startswith("@"))
        )

    @property
    def is_exact(self) -> bool:
        """Whether the program makes the exchanged document itself, as a set."""
        return self.program is not None and not self.glued


def mapping_program(mapping: Mapping) -> MappingProgram:
    """The program of a mapping, if there is one.

    Nodes of one kind stay in the order of the document, where exchange has each that is equal to another once.
    """
    if reasons := tuple(dict.fromkeys(_open(mapping.source))):
        return MappingProgram(mapping, None, reasons=reasons)
    paired = pair(mapping)
    if paired.reasons:
        return MappingProgram(mapping, None, reasons=paired.reasons)
    inferred = infer(mapping.source, paired.target)
    if reasons := tuple(dict.fromkeys(_mixing(mapping.source, inferred.structure))):
        return MappingProgram(mapping, None, reasons=reasons)
    prunes = _prunes(paired, Program(mapping.source, inferred.structure).result)
    operators = (*inferred.structure, *prunes, *inferred.names)
    arranges = _arranges(paired.target, Program(mapping.source, operators).result)
    program = Program(mapping.source, (*operators, *arranges))
    return MappingProgram(mapping, program, frozenset(_glued(mapping, paired)), (), paired.target)


def paper_program(mapping: Mapping) -> Program:
    """The operators as the paper has them: what is not carried stays, and so does what has no place.

    Raises :class:`DisseminationError` (HX9101) where a mapping cannot be expressed by operators.
    """
    paired = pair(mapping)
    if paired.reasons:
        raise DisseminationError(Fault("HX9101", reason) for reason in paired.reasons)
    return Program(mapping.source, infer_operators(mapping.source, paired.target, keeping=True, or_drop=False))


def _open(source: SchemaTree) -> Iterator[str]:
    """Where there may be what no arrow knows, which operators would carry on."""
    for element in source.graph.elements.values():
        if element.open:
            yield f"anything may stand in elements {printed_test(element.name)}"


# -- what is checked ---------------------------------------------------------------------------------------------


def _mixing(source: SchemaTree, operators: tuple[Operator, ...]) -> Iterator[str]:
    """What would bring together nodes that do not belong together: all that is below an element goes into each of its
    children, so the element has to stand below, or be, all that both stand below in the source."""
    tree = WorkingTree(source)
    for operator in operators:
        if isinstance(operator, Downgrade):
            fixed = {stop for node in tree.chain(operator.element) for stop in _stops(source, node)}
            for child in operator.children:
                common = lowest_above((child, operator.into))
                if source.stop(common) not in fixed:
                    yield (
                        f"{text(child)} would come below each {text(operator.into)}, "
                        f"not only those of the same {text(source.stop(common))}"
                    )
        tree.apply(operator)


def _stops(source: SchemaTree, node: NodeId) -> tuple[Path, ...]:
    return source.stops(node) if node in source else ()


def _glued(mapping: Mapping, paired: Paired) -> Iterator[Path]:
    """The target stop nodes with others below that may be one for two source nodes: they have no key, and are not one
    for each source node."""

    def below(node: TargetNode, path: Path, leaves: dict[Path, list[Path]]) -> bool:
        """Whether a stop node stands at or below a node; its leaves are noted by stop node."""
        is_stop = mapping.target.is_stop(path)
        stop = mapping.target.stop(path)
        if node.source is not None:
            leaves.setdefault(stop, []).append(node.source)
        found = [below(child, (*path, child.name), leaves) for child in node.children]
        if any(found) and path and is_stop and node.source is not None:
            own = leaves.get(path, [])
            apart = path in paired.each or any(identifies(mapping, node.source, leaf) for leaf in own)
            if not apart:
                glued.append(path)
        return any(found) or (is_stop and bool(path))

    glued: list[Path] = []
    below(paired.target, (), {})
    yield from glued


# -- what is made tidy -------------------------------------------------------------------------------------------


def _prunes(paired: Paired, tree: WorkingTree) -> list[Operator]:
    """Take out, the innermost first, the elements that may have nothing in them: exchange makes none such, but those
    that are one for each source node."""
    found: list[Operator] = []
    wholes = {node.source for node in paired.target.walk() if node.whole}
    kept = {paired.nodes[path] for path in paired.each}

    def is_certain(node: NodeId) -> bool:
        """Whether there is a value in each element of a node."""
        if node in wholes or (node in tree.schema and tree.schema.is_leaf(node)):
            return True
        inside = [(child, is_certain(child)) for child in tree.children(node)]
        if node in tree.schema:
            certain = any(known and _is_required(tree, child) for child, known in inside)
        else:
            certain = all(known for _, known in inside)
        certain = certain or node in kept
        if node and not certain:
            found.append(Prune(node))
        return certain

    is_certain(())
    return found


def _is_required(tree: WorkingTree, child: NodeId) -> bool:
    """Whether a node stands where the source has it, and must stand there."""
    return child in tree.schema and tree.parent(child) == child[:-1] and tree.schema.edge(child).required


def _arranges(target: TargetNode, tree: WorkingTree) -> Iterator[Operator]:
    """Put children into the order of the target schema where they may stand in another one."""
    waiting: list[tuple[TargetNode, NodeId]] = [(target, ())]
    while waiting:
        node, here = waiting.pop()
        below = [(child, made_below(child, here)) for child in node.children]
        waiting += below
        wanted = tuple(each for _, each in below if each in tree and tree.is_element(each))
        if len(wanted) > 1 and not (wanted == tuple(tree.elements(here)) and _comes_in_order(tree, here, wanted)):
            yield Arrange(here, wanted)


def made_below(target: TargetNode, above: NodeId) -> NodeId:
    """The node that a target node is, or becomes, below another one."""
    return (*above, f"+{target.name}") if target.source is None else target.source


def _comes_in_order(tree: WorkingTree, node: NodeId, children: tuple[NodeId, ...]) -> bool:
    """Whether children stand where the source has them, which says in which order they come."""
    if node not in tree.schema or any(child[:-1] != node for child in children):
        return False
    content = tree.schema.element(node).content
    return content is not None and content.kind == "sequence" and all(each.kind == "name" for each in content.members)
