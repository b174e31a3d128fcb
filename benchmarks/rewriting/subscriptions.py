"""Subscriptions in the words of the global schema, as in section 5.1 of Ni and Chan: at most eight steps, ``*`` at one
step of five, a nested path in one of five. What the paper does not tell is chosen here: ``//`` at one step of five,
and a comparison with a value in one of five.

Each can be fulfilled: it is a walk through the schema, and its values are those of a document.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Final

from benchmarks.matching.subscriptions import Place, SubscriptionShape, literal, subscriptions
from benchmarks.rewriting.documents import document
from benchmarks.rewriting.schemas import catalogue, global_schema
from heptox.schema import Path
from heptox.xml import XmlElement, parse_document

MOST_STEPS: Final = 8
_NESTED: Final = 2
SHAPE: Final = SubscriptionShape(
    depth=tuple(range(2, MOST_STEPS - _NESTED + 1)),
    wildcard=0.2,
    descendant=0.2,
    branches=(0, 0, 0, 0, 1),
    branch_depth=tuple(range(1, _NESTED + 1)),
    predicates=(0, 0, 0, 0, 1),
)
PATHS: Final = replace(SHAPE, branches=(0,), predicates=(0,))
"""The same without nested paths and values."""
_SAMPLED: Final = 100_000
"""Bytes of the document that values are taken from."""
_MOST_VALUES: Final = 40
_INNER_COMPARED: Final = re.compile(r"\*(\[\.)? (=|!=|<|>=) ")
"""A comparison of what may be an inner element: it has no value, and is refused."""
_NUMBERS: Final = frozenset(("credits", "seats", "enrolled", "room"))


def domain_subscriptions(number: int, seed: int = 0, shape: SubscriptionShape = SHAPE) -> list[str]:
    """So many distinct subscriptions in the words of the global schema.

    Raises ``ValueError`` when there are not so many.
    """
    drawn = subscriptions([_root()], seed, shape, distinct=True)
    texts = (text.replace("/. ", " ") for text in drawn)  # a value at the end of a nested path
    found = list(islice((text for text in texts if not _INNER_COMPARED.search(text)), number))
    if len(found) < number:
        raise ValueError(f"only {len(found)} distinct subscriptions were found, not {number}")
    return found


@cache
def _root() -> Place:
    return _place((), parse_document(document(catalogue(), _SAMPLED)).root)


def _place(path: Path, sample: XmlElement) -> Place:
    """Where a walk may stand, with the values that the leaves there have in a document."""
    tree = global_schema()
    if tree.is_leaf(path):
        return Place(path[-1], [], *_offers(".", path, sample))
    made = Place(path[-1] if path else tree.root, [_place(child, sample) for child in tree.children(path)])
    for leaf in filter(tree.is_leaf, tree.children(path)):
        equal, unequal = _offers(leaf[-1], leaf, sample)
        made.equal += equal
        made.unequal += unequal
    return made


def _offers(step: str, leaf: Path, sample: XmlElement) -> tuple[list[str], list[str]]:
    values = list(dict.fromkeys(str(node.text) for node in sample.iterfind("/".join(leaf))))[:_MOST_VALUES]
    if leaf[-1] in _NUMBERS:
        unequal = [f"{step} {operator} {value}" for value in values for operator in ("<", ">=")]
    else:
        unequal = [f"{step} != {literal(value)}" for value in values]
    return [f"{step} = {literal(value)}" for value in values], unequal
