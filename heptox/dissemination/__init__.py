"""Subscriptions: which of very many tree patterns a document matches, and who is told (``dissemination.md``).

What needs numpy is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from heptox.dissemination import stages as matching_statements
from heptox.dissemination.branches import Branch, BranchingPoint, branches
from heptox.dissemination.broker import AllAdded, Broker, Matcher, Told, kept_patterns, read_subscriptions
from heptox.dissemination.followed import Answers, Asked, Followed, ask_document, parse_followed
from heptox.dissemination.linear_path import LinearPath, Step
from heptox.dissemination.log import BATCH, MOST_BATCH, Retention, SubscriptionLog
from heptox.dissemination.subscriptions import (
    MOST_BACKLOG,
    MOST_BACKLOG_BYTES,
    MOST_NODES,
    MOST_PUBLISHED,
    Added,
    DeadLetter,
    Delivery,
    Matched,
    Notification,
    Options,
    Policy,
    Publication,
    Published,
    Subscription,
    Totals,
    Wanted,
    Words,
)

if TYPE_CHECKING:
    from heptox.dissemination.disk import DiskMatcher
    from heptox.dissemination.memory import MemoryMatcher
    from heptox.dissemination.messages import Shredder
    from heptox.dissemination.path_match import PathMatch
    from heptox.dissemination.relational import PLANS, Exported, Matches, Plan, RelationalMatcher
    from heptox.dissemination.tag_paths import TagPaths

__all__ = [
    "BATCH",
    "MOST_BACKLOG",
    "MOST_BACKLOG_BYTES",
    "MOST_BATCH",
    "MOST_NODES",
    "MOST_PUBLISHED",
    "PLANS",
    "Added",
    "AllAdded",
    "Answers",
    "Asked",
    "Branch",
    "BranchingPoint",
    "Broker",
    "DeadLetter",
    "Delivery",
    "DiskMatcher",
    "Exported",
    "Followed",
    "LinearPath",
    "Matched",
    "Matcher",
    "Matches",
    "MemoryMatcher",
    "Notification",
    "Options",
    "PathMatch",
    "Plan",
    "Policy",
    "Publication",
    "Published",
    "RelationalMatcher",
    "Retention",
    "Shredder",
    "Step",
    "Subscription",
    "SubscriptionLog",
    "TagPaths",
    "Told",
    "Totals",
    "Wanted",
    "Words",
    "ask_document",
    "branches",
    "kept_patterns",
    "matching_statements",
    "parse_followed",
    "read_subscriptions",
]

_MODULES: Final = {
    "PLANS": "relational",
    "Exported": "relational",
    "Matches": "relational",
    "DiskMatcher": "disk",
    "MemoryMatcher": "memory",
    "PathMatch": "path_match",
    "Plan": "relational",
    "RelationalMatcher": "relational",
    "Shredder": "messages",
    "TagPaths": "tag_paths",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"heptox.dissemination.{_MODULES[name]}"), name)
