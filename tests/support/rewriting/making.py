"""Random schemas, and random operators that can be applied one after the other, so that they interact."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from heptox.errors import DisseminationError
from heptox.rewriting import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Program,
    Prune,
    Rename,
    Swap,
    TargetNode,
    ToAttribute,
    ToElement,
    Upgrade,
    WorkingTree,
)
from heptox.schema import TEXT, SchemaTree, parse_dtd

PAPER = "rtiudx"
"""The operators of the paper: rename, to element, insert, upgrade, downgrade, swap."""

ALL = PAPER + "iudxiudxSPRAL"
"""These, those that move elements more often, and the others: dissolve, drop, prune, arrange, to attribute (L)."""


PASSED_ON = "iiPPAASRrt"
"""Operators that often need no element as a whole."""


def random_schema(random: Random, most: int = 9) -> SchemaTree:
    """A schema that is a tree of at most so many element types, some of mixed content, some with an attribute."""
    below: dict[int, list[int]] = {0: []}
    for number in range(1, random.randint(2, most)):
        below[random.randrange(number)].append(number)
        below[number] = []
    declared = []
    for number, children in below.items():
        names = [f"e{child}" for child in children]
        if not names:
            content = random.choice(("(#PCDATA)", "(#PCDATA)", "(#PCDATA)", "EMPTY"))
        elif random.random() < 0.15:
            content = f"({' | '.join(('#PCDATA', *names))})*"
        else:
            content = f"({', '.join(name + random.choice(('', '?', '*', '*')) for name in names)})"
        declared.append(f"<!ELEMENT e{number} {content}>")
        if random.random() < 0.3:
            declared.append(f"<!ATTLIST e{number} a{number} CDATA #IMPLIED>")
    return SchemaTree(parse_dtd("\n".join(declared), "e0"))


def random_operator(random: Random, tree: WorkingTree, number: int, kinds: str = ALL) -> Operator | None:
    """One that mostly can be applied here; the names that it gives have ``number`` in them. ``None``: none of a kind
    that was drawn."""
    nodes = [node for node in tree.walk() if node[-1:] != (TEXT,)]
    element = random.choice([node for node in nodes if tree.is_element(node)])
    below = list(tree.elements(element))
    random.shuffle(below)
    some = tuple(below[: random.randint(1, len(below))]) if below else ()
    some_or_all = some if random.random() < 0.7 else None
    or_drop = random.random() < 0.5
    match random.choice(kinds):
        case "r":
            node = random.choice(nodes)
            return Rename(node, ("@" if tree.name(node).startswith("@") else "") + f"z{number}")
        case "t":
            attributes = [node for node in nodes if not tree.is_element(node)]
            return ToElement(random.choice(attributes)) if attributes else None
        case "i" if below:
            names = tuple(f"w{number}_{length}" for length in range(random.randint(1, 2)))
            return Insert(element, names, some_or_all)
        case "u" if below and element:
            return Upgrade(element, some_or_all)
        case "d" if len(below) > 1:
            return Downgrade(element, some[: len(below) - 1], below[-1], or_drop)
        case "x" if below and element:
            return Swap(element, below[0], or_drop)
        case "S" if element:
            return Dissolve(element)
        case "P" if element:
            return Prune(element)
        case "R":
            return Drop(random.choice([*tree.children(element), element]))
        case "A" if below:
            return Arrange(element, some)
        case "L" if element and not tree.children(element):
            return ToAttribute(element)
        case _:
            return None


def random_program(random: Random, schema: SchemaTree, most: int = 8, kinds: str = ALL) -> Program:
    """Operators that can be applied one after the other, at most so many."""
    tree = WorkingTree(schema)
    applied: list[Operator] = []
    for number in range(random.randint(1, most)):
        operator = random_operator(random, tree, number, kinds)
        if operator is None:
            continue
        try:
            tree.apply(operator)
        except DisseminationError:
            continue
        applied.append(operator)
    return Program(schema, tuple(applied))


def target_of(tree: WorkingTree, node: NodeId = ()) -> TargetNode:
    """A working tree as the target of inference: each node corresponds to the source node that it is."""
    children = tuple(target_of(tree, child) for child in tree.children(node) if child[-1] != TEXT)
    made = bool(node) and node[-1].startswith("+")
    return TargetNode(tree.name(node), None if made else node, children)


@dataclass(frozen=True, slots=True)
class Shape:
    """A target without the order of siblings; wrappers with nothing in them are not there, as no insert makes them."""

    name: str
    source: NodeId | None
    children: frozenset[tuple[Shape, int]]

    @classmethod
    def of(cls, node: TargetNode) -> Shape:
        below = [cls.of(child) for child in node.children if not _is_hollow(child)]
        return cls(node.name, node.source, frozenset((child, below.count(child)) for child in below))


def _is_hollow(node: TargetNode) -> bool:
    return node.source is None and all(map(_is_hollow, node.children))
