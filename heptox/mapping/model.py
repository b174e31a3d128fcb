"""Mappings: the rules of both directions, inferred from correspondences or written by hand (``semantics.md`` sections 2
to 4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from heptox.errors import Fault, MappingError
from heptox.pattern import (
    NODE,
    Absence,
    Comparison,
    Inverse,
    NoNode,
    Presence,
    Term,
    Text,
    Variable,
    atom_terms,
    atom_variables,
    is_constant,
    leaf_paths,
    value_expression,
)
from heptox.schema import Path, SchemaTree, SelectionTest, plain, selection_step


@dataclass(frozen=True, slots=True)
class Argument:
    """What a surrogate is a function of: the leaf ``path`` below the stop node ``stop``, and the source term of it.

    What a reference leaf refers to is identified by is an argument as well: a path below that leaf, at no stop node.
    """

    stop: Path
    path: Path
    term: Term


@dataclass(frozen=True, slots=True)
class Surrogate:
    """The identity of a node at the stop node ``node`` as the value of an identifier (``semantics.md`` section 2).

    It is there where some argument of the node's own is. Two are equal where they are of one node, and their arguments
    have the same values, or are absent in both; a rule does not say those that it leaves absent.
    """

    node: Path
    arguments: tuple[Argument, ...]

    def __post_init__(self) -> None:
        places = [(argument.stop, argument.path) for argument in self.arguments]
        if not any(self.own) or len(set(places)) < len(places):
            raise ValueError("a surrogate has some argument of its node, and each once")

    @property
    def own(self) -> tuple[Argument, ...]:
        """The arguments that are leaves of the node itself."""
        return tuple(argument for argument in self.arguments if argument.stop == self.node)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The source terms of the arguments."""
        return tuple(argument.term for argument in self.arguments)


