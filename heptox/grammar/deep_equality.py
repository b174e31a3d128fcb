"""``deep-equal`` of two nodes, or two values, each of which may be absent: two empty sequences are equal."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.errors import Position
from heptox.grammar import query as syntax
from heptox.grammar.branches import Branch, nodes_of
from heptox.grammar.locations import Location, has_text, refuse, require_value, tag_of, value_of
from heptox.grammar.path_resolution import PathResolver
from heptox.pattern import TAG, Absence, Atom, Comparison, DeepEqual, Presence, SameValue, Term, Text
from heptox.schema import ANYWHERE, TEXT, SchemaTree


def deep_equal_branches(
    paths: PathResolver, condition: syntax.DeepEqual, branch: Branch, context: Location
) -> Iterator[Branch]:
    """The branches in which two nodes, or two values, are deep-equal, or neither is there."""
    match condition:
        case syntax.DeepEqual(syntax.PathExpression() as left, syntax.PathExpression() as right):
            locations = [_one(paths, path, branch, context) for path in (left, right)]
            if any(location is not None and location.text for location in locations):
                refuse(
                    "HX3046",
                    "deep-equal of text nodes is not translated exactly yet",
                    condition.position,
                    "write data() around both",
                )
            alternatives = _equal_nodes(paths.tree, branch, locations, condition.position)
            yield from (branch.having(*atoms) for atoms in alternatives)
        case syntax.DeepEqual(left, right):
            for before, first in _one_value(paths, left, branch, context):
                for after, second in _one_value(paths, right, before, context):
                    atoms = _same_values(after, first, second)
                    if atoms is not None:
                        yield after.having(*atoms)


def _one(paths: PathResolver, path: syntax.PathExpression, branch: Branch, context: Location) -> Location | None:
    """The only node that a path of deep-equal may lead to, ``None`` where the schema has none."""
    found = paths.resolve(path, branch, context)
    if not found:
        return None
    after, location = found[0]
    added = after.atoms - branch.atoms
    if location.text:
        added -= {Comparison("!=", value_of(paths.tree, location), Text(""))}
    if len(found) > 1 or after.variables != branch.variables or added or location.document:
        message = "deep-equal of what may be more than one node is not translated exactly yet"
        refuse("HX3046", message, path.position, "bind the nodes with for, and compare these")
    return location


def _one_value(
    paths: PathResolver, value: syntax.PathExpression | syntax.Data | syntax.TagValue, branch: Branch, context: Location
) -> Iterator[tuple[Branch, Term | Text | None]]:
    """The branches in which ``data(path)`` or a tag is a term, which may be absent, a string, or nothing."""
    path = value if isinstance(value, syntax.PathExpression) else value.argument
    location = _one(paths, path, branch, context)
    if location is None:
        yield branch, None
        return
    if isinstance(value, syntax.TagValue):
        yield branch, tag_of(paths.tree, location)
        return
    require_value(paths.tree, location, path.position)
    term = value_of(paths.tree, location)
    if not location.text:
        yield branch, term
        return
    yield branch.having(Comparison("!=", term, Text(""))), term
    yield branch.having(Comparison("=", term, Text(""))), None
    for node in nodes_of(term):
        yield branch.having(Absence(node)), None


def _same_values(branch: Branch, left: Term | Text | None, right: Term | Text | None) -> tuple[Atom, ...] | None:
    """The atoms that hold where two values are equal or both absent, ``None`` where that cannot be."""
    match left, right:
        case Term(), Term():
            return (SameValue(left, right),)
        case (Term() as term, Text() as text) | (Text() as text, Term() as term):
            return (Comparison("=", term, text),)
        case (Term() as term, None) | (None, Term() as term):
            return next(iter(branch.absences(term)), None)
        case _:
            return () if left == right else None


def _equal_nodes(
    tree: SchemaTree, branch: Branch, given: list[Location | None], position: Position | None
) -> list[tuple[Atom, ...]]:
    """The atoms of which some hold where two nodes are deep-equal, or neither is there."""
    locations = [location for location in given if location is not None]
    terms = [location.term for location in locations]
    paths = [location.absolute for location in locations]
    boxes = {path if tree.box(path) else None for path in paths}
    if len(boxes) > 1:
        refuse("HX3046", "deep-equal of members of two boxes is not translated exactly yet", position)
    names = {path[-1].removeprefix(ANYWHERE) if path else tree.root for path in paths}
    if len(terms) < 2 or len(names) > 1:  # nodes of different names are equal only where there are none
        return branch.absences(*terms)
    first, second = terms
    if tree.is_leaf(paths[0]) and tree.is_leaf(paths[1]):
        return [(SameValue(first, second),)]
    if not has_text(tree, paths[0]) or not has_text(tree, paths[1]):
        return [(DeepEqual(first, second),)]
    parts = [(f"@{attribute.name}",) for attribute in tree.element(paths[0]).attributes]
    parts.append((TEXT,))
    same: list[Atom] = [
        SameValue(Term(first.variable, (*first.path, *part)), Term(second.variable, (*second.path, *part)))
        for part in parts
    ]
    if boxes != {None}:
        same.append(SameValue(Term(first.variable, (TAG,)), Term(second.variable, (TAG,))))
    same += [Presence(term) for term in terms if term.path]
    return [tuple(same), *branch.absences(*terms)]
