"""Which node of the image an item is of, as the documents tell it (``semantics.md`` section 4): by the source nodes
that ``each`` lines name, by keys, and by the values of leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping as Table, Sequence
from dataclasses import dataclass
from itertools import takewhile

from heptox.errors import Fault, TranslationError
from heptox.mapping import HeadNode, Mapping, Rule
from heptox.pattern import (
    NODE,
    TAG,
    Content,
    ElementItem,
    LeafItem,
    Template,
    Term,
    map_identities,
    node_identity,
)
from heptox.remembering import remembered
from heptox.schema import Path
from heptox.translate.copies import Copy, element_name
from heptox.translate.demand import Demand
from heptox.translate.image import inside_name, is_inside
from heptox.translate.surrogates import is_argument


def with_identities(
    template: Template, demand: Demand, copies: Table[str, Sequence[Copy]], mapping: Mapping
) -> Template:
    """The template in which what identifies nodes of the image stands for their identities.

    Raises :class:`TranslationError` (HX5021) for nodes in copied subtrees of elements that are identified by values.
    """
    if not isinstance(template, ElementItem):
        return template
    identities = _Identities(demand, copies, mapping)
    return map_identities(template, identities.of)


@dataclass(frozen=True, slots=True)
class _Identities:
    demand: Demand
    copies: Table[str, Sequence[Copy]]
    mapping: Mapping

    def of(self, item: LeafItem) -> Content:
        """The element that holds the identity of a node."""
        assert isinstance(item.term, Term)
        variable = item.term.variable
        node = self.demand.member.node(variable)
        if is_inside(self.mapping.target, node):
            outside = node_identity("c", self._outside(variable))
            return ElementItem(
                item.name, (), ("/".join(node), self.of(outside), node_identity("i", inside_name(variable)))
            )
        chain, bound = self.demand.chain(variable), self.demand.bound - {variable}
        own = list(takewhile(lambda name: name not in bound, chain))
        heads = [self._head(name) for name in own]
        sources = {head.each for head, _ in heads if head.each is not None and _is_made_one_way(self.mapping, node)}
        above = {name for _, copy in heads for name in _above(copy, sources)}
        content: list[Content] = [".".join(str(_numbers(self.mapping)[_place(head)]) for head, _ in heads)]
        for level, (head, copy) in enumerate(heads):
            content += self._parts(level, head, copy, above | sources, above)
        root = self.demand.member.roots[variable]
        if len(own) == len(chain) and root not in above:
            content.append(node_identity("d", root))
        return ElementItem(item.name, (), tuple(content))

    def _head(self, variable: str) -> tuple[HeadNode, Copy]:
        copy = self.copies[variable][0]  # others that meet in it make the same node
        return copy.node(self.demand.member.node(variable)), copy

    def _parts(self, level: int, head: HeadNode, copy: Copy, decided: set[str], above: set[str]) -> Iterator[Content]:
        """What identifies a node under its parent, without what ``decided`` source nodes decide."""
        leaves: Iterable[Path] = ((TAG,),)
        if head.each is not None:
            if head.each not in above:
                yield node_identity(f"n{level}", head.each)
        elif head.key is not None:
            leaves = ((TAG,), head.key)
        else:
            filled = dict(head.leaves)
            own = (leaf for leaf in self.mapping.target.own_leaves(head.node) if leaf in filled)
            leaves = ((TAG,), *own, *sorted(filter(is_argument, filled)))
        for leaf in leaves:
            term = head.term(leaf)
            if term is not None and term.variable not in decided:
                yield _value(
                    f"k{level}.{_leaves(self.mapping)[head.node].index(leaf)}", term, copy, leaf in head.copied
                )

    def _outside(self, variable: str) -> str:
        """The variable above the copied subtree that another stands in.

        Equal subtrees below a node that values tell apart are one, and which of them was copied is not known.
        """
        variables = {each.name: each for each in self.demand.member.variables}
        while is_inside(self.mapping.target, variables[variable].node):
            variable = str(variables[variable].parent)
        if (node := variables[variable].node) and self._head(variable)[0].each is None:
            message = f"what is in copies below {self.mapping.target.written(node)} cannot be counted"
            hint = "values tell such nodes apart: an each line does it by what they come from"
            raise TranslationError(Fault("HX5021", message, hint=hint))
        return variable


def _value(name: str, term: Term, copy: Copy, is_copied: bool) -> Content:
    """The element that holds a value that identifies nodes."""
    if term.path == (NODE,):
        return node_identity(name, term.variable)
    if is_copied:
        return ElementItem(name, (), (LeafItem("copy", element_name(term, copy.nodes), term),))
    return LeafItem("element", name, term)


def _above(copy: Copy, sources: set[str]) -> Iterator[str]:
    """The variables of a copy above those of some source nodes, which these decide."""
    parents = {variable.name: variable.parent for variable in copy.variables}
    for name in sources & parents.keys():
        above = parents[name]
        while above is not None:
            yield above
            above = parents[above]


def _place(head: HeadNode) -> Path:
    """What tells nodes of different places apart: those of a selection are never one with others."""
    return head.selected or head.node


@remembered(512)
def _numbers(mapping: Mapping) -> dict[Path, int]:
    """Numbers of the places of nodes that rules make."""
    places = sorted({_place(head) for rule in mapping.rules for head in rule.head})
    return {place: number for number, place in enumerate(places)}


@remembered(512)
def _leaves(mapping: Mapping) -> dict[Path, list[Path]]:
    """The leaves that rules supply to each node, whichever supplies them."""
    found: dict[Path, set[Path]] = {}
    for head in (head for rule in mapping.rules for head in rule.head):
        found.setdefault(head.node, set()).update(leaf for leaf, _ in head.leaves)
    return {node: sorted(leaves) for node, leaves in found.items()}


@remembered(512)
def _is_made_one_way(mapping: Mapping, node: Path) -> bool:
    """Whether all rules take what identifies a node, and those above it, from the same places of the documents."""
    ways = {
        tuple(_taken_from(rule, head) for head in rule.head if head.node == node[: len(head.node)])
        for rule in mapping.rules
        if any(head.node == node for head in rule.head)
    }
    return len(ways) == 1


def _taken_from(rule: Rule, head: HeadNode) -> tuple[object, ...]:
    each = None if head.each is None else rule.node(head.each)
    leaves = frozenset(
        (leaf, rule.node(term.variable), term.path) for leaf, term in head.leaves if head.each is None or leaf == (TAG,)
    )
    return _place(head), each, head.key, leaves
