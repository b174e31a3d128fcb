"""Tests that tell nodes apart which alternative rules make (``semantics.md`` section 8, step 2, forward)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from heptox.errors import Fault, TranslationError
from heptox.mapping import Rule
from heptox.pattern import Absence, Atom, Comparison, Member, Presence, Term, Text, Variable
from heptox.translate.ground import Body, Ground
from heptox.translate.knowledge import has_alternatives

MOST_TESTS: Final = 32
"""Tests that are tried; where alternatives differ in more, telling them apart is refused by name."""


def tests_apart(candidate: Member, ground: Ground, *, glued: bool) -> list[frozenset[Atom]]:
    """What may be tested of a candidate's nodes so that only some of the rules can have made them.

    Presence and absence of what alternative rules supply differently, and, where nodes were ``glued``, of what glues
    them by its absence. Where a rule fills two leaves from one value, that they differ shows another rule; where its
    body compares leaves with strings, all that it says of those that it fills is one test.

    Raises :class:`TranslationError` (HX5003) where there are too many to try.
    """
    tests: dict[frozenset[Atom], None] = {}
    for variable in candidate.variables:
        if variable.parent is not None and (glued or has_alternatives(ground.mapping, variable.node)):
            tests.update((frozenset((test,)), None) for test in _presences(variable, ground))
            tests.update((frozenset((test,)), None) for test in _differences(candidate, variable, ground))
            tests.update((said, None) for rule in ground.mapping.rules if (said := _said(rule, variable)))
    if len(tests) > MOST_TESTS:
        raise TranslationError(Fault("HX5003", "alternatives differ in too many leaves to tell them apart in a query"))
    return list(tests)


def _presences(variable: Variable, ground: Ground) -> Iterator[Atom]:
    heads = [head for rule in ground.mapping.rules for head in rule.head if head.node == variable.node]
    for leaf in ground.mapping.target.own_leaves(variable.node):
        if any(head.term(leaf) for head in heads) and not ground.images.required(variable.node, leaf):
            term = Term(variable.name, leaf)
            yield from (Absence(term), Presence(term))


def _said(rule: Rule, variable: Variable) -> frozenset[Atom]:
    """What the body of a rule says of single leaves of a target node."""
    leaves = [filled for head in rule.head if head.node == variable.node for filled in head.leaves]
    return frozenset(
        Comparison("=" if equal else "!=", Term(variable.name, leaf), Text(value))
        for tested, equal, value in rule.tests()
        for leaf, term in leaves
        if term == tested
    )


def _differences(candidate: Member, variable: Variable, ground: Ground) -> Iterator[Atom]:
    """Tests of leaves that only some of a node's rules fill from one value, or are sure to fill in a node above it."""
    chain = _chain(candidate, variable)
    makers = [body for body in ground.bodies if any(head.node == variable.node for head in body.rule.head)]
    sources = [_sources(body, chain) for body in makers]
    for term in sorted({term for known in sources for term in known if term.variable != variable.name}):
        held = [body.closure.present(known[term]) for body, known in zip(makers, sources, strict=True) if term in known]
        if any(held) and not all(held):
            yield Absence(term)
    for left, right in combinations(sorted({term for known in sources for term in known}), 2):
        alike = [
            body.implies_equal(known[left], known[right])
            for body, known in zip(makers, sources, strict=True)
            if left in known and right in known
        ]
        if any(alike) and not all(alike):
            yield Comparison("!=", left, right)
            for term in (left, right):
                if term.variable != variable.name and not ground.images.required(chain[term.variable].node, term.path):
                    yield Absence(term)


def _chain(candidate: Member, variable: Variable) -> dict[str, Variable]:
    """The variable and those above it, by name."""
    by_name = {other.name: other for other in candidate.variables}
    chain = {variable.name: variable}
    while variable.parent is not None:
        variable = by_name[variable.parent]
        chain[variable.name] = variable
    return chain


def _sources(body: Body, chain: dict[str, Variable]) -> dict[Term, Term]:
    """The source terms that a rule fills the comparable leaves of a chain of nodes from."""
    heads = {head.node: head for head in body.rule.head}
    return {
        Term(variable.name, leaf): term
        for variable in chain.values()
        for leaf, term in heads[variable.node].leaves
        if leaf not in heads[variable.node].copied
    }
