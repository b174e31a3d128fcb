"""Members with a little less to meet, on the way to the weakest sound one (``semantics.md`` section 8, forward)."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.pattern import (
    Closure,
    Constraints,
    Member,
    Template,
    atom_terms,
    item_presence,
    template_terms,
    with_terms,
)


def weaker(member: Member, constraints: Constraints) -> Iterator[Member]:
    """The member without one lowest variable that its template does not use, or without one atom.

    A constant in its template gives way to a leaf that has this value, which may have others without that atom.
    """
    template = _with_terms(member.template, Closure(member, constraints))
    parents = {variable.parent for variable in member.variables}
    there = item_presence(template)
    returned = {term.variable for term in template_terms(template)}
    for variable in member.variables:
        if variable.parent is not None and variable.name not in parents and variable.name not in returned:
            atoms = frozenset(
                atom for atom in member.atoms if all(term.variable != variable.name for term in atom_terms(atom))
            )
            yield Member(tuple(other for other in member.variables if other != variable), atoms | there, template)
    for atom in sorted(member.atoms, key=repr):
        if atom not in there:
            yield Member(member.variables, (member.atoms - {atom}) | there, template)


def _with_terms(template: Template, closure: Closure) -> Template:
    held = {
        constant: terms[0]
        for representative, terms in closure.classes().items()
        if (constant := closure.constant(representative)) is not None
    }
    return with_terms(template, held)
