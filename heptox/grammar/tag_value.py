"""The fixed printed form of the value behind the tag of a box node (``semantics.md`` sections 2 and 7).

The tag is the SQL/XML escape of the value. The form turns each escape into a character reference and lets the XML
parser decode it, so its value is untyped, as the value of a leaf is.
"""

from __future__ import annotations

from typing import Final

from heptox.xml import EMPTY_PATTERN, ESCAPE_PATTERN

_BEFORE: Final = "data(parse-xml-fragment(replace(replace(local-name("
_AFTER: Final = f'), "^{EMPTY_PATTERN}$", ""), "{ESCAPE_PATTERN}", "&amp;#x$1;")))'


def tag_value_form(argument: str) -> str:
    """The XQuery expression for the value behind the tag of ``argument``, which is ``$variable`` or ``.``."""
    return f"{_BEFORE}{argument}{_AFTER}"


def tag_value_argument(form: str) -> str | None:
    """What :func:`tag_value_form` was given to make ``form``; ``None`` where it is not to the letter that form.

    >>> tag_value_argument(tag_value_form("$c"))
    '$c'
    """
    argument = form.removeprefix(_BEFORE).removesuffix(_AFTER)
    return argument if form == tag_value_form(argument) else None
