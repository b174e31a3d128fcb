"""The only place where XML text is parsed and written; limits on size, depth and entities; no network."""

from __future__ import annotations


def escaped_name(value: str) -> str:
    raise NotImplementedError


def unescaped_name(name: str) -> str:
    raise NotImplementedError
