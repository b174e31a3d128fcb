"""Subscriptions: which of very many tree patterns a document matches, and who is told (``dissemination.md``)."""

from heptox.dissemination.linear_path import LinearPath, Step
from heptox.dissemination.log import BATCH, MOST_BATCH, Retention, SubscriptionLog
from heptox.dissemination.subscriptions import (
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
    "MOST_BATCH",
    "Added",
    "DeadLetter",
    "LinearPath",
    "Notification",
    "Options",
    "Policy",
    "Publication",
    "Published",
    "Retention",
    "Step",
    "Subscription",
    "SubscriptionLog",
    "Totals",
    "Wanted",
]
