"""Subscriptions: which of very many tree patterns a document matches, and who is notified (``dissemination.md``).

What is more than values is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.matching import stages as matching_statements
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
    from heptox.matching.branching import Branch, branches
    from heptox.matching.broker import (
        AllAdded,
        Broker,
        Matcher,
        PublishOutcome,
        kept_patterns,
        named_requests,
        read_subscriptions,
    )
    from heptox.matching.database import BUSY_SECONDS, Database, FileFormat
    from heptox.matching.disk import DiskMatcher
    from heptox.matching.followed import (
        Answers,
        Followed,
        FollowedAnswers,
        ask_document,
        of_one_document,
        parse_followed,
    )
    from heptox.matching.linear_path import LinearPath, Step
    from heptox.matching.log import BATCH, MOST_BATCH, SubscriptionLog
    from heptox.matching.log_publishing import Retention
    from heptox.matching.mapped_paths import Labels, MappedElement, MappedLeaf
    from heptox.matching.memory import MemoryMatcher
    from heptox.matching.messages import Shredder
    from heptox.matching.path_match import PathMatch
    from heptox.matching.pattern_table import Numbers
    from heptox.matching.relational import PLANS, Matches, Plan, RelationalMatcher
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
    "Broker",
    "Database",
    "DeadLetter",
    "Delivery",
    "DiskMatcher",
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
    "named_requests",
    "of_one_document",
    "parse_followed",
    "read_subscriptions",
]

__getattr__ = later(
    __name__,
    {
        "branching": ("Branch", "branches"),
        "broker": (
            "AllAdded",
            "Broker",
            "Matcher",
            "PublishOutcome",
            "kept_patterns",
            "named_requests",
            "read_subscriptions",
        ),
        "database": ("BUSY_SECONDS", "Database", "FileFormat"),
        "followed": ("Answers", "Followed", "FollowedAnswers", "ask_document", "of_one_document", "parse_followed"),
        "linear_path": ("LinearPath", "Step"),
        "log": ("BATCH", "MOST_BATCH", "SubscriptionLog"),
        "log_publishing": ("Retention",),
        "mapped_paths": ("Labels", "MappedElement", "MappedLeaf"),
        "relational": ("Matches", "PLANS", "Plan", "RelationalMatcher"),
        "disk": ("DiskMatcher",),
        "memory": ("MemoryMatcher",),
        "pattern_table": ("Numbers",),
        "path_match": ("PathMatch",),
        "messages": ("Shredder",),
        "tag_paths": ("TagPaths",),
    },
)
