"""Where the paths of a query lead, by the graph of a schema alone: to types of elements, without their places.

A schema of a few hundred types may have more places than can be listed. That every step stands for something is
nevertheless soon known, unless conditions choose among the types in which variables stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from heptox.grammar import query as syntax
from heptox.schema import TEXT, WILDCARD, SchemaTree

_DOCUMENT: Final = "/"
_LEAF: Final = "@"
"""Instead of the key of an element type, which neither can be: the document, and a text or an attribute."""
_DOCUMENTS: Final = frozenset((_DOCUMENT,))

_Types: TypeAlias = frozenset[str]


class _UndecidedError(Exception):
    """What the types alone do not decide."""


def all_steps_stand(expression: syntax.Expression, tree: SchemaTree) -> bool:
    """Whether each step of a query certainly stands for something in a schema; it may also where this is false.

    >>> from heptox.grammar import parse_query
    >>> from heptox.schema import parse_dtd
    >>> tree = SchemaTree(parse_dtd("<!ELEMENT a (a | b)*> <!ELEMENT b (#PCDATA)>"))
    >>> all_steps_stand(parse_query("//a/b"), tree), all_steps_stand(parse_query("//b/a"), tree)
    (True, False)
    """
    if tree.boxes or tree.whole or tree.entered is not None:
        return False
    paths = _TypedPaths(tree)
    try:
        paths.expression(expression, {})
    except _UndecidedError:
        return False
    return paths.missed <= paths.matched


class _TypedPaths:
    """The paths of one query, and which of its steps stood for something."""

    def __init__(self, tree: SchemaTree) -> None:
        self._types = tree.types
        self._elements = tree.graph.elements
        self._root = tree.graph.root
        self.matched: set[int] = set()
        self.missed: set[int] = set()

    def expression(self, expression: object, variables: dict[str, _Types]) -> None:
        match expression:
            case syntax.Flwor(clauses, where, result):
                bound = dict(variables)
                for clause in clauses:
                    bound[clause.variable] = self._everywhere(clause.source, bound, _DOCUMENTS)
                if where is not None and not self._holds(where, bound, _DOCUMENTS):
                    raise _UndecidedError
                self.expression(result, bound)
            case syntax.PathExpression():
                self._path(expression, variables, _DOCUMENTS)
            case syntax.Node():
                names: tuple[str, ...] = type(expression).__match_args__
                for name in names:
                    self.expression(getattr(expression, name), variables)
            case tuple():
                for part in expression:
                    self.expression(part, variables)

    def _path(self, path: syntax.PathExpression, variables: dict[str, _Types], context: _Types) -> _Types:
        """The types at the end of a path."""
        found = self._start(path, variables, context)
        for step in path.steps:
            found = self._step(step, variables, found)
        return found

    def _start(self, path: syntax.PathExpression, variables: dict[str, _Types], context: _Types) -> _Types:
        if path.start == ".":
            return context
        if path.start.startswith("$"):
            if path.start not in variables:
                raise _UndecidedError
            return variables[path.start]
        return _DOCUMENTS

    def _everywhere(self, path: syntax.PathExpression, variables: dict[str, _Types], context: _Types) -> _Types:
        """As :meth:`_path`; undecided where it leads nowhere from some types of its variable, which then are not all
        those in which the variable stands."""
        ends: set[str] = set()
        for start in self._start(path, variables, context):
            found = self._path(path, {**variables, path.start: frozenset((start,))}, frozenset((start,)))
            if not found:
                raise _UndecidedError
            ends |= found
        return frozenset(ends)

    def _step(self, step: syntax.Step, variables: dict[str, _Types], context: _Types) -> _Types:
        found = {end for start in context for end in self._ends(step, start)}
        (self.matched if found else self.missed).add(id(step))
        for predicate in step.predicates:
            found = {end for end in found if self._holds(predicate, variables, frozenset((end,)))}
        return frozenset(found)

    def _ends(self, step: syntax.Step, start: str) -> Iterator[str]:
        if start == _LEAF:
            return
        deep = step.axis.startswith("descendant")
        key = self._root if start == _DOCUMENT else start
        around = (key, *self._types.below(key)) if deep else (key,)
        if "attribute" in step.axis:
            if deep or start != _DOCUMENT:
                for one in around:
                    names = {attribute.name for attribute in self._elements[one].attributes}
                    if names and (WILDCARD in step.names or not names.isdisjoint(step.names)):
                        yield _LEAF
            return
        if TEXT in step.names and (deep or start != _DOCUMENT) and any(self._elements[one].text for one in around):
            yield _LEAF
        children = {child.key for child in self._elements[key].children}
        elements = self._types.below(key) if deep else children if start != _DOCUMENT else ()
        for one in (*elements, key) if start == _DOCUMENT else elements:
            name = self._elements[one].name
            if (WILDCARD in step.names or name in step.names) and name not in step.excluded:
                yield one

    def _holds(self, condition: syntax.Condition, variables: dict[str, _Types], context: _Types) -> bool:
        """Whether a condition may hold where the context node is of one type, and variables of any of theirs."""
        match condition:
            case syntax.And(conditions):
                return all(self._holds(part, variables, context) for part in conditions)
            case syntax.Or(conditions):
                # Each is asked, since the steps of all count.
                return True in [self._holds(part, variables, context) for part in conditions]
            case syntax.Exists(argument):
                return self._leads(argument, variables, context)
            case syntax.Comparison(_, left, right):
                literals = (syntax.StringLiteral, syntax.NumberLiteral)
                if isinstance(left, literals) and isinstance(right, literals):
                    raise _UndecidedError
                return all(self._leads(side, variables, context) for side in (left, right))
            case _:
                raise _UndecidedError

    def _leads(self, operand: syntax.Operand, variables: dict[str, _Types], context: _Types) -> bool:
        match operand:
            case syntax.StringLiteral() | syntax.NumberLiteral():
                return True
            case syntax.Data(argument) | syntax.NumberValue(argument):
                return self._leads(argument, variables, context)
            case syntax.PathExpression(start):
                if start == ".":
                    return bool(self._path(operand, variables, context))
                return bool(self._everywhere(operand, variables, context))
            case _:
                raise _UndecidedError
