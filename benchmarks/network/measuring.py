"""What is measured on a chain of peers, at a client of the control API of the first one."""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx

from benchmarks.network.chain import ITEM, LARGE, PEERS, Chain, chain, point
from heptox.grammar import parse_query
from heptox.mapping import load_mapping
from heptox.peer import ItemLine, PeerFolder, QuestionRequest, ReceiptLast
from heptox.store import Store, plan_query, query
from heptox.translate import translate
from tools.daemons import memory_of, work_of

SECONDS: Final = 300.0
"""The deadline of every query here."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured: small entries of each peer, large ones of the last, runs of a query, queries at once,
    and seconds for which a slow asker reads ``rate`` bytes a second."""

    small: int = 100
    large: int = 100_000
    runs: int = 40
    at_once: int = 50
    seconds: float = 30.0
    rate: int = 1_000_000


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds to the first item of the last peer asked, and to the receipt: the medians, and the least."""

    first: float
    last: float
    least_first: float
    least_last: float


@dataclass(frozen=True, slots=True)
class Bulk:
    """A large answer: how many bytes of items came in how many seconds, with the seconds of processor of each peer."""

    size: int
    seconds: float
    processor: tuple[float, ...]
    relayed: float
    """Seconds in which the same bytes come over plain streams of libp2p."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Megabytes of memory of each peer while a slow asker reads: after the first tenth of the time, and at most from
    then on; ``read`` is how many megabytes were read."""

    early: tuple[float, ...]
    most: tuple[float, ...]
    read: float


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Several queries asked at once: the seconds until the last receipt, and the median of one of them."""

    queries: int
    seconds: float
    median: float


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Seconds of processor that go into a new query over all hops, and into one that came before, by kind of work."""

    translation: float
    planning: float
    evaluation: float


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured; ``hops`` for one hop, two, and so on, of queries that were asked before, and
    ``new`` of ones that were not."""

    hops: tuple[Times, ...]
    new: tuple[Times, ...]
    bulk: Bulk
    slow: Slow
    at_once: AtOnce
    breakdown: Breakdown


def measure(sizes: Sizes) -> Results:
    """Run the chain, and measure all."""
    with TemporaryDirectory(prefix="heptox-network-") as name:
        folder = Path(name)
        with chain(folder, sizes.small, sizes.large) as running:
            reach = range(1, PEERS)
            _asked(running, point(0), PEERS - 1)  # which makes the connections
            new = tuple(_times(running, sizes.runs, hops, new=True) for hops in reach)
            known = tuple(_times(running, sizes.runs, hops) for hops in reach)
            at_once = _at_once(running, sizes.at_once)
            bulk = _bulk(running, sizes.large)
            slow = _slow(running, sizes)
        return Results(known, new, bulk, slow, at_once, _breakdown(folder, sizes.runs))


def _parts(chain: Chain, text: str, hops: int) -> Iterator[ItemLine | ReceiptLast | None]:
    with chain.asker as client:
        client.status()  # which makes the connection to the control API
        yield None
        yield from client.query(QuestionRequest(query=text, hops=hops, timeout=SECONDS))


def _asked(chain: Chain, text: str, hops: int) -> tuple[float, float]:
    """Seconds to the first item of the peer that is so far away, and to the receipt."""
    parts = _parts(chain, text, hops)
    next(parts)
    began = time.perf_counter()
    first: float | None = None
    for part in parts:
        if first is None and isinstance(part, ItemLine) and len(part.origin.path) == hops + 1:
            first = time.perf_counter() - began
        last = part
    assert isinstance(last, ReceiptLast)
    receipt = last.receipt
    assert all(line.complete for line in receipt.lines) and len(receipt.lines) == hops + 1, receipt
    assert first is not None, receipt
    return first, time.perf_counter() - began


def _times(chain: Chain, runs: int, hops: int, *, new: bool = False) -> Times:
    """``new`` queries differ from all before in their bodies: each has a variable of another name."""
    found = []
    for run in range(runs):
        text = point(run % 10)
        found.append(_asked(chain, text.replace("$e", f"$e{hops}of{run}") if new else text, hops))
    firsts, lasts = zip(*found, strict=True)
    return Times(statistics.median(firsts), statistics.median(lasts), min(firsts), min(lasts))


