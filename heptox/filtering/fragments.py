"""What filters select, as XML: a fragment for each item of a result."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from heptox.xml import escaped_text


class Kind(StrEnum):
    """What an item of a result is."""

    ELEMENT = "element"
    ATTRIBUTE = "attribute"
    TEXT = "text"
    VALUE = "value"


class Fragment(NamedTuple):
    """An item of a filter's result.

    ``text`` is the XML of an element, the value of an attribute or text, or a number, string or truth value as XPath
    writes it. ``name`` is the name of an element or attribute, or the type of a value.
    """

    kind: Kind
    name: str
    text: str

    def __str__(self) -> str:
        """As XML: what is no element stands in text, with its characters escaped."""
        if self.kind is Kind.ELEMENT:
            return self.text
        return escaped_text(self.text)
