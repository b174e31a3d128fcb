"""Names in namespaces in the texts of expressions that are evaluated: each has a prefix that says its namespace.

So a text means the same wherever it is evaluated, and no table of prefixes goes with it. What people write is read with
their prefixes, and never printed with those.
"""

from __future__ import annotations

import re
from typing import Final

from heptox.xml import Prefixes, split_name

_NAME: Final = r"[^\W\d][\w.-]*"
_STRING_OR_COMMENT: Final = re.compile(r"""'[^']*'|"[^"]*"|\(:|:\)""")
_PREFIX: Final = re.compile(r"(?<![\w.-])n((?:[0-9a-f]{2})+):(?=[\w*])")
_STRING_OR_PREFIX: Final = re.compile(rf"""("[^"]*"|'[^']*')|{_PREFIX.pattern}""")


def printed_name(name: str) -> str:
    """An expanded name, or any other node test, as expressions have it.

    >>> printed_name("{urn:a}b"), printed_name("b"), printed_name("text()")
    ('n75726e3a61:b', 'b', 'text()')
    """
    namespace, local = split_name(name)
    return f"{_prefix(namespace)}:{local}" if namespace else name


def expanded_test(printed: str) -> str:
    """The name that is printed so.

    >>> expanded_test("n75726e3a61:b"), expanded_test("b")
    ('{urn:a}b', 'b')
    """
    prefix, _, local = printed.rpartition(":")
    return f"{{{bytes.fromhex(prefix[1:]).decode()}}}{local}" if prefix else local


def _prefix(namespace: str) -> str:
    return f"n{namespace.encode().hex()}"


def namespaces_in(text: str) -> dict[str, str]:
    """The namespaces of an expression by their prefixes, and perhaps of some more.

    >>> namespaces_in("/n75726e3a61:b")
    {'n75726e3a61': 'urn:a'}
    """
    found = (match[1] for match in _PREFIX.finditer(text))
    return {f"n{code}": bytes.fromhex(code).decode(errors="replace") for code in dict.fromkeys(found)}


def with_braces(text: str) -> str:
    """An expression of XPath 3.1 without comments, its names as that can have them.

    >>> with_braces("/n75726e3a61:b[. = 'n75726e3a61:b']")
    "/Q{urn:a}b[. = 'n75726e3a61:b']"
    """
    return _STRING_OR_PREFIX.sub(
        lambda found: found[1] or f"Q{{{bytes.fromhex(found[2]).decode(errors='replace')}}}", text
    )


_TOKEN: Final = re.compile(
    rf"""(?P<string>"[^"]*"|'[^']*')
    | (?P<braced>Q\{{[^{{}}]*\}}(?:{_NAME}|\*))
    | (?P<axis>{_NAME}\s*::)
    | (?P<variable>\$\s*{_NAME}(?::{_NAME})?)
    | (?P<function>{_NAME}(?::{_NAME})?\s*\()
    | (?P<prefixed>{_NAME}:(?:{_NAME}|\*))
    | (?P<anywhere>\*:{_NAME})
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>{_NAME})
    | (?P<here>\.\.?)
    | (?P<star>\*)
    | (?P<close>[)\]])
    | (?P<other>\S)""",
    re.VERBOSE,
)
_OPERANDS: Final = frozenset(
    {"string", "braced", "variable", "prefixed", "anywhere", "number", "name", "here", "close", "test"}
)


def renamed(text: str, prefixes: Prefixes) -> str:
    """An expression without comments that is XPath, with prefixes that say the namespaces.

    >>> renamed("//p:a[@b = 'p:a'] * count(c)", Prefixes.of({"p": "urn:a"}))
    "//n75726e3a61:a[@b = 'p:a'] * count(c)"
    >>> renamed("a div div/@a", Prefixes.of({"": "urn:a"}))
    'n75726e3a61:a div n75726e3a61:div/@a'
    """
    if not prefixes and "xml:" not in text:
        return text
    return _TOKEN.sub(_Renaming(prefixes), text)


class _Renaming:
    """What is put in the place of each token, which come one after the other."""

    def __init__(self, prefixes: Prefixes) -> None:
        self._namespaces = prefixes.namespaces
        self._before = ""
        self._is_attribute = False

    def __call__(self, found: re.Match[str]) -> str:
        kind, token = found.lastgroup or "", found[0]
        before, self._before = self._before, kind
        after_operand = before in _OPERANDS
        is_attribute, self._is_attribute = self._is_attribute, token == "@" or token.startswith("attribute")
        if kind == "star" and not after_operand:
            self._before = "test"
        if kind == "prefixed":
            prefix, _, local = token.partition(":")
            namespace = self._namespaces.get(prefix)
            return token if namespace is None else f"{_prefix(namespace)}:{local}"
        if kind == "name" and after_operand:
            self._before = "operator"
        elif kind == "name" and not is_attribute and (default := self._namespaces.get("")):
            return f"{_prefix(default)}:{token}"
        return token


def without_comments(text: str) -> str:
    """A text with blanks for its comments, which elementpath takes for other things now and then."""
    parts: list[str] = []
    depth = end = 0
    place = 0
    while found := _STRING_OR_COMMENT.search(text, place):
        mark = found[0]
        place = found.end()
        if mark == "(:":
            if not depth:
                parts.append(text[end : found.start()])
                end = found.start()
            depth += 1
        elif mark == ":)" and depth:
            depth -= 1
            if not depth:
                parts.append(re.sub(r"\S", " ", text[end:place]))
                end = place
        elif depth and mark not in {"(:", ":)"}:
            place = found.start() + 1  # quotes mean nothing in a comment
    return "".join(parts) + text[end:]
