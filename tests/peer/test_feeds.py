"""Feeds of whole peers: what whoever subscribes, publishes and looks after them meets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import Final

import pytest
import trio

from heptox.errors import DisseminationError, Fault, PeerError, SchemaError
from heptox.feed import (
    TEXT_LIMIT,
    Announce,
    Budget,
    FeedDocument,
    FeedLog,
    Hello,
    Message,
    Publish,
    Subscribe,
    receiving,
)
from heptox.matching import Policy, SubscriptionRequest
from heptox.peer import subscriptions_at
from heptox.peer.control.doctor import examine_folder
from heptox.peer.feed import feeds
from heptox.peer.feed.publishing import gate_of
from heptox.peer.wire.feed_wire import encode_feed
from heptox.peer.wire.transport import ByteMessages
from heptox.routing import Advertisement, advertised, digest
from heptox.schema import parse_dtd
from heptox.settings import Hide
from heptox.xml import XmlElement, trees
from tests.peer.networks import run, until
from tests.peer.whole_peers import DTDS, Peer, new_peer, peers_at_work

DOCUMENT: Final = "<a><b><d>1</d></b></a>"
HIDING: Final = "<a><c><d>1</d></c></a>"


@asynccontextmanager
async def line(*peers: Peer) -> AsyncIterator[trio.Nursery]:
    """Peers of which each is acquainted with the next one."""
    async with peers_at_work(*peers) as nursery:
        for one, other in pairwise(peers):
            await one.acquaint(other)
            await until(lambda: one.linked(other) and other.linked(one))  # noqa: B023
        yield nursery


def test_a_subscription_counts_once_that_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")
    full = DisseminationError(Fault("HX9053", "the disk is full"))
    keep = FeedLog.keep

    def not_kept(*_: object, **__: object) -> None:
        raise full

    async def test() -> None:
        async with line(publisher, subscriber):
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            monkeypatch.setattr(FeedLog, "keep", not_kept)
            monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 0.3)
            assert await subscriber.subscribe("one", "//d") == (publisher.peer_id,)
            assert subscriber.feeds.router.counts(publisher.peer_id, subscriber.number("one"))
            monkeypatch.setattr(FeedLog, "keep", keep)
            monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 30.0)
            assert await subscriber.subscribe("other", "//d") == ()

    run(test)


async def delivered(peer: Peer, name: str, *documents: str) -> None:
    """Wait until just these documents were delivered to a subscription, each once."""
    await until(lambda: peer.delivered(name).total() >= len(documents))
    assert peer.delivered(name) == dict.fromkeys(documents, 1)


# -- what goes to others, and what does not --------------------------------------------------------------------------


def test_what_is_hidden_or_not_of_the_schema_is_kept_at_home(tmp_path: Path) -> None:
    publisher = new_peer(tmp_path / "publisher", hide=(Hide(("a/c/d",)),))
    anything = new_peer(tmp_path / "anything", feed="anything")
    subscriber = new_peer(tmp_path / "subscriber", "right")

    async def test() -> None:
        async with line(publisher, subscriber, anything):
            for peer in (publisher, anything):
                assert not (await peer.publish("first.xml", DOCUMENT)).kept
                await until(lambda: subscriber.reaches(peer))  # noqa: B023
            assert await subscriber.subscribe("all", "/*") == ()
            assert "a/c/d, which is hidden" in (await publisher.publish("hidden.xml", HIDING)).kept
            other = await publisher.publish("other.xml", "<a><x/></a>")
            assert other.kept == "it is not of the schema that others are told: line 1: x may not stand below a"
            with pytest.raises(SchemaError, match="HX2013 the root element is x, not a"):
                await publisher.publish("any.xml", "<x><y/></x>")
            assert not (await anything.publish("any.xml", "<x><y/></x>")).kept
            assert not (await anything.publish("shown.xml", HIDING)).kept
            assert not (await publisher.publish("last.xml", DOCUMENT)).kept
            await delivered(subscriber, "all", "any.xml", "shown.xml", "last.xml")

    run(test)


NAMED = '<?xml version="1.0"?>\n<a xmlns:p="urn:p" xml:lang="de"><p:b p:x="1"><c xmlns="urn:c">\u00e9</c></p:b></a>\n'


def test_documents_in_namespaces_come_byte_for_byte_to_who_asks_for_their_names(tmp_path: Path) -> None:
    publisher = new_peer(tmp_path / "publisher", feed="anything")
    relay, subscriber = (new_peer(tmp_path / name, follow="all") for name in ("relay", "subscriber"))

    async def test() -> None:
        async with line(publisher, relay, subscriber):
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            for name, xpath in {
                "named": "//Q{urn:p}b[Q{urn:c}c = 'é']",
                "plain": "//b",
                "lang": "/a/@xml:lang",
            }.items():
                assert await subscriber.subscribe(name, xpath) == ()
            await publisher.publish("named.xml", NAMED)
            await publisher.publish("other.xml", "<a xmlns='urn:p'><b/></a>")
            await publisher.publish("last.xml", "<a><b/></a>")
            await delivered(subscriber, "plain", "last.xml")
            await delivered(subscriber, "named", "named.xml")
            await delivered(subscriber, "lang", "named.xml")
            assert subscriber.at_work.subscribing.log.content("named", 1)[1] == NAMED.encode()

    run(test)


def test_what_is_published_while_the_daemon_is_down_goes_out_when_it_runs(tmp_path: Path) -> None:
    publisher, relay, subscriber = (new_peer(tmp_path / name) for name in ("publisher", "relay", "subscriber"))

    def publish_in_folder() -> None:
        with subscriptions_at(publisher.folder) as folder:
            for name in ("one.xml", "other.xml", "one.xml"):
                folder.publish(name, DOCUMENT.encode())

    async def test() -> None:
        async with line(publisher, relay, subscriber) as nursery:
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            await publisher.stop()
            await trio.to_thread.run_sync(publish_in_folder)
            await nursery.start(publisher.run)
            await delivered(subscriber, "some", "one.xml", "other.xml")

    run(test)


def test_what_is_published_while_there_is_no_acquaintance_comes_when_there_is_one_again(tmp_path: Path) -> None:
    publisher, relay, subscriber = (new_peer(tmp_path / name) for name in ("publisher", "relay", "subscriber"))

    def publish_in_folder() -> None:
        with subscriptions_at(publisher.folder) as folder:
            assert folder.publish("three.xml", DOCUMENT.encode()).offered

    async def test() -> None:
        async with line(publisher, relay, subscriber) as nursery:
            await publisher.publish("one.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            await publisher.at_work.acquaintances.withdraw(relay.peer_id)
            await until(lambda: not publisher.linked(relay) and not publisher.acquaintances)
            assert (await publisher.publish("two.xml", DOCUMENT)).document is not None
            await publisher.stop()
            await trio.to_thread.run_sync(publish_in_folder)
            await nursery.start(publisher.run)
            await publisher.acquaint(relay)
            await publisher.publish("four.xml", DOCUMENT)
            await delivered(subscriber, "some", "two.xml", "three.xml", "four.xml")

    run(test)


def test_what_is_published_before_anybody_has_heard_of_the_publisher_comes(tmp_path: Path) -> None:
    publisher, relay, subscriber = (new_peer(tmp_path / name) for name in ("publisher", "relay", "subscriber"))

    def publish_in_folder() -> None:
        with subscriptions_at(publisher.folder) as folder:
            assert folder.publish("one.xml", DOCUMENT.encode()).offered

    async def test() -> None:
        async with line(publisher, relay, subscriber) as nursery:
            assert await subscriber.subscribe("some", "//d") == ()
            await publisher.stop()
            await trio.to_thread.run_sync(publish_in_folder)
            await nursery.start(publisher.run)
            await publisher.publish("other.xml", DOCUMENT)
            await delivered(subscriber, "some", "one.xml", "other.xml")

    run(test)


def test_who_subscribes_hears_of_publishers_that_cannot_be_reached(tmp_path: Path) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")

    async def test() -> None:
        async with line(publisher, subscriber):
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            await publisher.stop()
            await until(lambda: not subscriber.reaches(publisher))
            became = await subscriber.at_work.subscribing.subscribe(
                [SubscriptionRequest("late", "//b")], [], skipping=False
            )
            assert (became.unconfirmed, became.unreached) == ((), (publisher.peer_id,))

    run(test)


def test_whoever_starts_anew_misses_nothing(tmp_path: Path) -> None:
    peers = publisher, relay, subscriber = [new_peer(tmp_path / name) for name in ("publisher", "relay", "subscriber")]

    async def test() -> None:
        async with line(*peers) as nursery:
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            names = []
            for peer in (subscriber, relay, publisher):
                await peer.stop()
                if publisher.service is not None:
                    names.append(f"without {peer.name}.xml")
                    await publisher.publish(names[-1], DOCUMENT)
                await nursery.start(peer.run)
                names.append(f"with {peer.name}.xml")
                await publisher.publish(names[-1], DOCUMENT)
                await delivered(subscriber, "some", *names)

    run(test)


def test_others_are_not_told_a_subscription_that_is_too_long(tmp_path: Path) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")
    wanted = [
        SubscriptionRequest("long", f"//c[d = '1' or d = '{'x' * TEXT_LIMIT}']"),
        SubscriptionRequest("short", "//b"),
    ]

    async def test() -> None:
        async with line(publisher, subscriber) as nursery:
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            became = await subscriber.at_work.subscribing.subscribe(wanted, [], skipping=False)
            assert (became.untold, became.unconfirmed) == (("long",), ())
            for times in range(2):
                await publisher.publish(f"long {times}.xml", HIDING)
                await publisher.publish(f"short {times}.xml", DOCUMENT)
                await until(lambda: subscriber.delivered("short").total() == times + 1)  # noqa: B023
                await subscriber.stop()
                await nursery.start(subscriber.run)
            await subscriber.publish("own.xml", HIDING)
            await delivered(subscriber, "long", "own.xml")
            await delivered(subscriber, "short", "short 0.xml", "short 1.xml")

    run(test)


def test_a_document_that_a_full_backlog_refuses_comes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher, other, subscriber = (new_peer(tmp_path / name) for name in ("publisher", "other", "subscriber"))
    monkeypatch.setattr(receiving, "PATIENCE", 0.3)

    async def test() -> None:
        async with line(publisher, subscriber, other):
            for peer in (publisher, other):
                await peer.publish("first.xml", "<a/>")
                await until(lambda: subscriber.reaches(peer))  # noqa: B023
            assert await subscriber.subscribe("small", "//b", backlog=1, policy=Policy.REFUSE) == ()
            assert await subscriber.subscribe("large", "//d") == ()
            await publisher.publish("one.xml", DOCUMENT)
            await delivered(subscriber, "small", "one.xml")
            await publisher.publish("refused.xml", "<a><b/></a>")
            await publisher.publish("refused too.xml", "<a><b/></a>")
            await until(lambda: subscriber.notes("document waits"))
            await publisher.publish("next.xml", HIDING)
            await other.publish("of another.xml", HIDING)
            await delivered(subscriber, "large", "one.xml", "next.xml", "of another.xml")
            await subscriber.at_work.subscribing.acknowledge("small", 1, None)
            await delivered(subscriber, "small", "one.xml", "refused.xml")
            await subscriber.at_work.subscribing.acknowledge("small", 2, None)
            await delivered(subscriber, "small", "one.xml", "refused.xml", "refused too.xml")

    run(test)


# -- looking after it ------------------------------------------------------------------------------------------------


def test_each_peer_parses_a_document_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")
    read: list[bytes] = []
    parsed_plain = trees._parsed_plain

    def counted(data: bytes) -> XmlElement | None:
        read.append(data)
        return parsed_plain(data)

    monkeypatch.setattr(trees, "_parsed_plain", counted)
    once = "<a><b><d>once</d></b></a>"

    async def test() -> None:
        async with line(publisher, subscriber):
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            await publisher.publish("once.xml", once)
            await delivered(subscriber, "some", "once.xml")

    run(test)
    assert read.count(once.encode()) == 2  # of peers


def test_what_comes_and_goes_is_counted(tmp_path: Path) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")

    async def test() -> None:
        async with line(publisher, subscriber):
            for name in ("heptox_feed_links", "heptox_feed_publishers", "heptox_received_documents_total"):
                assert subscriber.metric(name) == (name == "heptox_feed_links")
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            assert await subscriber.subscribe("more", "/a/b") == ()
            await publisher.publish("one.xml", DOCUMENT)
            await publisher.publish("other.xml", DOCUMENT)
            await delivered(subscriber, "some", "one.xml", "other.xml")
            await until(lambda: subscriber.metric("heptox_received_documents_total") == 2)
            assert subscriber.metric("heptox_feed_publishers") == 1
            assert publisher.metric("heptox_neighbour_subscriptions") == 2
            findings = await trio.to_thread.run_sync(examine_folder, publisher.folder)
            (found,) = [one for one in findings if one.subject == "feed log"]
            assert found.message == "3 documents were published for others, 0 others are listened to"
            findings = await trio.to_thread.run_sync(examine_folder, subscriber.folder)
            (found,) = [one for one in findings if one.subject == "feed log"]
            assert found.message == "0 documents were published for others, 1 others are listened to"

    run(test)


def test_a_damaged_feed_log_keeps_the_daemon_from_starting_until_it_is_moved_away(tmp_path: Path) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")
    file = publisher.folder / "feed.sqlite"

    async def test() -> None:
        async with line(publisher, subscriber) as nursery:
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("some", "//d") == ()
            await publisher.stop()
            file.write_bytes(b"rubbish" * 1000)
            with pytest.raises(DisseminationError, match=r"HX9050 .*move it away for a new one"):
                await publisher.run()
            for part in publisher.folder.glob("feed.sqlite*"):
                part.unlink()
            await nursery.start(publisher.run)
            await publisher.publish("one.xml", DOCUMENT)
            await publisher.publish("other.xml", DOCUMENT)
            await until(lambda: subscriber.delivered("some").total() == 2)
            await delivered(subscriber, "some", "one.xml", "other.xml")

    run(test)


# -- neighbours that do not keep to what is agreed -------------------------------------------------------------------


class BadNeighbour:
    """An acquaintance of ``victim`` that says what it wants on its link."""

    def __init__(self, peer: Peer, victim: Peer, link: ByteMessages) -> None:
        self.peer = peer
        self.peer_id = peer.peer_id
        self.gate = gate_of(peer.at_work.folder.identity)
        self._victim = victim
        self._link = link

    def say(self, *messages: Message) -> None:
        for message in messages:
            for data in encode_feed(self.gate.seal(message, self._victim.peer_id)):
                self._link.post(data)

    def announce(self, advertisement: Advertisement | None = None) -> None:
        known = "" if advertisement is None else digest(advertisement)
        self.say(Hello(), Announce(self.peer_id, "feed", 1, 0, (self.peer_id,), known, advertisement))

    def publish(self, sequence: int, data: bytes) -> None:
        document = FeedDocument(self.peer_id, "feed", sequence, f"{sequence}.xml", str(sequence), data)
        self.say(Publish(self.gate.signed(document)))

    async def is_told_off(self, reason: str) -> None:
        """Wait until the link is broken, for that reason, of which the administrator is told."""
        with suppress(PeerError):
            while True:
                await self._link.receive()
        await until(lambda: self._victim.notes("link broken"))
        (note,) = self._victim.notes("link broken")
        assert note["neighbour"] == self.peer_id
        assert reason in note["reason"]


@asynccontextmanager
async def bad_neighbour(folder: Path, victim: Peer) -> AsyncIterator[BadNeighbour]:
    """A peer that takes no part in feeds, but for what it says on the link that it opens."""
    made = (new_peer(folder / f"bad{number}", feed="off") for number in count())
    bad = next(peer for peer in made if peer.peer_id < victim.peer_id)  # so it opens the link
    async with peers_at_work(bad):
        await bad.acquaint(victim)
        await until(lambda: bad.peer_id in victim.acquaintances)
        link = await bad.at_work.transport.open_feed(victim.peer_id)
        await until(lambda: victim.feeds.feeding.links.linked(bad.peer_id))
        yield BadNeighbour(bad, victim, link)


def flood(bad: BadNeighbour) -> None:
    bad.say(Hello(), *(Subscribe(number, f"/a/b{number}") for number in range(20)))


def ask_for_what_is_no_subscription(bad: BadNeighbour) -> None:
    bad.say(Hello(), Subscribe(1, "for $x in //a return $x"))


@pytest.mark.parametrize(
    ("misbehave", "reason"),
    [
        (flood, "it asks for more than 10 subscriptions"),
        (ask_for_what_is_no_subscription, "it asks for what is no subscription: "),
        (lambda bad: bad.say(Subscribe(1, "//a")), "a link begins with one greeting"),
    ],
)
def test_the_link_to_a_neighbour_that_misbehaves_is_broken(
    tmp_path: Path, misbehave: Callable[[BadNeighbour], None], reason: str
) -> None:
    publisher, subscriber = new_peer(tmp_path / "publisher"), new_peer(tmp_path / "subscriber")

    async def test() -> None:
        async with line(publisher, subscriber):
            publisher.feeds.router._links.budget = Budget(subscriptions=10)
            await publisher.publish("first.xml", DOCUMENT)
            await until(lambda: subscriber.reaches(publisher))
            assert await subscriber.subscribe("all", "/*") == ()
            async with bad_neighbour(tmp_path, publisher) as bad:
                misbehave(bad)
                await bad.is_told_off(reason)
                await publisher.publish("one.xml", DOCUMENT)
                await delivered(subscriber, "all", "one.xml")
                assert publisher.metric("heptox_broken_links_total") == 1
            assert [one.neighbour for one in publisher.feeds.router.neighbours] == [subscriber.peer_id]

    run(test)


def test_a_document_that_is_none_or_not_as_advertised_is_refused(tmp_path: Path) -> None:
    relay, subscriber = new_peer(tmp_path / "relay"), new_peer(tmp_path / "subscriber")

    async def test() -> None:
        async with line(relay, subscriber), bad_neighbour(tmp_path, relay) as bad:
            bad.announce(advertised(parse_dtd(DTDS["left"], "a")))
            await until(lambda: bad.peer_id in subscriber.publishers)
            assert await subscriber.subscribe("all", "/*") == (bad.peer_id,)
            for sequence, data in enumerate((b"<a><x/></a>", b"<a>", b"<a><b/></a>"), start=1):
                bad.publish(sequence, data)
            await until(lambda: relay.feeds.router._documents._passed and relay.notes("document refused"))
            first = relay.notes("document refused")[0]
            assert (first["document"], first["why"]) == ("1.xml", "line 1: x may not stand below a")
            assert relay.feeds.feeding.links.linked(bad.peer_id)
            assert relay.metric("heptox_refused_documents") == 2

    run(test)


def test_bytes_that_are_no_message_break_the_link(tmp_path: Path) -> None:
    victim = new_peer(tmp_path / "victim")

    async def test() -> None:
        async with line(victim), bad_neighbour(tmp_path, victim) as bad:
            bad._link.post(b"rubbish")
            await bad.is_told_off("HX7002")

    run(test)
