"""The books of one peer: what its runner and its administrator do goes to the audit log, the log and the metrics."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import cbor2
import trio

from heptox import __version__
from heptox.errors import PeerError
from heptox.grammar import print_query
from heptox.peer.folder.audit import AuditLog
from heptox.peer.models.control import NeighboursQuery
from heptox.peer.query.events import Conclude, Exchange, Lost, Translated, Untranslated
from heptox.peer.query.translating import expression_of
from heptox.peer.query.verdict import shortfalls
from heptox.peer.query.witness import Witness, own_status
from heptox.peer.record.logs import CONNECTIONS, STRANGERS, named, path_names, shown
from heptox.peer.record.metrics import Metrics
from heptox.peer.record.repeated_events import RepeatedEvents
from heptox.peer.wire.messages import Answers, Body, Cancel, End, Error, Message, PeerId, Query, Status
from heptox.printable import printable

TEXT_LIMIT: Final = 16 * 1024
"""Characters of a query that the audit log keeps."""
_MOST_PRINTED: Final = 4 * TEXT_LIMIT
"""Bytes of a query that is printed for the log, or characters of its text."""
REASON_LIMIT: Final = 1000
DISK_SECONDS: Final = 5.0
"""How long an administrator waits for a disk that does nothing."""
_log = logging.getLogger(__name__)
_strangers = logging.getLogger(STRANGERS)
_connections = logging.getLogger(CONNECTIONS)


@dataclass(slots=True)
class _InboundQuery:
    """A neighbour's query that is under way; ``stranger``: of a neighbour that is no acquaintance."""

    neighbour: PeerId
    query: Query
    began: float
    stranger: bool
    items: int = 0
    size: int = 0


@dataclass(slots=True)
class _OutboundQuery:
    """A query that a neighbour was asked."""

    neighbour: PeerId
    query: str
    began: float
    items: int = 0


