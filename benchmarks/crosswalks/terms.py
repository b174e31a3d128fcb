"""The terms of a semantic model: which term an element is, by where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from heptox.schema import Path
from heptox.xml import Document, XmlElement, expanded_name, split_name

_XSD: Final = "http://www.w3.org/2001/XMLSchema"


@dataclass(frozen=True, slots=True)
class Terms:
    """The term of each element of a model that has one, by its path below the root.

    >>> from heptox.xml import parse_document
    >>> xsd = '''<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="order"><xs:complexType>
    ...   <xs:sequence><xs:element name="number"><xs:annotation><xs:appinfo>T-1</xs:appinfo></xs:annotation>
    ...   </xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>'''
    >>> annotated_terms(parse_document(xsd)).names
    {('number',): 'T-1'}
    """

    names: Mapping[Path, str]

    def __or__(self, other: Terms) -> Terms:
        """The terms of both; raises ``ValueError`` where they disagree."""
        for path, name in other.names.items():
            if (known := self.names.get(path, name)) != name:
                raise ValueError(f"{'/'.join(split_name(step)[1] for step in path)} is {known} here and {name} there")
        return Terms({**self.names, **other.names})

    @property
    def groups(self) -> frozenset[str]:
        """The terms of what holds other terms."""
        above = {path[:length] for path in self.names for length in range(1, len(path))}
        return frozenset(name for path, name in self.names.items() if path in above)

    @property
    def leaves(self) -> dict[str, str]:
        """What the elements of each term that holds a value are called, in the order of the model."""
        groups = self.groups
        found: dict[str, str] = {}
        for path, name in self.names.items():
            if name not in groups:
                found.setdefault(name, split_name(path[-1])[1])
        return found


def judged_terms(judged: Iterable[Document]) -> Terms:
    """The terms that documents of the model say themselves: attributes called ``id`` in the namespace of the root."""
    terms = Terms({})
    for document in judged:
        mark = expanded_name(split_name(str(document.root.tag))[0], "id")
        said = {path: name for path, element in below(document.root) if (name := element.get(mark))}
        terms |= Terms(said)
    return terms


def annotated_terms(xsd: Document) -> Terms:
    """The terms that the schema of a model says: the ``appinfo`` of its elements, a recursive type entered twice."""
    namespace = xsd.root.get("targetNamespace", "")
    types = {str(kind.get("name")): kind for kind in xsd.root.iterfind(f"{{{_XSD}}}complexType")}

    def within(holder: XmlElement, path: Path, above: tuple[XmlElement, ...]) -> Iterator[tuple[Path, str]]:
        for element in holder.iterfind(f".//{{{_XSD}}}element[@name]"):
            here = (*path, expanded_name(namespace, str(element.get("name"))))
            if name := element.findtext(f"{{{_XSD}}}annotation/{{{_XSD}}}appinfo"):
                yield here, name.strip()
            kind = types.get(str(element.get("type")).rpartition(":")[2])
            if kind is not None and above.count(kind) < 2:
                yield from within(kind, here, (*above, kind))

    (root,) = xsd.root.iterfind(f"{{{_XSD}}}element")
    return Terms(dict(within(root, (), ())))


def below(element: XmlElement, path: Path = ()) -> Iterator[tuple[Path, XmlElement]]:
    """The elements below one, each with its path from there."""
    for child in element.iterchildren("*"):
        here = (*path, str(child.tag))
        yield here, child
        yield from below(child, here)
