"""The syntax tree of the query fragment. ``query.lark`` is its specification; ``parse(print(x)) == x``.

A position is where a node was written; they take no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Final, Literal, TypeAlias

from heptox.errors import Position
from heptox.pattern import Operator


@dataclass(frozen=True, slots=True)
class Node:
    """What all nodes share: where they begin in the text, ``None`` for nodes that were not parsed."""

    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Step(Node):
    """``/name``, ``//name``, ``/@name``, ``/*``, ``/text()``, ``/(a | b)`` or ``/(* except (a | b))``, with predicates.

    ``axis`` ``descendant`` is the abbreviation ``//``; ``names`` holds the alternatives of the node test, attribute
    names without their ``@``; ``("*",)`` is the wildcard and ``("text()",)`` the text test.

    ``//@id`` is a descendant step ``*`` of axis ``descendant-or-self`` before an attribute step: it is written with
    ``axis="descendant-attribute"``.

    ``excluded`` are names of children that a wildcard of the axis ``child`` does not stand for.
    """

    axis: Literal["child", "descendant", "attribute", "descendant-attribute"]
    names: tuple[str, ...]
    predicates: tuple[Condition, ...] = ()
    excluded: tuple[str, ...] = ()


COLLECTION: Final = "collection()"
"""The start of a path from all documents of a peer together."""


@dataclass(frozen=True, slots=True)
class PathExpression(Node):
    """Steps from a variable (``$v/a``), from the document (``/a``, ``//a``: ``start`` is ``"/"``), from all documents
    (``start`` is :data:`COLLECTION`), or, in a predicate, from the context node (``@a``, ``a/b``, ``.``: ``start`` is
    ``"."``). ``start`` of a variable is its name with the ``$``. A path from documents has at least one step.
    """

    start: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class StringLiteral(Node):
    value: str


@dataclass(frozen=True, slots=True)
class NumberLiteral(Node):
    """A number as it was written, with its sign if any."""

    lexical: str


@dataclass(frozen=True, slots=True)
class Data(Node):
    """``data(path)``."""

    argument: PathExpression


@dataclass(frozen=True, slots=True)
class NodeIdentity(Node):
    """``generate-id(path)`` of one node: a text that tells it from all others. It is all that an element holds."""

    argument: PathExpression


@dataclass(frozen=True, slots=True)
class TagValue(Node):
    """The value behind the tag of a box node, ``$v`` or ``.``, in its one fixed printed form."""

    argument: PathExpression


@dataclass(frozen=True, slots=True)
class NumberValue(Node):
    """``number(argument)``: NaN where there is no value, or none that is a number, so that comparing it never raises.

    An operand that a number literal is compared with, by an operator other than ``!=`` (NaN differs from everything).
    """

    argument: PathExpression | Data | TagValue | FunctionCall | Conditional | Switch


@dataclass(frozen=True, slots=True)
class FunctionCall(Node):
    """A function of values: ``upper-case($b/title)``, also one that is written as an operator, ``$a/x || "."``."""

    function: str
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``if (condition) then value else otherwise``; ``None`` is ``()``."""

    condition: Condition
    value: Expression
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class Case(Node):
    """``case "code" return "value"``."""

    code: str
    value: str


@dataclass(frozen=True, slots=True)
class Switch(Node):
    """``switch (argument) case "a" return "x" ... default return otherwise``; ``None`` is ``()``."""

    argument: Argument
    cases: tuple[Case, ...]
    otherwise: Argument | None = None


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """A general comparison."""

    operator: Operator
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Exists(Node):
    """``exists(path)``, or a bare path as a condition (``spelled_out`` false)."""

    argument: PathExpression
    spelled_out: bool = True


@dataclass(frozen=True, slots=True)
class Empty(Node):
    """``empty(path)`` or ``not(path)``, which mean the same for a path; printed as ``empty``.

    Its last step that repeats may have predicates that compare by ``=`` with what is outside, or ask for presence.
    """

    argument: PathExpression


@dataclass(frozen=True, slots=True)
class DeepEqual(Node):
    """``deep-equal(left, right)`` of the nodes of two paths, or of two values, each of which may be absent:
    ``deep-equal(data($a/x), data($b/y))``. Never of a node and a value.
    """

    left: PathExpression | Data | TagValue
    right: PathExpression | Data | TagValue


@dataclass(frozen=True, slots=True)
class And(Node):
    """Two or more conditions that all hold; no member is an ``And`` itself."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """Two or more conditions of which one holds; no member is an ``Or`` itself."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for $variable in source``; the variable's name has its ``$``."""

    variable: str
    source: PathExpression


@dataclass(frozen=True, slots=True)
class Let(Node):
    """``let $variable := source``."""

    variable: str
    source: PathExpression


@dataclass(frozen=True, slots=True)
class OrderKey(Node):
    """One key of ``order by``."""

    key: PathExpression | Data
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Flwor(Node):
    """``for``/``let`` clauses (at least one), an optional condition and order, and what is returned.

    ``RETURN {expression}``, the report's spelling, is read as ``return expression``.
    """

    clauses: tuple[For | Let, ...]
    where: Condition | None
    result: Expression
    order: tuple[OrderKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """``(a, b)``; without items ``()``. Never one item."""

    items: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeConstructor(Node):
    """``attribute name {expression}``."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class TextConstructor(Node):
    """``text {expression}``."""

    value: Expression


@dataclass(frozen=True, slots=True)
class DirectAttribute(Node):
    """``name="..."`` in a direct constructor: literal strings (entities resolved) and enclosed expressions in order."""

    name: str
    parts: tuple[str | Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class ElementConstructor(Node):
    """``<name a="...">...</name>``: content is literal strings (boundary whitespace gone, entities resolved), enclosed
    expressions and nested constructors in order; no two strings stand side by side.
    """

    name: str
    attributes: tuple[DirectAttribute, ...] = ()
    content: tuple[str | Expression, ...] = ()


Function: TypeAlias = FunctionCall | Conditional | Switch
"""What is computed from values."""
Argument: TypeAlias = PathExpression | Data | StringLiteral | NumberLiteral | FunctionCall | Conditional | Switch
Operand: TypeAlias = (
    PathExpression | Data | TagValue | NumberValue | StringLiteral | NumberLiteral | FunctionCall | Conditional | Switch
)
Condition: TypeAlias = Comparison | Exists | Empty | DeepEqual | And | Or | FunctionCall
Expression: TypeAlias = (
    Flwor
    | PathExpression
    | Data
    | NodeIdentity
    | TagValue
    | StringLiteral
    | NumberLiteral
    | Sequence
    | AttributeConstructor
    | TextConstructor
    | ElementConstructor
    | FunctionCall
    | Conditional
    | Switch
)


_NO_NODES: Final = ("str", "bool", "tuple[str, ...]", "Operator")


@cache
def _parts_backwards(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node in which others may stand."""
    types = {part.name: str(part.type) for part in fields(kind)}
    parts: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]  # all but the position
    return tuple(part for part in reversed(parts) if types[part] not in _NO_NODES)


def nodes(value: object) -> Iterator[Node]:
    """All nodes of a syntax tree, each before those in it.

    >>> [type(node).__name__ for node in nodes(Data(PathExpression("$x")))]
    ['Data', 'PathExpression']
    """
    waiting = [value]
    while waiting:
        following = waiting.pop()
        if isinstance(following, Node):
            yield following
            waiting += [getattr(following, name) for name in _parts_backwards(type(following))]  # type: ignore[arg-type]
        elif isinstance(following, tuple):
            waiting += reversed(following)


def values(function: Function) -> Iterator[Condition | Expression]:
    """What a function is made of."""
    match function:
        case FunctionCall(_, arguments):
            yield from arguments
        case Conditional(condition, value, otherwise):
            yield from (condition, value) if otherwise is None else (condition, value, otherwise)
        case Switch(argument, _, otherwise):
            yield from (argument,) if otherwise is None else (argument, otherwise)


def collections(expression: Expression) -> Iterator[PathExpression]:
    """The paths of an expression that begin with ``collection()``: what it asks of several documents together."""
    return (node for node in nodes(expression) if isinstance(node, PathExpression) and node.start == COLLECTION)


def absolute_elsewhere(expression: Expression) -> Iterator[PathExpression]:
    """The absolute paths in predicates of paths from the collection, also by way of variables: there they begin at the
    document of the node that the predicate is asked of, and elsewhere at the one that the query is asked of.

    >>> here = PathExpression("/", (Step("child", ("a",)),))
    >>> asked = PathExpression(COLLECTION, (Step("child", ("b",), (Exists(here, spelled_out=False),)),))
    >>> list(absolute_elsewhere(asked)) == [here], list(absolute_elsewhere(here))
    (True, [])
    """
    yield from _absolute_elsewhere(expression, {}, elsewhere=False)


def _absolute_elsewhere(value: object, variables: Mapping[str, bool], *, elsewhere: bool) -> Iterator[PathExpression]:
    """As :func:`absolute_elsewhere`; which ``variables`` are, and whether the context node is, of the collection."""
    if isinstance(value, tuple):
        for part in value:
            yield from _absolute_elsewhere(part, variables, elsewhere=elsewhere)
    elif isinstance(value, PathExpression):
        if value.start == "/" and elsewhere:
            yield value
        from_there = variables.get(value.start, elsewhere if value.start == "." else value.start == COLLECTION)
        predicates = tuple(step.predicates for step in value.steps)
        yield from _absolute_elsewhere(predicates, variables, elsewhere=from_there)
    elif isinstance(value, Flwor):
        bound = dict(variables)
        for clause in value.clauses:
            source = clause.source
            yield from _absolute_elsewhere(source, bound, elsewhere=elsewhere)
            bound[clause.variable] = bound.get(source.start, source.start == COLLECTION)
        yield from _absolute_elsewhere((value.where, value.order, value.result), bound, elsewhere=elsewhere)
    elif isinstance(value, Node):
        parts: tuple[str, ...] = type(value).__match_args__
        yield from _absolute_elsewhere(tuple(getattr(value, name) for name in parts), variables, elsewhere=elsewhere)


def has_context(expression: Expression) -> bool:
    """Whether an expression is asked of each document by itself: it has an absolute path, or none from documents."""
    starts = {node.start for node in nodes(expression) if isinstance(node, PathExpression)}
    return "/" in starts or COLLECTION not in starts


def with_predicates(path: PathExpression, predicates: Iterable[Condition]) -> PathExpression:
    """The path whose last step has more predicates."""
    last = path.steps[-1]
    return replace(path, steps=(*path.steps[:-1], replace(last, predicates=(*last.predicates, *predicates))))


def conjunction(conditions: Iterable[Condition]) -> Condition | None:
    """That all of some conditions hold; ``None`` where there are none."""
    several = tuple(conditions)
    return And(several) if len(several) > 1 else next(iter(several), None)
