"""Selections: a step with conditions on the single-valued leaves of its node (``semantics.md`` section 2).

In paths a selection is one step, ``{urn:a}field[...]``: the name of the element, and the conditions in one form, so two
selections are one virtual node exactly when their steps are equal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias

Path: TypeAlias = tuple[str, ...]
Test: TypeAlias = Literal["=", "!=", "exists", "not"]

SELF: Final = "."
"""The step before a selection of the document as a whole: ``.[leader/type = "am"]``."""


@dataclass(frozen=True, slots=True, order=True)
class SelectionTest:
    """A condition of a selection on the leaf at ``path`` below its node: that it equals one of ``values`` (``=``), is
    there and differs from the one value (``!=``), is there (``exists``), or is not there (``not``).
    """

    test: Test
    path: Path
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.test in ("=", "!=")) != bool(self.values) or (self.test == "!=" and len(self.values) > 1):
            raise ValueError("a comparison has values, != one; the other conditions have none")


def selection_step(name: str, conditions: tuple[SelectionTest, ...]) -> str:
    """The step of a selection; the name alone where it has no conditions.

    >>> selection_step("field", (SelectionTest("=", ("@tag",), ("245",)),))
    'field[["=",["@tag"],["245"]]]'
    """
    if not conditions:
        return name
    written = [[one.test, one.path, sorted(set(one.values))] for one in sorted(set(conditions))]
    return name + json.dumps(written, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def split_selection(step: str) -> tuple[str, tuple[SelectionTest, ...]]:
    """The name of a step, and its conditions; none for a step that is no selection.

    >>> split_selection('{urn:a}field[["exists",["@tag"],[]]]')
    ('{urn:a}field', (SelectionTest(test='exists', path=('@tag',), values=()),))
    >>> split_selection("[Box]")
    ('[Box]', ())
    """
    at = step.find("[", step.find("}") + 1)
    if at < 1 or step.startswith("="):
        return step, ()
    found = json.loads(step[at:])
    return step[:at], tuple(SelectionTest(test, tuple(path), tuple(values)) for test, path, values in found)


def plain(path: Path) -> Path:
    """The path without conditions: that of the schema node which a virtual one stands beside.

    >>> plain(("record", 'field[["exists",["@tag"],[]]]', "@tag"))
    ('record', 'field', '@tag')
    """
    if not any("[" in step for step in path):
        return path
    return tuple(split_selection(step)[0] for step in path)
