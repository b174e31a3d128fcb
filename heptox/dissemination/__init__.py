"""Subscriptions: which of very many tree patterns a document matches (``dissemination.md``)."""

from heptox.dissemination.branches import Branch, BranchingPoint, branches
from heptox.dissemination.linear_path import LinearPath, Step

__all__ = ["Branch", "BranchingPoint", "LinearPath", "Step", "branches"]
