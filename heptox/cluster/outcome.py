"""What came of an emulation: which answers arrived along which paths and when, and what the work took.

Everything here follows from the plan and its seed alone, but for what a :class:`Times` holds and what is said to be
measured: a report is the same, byte for byte, but for these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from heptox.peer import Status


@dataclass(frozen=True, slots=True)
class PathOutcome:
    """The status of a query at the last of the peers of ``path``, which begins with the asker.

    ``items`` are those that came along this path, different ones. ``beyond`` says that peers behind were not asked.
    Times are milliseconds: ``arrived`` when the query reached the peer, ``first`` and ``last`` when the asker had
    the first and the last of the items, all of the virtual clock and since it asked, ``None`` for what never happened.
    ``translation`` and ``evaluation`` are measured: the time of all translations along the path, and of the evaluation
    at its end.
    """

    path: tuple[int, ...]
    status: Status
    items: int
    beyond: bool
    reason: str = ""
    arrived: float | None = None
    first: float | None = None
    last: float | None = None
    translation: float = 0.0
    evaluation: float = 0.0

    @property
    def hops(self) -> int:
        return len(self.path) - 1


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """What came of one query: ``items`` are the different ones in all, ``concluded`` the virtual milliseconds it took.

    ``complete`` is what the receipt says of the whole answer, ``expected`` how many different items a network that
    loses nothing brings.
    """

    name: str
    asker: int
    paths: tuple[PathOutcome, ...]
    items: int
    expected: int
    complete: bool
    concluded: float

    @property
    def semantic_path_length(self) -> float:
        """Hops to a peer that answered, on the shortest path along which it did, on average (Table 1: ASPL)."""
        shortest: dict[int, int] = {}
        for path in self.paths:
            if path.hops and path.status is Status.ANSWERED:
                peer = path.path[-1]
                shortest[peer] = min(path.hops, shortest.get(peer, path.hops))
        return sum(shortest.values()) / len(shortest) if shortest else 0.0


@dataclass(frozen=True, slots=True)
class Superstep:
    """A step of the virtual clock.

    ``begin`` is its first virtual millisecond; ``peers`` are those at work in it, ``events`` what they took in and
    ``messages`` what they sent; ``translations`` and ``statements`` are those that were not made before; ``seconds``
    are measured.
    """

    begin: float
    peers: int
    events: int
    messages: int
    translations: int
    statements: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Check:
    """How an emulation was checked: every answer against evaluating its translated query where it was received.

    ``pairs`` of a peer and a query were evaluated anew, by the interpreter and on the documents; ``paths`` are those
    that a network that loses nothing asks. ``wrong`` items are not in the answer of their path, ``untold`` paths miss
    some that the receipt does not name. ``faults`` has the first of each.
    """

    pairs: int
    paths: int
    wrong: int
    untold: int
    faults: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.wrong and not self.untold


@dataclass(frozen=True, slots=True)
class Times:
    """What was measured: seconds of each part of the work by its name, and bytes of memory at most, of all processes.

    ``cpu`` names the machine.
    """

    seconds: Mapping[str, float]
    memory: int
    cpu: str = ""


@dataclass(frozen=True, slots=True)
class NetworkOutcome:
    """The network in numbers: ``peers`` by schema, and how many acquaintances the peers have.

    ``names`` are those of the peers by their numbers, where a file names them.
    """

    peers: Mapping[str, int]
    acquaintances: int
    least: int
    most: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an emulation. ``plan`` are the settings it was made with, as in a file of them.

    ``messages`` and ``bytes`` are by kind, ``lost`` how many were lost on the way, ``departures`` how often a peer
    left.
    """

    plan: Mapping[str, object]
    network: NetworkOutcome
    queries: tuple[QueryOutcome, ...]
    supersteps: tuple[Superstep, ...]
    messages: Mapping[str, int]
    bytes: Mapping[str, int]
    lost: int
    departures: int
    check: Check
    times: Times = field(compare=False)
