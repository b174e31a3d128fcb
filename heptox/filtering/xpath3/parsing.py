"""Filters of XPath 3.1 as tokens of elementpath, and what is refused of them."""

from __future__ import annotations

import re
from typing import Final

from elementpath import XPath1Parser, XPathToken
from elementpath.exceptions import ElementPathError
from elementpath.xpath31 import XPath31Parser

_CODE_POINTS: Final = "http://www.w3.org/2005/xpath-functions/collation/codepoint"


class RefusedError(Exception):
    """A filter has a construct that is not evaluated: ``construct``, at ``offset`` in its text."""

    def __init__(self, construct: str, offset: int) -> None:
        super().__init__(construct)
        self.construct = construct
        self.offset = offset


class UnboundError(Exception):
    """A filter has a variable that nothing binds, at ``offset`` in its text."""

    def __init__(self, offset: int) -> None:
        super().__init__("a filter has no variables")
        self.offset = offset


class _Parser(XPath31Parser):
    """Evaluates nothing while it parses, as the original does."""

    def parse(self, source: str) -> XPathToken:
        return super(XPath1Parser, self).parse(source)


_STRING_OR_COMMENT: Final = re.compile(r"""'[^']*'|"[^"]*"|\(:|:\)""")


def _without_comments(text: str) -> str:
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


def parse(text: str) -> XPathToken:
    """The tokens of an expression.

    Raises :class:`ElementPathError` for what is no XPath 3.1, :class:`RecursionError` for what is nested too deeply.
    """
    parser = _Parser(default_collation=_CODE_POINTS)
    try:
        return parser.parse(_without_comments(text))
    except (ElementPathError, RecursionError):
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, SyntaxError, TypeError, ValueError):
        raise ElementPathError("is no XPath 3.1") from None
