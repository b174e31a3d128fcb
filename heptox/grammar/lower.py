"""From syntax to patterns: every path resolved over a schema tree, every choice a member of a union.

The answer of a query is a set (``semantics.md`` section 6), so a condition that asks whether something exists becomes a
variable or a presence atom, and ``or`` becomes several members. ``order by`` says nothing about a set and is passed
over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal, NoReturn, TypeAlias, TypeVar

from heptox.errors import Fault, GrammarError, Position, SchemaError
from heptox.grammar import query as syntax
from heptox.grammar.matching import step_matches
from heptox.grammar.spelling import hint_for, step_label
from heptox.pattern import (
    TAG,
    Absence,
    Atom,
    AttributeItem,
    Comparison,
    Content,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    NoNode,
    Number,
    Operand,
    Presence,
    Query,
    SameValue,
    Shape,
    Template,
    Term,
    Text,
    Variable,
    atom_variables,
    flipped,
    holds,
    template_terms,
)
from heptox.schema import ANYWHERE, TEXT, Match, Path, SchemaTree
from heptox.xml import unescaped_name


@dataclass(frozen=True, slots=True)
class Lowering:
    """What a query means over a schema: the pattern, and a fault for each step that no schema path can stand for."""

    query: Query
    unmatched: tuple[Fault, ...] = ()


MOST_MEMBERS: Final = 2_000
"""Alternatives that a query may stand for; one with more is refused by name, not answered in part."""


def lower(expression: syntax.Expression, tree: SchemaTree, *, valid: bool = False) -> Lowering:
    """The pattern of a query over a schema tree (``semantics.md`` section 7, and section 8, step 1).

    In ``valid`` documents a box has no tags but its members', so a step that names them all asks for none.

    Raises :class:`GrammarError` (HX3041 to HX3047) for what the fragment does not hold: negation on a repeating path,
    inner elements returned or compared, repeating slots; HX3004 for variables that are not bound; HX3050 for a query
    that stands for more than :data:`MOST_MEMBERS` alternatives.
    """
    lowering = _Lowering(tree, valid=valid)
    members = _few(lowering.items(expression, _Branch((Variable(_CONTEXT, ()),))))
    return Lowering(Query(tuple(dict.fromkeys(members))), tuple(dict.fromkeys(lowering.unmatched)))


@dataclass(frozen=True, slots=True)
class _Location:
    """A node of the schema tree below a variable; ``text`` for the text node of an element that has a value,
    ``document`` for the document above the root's variable.
    """

    variable: str
    path: Path = ()
    text: bool = False
    document: bool = False


_CONTEXT: Final = "root"
"""The root of the document that a query is asked of, which all absolute paths begin at. Each path from the collection
begins at a root of its own.
"""
_DOCUMENT: Final = _Location(_CONTEXT, document=True)
_Binding: TypeAlias = _Location | syntax.PathExpression


@dataclass(frozen=True, slots=True)
class _Branch:
    """One member in the making, and what the query's variables are bound to in it."""

    variables: tuple[Variable, ...]
    atoms: frozenset[Atom] = frozenset()
    bindings: Mapping[str, _Binding] = field(default_factory=dict)

    def node(self, name: str) -> Path:
        return next(variable.node for variable in self.variables if variable.name == name)

    def absolute(self, location: _Location) -> Path:
        return (*self.node(location.variable), *location.path)

    def known_above(self, name: str, before: _Branch) -> str:
        """The nearest variable at or above ``name`` that the branch ``before`` has already."""
        known = {variable.name for variable in before.variables}
        parents = {variable.name: variable.parent for variable in self.variables}
        while name not in known:
            above = parents[name]
            assert above is not None  # the root is known to every branch
            name = above
        return name

    def leaves(self, before: _Branch) -> bool:
        """Whether the branch ``before`` has been left for another document."""
        return any(variable.parent is None for variable in self.variables[len(before.variables) :])

    def having(self, *atoms: Atom) -> _Branch:
        return _Branch(self.variables, self.atoms | frozenset(atoms), self.bindings)

    def bound(self, name: str, binding: _Binding) -> _Branch:
        return _Branch(self.variables, self.atoms, {**self.bindings, name: binding})


_Located: TypeAlias = tuple[_Branch, _Location]


def _refuse(code: str, message: str, position: Position | None, hint: str | None = None) -> NoReturn:
    raise GrammarError(Fault(code, message, position, hint=hint))


def _nodes(value: Term) -> tuple[Term, ...]:
    """The node that has a value, where that may be absent; none where it is a variable's own, or its tag."""
    path = value.path[:-1] if value.path[-1:] in ((TEXT,), (TAG,)) else value.path
    return (Term(value.variable, path),) if path else ()


def _gathered(content: Iterable[str | syntax.Expression]) -> Iterator[syntax.PathExpression]:
    """The paths whose nodes are content of a constructor."""
    for item in content:
        match item:
            case syntax.PathExpression():
                yield item
            case syntax.ElementConstructor():
                yield from _gathered(item.content)
            case syntax.Sequence(items):
                yield from _gathered(items)
            case _:
                pass


