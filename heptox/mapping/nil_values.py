"""Rules in which an element that is nil has no value (``semantics.md`` section 1)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from heptox.mapping.model import Condition, HeadNode, Rule
from heptox.mapping.paths import may_be_nil, nil_path
from heptox.pattern import TAG, Absence, Comparison, NoNode, Term, Text, atom_terms
from heptox.schema import Path, SchemaTree

MOST_NILLABLE: Final = 2
"""So many leaves of one rule may be nil: each makes four rules of one. Of a node that stands for a source node, further
ones have rules of their own, by which it is not translated that they are absent."""

NIL_HINT: Final = "write an each line for its node, or take a leaf that may not be nil, or its attribute xsi:nil"

_NIL: Final = (Text("true"), Text("1"))


@dataclass(frozen=True, slots=True)
class NilFault:
    """Source leaves of a rule of which it cannot be said that they are not nil, and why."""

    leaves: tuple[Path, ...]
    reason: str


def without_nil(rules: Iterable[Rule], tree: SchemaTree, report: Callable[[Rule, NilFault], None]) -> Iterator[Rule]:
    """The rules with each one that takes the value of an element that may be nil in the place of which there are some
    that say whether it is.

    A rule that says already that the element is not nil stays as it is. One that cannot say it goes to ``report``.
    """
    found: dict[Rule, None] = {}
    given = tuple(rules)
    own = frozenset((rule.head[-1].node, path) for rule in given for path, _ in rule.head[-1].leaves)
    for rule in given:
        split = _split(rule, tree, own)
        if isinstance(split, NilFault):
            report(rule, split)
        else:
            found.update(dict.fromkeys(split))
    return iter(found)


def _split(rule: Rule, tree: SchemaTree, own: Collection[tuple[Path, Path]]) -> list[Rule] | NilFault:
    terms = list(dict.fromkeys(term for term in _valued(rule) if may_be_nil(tree, rule.path(term))))
    open_terms = [term for term in terms if not _is_said(rule, _nil_term(term))]
    required = {variable.name for variable in rule.required}
    if optional := [term for term in open_terms if term.variable not in required]:
        return NilFault(_paths(rule, optional), "it may be nil, and its node is in an optional part of a rule")
    linked = (term for part in rule.optional for link in part.conditions for term in atom_terms(link))
    if optional := [term for term in dict.fromkeys(linked) if may_be_nil(tree, rule.path(term))]:
        return NilFault(_paths(rule, optional), "it may be nil, and connects an optional part of a rule")
    if nowhere := [path for path in _tested(rule) if may_be_nil(tree, path)]:
        return NilFault(tuple(nowhere), "it may be nil, and a rule has to say of all such nodes that it is absent")
    added: list[Rule] = []
    for term in [term for term in open_terms if _is_of_entity(rule, term)][::-1]:
        if len(open_terms) > MOST_NILLABLE:
            open_terms.remove(term)
            added += _completing(rule, term, own)
            rule = replace(rule, head=tuple(_without(node, term) for node in rule.head))
    if len(open_terms) > MOST_NILLABLE:
        others = f"as {MOST_NILLABLE} other leaves of one rule may be, whose nodes no each line makes"
        return NilFault(_paths(rule, open_terms[MOST_NILLABLE:]), f"it may be nil, {others}")
    rules = [rule]
    for term in open_terms:
        rules = [case for one in rules for case in _cases(one, term, tree)]
    for one in added:
        split = _split(one, tree, own)
        if isinstance(split, NilFault):
            return split
        rules += split
    return rules


def _cases(rule: Rule, term: Term, tree: SchemaTree) -> Iterator[Rule]:
    """The rules where an element is not nil, and those where it is."""
    nil = _nil_term(term)
    is_there = tree.required(rule.path(term), below=rule.node(term.variable))
    if not is_there or Absence(term) not in rule.conditions:
        yield from _not_nil(rule, nil)
    kept = [condition for condition in rule.conditions if condition != Absence(term)]
    if any(term in atom_terms(condition) for condition in kept):
        return
    head = tuple(_without(node, term) for node in rule.head)
    if any((TAG,) in before.paths and (TAG,) not in after.paths for before, after in zip(rule.head, head, strict=True)):
        return
    if head[-1].node and head[-1].each is None and not head[-1].paths:
        return
    for value in _NIL:
        yield replace(rule, head=head, conditions=(*kept, Comparison("=", nil, value)))


def _is_of_entity(rule: Rule, term: Term) -> bool:
    """Whether a rule does nothing with a leaf but give its value to nodes that each stand for a source node."""
    spoken = {used for condition in rule.conditions for used in atom_terms(condition)}
    surrogates = {used for node in rule.head for _, surrogate in node.surrogates for used in surrogate.terms}
    taking = [(node, path) for node in rule.head for path, taken in node.leaves if taken == term]
    return term not in spoken | surrogates and all(node.each and path != (TAG,) for node, path in taking)


def _completing(rule: Rule, term: Term, own: Collection[tuple[Path, Path]]) -> Iterator[Rule]:
    """The rules that give the value of a leaf to the nodes that stand for a source node, where it is not nil.

    What a rule of the node itself gives, one for what stands below it need not.
    """
    for number, node in enumerate(rule.head):
        leaves = tuple((path, taken) for path, taken in node.leaves if taken == term)
        if number + 1 < len(rule.head):
            leaves = tuple((path, taken) for path, taken in leaves if (node.node, path) not in own)
        if leaves:
            above = tuple(_without(one, term) for one in rule.head[:number])
            made = replace(rule, head=(*above, replace(node, leaves=leaves, surrogates=())))
            yield from _not_nil(made, _nil_term(term))


def _not_nil(rule: Rule, nil: Term) -> Iterator[Rule]:
    """The rule where nothing is said of nil, and where something else is said than that it is."""
    yield replace(rule, conditions=(*rule.conditions, Absence(nil)))
    yield replace(rule, conditions=(*rule.conditions, *(Comparison("!=", nil, value) for value in _NIL)))


def _without(node: HeadNode, term: Term) -> HeadNode:
    """A head node without what is taken from a leaf."""
    leaves = tuple((path, taken) for path, taken in node.leaves if taken != term)
    surrogates = []
    for path, surrogate in node.surrogates:
        arguments = tuple(argument for argument in surrogate.arguments if argument.term != term)
        if any(argument.stop == surrogate.node for argument in arguments):
            surrogates.append((path, replace(surrogate, arguments=arguments)))
    key = node.key if node.key in dict(leaves) else None
    return replace(node, leaves=leaves, key=key, surrogates=tuple(surrogates))


def _valued(rule: Rule) -> Iterator[Term]:
    """The terms whose values a rule takes or speaks of, not those that it copies whole."""
    for node in rule.head:
        yield from (term for path, term in node.leaves if path not in node.copied)
        yield from (term for _, surrogate in node.surrogates for term in surrogate.terms)
    for condition in rule.conditions:
        if not isinstance(condition, NoNode):
            yield from atom_terms(condition)
    for condition in rule.conditions:
        if isinstance(condition, NoNode):
            yield from (term for _, term in condition.tests if isinstance(term, Term))


def _tested(rule: Rule) -> Iterator[Path]:
    for condition in rule.conditions:
        if isinstance(condition, NoNode):
            yield from ((*condition.node, *path) for path, _ in condition.tests)


def _is_said(rule: Rule, nil: Term) -> bool:
    """Whether a rule says that an element is not nil."""
    conditions: set[Condition] = set(rule.conditions)
    if Absence(nil) in conditions:
        return True
    if any(Comparison("=", nil, Text(value)) in conditions for value in ("false", "0")):
        return True
    return all(Comparison("!=", nil, value) in conditions for value in _NIL)


def _paths(rule: Rule, terms: Iterable[Term]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(rule.path(term) for term in terms))


def _nil_term(term: Term) -> Term:
    return Term(term.variable, nil_path(term.path))
