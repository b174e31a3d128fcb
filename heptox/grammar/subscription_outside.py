"""The names of XPath's constructs outside the subscription language, to refuse one by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
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
        if kind in _ALWAYS:
            return _ALWAYS[kind](words, found.start())
        if kind in ("operator", "sign", "signed") and operand:
            return Outside(f"the operator {words}", found.start(), _OPERATOR_HINTS.get(words))
        if kind in _AT_THE_BEGINNING and not operand:
            return _AT_THE_BEGINNING[kind](words, found.start())
        if before == "slash" and kind in _NO_STEPS:
            return Outside(_NO_STEPS[kind], found.start(), None)
        before = kind
        operand = kind in ("string", "number", "name", "prefixed", "operator", "close", "text", "here")
    return None


def _axis(words: str, offset: int) -> Outside:
    name = words.partition(":")[0].strip()
    return Outside(f"the axis {name}::", offset, _AXES.get(name, "use /, // and @"))


def _function(words: str, offset: int) -> Outside:
    name = words.rstrip("( ")
    return Outside(f"the function {name}()", offset, _FUNCTION_HINTS.get(name))


def _node_test(words: str, offset: int) -> Outside:
    return Outside(f"the node test {words}", offset, "use names, * and text()")


def _parent(_words: str, offset: int) -> Outside:
    return Outside("the parent step ..", offset, "write a predicate: a[b] for b/..")


def _variable(words: str, offset: int) -> Outside:
    return Outside(f"the variable {words}", offset, None)


def _wildcard(words: str, offset: int) -> Outside:
    return Outside(f"the wildcard {words}", offset, "write the names, with or between conditions, or * for any")


def _construct(words: str, offset: int) -> Outside:
    return Outside(words.rstrip("( "), offset, None)


def _root(_words: str, offset: int) -> Outside:
    return Outside("the document node /", offset, "ask for something below it, such as /*")


def _sign(words: str, offset: int) -> Outside:
    return Outside(f"the sign {words} before a path", offset, "only numbers have a sign")


def _no_items(_words: str, offset: int) -> Outside:
    return Outside("the empty sequence ()", offset, None)


def _sequence(_words: str, offset: int) -> Outside:
    return Outside("a sequence with ,", offset, "write or between conditions")


def _filtered(_words: str, offset: int) -> Outside:
    return Outside("a predicate behind .", offset, "write its condition alone")


def _behind_parentheses(_words: str, offset: int) -> Outside:
    return Outside("a step or predicate behind parentheses", offset, "write the path without them")


_NO_STEPS: Final = {
    "here": "the step . behind /",
    "open": "a step in parentheses",
    "no_items": "a step in parentheses",
    "string": "a literal as a step",
    "number": "a literal as a step",
}
_AT_THE_BEGINNING: Final[dict[str, Callable[[str, int], Outside]]] = {
    "root": _root,
    "signed": _sign,
    "no_items": _no_items,
}
_ALWAYS: Final[dict[str, Callable[[str, int], Outside]]] = {
    "axis": _axis,
    "function": _function,
    "node_test": _node_test,
    "parent": _parent,
    "variable": _variable,
    "wildcard": _wildcard,
    "construct": _construct,
    "sequence": _sequence,
    "filtered": _filtered,
    "behind_parentheses": _behind_parentheses,
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
