"""Names as a DTD has them: with the prefixes of documents, which are a part of them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from heptox.errors import Fault, SchemaError
from heptox.schema.inference.collecting import Collection, Spelling
from heptox.xml import split_name


@dataclass(frozen=True, slots=True)
class DtdNames:
    """The prefix of each namespace, for elements and for attributes, and the declarations of prefixes that elements
    have:
    each prefix with its namespace, ``None`` where that varies."""

    elements: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    declarations: Mapping[str, tuple[tuple[str, str | None], ...]] = field(default_factory=dict)

    def element(self, name: str) -> str:
        """The name of an element type.

        >>> DtdNames({"urn:a": "p"}).element("{urn:a}b"), DtdNames().element("b")
        ('p:b', 'b')
        """
        return _written(self.elements, name)

    def attribute(self, name: str) -> str:
        """The name of an attribute."""
        return _written(self.attributes, name)


def _written(prefixes: Mapping[str, str], name: str) -> str:
    namespace, local = split_name(name)
    prefix = prefixes.get(namespace, "")
    return f"{prefix}:{local}" if prefix else local


def dtd_names(collection: Collection, known: Spelling | None = None) -> DtdNames:
    """Names as documents have them, and a DTD, which spells names in a way that is ``known``.

    Raises :class:`SchemaError` (HX2061) where one name is written in two ways, or two are written alike.
    """
    spelling = collection.spelling
    known = known or Spelling()
    for spelled, more in ((spelling.elements, known.elements), (spelling.attributes, known.attributes)):
        for namespace, prefixes in more.items():
            spelled.setdefault(namespace, {}).update(prefixes)
    faults = [*_clashes(spelling.elements, "elements"), *_clashes(spelling.attributes, "attributes")]
    if faults:
        raise SchemaError(faults)
    fixed = {prefix: next(iter(uris)) if len(uris) == 1 else None for prefix, uris in spelling.bound.items()}
    names = dict.fromkeys(name for _, name, _ in collection.contexts)
    return DtdNames(
        {namespace: next(iter(prefixes)) for namespace, prefixes in spelling.elements.items()},
        {namespace: next(iter(prefixes)) for namespace, prefixes in spelling.attributes.items()},
        {
            name: tuple((prefix, fixed[prefix] or None) for prefix in _declared(spelling, name))
            for name in names
            if spelling.repeated or name in spelling.declared
        },
    )


def _declared(spelling: Spelling, name: str) -> list[str]:
    """The prefixes that may be declared on an element; all where documents declare some again to no effect."""
    return sorted(spelling.bound if spelling.repeated else spelling.declared[name])


def _clashes(spelled: Mapping[str, Mapping[str, None]], what: str) -> Iterator[Fault]:
    hint = "in a DTD a prefix is a part of the name: infer an XSD, or write one prefix for each namespace"
    namespaces: dict[str, list[str]] = {}
    for namespace, prefixes in spelled.items():
        if len(prefixes) > 1:
            written = " and ".join(prefix or "none" for prefix in prefixes)
            yield Fault("HX2061", f"{what} in the namespace {namespace} have different prefixes: {written}", hint=hint)
        for prefix in prefixes:
            namespaces.setdefault(prefix, []).append(namespace)
    for prefix, several in namespaces.items():
        if len(several) > 1:
            one = f"the prefix {prefix}" if prefix else "no prefix"
            written = " and ".join(namespace or "none" for namespace in several)
            yield Fault("HX2061", f"{what} in several namespaces have {one}: {written}", hint=hint)
