"""Whether two element types hold the same, whatever their own names (``semantics.md`` section 2)."""

from __future__ import annotations

from heptox.schema import Element, SchemaGraph
from heptox.xml import Prefixes


def content_difference(first: SchemaGraph, left: str, second: SchemaGraph, right: str) -> str | None:
    """The first difference between what two element types hold, down to the leaves; ``None`` when there is none.

    Cardinalities, the order of children, and everything about attributes but their order count as content.

    >>> from heptox.schema import Cardinality, Child
    >>> graph = SchemaGraph("a", {"a": Element("a", (Child("t", Cardinality.ONE),)), "b": Element("b"),
    ...                           "t": Element("t", text=True)})
    >>> content_difference(graph, "a", graph, "b")
    'a holds t, which b does not'
    """
    waiting, seen = [(left, right)], {(left, right)}
    while waiting:
        types = waiting.pop(0)
        one, other = first.elements[types[0]], second.elements[types[1]]
        if difference := _difference(one, other, first.prefixes.with_more(dict(second.prefixes.bound))):
            return difference
        others = {child.name: child.key for child in other.children}
        for child in one.children:
            pair = (child.key, others[child.name])
            if pair not in seen and (first is not second):
                seen.add(pair)
                waiting.append(pair)
    return None


def _difference(one: Element, other: Element, prefixes: Prefixes) -> str | None:
    """What differs between two element types themselves, their children by name alone."""

    def called(element: Element) -> str:
        return prefixes.written(element.name)

    for here, there in ((one, other), (other, one)):
        names = {child.name for child in there.children}
        if missing := next((child.name for child in here.children if child.name not in names), None):
            return f"{called(here)} holds {prefixes.written(missing)}, which {called(there)} does not"
        attributes = {attribute.name for attribute in there.attributes}
        if absent := next((a.name for a in here.attributes if a.name not in attributes), None):
            name = prefixes.written(absent, attribute=True)
            return f"{called(here)} has the attribute {name}, which {called(there)} does not have"
        if here.text and not there.text:
            return f"{called(here)} holds text, which {called(there)} does not"
    for child, other_child in zip(one.children, other.children, strict=True):
        if child.name != other_child.name:
            return f"{called(one)} and {called(other)} hold their children in another order"
        if child.cardinality != other_child.cardinality:
            occurrences = f"{child.cardinality} in {called(one)}, {other_child.cardinality} in {called(other)}"
            return f"{prefixes.written(child.name)} occurs {occurrences}"
    by_name = {attribute.name: attribute for attribute in other.attributes}
    for attribute in one.attributes:
        if attribute != by_name[attribute.name]:
            name = prefixes.written(attribute.name, attribute=True)
            return f"the attribute {name} is declared otherwise in {called(one)} than in {called(other)}"
    return None
