"""The automata of paths, each made once for many decisions."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from heptox.matching import LinearPath
from heptox.routing.reading import Positions, Reader

NOWHERE: Final[Positions] = 0
"""The path can match nothing that comes."""


@lru_cache(maxsize=1 << 11)
def reader(path: LinearPath) -> Reader:
    """The automaton of a path, kept for the next decision."""
    return Reader(path)
