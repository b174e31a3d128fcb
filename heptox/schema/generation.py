"""Random documents that are valid for a DTD, and for an XSD as far as a schema graph knows it.

Small value domains make joins and equalities hit: each document draws its values from a handful that it picks from the
pool. Optional parts are there or not, repeated ones stand up to ``repeats`` times.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Final, TypeAlias

from heptox.schema.model import Attribute, AttributeType, Cardinality, Element, Particle, SchemaGraph, ValueType
from heptox.schema.tree import Path
from heptox.xml import XML_NAMESPACE, XSI_NIL, XSI_TYPE, declarations, escaped_value

LeafValues: TypeAlias = Mapping[Path | str, Sequence[str]]
"""Values for leaves, by path (``("Patient", "@ID")``) or by name wherever it stands (``"Date"``, ``"@year"``)."""

SAMPLE_VALUES: Final = (
    "a", "b", "c", "1", "2", "2.0", "10", "p1", "p2", "Pulmonary", "Asthma", "12/25/2003",
    "", " ", " a", "a b", "Chest pain/acute", "Œdème \u2264 3", "_x0041_", "_x", "<&\"'>]]>", "a\tb\nc", "\U0001f600",
)  # fmt: skip
"""Where values come from unless the caller says otherwise; names of the schema's elements are added."""

_TOKENS: Final = ("t1", "t2", "a-b", "_x0041_", "12")

_INSTANCE: Final = frozenset((XSI_TYPE, XSI_NIL))
"""What is not written: which types there are, a graph does not say, and nothing has to be nil."""

_LANGUAGE: Final = f"{{{XML_NAMESPACE}}}lang"
_LANGUAGES: Final = ("en", "fr-CA")

_TYPED: Final = {
    ValueType.DECIMAL: ("0", "1.5", "-2.25", "10"),
    ValueType.INTEGER: ("1", "2", "10"),
    ValueType.DOUBLE: ("1", "1.5e2", "0.25"),
    ValueType.BOOLEAN: ("true", "false"),
    ValueType.DATE: ("2003-12-25", "2024-02-29"),
    ValueType.DATE_TIME: ("2003-12-25T10:00:00", "2024-02-29T23:59:59Z"),
    ValueType.TIME: ("10:00:00", "23:59:59"),
    ValueType.DURATION: ("P1D", "PT2H"),
    ValueType.YEAR: ("2003", "2024"),
    ValueType.YEAR_MONTH: ("2003-12",),
    ValueType.MONTH: ("--12",),
    ValueType.MONTH_DAY: ("--12-25",),
    ValueType.DAY: ("---25",),
    ValueType.URI: ("urn:a", "b/c"),
    ValueType.NAME: ("xml:lang",),
    ValueType.HEX_BINARY: ("0aff",),
    ValueType.BASE64_BINARY: ("AAAA",),
    ValueType.LIST: ("1", "2 1"),
}
"""Values of the types that not every text is."""
MOST_MADE: Final = 20_000
"""Elements that are made of what must be there, at most: eleven levels of eight each would be billions."""


def random_document(
    schema: SchemaGraph,
    random: Random,
    *,
    repeats: int = 3,
    elements: int = 200,
    depth: int = 12,
    values: LeafValues | None = None,
    pool: Sequence[str] = SAMPLE_VALUES,
    only: Container[Path] | None = None,
) -> str:
    """A random document that is valid for a schema, without DOCTYPE. Of an XSD, a graph knows neither facets of values
    but enumerations, nor numbers of occurrences but none, one and many, nor which type an ``xsi:type`` names.

    Beyond about ``elements`` elements, or ``depth`` levels, only what must be there is added. IDs are unique,
    references point to an ID of the document; where it has none, what requires a reference is left out. Attributes with
    a default are always written, so that a reader needs no DTD. ``values`` may name IDs too, while they last. What need
    not be there is left out unless its path is one of ``only``. The same state of ``random`` gives the same document.

    Raises ``ValueError`` when the schema has no finite document, or none within reach: of :data:`MOST_MADE` elements.

    >>> from heptox.schema import parse_dtd
    >>> random_document(parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)>"), Random(3), pool=["x"])
    '<a><b>x</b></a>'
    """
    plan = _Plan.of(schema)
    sizes = (repeats, elements, depth)
    for _ in range(20):
        for banned in (frozenset[str](), plan.referring):
            writer = _Writer(plan, random, sizes, values or {}, pool, banned, only)
            if plan.graph.root not in banned and (text := writer.document()) is not None:
                return text
    raise ValueError(f"no document of {plan.graph.root} found: it requires references, and an ID never came")


