"""Acquaintances that lie about feeds, to real peers: nothing forged is delivered, and who lies is named and routed
around."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heptox.errors import PeerError
from heptox.feed import (
    CaughtUp,
    FeedDocument,
    Hello,
    Instruction,
    Publish,
    Replay,
    Send,
    Withdraw,
    catch_up,
)
from heptox.peer.wire.transport import OLD_FEED
from tests.peer.networks import run, until
from tests.peer.test_feeds import DOCUMENT, BadNeighbour, bad_neighbour, line
from tests.peer.whole_peers import Peer, new_peer, peers_at_work

FAR = 10**9


def suspicions(peer: Peer) -> set[tuple[str, str]]:
    """Whom a peer does not trust, with whose feed, as `heptox feed status` shows it."""
    return {(one.neighbour, one.publisher) for one in peer.feeds.view.status().suspicions if one.distrusted}


def forged(publisher: Peer, bad: BadNeighbour) -> FeedDocument:
    feed = publisher.feeds._publisher.log.feed
    return bad.gate.signed(FeedDocument(publisher.peer_id, feed, FAR, "forged.xml", "forged", b"<a><b/></a>"))


def test_who_speaks_for_another_publisher_is_not_heard_and_is_named(tmp_path: Path) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")

    async def test() -> None:
        async with line(publisher, subscriber):
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("all", "/*") == ()
            genuine = subscriber.feeds.router._routes.table.followed(publisher.peer_id)
            assert genuine is not None
            async with bad_neighbour(tmp_path, subscriber) as bad:
                own = (bad.peer_id,)
                answer = CaughtUp(publisher.peer_id, genuine.feed, 1, FAR, True, 0, (subscriber.peer_id,), (), b"", b"")
                bad.say(
                    Hello(),
                    replace(genuine, version=genuine.version + 1, path=(*own, publisher.peer_id), news=True),
                    replace(genuine, path=(*own, publisher.peer_id), attestations=()),
                    answer,
                    Publish(forged(publisher, bad)),
                    Replay(forged(publisher, bad), 1, (subscriber.peer_id,)),
                    Withdraw(publisher.peer_id),
                )
                await until(lambda: suspicions(subscriber) == {(bad.peer_id, publisher.peer_id)})
                await publisher.publish("one.xml", DOCUMENT)
                await until(lambda: subscriber.delivered("all")["one.xml"] == 1)
                assert set(subscriber.delivered("all")) == {"one.xml"}
                await until(lambda: subscriber.notes("neighbour distrusted"))
                assert subscriber.notes("neighbour distrusted")[0]["neighbour"] == bad.peer_id
                assert subscriber.feeds.router.way(publisher.peer_id) == (publisher.peer_id,)
                with pytest.raises(PeerError):
                    await bad.peer.at_work.transport.call(subscriber.peer_id, OLD_FEED, b"hello")
                await until(lambda: subscriber.feeds.view.status().outdated)
                await until(lambda: subscriber.notes("link refused"))
                assert OLD_FEED in subscriber.notes("link refused")[0]["why"]
                await subscriber.at_work.acquaintances.withdraw(bad.peer.name)
                await until(lambda: suspicions(subscriber) == set())

    run(test)


def test_a_relay_that_keeps_documents_back_is_routed_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catch_up, "CHECKED_EVERY", 1.0)
    publisher, subscriber, *relays = (new_peer(tmp_path / name) for name in ("publisher", "subscriber", "one", "other"))

    async def test() -> None:
        async with peers_at_work(publisher, subscriber, *relays):
            for relay in relays:
                await relay.acquaint(publisher)
                await relay.acquaint(subscriber)
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("all", "/*") == ()
            await until(lambda: all(relay.linked(subscriber) for relay in relays))
            (liar,) = (one for one in relays if one.peer_id == subscriber.feeds.router.way(publisher.peer_id)[0])
            carry_out = liar.feeds.feeding._machine._perform

            def keep_back(instruction: Instruction, *rest: Any) -> None:
                if not (isinstance(instruction, Send) and isinstance(instruction.message, Publish | Replay)):
                    carry_out(instruction, *rest)

            monkeypatch.setattr(liar.feeds.feeding._machine, "_perform", keep_back)
            for number in range(3):
                await publisher.publish(f"{number}.xml", DOCUMENT)
            await until(lambda: len(subscriber.delivered("all")) == 3)
            assert suspicions(subscriber) == {(liar.peer_id, publisher.peer_id)}
            assert "withheld" in subscriber.notes("neighbour distrusted")[0]["why"]
            assert not any(suspicions(one) for one in (publisher, *relays))
            await subscriber.stop()

    run(test)
