"""The two laws of Definition 1 (``semantics.md`` section 6), one for each direction of a mapping."""

from __future__ import annotations

from enum import StrEnum

from heptox.grammar import Side
from heptox.mapping import Mapping
from heptox.translate import Direction


class Law(StrEnum):
    """By which rules documents are exchanged: the queries that are asked of them are over the schema that those make.

    ``ALONG``: source documents, queries over the target schema; ``AGAINST``: target documents, queries over the source
    schema.
    """

    ALONG = "along"
    AGAINST = "against"

    @property
    def answers(self) -> Side:
        """The side whose documents are exchanged, and answer."""
        return "source" if self is Law.ALONG else "target"

    @property
    def asks(self) -> Side:
        """The side whose words the queries are in."""
        return "target" if self is Law.ALONG else "source"

    @property
    def direction(self) -> Direction:
        """Which way queries are translated."""
        return Direction.SOURCE if self is Law.ALONG else Direction.TARGET

    @property
    def other(self) -> Law:
        """The law of the other direction."""
        return Law.AGAINST if self is Law.ALONG else Law.ALONG

    def read(self, mapping: Mapping) -> Mapping:
        """The mapping as its rules are read here: from the side that answers to the side that asks."""
        return self.direction.answered_by(mapping)


def served(mapping: Mapping) -> tuple[Law, ...]:
    """The directions of which a mapping says the rules."""
    return tuple(law for law in Law if law.read(mapping).along is not None)
