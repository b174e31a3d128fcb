"""Subscriptions: which of very many tree patterns a document matches (``dissemination.md``)."""

from heptox.dissemination.linear_path import LinearPath, Step

__all__ = ["LinearPath", "Step"]
