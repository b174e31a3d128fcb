"""The paths of a printed query: from the nearest variable with a ``for`` clause, or from a document, to a term.

From the root, ``//`` is used wherever it reaches the same schema paths, open boxes included (``semantics.md``
section 8, step 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from heptox.errors import SchemaError
from heptox.grammar import query as syntax
from heptox.grammar.matching import step_matches
from heptox.pattern import Constraints, Variable
from heptox.schema import ANYWHERE, TEXT, WILDCARD, Match, Path, SelectionTest, axis_matches, split_selection


@dataclass
class TermPaths:
    """The paths in one member, whose variables are ``variables``, whose roots start at ``start`` and whose nodes in
    boxes have the values ``tags``; ``bound`` holds the names of the variables that have a clause by now.
    """

    constraints: Constraints
    variables: dict[str, Variable]
    start: str
    tags: dict[str, str] = field(default_factory=dict)
    bound: dict[str, str] = field(default_factory=dict)

    def tag(self, variable: Variable) -> str | None:
        """The tag of a box node, as it is written, where the member says it."""
        value = self.tags.get(variable.name)
        return None if value is None else self.constraints.tree.tag_of_value(variable.node, value)

    def _steps(self, variable: Variable) -> list[syntax.Step]:
        """The child steps from the parent variable's node to the variable's own."""
        if variable.parent is None:
            return [_child(self.constraints.tree.root)]
        return self.steps_below(self.variables[variable.parent].node, variable.node, self.tag(variable))

    def steps_below(self, above: Path, node: Path, tag: str | None, *, negated: bool = False) -> list[syntax.Step]:
        """The child steps from one node to another, which has the tag if there is one.

        Where a negation passes a box it names none of its members: a reader whose boxes are open takes each for itself.
        """
        lengths = range(len(above) + 1, len(node))
        between = [self._node_step(node[:length], None, named=not negated) for length in lengths]
        return [*between, self._node_step(node, tag)] if len(node) > len(above) else []

    def _node_step(self, path: Path, tag: str | None, *, named: bool = True) -> syntax.Step:
        if path[-1] == TEXT:
            return _child(TEXT)
        if path[-1].startswith(ANYWHERE):
            return step_of(path[-1])
        box = self.constraints.tree.box(path)
        if box is None:
            return _child(path[-1])
        if tag is not None:
            return _child(tag)
        if set(axis_matches(self.constraints.tree, path[:-1], "child", WILDCARD)) == {Match(path)}:
            return _child(WILDCARD)
        if named and self.constraints.valid:
            return syntax.Step("child", box.members)
        children = (
            child for child in self.constraints.tree.children(path[:-1]) if self.constraints.tree.is_element(child)
        )
        return syntax.Step("child", (WILDCARD,), excluded=tuple(child[-1] for child in children if child != path))

    def steps_to_leaf(self, node: Path, path: Path) -> list[syntax.Step]:
        """The steps from a node to the one that has the value at a path below it, which may lead through boxes."""
        ways = ((*node, *path[:length]) for length in range(1, len(path) + 1))
        is_box = self.constraints.tree.box
        return [
            step_of(part) if is_box(way) is None else self._node_step(way, None)
            for part, way in zip(path, ways, strict=True)
            if part != TEXT
        ]

    def path(self, name: str, path: tuple[str, ...] = (), context: str | None = None) -> syntax.PathExpression:
        """The path to a term from the nearest bound variable, or from a document; relative if that variable is
        ``context``.
        """
        steps = self.steps_to_leaf(self.variables[name].node, path)
        return self.path_by(name, steps, len(steps), context)

    def path_by(self, name: str, below: list[syntax.Step], kept: int, context: str | None) -> syntax.PathExpression:
        """The path to a variable's node and on by some steps, of which the last ``kept`` are not all of it."""
        steps = below
        variable = self.variables[name]
        while variable.name not in self.bound and variable.parent is not None:
            steps = self._steps(variable) + steps
            variable = self.variables[variable.parent]
        if variable.name in self.bound:
            return syntax.PathExpression("." if variable.name == context else self.bound[variable.name], tuple(steps))
        return syntax.PathExpression(self.start, self._abbreviated([_child(self.constraints.tree.root), *steps], kept))

    def _abbreviated(self, steps: list[syntax.Step], kept: int) -> tuple[syntax.Step, ...]:
        """The steps from the root, or the shortest end of them that ``//`` before it leads to the same schema paths.

        The end holds more than the last ``kept`` steps, so that a path still names the node whose leaf it asks for.
        """
        try:
            wanted = self._reached(steps)
            for start in range(len(steps) - 1 - kept, 0, -1):
                if any(step.predicates for step in steps[:start]):
                    continue
                shorter = [_descendant(steps[start]), *steps[start + 1 :]]
                if steps[start].names != (WILDCARD,) and self._reached(shorter) == wanted:
                    return tuple(shorter)
        except SchemaError:
            pass  # a recursive schema: the full path it is
        return tuple(steps)

    def _reached(self, steps: list[syntax.Step]) -> set[tuple[Path, frozenset[Match]]]:
        """The schema paths that steps from the document lead to, with the boxes whose tags they name on the way."""
        reached = {(match.path, _tagged(match)) for match in step_matches(self.constraints.tree, steps[0], None)}
        for step in steps[1:]:
            reached = {
                (match.path, tags | _tagged(match))
                for path, tags in reached
                for match in step_matches(self.constraints.tree, step, path)
            }
        return reached

    def anchor(self, name: str) -> str:
        """The nearest variable at or above another that has a clause, or its root."""
        variable = self.variables[name]
        while variable.name not in self.bound and variable.parent is not None:
            variable = self.variables[variable.parent]
        return variable.name


def _tagged(match: Match) -> frozenset[Match]:
    return frozenset() if match.tag is None else frozenset((match,))


def _child(step: str) -> syntax.Step:
    name, tests = split_selection(step)
    return syntax.Step("child", (name,), predicates=tuple(_predicate(test) for test in tests))


def _predicate(test: SelectionTest) -> syntax.Condition:
    """A condition of a selection on the context node."""
    leaf = syntax.PathExpression(".", tuple(steps_of(test.path)))
    if test.test == "exists":
        return syntax.Exists(leaf, spelled_out=False)
    if test.test == "not":
        return syntax.Empty(leaf)
    compared = tuple(syntax.Comparison(test.test, leaf, syntax.StringLiteral(value)) for value in test.values)
    return compared[0] if len(compared) == 1 else syntax.Or(compared)


def steps_of(path: Path) -> list[syntax.Step]:
    """The steps to the node that has the value at a path: an element has that of its text."""
    return [step_of(part) for part in path if part != TEXT]


def step_of(part: str) -> syntax.Step:
    """The step for one part of a path."""
    if part.startswith(ANYWHERE):
        return syntax.Step("descendant", (part.removeprefix(ANYWHERE),))
    return syntax.Step("attribute", (part[1:],)) if part.startswith("@") else _child(part)


def _descendant(step: syntax.Step) -> syntax.Step:
    axis = "descendant-attribute" if step.axis == "attribute" else "descendant"
    return replace(step, axis=axis)  # type: ignore[arg-type]
