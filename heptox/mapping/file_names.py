"""The names in a mapping's file, which prefixes write, as expanded names: here alone, when the file is loaded.

Each side has the prefixes of its schema, and those that lines ``namespace p = "..."`` declare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from heptox.grammar import (
    Arrow,
    BoxDeclaration,
    ComputedValue,
    Entity,
    Label,
    Name,
    NamespaceDeclaration,
    Node,
    RuleText,
    SchemaDeclaration,
    SchemaPath,
    Side,
    Statement,
)
from heptox.mapping.findings import Findings
from heptox.pattern import TAG, Leaf, StringJoin, ValueExpression, substituted
from heptox.schema import TEXT, SchemaGraph, selection_step, split_selection
from heptox.xml import NO_PREFIXES, Prefixes, UnboundPrefixError

_NO_NAMES: Final = (TEXT, TAG, ".")
_MOST_LISTED: Final = 12
_Node = TypeVar("_Node", bound=Node)
_Statement = TypeVar("_Statement", bound=Statement)


@dataclass(frozen=True)
class SidePrefixes(Prefixes):
    """The prefixes of one side of a mapping: those of its schema, and those ``declared`` in its file."""

    declared: tuple[tuple[str, str], ...] = ()


def side_prefixes(side: Side, declared: Iterable[NamespaceDeclaration], own: Prefixes) -> Prefixes:
    """The prefixes of one side, whose schema has its ``own``: those are written, where none ``declared`` is the same.

    What is declared for one side alone counts before what is declared for both.
    """
    lines = [line for line in declared if line.side in (None, side)]
    bound = {line.prefix: line.namespace for line in sorted(lines, key=lambda line: line.side is not None)}
    kept = tuple((prefix, namespace) for prefix, namespace in own.bound if prefix not in bound)
    return SidePrefixes((*kept, *bound.items()), tuple(bound.items())) if bound else own


class FileNames:
    """Makes expanded names of those in a file, by the prefixes of the ``schemas`` of its sides, as far as there are
    some; prefixes that nothing binds go to ``findings`` (HX3066).
    """

    def __init__(self, schemas: Mapping[Side, SchemaGraph | None], findings: Findings) -> None:
        self._schemas = schemas
        self._findings = findings
        self._known: dict[Side, frozenset[str]] = {}

    def statement(self, statement: _Statement) -> _Statement | None:
        """A statement with expanded names; ``None`` where it has a prefix that is not bound."""
        return self._tried(self._statement, statement)

    def rules(self, rules: Sequence[RuleText], source: Side, target: Side) -> list[RuleText]:
        """Rules, of bodies over the side ``source`` and heads over ``target``, in the same way."""

        def expanded(rule: RuleText) -> RuleText:
            head = self._expanded(rule.head, target, source)
            body, conditions = (self._expanded(part, source) for part in (rule.body, rule.conditions))
            return replace(rule, head=head, body=body, conditions=conditions)

        return [found for rule in rules if (found := self._tried(expanded, rule))]

    def _tried(self, expanded: Callable[[_Node], _Node], node: _Node) -> _Node | None:
        try:
            return expanded(node)
        except _UnboundError as error:
            bound = list(self._prefixes(error.side).namespaces)
            names = ", ".join([one for one in bound if one][:_MOST_LISTED])
            message = f"the prefix {error.prefix} is not bound for names of the {error.side}"
            hint = f'bound are {names}; declare it: {error.side} namespace {error.prefix} = "..."'
            at = self._findings.word(error.at, f"{error.prefix}:")
            self._findings.add("HX3066", message, at, hint)
            return None

    def _statement(self, statement: Statement) -> Any:
        match statement:
            case Arrow() | Entity():
                source = self._expanded(statement.source, "source")
                target = self._expanded(statement.target, "target")
                found = replace(statement, source=source, target=target)
                if isinstance(statement, Entity) or not statement.inverses:
                    return found
                return replace(found, inverses=self._expanded(statement.inverses, "target"))
            case SchemaDeclaration() | NamespaceDeclaration():
                return statement
            case BoxDeclaration():
                parent, members = (
                    self._expanded(part, statement.side) for part in (statement.parent, statement.members)
                )
                return replace(statement, parent=parent, members=members)
            case _:
                return self._expanded(statement, statement.side)

    def _prefixes(self, side: Side) -> Prefixes:
        schema = self._schemas[side]
        return NO_PREFIXES if schema is None else schema.prefixes

    def _expanded(self, value: Any, side: Side, values: Side | None = None) -> Any:
        """What stands in a file with expanded names of a side; values that are computed may be of another side."""
        if self._schemas[side] is None:
            return value  # which is a fault of its own
        match value:
            case tuple():
                return tuple(self._expanded(part, side, values) for part in value)
            case SchemaPath():
                steps = tuple(self._step(step, side, value) for step in value.steps)
                return value if steps == value.steps else replace(value, steps=steps, text=str(value))
            case ComputedValue():
                leaves = tuple(self._expanded(leaf, values or side) for leaf in value.leaves)
                paths = {old.steps: new.steps for old, new in zip(value.leaves, leaves, strict=True)}

                def image(leaf: Leaf | StringJoin) -> ValueExpression:
                    return replace(leaf, path=paths.get(leaf.path, leaf.path))

                return ComputedValue(substituted(value.expression, image), leaves, str(value), position=value.position)
            case Name():
                return replace(value, text=self._step(value.text, side, value), written=str(value))
            case Label():
                tag = self._expanded(value.tag, side, values)
                return replace(
                    value, name=self._step(value.name, side, value), tag=tag, text=str(replace(value, tag=None))
                )
            case Node():
                fields = cast("tuple[str, ...]", type(value).__match_args__)
                return replace(value, **{one: self._expanded(getattr(value, one), side, values) for one in fields})
            case _:
                return value

    def _step(self, step: str, side: Side, at: Node) -> str:
        if step in _NO_NAMES or step.startswith(("[", "$")):
            return step
        name, tests = split_selection(step)
        if tests:
            expanded = (replace(test, path=tuple(self._step(one, side, at) for one in test.path)) for test in tests)
            return selection_step(self._step(name, side, at), tuple(expanded))
        is_attribute = step.startswith("@")
        name = step.removeprefix("@")
        try:
            found = self._prefixes(side).expanded(name, attribute=is_attribute)
        except UnboundPrefixError as error:
            if name not in self._declared(side):
                raise _UnboundError(str(error), side, at) from None
            found = name
        return f"@{found}" if is_attribute else found

    def _declared(self, side: Side) -> frozenset[str]:
        """The names of a schema, in which, of one without namespaces, a colon may stand."""
        schema = self._schemas[side]
        if side not in self._known and schema is not None:
            types = schema.elements.values()
            attributes = (attribute.name for element in types for attribute in element.attributes)
            self._known[side] = frozenset((*(element.name for element in types), *attributes))
        return self._known[side]


class _UnboundError(Exception):
    """A prefix that is not bound for a side, and where it stands."""

    def __init__(self, prefix: str, side: Side, at: Node) -> None:
        super().__init__(prefix)
        self.prefix, self.side, self.at = prefix, side, at
