"""Schemas that are extended, as little as can be, so that they admit more documents.

What a schema says of an element type stays where the documents keep to it. Where they do not, its content model is
inferred anew, from the whole language of the old one and the child sequences of the documents together; so every
document that was valid before is valid after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from heptox.errors import Fault, SchemaError
from heptox.schema.dtd import cardinalities
from heptox.schema.inference.collecting import Collection, ElementStatistics
from heptox.schema.inference.expressions import EMPTY, Language, any_order, chain_expression, shown
from heptox.schema.inference.inferring import counted_together, element_type, global_attributes, prefixes_of
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema, Leaf
from heptox.schema.inference.values import STRING, LeafType, ValueStatistics, attribute_type, widened
from heptox.schema.inference.watching import Watch, names_of
from heptox.schema.model import AttributeType, Cardinality, Particle
from heptox.xml import XSI_NAMESPACE, Prefixes, split_name


def extended(schema: InferredSchema, collection: Collection, watch: Watch, *, dtd: bool = False) -> InferredSchema:
    """The schema that admits the documents of a collection too, which ``watch`` has looked at.

    Raises :class:`SchemaError` (HX2063) where elements name types of their own, by ``xsi:type``, in an XSD.
    """
    if not dtd and (schema.types or any(kind for _, _, kind in collection.contexts)):
        hint = "infer a schema anew, from all documents"
        raise SchemaError(Fault("HX2063", "elements name their types by xsi:type", hint=hint))
    places: dict[tuple[str, str], ElementStatistics] = {}
    for (parent, name, _), statistics in collection.contexts.items():
        counted_together(places, watch.place(parent, name), statistics)
    elements, local = dict(schema.elements), dict(schema.local)
    extending = _Extending(watch, dtd)
    for place, statistics in places.items():
        if place in local:
            local[place] = extending.element(place, local[place], statistics)
        elif place[1] in elements:
            elements[place[1]] = extending.element(place, elements[place[1]], statistics)
        else:
            elements[place[1]] = element_type(place[1], statistics, {}, dtd=dtd)
    for name in elements.keys() - {name for _, name in places}:
        elements[name] = extending.unseen(elements[name])
    attributes = global_attributes(collection.contexts.values())
    bound = dict(prefixes_of(collection).bound)
    return replace(
        schema,
        roots=tuple(dict.fromkeys((*schema.roots, *collection.roots))),
        elements=elements,
        local=local,
        attributes=_attributes(schema.attributes, attributes, collection),
        keys=(),
        references=(),
        prefixes=Prefixes.of({**bound, **dict(schema.prefixes.bound)}),
        documents=collection.documents,
        extended=True,
    )


def _attributes(
    old: Mapping[str, LeafType], new: Mapping[str, LeafType], collection: Collection
) -> Mapping[str, LeafType]:
    """The types of attributes in a namespace."""
    values: dict[str, ValueStatistics] = {}
    for statistics in collection.contexts.values():
        for name in statistics.attributes.keys() & old.keys():
            values.setdefault(name, ValueStatistics()).merge(statistics.attributes[name])
    return {**new, **{name: widened(found, values.get(name, ValueStatistics())) for name, found in old.items()}}


class _Extending:
    """Extends element types."""

    def __init__(self, watch: Watch, dtd: bool) -> None:
        self.watch = watch
        self.dtd = dtd
        self.broken = watch.attributes.broken()

    def element(self, place: tuple[str, str], old: InferredElement, found: ElementStatistics) -> InferredElement:
        """An element type that admits what is known of elements, too."""
        content, text = self._content(place, old, found)
        has_type = text and content is None
        kept = old.type if old.text else STRING
        return replace(
            old,
            content=content,
            text=text,
            type=widened(kept, found.values) if has_type else STRING,
            attributes=tuple(self._all_attributes(old, found)),
            nillable=old.nillable or (found.nillable and not self.dtd),
            empty_tag=old.empty_tag and not found.commented,
        )

    def unseen(self, old: InferredElement) -> InferredElement:
        """An element type of which the documents have no element: what refers may refer to no identifier any more."""
        attributes = tuple(
            replace(one, kind=AttributeType.CDATA) if Leaf(old.name, f"@{one.name}") in self.broken else one
            for one in old.attributes
        )
        return replace(old, attributes=attributes)

    def _content(
        self, place: tuple[str, str], old: InferredElement, found: ElementStatistics
    ) -> tuple[Particle | None, bool]:
        """The content model, and whether there is text."""
        names = dict.fromkeys((*names_of(old.content), *found.sequences.order))
        text = old.text or found.text or (found.blank and not names)
        if text and names:
            known = old.text and old.content is not None and place not in self.watch.rejected
            return (old.content if known else any_order(names)), True
        if place not in self.watch.rejected:
            return old.content, text
        samples = [EMPTY if old.content is None else Language(old.content), found.sequences]
        return chain_expression([*samples, EMPTY] if self.dtd and found.nil else samples), text

    def _all_attributes(self, old: InferredElement, found: ElementStatistics) -> Iterator[InferredAttribute]:
        for attribute in old.attributes:
            yield self._attribute(old.name, attribute, found)
        for name, values in found.attributes.items():
            if old.attribute(name) is None and (self.dtd or split_name(name)[0] != XSI_NAMESPACE):
                yield InferredAttribute(name, False, attribute_type(name, values) if not self.dtd else STRING)

    def _attribute(self, element: str, old: InferredAttribute, found: ElementStatistics) -> InferredAttribute:
        values = found.attributes.get(old.name)
        required = old.required and found.requires(old.name)
        if not self.dtd:
            return replace(old, required=required, type=widened(old.type, values or ValueStatistics()))
        leaf = Leaf(element, f"@{old.name}")
        kind, allowed = old.kind, old.type
        if leaf in self.broken:
            kind = AttributeType.CDATA
        if outside := self.watch.attributes.outside.get(leaf):
            statistics = ValueStatistics()
            for value in outside:
                statistics.add(value)
            allowed = widened(allowed, statistics) if kind is AttributeType.ENUMERATION else STRING
            kind = kind if allowed.values else AttributeType.CDATA
        fixed = old.fixed and leaf not in self.watch.attributes.changed
        return replace(old, required=required, type=allowed, kind=kind, fixed=fixed)


# -- what has changed --------------------------------------------------------------------------------------------

_OFTEN: Final = {
    Cardinality.ONE: "required",
    Cardinality.OPTIONAL: "optional",
    Cardinality.MANY: "any number",
    Cardinality.SOME: "one or more",
}


def changes(old: InferredSchema, new: InferredSchema, collection: Collection, *, dtd: bool = False) -> Iterator[str]:
    """What has changed from one schema to another, one thing a line: where in the documents, and what."""
    paths = _paths(collection)
    told = _Changes(new.prefixes, dtd)
    for place, element in (*((("", name), each) for name, each in new.elements.items()), *new.local.items()):
        before = old.local.get(place) or (old.elements.get(place[1]) if not place[0] else None)
        path = new.prefixes.path(paths.get(place) or paths.get(("", place[1])) or (place[1],))
        if before is None:
            yield f"{path}: declared, {told.kind(element)}"
        elif before != element:
            yield from (f"{path}: {change}" for change in told.of(before, element))
    for name, found in new.attributes.items():
        if name in old.attributes and old.attributes[name] != found:
            written = new.prefixes.written(name, attribute=True)
            yield f"@{written}: was {_type(old.attributes[name])}, now {_type(found)}"


def _paths(collection: Collection) -> dict[tuple[str, str], tuple[str, ...]]:
    """Where elements stand first, by their names with and without those of their parents."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for parent, name, _ in collection.contexts:
        path = (*found.get(("", parent), ()), name)
        found.setdefault((parent, name), path)
        found.setdefault(("", name), path)
    return found


