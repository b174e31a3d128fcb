"""Small schemas by enumeration: which children an element may have, and all valid documents up to a size."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random

from heptox.errors import SchemaError
from heptox.schema import Element, Particle, SchemaGraph, parse_dtd

LONGEST = 4
"""How many children the words of content models have at most: enough for those of small schemas."""


def schema_of(random: Random) -> SchemaGraph:
    """A schema of two to four element types: sequences, choices, recursion, attributes that are required or not.

    It may have element types without finite trees, but some document is valid.
    """
    while True:
        names = "abcd"[: random.randint(2, 4)]
        text = "".join(_declaration(random, name, names) for name in names)
        try:
            schema = parse_dtd(text, names[0])
        except SchemaError:
            continue
        if schema.root in productive(schema):
            return schema


def _declaration(random: Random, name: str, names: str) -> str:
    some = random.sample(names, random.randint(1, len(names)))
    signed = [child + random.choice(("", "", "?", "*", "+")) for child in some]
    content = random.choice(
        (
            "EMPTY",
            "EMPTY",
            "(#PCDATA)",
            f"({' | '.join(signed)})",
            f"({', '.join(signed)})",
            f"({' | '.join(some)})*",
            f"(#PCDATA | {' | '.join(some)})*",
            f"(({' | '.join(some)}), {random.choice(names)}?)",
        )
    )
    attributes = "".join(
        f" {attribute} CDATA {random.choice(('#REQUIRED', '#IMPLIED', '#IMPLIED'))}"
        for attribute in random.sample("xy", random.choice((0, 0, 1, 2)))
    )
    return f"<!ELEMENT {name} {content}>" + (f"<!ATTLIST {name}{attributes}>" if attributes else "")


@cache
def _expression(particle: Particle) -> str:
    if particle.kind == "name":
        inner = particle.name
    else:
        inner = ("|" if particle.kind == "choice" else "").join(map(_expression, particle.members))
    sign = "" if particle.occurrence == "1" else str(particle.occurrence)
    return f"(?:{inner}){sign}"


def words(element: Element, names: frozenset[str], longest: int = LONGEST) -> list[str]:
    """The words of a content model over one-letter names, the short ones first."""
    model = re.compile(_expression(element.content) if element.content else "")
    found = []
    for length in range(longest + 1):
        found += [word for word in map("".join, product(sorted(names), repeat=length)) if model.fullmatch(word)]
    return found


def productive(schema: SchemaGraph) -> frozenset[str]:
    """The element types that have finite valid trees."""
    found: frozenset[str] = frozenset()
    while True:
        more = {name for name, element in schema.elements.items() if words(element, found)}
        if more == found:
            return found
        found = frozenset(more)


@dataclass(frozen=True, slots=True)
class Tree:
    """An element of a valid document: the labels of its leaves, and its children."""

    name: str
    leaves: tuple[str, ...]
    children: tuple[Tree, ...]

    def words(self) -> Iterator[tuple[str, ...]]:
        """The paths from here to each node."""
        yield (self.name,)
        yield from ((self.name, leaf) for leaf in self.leaves)
        for child in self.children:
            yield from ((self.name, *word) for word in child.words())

    def chains(self) -> Iterator[Tree]:
        """The paths from here to elements without children, with the leaves of their elements."""
        if not self.children:
            yield self
        for child in self.children:
            yield from (Tree(self.name, self.leaves, (below,)) for below in child.chains())

    def __str__(self) -> str:
        attributes = "".join(f' {leaf[1:]}=""' for leaf in self.leaves if leaf[0] == "@")
        text = " " if "text()" in self.leaves else ""
        return f"<{self.name}{attributes}>{text}{''.join(map(str, self.children))}</{self.name}>"


def documents(schema: SchemaGraph, most: int) -> Iterator[Tree]:
    """All valid documents of at most so many elements, each with its required attributes only, and with one optional
    leaf more somewhere. What a path matches, it matches in one of these that is part of the whole."""
    names = productive(schema)
    contents = {name: words(element, names) for name, element in schema.elements.items()}
    for tree in _trees(schema, contents, schema.root, most):
        yield tree
        yield from _with_one_leaf(schema, tree)


def _trees(schema: SchemaGraph, contents: dict[str, list[str]], name: str, most: int) -> Iterator[Tree]:
    if most < 1:
        return
    for word in contents[name]:
        if len(word) < most:
            for children in _rows(schema, contents, word, most - 1):
                yield Tree(name, _required(schema, name), children)


def _rows(schema: SchemaGraph, contents: dict[str, list[str]], word: str, most: int) -> Iterator[tuple[Tree, ...]]:
    if not word:
        yield ()
        return
    for first in _trees(schema, contents, word[0], most - len(word) + 1):
        for rest in _rows(schema, contents, word[1:], most - size(first)):
            yield (first, *rest)


def size(tree: Tree) -> int:
    """The number of elements."""
    return 1 + sum(map(size, tree.children))


def _required(schema: SchemaGraph, name: str) -> tuple[str, ...]:
    return tuple(sorted(f"@{each.name}" for each in schema.elements[name].attributes if each.cardinality.required))


def chain(schema: SchemaGraph, names: Sequence[str], depth: int = 0, leaf: str = "") -> Tree:
    """A path of elements with their required attributes, and with one more leaf of the one at a depth."""
    name, *below = names
    own = _required(schema, name)
    if depth == 1 and leaf not in own:
        own = (*own, leaf)
    return Tree(name, own, (chain(schema, below, depth - 1, leaf),) if below else ())


def leaves(schema: SchemaGraph, name: str) -> set[str]:
    """The labels of attributes and text that an element may have: between children there may be white space."""
    element = schema.elements[name]
    found = {f"@{each.name}" for each in element.attributes}
    return found | {"text()"} if element.text or element.children else found


def _with_one_leaf(schema: SchemaGraph, tree: Tree) -> Iterator[Tree]:
    for label in sorted(leaves(schema, tree.name) - {*tree.leaves}):
        yield Tree(tree.name, (*tree.leaves, label), tree.children)
    for place, child in enumerate(tree.children):
        for other in _with_one_leaf(schema, child):
            yield Tree(tree.name, tree.leaves, (*tree.children[:place], other, *tree.children[place + 1 :]))


def edges(schema: SchemaGraph) -> dict[str, set[str]]:
    """Which element types may stand below which, where both are in some valid document or not reachable."""
    names = productive(schema)
    return {name: set("".join(words(schema.elements[name], names))) for name in names}
