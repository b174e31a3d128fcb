"""Filters cleaned against a schema: what they select, as paths of tags from the root with predicates.

Parent steps become predicates, ``*`` and ``//`` the tag paths that they stand for, up to where a tag comes again (the
paper on chunking, section 3, as ``chunking.md`` corrects it). On every document whose elements stand where the schema
allows them, the branches of a filter together select exactly what it selects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from heptox.filtering.expression import (
    ANY_ELEMENT,
    ANY_NODE,
    ANYWHERE,
    COMPARISONS,
    DOWNWARD,
    NO_NODE,
    UNION,
    Axis,
    Expression,
    Literal,
    LocationPath,
    Operation,
    Step,
    from_document,
    may_be_positional,
    print_steps,
    steps_along,
)
from heptox.filtering.requirements import Requirement, RequirementFinder, UnboundedError
from heptox.filtering.schema_steps import Budget, SchemaSteps, TagPath, TooManyPathsError

MOST_BRANCHES: Final = 200
"""How many branches one filter may have; with more it is evaluated as it stands."""

MOST_STEPS: Final = 100
"""How many steps a path may have that is said by branches."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The elements at a tag path that fulfil predicates, and, where there is a ``rest``, what that selects below them.

    ``predicates`` are those of each tag. ``anchor`` is the depth of the element in which all is that decides whether a
    node is selected, beside the start tags of ancestors; ``required`` are the nodes that have a say in that.
    """

    path: TagPath
    predicates: tuple[tuple[Expression, ...], ...]
    rest: tuple[Step, ...]
    anchor: int
    required: frozenset[Requirement]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps from the document on: one for each tag, and the rest."""
        return steps_along(self.path, self.predicates) + self.rest

    def __str__(self) -> str:
        return print_steps(self.steps, absolute=True)


@dataclass(frozen=True, slots=True)
class CleanedFilter:
    """A filter against a schema.

    ``branches`` is ``None`` for a filter that cannot be said by branches, and empty for one that selects nothing in any
    valid document. ``required`` are the nodes that its value depends on, ``None`` for all of them. What is said here
    holds where elements stand as the schema allows, if it ``relies_on_schema``, else in every document. ``expression``
    is the filter as it is given, its paths from the document on, or ``None`` for one with constructs of later versions
    than XPath 1.0; these are evaluated as they stand.
    """

    text: str
    expression: Expression | None
    branches: tuple[Branch, ...] | None
    required: frozenset[Requirement] | None
    relies_on_schema: bool

    @property
    def is_empty(self) -> bool:
        """Whether no valid document has what the filter selects."""
        return self.branches == ()

    def __str__(self) -> str:
        if self.branches:
            return " | ".join(map(str, self.branches))
        return self.text if self.expression is None else str(self.expression)


def clean(text: str, expression: Expression | None, schema: SchemaSteps) -> CleanedFilter:
    """The filter of a text, which reads as ``expression``, against a schema.

    >>> from heptox.filtering.reading import read_filter
    >>> from heptox.schema import parse_dtd
    >>> schema = SchemaSteps(parse_dtd('''<!ELEMENT a (b+)> <!ELEMENT b (l*, m*, k*)> <!ELEMENT l (c*)>
    ... <!ELEMENT m (c*, a*)> <!ELEMENT k (d*)> <!ELEMENT d EMPTY> <!ELEMENT c EMPTY>''', "a"))
    >>> for text in ("//d", "/a/b/*/c", "//d/.."): print(clean(text, read_filter(text), schema))
    /a/b/m/a//d | /a/b/k/d
    /a/b/l/c | /a/b/m/c
    /a/b/m/a/descendant-or-self::*[d] | /a/b/k[d]
    >>> clean("/a/d", read_filter("/a/d"), schema).is_empty
    True
    """
    if expression is None:
        return CleanedFilter(text, None, None, None, relies_on_schema=False)
    meant = from_document(expression)
    if schema.is_open:
        return CleanedFilter(text, meant, None, None, relies_on_schema=False)
    resolver = _Resolver(schema)
    try:
        branches = tuple(dict.fromkeys(resolver.branches(meant)))
    except (_UnresolvedError, UnboundedError, TooManyPathsError):
        required, relies = _required(meant, schema)
        return CleanedFilter(text, meant, None, required, relies)
    return CleanedFilter(text, meant, branches, _whole(branches), resolver.relies_on_schema)


