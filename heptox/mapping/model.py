"""Mappings: correspondences as drawn, and the rules inferred from them (``semantics.md`` sections 2 to 4)."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.pattern import Atom, Path, Term, Variable
from heptox.schema import SchemaTree


@dataclass(frozen=True, slots=True)
class HeadNode:
    """A stop node of a rule's head: its target path, and for each leaf that the rule supplies, the source term.

    ``leaves`` maps paths relative to the node (``(TAG,)`` for the tag of a box node) in the order of the target schema;
    together they are the arguments of the node's Skolem term. A leaf that is not listed is a constant of its own.
    """

    node: Path
    leaves: tuple[tuple[Path, Term], ...] = ()

    def term(self, path: Path) -> Term | None:
        """The source term of the leaf at ``path``, ``None`` when this rule does not supply it."""
        return dict(self.leaves).get(path)


@dataclass(frozen=True, slots=True)
class Rule:
    """``head <- body``: the chain of target stop nodes from the root down, the source stop nodes, and their conditions."""

    head: tuple[HeadNode, ...]
    variables: tuple[Variable, ...]
    conditions: tuple[Atom, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """Which key a reference attribute or leaf points to; ``inferred`` ones are guaranteed by validity, declared ones not."""

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
