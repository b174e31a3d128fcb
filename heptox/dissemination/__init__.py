"""Subscriptions: which of very many tree patterns a document matches, and who is told (``dissemination.md``)."""

from heptox.dissemination.broker import AllAdded, Broker, Matcher, Told, new_matcher, read_subscriptions
from heptox.dissemination.linear_path import LinearPath, Step
from heptox.dissemination.log import BATCH, MOST_BATCH, Retention, SubscriptionLog
from heptox.dissemination.subscriptions import (
    MOST_BACKLOG,
    MOST_BACKLOG_BYTES,
    MOST_PUBLISHED,
    Added,
    DeadLetter,
    Notification,
    Options,
    Policy,
    Publication,
    Published,
    Subscription,
    Totals,
    Wanted,
)

__all__ = [
    "BATCH",
    "MOST_BACKLOG",
    "MOST_BACKLOG_BYTES",
    "MOST_BATCH",
    "MOST_PUBLISHED",
    "Added",
    "AllAdded",
    "Broker",
    "DeadLetter",
    "LinearPath",
    "Matcher",
    "Notification",
    "Options",
    "Policy",
    "Publication",
    "Published",
    "Retention",
    "Step",
    "Subscription",
    "SubscriptionLog",
    "Told",
    "Totals",
    "Wanted",
    "new_matcher",
    "read_subscriptions",
]
