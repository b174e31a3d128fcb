"""Peers without a network: their states, and every message, result and alarm in an order that the caller chooses.

A query is a list of symbols, a mapping renames some of them and knows nothing of the others, a document holds items
for some.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from heptox.peer.query.bounds import Limits
from heptox.peer.query.events import (
    Acquainted,
    Arrived,
    Ask,
    Asked,
    Completed,
    Conclude,
    Deliver,
    Evaluate,
    Evaluated,
    Event,
    Instruction,
    Lost,
    Neighbour,
    Receipt,
    Received,
    Send,
    Stop,
    Tick,
    Translate,
    Translated,
    Untranslated,
    Wake,
)
from heptox.peer.query.state import PeerState
from heptox.peer.wire.messages import Answers, Cancel, End, Error, Status, decode, encode, peers_of, sender
from heptox.signatures import Signatures, Unsigned

Symbols = list[int]
Peers = tuple[str, ...]
Choose = Callable[[int], int]


@dataclass
class World:
    """Who knows whom, with which mapping (``None``: refuses to translate), and which items each symbol has where."""

    peers: Peers
    edges: dict[tuple[str, str], dict[int, int] | None]
    documents: dict[str, dict[int, tuple[str, ...]]]

    def neighbours(self, peer: str) -> Iterable[str]:
        return (other for other in self.peers if (peer, other) in self.edges)

    def items(self, peer: str, symbols: Symbols) -> list[str]:
        return [item for symbol in symbols for item in self.documents[peer].get(symbol, ())]

    def translated(self, peer: str, other: str, symbols: Symbols) -> Symbols | None:
        mapping = self.edges[peer, other]
        return None if mapping is None else sorted({mapping[symbol] for symbol in symbols if symbol in mapping})


Line = tuple[Status, frozenset[str]]


def answer(world: World, path: Peers, symbols: Symbols, hops: int) -> dict[Peers, Line]:
    """The answer of the network, computed directly: for each path, what becomes of the query at its end, and the
    items."""
    found: dict[Peers, Line] = {path: (Status.ANSWERED, frozenset(world.items(path[-1], symbols)))}
    for other in world.neighbours(path[-1]):
        if hops == 0 or other in path:
            continue
        translated = world.translated(path[-1], other, symbols)
        if translated:
            found |= answer(world, (*path, other), translated, hops - 1)
        else:
            status = Status.REFUSED if translated is None else Status.NOTHING
            found[(*path, other)] = (status, frozenset())
    return found


def lacking(world: World, asker: str, symbols: Symbols, hops: int) -> set[str]:
    """What an answer lacks, in a network in which nothing fails, computed directly: by the names of receipts."""
    found: set[str] = set()
    answered: set[str] = set()
    cut: set[str] = set()

    def go(path: Peers, asking: Symbols) -> None:
        answered.add(path[-1])
        for other in world.neighbours(path[-1]):
            if other in path or (hops == 0 and len(path) == 1):
                continue
            if len(path) > hops:
                cut.add(other)
                continue
            mapping = world.edges[path[-1], other]
            translated = world.translated(path[-1], other, asking)
            if mapping is None or translated is None:
                found.add("refused")
                continue
            if any(symbol not in mapping for symbol in asking):
                found.add("lost on the way" if translated else "not asked")
            if translated:
                go((*path, other), translated)

    go((asker,), symbols)
    return found | ({"hop limit"} if cut - answered else set())


@dataclass
class Simulation:
    """The states, and what is under way: each channel keeps its order, ``choose`` decides between channels."""

    world: World
    choose: Choose
    limits: Limits = field(default_factory=Limits)
    now: float = 0.0
    dead: set[str] = field(default_factory=set)
    frozen: set[str] = field(default_factory=set)
    delivered: dict[Peers, list[str]] = field(default_factory=dict)
    fresh: list[str] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    evaluations: dict[tuple[str, str, str], list[int]] = field(default_factory=dict)
    """The budgets of each peer's evaluations of a body for a sender, in their order."""
    messages: list[tuple[str, str, object]] = field(default_factory=list)
    signatures: Callable[[str], Signatures] = lambda _: Unsigned()

    def __post_init__(self) -> None:
        self.states = {
            peer: PeerState(peer, f"peer {peer}", self.limits, "", self.signatures(peer)) for peer in self.world.peers
        }
        self.channels: dict[tuple[str, ...], deque[tuple[str, Event]]] = {}
        self.alarms: list[tuple[float, str]] = []
        self.links: dict[tuple[str, str], tuple[str, str]] = {}
        for peer, state in self.states.items():
            known = tuple(Neighbour(other, f"peer {other}") for other in self.world.neighbours(peer))
            state.handle(Acquainted(known, strangers=True), 0.0)

    # -- running -----------------------------------------------------------------------------------------------------

    def ask(
        self, peer: str, symbols: Symbols, hops: int, seconds: float = 10.0, budget: int = 10**6, query: str = "q"
    ) -> None:
        self.hand_in(peer, Asked(query, symbols, str(symbols), hops, seconds, budget, explain=True))

    def hand_in(self, peer: str, event: Event) -> None:
        if isinstance(event, Received) and isinstance(event.message, End):
            event = replace(event, message=self.states[peer].verified(event.exchange, event.message))
        if peer not in self.dead:
            for instruction in self.states[peer].handle(event, self.now):
                self.carry_out(peer, instruction)

    def step(self) -> bool:
        """Let one thing happen; whether there was one."""
        ready = [key for key, waiting in self.channels.items() if waiting and waiting[0][0] not in self.frozen]
        if ready:
            key = sorted(ready)[self.choose(len(ready))]
            self.hand_in(*self.channels[key].popleft())
            return True
        if self.alarms:
            at, peer = heappop(self.alarms)
            self.now = max(self.now, at)
            self.hand_in(peer, Tick())
            return True
        return False

    def run(self, limit: int = 100_000) -> None:
        for _ in range(limit):
            if not self.step():
                return
        raise AssertionError("it does not come to an end")

    def kill(self, peer: str) -> None:
        """As ``kill -9``: what it has sent and was not delivered may be lost."""
        self.dead.add(peer)
        for (near, exchange), (other, _) in tuple(self.links.items()):
            if other == peer or near == peer:
                self.cut(near, exchange, other)

    def cut(self, near: str, exchange: str, other: str) -> None:
        """End one end of a stream; the last messages on it may be lost."""
        self.links.pop((near, exchange), None)
        if near not in self.dead:
            channel = self.channels.setdefault(("wire", near, exchange), deque())
            for _ in range(self.choose(len(channel) + 1)):
                channel.pop()
            channel.append((near, Lost(exchange, f"{other} is gone")))

    # -- instructions ------------------------------------------------------------------------------------------------

    def carry_out(self, peer: str, instruction: Instruction) -> None:
        match instruction:
            case Translate():
                self.put(("task", peer, instruction.task), peer, self.translation(peer, instruction))
            case Evaluate():
                self.evaluate(peer, instruction)
            case Ask():
                self.open(peer, instruction)
            case Send():
                self.send(peer, instruction)
            case Deliver():
                assert len(set(instruction.items)) == len(instruction.items)
                self.fresh += instruction.items
                came = self.delivered.setdefault(peers_of(instruction.origin), [])
                came += (*instruction.items, *instruction.repeated)
            case Conclude():
                self.receipts.append(instruction.receipt)
            case Wake():
                heappush(self.alarms, (instruction.at, peer))
            case Stop():
                pass  # a worker may notice late: what it still says must do no harm

    def put(self, key: tuple[str, ...], peer: str, event: Event) -> None:
        self.channels.setdefault(key, deque()).append((peer, event))

    def translation(self, peer: str, instruction: Translate) -> Event:
        translated = self.world.translated(peer, instruction.neighbour, instruction.body)
        if translated is None:
            return Untranslated(instruction.task, Status.REFUSED, reason="not translated exactly")
        mapping = self.world.edges[peer, instruction.neighbour] or {}
        losses = tuple(f"{symbol} has no arrow" for symbol in instruction.body if symbol not in mapping)
        if not translated:
            return Untranslated(instruction.task, Status.NOTHING, losses)
        return Translated(instruction.task, translated, f"{instruction.neighbour}:{translated}", losses)

    def evaluate(self, peer: str, instruction: Evaluate) -> None:
        what = (peer, sender(instruction.path), str(instruction.body))
        self.evaluations.setdefault(what, []).append(instruction.budget)
        key = ("task", peer, instruction.task)
        items = self.world.items(peer, instruction.body)
        while items:
            size = 1 + self.choose(len(items))
            self.put(key, peer, Evaluated(instruction.task, tuple(items[:size])))
            items = items[size:]
        self.put(key, peer, Completed(instruction.task))

    def open(self, peer: str, instruction: Ask) -> None:
        other, near = instruction.neighbour, (peer, instruction.exchange)
        if other in self.dead:
            self.put(("wire", *near), peer, Lost(instruction.exchange, f"{other} is not there"))
            return
        far = (other, f"in-{peer}-{instruction.exchange}")
        self.links[near], self.links[far] = far, near
        message = decode(encode(instruction.message))
        self.messages.append((peer, other, message))
        self.put(("wire", *far), other, Arrived(far[1], peer, message))  # type: ignore[arg-type]

    def send(self, peer: str, instruction: Send) -> None:
        far = self.links.get((peer, instruction.exchange))
        if far is None:
            return
        message = decode(encode(instruction.message))
        assert isinstance(message, Answers | End | Error | Cancel)
        self.messages.append((peer, far[0], message))
        if far[0] not in self.dead:
            self.put(("wire", *far), far[0], Received(far[1], message))
        if not isinstance(message, Answers):
            del self.links[peer, instruction.exchange]
            self.links.pop(far, None)

    @property
    def idle(self) -> bool:
        """Whether no living peer holds anything of the query any more."""
        return all(state.is_empty for peer, state in self.states.items() if peer not in self.dead | self.frozen)
