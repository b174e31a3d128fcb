"""The schema graph: element types, attributes and text, and what may stand below what (``semantics.md`` section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from heptox.errors import Fault
from heptox.xml import NO_PREFIXES, Prefixes


class Cardinality(StrEnum):
    """How often a child may stand below its parent."""

    ONE = "1"
    OPTIONAL = "?"
    MANY = "*"
    SOME = "+"

    @classmethod
    def of(cls, required: bool, repeats: bool) -> Cardinality:
        """The cardinality of what is there at least once, or need not be, and may be there more than once, or not.

        >>> str(Cardinality.of(required=True, repeats=True))
        '+'
        """
        if repeats:
            return cls.SOME if required else cls.MANY
        return cls.ONE if required else cls.OPTIONAL

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


class ValueType(StrEnum):
    """What the values of a leaf are, as an XSD says it; a DTD has strings only."""

    STRING = "string"
    DECIMAL = "decimal"
    INTEGER = "integer"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_TIME = "dateTime"
    TIME = "time"
    DURATION = "duration"
    YEAR = "gYear"
    YEAR_MONTH = "gYearMonth"
    MONTH = "gMonth"
    MONTH_DAY = "gMonthDay"
    DAY = "gDay"
    URI = "anyURI"
    NAME = "QName"
    HEX_BINARY = "hexBinary"
    BASE64_BINARY = "base64Binary"
    LIST = "list"
    UNION = "union"


def tokens(value: str) -> str:
    """The value of an attribute that is no ``CDATA``: without surplus white space.

    >>> tokens("  a   b")
    'a b'
    """
    return " ".join(part for part in value.split(" ") if part)


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of an element type; ``cardinality`` is ``1`` when required or defaulted, else ``?``.

    ``values`` are those that an enumeration allows, or the unparsed entities that there are for an attribute that names
    some; ``fixed`` says that the default is the only value. ``value_type`` and ``documentation`` take no part in
    comparisons.
    """

    name: str
    type: AttributeType
    cardinality: Cardinality
    default: str | None = None
    values: tuple[str, ...] = ()
    fixed: bool = False
    value_type: ValueType = field(default=ValueType.STRING, compare=False)
    documentation: str = field(default="", compare=False, repr=False)

    def normalised(self, value: str) -> str:
        """A value as a parser gives it that knows the type: its tokens, unless that is ``CDATA``."""
        return value if self.type == AttributeType.CDATA else tokens(value)


@dataclass(frozen=True, slots=True)
class Child:
    """An edge of the graph: elements called ``name`` below their parent, with their cardinality there.

    ``type`` is what their element type is called in the graph, where that is not their name: a schema may give one name
    several types.
    """

    name: str
    cardinality: Cardinality
    type: str = ""

    @property
    def key(self) -> str:
        """What the graph calls the element type."""
        return self.type or self.name


@dataclass(frozen=True, slots=True)
class Particle:
    """A part of a content model as the DTD writes it: an element name, or a sequence or choice of parts.

    ``occurrence`` is the sign behind it. Mixed content is a choice that repeats, with text beside its members.
    """

    kind: Literal["name", "sequence", "choice"]
    occurrence: Cardinality
    name: str = ""
    members: tuple[Particle, ...] = ()


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its child edges in the order of first mention, its attributes, and whether it holds text.

    ``text`` without children is ``(#PCDATA)``, with children mixed content; neither is ``EMPTY`` or element content.
    ``content`` is the content model of the children that the edges summarise, ``None`` when it is not known; it says
    what a valid document looks like and takes no part in comparisons. ``type`` is what the graph calls the element type
    where that is not its name. Where content is ``open``, anything else may stand there as well, known to the schema or
    not. ``value_type`` is what the text is, ``values`` are the only ones where there are some; these and
    ``documentation`` take no part in comparisons either.
    """

    name: str
    children: tuple[Child, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    text: bool = False
    content: Particle | None = field(default=None, compare=False, repr=False)
    type: str = ""
    open: bool = False
    value_type: ValueType = field(default=ValueType.STRING, compare=False)
    values: tuple[str, ...] = field(default=(), compare=False)
    documentation: str = field(default="", compare=False, repr=False)

    @property
    def key(self) -> str:
        """What the graph calls the element type."""
        return self.type or self.name

    @property
    def mixed(self) -> bool:
        """Whether text and child elements may stand side by side."""
        return self.text and (self.open or bool(self.children))

    @property
    def text_only(self) -> bool:
        """Whether the element is a leaf: it holds nothing but text, no attributes either."""
        return self.text and not self.open and not self.children and not self.attributes


@dataclass(frozen=True, slots=True)
class KeyConstraint:
    """What identifies elements of an XSD: ``xs:key``, or ``xs:unique``, where fields may be absent.

    It holds in each element of the type that the graph calls ``element``: the elements that one of the paths
    ``selectors`` leads to from there have each field once, and no two of them have the same values there. A field is
    reached from them by any of its paths. The steps of paths are those of schema trees: names, ``*``, ``@name``;
    ``//name`` and ``//*`` stand for any depth. The empty path is the element itself.
    """

    name: str
    element: str
    selectors: tuple[tuple[str, ...], ...]
    fields: tuple[tuple[tuple[str, ...], ...], ...]
    required: bool = True


@dataclass(frozen=True, slots=True)
class KeyReference:
    """What refers to others in an XSD, ``xs:keyref``: the fields have values that the fields of the key called ``key``
    have. Paths are as in :class:`KeyConstraint`."""

    name: str
    element: str
    selectors: tuple[tuple[str, ...], ...]
    fields: tuple[tuple[tuple[str, ...], ...], ...]
    key: str


@dataclass(frozen=True, slots=True)
class SchemaGraph:
    """A schema: its root element type and all declared element types, by name, or by what else it calls them.

    ``keys`` and ``references`` are the identity constraints of an XSD. ``file`` is where the schema was read from, for
    messages; ``text`` is the schema itself; ``prefixes`` are those that texts use for its names; ``roots`` are the
    element types that may be chosen as root, all of them where there are none; ``remarks`` say what of it no document
    can have. None of these five takes part in comparisons.
    """

    root: str
    elements: Mapping[str, Element]
    file: str | None = field(default=None, compare=False)
    text: str | None = field(default=None, compare=False, repr=False)
    prefixes: Prefixes = field(default=NO_PREFIXES, compare=False)
    keys: tuple[KeyConstraint, ...] = ()
    references: tuple[KeyReference, ...] = ()
    roots: tuple[str, ...] = field(default=(), compare=False, repr=False)
    remarks: tuple[Fault, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.root not in self.elements:
            raise ValueError(f"the root {self.root} is not declared")
        for element in self.elements.values():
            if missing := [child.name for child in element.children if child.key not in self.elements]:
                raise ValueError(f"{element.name} has undeclared children: {', '.join(missing)}")


@dataclass(frozen=True, slots=True, eq=False)
class SameGraph:
    """A graph that is equal to itself alone: what is made of it is kept, and to compare graphs takes longer."""

    graph: SchemaGraph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameGraph) and other.graph is self.graph

    def __hash__(self) -> int:
        return id(self.graph)
