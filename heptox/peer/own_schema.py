"""Subscriptions in own words, checked against the peer's own schema before they are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from heptox.dissemination import Wanted, Words
from heptox.dissemination.routing import Overlaps, advertised
from heptox.errors import DisseminationError, Fault, GrammarError
from heptox.grammar import parse_subscription
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, TEXT, PatternNode, TreePattern
from heptox.schema import SchemaGraph


class OwnSchema:
    """A peer's schema, by which subscriptions in its words are read.

    >>> from heptox.dissemination import Options
    >>> from heptox.schema import parse_dtd
    >>> schema = OwnSchema(parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)>", "a"))
    >>> options = Options(words=Words.OWN)
    >>> kept, faults = schema.check([Wanted("one", "//b", options), Wanted("other", "//c", options)])
    >>> [one.name for one in kept], [fault.message for fault in faults]
    (['one'], ['other: the schema of this peer, a, has no element c'])
    """

    def __init__(self, schema: SchemaGraph) -> None:
        self._schema = schema
        self._attributes = {one.name for element in schema.elements.values() for one in element.attributes}
        try:
            self._overlaps: Overlaps | None = Overlaps(advertised(schema))
        except DisseminationError:  # no document of the schema is finite
            self._overlaps = None

    def check(self, wanted: Sequence[Wanted]) -> tuple[list[Wanted], list[Fault]]:
        """Those that can be as they are, and the faults (HX9070) of the others, each with its place."""
        kept: list[Wanted] = []
        found: list[Fault] = []
        for one in wanted:
            faults = list(self._faults(one)) if one.options.words is Words.OWN else []
            found += faults
            if not faults:
                kept.append(one)
        return kept, found

    def _faults(self, one: Wanted) -> Iterator[Fault]:
        try:
            patterns = parse_subscription(one.text, one.file, one.line)
        except GrammarError:  # which is told by whoever adds it
            return
        unknown = dict.fromkeys(name for pattern in patterns for name in self._unknown(pattern.children))
        hint = "without --words own, names are those of whoever publishes"
        for what in unknown:
            message = f"{one.name}: the schema of this peer, {self._schema.root}, has no {what}"
            yield Fault("HX9070", message, one.position, hint=hint)
        if not unknown:
            for pattern in patterns:
                if not self._may_match(pattern):
                    message = f"{one.name}: no document of the schema of this peer, {self._schema.root}, has {pattern}"
                    yield Fault("HX9070", message, one.position, hint=hint)

    def _unknown(self, nodes: Iterable[PatternNode]) -> Iterator[str]:
        for node in nodes:
            test = node.test
            if test.startswith("@"):
                if test != ANY_ATTRIBUTE and test[1:] not in self._attributes:
                    yield f"attribute {test[1:]}"
            elif test not in (ANY_ELEMENT, TEXT) and test not in self._schema.elements:
                yield f"element {test}"
            yield from self._unknown(node.children)

    def _may_match(self, pattern: TreePattern) -> bool:
        return self._overlaps is None or self._overlaps.pattern(pattern)
