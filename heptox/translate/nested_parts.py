"""Nested parts over the documents: the same pattern over a second binding of the nodes around it, joined by their
identity (``semantics.md`` sections 4 and 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping as Table, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from heptox.errors import Fault, TranslationError
from heptox.pattern import (
    ElementItem,
    Member,
    NestedItem,
    Term,
    map_atom,
    map_nested,
    merged_names,
    nested_part,
    ordered,
    rename,
)
from heptox.translate.copies import Copy, Glue, same_node
from heptox.translate.image import Losses, is_inside
from heptox.translate.unfolding_input import UnfoldingInput


@dataclass(frozen=True, eq=False)
class Assembly:
    """What a member that was ``asked`` becomes by a choice of copies: the member over the documents, the variables that
    are one in it, and the copies that meet in each variable asked.
    """

    member: Member
    same: tuple[tuple[str, str], ...]
    asked: Member
    copies: Table[str, Sequence[Copy]]

    @cached_property
    def names(self) -> dict[str, str]:
        """What variables are called that are one with others."""
        return merged_names(self.member, self.same)

    @cached_property
    def merged(self) -> Member:
        """The member in which variables that are one are so."""
        return rename(self.member, self.names) if self.same else self.member


_Assemblies: TypeAlias = Callable[[Member, Losses, frozenset[str]], Iterator[Assembly]]


@dataclass(frozen=True, slots=True)
class _Inner:
    """What a member of a nested part becomes, with the member of each, and what is lost."""

    found: tuple[tuple[Assembly, Member], ...]
    losses: Losses


@dataclass(frozen=True, slots=True)
class NestedParts:
    """Adds nested parts to members: ``assemblies`` are what their members become, ``whole`` adds the parts in these."""

    input: UnfoldingInput
    assemblies: _Assemblies
    whole: Callable[[Assembly, Losses], Member]
    _known: dict[tuple[Member, frozenset[str]], _Inner] = field(default_factory=dict)

    def added(self, outer: Assembly, losses: Losses) -> Member:
        """The member of an assembly with its nested parts, each of which is empty where no rule makes anything of it.

        Raises :class:`TranslationError` as unfolding, and HX5020 for a part that compares nodes of the match around it.
        """
        member = outer.merged
        assert isinstance(member.template, ElementItem)  # only constructors have nested parts
        template = map_nested(member.template, lambda item: self._over_documents(item, outer, losses))
        return Member(member.variables, member.atoms, template)

    def _over_documents(self, item: NestedItem, outer: Assembly, losses: Losses) -> NestedItem | None:
        met, found = Losses(), []
        for asked in item.members:
            bound = frozenset(name for name, _ in item.bindings) & {variable.name for variable in asked.variables}
            inner = self._inner(asked, bound)
            met.slots |= inner.losses.slots
            met.fatal |= inner.losses.fatal
            for assembly, below in inner.found:
                self.input.check()
                if (joined := self._joined(item, outer, assembly, below)) is not None:
                    found.append(joined)
        losses.slots |= met.slots if found else met.slots | met.fatal
        return nested_part(outer.merged.variables, found, single=item.single) if found else None

    def _inner(self, asked: Member, bound: frozenset[str]) -> _Inner:
        """What a member of a nested part becomes by itself: the same for whatever stands around it."""
        if (asked, bound) not in self._known:
            losses = Losses()
            found = [(each, self.whole(each, losses)) for each in self.assemblies(asked, losses, bound)]
            self._known[asked, bound] = _Inner(tuple(found), losses)
        return self._known[asked, bound]

    def _joined(self, item: NestedItem, outer: Assembly, inner: Assembly, below: Member) -> Member | None:
        """What an assembly of a nested part, with its member ``below``, says in a match of the one around it; ``None``
        where it has none.
        """
        glue = Glue()
        for name, node in item.bindings:
            if all(variable.name != name for variable in inner.asked.variables):
                continue  # it is another member that speaks of it
            same = self._one_node(outer, node.variable, inner, name)
            if same is None:
                return None
            glue += same
        names = {**outer.names, **inner.names}

        def image(term: Term) -> Term:
            return Term(names.get(term.variable, term.variable), term.path)

        around = outer.merged
        known = {variable.name for variable in around.variables}
        variables = ordered((*around.variables, *(each for each in below.variables if each.name not in known)))
        atoms = below.atoms.union(map_atom(atom, image) for atom in glue.atoms)
        pairs = [(names.get(one, one), names.get(other, other)) for one, other in glue.same]
        whole = Member(variables, atoms, below.template)
        gone = merged_names(whole, pairs)
        above = {variable.name: variable.parent for variable in around.variables}
        inside = (each for each in below.variables if each.name in known)  # copied subtrees, which both look into
        if gone.keys() & known or any(gone.get(str(each.parent), each.parent) != above[each.name] for each in inside):
            message = "a nested part joins nodes of the match around it with each other: that is not translated yet"
            raise TranslationError(Fault("HX5020", message, hint="write the join where the outer variables are bound"))
        return rename(whole, gone)

    def _one_node(self, outer: Assembly, around: str, inner: Assembly, name: str) -> Glue | None:
        """What makes the nodes of two variables one, one of a match and one of a part in it. Those inside copied
        subtrees have the same name.
        """
        node, tree = inner.asked.node(name), self.input.mapping.target
        if not node or is_inside(tree, node):
            return Glue()
        return same_node(outer.copies[around][0], inner.copies[name][0], node, tree, self.input.sources)