def _is_of_text(atom: Atom, others: Collection[Atom]) -> bool:
    """Whether an atom says only that a text is not empty, and another that it is a string that is not."""
    match atom:
        case Comparison("!=", term, Text("")):
            return any(
                isinstance(other, Comparison)
                and (other.operator, other.left) == ("=", term)
                and isinstance(other.right, Text)
                and other.right.value != ""
                for other in others
            )
        case _:
            return False


_Item = TypeVar("_Item")


def _few(items: Iterable[_Item]) -> list[_Item]:
    """The items, as long as they are no more than a query may have alternatives."""
    found = list(islice(items, MOST_MEMBERS + 1))
    if len(found) > MOST_MEMBERS:
        _refuse("HX3050", f"the query stands for over {MOST_MEMBERS} alternatives", None, "split it")
    return found


class _Lowering:
    def __init__(self, tree: SchemaTree, *, valid: bool) -> None:
        self._tree = tree
        self._valid = valid
        self._matched: set[int] = set()
        self._missed: dict[int, Fault] = {}

    @property
    def unmatched(self) -> list[Fault]:
        """A fault for each step that no schema path can stand for, wherever the query comes to it."""
        return [fault for step, fault in self._missed.items() if step not in self._matched]

    # -- paths ---------------------------------------------------------------------------------------------------

    def path(self, path: syntax.PathExpression, branch: _Branch, context: _Location = _DOCUMENT) -> list[_Located]:
        """The branches of a path and where each ends."""
        start: _Location
        if path.start.startswith("$"):
            binding = self._binding(path, branch)
            if isinstance(binding, syntax.PathExpression):
                whole = syntax.PathExpression(binding.start, binding.steps + path.steps, position=path.position)
                return self.path(whole, branch, context)
            start = binding
        elif path.start == syntax.COLLECTION:
            root = Variable(f"{_CONTEXT}{len(branch.variables)}", ())
            branch = replace(branch, variables=(*branch.variables, root))
            start = _Location(root.name, document=True)
        else:
            start = _DOCUMENT if path.start == "/" else context
        found: list[_Located] = [(branch, start)]
        for step in path.steps:
            found = _few(located for before, place in found for located in self._step(step, before, place))
        return found

    def _binding(self, path: syntax.PathExpression, branch: _Branch) -> _Binding:
        if path.start not in branch.bindings:
            _refuse("HX3004", f"variable {path.start} is not bound", path.position, "bind it with for or let")
        return branch.bindings[path.start]

    def _miss(self, step: syntax.Step, branch: _Branch, place: _Location) -> None:
        if id(step) in self._missed or id(step) in self._matched:
            return
        context = None if place.document else branch.absolute(place)
        below = "anywhere in the schema" if "descendant" in step.axis else "at the root"
        if context is not None:
            below = f"below {'/'.join((self._tree.root, *context, *((TEXT,) if place.text else ())))}"
            context = (*context, TEXT) if place.text else context
        message = f"no node {step_label(step)} {below}"
        self._missed[id(step)] = Fault("HX3041", message, step.position, hint=hint_for(self._tree, step, context))

    def _step(self, step: syntax.Step, branch: _Branch, place: _Location) -> Iterator[_Located]:
        if place.text:
            self._miss(step, branch, place)
            return
        for match in self._matches(step, branch, place):
            reached = [self._place(branch, place, match, step.excluded)]
            for predicate in step.predicates:
                reached = _few(
                    (extended, location)
                    for before, location in reached
                    for extended in self.condition(predicate, before, location)
                )
            yield from reached

    def _matches(self, step: syntax.Step, branch: _Branch, place: _Location) -> Iterator[Match]:
        """What a step can stand for, one after the other: who has too many need not wait for all."""
        matches = step_matches(self._tree, step, None if place.document else branch.absolute(place))
        found = False
        try:
            for match in self._whole_boxes([*matches]) if self._valid else matches:
                found = True
                self._matched.add(id(step))
                yield match
        except SchemaError as error:
            raise GrammarError([replace(fault, position=step.position) for fault in error.faults]) from None
        if not found:
            self._miss(step, branch, place)

    def _whole_boxes(self, matches: list[Match]) -> tuple[Match, ...]:
        """The matches, with one for a box where all its members are named."""
        named: dict[Path, set[str | None]] = {}
        for match in matches:
            named.setdefault(match.path, set()).add(match.tag)
        boxes = {path: self._tree.box(path) for path in named}
        whole = {path for path, box in boxes.items() if box is not None and named[path] >= set(box.members)}
        return tuple(dict.fromkeys(Match(match.path) if match.path in whole else match for match in matches))

    def _place(self, branch: _Branch, place: _Location, match: Match, excluded: tuple[str, ...] = ()) -> _Located:
        """The branch with a variable for every stop node on the way to a match, and the match's location.

        The tag of a box node is none of the names in ``excluded``.
        """
        tree = self._tree
        path = match.path
        text = bool(path) and path[-1] == TEXT and not (path in tree and tree.is_stop(path))
        if text:
            path = path[:-1]
        name = place.variable
        anchor = branch.node(name)
        variables = list(branch.variables)
        for stop in tree.stops(path):
            if len(stop) > len(anchor):
                variables.append(Variable(f"v{len(variables)}", stop, name))
                name = variables[-1].name
        branch = _Branch(tuple(variables), branch.atoms, branch.bindings)
        location = _Location(name, path[len(branch.node(name)) :], text)
        if match.tag is not None:
            value = tree.value_of_tag(path, match.tag)
            assert value is not None  # the tree matches only tags that a value becomes
            branch = branch.having(Comparison("=", Term(name, (TAG,)), Text(value)))
        elif tree.box(path) is not None:
            values = (tree.value_of_tag(path, tag) for tag in excluded)
            branch = branch.having(
                *(Comparison("!=", Term(name, (TAG,)), Text(value)) for value in values if value is not None)
            )
        if text:
            branch = branch.having(Comparison("!=", self._value(branch, location), Text("")))
        return branch, location

    # -- conditions ----------------------------------------------------------------------------------------------

    def condition(
        self, condition: syntax.Condition, branch: _Branch, context: _Location = _DOCUMENT
    ) -> Iterator[_Branch]:
        """The branches in which a condition holds."""
        match condition:
            case syntax.And(conditions):
                branches = [branch]
                for part in conditions:
                    branches = _few(after for before in branches for after in self.condition(part, before, context))
                yield from branches
            case syntax.Or(conditions):
                for part in conditions:
                    yield from self.condition(part, branch, context)
            case syntax.Exists(argument):
                for found, location in self.path(argument, branch, context):
                    yield self._existing(found, location)
            case syntax.Empty(argument):
                yield from self._empty(argument, branch, context)
            case syntax.Comparison():
                yield from self._comparison(condition, branch, context)
            case syntax.DeepEqual():
                yield from self._deep_equality(condition, branch, context)

    def _existing(self, branch: _Branch, location: _Location) -> _Branch:
        return branch.having(Presence(Term(location.variable, location.path))) if location.path else branch

    def _empty(self, argument: syntax.PathExpression, branch: _Branch, context: _Location) -> Iterator[_Branch]:
        """The branches in which no way that a path can go through the schema leads to a node."""
        branches = [branch]
        for found, location in self.path(argument, branch, context):
            ways = self._nowhere(found, location, branch, argument.position)
            branches = _few(before.having(atom) for before in branches for atom in ways)
        yield from branches

    def _nowhere(
        self, found: _Branch, location: _Location, branch: _Branch, position: Position | None
    ) -> tuple[Atom, ...]:
        """The atoms of which one holds where no node is at a location; none where one always is."""
        if location.document:
            _refuse("HX3042", "negation of the document is outside the query fragment", position)
        value = self._value(found, location)
        there = Comparison("!=", value, Text(""))  # of a text node, the only thing that its path adds
        added = found.variables[len(branch.variables) :]
        tests = found.atoms - branch.atoms
        if found.leaves(branch):
            hint = "what is not in one document can be asked: for $d in collection()/name where empty($d/path)"
            _refuse("HX3042", "what no document of the collection has is outside the query fragment", position, hint)
        if added:
            hint = (
                "its predicates compare leaves of that node with leaves outside and strings by =, or ask for presence"
            )
            where = "/".join(found.absolute(location))
            chain = [variable.parent for variable in added[1:]] == [variable.name for variable in added[:-1]]
            if location.text or not chain or location.variable != added[-1].name:
                self._refuse_negation(where, position, hint)
            wanted = [self._test(atom, added, where, position, hint) for atom in tests if not _is_of_text(atom, tests)]
            if location.path:
                wanted.append((location.path, None))
            parent = added[0].parent
            assert parent is not None  # the root is known to every branch
            return (NoNode(parent, added[-1].node, tuple(sorted(set(wanted), key=repr))),)
        if tests - {there}:
            where = "/".join((self._tree.root, *found.absolute(location)))
            hint = "turn the comparison around, or use empty() of the path without it"
            _refuse("HX3042", f"a predicate on {where}, which does not repeat, in a negation", position, hint)
        absence = tuple(map(Absence, _nodes(value)))
        return (*absence, Comparison("=", value, Text(""))) if location.text else absence

    def _test(
        self, atom: Atom, added: tuple[Variable, ...], where: str, position: Position | None, hint: str
    ) -> tuple[Path, Term | Text | None]:
        """What a predicate asks of the node that is nowhere."""
        node, between = added[-1].name, {variable.name for variable in added}
        match atom:
            case Presence(Term(variable, path)) if variable == node:
                return path, None
            case Comparison("=", Term(variable, path), Text() as value) if variable == node:
                return path, value
            case Comparison("=", Term(variable, path), Term(outer) as value) if variable == node:
                if outer not in between:
                    return path, value
            case Comparison("=", Term(outer) as value, Term(variable, path)) if variable == node:
                if outer not in between:
                    return path, value
        self._refuse_negation(where, position, hint)

    def _refuse_negation(self, where: str, position: Position | None, hint: str) -> NoReturn:
        _refuse(
            "HX3042",
            f"what a negation asks of the repeating path {where} is outside the query fragment",
            position,
            hint,
        )

    def _comparison(self, comparison: syntax.Comparison, branch: _Branch, context: _Location) -> Iterator[_Branch]:
        for before, left in self._operand(comparison.left, branch, context):
            for after, right in self._operand(comparison.right, before, context):
                if isinstance(left, Term):
                    yield after.having(Comparison(comparison.operator, left, right))
                elif isinstance(right, Term):
                    yield after.having(Comparison(flipped(comparison.operator), right, left))
                elif self._constants_hold(comparison, left, right):
                    yield after

    def _deep_equality(self, condition: syntax.DeepEqual, branch: _Branch, context: _Location) -> Iterator[_Branch]:
        """Of two nodes, or two values, each of which may be absent: two empty sequences are equal."""
        match condition:
            case syntax.DeepEqual(syntax.PathExpression() as left, syntax.PathExpression() as right):
                places = [self._one(path, branch, context) for path in (left, right)]
                if any(place is not None and place.text for place in places):
                    _refuse(
                        "HX3046",
                        "deep-equal of text nodes is not translated exactly yet",
                        condition.position,
                        "write data() around both",
                    )
                alternatives = self._equal_nodes(branch, places, condition.position)
                yield from (branch.having(*atoms) for atoms in alternatives)
            case syntax.DeepEqual(left, right):
                for before, first in self._one_value(left, branch, context):
                    for after, second in self._one_value(right, before, context):
                        atoms = self._same_values(after, first, second)
                        if atoms is not None:
                            yield after.having(*atoms)

    def _one(self, path: syntax.PathExpression, branch: _Branch, context: _Location) -> _Location | None:
        """The only node that a path of deep-equal may lead to, ``None`` where the schema has none."""
        found = self.path(path, branch, context)
        if not found:
            return None
        after, location = found[0]
        added = after.atoms - branch.atoms
        if location.text:
            added -= {Comparison("!=", self._value(after, location), Text(""))}
        if len(found) > 1 or after.variables != branch.variables or added or location.document:
            message = "deep-equal of what may be more than one node is not translated exactly yet"
            _refuse("HX3046", message, path.position, "bind the nodes with for, and compare these")
        return location

    def _one_value(
        self, value: syntax.PathExpression | syntax.Data | syntax.TagValue, branch: _Branch, context: _Location
    ) -> Iterator[tuple[_Branch, Term | Text | None]]:
        """The branches in which ``data(path)`` or a tag is a term, which may be absent, a string, or nothing."""
        path = value if isinstance(value, syntax.PathExpression) else value.argument
        location = self._one(path, branch, context)
        if location is None:
            yield branch, None
            return
        if isinstance(value, syntax.TagValue):
            yield branch, self._tag(branch, location)
            return
        self._leaf(branch, location, path.position)
        term = self._value(branch, location)
        if not location.text:
            yield branch, term
            return
        yield branch.having(Comparison("!=", term, Text(""))), term
        yield branch.having(Comparison("=", term, Text(""))), None
        for node in _nodes(term):
            yield branch.having(Absence(node)), None

    def _same_values(
        self, branch: _Branch, left: Term | Text | None, right: Term | Text | None
    ) -> tuple[Atom, ...] | None:
        """The atoms that hold where two values are equal or both absent, ``None`` where that cannot be."""
        match left, right:
            case Term(), Term():
                return (SameValue(left, right),)
            case (Term() as term, Text() as text) | (Text() as text, Term() as term):
                return (Comparison("=", term, text),)
            case (Term() as term, None) | (None, Term() as term):
                return next(iter(self._absent(branch, term)), None)
            case _:
                return () if left == right else None

    def _absent(self, branch: _Branch, *terms: Term) -> list[tuple[Atom, ...]]:
        """That terms are absent; nothing where one never is."""
        if any(not _nodes(term) or self._is_there(branch, term) for term in terms):
            return []
        return [tuple(Absence(node) for term in terms for node in _nodes(term))]

    def _is_there(self, branch: _Branch, term: Term) -> bool:
        return any(
            (isinstance(atom, Presence) and atom.term == term) or (isinstance(atom, Comparison) and atom.left == term)
            for atom in branch.atoms
        )

    def _equal_nodes(
        self, branch: _Branch, given: list[_Location | None], position: Position | None
    ) -> list[tuple[Atom, ...]]:
        """The atoms of which some hold where two nodes are deep-equal, or neither is there."""
        places = [location for location in given if location is not None]
        terms = [Term(location.variable, location.path) for location in places]
        paths = [branch.absolute(location) for location in places]
        boxes = {path if self._tree.box(path) else None for path in paths}
        if len(boxes) > 1:
            _refuse("HX3046", "deep-equal of members of two boxes is not translated exactly yet", position)
        names = {path[-1].removeprefix(ANYWHERE) if path else self._tree.root for path in paths}
        if len(terms) < 2 or len(names) > 1:  # nodes of different names are equal only where there are none
            return self._absent(branch, *terms)
        first, second = terms
        if self._tree.is_leaf(paths[0]) and self._tree.is_leaf(paths[1]):
            return [(SameValue(first, second),)]
        if not self._has_text(paths[0]) or not self._has_text(paths[1]):
            return [(DeepEqual(first, second),)]
        parts = [(f"@{attribute.name}",) for attribute in self._tree.element(paths[0]).attributes]
        parts.append((TEXT,))
        same: list[Atom] = [
            SameValue(Term(first.variable, (*first.path, *part)), Term(second.variable, (*second.path, *part)))
            for part in parts
        ]
        if boxes != {None}:
            same.append(SameValue(Term(first.variable, (TAG,)), Term(second.variable, (TAG,))))
        same += [Presence(term) for term in terms if term.path]
        return [tuple(same), *self._absent(branch, *terms)]

    def _constants_hold(self, comparison: syntax.Comparison, left: Text | Number, right: Text | Number) -> bool:
        """Of literals and tags."""
        if isinstance(comparison.left, syntax.NumberValue) and isinstance(left, Text):
            return holds(left.value, comparison.operator, right)
        if isinstance(comparison.right, syntax.NumberValue) and isinstance(right, Text):
            return holds(right.value, flipped(comparison.operator), left)
        if type(left) is not type(right):
            _refuse(
                "HX3043", "a string is compared with a number", comparison.position, "XQuery raises a type error here"
            )
        text = left.value if isinstance(left, Text) else left.lexical
        return holds(text, comparison.operator, right)

    def _operand(
        self, operand: syntax.Operand, branch: _Branch, context: _Location
    ) -> Iterator[tuple[_Branch, Operand]]:
        match operand:
            case syntax.StringLiteral(value):
                yield branch, Text(value)
            case syntax.NumberLiteral(lexical):
                yield branch, Number(lexical)
            case syntax.Data(argument) | syntax.NumberValue(argument):
                yield from self._operand(argument, branch, context)
            case syntax.TagValue(argument):
                for found, location in self.path(argument, branch, context):
                    yield found, self._tag(found, location)
            case syntax.PathExpression():
                for found, location in self.path(operand, branch, context):
                    self._leaf(found, location, operand.position)
                    yield found, self._value(found, location)

    def _value(self, branch: _Branch, location: _Location) -> Term:
        """The value of the node at a location: of an element with text and attributes, or in a box, that of its text,
        which is there where the element is.
        """
        text = (TEXT,) if self._has_text(branch.absolute(location)) else ()
        return Term(location.variable, (*location.path, *text))

    def _has_text(self, path: Path) -> bool:
        """Whether a node is an element with a value that stands beside attributes, or that is in a box."""
        tree = self._tree
        if not tree.is_element(path) or tree.is_leaf(path) or tree.whole_at(path) is not None:
            return False
        element = tree.element(path)
        return element.text and not element.children

    def _tag(self, branch: _Branch, location: _Location) -> Term | Text:
        here = branch.absolute(location)
        if self._tree.box(here) is not None:
            return Term(location.variable, (TAG,))
        return Text(unescaped_name(here[-1] if here else self._tree.root))

    def _leaf(self, branch: _Branch, location: _Location, position: Position | None) -> None:
        """Refuse what has no single value: an element with children."""
        if location.document:
            _refuse("HX3044", "the document as a value is outside the query fragment", position)
        here = branch.absolute(location)
        if self._tree.is_leaf(here) or self._tree.whole_at(here) is not None or self._has_text(here):
            return
        name = "/".join((self._tree.root, *here))
        element = self._tree.element(here)
        hint = f"name its text: {element.name}/text()" if element.text else "ask for the leaves below it"
        _refuse("HX3044", f"{name} is an inner element: whole, or as a value, it is not translated yet", position, hint)

    # -- items ---------------------------------------------------------------------------------------------------

    def items(self, expression: syntax.Expression, branch: _Branch) -> Iterator[Member]:
        """The members whose templates are the items of an expression."""
        match expression:
            case syntax.Sequence(items):
                for item in items:
                    yield from self.items(item, branch)
            case syntax.Flwor():
                for inner in self._clauses(expression, branch):
                    yield from self.items(expression.result, inner)
            case syntax.PathExpression():
                for found, location in self.path(expression, branch):
                    self._leaf(found, location, expression.position)
                    for named in self._named(self._existing(found, location), location, expression.position):
                        yield self._member(named, self._bare(named, location))
            case syntax.Data(argument):
                for found, location in self.path(argument, branch):
                    self._leaf(found, location, expression.position)
                    of_it = LeafItem("value", "", self._value(found, location))
                    yield self._member(self._existing(found, location), of_it)
            case syntax.TagValue(argument):
                for found, location in self.path(argument, branch):
                    yield self._member(found, LeafItem("value", "", self._tag(found, location)))
            case syntax.StringLiteral(value):
                yield self._member(branch, LeafItem("value", "", Text(value)))
            case syntax.ElementConstructor():
                for decided in self._gathering(expression, branch):
                    yield self._member(decided, self._element(expression, decided))
            case syntax.AttributeConstructor(name, value):
                yield from self._constructed("attribute", name, value, branch)
            case syntax.TextConstructor(value):
                yield from self._constructed("text", "", value, branch)
            case syntax.NumberLiteral():
                _refuse("HX3045", "a number as an item is outside the query fragment", expression.position)

    def _member(self, branch: _Branch, template: Template) -> Member:
        spoken = {variable.parent for variable in branch.variables}
        spoken.update(name for atom in branch.atoms for name in atom_variables(atom))
        spoken.update(term.variable for term in template_terms(template))
        context, *others = branch.variables
        several = any(variable.parent is None for variable in others) and context.name not in spoken
        return Member(tuple(others) if several else branch.variables, branch.atoms, template)

    def _clauses(self, flwor: syntax.Flwor, branch: _Branch) -> Iterator[_Branch]:
        branches = [branch]
        for clause in flwor.clauses:
            if any(clause.variable in before.bindings for before in branches):
                _refuse("HX3047", f"variable {clause.variable} is bound twice", clause.position, "give it another name")
            if isinstance(clause, syntax.Let):
                source = self._closed(clause.source, branches)
                branches = [before.bound(clause.variable, source) for before in branches]
            else:
                branches = _few(
                    self._existing(found, location).bound(clause.variable, location)
                    for before in branches
                    for found, location in self.path(clause.source, before)
                )
        if flwor.where is None:
            yield from branches
        else:
            for before in branches:
                yield from self.condition(flwor.where, before)

    def _closed(self, source: syntax.PathExpression, branches: list[_Branch]) -> syntax.PathExpression:
        """A ``let`` is its path: XQuery's expressions have no effects. The path must still mean something where it
        stands.
        """
        for branch in branches:
            self.path(source, branch)
        return replace(source, start="/") if source.start == "." else source

    def _named(self, branch: _Branch, location: _Location, position: Position | None) -> Iterator[_Branch]:
        """The branches in which the node at a location has one name: of a member of a box, which has many, one for each
        that valid documents have there.
        """
        box = self._tree.box(branch.absolute(location))
        if box is None or location.path or location.text or self._tag_of(branch, location.variable) is not None:
            yield branch
            return
        if not self._valid:
            name = "/".join((self._tree.root, *branch.absolute(location)))
            _refuse("HX3044", f"{name} may have any name: returning it whole is outside the query fragment", position)
        tag = Term(location.variable, (TAG,))
        yield from (branch.having(Comparison("=", tag, Text(name))) for name in box.members)

    def _tag_of(self, branch: _Branch, name: str) -> str | None:
        """The tag of a box node, as it is written, where that is known."""
        for atom in branch.atoms:
            match atom:
                case Comparison("=", Term(variable, path), Text(value)) if (variable, path) == (name, (TAG,)):
                    return self._tree.tag_of_value(branch.node(name), value)
        return None

    def _whole(self, branch: _Branch, location: _Location) -> ElementItem:
        """An element with text and attributes, as it is."""
        here = branch.absolute(location)
        name = here[-1].removeprefix(ANYWHERE) if here else self._tree.root
        attributes = (attribute.name for attribute in self._tree.element(here).attributes)
        slots = (
            LeafItem("attribute", each, Term(location.variable, (*location.path, f"@{each}"))) for each in attributes
        )
        text = LeafItem("value", "", self._value(branch, location))
        tag = None if location.path else self._tag_of(branch, location.variable)
        return ElementItem(tag or name, (), (*slots, text))

    def _bare(self, branch: _Branch, location: _Location) -> Template:
        term = Term(location.variable, location.path)
        step = branch.absolute(location)[-1] if branch.absolute(location) else self._tree.root
        if location.text or step == TEXT:
            return LeafItem("text", "", self._value(branch, location))
        if step.startswith("@"):
            return LeafItem("attribute", step[1:], term)
        if self._has_text(branch.absolute(location)):
            return self._whole(branch, location)
        if not self._tree.is_leaf(branch.absolute(location)):
            return LeafItem("copy", step.removeprefix(ANYWHERE), term)
        return ElementItem(step.removeprefix(ANYWHERE), (), (LeafItem("value", "", term),))

    def _constructed(
        self, shape: Literal["attribute", "text"], name: str, value: syntax.Expression, branch: _Branch
    ) -> Iterator[Member]:
        """A computed attribute is there even where its value is absent; a computed text node is not."""
        term = Text(value.value) if isinstance(value, syntax.StringLiteral) else None
        term_or_text = term or self._slot_term(value, branch, value.position)
        if not isinstance(term_or_text, Term):
            if shape == "attribute" or term_or_text is not None:
                yield self._member(branch, LeafItem(shape, name, term_or_text or Text("")))
            return
        present = branch if term_or_text.path == (TAG,) else branch.having(Presence(term_or_text))
        if shape == "text" and self._is_text(value, branch):
            present = present.having(Comparison("!=", term_or_text, Text("")))
        yield self._member(present, LeafItem(shape, name, term_or_text))
        if shape == "attribute":
            for node in _nodes(term_or_text):
                yield self._member(branch.having(Absence(node)), LeafItem(shape, name, Text("")))

    def _is_text(self, value: syntax.Expression, branch: _Branch) -> bool:
        """Whether a single-valued expression asks for the text node of a leaf, which an empty leaf has not."""
        path = value.argument if isinstance(value, syntax.Data) else value
        location = self._single(path, branch) if isinstance(path, syntax.PathExpression) else None
        return location is not None and location.text

    # -- constructors --------------------------------------------------------------------------------------------

    def _element(self, element: syntax.ElementConstructor, branch: _Branch) -> ElementItem:
        attributes = tuple(
            AttributeItem(attribute.name, tuple(self._attribute_part(part, branch) for part in attribute.parts))
            for attribute in element.attributes
        )
        content = [piece for item in element.content for piece in self._content(item, branch)]
        return ElementItem(element.name, attributes, tuple(content))

    def _gathering(self, element: syntax.ElementConstructor, branch: _Branch) -> Iterator[_Branch]:
        """The branches that say whether each element with text and attributes that a constructor gathers is there."""
        branches = [branch]
        for path in _gathered(element.content):
            branches = _few(decided for before in branches for decided in self._there_or_not(path, before))
        yield from branches

    def _there_or_not(self, path: syntax.PathExpression, branch: _Branch) -> Iterator[_Branch]:
        location = None if self._inside(path, branch) is not None else self._single(path, branch)
        if location is None or location.text or not self._has_text(branch.absolute(location)):
            yield branch
            return
        term = self._value(branch, location)
        yield branch.having(*map(Presence, _nodes(term)))
        below = branch.node(location.variable)
        if not (self._valid and self._tree.required((*below, *term.path), below=below)):
            yield from (branch.having(*atoms) for atoms in self._absent(branch, term))

    def _attribute_part(self, part: str | syntax.Expression, branch: _Branch) -> str | Term:
        if isinstance(part, str):
            return part
        if isinstance(part, syntax.StringLiteral):
            return part.value
        term = self._slot_term(part, branch, part.position)
        return "" if term is None else term.value if isinstance(term, Text) else term

    def _content(self, item: str | syntax.Expression, branch: _Branch) -> Iterator[Content]:
        match item:
            case str():
                yield item
            case syntax.StringLiteral(value):
                yield value
            case syntax.NumberLiteral():
                _refuse(
                    "HX3045",
                    "a number in a constructor is outside the query fragment",
                    item.position,
                    "write it as text",
                )
            case syntax.ElementConstructor():
                yield self._element(item, branch)
            case syntax.Sequence(items):
                if sum(isinstance(part, syntax.Data | syntax.TagValue | syntax.StringLiteral) for part in items) > 1:
                    _refuse(
                        "HX3045",
                        "several values in one enclosed expression are outside the query fragment",
                        item.position,
                        "XQuery puts a space between them; enclose each by itself",
                    )
                for part in items:
                    yield from self._content(part, branch)
            case syntax.PathExpression():
                yield from self._path_slot(item, branch)
            case syntax.Data() | syntax.TagValue():
                term = self._slot_term(item, branch, item.position)
                if term is not None:
                    yield term.value if isinstance(term, Text) else LeafItem("value", "", term)
            case syntax.AttributeConstructor(name, value):
                yield self._attribute_slot(name, value, branch, item.position)
            case syntax.TextConstructor(value):
                if isinstance(value, syntax.PathExpression):
                    value = syntax.Data(value, position=item.position)
                yield from self._content(value, branch)
            case syntax.Flwor():
                yield from self._flwor_slot(item, branch)

    def _attribute_slot(
        self, name: str, value: syntax.Expression, branch: _Branch, position: Position | None
    ) -> LeafItem:
        """A computed attribute, which is there, and empty, where its leaf is absent."""
        if isinstance(value, syntax.StringLiteral):
            return LeafItem("attribute", name, Text(value.value))
        term = self._slot_term(value, branch, position)
        shape: Shape = "attribute" if isinstance(term, Term) and term.path == (TAG,) else "constructed"
        return LeafItem(shape, name, Text("") if term is None else term)

    def _path_slot(self, path: syntax.PathExpression, branch: _Branch) -> Iterator[Content]:
        whole = self._inside(path, branch)
        if whole is not None:
            yield whole
            return
        location = self._single(path, branch)
        if location is not None:
            bare = self._bare(branch, location)
            if self._has_text(branch.absolute(location)) and not location.text:
                if any(Absence(node) in branch.atoms for node in _nodes(self._value(branch, location))):
                    return
                if self._tree.box(branch.absolute(location)) and self._tag_of(branch, location.variable) is None:
                    _refuse("HX3046", "a member of a box is not gathered in a constructor yet", path.position)
                yield bare
            elif isinstance(bare, ElementItem):
                yield LeafItem("element", bare.name, self._value(branch, location))
            elif isinstance(bare, LeafItem):
                yield bare

    def _inside(self, path: syntax.PathExpression, branch: _Branch) -> LeafItem | None:
        """A path that leads into a copied subtree, which is the same on both sides, may repeat there as it likes."""
        found = self.path(path, branch) if not any(step.predicates for step in path.steps) else []
        if len(found) != 1 or found[0][0].leaves(branch):
            return None
        after, location = found[0]
        here = after.absolute(location)
        whole = self._tree.whole_at(here)
        if whole is None or location.text:
            return None
        start = after.known_above(location.variable, branch)
        if any(self._tree.is_stop(whole[:length]) for length in range(len(branch.node(start)) + 1, len(whole) + 1)):
            return None
        return LeafItem(
            "copy", here[-1].removeprefix(ANYWHERE).lstrip("@"), Term(start, here[len(branch.node(start)) :])
        )

    def _flwor_slot(self, flwor: syntax.Flwor, branch: _Branch) -> Iterator[Content]:
        """``for $x in $v/leaf return ...`` over a single-valued leaf: a slot that is there when the leaf is."""
        clause = flwor.clauses[0]
        plain = len(flwor.clauses) == 1 and isinstance(clause, syntax.For) and flwor.where is None
        if not plain:
            self._refuse_nested(flwor.position)
        location = self._single(clause.source, branch)
        if location is None:
            return
        if location.text:
            self._refuse_nested(flwor.position)  # the text node of an empty element is absent, its element is not
        term = self._value(branch, location)
        inner = branch.bound(clause.variable, location)
        result = flwor.result
        shape, name, value = self._leaf_shape(result, inner)
        if value != term:
            self._refuse_nested(flwor.position)
        yield LeafItem(shape, name, term)

    def _leaf_shape(self, result: syntax.Expression, branch: _Branch) -> tuple[Shape, str, Term | Text | None]:
        match result:
            case syntax.AttributeConstructor(name, value):
                return "attribute", name, self._slot_term(value, branch, result.position)
            case syntax.TextConstructor(value):
                return "text", "", self._slot_term(value, branch, result.position)
            case syntax.ElementConstructor(name, (), (syntax.Data() as value,)):
                return "element", name, self._slot_term(value, branch, result.position)
            case syntax.Data():
                return "value", "", self._slot_term(result, branch, result.position)
        self._refuse_nested(result.position)

    def _refuse_nested(self, position: Position | None) -> NoReturn:
        _refuse(
            "HX3046",
            "a nested for in a constructor gathers children of one node: not translated exactly yet",
            position,
            "ask with one more for variable outside the constructor",
        )

    def _slot_term(self, value: syntax.Expression, branch: _Branch, position: Position | None) -> Term | Text | None:
        """The one term of a value inside a constructor, ``None`` where the schema has no such leaf."""
        if isinstance(value, syntax.TagValue):
            location = self._single(value.argument, branch, leaf=False)
            return None if location is None else self._tag(branch, location)
        if isinstance(value, syntax.Data):
            value = value.argument
        if not isinstance(value, syntax.PathExpression):
            _refuse("HX3045", "only a leaf's value can stand here", position, "write data($variable/leaf)")
        location = self._single(value, branch)
        if location is None:
            return None
        return self._value(branch, location)

    def _single(self, path: syntax.PathExpression, branch: _Branch, *, leaf: bool = True) -> _Location | None:
        if any(step.predicates for step in path.steps):
            _refuse("HX3046", "a predicate inside a constructor's path is not translated exactly yet", path.position)
        found = self.path(path, branch)
        if not found:
            return None
        if len(found) > 1 or found[0][0].variables != branch.variables:
            where = "/".join(found[0][0].absolute(found[0][1]))
            _refuse(
                "HX3046",
                f"the path to {where} repeats in a constructor: not translated exactly yet",
                path.position,
                "ask with one more for variable",
            )
        after, location = found[0]
        if leaf:
            self._leaf(after, location, path.position)
        if after.atoms != branch.atoms and not location.text:
            _refuse("HX3046", "a tag inside a constructor's path is not translated exactly yet", path.position)
        return location
