"""Syntax tree of the query fragment -> text, in standard XQuery 3.1 (``parse_query(print_query(x)) == x``)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from heptox.grammar.function_kinds import OPERATORS as OPERATORS_OF_VALUES, may_fail
from heptox.grammar.query import (
    And,
    AttributeConstructor,
    Comparison,
    Condition,
    Conditional,
    Data,
    DeepEqual,
    DirectAttribute,
    ElementConstructor,
    Empty,
    Exists,
    Expression,
    Flwor,
    For,
    FunctionCall,
    Let,
    NodeIdentity,
    NumberLiteral,
    NumberValue,
    Operand,
    Or,
    OrderKey,
    PathExpression,
    Sequence,
    Step,
    StringLiteral,
    Switch,
    TagValue,
    TextConstructor,
)
from heptox.grammar.query_prolog import element_and_attribute_names, prolog, written_query
from heptox.grammar.tag_value import tag_value_form
from heptox.pattern import OPERATORS
from heptox.xml import NO_PREFIXES, Prefixes

WIDTH: Final = 100
"""What is longer does not stay on one line, where it can be broken."""

_REFERENCES: Final = {"&": "&amp;", "\n": "&#xA;", "\r": "&#xD;"}
_IN_STRING: Final = str.maketrans({**_REFERENCES, '"': '""'})
_IN_CONTENT: Final = str.maketrans({**_REFERENCES, "<": "&lt;", "{": "{{", "}": "}}"})
# Saxon misreads a doubled brace after an enclosed expression in an attribute.
_IN_ATTRIBUTE: Final = str.maketrans(
    {**_REFERENCES, "<": "&lt;", "{": "&#x7B;", "}": "&#x7D;", "\t": "&#x9;", '"': "&quot;"}
)


def print_query(expression: Expression, prefixes: Prefixes = NO_PREFIXES) -> str:
    """The text of a query, without a line end after it. Line ends in literals are written as references.

    It declares the namespaces of its names, with these ``prefixes`` as far as they have some for them; and that names
    without one are in none, where a reader who knows the prefixes would take them for others.

    >>> from heptox.grammar import parse_query
    >>> print(print_query(parse_query("FOR $a IN //A, $b IN //B[@id=$a/@b] WHERE $a/c='x' RETURN {$b/d}")))
    for $a in //A, $b in //B[@id = $a/@b]
    where $a/c = "x"
    return $b/d
    >>> print(print_query(parse_query('declare namespace a = "urn:a"; //a:b/@c')))
    declare namespace ns1 = "urn:a";
    //ns1:b/@c
    >>> print(print_query(parse_query("//a"), Prefixes.of({"": "urn:b"})))
    declare default element namespace "";
    //a
    """
    elements, attributes = element_and_attribute_names(expression)
    is_misread = bool(prefixes.namespaces.get("")) and not all(name.startswith("{") for name in elements)
    none = 'declare default element namespace "";\n' if is_misread else ""
    if not any(name.startswith("{") for name in (*elements, *attributes)):
        return none + _expression(expression, "\n")
    table = prefixes.covering(elements, attributes=attributes)
    names = written_query(expression, table.written, partial(table.written, attribute=True))
    return none + prolog(table) + _expression(names, "\n")


def _expression(expression: Expression, line: str) -> str:
    """``line`` is what begins a new line where the expression stands: a line end with its indentation, or a space."""
    match expression:
        case Flwor():
            return _flwor(expression, line)
        case Sequence():
            return _sequence(expression, line)
        case ElementConstructor():
            return _element(expression)
        case AttributeConstructor(name, value):
            return f"attribute {name} {{{_expression(value, ' ')}}}"
        case TextConstructor(value):
            return f"text {{{_expression(value, ' ')}}}"
        case _:
            return _value(expression, line)


def _flwor(flwor: Flwor, line: str) -> str:
    parts = _clauses(flwor.clauses, line)
    if flwor.where is not None:
        parts.append(_where(flwor.where, line))
    if flwor.order:
        parts.append("order by " + ", ".join(_order_key(key) for key in flwor.order))
    parts.append("return " + _expression(flwor.result, line))
    return line.join(parts)


def _clauses(clauses: Iterable[For | Let], line: str) -> list[str]:
    """Neighbouring clauses of one kind share their keyword, on one line where they fit."""
    groups: list[tuple[str, list[str]]] = []
    for clause in clauses:
        keyword, sign = ("for", "in") if isinstance(clause, For) else ("let", ":=")
        if not groups or groups[-1][0] != keyword:
            groups.append((keyword, []))
        groups[-1][1].append(f"{clause.variable} {sign} {_path(clause.source)}")
    return [f"{keyword} {_joined(bindings, ', ', f',{line}    ', line)}" for keyword, bindings in groups]


def _where(condition: Condition, line: str) -> str:
    if isinstance(condition, And):
        members = [_member(member) for member in condition.conditions]
        return "where " + _joined(members, " and ", f"{line}  and ", line)
    return f"where {_condition(condition)}"


def _joined(parts: list[str], short: str, long: str, line: str) -> str:
    text = short.join(parts)
    return text if len(text) <= WIDTH or "\n" not in line else long.join(parts)


def _order_key(key: OrderKey) -> str:
    return _operand(key.key) + (" descending" if key.descending else "")


def _sequence(sequence: Sequence, line: str) -> str:
    text = f"({', '.join(_expression(item, ' ') for item in sequence.items)})"
    plain = not any(isinstance(item, Flwor | Sequence) for item in sequence.items)
    if "\n" not in line or (len(text) <= WIDTH and (plain or not sequence.items)):
        return text
    inner = f"{line}  "
    return f"({inner}" + f",{inner}".join(_expression(item, inner) for item in sequence.items) + f"{line})"


# -- conditions --------------------------------------------------------------------------------------------------


def _condition(condition: Condition) -> str:
    match condition:
        case Comparison(operator, left, right):
            return OPERATORS[operator].xquery(_operand(left), _operand(right))
        case Exists(argument, spelled_out):
            return f"exists({_path(argument)})" if spelled_out else _path(argument)
        case Empty(argument):
            return f"empty({_path(argument)})"
        case DeepEqual(left, right):
            return f"deep-equal({_operand(left)}, {_operand(right)})"
        case And(conditions):
            return " and ".join(_member(member) for member in conditions)
        case Or(conditions):
            return " or ".join(_member(member) for member in conditions)
        case FunctionCall():
            return _value(condition)


def _member(condition: Condition) -> str:
    return f"({_condition(condition)})" if isinstance(condition, And | Or) else _condition(condition)


# -- values ------------------------------------------------------------------------------------------------------


def _operand(operand: Operand) -> str:
    """A value where an operator stands beside it."""
    value = _value(operand)
    closed = isinstance(operand, Conditional | Switch) or (
        isinstance(operand, FunctionCall) and operand.function in OPERATORS_OF_VALUES
    )
    return f"({value})" if closed else value


def _value(operand: Operand | Conditional | NodeIdentity, line: str = " ") -> str:
    match operand:
        case FunctionCall(function, arguments) if function in OPERATORS_OF_VALUES:
            return f" {function} ".join(map(_operand, arguments))
        case FunctionCall(function, (argument,)) if may_fail(operand):
            return f"{function}({_operand(argument)}[. castable as {function}])"
        case FunctionCall(function, arguments):
            return f"{function}({', '.join(map(_value, arguments))})"
        case Conditional(condition, value, otherwise):
            other = "()" if otherwise is None else _expression(otherwise, line)
            return f"if ({_condition(condition)}) then {_expression(value, line)} else {other}"
        case Switch(argument, known, otherwise):
            cases = "".join(f"case {_string(case.code)} return {_string(case.value)} " for case in known)
            other = "()" if otherwise is None else _value(otherwise)
            return f"switch ({_value(argument)}) {cases}default return {other}"
        case PathExpression():
            return _path(operand)
        case Data(argument):
            return f"data({_path(argument)})"
        case NodeIdentity(argument):
            return f"generate-id({_path(argument)})"
        case TagValue(argument):
            return tag_value_form(_path(argument))
        case NumberValue(argument):
            return f"number({_value(argument)})"
        case StringLiteral(value):
            return _string(value)
        case NumberLiteral(lexical):
            return lexical


def _string(value: str) -> str:
    return f'"{value.translate(_IN_STRING)}"'


def _path(path: PathExpression) -> str:
    steps = "".join(_step(step) for step in path.steps)
    if path.start == "/":
        return steps
    if path.start == "." and steps and not steps.startswith("//"):
        return steps[1:]
    return path.start + steps


def _step(step: Step) -> str:
    attribute = step.axis in ("attribute", "descendant-attribute")
    names = [f"@{name}" for name in step.names] if attribute else list(step.names)
    test = names[0] if len(names) == 1 else f"({' | '.join(names)})"
    if step.excluded:
        test = f"({test} except ({' | '.join(step.excluded)}))"
    slash = "//" if step.axis in ("descendant", "descendant-attribute") else "/"
    return slash + test + "".join(f"[{_condition(predicate)}]" for predicate in step.predicates)


# -- constructors ------------------------------------------------------------------------------------------------


def _element(element: ElementConstructor) -> str:
    start = element.name + "".join(_attribute(attribute) for attribute in element.attributes)
    if not element.content:
        return f"<{start}/>"
    return f"<{start}>{''.join(_content(part) for part in element.content)}</{element.name}>"


def _attribute(attribute: DirectAttribute) -> str:
    parts = (part.translate(_IN_ATTRIBUTE) if isinstance(part, str) else _enclosed(part) for part in attribute.parts)
    return f' {attribute.name}="{"".join(parts)}"'


def _content(part: str | Expression) -> str:
    if isinstance(part, ElementConstructor):
        return _element(part)
    if not isinstance(part, str):
        return _enclosed(part)
    if part.isspace():
        # Boundary whitespace is dropped from a constructor; a character reference is none.
        return f"&#x{ord(part[0]):X};{part[1:].translate(_IN_CONTENT)}"
    return part.translate(_IN_CONTENT)


def _enclosed(expression: Expression) -> str:
    return f"{{{_expression(expression, ' ')}}}"
