"""A query for a neighbour, as every peer makes it, deployed or emulated: the translation, or why there is none."""

from __future__ import annotations

from typing import Final

import cbor2

from heptox.checks import Check, no_check
from heptox.errors import GrammarError, HeptoxError, PeerError
from heptox.grammar import NO_NAMES, Expression, NameTable, decode_query, encode_query, parse_query
from heptox.mapping import Mapping
from heptox.peer.query.events import Translated, Untranslated
from heptox.peer.query.result_cache import KEY_BYTES, REMEMBERED, TREE_COST, ResultCache
from heptox.peer.wire.messages import Body, Status, size_fault
from heptox.translate import Direction, gathers, translate


def read_query(text: str, file: str | None = None, check: Check = no_check, names: NameTable = NO_NAMES) -> Expression:
    """The query in a text, as :func:`parse_query` reads it; raises as that, and HX3009 where it, or its tree, is
    too large."""
    _check_size(text)
    expression = parse_query(text, file, check, names)
    _check_size(encode_query(expression))
    return expression


def expression_of(body: Body, check: Check = no_check) -> Expression:
    """The query in a body: a text, or nested lists as peers send them to each other.

    It is read once, for the audit log, what is hidden, the evaluation and all translations, and along all paths that
    it comes; ``check`` is called again and again. Raises :class:`GrammarError` as :func:`read_query`,
    :func:`decode_query`, and HX3009 for a tree that is too large.
    """
    encoded = cbor2.dumps(body, canonical=True)
    expression = _EXPRESSIONS.get(encoded)
    if expression is None:
        if isinstance(body, str):
            expression = read_query(body, check=check)
        else:
            _check_size(body)
            expression = decode_query(body, check)
        _EXPRESSIONS.put(encoded, expression, KEY_BYTES + TREE_COST * len(encoded))
    return expression


def _check_size(body: Body) -> None:
    if fault := size_fault(body):
        raise GrammarError(fault)


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
        # The neighbour may hide something. It answers what gathers parts of nodes only where that hides none of it.
        in_parts = not gathers(mapping, expression, direction, check)
        translation = translate(mapping, expression, direction, check, in_parts=in_parts)
    except PeerError:  # nobody waits, or may wait, for it: it says nothing of the query
        raise
    except HeptoxError as error:
        return Untranslated("", Status.REFUSED, reason=error.summary)
    losses = tuple(str(loss) for loss in translation.losses if not loss.is_remark)
    if translation.empty:
        remarks = "; ".join(str(loss) for loss in translation.losses if loss.is_remark)
        return Untranslated("", Status.NOTHING, losses, remarks)
    return Translated("", encode_query(translation.query), translation.text, losses)
