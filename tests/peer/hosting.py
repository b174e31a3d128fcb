"""Several peers at work in one process, as slow as chance will have it: ``python -m tests.peer.hosting FOLDER...``.

It reads commands from stdin and answers each on stdout, JSON objects a line; the end of stdin is its end. It begins
with ``{"addresses": {FOLDER: MULTIADDRESS}}``.

``{"acquaint": [{"folder", "address", "mapping", "side", "name"}]}``  makes acquaintances, each at one of the peers;
``{"agree": true}``  waits until the other sides have agreed to all of them, and are connected;
``{"delays": SEED}``  from now on all work and all messages take as long as chance with this seed will have it;
``{"ask": [{"folder", "query"}], "hops", "seconds"}``  asks all at once, and gives what came of each in order: ``items``
by ``path``, in the order in which the paths first brought one, and the ``lines`` of the receipt.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, Final

import trio

from heptox.peer import (
    Conclude,
    Message,
    PeerFolder,
    Proposal,
    QuestionRequest,
    Side,
    Translated,
    Untranslated,
    daemon,
    propose,
    runner,
)
from heptox.peer.control.service import PeerService
from heptox.peer.daemon import running
from heptox.peer.process.workers import open_workers
from heptox.peer.runner import Work
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.messages import Body, HopPath, PeerId
from heptox.peer.wire.standing import Standing
from heptox.peer.wire.stream import MessageStream
from heptox.peer.wire.transport import TransportLimits

LONGEST: Final = 0.2
"""Seconds of the longest delay; most are much shorter, so that one late message is overtaken by many."""

PATIENCE: Final = 300.0
"""Seconds that a peer waits for another one to do what takes no time."""


class Chance:
    """Delays of random lengths; none before a seed is given."""

    def __init__(self) -> None:
        self._random: Random | None = None

    def seed(self, seed: str) -> None:
        self._random = Random(seed)

    async def delay(self) -> None:
        if self._random is not None:
            await trio.sleep(LONGEST * self._random.random() ** 4)

    def pieces(self, items: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The items in their order, cut somewhere."""
        if self._random is None or len(items) < 2:
            return [items]
        cut = self._random.randrange(1, len(items))
        return [items[:cut], items[cut:]]


class SlowWork:
    """A peer's work, with delays before it and in between."""

    def __init__(self, work: Work, chance: Chance) -> None:
        self._work = work
        self._chance = chance

    async def translate(
        self, query: str, path: HopPath, neighbour: PeerId, body: Body, task: str
    ) -> Translated | Untranslated:
        await self._chance.delay()
        return await self._work.translate(query, path, neighbour, body, task)

    async def evaluate(
        self, query: str, body: Body, path: HopPath, budget: int, hidden: frozenset[str]
    ) -> AsyncGenerator[tuple[str, ...], None]:
        await self._chance.delay()
        async with aclosing(self._work.evaluate(query, body, path, budget, hidden)) as batches:
            async for items in batches:
                for piece in self._chance.pieces(items):
                    yield piece
                    await self._chance.delay()

    async def losses(self, body: Body, path: HopPath, hidden: frozenset[str]) -> tuple[str, ...]:
        await self._chance.delay()
        return await self._work.losses(body, path, hidden)

    def admit(self, neighbour: PeerId) -> None:
        pass

    def addresses(self, neighbour: PeerId) -> tuple[str, ...]:
        return self._work.addresses(neighbour)


def slow_streams(chance: Chance) -> None:
    """Let all streams of this process hand their messages on with delays."""
    receive = MessageStream.receive

    async def slowly(self: MessageStream) -> Message:
        await chance.delay()  # before: whoever is cancelled meanwhile has lost nothing
        return await receive(self)

    MessageStream.receive = slowly  # type: ignore[assignment, method-assign]


def be_patient() -> None:
    """Let no peer of this process count as unreachable because the machine is busy."""

    def patient(**_: float) -> TransportLimits:
        return TransportLimits(dial=PATIENCE, keep_alive=PATIENCE)

    setattr(daemon, "TransportLimits", patient)  # noqa: B010  (what is final for everybody else)
    setattr(runner, "SILENCE", PATIENCE)  # noqa: B010


