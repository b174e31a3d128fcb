"""Acquaintances that lie about feeds, want and announce too much, or listen; strangers that change their offers: to a
running daemon, watched all the while."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, cast

import pytest
import trio

from heptox.demo import HOSPITAL
from heptox.errors import PeerError
from heptox.feed import (
    Announce,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Hello,
    Message,
    Publish,
    Replay,
    Subscribe,
    Unsubscribe,
)
from heptox.peer.feed.publishing import gate_of
from heptox.peer.wire.feed_wire import FeedDecoder
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.messages import End, Query
from heptox.peer.wire.offers import PROTOCOL as OFFER, Offer, Withdrawal, encode_call
from heptox.routing import Advertisement, advertised, digest
from heptox.schema import parse_dtd, read_dtd
from tests.fuzz.handlers.links import FEED_NAME, Link
from tests.fuzz.handlers.target import FRIEND, agree
from tests.hostile.attacks import MEGABYTE
from tests.hostile.test_offers import GOOD, Stranger, run, stranger
from tests.hostile.victims import Victim, agreed, harmless
from tests.peer.daemons import DEADLINE, HEPTOX, ask
from tests.peer.hostile import hostile

ADVERTISED: Final = advertised(read_dtd(HOSPITAL / "massgeneral.dtd"))
CASE: Final = b"<Coronary ID='c'><Enter>1</Enter><Patient>x</Patient></Coronary>"
DOCUMENT: Final = b"<MassGeneral><Admission>" + CASE + b"</Admission></MassGeneral>"
FAR: Final = 10**9


# -- feeds of others -------------------------------------------------------------------------------------------------


@dataclass
class Behind:
    """An honest publisher behind the acquaintance that lies: all that it says is signed by it."""

    relay: Relay
    identity: Identity = field(default_factory=Identity.generate)

    def __post_init__(self) -> None:
        self.peer, self.gate = self.identity.peer_id, gate_of(self.identity)
        self.asked = trio.Event()
        self.question: CatchUp | None = None

    def announcement(self, version: int = 1, advertisement: Advertisement = ADVERTISED) -> Announce:
        """What the relay says of it, attested by both."""
        said = Announce(self.peer, FEED_NAME, version, 0, (self.peer,), digest(advertisement), advertisement)
        sealed = self.gate.seal(said, self.relay.made.peer)
        assert isinstance(sealed, Announce)
        return replace(sealed, path=(self.relay.made.peer, self.peer))

    def document(self, sequence: int, feed: str = FEED_NAME, data: bytes = DOCUMENT) -> FeedDocument:
        name = f"{self.peer}-{sequence}"
        return self.gate.signed(FeedDocument(self.peer, feed, sequence, f"{name}.xml", name, data))

    def answer(self, question: CatchUp, **changes: Any) -> Message:
        said = (self.peer, question.feed, question.request, 0, True, 0, question.route, (), b"", question.digest)
        return self.gate.seal(replace(CaughtUp(*said), **changes), self.relay.made.asked)


class Relay(Link):
    """The acquaintance: it has a publisher behind it, and answers its questions; ``heard`` is all that comes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.behind: dict[str, Behind] = {}
        self.heard: list[Message] = []

    async def answer(self) -> None:
        decoder = FeedDecoder()
        with suppress(PeerError):
            while True:
                message = decoder.take(await self.link.receive())
                if message is not None:
                    self.heard.append(message)
                if isinstance(message, CatchUp) and message.publisher in self.behind:
                    publisher = self.behind[message.publisher]
                    publisher.question = message
                    await self.say(publisher.answer(message))
                    publisher.asked.set()
        self.ended.set()

    async def with_publisher(self) -> Behind:
        """A new publisher behind this peer, of which the daemon has asked and been answered."""
        publisher = Behind(self)
        self.behind[publisher.peer] = publisher
        await self.say(publisher.announcement())
        await publisher.asked.wait()
        return publisher


def elsewhere(peer: str) -> Callable[[Behind], list[Message]]:
    """A document in the name of somebody who is not behind the relay."""
    return lambda one: [Publish(one.relay.gate.signed(replace(one.document(1), publisher=peer, signature=b"")))]


