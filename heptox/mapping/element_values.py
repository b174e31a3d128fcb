"""What stands at paths below an element of a document: what selections and functions ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from heptox.pattern import ValueExpression, evaluate_expression, value_expression
from heptox.schema import TEXT, Path, SelectionTest, split_selection
from heptox.xml import XSI_NIL, XmlElement

Boxes: TypeAlias = Mapping[str, Sequence[str]]
"""The names of elements in boxes, by the steps that stand for these."""
_NO_BOXES: Final[Boxes] = {}


def values_at(element: XmlElement, path: Path, boxes: Boxes = _NO_BOXES) -> Iterator[str]:
    """The values at a path, in document order: of an element all text in it; one that is nil has none. A step through
    one of the ``boxes`` leads to elements of all its names.
    """
    if not path or path == (TEXT,):
        if not is_nil(element):
            yield "".join(map(str, element.itertext())) if len(element) else element.text or ""
    elif path[0].startswith("@"):
        value = element.get(path[0][1:])
        if value is not None:
            yield value
    else:
        name, tests = split_selection(path[0])
        for child in element.iterchildren(*boxes.get(name, (name,))):
            if is_selected(child, tests):
                yield from values_at(child, path[1:], boxes)


def is_nil(element: XmlElement) -> bool:
    """Whether an element has no value, as ``xsi:nil`` says."""
    return element.get(XSI_NIL, "").strip() in ("true", "1")


def is_selected(element: XmlElement, tests: Iterable[SelectionTest]) -> bool:
    """Whether an element meets the conditions of a selection.

    >>> from heptox.xml import parse_document
    >>> field = parse_document('<field tag="245"><code>a</code></field>').root
    >>> is_selected(field, [SelectionTest("=", ("@tag",), ("100", "245")), SelectionTest("exists", ("code",))])
    True
    """
    return all(_holds(element, test) for test in tests)


def _holds(element: XmlElement, test: SelectionTest) -> bool:
    expression = value_expression(test.path)
    value = next(values_at(element, test.path), None) if expression is None else value_of(element, expression)
    match test.test:
        case "=":
            return value in test.values
        case "!=":
            return value is not None and value not in test.values
        case "exists":
            return value is not None
        case "not":
            return value is None


def value_of(element: XmlElement, expression: ValueExpression, boxes: Boxes = _NO_BOXES) -> str | None:
    """The value of a function of an element's leaves; ``None`` where it has none."""
    return evaluate_expression(
        expression,
        lambda path: next(values_at(element, path, boxes), None),
        lambda path: list(values_at(element, path, boxes)),
    )
