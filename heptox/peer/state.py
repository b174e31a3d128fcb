"""A peer's decisions about queries, without I/O: :meth:`PeerState.handle` takes an event and the time, and returns
instructions.

The answer of the network is the union over all acyclic paths of acquaintances, up to the hop limit, of the composed
translation evaluated at the end of the path (``semantics.md`` section 9). Each arrival of a query, that is a query id
and the path that it came along, is therefore handled by itself; only the evaluation of equal bodies is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from heptox.peer.messages import Answers, Body, Cancel, End, Error, HopPath, Message, PeerId, Query, ReceiptLine, Status

Exchange: TypeAlias = str
"""One stream with a neighbour: ``in-1``, named by whoever hands in its :class:`Arrived`, or ``out-1``, named by the
state."""

Task: TypeAlias = str
"""A translation or evaluation under way, named by the state."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An acquaintance: its id, the name it is known by here, and whether it may ask us."""

    peer: PeerId
    name: str
    may_ask: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """What one peer does for others, and the most that a query may ask for.

    ``queries`` different query ids in flight; ``paths`` arrivals of one query id; ``hops``; ``seconds`` until the
    deadline; ``budget`` bytes of items (UTF-8); ``batch`` bytes of items in one message; ``kept`` bytes of evaluated
    items held for later arrivals of the same query, in all; ``lines`` of one receipt.
    """

    queries: int = 64
    paths: int = 1000
    hops: int = 8
    seconds: float = 600.0
    budget: int = 256 * 1024 * 1024
    batch: int = 64 * 1024
    kept: int = 64 * 1024 * 1024
    lines: int = 4000


# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Acquainted:
    """These are the acquaintances from now on; ``strangers`` says whether others may ask too."""

    neighbours: tuple[Neighbour, ...]
    strangers: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A query of this peer's own user; ``text`` is the query as asked, ``hops`` how far it may travel (0: this peer
    only)."""

    query: str
    body: Body
    text: str
    hops: int
    seconds: float
    budget: int
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Arrived:
    """A query of ``neighbour`` (as the transport has authenticated it), the first message on a new ``exchange``."""

    exchange: Exchange
    neighbour: PeerId
    message: Query


@dataclass(frozen=True, slots=True)
class Translated:
    """The translation for a neighbour: its body, its text, and what was lost although it is not empty."""

    task: Task
    body: Body
    text: str
    losses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Untranslated:
    """No translation: ``NOTHING`` when it is empty (``losses`` name the leaves), ``REFUSED`` or ``FAILED`` with a
    reason."""

    task: Task
    status: Literal[Status.NOTHING, Status.REFUSED, Status.FAILED]
    losses: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Items of a local evaluation; more may follow."""

    task: Task
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completed:
    """A local evaluation has handed in all its items."""

    task: Task


@dataclass(frozen=True, slots=True)
class Failed:
    """A local evaluation has stopped before its end, or could not begin."""

    task: Task
    reason: str


@dataclass(frozen=True, slots=True)
class Received:
    """A message on an exchange that is under way."""

    exchange: Exchange
    message: Answers | End | Error | Cancel


@dataclass(frozen=True, slots=True)
class Lost:
    """An exchange is over without an end: never opened (``reached`` false), reset, closed, or garbage came."""

    exchange: Exchange
    reason: str
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The user of this peer no longer wants the answers of the query."""

    query: str


Event: TypeAlias = (
    Acquainted
    | Asked
    | Arrived
    | Translated
    | Untranslated
    | Evaluated
    | Completed
    | Failed
    | Received
    | Lost
    | Tick
    | Cancelled
)


# -- instructions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Translate:
    """Translate ``body`` for ``neighbour``; hand in :class:`Translated` or :class:`Untranslated`."""

    task: Task
    query: str
    neighbour: PeerId
    body: Body


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Evaluate ``body`` on the own documents; hand in :class:`Evaluated` and then :class:`Completed`, or
    :class:`Failed`.

    ``path`` is the way of the first arrival that wants it (for the audit log and the export policy).
    """

    task: Task
    query: str
    body: Body
    path: HopPath


@dataclass(frozen=True, slots=True)
class Ask:
    """Open a stream to ``neighbour``, named ``exchange``, and send the query; hand in :class:`Lost` if that fails."""

    exchange: Exchange
    neighbour: PeerId
    message: Query


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message on an exchange; after an ``End``, ``Error`` or ``Cancel`` it closes and is not heard of again."""

    exchange: Exchange
    message: Message


@dataclass(frozen=True, slots=True)
class Deliver:
    """Items for the local user, all from the last peer of ``origin``.

    ``items`` were not delivered for this query before; ``repeated`` were, from elsewhere: equal items count once, and
    all their origins are told.
    """

    query: str
    origin: HopPath
    items: tuple[str, ...]
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a query: one line for each path asked, or left out; ``items`` counts different items in all."""

    query: str
    lines: tuple[ReceiptLine, ...]
    items: int

    @property
    def complete(self) -> bool:
        """Whether the answer is the whole answer of the network."""
        return all(line.complete for line in self.lines)


@dataclass(frozen=True, slots=True)
class Conclude:
    """The last that is heard of a local query."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Wake:
    """Hand in :class:`Tick` at this time, or soon after."""

    at: float


@dataclass(frozen=True, slots=True)
class Stop:
    """The result of a translation or evaluation is no longer wanted; events of it are ignored."""

    task: Task


Instruction: TypeAlias = Translate | Evaluate | Ask | Send | Deliver | Conclude | Wake | Stop


class PeerState:
    """The queries in flight at one peer. Times are seconds of one monotonic clock, whichever the caller uses."""

    def __init__(self, peer: PeerId, name: str, limits: Limits = Limits()) -> None:
        self.peer = peer
        self.name = name
        self.limits = limits

    def handle(self, event: Event, now: float) -> tuple[Instruction, ...]:
        """Take in one event and say what to do about it, in order.

        Raises :class:`PeerError` only for :class:`Asked`: HX7020 for a query id in use, HX7021 for limits out of range.
        """
        raise NotImplementedError
