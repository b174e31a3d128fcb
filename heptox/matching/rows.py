"""Subscriptions laid out in rows: the tables of the plans ``unrolled`` and ``bucketed``.

A row holds a conjunction: the equality by which it is found, and a bound for each class of inequalities, those of one
linear path in one direction. Values and bounds of ``<`` are turned round, so that in any class an inequality holds
where the document's greatest value is at least the bound; no inequality is -INF. So what is unrolled is not the places
of predicates, as in section 4.3 of the paper, but their linear paths (``matching.md``). Predicates that do not fit in
make the row ask for the ``rest``.

In the bucketed plan each row is also in a bucket of its most selective inequality (section 4.2), and is found by the
equality and the bucket together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heptox.matching.engine import Engine

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

MOST_PATHS: Final = 32
"""For how many linear paths rows have columns: those that most inequalities are about."""
BUCKETS: Final = 20
"""Into how many buckets of as many constants a class is cut; the paper's experience suggests around 20."""
PORTION: Final = 1 << 17
"""How many conjunctions are laid out at once."""
_GROWTH: Final = 4
"""How many times more subscriptions there are before columns and buckets are chosen anew."""
_QUANTILES: Final = 64
_FEW: Final = 10_000
"""Up to how many conjunctions there are is nothing chosen anew."""
NO_CLASS: Final = 127
CLASSES: Final = 128
MOST_BUCKETS: Final = 64
PROBE: Final = CLASSES * MOST_BUCKETS
"""A probe is the number of an equality times this, plus that of a class times 64, plus that of a bucket."""

_LESS, _LEAST, _GREATER = 2, 3, 4
_NO_SHARE: Final = 2.0
_NORMAL: Final = float(np.finfo(np.float64).max)

_INEQUALITIES: Final = """SELECT conjunction, linear_path, operator, number FROM predicate
WHERE operator BETWEEN 2 AND 5 AND number IS NOT NULL AND conjunction >= ? AND conjunction < ?"""
_KEYS: Final = """SELECT k.conjunction, k.number, k.structure, k.access, e.equality,
  coalesce(e.predicates, 0) AS predicates, coalesce(e.given, 0) AS given
FROM conjunction AS k LEFT JOIN (
  SELECT p.conjunction, count(*) AS predicates, count(*) FILTER (WHERE p.operator = 6 AND p.linear_path = a.linear_path)
    AS given, arg_min(p.equality, u.uses) FILTER (WHERE p.operator = 0) AS equality
  FROM predicate AS p LEFT JOIN equality_use AS u ON u.equality = p.equality
  LEFT JOIN (
    SELECT k.conjunction, q.linear_path FROM conjunction AS k JOIN equality AS q ON q.equality = k.access
    WHERE k.access <> 0 AND k.conjunction >= ? AND k.conjunction < ?
  ) AS a ON a.conjunction = p.conjunction
  WHERE p.conjunction >= ? AND p.conjunction < ? GROUP BY p.conjunction
) AS e ON e.conjunction = k.conjunction WHERE k.conjunction >= ? AND k.conjunction < ? ORDER BY k.conjunction"""


Class: TypeAlias = tuple[int, bool]
Values: TypeAlias = Callable[[Sequence[Class]], Floats]
"""For some classes what each document has at most, -INF where it has nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a layout has columns for, chosen when there were ``upto`` conjunctions.

    ``classes`` are linear paths, and whether it is the class of ``<``. By the number of a class, ``bounds`` are the
    least constants of its buckets, and ``quantiles`` the values that documents had.
    """

    upto: int
    classes: tuple[Class, ...]
    bounds: Mapping[int, tuple[float, ...]]
    quantiles: Mapping[int, tuple[float, ...]]

    def printed(self) -> str:
        """As JSON."""
        found = {"upto": self.upto, "classes": self.classes, "bounds": self.bounds, "quantiles": self.quantiles}
        return json.dumps(found)

    @classmethod
    def read(cls, text: str) -> Choice:
        """What was printed."""
        found = json.loads(text)
        bounds, quantiles = (
            {int(number): tuple(values) for number, values in found[name].items()} for name in ("bounds", "quantiles")
        )
        return cls(found["upto"], tuple((path, below) for path, below in found["classes"]), bounds, quantiles)


