"""What a query means before it is asked: what is wrong with it here, and its translation for an acquaintance."""

from __future__ import annotations

from collections.abc import Iterable

from heptox.checks import Check
from heptox.errors import Fault, HeptoxError
from heptox.grammar import NameTable, check_names, lower, parse_query, unknown_steps
from heptox.mapping import Mapping
from heptox.peer.console.schemas import drawn_prefixes
from heptox.peer.console.shapes import LossModel, MemberModel, StepModel, TranslationModel
from heptox.schema import SchemaGraph, SchemaTree
from heptox.translate import Direction, ExplainedStep, Hop, explain, translate_path


def query_faults(text: str, schema: SchemaGraph, worded: Iterable[SchemaTree] = ()) -> tuple[Fault, ...]:
    """What is wrong with a query to a peer of that schema: its text, what cannot be translated, steps that there are
    not. ``worded`` are the trees of the schema with the boxes of the peer's mappings.

    >>> from heptox.schema import parse_dtd
    >>> schema = parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (#PCDATA)>")
    >>> [str(fault.position) for fault in query_faults("//bock", schema)], query_faults("//book", schema)
    (['<text>:1:3'], ())
    """
    try:
        expression = parse_query(text, names=NameTable.of(schema))
        if unknown := unknown_steps(expression, SchemaTree(schema), *worded):
            return unknown
        lower(expression, SchemaTree(schema), made=())
    except HeptoxError as error:
        return error.faults
    return ()


def explained(text: str, mapping: Mapping, to: Direction, check: Check) -> TranslationModel:
    """The translation of a query across a mapping, with its steps and losses; its text is ``None`` where there is
    nothing to ask, or it takes too long. What is wrong with the query is returned, not raised."""
    try:
        path = Hop(mapping, to)
        expression = parse_query(text, names=NameTable.of(path.start))
        check_names(expression, SchemaTree(path.start), path.start_tree)
        (hop,) = translate_path([path], expression, check).hops
    except HeptoxError as error:
        return untranslated(*error.faults)
    found, names = explain(hop), drawn_prefixes(path.start)
    return TranslationModel(
        text=None if hop.translation.empty else hop.translation.text,
        losses=[
            LossModel(path=[names.step(step) for step in loss.path], effect=loss.effect, arrow=loss.arrow)
            for loss in found.losses
        ],
        steps=[_step(step) for step in found.steps],
        faults=(),
    )


def untranslated(*faults: Fault) -> TranslationModel:
    """That there is no translation, and why."""
    return TranslationModel(text=None, losses=[], steps=[], faults=tuple(faults))


def _step(step: ExplainedStep) -> StepModel:
    members = [MemberModel(tree=member.tree, text=member.text) for member in step.members]
    return StepModel(name=step.name, members=members)
