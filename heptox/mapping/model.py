"""Mappings: the rules inferred from correspondences, or written by hand (``semantics.md`` sections 2 to 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from heptox.pattern import Comparison, Term, Text, Variable, atom_terms
from heptox.schema import Path, SchemaTree


@dataclass(frozen=True, slots=True)
class HeadNode:
    """A stop node of a rule's head: its target path, and for each leaf that the rule supplies, the source term.

    ``leaves`` maps paths relative to the node (``(TAG,)`` for the tag of a box node) in the order of the target schema;
    together they are the arguments of the node's Skolem term. A leaf that is not listed is a constant of its own.
    ``copied`` are those of them that are inner nodes, drawn with ``=>``: their value is a whole subtree, and the source
    term is an inner node too.
    """

    node: Path
    leaves: tuple[tuple[Path, Term], ...] = ()
    copied: frozenset[Path] = frozenset()

    def __post_init__(self) -> None:
        paths = [path for path, _ in self.leaves]
        if len(set(paths)) < len(paths) or not self.copied <= set(paths):
            raise ValueError("a head node has each leaf once, and copies only leaves that it has")

    def term(self, path: Path) -> Term | None:
        """The source term of the leaf at ``path``, ``None`` when this rule does not supply it."""
        return dict(self.leaves).get(path)


@dataclass(frozen=True, slots=True)
class Rule:
    """``head <- body``: the chain of target stop nodes from the root down, the source stop nodes, and their conditions.

    The variables stand in the order of the source schema, so parents come before children and the root's is the first;
    they are closed under parents. A condition says that two terms are equal, or that a term equals a constant, or has a
    value that is not that constant.
    """

    head: tuple[HeadNode, ...]
    variables: tuple[Variable, ...]
    conditions: tuple[Comparison, ...] = ()

    def __post_init__(self) -> None:
        nodes = [node.node for node in self.head]
        if nodes[:1] != [()] or any(below[: len(above)] != above for above, below in pairwise(nodes)):
            raise ValueError("a head is a chain of stop nodes from the root down")
        seen: set[str] = set()
        for variable in self.variables:
            if variable.name in seen or (variable.parent is not None and variable.parent not in seen):
                raise ValueError(f"variable {variable.name} is repeated or stands before its parent")
            seen.add(variable.name)
        for condition in self.conditions:
            match condition:
                case Comparison("=", right=Term() | Text()) | Comparison("!=", right=Text()):
                    pass
                case _:
                    raise ValueError("a condition of a rule compares terms by =, or a term with a string by = or !=")
        if not {term.variable for term in self.terms()} <= seen:
            raise ValueError("a term of a rule has a variable of its body")

    def terms(self) -> Iterable[Term]:
        """All terms of head and conditions."""
        for node in self.head:
            for _, term in node.leaves:
                yield term
        for condition in self.conditions:
            yield from atom_terms(condition)

    def equalities(self) -> Iterable[tuple[Term, Term]]:
        """Both sides of each condition that is an equality of terms."""
        for condition in self.conditions:
            if isinstance(condition.right, Term):
                yield condition.left, condition.right

    def tests(self) -> Iterable[tuple[Term, bool, str]]:
        """The conditions on single terms: the term, whether it equals or differs from the constant, and that."""
        for condition in self.conditions:
            if isinstance(condition.right, Text):
                yield condition.left, condition.operator == "=", condition.right.value

    def node(self, name: str) -> Path:
        """The source node of the variable ``name``."""
        return next(variable.node for variable in self.variables if variable.name == name)


@dataclass(frozen=True, slots=True)
class Reference:
    """Which key a leaf refers to; ``inferred`` ones are guaranteed by validity, declared ones not.

    Both ends are absolute leaf paths.
    """

    source: Path
    target: Path
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Mapping:
    """Rules from a source schema tree to a target schema tree, with the keys and references known of either side.

    Keys are absolute leaf paths, each identifying its parent element (or stop node) in a document.
    """

    source: SchemaTree
    target: SchemaTree
    rules: tuple[Rule, ...]
    source_keys: frozenset[Path] = frozenset()
    target_keys: frozenset[Path] = frozenset()
    source_references: tuple[Reference, ...] = ()
    target_references: tuple[Reference, ...] = ()

    def __hash__(self) -> int:
        """Cheap, for mappings are keys of what is remembered of them; there are few of them at a time."""
        return hash((self.source, self.target, len(self.rules)))
