"""Rewriting: subscriptions in one schema, documents in another (``rewriting.md``)."""

from heptox.dissemination.rewriting.translated import TranslatedSubscription, translate_subscription

__all__ = ["TranslatedSubscription", "translate_subscription"]
