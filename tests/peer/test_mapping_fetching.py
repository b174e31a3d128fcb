"""Mappings on the paths to publishers, which neighbours want."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import trio
import trio.testing

from heptox.peer.acquaintance.kept_mappings import KeptMappings
from heptox.peer.acquaintance.mapping_fetching import ASKING, MappingFetching
from heptox.peer.wire.mapping_requests import (
    MappingReply,
    MappingRequest,
    NoMapping,
    decode_mapping,
    decode_request,
    encode_mapping,
    encode_request,
)
from tests.peer.networks import run
from tests.peer.test_answering import named


class Called:
    """What stands for a transport: one neighbour never answers, the others have nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(self, peer: str, protocol: str, message: bytes) -> bytes:
        self.asked.append(peer)
        if peer == "silent":
            await trio.sleep_forever()
        return encode_mapping(NoMapping(f"{protocol}: {decode_request(message).hops}"))


def test_nobody_waits_for_the_mappings_that_others_want_or_that_others_are_asked_for(tmp_path: Path) -> None:
    called = Called()
    fetching = MappingFetching(
        KeptMappings(tmp_path), cast(Any, called), lambda publisher: (publisher, "further"), cast(Any, None)
    )
    fetching.neighbours = named("greedy", "honest", "silent", "other")

    async def ask(peer: str, publisher: str) -> MappingReply:
        request = MappingRequest("0" * 32, publisher, 8)
        return decode_mapping(await fetching.answer(peer, encode_request(request)))

    async def test() -> None:
        async with trio.open_nursery() as nursery:
            for _ in range(4 * ASKING):
                nursery.start_soon(ask, "greedy", "silent")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert called.asked == ["silent"] * ASKING
            for peer in ("honest", "greedy"):
                assert await ask(peer, "other") == NoMapping("/heptox/mapping/1: 7")
            for _ in range(ASKING):
                nursery.start_soon(ask, "honest", "silent")
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert called.asked.count("silent") == 2 * ASKING
            nursery.cancel_scope.cancel()

    run(test)