class Rows:
    """The table of one of the two plans, ``unrolled`` or ``bucketed``."""

    def __init__(self, engine: Engine, name: str) -> None:
        self._engine = engine
        self._name = name
        self._bucketed = name == "bucketed"
        self._buckets: set[int] = set()
        self._upto = 1
        self._whole: bool | None = None
        self._choice: Choice | None = None
        engine.run("CREATE TABLE IF NOT EXISTS rows_state (name VARCHAR, upto BIGINT, choice VARCHAR)")
        for upto, choice in engine.rows("SELECT upto, choice FROM rows_state WHERE name = ?", name):
            self._upto, self._choice = upto, Choice.read(choice)
            if self._bucketed:
                found = engine.rows(f"SELECT DISTINCT probe % {PROBE} FROM bucketed")
                self._buckets = {number for (number,) in found}

    @property
    def choice(self) -> Choice:
        """What there are columns for. To be asked for after :meth:`update`."""
        assert self._choice is not None
        return self._choice

    def is_whole(self) -> bool:
        """Whether rows hold all that their conjunctions ask, and no row is of one that was removed."""
        if self._whole is None:
            self._whole = not self._engine.one(f"SELECT EXISTS (FROM {self._name} WHERE rest OR structure <> 0)")
        held = f"SELECT (SELECT count(*) FROM {self._name}) = (SELECT count(*) FROM conjunction)"
        return self._whole and bool(self._engine.one(held))

    def buckets(self) -> pa.Table:
        """The buckets that have rows: ``class``, ``bucket`` and the ``least`` bound there may be."""
        found = []
        for number, bucket in sorted(divmod(each, MOST_BUCKETS) for each in self._buckets):
            bounds = self.choice.bounds.get(number, ())
            found.append((number, bucket, bounds[bucket - 1] if bucket else -np.inf))
        columns = list(zip(*found, strict=True)) or [(), (), ()]
        types = (pa.int64(), pa.int64(), pa.float64())
        names = ("class", "bucket", "least")
        arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
        return pa.table(dict(zip(names, arrays, strict=True)))

    def clear(self) -> None:
        """Forget all, to be laid out anew."""
        self._engine.run("DELETE FROM rows_state WHERE name = ?", self._name)
        self._upto, self._choice, self._buckets = 1, None, set()

    def update(self, end: int, values: Values) -> None:
        """Lay out all conjunctions below ``end`` that are not; ``values`` gives what the documents at hand have."""
        if self._choice is not None and end > max(_FEW, _GROWTH * self._choice.upto):
            self.clear()
        if self._upto >= end and self._choice is not None:
            return
        upto, buckets = self._upto, set(self._buckets)
        try:
            with self._engine.transaction():
                choice = self._extend(end, values)
        except BaseException:
            self._upto, self._buckets = upto, buckets
            raise
        self._upto, self._choice, self._whole = end, choice, None

    def _extend(self, end: int, values: Values) -> Choice:
        run, is_first = self._engine.run, self._choice is None
        count_uses(self._engine)
        choice = self._choice or self._begin(end, values)
        for begin in range(self._upto, end, PORTION):
            self._lay_out(choice, begin, min(end, begin + PORTION))
        if self._bucketed and is_first:
            run("CREATE TABLE sorted_rows AS SELECT * FROM bucketed ORDER BY probe, bound")
            run("DROP TABLE bucketed")
            run("ALTER TABLE sorted_rows RENAME TO bucketed")
        run("DELETE FROM rows_state WHERE name = ?", self._name)
        run("INSERT INTO rows_state VALUES (?, ?, ?)", self._name, end, choice.printed())
        return choice

    # -- choosing ----------------------------------------------------------------------------------------------------

    def _begin(self, end: int, values: Values) -> Choice:
        """Choose, and make the table."""
        choice = Choice(end, read_classes(self._engine), {}, {})
        if self._bucketed:
            choice = replace(choice, quantiles=quantiles(values(choice.classes)))
            choice = replace(choice, bounds=self._bounds(choice))
        columns = "".join(f", bound_{number} DOUBLE" for number in range(len(choice.classes)))
        first = "probe BIGINT, bound DOUBLE" if self._bucketed else "equality INTEGER"
        self._engine.run(
            f"CREATE OR REPLACE TABLE {self._name}"
            f" ({first}, conjunction BIGINT, number BIGINT, structure INTEGER, rest BOOLEAN{columns})"
        )
        return choice

    def _bounds(self, choice: Choice) -> dict[int, tuple[float, ...]]:
        """The bounds of buckets that hold as many of a sample's constants each."""
        portion = read_portion(self._engine, choice, 1, min(choice.upto, 1 + 4 * PORTION))
        classes, bounds = portion.chosen(choice)
        found = {}
        for number in np.unique(classes[classes != NO_CLASS]).tolist():
            least = np.quantile(bounds[classes == number], np.arange(BUCKETS) / BUCKETS, method="lower")
            found[number] = tuple(np.unique(least).tolist())
        return found

    # -- laying out --------------------------------------------------------------------------------------------------

    def _lay_out(self, choice: Choice, begin: int, end: int) -> None:
        portion = read_portion(self._engine, choice, begin, end)
        columns: dict[str, Any] = {
            "conjunction": portion.conjunction,
            "number": portion.number,
            "structure": portion.structure,
            "rest": portion.rest,
            **{f"bound_{number}": portion.bounds[:, number] for number in range(len(choice.classes))},
        }
        if self._bucketed:
            probe, bounds = self._probes(choice, portion)
            self._buckets.update(np.unique(probe % PROBE).tolist())
            columns = {"probe": probe, "bound": bounds, **columns}
        else:
            columns = {"equality": portion.equality, **columns}
        self._engine.insert(self._name, pa.table(columns))

    def _probes(self, choice: Choice, portion: Portion) -> tuple[Integers, Floats]:
        classes, bounds = portion.chosen(choice)
        buckets = np.zeros(len(classes), np.int64)
        for number, least in choice.bounds.items():
            at = classes == number
            buckets[at] = np.searchsorted(np.array(least), bounds[at], side="right")
        return portion.equality * PROBE + classes * MOST_BUCKETS + buckets, bounds


