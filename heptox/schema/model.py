"""The schema graph: element types, attributes and text, and what may stand below what (``semantics.md`` section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Cardinality(StrEnum):
    """How often a child may stand below its parent."""

    ONE = "1"
    OPTIONAL = "?"
    MANY = "*"
    SOME = "+"

    @property
    def repeats(self) -> bool:
        """Whether more than one may stand there: the end of such an edge is a stop node."""
        return self in (Cardinality.MANY, Cardinality.SOME)

    @property
    def required(self) -> bool:
        """Whether at least one stands there in every valid document."""
        return self in (Cardinality.ONE, Cardinality.SOME)


class AttributeType(StrEnum):
    """The attribute types of a DTD."""

    CDATA = "CDATA"
    ID = "ID"
    IDREF = "IDREF"
    IDREFS = "IDREFS"
    ENTITY = "ENTITY"
    ENTITIES = "ENTITIES"
    NMTOKEN = "NMTOKEN"
    NMTOKENS = "NMTOKENS"
    ENUMERATION = "ENUMERATION"
    NOTATION = "NOTATION"


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an element type; ``cardinality`` is ``1`` when required or defaulted, else ``?``."""

    name: str
    type: AttributeType
    cardinality: Cardinality
    default: str | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Child:
    """An edge of the graph: an element type ``name`` below its parent, with its cardinality there."""

    name: str
    cardinality: Cardinality


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its child edges in the order of first mention, its attributes, and whether it holds text.

    ``text`` without children is ``(#PCDATA)``, with children mixed content; neither is ``EMPTY`` or element content.
    """

    name: str
    children: tuple[Child, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    text: bool = False

    @property
    def mixed(self) -> bool:
        """Whether text and child elements stand side by side."""
        return self.text and bool(self.children)

    @property
    def text_only(self) -> bool:
        """Whether the element is a leaf: it holds nothing but text, no attributes either."""
        return self.text and not self.children and not self.attributes


@dataclass(frozen=True, slots=True)
class SchemaGraph:
    """A schema: its root element type and all declared element types by name.

    ``file`` is where it was read from, for messages.
    """

    root: str
    elements: Mapping[str, Element]
    file: str | None = None