def _required(expression: Expression, schema: SchemaSteps) -> tuple[frozenset[Requirement] | None, bool]:
    """What the value of an expression depends on, and whether that relies on the schema."""
    finder = RequirementFinder(schema, 0)
    try:
        finder.expression(expression)
    except (UnboundedError, TooManyPathsError):
        return None, False
    return frozenset(finder.found), finder.relies_on_schema


def _whole(branches: tuple[Branch, ...]) -> frozenset[Requirement]:
    """What all branches need, with what they select."""
    selected = frozenset(Requirement(branch.path, whole=True) for branch in branches)
    return selected.union(*(branch.required for branch in branches))


class _UnresolvedError(Exception):
    """A filter cannot be said by branches."""


@dataclass(frozen=True, slots=True)
class _Trail:
    """A tag path on the way, with the predicates of each tag."""

    path: TagPath = ()
    predicates: tuple[tuple[Expression, ...], ...] = ()

    def child(self, tag: str, predicates: tuple[Expression, ...] = ()) -> _Trail:
        return _Trail((*self.path, tag), (*self.predicates, predicates))

    def extended(self, path: TagPath) -> _Trail:
        """The trail that goes on to a longer path."""
        return _Trail(path, self.predicates + ((),) * (len(path) - len(self.path)))

    def filtered(self, predicates: tuple[Expression, ...]) -> _Trail:
        """The trail with more predicates at its end."""
        return replace(self, predicates=(*self.predicates[:-1], self.predicates[-1] + predicates))

    def risen(self, depth: int) -> _Trail:
        """The trail up to an ancestor, which has below it what the trail leads to."""
        if depth == len(self.path):
            return self
        below = steps_along(self.path[depth:], self.predicates[depth:])
        return _Trail(self.path[:depth], self.predicates[:depth]).filtered((LocationPath(False, below),))


class _Resolver:
    """Resolves location paths to branches."""

    def __init__(self, schema: SchemaSteps) -> None:
        self._schema = schema
        self._count = 0
        self._budget = Budget()
        self.relies_on_schema = False

    def branches(self, expression: Expression) -> Iterator[Branch]:
        """The branches of an expression. Raises :class:`_UnresolvedError` where it has none."""
        match expression:
            case LocationPath(steps=steps) if len(steps) <= MOST_STEPS:
                yield from self._resolved(_Trail(), steps)
            case Operation(symbol=symbol, operands=operands) if symbol == UNION:
                for each in operands:
                    yield from self.branches(each)
            case _:
                raise _UnresolvedError

    def _resolved(self, trail: _Trail, steps: tuple[Step, ...]) -> Iterator[Branch]:
        """The branches that steps lead to from a trail."""
        if not steps:
            yield from self._branch(trail, ())
            return
        step, after = steps[0], steps[1:]
        if step == ANYWHERE and after and after[0].axis in _EXPANDED and _is_of_elements(after[0]):
            yield from self._anywhere(trail, steps)
        elif (several := _as_anywhere(step)) is not None:
            yield from self._resolved(trail, several + after)
        elif step.axis is Axis.CHILD and (step.is_named or (step.test == ANY_ELEMENT and not step.is_positional)):
            yield from self._child(trail, step, after)
        elif step.axis is Axis.SELF and step.test not in _NOT_ELEMENTS and trail.path and not step.is_positional:
            if step.test in {ANY_ELEMENT, ANY_NODE, trail.path[-1]}:
                yield from self._resolved(trail.filtered(step.predicates), after)
        elif step.axis in _RISING and step.test not in _NOT_ELEMENTS and not step.is_positional:
            yield from self._rising(trail, step, after)
        else:
            yield from self._branch(trail, steps)

    def _anywhere(self, trail: _Trail, steps: tuple[Step, ...]) -> Iterator[Branch]:
        self.relies_on_schema = True
        for reached in self._schema.descend(trail.path, steps[1:]):
            self._budget.spend()
            there = trail.extended(reached.path)
            if reached.early:
                yield from self._branch(there, steps)
            else:
                yield from self._resolved(there, steps[1:])

    def _child(self, trail: _Trail, step: Step, after: tuple[Step, ...]) -> Iterator[Branch]:
        children = self._schema.children(trail.path)
        if not step.is_named:
            self.relies_on_schema = True
        elif step.test in children:
            children = (step.test,)
        else:
            self.relies_on_schema = True
            return
        for tag in children:
            if after and not self._schema.can_lead(after, tag):
                self.relies_on_schema = True
                continue
            there = trail.child(tag, step.predicates)
            if any(self._is_false(predicate, there.path) for predicate in step.predicates):
                self.relies_on_schema = True
                continue
            yield from self._resolved(there, after)

    def _rising(self, trail: _Trail, step: Step, after: tuple[Step, ...]) -> Iterator[Branch]:
        depth = len(trail.path)
        lowest = depth if step.axis is Axis.ANCESTOR_OR_SELF else depth - 1
        highest = max(depth - 1, 0) if step.axis is Axis.PARENT else 0
        for each in range(highest, lowest + 1):
            if not each:
                if step.test == ANY_NODE and after:
                    raise _UnresolvedError  # it leads on from the document, of which a trail knows no predicates
                continue  # the document itself is no fragment of it
            risen = trail.risen(each)
            if step.test in {ANY_ELEMENT, ANY_NODE, risen.path[-1]}:
                yield from self._resolved(risen.filtered(step.predicates), after)

    def _branch(self, trail: _Trail, rest: tuple[Step, ...]) -> Iterator[Branch]:
        """The branch at the end of a trail, if anything is selected there."""
        rest = _without_parents(rest)
        if not trail.path or any(step.axis not in DOWNWARD for step in rest):
            raise _UnresolvedError
        if not self._schema.can_lead(rest, trail.path[-1]):
            self.relies_on_schema = True
            return
        self._count += 1
        if self._count > MOST_BRANCHES:
            raise _UnresolvedError
        finder = RequirementFinder(self._schema, len(trail.path), self._budget)
        for depth, predicates in enumerate(trail.predicates, 1):
            finder.predicates(predicates, trail.path[:depth])
            if any(map(may_be_positional, predicates)):
                finder.siblings(trail.path[:depth])
        finder.steps(rest, trail.path)
        self.relies_on_schema |= finder.relies_on_schema
        yield Branch(trail.path, trail.predicates, rest, finder.anchor, frozenset(finder.found))

    def _is_false(self, predicate: Expression, path: TagPath) -> bool:
        """Whether a predicate is false of every element at a path, as the schema has no place for what it asks for."""
        match predicate:
            case LocationPath():
                return RequirementFinder(self._schema, 0, self._budget).leads_nowhere(predicate, path)
            case Operation(symbol="and", operands=operands):
                return any(self._is_false(each, path) for each in operands)
            case Operation(symbol="or", operands=operands):
                return all(self._is_false(each, path) for each in operands)
            case Operation(symbol=symbol, operands=operands) if symbol in COMPARISONS:
                # compared with nodes or constants; with a condition, no nodes would count as false
                is_plain = all(isinstance(each, LocationPath | Literal) for each in operands)
                return is_plain and any(
                    isinstance(each, LocationPath) and self._is_false(each, path) for each in operands
                )
            case _:
                return False


