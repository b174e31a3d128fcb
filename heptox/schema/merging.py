"""Element types of one name as one: what holds of all elements that are called so, whatever their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from heptox.schema.model import Attribute, AttributeType, Cardinality, Child, Element, Particle, SameGraph, SchemaGraph


def by_name(graph: SchemaGraph) -> SchemaGraph:
    """The graph in which element types of one name are one, weakened to what holds for all of them.

    Itself, where each name has one type; each document that is valid for a graph is valid for this one as well, as far
    as edges, attributes, contents and texts go. Which keys hold is not known.

    >>> text = Element("b", text=True, type="b of a")
    >>> graph = SchemaGraph("a", {
    ...     "a": Element("a", (Child("b", Cardinality.ONE, "b of a"), Child("c", Cardinality.ONE))),
    ...     "c": Element("c", (Child("b", Cardinality.MANY),)), "b": Element("b"), "b of a": text})
    >>> by_name(graph).elements["b"].text, sorted(by_name(graph).elements)
    (True, ['a', 'b', 'c'])
    """
    return _by_name(SameGraph(graph))


@lru_cache(maxsize=32)
def _by_name(same: SameGraph) -> SchemaGraph:
    graph = same.graph
    named: dict[str, list[Element]] = {}
    for element in graph.elements.values():
        named.setdefault(element.name, []).append(element)
    if all(element.key == name and len(several) == 1 for name, several in named.items() for element in several):
        return graph
    elements = {name: _merged(name, several) for name, several in named.items()}
    roots = tuple(dict.fromkeys(graph.elements[root].name for root in graph.roots))
    root = graph.elements[graph.root].name
    return replace(graph, root=root, elements=elements, keys=(), references=(), roots=roots)


def of_parts(graph: SchemaGraph) -> SchemaGraph:
    """The graph in which nothing is required: what is left of a valid document obeys it, whatever is left out.

    >>> edge = Child("b", Cardinality.SOME)
    >>> graph = SchemaGraph("a", {"a": Element("a", (edge,)), "b": Element("b")})
    >>> str(of_parts(graph).elements["a"].children[0].cardinality)
    '*'
    """
    elements = {
        key: replace(
            element,
            children=tuple(
                replace(child, cardinality=Cardinality.of(required=False, repeats=child.cardinality.repeats))
                for child in element.children
            ),
            attributes=tuple(replace(attribute, cardinality=Cardinality.OPTIONAL) for attribute in element.attributes),
        )
        for key, element in graph.elements.items()
    }
    return replace(graph, elements=elements)


def _merged(name: str, several: Sequence[Element]) -> Element:
    children = [{child.name: child.cardinality for child in element.children} for element in several]
    attributes = [{attribute.name: attribute for attribute in element.attributes} for element in several]
    return Element(
        name,
        tuple(
            Child(child, weakest([each.get(child, Cardinality.OPTIONAL) for each in children]))
            for child in dict.fromkeys(child for each in children for child in each)
        ),
        tuple(
            merged_attribute([each[one] for each in attributes if one in each], len(several))
            for one in dict.fromkeys(one for each in attributes for one in each)
        ),
        any(element.text for element in several),
        merged_content([element.content for element in several]),
        open=any(element.open for element in several),
    )


def weakest(several: Iterable[Cardinality]) -> Cardinality:
    """What holds for all of several cardinalities.

    >>> str(weakest([Cardinality.ONE, Cardinality.MANY]))
    '*'
    """
    found = list(several)
    return Cardinality.of(all(each.required for each in found), any(each.repeats for each in found))


def merged_content(several: Sequence[Particle | None]) -> Particle | None:
    """The content model of which each of several is a case; without one, an element has no children."""
    known = tuple(dict.fromkeys(each for each in several if each is not None))
    required = len(known) > 0 and None not in several
    if len(known) < 2 and required:
        return known[0]
    return Particle("choice", Cardinality.of(required, repeats=False), members=known) if known else None


def merged_attribute(several: Sequence[Attribute], of: int) -> Attribute:
    """An attribute as it is in all ``of`` element types, of which these have it."""
    first = several[0]
    if len(several) == of and all(each == first for each in several):
        return first
    same = all(each.type == first.type for each in several)
    kind = first.type if same and first.type != AttributeType.ENUMERATION else AttributeType.CDATA
    required = len(several) == of and all(each.cardinality.required and each.default is None for each in several)
    return Attribute(first.name, kind, Cardinality.ONE if required else Cardinality.OPTIONAL)
