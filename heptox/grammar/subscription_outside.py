"""The names of XPath's constructs outside the subscription language, to refuse one by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_NAME: Final = r"[^\W\d][\w.-]*"
_AXES: Final = {
    "child": "write a/b",
    "descendant": "write a//b",
    "descendant-or-self": "write //",
    "attribute": "write @a",
    "self": "write . for the node itself",
}
_FUNCTION_HINTS: Final = {
    "not": "what a document lacks cannot be asked for",
    "exists": "write the path alone",
    "boolean": "write the path alone",
    "data": "write the path alone",
    "string": "write the path alone, or . for the node itself",
    "number": "compare with a number",
    "root": "begin the path with /",
}

_OPERATOR_HINTS: Final = {
    "|": "write or between conditions",
    "union": "write or between conditions",
    "AND": "write and",
    "OR": "write or",
    "eq": "write =",
    "ne": "write !=",
    "lt": "write <",
    "le": "write <=",
    "gt": "write >",
    "ge": "write >=",
}


class Outside(NamedTuple):
    """A construct that is not in the language: its name, where it stands (offset), and what to write instead."""

    name: str
    offset: int
    hint: str | None


def outside_construct(text: str) -> Outside | None:
    """The first construct of a subscription that is legal in XPath and has no place in the language.

    >>> outside_construct("/a[count(b) > 2]")
    Outside(name='the function count()', offset=3, hint=None)
    """
    operand = False  # whether an operand ends right before, so that an operator may stand here
    before = ""
    for found in _TOKEN.finditer(text):
        kind, words = found.lastgroup or "", " ".join(found.group().split())
        if kind == "comment":
            continue
        if kind == "axis":
            axis = words.partition(":")[0].strip()
            return Outside(f"the axis {axis}::", found.start(), _AXES.get(axis, "use /, // and @"))
        if kind == "function":
            name = words.rstrip("( ")
            return Outside(f"the function {name}()", found.start(), _FUNCTION_HINTS.get(name))
        if kind == "construct":
            return Outside(words.rstrip("( "), found.start(), None)
        if kind in _ALWAYS:
            return _named(words, found.start(), _ALWAYS[kind])
        if kind in ("operator", "sign", "signed") and operand:
            return Outside(f"the operator {words}", found.start(), _OPERATOR_HINTS.get(words))
        if kind in _AT_THE_BEGINNING and not operand:
            return _named(words, found.start(), _AT_THE_BEGINNING[kind])
        if before == "slash" and kind in _NO_STEPS:
            return Outside(_NO_STEPS[kind], found.start(), None)
        before = kind
        operand = kind in ("string", "number", "name", "prefixed", "operator", "close", "text", "here")
    return None


def _named(words: str, offset: int, names: tuple[str, str | None]) -> Outside:
    """The construct that is written as ``words``; its name has them where its braces are."""
    name, hint = names
    return Outside(name.format(words), offset, hint)


_NO_STEPS: Final = {
    "here": "the step . behind /",
    "open": "a step in parentheses",
    "no_items": "a step in parentheses",
    "string": "a literal as a step",
    "number": "a literal as a step",
}
_AT_THE_BEGINNING: Final[Mapping[str, tuple[str, str | None]]] = {
    "root": ("the document node /", "ask for something below it, such as /*"),
    "signed": ("the sign {} before a path", "only numbers have a sign"),
    "no_items": ("the empty sequence ()", None),
}
_ALWAYS: Final[Mapping[str, tuple[str, str | None]]] = {
    "node_test": ("the node test {}", "use names, * and text()"),
    "parent": ("the parent step ..", "write a predicate: a[b] for b/.."),
    "variable": ("the variable {}", None),
    "wildcard": ("the wildcard {}", "write the names, with or between conditions, or * for any"),
    "sequence": ("a sequence with ,", "write or between conditions"),
    "filtered": ("a predicate behind .", "write its condition alone"),
    "behind_parentheses": ("a step or predicate behind parentheses", "write the path without them"),
}
_TOKEN: Final = re.compile(
    rf"""(?P<comment>\(:.*?:\))
    | (?P<string>"(?:[^"]|"")*"|'(?:[^']|'')*')
    | (?P<signed>[-+](?=\s*(?:{_NAME}|[*@/.(](?!\d))))
    | (?P<sign>[-+])
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<axis>{_NAME}\s*::)
    | (?P<construct>(?:some|every|for|let)(?=\s*\$)|if\s*\()
    | (?P<text>text\s*\(\s*\))
    | (?P<node_test>@\s*text\s*\(\s*\)
        | (?:@\s*)?(?:node|comment|processing-instruction|element|attribute|document-node|item)\s*\([^()]*\))
    | (?P<junction>(?:and|or)(?![\w.-]))
    | (?P<function>{_NAME}(?::{_NAME})?\s*\((?!:))
    | (?P<wildcard>(?:@\s*)?(?:{_NAME}:\*|\*:{_NAME}|Q\{{[^{{}}]*\}}\*))
    | (?P<prefixed>(?:@\s*)?(?:{_NAME}:|Q\{{[^{{}}]*\}}){_NAME})
    | (?P<root>(?<!/)/(?!/)(?=\s*(?:[=<>!|,)\]\[+-]|\Z)))
    | (?P<sequence>,)
    | (?P<slash>//?)
    | (?P<behind_parentheses>\)\s*(?=[/\[]))
    | (?P<no_items>\(\s*\))
    | (?P<operator>(?<![/@])(?:eq|ne|lt|le|gt|ge|is|div|idiv|mod|to|union|intersect|except|AND|OR)(?![\w.-])
        | (?<![\[/@(])(?:\|\||[*|]|<<|>>|!(?!=)) | =>)
    | (?P<parent>\.\.)
    | (?P<variable>\$\s*{_NAME})
    | (?P<filtered>\.\s*(?=\[))
    | (?P<here>\.)
    | (?P<close>[\])])
    | (?P<name>(?:@\s*)?(?:{_NAME}|\*))
    | (?P<open>\()
    | (?P<between>[\[=<>!])
    """,
    re.VERBOSE | re.DOTALL,
)
