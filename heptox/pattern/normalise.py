"""The normal form of a member: contradictions gone, keys chased, nothing said twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from heptox.checks import Check, no_check
from heptox.pattern.absent_values import needed_terms, with_leaves
from heptox.pattern.closure import Closure
from heptox.pattern.constraints import Constraints
from heptox.pattern.inverses import inverted
from heptox.pattern.model import (
    NODE,
    Absence,
    Atom,
    AttributeItem,
    Comparison,
    ElementItem,
    LeafItem,
    Member,
    NestedItem,
    Presence,
    Template,
    Term,
    Text,
)
from heptox.pattern.rewrite import Content, computes, map_atom, map_template, merge
from heptox.pattern.value_expression import is_constant, leaf_paths, value_expression
from heptox.schema import Path


def normalise(member: Member, constraints: Constraints, check: Check = no_check) -> Member | None:
    """An equivalent member on all documents that obey the constraints, ``None`` where it has no match on any of them.

    Variables with equal keys become one, and so do their ancestors (``semantics.md`` section 8, step 1). Each class of
    equal terms is written once, as a star around its least term; presence is kept only where nothing else implies it.
    ``check`` is called again and again.
    """
    if computes(member):
        member = _inverted(member, constraints)
    while True:
        closure = Closure(member, constraints, check)
        if closure.contradictory:
            return None
        pair = next(_same_nodes(member, closure, constraints, check), None)
        if pair is not None:
            member = merge(member, pair)
            continue
        simple = _with_leaves(member, closure) if closure.computes else member
        if simple != member:
            member = simple
            continue
        atoms = frozenset(_atoms(member, closure, check))
        if any(isinstance(atom, Absence) and not closure.absent(atom.term) for atom in atoms):
            member = Member(member.variables, atoms, member.template)  # a new absence can imply more
            continue
        return Member(member.variables, atoms, _template(member.template, closure))


def _inverted(member: Member, constraints: Constraints) -> Member:
    """The member with conditions on leaves instead of such on functions of them, where an inverse is known."""
    atoms: set[Atom] = set()
    nodes = {variable.name: variable.node for variable in member.variables}
    for atom in member.atoms:
        found = None
        if isinstance(atom, Comparison) and atom.operator == "=" and isinstance(atom.right, Text):
            node = nodes[atom.left.variable]
            found = inverted(atom.left, atom.right.value, node, constraints.inverses_of)
        atoms.update((atom,) if found is None else found)
    return member if atoms == member.atoms else Member(member.variables, frozenset(atoms), member.template)


def _with_leaves(member: Member, closure: Closure) -> Member:
    """The member whose function terms do not ask whether leaves are there that surely are."""

    def image(term: Term) -> Term:
        expression = value_expression(term.path)
        if expression is None:
            return term
        leaves = leaf_paths(expression)
        return with_leaves(term, frozenset(path for path in leaves if closure.present(Term(term.variable, path))))

    atoms = frozenset(map_atom(atom, image) for atom in member.atoms)
    template = map_template(member.template, image)
    return member if template is None else Member(member.variables, atoms, template)


def _same_nodes(member: Member, closure: Closure, constraints: Constraints, check: Check) -> Iterator[tuple[str, str]]:
    """Pairs of variables that surely are one node: by keys, which distinguish nodes of one document, or by what they
    are themselves.
    """
    alike, roots = _alike(member), member.roots
    for several in alike.values():
        for first, second in combinations(several, 2):
            check()
            if closure.equal(Term(first, (NODE,)), Term(second, (NODE,))):
                yield first, second
    keys = ((node, path) for node in alike for path in constraints.keys_of.get(node, ()))
    for node, path in sorted(keys, key=lambda key: key[0] + key[1]):
        for first, second in combinations(alike[node], 2):
            check()
            if roots[first] == roots[second] and closure.same_value(Term(first, path), Term(second, path)):
                yield first, second


def _alike(member: Member) -> dict[Path, list[str]]:
    """The variables of each node that has several: only these can be one."""
    names: dict[Path, list[str]] = {}
    for variable in member.variables:
        names.setdefault(variable.node, []).append(variable.name)
    return {node: several for node, several in names.items() if len(several) > 1}


def _atoms(member: Member, closure: Closure, check: Check) -> Iterator[Atom]:
    said: set[Term] = set()
    for representative, terms in closure.classes().items():
        constant = closure.constant(representative)
        if constant is not None:
            yield from (Comparison("=", term, Text(constant)) for term in terms if not is_constant(term.path))
        else:
            yield from (Comparison("=", representative, term) for term in terms if term != representative)
        said.update(terms)
    for fact in closure.facts():
        yield fact
        said.update((fact.left, fact.right) if isinstance(fact.right, Term) else (fact.left,))
    yield from (Absence(term) for term in closure.absences())
    yield from closure.same_values()
    yield from closure.copies()
    yield from closure.nowhere()
    wanted = {atom.term for atom in member.atoms if isinstance(atom, Presence)}
    # A comparison that constants decided leaves its terms in a class; a reflexive one leaves only their presence.
    wanted.update(atom.left for atom in member.atoms if isinstance(atom, Comparison) and atom.left not in said)
    yield from _presences(wanted, said, member, closure, check)


def _presences(
    wanted: set[Term], said: set[Term], member: Member, closure: Closure, check: Check
) -> Iterator[Presence]:
    nodes = {variable.name: variable.node for variable in member.variables}
    for term in sorted(wanted):
        check()
        longer = any(
            other.variable == term.variable
            and len(other.path) > len(term.path)
            and other.path[: len(term.path)] == term.path
            for other in wanted | said
        )
        needed = closure.computes and any(term in needed_terms(other) for other in wanted | said)
        if (
            term not in said
            and not longer
            and not needed
            and not closure.constraints.required(nodes[term.variable], term.path)
        ):
            yield Presence(term)


# -- templates -------------------------------------------------------------------------------------------------------


def _template(template: Template, closure: Closure) -> Template:
    match template:
        case LeafItem(term=Term() as term) if is_constant(term.path) or template.shape not in ("element", "copy"):
            constant = closure.constant(term)
            value = closure.find(term) if constant is None else Text(constant)
            return LeafItem(template.shape, template.name, value)
        case ElementItem():
            return _element(template, closure)
        case _:
            return template


def _element(element: ElementItem, closure: Closure) -> ElementItem:
    attributes = tuple(
        AttributeItem(attribute.name, _joined([_part(part, closure) for part in attribute.parts]))
        for attribute in element.attributes
    )
    content: list[Content] = []
    for item in element.content:
        for piece in [item] if isinstance(item, str) else _slot(item, closure):
            if isinstance(piece, str) and content and isinstance(content[-1], str):
                content[-1] += piece
            elif piece != "":
                content.append(piece)
    return ElementItem(element.name, attributes, tuple(content))


def _part(part: str | Term, closure: Closure) -> str | Term:
    if isinstance(part, str):
        return part
    if closure.absent(part):
        return ""
    constant = closure.constant(part)
    return closure.find(part) if constant is None else constant


def _joined(parts: list[str | Term]) -> tuple[str | Term, ...]:
    joined: list[str | Term] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = last + part
        elif part != "":
            joined.append(part)
    return tuple(joined)


def _slot(item: LeafItem | ElementItem | NestedItem, closure: Closure) -> list[Content]:
    """A slot whose term is known to be there is plain content; one whose term is known to be absent is nothing."""
    if isinstance(item, ElementItem):
        return [_element(item, closure)]
    if isinstance(item, NestedItem):
        return [item]
    if isinstance(item.term, Term) and closure.absent(item.term):
        return [LeafItem("attribute", item.name, Text(""))] if item.shape == "constructed" else []
    if item.shape == "copy":
        return [item]
    shape = "value" if item.shape == "text" else item.shape  # both add the same characters
    term = item.term
    present = isinstance(term, Text) or closure.present(term)
    if isinstance(term, Term) and present:
        constant = closure.constant(term)
        term = closure.find(term) if constant is None else Text(constant)
    if shape == "constructed" and present:
        shape = "attribute"
    if shape == "element" and present:
        value: Content = term.value if isinstance(term, Text) else LeafItem("value", "", term)
        return [ElementItem(item.name, (), () if value == "" else (value,))]
    if shape == "value" and isinstance(term, Text):
        return [term.value]
    return [LeafItem(shape, item.name, term)]
