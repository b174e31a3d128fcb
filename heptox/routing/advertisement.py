"""Advertisements: which paths, and which documents, a publisher may publish (``routing.md``, Advertisements).

Source: section 4.1 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks". The list
of paths that the paper floods has millions of members for a recursive DTD; an advertisement is the local automaton
whose words they are: a state for each element type, and an edge where one may stand below the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from types import MappingProxyType

from heptox.errors import DisseminationError, Fault
from heptox.pattern import TEXT, printed_test
from heptox.routing.content import content_of, names, productive, restricted, smallest, weight
from heptox.schema import Element, Particle, SchemaGraph, by_name, instance_attributes
from heptox.xml import XSI_TYPE


@dataclass(frozen=True, slots=True)
class ElementType:
    """What a document may hold below an element, and what it always holds.

    ``content`` mentions only element types that are advertised. ``required`` attributes stand in every document,
    ``optional`` ones in some; one with a default value is optional, for who reads without the DTD does not see it.
    ``text`` says that there may be text: white space between children is text too.
    """

    content: Particle
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    text: bool = False

    @property
    def attributes(self) -> frozenset[str]:
        """The names of all attributes, without ``@``."""
        return self.required | self.optional

    @property
    def ends(self) -> bool:
        """Whether a path may end here: the element may have no children."""
        return smallest(self.content, lambda _: inf) == 0


@dataclass(frozen=True)
class Advertisement:
    """The documents that are advertised: ``root`` and the element types by name.

    Every element type can be reached from the root and has finite trees, so each path along the edges is a path of some
    document. Equal advertisements have equal bytes.

    >>> from heptox.schema import parse_dtd
    >>> advertisement = advertised(parse_dtd("<!ELEMENT a (b | c)*> <!ELEMENT b (b+)> <!ELEMENT c (#PCDATA)>", "a"))
    >>> sorted(advertisement.elements), list(advertisement.children("a"))
    (['a', 'c'], ['c'])
    """

    root: str
    elements: Mapping[str, ElementType]

    def __post_init__(self) -> None:
        object.__setattr__(self, "elements", MappingProxyType(dict(sorted(self.elements.items()))))
        if self.root not in self.elements:
            raise ValueError(f"the root {self.root} is not advertised")
        for name in self.elements:
            if missing := set(self.children(name)) - self.elements.keys():
                raise ValueError(f"{name} has children that are not advertised: {', '.join(sorted(missing))}")
        if not self.elements.keys() == productive(self._contents) == reachable(self.root, self.children):
            raise ValueError("an element type is in no document")

    def __hash__(self) -> int:
        return hash((self.root, tuple(self.elements.items())))

    def __reduce__(self) -> tuple[type[Advertisement], tuple[str, dict[str, ElementType]]]:
        return type(self), (self.root, dict(self.elements))

    @cached_property
    def _contents(self) -> dict[str, Particle]:
        return {name: element.content for name, element in self.elements.items()}

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(sorted(names(content))) for name, content in self._contents.items()}

    @cached_property
    def _leaves(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(_labels(element)) for name, element in self.elements.items()}

    @cached_property
    def _weights(self) -> dict[str, int]:
        return {name: weight(content) for name, content in self._contents.items()}

    def weight(self, name: str) -> int:
        """How many parts the content model of an element type has: how long it takes to look at it."""
        return self._weights[name]

    def children(self, name: str) -> tuple[str, ...]:
        """The element types that may stand below one, sorted. Raises ``KeyError`` for one that is not advertised."""
        return self._children[name]

    def leaves(self, name: str) -> tuple[str, ...]:
        """The labels of attributes and text that may stand below an element, sorted: ``@x``, ``text()``."""
        return self._leaves[name]


def _labels(element: ElementType) -> Iterator[str]:
    yield from sorted(f"@{attribute}" for attribute in element.attributes)
    if element.text:
        yield TEXT


def advertised(schema: SchemaGraph) -> Advertisement:
    """The advertisement of who publishes documents that are valid for a schema.

    Element types without finite valid trees are dropped, then those that cannot be reached from the root; those of one
    name are one.

    Raises :class:`DisseminationError` (HX9030) where no finite document is valid, or anything may stand somewhere.
    """
    anywhere = instance_attributes(schema)
    schema = by_name(schema)
    contents = {name: content_of(element) for name, element in schema.elements.items()}
    alive = productive(contents)
    if schema.root not in alive:
        raise DisseminationError(Fault("HX9030", f"no document with the root {schema.root} is valid", file=schema.file))
    kept = {name: kept for name in alive if (kept := restricted(contents[name], alive)) is not None}
    reached = reachable(schema.root, lambda name: names(kept[name]))
    if unbound := sorted(name for name in reached if schema.elements[name].open):
        message = f"anything may stand in {printed_test(unbound[0])}, so documents may have whatever is asked for"
        raise DisseminationError(Fault("HX9030", message, file=schema.file))
    inside = anywhere & {XSI_TYPE}  # most documents that say where their XSD is say so at the root
    found = {
        name: _element_type(schema.elements[name], kept[name], anywhere if name == schema.root else inside)
        for name in reached
    }
    return Advertisement(schema.root, found)


def _element_type(element: Element, content: Particle, anywhere: frozenset[str]) -> ElementType:
    required = frozenset(each.name for each in element.attributes if each.cardinality.required and each.default is None)
    optional = (anywhere | {each.name for each in element.attributes}) - required
    # A validator lets white space pass between children, and matching sees it.
    return ElementType(content, required, optional, text=element.text or bool(element.children))


def reachable(begin: str, children: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """An element type and all that may stand somewhere below it."""
    found, waiting = {begin}, [begin]
    while waiting:
        new = set(children(waiting.pop())) - found
        found |= new
        waiting.extend(new)
    return frozenset(found)
