"""Documents on their way through four processes in a line, over streams of libp2p as peers use them.

``python -m benchmarks.rewriting.peers GIVEN`` is one router; ``GIVEN`` is a :class:`Given` as JSON. It prints its
multiaddress, reads that of the router that gets documents from it, an empty line where there is none, and prints a line
for each document that it has matched.
"""

from __future__ import annotations

import json
import secrets
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from itertools import pairwise
from time import monotonic
from typing import Final

import trio

from benchmarks.rewriting.emulation import DisagreementError, Response
from benchmarks.rewriting.routers import Parcel, Router
from benchmarks.rewriting.schemas import global_schema, mappings, schemas
from benchmarks.rewriting.subscriptions import domain_subscriptions
from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.transport import ByteMessages, Stream, TransportLimits
from heptox.rewriting import Publisher, Strategy

ROUTERS: Final = 4
DEADLINE: Final = 300.0
"""Seconds in which a document has come to the last router: by QRA the first one makes each translate subscriptions."""
_HERE: Final = "/ip4/127.0.0.1/tcp/0"
_LIMITS: Final = TransportLimits(keep_alive=DEADLINE)


@dataclass(frozen=True, slots=True)
class Given:
    """What a router starts with: so many subscriptions of a seed, the numbers of the publishers' schemas, and how many
    megabits a second it sends; as many as it can for 0."""

    subscriptions: int
    seed: int
    publishers: tuple[int, ...]
    megabits: float = 0


@dataclass(frozen=True, slots=True)
class Matched:
    """A document at a router: when it was matched, by the clock that all processes have, the seconds of the processor
    that this took, how many subscriptions match, and a digest of which."""

    at: float
    seconds: float
    found: int
    digest: str


def responses(given: Given, documents: Sequence[tuple[int, bytes]], turns: int) -> dict[Strategy, Response]:
    """The response times by each way of documents, each with the place of its publisher: the median of turns.

    Raises :class:`~benchmarks.rewriting.emulation.DisagreementError` when the ways do not find the same.
    """
    with _line(given) as (address, processes):
        return trio.run(_responses, address, processes, documents, turns, given.megabits)


# -- messages ----------------------------------------------------------------------------------------------------


def packed(parcel: Parcel, way: Strategy) -> bytes:
    """A document as it is sent."""
    head = json.dumps([parcel.publisher, way, len(parcel.document)]).encode()
    return b"\n".join((head, parcel.document + (parcel.rewritten or b"")))


def unpacked(message: bytes) -> tuple[Parcel, Strategy]:
    """The document of a message.

    >>> unpacked(packed(Parcel(3, b"<a/>", b"<b/>"), Strategy.SDR))
    (Parcel(publisher=3, document=b'<a/>', rewritten=b'<b/>'), <Strategy.SDR: 'sdr'>)
    """
    head, _, content = message.partition(b"\n")
    publisher, way, length = json.loads(head)
    return Parcel(publisher, content[:length], content[length:] or None), Strategy(way)


# -- a router ----------------------------------------------------------------------------------------------------


async def _serve(given: Given) -> None:
    known = schemas()
    publishers = [*map(Publisher, mappings(tuple(known[number] for number in given.publishers)))]
    router = Router(global_schema(), publishers, domain_subscriptions(given.subscriptions, given.seed))
    transport = Libp2pTransport(secrets.token_bytes(32), _HERE, limits=_LIMITS)
    below: list[ByteMessages] = []

    async def receive(stream: ByteMessages) -> None:
        while True:
            parcel, way = unpacked(await stream.receive())
            handled = router.handle(parcel, way)
            at = monotonic()
            for each in below:
                await _send(each, packed(handled.parcel, way), given.megabits)
            digest = sha256(handled.found.tobytes()).hexdigest()
            print(json.dumps(asdict(Matched(at, handled.seconds, len(handled.found), digest))), flush=True)

    async with transport.serving(_nobody, on_feed=receive):
        print(transport.addresses[0], flush=True)
        if address := (await trio.to_thread.run_sync(sys.stdin.readline)).strip():
            below.append(await _opened(transport, address))
        print("ready", flush=True)
        await trio.sleep_forever()


