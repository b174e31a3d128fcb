"""Queries and subscriptions in a publisher's words, to be sent to others (``rewriting.md``, QRA)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from heptox.checks import Check, no_check
from heptox.errors import Fault, GrammarError
from heptox.grammar import Expression, fault_at, lower, parse_subscription, render
from heptox.pattern import Constraints, PatternNode, Query, TreePattern, normalise
from heptox.rewriting.query_patterns import query_patterns
from heptox.rewriting.subscription_query import subscription_query
from heptox.schema import SchemaGraph, SchemaTree
from heptox.store import evaluate
from heptox.translate import (
    Hop,
    Loss,
    PathTranslation,
    source_constraints,
    translate_path,
    with_wholes,
)
from heptox.xml import Document


@dataclass(frozen=True, slots=True)
class TranslatedQuery:
    """A query in a publisher's words.

    ``patterns``: every document of the publisher on which ``query`` has an answer matches one of them; without any, it
    has none. ``exact``: no others match, of those that are valid for the publisher's schema. ``losses`` are what it
    needs and no arrow carries.
    """

    patterns: tuple[TreePattern, ...]
    exact: bool
    losses: tuple[Loss, ...]
    query: Expression = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The patterns as one subscription; empty without patterns."""
        return " or ".join(map(str, self.patterns))

    def matches(self, document: Document, check: Check = no_check) -> bool:
        """Whether the query has an answer on a document of the publisher, also where the patterns are not exact.

        The document must not be changed afterwards. ``check`` is called again and again, and may raise an error.
        """
        return next(evaluate(self.query, [document], check), None) is not None


class TranslatedSubscription(TranslatedQuery):
    """A subscription in a publisher's words: its query has an answer on the documents that are to match."""

    __slots__ = ()


def translate_query(hops: Sequence[Hop], expression: Expression, check: Check = no_check) -> TranslatedQuery:
    """A query in the words of the schema at the end of a path of mappings, which a publisher writes.

    Its answers on a document are those of :func:`~heptox.translate.translate_path`. ``check`` is called again and again
    meanwhile, and may raise an error of its own.

    Raises as :func:`~heptox.translate.translate_path`.
    """
    translated = translate_path(hops, expression, check)
    constraints = _answering(hops[-1])
    said = query_patterns(translated.pattern, constraints, check)
    losses = _losses(translated)
    if not said.patterns and not losses:
        losses = (Loss((), "no document of the publisher fulfils its conditions"),)
    return TranslatedQuery(said.patterns, said.exact, losses, render(translated.pattern, constraints))


def untranslated_query(schema: SchemaGraph, expression: Expression, check: Check = no_check) -> TranslatedQuery:
    """A query for publishers that have the asker's own schema.

    What tree patterns cannot say of it, such as whole elements that it returns, is asked of every document.

    >>> from heptox.grammar import parse_query
    >>> from heptox.schema import parse_dtd
    >>> schema = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (c?)> <!ELEMENT c (#PCDATA)>", "a")
    >>> untranslated_query(schema, parse_query("for $b in //b where $b/c = 'x' return $b/c")).text
    '/a[b[c[. = "x"]]]'
    >>> untranslated_query(schema, parse_query("data(//b)")).text
    '/a'
    """
    constraints = Constraints(SchemaTree(schema), valid=True)
    try:
        lowered = lower(expression, constraints.tree, valid=True, made=()).query
    except GrammarError:
        return TranslatedQuery(
            (TreePattern((PatternNode("/", schema.elements[schema.root].name),)),), False, (), expression
        )
    members = (normalise(member, constraints) for member in lowered.members)
    normal = Query(tuple(dict.fromkeys(member for member in members if member is not None)))
    said = query_patterns(normal, constraints, check)
    losses = () if said.patterns else (Loss((), "no document of the schema fulfils its conditions"),)
    return TranslatedQuery(said.patterns, said.exact, losses, expression)


def translate_subscription(hops: Sequence[Hop], text: str, check: Check = no_check) -> TranslatedSubscription:
    """A subscription in the words of the schema at the end of a path of mappings, which a publisher writes.

    Over a hop, to ``source`` or to ``target``, it matches a document exactly when the subscription matches what
    exchange makes of the document (``semantics.md`` section 6). Without hops it is the subscription itself. ``check``
    is called again and again meanwhile, and may raise an error of its own.

    Raises :class:`~heptox.errors.GrammarError` as :func:`~heptox.grammar.parse_subscription`, and for steps that
    queries do not have either; :class:`~heptox.errors.DisseminationError` (HX9068) where the value of an element is
    compared that has other elements in it; :class:`~heptox.errors.TranslationError` as
    :func:`~heptox.translate.translate_path`; :class:`~heptox.errors.MappingError` (HX4024) where the first mapping
    serves the other direction only.
    """
    patterns = parse_subscription(text)
    if not hops:
        return TranslatedSubscription(patterns, True, (), subscription_query(patterns, text))
    asked = subscription_query(patterns, text, _asked_tree(hops[0]))
    try:
        found = translate_query(hops, asked, check)
    except GrammarError as error:
        raise GrammarError(_shown(fault, text) for fault in error.faults) from error
    return TranslatedSubscription(found.patterns, found.exact, found.losses, found.query)


def _asked_tree(hop: Hop) -> SchemaTree:
    """The schema of what a hop reads, as its translation sees it."""
    return with_wholes(hop.to.answered_by(hop.mapping)).target


def _answering(hop: Hop) -> Constraints:
    """What the documents obey that are asked at the end of a hop.

    Nothing there is ``varied``: here a comparison with a number is false where the value is no number, and no error.
    """
    return replace(source_constraints(with_wholes(hop.to.answered_by(hop.mapping))), varied=frozenset())


def _losses(translated: PathTranslation) -> tuple[Loss, ...]:
    """The losses of all hops, up to the one that leaves nothing."""
    found: dict[Loss, None] = {}
    for hop in translated.hops:
        found.update(dict.fromkeys(hop.translation.losses))
        if hop.translation.empty:
            break
    return tuple(found)


def _shown(fault: Fault, text: str) -> Fault:
    """The fault with the line of the subscription where it is."""
    if fault.position is None or fault.excerpt is not None:
        return fault
    return fault_at(fault.code, fault.message, text, fault.position, fault.hint)
