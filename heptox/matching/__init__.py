"""Subscriptions: which of very many tree patterns a document matches, and who is notified (``dissemination.md``).

What is more than values is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.doors import later
from heptox.matching import stages
from heptox.matching.subscriptions import (
    MOST_BACKLOG as MOST_BACKLOG,
    MOST_BACKLOG_BYTES as MOST_BACKLOG_BYTES,
    MOST_NODES as MOST_NODES,
    MOST_PUBLISHED as MOST_PUBLISHED,
    DeadLetter as DeadLetter,
    Delivery as Delivery,
    Matched as Matched,
    Notification as Notification,
    Options as Options,
    Policy as Policy,
    Publication as Publication,
    Published as Published,
    Subscription as Subscription,
    SubscriptionRequest as SubscriptionRequest,
    Totals as Totals,
    Words as Words,
)

if TYPE_CHECKING:
    from heptox.matching.branching import branches as branches
    from heptox.matching.broker import (
        AllAdded as AllAdded,
        Broker as Broker,
        Matcher as Matcher,
        PublishOutcome as PublishOutcome,
        kept_patterns as kept_patterns,
        named_requests as named_requests,
        read_subscriptions as read_subscriptions,
    )
    from heptox.matching.database import BUSY_SECONDS as BUSY_SECONDS, Database as Database, FileFormat as FileFormat
    from heptox.matching.disk import DiskMatcher as DiskMatcher
    from heptox.matching.followed import (
        Answers as Answers,
        Followed as Followed,
        FollowedAnswers as FollowedAnswers,
        ask_document as ask_document,
        of_one_document as of_one_document,
        parse_followed as parse_followed,
    )
    from heptox.matching.linear_path import LinearPath as LinearPath, Step as Step
    from heptox.matching.log import BATCH as BATCH, MOST_BATCH as MOST_BATCH, SubscriptionLog as SubscriptionLog
    from heptox.matching.log_publishing import Retention as Retention
    from heptox.matching.mapped_paths import Labels as Labels, MappedElement as MappedElement, MappedLeaf as MappedLeaf
    from heptox.matching.memory import MemoryMatcher as MemoryMatcher
    from heptox.matching.messages import Shredder as Shredder
    from heptox.matching.path_match import PathMatch as PathMatch
    from heptox.matching.pattern_table import Numbers as Numbers
    from heptox.matching.relational import (
        PLANS as PLANS,
        Plan as Plan,
        RelationalMatcher as RelationalMatcher,
    )
    from heptox.matching.tag_paths import TagPaths as TagPaths


matching_statements = stages

__getattr__ = later(__name__)
