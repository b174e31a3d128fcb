"""Types of an XSD as element types of a schema graph (``semantics.md`` section 1).

An element may have its declared type, those derived from it that ``xsi:type`` may name, and, in XSD 1.1, its
alternatives: its element type is what holds for all of these. Declarations of one name with the same possible types
share an element type. A substitution group is a choice of its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import Any, Final, TypeAlias

from xmlschema.validators import (
    XsdAnyElement,
    XsdAttribute,
    XsdComponent,
    XsdElement,
)

from heptox.errors import Fault, SchemaError
from heptox.schema.dtd import cardinalities
from heptox.schema.merging import merged_attribute, merged_content, weakest
from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, ValueType, tokens
from heptox.schema.xsd_files import XSD
from heptox.xml import XSI_NIL, XSI_TYPE, split_name

MOST_PARTS: Final = 100_000
"""Parts of one content model at most, with all groups that it refers to."""
_LONGEST_DOCUMENTATION: Final = 1000
_MOST_DERIVED: Final = 100
"""Types between a type and the one that it is derived from in the end, at most."""
_MOST_PERMUTED: Final = 4
"""Members of an ``xs:all`` of which all orders are spelt out in the content model."""

_XsdType: TypeAlias = Any
"""A simple or complex type of xmlschema, whose parts depend on which of these it is."""


@dataclass(frozen=True, slots=True)
class ElementType:
    """What an element may be: its name, the types that it may have, by what :class:`TypeTable` calls them, whether it
    may be nil, how often it says ``xsi:type``, and the identity constraints that hold in it."""

    name: str
    types: frozenset[str]
    nillable: bool = False
    says_type: Cardinality | None = None
    constraints: frozenset[str] = frozenset()

    def joined(self, other: ElementType) -> ElementType:
        """What an element of that name may be that is one of both."""
        says = [each.says_type for each in (self, other)]
        return ElementType(
            self.name,
            self.types | other.types,
            self.nillable or other.nillable,
            None if says == [None, None] else weakest([one or Cardinality.OPTIONAL for one in says]),
            self.constraints & other.constraints,
        )


@dataclass(frozen=True, slots=True)
class _Content:
    """What a type lets stand in an element."""

    children: Mapping[str, tuple[Cardinality, ElementType]] = field(default_factory=dict)
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    particle: Particle | None = None
    text: bool = False
    open: bool = False
    value_type: ValueType = ValueType.STRING
    values: tuple[str, ...] = ()


class TypeTable:
    """The element types of an XSD, found from its global elements; ``elements`` are those of the graph."""

    def __init__(self, schema: Any, file: str) -> None:
        self._file = file
        self._types: dict[str, _XsdType] = {}
        self._anonymous: dict[int, str] = {}
        self._derived = self._derived_types(schema.maps.types.values())
        self._contents: dict[str, _Content] = {}
        self._declared: dict[int, ElementType] = {}
        self._documentation: dict[ElementType, str] = {}
        self._above: dict[ElementType, str] = {}
        """For each element type, what it stands below where it was met first."""
        self.constraints: dict[str, XsdElement] = {}
        """The declarations that hold identity constraints, by the names of these."""
        self.globals = {
            name: self._element_type(schema.maps.elements[name])
            for name in sorted(schema.maps.elements)
            if not name.startswith(XSD)
        }

    @cached_property
    def keys(self) -> dict[ElementType, str]:
        """What the graph calls each element type, all that can be reached."""
        found = dict.fromkeys(self.globals.values())
        waiting = list(found)
        while waiting:
            element = waiting.pop()
            label = self._label(element)
            for child in self._weakened(element).children.values():
                self._above.setdefault(child[1], label)
                if child[1] not in found:
                    found[child[1]] = None
                    waiting.append(child[1])
        return self._named(found)

    @cached_property
    def elements(self) -> dict[str, Element]:
        """The element types of the graph, by what it calls them, in that order."""
        return {
            key: self._element(element, key) for element, key in sorted(self.keys.items(), key=lambda pair: pair[1])
        }

    def _named(self, found: Iterable[ElementType]) -> dict[ElementType, str]:
        several: dict[str, list[ElementType]] = {}
        for element in found:
            several.setdefault(element.name, []).append(element)
        named: dict[ElementType, str] = {}
        taken = set(several)
        for name, elements in several.items():
            first = self.globals.get(name) or (elements[0] if len(elements) == 1 else None)
            for element in sorted(elements, key=lambda one: (self._above.get(one, ""), sorted(one.types))):
                key = name if element == first else _free(f"{name} of {self._above.get(element, '')}", taken)
                taken.add(key)
                named[element] = key
        return named

    def _label(self, element: ElementType) -> str:
        """What a child of an element is said to stand in: the type of the element, or the element itself."""
        named = (name for name in element.types if not name.startswith("#"))
        return split_name(min(named, default=element.name))[1]

    def _element(self, element: ElementType, key: str) -> Element:
        content = self._weakened(element)
        children = content.children.items()
        return Element(
            element.name,
            tuple(
                Child(name, cardinality, "" if self.keys[child] == name else self.keys[child])
                for name, (cardinality, child) in children
            ),
            tuple(content.attributes.values()),
            content.text,
            content.particle,
            "" if key == element.name else key,
            content.open,
            content.value_type,
            content.values,
            self._documentation.get(element, ""),
        )

    # -- declarations ------------------------------------------------------------------------------------------------

    def _element_type(self, declared: XsdElement) -> ElementType:
        """The element type of a declaration, or of a reference to one."""
        declared = declared.ref if declared.ref is not None else declared
        if id(declared) not in self._declared:
            self._declared[id(declared)] = self._possible(declared)
        return self._declared[id(declared)]

    def _possible(self, declared: XsdElement) -> ElementType:
        blocked = f"{declared.block} {getattr(declared.type, 'block', '') or ''}".split()
        derived = [
            one
            for one, methods in self._derived.get(self._identity(declared.type), {}).items()
            if not methods.intersection(blocked) and "#all" not in blocked
        ]
        abstract = getattr(declared.type, "abstract", False) and bool(derived)
        possible = [*([] if abstract else [declared.type]), *derived]
        possible += [each.type for each in declared.alternatives if each.type.name != XSD + "error"]
        for each in possible:
            self._types.setdefault(self._identity(each), each)
        for constraint in declared.identities:
            self.constraints.setdefault(constraint.name, declared)
        says = Cardinality.ONE if abstract else Cardinality.OPTIONAL
        found = ElementType(
            declared.name,
            frozenset(map(self._identity, possible)),
            declared.nillable,
            says if derived else None,
            frozenset(constraint.name for constraint in declared.identities),
        )
        if not self._documentation.get(found):
            self._documentation[found] = documentation_of(declared) or documentation_of(declared.type)
        return found

    def key_of(self, declared: XsdElement) -> str:
        """What the graph calls the element type of a declaration that can be reached."""
        return self.keys[self._element_type(declared)]

    def _identity(self, declared: _XsdType) -> str:
        """What a type is called here: its name, or a number by its place, which copies of it share."""
        if declared.name:
            return str(declared.name)
        return self._anonymous.setdefault(id(declared.elem), f"#{len(self._anonymous):06}")

    def _derived_types(self, types: Iterable[_XsdType]) -> dict[str, dict[_XsdType, frozenset[str]]]:
        """For each type of the schema, the types derived from it that elements can have, with the methods between.

        Types that XML Schema itself defines are left out: every element with text could have any other type of text.
        """
        found: dict[str, dict[_XsdType, frozenset[str]]] = {}
        for declared in sorted((one for one in types if not (one.name or "").startswith(XSD)), key=self._identity):
            if getattr(declared, "abstract", False):
                continue
            methods: set[str] = set()
            below: _XsdType = declared
            seen = {self._identity(declared)}
            for _ in range(_MOST_DERIVED):
                above = below.base_type
                if above is None:
                    break
                methods.add(below.derivation or "restriction")
                # a type that redefines itself has the name of the one before
                if self._identity(above) not in seen and not (above.name or XSD).startswith(XSD):
                    found.setdefault(self._identity(above), {})[declared] = frozenset(methods)
                seen.add(self._identity(above))
                below = above
        return found

    # -- contents ----------------------------------------------------------------------------------------------------

    def _weakened(self, element: ElementType) -> _Content:
        """What holds for an element, whichever of its types it has."""
        contents = [self._content(name) for name in sorted(element.types)]
        found = contents[0] if len(contents) == 1 else _joined(contents)
        attributes = dict(found.attributes)
        if element.says_type is not None:
            kind = AttributeType.CDATA
            attributes[XSI_TYPE] = Attribute(XSI_TYPE, kind, element.says_type, value_type=ValueType.NAME)
        if element.nillable:
            values = ("true", "false", "1", "0")
            kind = AttributeType.ENUMERATION
            attributes[XSI_NIL] = Attribute(
                XSI_NIL, kind, Cardinality.OPTIONAL, values=values, value_type=ValueType.BOOLEAN
            )
            # an element that is nil has no content, whatever else it must have
            weak = Cardinality.OPTIONAL
            children = {name: (weakest([one, weak]), child) for name, (one, child) in found.children.items()}
            particle = None if found.particle is None else _optional(found.particle)
            return replace(found, attributes=attributes, children=children, particle=particle)
        return replace(found, attributes=attributes) if len(attributes) > len(found.attributes) else found

    def _content(self, name: str) -> _Content:
        if name not in self._contents:
            self._contents[name] = self._content_of(self._types[name])
        return self._contents[name]

    def _content_of(self, declared: _XsdType) -> _Content:
        if declared.is_simple():
            return _Content(text=True, value_type=value_type(declared), values=enumerated(declared))
        attributes, open_attributes = _attributes(declared)
        if declared.has_simple_content():
            simple = declared.content
            return _Content(
                attributes=attributes,
                text=True,
                open=open_attributes,
                value_type=value_type(simple),
                values=enumerated(simple),
            )
        model = _Model(self._element_type, self._file)
        particle = model.of(declared.content)
        counted = {} if particle is None else cardinalities(particle)
        opened = [getattr(one, "open_content", None) for one in (declared, declared.content)]
        is_open = model.open or open_attributes or any(one is not None for one in opened)
        return _Content(
            {name: (cardinality, model.children[name]) for name, cardinality in counted.items()},
            attributes,
            None if particle is None else _spelt(particle),
            bool(declared.mixed),
            is_open,
        )


@dataclass(slots=True)
class _Model:
    """A content model: its parts as particles, in which an ``all`` is a sequence called ``all``; the element types of
    its members by name; whether anything else may stand there."""

    element_type: Any
    file: str
    children: dict[str, ElementType] = field(default_factory=dict)
    open: bool = False
    parts: int = 0

    def of(self, part: Any) -> Particle | None:
        """A part of the model, ``None`` where nothing that is declared can stand there.

        Raises :class:`SchemaError` (HX2033) beyond :data:`MOST_PARTS`: groups in groups may be very many.
        """
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise SchemaError(Fault("HX2033", f"a content model has more than {MOST_PARTS:,} parts", file=self.file))
        if part.max_occurs == 0:
            return None
        occurrence = _occurrence(part.min_occurs, part.max_occurs)
        if isinstance(part, XsdAnyElement):
            self.open = True
            return None
        if isinstance(part, XsdElement):
            return self._element(part, occurrence)
        members = [self.of(member) for member in part]
        found = tuple(member for member in members if member is not None)
        if not found:
            return None
        if part.model == "choice":
            # where one of the members may be nothing at all, so may the choice
            empty = any(one is None and _may_be_empty(member) for one, member in zip(members, part, strict=True))
            inner = _group("choice", Cardinality.OPTIONAL if empty else Cardinality.ONE, found)
            return _repeated(inner, occurrence)
        name = "all" if part.model == "all" and len(found) > 1 else ""
        return _repeated(_group("sequence", Cardinality.ONE, found, name), occurrence)

    def _element(self, declared: XsdElement, occurrence: Cardinality) -> Particle | None:
        head = declared.ref if declared.ref is not None else declared
        possible = [] if head.abstract else [head]
        if declared.ref is not None and "substitution" not in head.block and "#all" not in head.block:
            possible += sorted(set(declared.iter_substitutes()) - {head}, key=lambda one: one.name)
        for each in possible:
            found = self.element_type(each)
            known = self.children.get(found.name)
            self.children[found.name] = found if known is None else known.joined(found)
        names = tuple(Particle("name", Cardinality.ONE, each.name) for each in possible)
        return _repeated(_group("choice", Cardinality.ONE, names), occurrence) if names else None


def _may_be_empty(part: Any) -> bool:
    """Whether a member of a choice for which no declared element can stand is an alternative all the same: a wildcard,
    or an empty group; an abstract element without substitutes is none."""
    return part.max_occurs != 0 and not isinstance(part, XsdElement)


# -- particles -------------------------------------------------------------------------------------------------------


def _occurrence(least: int, most: int | None) -> Cardinality:
    return Cardinality.of(least > 0, most is None or most > 1)


def _group(kind: Any, occurrence: Cardinality, members: tuple[Particle, ...], name: str = "") -> Particle:
    if len(members) == 1:
        return _repeated(members[0], occurrence)
    return Particle(kind, occurrence, name, members)


def _repeated(particle: Particle, outer: Cardinality) -> Particle:
    inner = particle.occurrence
    found = Cardinality.of(inner.required and outer.required, inner.repeats or outer.repeats)
    return particle if found == inner else replace(particle, occurrence=found)


def _optional(particle: Particle) -> Particle:
    return _repeated(particle, Cardinality.OPTIONAL)


def _spelt(particle: Particle) -> Particle:
    """A content model without ``all``: its members in each order, or weakened to any number of any of them."""
    members = tuple(map(_spelt, particle.members))
    if particle.kind == "sequence" and particle.name:
        if len(members) <= _MOST_PERMUTED:
            return _repeated(_permuted(members), particle.occurrence)
        return Particle("choice", Cardinality.MANY, members=members)
    return replace(particle, members=members) if members else particle


def _permuted(members: tuple[Particle, ...]) -> Particle:
    """The members in any order."""
    if len(members) == 1:
        return members[0]
    begun = (
        Particle("sequence", Cardinality.ONE, members=(one, _permuted(members[:index] + members[index + 1 :])))
        for index, one in enumerate(members)
    )
    return Particle("choice", Cardinality.ONE, members=tuple(begun))


def _joined(contents: Sequence[_Content]) -> _Content:
    """What holds for all of several contents."""
    children: dict[str, tuple[Cardinality, ElementType]] = {}
    for name in dict.fromkeys(name for content in contents for name in content.children):
        found = [content.children.get(name) for content in contents]
        element = None
        for one in found:
            if one is not None:
                element = one[1] if element is None else element.joined(one[1])
        assert element is not None
        children[name] = (weakest([Cardinality.OPTIONAL if one is None else one[0] for one in found]), element)
    attributes = {
        name: merged_attribute([each.attributes[name] for each in contents if name in each.attributes], len(contents))
        for name in dict.fromkeys(name for content in contents for name in content.attributes)
    }
    types = {content.value_type for content in contents if content.text}
    values = {content.values for content in contents if content.text}
    return _Content(
        children,
        attributes,
        merged_content([content.particle for content in contents]),
        any(content.text for content in contents),
        any(content.open for content in contents),
        types.pop() if len(types) == 1 else ValueType.STRING,
        values.pop() if len(values) == 1 else (),
    )


# -- types -----------------------------------------------------------------------------------------------------------


def _attributes(declared: _XsdType) -> tuple[dict[str, Attribute], bool]:
    """The attributes of a type, and whether any other may stand there."""
    found = {
        name: _attribute(attribute)
        for name, attribute in declared.attributes.items()
        if name is not None and attribute.use != "prohibited"
    }
    return found, None in declared.attributes


def _attribute(declared: XsdAttribute) -> Attribute:
    """An attribute. Whether it has a default is not said: documents are taken as they are written, which only a DTD
    changes."""
    kind, values = _attribute_type(declared.type, declared.fixed)
    return Attribute(
        declared.name,
        kind,
        Cardinality.ONE if declared.use == "required" else Cardinality.OPTIONAL,
        values=values,
        value_type=value_type(declared.type),
        documentation=documentation_of(declared),
    )


_KINDS: Final = {
    XSD + kind.value: kind
    for kind in (AttributeType.ID, AttributeType.IDREF, AttributeType.IDREFS, AttributeType.NMTOKEN,
                 AttributeType.NMTOKENS, AttributeType.ENTITY, AttributeType.ENTITIES)
}  # fmt: skip


def _attribute_type(declared: _XsdType, fixed: str | None) -> tuple[AttributeType, tuple[str, ...]]:
    kind = next((_KINDS[name] for name in _names_above(declared) if name in _KINDS), AttributeType.CDATA)
    values = enumerated(declared) if fixed is None else (fixed,)
    if kind not in (AttributeType.CDATA, AttributeType.NMTOKEN):
        return kind, ()
    # other values than those of texts can be written in several ways
    if values and value_type(declared) == ValueType.STRING and all(tokens(value) == value for value in values):
        return AttributeType.ENUMERATION, values
    return kind, ()


def _names_above(declared: _XsdType) -> Iterator[str]:
    """The names of a simple type and of those that it is derived from."""
    above: Any = declared
    for _ in range(_MOST_DERIVED):
        if above is None:
            return
        yield above.name or ""
        above = above.base_type


_VALUE_TYPES: Final = {
    **{XSD + one.value: one for one in ValueType if one not in (ValueType.LIST, ValueType.UNION)},
    XSD + "float": ValueType.DOUBLE,
    XSD + "NOTATION": ValueType.NAME,
    XSD + "IDREFS": ValueType.LIST,
    XSD + "ENTITIES": ValueType.LIST,
    XSD + "NMTOKENS": ValueType.LIST,
}


def value_type(declared: _XsdType) -> ValueType:
    """What the values of a simple type are."""
    found = next((_VALUE_TYPES[name] for name in _names_above(declared) if name in _VALUE_TYPES), None)
    if found is not None:
        return found
    if declared.is_list():
        return ValueType.LIST
    return ValueType.UNION if declared.is_union() else ValueType.STRING


def enumerated(declared: _XsdType) -> tuple[str, ...]:
    """The only values of a simple type, as the schema writes them; none where there are others."""
    facet = declared.get_facet(XSD + "enumeration")
    return () if facet is None else tuple(dict.fromkeys(part.get("value", "") for part in facet))


def documentation_of(component: XsdComponent) -> str:
    """What a declaration says about itself, on one line."""
    for child in component.elem:
        if child.tag == XSD + "annotation":
            texts = (text for part in child.iter(XSD + "documentation") for text in part.itertext())
            return " ".join(" ".join(texts).split())[:_LONGEST_DOCUMENTATION]
    return ""


def _free(key: str, taken: set[str]) -> str:
    return next(one for one in chain([key], (f"{key} {number}" for number in count(2))) if one not in taken)
