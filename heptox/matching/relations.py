"""The relations of subscriptions: tables of DuckDB, what is written to them, and the dictionary of what they name.

Source: section 3.2 of Tian et al., "Implementing a scalable XML publish/subscribe system using relational database
systems" (SIGMOD 2004), Figure 3.4. ``predicate`` and ``conjunction`` hold subscriptions as they are; what a plan joins
is made of them (:mod:`heptox.matching.layouts`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heptox.errors import DisseminationError, Fault
from heptox.matching.branching import BranchingPoint
from heptox.matching.engine import Engine
from heptox.matching.linear_path import LinearPath, Step
from heptox.matching.messages import ID_PATH, NODE, VALUE
from heptox.matching.shapes import EQUAL, EXISTS, Collector, Dictionary, Point, Points

FORMAT: Final = 2
"""The version of what is in a file; one of another version is refused."""

TABLES: Final = {
    # The subscriptions. A conjunction is one alternative of one. ``access`` is the predicate by which it is found where
    # it has no equality.
    "conjunction": "conjunction BIGINT, number BIGINT, structure INTEGER, conditions INTEGER, access INTEGER",
    # ``equality`` where the operator is =, else a text, or a number, or neither: the node is there. Conditions, which
    # are no equalities, have a ``turn`` from 1 in which they are looked at.
    "predicate": "conjunction BIGINT, place SMALLINT, turn SMALLINT, linear_path INTEGER, operator TINYINT,"
    " equality INTEGER, text VARCHAR, number DOUBLE, branching INTEGER",
    # What is asked by = or, with 0 for the constant, by access.
    "equality": "equality INTEGER, linear_path INTEGER, constant INTEGER",
    "constant": "constant INTEGER, text VARCHAR, number DOUBLE",
    "linear_path": "linear_path INTEGER, path VARCHAR, prefix VARCHAR, middle VARCHAR, postfix VARCHAR",
    "linear_path_branching": "branching INTEGER, linear_path INTEGER, points VARCHAR",
    "structure": "structure INTEGER, point INTEGER, parent INTEGER, level INTEGER, parts INTEGER",
    # By what the caller knows a subscription again.
    "mark": "number BIGINT, mark BIGINT",
    "state": "format INTEGER",
}
T = TypeVar("T")

_STEP: Final = re.compile(r"(//?)(@?Q\{[^{}]*\}[^/]+|[^/]+)")


MOST_FAULTS: Final = 20
"""How many faults are reported of what is to be added."""


@dataclass(slots=True)
class Added:
    """What adding brings: linear paths that are new, and of linear paths what is asked of the nodes there, as flags."""

    linear_paths: dict[LinearPath, int] = field(default_factory=dict)
    demands: list[tuple[Any, Any]] = field(default_factory=list)

    def demand(self, predicates: pa.Table) -> None:
        """Note what predicates ask for."""
        operator, branching, path = (
            predicates.column(name).to_numpy() for name in ("operator", "branching", "linear_path")
        )
        flags = np.where(operator == EXISTS, NODE, VALUE) | np.where(branching > 0, ID_PATH, 0)
        keys = np.unique(path.astype(np.int64) << 3 | flags)
        self.demands.append(((keys >> 3).astype(np.int32), (keys & 7).astype(np.int8)))


class Relations:
    """The subscriptions in a database; makes the tables where there are none.

    Raises :class:`DisseminationError` (HX9020) where the file has tables, but not these.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._prepare()
        self.dictionary = Dictionary()
        self._read_dictionary()
        self.next_conjunction = engine.one("SELECT coalesce(max(conjunction), 0) + 1 FROM conjunction")
        self._next_equality = engine.one("SELECT coalesce(max(equality), 0) + 1 FROM equality")
        self._next_constant = engine.one("SELECT coalesce(max(constant), 0) + 1 FROM constant")

    def _prepare(self) -> None:
        engine = self._engine
        held = {name for (name,) in engine.rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")}
        if not held:
            with engine.transaction():
                for name, columns in TABLES.items():
                    engine.run(f"CREATE TABLE {name} ({columns})")
                engine.run("INSERT INTO state VALUES (?)", FORMAT)
        elif not TABLES.keys() <= held or engine.rows("SELECT format FROM state") != [(FORMAT,)]:
            raise DisseminationError(
                Fault("HX9020", "the file holds no subscriptions that this version reads", hint="rebuild it")
            )

    def _read_dictionary(self) -> None:
        found = self.dictionary
        for number, path in self._engine.rows("SELECT linear_path, path FROM linear_path"):
            found.linear_paths[read_linear_path(path)] = number
        for number, path, points in self._engine.rows("SELECT * FROM linear_path_branching"):
            found.branchings[path, _read_points(points)] = number
        structures: dict[int, list[Point]] = {}
        for number, *point in self._engine.rows("SELECT * FROM structure ORDER BY structure, point"):
            structures.setdefault(number, []).append(Point(*point))
        found.structures.update({tuple(points): number for number, points in structures.items()})
        ids = (found.linear_paths, found.branchings, found.structures)
        found.following[:] = [max(known.values(), default=0) + 1 for known in ids]
        self._inserted = list(found.following)

    # -- state -------------------------------------------------------------------------------------------------------

    def count(self) -> int:
        """How many subscriptions there are."""
        return int(self._engine.one("SELECT count(DISTINCT number) FROM conjunction"))

    # -- adding ------------------------------------------------------------------------------------------------------

    @contextmanager
    def adding(self) -> Iterator[Added]:
        """Inside, :meth:`add` adds subscriptions, all of them or, where something is raised, none."""
        before = list(self.dictionary.following)
        numbers = self.next_conjunction, self._next_equality, self._next_constant
        added = Added()
        try:
            with self._engine.transaction():
                yield added
        except BaseException:
            self._forget(before)
            self.next_conjunction, self._next_equality, self._next_constant = numbers
            raise

    def add(self, collector: Collector, added: Added) -> None:
        """Add what was collected.

        Raises :class:`DisseminationError` (HX9024) for a number that is in use.
        """
        if not len(collector):
            return
        self._refuse_known(collector.numbers)
        self._insert_names(added)
        found = collector.columns()
        first = self.next_conjunction
        conjunctions = found.conjunctions.append_column(
            "conjunction", pa.array(np.arange(first, first + len(found.conjunctions)))
        )
        self._insert_predicates(found.predicates, first)
        conjunctions = self._with_access(conjunctions, found.predicates)
        self._engine.insert("conjunction", conjunctions, list(_columns("conjunction")))
        self.next_conjunction += len(found.conjunctions)
        added.demand(found.predicates)

    def _forget(self, before: Sequence[int]) -> None:
        """Let go of what was named for subscriptions that could not be added."""
        known = self.dictionary
        named: tuple[dict[Any, int], ...] = (known.linear_paths, known.branchings, known.structures)
        for ids, first in zip(named, before, strict=True):
            for key, _ in _latest(ids, first):
                del ids[key]
        known.following[:] = self._inserted[:] = before

    def _insert_predicates(self, predicates: pa.Table, first: int) -> None:
        run = self._engine.run
        self._engine.table("given_predicate", predicates.append_column("turn", pa.array(_turns(predicates))))
        self._name_constants()
        run(
            "CREATE OR REPLACE TEMP TABLE incoming AS SELECT i.*, coalesce(t.constant, n.constant) AS constant"
            " FROM given_predicate AS i LEFT JOIN constant AS t ON i.operator = 0 AND t.text = i.text"
            " LEFT JOIN constant AS n ON i.operator = 0 AND n.number = i.number"
        )
        self._name_equalities()
        run(
            "INSERT INTO predicate SELECT i.conjunction + ?, i.place, i.turn, i.linear_path, i.operator, e.equality,"
            " CASE WHEN i.operator <> 0 THEN i.text END, CASE WHEN i.operator <> 0 THEN i.number END, i.branching"
            " FROM incoming AS i LEFT JOIN equality AS e ON e.linear_path = i.linear_path AND e.constant = i.constant"
            " ORDER BY 1, 2",
            first,
        )
        run("DROP TABLE incoming")
        run("DROP TABLE given_predicate")

    def _refuse_known(self, numbers: Sequence[int]) -> None:
        distinct, counts = np.unique(np.array(numbers, np.int64), return_counts=True)
        known = distinct[counts > 1].tolist()[:MOST_FAULTS]
        with self._engine.registered(pa.table({"number": distinct})) as given:
            known += [
                number
                for (number,) in self._engine.rows(
                    f"SELECT DISTINCT number FROM conjunction SEMI JOIN {given} USING (number) ORDER BY number LIMIT ?",
                    MOST_FAULTS,
                )
            ]
        if known:
            raise DisseminationError(
                Fault("HX9024", f"there is a subscription {number} already", hint="remove it first, or give another")
                for number in known[:MOST_FAULTS]
            )

    def _insert_names(self, added: Added) -> None:
        """Insert the linear paths, branching information and structures that are new."""
        known, inserted = self.dictionary, self._inserted
        paths = dict(_latest(known.linear_paths, inserted[0]))
        if paths:
            self._engine.insert("linear_path", linear_path_rows([(number, path) for path, number in paths.items()]))
        if points := [(number, *key) for key, number in _latest(known.branchings, inserted[1])]:
            self._engine.insert("linear_path_branching", branching_rows(points))
        if structures := [(number, found) for found, number in _latest(known.structures, inserted[2])]:
            self._engine.insert("structure", structure_rows(structures))
        self._inserted = list(known.following)
        added.linear_paths |= paths

    def _name_constants(self) -> None:
        """Give numbers to the constants of ``given_predicate`` that have none."""
        self._engine.run(
            "INSERT INTO constant SELECT ? + row_number() OVER (ORDER BY text, number), text, number FROM ("
            " SELECT DISTINCT text, number FROM given_predicate WHERE operator = 0"
            ") AS i WHERE NOT EXISTS (SELECT 1 FROM constant AS c WHERE c.text = i.text)"
            " AND NOT EXISTS (SELECT 1 FROM constant AS c WHERE c.number = i.number)",
            self._next_constant - 1,
        )
        self._next_constant = self._engine.one("SELECT coalesce(max(constant), 0) + 1 FROM constant")

    def _name_equalities(self) -> None:
        """Give numbers to the equalities of ``incoming`` that have none."""
        self._engine.run(
            "INSERT INTO equality"
            " SELECT ? + row_number() OVER (ORDER BY linear_path, constant), linear_path, constant FROM ("
            " SELECT DISTINCT linear_path, constant FROM incoming WHERE operator = 0"
            ") AS i WHERE NOT EXISTS (SELECT 1 FROM equality AS e WHERE e.linear_path = i.linear_path"
            " AND e.constant = i.constant)",
            self._next_equality - 1,
        )
        self._next_equality = self._engine.one("SELECT coalesce(max(equality), 0) + 1 FROM equality")

    def _with_access(self, conjunctions: pa.Table, predicates: pa.Table) -> pa.Table:
        """With the counts of conditions, and for what has no equality the linear path by which it is found."""
        conjunction = predicates.column("conjunction").to_numpy()
        operator = predicates.column("operator").to_numpy()
        path = predicates.column("linear_path").to_numpy()
        count = len(conjunctions)
        conditions = np.bincount(conjunction[operator != EQUAL], minlength=count)
        bare = np.flatnonzero((np.bincount(conjunction[operator == EQUAL], minlength=count) == 0)[conjunction])
        access = np.zeros(count, np.int64)
        if len(bare):
            # The rarest path that an inequality restricts, or else that there is.
            uses = np.bincount(path)
            best = bare[np.lexsort((uses[path[bare]], operator[bare] == EXISTS, conjunction[bare]))]
            which, places = np.unique(conjunction[best], return_index=True)
            access[which] = self._access_equalities(path[best[places]])
        return conjunctions.append_column("conditions", pa.array(conditions.astype(np.int32))).append_column(
            "access", pa.array(access.astype(np.int32))
        )

    def _access_equalities(self, paths: Any) -> Any:
        """The numbers of what asks for nodes of these linear paths; new ones are given where there is none."""
        distinct, inverse = np.unique(paths, return_inverse=True)
        with self._engine.registered(pa.table({"linear_path": distinct})) as given:
            found = self._engine.rows(
                f"SELECT linear_path, equality FROM equality SEMI JOIN {given} USING (linear_path) WHERE constant = 0"
            )
        known = dict(found)
        new = [path for path in distinct.tolist() if path not in known]
        for path in new:
            known[path] = self._next_equality
            self._next_equality += 1
        rows = pa.table(
            {
                "equality": pa.array([known[path] for path in new], pa.int32()),
                "linear_path": pa.array(new, pa.int32()),
                "constant": pa.array([0] * len(new), pa.int32()),
            }
        )
        self._engine.insert("equality", rows)
        return np.array([known[path] for path in distinct.tolist()], np.int64)[inverse]

    def mark(self, marks: Mapping[int, int]) -> None:
        """Keep marks of subscriptions, by number. To be called where they are added."""
        columns = {"number": list(marks), "mark": list(marks.values())}
        self._engine.insert("mark", pa.table({name: pa.array(found, pa.int64()) for name, found in columns.items()}))

    def marks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of all subscriptions, ascending, and their marks, -1 for one that has none."""
        found = self._engine.columns(
            "SELECT number, coalesce(min(mark), -1) AS mark FROM (SELECT DISTINCT number FROM conjunction)"
            " LEFT JOIN mark USING (number) GROUP BY number ORDER BY number"
        )
        return np.asarray(found["number"], np.int64), np.asarray(found["mark"], np.int64)

    # -- removing ----------------------------------------------------------------------------------------------------

    def remove(self, numbers: Iterable[int]) -> int:
        """Remove subscriptions; how many there were. Their predicates stay until :meth:`clean`."""
        given_numbers = pa.table({"number": pa.array(numbers, pa.int64())})
        with self._engine.registered(given_numbers) as given:
            found = self._engine.one(f"SELECT count(DISTINCT number) FROM conjunction SEMI JOIN {given} USING (number)")
            for table in ("conjunction", "mark"):
                self._engine.run(f"DELETE FROM {table} WHERE number IN (SELECT number FROM {given})")
        return int(found)

    def clean(self) -> None:
        """Remove what no subscription uses any more. To be called inside a transaction."""
        run = self._engine.run
        run("DELETE FROM predicate WHERE conjunction NOT IN (SELECT conjunction FROM conjunction)")
        run(
            "DELETE FROM equality WHERE equality NOT IN (SELECT equality FROM predicate WHERE equality IS NOT NULL"
            " UNION ALL SELECT access FROM conjunction)"
        )
        run(
            "DELETE FROM linear_path WHERE linear_path NOT IN (SELECT linear_path FROM predicate UNION ALL"
            " SELECT linear_path FROM equality)"
        )
        run("DELETE FROM constant WHERE constant NOT IN (SELECT constant FROM equality)")
        run("DELETE FROM linear_path_branching WHERE branching NOT IN (SELECT branching FROM predicate)")
        run("DELETE FROM structure WHERE structure NOT IN (SELECT structure FROM conjunction)")
        self.dictionary = Dictionary()
        self._read_dictionary()


def _turns(predicates: pa.Table) -> Any:
    """In which turn each condition of a conjunction is looked at: comparisons first. Those of equalities are 0."""
    operator = predicates.column("operator").to_numpy()
    conjunction = predicates.column("conjunction").to_numpy()
    at = np.flatnonzero(operator != EQUAL)
    at = at[np.lexsort((operator[at] == EXISTS, conjunction[at]))]
    starts = np.flatnonzero(np.r_[True, conjunction[at][1:] != conjunction[at][:-1]]) if len(at) else at
    turns = np.zeros(len(operator), np.int16)
    turns[at] = np.arange(len(at)) - np.repeat(starts, np.diff(np.r_[starts, len(at)])) + 1
    return turns


def _latest(ids: dict[T, int], first: int) -> list[tuple[T, int]]:
    """What was named last, from the number ``first`` on."""
    return list(takewhile(lambda each: each[1] >= first, reversed(ids.items())))[::-1]


def _columns(table: str) -> Iterable[str]:
    return (column.split()[0] for column in TABLES[table].split(", "))


# -- rows --------------------------------------------------------------------------------------------------------------


def linear_path_rows(paths: Sequence[tuple[int, LinearPath]]) -> pa.Table:
    """Rows of ``linear_path``."""
    return pa.table(
        {
            "linear_path": pa.array([number for number, _ in paths], pa.int32()),
            "path": pa.array([str(path) for _, path in paths], pa.string()),
            "prefix": pa.array([path.prefix for _, path in paths], pa.string()),
            "middle": pa.array([path.middle for _, path in paths], pa.string()),
            "postfix": pa.array([path.postfix for _, path in paths], pa.string()),
        }
    )


def branching_rows(found: Sequence[tuple[int, int, Points]]) -> pa.Table:
    """Rows of ``linear_path_branching``."""
    return pa.table(
        {
            "branching": pa.array([number for number, _, _ in found], pa.int32()),
            "linear_path": pa.array([path for _, path, _ in found], pa.int32()),
            "points": pa.array([printed_points(points) for _, _, points in found], pa.string()),
        }
    )


def structure_rows(found: Sequence[tuple[int, Sequence[Point]]]) -> pa.Table:
    """Rows of ``structure``."""
    rows = [(number, *point) for number, points in found for point in points]
    names = list(_columns("structure"))
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pa.table({name: pa.array(column, pa.int32()) for name, column in zip(names, columns, strict=True)})


def read_linear_path(path: str) -> LinearPath:
    """The linear path that is printed so.

    >>> print(read_linear_path("/a//@b"))
    /a//@b
    """
    return LinearPath(tuple(Step("//" if axis == "//" else "/", _test(test)) for axis, test in _STEP.findall(path)))


def _test(printed: str) -> str:
    """The node test that is printed so."""
    return printed.replace("Q{", "{", 1) if "{" in printed else printed


def printed_points(points: Points) -> str:
    """Branching points as the paper writes them.

    >>> printed_points((BranchingPoint(1, 2), BranchingPoint(2, 3)))
    'bp#1=2&bp#2=3'
    """
    return "&".join(f"bp#{number}={step}" for number, step in points)


def _read_points(points: str) -> Points:
    return tuple(
        BranchingPoint(int(number), int(step))
        for number, _, step in (point.removeprefix("bp#").partition("=") for point in points.split("&"))
    )
