"""What a peer's runner reports of its work, to those who keep books: the audit log, the log, metrics."""

from __future__ import annotations

from heptox.peer.query.events import Exchange, Lost, Translated, Untranslated
from heptox.peer.wire.messages import Answers, Cancel, End, Error, Message, PeerId, Query, Status


class Witness:
    """Hears what a runner does; this one keeps nothing.

    ``exchange`` names a stream as in :mod:`heptox.peer.query.events`.
    """

    async def run(self) -> None:
        """What is to be done now and then while the runner serves."""

    # -- queries of neighbours ---------------------------------------------------------------------------------------

    async def asked(self, exchange: Exchange, neighbour: PeerId, query: Query) -> None:
        """A neighbour's query is about to be taken. A raised :class:`PeerError` refuses it, as ``FAILED``."""

    def refused(self, neighbour: PeerId, query: Query, error: Error) -> None:
        """A neighbour's query was not taken; the neighbour gets ``error``."""

    def denied(self, neighbour: PeerId) -> None:
        """A stranger was refused, before it said anything."""

    async def ended(self, exchange: Exchange, message: End | Error) -> None:
        """The end of a neighbour's query is about to be sent. A raised :class:`PeerError` is sent instead."""

    # -- all queries, one by one -----------------------------------------------------------------------------

    def translated(self, query: str, neighbour: PeerId, result: Translated | Untranslated, seconds: float) -> None:
        """A translation has ended."""

    def evaluated(self, query: str, items: int, reason: str | None, seconds: float) -> None:
        """An evaluation on the own documents has ended; ``reason`` says why it is not whole, if it is not.

        ``seconds`` are those of the work, without what its receivers took.
        """

    def asking(self, exchange: Exchange, neighbour: PeerId, query: Query) -> None:
        """A neighbour is asked."""

    def sent(self, exchange: Exchange, message: Message) -> None:
        """A message goes out, or would if the stream were open yet; not an end, see :meth:`ended`."""

    def received(self, exchange: Exchange, message: Answers | End | Error | Cancel) -> None:
        """A message has come."""

    def lost(self, exchange: Exchange, event: Lost) -> None:
        """A stream is over without an end."""

    # -- connections -------------------------------------------------------------------------------------------------

    def connected(self, neighbour: PeerId) -> None:
        """The first connection to a peer stands."""

    def disconnected(self, neighbour: PeerId) -> None:
        """The last connection to a peer is gone."""


def own_status(message: End | Error, peer: PeerId) -> tuple[Status, str]:
    """How the peer that says the end of a query has answered itself, and why so."""
    if isinstance(message, Error):
        return message.status, message.reason
    line = next(line for line in message.receipt if line.peer == peer)
    return line.status, line.reason