def said_again(one: Behind) -> list[Message]:
    return [*(3 * [Publish(one.document(1))]), Replay(one.document(1), FAR, (one.relay.made.asked,))]


def other_question(one: Behind) -> list[Message]:
    assert one.question is not None
    return [one.answer(replace(one.question, wants=("//forged",)), position=FAR)]


FORGED: Final[dict[str, Callable[[Behind], list[Message]]]] = {
    "text": lambda one: [Publish(replace(one.document(1), data=DOCUMENT + b" "))],
    "name": lambda one: [Publish(replace(one.document(1), name="forged.xml"))],
    "position": lambda one: [Publish(replace(one.document(1), sequence=2))],
    "chain": lambda one: [Publish(replace(one.document(2), previous=bytes(32)))],
    "key": lambda one: [Publish(one.relay.gate.signed(one.document(1)))],
    "signature": lambda one: [Publish(replace(one.document(2), signature=one.document(1).signature))],
    "what was asked for": lambda one: [Replay(replace(one.document(1), id="forged"), 1, (one.relay.made.asked,))],
    "announced position": lambda one: [replace(one.announcement(2), position=FAR)],
    "announced version": lambda one: [replace(one.announcement(), version=FAR)],
    "path": lambda one: [replace(one.announcement(2), attestations=())],
    "answer": lambda one: [replace(cast(CaughtUp, one.answer(cast(CatchUp, one.question))), position=FAR)],
}
"""What no publisher has signed."""
OTHERS: Final[dict[str, Callable[[Behind], list[Message]]]] = {
    "said again": said_again,
    "out of order": lambda one: [Publish(one.document(number)) for number in (3, 1, 2, 3)],
    "skipped": lambda one: [Publish(one.document(number)) for number in (1, 7)],
    "forked": lambda one: [Publish(one.document(1)), Publish(one.document(1, data=DOCUMENT + b" "))],
    "of another feed": lambda one: [Publish(one.document(1, "other"))],
    "an older announcement": lambda one: [one.announcement(5), one.announcement(), Publish(one.document(1))],
    "an answer to another question": other_question,
    "an answer without end": lambda one: 20 * [one.answer(cast(CatchUp, one.question), position=FAR, complete=False)],
}
"""What publishers have signed, and the relay says as it likes."""


def test_whatever_a_neighbour_says_of_feeds_nothing_forged_and_nothing_twice_is_delivered(victim: Victim) -> None:
    blamed, expected = dict[str, str](), dict[str, str]()

    async def attack() -> None:
        async with agreed(victim, Relay) as relay:
            assert isinstance(relay, Relay)
            await relay.say(Hello(), Subscribe(1, "/*"))
            for name, lie in (FORGED | OTHERS).items():
                publisher = await relay.with_publisher()
                (blamed if name in FORGED else expected)[publisher.peer] = name
                await relay.say(*lie(publisher))
            for peer in (victim.target.peer_id, Identity(FRIEND).peer_id):
                await relay.say(*elsewhere(peer)(publisher))
            honest = await relay.with_publisher()
            await relay.say(Publish(honest.document(1)))
            while f"{honest.peer}-1.xml" not in await trio.to_thread.run_sync(names, victim):
                await trio.sleep(0.05)
            assert not relay.ended.is_set()
            with victim.target.client() as client:
                distrusted = {one.publisher for one in client.feeds().suspicions if one.distrusted}
            assert {name for peer, name in blamed.items() if peer not in distrusted} == set()

    harmless(victim, lambda: run(attack))
    delivered = Counter(name for name in names(victim) if "-" in name)  # others have others' names
    assert max(delivered.values()) == 1
    publishers = Counter(name.rpartition("-")[0] for name in delivered)
    assert [name for peer, name in blamed.items() if peer in publishers] == []
    assert {name for peer, name in expected.items() if peer in publishers} >= {"said again", "out of order", "forked"}


def names(victim: Victim) -> list[str]:
    """The documents of which the owner was notified."""
    with victim.target.client() as client:
        return [one.document for one in client.notifications("kept", start=1)]