@dataclass(frozen=True, slots=True)
class Portion:
    """Conjunctions; ``bounds`` has a column for each class, -INF where a conjunction has none of it."""

    conjunction: Integers
    number: Integers
    structure: Integers
    equality: Integers
    rest: NDArray[np.bool_]
    bounds: Floats

    @classmethod
    def of(cls, choice: Choice, keys: dict[str, Any], found: dict[str, Any]) -> Portion:
        """Of what the database holds of conjunctions, ascending, and of their inequalities."""
        conjunction, subscription, access, predicates, given, structure = (
            np.asarray(keys[name], np.int64)
            for name in ("conjunction", "number", "access", "predicates", "given", "structure")
        )
        equality = np.where(access > 0, access, np.ma.filled(keys["equality"], 0)).astype(np.int64)
        bounds = np.full((len(conjunction), len(choice.classes)), -np.inf)
        row, number, bound = _placed(choice, conjunction, found)
        np.maximum.at(bounds, (row, number), bound)
        held = np.bincount(row, minlength=len(conjunction)) + given + (access == 0)
        return cls(conjunction, subscription, structure, equality, predicates > held, bounds)

    def chosen(self, choice: Choice) -> tuple[Integers, Floats]:
        """For each conjunction the class of the inequality that fewest documents fulfil, and its bound."""
        share = self._shares(choice)
        best = share.argmin(axis=1)
        rows = np.arange(len(best))
        some = share[rows, best] < _NO_SHARE
        bounds = np.full(len(rows), -np.inf)
        bounds[some] = self.bounds[rows[some], best[some]]
        return np.where(some, best, NO_CLASS), bounds

    def selectivity(self, choice: Choice) -> float:
        """The share of documents that fulfil that inequality, in the mean; 1 where there is none."""
        share = self._shares(choice)
        return float(np.minimum(share.min(axis=1), 1).mean()) if len(share) else 1.0

    def _shares(self, choice: Choice) -> Floats:
        """The share of documents that fulfil each inequality, and as a last column that there is none."""
        share = np.full((len(self.bounds), len(choice.classes) + 1), _NO_SHARE)
        for number in range(len(choice.classes)):
            values = np.array(choice.quantiles.get(number, ()))
            column = self.bounds[:, number]
            fulfilled = (len(values) - np.searchsorted(values, column)) / max(len(values), 1)
            share[:, number] = np.where(np.isfinite(column), fulfilled, _NO_SHARE)
        return share


