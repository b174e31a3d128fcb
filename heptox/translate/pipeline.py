"""The translation of a query across a mapping: expand, unfold, contract, stitch."""

from __future__ import annotations

from heptox.errors import Fault
from heptox.grammar import Expression, print_query, render, syntax
from heptox.mapping import Mapping
from heptox.pattern import NormalForms
from heptox.translate.contract import contract
from heptox.translate.expand import expand
from heptox.translate.knowledge import (
    as_answered,
    as_asked,
    asks_for_numbers,
    image_constraints,
    source_constraints,
    with_wholes,
)
from heptox.translate.model import Check, Direction, Loss, Step, Translation, in_time, no_check
from heptox.translate.stitch import stitch
from heptox.translate.unfolding import unfold


def translate(mapping: Mapping, expression: Expression, to: Direction | str, check: Check = no_check) -> Translation:
    """A query in the words of the other side of a mapping, right by Definition 1 (``semantics.md`` sections 6 to 8).

    ``to`` is the side whose documents are to answer: ``source`` for a query over the target schema, which unfolds over
    the rules along the arrows, ``target`` for one over the source schema, which unfolds over the mirrored ones. Every
    step is kept for explanation. ``check`` is called again and again meanwhile, and may raise an error of its own to
    stop the translation, which is given up after a second of work anyhow.

    Raises :class:`heptox.errors.GrammarError` for queries outside the fragment, :class:`heptox.errors.TranslationError`
    (HX5...) for what is not translated exactly yet, :class:`heptox.errors.MappingError` (HX4024) where the mapping
    serves the other direction only.
    """
    check, to = in_time(check), Direction(to)
    mapping = with_wholes(to.answered_by(mapping))
    answering, asked = source_constraints(mapping), image_constraints(mapping)
    lowering = expand(expression, asked, check)
    numbers = asks_for_numbers(expression)
    written = as_answered(mapping, numbers)
    steps = [Step("expand", lowering.query, as_asked(mapping, numbers))]
    query, losses = unfold(lowering.query, mapping, check, to)
    steps.append(Step("unfold", query, written))
    forms = NormalForms(answering)
    query = contract(query, forms, check)
    steps.append(Step("contract", query, written))
    query = stitch(query, forms, check)
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
