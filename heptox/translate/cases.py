"""The cases of a source query that rules carry differently; together they are what of it can be certain."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.mapping import Mapping as SchemaMapping
from heptox.pattern import (
    TAG,
    Atom,
    Closure,
    Comparison,
    Member,
    Presence,
    Query,
    Term,
    Text,
    Variable,
    atom_terms,
    fresh_name,
    normalise,
    template_terms,
)
from heptox.schema import Path, SchemaTree
from heptox.translate.backward import is_inside
from heptox.translate.ground import Ground
from heptox.translate.knowledge import only_as_texts


def shown(normal: Member, ground: Ground) -> Iterator[Member]:
    """Members in which the inner elements that must exist are there for a leaf, or a node, below them.

    They are in normal form, as is the one given.
    """
    tree = ground.mapping.source
    for atom in normal.atoms:
        if not isinstance(atom, Presence):
            continue
        name, path, node = atom.term.variable, atom.term.path, normal.node(atom.term.variable)
        if path == (TAG,) or tree.is_leaf((*node, *path)) or tree.whole_at((*node, *path)) is not None:
            continue
        for explicit in _explicit(Member(normal.variables, normal.atoms - {atom}, normal.template), name, path, tree):
            for there in normalised(explicit, ground):
                yield from shown(there, ground)
        return
    yield normal


def _explicit(rest: Member, name: str, path: Path, tree: SchemaTree) -> Iterator[Member]:
    """The ways in which the inner element at ``path`` below a variable can exist."""
    node = rest.node(name)
    for leaf in tree.own_leaves(node):
        if leaf[: len(path)] == path:
            yield Member(rest.variables, rest.atoms | {Presence(Term(name, leaf))}, rest.template)
    for child in tree.child_stops(node):
        if child[len(node) :][: len(path)] == path:
            below = Variable(fresh_name(rest, "below"), child, name)
            yield Member((*rest.variables, below), rest.atoms, rest.template)


def told_empty(normal: Member, ground: Ground) -> Iterator[Member]:
    """Members that know whether a value that only text nodes carry is empty: then there is no text node.

    They are in normal form, as is the one given.
    """
    used = {term for atom in normal.atoms for term in atom_terms(atom)} | set(template_terms(normal.template))
    texts = sorted(term for term in used if _only_as_text(normal, term, ground.mapping))
    closure = Closure(normal, ground.sources)
    for term in texts:
        undecided = closure.constant(term) is None and not closure.implies(Comparison("!=", term, Text("")))
        if undecided and closure.present(term):
            for operator in ("!=", "="):
                told = normal.atoms | {Comparison(operator, term, Text(""))}
                for case in normalised(Member(normal.variables, told, normal.template), ground):
                    yield from told_empty(case, ground)
            return
    yield normal


def normalised(member: Member, ground: Ground) -> Iterator[Member]:
    """The normal form of a source member, if it has one."""
    normal = normalise(member, ground.sources)
    if normal is not None:
        yield normal


def _only_as_text(member: Member, term: Term, mapping: SchemaMapping) -> bool:
    """Whether all leaves that are filled from such a term are text nodes, and there is one."""
    node = member.node(term.variable)
    return not is_inside(mapping.source, node) and (node, term.path) in only_as_texts(mapping)


def whatever_tag(query: Query, ground: Ground) -> Iterator[Member]:
    """Members that no longer name the tags in a box, where the query names all that valid documents have there.

    One by one they may not be certain, where no rule exports the tag; together they can be.
    """
    named: dict[Path, set[str]] = {}
    for member in query.members:
        for node, value in _tags(member).values():
            named.setdefault(node, set()).add(value)
    boxes = {path for path in named if (box := ground.mapping.source.box(path)) and named[path] >= set(box.members)}
    for member in query.members:
        dropped = {atom for atom, (node, _) in _tags(member).items() if node in boxes}
        if dropped:
            yield Member(member.variables, member.atoms - dropped, member.template)


def _tags(member: Member) -> dict[Atom, tuple[Path, str]]:
    """The atoms that say which tag a box node has, each with the node and the value behind the tag."""
    return {
        atom: (member.node(atom.left.variable), atom.right.value)
        for atom in member.atoms
        if isinstance(atom, Comparison) and atom.operator == "=" and atom.left.path == (TAG,)
        if isinstance(atom.right, Text)
    }