def test_who_is_announced_as_publishing_everything_learns_nothing(victim: Victim) -> None:
    async def attack() -> None:
        async with agreed(victim, Relay) as relay:
            assert isinstance(relay, Relay)
            await relay.say(Hello())
            every = [Behind(relay) for _ in range(30)]
            own, friend = relay.made.peer, Identity(FRIEND).peer_id
            for number, one in enumerate(every):
                said = Announce(one.peer, FEED_NAME, 1, FAR * (number % 2), (one.peer,), news=number % 3 == 0)
                if number % 5:
                    sealed = cast(Announce, one.gate.seal(said, own))
                else:  # further away
                    between = gate_of(Identity.generate())
                    sealed = replace(cast(Announce, one.gate.seal(said, between.peer)), path=(between.peer, one.peer))
                    sealed = cast(Announce, between.seal(sealed, own))
                await relay.say(replace(sealed, path=(own, *sealed.path)))
            await relay.say(Announce(friend, FEED_NAME, 1, 0, (own, friend)))

            def unfollowed() -> set[str]:
                with victim.target.client() as client:
                    return {one.publisher for one in client.feeds().unfollowed}

            while not {one.peer for one in every} <= await trio.to_thread.run_sync(unfollowed):
                await trio.sleep(0.05)
            assert [one for one in relay.heard if isinstance(one, Subscribe | CatchUp)] == []

    harmless(victim, lambda: run(attack))


# -- what they want, and announce ------------------------------------------------------------------------------------


async def want_much(relay: Relay) -> None:
    for number in count(1):
        if relay.ended.is_set():
            return
        steps = "".join(f"[n{number}x{place}]" for place in range(5000))
        await relay.say(Subscribe(number, f"//a{steps}", merged=number % 2 == 0))


async def announce_much(relay: Relay) -> None:
    for number in count(1):
        if relay.ended.is_set():
            return
        names = [f"n{number}x{place}" for place in range(500)]
        declared = "".join(f"<!ELEMENT {name} EMPTY>" for name in names)
        made = advertised(parse_dtd(f"<!ELEMENT r ({'|'.join(names)})*>{declared}", "r"))
        await relay.say(Behind(relay).announcement(advertisement=made))


async def want_and_want_no_more(relay: Relay) -> None:
    for number in range(1, 400):
        if relay.ended.is_set():
            return
        await relay.say(Subscribe(number, f"//b{number}{'[c]' * 200}"), Unsubscribe(number))
    await relay.say(Unsubscribe(1))


async def want_the_same_for_many(relay: Relay) -> None:
    for number in range(1, 3000):
        if relay.ended.is_set():
            return
        await relay.say(Subscribe(number, f"//c{number % 7}", hops=1 + number % 16))
    await relay.say(Unsubscribe(FAR))


@pytest.mark.parametrize(
    ("much", "links"), [(want_much, 2), (announce_much, 1), (want_and_want_no_more, 2), (want_the_same_for_many, 1)]
)
def test_what_a_neighbour_makes_a_peer_keep_ends_with_its_link(
    victim: Victim, much: Callable[[Relay], Awaitable[None]], links: int
) -> None:
    async def attack() -> None:
        for _ in range(links):
            async with agreed(victim, Relay) as relay:
                assert isinstance(relay, Relay)
                await relay.say(Hello())
                with suppress(PeerError):
                    await much(relay)
                await relay.ended.wait()

    harmless(victim, lambda: run(attack), growth=250 * MEGABYTE)


# -- what they hear ---------------------------------------------------------------------------------------------------

SECRET: Final = """(
  for $askers-word in //Coronary where $askers-word/Patient = "carried" return <s>{data($askers-word/Patient)}</s>,
  //Coronary[InsName = "to-nobody"]/Patient, //Coronary[Patient = "x" or InsName = "to-nobody"]/Patient)"""


