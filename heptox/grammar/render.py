"""From patterns to syntax: a query as one would write it, with short paths and few variables.

A variable that only one condition speaks of becomes a path in that condition; one that only leads to another becomes
a part of its path (``heptox/grammar/term_paths.py``).

XQuery raises an error where a value that is no number is compared with one; the pattern says that it does not compare.
Where documents may hold such values the comparison is written with ``number()``, which says the same and never raises.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from heptox.errors import Fault, GrammarError
from heptox.grammar import query as syntax
from heptox.grammar.computed_terms import ComputedTerms
from heptox.grammar.function_rendering import compared_as_number, conjuncts
from heptox.grammar.term_paths import TermPaths, step_of
from heptox.pattern import (
    OPERATORS,
    TAG,
    Absence,
    Atom,
    Comparison,
    Constraints,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    NestedItem,
    NoNode,
    Number,
    Presence,
    Query,
    SameValue,
    Template,
    Term,
    Text,
    Variable,
    atom_terms,
    atom_variables,
    flipped,
    nested_items,
    template_terms,
    value_expression,
)
from heptox.schema import ANYWHERE, TEXT, Path
from heptox.xml import NO_PREFIXES, split_name

_Value: TypeAlias = syntax.PathExpression | syntax.TagValue


def render(query: Query, constraints: Constraints) -> syntax.Expression:
    """The query as an expression over documents that obey the constraints; ``()`` where it has no member.

    Lowering the result over the same tree gives an equivalent query.

    Raises :class:`GrammarError` (HX3051) where a copied subtree would be returned under another name.
    """
    expressions = tuple(_Rendering(member, constraints).expression() for member in query.members)
    return expressions[0] if len(expressions) == 1 else syntax.Sequence(expressions)


@dataclass
class _Rendering:
    """One member on its way to an expression."""

    member: Member
    constraints: Constraints
    leaf: tuple[Term, str] | None = None
    outer: dict[str, str] = field(default_factory=dict)
    """The names of the variables that the expression around this one has a clause for."""
    names: Counter[str] = field(default_factory=Counter)
    is_nested: bool = False
    together: bool = False
    """Whether documents are asked together, by the expression around this one or by one in it."""
    is_condition: bool = False
    """Whether there are to be no clauses: :meth:`existence` and :meth:`item` are asked."""

    def __post_init__(self) -> None:
        self._tree = self.constraints.tree
        self._variables = {variable.name: variable for variable in self.member.variables}
        self._roots = set(self.member.roots.values())
        self.together |= _asks_together(self.member)
        start = syntax.COLLECTION if self.together else "/"
        self._paths = TermPaths(self.constraints, self._variables, start)
        self._computed = ComputedTerms(self.member, self.constraints, self._paths)
        self._atoms: list[Atom] = []
        for atom in sorted(self.member.atoms, key=_reading_order):
            match atom:
                case Comparison("=", Term(variable, path), Text(value)) if (
                    path == (TAG,) and variable not in self.outer
                ):
                    self._paths.tags[variable] = value
                case _:
                    self._atoms.append(atom)
        self._paths.bound.update(self.outer)
        if not self.is_condition:
            self._choose()

    # -- which variables get a for clause ------------------------------------------------------------------------

    def _choose(self) -> None:
        in_template = {term.variable for term in template_terms(self.member.template)}
        leaf = self._final_leaf()
        if leaf is not None:
            in_template.discard(leaf.variable)
        sites: dict[str, list[Atom | None]] = {name: [] for name in self._variables}
        for atom in self._atoms:
            for name in atom_variables(atom):
                sites[name].append(atom)
        if leaf is not None:
            sites[leaf.variable].append(None)
        chosen: list[Variable] = []
        for variable in reversed(self.member.variables):
            if variable.name in self.outer or (variable.parent is None and not self.together):
                continue  # of the one document, each path says by itself that it begins there
            below = sites[variable.name]
            if variable.name in in_template or not self._folds(below):
                chosen.append(variable)
                below = [None]
            if variable.parent is not None:
                sites[variable.parent].extend(below or [None])
        for variable in reversed(chosen):
            self._paths.bound[variable.name] = self._name(variable)
        if leaf is not None:
            self.leaf = (leaf, self._fresh(_letter(self._leaf_step(leaf))))
        elif not chosen and not self.is_nested and (self._atoms or len(self._variables) > 1):
            last = self.member.variables[-1]  # conditions need a clause, though no item needs a variable
            self._paths.bound[last.name] = self._name(last)

    def _folds(self, sites: list[Atom | None]) -> bool:
        return not sites or (len(sites) == 1 and (sites[0] is None or _existential(sites[0])))

    def _final_leaf(self) -> Term | None:
        """The only term of an item, when it is best iterated over: it may be absent, or nothing else speaks of its
        node.
        """
        terms = list(template_terms(self.member.template))
        if (
            len(terms) != 1
            or terms[0].path == (TAG,)
            or value_expression(terms[0].path)
            or not _single_valued_item(self.member.template)
        ):
            return None
        term = terms[0]
        if Presence(term) in self._atoms:
            self._atoms.remove(Presence(term))
            return term
        spoken = any(term.variable in atom_variables(atom) for atom in self._atoms)
        above = any(variable.parent == term.variable for variable in self.member.variables)
        return None if spoken or above or not self._required(term) else term

    def _required(self, term: Term) -> bool:
        return self.constraints.required(self._variables[term.variable].node, term.path)

    def _name(self, variable: Variable) -> str:
        step = self._paths.tag(variable) or (variable.node[-1].strip("[]@") if variable.node else self._tree.root)
        return self._fresh(_letter(step))

    def _leaf_step(self, term: Term) -> str:
        node = (*self._variables[term.variable].node, *term.path)
        return next((step for step in reversed(node) if step != TEXT), self._tree.root)

    def _fresh(self, letter: str) -> str:
        self.names[letter] += 1
        return f"${letter}{self.names[letter] if self.names[letter] > 1 else ''}"

    # -- the expression ------------------------------------------------------------------------------------------

    def expression(self) -> syntax.Expression:
        waiting = list(self._atoms)
        clauses: list[syntax.For | syntax.Let] = []
        bound = self._paths.bound
        seen = (self._roots - bound.keys()) | self.outer.keys()
        for name in [each.name for each in self.member.variables if each.name in bound and each.name not in self.outer]:
            seen.add(name)
            clauses.append(self._clause(name, waiting, seen))
        if self.leaf is not None:
            term, leaf_name = self.leaf
            clauses.append(syntax.For(leaf_name, self._paths.path(term.variable, term.path)))
        conditions = [part for atom in waiting for part in conjuncts(self._condition(atom))] + self._existences()
        result = self._item(self.member.template)
        return (
            syntax.Flwor(tuple(clauses), syntax.conjunction(conditions), result)
            if clauses
            else _where(conditions, result)
        )

    def item(self) -> syntax.Expression:
        """The item of a match."""
        return self._item(self.member.template)

    def existence(self) -> list[syntax.Condition] | None:
        """The conditions that there is a match; ``None`` where that is more than what single paths lead to, or the item
        is of more than the match around it.
        """
        known = {*self.outer, *(() if self.together else self._roots)}
        if any(term.variable not in known for term in template_terms(self.member.template)):
            return None
        waiting = list(self._atoms)
        tops = [each for each in self.member.variables if each.name not in known and each.parent in known]
        paths = [self._leading(each, waiting, "") for each in tops]
        if all(known.issuperset(atom_variables(atom)) for atom in waiting):
            conditions = [part for atom in waiting for part in conjuncts(self._condition(atom))]
            return conditions + [syntax.Exists(path, spelled_out=False) for path in paths]
        return None

    def _leading(self, variable: Variable, waiting: list[Atom], context: str) -> syntax.PathExpression:
        """The path to some node of a variable, with what is said of it, and of those below it, as predicates."""
        path = self._paths.path(variable.name, (), context)
        bound, self._paths.bound = self._paths.bound, {**self._paths.bound, variable.name: "."}
        below = [each for each in self.member.variables if each.parent == variable.name]
        known = {*self.outer, variable.name}
        speaking = [atom for atom in waiting if variable.name in atom_variables(atom)]
        said = [atom for atom in speaking if known.issuperset(atom_variables(atom))]
        for atom in said:
            waiting.remove(atom)
        predicates = [part for atom in said for part in conjuncts(self._condition(atom, context=variable.name))]
        predicates += [syntax.Exists(self._leading(each, waiting, variable.name), spelled_out=False) for each in below]
        self._paths.bound = bound
        return syntax.with_predicates(path, predicates)

    def _clause(self, name: str, waiting: list[Atom], seen: set[str]) -> syntax.For:
        """The ``for`` of a variable, with the joins to what is bound before it as predicates of its last step."""
        variable = self._variables[name]
        own = self._paths.bound.pop(name)
        source = self._paths.path(name)
        self._paths.bound[name] = own
        if variable.parent is not None:
            joins = [atom for atom in waiting if self._joins(atom, name, seen)]
            for atom in joins:
                waiting.remove(atom)
            predicates = (part for atom in joins for part in conjuncts(self._condition(atom, context=name)))
            source = syntax.with_predicates(source, predicates)
        return syntax.For(own, source)

    def _joins(self, atom: Atom, name: str, seen: set[str]) -> bool:
        if not isinstance(atom, Comparison) or not isinstance(atom.right, Term) or atom.operator != "=":
            return False
        computed = [term for term in atom_terms(atom) if value_expression(term.path) is not None]
        if any(term.variable not in self._paths.bound for term in computed):
            return False  # it is a predicate of a path of its own, where the context node is another one
        anchors = {self._paths.anchor(term.variable) for term in atom_terms(atom)}
        return name in anchors and len(anchors) == 2 and anchors <= seen

    def _existences(self) -> list[syntax.Condition]:
        """Conditions for the variables that nothing else speaks of."""
        spoken = {name for atom in self._atoms for name in atom_variables(atom)} | set(self._paths.bound) | self._roots
        if self.leaf is not None:
            spoken.add(self.leaf[0].variable)
        for variable in reversed(self.member.variables):
            if variable.name in spoken and variable.parent is not None and variable.name not in self._paths.bound:
                spoken.add(variable.parent)
        lowest = [
            variable.name
            for variable in self.member.variables
            if variable.name not in spoken and not any(other.parent == variable.name for other in self.member.variables)
        ]
        return [syntax.Exists(self._paths.path(name), spelled_out=False) for name in lowest]

    def _condition(self, atom: Atom, context: str | None = None) -> syntax.Condition:
        if (computed := self._computed.condition(atom, partial(self._operand, context=context), context)) is not None:
            return computed
        match atom:
            case Comparison(operator, left, Number() as right) if self._is_varied(left):
                number = syntax.NumberLiteral(right.lexical)
                return self._of_one_value(left, lambda value: compared_as_number(operator, value, number))
            case Comparison(operator, left, Text(value)) if OPERATORS[operator].is_function:
                string = syntax.StringLiteral(value)
                return self._of_one_value(left, lambda one: syntax.Comparison(operator, one, string))
            case Comparison(operator, left, right):
                if context is not None and isinstance(right, Term) and self._paths.anchor(right.variable) == context:
                    operator, left, right = flipped(operator), right, left
                return syntax.Comparison(operator, self._operand(left, context), self._operand(right, context))
            case Presence(term):
                return syntax.Exists(self._paths.path(term.variable, term.path, context))
            case Absence(term):
                return syntax.Empty(self._paths.path(term.variable, term.path, context))
            case DeepEqual(left, right):
                paths = (self._paths.path(term.variable, term.path, context) for term in (left, right))
                return syntax.DeepEqual(*paths)
            case SameValue(left, right):
                return syntax.DeepEqual(*(self._atomised(term, context) for term in (left, right)))
            case NoNode():
                return syntax.Empty(self._nowhere(atom, context))

    def _atomised(self, term: Term, context: str | None) -> syntax.Data | syntax.TagValue:
        value = self._value_of(term, context)
        return value if isinstance(value, syntax.TagValue) else syntax.Data(value)

    def _nowhere(self, atom: NoNode, context: str | None) -> syntax.PathExpression:
        """The path to the nodes of which there is none, the tests as predicates of its last step."""
        value = next((wanted for path, wanted in atom.tests if path == (TAG,) and isinstance(wanted, Text)), None)
        tag = None if value is None else self._tree.tag_of_value(atom.node, value.value)
        steps = self._paths.steps_below(self._variables[atom.variable].node, atom.node, tag, negated=True)
        path = self._paths.path_by(atom.variable, steps, 0, context)
        tests = (self._test(atom.node, *test) for test in atom.tests if test != ((TAG,), value))
        return syntax.with_predicates(path, (test for test in tests if test is not None))

    def _test(self, node: Path, path: Path, wanted: Term | Text | None) -> syntax.Condition | None:
        """What a test says of the context node, a ``node`` of the schema, ``None`` where every node meets it."""
        if (computed := self._computed.test(node, path, wanted, self._operand)) is not None:
            return computed
        leaf = syntax.PathExpression(".", () if path == (TAG,) else tuple(self._paths.steps_to_leaf(node, path)))
        if wanted is None:
            return syntax.Exists(leaf, spelled_out=False) if leaf.steps else None
        left = syntax.TagValue(leaf) if path == (TAG,) else leaf
        return syntax.Comparison("=", left, self._operand(wanted))

    def _is_varied(self, term: Term) -> bool:
        return self.constraints.is_varied(self._variables[term.variable].node, term.path)

    def _of_one_value(self, term: Term, condition: Callable[[_Value], syntax.Condition]) -> syntax.Condition:
        """A condition that may be asked of one value only.

        From a variable that is bound to its node a term has one value at most; along another path it may have several.
        """
        if term.variable in self._paths.bound:
            return condition(self._value_of(term))
        path = self._paths.path(term.variable, term.path)
        tested = syntax.with_predicates(path, (condition(syntax.PathExpression(".")),))
        return syntax.Exists(tested, spelled_out=False)

    def _value_of(self, term: Term, context: str | None = None) -> _Value:
        if term.path == (TAG,):
            return syntax.TagValue(self._paths.path(term.variable, (), context))
        return self._paths.path(term.variable, term.path, context)

    def _operand(self, operand: Term | Text | Number, context: str | None = None) -> syntax.Operand:
        match operand:
            case Text(value):
                return syntax.StringLiteral(value)
            case Number(lexical):
                return syntax.NumberLiteral(lexical)
            case Term():
                return self._computed.operand(operand) or self._value_of(operand, context)

    # -- templates -----------------------------------------------------------------------------------------------

    def _value(self, term: Term | Text) -> syntax.Expression:
        if isinstance(term, Text):
            return syntax.StringLiteral(term.value)
        if self.leaf is not None and term == self.leaf[0]:
            return syntax.Data(syntax.PathExpression(self.leaf[1]))
        expression = value_expression(term.path)
        return self._atomised(term, None) if expression is None else self._computed.in_item(term).guarded(expression)

    def _item(self, template: Template) -> syntax.Expression:
        match template:
            case LeafItem("attribute", name, term):
                return syntax.AttributeConstructor(name, self._value(term))
            case LeafItem("text", _, term):
                return syntax.TextConstructor(self._value(term))
            case LeafItem("element", name, term):
                return syntax.ElementConstructor(name, (), (self._value(term),))
            case LeafItem("copy", name, Term() as term):
                return self._copied(name, term)
            case LeafItem(term=Term() as term) if (expression := value_expression(term.path)) is not None:
                return self._computed.in_item(term).string(expression)
            case LeafItem():
                return self._value(template.term)
            case ElementItem():
                return self._element(template)

    def _copied(self, name: str, term: Term) -> syntax.PathExpression:
        """A node of a copied subtree as it is. Its own name is the asker's, unless the two ends of the copy differ."""
        step = term.path[-1] if term.path else self._variables[term.variable].node[-1]
        if step.removeprefix(ANYWHERE).lstrip("@") != name:
            copy, first = NO_PREFIXES.written(name), NO_PREFIXES.written(step)
            message = (
                f"<{copy}> is a copy of <{first}>: returning it under the other name is not translated exactly yet"
            )
            raise GrammarError(Fault("HX3051", message, hint="ask for what is in it"))
        if self.leaf is not None and term == self.leaf[0]:
            return syntax.PathExpression(self.leaf[1])
        steps = [step_of(part) for part in term.path]  # to the texts themselves, where these are copied
        return self._paths.path_by(term.variable, steps, len(steps), None)

    def _element(self, element: ElementItem) -> syntax.ElementConstructor:
        attributes = tuple(
            syntax.DirectAttribute(
                attribute.name, tuple(part if isinstance(part, str) else self._value(part) for part in attribute.parts)
            )
            for attribute in element.attributes
        )
        content = [
            part
            for item in element.content
            for part in (self._nested(item) if isinstance(item, NestedItem) else (self._content(item),))
        ]
        return syntax.ElementConstructor(element.name, attributes, tuple(content))

    def _content(self, item: str | LeafItem | ElementItem) -> str | syntax.Expression:
        if isinstance(item, str):
            return item if item.strip(" \t\r\n") else syntax.StringLiteral(item)
        if isinstance(item, ElementItem):
            return self._element(item)
        if item.shape in ("value", "text"):
            return self._value(item.term)
        if item.shape == "copy" and isinstance(item.term, Term):
            return self._copied(item.name, item.term)
        if item.shape == "identity" and isinstance(item.term, Term):
            identity = syntax.NodeIdentity(self._paths.path(item.term.variable))
            return syntax.ElementConstructor(item.name, (), (identity,))
        if isinstance(item.term, Text):
            return syntax.AttributeConstructor(item.name, syntax.StringLiteral(item.term.value))
        return self._slot(item, item.term)

    def _nested(self, item: NestedItem) -> Iterator[syntax.Expression]:
        """What a nested part gathers, in an expression for each of its members."""
        bound = {name: self._paths.bound.get(node.variable) for name, node in item.bindings}
        outer = {name: known for name, known in bound.items() if known is not None}
        before: list[syntax.Condition] = []
        for member in item.members:
            inner = partial(
                _Rendering, member, self.constraints, None, outer, self.names, is_nested=True, together=self.together
            )
            conditions = inner(is_condition=True).existence() if item.single else None
            if conditions is None:
                yield inner().expression()
                continue
            yield _where([*before, *conditions], inner(is_condition=True).item())
            paths = [each.argument for each in conditions if isinstance(each, syntax.Exists)]
            if len(paths) == len(conditions) and not any(step.predicates for path in paths for step in path.steps):
                before += _none(paths)  # of what is there once, only one member makes it

    def _slot(self, item: LeafItem, term: Term) -> syntax.Expression:
        """A slot: the attribute itself where it has the asker's name, else a ``for`` over the leaf."""
        if value_expression(term.path) is not None and item.shape != "constructed":
            return self._computed.in_item(term).slot(term, lambda value: _made(item, value))
        if item.shape == "attribute" and term.path[-1:] == (f"@{item.name}",):
            return self._paths.path(term.variable, term.path)
        if item.shape == "constructed" or (item.shape == "attribute" and (term.path == (TAG,) or self._required(term))):
            return syntax.AttributeConstructor(item.name, self._value(term))
        variable = self._fresh(_letter(self._leaf_step(term)))
        value = syntax.Data(syntax.PathExpression(variable))
        return syntax.Flwor(
            (syntax.For(variable, self._paths.path(term.variable, term.path)),), None, _made(item, value)
        )


