"""Shells over what peers answer, without a network: peers send items, or rows of those that say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from heptox.grammar import syntax
from heptox.shell import CoreAnswers, Gathered, Split, answers_document, folded
from heptox.store import Allowance
from tests.support.saxon import evaluate_module

Said = Callable[[syntax.Expression], syntax.Expression]
"""A query in other words."""
Asked = Callable[[syntax.Expression], Iterable[str]]
"""The items of a query, along one path."""


def gathered(found: Split, peers: Mapping[str, Asked], said: Said = lambda query: query) -> dict[str, Gathered]:
    """What the cores of a query bring, ``said`` with what the schema knows, from peers by name, which make rows."""
    return _gathered(found, peers, said, folds=True)


def computed(found: Split, peers: Mapping[str, Asked], said: Said = lambda query: query) -> list[str]:
    """The items of a query that peers are asked: they are the same whether peers make rows, or send items."""
    ways = [
        evaluate_module(found.text, answers_document(_gathered(found, peers, said, folds=folds)))
        for folds in (False, True)
    ]
    assert ways[0] == ways[1] or sorted(ways[0]) == sorted(ways[1])
    return ways[1]


def _gathered(found: Split, peers: Mapping[str, Asked], said: Said, *, folds: bool) -> dict[str, Gathered]:
    answers = {core.variable: CoreAnswers(core.brings_rows) for core in found.cores}
    for core in found.cores:
        query = said(core.counted)
        for name, asked in peers.items():
            items = asked(query)
            is_made = folds and core.brings_rows
            answers[core.variable].add((name,), folded(query, items, Allowance()) if is_made else items)
    return {variable: core.gathered(variable) for variable, core in answers.items()}
