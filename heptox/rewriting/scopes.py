"""Which elements have to be there as a whole before the operators of a program can be applied to what is in them.

An operator that moves something within an element has to see all of it, unless what is moved stands where it goes to by
the schema. The highest such elements, the **scopes** of a program, are what streaming holds, one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from heptox.rewriting.operators import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Prune,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
    lowest_above,
)
from heptox.rewriting.program import Program
from heptox.rewriting.working_tree import WorkingTree
from heptox.schema import Particle, Path


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes of a program, each with the first operator that blocks there; none stands in another.

    ``growing`` are the elements, outside of all scopes, in which something is inserted that stays open to the end.
    """

    blocking: Mapping[Path, Operator]
    growing: frozenset[Path]


def scopes(program: Program) -> Scopes:
    """The scopes of a program.

    >>> from heptox.schema import SchemaTree, parse_dtd
    >>> schema = SchemaTree(parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (b, c)><!ELEMENT b EMPTY><!ELEMENT c EMPTY>"))
    >>> a, b, c = ("a",), ("a", "b"), ("a", "c")
    >>> found = scopes(Program(schema, (Insert((), ("as",), (a,)), Rename(b, "d"), Downgrade(a, (b,), c))))
    >>> list(found.blocking), found.growing
    ([('a',)], frozenset({()}))
    """
    analysis = _Analysis(program)
    blocking: dict[Path, Operator] = {}
    for scope, operator in sorted(analysis.blocking.items(), key=lambda item: len(item[0])):
        if not any(_is_within(scope, other) for other in blocking):
            blocking[scope] = operator
    growing = (node for node in analysis.growing if not any(_is_within(node, scope) for scope in blocking))
    return Scopes(blocking, frozenset(growing))


def _is_within(node: Path, other: Path) -> bool:
    return node[: len(other)] == other


class _Analysis:
    def __init__(self, program: Program) -> None:
        self.blocking: dict[Path, Operator] = {}
        self.growing: set[Path] = set()
        self._tree = WorkingTree(program.source)
        self._gone: set[NodeId] = set()
        self._prunable: set[NodeId] = set()
        for operator in program.operators:
            if isinstance(operator, Insert) and self._stays_open(operator):
                self.growing.add(operator.element)
                if len(operator.names) == 1:  # of several, the inner ones may go and leave the outer ones
                    self._prunable.update(operator.made)
            elif touched := tuple(self._touched(operator)):
                scope = lowest_above(map(_origin, touched))
                self.blocking.setdefault(scope, operator)
            if isinstance(operator, Drop):
                self._gone.add(operator.node)
            elif isinstance(operator, Dissolve):
                self._gone.add(operator.element)
            self._tree.apply(operator)

    def _touched(self, operator: Operator) -> Iterator[NodeId]:
        """The nodes of which the elements have to be there together; none where each can be changed by itself."""
        match operator:
            case Rename():
                return
            case ToElement(node) | Drop(node) | Dissolve(node):
                if node in self.growing or _is_made(node):
                    yield node
            case Prune(element):
                if _is_made(element) and element not in self._prunable:
                    yield element
            case ToAttribute(leaf):
                yield from (leaf, self._tree.parent(leaf))
            case Insert(element):
                yield from (element, *self._tree.moved(operator))
            case Upgrade(element):
                yield from (element, *self._tree.moved(operator))
            case Downgrade(element, children, into):
                yield from (element, *children, into)
            case Swap(element, child):
                yield from (element, child)
            case Arrange(element, children):
                if not self._comes_in_order(element, children):
                    yield from (element, *children)

    # inserts whose children come last, and together

    def _stays_open(self, insert: Insert) -> bool:
        """Whether the new element can be open from the first of its children to the end of the element it is in."""
        element, tree = insert.element, self._tree
        if _origin(element) != element or element in self.growing or tree.schema.element(element).mixed:
            return False
        moved = tree.moved(insert)
        rest = [child for child in tree.elements(element) if child not in moved]
        if any(_is_made(child) or not _is_within(child, element) for child in (*moved, *rest)):
            return False
        length = len(element) + 1
        if any(len(_origin(child)) > length and child[:length] not in self._gone for child in moved):
            return False  # where a swap finds no child, the element that it would swap stays
        declared = tree.schema.element(element)
        inside = {child[length - 1] for child in moved if _origin(child) != element}
        names = {child.name for child in declared.children if (*element, child.name) not in self._gone}
        before = (names - inside) | {child[length - 1] for child in rest if _origin(child) != element}
        if not before:
            return True
        if declared.content is None or any(_origin(child) == element for child in moved):
            return False
        followers = frozenset(_followers(declared.content))
        return before.isdisjoint(inside) and followers.isdisjoint(product(inside, before))

    # orders that are there already

    def _comes_in_order(self, element: NodeId, children: tuple[NodeId, ...]) -> bool:
        """Whether the children of an element come in this order, all others behind, by the schema."""
        elements = self._tree.elements(element)
        if len(elements) < 2:
            return True
        content = self._tree.schema.element(element).content if _origin(element) == element else None
        if content is None or any(_origin(child) == element and not _is_made(child) for child in elements):
            return False
        order = (*children, *(child for child in elements if child not in children))
        made = [child for child in order if _is_made(child)]
        inside = [child for child in order if not _is_made(child)]
        if made and (element not in self.growing or order[-1:] != tuple(made)):
            return False
        if any(len(child) <= len(element) or not _is_within(child, element) for child in inside):
            return False
        tops = [child[len(element)] for child in inside]
        gone = all(len(child) == len(element) + 1 or child[: len(element) + 1] in self._gone for child in inside)
        followers = frozenset(_followers(content))
        return gone and not any(
            first == second or (second, first) in followers for first, second in combinations(tops, 2)
        )


def _is_made(node: NodeId) -> bool:
    return any(step.startswith("+") for step in node)


def _origin(node: NodeId) -> Path:
    """The element of the source in which a node stands from the start, or in which it is made; itself if it is one."""
    for place, step in enumerate(node):
        if step[0] in "+@" or step == "text()":
            return node[:place]
    return node


def _names(particle: Particle) -> frozenset[str]:
    return frozenset((particle.name,)) if particle.kind == "name" else frozenset().union(*map(_names, particle.members))


def _followers(particle: Particle) -> Iterator[tuple[str, str]]:
    """All pairs of names of which the second may come behind the first, perhaps not at once."""
    if particle.occurrence.repeats:
        yield from product(_names(particle), repeat=2)
        return
    for member in particle.members:
        yield from _followers(member)
    if particle.kind == "sequence":
        for first, second in combinations(particle.members, 2):
            yield from product(_names(first), _names(second))
