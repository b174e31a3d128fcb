"""The values of elements with attributes in what rules make: where no rule supplies one, its element has the empty one.

A query asks for such a value wherever its element is; unfolding asks whether a rule supplies it.
"""

from __future__ import annotations

from collections.abc import Iterator

from heptox.mapping import Mapping
from heptox.pattern import (
    OPERATORS,
    Absence,
    Atom,
    Comparison,
    Content,
    ElementItem,
    LeafItem,
    Member,
    NoNode,
    Presence,
    SameValue,
    Template,
    Term,
    Text,
    atom_terms,
    flipped,
    holds,
    map_template,
)
from heptox.schema import TEXT, plain
from heptox.translate.copies import refuse_absence
from heptox.translate.knowledge import is_always_made


def with_texts(member: Member, mapping: Mapping) -> Iterator[Member]:
    """Members that know of each text that a member asks for whether a rule supplies it.

    Raises :class:`TranslationError` (HX5008) where no node with an empty value is asked for, and rules may supply none.
    """
    atoms = frozenset(_supplied_tests(atom, mapping) if isinstance(atom, NoNode) else atom for atom in member.atoms)
    yield from _decided(Member(member.variables, atoms, member.template), mapping, frozenset())


def asked_texts(member: Member) -> Iterator[Term]:
    """The texts on which it depends what a member says, not only what stands in a place of its item."""
    for atom in sorted(member.atoms, key=repr):
        yield from (term for term in atom_terms(atom) if _is_text(term))
    template = member.template
    if isinstance(template, LeafItem):
        yield from (term for term in (template.term,) if isinstance(term, Term) and _is_text(term))
    else:
        yield from _held(template)


def _held(template: Template | Content) -> Iterator[Term]:
    """The texts that stand in a constructor as elements or attributes, which are there also where the text is empty."""
    for item in template.content if isinstance(template, ElementItem) else ():
        match item:
            case LeafItem(shape="element" | "attribute", term=Term() as term) if _is_text(term):
                yield term
            case ElementItem():
                yield from _held(item)
            case _:
                pass


def _is_text(term: Term) -> bool:
    return term.path[-1:] == (TEXT,)


def _decided(member: Member, mapping: Mapping, known: frozenset[Term]) -> Iterator[Member]:
    text = next((text for text in asked_texts(member) if text not in known), None)
    if text is None:
        yield member
        return
    element, known = Term(text.variable, text.path[:-1]), known | {text}
    yield from _decided(_having(member, Presence(text)), mapping, known)
    if is_always_made(mapping, member.node(text.variable), text.path):
        return
    there = (Presence(element),) if element.path else ()
    if (empty := _replaced(member, text, Text(""))) is not None:
        yield from _decided(_having(empty, Absence(text), *there), mapping, known)
    if element.path and (without := _replaced(member, text, None)) is not None:
        yield from _decided(_having(without, Absence(element)), mapping, known)


def _having(member: Member, *atoms: Atom) -> Member:
    return Member(member.variables, member.atoms | frozenset(atoms), member.template)


def _replaced(member: Member, text: Term, value: Text | None) -> Member | None:
    """The member where a text has a value, or is absent with its element; ``None`` where that cannot be."""
    template = map_template(member.template, lambda term: value if term == text else term)
    atoms: set[Atom] = set()
    for atom in member.atoms:
        said = _said(atom, text, value) if text in atom_terms(atom) else atom
        if said is False:
            return None
        if said is not True:
            atoms.add(said)
    return None if template is None else Member(member.variables, frozenset(atoms), template)


def _said(atom: Atom, text: Term, value: Text | None) -> Atom | bool:
    """What an atom says where a text has a value, or is absent: another atom, or whether it holds."""
    match atom:
        case Presence():
            return value is not None
        case Absence():
            return value is None
        case SameValue(left, right):
            other = right if left == text else left
            if other == text:
                return True
            return Absence(other) if value is None else Comparison("=", other, value)
        case Comparison(operator, left, right):
            if value is None:
                return False
            if left == right:
                return OPERATORS[operator].is_reflexive
            if right == text:
                return Comparison(operator, left, value)
            if isinstance(right, Term):
                return Comparison(flipped(operator), right, value)
            return holds(value.value, operator, right)
        case NoNode(variable, node, tests) if value is not None:
            return NoNode(variable, node, tuple((path, value if wanted == text else wanted) for path, wanted in tests))
        case _:
            return True  # what is absent equals nothing


def _supplied_tests(atom: NoNode, mapping: Mapping) -> NoNode:
    """The atom with tests of what rules supply."""
    tests = []
    for path, wanted in atom.tests:
        if path[-1:] != (TEXT,):
            tests.append((path, wanted))
        elif wanted is None:
            tests += [(path[:-1], None)] if path[:-1] else []
        elif (wanted != Text("") and isinstance(wanted, Text)) or is_always_made(mapping, plain(atom.node), path):
            tests.append((path, wanted))
        else:
            refuse_absence(mapping.target.written((*atom.node, *path)))
    return NoNode(atom.variable, atom.node, tuple(tests))
