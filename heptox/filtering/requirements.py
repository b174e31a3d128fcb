"""Which nodes of a document an expression looks at: all else may be missing, and its value is the same.

This is projection (Marian and Siméon, *Projecting XML Documents*, 2003) by tag paths that a schema resolves, and says
besides how much of a document has to be seen at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from heptox.filtering.expression import (
    ANY_ELEMENT,
    ANY_NODE,
    ANYWHERE,
    NO_NODE,
    UNION,
    Axis,
    Call,
    Expression,
    Literal,
    LocationPath,
    Operation,
    Selection,
    Step,
)
from heptox.filtering.schema_steps import MOST_PATHS, Budget, SchemaSteps, TagPath, TooManyPathsError


class UnboundedError(Exception):
    """An expression may look at anything."""


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """The elements at a tag path: their start tags with attributes, or all of them where they are needed ``whole``."""

    path: TagPath
    whole: bool


class Use(Enum):
    """What is done with nodes: it is asked whether, or how many, are there, or they are looked into."""

    COUNTED = auto()
    READ = auto()


class _Kind(Enum):
    ELEMENT = auto()
    WITHIN = auto()
    """Any node in the subtree of an element, itself included."""
    ATTRIBUTE = auto()
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class _NodePosition:
    """Where nodes are: of or at the element at ``path``.

    ``turn`` is the depth of the highest element that was passed on the way from where the expression begins.
    """

    path: TagPath
    turn: int
    kind: _Kind = _Kind.ELEMENT

    @property
    def is_passed(self) -> bool:
        """Whether it is an ancestor of where the expression begins, or that itself: they are always there."""
        return self.kind is not _Kind.WITHIN and len(self.path) <= self.turn


class RequirementFinder:
    """Finds what expressions need that begin at elements of given tag paths; it gathers all that it finds.

    ``anchor`` is the depth of the element in which all is that was needed so far, beside ancestors; the document has
    depth 0. ``relies_on_schema`` says whether that is so only in documents whose elements stand where the schema
    allows them.
    """

    def __init__(self, schema: SchemaSteps, anchor: int, budget: Budget | None = None) -> None:
        self._schema = schema
        self.anchor = anchor
        self.relies_on_schema = False
        self.found: set[Requirement] = set()
        self._budget = budget or Budget()

    def predicates(self, predicates: Iterable[Expression], path: TagPath) -> None:
        """What predicates need of an element.

        Raises :class:`UnboundedError`, as all others here.
        """
        for predicate in predicates:
            self._expression(predicate, frozenset({_NodePosition(path, len(path))}), Use.COUNTED)

    def siblings(self, path: TagPath) -> None:
        """Elements whose positions below their parents matter."""
        self.found.add(Requirement(path, whole=False))
        self.anchor = min(self.anchor, len(path) - 1)

    def steps(self, steps: tuple[Step, ...], path: TagPath) -> None:
        """What the predicates of steps need that lead on from an element."""
        self._walk(steps, frozenset({_NodePosition(path, len(path))}))

    def expression(self, expression: Expression) -> None:
        """What an expression needs whose context is the document, its result included."""
        self.anchor = 0
        self._expression(expression, frozenset({_NodePosition((), 0)}), Use.READ)

    def leads_nowhere(self, path: LocationPath, context: TagPath) -> bool:
        """Whether a path selects nothing from an element in any valid document."""
        apart = RequirementFinder(self._schema, self.anchor, self._budget)
        try:
            return not apart._led(path, frozenset({_NodePosition(context, len(context))}))
        except (UnboundedError, TooManyPathsError):
            return False

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self, expression: Expression, contexts: frozenset[_NodePosition], use: Use) -> None:
        match expression:
            case Literal():
                pass
            case LocationPath() | Selection() | Operation(symbol="|"):
                self._use(self._led(expression, contexts), use)
            case Operation(symbol=symbol, operands=operands):
                inner = Use.COUNTED if symbol in {"and", "or"} else Use.READ
                for each in operands:
                    self._expression(each, contexts, inner)
            case Call():
                self._call(expression, contexts)

    def _call(self, call: Call, contexts: frozenset[_NodePosition]) -> None:
        if call.name not in _KNOWN_FUNCTIONS:
            raise UnboundedError
        if call.name in _OF_CONTEXT and not call.arguments:
            self._use(contexts, Use.READ)
        for each in call.arguments:
            self._expression(each, contexts, Use.COUNTED if call.name in _COUNTING else Use.READ)

    def _led(self, expression: Expression, contexts: frozenset[_NodePosition]) -> frozenset[_NodePosition]:
        """Where the nodes are that an expression selects."""
        match expression:
            case LocationPath(absolute=absolute, steps=steps):
                return self._walk(steps, frozenset({_NodePosition((), 0)}) if absolute else contexts)
            case Operation(symbol=symbol, operands=operands) if symbol == UNION:
                return frozenset().union(*(self._led(each, contexts) for each in operands))
            case Selection(origin=origin, predicates=predicates, steps=steps):
                return self._walk(steps, self._selected(self._led(origin, contexts), predicates))
            case _:
                raise UnboundedError

    def _use(self, places: Iterable[_NodePosition], use: Use) -> None:
        for place in places:
            whole = place.kind in {_Kind.WITHIN, _Kind.TEXT} or (use is Use.READ and place.kind is _Kind.ELEMENT)
            if place.is_passed and not whole:
                continue
            self.found.add(Requirement(self._of_element(place.path), whole))
            self.anchor = min(self.anchor, place.turn)

    def _of_element(self, path: TagPath) -> TagPath:
        """The path, that of the root for the document."""
        if not path:
            self.relies_on_schema = True
        return path or self._schema.children(())

    # -- steps --------------------------------------------------------------------------------------------------------

    def _walk(self, steps: tuple[Step, ...], places: frozenset[_NodePosition]) -> frozenset[_NodePosition]:
        for number, step in enumerate(steps):
            after = steps[number + 1 :]
            if step.axis in _UPWARD or step.axis in _SIBLINGS:
                self._use(places, Use.COUNTED)  # of what is left, nothing else would tell that it was there
            if step == ANYWHERE and after:
                led = frozenset(found for place in places for found in self._anywhere(place, after))
            else:
                led = frozenset(found for place in places for found in self._step(place, step))
            places = self._selected(led, step.predicates)
            if len(places) > MOST_PATHS:
                raise TooManyPathsError
        return places

    def _selected(
        self, places: frozenset[_NodePosition], predicates: tuple[Expression, ...]
    ) -> frozenset[_NodePosition]:
        """The places of those that predicates select; which of them are there may matter to all of these."""
        if predicates:
            self._use(places, Use.COUNTED)
        for predicate in predicates:
            self._expression(predicate, places, Use.COUNTED)
        return places

    def _anywhere(self, place: _NodePosition, after: tuple[Step, ...]) -> Iterator[_NodePosition]:
        """The elements below a place, itself included, from which other steps lead on."""
        if place.kind is not _Kind.ELEMENT:
            yield place
            return
        self.relies_on_schema = True
        for reached in self._schema.descend(place.path, after):
            self._budget.spend()
            yield replace(place, path=reached.path, kind=_Kind.WITHIN if reached.early else _Kind.ELEMENT)

    def _step(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        match place.kind:
            case _Kind.WITHIN:
                yield from self._from_within(place, step)
            case _Kind.ELEMENT:
                yield from self._from_element(place, step)
            case _:
                yield from self._from_leaf(place, step)

    def _from_element(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        path = place.path
        match step.axis:
            case Axis.CHILD:
                yield from self._children(place, step)
            case Axis.ATTRIBUTE:
                if path:
                    yield replace(place, kind=_Kind.ATTRIBUTE)
            case Axis.DESCENDANT | Axis.DESCENDANT_OR_SELF:
                yield from self._descendants(place, step)
            case Axis.SELF:
                if _matches(path, step.test):
                    yield place
            case Axis.PARENT | Axis.ANCESTOR | Axis.ANCESTOR_OR_SELF:
                yield from self._upwards(place, step)
            case Axis.FOLLOWING_SIBLING | Axis.PRECEDING_SIBLING:
                if path:
                    yield from self._children(_risen(place, len(path) - 1), step)
            case _:
                raise UnboundedError

    def _children(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        path = place.path
        if step.is_named:
            if step.test in self._schema.children(path):
                yield replace(place, path=(*path, step.test))
            else:
                self.relies_on_schema = True
            return
        if step.test in {ANY_NODE, ANY_ELEMENT}:
            self.relies_on_schema = True
            yield from (replace(place, path=(*path, child)) for child in self._schema.children(path))
        if step.test in {ANY_NODE, "text()"} and path:
            yield replace(place, kind=_Kind.TEXT)

    def _descendants(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        if step.test in {ANY_NODE, "text()"}:
            yield replace(place, path=self._of_element(place.path), kind=_Kind.WITHIN)
            return
        if step.test == NO_NODE:
            return
        for found in self._anywhere(place, (Step(Axis.SELF, step.test),)):
            is_itself = found.path == place.path and found.kind is _Kind.ELEMENT
            if found.kind is _Kind.WITHIN or (
                _matches(found.path, step.test) and not (is_itself and step.axis is Axis.DESCENDANT)
            ):
                yield found

    def _upwards(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        depth = len(place.path)
        highest = max(depth - 1, 0) if step.axis is Axis.PARENT else 0
        lowest = depth if step.axis is Axis.ANCESTOR_OR_SELF else depth - 1
        for each in range(highest, lowest + 1):
            risen = _risen(place, each)
            if _matches(risen.path, step.test):
                yield risen

    def _from_within(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        yield place
        if step.axis in _UPWARD or step.axis in _SIBLINGS:
            yield from self._from_element(replace(place, kind=_Kind.ELEMENT), step)
        elif step.axis in {Axis.FOLLOWING, Axis.PRECEDING}:
            raise UnboundedError

    def _from_leaf(self, place: _NodePosition, step: Step) -> Iterator[_NodePosition]:
        """From attributes and texts of an element."""
        element = replace(place, kind=_Kind.ELEMENT)
        if step.axis is Axis.SELF or step.axis is Axis.DESCENDANT_OR_SELF:
            yield place
        elif step.axis is Axis.PARENT:
            if _matches(element.path, step.test):
                yield element
        elif step.axis in _UPWARD:
            yield from self._upwards(element, replace(step, axis=Axis.ANCESTOR_OR_SELF))
            if step.axis is Axis.ANCESTOR_OR_SELF:
                yield place
        elif step.axis in _SIBLINGS or step.axis in {Axis.FOLLOWING, Axis.PRECEDING}:
            raise UnboundedError


_UPWARD: Final = frozenset({Axis.PARENT, Axis.ANCESTOR, Axis.ANCESTOR_OR_SELF})
_SIBLINGS: Final = frozenset({Axis.FOLLOWING_SIBLING, Axis.PRECEDING_SIBLING})
_COUNTING: Final = frozenset({"count", "not", "boolean", "name", "local-name", "namespace-uri"})
_OF_CONTEXT: Final = frozenset({"string", "string-length", "normalize-space", "number"})
_KNOWN_FUNCTIONS: Final = (
    _COUNTING
    | _OF_CONTEXT
    | {"position", "last", "true", "false", "sum", "floor", "ceiling", "round", "contains", "starts-with", "concat"}
    | {"substring", "substring-before", "substring-after", "translate"}
)


def _risen(place: _NodePosition, depth: int) -> _NodePosition:
    return _NodePosition(place.path[:depth], min(place.turn, depth))


def _matches(path: TagPath, test: str) -> bool:
    """Whether the element at a path, or the document, fulfils the test of a step."""
    if test == ANY_NODE:
        return True
    return bool(path) and test in {ANY_ELEMENT, path[-1]}
