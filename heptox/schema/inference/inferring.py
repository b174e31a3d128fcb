"""Schemas from what documents have in common.

Elements of one name are of one type, unless they hold text alone below some parents and elements below others: those
are
told apart by their parents, where an XSD can say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypeVar

from heptox.errors import Fault, HeptoxError, InputError, SchemaError
from heptox.schema.inference.collecting import Collection, ElementStatistics, Watcher
from heptox.schema.inference.expressions import EMPTY, any_order, chain_expression
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema, Key, Leaf, Reference
from heptox.schema.inference.values import STRING, LeafType, ValueStatistics, attribute_type
from heptox.schema.model import AttributeType
from heptox.xml import XSI_NAMESPACE, Prefixes, file_name, parse_document, read_bytes, split_name

XSD_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema"
_Name = TypeVar("_Name")
_KEY_TYPES: Final = frozenset({"string", "integer", "anyURI"})


Source: TypeAlias = "str | os.PathLike[str] | tuple[bytes, str | None]"
"""A document: its file (``"-"``: standard input), or its bytes with what messages call it."""


def collected(documents: Iterable[Source], watcher: Watcher | None = None) -> Collection:
    """What documents have in common; of none more is kept. ``watcher`` looks at each of them.

    Raises :class:`InputError` or :class:`SchemaError` with the faults of all documents that cannot be read.

    >>> collected([(b"<a/>", None), (b"<b/>", None)]).documents
    2
    """
    collection = Collection(watcher=watcher)
    faults: list[Fault] = []
    kind: type[HeptoxError] = InputError
    for document in documents:
        try:
            data, file = document if isinstance(document, tuple) else (read_bytes(document), file_name(document))
            collection.add(parse_document(data, file), data)
        except HeptoxError as error:
            kind = type(error)
            faults += error.faults
    if faults:
        raise kind(faults)
    return collection


def inferred_schema(collection: Collection, *, dtd: bool = False) -> InferredSchema:
    """The schema of documents: as an XSD can say it, or as a DTD can.

    Raises :class:`SchemaError` (HX2061) where a DTD would need local types.

    >>> schema = inferred_schema(collected([(b"<a><b>x</b><b>y</b></a>", None)]))
    >>> [child.name + child.occurrence for child in schema.elements["a"].content.members]
    ['b+']
    """
    named = {kind for _, _, kind in collection.contexts if kind} if not dtd else set[str]()
    together, local = merged(collection, apart=not named, dtd=dtd)
    keys = collection.leaves.keys()
    kinds = _kinds(collection, keys)
    with_types = {name for _, name, kind in collection.contexts if kind}
    elements = {
        name: element_type(name, statistics, kinds, dtd=dtd, named=name in with_types and not dtd)
        for name, statistics in together.items()
    }
    locals_ = {place: element_type(place[1], statistics, kinds, dtd=dtd) for place, statistics in local.items()}
    keys = tuple(key for key in keys if _is_key_type(leaf_type(key.leaf, elements, locals_)))
    return InferredSchema(
        tuple(collection.roots),
        elements,
        locals_,
        {kind: _named_type(kind, collection, kinds) for kind in sorted(named) if split_name(kind)[0] != XSD_NAMESPACE},
        global_attributes([*together.values(), *local.values()]),
        keys,
        _references(collection, keys, kinds),
        prefixes_of(collection),
        collection.documents,
    )


def prefixes_of(collection: Collection) -> Prefixes:
    """The prefixes of documents; of several namespaces for one prefix the first."""
    bound = {prefix: next(iter(uris)) for prefix, uris in collection.spelling.bound.items()}
    return Prefixes.of({prefix: uri for prefix, uri in bound.items() if prefix != "xml"})


# -- element types -----------------------------------------------------------------------------------------------


def merged(
    collection: Collection, *, apart: bool, dtd: bool
) -> tuple[dict[str, ElementStatistics], dict[tuple[str, str], ElementStatistics]]:
    """The elements of each name together, and those that are told apart by their parents."""
    by_name: dict[str, dict[str, ElementStatistics]] = {}
    for (parent, name, _), statistics in collection.contexts.items():
        counted_together(by_name.setdefault(name, {}), parent, statistics)
    together: dict[str, ElementStatistics] = {}
    local: dict[tuple[str, str], ElementStatistics] = {}
    faults = []
    for name, parents in by_name.items():
        told_apart = _apart(name, parents) if apart else frozenset[str]()
        if told_apart and dtd:
            faults.append(_local_fault(name, parents))
        for parent, statistics in parents.items():
            if parent in told_apart:
                local[parent, name] = statistics
            else:
                counted_together(together, name, statistics)
    if faults:
        raise SchemaError(faults)
    return together, local


def counted_together(found: dict[_Name, ElementStatistics], key: _Name, statistics: ElementStatistics) -> None:
    """Count elements together with those that have the same key."""
    found.setdefault(key, ElementStatistics()).merge(statistics)


def _apart(name: str, parents: Mapping[str, ElementStatistics]) -> frozenset[str]:
    """The parents below which elements of a name hold text alone, where they hold elements below others.

    There are none where one of these parents is in another namespace, for it can refer only to the type that all have,
    or where such an element is a root.
    """
    leaves = frozenset(parent for parent, found in parents.items() if found.text and not found.has_children)
    if not any(found.has_children for found in parents.values()):
        return frozenset()
    namespace = split_name(name)[0]
    return leaves if all(parent and split_name(parent)[0] == namespace for parent in leaves) else frozenset()


def _local_fault(name: str, parents: Mapping[str, ElementStatistics]) -> Fault:
    kinds: dict[bool, str] = {}
    for parent, found in parents.items():
        if found.text or found.has_children:
            kinds.setdefault(found.has_children, parent or "the root")
    message = f"{name} holds text alone below {kinds[False]}, and elements below {kinds[True]}"
    return Fault("HX2061", message, hint="a DTD has one type for both: infer an XSD")


def element_type(
    name: str,
    found: ElementStatistics,
    kinds: Mapping[Leaf, AttributeType],
    *,
    dtd: bool = False,
    named: bool = False,
) -> InferredElement:
    """The type of elements that were counted together."""
    has_text = found.text or (found.blank and not found.has_children)
    mixed = found.text and found.has_children
    samples = [found.sequences, EMPTY] if dtd and found.nil else [found.sequences]
    return InferredElement(
        name,
        any_order(found.sequences.order) if mixed else chain_expression(samples),
        has_text,
        found.values.type() if has_text and not found.has_children else STRING,
        tuple(
            InferredAttribute(
                attribute,
                found.requires(attribute),
                attribute_type(attribute, values),
                kinds.get(Leaf(name, f"@{attribute}"), AttributeType.CDATA),
            )
            for attribute, values in found.attributes.items()
            if dtd or split_name(attribute)[0] != XSI_NAMESPACE
        ),
        found.nillable,
        named,
        not found.commented,
    )


def _named_type(kind: str, collection: Collection, kinds: Mapping[Leaf, AttributeType]) -> InferredElement:
    """The type that is named by ``xsi:type``, whatever elements name it."""
    together = ElementStatistics()
    for (_, _, named), statistics in collection.contexts.items():
        if named == kind:
            together.merge(statistics)
    return element_type(kind, together, kinds)


def global_attributes(elements: Iterable[ElementStatistics]) -> dict[str, LeafType]:
    """The types of attributes that are in a namespace: each has one, wherever it stands."""
    found: dict[str, ValueStatistics] = {}
    for statistics in elements:
        for name, values in statistics.attributes.items():
            if split_name(name)[0] not in ("", XSI_NAMESPACE):
                found.setdefault(name, ValueStatistics()).merge(values)
    return {name: attribute_type(name, values) for name, values in found.items()}


# -- keys and references -----------------------------------------------------------------------------------------


def leaf_type(
    leaf: Leaf, elements: Mapping[str, InferredElement], local: Mapping[tuple[str, str], InferredElement]
) -> LeafType | None:
    """The type of a leaf; ``None`` where that is more than a type of values."""
    if leaf.is_attribute:
        attribute = elements[leaf.element].attribute(leaf.step[1:]) if leaf.element in elements else None
        return attribute.type if attribute else None
    element = local.get((leaf.element, leaf.step)) or elements.get(leaf.step)
    return element.type if element and element.is_leaf and not element.nillable and not element.named else None


def _is_key_type(found: LeafType | None) -> bool:
    return found is not None and found.name in _KEY_TYPES and not found.values


def _kinds(collection: Collection, keys: Iterable[Key]) -> dict[Leaf, AttributeType]:
    """The attributes that can be ``ID``, ``IDREF`` and ``IDREFS`` of a DTD."""
    identifiers = collection.leaves.identifiers(keys)
    found = dict.fromkeys(identifiers, AttributeType.ID)
    for reference in collection.leaves.references_to(identifiers):
        found[reference.leaf] = AttributeType.IDREFS if reference.several else AttributeType.IDREF
    return found


def _references(
    collection: Collection, keys: tuple[Key, ...], kinds: Mapping[Leaf, AttributeType]
) -> tuple[Reference, ...]:
    """References to one of the keys each, and those to several identifiers."""
    found = {reference.leaf: reference for reference in collection.leaves.references(keys)}
    identifiers = frozenset(leaf for leaf, kind in kinds.items() if kind is AttributeType.ID)
    for reference in collection.leaves.references_to(identifiers):
        found.setdefault(reference.leaf, reference)
    return tuple(found[leaf] for leaf in sorted(found))
