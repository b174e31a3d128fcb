"""What is known of one rule while it is read from its text: its variables, and whether anything is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from heptox.grammar import ComputedValue, Label, Node, RuleValue, SchemaPath
from heptox.mapping.code_tables import ReadTable
from heptox.mapping.computed_leaves import CodeTables
from heptox.mapping.declarations import DeclaredSide, resolve
from heptox.mapping.findings import Findings
from heptox.mapping.paths import path_steps, path_text
from heptox.mapping.selected_paths import value_path
from heptox.pattern import (
    NODE,
    TAG,
    Call,
    Leaf,
    StringJoin,
    Term,
    ValueExpression,
    Variable,
    computed_step,
    parts,
    substituted,
)
from heptox.schema import TEXT, Path, is_selection, plain


@dataclass(slots=True)
class RuleScope:
    """The variables of a rule, of a body over ``source`` and a head over ``target``. A method that gives ``None`` has
    reported what is wrong.
    """

    source: DeclaredSide
    target: DeclaredSide
    findings: Findings
    tables: ReadTable
    variables: list[Variable] = field(default_factory=list)
    terms: dict[str, Term] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Variables of nodes that the schema does not have, which is reported once."""
    sound: bool = True

    def is_sound(self) -> bool:
        """Whether nothing wrong was found by now."""
        return self.sound

    def report(self, code: str, message: str, at: Node, hint: str | None = None) -> None:
        """Report a fault of the rule."""
        self.sound = False
        self.findings.add(code, message, at, hint)

    def source_text(self, path: Path) -> str:
        """A path of the body's schema as it is written."""
        return path_text(self.source.tree, path)

    def target_text(self, path: Path) -> str:
        """A path of the head's schema as it is written."""
        return path_text(self.target.tree, path)

    def is_root(self, side: DeclaredSide, label: Label) -> bool:
        """Whether a label names the root of a schema."""
        if label.name == side.tree.root:
            return True
        message = f"{label} is not the root of the {side.name} schema"
        self.report("HX4001", message, label, f"did you mean {side.tree.written((side.tree.root,))}?")
        return False

    def node(self, side: DeclaredSide, parent: Path, label: Label) -> Path | None:
        """The schema node that a label below ``parent`` stands for."""
        below = (*parent, label.name)
        steps = (label.name,) if label.name.startswith("[") else path_steps(below)
        written = side.tree.written(steps) if label.text else ""
        path = resolve(side, SchemaPath(steps, written, position=label.position), self.findings)
        if path is None:
            self.sound = False
        elif is_selection(label.name) and plain(path) == plain(below):
            if path[:-1] == parent:
                return path
            message = f"{path_text(side.tree, plain(path))} stands once: its conditions select the node above it"
            self.report("HX4038", message, label, f"write them there: {path_text(side.tree, path[:-1])}")
            return None
        elif path == plain(below) and any(step.startswith("[") for step in below):
            return below  # a box stands for what is above it, selections too
        elif path != below and label.name != TEXT:
            self.report("HX4001", f"{label} does not stand below {path_text(side.tree, parent)}", label,
                       f"it stands below {path_text(side.tree, path[:-1])}")  # fmt: skip
            return None
        return path

    def bind(self, name: str, term: Term, at: Node) -> None:
        """Let a variable stand for a term."""
        if name in self.terms:
            self.report(
                "HX4031", f"{name} stands for two nodes", at, f"use another name, and add the equality with {name}"
            )
        else:
            self.terms[name] = term

    def term(self, name: str, at: Node) -> Term | None:
        """The term of a variable."""
        term = self.terms.get(name)
        if term is None and name not in self.unknown:
            bound = ", ".join(sorted(name for name in self.terms if name.startswith("$")))
            self.report("HX4030", f"{name} is not bound in the body", at, f"variables of the body: {bound}")
        return term

    def value(self, name: RuleValue, at: Node) -> Term | None:
        """The term of a variable that stands for a value, of a string or of a function."""
        if isinstance(name, ComputedValue):
            return self._computed(name)
        term = self.term(name, at)
        if term is None:
            return None
        path = self.source_path(term)
        if term.path[-1:] not in ((TAG,), (NODE,)) and not self.source.tree.is_leaf(path):
            hint = "name the variable of a leaf, or of the tag in a box; => copies a whole subtree"
            self.report("HX4009", f"{name} stands for the inner node {self.source_text(path)}", at, hint)
            return None
        return term

    def _computed(self, value: ComputedValue) -> Term | None:
        """A string, or a function of leaves of one variable, as its computed leaf; a string is the root's."""
        filled = self._filled(value)
        places = {leaf.steps: leaf for leaf in value.leaves}
        leaves: dict[Leaf | StringJoin, Term] = {}
        for part in () if filled is None else parts(filled.expression):
            if isinstance(part, Leaf | StringJoin):
                is_whole = Call("string", (part,)) in parts(filled.expression) if filled else False
                leaf = self._argument(part, places.get(part.path, value), is_whole=is_whole)
                if leaf is None:
                    return None
                leaves[part] = leaf
        names = list(dict.fromkeys(leaf.variable for leaf in leaves.values()))
        if filled is None:
            return None
        if len(names) > 1:
            nodes = ", ".join(f"${name}" for name in names)
            hint = "a function speaks of leaves that one node has once; string-join gathers those that repeat"
            self.report("HX4039", f"{value} speaks of leaves of several nodes: {nodes}", value, hint)
            return None

        def image(part: Leaf | StringJoin) -> ValueExpression:
            path = leaves[part].path
            return Leaf(path) if isinstance(part, Leaf) else StringJoin(path, part.separator)

        term = Term((*names, self.variables[0].name)[0], (computed_step(substituted(filled.expression, image)),))
        self.terms[str(value)] = term
        return term

    def computed_below(self, node: Path, value: ComputedValue) -> Path | None:
        """A function of leaves that stand once below a node, or are gathered there, as its computed leaf."""
        filled = self._filled(value)
        leaves: dict[Path, Path] = {}
        for written in value.leaves:
            leaf = self._leaf(self.walk(node, written), written)
            if leaf is None:
                return None
            leaves[written.steps] = leaf[len(node) :]
        for part in () if filled is None else parts(filled.expression):
            path = leaves.get(part.path, ()) if isinstance(part, Leaf) else ()
            if self.source.tree.stop((*node, *path)) != node:
                message = f"{self.source_text((*node, *path))} repeats below {self.source_text(node)}"
                self.report("HX4039", message, value, "string-join gathers what repeats")
                return None

        def image(part: Leaf | StringJoin) -> ValueExpression:
            path = leaves.get(part.path, ())
            return Leaf(path) if isinstance(part, Leaf) else StringJoin(path, part.separator)

        return None if filled is None else (computed_step(substituted(filled.expression, image)),)

    def _filled(self, value: ComputedValue) -> ComputedValue | None:
        """A value with its tables."""
        filled = CodeTables(self.tables, self.findings).filled(value)
        self.sound = self.sound and filled is not None
        return filled

    def _argument(self, part: Leaf | StringJoin, at: Node, *, is_whole: bool) -> Term | None:
        """What stands for a leaf in a function: a variable, or for string-join a path that begins with one; one of an
        element whose text is taken whole.
        """
        name, *below = part.path
        if isinstance(part, Leaf) and below:
            message = f"{'/'.join(part.path)} is no variable, and only string-join takes a path"
            self.report("HX4039", message, at, "bind the leaf in the body, and write its variable")
            return None
        term = self.value(name, at) if isinstance(part, Leaf) and not is_whole else self.term(name, at)
        if term is None or isinstance(part, Leaf):
            return term
        leaf = self._leaf(self.walk(self.source_path(term), SchemaPath(tuple(below), position=at.position)), at)
        above = self.source_path(Term(term.variable))
        return None if leaf is None else Term(term.variable, leaf[len(above) :])

    def _leaf(self, path: Path | None, at: Node) -> Path | None:
        leaf = None if path is None else value_path(self.source.tree, path)
        if leaf is None and path is not None:
            self.report("HX4009", f"{self.source_text(path)} is no leaf", at, "a function speaks of leaves")
        return leaf

    def source_path(self, term: Term) -> Path:
        """The schema node of a term of the body."""
        return next(variable.node for variable in self.variables if variable.name == term.variable) + term.path

    def walk(self, path: Path, steps: SchemaPath) -> Path | None:
        """The schema node that some steps below another lead to."""
        for step in steps.steps:
            below = self.node(self.source, path, Label(step, position=steps.position))
            if below is None:
                return None
            path = below
        return path

    def source_node(self, name: str, at: Node) -> str | None:
        """The variable of the source node that a node of a head stands for."""
        term = self.term(name, at)
        if term is not None and term.path:
            message = f"{name} stands for {self.source_text(self.source_path(term))}, which is no node that repeats"
            self.report("HX4033", message, at, f"write each ${term.variable}, or the values that identify the node")
            return None
        return term.variable if term else None
