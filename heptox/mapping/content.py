"""Whether two element types hold the same, whatever their own names (``semantics.md`` section 2)."""

from __future__ import annotations

from heptox.schema import Element, SchemaGraph


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
        names = waiting.pop(0)
        one, other = first.elements[names[0]], second.elements[names[1]]
        if difference := _difference(one, other):
            return difference
        for child in one.children:
            pair = (child.name, child.name)
            if pair not in seen and (first is not second):
                seen.add(pair)
                waiting.append(pair)
    return None


def _difference(one: Element, other: Element) -> str | None:
    """What differs between two element types themselves, their children by name alone."""
    for here, there in ((one, other), (other, one)):
        names = {child.name for child in there.children}
        if missing := next((child.name for child in here.children if child.name not in names), None):
            return f"{here.name} holds {missing}, which {there.name} does not"
        attributes = {attribute.name for attribute in there.attributes}
        if absent := next((a.name for a in here.attributes if a.name not in attributes), None):
            return f"{here.name} has the attribute {absent}, which {there.name} does not have"
        if here.text and not there.text:
            return f"{here.name} holds text, which {there.name} does not"
    for child, other_child in zip(one.children, other.children, strict=True):
        if child.name != other_child.name:
            return f"{one.name} and {other.name} hold their children in another order"
        if child.cardinality != other_child.cardinality:
            occurrences = f"{child.cardinality} in {one.name}, {other_child.cardinality} in {other.name}"
            return f"{child.name} occurs {occurrences}"
    by_name = {attribute.name: attribute for attribute in other.attributes}
    for attribute in one.attributes:
        if attribute != by_name[attribute.name]:
            return f"the attribute {attribute.name} is declared otherwise in {one.name} than in {other.name}"
    return None
