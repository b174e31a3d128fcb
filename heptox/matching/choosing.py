"""Which plan a batch is matched by: probes against candidates (``matching.md``, plans).

Costs are nanoseconds on the machine where they were measured; only how they compare matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from heptox.matching.engine import Engine
from heptox.matching.rows import BUCKETS, Choice, Values, count_uses, quantiles, read_classes, read_portion

SAMPLE: Final = 4096
"""How many conjunctions are looked at."""
_GROWTH: Final = 1.1
"""By how much the conjunctions have to grow before they are looked at anew."""

SCAN_CHAIN, SCAN_UNROLLED, SCAN_BUCKETED = 40.0, 60.0, 30.0
"""To read a row."""
STEP, PAIR, PROBED, BOUND = 100.0, 10.0, 150.0, 40.0
"""A pair in the chain; a pair of a document and a row; a probe; a pair that a probe finds."""
CONDITION, REST = 200.0, 1500.0
"""A condition of a pair; a pair whose row asks for the rest."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of the conjunctions: their count when they were looked at, equalities and conditions of one in the
    mean, classes of inequalities, the share that rows do not hold whole, and in the mean the share of documents that
    fulfil the most selective inequality."""

    conjunctions: int
    equalities: float
    conditions: float
    classes: int
    rest: float
    selectivity: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is expected of a batch: equalities that hold in documents (``hits``), pairs of a document and a conjunction
    of which an equality does (``pairs``), of which all do (``candidates``), ``probes`` of buckets, and the seconds that
    plans take beside what all do."""

    hits: int
    pairs: float
    candidates: float
    probes: float
    seconds: Mapping[str, float]

    @property
    def plan(self) -> str:
        """The plan that takes least."""
        return min(self.seconds, key=lambda plan: self.seconds[plan])


class Chooser:
    """Estimates plans; looks at the subscriptions now and then."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._profile: Profile | None = None
        self._end = 0

    def forget(self) -> None:
        """Look at the subscriptions anew before the next estimate."""
        self._profile = None

    def profile(self, end: int, values: Values) -> Profile:
        """What is known of the conjunctions below ``end``."""
        if self._profile is None or end > self._end * _GROWTH:
            self._profile, self._end = self._look(end, values), end
        return self._profile

    def estimate(self, profile: Profile, documents: int) -> Estimate:
        """What plans will take for the batch at hand."""
        hits, used = self._engine.rows(
            "SELECT count(*), coalesce(sum(u.uses), 0)"
            " FROM document_hit AS h LEFT JOIN equality_use AS u ON u.equality = h.equality"
        )[0]
        total = profile.conjunctions * profile.equalities * documents
        share = min(float(used) / total, 1.0) if total else 0.0
        pairs = profile.conjunctions * documents * share
        candidates = pairs * share ** max(profile.equalities - 1, 0)
        probes = hits * profile.classes * (0.5 + BUCKETS * profile.selectivity)
        return Estimate(hits, pairs, candidates, probes, _seconds(profile, pairs, candidates, probes))

    def _look(self, end: int, values: Values) -> Profile:
        engine = self._engine
        count_uses(engine)
        conjunctions, access, conditions = engine.rows(
            "SELECT count(*), count(*) FILTER (WHERE access <> 0), coalesce(sum(conditions), 0) FROM conjunction"
        )[0]
        equalities = engine.one("SELECT count(*) FROM predicate WHERE operator = 0")
        choice = Choice(end, read_classes(engine), {}, {})
        choice = Choice(end, choice.classes, {}, quantiles(values(choice.classes)))
        portion = read_portion(engine, choice, max(1, end - SAMPLE), end)
        count = max(conjunctions, 1)
        return Profile(
            conjunctions,
            float((equalities + access) / count),
            float(conditions / count),
            max(len(choice.classes), 1),
            float(portion.rest.mean()) if len(portion.rest) else 0.0,
            portion.selectivity(choice),
        )


def _seconds(profile: Profile, pairs: float, candidates: float, probes: float) -> dict[str, float]:
    rows, bound = float(profile.conjunctions), pairs * profile.selectivity
    nanoseconds = {
        "shared": SCAN_CHAIN * rows * profile.equalities * 2
        + STEP * (pairs + candidates)
        + CONDITION * candidates * min(profile.conditions, 2),
        "bucketed": SCAN_BUCKETED * rows + PROBED * probes + (BOUND + REST * profile.rest) * bound,
        "unrolled": SCAN_UNROLLED * rows + PAIR * pairs + REST * profile.rest * bound,
    }
    return {plan: each / 1e9 for plan, each in nanoseconds.items()}
