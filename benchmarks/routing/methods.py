"""The four methods of the paper, of which peers use the last: with advertisements and covering, or without.

Source: section 6.3 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from heptox.feed import Event, Instruction, Method, Publishes, Router
from heptox.routing import Change, CoveringIndex, Patterns


@dataclass(frozen=True, slots=True)
class PaperMethod(Method):
    """A method that may do without ``advertisements``: every publisher may publish anything; or without ``covering``:
    neighbours are sent all that is wanted."""

    advertisements: bool = True
    covering: bool = True

    def index(self) -> CoveringIndex[int]:
        return CoveringIndex() if self.covering else NoCovering()


METHODS: Final[Mapping[str, PaperMethod]] = {
    "neither": PaperMethod(advertisements=False, covering=False),
    "covering": PaperMethod(advertisements=False, covering=True),
    "advertisements": PaperMethod(advertisements=True, covering=False),
    "both": PaperMethod(advertisements=True, covering=True),
}
"""The four methods of the paper, by what they use."""


class PaperRouter(Router):
    """Routes by a :class:`PaperMethod`, or as peers do."""

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        if isinstance(event, Publishes) and isinstance(self.method, PaperMethod) and not self.method.advertisements:
            event = replace(event, advertisement=None)
        return super().handle(event, now)


class NoCovering(CoveringIndex[int]):
    """The index of those who do without covering: nothing covers anything."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[int, None] = {}

    def add_many(self, subscriptions: Iterable[tuple[int, Patterns]]) -> Change[int]:
        new = tuple(identity for identity, _ in subscriptions)
        self._known.update(dict.fromkeys(new))
        return Change(exposed=new)

    def remove(self, identity: int) -> Change[int]:
        del self._known[identity]
        return Change(withdrawn=(identity,))

    @property
    def roots(self) -> tuple[int, ...]:
        return tuple(self._known)
