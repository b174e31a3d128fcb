"""What of documents a schema does not allow: child sequences, and values of the attributes of a DTD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from heptox.schema.content import ContentState, first_state
from heptox.schema.inference.leaves import LeavesOfDocument
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema, Leaf
from heptox.schema.inference.values import is_name, is_token
from heptox.schema.model import AttributeType, Cardinality, Child, Element, Particle

_ENTITIES: Final = (AttributeType.ENTITY, AttributeType.ENTITIES)
_REFERRING: Final = (AttributeType.IDREF, AttributeType.IDREFS)


def names_of(model: Particle | None) -> dict[str, None]:
    """The names in a content model, in their order."""
    if model is None:
        return {}
    if model.kind == "name":
        return {model.name: None}
    return {name: None for member in model.members for name in names_of(member)}


@dataclass(slots=True)
class Watch:
    """Watches documents under a schema; ``nil_counts`` where it does not know that nil elements are empty by right."""

    schema: InferredSchema
    nil_counts: bool = False
    rejected: set[tuple[str, str]] = field(default_factory=set)
    attributes: AttributeWatch = field(init=False)
    _first: dict[tuple[str, str], ContentState | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.attributes = AttributeWatch(
            {
                Leaf(name, f"@{attribute.name}"): attribute
                for name, element in self.schema.elements.items()
                for attribute in element.attributes
            }
        )

    def place(self, parent: str, name: str) -> tuple[str, str]:
        """What element types are known by: a local one by the parent too."""
        return (parent if (parent, name) in self.schema.local else "", name)

    def children(self, parent: str, name: str, word: list[str], nil: bool) -> None:
        place = self.place(parent, name)
        if place in self.rejected or (nil and not self.nil_counts):
            return
        if place not in self._first:
            element = self.schema.local.get(place) or self.schema.elements.get(name)
            self._first[place] = None if element is None else _first_state(element)
        state = self._first[place]
        if state is not None and not _accepts(state, word):
            self.rejected.add(place)

    def document(self, leaves: LeavesOfDocument) -> None:
        self.attributes.add(leaves.values)


def _first_state(element: InferredElement) -> ContentState:
    children = tuple(Child(name, Cardinality.MANY) for name in names_of(element.content))
    return first_state(Element(element.name, children, content=element.content))


def _accepts(state: ContentState, word: Iterable[str]) -> bool:
    for name in word:
        following = state.after.get(name) or state.step(name)
        if following is None:
            return False
        state = following
    return state.is_final


_CHECKS: Final[Mapping[AttributeType, Callable[[str], bool]]] = {
    AttributeType.ID: is_name,
    AttributeType.IDREF: is_name,
    AttributeType.IDREFS: lambda value: bool(value.split()) and all(map(is_name, value.split())),
    AttributeType.NMTOKEN: is_token,
    AttributeType.NMTOKENS: lambda value: bool(value.split()) and all(map(is_token, value.split())),
}


@dataclass(slots=True)
class AttributeWatch:
    """The attributes of a DTD whose types do not allow some values of documents.

    >>> leaf = Leaf("a", "@k")
    >>> watch = AttributeWatch({leaf: InferredAttribute("k", True, kind=AttributeType.ID)})
    >>> watch.add({leaf: ["x", "x"]})
    >>> watch.broken() == {leaf}
    True
    """

    known: Mapping[Leaf, InferredAttribute]
    outside: dict[Leaf, dict[str, None]] = field(default_factory=dict)
    changed: set[Leaf] = field(default_factory=set)
    _broken: set[Leaf] = field(default_factory=set)

    def add(self, values: Mapping[Leaf, list[str]]) -> None:
        """Look at the values of a document."""
        identifiers: dict[str, Leaf] = {}
        for leaf, found in values.items():
            attribute = self.known.get(leaf)
            if attribute is None:
                continue
            if attribute.fixed and any(value != attribute.default for value in found):
                self.changed.add(leaf)
            if attribute.type.values:
                self.outside.setdefault(leaf, {}).update(
                    dict.fromkeys(value for value in found if value not in attribute.type.values)
                )
            elif attribute.kind in _ENTITIES:
                self._broken.add(leaf)  # which entities a document declares is not known
            elif attribute.kind in _CHECKS and not all(map(_CHECKS[attribute.kind], found)):
                self._broken.add(leaf)
            if attribute.kind is AttributeType.ID:
                self._identify(leaf, found, identifiers)
        for leaf, found in values.items():
            attribute = self.known.get(leaf)
            if attribute is None or attribute.kind not in _REFERRING:
                continue
            if any(token not in identifiers for value in found for token in value.split()):
                self._broken.add(leaf)

    def _identify(self, leaf: Leaf, found: Iterable[str], identifiers: dict[str, Leaf]) -> None:
        for value in found:
            if value in identifiers:
                self._broken |= {leaf, identifiers[value]}
            identifiers[value] = leaf

    def broken(self) -> frozenset[Leaf]:
        """The attributes that can keep their types no more: where an identifier is none, a reference may miss it."""
        broken = set(self._broken)
        if any(self.known[leaf].kind is AttributeType.ID for leaf in broken):
            broken |= {leaf for leaf, attribute in self.known.items() if attribute.kind in _REFERRING}
        return frozenset(broken)
