"""``PathMatch`` and the positions of branching points as tables, for the tag paths of the documents that came.

They are caches: what is here is found again from the linear paths and from documents. The tables are temporary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from heptox.matching.engine import Engine
from heptox.matching.linear_path import LinearPath
from heptox.matching.path_match import PathMatch
from heptox.matching.shapes import Points
from heptox.matching.tag_paths import TagPaths

_MANY: Final = 2000
"""From how many new linear paths on all tag paths are looked at anew, rather than each linear path."""


class PathMatches:
    """Which linear paths match the tag paths of documents, and what is asked of the nodes there.

    ``demands`` are flags of :mod:`heptox.matching.messages`, by the number of the linear path.
    """

    def __init__(self, engine: Engine, tag_paths: TagPaths) -> None:
        self.tag_paths = tag_paths
        self._engine = engine
        engine.run("CREATE OR REPLACE TEMP TABLE path_match (tag_path INTEGER, linear_path INTEGER)")
        engine.run(
            "CREATE OR REPLACE TEMP TABLE tag_path_branching"
            " (tag_path INTEGER, branching INTEGER, point INTEGER, level INTEGER, placement INTEGER, depth INTEGER)"
        )
        engine.run("CREATE OR REPLACE TEMP TABLE placement (placement INTEGER, parent INTEGER, parent_depth INTEGER)")
        self._match = PathMatch(tag_paths)
        self._numbers = np.zeros(0, np.int32)
        self._inside: dict[int, int] = {}
        self._demands = np.zeros(1, np.int8)
        self._placements: dict[tuple[int, ...], int] = {}
        self._begin()

    def _begin(self) -> None:
        """Nothing is known of any tag path."""
        self._generation = self.tag_paths.generation
        self._evaluated: set[int] = set()
        self._new: list[tuple[int, Any]] = []
        for table in ("path_match", "tag_path_branching"):
            self._engine.run(f"DELETE FROM {table}")

    def check(self) -> bool:
        """Whether tag paths still have the numbers that they had; if not, nothing is known any more."""
        if self._generation == self.tag_paths.generation:
            return True
        self._begin()
        return False

    # -- linear paths ------------------------------------------------------------------------------------------------

    def add(self, paths: Mapping[LinearPath, int]) -> None:
        """Linear paths that are new, by their numbers."""
        inside = {self._match.add(path): number for path, number in paths.items()}
        self._inside.update({number: own for own, number in inside.items()})
        if self._match.capacity > len(self._numbers):
            self._numbers = np.resize(self._numbers, 2 * self._match.capacity)
        for own, number in inside.items():
            self._numbers[own] = number
        if len(inside) > _MANY:
            self._begin()
        elif self._evaluated:
            for own, number in inside.items():
                matched = [each for each in self._match.tag_paths_of(own).tolist() if each in self._evaluated]
                self._new += [(each, np.array([number], np.int32)) for each in matched]

    def demand(self, linear_path: Any, flags: Any) -> None:
        """What is asked of the nodes of linear paths, beside what was."""
        if len(linear_path) and int(linear_path.max()) >= len(self._demands):
            grown = np.zeros(2 * int(linear_path.max()) + 1, np.int8)
            grown[: len(self._demands)] = self._demands
            self._demands = grown
        np.bitwise_or.at(self._demands, linear_path, flags)

    def wanted(self, tag_path: int) -> int:
        """What is asked of the nodes of a tag path."""
        numbers = self._numbers[self._match.matches(tag_path)]
        if tag_path not in self._evaluated:
            self._evaluated.add(tag_path)
            if len(numbers):
                self._new.append((tag_path, numbers))
        return int(np.bitwise_or.reduce(self._demands[numbers])) if len(numbers) else 0

    def demanded(self, linear_path: int) -> int:
        """What is asked of the nodes of a linear path."""
        return int(self._demands[linear_path]) if linear_path < len(self._demands) else 0

    def flush(self) -> None:
        """Bring the table up to date."""
        if not self._new:
            return
        counts = [len(numbers) for _, numbers in self._new]
        tag_paths = np.repeat(np.array([tag_path for tag_path, _ in self._new], np.int32), counts)
        rows = {"tag_path": tag_paths, "linear_path": np.concatenate([numbers for _, numbers in self._new])}
        self._engine.insert("path_match", pa.table(rows))
        self._new.clear()

    def tag_paths_of(self, linear_path: int) -> Any:
        """The tag paths that a linear path matches."""
        return self._match.tag_paths_of(self._inside[linear_path])

    def matching(self, tag_path: int) -> int:
        """How many linear paths match a tag path."""
        return len(self._match.matches(tag_path))

    # -- branching points --------------------------------------------------------------------------------------------

    def place(self, pairs: Iterable[tuple[int, int]], branchings: Mapping[int, tuple[int, Points]]) -> None:
        """Add the positions of branching points: for tag paths and branching information, which they are of."""
        rows: list[tuple[int, ...]] = []
        before = len(self._placements)
        for tag_path, branching in pairs:
            linear_path, points = branchings[branching]
            steps = [point.step - 1 for point in points]
            for depths in self._match.positions(self._inside[linear_path], tag_path, steps):
                placement = self._placement(depths)
                rows.append((tag_path, branching, points[-1].number, len(points), placement, depths[-1]))
        self._append("tag_path_branching", rows)
        self._append(
            "placement",
            [
                (number, self._placements.get(depths[:-1], 0), depths[-2] if len(depths) > 1 else 0)
                for depths, number in list(self._placements.items())[before:]
            ],
        )

    def _placement(self, depths: tuple[int, ...]) -> int:
        """The number of the depths of branching points, all of which are above each other."""
        number = self._placements.get(depths)
        if number is None:
            if len(depths) > 1:
                self._placement(depths[:-1])
            number = self._placements[depths] = len(self._placements) + 1
        return number

    def _append(self, table: str, rows: list[tuple[int, ...]]) -> None:
        if rows:
            names = [row[0] for row in self._engine.rows(f"SELECT column_name FROM (DESCRIBE {table})")]
            arrays = [pa.array(column, pa.int32()) for column in zip(*rows, strict=True)]
            self._engine.insert(table, pa.table(dict(zip(names, arrays, strict=True))), names)