class _Plan:
    """What is known of a schema before any document: the least heights, and what cannot be without an ID."""

    def __init__(self, graph: SchemaGraph) -> None:
        self.graph = graph
        self.heights = _least_heights(graph, frozenset())
        if math.isinf(self.heights[graph.root]):
            raise ValueError(f"no document of {graph.root} is finite")
        without_ids = _least_heights(graph, frozenset(filter(self._refers, graph.elements)))
        self.referring = frozenset(name for name, height in without_ids.items() if math.isinf(height))
        elements = graph.elements.values()
        attributes = (attribute.name for element in elements for attribute in element.attributes)
        self.prefixes = graph.prefixes.covering((element.name for element in elements), attributes=attributes)

    _latest: tuple[SchemaGraph, _Plan] | None = None

    @classmethod
    def of(cls, graph: SchemaGraph) -> _Plan:
        """The plan of a graph; the last one is kept, as many documents of one schema are made one after the other."""
        if cls._latest is None or cls._latest[0] is not graph:
            cls._latest = (graph, cls(graph))
        return cls._latest[1]

    def _refers(self, name: str) -> bool:
        kinds = (AttributeType.IDREF, AttributeType.IDREFS)
        return any(a.type in kinds and a.cardinality.required for a in self.graph.elements[name].attributes)


_UNWRITABLE: Final = (AttributeType.ENTITY, AttributeType.ENTITIES)


def _least_heights(graph: SchemaGraph, banned: frozenset[str]) -> dict[str, float]:
    """The least number of levels of each element type, infinite where there is no such element."""
    heights = dict.fromkeys(graph.elements, math.inf)
    changed = True
    while changed:
        changed = False
        for key, element in graph.elements.items():
            entity = any(a.type in _UNWRITABLE and a.cardinality.required for a in element.attributes)
            height = math.inf if key in banned or entity else 1 + _least_height(element, heights)
            if height < heights[key]:
                heights[key] = height
                changed = True
    return heights


def _least_height(element: Element, heights: Mapping[str, float]) -> float:
    if element.content is None or _is_free(element):
        return 0
    return _height(element.content, _of_children(element, heights))


def _of_children(element: Element, heights: Mapping[str, float]) -> dict[str, float]:
    """The least heights of the children of an element, by their names."""
    return {child.name: heights[child.key] for child in element.children}


def _is_free(element: Element) -> bool:
    """Whether text and children may stand in any order: all mixed content of a DTD, and perhaps of an XSD."""
    content = element.content
    return element.text and (
        content is None or (content.occurrence == Cardinality.MANY and all(m.kind == "name" for m in content.members))
    )


def _height(particle: Particle, heights: Mapping[str, float]) -> float:
    if not particle.occurrence.required:
        return 0
    return _height_once(particle, heights)


def _height_once(particle: Particle, heights: Mapping[str, float]) -> float:
    if particle.kind == "name":
        return heights[particle.name]
    found = [_height(member, heights) for member in particle.members]
    return max(found) if particle.kind == "sequence" else min(found)


@dataclass(frozen=True, slots=True)
class _Reference:
    """Where a reference stands that is filled in when all IDs are known."""

    name: str
    several: bool
    required: bool