class _Changes:
    """Says what has changed in an element type."""

    def __init__(self, prefixes: Prefixes, dtd: bool) -> None:
        self.prefixes = prefixes
        self.dtd = dtd

    def kind(self, element: InferredElement) -> str:
        """What a new element type is."""
        if element.content is None:
            return _type(element.type) if element.text and not self.dtd else "text" if element.text else "empty"
        return f"{'mixed: ' if element.text else ''}{self._model(element.content)}"

    def of(self, old: InferredElement, new: InferredElement) -> Iterator[str]:
        """What has changed from one element type to another."""
        before, after = (cardinalities(one.content) if one.content else {} for one in (old, new))
        children = []
        for name, cardinality in after.items():
            written = self.prefixes.written(name)
            if name not in before:
                children.append(f"{written} added, {_OFTEN[cardinality]}")
            elif before[name] is not cardinality:
                children.append(f"{written} was {_OFTEN[before[name]]}, now {_OFTEN[cardinality]}")
        yield from children
        if new.text and not old.text:
            yield "text allowed"
        elif old.content != new.content and not children:
            yield f"children were {self._model(old.content)}, now {self._model(new.content)}"
        if old.empty_tag and not new.empty_tag and self.dtd and self.kind(old) == self.kind(new) == "empty":
            yield "comments allowed"
        if old.text and old.type != new.type and new.content is None:
            yield f"was {_type(old.type)}, now {_type(new.type)}"
        if new.nillable and not old.nillable:
            yield "may be nil"
        yield from self._attributes(old, new)

    def _attributes(self, old: InferredElement, new: InferredElement) -> Iterator[str]:
        for attribute in new.attributes:
            name = f"@{self.prefixes.written(attribute.name, attribute=True)}"
            before = old.attribute(attribute.name)
            if before is None:
                yield f"{name} added, optional"
                continue
            if before.required and not attribute.required:
                yield f"{name} was required, now optional"
            if before.type != attribute.type or before.kind is not attribute.kind:
                yield f"{name} was {_attribute_type(before)}, now {_attribute_type(attribute)}"
            if before.fixed and not attribute.fixed:
                yield f"{name} was fixed, now a default"

    def _model(self, model: Particle | None) -> str:
        return shown(model, self.prefixes)


def _attribute_type(attribute: InferredAttribute) -> str:
    plain = attribute.kind is AttributeType.CDATA or bool(attribute.type.values)
    return _type(attribute.type) if plain else attribute.kind.value


def _type(found: LeafType) -> str:
    return " | ".join(found.values) if found.values else "text" if found == STRING else found.name
