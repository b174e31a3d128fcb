"""What is known of one rule while it is read from its text: its variables, and whether anything is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from heptox.grammar import Label, Node, SchemaPath
from heptox.mapping.declarations import DeclaredSide, resolve
from heptox.mapping.findings import Findings
from heptox.mapping.paths import path_steps, path_text
from heptox.pattern import NODE, TAG, Term, Variable
from heptox.schema import TEXT, Path


@dataclass(slots=True)
class RuleScope:
    """The variables of a rule, of a body over ``source`` and a head over ``target``. A method that gives ``None`` has
    reported what is wrong.
    """

    source: DeclaredSide
    target: DeclaredSide
    findings: Findings
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
            bound = ", ".join(sorted(name for name, term in self.terms.items() if term.path != (NODE,)))
            self.report("HX4030", f"{name} is not bound in the body", at, f"variables of the body: {bound}")
        return term

    def value(self, name: str, at: Node) -> Term | None:
        """The term of a variable that stands for a value."""
        term = self.term(name, at)
        if term is None:
            return None
        path = self.source_path(term)
        if term.path[-1:] not in ((TAG,), (NODE,)) and not self.source.tree.is_leaf(path):
            hint = "name the variable of a leaf, or of the tag in a box; => copies a whole subtree"
            self.report("HX4009", f"{name} stands for the inner node {self.source_text(path)}", at, hint)
            return None
        return term

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