class _Writer:
    """Writes one document, piece by piece."""

    def __init__(
        self,
        plan: _Plan,
        random: Random,
        sizes: tuple[int, int, int],
        values: LeafValues,
        pool: Sequence[str],
        banned: frozenset[str],
        only: Container[Path] | None,
    ) -> None:
        self.plan = plan
        self.random = random
        self.repeats, self.elements, self.depth = sizes
        self.values = values
        self.only = only
        self.root_name = plan.graph.elements[plan.graph.root].name
        self.heights = {**plan.heights, **dict.fromkeys(banned, math.inf)}
        names = list(plan.graph.elements)
        candidates = [*pool, *random.sample(names, min(2, len(names)))] if pool is SAMPLE_VALUES else list(pool)
        self.pool = random.sample(candidates, min(5, len(candidates)))
        self.prefixes = plan.prefixes
        self.declarations = declarations(self.prefixes.bound)
        self.parts: list[str | _Reference] = []
        self.ids: list[str] = []
        self.count = 0

    def document(self) -> str | None:
        """The document, ``None`` when it needs references and has no ID to refer to."""
        self.element(self.plan.graph.root, ())
        if not self.ids and any(isinstance(part, _Reference) and part.required for part in self.parts):
            return None
        return "".join(part if isinstance(part, str) else self.filled(part) for part in self.parts)

    def filled(self, reference: _Reference) -> str:
        if not self.ids:
            return ""
        targets = [self.random.choice(self.ids) for _ in range(self.random.randint(1, 2) if reference.several else 1)]
        return f' {self.prefixes.written(reference.name, attribute=True)}="{" ".join(targets)}"'

    def element(self, key: str, path: Path) -> None:
        self.count += 1
        if self.count > MOST_MADE + self.elements:
            raise ValueError(f"no document of {self.plan.graph.root} has fewer than {MOST_MADE:,} elements, about")
        element = self.plan.graph.elements[key]
        name = self.prefixes.written(element.name)
        self.parts.append(f"<{name}{'' if path else self.declarations}")
        for attribute in element.attributes:
            if attribute.name not in _INSTANCE:
                self.attribute(attribute, (*path, f"@{attribute.name}"))
        self.parts.append(">")
        if element.mixed:
            self.mixed(element, path)
        elif element.text:
            self.parts.append(escaped_value(self.text_value(element, path)))
        elif element.content is not None:
            self.content(element.content, path, element)
        self.parts.append(f"</{name}>")

    def mixed(self, element: Element, path: Path) -> None:
        if not _is_free(element) and element.content is not None:
            self.text_piece(path)
            self.content(element.content, path, element)
            self.text_piece(path)
            return
        children = [
            child
            for child in element.children
            if not math.isinf(self.heights[child.key]) and self.may_stand((*path, child.name))
        ]
        for _ in range(self.times(path) if children else 0):
            self.text_piece(path)
            child = self.random.choice(children)
            self.element(child.key, (*path, child.name))
        self.text_piece(path)

    def text_piece(self, path: Path) -> None:
        if self.random.randint(0, 1):
            self.parts.append(escaped_value(self.value(path)))

    # -- content models ------------------------------------------------------------------------------------------

    @property
    def exhausted(self) -> bool:
        return self.count >= self.elements

    def times(self, path: Path) -> int:
        """How often something optional that repeats stands at ``path``."""
        return 0 if self.exhausted or len(path) >= self.depth else self.random.randint(0, self.repeats)

    def content(self, particle: Particle, path: Path, of: Element) -> None:
        least = 1 if particle.occurrence.required else 0
        times = least
        if math.isinf(_height_once(particle, _of_children(of, self.heights))):
            times = 0
        elif particle.occurrence != Cardinality.ONE and self.may_hold(particle, path):
            times = max(least, self.times(path))
            if not particle.occurrence.repeats:
                times = min(1, times)
        for _ in range(times):
            self.once(particle, path, of)

    def may_stand(self, path: Path) -> bool:
        """Whether what need not be at ``path`` is wanted there."""
        return self.only is None or path in self.only

    def may_hold(self, particle: Particle, path: Path) -> bool:
        """Whether something that a part of a content model can stand for is wanted below ``path``."""
        if self.only is None or particle.kind == "name":
            return self.may_stand((*path, particle.name))
        return any(self.may_hold(member, path) for member in particle.members)

    def once(self, particle: Particle, path: Path, of: Element) -> None:
        if particle.kind == "name":
            key = next(child.key for child in of.children if child.name == particle.name)
            self.element(key, (*path, particle.name))
        elif particle.kind == "sequence":
            for member in particle.members:
                self.content(member, path, of)
        else:
            self.content(self.chosen(particle.members, path, of), path, of)

    def chosen(self, members: Sequence[Particle], path: Path, of: Element) -> Particle:
        known = _of_children(of, self.heights)
        heights = [_height(member, known) for member in members]
        if self.exhausted or len(path) >= self.depth:
            return members[heights.index(min(heights))]
        there = [member for member, height in zip(members, heights, strict=True) if not math.isinf(height)]
        wanted = [member for member in there if self.may_hold(member, path)]
        return self.random.choice(wanted) if wanted else members[heights.index(min(heights))]

    # -- values --------------------------------------------------------------------------------------------------

    def attribute(self, attribute: Attribute, path: Path) -> None:
        required = attribute.cardinality.required
        if attribute.type in _UNWRITABLE:
            return
        if not required and not (self.may_stand(path) and self.random.randint(0, 1)):
            return
        if attribute.type in (AttributeType.IDREF, AttributeType.IDREFS):
            self.parts.append(_Reference(attribute.name, attribute.type == AttributeType.IDREFS, required))
        else:
            name = self.prefixes.written(attribute.name, attribute=True)
            self.parts.append(f' {name}="{escaped_value(self.attribute_value(attribute, path))}"')

    def attribute_value(self, attribute: Attribute, path: Path) -> str:
        if attribute.fixed:
            return attribute.default or ""
        if attribute.values:
            return self.random.choice(attribute.values)
        if attribute.type == AttributeType.ID:
            return self.identifier(path)
        if attribute.type in (AttributeType.NMTOKEN, AttributeType.NMTOKENS):
            return self.random.choice(self.offered(path) or _TOKENS)
        if attribute.name == _LANGUAGE:
            return self.random.choice(self.offered(path) or _LANGUAGES)
        return self.typed_value(attribute.value_type, path)

    def text_value(self, element: Element, path: Path) -> str:
        if element.values:
            return self.random.choice(element.values)
        return self.typed_value(element.value_type, path)

    def typed_value(self, kind: ValueType, path: Path) -> str:
        """A value of a type, of one that any text is as one that the caller wants."""
        typed = _TYPED.get(kind)
        return self.value(path) if typed is None else self.random.choice(self.offered(path) or typed)

    def identifier(self, path: Path) -> str:
        free = [value for value in self.offered(path) if value not in self.ids]
        value = self.random.choice(free) if free else next(i for i in map("p{}".format, count(1)) if i not in self.ids)
        self.ids.append(value)
        return value

    def value(self, path: Path) -> str:
        return self.random.choice(self.offered(path) or self.pool)

    def offered(self, path: Path) -> Sequence[str]:
        """The values that the caller wants at a leaf."""
        return self.values.get(path) or self.values.get(path[-1] if path else self.root_name) or ()