def test_a_neighbour_that_is_asked_hears_the_translation_alone(victim: Victim) -> None:
    heard: list[Query] = []

    async def attack() -> None:
        async with agreed(victim) as link:
            seed = link.seed
        async with stranger(victim.daemon, seed) as made:
            assert await agree(made, victim.target, "listener")
        async with hostile(0, seed=seed) as listener, hostile(0, seed=victim.friend.seed) as friend:
            listener.asked = heard
            await listener.reach(victim.target.address)
            peer = await friend.reach(victim.target.address)
            for explain in (False, True):
                await trio.to_thread.run_sync(partial(ask, victim.target.folder, SECRET, hops=2, explain=explain))
                query = friend.query(peer, SECRET, victim.friend.schema, hops=2, explain=explain)
                *_, end = await friend.ask(query)
                assert isinstance(end, End)

    harmless(victim, lambda: run(attack))
    assert len(heard) == 4
    for query in heard:
        assert "carried" in repr(query)
        assert [secret for secret in ("askers-word", "to-nobody", "InsName") if secret in repr(query)] == []


# -- offers that are replaced ----------------------------------------------------------------------------------------


def test_of_a_replaced_offer_nothing_is_accepted_whatever_of_it_is_another(victim: Victim) -> None:
    other = MappingFiles({**GOOD.files, GOOD.mapping: b"# other\n" + GOOD.files[GOOD.mapping]}, GOOD.mapping)
    replaced: dict[str, Callable[[Offer], Offer]] = {
        "mapping": lambda offer: replace(offer, files=other),
        "address": lambda offer: replace(offer, addresses=(offer.addresses[0].replace("127.0.0.1", "192.0.2.1"),)),
        "name": lambda offer: replace(offer, name="another"),
        "withdrawn": lambda offer: replace(offer, name="once more"),
    }

    async def attack() -> None:
        for what, change in replaced.items():
            async with stranger(victim.daemon) as made:
                offer = made.offer(name="changing")
                await made.make(offer)
                shown = await trio.to_thread.run_sync(digest_of, victim, made)
                if what == "withdrawn":
                    await made.transport.call(made.asked, OFFER, encode_call(Withdrawal("because")))
                await made.make(change(offer))
                with pytest.raises(PeerError) as refused:
                    await trio.to_thread.run_sync(accept, victim, made, shown)
                assert [fault.code for fault in refused.value.faults] == ["HX7101"], what
                await trio.to_thread.run_sync(refuse, victim, made)

    harmless(victim, lambda: run(attack))


def digest_of(victim: Victim, made: Stranger) -> str:
    with victim.target.client() as client:
        return next(one.digest for one in client.status().requests if one.peer_id == made.peer)


def accept(victim: Victim, made: Stranger, digest: str) -> None:
    with victim.target.client() as client:
        client.accept(made.peer, digest=digest)


def refuse(victim: Victim, made: Stranger) -> None:
    with victim.target.client() as client:
        client.refuse(made.peer)


# -- terminals --------------------------------------------------------------------------------------------------------


TURNING: Final = "a\u202eb\x1b[2J\u2066c\u2028d\u200f"


def test_what_a_stranger_calls_itself_turns_and_clears_no_terminal(victim: Victim) -> None:
    files = {**GOOD.files, GOOD.mapping: f"# {TURNING}\n".encode() + GOOD.files[GOOD.mapping]}

    async def attack() -> None:
        async with stranger(victim.daemon) as made:
            with suppress(PeerError):  # a name that none can have is answered by a reset
                await made.make(made.offer(name=TURNING))
            await made.make(made.offer(MappingFiles(files, GOOD.mapping), "turning"))
            for more in ((), ("--show", "turning")):
                look = partial(on_terminal, "peer", "acquaintances", victim.target.folder, *more)
                shown.append(await trio.to_thread.run_sync(look))
            await trio.to_thread.run_sync(refuse, victim, made)

    shown: list[str] = []
    harmless(victim, lambda: run(attack))
    assert any("friend" in text for text in shown)
    assert any("\\u202e" in text for text in shown)
    assert [text for text in shown if re.search("[\u200f\u2028\u202e\u2066]|\x1b\\[2J", text)] == []


def on_terminal(*arguments: str | Path) -> str:
    """What a command prints on a terminal."""
    ours, its = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as read:
        process = subprocess.Popen([*HEPTOX, *map(str, arguments)], stdin=its, stdout=its, stderr=its)
        os.close(its)
        said = b""
        with suppress(OSError):  # the end of a terminal
            while piece := read.read(65536):
                said += piece
        process.wait(DEADLINE)
    return said.decode()
