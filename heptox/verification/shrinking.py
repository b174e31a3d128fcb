"""Smaller queries and smaller documents, each one step smaller: what a counterexample is shrunk by."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from heptox.grammar import Expression, syntax
from heptox.xml import Document, XmlElement

PLAIN: Final = ("", "a")
"""Values that are not made plainer."""

_Item = TypeVar("_Item")


def smaller_queries(expression: Expression) -> Iterator[Expression]:
    """Queries with one part less: a clause, a condition, a predicate, an item, a slot; the greatest parts first.

    Some of them bind no longer what they use, and are none.

    >>> from heptox.grammar import parse_query, print_query
    >>> [print_query(smaller) for smaller in smaller_queries(parse_query("//a[b = 'x']/c"))]
    ['//a/c', '//a[b]/c']
    """
    match expression:
        case syntax.Sequence(items):
            yield from items
            yield from (syntax.Sequence(less) for less in _changed(items, smaller_queries))
        case syntax.Flwor():
            yield from _smaller_flwor(expression)
        case syntax.ElementConstructor(name, attributes, content):
            yield from (item for item in content if not isinstance(item, str))
            yield from (syntax.ElementConstructor(name, attributes, less) for less in _without_one(content))
            yield from (syntax.ElementConstructor(name, less, content) for less in _without_one(attributes))
            yield from (syntax.ElementConstructor(name, attributes, less) for less in _changed(content, _smaller_part))
        case syntax.AttributeConstructor(value=value) | syntax.TextConstructor(value=value):
            yield value
        case syntax.Data(argument):
            yield argument
            yield from map(syntax.Data, smaller_paths(argument))
        case syntax.PathExpression():
            yield from smaller_paths(expression)


def _smaller_part(part: str | Expression) -> Iterator[str | Expression]:
    if not isinstance(part, str):
        yield from smaller_queries(part)


def _smaller_flwor(flwor: syntax.Flwor) -> Iterator[Expression]:
    if len(flwor.clauses) > 1:
        yield from (replace(flwor, clauses=less) for less in _without_one(flwor.clauses))
    if flwor.where is not None:
        yield replace(flwor, where=None)
        yield from (replace(flwor, where=less) for less in smaller_conditions(flwor.where))
    if flwor.order:
        yield replace(flwor, order=())
    for clauses in _changed(flwor.clauses, _smaller_clause):
        yield replace(flwor, clauses=clauses)
    yield from (replace(flwor, result=less) for less in smaller_queries(flwor.result))


def _smaller_clause(clause: syntax.For | syntax.Let) -> Iterator[syntax.For | syntax.Let]:
    yield from (replace(clause, source=less) for less in smaller_paths(clause.source))


def smaller_conditions(condition: syntax.Condition) -> Iterator[syntax.Condition]:
    """Conditions with one part less; of a comparison only that its path exists."""
    match condition:
        case syntax.And(conditions) | syntax.Or(conditions):
            kind = type(condition)
            yield from conditions
            if len(conditions) > 2:
                yield from map(kind, _without_one(conditions))
            yield from (kind(less) for less in _changed(conditions, _flat_smaller))
        case syntax.Comparison(operator, left, right):
            sides = (side.argument if isinstance(side, syntax.NumberValue) else side for side in (left, right))
            yield from (syntax.Exists(side, False) for side in sides if isinstance(side, syntax.PathExpression))
            yield from (syntax.Comparison(operator, less, right) for less in _smaller_operands(left))
            yield from (syntax.Comparison(operator, left, less) for less in _smaller_operands(right))
        case syntax.Exists(argument, spelled_out):
            yield from (syntax.Exists(less, spelled_out) for less in smaller_paths(argument))


def _smaller_operands(operand: syntax.Operand) -> Iterator[syntax.Operand]:
    match operand:
        case syntax.PathExpression():
            yield from smaller_paths(operand)
        case syntax.NumberValue(syntax.PathExpression() as path):
            yield from map(syntax.NumberValue, smaller_paths(path))
        case syntax.FunctionCall(_, arguments):
            yield from (argument for argument in arguments if isinstance(argument, syntax.PathExpression))
            for less in _changed(arguments, _smaller_arguments):
                yield replace(operand, arguments=less)


def _smaller_arguments(argument: syntax.Argument) -> Iterator[syntax.Argument]:
    match argument:
        case syntax.PathExpression():
            yield from smaller_paths(argument)
        case syntax.FunctionCall(_, arguments):
            yield from arguments


def _flat_smaller(condition: syntax.Condition) -> Iterator[syntax.Condition]:
    """Smaller conditions that may stand where ``condition`` stands: no ``and`` in an ``and``."""
    for less in smaller_conditions(condition):
        if not isinstance(less, syntax.And | syntax.Or):
            yield less


def smaller_paths(path: syntax.PathExpression) -> Iterator[syntax.PathExpression]:
    """The path with one predicate less, or with a smaller one."""
    for place, step in enumerate(path.steps):
        for predicates in (*_without_one(step.predicates), *_changed(step.predicates, smaller_conditions)):
            steps = (*path.steps[:place], replace(step, predicates=predicates), *path.steps[place + 1 :])
            yield replace(path, steps=steps)


def _without_one(items: Sequence[_Item]) -> Iterator[tuple[_Item, ...]]:
    for place in range(len(items)):
        yield (*items[:place], *items[place + 1 :])


def _changed(items: Sequence[_Item], smaller: Callable[[_Item], Iterator[_Item]]) -> Iterator[tuple[_Item, ...]]:
    for place, item in enumerate(items):
        for less in smaller(item):
            yield (*items[:place], less, *items[place + 1 :])


def smaller_documents(document: Document) -> Iterator[Document]:
    """Documents with one element or attribute less, large elements first, then with one value made plain.

    They need not be valid.

    >>> from heptox.xml import parse_document, write_element
    >>> for smaller in smaller_documents(parse_document('<a><b c="x"/></a>')):
    ...     print(write_element(smaller.root))
    <a/>
    <a><b/></a>
    <a><b c="a"/></a>
    """
    elements = list(document.root.iter())
    places = sorted(range(1, len(elements)), key=lambda place: -sum(1 for _ in elements[place].iter()))
    for place in places:
        smaller, element = _copied(document, place)
        above = element.getparent()
        assert above is not None  # the root stays
        above.remove(element)
        yield smaller
    for place, original in enumerate(elements):
        for name in original.attrib:
            smaller, element = _copied(document, place)
            del element.attrib[name]
            yield smaller
    for place, original in enumerate(elements):
        for name, value in original.attrib.items():
            if value not in PLAIN:
                smaller, element = _copied(document, place)
                element.set(name, "a")
                yield smaller
        if original.text and original.text not in PLAIN:
            smaller, element = _copied(document, place)
            element.text = "a"
            yield smaller


def _copied(document: Document, place: int) -> tuple[Document, XmlElement]:
    """A copy of the document, and the element of it at a place in document order."""
    root = copy.deepcopy(document.root)
    return Document(root, document.file), list(root.iter())[place]
