"""Nested parts of constructors: which variables of theirs are those of the match around them, and what they say that it
does not say already (``semantics.md`` section 7).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from heptox.checks import Check, no_check
from heptox.pattern.containment import NormalForms
from heptox.pattern.minimise import minimise_member, without_contained
from heptox.pattern.model import (
    NODE,
    ElementItem,
    LeafItem,
    Member,
    NestedItem,
    Query,
    Template,
    Term,
    Variable,
)
from heptox.pattern.rewrite import Content, atom_variables, map_nested, nested_items, ordered, rename, template_terms


def nested_part(outer: Iterable[Variable], members: Iterable[Member], *, single: bool) -> NestedItem:
    """The nested part of members in which the variables of the match around it have the names that they have there."""
    known = {variable.name for variable in outer}
    spoken = tuple(_without_unused(member, known) for member in members)
    bound = {variable.name: None for member in spoken for variable in member.variables if variable.name in known}
    return NestedItem(tuple((name, Term(name, (NODE,))) for name in bound), spoken, single)


def in_context(outer: Member, item: NestedItem, member: Member) -> Member:
    """A member of a nested part joined with the match around it, whose variables keep their names.

    Its item holds all of these beside its own, so that what is equivalent to it is so for each match.
    """
    bound = {name: node.variable for name, node in item.bindings}
    known = {variable.name for variable in outer.variables}
    taken = known | {variable.name for variable in member.variables if variable.name not in known}
    fresh = {
        variable.name: _fresh(variable.name, taken)
        for variable in member.variables
        if variable.name in known and variable.name not in bound
    }
    renamed = rename(member, fresh | bound)
    added = [variable for variable in renamed.variables if variable.name not in known]
    variables = ordered((*outer.variables, *added))
    return Member(variables, outer.atoms | renamed.atoms, _beside_nodes(renamed.template, outer))


def with_contracted_parts(member: Member, forms: NormalForms, check: Check = no_check) -> Member:
    """The member with nested parts that say nothing twice: no more than the match around them leaves open, on documents
    of the ``forms``. A part that has no match on any of them is left out.
    """
    if not isinstance(member.template, ElementItem) or not any(nested_items(member.template)):
        return member

    def image(item: NestedItem) -> NestedItem | None:
        check()
        whole = (in_context(member, item, each) for each in item.members)
        least = (minimise_member(each, forms, check) for each in whole if forms.of(each) is not None)
        apart = without_contained(Query(tuple(dict.fromkeys(least))), forms, check)
        inner = [with_contracted_parts(_own(each), forms, check) for each in apart.members]
        said = [Member(each.variables, each.atoms - member.atoms, each.template) for each in inner]
        return nested_part(member.variables, said, single=item.single) if said else None

    return Member(member.variables, member.atoms, joined_parts(map_nested(member.template, image)))


def joined_parts(element: ElementItem) -> ElementItem:
    """The constructor in which nested parts that stand side by side, and may have several items, are one."""
    content: list[Content] = []
    for is_several, several in groupby(element.content, _may_repeat):
        if is_several:
            parts = [item for item in several if isinstance(item, NestedItem)]
            bindings = sorted({binding for part in parts for binding in part.bindings})
            members = dict.fromkeys(each for part in parts for each in part.members)
            content.append(NestedItem(tuple(bindings), tuple(members)))
        else:
            content += [joined_parts(item) if isinstance(item, ElementItem) else item for item in several]
    return ElementItem(element.name, element.attributes, tuple(content))


def _may_repeat(item: Content) -> bool:
    return isinstance(item, NestedItem) and not item.single


def _beside_nodes(template: Template, outer: Member) -> ElementItem:
    nodes = (Term(variable.name, (NODE,)) for variable in outer.variables)
    return ElementItem("", (), (template, *(LeafItem("value", "", node) for node in nodes)))


def _own(whole: Member) -> Member:
    """The member whose item is the one that stands beside nodes."""
    assert isinstance(whole.template, ElementItem)
    template = whole.template.content[0]
    assert isinstance(template, LeafItem | ElementItem)
    return Member(whole.variables, whole.atoms, template)


def _without_unused(member: Member, outer: set[str]) -> Member:
    """The member without variables of the match around it that it does not speak of; roots stay."""
    used = {name for atom in member.atoms for name in atom_variables(atom)}
    used.update(term.variable for term in template_terms(member.template))
    kept: list[Variable] = []
    for variable in reversed(member.variables):
        if variable.name in used or variable.parent is None or variable.name not in outer:
            kept.append(variable)
            used.add(variable.parent or variable.name)
    return Member(tuple(reversed(kept)), member.atoms, member.template)


def _fresh(name: str, taken: set[str]) -> str:
    """A name that is not ``taken``, and is from now on."""
    while name in taken:
        name = f"{name}'"
    taken.add(name)
    return name
