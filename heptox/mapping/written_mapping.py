"""A mapping in whose paths names are written with prefixes, as a store has them, and as texts of images have them.

Where that is another mapping, :class:`WrittenMapping` leads back to the names of the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from heptox.mapping.model import Argument, Condition, HeadNode, Mapping, OptionalPart, Rule, Surrogate
from heptox.pattern import (
    Absence,
    Comparison,
    NoNode,
    Presence,
    Term,
    Variable,
    computed_step,
    substituted,
    value_expression,
)
from heptox.schema import (
    ANYWHERE,
    Box,
    Path,
    SchemaTree,
    SelectionTest,
    plain,
    renamed,
    selection_step,
    split_selection,
)

Write = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Names:
    """How the names of elements and those of attributes are written."""

    element: Write
    attribute: Write

    def step(self, step: str) -> str:
        """A step of a path."""
        if step.startswith("[") or step.endswith("()"):
            return step
        expression = value_expression((step,))
        if expression is not None:
            return computed_step(substituted(expression, lambda leaf: replace(leaf, path=self.path(leaf.path))))
        name, tests = split_selection(step)
        if tests:
            return selection_step(self.step(name), tuple(map(self.test, tests)))
        if step.startswith("@"):
            return f"@{self.attribute(step[1:])}"
        if step.startswith(ANYWHERE):
            return ANYWHERE + self.element(step.removeprefix(ANYWHERE))
        return self.element(step)

    def test(self, test: SelectionTest) -> SelectionTest:
        """A condition of a selection."""
        return replace(test, path=self.path(test.path))

    def path(self, path: Path) -> Path:
        """The steps of a path."""
        return tuple(map(self.step, path))


class WrittenTree(SchemaTree):
    """A schema tree with written names, which reads and makes tags in boxes as the first one does."""

    def __init__(self, tree: SchemaTree, names: Names) -> None:
        self.first, self.names = tree, names
        boxes = tuple(
            Box(box.name, names.path(box.parent), tuple(map(names.element, box.members))) for box in tree.boxes
        )
        entered = None if tree.entered is None else frozenset(map(names.path, tree.entered))
        super().__init__(
            renamed(tree.graph, names.element, names.attribute), boxes, frozenset(map(names.path, tree.whole)), entered
        )
        self._first_boxes = {written.path: box for written, box in zip(boxes, tree.boxes, strict=True)}

    def tag_of_value(self, box: Path, value: str) -> str:
        """As of the first tree, the tag written."""
        return self.names.element(self.first.tag_of_value(self._first_boxes[plain(box)].path, value))

    @cached_property
    def values_of_members(self) -> dict[str, str]:
        """The values behind the members of boxes."""
        return {
            self.names.element(member): value
            for box in self.first.boxes
            for member, value in zip(box.members, box.values, strict=True)
        }


@dataclass(slots=True)
class WrittenMapping:
    """The rules of a mapping that make target documents, with written names, and what they were before."""

    mapping: Mapping
    source: Names
    target: Names
    rules: list[Rule] = field(default_factory=list)
    first_paths: dict[Path, Path] = field(default_factory=dict)
    """The absolute paths of the nodes and leaves of heads, by how they are written."""
    first_surrogates: dict[Surrogate, Surrogate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rules += map(self._rule, self.mapping.rules)

    def _rule(self, rule: Rule) -> Rule:
        return Rule(
            tuple(map(self._head, rule.head)),
            tuple(Variable(each.name, self.source.path(each.node), each.parent) for each in rule.variables),
            tuple(map(self._condition, rule.conditions)),
            tuple(
                OptionalPart(
                    part.variables,
                    tuple(map(self._comparison, part.conditions)),
                    tuple((name, self.source.test(test)) for name, test in part.tests),
                )
                for part in rule.optional
            ),
        )

    def _head(self, head: HeadNode) -> HeadNode:
        path = self.target.path
        for leaf in ((), *head.paths):
            self.first_paths[path((*head.node, *leaf))] = (*head.node, *leaf)
        return HeadNode(
            path(head.node),
            tuple((path(leaf), self._term(term)) for leaf, term in head.leaves),
            frozenset(map(path, head.copied)),
            head.each,
            None if head.key is None else path(head.key),
            tuple((path(leaf), self._surrogate(surrogate)) for leaf, surrogate in head.surrogates),
            None if head.selected is None else path(head.selected),
        )

    def _surrogate(self, surrogate: Surrogate) -> Surrogate:
        path = self.target.path
        arguments = tuple(
            Argument(path(each.stop), path(each.path), self._term(each.term)) for each in surrogate.arguments
        )
        written = Surrogate(path(surrogate.node), arguments)
        self.first_surrogates[written] = surrogate
        return written

    def _term(self, term: Term) -> Term:
        return Term(term.variable, self.source.path(term.path))

    def _condition(self, condition: Condition) -> Condition:
        match condition:
            case Comparison():
                return self._comparison(condition)
            case Presence(term) | Absence(term):
                return replace(condition, term=self._term(term))
            case NoNode(variable, node, tests):
                written = tuple(
                    (self.source.path(path), self._term(right) if isinstance(right, Term) else right)
                    for path, right in tests
                )
                return NoNode(variable, self.source.path(node), written)

    def _comparison(self, condition: Comparison) -> Comparison:
        right = condition.right
        return Comparison(
            condition.operator, self._term(condition.left), self._term(right) if isinstance(right, Term) else right
        )
