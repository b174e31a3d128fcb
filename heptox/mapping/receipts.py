"""What an exchange tells besides the document that it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from heptox.mapping.model import Rule
from heptox.pattern import Leaf, Lookup, Term, computed_step, parts, value_expression
from heptox.schema import Path


@dataclass(slots=True)
class ExchangeReceipt:
    """What the images of documents do not show.

    ``conflicts`` counts, by the schema path of the leaf, the nodes that got several values for a leaf which is there
    once: the one that stands first in the source stays. ``unknown_codes`` are those that were looked up where a rule
    applies, each after the file of the table that does not have it: what they stand for is absent.
    """

    conflicts: Counter[Path] = field(default_factory=Counter)
    unknown_codes: set[tuple[str, str]] = field(default_factory=set)


def looked_up(rule: Rule) -> Iterator[tuple[Term, Lookup]]:
    """The terms of the codes that a rule looks up for leaves, without another value for what the table has not."""
    for term in dict.fromkeys(term for head in rule.head for _, term in head.leaves):
        expression = value_expression(term.path)
        for part in () if expression is None else parts(expression):
            if isinstance(part, Lookup) and part.other is None and part.table:
                code = part.argument
                yield Term(term.variable, code.path if isinstance(code, Leaf) else (computed_step(code),)), part
