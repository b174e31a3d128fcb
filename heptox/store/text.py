"""How items are written: escapes of XML text, and numbers in the two forms that XQuery has for them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from heptox.pattern import Numeric

_CONTROLS: Final = {chr(code): f"&#x{code:x};" for code in (*range(0x7F, 0xA0), 0x2028)}
_IN_ITEM: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"}
_IN_TEXT: Final = {**_IN_ITEM, **_CONTROLS}
_WHITE_SPACE: Final = {"\t": "&#x9;", "\n": "&#xA;"}
_RARE: Final = re.compile("[\r\x7f-\x9f\u2028]")
_TEXT_TABLE: Final = str.maketrans(_IN_TEXT)
_ATTRIBUTE_TABLE: Final = str.maketrans({**_IN_TEXT, **_WHITE_SPACE, '"': "&#34;"})
_ATTRIBUTE_ITEM_TABLE: Final = str.maketrans({**_IN_ITEM, **_WHITE_SPACE, '"': "&quot;"})


def escaped_text(value: str) -> str:
    """Text content of an element, as Saxon writes it."""
    if not _RARE.search(value):  # translating takes ten times as long
        return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return value.translate(_TEXT_TABLE)


def escaped_attribute(value: str) -> str:
    """The value of an attribute between double quotes, as Saxon writes it."""
    if value.isprintable():  # translating takes ten times as long
        return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;")
    return value.translate(_ATTRIBUTE_TABLE)


def attribute_item(name: str, value: str) -> str:
    """A bare attribute by the ``adaptive`` method; Saxon escapes less there."""
    return f'{name}="{value.translate(_ATTRIBUTE_ITEM_TABLE)}"'


def string_item(value: str) -> str:
    """A string by the ``adaptive`` method."""
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


# -- numbers -----------------------------------------------------------------------------------------------------


def number_item(number: Numeric) -> str:
    """A number by the ``adaptive`` method.

    >>> from heptox.pattern import literal
    >>> number_item(literal("2.50")), number_item(literal("1e3"))
    ('2.5', '1.0e3')
    """
    return _scientific(number, "e") if isinstance(number, float) else number_string(number)


def number_string(number: Numeric) -> str:
    """A number as a string.

    >>> from heptox.pattern import literal
    >>> number_string(literal("2.50")), number_string(literal("1e3")), number_string(literal("1e7"))
    ('2.5', '1000', '1.0E7')
    """
    if isinstance(number, float):
        if number and not 1e-6 <= abs(number) < 1e6:
            return _scientific(number, "E")
        sign = "-" if math.copysign(1, number) < 0 and not number else ""
        return sign + number_string(Decimal(repr(number)))
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _scientific(number: float, exponent_mark: str) -> str:
    if math.isinf(number):
        return "INF" if number > 0 else "-INF"
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(str(digit) for digit in digits)
    shift = len(text) - 1 + int(exponent) if number else 0
    mantissa = text.rstrip("0") or "0"
    return f"{'-' if sign else ''}{mantissa[0]}.{mantissa[1:] or '0'}{exponent_mark}{shift}"


_TAG: Final = re.compile("<[^>]*>")
_REFERENCE: Final = re.compile("&(?:#x([0-9A-Fa-f]+)|#([0-9]+)|(lt|gt|amp|quot));")
_CHARACTERS: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}


def text_of(xml: str) -> str:
    """The string value of an element in canonical text.

    >>> text_of('<a b="&gt;">1 &lt; 2<c/>&#xd;</a>')
    '1 < 2\\r'
    """
    return _REFERENCE.sub(_character, _TAG.sub("", xml))


def _character(reference: re.Match[str]) -> str:
    hexadecimal, decimal, name = reference.groups()
    return chr(int(hexadecimal, 16)) if hexadecimal else chr(int(decimal)) if decimal else _CHARACTERS[name]