@dataclass(frozen=True, slots=True)
class HeadNode:
    """A stop node of a rule's head: its target path, its identity, and for each leaf that the rule supplies the source
    term.

    ``leaves`` maps paths relative to the node (``(TAG,)`` for the tag of a box node) in the order of the target schema.
    ``copied`` are those of them that are inner nodes, drawn with ``=>``: their value is a whole subtree, and the source
    term is an inner node too. ``surrogates`` are identifiers that the rule supplies, each with a function of several
    terms.

    Nodes of a selection are never one with others; where paths are plain, ``selected`` is the virtual one. Else
    nodes with equal parents are one (``semantics.md`` section 4) where ``each``, the variable of a source stop node,
    stands for the same node; else where ``key``, one of the leaves, has the same value (a node in a box also needs the
    same tag); else, where the rule has neither, when the same leaves are there, with the same values.
    """

    node: Path
    leaves: tuple[tuple[Path, Term], ...] = ()
    copied: frozenset[Path] = frozenset()
    each: str | None = None
    key: Path | None = None
    surrogates: tuple[tuple[Path, Surrogate], ...] = ()
    selected: Path | None = None

    def __post_init__(self) -> None:
        paths = [*self.paths]
        if len(set(paths)) < len(paths) or not self.copied <= dict(self.leaves).keys():
            raise ValueError("a head node has each leaf once, and copies only leaves that it has")
        if self.key is not None and (self.each is not None or self.key not in dict(self.leaves).keys() - self.copied):
            raise ValueError("a key is a leaf that the rule supplies, of a node that no source node stands for")

    @property
    def follows(self) -> bool:
        """Whether the node is there with the one above it: it has nothing but constants, and one is its own text."""
        constant = [path for path, term in self.leaves if is_constant(term.path)]
        return () in constant and len(constant) == len(self.paths)

    def term(self, path: Path) -> Term | None:
        """The source term of the leaf at ``path``, ``None`` when this rule does not supply it."""
        return dict(self.leaves).get(path)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The leaves that the rule supplies, the surrogates behind the others."""
        return (*(path for path, _ in self.leaves), *(path for path, _ in self.surrogates))

    @property
    def terms(self) -> tuple[Term, ...]:
        """The source terms of all that the rule supplies."""
        made = (term for _, surrogate in self.surrogates for term in surrogate.terms)
        return (*(term for _, term in self.leaves), *made)

    @property
    def anchor(self) -> str | None:
        """The variable whose source node decides which node it is; ``None`` for one that all its values identify."""
        key = None if self.key is None else self.term(self.key)
        return self.each if key is None else key.variable


@dataclass(frozen=True, slots=True)
class OptionalPart:
    """Variables of a body that are bound where they can be: where they are not, what they would supply is absent.

    The part is entered either by a link, the first of ``conditions``, whose left term is bound before and whose right
    term is one of the part (``$b =? $id``), or, without conditions, from the parent of its first variable, and then its
    variables are a chain of stop nodes (``alias ->? $alias``). The other conditions connect what lies behind. ``tests``
    are conditions on single terms of the part, where the paths of its variables do not say them as selections.
    """

    variables: tuple[str, ...]
    conditions: tuple[Comparison, ...] = ()
    tests: tuple[tuple[str, SelectionTest], ...] = ()

    def __post_init__(self) -> None:
        if not self.variables:
            raise ValueError("an optional part has variables")
        if any(condition.operator != "=" or not isinstance(condition.right, Term) for condition in self.conditions):
            raise ValueError("an optional part is connected by equal terms")


Condition: TypeAlias = Comparison | Presence | Absence | NoNode
"""What the body of a rule says of its required variables."""


@dataclass(frozen=True, slots=True)
class Rule:
    """``head <- body``: the chain of target stop nodes from the root down, the source stop nodes, and their conditions.

    The variables stand in the order of the source schema, so parents come before children and the root's is the first;
    they are closed under parents. Those of the ``optional`` parts are bound after the others, part by part, as by outer
    joins: a binding goes on without a part exactly when no node can enter it (:meth:`unentered`). The ``conditions``
    speak of required variables only: a term equals another, or a constant, or has a value that is not that constant; it
    is there, or not; no node stands somewhere.
    """

    head: tuple[HeadNode, ...]
    variables: tuple[Variable, ...]
    conditions: tuple[Condition, ...] = ()
    optional: tuple[OptionalPart, ...] = ()

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
                case Presence() | Absence() | NoNode():
                    pass
                case _:
                    raise ValueError("a condition of a rule compares terms by =, or a term with a string by = or !=")
        if not {term.variable for term in self.terms()} | {node.each for node in self.head if node.each} <= seen:
            raise ValueError("a term of a rule has a variable of its body")
        behind = [name for part in self.optional for name in part.variables]
        if len(set(behind)) < len(behind) or not set(behind) < seen:
            raise ValueError("a variable of an optional part is one of the body, and of one part")
        if any(name in behind for condition in self.conditions for name in atom_variables(condition)):
            raise ValueError("a condition of a rule speaks of required variables")

    def __hash__(self) -> int:
        """Cheap, for rules are keys of what is remembered of them; few of a mapping have as much of everything."""
        made, bound = self.head[-1], self.variables[-1].node
        return hash((made.node, made.leaves, bound, len(self.variables), len(self.conditions), len(self.optional)))

    @property
    def required(self) -> tuple[Variable, ...]:
        """The variables that every binding binds: those of no optional part."""
        behind = {name for part in self.optional for name in part.variables}
        return tuple(variable for variable in self.variables if variable.name not in behind)

    def at(self, node: Path) -> HeadNode:
        """The head node at a target path, which the rule makes."""
        return next(head for head in self.head if head.node == node)

    def is_whole(self, part: OptionalPart) -> bool:
        """Whether an optional part binds wherever a node can enter it: there is nothing behind that node."""
        if not part.conditions:
            return True
        entered = {part.conditions[0].right.variable} if isinstance(part.conditions[0].right, Term) else set()
        for variable in reversed(self.variables):
            if variable.name in entered and variable.parent is not None:
                entered.add(variable.parent)
        return len(part.conditions) == 1 and entered >= set(part.variables)

    def unentered(self, part: OptionalPart) -> NoNode:
        """What holds where an optional part is not bound, though all that leads to it is."""
        if part.conditions:
            link = part.conditions[0]
            assert isinstance(link.right, Term)
            by_name = {variable.name: variable for variable in self.variables}
            top = by_name[link.right.variable]
            while top.parent in part.variables:
                top = by_name[str(top.parent)]
            assert top.parent is not None  # the root is of no optional part
            node = self._selected(part, link.right.variable)
            return NoNode(top.parent, node, ((link.right.path, link.left),))
        first, last = part.variables[0], part.variables[-1]
        parent = next(variable.parent for variable in self.variables if variable.name == first)
        assert parent is not None  # the root is of no optional part
        return NoNode(parent, self._selected(part, last))

    def _selected(self, part: OptionalPart, name: str) -> Path:
        """The node of a variable with the tests of an optional part as selections."""
        node, by_name = self.node(name), {variable.name: variable for variable in self.variables}
        above: str | None = name
        while above is not None:
            length = len(by_name[above].node)
            tests = tuple(test for of, test in part.tests if of == above)
            if tests:
                node = (*node[: length - 1], selection_step(node[length - 1], tests), *node[length:])
            above = by_name[above].parent
        return node

    def terms(self) -> Iterable[Term]:
        """All terms of head and conditions."""
        for node in self.head:
            yield from node.terms
        for condition in (*self.conditions, *(link for part in self.optional for link in part.conditions)):
            yield from atom_terms(condition)

    def equalities(self) -> Iterable[tuple[Term, Term]]:
        """Both sides of each condition on required variables that is an equality of terms."""
        for condition in self.conditions:
            if isinstance(condition, Comparison) and isinstance(condition.right, Term):
                yield condition.left, condition.right

    def tests(self) -> Iterable[tuple[Term, bool, str]]:
        """The conditions on single terms: the term, whether it equals or differs from the constant, and that."""
        for condition in self.conditions:
            if isinstance(condition, Comparison) and isinstance(condition.right, Text):
                yield condition.left, condition.operator == "=", condition.right.value

    def node(self, name: str) -> Path:
        """The source node of the variable ``name``."""
        return next(variable.node for variable in self.variables if variable.name == name)

    def path(self, term: Term) -> Path:
        """The path of a term of the body in the source schema."""
        return (*self.node(term.variable), *term.path)


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
    """Rules between two schema trees in both directions, with the keys and references known of either side.

    ``along`` are the rules whose heads are in the target schema, ``against`` those of the mirrored reading, whose heads
    are in the source schema; ``None`` where a file of rules does not say them. Keys are absolute leaf paths, each
    identifying its parent element (or stop node) in a document. The inverses are those that arrows declare for
    functions of leaves of either side.
    """

    source: SchemaTree
    target: SchemaTree
    along: tuple[Rule, ...] | None
    against: tuple[Rule, ...] | None
    source_keys: frozenset[Path] = frozenset()
    target_keys: frozenset[Path] = frozenset()
    source_references: tuple[Reference, ...] = ()
    target_references: tuple[Reference, ...] = ()
    declared_source_keys: frozenset[Path] = frozenset()
    declared_target_keys: frozenset[Path] = frozenset()
    invented_source: frozenset[Path] = field(default=frozenset(), compare=False)
    invented_target: frozenset[Path] = field(default=frozenset(), compare=False)
    source_inverses: tuple[Inverse, ...] = ()
    target_inverses: tuple[Inverse, ...] = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that make target documents.

        Raises :class:`MappingError` (HX4024) where the file that the mapping was read from does not say them.
        """
        if self.along is None:
            root = self.target.written((self.target.root,))
            message = f"the mapping has no rules that make documents of {root}: it serves one direction"
            raise MappingError(Fault("HX4024", message, hint="add the other section, along: or against:"))
        return self.along

    def carried(self) -> Iterator[tuple[Path, Path]]:
        """The source leaves whose values the rules carry, each with the target leaf that takes it, also as a part of
        what is computed; what a node is itself is no leaf of a document.
        """
        for rule in self.rules:
            for head in rule.head:
                for leaf, term in head.leaves:
                    target = (*plain(head.node), *leaf)
                    if (expression := value_expression(term.path)) is not None:
                        node = plain(rule.node(term.variable))
                        yield from ((plain((*node, *path)), target) for path in leaf_paths(expression))
                    elif term.path != (NODE,):
                        yield plain(rule.path(term)), target

    def copies(self) -> Iterator[tuple[Path, Path]]:
        """The source nodes that the rules copy whole, each with the target node that takes it."""
        for rule in self.rules:
            for head in rule.head:
                for leaf, term in head.leaves:
                    if leaf in head.copied:
                        yield rule.path(term), (*head.node, *leaf)

    def mirrored(self) -> Mapping:
        """The same mapping with its sides exchanged: its rules make source documents of target documents."""
        return Mapping(
            self.target,
            self.source,
            self.against,
            self.along,
            self.target_keys,
            self.source_keys,
            self.target_references,
            self.source_references,
            self.declared_target_keys,
            self.declared_source_keys,
            self.invented_target,
            self.invented_source,
            self.target_inverses,
            self.source_inverses,
        )

    def __hash__(self) -> int:
        """Cheap, for mappings are keys of what is remembered of them; there are few of them at a time."""
        return hash((self.source.root, self.target.root, len(self.along or ()), len(self.against or ())))
