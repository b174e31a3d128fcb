"""What can happen to the queries at a peer, and what :class:`heptox.peer.query.state.PeerState` asks to be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from heptox.peer.query.verdict import Shortfall, reached
from heptox.peer.wire.messages import (
    Answers,
    Body,
    Cancel,
    End,
    Error,
    HopPath,
    Message,
    PeerId,
    Query,
    ReceiptLine,
    Status,
)

Exchange: TypeAlias = str
"""One stream with a neighbour: ``in-1``, named by the one that hands in its :class:`Arrived`, or ``out-1``, named by
the state."""

Task: TypeAlias = str
"""A translation or evaluation under way, named by the state."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An acquaintance: its id, the name it is known by here, and whether it may ask us."""

    peer: PeerId
    name: str
    may_ask: bool = True


@dataclass(frozen=True, slots=True)
class Hidden:
    """The schema paths that are hidden from ``everyone``, and from some ``peers`` besides."""

    everyone: frozenset[str] = frozenset()
    peers: Mapping[PeerId, frozenset[str]] = field(default_factory=dict)

    def along(self, path: Iterable[PeerId], own: PeerId) -> frozenset[str]:
        """What is hidden from a query that came along a path: from any peer on it but ``own``, the one that hides.

        >>> sorted(Hidden(frozenset({"a/b"}), {"N": frozenset({"a/c"})}).along(["N", "M"], "M"))
        ['a/b', 'a/c']
        """
        others = [peer for peer in path if peer != own]
        if not others:
            return frozenset()
        return self.everyone.union(*(self.peers.get(peer, frozenset()) for peer in others))


# -- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Acquainted:
    """These are the acquaintances from now on; ``strangers`` says whether others may ask too, ``hidden`` what they do
    not see."""

    neighbours: tuple[Neighbour, ...]
    strangers: bool = False
    hidden: Hidden = field(default_factory=Hidden)


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
    """The translation for a neighbour: its body, its text, what was lost although it is not empty, and the schema
    whose words it speaks (as in :class:`Query`)."""

    task: Task
    body: Body
    text: str
    losses: tuple[str, ...] = ()
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Untranslated:
    """No translation: ``NOTHING`` when it is empty (``losses`` name the leaves; without any, that is exact),
    ``REFUSED`` or ``FAILED`` with a reason."""

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
    """A local evaluation has handed in all its items; ``losses`` are the hidden paths that its query asks for."""

    task: Task
    losses: tuple[str, ...] = ()


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
    """An exchange is over without an end: ``UNREACHABLE`` when it could not be opened, or was reset or closed;

    ``FAILED`` when what came, or was to be sent, is no message.
    """

    exchange: Exchange
    reason: str
    status: Literal[Status.UNREACHABLE, Status.FAILED] = Status.UNREACHABLE


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
    """Translate ``body`` for ``neighbour``; hand in :class:`Translated` or :class:`Untranslated`.

    The query came along ``path``.
    """

    task: Task
    query: str
    path: HopPath
    neighbour: PeerId
    body: Body


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Evaluate ``body`` on the own documents without what is ``hidden``; hand in :class:`Evaluated` and then
    :class:`Completed`, or :class:`Failed`.

    ``path`` and ``budget`` are those of the first arrival that wants it: the way that it came, and the bytes of items
    that it may bring; the evaluation may hold about as much at a time. Later arrivals of an equal query share it when
    the same is hidden from those on their paths.
    """

    task: Task
    query: str
    body: Body
    path: HopPath
    budget: int
    hidden: frozenset[str] = frozenset()


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
    all their origins are reported.
    """

    query: str
    origin: HopPath
    items: tuple[str, ...]
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of numbers that are computed of an incomplete answer, from which so many peers are ``missing``: the
    ``least`` and the ``most`` that the number is, where they are known.
    """

    missing: int
    least: str = ""
    most: str = ""


@dataclass(frozen=True, slots=True)
class Shell:
    """What was computed at the asker around ``cores`` that peers were asked: its ``text``, and how its numbers count.

    ``overlapping`` are the names of peers which may have items of the same nodes, that no key tells: they were added.
    ``merged`` nodes were one with others by their keys, and ``conflicts`` of their values contradict those of others.
    ``bounds`` are those of its numbers where peers are missing.
    """

    text: str
    cores: tuple[str, ...]
    overlapping: tuple[str, ...] = ()
    merged: int = 0
    conflicts: int = 0
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of a query: one line for each path asked, or left out; ``items`` counts different items in all, and
    ``missing`` says what they lack.

    A query that was split has the lines of all its cores, and says what its ``shell`` was.
    """

    query: str
    lines: tuple[ReceiptLine, ...]
    items: int
    missing: tuple[Shortfall, ...]
    shell: Shell | None = None

    @property
    def complete(self) -> bool:
        """Whether the answer is complete (:mod:`heptox.peer.query.verdict`), and so what is computed of it."""
        return not self.missing

    @property
    def reached(self) -> tuple[int, int]:
        """How many peers have answered, and of how many it is known that there are."""
        return reached(self.lines)


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
