"""Outcomes made by hand, for what is reported of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from heptox.cluster.outcome import (
    Check,
    NetworkOutcome,
    Outcome,
    PathOutcome,
    QueryOutcome,
    Superstep,
    Times,
)
from heptox.peer import Status

PATHS = """
0        answered        3    0    2    2  0  1.5
0-1      answered        4   75  160  200 12  3
0-2      answered        2   75  161  161  8  5
0-1-3    answered        4  155  310  400 30  4
0-2-3    answered        4  155  320  330 20  4
0-1-4    nothing to say  0    -    -    - 25  0
0-2-4    refused         0    -    -    -  9  0
0-2-5    timed out       0  150    -    - 22  0
"""
"""A path in a line: peers, status, items, virtual ms (arrived, first, last), measured ms (translation, evaluation)."""


def paths(text: str) -> tuple[PathOutcome, ...]:
    """The paths in a text like :data:`PATHS`."""
    return tuple(_path(line) for line in text.strip().splitlines())


def _path(line: str) -> PathOutcome:
    peers, *words = line.split()
    *status, items, arrived, first, last, translation, evaluation = words
    return PathOutcome(
        tuple(int(peer) for peer in peers.split("-")),
        Status(" ".join(status)),
        int(items),
        beyond=False,
        reason="a union is asked" if status == ["refused"] else "",
        arrived=_time(arrived),
        first=_time(first),
        last=_time(last),
        translation=float(translation),
        evaluation=float(evaluation),
    )


def _time(word: str) -> float | None:
    return None if word == "-" else float(word)


def outcome(*names: str, check: Check | None = None) -> Outcome:
    """An outcome with the paths above for each query."""
    queries = names or ("Q1",)
    return Outcome(
        plan={"peers": 6, "schemas": 2, "queries": queries, "seed": 7, "translate_ms": 2, "evaluate_ms": 10},
        network=NetworkOutcome({"auction": 4, "flat": 2}, 7, 2, 3),
        queries=tuple(QueryOutcome(name, 0, paths(PATHS), 9, 12, False, 1200.5) for name in queries),
        supersteps=(
            Superstep(0, 1, 1, 2, 2, 1, 0.2),
            Superstep(70, 2, 2, 4, 4, 1, 0.5),
            Superstep(140, 3, 4, 0, 0, 0, 0.3),
        ),
        messages={"query": 7, "answers": 4},
        bytes={"query": 700, "answers": 52_000},
        lost=1,
        departures=2,
        check=check or Check(5, 8, 0, 0),
        times=Times({"documents": 1.5, "supersteps": 1.0}, 2_500_000_000, "2 cores"),
    )


EMPTY = Outcome(
    plan={},
    network=NetworkOutcome({}, 0, 0, 0),
    queries=(),
    supersteps=(),
    messages={},
    bytes={},
    lost=0,
    departures=0,
    check=Check(0, 0, 0, 0),
    times=Times({}, 0),
)
SILENT = replace(outcome("Q1", "Q2"), queries=(QueryOutcome("Q1", 0, (), 0, 0, True, 0.0),), supersteps=())
"""A query that has no paths, and no steps; nothing at all."""


def measured(of: Outcome, change: Callable[[float], float]) -> Outcome:
    """An outcome with every measured value changed."""
    return replace(
        of,
        queries=tuple(
            replace(
                query,
                paths=tuple(
                    replace(path, translation=change(path.translation), evaluation=change(path.evaluation))
                    for path in query.paths
                ),
            )
            for query in of.queries
        ),
        supersteps=tuple(replace(step, seconds=change(step.seconds)) for step in of.supersteps),
        times=Times({"other": change(1.0)}, int(change(1000)), "another machine"),
    )
