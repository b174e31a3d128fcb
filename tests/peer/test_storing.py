"""What is stored of feeds, and in which order."""

from __future__ import annotations

import time
from collections import defaultdict

import pytest
import trio

from heptox.feed import Event, FeedDocument, KeepDistrusted, Reached, Store, Stored
from heptox.peer.feed.storing import STORING, StoreQueue
from heptox.peer.query import budgets
from tests.peer.networks import run, until


class Disk:
    """Stores documents, one by one as they are let through."""

    def __init__(self) -> None:
        self.order: list[tuple[str, int]] = []

    def store(self, document: FeedDocument, number: int, *, own: bool) -> None:  # noqa: ARG002
        self.order.append((document.publisher, document.sequence))

    def keep(self, reached: Reached) -> None:
        raise NotImplementedError

    def keep_distrusted(self, kept: KeepDistrusted) -> None:
        raise NotImplementedError


def test_publishers_take_turns_and_each_keeps_its_order() -> None:
    disk, reported = Disk(), list[Event]()

    async def test() -> None:
        queue = StoreQueue(disk, reported.append, lambda _: ())
        for publisher, count in (("many", 4), ("few", 2), ("one", 1)):
            for sequence in range(count):
                queue.put(Store(FeedDocument(publisher, "feed", sequence, "name", "id", b"<a/>"), 1))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(queue.run)
            await until(lambda: len(reported) == 7)
            queue.put(Store(FeedDocument("few", "feed", 2, "name", "id", b"<a/>"), 1))
            await until(lambda: len(reported) == 8)
            nursery.cancel_scope.cancel()

    run(test)
    assert all(isinstance(event, Stored) for event in reported)
    assert [publisher for publisher, _ in disk.order] == ["many", "few", "one", "many", "few", "many", "many", "few"]
    sequences: defaultdict[str, list[int]] = defaultdict(list)
    for publisher, sequence in disk.order:
        sequences[publisher].append(sequence)
    assert sequences == {"many": [0, 1, 2, 3], "few": [0, 1, 2], "one": [0]}


class SlowDisk(Disk):
    """Takes some time of the processor for each document of a neighbour."""

    def store(self, document: FeedDocument, number: int, *, own: bool) -> None:
        if document.publisher.startswith("behind"):
            began = time.thread_time()
            while time.thread_time() < began + 0.02:
                pass
        super().store(document, number, own=own)


def stored(publisher: str, sequence: int, data: bytes = b"<a/>") -> Store:
    return Store(FeedDocument(publisher, "feed", sequence, "name", "id", data), 1)


def test_a_neighbour_whose_documents_cost_much_comes_last_and_then_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    disk, reported = SlowDisk(), list[Event]()
    ways = {f"behind {number}": ("neighbour", f"behind {number}") for number in range(10)}

    async def test() -> None:
        queue = StoreQueue(disk, reported.append, lambda publisher: ways.get(publisher, (publisher,)), 0.05)
        for publisher in ways:
            queue.put(stored(publisher, 1))
        for sequence in range(5):
            queue.put(stored("cheap", sequence))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(queue.run)
            await until(lambda: len([one for one, _ in disk.order if one == "cheap"]) == 5)
            first = [publisher for publisher, _ in disk.order]
            assert first == ["behind 0", *5 * ["cheap"]], "a new neighbour comes before one that has cost something"
            await until(lambda: len(disk.order) == 5 + 3)
            queue.put(stored("cheap", 5))
            await until(lambda: len(disk.order) == 5 + 4)
            assert disk.order[-1] == ("cheap", 5), "what the neighbour may have of a minute is used up"
            monkeypatch.setattr(budgets, "MINUTE", 0.06)
            await until(lambda: len(reported) == 16)
            nursery.cancel_scope.cancel()

    run(test)
    assert all(isinstance(event, Stored) for event in reported)


def test_what_waits_of_one_neighbour_keeps_no_other_waiting() -> None:
    async def test() -> None:
        queue = StoreQueue(Disk(), list[Event]().append, lambda publisher: (publisher[0], publisher))
        large = {queue.put(stored(publisher, 1, bytes(STORING // 2))) for publisher in ("a1", "a2")}
        assert large == {"a"}
        await queue.settle({queue.put(stored("b1", 1))})
        with trio.move_on_after(0.01) as waited:
            await queue.settle(large)
        assert waited.cancelled_caught
        async with trio.open_nursery() as nursery:
            nursery.start_soon(queue.run)
            await queue.settle(large)
            nursery.cancel_scope.cancel()

    run(test)
