"""Queries that a peer answers: what has come of each, what may still come, and the lines of its receipt.

One is an arrival: of a query id, along one path. The own user's arrives from nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from heptox.errors import PeerError
from heptox.peer.query.bounds import Limits, cost_of, digest_of, size_of
from heptox.peer.query.events import Exchange, Task
from heptox.peer.query.forwarded_query import ForwardedQuery
from heptox.peer.query.signing import ItemDigests
from heptox.peer.wire.messages import (
    ITEM_COST,
    ITEM_LIMIT,
    End,
    Error,
    HopPath,
    Query,
    ReceiptLine,
    Status,
    encode,
    is_item,
)
from heptox.printable import printable

NO_BUDGET: Final = "the byte budget of the query is used up"


@dataclass(slots=True)
class Arrival:
    """A query that this peer answers along one path; ``exchange`` is ``None`` for a query of the own user.

    ``budget`` is what is left of it, and ``items`` of the items that may come; ``task`` the evaluation that its own
    items come from, ``None`` once they have ended, and ``text`` the query as the own user has asked it.
    """

    query: Query
    exchange: Exchange | None
    began: float
    deadline: float
    budget: int
    items: int
    text: str = ""
    task: Task | None = None
    own_items: int = 0
    unsendable: int = 0
    delivered: set[bytes] = field(default_factory=set)
    translating: dict[Task, HopPath] = field(default_factory=dict)
    forwarded: dict[Exchange, ForwardedQuery] = field(default_factory=dict)
    lines: list[ReceiptLine] = field(default_factory=list)
    digests: ItemDigests = field(default_factory=ItemDigests)

    @property
    def path(self) -> HopPath:
        return self.query.path

    @property
    def is_pending(self) -> bool:
        """Whether something is still to come."""
        return bool(self.task or self.translating or self.forwarded)

    def report(self, line: ReceiptLine, sign: Callable[[ReceiptLine], ReceiptLine] = lambda line: line) -> None:
        """Put a line of this peer's into the receipt: what it says can be printed, and has a translation where that was
        asked for; that of the peer itself can be ``sign`` ed."""
        text = line.text if self.query.explain else ""
        losses, reason = tuple(map(printable, line.losses)), printable(line.reason)
        self.lines.append(sign(replace(line, losses=losses, reason=reason, text=text)))

    def admit(self, items: Iterable[str], limits: Limits) -> tuple[list[str], str | None]:
        """Take items off what may come: those that may be sent, and what the others exceed if these are not all."""
        admitted: list[str] = []
        for item in items:
            sendable = self.exchange is None or (size_of(item) <= ITEM_LIMIT and is_item(item))
            cost = cost_of(item) if sendable else ITEM_COST
            if not self.items:
                return admitted, f"it has brought {limits.items} items, the most that may"
            if cost > self.budget:
                return admitted, NO_BUDGET
            self.budget -= cost
            self.items -= 1
            if sendable:
                admitted.append(item)
            else:
                self.unsendable += 1
        return admitted, None

    def deliver(self, items: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Items for the own user: those that were not delivered before, and those that were."""
        fresh: list[str] = []
        repeated: list[str] = []
        for item in items:
            digest = digest_of(item)
            (repeated if digest in self.delivered else fresh).append(item)
            self.delivered.add(digest)
        return tuple(fresh), tuple(repeated)

    def receipt(self) -> tuple[ReceiptLine, ...]:
        """The lines of all paths: parents before those behind them, whatever came first."""
        return tuple(sorted(self.lines, key=lambda line: [(hop.name, hop.peer) for hop in line.path]))


def ending(query: str, lines: tuple[ReceiptLine, ...], limits: Limits) -> End | Error:
    """The receipt as a message, or an error where it has too many lines: none may get lost silently."""
    return End(query, lines) if len(lines) <= limits.lines else _too_long(query, lines)


def encoded_ending(ending: End) -> tuple[End | Error, bytes]:
    """A receipt as it is sent: without the texts of translations where these are too much for a message, then without
    the digests of those that were not asked, and an error where the rest is, too. Long ones take some time."""
    short = tuple(replace(line, text="") for line in ending.receipt)
    for receipt in (ending.receipt, short, tuple(replace(line, behind=()) for line in short)):
        fitting = End(ending.query, receipt)
        with suppress(PeerError):
            return fitting, encode(fitting)
    error = _too_long(ending.query, ending.receipt)
    return error, encode(error)


def _too_long(query: str, lines: tuple[ReceiptLine, ...]) -> Error:
    return Error(query, Status.FAILED, f"its receipt of {len(lines)} lines is too long to be sent")
