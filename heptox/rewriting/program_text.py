"""Programs as text, which can be printed, edited and loaded again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path as FilePath

from heptox.errors import DisseminationError, Fault, HeptoxError, Position, near_names
from heptox.grammar import (
    OperatorStatement,
    SchemaDeclaration,
    SchemaPath,
    fault_at,
    parse_operator_lines,
    print_operators,
)
from heptox.rewriting.operators import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Prune,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.rewriting.program import Program
from heptox.rewriting.working_tree import WorkingTree, shown
from heptox.schema import SchemaTree, read_dtd
from heptox.xml import STANDARD_INPUT, file_name, read_text

# -- printing ----------------------------------------------------------------------------------------------------


def print_program(program: Program, folder: str | os.PathLike[str] | None = None) -> str:
    """A program as the text of an ``.operators`` file, which loads as an equal program.

    The schema file is named relative to ``folder``, where the text is going to stand; without it, as it was read.

    Raises ``ValueError`` for a schema that was not read from a file, and :class:`DisseminationError` (HX9101) where
    names are in namespaces, which such a file cannot say.
    """
    text = "".join(print_operator(operator) for operator in program.operators)
    if "{" in text or "{" in program.source.root:
        message = "names in namespaces cannot be written in a file of operators"
        raise DisseminationError(Fault("HX9101", message, hint="rewrite documents by the mapping itself"))
    graph = program.source.graph
    if graph.file is None:
        raise ValueError("the schema was not read from a file")
    file = graph.file if folder is None else FilePath(os.path.relpath(graph.file, folder)).as_posix()
    schema = SchemaDeclaration("source", file, graph.root)
    return print_operators((schema, *map(_statement, program.operators)))


def print_operator(operator: Operator) -> str:
    """One operator as a line of such a file.

    >>> print_operator(Swap(("author",), ("author", "article"), or_drop=True))
    'swap author with author/article or drop'
    """
    return str(_statement(operator)).replace("{", "Q{")  # no other name has a brace


def _statement(operator: Operator) -> OperatorStatement:
    match operator:
        case Rename(node, name):
            return OperatorStatement("rename", SchemaPath(node), (name,))
        case ToElement(attribute):
            return OperatorStatement("to element", SchemaPath(attribute))
        case ToAttribute(leaf):
            return OperatorStatement("to attribute", SchemaPath(leaf))
        case Insert(element, names, children):
            return OperatorStatement("insert", SchemaPath(element), names, _paths(children))
        case Upgrade(element, children):
            return OperatorStatement("upgrade", SchemaPath(element), (), _paths(children))
        case Downgrade(element, children, into, or_drop):
            return OperatorStatement("downgrade", SchemaPath(element), (), _paths(children), SchemaPath(into), or_drop)
        case Swap(element, child, or_drop):
            return OperatorStatement("swap", SchemaPath(element), (), (), SchemaPath(child), or_drop)
        case Dissolve(element):
            return OperatorStatement("dissolve", SchemaPath(element))
        case Drop(node):
            return OperatorStatement("drop", SchemaPath(node))
        case Prune(element):
            return OperatorStatement("prune", SchemaPath(element))
        case Arrange(element, children):
            return OperatorStatement("arrange", SchemaPath(element), (), _paths(children))


def _paths(nodes: tuple[NodeId, ...] | None) -> tuple[SchemaPath, ...] | None:
    return None if nodes is None else tuple(map(SchemaPath, nodes))


# -- reading -----------------------------------------------------------------------------------------------------


def load_program(path: str | os.PathLike[str]) -> Program:
    """The program in an ``.operators`` file; the schema that it names stands relative to it.

    Raises :class:`InputError` when the file cannot be read, :class:`DisseminationError` as :func:`parse_program`.
    """
    folder = FilePath() if path == STANDARD_INPUT else FilePath(path).parent
    return parse_program(read_text(path), folder, file_name(path))


def parse_program(text: str, folder: str | os.PathLike[str], file: str | None = None) -> Program:
    """The program that the text of an ``.operators`` file means, its schema found in ``folder``.

    Raises :class:`DisseminationError` with every fault: HX3001 for lines that do not follow the grammar, HX9102 for
    operators that cannot be applied where they stand, HX4002 and those of the schema.
    """
    statements, faults = parse_operator_lines(text, file)
    reader = _Reader(text, file, list(faults))
    program = reader.program(statements, FilePath(folder))
    if program is None:
        raise DisseminationError(sorted(reader.faults, key=lambda fault: fault.position or Position(0, 0)))
    return program


class _Reader:
    def __init__(self, text: str, file: str | None, faults: list[Fault]) -> None:
        self.faults = faults
        self._text, self._file = text, file

    def program(
        self, statements: tuple[SchemaDeclaration | OperatorStatement, ...], folder: FilePath
    ) -> Program | None:
        """The program; ``None`` where there are faults."""
        declared = [each for each in statements if isinstance(each, SchemaDeclaration)]
        schema = self._schema(declared, folder)
        if schema is None:
            return None
        tree = WorkingTree(schema)
        operators = []
        for statement in statements:
            if isinstance(statement, OperatorStatement):
                operator = _operator(statement)
                operators.append(operator)
                self._apply(operator, statement, tree)
        return None if self.faults else Program(schema, tuple(operators))

    def _schema(self, declared: list[SchemaDeclaration], folder: FilePath) -> SchemaTree | None:
        if not declared:
            self._add("HX4002", "the source schema is not declared", None, 'write: source "FILE.dtd" root NAME')
            return None
        for again in declared[1:]:
            self._add("HX4003", "the source schema is declared again", again.position, "keep one of the lines")
        try:
            return SchemaTree(read_dtd(folder / declared[0].file, declared[0].root))
        except HeptoxError as error:
            message = f'the schema "{declared[0].file}" cannot be used'
            self._add("HX4002", message, declared[0].position, None)
            self.faults += error.faults
            return None

    def _apply(self, operator: Operator, statement: OperatorStatement, tree: WorkingTree) -> None:
        unknown = [path for path in _written(statement) if path.steps not in tree]
        for path in unknown:
            self._add("HX9102", f"{shown(path.steps)} is not there", path.position, _suggestion(path.steps, tree))
        if unknown:
            return
        try:
            tree.apply(operator)
        except DisseminationError as error:
            for fault in error.faults:
                self._add(fault.code, fault.message, statement.position, fault.hint)

    def _add(self, code: str, message: str, position: Position | None, hint: str | None) -> None:
        fault = fault_at(code, message, self._text, position, hint)
        self.faults.append(fault if position else replace(fault, file=self._file))


def _written(statement: OperatorStatement) -> Iterator[SchemaPath]:
    """The nodes that a statement names."""
    yield statement.node
    yield from statement.children or ()
    if statement.other:
        yield statement.other


def _suggestion(node: NodeId, tree: WorkingTree) -> str:
    """What would have worked instead of a node that is not there."""
    above = next(node[:length] for length in range(len(node) - 1, -1, -1) if node[:length] in tree)
    step = node[len(above)]
    known = (*tree.children(above), *(tree.schema.children(above) if above in tree.schema else ()))
    steps = {child[-1]: child for child in known if child in tree}
    if near := near_names(step, steps):
        return f"did you mean {shown(steps[near[0]])}?"
    return "nodes are named by their paths in the source schema, wherever they stand by now"


def _operator(statement: OperatorStatement) -> Operator:
    node, names = statement.node.steps, statement.names
    children = None if statement.children is None else tuple(child.steps for child in statement.children)
    other = statement.other.steps if statement.other else ()
    match statement.word:
        case "rename":
            return Rename(node, names[0])
        case "to element":
            return ToElement(node)
        case "to attribute":
            return ToAttribute(node)
        case "insert":
            return Insert(node, names, children)
        case "upgrade":
            return Upgrade(node, children)
        case "downgrade":
            return Downgrade(node, children or (), other, statement.or_drop)
        case "swap":
            return Swap(node, other, statement.or_drop)
        case "dissolve":
            return Dissolve(node)
        case "drop":
            return Drop(node)
        case "prune":
            return Prune(node)
        case "arrange":
            return Arrange(node, children or ())
