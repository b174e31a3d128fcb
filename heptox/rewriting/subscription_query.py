"""Subscriptions as queries: one that has an answer on the documents that the subscription matches.

A pattern is a join below the document node, each step of it with predicates for what lies below and for its own value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final, NoReturn

from heptox.errors import DisseminationError, Position, SchemaError
from heptox.grammar import fault_at, step_matches, syntax
from heptox.pattern import TEXT, Axis, PatternNode, Text, TreePattern, ValueTest, printed_test
from heptox.schema import Path, SchemaTree

MATCH: Final = "match"
"""The element that is the answer on a document that matches."""

_WORDS: Final = re.compile(
    r"""(?P<skipped>"[^"]*"|'[^']*'|\(:.*?:\))|@?\s*(?:Q\{[^{}]*\}|[^\W\d][\w.\-]*:)[^\W\d][\w.\-\u00b7]*|(?P<word>@\s*\*|text\s*\(\s*\)|@?\s*[^\W\d][\w.\-\u00b7]*|\*)""",
    re.DOTALL,
)
_SHOWN_LEAVES: Final = 3


def subscription_query(patterns: Sequence[TreePattern], text: str, tree: SchemaTree | None = None) -> syntax.Expression:
    """The query whose answer is not empty on the documents that one of the patterns matches.

    ``text`` is the subscription, in which steps have their positions; ``tree`` is the schema that the subscription
    speaks of, where the query is to be translated.

    Raises :class:`DisseminationError` (HX9068) for a comparison with the value of an element that has other elements in
    it, or no text, in the schema: no arrow carries that value.

    >>> from heptox.grammar import parse_subscription, print_query
    >>> text = "//a[b > 5]/@c"
    >>> print(print_query(subscription_query(parse_subscription(text), text)))
    for $m in //a[@c and b[. > 5]]
    return <match/>
    """
    positions = _positions(text)
    if tree is not None:
        _Values(tree, text, positions).check(patterns)
    writing = _Writing(positions)
    queries = tuple(map(writing.query, patterns))
    return queries[0] if len(queries) == 1 else syntax.Sequence(queries)


class _Writing:
    """Makes expressions."""

    def __init__(self, positions: dict[str, Position]) -> None:
        self._positions = positions

    def query(self, pattern: TreePattern) -> syntax.Expression:
        first, *others = in_order(pattern.children)
        conditions = tuple(map(self._below_document, others))
        clause = syntax.For("$m", self._path("/", first))
        return syntax.Flwor((clause,), syntax.conjunction(conditions), syntax.ElementConstructor(MATCH))

    def _below_document(self, node: PatternNode) -> syntax.Condition:
        return syntax.Exists(self._path("/", node), spelled_out=False)

    def _path(self, start: str, node: PatternNode) -> syntax.PathExpression:
        position = self._positions.get(node.test)
        tests = (_comparison(value, position) for value in node.values)
        condition = syntax.conjunction((*map(self._below, in_order(node.children)), *tests))
        step = plain_step(node.axis, node.test, position, () if condition is None else (condition,))
        return syntax.PathExpression(start, (step,), position=position)

    def _below(self, node: PatternNode) -> syntax.Condition:
        return syntax.Exists(self._path(".", node), spelled_out=False)


def plain_step(
    axis: Axis, test: str, position: Position | None = None, predicates: tuple[syntax.Condition, ...] = ()
) -> syntax.Step:
    """The step of a query for a step of a pattern."""
    if test.startswith("@"):
        name = (test[1:],)
        return syntax.Step("attribute" if axis == "/" else "descendant-attribute", name, predicates, position=position)
    return syntax.Step("child" if axis == "/" else "descendant", (test,), predicates, position=position)


def in_order(nodes: Iterable[PatternNode]) -> list[PatternNode]:
    """The nodes, those first that say nothing of values: they tell what a wildcard can stand for."""
    return sorted(nodes, key=_compares)


def _compares(node: PatternNode) -> bool:
    return bool(node.values) or any(map(_compares, node.children))


def _comparison(value: ValueTest, position: Position | None) -> syntax.Comparison:
    constant = value.constant
    literal = (
        syntax.StringLiteral(constant.value) if isinstance(constant, Text) else syntax.NumberLiteral(constant.lexical)
    )
    return syntax.Comparison(value.operator, syntax.PathExpression(".", position=position), literal, position=position)


# -- values --------------------------------------------------------------------------------------------------------


class _Values:
    """Looks at the elements whose values are compared, walking over the schema as the query does."""

    def __init__(self, tree: SchemaTree, text: str, positions: dict[str, Position]) -> None:
        self._tree = tree
        self._text = text
        self._positions = positions
        self._exists: Callable[[PatternNode, Path | None], bool] = cache(self._look)

    def check(self, patterns: Iterable[TreePattern]) -> None:
        """Refuse a comparison with what has no value that arrows carry."""
        for pattern in patterns:
            all(self._exists(node, None) for node in in_order(pattern.children))

    def _look(self, node: PatternNode, above: Path | None) -> bool:
        """Whether something in the schema can be what a node below ``above`` asks for."""
        try:
            matches = tuple(step_matches(self._tree, plain_step(node.axis, node.test), above))
        except SchemaError:
            return False  # refused with its place when the query is read
        found = False
        for path in dict.fromkeys(match.path for match in matches):
            if all(self._exists(child, path) for child in in_order(node.children)):
                found = True
                self._note(node, path)
        return found

    def _note(self, node: PatternNode, path: Path) -> None:
        tree = self._tree
        if not node.values:
            return
        leaf = tree.is_leaf(path) or tree.whole_at(path) is not None
        if not (leaf or (tree.element(path).text and not tree.element(path).children)):
            name = tree.graph.prefixes.path((tree.root, *path))
            what = f"the inner element {name}, whose value no arrow carries"
            self._refuse(node, what, self._hint(path))

    def _hint(self, path: Path) -> str:
        if self._tree.element(path).text:
            return "compare its text(), which is each piece of text by itself"
        below = [leaf for leaf in self._tree.own_leaves(self._tree.stop(path)) if leaf]
        stop = self._tree.stop(path)
        prefixes = self._tree.graph.prefixes
        inside = [prefixes.path((*stop, *leaf)[len(path) :]) for leaf in below if (*stop, *leaf)[: len(path)] == path]
        shown = ", ".join(inside[:_SHOWN_LEAVES])
        return "compare a leaf below it" + (f": {shown}" if shown else "")

    def _refuse(self, node: PatternNode, what: str, hint: str) -> NoReturn:
        message = f"the step {node.axis}{printed_test(node.test)} is compared and stands for {what}"
        position = self._positions.get(node.test)
        raise DisseminationError(fault_at("HX9068", message, self._text, position, hint))


# -- positions -----------------------------------------------------------------------------------------------------


def _positions(text: str) -> dict[str, Position]:
    """Where each step is written that stands only once in a subscription."""
    found: dict[str, list[int]] = {}
    for word in _WORDS.finditer(text):
        if word["word"]:
            found.setdefault(_test(word["word"]), []).append(word.start())
    return {test: _position(text, places[0]) for test, places in found.items() if len(places) == 1}


def _test(word: str) -> str:
    return TEXT if word.endswith(")") else "".join(word.split())


def _position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))
