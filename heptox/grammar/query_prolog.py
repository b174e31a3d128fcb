"""The prolog of a query: the namespaces that it declares, in its text and for its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from heptox.grammar import query as syntax
from heptox.grammar.query_literals import literal_value
from heptox.xml import XML_NAMESPACE, Prefixes

_BETWEEN: Final = r"(?:\s|\(:(?:[^(:]|\((?!:)|:(?!\)))*:\))"
_DECLARATION: Final = re.compile(
    rf"""{_BETWEEN}*+declare{_BETWEEN}++
    (?:namespace{_BETWEEN}++(?P<prefix>[^\W\d][\w.-]*+){_BETWEEN}*+={_BETWEEN}*+
      |(?P<default>default{_BETWEEN}++element{_BETWEEN}++namespace){_BETWEEN}*+)
    (?P<literal>"(?:[^"]|"")*+"|'(?:[^']|'')*+'){_BETWEEN}*+;""",
    re.VERBOSE,
)
_NOT_A_LINE_END: Final = re.compile(r"[^\n]")
_IN_LITERAL: Final = str.maketrans({"&": "&amp;", '"': '""', "\n": "&#xA;", "\r": "&#xD;"})


class PrologError(Exception):
    """What is wrong with a declaration (first argument), and at which offset of the text (second)."""


def declared_namespaces(text: str) -> tuple[dict[str, str], str]:
    """The namespaces that a text declares at its beginning, ``""`` for that of elements; and the text without them, in
    which all else stands where it stood.

    Raises :class:`PrologError`.

    >>> declared_namespaces('declare namespace a = "urn:a";  //a:b')
    ({'a': 'urn:a'}, '                                //a:b')
    """
    declared: dict[str, str] = {}
    end = 0
    while found := _DECLARATION.match(text, end):
        prefix = found["prefix"] or ""
        raw = found["literal"]
        namespace, malformed = literal_value(raw[1:-1], raw[0])
        if malformed:
            raise PrologError("malformed or unknown reference", found.start("literal") + 1 + malformed[0])
        namespace = " ".join(namespace.split())
        if prefix in declared:
            what = f"the prefix {prefix}" if prefix else "the default element namespace"
            raise PrologError(f"{what} is declared twice", found.start("prefix" if prefix else "default"))
        if prefix in ("xml", "xmlns") or namespace == XML_NAMESPACE:
            raise PrologError("xml and xmlns are bound, and cannot be declared", found.start("literal"))
        declared[prefix] = namespace
        end = found.end()
    return declared, _NOT_A_LINE_END.sub(" ", text[:end]) + text[end:]


def prolog(prefixes: Prefixes) -> str:
    """The declarations of some prefixes, a line each."""
    declared = [(f"namespace {one} =" if one else "default element namespace", uri) for one, uri in prefixes.bound]
    return "".join(f'declare {what} "{uri.translate(_IN_LITERAL)}";\n' for what, uri in declared)


def element_and_attribute_names(expression: syntax.Expression) -> tuple[set[str], set[str]]:
    """The names of elements, and those of attributes, in an expression."""
    elements: set[str] = set()
    attributes: set[str] = set()
    for node in syntax.nodes(expression):
        match node:
            case syntax.Step(names=names, excluded=excluded):
                found = {name for name in (*names, *excluded) if name not in _TESTS}
                (attributes if _is_attribute(node) else elements).update(found)
            case syntax.ElementConstructor(name=name):
                elements.add(name)
            case syntax.DirectAttribute(name=name) | syntax.AttributeConstructor(name=name):
                attributes.add(name)
            case _:
                pass
    return elements, attributes


def written_query(
    expression: syntax.Expression, element: Callable[[str], str], attribute: Callable[[str], str]
) -> syntax.Expression:
    """The expression with other names: what these functions make of those of elements and of attributes."""
    found = element_and_attribute_names(expression)
    names = {**{name: element(name) for name in found[0]}, **{f"@{name}": attribute(name) for name in found[1]}}
    if all(name.removeprefix("@") == other for name, other in names.items()):
        return expression
    return cast(syntax.Expression, _written(expression, names))


_TESTS: Final = ("*", "text()")


def _is_attribute(step: syntax.Step) -> bool:
    return step.axis in ("attribute", "descendant-attribute")


def _written(value: object, names: Mapping[str, str]) -> Any:
    """A part of a syntax tree with other names; those of attributes have an ``@`` before them."""
    if isinstance(value, tuple):
        return tuple(_written(part, names) for part in value)
    if not isinstance(value, syntax.Node):
        return value
    fields: tuple[str, ...] = type(value).__match_args__
    changed = {name: _written(getattr(value, name), names) for name in fields}
    match value:
        case syntax.Step():
            sign = "@" if _is_attribute(value) else ""
            changed["names"] = tuple(names.get(f"{sign}{name}", name) for name in value.names)
            changed["excluded"] = tuple(names.get(f"{sign}{name}", name) for name in value.excluded)
        case syntax.ElementConstructor(name=name):
            changed["name"] = names[name]
        case syntax.DirectAttribute(name=name) | syntax.AttributeConstructor(name=name):
            changed["name"] = names[f"@{name}"]
        case _:
            pass
    return replace(value, **changed)
