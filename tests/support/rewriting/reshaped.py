"""Mappings whose target is the source schema after some operators: most of them can be expressed by operators.

The names of the target are new, its cardinalities drawn, and not all leaves have an arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random

from heptox.errors import DisseminationError, HeptoxError
from heptox.rewriting import Downgrade, NodeId, Swap, WorkingTree
from heptox.schema import SchemaTree, parse_dtd
from tests.support.random_mappings import Problem, problem
from tests.support.rewriting.making import PAPER, random_operator

_ATTRIBUTES = ("CDATA #IMPLIED", "CDATA #REQUIRED", "ID #REQUIRED", "ID #IMPLIED")
_CARRIED = 0.85


def reshaped_problem(random: Random) -> Problem:
    """A mapping without faults from a random schema to what some operators make of it."""
    while True:
        source = _random_dtd(random)
        tree = WorkingTree(SchemaTree(parse_dtd(source, "e0")))
        repeated = _reshape(random, tree)
        writing = _Writing(random, tree, repeated)
        target = writing.dtd()
        try:
            found = problem(source, target, "\n".join(writing.arrows))
        except HeptoxError:
            continue
        if found.mapping.rules:
            return found


def _random_dtd(random: Random) -> str:
    below: dict[int, list[int]] = {0: []}
    for number in range(1, random.randint(3, 10)):
        below[random.choice(list(below))].append(number)
        below[number] = []
    declared = []
    for number, children in below.items():
        content = ", ".join(f"e{child}{random.choice(('', '?', '*', '*', '+'))}" for child in children)
        declared.append(f"<!ELEMENT e{number} ({content or '#PCDATA'})>")
        if number and random.random() < 0.3:
            declared.append(f"<!ATTLIST e{number} a{number} {random.choice(_ATTRIBUTES)}>")
    return "\n".join(declared)


def _reshape(random: Random, tree: WorkingTree) -> set[NodeId]:
    """Apply some operators; what they copy, or give a parent of which there are fewer, may repeat."""
    repeated: set[NodeId] = set()
    for number in range(random.randint(0, 9)):
        operator = random_operator(random, tree, number, PAPER + "iudx")
        try:
            if operator is not None:
                tree.apply(operator)
        except DisseminationError:
            continue
        match operator:
            case Downgrade(_, children, _):
                repeated.update(children)
            case Swap(element, child):
                repeated.update((element, child) if random.random() < 0.5 else (child,))
    return repeated


class _Writing:
    """Writes the target schema, and the arrows into it."""

    def __init__(self, random: Random, tree: WorkingTree, repeated: set[NodeId]) -> None:
        self.arrows: list[str] = []
        self._random, self._tree, self._repeated = random, tree, repeated
        self._names: Iterator[str] = (f"t{number}" for number in count())
        self._declared: list[str] = []

    def dtd(self) -> str:
        """The schema; its root is declared first."""
        self._element((), ())
        return "\n".join(reversed(self._declared))

    def _element(self, node: NodeId, above: tuple[str, ...]) -> str:
        name = next(self._names)
        here = (*above, name) if node else ()
        content = [self._element(child, here) + self._sign(child) for child in self._tree.elements(node)]
        attributes = [child for child in self._tree.children(node) if self._tree.name(child).startswith("@")]
        for attribute in attributes:
            target = next(self._names)
            self._declared.append(f"<!ATTLIST {name} {target} CDATA #IMPLIED>")
            self._arrow("/".join(attribute), (*here, f"@{target}"))
        if not content:
            self._arrow_of_text(node, (*here, "text()") if attributes else here)
        self._declared.append(f"<!ELEMENT {name} ({', '.join(content) or '#PCDATA'})>")
        return name

    def _sign(self, node: NodeId) -> str:
        schema = self._tree.schema
        repeats = node in schema and schema.is_element(node) and schema.edge(node).repeats
        return "*" if repeats or node in self._repeated else self._random.choice(("", "?"))

    def _arrow_of_text(self, node: NodeId, target: tuple[str, ...]) -> None:
        schema = self._tree.schema
        if node in schema and schema.is_leaf(node):
            self._arrow("/".join(node), target)
        elif node in schema and schema.element(node).text:
            self._arrow("/".join((*node, "text()")), target)

    def _arrow(self, source: str, target: tuple[str, ...]) -> None:
        if target and self._random.random() < _CARRIED:
            self.arrows.append(f"{source} -> {'/'.join(target)}")
