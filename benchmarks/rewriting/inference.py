"""Which of the operators that were undone inference finds again, from arrows between leaves alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from benchmarks.rewriting.schemas import Schema
from heptox.rewriting import Downgrade, Insert, Operator, Publisher, Swap, Upgrade


@dataclass(frozen=True, slots=True)
class Found:
    """By kind how many operators were undone, how many of them are found again at the same nodes, and how many others
    are found besides; ``programs`` is for how many of the mappings there is a program, ``reasons`` say of the others
    why there is none. ``instead``: for each operator that is not found, its schema, and what is found besides there."""

    undone: Counter[str]
    again: Counter[str]
    besides: Counter[str]
    programs: int
    maps: int
    reasons: tuple[str, ...]
    instead: tuple[tuple[str, Operator, tuple[Operator, ...]], ...]


def found_again(schemas: Sequence[Schema], publishers: Sequence[Publisher]) -> Found:
    """What inference makes of the mappings of these schemas."""
    undone, again, besides = Counter[str](), Counter[str](), Counter[str]()
    reasons: list[str] = []
    instead: list[tuple[str, Operator, tuple[Operator, ...]]] = []
    for schema, publisher in zip(schemas, publishers, strict=True):
        program = publisher.made.program
        inferred = {_identity(each): each for each in (program.operators if program else ())}
        wanted = {_identity(each): each for each in schema.operators}
        others = [each for identity, each in inferred.items() if identity not in wanted]
        undone.update(map(_kind, wanted.values()))
        again.update(_kind(each) for identity, each in wanted.items() if identity in inferred)
        besides.update(map(_kind, others))
        for identity, operator in wanted.items():
            if identity not in inferred:
                instead.append((schema.name, operator, tuple(each for each in others if _kind(each) in _MOVING)))
        reasons += [f"{schema.name}: {reason}" for reason in publisher.made.reasons]
    programs = sum(publisher.made.program is not None for publisher in publishers)
    maps = sum(publisher.paths.root is not None for publisher in publishers)
    return Found(undone, again, besides, programs, maps, tuple(reasons), tuple(instead))


_MOVING = frozenset(("Insert", "Upgrade", "Downgrade", "Swap", "Dissolve"))


def _kind(operator: Operator) -> str:
    return type(operator).__name__


def _identity(operator: Operator) -> Hashable:
    """What an operator does but for the order of children, and for what it says of children without a place."""
    match operator:
        case Insert(element, names, children):
            return Insert, element, names, frozenset(children or ())
        case Upgrade(element, children):
            return Upgrade, element, frozenset(children or ())
        case Downgrade(element, children, into):
            return Downgrade, element, frozenset(children), into
        case Swap(element, child):
            return Swap, element, child
        case _:
            return operator
