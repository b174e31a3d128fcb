"""Peers at work over each transport: questions are answered, and what goes wrong is told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio
import trio.testing

from heptox.codec import MESSAGE_LIMIT
from heptox.errors import Fault, PeerError, StoreError, TranslationError
from heptox.peer import (
    Conclude,
    Deliver,
    HopPath,
    Limits,
    Neighbour,
    PeerState,
    Receipt,
    Status,
    Translated,
    Untranslated,
)
from heptox.peer.runner import Runner
from heptox.peer.wire.messages import peers_of
from heptox.peer.wire.transport import Transport
from tests.peer.networks import DEADLINE, Libp2p, Memory, Network, run, until


@pytest.fixture(params=[Memory, Libp2p])
def network(request: pytest.FixtureRequest) -> Network:
    make: Callable[[], Network] = request.param
    return make()


@dataclass
class Doing:
    """The work of one peer: it answers with its name and a number, in ``batches`` of ``size``."""

    name: str
    known: dict[str, Transport]
    batches: int = 2
    size: int = 2
    length: int = 0
    stays: bool = False
    evaluating: int = 0
    produced: int = 0
    ended: list[str] = field(default_factory=list)
    fault: Exception | None = None
    body: Any = None

    async def translate(self, query: str, path: Any, neighbour: str, body: Any, task: str) -> Translated | Untranslated:
        assert query and path
        await trio.lowlevel.checkpoint()
        if body == "untranslatable":
            raise TranslationError(Fault("HX5001", "it cannot be"))
        if body == "mistake":
            raise ValueError("a mistake in the work")
        return Translated(task, self.body or body, f"{body} for {neighbour[-4:]}")

    async def evaluate(
        self, query: str, body: Any, path: HopPath, budget: int, hidden: frozenset[str] = frozenset()
    ) -> AsyncGenerator[tuple[str, ...], None]:
        assert not hidden
        assert query
        assert body
        assert budget > 0
        assert path[-1].name == self.name
        self.evaluating += 1
        try:
            for batch in range(self.batches):
                self.produced += 1
                yield tuple(f"{self.name}{batch}.{number}".ljust(self.length) for number in range(self.size))
            if self.fault is not None:
                raise self.fault
            if self.stays:
                await trio.sleep_forever()
        finally:
            self.evaluating -= 1
            self.ended.append(query)

    async def losses(self, body: Any, path: Any, hidden: frozenset[str]) -> tuple[str, ...]:
        assert path
        return tuple(f"{body} of {one}" for one in hidden)

    def admit(self, neighbour: str) -> None:
        pass

    def addresses(self, neighbour: str) -> tuple[str, ...]:
        return self.known[neighbour].addresses if neighbour in self.known else ()


@dataclass
class Team:
    """Peers by name, each with its transport, its work, and a runner."""

    transports: dict[str, Any]
    work: dict[str, Doing]
    runners: dict[str, Runner]

    async def ask(
        self, name: str, body: Any = "body", **settings: Any
    ) -> tuple[dict[tuple[str, ...], list[str]], Receipt]:
        """Items by the names along their way, and the receipt."""
        items: dict[tuple[str, ...], list[str]] = {}
        chosen = {"hops": 3, "seconds": 10.0, "budget": 10**8, **settings}
        async with aclosing(self.runners[name].ask(body, str(body)[:20], **chosen)) as parts:
            async for part in parts:
                if isinstance(part, Conclude):
                    return items, part.receipt
                came = items.setdefault(tuple(hop.name for hop in part.origin), [])
                came += (*part.items, *part.repeated)
        raise AssertionError("there is no receipt")


@asynccontextmanager
async def team(
    network: Network, *edges: str, strangers: bool = True, limits: Limits | None = None
) -> AsyncIterator[Team]:
    """Peers with acquaintances: ``AB`` lets A ask B."""
    names = sorted(set("".join(edges)))
    transports = {name: network.transport() for name in names}
    known = {transport.peer: transport for transport in transports.values()}
    work = {name: Doing(name, known) for name in names}
    runners = {
        name: Runner(PeerState(transports[name].peer, name, limits), transports[name], work[name]) for name in names
    }
    async with AsyncExitStack() as stack:
        for name in names:
            neighbours = [Neighbour(transports[edge[1]].peer, edge[1]) for edge in edges if edge[0] == name]
            runners[name].acquaint(tuple(neighbours), strangers=strangers)
            await stack.enter_async_context(runners[name].serving())
        yield Team(transports, work, runners)


def told(receipt: Receipt) -> list[tuple[str, Status, int]]:
    return [("".join(hop.name for hop in line.path), line.status, line.items) for line in receipt.lines]


def test_a_query_reaches_everybody_and_comes_back(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB", "BC", "AC") as peers:
            items, receipt = await peers.ask("A", explain=True)
            assert {"".join(path) for path in items} == {"A", "AB", "ABC", "AC"}
            assert items[("A", "B", "C")] == ["C0.0", "C0.1", "C1.0", "C1.1"]
            assert told(receipt) == [(path, Status.ANSWERED, 4) for path in ("A", "AB", "ABC", "AC")]
            assert (receipt.items, receipt.complete) == (12, True)
            assert [line.text[:5] for line in receipt.lines] == ["body", "body ", "body ", "body "]
            assert peers.work["C"].ended == [receipt.query], "equal queries are evaluated once"

    run(test)


def test_many_queries_at_once(network: Network) -> None:
    async def test() -> None:
        async def ask(peers: Team, name: str) -> None:
            _, receipt = await peers.ask(name)
            assert receipt.complete
            assert receipt.items == 12

        async with team(network, "AB", "BC", "CA") as peers, trio.open_nursery() as nursery:
            for name in "ABC" * 7:
                nursery.start_soon(ask, peers, name)

    run(test)


def test_much_passes_through_without_piling_up(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB", "BC") as peers:
            peers.work["C"].batches, peers.work["C"].size, peers.work["C"].length = 300, 10, 1000
            _, receipt = await peers.ask("A")
            assert told(receipt)[2] == ("ABC", Status.ANSWERED, 3000)
            peers.work["C"].batches, peers.work["C"].produced = 5000, 0
            ask = peers.runners["A"].ask("body", "", hops=3, seconds=DEADLINE, budget=10**8)
            async with aclosing(ask) as parts:
                assert isinstance(await anext(parts), Deliver)
                await until(lambda: peers.work["C"].produced)
                await trio.testing.wait_all_tasks_blocked(0.05)  # nobody reads on: nobody has anything to do
                assert peers.work["C"].evaluating
                assert peers.work["C"].produced < 250
            await until(lambda: not peers.work["C"].evaluating)

    run(test)


def test_a_killed_peer_is_told_and_what_came_stays(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB", "BC") as peers:
            peers.work["B"].stays = True
            items: list[str] = []
            async with aclosing(peers.runners["A"].ask("body", "", hops=3, seconds=10, budget=10**6)) as parts:
                async for part in parts:
                    if isinstance(part, Conclude):
                        break
                    items += part.items
                    if {"B1.1", "C1.1"} <= set(items):
                        await network.kill(peers.transports["B"])
            assert len(items) == 12
            unreachable = Status.UNREACHABLE
            assert isinstance(part, Conclude)
            assert told(part.receipt) == [("A", Status.ANSWERED, 4), ("AB", unreachable, 4), ("ABC", unreachable, 4)]
            assert part.receipt.lines[1].beyond

    run(test)


def test_a_peer_that_is_not_there_is_told(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB") as peers:
            peers.runners["A"].acquaint((Neighbour("12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", "gone"),))
            _, receipt = await peers.ask("A")
            assert told(receipt) == [("A", Status.ANSWERED, 4), ("Agone", Status.UNREACHABLE, 0)]
            assert "HX7010" in receipt.lines[1].reason
            assert "exception" not in receipt.lines[1].reason

    run(test)


def test_one_that_is_not_welcome_is_denied(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB", strangers=False) as peers:
            _, receipt = await peers.ask("A")
            assert told(receipt) == [("A", Status.ANSWERED, 4), ("AB", Status.DENIED, 0)]

    run(test)


def test_a_silent_peer_costs_no_more_than_the_deadline(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB", "BC") as peers:
            peers.work["C"].stays = True
            _, receipt = await peers.ask("A", seconds=3.0)
            assert told(receipt) == [
                ("A", Status.ANSWERED, 4),
                ("AB", Status.ANSWERED, 4),
                ("ABC", Status.TIMED_OUT, 4),
            ]
            await until(lambda: not peers.work["C"].evaluating)

    run(test)


def test_leaving_early_stops_the_work_everywhere(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB", "BC") as peers:
            for name in "ABC":
                peers.work[name].stays = True
            async with aclosing(peers.runners["A"].ask("body", "", hops=3, seconds=100, budget=10**6)) as parts:
                async for part in parts:
                    if isinstance(part, Deliver) and part.origin[-1].name == "C":
                        break
            await until(lambda: not any(peers.work[name].evaluating for name in "ABC"))
            await until(lambda: not any(peers.runners[name].state.in_flight for name in "ABC"))

    run(test)


@pytest.mark.parametrize("fault", [StoreError(Fault("HX6003", "too much")), ValueError("a mistake in the work")])
def test_an_evaluation_that_fails_is_told(network: Network, fault: Exception) -> None:
    async def test() -> None:
        async with team(network, "AB") as peers:
            peers.work["B"].fault = fault
            _, receipt = await peers.ask("A")
            assert told(receipt) == [("A", Status.ANSWERED, 4), ("AB", Status.FAILED, 4)]
            assert ("too much" if isinstance(fault, StoreError) else "mistake") in receipt.lines[1].reason
            peers.work["B"].fault = None
            _, receipt = await peers.ask("A")
            assert receipt.complete

    run(test)


@pytest.mark.parametrize("body", ["untranslatable", "mistake"])
def test_a_translation_that_fails_is_told(network: Network, body: str) -> None:
    async def test() -> None:
        async with team(network, "AB") as peers:
            _, receipt = await peers.ask("A", body)
            assert told(receipt) == [("A", Status.ANSWERED, 4), ("AB", Status.FAILED, 0)]

    run(test)


@pytest.mark.parametrize("body", ["x" * MESSAGE_LIMIT, object()])
def test_a_query_that_cannot_be_sent_is_told(network: Network, body: Any) -> None:
    async def test() -> None:
        async with team(network, "AB") as peers:
            peers.work["A"].body = body
            _, receipt = await peers.ask("A")
            assert told(receipt) == [("A", Status.ANSWERED, 4), ("AB", Status.FAILED, 0)]

    run(test)


def test_a_peer_that_ends_concludes_what_its_user_has_asked(network: Network) -> None:
    async def test() -> None:
        receipts: list[Receipt] = []

        async def ask(peers: Team) -> None:
            _, receipt = await peers.ask("A", seconds=100)
            receipts.append(receipt)

        async with trio.open_nursery() as nursery:
            async with team(network, "AB") as peers:
                peers.work["B"].stays = True
                nursery.start_soon(ask, peers)
                await until(lambda: peers.work["B"].evaluating)
            await until(lambda: receipts)
        assert told(receipts[0])[1][1] in {Status.CANCELLED, Status.UNREACHABLE}

    run(test)


def test_asking_too_much_of_oneself_is_refused(network: Network) -> None:
    async def test() -> None:
        async with team(network, "AB") as peers:
            with pytest.raises(PeerError, match="HX7021"):
                await peers.ask("A", hops=1000)
            _, receipt = await peers.ask("A")
            assert receipt.complete
            assert peers_of(receipt.lines[0].path) == (peers.transports["A"].peer,)

    run(test)
