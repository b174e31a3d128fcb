"""The paths of a schema that a mapping speaks of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from heptox.schema.tree import Path


@dataclass(frozen=True, slots=True)
class DrawnPaths:
    """Some paths and all above them, and what is below those that are taken ``whole``.

    >>> drawn = DrawnPaths.of([("a", "b"), ("c",)], [("c",)])
    >>> [path in drawn for path in ((), ("a",), ("a", "b"), ("a", "b", "d"), ("c", "d"))]
    [True, True, True, False, True]
    """

    paths: frozenset[Path]
    whole: frozenset[Path]

    @classmethod
    def of(cls, ends: Iterable[Path], whole: Iterable[Path]) -> DrawnPaths:
        """Those with these ends."""
        return cls(
            frozenset(path[:length] for path in ends for length in range(len(path) + 1)),
            frozenset(whole),
        )

    def __contains__(self, path: object) -> bool:
        return path in self.paths or (
            isinstance(path, tuple) and any(path[:length] in self.whole for length in range(len(path)))
        )

    @property
    def depth(self) -> int:
        """How many steps the longest of the paths has."""
        return max(map(len, self.paths), default=0)