class Recorder(Witness):
    """Keeps the books of the peer ``peer``. ``names`` are what its acquaintances are called here.

    A neighbour's query is in the audit log, on the disk, before it is begun, and how it ended before its end is sent.
    """

    def __init__(self, peer: PeerId, audit: AuditLog, metrics: Metrics) -> None:
        self.audit = audit
        self.metrics = metrics
        self.names: Mapping[PeerId, str] = {}
        self._peer = peer
        self._inbound: dict[Exchange, _InboundQuery] = {}
        self._outbound: dict[Exchange, _OutboundQuery] = {}
        self._of_strangers: Counter[str] = Counter()
        self._serving = False
        self.repeated = RepeatedEvents(audit, lambda: self.names)

    async def run(self) -> None:
        await self.repeated.run()

    @property
    def in_flight(self) -> int:
        """How many queries of neighbours are under way."""
        return len(self._inbound)

    def queries(self) -> tuple[NeighboursQuery, ...]:
        """The queries of neighbours that are under way."""
        now = trio.current_time()
        return tuple(
            NeighboursQuery(
                **self._fields(inbound.neighbour, inbound.query),
                items=inbound.items,
                milliseconds=int((now - inbound.began) * 1000),
            )
            for inbound in self._inbound.values()
        )

    async def started(self, addresses: tuple[str, ...]) -> None:
        """The peer serves at ``addresses``."""
        self._serving = True
        await self.administered("started", peer_id=self._peer, addresses=list(addresses), version=__version__)

    async def stopped(self) -> None:
        """The peer serves no more, if it ever did."""
        for exchange in tuple(self._inbound):
            self._inbound_lost(exchange, Status.CANCELLED, "this peer has ended")
        self.repeated.write_counts(math.inf)
        self.repeated.write_served()
        if self._serving:
            with trio.CancelScope(shield=True):
                await self.administered("stopped", peer_id=self._peer)

    # -- the administrator -------------------------------------------------------------------------------------------

    async def administered(self, event: str, **fields: Any) -> None:
        """Something was done to the peer: it is in the audit log when this returns, unless the disk takes nothing.

        Then it is written as soon as that can be; the log says so.
        """
        _log.info("%s: %s", event, ", ".join(f"{name} {value}" for name, value in fields.items()))
        self.audit.write(event, **fields)
        await self.flush()

    async def flush(self) -> None:
        """Wait until the audit log can be read up to now, if the disk takes it."""
        with suppress(PeerError), trio.move_on_after(DISK_SECONDS):
            await _outcome(self.audit.flushed())

    def own(self, query: str, text: str, conclusion: Conclude | None, seconds: float, refusal: str = "") -> None:
        """A query of the own user has ended: with a receipt, by a refusal, or because the user has left."""
        fields: dict[str, Any] = {"query": query, "text": text[:TEXT_LIMIT], "milliseconds": int(seconds * 1000)}
        if conclusion is not None:
            receipt = conclusion.receipt
            end = "complete" if receipt.complete else "incomplete"
            fields |= {"status": end, "items": receipt.items, "paths": len(receipt.lines)}
        else:
            end = "refused" if refusal else "cancelled"
            fields |= {"status": end, "reason": refusal[:REASON_LIMIT]}
        self.metrics.own.labels(end).inc()
        self.audit.write("own", **fields)
        _log.info("%s: the answer is %s, %s items, %.0f ms", named(query), end, fields.get("items", 0), seconds * 1000)

    # -- queries of neighbours ---------------------------------------------------------------------------------------

    async def asked(self, exchange: Exchange, neighbour: PeerId, query: Query) -> None:
        text = await trio.to_thread.run_sync(text_of, query.body, abandon_on_cancel=True)
        _log_of(neighbour, self.names).info(
            "%s: arrived from %s along %s: %s",
            named(query.query),
            self._name(neighbour),
            path_names(query.path),
            shown(text),
        )
        limited = {"text": text[:TEXT_LIMIT], **({"characters": len(text)} if len(text) > TEXT_LIMIT else {})}
        await _outcome(self.audit.write_durably("asked", **self._fields(neighbour, query), **limited, hops=query.hops))
        self.metrics.arrived.inc()
        stranger = neighbour not in self.names
        self._inbound[exchange] = _InboundQuery(neighbour, query, trio.current_time(), stranger)
        self._of_strangers[query.query] += stranger

    def refused(self, neighbour: PeerId, query: Query, error: Error) -> None:
        event = "denied" if error.status is Status.DENIED else "refused"
        self.metrics.answered.labels(error.status.value).inc()
        reason = error.reason[:REASON_LIMIT]
        if self.repeated.note(event, **self._fields(neighbour, query), status=error.status.value, reason=reason):
            _strangers.warning("%s: %s %s: %s", named(query.query), event, self._name(neighbour), reason)

    def denied(self, neighbour: PeerId) -> None:
        self.metrics.denied.inc()
        if self.repeated.note("denied", neighbour=neighbour, name=self.names.get(neighbour, "")):
            _strangers.info("denied %s: it may not ask", self._name(neighbour))

    def sent(self, exchange: Exchange, message: Message) -> None:
        inbound = self._inbound.get(exchange)
        if inbound is not None and isinstance(message, Answers):
            size = _size(message.items)
            inbound.items += len(message.items)
            inbound.size += size
            self.metrics.items_out.inc(len(message.items))
            self.metrics.bytes_out.inc(size)
        elif isinstance(message, Cancel):
            self._outbound_ended(exchange, Status.CANCELLED, "it is not wanted any more")

    async def ended(self, exchange: Exchange, message: End | Error) -> None:
        inbound = self._inbound_ended(exchange)
        if inbound is None:
            return
        status, reason = own_status(message, self._peer)
        complete = isinstance(message, End) and not shortfalls(message.receipt)
        fields = self._end_fields(inbound, status, reason, complete=complete)
        try:
            await _outcome(self.audit.write_durably(_event(status), **fields))
        except PeerError as error:
            # The asker does not hear that it has everything, so no reader of the log does, once it can be written.
            self.audit.write(
                _event(Status.FAILED), **self._end_fields(inbound, Status.FAILED, str(error), complete=False)
            )
            self._note_end(inbound, Status.FAILED, str(error))
            raise
        self._note_end(inbound, status, reason)

    def _inbound_lost(self, exchange: Exchange, status: Status, reason: str) -> None:
        """A neighbour's query is over, and its asker is gone."""
        inbound = self._inbound_ended(exchange)
        if inbound is not None:
            self.audit.write(_event(status), **self._end_fields(inbound, status, reason, complete=False))
            self._note_end(inbound, status, reason)

    def _inbound_ended(self, exchange: Exchange) -> _InboundQuery | None:
        inbound = self._inbound.pop(exchange, None)
        if inbound is not None:
            self._of_strangers[inbound.query.query] -= inbound.stranger
            if self._of_strangers[inbound.query.query] <= 0:
                del self._of_strangers[inbound.query.query]
        return inbound

    def _end_fields(self, inbound: _InboundQuery, status: Status, reason: str, *, complete: bool) -> dict[str, Any]:
        return {
            **self._fields(inbound.neighbour, inbound.query),
            "status": status.value,
            "complete": complete,
            "reason": reason[:REASON_LIMIT],
            "items": inbound.items,
            "bytes": inbound.size,
            "milliseconds": int((trio.current_time() - inbound.began) * 1000),
        }

    def _note_end(self, inbound: _InboundQuery, status: Status, reason: str) -> None:
        self.metrics.answered.labels(status.value).inc()
        (_strangers if inbound.stranger else _log).info(
            "%s: ended for %s: %s, %s items, %s bytes, %.0f ms%s",
            named(inbound.query.query),
            self._name(inbound.neighbour),
            status.value,
            inbound.items,
            inbound.size,
            (trio.current_time() - inbound.began) * 1000,
            f" ({shown(reason)})" if reason else "",
        )

    def _fields(self, neighbour: PeerId, query: Query) -> dict[str, Any]:
        return {
            "query": query.query,
            "neighbour": neighbour,
            "name": self.names.get(neighbour, ""),
            "asker": query.asker,
            "path": [hop.name for hop in query.path],
        }

    def _name(self, neighbour: PeerId) -> str:
        name = self.names.get(neighbour)
        return f"{printable(name)} ({neighbour})" if name else neighbour

    # -- all queries -------------------------------------------------------------------------------------------------

    def own_asked(self, query: str, text: str) -> None:
        """A query of the own user begins."""
        _log.info("%s: asked by our user: %s", named(query), shown(text))

    def translated(self, query: str, neighbour: PeerId, result: Translated | Untranslated, seconds: float) -> None:
        self.metrics.translation.observe(seconds)
        log = self._log(query)
        took = named(query), self._name(neighbour), seconds * 1000
        if isinstance(result, Translated):
            log.info("%s: translated for %s in %.0f ms", *took)
            log.debug("%s: in the words of %s: %s", named(query), self._name(neighbour), shown(result.text, 2000))
        else:
            why = shown(result.reason or "; ".join(result.losses[:5]))
            log.info("%s: not translated for %s in %.0f ms: %s: %s", *took, result.status.value, why)

    def evaluated(self, query: str, items: int, reason: str | None, seconds: float) -> None:
        self.metrics.evaluation.observe(seconds)
        log = self._log(query)
        if reason is None:
            log.info("%s: evaluated, %s items in %.0f ms", named(query), items, seconds * 1000)
        else:
            self.metrics.unevaluated.inc()
            why = shown(reason)
            log.info("%s: not evaluated to the end, %s items in %.0f ms: %s", named(query), items, seconds * 1000, why)

    def asking(self, exchange: Exchange, neighbour: PeerId, query: Query) -> None:
        self._outbound[exchange] = _OutboundQuery(neighbour, query.query, trio.current_time())
        self.metrics.asked.inc()
        self._log(query.query).info("%s: asks %s", named(query.query), self._name(neighbour))

    def received(self, exchange: Exchange, message: Answers | End | Error | Cancel) -> None:
        outbound = self._outbound.get(exchange)
        if isinstance(message, Answers):
            if outbound is not None:
                outbound.items += len(message.items)
                self.metrics.items_in.inc(len(message.items))
                self.metrics.bytes_in.inc(_size(message.items))
        elif isinstance(message, Cancel):
            self._inbound_lost(exchange, Status.CANCELLED, "the asker has left")
        elif outbound is None:
            self._inbound_lost(exchange, Status.FAILED, "a message came that is not expected here")
        elif isinstance(message, Error):
            self._outbound_ended(exchange, message.status, message.reason)
        else:
            line = next((line for line in message.receipt if line.peer == outbound.neighbour), None)
            self._outbound_ended(exchange, line.status if line else Status.FAILED, line.reason if line else "")

    def lost(self, exchange: Exchange, event: Lost) -> None:
        self._inbound_lost(exchange, Status.CANCELLED, event.reason)
        self._outbound_ended(exchange, event.status, event.reason)

    def _outbound_ended(self, exchange: Exchange, status: Status, reason: str) -> None:
        outbound = self._outbound.pop(exchange, None)
        if outbound is None:
            return
        self.metrics.heard.labels(status.value).inc()
        self._log(outbound.query).info(
            "%s: from %s: %s, %s items in %.0f ms%s",
            named(outbound.query),
            self._name(outbound.neighbour),
            status.value,
            outbound.items,
            (trio.current_time() - outbound.began) * 1000,
            f" ({shown(reason)})" if reason else "",
        )

    def _log(self, query: str) -> logging.Logger:
        return _strangers if query in self._of_strangers else _log

    # -- connections -------------------------------------------------------------------------------------------------

    def connected(self, neighbour: PeerId) -> None:
        self._log_of_connections(neighbour).info("connected with %s", self._name(neighbour))

    def disconnected(self, neighbour: PeerId) -> None:
        self._log_of_connections(neighbour).info("no connection with %s any more", self._name(neighbour))

    def _log_of_connections(self, neighbour: PeerId) -> logging.Logger:
        return _connections if neighbour in self.names else _strangers


def _log_of(peer: PeerId, acquaintances: Mapping[PeerId, str]) -> logging.Logger:
    return _log if peer in acquaintances else _strangers


def _event(status: Status) -> str:
    return status.value


def text_of(body: Body) -> str:
    """A query as it is read here; empty for what is none, which the evaluation refuses. Of a large one its size is
    enough: nobody is charged for this reading."""
    size = len(body) if isinstance(body, str) else len(cbor2.dumps(body))
    if size > _MOST_PRINTED:
        return f"a query of {size:,} bytes"
    try:
        return printable(print_query(expression_of(body)), lines=True)
    except Exception:  # whatever a neighbour sends as a query
        return ""


def _size(items: Iterable[str]) -> int:
    return sum(len(item.encode("utf-8", "surrogatepass")) for item in items)


async def _outcome(future: Future[None]) -> None:
    """Wait for what a thread does, and raise what it raises."""
    done = trio.Event()
    token = trio.lowlevel.current_trio_token()

    def wake(_: Future[None]) -> None:
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(done.set)

    future.add_done_callback(wake)
    await done.wait()
    future.result()