def _bulk(chain: Chain, large: int) -> Bulk:
    before = [work_of(peer.process.pid) for peer in chain.peers]
    began = time.perf_counter()
    size = sum(len(data) for data in _stream(chain))
    seconds = time.perf_counter() - began
    spent = tuple(work_of(peer.process.pid) - was for peer, was in zip(chain.peers, before, strict=True))
    assert size > large * ITEM
    return Bulk(large * ITEM, seconds, spent, _relayed(large * ITEM, PEERS - 1))


def _stream(chain: Chain) -> Iterator[bytes]:
    """The bytes of the large answer, as they come from the control API."""
    client = chain.asker
    headers = {"Authorization": f"Bearer {client.address.token}"}
    request = {"query": LARGE, "timeout": SECONDS}
    url = f"{client.address.url}/queries"
    last = b""
    with (
        closing(client),
        httpx.stream("POST", url, json=request, headers=headers, timeout=SECONDS, trust_env=False) as answer,
    ):
        for data in answer.iter_raw():
            last = (last + data)[-10_000:]
            yield data
    assert b'{"receipt": ' in last and b'"complete": false' not in last, last


def _slow(chain: Chain, sizes: Sizes) -> Slow:
    samples: list[tuple[float, ...]] = []
    read, began = 0, time.perf_counter()
    parts = _stream(chain)
    for data in parts:
        read += len(data)
        samples.append(tuple(memory_of(peer.process.pid) / 1e6 for peer in chain.peers))
        elapsed = time.perf_counter() - began
        if elapsed > sizes.seconds:
            break
        time.sleep(max(0.0, read / sizes.rate - elapsed))
    parts.close()  # type: ignore[attr-defined]
    after = samples[len(samples) // 10 :]
    return Slow(after[0], tuple(map(max, zip(*after, strict=True))), read / 1e6)


def _at_once(chain: Chain, queries: int) -> AtOnce:
    found: list[float] = []

    def ask(number: int) -> None:
        found.append(_asked(chain, point(number % 10), PEERS - 1)[1])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(queries)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    assert len(found) == queries, "a query has failed"
    return AtOnce(queries, seconds, statistics.median(found))


def _breakdown(folder: Path, runs: int) -> Breakdown:
    """The work of all peers of the chain for a query, one after the other in this process."""
    mappings = [load_mapping(folder / f"{number}.arrows") for number in range(PEERS - 1)]
    opened = [PeerFolder.open(folder / f"peer-{number}") for number in range(PEERS)]
    stores = [Store.open(None, peer.schema()) for peer in opened]
    for number, store in enumerate(stores):
        text = f'<entry{number} key{number}="0"><text{number}>it</text{number}></entry{number}>'
        store.load("log", f"<log{number}>{text}</log{number}>".encode())
    found: list[tuple[float, float, float]] = []
    for run in range(runs + 1):
        expression = parse_query(point(0).replace("$e", f"$e{run}"))
        spent = [0.0, 0.0, 0.0]
        for number, store in enumerate(stores):
            clocks = [time.perf_counter()]
            plan = plan_query(expression, store.catalogue)
            clocks.append(time.perf_counter())
            assert len(list(query(store, plan))) == 1
            clocks.append(time.perf_counter())
            if number < PEERS - 1:
                expression = translate(mappings[number], expression, "target").query
            clocks.append(time.perf_counter())
            planning, evaluation, translation = (after - before for before, after in pairwise(clocks))
            spent = [spent[0] + translation, spent[1] + planning, spent[2] + evaluation]
        found.append((spent[0], spent[1], spent[2]))
    for store in stores:
        store.close()
    return Breakdown(*map(statistics.median, zip(*found[1:], strict=True)))


def _relayed(size: int, hops: int) -> float:
    """The seconds in which so many bytes come over plain streams of libp2p."""
    command = [sys.executable, "-m", "benchmarks.network.relay", str(size), str(hops)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
