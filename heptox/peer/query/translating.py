"""A query for a neighbour, as every peer makes it, deployed or emulated: the translation, or why there is none."""

from __future__ import annotations

from typing import Final

import cbor2

from heptox.errors import Fault, GrammarError, HeptoxError, PeerError
from heptox.grammar import Expression, decode_query, encode_query, parse_query
from heptox.mapping import Mapping
from heptox.peer.query.events import Translated, Untranslated
from heptox.peer.query.result_cache import KEY_BYTES, REMEMBERED, TREE_COST, ResultCache
from heptox.peer.wire.messages import Body, Status
from heptox.translate import Check, Direction, no_check, translate

MOST_TEXT: Final = 256 * 1024
"""Characters of a query that comes as a text: a megabyte of steps takes ten seconds to read."""


def expression_of(body: Body) -> Expression:
    """The query in a body: a text, or nested lists as peers send them to each other.

    It is read once, for the audit log, what is hidden, the evaluation and all translations, and along all paths that
    it comes. Raises :class:`GrammarError`: what :func:`parse_query` or :func:`decode_query` raises, and HX3009 for a
    text of more than :data:`MOST_TEXT` characters.
    """
    if isinstance(body, str) and len(body) > MOST_TEXT:
        message = f"a query of {len(body):,} characters is longer than {MOST_TEXT:,}"
        raise GrammarError(Fault("HX3009", message, hint="peers send each other the tree of a query, not its text"))
    encoded = cbor2.dumps(body, canonical=True)
    expression = _EXPRESSIONS.get(encoded)
    if expression is None:
        expression = parse_query(body) if isinstance(body, str) else decode_query(body)
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
    expression = expression_of(body)
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
