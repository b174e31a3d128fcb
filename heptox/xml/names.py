"""What is no XML name, spelt as one, by the escapes of SQL/XML.

Patterns are compiled when they are first used: with so many characters that takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_NAME_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd"
)

_NAME_CHARACTER: Final = _NAME_START + r"\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"

_WIDE: Final = ":\U00010000-\U000effff"

NAME: Final = f"[{_NAME_START}{_WIDE}][{_NAME_CHARACTER}{_WIDE}]*"
"""An XML name, as values of attributes are (``Name`` of XML 1.0); those of elements here have no colon. A pattern."""

NAME_TOKEN: Final = f"[{_NAME_CHARACTER}{_WIDE}]+"
"""A pattern of what may stand in an XML name (``Nmtoken``)."""

_TO_ESCAPE: Final = rf"_(?=x)|^[^{_NAME_START}]|[^{_NAME_CHARACTER}]"

ESCAPE_PATTERN: Final = (
    "_x((00)?(000[9AD]|00[2-9A-F][0-9A-F]|0[1-9A-F][0-9A-F]{2}|[1-9A-CE][0-9A-F]{3}|D[0-7][0-9A-F]{2}"
    "|F[0-9A-E][0-9A-F]{2}|FF[0-9A-E][0-9A-F]|FFF[0-9A-D])|(0[1-9A-F]|10)[0-9A-F]{4})_"
)
"""An escape of an XML character in a name, its code the first group; a pattern of Python and of XPath alike."""

EMPTY_PATTERN: Final = "_x(00)?0000_"
"""A name that stands for the empty value, as a pattern of Python and of XPath."""

_NO_XML_CHARACTER: Final = "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"

_PIECE: Final = rf"(?s:{ESCAPE_PATTERN.replace('(', '(?:')}|.)"

_EMPTY: Final = "_x0000_"


def escaped_name(value: str) -> str:
    """The XML name (an ``NCName``) that stands for any ``value``: the SQL/XML escape (``semantics.md`` section 2).

    A character that may not stand where it does becomes ``_xHHHH_``, one above FFFF ``_xHHHHHH_``; the ``_`` of ``_x``
    is escaped too, and the empty value is ``_x0000_``. Different values have different names.

    Raises ``ValueError`` for a character that XML cannot hold at all: no document has such a value.

    >>> escaped_name("Chest pain/acute"), escaped_name("4 mg"), escaped_name("_x"), escaped_name("")
    ('Chest_x0020_pain_x002F_acute', '_x0034__x0020_mg', '_x005F_x', '_x0000_')
    """
    if found := re.search(_NO_XML_CHARACTER, value):
        raise ValueError(f"U+{ord(found[0]):04X} is no XML character")
    return re.sub(_TO_ESCAPE, lambda found: _escaped_character(found[0]), value) or _EMPTY


def name_spellings(value: str) -> Iterator[str]:
    """Names that :func:`unescaped_name` reads as ``value``, the plain :func:`escaped_name` first.

    The others escape leading characters that need no escape, one more each time; an escape that was needed takes its
    long form. No name is a spelling of two values, since each is read in one way.

    >>> list(name_spellings("Of"))
    ['Of', '_x004F_f', '_x004F__x0066_']
    >>> list(name_spellings("_x"))
    ['_x005F_x', '_x00005F_x', '_x00005F__x0078_']
    """
    name = escaped_name(value)
    yield name
    pieces = re.findall(_PIECE, name) if value else [name]
    for place, piece in enumerate(pieces):
        if len(piece) <= len("_xHHHH_"):
            pieces[place] = f"_x00{piece[2:]}" if len(piece) > 1 else _escaped_character(piece)
            yield "".join(pieces)


def _escaped_character(character: str) -> str:
    code = ord(character)
    return f"_x{code:04X}_" if code <= 0xFFFF else f"_x{code:06X}_"


def unescaped_name(name: str) -> str:
    """The value behind a name that :func:`escaped_name` made; what is no escape stays as it is.

    Escapes are decoded wherever they stand, also of characters that need none (``_x0041_`` is ``A``); so
    ``escaped_name(unescaped_name(name)) == name`` says whether a name was made by :func:`escaped_name`.

    >>> unescaped_name("Chest_x0020_pain_x002F_acute"), unescaped_name("_x0000_"), unescaped_name("snake_xyz")
    ('Chest pain/acute', '', 'snake_xyz')
    """
    return (
        "" if re.fullmatch(EMPTY_PATTERN, name) else re.sub(ESCAPE_PATTERN, lambda found: chr(int(found[1], 16)), name)
    )
