"""A peer's decisions about queries, without I/O: :meth:`PeerState.handle` takes an event and the time, and returns
instructions.

The answer of the network is the union over all acyclic paths of acquaintances, up to the hop limit, of the composed
translation evaluated at the end of the path (``semantics.md`` section 9). Each arrival of a query, that is a query id
and the path that it came along, is therefore handled by itself, so that no answer depends on which message came
first; only the evaluation of equal bodies is shared, as far as the same is hidden from those who asked for it, and none
waits for another neighbour.

What a query may do is in :mod:`~heptox.peer.query.admission`, what has come of it in
:mod:`~heptox.peer.query.arrivals`, who is asked for it in :mod:`~heptox.peer.query.forwarding`, what the own documents
have in :mod:`~heptox.peer.query.evaluations`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from heptox.errors import Fault, PeerError
from heptox.peer.query.admission import Admission
from heptox.peer.query.arrivals import NO_BUDGET, Arrival, ending
from heptox.peer.query.bounds import Limits, batches
from heptox.peer.query.evaluations import Evaluations, Outcome
from heptox.peer.query.events import (
    Acquainted,
    Arrived,
    Asked,
    Cancelled,
    Completed,
    Conclude,
    Deliver,
    Evaluate,
    Evaluated,
    Event,
    Exchange,
    Failed,
    Instruction,
    Lost,
    Receipt,
    Received,
    Send,
    Stop,
    Task,
    Tick,
    Translated,
    Untranslated,
    Wake,
)
from heptox.peer.query.forwarded_query import UNEXPECTED, ForwardedQuery
from heptox.peer.query.forwarding import Forwarding, elapsed
from heptox.peer.query.signing import LineSigning
from heptox.peer.query.verdict import shortfalls
from heptox.peer.wire.messages import (
    Answers,
    Cancel,
    End,
    Error,
    Hop,
    HopPath,
    PeerId,
    Query,
    ReceiptLine,
    Status,
    body_key,
    peers_of,
)
from heptox.printable import printable
from heptox.signatures import Signatures, Unsigned


class PeerState:
    """The queries in flight at one peer. Times are seconds of one monotonic clock, whichever the caller uses.

    A state can be pickled, and goes on elsewhere as if nothing had happened.

    ``schema`` identifies the peer's schema: queries in the words of another one are refused; empty, none is. Lines of
    receipts are signed, and verified, by ``signatures``, if there are any.

    >>> state = PeerState("A", "Montreal")
    >>> state.handle(Asked("q1", "//Name", "//Name", hops=2, seconds=10, budget=10_000), now=0.0)[1].task
    'task-1'
    >>> state.handle(Evaluated("task-1", ("<Name/>",)), now=0.1)[0].items
    ('<Name/>',)
    >>> state.handle(Completed("task-1"), now=0.2)[0].receipt.lines[0].status
    <Status.ANSWERED: 'answered'>
    """

    def __init__(
        self,
        peer: PeerId,
        name: str,
        limits: Limits | None = None,
        schema: str = "",
        signatures: Signatures | None = None,
    ) -> None:
        self.peer = peer
        self.name = name
        self.schema = schema
        self.limits = limits or Limits()
        self._signing = LineSigning(signatures or Unsigned())
        self.admission = Admission(peer, name, self.limits, schema)
        self._own: dict[str, Arrival] = {}
        self._arrived: dict[Exchange, Arrival] = {}
        self._forwarding = Forwarding()
        self._evaluations = Evaluations(self.limits.kept)
        self._tasks = 0
        self._now = 0.0
        self._out: list[Instruction] = []

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """Take in one event and say what to do about it, in order.

        Events about exchanges, tasks or queries that are over are ignored. Raises :class:`PeerError` only for
        :class:`Asked`: HX7020 for a query id in use, HX7021 for limits out of range.
        """
        self._now = max(now, self._now)
        match event:
            case Acquainted():
                self.admission.acquaint(event)
            case Asked():
                self._ask(event)
            case Arrived():
                self._arrive(event)
            case Translated() | Untranslated():
                self._translated(event)
            case Evaluated():
                arrivals, items = self._evaluations.add(event.task, event.items)
                for arrival in arrivals:
                    self._own_items(arrival, items)
            case Completed():
                self._evaluation_ended(event.task, Outcome(Status.ANSWERED, losses=event.losses))
            case Failed():
                self._evaluation_ended(event.task, Outcome(Status.FAILED, event.reason))
            case Received():
                self._received(event)
            case Lost():
                self._lost(event)
            case Tick():
                self._tick()
            case Cancelled():
                if event.query in self._own:
                    self._give_up(self._own[event.query], Status.CANCELLED, "the asker has left")
        out, self._out = tuple(self._out), []
        return out

    def refusal(self, neighbour: PeerId, query: Query) -> Error | None:
        """What ``neighbour`` gets when its query is not taken; ``None`` when it is."""
        return self.admission.refusal(neighbour, query, self._arrived.values())

    def verified(self, exchange: Exchange, end: End) -> End:
        """The end of an answer as it is to be handed in: signed lines of what the own user has asked fit what came.

        It takes a fifth of a millisecond for each line that is signed, and may be called in another thread.
        """
        arrival = self._forwarding.asker(exchange)
        if arrival is None or arrival.exchange is not None or len(end.receipt) > self.limits.lines:
            return end  # the asker does it, or nobody: it is refused
        query, digests = arrival.query.query, arrival.digests
        return replace(
            end, receipt=tuple(self._signing.verified(query, line, digests.of(line.path)) for line in end.receipt)
        )

    @property
    def in_flight(self) -> tuple[tuple[str, HopPath, tuple[PeerId, ...]], ...]:
        """The queries under way: query id, path so far, and the neighbours that were asked and have not ended yet."""
        arrivals = (*self._own.values(), *self._arrived.values())
        return tuple(
            (arrival.query.query, arrival.path, tuple(one.path[-1].peer for one in arrival.forwarded.values()))
            for arrival in arrivals
        )

    @property
    def is_idle(self) -> bool:
        """Whether no query is under way: only memory is then freed by :class:`Tick`."""
        return not (self._own or self._arrived)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of any query is left."""
        return self.is_idle and self._evaluations.is_empty and self._forwarding.is_empty

    def _new_task(self) -> Task:
        self._tasks += 1
        return f"task-{self._tasks}"

    # -- queries begin -----------------------------------------------------------------------------------------------

    def _ask(self, event: Asked) -> None:
        if event.query in self._own:
            raise PeerError(Fault("HX7020", f"the query {event.query} is under way"))
        self.limits.check(event.hops, event.seconds, event.budget)
        path = (Hop(self.peer, self.name),)
        milliseconds = int(event.seconds * 1000)
        query = Query(event.query, self.peer, event.body, path, event.hops, milliseconds, event.budget, event.explain)
        text = printable(event.text, lines=True)
        arrival = Arrival(query, None, self._now, self._now + event.seconds, event.budget, self.limits.items, text)
        self._own[event.query] = arrival
        self._begin(arrival)

    def _arrive(self, event: Arrived) -> None:
        query, limits = event.message, self.limits
        refusal = self.refusal(event.neighbour, query)
        if refusal is not None:
            self._out.append(Send(event.exchange, refusal))
            return
        seconds = min(query.milliseconds / 1000, limits.seconds)
        budget = min(query.budget, limits.budget)
        arrival = Arrival(query, event.exchange, self._now, self._now + seconds, budget, limits.items)
        self._arrived[event.exchange] = arrival
        self._begin(arrival)

    def _begin(self, arrival: Arrival) -> None:
        self._out.append(Wake(arrival.deadline))
        if arrival.query.hops > 0:
            for neighbour in self.admission.ahead(arrival.path):
                self._out.append(self._forwarding.begin(arrival, self._new_task(), neighbour))
        self._evaluate(arrival)

    # -- the own documents -------------------------------------------------------------------------------------------

    def _evaluate(self, arrival: Arrival) -> None:
        """Give an arrival its own items: what an equal body has brought so far, and what is to come."""
        query = arrival.query
        hidden = self.admission.hidden_along(arrival.path)
        key = (query.query, query.asker, body_key(query.body), hidden)
        task = self._evaluations.task_of(key, arrival)
        if task is None:
            task = self._new_task()
            self._evaluations.begin(task, key, arrival)
            self._out.append(Evaluate(task, query.query, query.body, arrival.path, arrival.budget, hidden))
        evaluation = self._evaluations.join(task, arrival)
        self._own_items(arrival, evaluation.items or [])
        if evaluation.outcome is not None and arrival.task is not None:
            self._own_end(arrival, evaluation.outcome)

    def _evaluation_ended(self, task: Task, outcome: Outcome) -> None:
        for arrival in self._evaluations.end(task, outcome):
            self._own_end(arrival, outcome)
        self._evaluations.settle(task)

    def _own_items(self, arrival: Arrival, items: list[str]) -> None:
        passed, excess = self._pass(arrival, arrival.path, items)
        arrival.own_items += passed
        if excess:
            self._give_up(arrival, Status.FAILED, excess)

    def _own_end(self, arrival: Arrival, outcome: Outcome) -> None:
        self._own_line(arrival, outcome)
        self._conclude(arrival)

    def _own_line(self, arrival: Arrival, outcome: Outcome) -> None:
        """Write the line of this peer itself, and leave the evaluation."""
        status, reason = outcome.status, outcome.reason
        if arrival.unsendable and status is Status.ANSWERED:
            status, reason = Status.FAILED, f"{arrival.unsendable} items cannot be sent: too long, or no XML"
        ahead = self.admission.ahead(arrival.path) if arrival.query.hops == 0 else []
        if ahead and not reason:
            reason = "the hop limit ends here"
        items, losses = arrival.own_items, outcome.losses
        milliseconds = elapsed(arrival.began, self._now)
        arrival.report(
            ReceiptLine(
                arrival.path,
                status,
                items,
                losses,
                reason,
                arrival.text,
                milliseconds,
                beyond=bool(ahead),
                behind=self._forwarding.reach.with_behind([one.peer for one in ahead], arrival.path, self._now),
            ),
            partial(self._signed, arrival),
        )
        self._leave(arrival)

    def _signed(self, arrival: Arrival, line: ReceiptLine) -> ReceiptLine:
        if arrival.exchange is None:  # nobody stands between
            return line
        return self._signing.signed(arrival.query.query, line, arrival.digests.of(arrival.path))

    def _leave(self, arrival: Arrival) -> None:
        unwanted = self._evaluations.leave(arrival)
        if unwanted is not None:
            self._out.append(Stop(unwanted))

    # -- the neighbours ----------------------------------------------------------------------------------------------

    def _translated(self, event: Translated | Untranslated) -> None:
        translated = self._forwarding.translated(event, self._now)
        if translated is not None:
            arrival, ask = translated
            if ask is not None:
                self._out.append(ask)
            self._conclude(arrival)

    def _received(self, event: Received) -> None:
        if event.exchange in self._arrived:
            arrival = self._arrived[event.exchange]
            if not isinstance(event.message, Cancel) or event.message.query != arrival.query.query:
                self._out.append(Send(event.exchange, Error(arrival.query.query, Status.FAILED, UNEXPECTED)))
            self._abandon(arrival)
        elif (asker := self._forwarding.asker(event.exchange)) is not None:
            self._replied(asker, event.exchange, event.message)

    def _replied(self, arrival: Arrival, exchange: Exchange, message: Answers | End | Error | Cancel) -> None:
        """A neighbour that was asked has sent something."""
        forwarded = arrival.forwarded[exchange]
        wrong = forwarded.violation(message, self.limits)
        if wrong:
            self._out.append(Send(exchange, Cancel(arrival.query.query)))
            self._neighbour_failed(arrival, exchange, Status.FAILED, f"it broke the protocol: {wrong}")
        elif isinstance(message, Answers):
            self._neighbour_answers(arrival, forwarded, message)
        elif isinstance(message, End):
            self._forwarding.end(arrival, exchange, message.receipt, self._now)
            self._conclude(arrival)
        elif isinstance(message, Error):
            status = Status.FAILED if message.status.complete else message.status
            self._neighbour_failed(arrival, exchange, status, message.reason)

    def _neighbour_answers(self, arrival: Arrival, forwarded: ForwardedQuery, message: Answers) -> None:
        origin = forwarded.along(message.origin)
        if peers_of(origin) not in forwarded.counts:
            arrival.budget -= sum(len(hop.peer) + len(hop.name) for hop in origin)
        passed, excess = self._pass(arrival, origin, message.items)
        forwarded.count(origin, passed)
        if excess or arrival.budget < 0:
            self._give_up(arrival, Status.FAILED, excess or NO_BUDGET)

    def _neighbour_failed(self, arrival: Arrival, exchange: Exchange, status: Status, reason: str) -> None:
        self._forwarding.write_off(arrival, exchange, status, reason, self._now)
        self._conclude(arrival)

    def _lost(self, event: Lost) -> None:
        if event.exchange in self._arrived:
            self._abandon(self._arrived[event.exchange])
        elif (asker := self._forwarding.asker(event.exchange)) is not None:
            self._neighbour_failed(asker, event.exchange, event.status, event.reason)

    # -- queries end -------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        for arrival in (*self._own.values(), *self._arrived.values()):
            if arrival.deadline <= self._now:
                self._give_up(arrival, Status.TIMED_OUT, "the deadline has passed")
        self._evaluations.expire(self._now)

    def _give_up(self, arrival: Arrival, status: Status, reason: str) -> None:
        """End an arrival with what has come, and say of everything that is pending that it is missing."""
        self._out += self._forwarding.give_up(arrival, status, reason, self._now)
        if arrival.task is not None:
            self._own_line(arrival, Outcome(status, reason))
        self._conclude(arrival)

    def _abandon(self, arrival: Arrival) -> None:
        """Stop all work for a query whose asker is gone; nobody hears of it any more."""
        assert arrival.exchange is not None
        self._out += self._forwarding.give_up(arrival, Status.CANCELLED, "", self._now)
        self._leave(arrival)
        del self._arrived[arrival.exchange]

    def _conclude(self, arrival: Arrival) -> None:
        """Send the receipt when nothing is pending."""
        if arrival.is_pending:
            return
        query = arrival.query.query
        if arrival.exchange is None:
            del self._own[query]
            lines = arrival.receipt()
            self._out.append(Conclude(Receipt(query, lines, len(arrival.delivered), shortfalls(lines))))
            self._evaluations.forget_query(query, self.peer)
        else:
            del self._arrived[arrival.exchange]
            self._out.append(Send(arrival.exchange, ending(query, arrival.receipt(), self.limits)))

    def _pass(self, arrival: Arrival, origin: HopPath, items: Iterable[str]) -> tuple[int, str | None]:
        """Send items towards the asker: how many were sent, and what they exceed if these are not all."""
        admitted, excess = arrival.admit(items, self.limits)
        if self._signing.is_used and (arrival.exchange is None) != (origin is arrival.path):
            arrival.digests.add(origin, admitted)  # own ones are signed, others are verified
        if arrival.exchange is not None:
            for batch in batches(admitted, self.limits.batch):
                self._out.append(Send(arrival.exchange, Answers(arrival.query.query, origin, batch)))
        elif admitted:
            self._out.append(Deliver(arrival.query.query, origin, *arrival.deliver(admitted)))
        return len(admitted), excess
