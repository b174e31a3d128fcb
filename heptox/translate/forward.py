"""Along the rules: a query over the source schema becomes its certain answers over the target (``semantics.md``
section 8).

What a member needs (its variables, the terms it returns or tests, its equalities) is covered by heads of rules. Every
cover gives a candidate over the target schema, and **a candidate stays exactly when its backward translation is
contained in the query**: this one test decides about same instances, keys and alternatives. A candidate that stays is
then weakened as far as it stays sound, so that it contains the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from heptox.errors import Fault, GrammarError, TranslationError
from heptox.grammar import render
from heptox.mapping import Mapping as SchemaMapping
from heptox.pattern import (
    Atom,
    Constraints,
    Member,
    NormalForm,
    Query,
    Template,
    Variable,
    is_covered,
    normalise,
    template_leaves,
    without_contained,
)
from heptox.translate.apart import tests_apart
from heptox.translate.backward import Unfolding
from heptox.translate.candidate import candidates
from heptox.translate.cases import normalised, shown, told_empty, whatever_tag
from heptox.translate.conjoin import conjoined
from heptox.translate.cover import Node, Search, Test, Value
from heptox.translate.ground import Ground
from heptox.translate.model import Check, Loss, no_check
from heptox.translate.weaken import weaker

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
    missed: list[Member] = []
    for member in query.members:
        normals = list(_cases(member, ground))
        found = [candidate for normal in normals for candidate in judge.member(normal)]
        members.extend(found)
        missed.extend([] if found else normals)
    for member in whatever_tag(query, ground):
        members.extend(candidate for normal in _cases(member, ground) for candidate in judge.member(normal))
    members.extend(judge.together())
    certain = without_contained(Query(tuple(members)), ground.images)
    losses = {loss for member in missed if not judge.is_met(member, certain) for loss in judge.losses(member)}
    losses.update(loss for member, loss in judge.unwritten if not judge.is_met(member, certain))
    return certain, tuple(sorted(losses))


def _cases(member: Member, ground: Ground) -> Iterator[Member]:
    """The cases of a member that rules carry differently, in normal form."""
    for normal in normalised(member, ground):
        for there in shown(normal, ground):
            yield from told_empty(there, ground)


@dataclass
class _Found:
    """The certain answers found for one member, and whether every candidate was one without any test."""

    written: list[Member] = field(default_factory=list)
    unwritten: list[Member] = field(default_factory=list)
    forms: list[NormalForm] = field(default_factory=list)
    complete: bool = True

    def add(self, certain: Member, images: Constraints) -> None:
        """Keep an answer that can be written; it is in normal form."""
        self.written.append(certain)
        self.forms.append(NormalForm(certain, images))

    def contains(self, candidate: Member, images: Constraints) -> bool:
        """Whether one of the written answers contains the candidate, which is in normal form."""
        form = NormalForm(candidate, images)
        return any(form.is_surely_contained(known) for known in self.forms)


class _Judge:
    """Decides which candidates are certain answers of one query."""

    def __init__(self, ground: Ground, query: Query) -> None:
        self.ground = ground
        self.unwritten: list[tuple[Member, Loss]] = []
        self._query = [form for member in query.members if (form := NormalForm.of(member, ground.sources))]
        self._unfolding = Unfolding(ground.mapping, ground.check)
        self._judged: dict[Member, bool] = {}
        self._unsound: dict[Member, None] = {}

    def member(self, member: Member) -> list[Member]:
        """The sound candidates for one normalised member, none contained in another.

        Raises :class:`GrammarError` (HX3051) where there are some, and none of them can be written.
        """
        search = Search(self.ground, member)
        found = self._found(search.without_spare_rules())
        if search.has_spare_rules and not found.complete:
            found = self._found(search)
        if found.unwritten and not found.written:
            render(Query(tuple(found.unwritten)), self.ground.images)
        if not all(found.contains(one, self.ground.images) for one in found.unwritten):
            self.unwritten.append((member, Loss((), "a copy of it would have to be returned under another name")))
        return list(without_contained(Query(tuple(found.written)), self.ground.images).members)

    def together(self) -> list[Member]:
        """What is sound where the conditions of several members of the query hold."""
        found = _Found()
        if len(self._query) > 1:
            for candidate in conjoined(tuple(self._unsound), self.ground.images):
                self._add_certain(candidate, found, glued=False)
        return found.written

    def is_met(self, member: Member, certain: Query) -> bool:
        """Whether certain answers for other members of the query are all that this member asks for."""
        form = NormalForm.of(member, self.ground.sources)
        return form is None or is_covered(form, list(self._unfolded(certain)))

    def _found(self, search: Search) -> _Found:
        found = _Found()
        seen: set[tuple[Member, bool]] = set()
        for uses in search.covers():
            for candidate, glued in candidates(search, uses):
                if (candidate, glued) not in seen:
                    seen.add((candidate, glued))
                    self._add_certain(candidate, found, glued=glued)
        return found

    def _add_certain(self, candidate: Member, found: _Found, *, glued: bool) -> None:
        """The candidate if it is sound, else with tests that make it so; nothing that is known."""
        self.ground.check()
        if not found.contains(candidate, self.ground.images):
            if self.is_sound(candidate):
                self._add_weakest(candidate, found)
            else:
                found.complete = False
                self._unsound[candidate] = None
                for tested in self._tested(candidate, found, glued=glued):
                    self._add_weakest(tested, found)

    def _add_weakest(self, certain: Member, found: _Found) -> None:
        weakest = self._weakened(certain)
        written = next((one for one in (weakest, certain) if self._is_written(one)), None)
        if written is None:
            found.unwritten.append(weakest)
            found.complete = False
        else:
            found.add(written, self.ground.images)

    def _is_written(self, candidate: Member) -> bool:
        """Whether the candidate is a query of the fragment: a copy cannot be returned under another name yet."""
        if not any(leaf.shape == "copy" for leaf in template_leaves(candidate.template)):
            return True
        try:
            render(Query((candidate,)), self.ground.images)
        except GrammarError:
            return False
        return True

    def is_sound(self, candidate: Member) -> bool:
        """Whether the candidate's backward translation is contained in the query, and says something at all."""
        if candidate not in self._judged:
            if len(self._judged) >= MOST_JUDGED:
                message = f"the query has over {MOST_JUDGED} candidates for certain answers"
                raise TranslationError(Fault("HX5004", message))
            self._judged[candidate] = self._holds(candidate)
        return self._judged[candidate]

    def _holds(self, candidate: Member) -> bool:
        says_something = False
        for form in self._unfolded(Query((candidate,))):
            if not is_covered(form, self._query):
                return False
            says_something = True
        return says_something

    def _unfolded(self, query: Query) -> Iterator[NormalForm]:
        """The members of the backward translation that have a match on some document."""
        for member in self._unfolding.members(query):
            form = NormalForm.of(member, self.ground.sources)
            if form is not None:
                yield form

    def _tested(self, candidate: Member, found: _Found, *, glued: bool) -> Iterator[Member]:
        """The candidate with tests that make it sound, as few as will do; nothing that is known."""
        tests = tests_apart(candidate, self.ground, glued=glued)
        enough: list[frozenset[Atom]] = []
        for size in range(1, MOST_TESTS + 1):
            for several in combinations(tests, size):
                chosen = frozenset[Atom]().union(*several)
                self.ground.check()
                if any(fewer <= chosen for fewer in enough):
                    continue
                tested = normalise(
                    Member(candidate.variables, candidate.atoms | chosen, candidate.template), self.ground.images
                )
                if tested is None:
                    continue
                if found.contains(tested, self.ground.images):
                    enough.append(chosen)
                elif self.is_sound(tested):
                    enough.append(chosen)
                    yield tested

    def _weakened(self, candidate: Member) -> Member:
        """The candidate without what it can do without: the weakest sound query that this cover leads to."""
        needed: set[tuple[frozenset[Variable], frozenset[Atom], Template]] = set()
        changed = True
        while changed:
            changed = False
            for less in weaker(candidate, self.ground.images):
                missing = frozenset(candidate.variables).difference(less.variables), candidate.atoms - less.atoms
                if (*missing, less.template) in needed:
                    continue  # a stronger candidate could not do without this either
                if self.is_sound(less):
                    candidate, changed = normalise(less, self.ground.images) or less, True
                    break
                needed.add((*missing, less.template))
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
            for term in (need.terms if isinstance(need, Value | Test) else (need.left, need.right))
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
