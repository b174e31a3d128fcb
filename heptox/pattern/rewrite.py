"""Small rewrites of members that everything else is made of: mapping terms and variables, listing what is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from heptox.pattern.model import (
    Absence,
    Atom,
    AttributeItem,
    Comparison,
    DeepEqual,
    ElementItem,
    LeafItem,
    Member,
    NestedItem,
    NoNode,
    Number,
    Presence,
    SameValue,
    Template,
    Term,
    Text,
    Variable,
)
from heptox.pattern.value_expression import is_computed

Content: TypeAlias = str | LeafItem | ElementItem | NestedItem
Image: TypeAlias = Term | Text | None


def atom_terms(atom: Atom) -> tuple[Term, ...]:
    """The terms whose values an atom speaks of."""
    match atom:
        case Comparison(_, left, right):
            return (left, right) if isinstance(right, Term) else (left,)
        case DeepEqual(left, right) | SameValue(left, right):
            return (left, right)
        case Presence(term) | Absence(term):
            return (term,)
        case NoNode():
            return tuple(value for _, value in atom.tests if isinstance(value, Term))


def computes(member: Member) -> bool:
    """Whether there are function terms in a member."""
    for atom in member.atoms:
        for term in atom_terms(atom):
            if is_computed(term.path):
                return True
    return any(is_computed(term.path) for term in template_terms(member.template))


def is_numeric(atom: Atom) -> bool:
    """Whether the atom is a comparison with a number."""
    return isinstance(atom, Comparison) and isinstance(atom.right, Number)


def is_reflexive(atom: Atom) -> bool:
    """Whether the atom says of one term that it equals itself."""
    equality = isinstance(atom, DeepEqual | SameValue) or (isinstance(atom, Comparison) and atom.operator == "=")
    return equality and len(atom_terms(atom)) == 2 and len(set(atom_terms(atom))) == 1


def template_terms(template: Template | Content) -> Iterator[Term]:
    """The terms of a template in document order; of a nested part the nodes that it is bound to."""
    match template:
        case LeafItem(term=Term() as term):
            yield term
        case ElementItem():
            for attribute in template.attributes:
                yield from (part for part in attribute.parts if isinstance(part, Term))
            for content in template.content:
                yield from template_terms(content)
        case NestedItem():
            yield from (term for _, term in template.bindings)
        case _:
            pass


def map_template(template: Template, image: Callable[[Term], Image]) -> Template | None:
    """The template with every term replaced; ``None`` for a term empties its slot, or loses the item it is."""
    match template:
        case LeafItem(term=Term() as term):
            value = image(term)
            if value is not None:
                return LeafItem(template.shape, template.name, value)
            return LeafItem("attribute", template.name, Text("")) if template.shape == "constructed" else None
        case ElementItem():
            return _map_element(template, image)
        case _:
            return template


def _map_element(element: ElementItem, image: Callable[[Term], Image]) -> ElementItem:
    def part(value: str | Term) -> str | Term:
        if isinstance(value, str):
            return value
        mapped = image(value)
        return "" if mapped is None else mapped.value if isinstance(mapped, Text) else mapped

    content: list[Content] = []
    for item in element.content:
        if isinstance(item, str):
            content.append(item)
        elif isinstance(item, NestedItem):
            content.append(_rebound(item, image))
        else:
            mapped = map_template(item, image)
            if isinstance(mapped, LeafItem | ElementItem):
                content.append(mapped)
    attributes = tuple(AttributeItem(a.name, tuple(map(part, a.parts))) for a in element.attributes)
    return ElementItem(element.name, attributes, tuple(content))


def _rebound(item: NestedItem, image: Callable[[Term], Image]) -> NestedItem:
    """A nested part that is bound to other nodes."""
    bindings: list[tuple[str, Term]] = []
    for name, term in item.bindings:
        node = image(term)
        assert isinstance(node, Term)  # what stands for a node is a node
        bindings.append((name, node))
    return replace(item, bindings=tuple(bindings))


def map_nested(element: ElementItem, image: Callable[[NestedItem], NestedItem | None]) -> ElementItem:
    """The constructor with every nested part in it replaced; ``None`` for one that is nothing."""
    content: list[Content] = []
    for item in element.content:
        if isinstance(item, ElementItem):
            content.append(map_nested(item, image))
        elif not isinstance(item, NestedItem):
            content.append(item)
        elif (mapped := image(item)) is not None:
            content.append(mapped)
    return ElementItem(element.name, element.attributes, tuple(content))


def nested_items(template: Template | Content) -> Iterator[NestedItem]:
    """The nested parts of a template, without those that are in others."""
    if isinstance(template, NestedItem):
        yield template
    elif isinstance(template, ElementItem):
        for content in template.content:
            yield from nested_items(content)


def map_atom(atom: Atom, image: Callable[[Term], Term]) -> Atom:
    """The atom with every term replaced."""
    match atom:
        case Comparison(operator, left, right):
            return Comparison(operator, image(left), image(right) if isinstance(right, Term) else right)
        case Presence(term):
            return Presence(image(term))
        case Absence(term):
            return Absence(image(term))
        case DeepEqual(left, right):
            return DeepEqual(image(left), image(right))
        case SameValue(left, right):
            return SameValue(image(left), image(right))
        case NoNode(variable, node, tests):
            mapped = tuple((path, image(value) if isinstance(value, Term) else value) for path, value in tests)
            return NoNode(image(Term(variable)).variable, node, mapped)


def atom_variables(atom: Atom) -> tuple[str, ...]:
    """The variables that an atom speaks of: those of its terms, and the one that no node stands below."""
    named = tuple(term.variable for term in atom_terms(atom))
    return (atom.variable, *named) if isinstance(atom, NoNode) else named


def rename(member: Member, names: Mapping[str, str]) -> Member:
    """The member with variables renamed; variables that get the same name become one (and must have one node)."""

    def name(old: str) -> str:
        return names.get(old, old)

    def image(term: Term) -> Term:
        return Term(name(term.variable), term.path)

    variables: dict[str, Variable] = {}
    for variable in member.variables:
        parent = None if variable.parent is None else name(variable.parent)
        variables.setdefault(name(variable.name), Variable(name(variable.name), variable.node, parent))
    template = map_template(member.template, image)
    assert template is not None  # every term has an image
    return Member(ordered(variables.values()), frozenset(map_atom(atom, image) for atom in member.atoms), template)


def ordered(variables: Iterable[Variable]) -> tuple[Variable, ...]:
    """Variables level by level below the root, otherwise in the order given."""
    given = list(variables)
    levels: dict[str, int] = {}
    waiting = given
    while waiting:
        for variable in waiting:
            if variable.parent is None:
                levels[variable.name] = 0
            elif variable.parent in levels:
                levels[variable.name] = levels[variable.parent] + 1
        left = [variable for variable in waiting if variable.name not in levels]
        if len(left) == len(waiting):
            raise ValueError("variables whose parents are missing")
        waiting = left
    return tuple(sorted(given, key=lambda variable: levels[variable.name]))


def merge(member: Member, *pairs: tuple[str, str]) -> Member:
    """The member in which the two variables of each pair are the same node, and so are their ancestors."""
    return rename(member, merged_names(member, pairs)) if pairs else member


def merged_names(member: Member, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The new names of variables that are gone where the two of each pair are the same node; the first one stays."""
    by_name = {variable.name: variable for variable in member.variables}
    names: dict[str, str] = {}

    def current(name: str) -> str:
        while name in names:
            name = names[name]
        return name

    for pair in pairs:
        kept, gone = current(pair[0]), current(pair[1])
        while kept != gone:
            names[gone] = kept
            above, below = by_name[kept].parent, by_name[gone].parent
            if above is None or below is None:
                break
            kept, gone = current(above), current(below)
    return {name: current(name) for name in names}
