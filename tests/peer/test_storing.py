"""What is stored of feeds, and in which order."""

from __future__ import annotations

from collections import defaultdict

import trio

from heptox.feed import Event, FeedDocument, KeepDistrusted, Reached, Store, Stored
from heptox.peer.feed.storing import StoreQueue
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
        queue = StoreQueue(disk, reported.append)
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