def quantiles(values: Floats) -> dict[int, tuple[float, ...]]:
    """What documents have, a column for each class."""
    found = {}
    for number, column in enumerate(values.T):
        usual = column[np.isfinite(column)]
        if len(usual):
            found[number] = tuple(np.quantile(usual, np.linspace(0, 1, _QUANTILES)).tolist())
    return found


def count_uses(engine: Engine) -> None:
    """Make the temporary table ``equality_use``: how many conjunctions ask for an equality, or are found by it."""
    engine.run(
        "CREATE OR REPLACE TEMP TABLE equality_use AS SELECT equality, count(*) AS uses FROM ("
        " SELECT equality FROM predicate WHERE operator = 0"
        " UNION ALL SELECT access FROM conjunction WHERE access <> 0) GROUP BY equality"
    )


def read_classes(engine: Engine) -> tuple[Class, ...]:
    """The classes of inequalities that there are, of the linear paths that most are about."""
    found = engine.rows(
        f"SELECT linear_path, operator <= {_LEAST} AS below, count(*) FROM predicate"
        " WHERE operator BETWEEN 2 AND 5 AND number IS NOT NULL GROUP BY ALL"
    )
    uses: dict[int, int] = {}
    for path, _, count in found:
        uses[path] = uses.get(path, 0) + count
    paths = sorted(uses, key=lambda path: (-uses[path], path))[:MOST_PATHS]
    known = {(path, below) for path, below, _ in found}
    return tuple((path, below) for path in paths for below in (False, True) if (path, below) in known)


def read_portion(engine: Engine, choice: Choice, begin: int, end: int) -> Portion:
    """The conjunctions from ``begin`` to ``end``. How often equalities are used is at hand (``equality_use``)."""
    keys = engine.columns(_KEYS, *(begin, end) * 3)
    return Portion.of(choice, keys, engine.columns(_INEQUALITIES, begin, end))


def _placed(choice: Choice, conjunction: Integers, found: dict[str, Any]) -> tuple[Integers, Integers, Floats]:
    """The inequalities that have a column: the rows of their conjunctions, their classes and their bounds."""
    wanted = np.asarray(found["conjunction"], np.int64)
    path, operator, constant = (np.asarray(found[name]) for name in ("linear_path", "operator", "number"))
    row = np.searchsorted(conjunction, wanted)
    known = row < len(conjunction)
    known[known] = conjunction[row[known]] == wanted[known]
    below = (operator <= _LEAST).astype(np.int64)
    most = max([int(path.max(initial=0)), *(column for column, _ in choice.classes)])
    classes = np.full((most + 1, 2), -1)
    for number, (column, is_below) in enumerate(choice.classes):
        classes[column, int(is_below)] = number
    number = classes[path, below]
    fits = known & (number >= 0) & (np.abs(constant) < _NORMAL)
    bound = np.where(below == 1, -constant, constant)
    strict = (operator == _LESS) | (operator == _GREATER)
    bound = np.where(strict, np.nextafter(bound, np.inf), bound)
    return row[fits], number[fits], bound[fits]
