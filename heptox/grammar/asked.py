"""Whether a query speaks of what its asker's schema has."""

from __future__ import annotations

from heptox.errors import Fault, GrammarError, SchemaError
from heptox.grammar import query as syntax
from heptox.grammar.lower import lower
from heptox.grammar.spelling import undeclared
from heptox.schema import SchemaGraph, SchemaTree


def unknown_steps(expression: syntax.Expression, schema: SchemaGraph) -> tuple[Fault, ...]:
    """A fault (HX3041) for each step of a query that stands for nothing in any valid document of a schema.

    A step that stands for something in one branch of the query is not among them. A query outside the fragment is not
    resolved: of its names, those that are declared nowhere are told.

    >>> from heptox.grammar import parse_query
    >>> from heptox.schema import parse_dtd
    >>> schema = parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (title)> <!ELEMENT title (#PCDATA)>")
    >>> [fault.hint for fault in unknown_steps(parse_query("//book/titel"), schema)]
    ['did you mean title?']
    """
    declared_nowhere = tuple(undeclared(expression, schema))
    try:
        resolved = lower(expression, SchemaTree(schema)).unmatched
    except (GrammarError, SchemaError):
        resolved = ()
    places = {fault.position for fault in resolved}
    faults = (*resolved, *(fault for fault in declared_nowhere if fault.position not in places))
    return tuple(sorted(faults, key=lambda fault: (fault.position is not None, fault.position)))


def check_names(expression: syntax.Expression, *schemas: SchemaGraph) -> None:
    """Refuse a query that names what the asker's schema does not have: its answer would be empty, and look right.

    Of several schemas, as documents with different roots have them, it may name what any has. For the asker's own
    schema only: of what a neighbour receives, parts may have been lost on the way.

    Raises :class:`GrammarError` with the faults of :func:`unknown_steps`.
    """
    found = [unknown_steps(expression, schema) for schema in schemas]
    everywhere = set.intersection(*({fault.position for fault in faults} for faults in found))
    if faults := tuple(fault for fault in found[0] if fault.position in everywhere):
        raise GrammarError(faults)
