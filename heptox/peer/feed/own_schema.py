"""Subscriptions in own words, checked against the peer's own schema before they are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from heptox.errors import DisseminationError, Fault, GrammarError, SchemaError
from heptox.grammar import (
    Expression,
    NameTable,
    lower,
    may_be_tag,
    near_name,
    parse_subscription,
    unknown_steps,
    with_prefixes,
)
from heptox.matching import Delivery, SubscriptionRequest, Words, parse_followed
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, TEXT, PatternNode, TreePattern
from heptox.rewriting import translate_subscription
from heptox.routing import Overlaps, advertised
from heptox.schema import SchemaGraph, SchemaTree


class OwnSchema:
    """A peer's schema, by which subscriptions in its words are read.

    >>> from heptox.matching import Options
    >>> from heptox.schema import parse_dtd
    >>> schema = OwnSchema(parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)>", "a"))
    >>> options = Options(words=Words.OWN)
    >>> requests = [SubscriptionRequest("one", "//b", options), SubscriptionRequest("other", "//c", options)]
    >>> kept, faults = schema.check(requests)
    >>> [one.name for one in kept], [fault.message for fault in faults]
    (['one'], ['other: the schema of this peer, a, has no element c'])
    """

    def __init__(self, schema: SchemaGraph) -> None:
        self._schema = schema
        self._elements = {element.name for element in schema.elements.values()}
        self._is_open = any(element.open for element in schema.elements.values())
        self._names = NameTable.of(schema)
        self._attributes = {one.name for element in schema.elements.values() for one in element.attributes}
        try:
            self._overlaps: Overlaps | None = Overlaps(advertised(schema))
        except DisseminationError:  # no document of the schema is finite
            self._overlaps = None

    def check(
        self, wanted: Sequence[SubscriptionRequest], worded: Sequence[SchemaTree] = ()
    ) -> tuple[list[SubscriptionRequest], list[Fault]]:
        """Those that can be as they are, and the faults (HX9070) of the others, each with its place. In the boxes of
        trees of the schema that are ``worded`` by mappings may be tags that it does not declare."""
        kept: list[SubscriptionRequest] = []
        found: list[Fault] = []
        for one in wanted:
            faults = list(self._faults(one, worded)) if one.options.words is Words.OWN else []
            found += faults
            if not faults:
                kept.append(one)
        return kept, found

    def _faults(self, one: SubscriptionRequest, worded: Sequence[SchemaTree]) -> Iterator[Fault]:
        if one.options.deliver is Delivery.ANSWERS:
            yield from self._faults_of_query(one, worded)
            return
        try:
            patterns = parse_subscription(one.text, one.file, one.line)
        except GrammarError:  # which is reported where it is added
            return
        unknown = dict(found for pattern in patterns for found in self._unknown(pattern.children, worded))
        hint = "without --words own, names are those of whoever publishes"
        for what, near in unknown.items():
            message = f"{one.name}: the schema of this peer, {self._schema.root}, has no {what}"
            yield Fault("HX9070", message, one.position, hint=f"did you mean {near}? {hint}" if near else hint)
        if not unknown:
            for pattern in patterns:
                if not self._may_match(pattern, worded):
                    shown = with_prefixes(str(pattern), self._schema.prefixes)
                    message = f"{one.name}: no document of the schema of this peer, {self._schema.root}, has {shown}"
                    yield Fault("HX9070", message, one.position, hint=hint)

    def _faults_of_query(self, one: SubscriptionRequest, worded: Sequence[SchemaTree]) -> Iterator[Fault]:
        try:
            expression = parse_followed(one.text, one.file, one.line, self._names)
        except GrammarError:  # which is reported where it is added
            return
        trees = (SchemaTree(self._schema), *worded)
        unknown = unknown_steps(expression, *trees)
        for fault in unknown:
            message = f"{one.name}: in the schema of this peer, {self._schema.root}, there is {fault.message}"
            place = fault.position
            position = place and replace(place, line=place.line + one.line - 1)
            yield Fault("HX9070", message, position, hint=fault.hint)
        if not unknown and not any(_has_answers(expression, tree) for tree in trees):
            message = f"{one.name}: no document of the schema of this peer, {self._schema.root}, has an answer"
            yield Fault("HX9070", message, one.position)

    def _unknown(self, nodes: Iterable[PatternNode], worded: Sequence[SchemaTree]) -> Iterator[tuple[str, str | None]]:
        """Each name that the schema does not have, as messages say it, with the name that was probably meant; where
        anything may stand somewhere there is none."""
        if self._is_open:
            return
        for node in nodes:
            test = node.test
            if test.startswith("@"):
                if test != ANY_ATTRIBUTE and test[1:] not in self._attributes:
                    near = near_name(test[1:], sorted(self._attributes))
                    yield f"attribute {self._said(test)[1:]}", near and self._said(f"@{near}")
            elif not self._may_be(test, worded):
                near = near_name(test, sorted(self._elements))
                yield f"element {self._said(test)}", near and self._said(near)
            yield from self._unknown(node.children, worded)

    def _said(self, test: str) -> str:
        return self._schema.prefixes.step(test)

    def _may_be(self, test: str, worded: Sequence[SchemaTree]) -> bool:
        """Whether there may be elements of that name."""
        declared = test in (ANY_ELEMENT, TEXT) or test in self._elements
        return declared or any(may_be_tag(test, tree) for tree in worded)

    def _may_match(self, pattern: TreePattern, worded: Sequence[SchemaTree]) -> bool:
        if self._overlaps is None or self._overlaps.pattern(pattern):
            return True
        query = translate_subscription((), str(pattern)).query
        return any(_has_answers(query, tree) for tree in worded)


def _has_answers(expression: Expression, tree: SchemaTree) -> bool:
    """Whether some document may have an answer; so it is, as far as is known, outside the fragment."""
    try:
        return bool(lower(expression, tree, made=()).query.members)
    except (GrammarError, SchemaError):  # what cannot be translated is reported for each publisher
        return True