@cache
def proposal(mapping: str, address: str, side: str) -> Proposal:
    return propose(address, Path(mapping), Side(side))


class Host:
    """The peers of this process by their folders, and what each command does."""

    def __init__(self, services: dict[str, PeerService], chance: Chance) -> None:
        self._services = services
        self._chance = chance
        self._address = next(iter(services.values())).transport.addresses[0]

    async def handle(self, command: dict[str, Any]) -> dict[str, Any]:
        match command:
            case {"acquaint": wanted}:
                for one in wanted:
                    address = PeerAddress.parse(one["address"])
                    packed = proposal(one["mapping"], self._address, one["side"])
                    named = replace(packed, address=address, name=one["name"])
                    await self._services[one["folder"]].acquaintances.acquaint(named)
                return {"acquainted": len(wanted)}
            case {"agree": True}:
                while not all(map(_agreed, self._services.values())):
                    await trio.sleep(0.05)
                return {"agree": True}
            case {"delays": seed}:
                self._chance.seed(seed)
                return {"delays": seed}
            case {"ask": questions, "hops": hops, "seconds": seconds}:
                answers: list[dict[str, Any]] = [{} for _ in questions]
                async with trio.open_nursery() as nursery:
                    for one, answer in zip(questions, answers, strict=True):
                        question = QuestionRequest(query=one["query"], hops=hops, timeout=seconds)
                        nursery.start_soon(partial(_ask, self._services[one["folder"]], question, answer))
                return {"answers": answers}
        raise ValueError(f"no command: {command}")


def _agreed(service: PeerService) -> bool:
    """Whether all acquaintances of a peer are agreed on, and connected."""
    return all(
        one.acquaintance.standing is Standing.AGREED and service.transport.connected(one.peer)
        for one in service.acquaintances.known
    )


async def _ask(service: PeerService, question: QuestionRequest, answer: dict[str, Any]) -> None:
    found: dict[tuple[str, ...], list[str]] = {}
    async with aclosing(service.ask(question)) as parts:
        async for part in parts:
            if isinstance(part, Conclude):
                answer["distinct"] = part.receipt.items
                answer["lines"] = [
                    {
                        "path": [hop.name for hop in line.path],
                        "status": line.status,
                        "items": line.items,
                        "complete": line.complete,
                        "beyond": line.beyond,
                        "reason": line.reason,
                    }
                    for line in part.receipt.lines
                ]
            else:
                items = found.setdefault(tuple(hop.name for hop in part.origin), [])
                items += [*part.items, *part.repeated]
    answer["items"] = [{"path": path, "items": items} for path, items in found.items()]


async def commands() -> AsyncIterator[dict[str, Any]]:
    held = b""
    async with trio.lowlevel.FdStream(sys.stdin.fileno()) as stdin:
        async for data in stdin:
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                yield json.loads(line)


async def host(folders: list[str]) -> None:
    chance = Chance()
    slow_streams(chance)
    be_patient()
    async with AsyncExitStack() as stack:
        workers = await stack.enter_async_context(open_workers())
        services: dict[str, PeerService] = {}
        for folder in folders:
            opened = PeerFolder.open(Path(folder))
            stack.enter_context(opened.locked())
            service = await stack.enter_async_context(running(opened, workers=workers))
            service.runner.work = SlowWork(service.runner.work, chance)
            services[folder] = service
        await say({"addresses": {folder: service.transport.addresses[0] for folder, service in services.items()}})
        hosting = Host(services, chance)
        async for command in commands():
            await say(await hosting.handle(command))


async def say(answer: dict[str, Any]) -> None:
    # Not print: it would hold up all peers of this process while nobody reads.
    async with trio.lowlevel.FdStream(os.dup(sys.stdout.fileno())) as stdout:
        await stdout.send_all(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    trio.run(host, sys.argv[1:])
