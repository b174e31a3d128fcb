"""Whether a query speaks of what its asker's schema has."""

from __future__ import annotations

from heptox.errors import Fault, GrammarError, SchemaError
from heptox.grammar import query as syntax
from heptox.grammar.lower import lower
from heptox.grammar.spelling import doubtful, undeclared
from heptox.grammar.typed_paths import all_steps_stand
from heptox.schema import SchemaTree


def unknown_steps(expression: syntax.Expression, *trees: SchemaTree) -> tuple[Fault, ...]:
    """A fault (HX3041) for each step of a query that stands for nothing in the schema of its asker.

    Of several trees, at least one, any may have it: those of documents with other roots, or with the boxes of the
    asker's mappings, in which tags may be that the schema does not declare. A step that stands for something in one
    branch of the query is no fault. A query outside the fragment is not resolved: of its names, those that are declared
    nowhere are reported.

    >>> from heptox.grammar import parse_query
    >>> from heptox.schema import parse_dtd
    >>> tree = SchemaTree(parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (title)> <!ELEMENT title (#PCDATA)>"))
    >>> [fault.hint for fault in unknown_steps(parse_query("//book/titel"), tree)]
    ['did you mean title?']
    """
    first = _unknown(expression, trees[0])
    if not first:
        return ()
    others = (_unknown(expression, tree) for tree in trees[1:])
    places = [{fault.position for fault in faults} for faults in others]
    return tuple(fault for fault in first if all(fault.position in there for there in places))


def check_names(expression: syntax.Expression, *trees: SchemaTree) -> None:
    """Refuse a query that names what the asker's schema does not have: its answer would be empty, and look right.

    For the asker's own schema only: of what a neighbour receives, parts may have been lost on the way.

    Raises :class:`GrammarError` with the faults of :func:`unknown_steps`.
    """
    if faults := unknown_steps(expression, *trees):
        raise GrammarError(faults)


def doubtful_names(expression: syntax.Expression, *trees: SchemaTree) -> tuple[str, ...]:
    """A note on each step of a query that was probably meant otherwise, though it may stand in open content: one that
    is doubtful in all of several trees."""
    first, *others = (dict.fromkeys(doubtful(expression, tree)) for tree in trees)
    return tuple(note for note in first if all(note in there for there in others))


def _unknown(expression: syntax.Expression, tree: SchemaTree) -> list[Fault]:
    """The faults for one tree, in the order of their places."""
    try:
        faults = [] if all_steps_stand(expression, tree) else list(lower(expression, tree, made=()).unmatched)
    except (GrammarError, SchemaError):
        faults = []
    places = {fault.position for fault in faults}
    faults += (fault for fault in undeclared(expression, tree) if fault.position not in places)
    return sorted(faults, key=lambda fault: (fault.position is not None, fault.position))
