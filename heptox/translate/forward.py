"""Along the rules: a query over the source schema becomes its certain answers over the target (``semantics.md``
section 8).

What a member needs (its variables, the terms it returns or tests, its equalities) is covered by heads of rules. Every
cover gives a candidate over the target schema, and **a candidate stays exactly when its backward translation is
contained in the query**: this one test decides about same instances, keys and alternatives. A candidate that stays is
then weakened as far as it stays sound, so that it contains the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from heptox.errors import Fault, GrammarError, TranslationError
from heptox.grammar import render
from heptox.mapping import Mapping as SchemaMapping
from heptox.pattern import (
    Atom,
    LeafItem,
    Member,
    Presence,
    Query,
    Term,
    atom_terms,
    contained,
    normalise,
    surely_contained,
    template_terms,
    without_contained,
)
from heptox.translate.apart import tests_apart
from heptox.translate.backward import Unfolding
from heptox.translate.candidate import candidates
from heptox.translate.cases import shown, told_empty
from heptox.translate.cover import Ground, Node, Search, Value
from heptox.translate.model import Check, Loss, no_check

MOST_JUDGED: Final = 2_000
"""Candidates that are judged for one query; one that needs more is refused by name, not answered in part."""
MOST_TESTS: Final = 2
"""Tests that are added together to make a candidate sound."""


def forward(query: Query, mapping: SchemaMapping, check: Check = no_check) -> tuple[Query, tuple[Loss, ...]]:
    """The certain answers of a source query over the target schema (Definition 1, forward).

    Raises :class:`TranslationError`: HX5003 where alternatives differ in too many leaves to be told apart, HX5004 where
    there are too many ways to cover the query; and what ``check`` raises, which is called again and again.
    """
    ground = Ground.of(mapping, check)
    judge = _Judge(ground, query)
    members: list[Member] = []
    losses: set[Loss] = set()
    for member in query.members:
        cases = (case for there in shown(member, ground) for case in told_empty(there, ground))
        normals = [normal for case in cases if (normal := normalise(case, ground.sources))]
        found = [candidate for normal in normals for candidate in judge.member(normal)]
        members.extend(found)
        if not found:
            losses.update(loss for normal in normals for loss in judge.losses(normal))
    return without_contained(Query(tuple(members)), ground.images), tuple(sorted(losses | judge.unwritten))


class _Judge:
    """Decides which candidates are certain answers of one query."""

    def __init__(self, ground: Ground, query: Query) -> None:
        self.ground = ground
        self.query = query
        self.unwritten: set[Loss] = set()
        self._unfolding = Unfolding(ground.mapping, ground.check)
        self._judged = 0

    def member(self, member: Member) -> list[Member]:
        """The sound candidates for one normalised member, none contained in another.

        Raises :class:`GrammarError` (HX3051) where there are some, and none of them can be written.
        """
        search = Search(self.ground, member)
        sound: list[Member] = []
        unwritten: list[Member] = []
        for uses in search.covers():
            for candidate, glued in candidates(search, uses):
                for certain in self._certain(candidate, sound, glued=glued):
                    weakest = self._weakened(certain)
                    written = next((one for one in (weakest, certain) if self._is_written(one)), None)
                    (sound if written else unwritten).append(written or weakest)
        if unwritten and not sound:
            render(Query(tuple(unwritten)), self.ground.images)
        for one in unwritten:
            if not any(surely_contained(one, other, self.ground.images) for other in sound):
                self.unwritten.add(Loss(one.variables[-1].node, "it would have to be returned under another name"))
        return list(without_contained(Query(tuple(sound)), self.ground.images).members)

    def _is_written(self, candidate: Member) -> bool:
        """Whether the candidate is a query of the fragment: a copy cannot be returned under another name yet."""
        try:
            render(Query((candidate,)), self.ground.images)
        except GrammarError:
            return False
        return True

    def is_sound(self, candidate: Member) -> bool:
        """Whether the candidate's backward translation is contained in the query, and says something at all."""
        self._judged += 1
        if self._judged > MOST_JUDGED:
            raise TranslationError(Fault("HX5004", f"the query has over {MOST_JUDGED} candidates for certain answers"))
        unfolded, _ = self._unfolding.query(Query((candidate,)))
        alive = [member for member in unfolded.members if normalise(member, self.ground.sources) is not None]
        return bool(alive) and contained(Query(tuple(alive)), self.query, self.ground.sources)

    def _certain(self, candidate: Member, known: list[Member], *, glued: bool) -> Iterator[Member]:
        """The candidate if it is sound, else with tests that make it so; nothing that is known."""
        tests = tests_apart(candidate, self.ground, glued=glued)
        found: list[frozenset[Atom]] = []
        for size in range(MOST_TESTS + 1):
            for chosen in map(frozenset, combinations(tests, size)):
                self.ground.check()
                tested = normalise(
                    Member(candidate.variables, candidate.atoms | chosen, candidate.template), self.ground.images
                )
                if tested is None or any(fewer <= chosen for fewer in found):
                    continue
                if any(surely_contained(tested, other, self.ground.images) for other in known):
                    found.append(chosen)
                elif self.is_sound(tested):
                    found.append(chosen)
                    yield tested

    def _weakened(self, candidate: Member) -> Member:
        """The candidate without what it can do without: the weakest sound query that this cover leads to."""
        changed = True
        while changed:
            changed = False
            for weaker in _weaker(candidate):
                if self.is_sound(weaker):
                    candidate, changed = normalise(weaker, self.ground.images) or weaker, True
                    break
        return candidate

    def losses(self, member: Member) -> set[Loss]:
        """What keeps a member from being certain: leaves that no rule exports, or that there is no way to join what
        is.
        """
        search = Search(self.ground, member)
        needed = {
            term
            for need in search.needs
            if not isinstance(need, Node) and not search.options(need, ())
            for term in (need.terms if isinstance(need, Value) else (need.left, need.right))
        }
        lost = {
            Loss((*member.node(term.variable), *term.path), "no arrow leads from it, and the query needs it")
            for term in needed
            if not search.options(Value((term,)), ())
        }
        nodes = {
            Loss(member.node(need.variable), "no arrow leads from it or anything below it, and the query needs it")
            for need in search.needs
            if isinstance(need, Node) and not search.options(need, ())
        }
        return lost | nodes or {Loss((), "what the rules carry cannot be joined again with certainty")}


def _weaker(member: Member) -> Iterator[Member]:
    """The member without one lowest variable that its template does not use, or without one atom."""
    parents = {variable.parent for variable in member.variables}
    returned = {term.variable for term in template_terms(member.template)}
    for variable in member.variables:
        if variable.parent is not None and variable.name not in parents and variable.name not in returned:
            atoms = frozenset(
                atom for atom in member.atoms if all(term.variable != variable.name for term in atom_terms(atom))
            )
            yield Member(tuple(other for other in member.variables if other != variable), atoms, member.template)
    there = _item_presence(member)
    for atom in sorted(member.atoms, key=repr):
        if atom not in there:
            yield Member(member.variables, (member.atoms - {atom}) | there, member.template)


def _item_presence(member: Member) -> frozenset[Atom]:
    """What a bare leaf as an item needs, whichever atom says it: that the leaf is there."""
    match member.template:
        case LeafItem(term=Term() as term):
            return frozenset((Presence(term),))
        case _:
            return frozenset()
