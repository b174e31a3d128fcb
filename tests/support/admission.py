"""Who may open streams at a transport under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from heptox.peer.wire.messages import Error, PeerId


@dataclass(frozen=True)
class Rules:
    """An :class:`heptox.peer.wire.transport.Admission` of two functions."""

    denial: Callable[[PeerId], Error | None] = lambda _: None
    acquainted: Callable[[PeerId], bool] = lambda _: False
