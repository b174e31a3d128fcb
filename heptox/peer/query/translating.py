"""A query for a neighbour, as every peer makes it, deployed or emulated: the translation, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import cbor2

from heptox.checks import Check, no_check
from heptox.errors import Fault, GrammarError, HeptoxError, PeerError
from heptox.grammar import Expression, decode_query, encode_query, parse_query, syntax
from heptox.mapping import Mapping
from heptox.peer.query.events import Translated, Untranslated
from heptox.peer.query.result_cache import KEY_BYTES, REMEMBERED, TREE_COST, ResultCache
from heptox.peer.wire.messages import Body, Status
from heptox.translate import Direction, translate

MOST_TEXT: Final = 256 * 1024
"""Characters of a query that is a text, and of each text in a tree: a megabyte of steps takes ten seconds to read."""
MOST_PARTS: Final = 100_000
"""Nodes of a query's tree, and names and values: ten thousand comparisons of paths with literals have 90,000."""


def check_size(query: Body | Expression) -> None:
    """Raise :class:`GrammarError` (HX3009) where a query is too large: a body, or the tree that it is read to.

    >>> check_size(["Sequence", [["StringLiteral", "a"]] * 60_000])
    Traceback (most recent call last):
    heptox.errors.GrammarError: HX3009 a query has more than 100,000 nodes, names and values (ask in several queries)
    """
    for parts, text in enumerate(_texts(query), 1):
        if len(text) > MOST_TEXT:
            message = f"a query, or a text in it, of {len(text):,} characters is longer than {MOST_TEXT:,}"
            raise GrammarError(Fault("HX3009", message, hint="ask in several queries"))
        if parts > MOST_PARTS:
            message = f"a query has more than {MOST_PARTS:,} nodes, names and values"
            raise GrammarError(Fault("HX3009", message, hint="ask in several queries"))


def _texts(query: Body | Expression) -> Iterator[str]:
    """The texts of a body; of the tree that it is read to, as many: an empty one for each node, and those in it."""
    waiting: list[object] = [query]
    while waiting:
        part = waiting.pop()
        if isinstance(part, syntax.Node):
            yield ""
            names: tuple[str, ...] = type(part).__match_args__  # all but the position
            waiting += [getattr(part, name) for name in names]
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, str):
            yield part


def read_query(text: str, file: str | None = None, check: Check = no_check) -> Expression:
    """The query in a text, as :func:`parse_query` reads and refuses it, unless it is too large (:func:`check_size`)."""
    check_size(text)
    expression = parse_query(text, file, check)
    check_size(expression)
    return expression


def expression_of(body: Body, check: Check = no_check) -> Expression:
    """The query in a body: a text, or nested lists as peers send them to each other.

    It is read once, for the audit log, what is hidden, the evaluation and all translations, and along all paths that
    it comes; ``check`` is called again and again. Raises :class:`GrammarError` as :func:`read_query`,
    :func:`decode_query` and :func:`check_size`.
    """
    encoded = cbor2.dumps(body, canonical=True)
    expression = _EXPRESSIONS.get(encoded)
    if expression is None:
        if isinstance(body, str):
            expression = read_query(body, check=check)
        else:
            check_size(body)
            expression = decode_query(body, check)
        _EXPRESSIONS.put(encoded, expression, KEY_BYTES + TREE_COST * len(encoded))
    return expression


_EXPRESSIONS: Final = ResultCache[Expression](REMEMBERED)


def translated(
    mapping: Mapping, direction: Direction, body: Body, check: Check = no_check
) -> Translated | Untranslated:
    """The translation (``semantics.md`` section 8), for a task and a schema that are yet to be named; one that takes
    too long is refused, as what is not translated exactly is.

    Raises as :func:`expression_of`, and what ``check`` raises, if it is no error of heptox.
    """
    expression = expression_of(body, check)
    try:
        translation = translate(mapping, expression, direction, check)
    except PeerError:  # nobody waits, or may wait, for it: it says nothing of the query
        raise
    except HeptoxError as error:
        return Untranslated("", Status.REFUSED, reason=error.summary)
    losses = tuple(str(loss) for loss in translation.losses)
    if translation.empty:
        return Untranslated("", Status.NOTHING, losses)
    return Translated("", encode_query(translation.query), translation.text, losses)
