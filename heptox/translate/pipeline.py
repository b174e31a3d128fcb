"""The translation of a query across a mapping: four rewrites, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from heptox.checks import Check, checked_by, no_check
from heptox.grammar import Expression, print_query, render, syntax
from heptox.mapping import Mapping
from heptox.translate.contract import contract
from heptox.translate.draft import Draft
from heptox.translate.expand import expand
from heptox.translate.knowledge import as_answered, as_asked
from heptox.translate.model import Direction, Loss, Step, Translation, in_time
from heptox.translate.stitch import stitch
from heptox.translate.unfold import unfold
from heptox.xml import NO_PREFIXES, Prefixes

RULES: Final[tuple[Callable[[Draft], Draft], ...]] = (expand, unfold, contract, stitch)
"""What a translation does, in order (``semantics.md`` section 8)."""


def translate(
    mapping: Mapping,
    expression: Expression,
    to: Direction | str,
    check: Check = no_check,
    prefixes: Prefixes = NO_PREFIXES,
    *,
    in_parts: bool = False,
) -> Translation:
    """A query in the words of the other side of a mapping, right by Definition 1 (``semantics.md`` sections 6 to 8).

    ``to`` is the side whose documents are to answer: ``source`` for a query over the target schema, which unfolds over
    the rules along the arrows, ``target`` for one over the source schema, which unfolds over the mirrored ones. Every
    step is kept for explanation. ``check`` is called again and again meanwhile, and may raise an error of its own to
    stop the translation, which is given up after a second of work anyhow. The text of the translation has the
    ``prefixes`` of the query's own, then those of the schema that answers, then those of the asker's.
    The documents that answer are valid ones; with ``in_parts``, what is left of such where something of them is hidden:
    what the schema requires may be absent then.

    Raises :class:`heptox.errors.GrammarError` for queries outside the fragment, :class:`heptox.errors.TranslationError`
    (HX5...) for what is not translated exactly yet, :class:`heptox.errors.MappingError` (HX4024) where the mapping
    serves the other direction only.
    """
    check = in_time(check)
    with checked_by(check):
        return _translated(Draft.of(mapping, expression, Direction(to), check, in_parts=in_parts), prefixes)


def _translated(draft: Draft, prefixes: Prefixes) -> Translation:
    asked, written = as_asked(draft.mapping, draft.numbers), as_answered(draft.mapping, draft.numbers)
    asking, answering = draft.mapping.target, draft.mapping.source
    first, table = (
        one.graph.prefixes.with_more(dict(other.graph.prefixes.bound)).with_more(dict(prefixes.bound))
        for one, other in ((answering, asking), (asking, answering))
    )
    steps: list[Step] = []
    for rule in RULES:
        draft = rule(draft)
        origins = tuple(draft.members.values())
        steps.append(
            Step(rule.__name__, draft.query, *((written, origins, table) if steps else (asked, origins, first)))
        )
    losses = draft.losses
    if not draft.members and not losses:
        losses = (Loss((), "its conditions contradict each other, on every document", is_remark=True),)
    result = render(draft.query, written)
    lost = tuple(replace(loss, name=asking.written(loss.path)) for loss in (*_unordered(draft.expression), *losses))
    return Translation(result, print_query(result, table), draft.query, lost, tuple(steps))


def _unordered(expression: Expression) -> tuple[Loss, ...]:
    ordered = isinstance(expression, syntax.Flwor) and expression.order
    effect = "the order by is left out: an answer from elsewhere is a set"
    return (Loss((), effect, is_remark=True),) if ordered else ()
