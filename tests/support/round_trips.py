"""The round trip of ``semantics.md`` section 6: one-to-one arrows with ``each`` on every stop node lose nothing.

The other schema is the given one with other names, in which some leaves that stand at most once are attributes instead
of elements. Documents are compared as sets of nodes, without single inner elements that hold nothing: they are no leaf
and no stop node, so nothing carries them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from random import Random
from typing import Final

from heptox.errors import HeptoxError
from heptox.mapping import exchange
from heptox.schema import TEXT, Attribute, Cardinality, Particle, Path, SchemaTree
from heptox.translate import Direction
from heptox.xml import XmlElement, parse_document, write_document
from tests.support.checking import Outcome
from tests.support.namespaced_mappings import Namespaced
from tests.support.random_mappings import MOST_RULES, Problem, problem, random_documents, random_schema

MOST_LEAVES: Final = 4 * MOST_RULES


def random_round_trip(random: Random) -> Problem:
    """A random schema, the same one in other words, an arrow for each leaf and an ``each`` for each stop node."""
    while True:
        schema = random_schema(random, "s", "abcdef")
        tree = schema.tree
        leaves = [path for path in tree.walk() if path and tree.is_leaf(path)]
        if not 0 < len(leaves) <= MOST_LEAVES:
            continue
        words = _Words(random, tree)
        lines = [f"{'/'.join(path)} -> {words.leaf(path)}" for path in leaves]
        stops = [path for path in tree.walk() if path and tree.is_stop(path)]
        lines += [f"each {'/'.join(path)} -> {words.node(path)}" for path in stops]
        random.shuffle(lines)
        try:
            return problem(schema.dtd, words.dtd(), "\n".join(lines) + "\n")
        except HeptoxError:
            continue  # two leaves of one element have one name in the other schema, or what is there has no arrow


class _Words:
    """Another schema that says the same: names in capitals, and some leaves as attributes."""

    def __init__(self, random: Random, tree: SchemaTree) -> None:
        self._graph = tree.graph
        elements = tree.graph.elements.values()
        plain = {one.name for one in elements if one.text and not one.attributes}
        self._moved = {
            (one.name, child.name): child.cardinality.required
            for one in elements
            for child in one.children
            if child.name in plain
            and not child.cardinality.repeats
            and not _chooses(one.content)
            and random.random() < 0.3
        }

    def node(self, path: Path) -> str:
        return "/".join(step.upper() for step in path)

    def leaf(self, path: Path) -> str:
        """The leaf at ``path`` in the other schema."""
        if path[-1] == TEXT:
            return "/".join((*(step.upper() for step in path[:-1]), TEXT))
        parent = path[-2] if len(path) > 1 else self._graph.root
        if (parent, path[-1]) in self._moved:
            return "/".join((*(step.upper() for step in path[:-1]), f"@_{path[-1].upper()}"))
        return self.node(path)

    def dtd(self) -> str:
        """The root first."""
        root = self._graph.root
        names = (root, *(name for name in self._graph.elements if name != root))
        return "\n".join(line for name in names for line in self._declared(name))

    def _declared(self, name: str) -> Iterator[str]:
        element = self._graph.elements[name]
        if element.text:
            content = "(#PCDATA)"
        else:
            inner = None if element.content is None else self._content(name, element.content)
            content = "EMPTY" if inner is None else inner if inner.startswith("(") else f"({inner})"
        yield f"<!ELEMENT {name.upper()} {content}>"
        moved = [
            f"_{child.upper()} CDATA {'#REQUIRED' if required else '#IMPLIED'}"
            for (parent, child), required in self._moved.items()
            if parent == name
        ]
        attributes = [*map(self._attribute, element.attributes), *moved]
        if attributes:
            yield f"<!ATTLIST {name.upper()} {' '.join(attributes)}>"

    def _attribute(self, attribute: Attribute) -> str:
        required = "#REQUIRED" if attribute.cardinality.required else "#IMPLIED"
        return f"{attribute.name.upper()} {attribute.type.value} {required}"

    def _content(self, parent: str, particle: Particle) -> str | None:
        """A content model without what is an attribute now, ``None`` where nothing is left."""
        if particle.kind == "name":
            if (parent, particle.name) in self._moved:
                return None
            return f"{particle.name.upper()}{_sign(particle)}"
        members = [self._content(parent, member) for member in particle.members]
        kept = [member for member in members if member is not None]
        separator = " | " if particle.kind == "choice" else ", "
        return f"({separator.join(kept)}){_sign(particle)}" if kept else None


def _sign(particle: Particle) -> str:
    return "" if particle.occurrence is Cardinality.ONE else particle.occurrence.value


def _chooses(particle: Particle | None) -> bool:
    """Whether a content model has a choice, which a member that goes would make another one."""
    return particle is not None and (particle.kind == "choice" or any(map(_chooses, particle.members)))


def check_round_trip(
    random: Random,
    documents: int,
    outcome: Outcome,
    named: Callable[[Problem, Outcome], Namespaced | None] = lambda _, __: None,
) -> None:
    """Exchange there and back gives an equal document, for random documents of one mapping; ``named`` may put the names
    of the problem in namespaces.
    """
    plain = random_round_trip(random)
    outcome.counts["round trips"] += 1
    other = named(plain, outcome)
    given = plain if other is None else other.problem
    for text in random_documents(random, plain, documents):
        if other is not None:
            text = other.document(text, Direction.SOURCE)
        there = exchange(given.mapping, parse_document(text))
        back = write_document(exchange(given.mapping.mirrored(), there).root)
        outcome.counts["cases"] += 1
        outcome.counts["cases there and back"] += 1
        if _as_set(given.mapping.source, text) != _as_set(given.mapping.source, back):
            parts = ("round trip", str(given), text, write_document(there.root), back)
            outcome.broken.append("\n".join(parts))


def _as_set(tree: SchemaTree, document: str) -> Hashable:
    return _node(tree, parse_document(document).root, ())


def _node(tree: SchemaTree, element: XmlElement, path: Path) -> Hashable:
    below = (((*path, str(child.tag)), child) for child in element)
    children = frozenset(_node(tree, child, place) for place, child in below if not _is_hollow(tree, child, place))
    return str(element.tag), frozenset(element.attrib.items()), element.text or "", children


def _is_hollow(tree: SchemaTree, element: XmlElement, path: Path) -> bool:
    """Whether an element is single, and holds no leaf and no stop node."""
    if tree.is_stop(path) or tree.element(path).text or element.attrib:
        return False
    return all(_is_hollow(tree, child, (*path, str(child.tag))) for child in element)
