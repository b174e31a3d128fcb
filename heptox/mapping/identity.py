"""What the nodes that rules make are identified by (``semantics.md`` section 4)."""

from __future__ import annotations

from collections.abc import Collection

from heptox.mapping.model import Rule
from heptox.mapping.paths import Leaf, is_sure, schema_order
from heptox.pattern import TAG, Comparison, Presence, Term, atom_terms
from heptox.schema import Path, SchemaTree


def declared_key(tree: SchemaTree, keys: Collection[Path], node: Path, leaves: Collection[Path]) -> Path | None:
    """The leaf that identifies the stop node ``node`` by a key that the mapping declares, relative to it.

    ``keys`` are the declared ones of the schema ``tree``, absolute paths. ``leaves``, relative to the node, are those
    that a rule supplies as values; of several keys the first in the order of the schema counts. ``None`` where there is
    none, and for the root, which its document identifies.
    """
    own = [key for key in keys if tree.stop(key) == node and key[len(node) :] in leaves]
    return min(own, key=lambda key: schema_order(tree, key))[len(node) :] if node and own else None


def identity_terms(tree: SchemaTree, rule: Rule, path: Path) -> tuple[Term, ...]:
    """The values among the arguments of a head node's Skolem term; a node (``each``) comes before them.

    They are the leaves reachable by single-valued edges from a node that they identify. A node that a source node or a
    key identifies has the key, and its tag in a box; what it has once needs no argument. The root's argument is the
    source document, whose variable is the first of the body.
    """
    if not path:
        return (Term(rule.variables[0].name),)
    stop = tree.stop(path)
    below = path[len(stop) :]
    head = next(node for node in rule.head if node.node == stop)
    if head.each is None and head.key is None:
        return tuple(term for leaf, term in head.leaves if leaf[: len(below)] == below)
    identifying = () if below else (head.key, (TAG,))
    found = (head.term(leaf) for leaf in identifying if leaf is not None)
    return tuple(term for term in found if term is not None)


def is_always_there(source: SchemaTree, rule: Rule, term: Term) -> bool:
    """Whether a term has a value wherever the rule binds: by the source schema, or by a condition of the rule."""
    if not any(variable.name == term.variable for variable in rule.required):
        return False
    if is_sure(source, Leaf(rule.node(term.variable), term.path)):
        return True
    said = (condition for condition in rule.conditions if isinstance(condition, Comparison | Presence))
    return any(term in atom_terms(condition) for condition in said)
