"""Values that arrows compute, as leaves of the node whose leaves they speak of (``semantics.md`` section 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from heptox.errors import Fault, HeptoxError, MappingError
from heptox.grammar import Arrow, ComputedValue, SchemaPath
from heptox.mapping.code_tables import Codes, ReadTable, read_codes
from heptox.mapping.declarations import DeclaredSide, resolve
from heptox.mapping.findings import Findings
from heptox.mapping.paths import Leaf, leaf_at, path_text
from heptox.mapping.selected_paths import value_path
from heptox.pattern import (
    Call,
    Constant,
    Leaf as LeafValue,
    Lookup,
    StringJoin,
    ValueExpression,
    computed_step,
    expression_faults,
    inverse,
    leaf_paths,
    parts,
    substituted,
    value_expression,
)
from heptox.schema import Path, quoted

_ONE_NODE = "a function speaks of leaves that one node has once; string-join gathers those that repeat"


def with_tables(arrow: Arrow, read: ReadTable, findings: Findings) -> Arrow | None:
    """An arrow with the tables that it looks values up in; ``None`` after reporting what is wrong with its functions
    (HX4041, HX4042, HX4071 to HX4073).
    """
    known = CodeTables(read, findings)
    if arrow.inverses and (not isinstance(arrow.source, ComputedValue) or arrow.source.constant is not None):
        message = f"{arrow.source} is no function of leaves, and has no inverse"
        findings.add("HX4041", message, arrow.inverses[0], "leave it out: a leaf comes back as it is")
    if not isinstance(arrow.source, ComputedValue):
        return arrow
    source, *inverses = (known.filled(value) for value in (arrow.source, *arrow.inverses))
    sound = tuple(inverse for inverse in inverses if inverse is not None)
    return None if source is None or len(sound) < len(inverses) else replace(arrow, source=source, inverses=sound)


@dataclass(frozen=True, slots=True)
class CodeTables:
    """The tables of codes that one file names."""

    read: ReadTable
    findings: Findings

    def filled(self, value: ComputedValue) -> ComputedValue | None:
        """A value with its tables; ``None`` after reporting what is wrong with it."""
        try:
            expression = self._filled(value.expression)
        except _TableError as error:
            at = self.findings.word(value, quoted(error.file))
            for fault in error.faults:
                message = f'the table "{error.file}" cannot be used: {fault.message}'
                self.findings.add("HX4042", message, at, fault.hint)
            self.findings.extend(fault for fault in error.faults if fault.position)
            return None
        except MappingError as error:
            for fault in error.faults:
                self.findings.add(fault.code, fault.message, value, fault.hint)
            return None
        faults = expression_faults(expression)
        for fault in faults:
            self.findings.add(fault.code, fault.message, value, fault.hint)
        return None if faults else replace(value, expression=expression, text=str(value))

    def _filled(self, value: ValueExpression) -> ValueExpression:
        match value:
            case Call("lookup" | "code-of" as name, (Constant(file), argument, *other)) if len(other) < 2:
                return replace(
                    self._lookup(name, file, self._filled(argument)), other=self._filled(other[0]) if other else None
                )
            case Call("lookup" | "code-of" as name):
                hint = f'write {name}("FILE.csv", LEAF), or {name}("FILE.csv", LEAF, "OTHER")'
                raise MappingError(Fault("HX4042", f"{name} takes the name of a file and a value", hint=hint))
            case Call(function, arguments):
                return Call(function, tuple(map(self._filled, arguments)))
        return value

    def _lookup(self, function: str, file: str, argument: ValueExpression) -> Lookup:
        found = Lookup(argument, self._codes(file), table=file)
        if function == "lookup":
            return found
        turned = found.turned(argument)
        if turned is None:
            hint = "code-of takes a table in which each value has one code"
            raise _TableError(file, (Fault("HX4042", "several codes stand for one value", hint=hint),))
        return turned

    def _codes(self, file: str) -> Codes:
        try:
            return read_codes(self.read(file), file)
        except HeptoxError as error:
            raise _TableError(file, error.faults) from None


class _TableError(Exception):
    """A table of codes that cannot be used, and why."""

    def __init__(self, file: str, faults: tuple[Fault, ...]) -> None:
        super().__init__(file)
        self.file, self.faults = file, faults


def computed_leaf(side: DeclaredSide, value: ComputedValue, taker: Leaf, findings: Findings) -> Leaf | None:
    """The leaf that a computed value is for the leaf that takes it; ``None`` after reporting what is wrong with it
    (HX4039).
    """
    paths: dict[Path, Path] = {}
    for written in value.leaves:
        is_whole = Call("string", (LeafValue(written.steps),)) in parts(value.expression)
        found = _leaf_path(side, written, findings, is_whole=is_whole)
        if found is None:
            return None
        paths[written.steps] = found
    stop = _node(side, value, paths, taker, findings)
    if stop is None:
        return None

    def image(leaf: LeafValue | StringJoin) -> ValueExpression:
        below = paths[leaf.path][len(stop) :]
        return LeafValue(below) if isinstance(leaf, LeafValue) else StringJoin(below, leaf.separator)

    if any(isinstance(part, LeafValue) and not part.path for part in parts(value.expression)):
        findings.add("HX4039", f". in {value} stands for nothing", value, "only behind inverse it is the target leaf")
        return None
    return Leaf(stop, (computed_step(substituted(value.expression, image)),))


def _leaf_path(side: DeclaredSide, written: SchemaPath, findings: Findings, *, is_whole: bool = False) -> Path | None:
    """The leaf that a function speaks of; of an element that holds others, all its text, where that is taken whole."""
    path = resolve(side, written, findings)
    if path is None:
        return None
    leaf = value_path(side.tree, path)
    if leaf is None and is_whole and not side.tree.box(path):
        return path
    if leaf is None:
        hint = "a function speaks of leaves; string(PATH) is all text in an element"
        findings.add("HX4009", f"{path_text(side.tree, path)} is no leaf", written, hint)
    return leaf


def _node(
    side: DeclaredSide, value: ComputedValue, paths: dict[Path, Path], taker: Leaf, findings: Findings
) -> Path | None:
    """The stop node that a function is of: that of its leaves; of gathered ones, the next above what repeats, and the
    root where the root takes them.
    """
    tree = side.tree
    single = {leaf.path for leaf in parts(value.expression) if isinstance(leaf, LeafValue)}
    gathered = {leaf.path for leaf in parts(value.expression) if isinstance(leaf, StringJoin)}
    stops = {tree.stop(paths[path]) for path in single}
    if not single:
        above = sorted((_holder(side, paths[path]) for path in gathered), key=len)
        stops = set(above[:1]) if taker.stop else set()
    if not stops:
        return ()
    stop = max(stops, key=len)
    others = [paths[path] for path in gathered if paths[path][: len(stop)] != stop]
    if len(stops) > 1 or others:
        nodes = ", ".join(sorted(path_text(tree, node) for node in (*stops, *map(tree.stop, others))))
        findings.add("HX4039", f"{value} speaks of leaves of several nodes: {nodes}", value, _ONE_NODE)
        return None
    return stop


def _holder(side: DeclaredSide, path: Path) -> Path:
    """The node whose values at a path are gathered: above the innermost node that repeats."""
    stop = side.tree.stop(path)
    return side.tree.stop(stop[:-1]) if stop else stop


def returned_leaves(
    side: DeclaredSide, arrow: Arrow, value: Leaf, target: Leaf, findings: Findings
) -> tuple[tuple[Leaf, Leaf], ...]:
    """For each leaf of the source that is had from the target leaf, that, and the value that it takes: as the arrow
    says, or by an inverse that is known.
    """
    assert isinstance(arrow.source, ComputedValue)
    leaves = [found for written in arrow.source.leaves if (found := _leaf_path(side, written, Findings("", None)))]
    if len(arrow.inverses) > len(leaves):
        message = f"{arrow.source} has {len(leaves)} leaves, and {len(arrow.inverses)} inverses"
        findings.add("HX4041", message, arrow.inverses[-1], "write one for each leaf, in their order, or fewer")
        return ()
    known = _known_inverse(value)
    if not arrow.inverses and known is not None and len(leaves) == 1:
        return ((leaf_at(side.tree, leaves[0]), _of_target(known, target)),)
    return tuple(_inverted(side, arrow, leaves, target, findings))


def _known_inverse(value: Leaf) -> ValueExpression | None:
    expression = value_expression(value.path)
    leaves = () if expression is None else leaf_paths(expression)
    return inverse(expression, leaves[0]) if expression is not None and len(leaves) == 1 else None


def _of_target(expression: ValueExpression, target: Leaf) -> Leaf:
    """An expression over the target leaf, which is ``.`` in it."""
    found = substituted(expression, lambda _: LeafValue(target.path))
    return Leaf(target.stop, target.path if found == LeafValue(target.path) else (computed_step(found),))


def _inverted(
    side: DeclaredSide, arrow: Arrow, leaves: list[Path], target: Leaf, findings: Findings
) -> Iterator[tuple[Leaf, Leaf]]:
    for path, given in zip(leaves, arrow.inverses, strict=False):
        if given.leaves:
            message = f"the inverse {given} speaks of {given.leaves[0]}"
            findings.add("HX4041", message, given, "the target leaf is . there, and there is no other")
        else:
            yield leaf_at(side.tree, path), _of_target(given.expression, target)
