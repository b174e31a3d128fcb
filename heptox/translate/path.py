"""Along a path of mappings: a query is translated hop by hop, each hop reading what the one before it made
(``semantics.md`` section 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter

from heptox.checks import Check, no_check
from heptox.errors import Fault, HeptoxError, TranslationError
from heptox.grammar import Expression
from heptox.mapping import Mapping
from heptox.pattern import Query
from heptox.schema import Element, SchemaGraph, SchemaTree
from heptox.translate.model import Direction, Translation
from heptox.translate.pipeline import translate
from heptox.xml import NO_PREFIXES, Prefixes


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: a mapping, the direction in which it is taken, and a name for messages."""

    mapping: Mapping
    to: Direction
    name: str = ""

    @property
    def start(self) -> SchemaGraph:
        """The schema of the queries that this hop reads."""
        return self.start_tree.graph

    @property
    def start_tree(self) -> SchemaTree:
        """The schema of the queries that this hop reads, with its boxes."""
        return self.mapping.target if self.to is Direction.SOURCE else self.mapping.source

    @property
    def end(self) -> SchemaGraph:
        """The schema of the queries that this hop makes."""
        return (self.mapping.source if self.to is Direction.SOURCE else self.mapping.target).graph

    def __str__(self) -> str:
        return f"{self.name}, to {self.to}" if self.name else f"to {self.to}"


@dataclass(frozen=True, slots=True)
class HopTranslation:
    """What one hop made of the query ``asked`` that reached it, and how long it took, in seconds."""

    hop: Hop
    asked: Expression
    translation: Translation
    seconds: float


@dataclass(frozen=True, slots=True)
class PathTranslation:
    """The translations of a query along a path, one for each hop in order, at least one."""

    hops: tuple[HopTranslation, ...]

    @property
    def last(self) -> Translation:
        """The translation at the end of the path, whose losses are those of the last hop alone."""
        return self.hops[-1].translation

    @property
    def query(self) -> Expression:
        """The query in the words of the schema at the end of the path."""
        return self.last.query

    @property
    def text(self) -> str:
        """:attr:`query`, printed."""
        return self.last.text

    @property
    def pattern(self) -> Query:
        """The pattern of :attr:`query`."""
        return self.last.pattern

    @property
    def empty(self) -> bool:
        """Whether nothing of the query can be asked at the end of the path."""
        return self.last.empty

    @property
    def seconds(self) -> float:
        """The time that all hops took together."""
        return sum(hop.seconds for hop in self.hops)


def translate_path(
    hops: Iterable[Hop], expression: Expression, check: Check = no_check, prefixes: Prefixes = NO_PREFIXES
) -> PathTranslation:
    """The query in the words of the schema at the end of a path of mappings.

    What one hop makes is what the next one reads: it is never printed and parsed in between. The path promises
    section 6 hop by hop: the answers of each are those of what it reads on the exchanged document. ``prefixes`` are
    those of the query's text.

    Raises :class:`TranslationError` (HX5010) where a hop does not begin at the schema at which the one before it ends,
    one fault for each such pair; and as :func:`heptox.translate.translate`, each fault naming its hop when there are
    several. ``ValueError`` without hops.
    """
    path = tuple(hops)
    if not path:
        raise ValueError("a path has at least one hop")
    if misfits := tuple(_misfits(path)):
        raise TranslationError(misfits)
    done: list[HopTranslation] = []
    for number, hop in enumerate(path, start=1):
        began = perf_counter()
        try:
            translation = translate(hop.mapping, expression, hop.to, check, prefixes)
        except HeptoxError as error:
            if len(path) == 1:
                raise
            place = f"hop {number} of {len(path)} ({hop})"
            raise type(error)(replace(fault, message=f"{place}: {fault.message}") for fault in error.faults) from error
        done.append(HopTranslation(hop, expression, translation, perf_counter() - began))
        expression = translation.query
    return PathTranslation(tuple(done))


def _misfits(path: Sequence[Hop]) -> Iterator[Fault]:
    for number, (before, after) in enumerate(pairwise(path), start=1):
        if before.end != after.start:
            message = (
                f"hop {number} ({before}) ends at {_named(before.end)}, "
                f"hop {number + 1} ({after}) begins at {_named(after.start)}"
            )
            hint = f"the schemas differ: {_difference(before.end, after.start)}"
            turned = after.end == before.end
            yield Fault("HX5010", message, hint=hint + (f"; taken to {_other(after.to)} it fits" if turned else ""))


def _other(direction: Direction) -> Direction:
    return Direction.TARGET if direction is Direction.SOURCE else Direction.SOURCE


def _named(schema: SchemaGraph) -> str:
    root = schema.prefixes.written(schema.elements[schema.root].name)
    return f"{root} in {schema.file}" if schema.file else root


def _difference(left: SchemaGraph, right: SchemaGraph) -> str:
    """The first thing in which two schemas differ."""
    if left.root != right.root:
        names = (each.prefixes.written(each.elements[each.root].name) for each in (left, right))
        return f"the roots are {' and '.join(names)}"
    prefixes = left.prefixes.with_more(dict(right.prefixes.bound))
    for key in sorted(left.elements.keys() ^ right.elements.keys()):
        return f"only one declares {prefixes.written((left.elements.get(key) or right.elements[key]).name)}"
    name = next(name for name, element in sorted(left.elements.items()) if element != right.elements[name])
    return f"{prefixes.written(left.elements[name].name)} has other {_part(left.elements[name], right.elements[name])}"


def _part(left: Element, right: Element) -> str:
    if left.children != right.children:
        return "children"
    return "attributes" if left.attributes != right.attributes else "text"
