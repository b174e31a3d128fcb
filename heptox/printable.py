"""What can be printed: a text on a terminal, in a line of a log or in a message is that text and nothing else.

Control characters and those of the direction of text are escaped as JSON escapes them, so that JSON stays the same
value. Which they are does not depend on the version of Unicode that a peer knows.
"""

from __future__ import annotations

import re
from typing import Final

_HIDDEN: Final = (
    "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_NOT_PRINTABLE: Final = re.compile(f"[\x00-\x1f{_HIDDEN}]")
_NOT_SHOWN: Final = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")


def is_printable(text: str) -> bool:
    """Whether a text, printed, is that text and nothing else: it holds no control characters and no line ends."""
    return _NOT_PRINTABLE.search(text) is None


def printable(text: str, *, lines: bool = False) -> str:
    """A text as it is said to others: what is not printable is escaped, line ends are kept as they are or are spaces.

    >>> printable("two\\nlines \\x1b[31m")
    'two lines \\\\u001b[31m'
    """
    ends = "\n" if lines else " "
    return ends.join(map(on_one_line, text.splitlines()))


def shown(text: str) -> str:
    """A text as people see it, on a terminal too: what is not printable is escaped, but for line feeds and tabs.

    >>> print(shown("<a>\\x1b[2J\\u202e</a>"))
    <a>\\u001b[2J\\u202e</a>
    """
    return _NOT_SHOWN.sub(_escaped, text)


def on_one_line(text: str) -> str:
    """A text as :func:`shown`, with line feeds and tabs escaped too: a field of a line.

    >>> print(on_one_line("//a[b =\\n1]"))
    //a[b =\\u000a1]
    """
    return _NOT_PRINTABLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
