"""Subscriptions: which of very many tree patterns a document matches, and who is notified (``dissemination.md``).

What needs numpy is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from heptox.matching import stages as matching_statements
from heptox.matching.branches import Branch, BranchingPoint, branches
from heptox.matching.broker import AllAdded, Broker, Matcher, PublishOutcome, kept_patterns, read_subscriptions
from heptox.matching.database import BUSY_SECONDS, Database, FileFormat
from heptox.matching.followed import Answers, Followed, FollowedAnswers, ask_document, parse_followed
from heptox.matching.linear_path import LinearPath, Step
from heptox.matching.log import BATCH, MOST_BATCH, SubscriptionLog
from heptox.matching.log_publishing import Retention
from heptox.matching.mapped_paths import Labels, MappedElement, MappedLeaf
from heptox.matching.subscriptions import (
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
    SubscriptionRequest,
    Totals,
    Words,
)

if TYPE_CHECKING:
    from heptox.matching.disk import DiskMatcher
    from heptox.matching.memory import MemoryMatcher
    from heptox.matching.messages import Shredder
    from heptox.matching.path_match import PathMatch
    from heptox.matching.pattern_table import Numbers
    from heptox.matching.relational import PLANS, Exported, Matches, Plan, RelationalMatcher
    from heptox.matching.tag_paths import TagPaths

__all__ = [
    "BATCH",
    "BUSY_SECONDS",
    "MOST_BACKLOG",
    "MOST_BACKLOG_BYTES",
    "MOST_BATCH",
    "MOST_NODES",
    "MOST_PUBLISHED",
    "PLANS",
    "Added",
    "AllAdded",
    "Answers",
    "Branch",
    "BranchingPoint",
    "Broker",
    "Database",
    "DeadLetter",
    "Delivery",
    "DiskMatcher",
    "Exported",
    "FileFormat",
    "Followed",
    "FollowedAnswers",
    "Labels",
    "LinearPath",
    "MappedElement",
    "MappedLeaf",
    "Matched",
    "Matcher",
    "Matches",
    "MemoryMatcher",
    "Notification",
    "Numbers",
    "Options",
    "PathMatch",
    "Plan",
    "Policy",
    "Publication",
    "PublishOutcome",
    "Published",
    "RelationalMatcher",
    "Retention",
    "Shredder",
    "Step",
    "Subscription",
    "SubscriptionLog",
    "SubscriptionRequest",
    "TagPaths",
    "Totals",
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
    "Numbers": "pattern_table",
    "PathMatch": "path_match",
    "Plan": "relational",
    "RelationalMatcher": "relational",
    "Shredder": "messages",
    "TagPaths": "tag_paths",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"heptox.matching.{_MODULES[name]}"), name)
