"""That a member has no further node: what an extended member says beyond it, negated (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import (
    Absence,
    Atom,
    Closure,
    Comparison,
    Constraints,
    Member,
    NoNode,
    Presence,
    Term,
    Text,
    atom_terms,
    normalise,
    selecting,
)
from heptox.schema import Path
from heptox.translate.copies import refuse_absence


def negation(positive: Member, extended: Member, constraints: Constraints, wanted: str) -> frozenset[Atom] | None:
    """What holds of ``positive`` where ``extended``, which has more variables and atoms, has no match with it.

    ``None`` where it always has one. ``wanted`` is the node that is asked for, for messages.

    Raises :class:`TranslationError` (HX5008) where that is more than the absence of one leaf, or of one node and those
    above it, whose leaves equal leaves of ``positive`` or strings.
    """
    plain, more = normalise(positive, constraints), normalise(extended, constraints)
    if plain is None or more is None:
        return frozenset()
    known = {variable.name: variable for variable in plain.variables}
    if not known.keys() <= {variable.name for variable in more.variables}:
        refuse_absence(wanted)
    closure = Closure(plain, constraints)
    added = [variable for variable in more.variables if variable.name not in known]
    atoms = [atom for atom in more.atoms if not _is_said(atom, set(known), closure)]
    if not added:
        return _of_leaves(atoms, wanted)
    parent = added[0].parent
    for variable in added:
        if variable.parent != parent:
            refuse_absence(wanted)
        parent = variable.name
    last = added[-1]
    node, atoms = selecting(added, atoms)
    tests = tuple(sorted((_test(atom, last.name, set(known), wanted) for atom in atoms), key=repr))
    assert added[0].parent is not None  # the root is known
    return frozenset((NoNode(added[0].parent, node, tests),))


def _is_said(atom: Atom, known: set[str], closure: Closure) -> bool:
    named = {term.variable for term in atom_terms(atom)} | ({atom.variable} if isinstance(atom, NoNode) else set())
    return named <= known and closure.implies(atom)


def _of_leaves(atoms: list[Atom], wanted: str) -> frozenset[Atom] | None:
    match atoms:
        case []:
            return None
        case [Presence(term)]:
            return frozenset((Absence(term),))
        case _:
            refuse_absence(wanted)


def _test(atom: Atom, name: str, known: set[str], wanted: str) -> tuple[Path, Term | Text | None]:
    match atom:
        case Presence(Term(variable, path)) if variable == name:
            return path, None
        case Comparison("=", Term(variable, path), Text() as value) if variable == name:
            return path, value
        case Comparison("=", Term(variable, path), Term() as value) if variable == name and value.variable in known:
            return path, value
        case Comparison("=", Term() as value, Term(variable, path)) if variable == name and value.variable in known:
            return path, value
    refuse_absence(wanted)
