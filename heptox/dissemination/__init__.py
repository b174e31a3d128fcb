"""Subscriptions: which of very many tree patterns a document matches, and durable ones at a peer (``dissemination.md``)."""

from heptox.dissemination.linear_path import LinearPath, Step

__all__ = ["LinearPath", "Step"]