_NOT_ELEMENTS: Final = frozenset({"text()", NO_NODE})
_EXPANDED: Final = frozenset({Axis.CHILD, Axis.DESCENDANT, Axis.SELF})
_RISING: Final = frozenset({Axis.PARENT, Axis.ANCESTOR, Axis.ANCESTOR_OR_SELF})


def _without_parents(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps below an element, with predicates for steps to children and back.

    >>> below, back = Step(Axis.CHILD, "b"), Step(Axis.PARENT, ANY_NODE)
    >>> print_steps(_without_parents((ANYWHERE, below, back, Step(Axis.CHILD, "c"))), absolute=False)
    'descendant-or-self::*[b]/c'
    """
    made: list[Step] = []
    for step in steps:
        goes_back = step.axis is Axis.PARENT and step.test in {ANY_NODE, ANY_ELEMENT} and not step.is_positional
        if goes_back and len(made) > 1 and made[-1].axis is Axis.CHILD and made[-1].test not in _NOT_ELEMENTS:
            predicates = (LocationPath(False, (made.pop(),)), *step.predicates)
            before = made.pop()
            test = ANY_ELEMENT if before == ANYWHERE else before.test
            made.append(replace(before, test=test, predicates=before.predicates + predicates))
        else:
            made.append(step)
    return tuple(made)


def _is_of_elements(step: Step) -> bool:
    """Whether the test of a step is one that only elements fulfil, where it does not lead to attributes."""
    return step.is_named or step.test == ANY_ELEMENT


def _as_anywhere(step: Step) -> tuple[Step, ...] | None:
    """A step to descendants as ``//`` and a step to children, or to what is found itself, where that is the same."""
    if step.is_positional or not _is_of_elements(step):
        return None
    if step.axis is Axis.DESCENDANT:
        return ANYWHERE, replace(step, axis=Axis.CHILD)
    if step.axis is Axis.DESCENDANT_OR_SELF:
        return ANYWHERE, replace(step, axis=Axis.SELF)
    return None