def _asks_together(member: Member) -> bool:
    """Whether a member, or one of a part in it, is of several documents."""
    inner = (each for part in nested_items(member.template) for each in part.members)
    return len(set(member.roots.values())) > 1 or any(map(_asks_together, inner))


def _none(paths: Sequence[syntax.PathExpression]) -> list[syntax.Condition]:
    """That not all of some paths lead somewhere."""
    nowhere = tuple(map(syntax.Empty, paths))
    return [syntax.Or(nowhere)] if len(nowhere) > 1 else list(nowhere)


def _where(conditions: Sequence[syntax.Condition], item: syntax.Expression) -> syntax.Expression:
    """An item that is there where conditions hold."""
    condition = syntax.conjunction(conditions)
    return item if condition is None else syntax.Conditional(condition, item)


def _made(item: LeafItem, value: syntax.Expression) -> syntax.Expression:
    """The attribute or element of a slot, with its value."""
    if item.shape == "attribute":
        return syntax.AttributeConstructor(item.name, value)
    return syntax.ElementConstructor(item.name, (), (value,))


def _existential(atom: Atom | None) -> bool:
    """Whether the atom says the same when its variable is only "some node"."""
    if isinstance(atom, Comparison):
        terms = atom_terms(atom)
        one = len(terms) == 1 or terms[0].variable != terms[1].variable
        computed = len(terms) > 1 and any(value_expression(term.path) is not None for term in terms)
        return one and not computed and all(term.path != (TAG,) for term in terms)
    return isinstance(atom, Presence)


def _single_valued_item(template: Template) -> bool:
    """Whether the item is one leaf and nothing else."""
    if isinstance(template, ElementItem):
        content = template.content
        return (
            not template.attributes
            and len(content) == 1
            and isinstance(content[0], LeafItem)
            and (content[0].shape == "value")
        )
    return isinstance(template, LeafItem)


def _reading_order(atom: Atom) -> tuple[int, str]:
    """Joins first, then selections, then what must be there or must not."""
    if isinstance(atom, Comparison):
        return (0 if isinstance(atom.right, Term) else 1, repr(atom))
    return (2 if isinstance(atom, Presence | Absence) else 3, repr(atom))


def _letter(step: str) -> str:
    name = split_name(step.lstrip("@"))[1]
    return name[0].lower() if name[:1].isascii() and name[:1].isalpha() else "v"
