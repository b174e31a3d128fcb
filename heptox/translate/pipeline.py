"""The translation of a query across a mapping: expand, apply, contract, stitch."""

from __future__ import annotations

from heptox.errors import Fault
from heptox.grammar import Expression, print_query, render, syntax
from heptox.mapping import Mapping
from heptox.translate.apply import apply
from heptox.translate.contract import contract
from heptox.translate.expand import expand
from heptox.translate.knowledge import (
    as_answered,
    as_asked,
    contraction_constraints,
    image_constraints,
    source_constraints,
    with_wholes,
)
from heptox.translate.model import Check, Direction, Loss, Step, Translation, no_check
from heptox.translate.stitch import stitch


def translate(mapping: Mapping, expression: Expression, to: Direction | str, check: Check = no_check) -> Translation:
    """A query in the words of the other side of a mapping, right by Definition 1 (``semantics.md`` sections 6 to 8).

    ``to`` is ``source`` (against the rules: the same answer as on the exchanged document) or ``target`` (along them:
    the certain answers). Every step is kept for explanation. ``check`` is called again and again meanwhile, and may
    raise an error of its own to stop the translation.

    Raises :class:`heptox.errors.GrammarError` for queries outside the fragment, :class:`heptox.errors.TranslationError`
    (HX5...) for what is not translated exactly yet.
    """
    direction = Direction(to)
    mapping = with_wholes(mapping)
    sources, images = source_constraints(mapping), image_constraints(mapping)
    asked, answering = (images, sources) if direction is Direction.SOURCE else (sources, images)
    lowering = expand(expression, asked)
    written = as_answered(answering, expression)
    steps = [Step("expand", lowering.query, as_asked(asked, expression))]
    query, losses = apply(lowering.query, mapping, direction, check)
    steps.append(Step("apply", query, written))
    query = contract(query, sources if direction is Direction.SOURCE else contraction_constraints(mapping), check)
    steps.append(Step("contract", query, written))
    query = stitch(query, answering)
    steps.append(Step("stitch", query, written))
    losses = tuple(map(_unmatched, lowering.unmatched)) + losses
    if not query.members and not losses:
        losses = (Loss((), "its conditions contradict each other, on every document"),)
    result = render(query, written)
    return Translation(result, print_query(result), query, _unordered(expression) + losses, tuple(steps))


def _unordered(expression: Expression) -> tuple[Loss, ...]:
    ordered = isinstance(expression, syntax.Flwor) and expression.order
    return (Loss((), "the order by is left out: an answer from elsewhere is a set"),) if ordered else ()


def _unmatched(fault: Fault) -> Loss:
    return Loss((), f"{fault.message}" + (f" ({fault.hint})" if fault.hint else ""))
