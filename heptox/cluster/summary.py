"""What follows from what came of a query: counts, shares, averages and curves, each defined in one place.

A path leads from the asker to another peer. What the asker finds at home is no path, but its items count. Virtual and
measured times are milliseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from heptox.cluster.outcome import Outcome, PathOutcome, QueryOutcome
from heptox.peer import Status

Curve: TypeAlias = tuple[tuple[float, float], ...]
"""Virtual milliseconds, ascending, each with the share (0 to 1) that there is from then on."""

BROUGHT: Final = (0.5, 0.9, 1.0)
"""The shares of the answers whose times are reported."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The average and the maximum of ``count`` values; both are 0 where there is none."""

    count: int
    average: float
    maximum: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Figure 12 (top): the parts of the time of a query, on average over the paths that brought items.

    ``translation`` and ``evaluation`` are measured, ``network`` is of the virtual clock (:func:`network_time`).
    """

    paths: int
    translation: float
    network: float
    evaluation: float

    @property
    def total(self) -> float:
        return self.translation + self.network + self.evaluation


def labels(queries: Sequence[QueryOutcome]) -> tuple[str, ...]:
    """What each query is called: its name, and its asker where a name occurs more than once."""
    times = Counter(query.name for query in queries)
    return tuple(query.name if times[query.name] == 1 else f"{query.name} from {query.asker}" for query in queries)


def outward(query: QueryOutcome) -> tuple[PathOutcome, ...]:
    """The paths to other peers."""
    return tuple(path for path in query.paths if path.hops)


def asked(query: QueryOutcome) -> tuple[PathOutcome, ...]:
    """The paths at whose ends the query arrived."""
    return tuple(path for path in outward(query) if path.arrived is not None)


def reached(query: QueryOutcome) -> int:
    """How many different peers, the asker apart, the query arrived at."""
    return len({path.path[-1] for path in asked(query)})


def statuses(query: QueryOutcome) -> dict[Status, int]:
    """How many paths ended how, for every status, those that do not occur too."""
    counted = Counter(path.status for path in outward(query))
    return {status: counted[status] for status in Status}


def hop_statuses(query: QueryOutcome) -> dict[int, dict[Status, int]]:
    """:func:`statuses` by hops, ascending."""
    counted = Counter((path.hops, path.status) for path in outward(query))
    return {
        hops: {status: counted[hops, status] for status in Status} for hops in sorted({hops for hops, _ in counted})
    }


def share(items: int, expected: int) -> float | None:
    """The share of what is expected that there is; ``None`` where nothing is."""
    return items / expected if expected else None


def spread(values: Iterable[float]) -> Spread:
    """The average and the maximum of some values."""
    known = tuple(values)
    return Spread(len(known), sum(known) / len(known), max(known)) if known else Spread(0, 0.0, 0.0)


def translation_times(query: QueryOutcome) -> Spread:
    """AQTT and MQTT of Table 1: the measured time of all translations along a path, over the paths that were asked."""
    return spread(path.translation for path in asked(query))


def evaluation_times(query: QueryOutcome) -> Spread:
    """The measured time of the evaluation at the end of a path, over the paths that answered."""
    return spread(path.evaluation for path in outward(query) if path.status is Status.ANSWERED)


def network_time(path: PathOutcome, plan: Mapping[str, object]) -> float | None:
    """The virtual time that messages of a path took, until the last item: ``None`` where no item came.

    That is ``last`` without what the plan says that the translations along the path (``translate_ms`` each) and the
    evaluation at its end (``evaluate_ms``) take. What a peer that is slow takes longer counts as network.
    """
    if path.last is None:
        return None
    return max(0.0, path.last - path.hops * _number(plan, "translate_ms") - _number(plan, "evaluate_ms"))


def breakdown(query: QueryOutcome, plan: Mapping[str, object]) -> Breakdown | None:
    """Where the time of a query went; ``None`` where no path to another peer brought an item."""
    timed = [(path, network) for path in outward(query) if (network := network_time(path, plan)) is not None]
    if not timed:
        return None
    return Breakdown(
        len(timed),
        spread(path.translation for path, _ in timed).average,
        spread(network for _, network in timed).average,
        spread(path.evaluation for path, _ in timed).average,
    )


def answer_curve(query: QueryOutcome) -> Curve:
    """Figure 12 (bottom): the share of the answers that the asker has; those of a path count when the last has come."""
    return _curve((path.last, path.items) for path in query.paths if path.last is not None)


def peer_curve(query: QueryOutcome) -> Curve:
    """Figure 12 (bottom): the share of the peers with answers from which the asker has all, along every path."""
    last: dict[int, float] = {}
    for path in query.paths:
        if path.last is not None:
            last[path.path[-1]] = max(path.last, last.get(path.path[-1], 0.0))
    return _curve((time, 1) for time in last.values())


def time_of(curve: Curve, wanted: float) -> float | None:
    """When a curve first has a share; ``None`` where it never does."""
    found = bisect_left(curve, wanted, key=lambda point: point[1])
    return curve[found][0] if found < len(curve) else None


def total_seconds(outcome: Outcome) -> float:
    """All measured parts of the work together."""
    return sum(outcome.times.seconds.values())


def _curve(arrivals: Iterable[tuple[float, int]]) -> Curve:
    weights: Counter[float] = Counter()
    for time, weight in arrivals:
        weights[time] += weight
    total = weights.total()
    points: list[tuple[float, float]] = []
    come = 0
    for time in sorted(weights) if total else ():
        come += weights[time]
        points.append((time, come / total))
    return tuple(points)


def _number(plan: Mapping[str, object], key: str) -> float:
    value = plan.get(key, 0)
    return float(value) if isinstance(value, int | float) else 0.0
