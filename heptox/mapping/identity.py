"""What the nodes that rules make are identified by (``semantics.md`` section 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from typing import Final

from heptox.mapping.model import Argument, HeadNode, Rule, Surrogate
from heptox.mapping.paths import Leaf, is_sure, schema_order
from heptox.pattern import NODE, TAG, Comparison, Presence, Term, atom_terms, is_constant
from heptox.schema import Path, SchemaTree, plain, split_selection
from heptox.xml import split_name

DIGITS: Final = 32
"""How many hexadecimal digits of a digest stand in the value of a surrogate."""


def declared_key(tree: SchemaTree, keys: Collection[Path], node: Path, leaves: Collection[Path]) -> Path | None:
    """The leaf that identifies the stop node ``node`` by a key that the mapping declares, relative to it.

    ``keys`` are the declared ones of the schema ``tree``, absolute paths. ``leaves``, relative to the node, are those
    that a rule supplies as values; of several keys the first in the order of the schema counts. ``None`` where there is
    none, and for the root, which its document identifies.
    """
    own = [key for key in keys if plain(tree.stop(key)) == plain(node) and key[len(node) :] in leaves]
    return min(own, key=lambda key: schema_order(tree, key))[len(node) :] if node and own else None


def identity_terms(tree: SchemaTree, rule: Rule, path: Path) -> tuple[Term, ...]:
    """The values among the arguments of a head node's Skolem term; a node (``each``) comes before them.

    They are the leaves reachable by single-valued edges from a node that they identify. A node that a source node or a
    key identifies has the key, and its tag in a box; what it has once needs no argument. Constants tell no two nodes of
    a rule apart, and are none. The root's argument is the source document, whose variable is the first of the body.
    """
    if not path:
        return (Term(rule.variables[0].name),)
    stop = tree.stop(path)
    below = path[len(stop) :]
    head = next(node for node in rule.head if node.node == stop)
    if head.each is None and head.key is None:
        own = [term for leaf, term in head.leaves if leaf[: len(below)] == below]
        others = (made for leaf, made in head.surrogates if leaf[: len(below)] == below and made.node != stop)
        found = [*own, *dict.fromkeys(term for made in others for term in made.terms if term not in own)]
    else:
        identifying = () if below else (head.key, (TAG,))
        found = [term for leaf in identifying if leaf is not None and (term := head.term(leaf)) is not None]
    return tuple(term for term in found if not is_constant(term.path))


def is_always_there(source: SchemaTree, rule: Rule, term: Term) -> bool:
    """Whether a term has a value wherever the rule binds: by the source schema, by a condition of the
    rule, or by how its node is selected.
    """
    if not any(variable.name == term.variable for variable in rule.required):
        return False
    if is_sure(source, Leaf(rule.node(term.variable), term.path)):
        return True
    said = (condition for condition in rule.conditions if isinstance(condition, Comparison | Presence))
    if any(term in atom_terms(condition) for condition in said):
        return True
    selected = (test for step in rule.node(term.variable)[-1:] for test in split_selection(step)[1])
    return any(test.path == term.path and test.test != "not" for test in selected)


def identity_arguments(chain: Sequence[HeadNode]) -> Iterator[Argument]:
    """What the last of a chain of head nodes is identified by, with those above it: source terms by target leaves.

    Of the surrogates that a node has only those of other nodes count: its own is made of this.
    """
    for head in chain:
        if not head.node:
            continue  # the root is one
        if head.each is not None:
            yield Argument(head.node, (NODE,), Term(head.each, (NODE,)))
        is_plain = head.each is None and head.key is None
        yield from (
            Argument(head.node, leaf, term)
            for leaf, term in head.leaves
            if (is_plain or leaf in ((TAG,), head.key)) and not is_constant(term.path)
        )
        for leaf, surrogate in head.surrogates if is_plain else ():
            yield from referring((*head.node, *leaf), surrogate.arguments)


def referring(leaf: Path, arguments: Collection[Argument]) -> Iterator[Argument]:
    """The arguments of what an absolute ``leaf`` refers to, as such of the node that has the leaf."""
    for argument in arguments:
        yield Argument((), (*leaf, *argument.stop, *argument.path), argument.term)


def surrogate_name(surrogate: Surrogate) -> str:
    """How the values of surrogates begin: an XML name."""
    return f"{split_name(split_selection(surrogate.node[-1])[0].strip('[]'))[1]}."


def headed_arguments(surrogate: Surrogate) -> Iterator[tuple[Argument, str]]:
    """The arguments in an order that all rules share, each with what stands before its value where these are joined."""
    for argument in sorted(surrogate.arguments, key=lambda argument: (argument.stop, argument.path)):
        yield argument, f"{'/'.join((*argument.stop, *argument.path))}="


def surrogate_value(surrogate: Surrogate, values: Collection[tuple[Argument, str | None]]) -> str | None:
    """The value of a surrogate where its arguments have these: a name that shows only whether two are the same;
    ``None`` where no argument of the node's own has one.
    """
    found = dict(values)
    if all(found[argument] is None for argument in surrogate.own):
        return None
    headed = ((heading, found[argument]) for argument, heading in headed_arguments(surrogate))
    joined = "".join(f"{heading}{len(value)}:{value};" for heading, value in headed if value is not None)
    return f"{surrogate_name(surrogate)}{sha256(joined.encode()).hexdigest()[:DIGITS]}"
