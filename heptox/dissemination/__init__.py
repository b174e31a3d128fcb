"""Subscriptions: which of very many tree patterns a document matches (``dissemination.md``).

What needs numpy is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from heptox.dissemination.branches import Branch, BranchingPoint, branches
from heptox.dissemination.linear_path import LinearPath, Step

if TYPE_CHECKING:
    from heptox.dissemination.memory import MemoryMatcher
    from heptox.dissemination.path_match import PathMatch
    from heptox.dissemination.relational import PLANS, Matches, Plan, RelationalMatcher
    from heptox.dissemination.tag_paths import TagPaths

__all__ = [
    "PLANS",
    "Branch",
    "BranchingPoint",
    "LinearPath",
    "Matches",
    "MemoryMatcher",
    "PathMatch",
    "Plan",
    "RelationalMatcher",
    "Step",
    "TagPaths",
    "branches",
]

_MODULES: Final = {
    "PLANS": "relational",
    "Matches": "relational",
    "MemoryMatcher": "memory",
    "PathMatch": "path_match",
    "Plan": "relational",
    "RelationalMatcher": "relational",
    "TagPaths": "tag_paths",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"heptox.dissemination.{_MODULES[name]}"), name)
