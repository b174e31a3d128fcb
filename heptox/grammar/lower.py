"""From syntax to patterns: every path resolved over a schema tree, every choice a member of a union.

The answer of a query is a set (``semantics.md`` section 6), so a condition that asks whether something exists becomes a
variable or a presence atom, and ``or`` becomes several members. ``order by`` says nothing about a set and is passed
over.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from heptox.checks import Check, no_check
from heptox.errors import Fault, Position
from heptox.grammar import query as syntax
from heptox.grammar.branches import CONTEXT, Branch, few, known_tag, nodes_of
from heptox.grammar.conditions import ConditionLowering, existing
from heptox.grammar.constructors import IDENTITY_ALONE, IDENTITY_HINT, ConstructorLowering
from heptox.grammar.function_kinds import type_of
from heptox.grammar.function_terms import require_atomic
from heptox.grammar.locations import Location, refuse, require_node, require_value, tag_of, value_of
from heptox.pattern import (
    TAG,
    Absence,
    Comparison,
    LeafItem,
    Member,
    Presence,
    Query,
    Template,
    Term,
    Text,
    Type,
    Variable,
    atom_variables,
    nested_items,
    template_terms,
)
from heptox.schema import Path, SchemaTree


@dataclass(frozen=True, slots=True)
class Lowering:
    """What a query means over a schema: the pattern, a fault for each step that no schema path can stand for, one for
    each that may stand for something in ``open`` content, of which the pattern says nothing, and what is ``unmade`` in
    elements that are returned whole.
    """

    query: Query
    unmatched: tuple[Fault, ...] = ()
    open: tuple[Fault, ...] = ()
    unmade: tuple[Path, ...] = ()

    @property
    def gathers(self) -> bool:
        """Whether items gather what repeats, or may be there or not, below one match of the query."""
        members = self.query.members
        return bool(self.unmade) or any(True for each in members for _ in nested_items(each.template))


def lower(
    expression: syntax.Expression,
    tree: SchemaTree,
    *,
    valid: bool = False,
    check: Check = no_check,
    made: Container[Path] | None = None,
) -> Lowering:
    """The pattern of a query over a schema tree (``semantics.md`` section 7, and section 8, step 1).

    In ``valid`` documents a box has no tags but its members', so a step that names them all asks for none. ``check`` is
    called again and again. Where it is known what the documents hold, elements that are returned whole have only what
    is ``made``; where that is nothing, no element is spelled out.

    Raises :class:`GrammarError` (HX3041 to HX3047) for what the fragment does not hold: negation on a repeating path,
    inner elements returned or compared, repeating slots; HX3004 for variables that are not bound; HX3050 for a query
    that stands for more than :data:`MOST_MEMBERS` alternatives.
    """
    lowering = _Lowering(tree, valid=valid, check=check, made=made)
    members = few(lowering.items(expression, Branch((Variable(CONTEXT, ()),))))
    paths = lowering.paths
    query = Query(tuple(dict.fromkeys(members)))
    unmatched, opened = tuple(dict.fromkeys(paths.unmatched)), tuple(dict.fromkeys(paths.open))
    return Lowering(query, unmatched, opened, tuple(lowering.constructors.unmade))


class _Lowering:
    """The items of one query over a schema tree."""

    def __init__(self, tree: SchemaTree, *, valid: bool, check: Check, made: Container[Path] | None) -> None:
        self._tree = tree
        self._valid = valid
        self._conditions = ConditionLowering(tree, valid=valid, check=check)
        self.paths = self._conditions.paths
        self.constructors = ConstructorLowering(self.paths, self._conditions.functions, self.items, made)

    def items(self, expression: syntax.Expression, branch: Branch) -> Iterator[Member]:
        """The members whose templates are the items of an expression."""
        match expression:
            case syntax.Sequence(items):
                for item in items:
                    yield from self.items(item, branch)
            case syntax.Flwor():
                for inner in self._clauses(expression, branch):
                    yield from self.items(expression.result, inner)
            case syntax.PathExpression():
                for found, location in self.paths.resolve(expression, branch):
                    require_node(location, expression.position)
                    for named in self._named(existing(found, location), location, expression.position):
                        yield _member(named, self.constructors.bare(named, location, expression.position))
            case syntax.Data(argument):
                for found, location in self.paths.resolve(argument, branch):
                    require_value(self._tree, location, expression.position)
                    of_it = LeafItem("value", "", value_of(self._tree, location))
                    yield _member(existing(found, location), of_it)
            case syntax.TagValue(argument):
                for found, location in self.paths.resolve(argument, branch):
                    yield _member(found, LeafItem("value", "", tag_of(self._tree, location)))
            case syntax.Conditional(condition, value, None):
                for holding in self._conditions.branches(condition, branch):
                    yield from self.items(value, holding)
            case syntax.FunctionCall() | syntax.Switch() | syntax.Conditional():
                yield from self._computed(expression, branch)
            case syntax.StringLiteral(value):
                yield _member(branch, LeafItem("value", "", Text(value)))
            case syntax.ElementConstructor():
                yield _member(branch, self.constructors.element(expression, branch))
            case syntax.AttributeConstructor(name, value):
                yield from self._constructed("attribute", name, value, branch)
            case syntax.TextConstructor(value):
                yield from self._constructed("text", "", value, branch)
            case syntax.NumberLiteral():
                refuse("HX3045", "a number as an item is outside the query fragment", expression.position)
            case syntax.NodeIdentity():
                refuse("HX3045", IDENTITY_ALONE, expression.position, IDENTITY_HINT)

    def _computed(self, function: syntax.Function, branch: Branch) -> Iterator[Member]:
        if type_of(function) not in (None, Type.STRING):
            hint = "write string(value), or an element around it"
            refuse(
                "HX3045", "a number or a condition as an item is outside the query fragment", function.position, hint
            )
        require_atomic(function)
        term = self._conditions.functions.term(function, branch)
        if isinstance(term, Term):
            yield _member(branch.having(Presence(term)), LeafItem("value", "", term))
        elif term is not None:
            yield _member(branch, LeafItem("value", "", term))

    def _clauses(self, flwor: syntax.Flwor, branch: Branch) -> Iterator[Branch]:
        branches = [branch]
        for clause in flwor.clauses:
            if any(clause.variable in before.bindings for before in branches):
                refuse("HX3047", f"variable {clause.variable} is bound twice", clause.position, "give it another name")
            if isinstance(clause, syntax.Let):
                source = self._closed(clause.source, branches)
                branches = [before.bound(clause.variable, source) for before in branches]
            else:
                branches = few(
                    existing(found, location).bound(clause.variable, location)
                    for before in branches
                    for found, location in self.paths.resolve(clause.source, before)
                )
        if flwor.where is None:
            yield from branches
        else:
            for before in branches:
                yield from self._conditions.branches(flwor.where, before)

    def _closed(self, source: syntax.PathExpression, branches: list[Branch]) -> syntax.PathExpression:
        """A ``let`` is its path: XQuery's expressions have no effects. The path must still mean something where it
        stands.
        """
        for branch in branches:
            self.paths.resolve(source, branch)
        return replace(source, start="/") if source.start == "." else source

    def _named(self, branch: Branch, location: Location, position: Position | None) -> Iterator[Branch]:
        """The branches in which the node at a location has one name: of a member of a box, which has many, one for each
        that valid documents have there.
        """
        box = self._tree.box(location.absolute)
        if box is None or location.path or location.text or known_tag(self._tree, branch, location) is not None:
            yield branch
            return
        if not self._valid:
            name = self._tree.written((self._tree.root, *location.absolute))
            refuse("HX3044", f"{name} may have any name: returning it whole is outside the query fragment", position)
        tag = Term(location.variable, (TAG,))
        yield from (branch.having(Comparison("=", tag, Text(value))) for value in box.values)

    def _constructed(
        self, shape: Literal["attribute", "text"], name: str, value: syntax.Expression, branch: Branch
    ) -> Iterator[Member]:
        """A computed attribute is there even where its value is absent; a computed text node is not."""
        term = Text(value.value) if isinstance(value, syntax.StringLiteral) else None
        term_or_text = term or self.constructors.slot_term(value, branch, value.position)
        if not isinstance(term_or_text, Term):
            if shape == "attribute" or term_or_text is not None:
                yield _member(branch, LeafItem(shape, name, term_or_text or Text("")))
            return
        present = branch if term_or_text.path == (TAG,) else branch.having(Presence(term_or_text))
        if shape == "text" and self._is_text(value, branch):
            present = present.having(Comparison("!=", term_or_text, Text("")))
        yield _member(present, LeafItem(shape, name, term_or_text))
        if shape == "attribute":
            for node in nodes_of(term_or_text):
                yield _member(branch.having(Absence(node)), LeafItem(shape, name, Text("")))

    def _is_text(self, value: syntax.Expression, branch: Branch) -> bool:
        """Whether a single-valued expression asks for the text node of a leaf, which an empty leaf has not."""
        path = value.argument if isinstance(value, syntax.Data) else value
        location = self.constructors.single(path, branch) if isinstance(path, syntax.PathExpression) else None
        return location is not None and location.text


def _member(branch: Branch, template: Template) -> Member:
    spoken = {variable.parent for variable in branch.variables}
    spoken.update(name for atom in branch.atoms for name in atom_variables(atom))
    spoken.update(term.variable for term in template_terms(template))
    context, *others = branch.variables
    several = any(variable.parent is None for variable in others) and context.name not in spoken
    return Member(tuple(others) if several else branch.variables, branch.atoms, template)
