"""What an exchange tells besides the document that it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final

from heptox.mapping.model import Rule
from heptox.pattern import Leaf, Lookup, Term, computed_parts, computed_step
from heptox.schema import Path

WITHOUT_MEANING: Final = "what they stand for is left out, or is what the mapping has for others"
"""What becomes of codes that a table does not have."""


@dataclass(slots=True)
class ExchangeReceipt:
    """What the images of documents do not show.

    ``conflicts`` counts, by the schema path of the leaf, the nodes that got several values for a leaf which is there
    once: the one that stands first in the source stays. ``unknown_codes`` are those that were looked up where a rule
    applies, each after the file of the table that does not have it: what they stand for is absent, or what the
    mapping has for others.
    """

    conflicts: Counter[Path] = field(default_factory=Counter)
    unknown_codes: set[tuple[str, str]] = field(default_factory=set)


def codes_by_table(codes: Iterable[tuple[str, str]], most: int) -> Iterator[tuple[str, str]]:
    """Tables with the codes that they do not have, ``most`` of each.

    >>> list(codes_by_table({("a.csv", "y"), ("a.csv", "x"), ("b.csv", "z")}, 1))
    [('a.csv', '"x" and 1 more'), ('b.csv', '"z"')]
    """
    for table, found in groupby(sorted(codes), itemgetter(0)):
        listed = [f'"{code}"' for _, code in found]
        more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
        yield table, ", ".join(listed[:most]) + more


def looked_up(rule: Rule) -> Iterator[tuple[Term, Lookup]]:
    """The terms of the codes that a rule looks up for leaves."""
    for term in dict.fromkeys(term for head in rule.head for _, term in head.leaves):
        for part in computed_parts(term.path):
            if isinstance(part, Lookup) and part.table:
                code = part.argument
                yield Term(term.variable, code.path if isinstance(code, Leaf) else (computed_step(code),)), part
