"""A query that a neighbour was asked on behalf of an arrival: what has come of it, and whether that may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from heptox.peer.query.bounds import Limits, size_of
from heptox.peer.wire.messages import (
    ITEM_LIMIT,
    UNREAD,
    Answers,
    Cancel,
    End,
    Error,
    HopPath,
    PeerId,
    Query,
    ReceiptLine,
    Status,
    peers_of,
)
from heptox.printable import printable

UNEXPECTED: Final = "a message came that is not expected here"


@dataclass(slots=True)
class ForwardedQuery:
    """A neighbour was asked for one arrival: ``text`` is the query as it was translated for it, ``losses`` what that
    leaves out, and ``counts`` the items that came, by the peers of their origin."""

    message: Query
    began: float
    text: str
    losses: tuple[str, ...]
    counts: dict[tuple[PeerId, ...], tuple[HopPath, int]] = field(default_factory=dict)

    @property
    def path(self) -> HopPath:
        return self.message.path

    def along(self, path: HopPath) -> HopPath:
        """A path that the neighbour says, with the names by which the peers up to it are known here."""
        return (*self.path, *path[len(self.path) :])

    def count(self, origin: HopPath, items: int) -> None:
        """So many items more have come from an origin."""
        peers = peers_of(origin)
        self.counts[peers] = (origin, self.counts.get(peers, (origin, 0))[1] + items)

    def received(self, receipt: tuple[ReceiptLine, ...], milliseconds: int) -> Iterator[ReceiptLine]:
        """The lines of the neighbour's receipt, after counting what it says against what came.

        ``milliseconds`` are those from the question to now. What no line speaks of stays in ``counts``.
        """
        for line in receipt:
            path = self.along(line.path)
            _, came = self.counts.pop(peers_of(path), (path, 0))
            line = replace(line, path=path, text=line.text if self.message.explain else "")
            if came != line.items:
                reason = f"{line.items} items were announced, {came} came"
                line = replace(line, status=Status.FAILED, items=came, reason=reason)
            if len(path) == len(self.path):
                text = self.text if self.message.explain else ""
                losses = (*map(printable, self.losses), *line.losses)  # ours on the way there, and what it hides
                line = replace(line, losses=losses, text=text, milliseconds=milliseconds)
            yield line

    def unfinished(self, status: Status, reason: str, milliseconds: int) -> Iterator[ReceiptLine]:
        """Lines for the neighbour, and for those behind it whose items have come: their answers are not whole."""
        _, came = self.counts.pop(peers_of(self.path), (self.path, 0))
        yield ReceiptLine(self.path, status, came, self.losses, reason, self.text, milliseconds, beyond=True)
        reason = f"{self.path[-1].name}, on the way, did not end its answer"
        for path, came in self.counts.values():
            yield ReceiptLine(path, status, came, (), reason, "", milliseconds, beyond=True)

    def violation(self, message: Answers | End | Error | Cancel, limits: Limits) -> str | None:
        """What is wrong with a message of the neighbour, if anything."""
        if message.query != self.message.query and not (isinstance(message, Error) and message.query == UNREAD):
            return "it names another query"
        match message:
            case Cancel():
                return UNEXPECTED
            case Answers():
                return self._violation_of_answers(message, limits)
            case End():
                return self._violation_of_receipt(message.receipt, limits)
            case Error():
                return None

    def _violation_of_answers(self, message: Answers, limits: Limits) -> str | None:
        if not self._leads_through(message.origin):
            return "items come from where it was not asked"
        if len(self.counts) >= limits.lines and peers_of(message.origin) not in self.counts:
            return "its items have too many origins"
        if any(size_of(item) > ITEM_LIMIT for item in message.items):
            return "an item is too long"
        return None

    def _violation_of_receipt(self, receipt: tuple[ReceiptLine, ...], limits: Limits) -> str | None:
        paths = [peers_of(line.path) for line in receipt]
        if peers_of(self.path) not in paths or len(set(paths)) < len(paths):
            return "its receipt does not have one line for each path"
        if len(paths) > limits.lines or not all(self._leads_through(line.path) for line in receipt):
            return "its receipt speaks of paths that are not behind it"
        return None

    def _leads_through(self, path: HopPath) -> bool:
        """Whether a path leads through the neighbour, and no further than it was allowed to ask."""
        start = len(self.path)
        return peers_of(path[:start]) == peers_of(self.path) and len(path) <= start + self.message.hops
