"""Joins of tree patterns, the one model of a query (``semantics.md`` sections 7 and 8).

Variables stand only for **stop nodes** (the root, the ends of ``*`` and ``+`` edges, boxes), each with its parent
variable. Everything single-valued is a **term**: a variable and a relative path; the tag of a box node is the term
``(variable, (TAG,))``. A query is a union of members; a member is a set of variables, a set of atoms over their terms
(comparison, presence, absence), and the template of its items. The answer is a set, so a condition that asks whether
some node exists is a variable like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from heptox.pattern.operators import Operator
from heptox.schema import Path

TAG: Final = "name()"
"""The last step of a term that stands for the tag of a box node, decoded to the value that it was made from."""

NODE: Final = "node()"
"""The last step of a term that stands for the identity of its variable's node: an implicit key, no value of a document.

Where two are equal, normalisation makes one variable of both; they are items only where members are compared.
"""

Shape: TypeAlias = Literal["element", "attribute", "constructed", "text", "value", "copy", "identity"]


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A variable for the stop node ``node`` of a schema tree; ``parent`` names the variable of the next stop node
    above.

    A root's variable has ``node == ()`` and no parent. Each stands for a document of its own, which may be the same.
    """

    name: str
    node: Path
    parent: str | None = None

    def __post_init__(self) -> None:
        if (self.parent is None) != (self.node == ()):
            raise ValueError(f"variable {self.name}: a root, and only a root, has no parent")


class Term(NamedTuple):
    """The value at a single-valued relative ``path`` below a variable; the empty path is the variable's own text.

    A tuple, for terms are what translation looks up most, and tuples hash and compare fastest.
    """

    variable: str
    path: Path = ()


@dataclass(frozen=True, slots=True, order=True)
class Text:
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True, order=True)
class Number:
    """A numeric literal as it was written (``5``, ``2.50``, ``1e3``); comparison with it is numeric."""

    lexical: str

    @property
    def value(self) -> float:
        return float(self.lexical)


Operand: TypeAlias = Term | Text | Number


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left operator right``; both sides must be present. Untyped against a number compares numerically, else as
    strings.
    """

    operator: Operator
    left: Term
    right: Operand


@dataclass(frozen=True, slots=True)
class Presence:
    """The node at ``term`` exists."""

    term: Term


@dataclass(frozen=True, slots=True)
class Absence:
    """The node at ``term`` does not exist."""

    term: Term


@dataclass(frozen=True, slots=True)
class DeepEqual:
    """The subtrees at both terms are deep-equal, as copied ones of one node are, or neither exists."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class SameValue:
    """Both terms have the same value, or neither node exists (``IS NOT DISTINCT FROM``)."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class NoNode:
    """No node at the stop node ``node`` below ``variable`` meets all ``tests``.

    ``node`` is an absolute path of the schema tree, below that of the variable; stop nodes between them may be any. A
    test is a path relative to ``node`` with the outer term or the string that its value must equal, or ``None`` where
    it must only exist. An outer term that is absent equals nothing, so no node meets its test.
    """

    variable: str
    node: Path
    tests: tuple[tuple[Path, Term | Text | None], ...] = ()


Atom: TypeAlias = Comparison | Presence | Absence | DeepEqual | SameValue | NoNode


@dataclass(frozen=True, slots=True)
class LeafItem:
    """A leaf under the name the asker used: an element, an attribute, a text node, or (``value``) its bare value.

    A ``constructed`` attribute is there also where its term is not, and empty then.
    A ``copy`` is a node of a subtree that is copied whole, as it is; its path may repeat inside the subtree.
    An ``identity`` is an element with a text that tells the node of its term, a :data:`NODE`, from all others.

    As the whole template it is an item for each match, and an atom says that its term is present; in a constructor it
    is a slot, which is there when its term is. A constant in the term's place is always there.
    """

    shape: Shape
    name: str
    term: Term | Text


@dataclass(frozen=True, slots=True)
class AttributeItem:
    """A direct attribute of a constructor, its value made of literal parts and terms (absent terms add nothing)."""

    name: str
    parts: tuple[str | Term, ...]


@dataclass(frozen=True, slots=True)
class ElementItem:
    """An element constructor: direct attributes, then literal text, slots and nested constructors in order."""

    name: str
    attributes: tuple[AttributeItem, ...] = ()
    content: tuple[str | LeafItem | ElementItem | NestedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class NestedItem:
    """A nested part of a constructor: an item for each match of ``members`` that belongs to the match around it.

    ``bindings`` say which nodes of the match around it variables of the members stand for: the name of such a variable,
    and the term :data:`NODE` of the other. The members say what holds in addition, and order means nothing
    (``semantics.md`` section 7). Where the part is ``single``, all its items are the same one: it is there, or not.
    """

    bindings: tuple[tuple[str, Term], ...]
    members: tuple[Member, ...]
    single: bool = False

    def __hash__(self) -> int:
        """Cheap: members with nested parts are looked up again and again, and these have such parts in turn."""
        sizes = tuple((len(member.variables), member.atoms) for member in self.members)
        return hash((self.bindings, self.single, sizes))


Template: TypeAlias = LeafItem | ElementItem


@dataclass(frozen=True, slots=True)
class Member:
    """A join of tree patterns: variables (parents before children), atoms, the item of a match.

    A member with one root speaks of each document by itself, one with several of all documents together.
    """

    variables: tuple[Variable, ...]
    atoms: frozenset[Atom]
    template: Template

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for variable in self.variables:
            if variable.name in seen or (variable.parent is not None and variable.parent not in seen):
                raise ValueError(f"variable {variable.name} is repeated or stands before its parent")
            seen.add(variable.name)

    def node(self, name: str) -> Path:
        """The schema node of the variable ``name``."""
        return next(variable.node for variable in self.variables if variable.name == name)

    def path(self, term: Term) -> Path:
        """The schema path of a term."""
        return (*self.node(term.variable), *term.path)

    @property
    def roots(self) -> dict[str, str]:
        """The root's variable above each variable, itself for a root: the document that it speaks of."""
        roots: dict[str, str] = {}
        for variable in self.variables:
            roots[variable.name] = variable.name if variable.parent is None else roots[variable.parent]
        return roots


@dataclass(frozen=True, slots=True)
class Query:
    """A union of members; no member is the empty query."""

    members: tuple[Member, ...] = ()