async def _send(stream: ByteMessages, message: bytes, megabits: float) -> None:
    """Send a message when a link of so many megabits a second would have taken all of it."""
    if megabits:
        await trio.sleep(8e-6 * len(message) / megabits)
    stream.post(message)
    await stream.settle(0)


async def _opened(transport: Libp2pTransport, address: str) -> ByteMessages:
    peer = address.rpartition("/")[2]
    await transport.dial(peer, (address,))
    return await transport.open_feed(peer)


async def _nobody(stream: Stream) -> None:
    stream.abort()


# -- those who publish -------------------------------------------------------------------------------------------


@contextmanager
def _line(given: Given) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """The address of the first router, and all processes, the first one first; each has subscriptions of its own."""
    processes: list[subprocess.Popen[str]] = []
    try:
        for number in range(ROUTERS):
            started = replace(given, seed=given.seed + number)
            command = [sys.executable, "-m", "benchmarks.rewriting.peers", json.dumps(asdict(started))]
            processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        address, *below = map(_printed, processes)
        for process, other in zip(processes, (*below, ""), strict=True):
            _tell(process, other)
            _printed(process)
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _printed(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    line = process.stdout.readline().strip()
    assert line, "a router has ended"
    return line


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin
    print(line, file=process.stdin, flush=True)


async def _responses(
    address: str,
    processes: Sequence[subprocess.Popen[str]],
    documents: Sequence[tuple[int, bytes]],
    turns: int,
    megabits: float,
) -> dict[Strategy, Response]:
    transport = Libp2pTransport(secrets.token_bytes(32), limits=_LIMITS)
    taken: dict[Strategy, list[list[_Taken]]] = {way: [] for way in Strategy}
    async with transport.serving(_nobody):
        stream = await _opened(transport, address)
        for turn in range(turns + 1):
            for way in Strategy:
                came = [await _taken(stream, processes, Parcel(*each), way, megabits) for each in documents]
                if turn:  # in the first one much is done that is kept
                    taken[way].append([one for several in came for one in several])
    _agree(taken)
    return {way: _response(several) for way, several in taken.items()}


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a document took until a router had matched it: seconds in all, and of the processors on the way."""

    seconds: float
    querying: float
    matched: Matched


async def _taken(
    stream: ByteMessages, processes: Sequence[subprocess.Popen[str]], parcel: Parcel, way: Strategy, megabits: float
) -> list[_Taken]:
    """Send a document, and wait until all routers have matched it."""
    begin, querying = monotonic(), 0.0
    await _send(stream, packed(parcel, way), megabits)
    found = []
    with trio.fail_after(DEADLINE):
        for process in processes:
            matched = Matched(**json.loads(await trio.to_thread.run_sync(_printed, process, abandon_on_cancel=True)))
            querying += matched.seconds
            found.append(_Taken(matched.at - begin, querying, matched))
    return found


def _agree(taken: Mapping[Strategy, Sequence[Sequence[_Taken]]]) -> None:
    for (one, first), (other, second) in pairwise(taken.items()):
        if [each.matched.digest for each in first[0]] != [each.matched.digest for each in second[0]]:
            raise DisagreementError(f"{one} and {other} differ")


def _response(turned: Sequence[Sequence[_Taken]]) -> Response:
    """The mean over those who get a document of the median of turns; what the processors do not take, links do."""
    querying = transmitting = 0.0
    deliveries = 0
    for several in zip(*turned, strict=True):
        found = several[0].matched.found
        deliveries += found
        querying += found * statistics.median(each.querying for each in several)
        transmitting += found * statistics.median(each.seconds - each.querying for each in several)
    return Response(querying / max(deliveries, 1), transmitting / max(deliveries, 1), deliveries)


if __name__ == "__main__":
    trio.run(_serve, Given(**json.loads(sys.argv[1])))
