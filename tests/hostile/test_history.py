"""What neighbours can have of what was published: nothing that is hidden now, and nothing of before their time."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from heptox.feed import Announce, CatchUp, CaughtUp, Hello, Message, Publish, Replay, Subscribe
from heptox.peer import Client, PeerFolder, Standing
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.folder.audit import read_audit
from heptox.peer.wire.feed_wire import FeedDecoder, encode_feed
from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.offers import PROTOCOL, Offer, decode_reply, encode_call
from heptox.peer.wire.standing import Side
from heptox.peer.wire.transport import ByteMessages
from heptox.schema import parse_dtd
from heptox.settings import Hide, peer_settings_text
from tests.hostile.attacks import no_harm
from tests.peer.daemons import DEADLINE, Daemon, daemon, wait_until
from tests.peer.whole_peers import DTDS, arrows, new_peer

PLAIN: Final = "<a><b><d>1</d></b></a>"
SECRET: Final = "<a><c><d>secret</d></c></a>"
SOMEBODY: Final = "12D3KooWGvCUZ1ASXyYUvGhGGGUGRSkzJbZnBqXEUKNwGkPLvKUm"
HIDING: Final = Hide(("a/c/d",), (SOMEBODY,))
BESIDE: Final = {
    "comment": "<a><b/><!-- secret --></a>",
    "behind": "<a><b/></a><!-- secret -->",
    "instruction": "<?secret?><a><b/></a>",
    "subset": "<!DOCTYPE a [<!ENTITY x 'secret'>]><a><b/></a>",
    "default": "<!DOCTYPE a [<!ATTLIST a x CDATA 'secret'>]><a><b/></a>",
    "text": "<a><b/>secret</a>",
    "section": "<a><b/><![CDATA[secret]]></a>",
    "namespace": "<a xmlns:x='secret'><b/></a>",
}
"""Documents with something that no query would show."""


@dataclass
class Reader:
    """An acquaintance of a daemon that says what it wants on its link, and hears what comes."""

    peer: str
    publisher: str
    link: ByteMessages
    decoder: FeedDecoder
    feed: str = ""
    asked: int = 0

    def say(self, *messages: Message) -> None:
        for message in messages:
            for data in encode_feed(message):
                self.link.post(data)

    async def hear_of_the_feed(self) -> None:
        while not isinstance(message := await self.hear(), Announce):
            pass
        self.feed = message.feed

    async def hear(self) -> Message:
        while True:
            message = self.decoder.take(await self.link.receive())
            if message is not None:
                return message

    async def ask(self, since: int | None, *behind: str, wanted: str = "/a") -> tuple[list[str], CaughtUp]:
        """The names of the documents that come after a position, page by page, for itself or somebody ``behind`` it;
        and the last answer, with all that is missing."""
        names, missing = [], 0
        while True:
            self.asked += 1
            self.say(CatchUp(self.publisher, self.feed, since, self.asked, (*behind, self.peer), (wanted,)))
            while not isinstance(message := await self.hear(), CaughtUp):
                if isinstance(message, Replay | Publish):
                    assert b"secret" not in message.document.data
                if isinstance(message, Replay):
                    names.append(message.document.name)
            assert message.request == self.asked
            missing, since = missing + message.missing, message.position
            if message.complete:
                return names, replace(message, missing=missing)


def key_before(other: str) -> bytes:
    """The key of a peer whose id is the smaller one, so that it opens the link."""
    while True:
        key = secrets.token_bytes(32)
        if Libp2pTransport(key, "/ip4/127.0.0.1/tcp/0").peer < other:
            return key


@asynccontextmanager
async def reader(to: Daemon, key: bytes) -> AsyncIterator[Reader]:
    """An acquaintance of a daemon, which becomes one if it is none."""
    transport = Libp2pTransport(key, "/ip4/127.0.0.1/tcp/0")
    folder = to.folder.parent

    async def hang_up(_: Any) -> None:
        pass

    async with transport.serving(hang_up):
        await transport.dial(to.peer_id, (to.address,))
        files = MappingFiles.pack(arrows(folder, "right", "left"))
        own = schema_key(parse_dtd(DTDS["right"], "a"))
        offer = Offer("reader" + transport.peer[-4:], (transport.addresses[0],), files, Side.SOURCE, own)
        reply = decode_reply(await transport.call(to.peer_id, PROTOCOL, encode_call(offer)))
        assert reply.standing is Standing.AGREED, reply
        made = Reader(transport.peer, to.peer_id, await transport.open_feed(to.peer_id), FeedDecoder())
        made.say(Hello(), Subscribe(1, "/a"))
        yield made


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        with trio.fail_after(DEADLINE):
            await test()

    trio.run(limited)


def change(folder: Path, **changes: Any) -> None:
    settings = replace(PeerFolder.open(folder).settings, **changes)
    (folder / "peer.toml").write_text(peer_settings_text(settings))


async def publish(at: Daemon, **documents: str) -> dict[str, str]:
    """Publish documents; why some of them are kept at home."""

    def all_of_them() -> dict[str, str]:
        with at.client() as client:
            told = {name: client.publish(f"{name}.xml", text.encode()) for name, text in documents.items()}
        return {name: one.kept for name, one in told.items() if one.kept}

    return await trio.to_thread.run_sync(all_of_them)


def served(at: Daemon) -> list[dict[str, Any]]:
    """What was served, as the audit log has it: there is a line before anything has come."""
    events = map(json.loads, read_audit(at.folder, 1000))
    return [one for one in events if one["event"] == "served" and "more" not in one]


def test_what_is_hidden_by_now_is_not_served_and_nothing_leaves_that_may_show_it(tmp_path: Path) -> None:
    folder = new_peer(tmp_path / "publisher", history="retained").folder
    with daemon(folder) as publisher:
        key, published = key_before(publisher.peer_id), list[str]()
        with publisher.client() as client:
            client.load("own.xml", PLAIN.encode())

        async def before() -> None:
            async with reader(publisher, key) as one:
                kept = await publish(publisher, plain=PLAIN, secret=SECRET, **BESIDE, last=PLAIN)
                assert kept.keys() <= {"default", "namespace"}, "what is not of the schema"
                published.extend(name for name in ("plain", "secret", *BESIDE, "last") if name not in kept)
                await one.hear_of_the_feed()

        run(before)
    change(folder, hide=(HIDING,))
    end = len(published)
    with daemon(folder) as publisher:

        async def after() -> None:
            async with reader(publisher, key) as one, reader(publisher, key_before(publisher.peer_id)) as other:
                for each, behind in ((one, ()), (one, (SOMEBODY,)), (other, ())):
                    if not each.feed:
                        await each.hear_of_the_feed()
                    names, answer = await each.ask(0, *behind)
                    assert (names, answer.position, answer.missing) == (["plain.xml", "last.xml"], end, end - 2)
                    line = served(publisher)[-1]
                    assert line["route"] == [*behind, each.peer]
                    assert (line["asker"], line["neighbour"]) == (line["route"][0], each.peer)
                    assert (line["after"], line["upto"], line["documents"], line["withheld"]) == (0, end, 2, end - 2)
                before = len(served(publisher))
                for _ in range(20):
                    await one.ask(0)
                    await one.ask(end)
                assert len(served(publisher)) == before, "what is asked for again and again fills no disk"
                kept = await publish(publisher, secret2=SECRET, **{f"{name}2": text for name, text in BESIDE.items()})
                assert set(kept) == {"secret2", *(f"{name}2" for name in BESIDE)}
                assert kept.pop("secret2") == "it shows a/c/d, which is hidden from others"
                assert "x" in kept.pop("default2"), "to the schema this is an attribute that it does not have"
                assert all(why.startswith("it may show what is hidden: line 1: ") for why in kept.values()), kept
                assert await publish(publisher, plain2=PLAIN) == {}
                assert (await other.ask(end))[0] == ["plain2.xml"]

        with no_harm(publisher, query="//b/d"):
            run(after)


def test_whether_what_is_hidden_matches_a_subscription_is_not_counted(tmp_path: Path) -> None:
    folder = new_peer(tmp_path / "publisher", history="retained", feed="anything").folder
    with daemon(folder) as publisher:
        key = key_before(publisher.peer_id)

        async def before() -> None:
            async with reader(publisher, key) as one:
                assert await publish(publisher, plain=PLAIN, secret=SECRET) == {}
                await one.hear_of_the_feed()

        run(before)
    change(folder, hide=(HIDING,))
    with daemon(folder) as publisher:

        async def after() -> None:
            async with reader(publisher, key) as one:
                await one.hear_of_the_feed()
                for wanted in ("/a[c/d = 'secret']", "/a[c/d = 'no']", "/nothing"):
                    _, answer = await one.ask(0, wanted=wanted)
                    assert answer.missing == 1, wanted

        run(after)


def test_what_was_published_before_its_time_is_served_to_no_subscriber(tmp_path: Path) -> None:
    folder = new_peer(tmp_path / "publisher").folder
    with daemon(folder) as publisher:
        key = key_before(publisher.peer_id)
        second = key_before(publisher.peer_id)

        async def first_documents() -> None:
            async with reader(publisher, key) as one:
                await publish(publisher, first=PLAIN)
                await one.hear_of_the_feed()

        run(first_documents)
    with closing(sqlite3.connect(folder / "feed.sqlite")) as log, log:
        log.execute("UPDATE begun SET at = 0")  # the feed is not new any more
    with daemon(folder) as publisher:

        async def later() -> None:
            async with reader(publisher, second) as other:
                async with reader(publisher, key) as one:
                    await one.hear_of_the_feed()
                    await other.hear_of_the_feed()
                    names, answer = await one.ask(0)
                    assert (names, answer.position, answer.missing) == ([], 1, 1), "an acquaintance of old"
                    await publish(publisher, second=PLAIN)
                    assert (await one.ask(0))[0] == ["second.xml"]
                    names, answer = await other.ask(0)
                    assert (names, answer.missing) == ([], 2), "a new one"
                    other.say(CatchUp(other.publisher, other.feed, 0, 0, (one.peer, other.peer)))
                    assert (await other.ask(0))[0] == [], "and nothing in the name of a neighbour"
                with publisher.client() as client:
                    linked = partial(_linked, client, one.peer)
                    await trio.to_thread.run_sync(wait_until, lambda: not linked())
                assert (await other.ask(0, SOMEBODY))[0] == []
                await publish(publisher, third=PLAIN)
                assert (await other.ask(0))[0] == ["third.xml"]
                assert (await other.ask(0, SOMEBODY))[0] == ["third.xml"]
                names, answer = await other.ask(0, one.peer)
                assert (names, answer.missing) == (["second.xml", "third.xml"], 1), "as much as the other one has"

        run(later)
    audit = folder / "audit.log"
    audit.write_bytes(b"".join(audit.read_bytes().splitlines(keepends=True)[:-2]))
    with daemon(folder) as publisher:
        with publisher.client() as client:
            assert [one for one in client.doctor() if "2 lines are missing" in one.message], "the log was cut meanwhile"

        async def after_another_start() -> None:
            async with reader(publisher, key) as one:
                await one.hear_of_the_feed()
                names, answer = await one.ask(0)
                assert (names, answer.position, answer.missing) == (["second.xml", "third.xml"], 3, 1)
                assert (await one.ask(2))[0] == ["third.xml"]
                line = served(publisher)[-2]
                assert (line["after"], line["upto"], line["documents"], line["earlier"]) == (0, 3, 2, 1)

        run(after_another_start)


def _linked(client: Client, peer: str) -> bool:
    return peer in {one.neighbour for one in client.feeds().neighbours}
