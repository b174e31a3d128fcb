"""Documents of a DTD as the measurements of the literature have them: of one size, with values that occur again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from heptox.schema import SchemaGraph, random_document

_WORDS: Final = (
    "agency", "bulletin", "council", "district", "election", "finance", "government", "harbour", "industry", "journal",
    "kingdom", "league", "minister", "network", "office", "parliament", "quarter", "region", "senate", "treaty",
)  # fmt: skip
_PHRASES: Final = 12
"""How many values of several words there are for each that is one word, a number or a day."""


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """How large documents are: see :func:`heptox.schema.random_document`.

    The default gives documents of ``nitf-2-5.dtd`` that have about 4 KB in the mean, and up to twelve levels.
    """

    elements: int = 40
    depth: int = 10
    repeats: int = 3


def documents(graph: SchemaGraph, number: int, seed: int = 0, shape: DocumentShape | None = None) -> Iterator[str]:
    """``number`` valid documents; each depends on ``seed`` and its place alone.

    A document of 4 KB takes 1 to 3 ms.

    >>> from heptox.schema import parse_dtd
    >>> next(documents(parse_dtd("<!ELEMENT a (b+)> <!ELEMENT b EMPTY>"), 1))
    '<a><b></b><b></b></a>'
    """
    shape = shape or DocumentShape()
    pool = values(seed)
    for place in range(number):
        yield random_document(
            graph,
            Random(f"{seed} {place}"),
            repeats=shape.repeats,
            elements=shape.elements,
            depth=shape.depth,
            pool=pool,
        )


def values(seed: int = 0) -> tuple[str, ...]:
    """What leaves hold: words, numbers, days, and phrases of two to nine words."""
    random = Random(f"values {seed}")
    numbers = [str(random.randint(1, 1000)) for _ in range(10)] + [f"{random.uniform(0, 100):.2f}" for _ in range(10)]
    days = [f"{random.randint(1990, 2009)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}" for _ in range(10)]
    phrases = [" ".join(random.choices(_WORDS, k=random.randint(2, 9))) for _ in range(_PHRASES * 10)]
    return (*_WORDS, *numbers, *days, *phrases)
