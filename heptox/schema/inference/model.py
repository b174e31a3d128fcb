"""What is inferred from documents, before it is written as an XSD or as a DTD."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heptox.schema.inference.values import STRING, LeafType
from heptox.schema.model import AttributeType, Particle
from heptox.xml import NO_PREFIXES, Prefixes


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """A leaf as keys and references have it: an element type, and below it ``@attribute`` or a child's name."""

    element: str
    step: str

    @property
    def is_attribute(self) -> bool:
        """Whether the leaf is an attribute."""
        return self.step.startswith("@")

    def written(self, prefixes: Prefixes) -> str:
        """The leaf as a text has it.

        >>> Leaf("{urn:a}b", "@c").written(Prefixes.of({"p": "urn:a"}))
        'p:b/@c'
        """
        return prefixes.path((self.element, self.step))


@dataclass(frozen=True, slots=True)
class Key:
    """A leaf whose values differ in each document: how many there are, of elements, and in how many documents."""

    leaf: Leaf
    values: int
    elements: int
    documents: int

    @property
    def is_optional(self) -> bool:
        """Whether there are elements without a value."""
        return self.values < self.elements


@dataclass(frozen=True, slots=True)
class Reference:
    """A leaf whose values are all among those of a key; ``target`` is ``None`` where it takes several keys.

    ``values`` is how many there are in all documents, ``different`` counts those that differ within a document.
    """

    leaf: Leaf
    target: Leaf | None
    values: int
    different: int
    several: bool = False


@dataclass(frozen=True, slots=True)
class InferredAttribute:
    """An attribute; ``kind`` is its type in a DTD, where that is of importance. Only one of a DTD has a default."""

    name: str
    required: bool
    type: LeafType = STRING
    kind: AttributeType = AttributeType.CDATA
    default: str | None = None
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class InferredElement:
    """An element type: the model of its children, whether it holds text, the type of its text where it is a leaf.

    ``nillable``: elements say ``xsi:nil``. ``named``: elements say ``xsi:type``, which says more than the element type.
    ``empty_tag``: no element of a document has anything between its tags, not even a comment.
    """

    name: str
    content: Particle | None = None
    text: bool = False
    type: LeafType = STRING
    attributes: tuple[InferredAttribute, ...] = ()
    nillable: bool = False
    named: bool = False
    empty_tag: bool = True

    @property
    def is_leaf(self) -> bool:
        """Whether the element holds text and no elements."""
        return self.text and self.content is None

    def attribute(self, name: str) -> InferredAttribute | None:
        """The attribute of that name."""
        return next((one for one in self.attributes if one.name == name), None)


@dataclass(frozen=True, slots=True)
class InferredSchema:
    """A schema: element types by name, those that are another below some parents by these, and what ``xsi:type`` names.

    ``attributes`` are the types of attributes in a namespace, ``roots`` the names of the documents' roots in order.
    ``documents`` is how many it was inferred from, or ``extended`` for.
    """

    roots: tuple[str, ...]
    elements: Mapping[str, InferredElement]
    local: Mapping[tuple[str, str], InferredElement] = field(default_factory=dict)
    types: Mapping[str, InferredElement] = field(default_factory=dict)
    attributes: Mapping[str, LeafType] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()
    references: tuple[Reference, ...] = ()
    prefixes: Prefixes = NO_PREFIXES
    documents: int = 0
    extended: bool = False

    def all_elements(self) -> list[InferredElement]:
        """All element types, those below some parents and those that ``xsi:type`` names too."""
        return [*self.elements.values(), *self.local.values(), *self.types.values()]
