"""Patterns for documents as they are written, by who does not know the schema that gives attributes defaults.

Peers on the way match a document with its attributes as they stand. To its schema an attribute that is left out may
have a default, and a value that is no ``CDATA`` may have lost white space (:func:`heptox.schema.as_declared`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, product
from typing import Final, TypeAlias

from heptox.checks import Check, no_check
from heptox.pattern import ANY_ATTRIBUTE, ANY_ELEMENT, PatternNode, Text, TreePattern, ValueTest, holds
from heptox.rewriting.query_patterns import MOST_PATTERNS
from heptox.schema import Attribute, AttributeType, SchemaGraph, amended, tokens

_Tests: TypeAlias = tuple[ValueTest, ...]
_Weaken: TypeAlias = Callable[[ValueTest], tuple[_Tests, ...]]

_BEHIND_SPACE: Final = "!"
"""The character that follows the space: what is less begins with white space, or is empty."""


def patterns_as_written(
    patterns: Sequence[TreePattern], schema: SchemaGraph, check: Check = no_check
) -> tuple[TreePattern, ...]:
    """Patterns one of which matches a document as it is written wherever one of ``patterns`` matches it as its schema
    declares it. They may match more.

    An attribute is not asked for where its default fulfils what is asked. ``check`` is called again and again
    meanwhile, and may raise an error of its own.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.schema import parse_dtd
    >>> schema = parse_dtd('<!ELEMENT a EMPTY> <!ATTLIST a k ID #REQUIRED u CDATA "kg">', "a")
    >>> for text in ("//a[@u = 'kg']", "//a[@u = 't']", "//a[@k = 'x']"):
    ...     print(*patterns_as_written(parse_subscription(text), schema), sep=" or ")
    //a
    //a[@u[. = "t"]]
    //a[@k[. >= "x"][. < "x!"]] or //a[@k[. < "!"]]
    """
    found = list(islice(_Writing(schema, _weakened, check).alternatives(patterns), MOST_PATTERNS + 1))
    if len(found) > MOST_PATTERNS:
        found = list(_Writing(schema, _dropped, check).alternatives(patterns))
    return tuple(dict.fromkeys(found))


class _Writing:
    """Writes patterns anew; ``weaken`` says what holds of a value with surplus white space.

    Of more alternatives than :data:`MOST_PATTERNS` for one node, one more is given.
    """

    def __init__(self, schema: SchemaGraph, weaken: _Weaken, check: Check) -> None:
        self._root = schema.elements[schema.root].name
        self._weaken = weaken
        self._check = check
        self._declared: Callable[[str, str], tuple[Attribute, ...]] = cache(self._find)
        self._attributes = amended(schema)

    def alternatives(self, patterns: Iterable[TreePattern]) -> Iterator[TreePattern]:
        """The patterns that take the place of some."""
        for pattern in patterns:
            for children in self._below(ANY_ELEMENT, pattern.children):
                yield TreePattern(children or (PatternNode("/", self._root),))

    def _below(self, above: str, nodes: Iterable[PatternNode]) -> Iterator[tuple[PatternNode, ...]]:
        """The alternatives for all that is below an element."""
        choices = (self._node(above, node) for node in nodes)
        for chosen in product(*choices):
            yield tuple(dict.fromkeys(node for node in chosen if node is not None))

    def _node(self, above: str, node: PatternNode) -> list[PatternNode | None]:
        """The alternatives for a node below an element; ``None``: it need not be there."""
        self._check()
        if not node.test.startswith("@"):
            below = islice(self._below(node.test, node.children), MOST_PATTERNS + 1)
            return [PatternNode(node.axis, node.test, node.values, children) for children in below]
        declared = self._declared(ANY_ELEMENT if node.axis == "//" else above, node.test)
        if any(_is_fulfilled(attribute, node.values) for attribute in declared):
            return [None]
        if all(attribute.type == AttributeType.CDATA for attribute in declared):
            return [node]
        values = islice(product(*map(self._weaken, node.values)), MOST_PATTERNS + 1)
        return [PatternNode(node.axis, node.test, tuple(dict.fromkeys(chain.from_iterable(some)))) for some in values]

    def _find(self, above: str, test: str) -> tuple[Attribute, ...]:
        """The attributes below an element that a test may be of, of those that a schema changes."""
        found = self._attributes.values() if above == ANY_ELEMENT else (self._attributes.get(above, ()),)
        return tuple(one for some in found for one in some if test in (ANY_ATTRIBUTE, f"@{one.name}"))


def _is_fulfilled(attribute: Attribute, values: _Tests) -> bool:
    """Whether an element without the attribute fulfils what is asked of it."""
    if attribute.default is None:
        return False
    default = attribute.normalised(attribute.default)
    return all(holds(default, test.operator, test.constant) for test in values)


def _weakened(test: ValueTest) -> tuple[_Tests, ...]:
    """What holds of a value, in one of several ways, of which a test holds with or without surplus white space."""
    constant = test.constant
    if not isinstance(constant, Text) or (test.operator == "!=" and tokens(constant.value) == constant.value):
        return ((test,),)
    if test.operator != "=":
        return _dropped(test)
    spaced = (ValueTest("<", Text(_BEHIND_SPACE)),)
    first = constant.value.partition(" ")[0]
    between = (ValueTest(">=", Text(first)), ValueTest("<", Text(constant.value + _BEHIND_SPACE)))
    return (between, spaced) if first else (spaced,)


def _dropped(_: ValueTest) -> tuple[_Tests, ...]:
    return ((),)
