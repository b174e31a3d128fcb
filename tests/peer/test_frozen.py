"""What earlier versions have written is understood: messages byte for byte, and the folders of peers."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from heptox.peer import QuestionRequest
from heptox.peer.query.events import Deliver
from heptox.peer.wire import messages
from heptox.peer.wire.feed_wire import FeedDecoder, encode_feed
from heptox.peer.wire.mapping_requests import decode_mapping, decode_request, encode_mapping, encode_request
from heptox.peer.wire.offers import decode_call, decode_reply, encode_call, encode_reply
from tests.peer.networks import run, until
from tests.peer.whole_peers import Peer, new_peer, peers_at_work
from tests.support.fixtures import FIXTURES

FROZEN: Final = FIXTURES / "frozen"
MESSAGES: Final[list[dict[str, Any]]] = json.loads((FROZEN / "wire.json").read_text(encoding="utf-8"))
"""Each kind of message as it was encoded in November 2026, by protocol; those of feeds in parts."""
CODECS: Final[dict[str, tuple[Callable[[bytes], Any], Callable[[Any], bytes]]]] = {
    "query": (messages.decode, messages.encode),
    "offer": (decode_call, encode_call),
    "withdraw": (decode_call, encode_call),
    "reply": (decode_reply, encode_reply),
    "mapping-request": (decode_request, encode_request),
    "mapping": (decode_mapping, encode_mapping),
}


def _of(*protocols: str) -> list[dict[str, Any]]:
    return [message for message in MESSAGES if message["protocol"] in protocols]


@pytest.mark.parametrize("message", _of("query", "acquaintance", "mapping"), ids=lambda message: message["kind"])
def test_messages_are_what_they_were(message: dict[str, Any]) -> None:
    frozen = bytes.fromhex(message["bytes"])
    decode, encode = CODECS.get(message["kind"]) or CODECS[message["protocol"]]
    assert encode(decode(frozen)) == frozen


@pytest.mark.parametrize("message", _of("feed"), ids=lambda message: message["kind"])
def test_messages_of_feeds_are_what_they_were(message: dict[str, Any]) -> None:
    frozen = [bytes.fromhex(part) for part in message["bytes"]]
    decoder = FeedDecoder()
    *waiting, whole = [decoder.take(part) for part in frozen]
    assert not any(waiting)
    assert whole is not None
    assert list(encode_feed(whole)) == frozen


async def _items(peer: Peer, query: str) -> set[str]:
    parts = [part async for part in peer.at_work.ask(QuestionRequest(query=query))]
    return {item for part in parts if isinstance(part, Deliver) for item in part.items}


def test_folders_of_peers_are_opened_and_lose_nothing(tmp_path: Path) -> None:
    """A publisher and a subscriber that was notified of one document, and has stored others, as of November 2026."""
    new_peer(tmp_path / "another")  # with schemas and mappings beside it
    with tarfile.open(FROZEN / "folders.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    for folder in ("publisher", "subscriber"):
        (tmp_path / folder / "address").unlink()  # somebody else may have the port by now
    publisher, subscriber = (Peer(tmp_path / name, "left") for name in ("publisher", "subscriber"))

    async def test() -> None:
        async with peers_at_work(publisher, subscriber):
            assert subscriber.delivered("pending") == {"one.xml": 1}
            await publisher.acquaint(subscriber)
            await until(lambda: publisher.linked(subscriber) and subscriber.linked(publisher))
            await until(lambda: subscriber.reaches(publisher))
            assert await _items(subscriber, "//d") == {"<d>own</d>", "<d>stored</d>"}
            await publisher.publish("two.xml", "<a><b><d>2</d></b></a>")
            await until(lambda: subscriber.delivered("pending") == {"one.xml": 1, "two.xml": 1})

    run(test)
