"""Which neighbours are asked for which arrivals: translations under way for them, and exchanges with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from heptox.peer.query.arrivals import Arrival
from heptox.peer.query.events import (
    Ask,
    Exchange,
    Instruction,
    Neighbour,
    Send,
    Stop,
    Task,
    Translate,
    Translated,
    Untranslated,
)
from heptox.peer.query.forwarded_query import ForwardedQuery
from heptox.peer.query.reach import Reach
from heptox.peer.wire.messages import Cancel, Hop, HopPath, ReceiptLine, Status
from heptox.printable import printable

HOP_COST: Final = 1024
"""Bytes that a hop takes off the budget."""
HOP_SECONDS: Final = 0.2
HOP_SHARE: Final = 0.1
"""How much earlier a neighbour must give up than we do: a share of the remaining time, and at least so many seconds."""


class Forwarding:
    """Asks neighbours. Times are those of :class:`heptox.peer.query.state.PeerState`."""

    def __init__(self) -> None:
        self._translating: dict[Task, Arrival] = {}
        self._asking: dict[Exchange, Arrival] = {}
        self._exchanges = 0
        self.reach = Reach()

    @property
    def is_empty(self) -> bool:
        """Whether nobody is being asked."""
        return not (self._translating or self._asking)

    def asker(self, exchange: Exchange) -> Arrival | None:
        """The arrival that a neighbour was asked for on an exchange, if that is under way."""
        return self._asking.get(exchange)

    def begin(self, arrival: Arrival, task: Task, neighbour: Neighbour) -> Translate:
        """Have an arrival translated for a neighbour."""
        self._translating[task] = arrival
        arrival.translating[task] = (*arrival.path, Hop(neighbour.peer, neighbour.name))
        return Translate(task, arrival.query.query, arrival.path, neighbour.peer, arrival.query.body)

    def translated(self, event: Translated | Untranslated, now: float) -> tuple[Arrival, Ask | None] | None:
        """Ask a neighbour; without an instruction where it is not asked, which the receipt then says. ``None`` for what
        is over."""
        arrival = self._translating.pop(event.task, None)
        if arrival is None:
            return None
        path = arrival.translating.pop(event.task)
        if isinstance(event, Translated):
            asked = self._ask(arrival, path, event, now)
        else:
            asked = ReceiptLine(path, event.status, losses=event.losses, reason=event.reason)
        if isinstance(asked, Ask):
            return arrival, asked
        arrival.report(replace(self._cut(asked, now), milliseconds=elapsed(arrival.began, now)))
        return arrival, None

    def _cut(self, line: ReceiptLine, now: float) -> ReceiptLine:
        """The line of a neighbour behind which nobody is asked."""
        return replace(line, beyond=True, behind=self.reach.behind(line.peer, line.path, now))

    def _ask(self, arrival: Arrival, path: HopPath, translated: Translated, now: float) -> Ask | ReceiptLine:
        text, losses = printable(translated.text, lines=True), translated.losses
        remaining = arrival.deadline - now
        milliseconds = int((remaining - max(HOP_SECONDS, HOP_SHARE * remaining)) * 1000)
        budget = arrival.budget - HOP_COST
        if milliseconds <= 0:
            return ReceiptLine(path, Status.TIMED_OUT, losses=losses, reason="no time was left to ask", text=text)
        if budget <= 0:
            reason = "no byte budget was left to ask"
            return ReceiptLine(path, Status.FAILED, losses=losses, reason=reason, text=text)
        message = replace(
            arrival.query,
            body=translated.body,
            path=path,
            hops=arrival.query.hops - 1,
            milliseconds=milliseconds,
            budget=budget,
            schema=translated.schema,
        )
        self._exchanges += 1
        exchange = f"out-{self._exchanges}"
        arrival.forwarded[exchange] = ForwardedQuery(message, now, text, losses)
        self._asking[exchange] = arrival
        return Ask(exchange, path[-1].peer, message)

    def end(self, arrival: Arrival, exchange: Exchange, receipt: tuple[ReceiptLine, ...], now: float) -> None:
        """A neighbour has sent its receipt, which becomes part of the arrival's."""
        forwarded = self._finish(arrival, exchange)
        milliseconds = elapsed(forwarded.began, now)
        self.reach.learn(forwarded.path[-1].peer, receipt, len(forwarded.path) - 1, now)
        arrival.lines += forwarded.received(receipt, milliseconds)
        for path, came in forwarded.counts.values():
            reason = "items came that no receipt speaks of"
            arrival.report(ReceiptLine(path, Status.FAILED, came, reason=reason, milliseconds=milliseconds))

    def write_off(self, arrival: Arrival, exchange: Exchange, status: Status, reason: str, now: float) -> None:
        """Say of a neighbour, and of those behind it that were heard, that their answers are not whole."""
        forwarded = self._finish(arrival, exchange)
        for line in forwarded.unfinished(status, reason, elapsed(forwarded.began, now)):
            arrival.report(self._cut(line, now) if line.path == forwarded.path else line)

    def _finish(self, arrival: Arrival, exchange: Exchange) -> ForwardedQuery:
        del self._asking[exchange]
        return arrival.forwarded.pop(exchange)

    def give_up(self, arrival: Arrival, status: Status, reason: str, now: float) -> list[Instruction]:
        """Stop asking for an arrival, and say of everything that is pending that it is missing."""
        instructions: list[Instruction] = []
        for task, path in arrival.translating.items():
            instructions.append(Stop(task))
            del self._translating[task]
            milliseconds = elapsed(arrival.began, now)
            line = ReceiptLine(path, status, reason=reason, milliseconds=milliseconds)
            arrival.report(self._cut(line, now))
        arrival.translating.clear()
        for exchange in tuple(arrival.forwarded):
            instructions.append(Send(exchange, Cancel(arrival.query.query)))
            self.write_off(arrival, exchange, status, reason, now)
        return instructions


def elapsed(began: float, now: float) -> int:
    """Milliseconds since then."""
    return int((now - began) * 1000)
