"""How items are written: escapes of XML text, and numbers in the two forms that XQuery has for them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from heptox.pattern import Numeric

_RARE: Final = re.compile(r"[\x7f-\x9f\u2028]")
"""What is written as a reference besides a few ASCII characters."""
_CONTROLS: Final = {chr(code): f"&#x{code:x};" for code in (*range(0x7F, 0xA0), 0x2028)}


class Escapes:
    """What is written as references: a few ASCII characters, the ampersand first, and ``rare`` others."""

    def __init__(self, references: dict[str, str], rare: dict[str, str]) -> None:
        self.references = references
        self.rare = str.maketrans(rare)

    def escaped(self, value: str) -> str:
        """A value with references for what cannot stand there."""
        for character, reference in self.references.items():
            if character in value:
                value = value.replace(character, reference)
        if self.rare and (not value.isascii() or "\x7f" in value) and _RARE.search(value):
            return value.translate(self.rare)  # which takes ten times as long as looking
        return value


_EVERYWHERE: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"}
_WHITE_SPACE: Final = {"\t": "&#x9;", "\n": "&#xA;"}

IN_TEXT: Final = Escapes(_EVERYWHERE, _CONTROLS)
"""Text content of an element, as Saxon writes it."""
IN_ATTRIBUTE: Final = Escapes({**_EVERYWHERE, **_WHITE_SPACE, '"': "&#34;"}, _CONTROLS)
"""The value of an attribute between double quotes, as Saxon writes it."""
IN_ITEM: Final = Escapes({**_EVERYWHERE, **_WHITE_SPACE, '"': "&quot;"}, {})
"""The value of a bare attribute by the ``adaptive`` method; Saxon escapes less there."""

escaped_text: Final = IN_TEXT.escaped
escaped_attribute: Final = IN_ATTRIBUTE.escaped


def attribute_item(name: str, value: str) -> str:
    """A bare attribute by the ``adaptive`` method."""
    return f'{name}="{IN_ITEM.escaped(value)}"'


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
