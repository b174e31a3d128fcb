"""Subscriptions in own words, between whole peers: what comes, in which words, and what is told of what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import pytest
import trio
from lxml import etree

from heptox.checks import no_check
from heptox.errors import DisseminationError, Fault, PeerError
from heptox.feed import FeedDocument, FeedLog, Translate, Translated, Wording
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.matching import Delivery, SubscriptionRequest, Words
from heptox.peer import PeerFolder, RenderingModel, SubscriptionEntry, SubscriptionsRequest, subscriptions_at
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.acquaintance.kept_mappings import KeptMappings
from heptox.peer.feed import feeds, own_words
from heptox.peer.feed.own_words import OwnWords
from heptox.peer.feed.renderings import OwnSubscription
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import PROTOCOL, MappingRequest, NoMapping, decode_mapping, encode_request
from heptox.xml import parse_document, write_document
from tests.peer.networks import run, until
from tests.peer.test_mediator import ARROWS, DOCUMENTS, DTDS
from tests.peer.whole_peers import peers_at_work
from tests.peer.worded_peers import (
    BOSTON_STLUKE,
    HOSPITALS,
    WordedPeer,
    hospital,
    hospitals,
    mapping_file,
    one_section,
    worded_peer,
)

MONTREAL: Final = """<MonGenHosp>
  <Patient ID="m{number}"><Name>{name}</Name><Hist><Event><Problem>Cough</Problem><Date>1</Date></Event></Hist>
    <Treat><Date>{day}</Date><Desc>Heparin</Desc></Treat></Patient>
  <Admission PatRef="m{number}"><Problem>{problem}</Problem><AdmDate>{day}</AdmDate></Admission>
</MonGenHosp>
"""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever subscribes waits until it is confirmed, on slow machines too."""
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)


def montreal_document(number: int, problem: str = "Coronary", name: str = "Ann", day: str = "12/25/2003") -> str:
    return MONTREAL.format(number=number, problem=problem, name=name, day=day)


def exchanged(mappings: Sequence[Mapping], text: str) -> bytes:
    """What a document is at the end of mappings."""
    image = parse_document(text)
    for mapping in mappings:
        image = exchange(mapping, image)
    return write_document(image.root).encode()


def test_a_subscription_in_own_words_gets_documents_of_a_neighbour_in_others(tmp_path: Path) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")

    async def test() -> None:
        async with peers_at_work(montreal, boston):
            await montreal.acquaint_by(boston, HOSPITALS / "montreal-boston.arrows")
            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: boston.reaches(montreal))
            assert await boston.subscribe_in_own_words("coronary", "//Coronary[Patient = 'Ann']") == ()
            await montreal.publish("other.xml", montreal_document(1, "Pulmonary"))
            await montreal.publish("another.xml", montreal_document(2, name="Bob"))
            await montreal.publish("meant.xml", montreal_document(3))
            await until(lambda: boston.delivered("coronary"))
            assert boston.documents("coronary") == {"meant.xml": montreal_document(3).encode()}

    run(test)


def test_documents_come_over_another_peer_in_the_original_and_in_own_words(tmp_path: Path) -> None:
    texts = ("//Stay[Diagnosis = 'Coronary' and Name = 'Ann']", "//Care[Day = '12/25/2003']", "//Complaint/What")
    published = {
        f"{number}.xml": montreal_document(number, problem, name, day)
        for number, (problem, name, day) in enumerate(
            (problem, name, day)
            for problem in ("Coronary", "Pulmonary")
            for name in ("Ann", "Bob")
            for day in ("12/24/2003", "12/25/2003")
        )
    }

    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, _, stluke, _):
            await montreal.publish("first.xml", montreal_document(100))
            await until(lambda: stluke.reaches(montreal))
            for number, text in enumerate(texts):
                assert await stluke.subscribe_in_own_words(f"original {number}", text) == ()
                assert await stluke.subscribe_in_own_words(f"own {number}", text, Delivery.OWN) == ()
            assert stluke.words(montreal) == "mapped"
            for name, document in published.items():
                await montreal.publish(name, document)
            mappings = [
                load_mapping(HOSPITALS / "montreal-boston.arrows"),
                load_mapping(tmp_path / "boston-stluke.arrows"),
            ]
            images = {}
            for name, text in published.items():
                image = parse_document(text)
                for mapping in mappings:
                    image = exchange(mapping, image)
                images[name] = write_document(image.root).encode()
            for number, text in enumerate(texts):
                meant = {name for name, image in images.items() if etree.fromstring(image).xpath(text)}
                assert meant
                await until(lambda: len(stluke.delivered(f"own {number}")) >= len(meant))  # noqa: B023
                await until(lambda: len(stluke.delivered(f"original {number}")) >= len(meant))  # noqa: B023
                assert stluke.documents(f"original {number}") == {name: published[name].encode() for name in meant}
                assert stluke.documents(f"own {number}") == {name: images[name] for name in meant}

    run(test)


def feed_of(peer: WordedPeer) -> str:
    return peer.feeds._publisher.log.feed


def told(peer: WordedPeer, name: str, publisher: WordedPeer) -> RenderingModel:
    """What a subscription comes to for a publisher."""
    found = peer.at_work.subscribing.model(peer.at_work.subscribing.log.subscription(name))
    return next(one for one in found.publishers or () if one.publisher == publisher.peer_id)


# -- whom one understands --------------------------------------------------------------------------------------------


def test_of_a_publisher_with_the_same_schema_documents_come_as_they_are(tmp_path: Path) -> None:
    here, other = hospital(tmp_path, "here", "mongenhosp"), hospital(tmp_path, "other", "mongenhosp")
    boston = hospital(tmp_path, "boston", "massgeneral")

    async def test() -> None:
        async with peers_at_work(here, boston, other):
            await here.acquaint_by(boston, HOSPITALS / "montreal-boston.arrows")
            await other.acquaint_by(boston, HOSPITALS / "montreal-boston.arrows")
            await other.publish("first.xml", montreal_document(0))
            await until(lambda: here.reaches(other))
            assert await here.subscribe_in_own_words("own", "//Admission[Problem = 'Coronary']", Delivery.OWN) == ()
            assert here.words(other) == "same"
            assert told(here, "own", other).text == "//Admission[Problem = 'Coronary']"
            await other.publish("one.xml", montreal_document(1))
            await other.publish("two.xml", montreal_document(2, "Pulmonary"))
            await here.publish("here.xml", montreal_document(3))
            await until(lambda: len(here.delivered("own")) == 2)
            assert here.documents("own") == {
                "one.xml": montreal_document(1).encode(), "here.xml": montreal_document(3).encode()
            }  # fmt: skip

    run(test)


def test_where_a_peer_on_the_way_has_agreed_on_nothing_nothing_comes_and_it_is_said_until_there_is_a_mapping(
    tmp_path: Path,
) -> None:
    montreal = hospital(tmp_path, "montreal", "mongenhosp")
    boston = hospital(tmp_path, "boston", "massgeneral", policy="ask")
    stluke = hospital(tmp_path, "stluke", "stluke")
    mapping = mapping_file(tmp_path, "boston-stluke.arrows", BOSTON_STLUKE)

    async def test() -> None:
        async with peers_at_work(montreal, boston, stluke):
            await boston.acquaint_by(montreal, HOSPITALS / "montreal-boston.arrows")
            await boston.acquaint_by(stluke, mapping)
            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: stluke.reaches(montreal))
            assert await stluke.subscribe_in_own_words("own", "//Stay[Diagnosis = 'Coronary']") == ()
            await until(lambda: stluke.words(montreal) == "mapped")
            await montreal.publish("one.xml", montreal_document(1))
            await until(lambda: stluke.delivered("own"))
            other = mapping_file(
                tmp_path, "other.arrows", BOSTON_STLUKE.replace("Patient     -> Stay/Name", "Enter -> Stay/Name")
            )
            # St Luke's wants another mapping; Boston's administrator has not decided.
            await stluke.acquaint_by(boston, other)
            await until(lambda: stluke.words(montreal) == "none")
            assert "have not agreed on a mapping" in str(told(stluke, "own", montreal).reason)
            became = await stluke.at_work.subscribing.subscribe(
                [replace(wanted("late", "//Stay"), file=None)], [], skipping=False
            )
            (lacking,) = became.untranslated
            assert (lacking.subscription, lacking.words) == ("late", "none")
            await montreal.publish("two.xml", montreal_document(2))
            await until(lambda: stluke.peer_id in boston.at_work.acquaintances.requests())
            await boston.at_work.acquaintances.accept(stluke.peer_id)
            await until(lambda: stluke.words(montreal) == "mapped")
            await montreal.publish("three.xml", montreal_document(3))
            await until(lambda: len(stluke.delivered("own")) == 3)
            assert stluke.delivered("own") == {"one.xml": 1, "two.xml": 1, "three.xml": 1}

    run(test)


def wanted(name: str, xpath: str) -> SubscriptionRequest:
    standard = SubscriptionRequest(name, xpath)
    return replace(standard, options=replace(standard.options, words=Words.OWN))


def test_a_mapping_is_fetched_before_anything_counts_and_what_is_published_meanwhile_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(own_words, "FIRST_PAUSE", 0.05)

    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, stluke, _):
            fetching = boston.feeds.mappings
            answer = fetching._answer

            async def not_now(*_: object) -> NoMapping:
                asked.append("Boston")
                return NoMapping("not now")

            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: stluke.reaches(montreal))
            monkeypatch.setattr(fetching, "_answer", not_now)
            monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 0.3)
            await stluke.subscribe_in_own_words("own", "//Stay[Diagnosis = 'Coronary']")
            assert await stluke.subscribe("theirs", "//Patient") == (), "others do not wait"
            await until(lambda: len(asked) > 2)
            assert stluke.words(montreal) == "waiting"
            assert "is not to be had: not now" in str(told(stluke, "own", montreal).reason)
            await montreal.publish("meanwhile.xml", montreal_document(1))
            await until(lambda: stluke.delivered("theirs"))
            assert not stluke.delivered("own")
            monkeypatch.setattr(fetching, "_answer", answer)
            await until(lambda: stluke.words(montreal) == "mapped")
            await until(lambda: stluke.feeds.counts(montreal.peer_id, stluke.number("own")))
            await montreal.publish("later.xml", montreal_document(2))
            await until(lambda: "later.xml" in stluke.delivered("own"))
            digest = MappingFiles.pack(HOSPITALS / "montreal-boston.arrows").digest
            assert KeptMappings(stluke.folder / "mappings").get(digest) is not None

    run(test)


def test_a_mapping_of_another_digest_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_words, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 0.3)

    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, stluke, _):
            wrong = MappingFiles.pack(tmp_path / "boston-stluke.arrows")

            async def another(*_: object) -> MappingFiles:
                return wrong

            monkeypatch.setattr(boston.feeds.mappings, "_answer", another)
            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: stluke.reaches(montreal))
            await stluke.subscribe_in_own_words("own", "//Stay")
            await until(lambda: "instead of the mapping" in str(told(stluke, "own", montreal).reason))

    run(test)


class _Overworked:
    """Workers whom everything takes too much."""

    async def run(self, *_: object) -> NoReturn:
        raise PeerError(Fault("HX7100", "to read it takes too much"))


def test_a_mapping_that_takes_too_much_to_read_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_words, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 0.3)

    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, _, stluke, _):
            monkeypatch.setattr(stluke.feeds.mappings, "_workers", _Overworked())
            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: stluke.reaches(montreal))
            await stluke.subscribe_in_own_words("own", "//Stay")
            await until(lambda: "takes too much" in str(told(stluke, "own", montreal).reason))
            assert not (stluke.folder / "mappings").exists()

    run(test)


def test_only_acquaintances_are_given_mappings(tmp_path: Path) -> None:
    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, stluke, _):
            await stluke.at_work.transport.dial(montreal.peer_id, montreal.at_work.transport.addresses)
            digest = MappingFiles.pack(HOSPITALS / "montreal-boston.arrows").digest
            stranger, neighbour = stluke.at_work.transport, boston.at_work.transport
            request = encode_request(MappingRequest(digest, montreal.peer_id, 3))
            assert decode_mapping(await stranger.call(montreal.peer_id, PROTOCOL, request)) == NoMapping(
                "only acquaintances are told"
            )
            given = decode_mapping(await neighbour.call(montreal.peer_id, PROTOCOL, request))
            assert isinstance(given, MappingFiles) and given.digest == digest

    run(test)


def test_a_mapping_is_asked_for_along_the_way_and_kept_by_those_only_who_need_it(tmp_path: Path) -> None:
    for name, text in DTDS.items():
        (tmp_path / f"{name}.dtd").write_text(text)
    chain = ("books", "domain", "offers", "list")
    arrows = {**ARROWS, ("offers", "list"): "offer/label -> entry/what\noffer/euro -> entry/amount\n"}
    peers = books, domain, offers, last = [worded_peer(tmp_path / name, tmp_path / f"{name}.dtd") for name in chain]

    async def test() -> None:
        async with peers_at_work(*peers):
            for one, other in pairwise(peers):
                file = tmp_path / f"{one.name}-{other.name}.arrows"
                schemas = f'source "{one.name}.dtd" root {one.name}\ntarget "{other.name}.dtd" root {other.name}\n'
                file.write_text(schemas + arrows[one.name, other.name])
                await one.acquaint_by(other, file)
            await books.publish("first.xml", "<books/>")
            await until(lambda: last.reaches(books))
            assert await last.subscribe_in_own_words("own", "//entry[amount < 10]", Delivery.OWN) == ()
            await books.publish("dear.xml", DOCUMENTS["books"].format("Faust", 30))
            await books.publish("cheap.xml", DOCUMENTS["books"].format("Faust", 3))
            await until(lambda: last.delivered("own"))
            image = "<list><entry><what>Faust</what><amount>3</amount></entry></list>\n"
            assert last.documents("own") == {"cheap.xml": image.encode()}
            assert len(list((last.folder / "mappings").iterdir())) == 3
            assert not any((peer.folder / "mappings").exists() for peer in (books, domain, offers))

    run(test)


def test_of_a_publisher_that_does_not_tell_its_words_nothing_comes_and_it_is_said(tmp_path: Path) -> None:
    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, stluke, _):
            montreal.feeds._publisher.schema = ""  # as an older one
            await montreal.publish("first.xml", montreal_document(0))
            for peer in (boston, stluke):
                await until(lambda: peer.reaches(montreal))  # noqa: B023
                assert await peer.subscribe_in_own_words("own", "/*") == ()
                assert await peer.subscribe("theirs", "//Patient") == ()
                assert told(peer, "own", montreal).reason == "some peer on the way to it does not tell its mappings"
            await montreal.publish("one.xml", montreal_document(1))
            await until(lambda: stluke.delivered("theirs") and boston.delivered("theirs"))
            assert not stluke.delivered("own")

    run(test)


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", [True, False])
def test_what_the_own_schema_does_not_have_is_told_when_it_is_added(tmp_path: Path, runs: bool) -> None:
    stluke = hospital(tmp_path, "stluke", "stluke")
    unknown = [wanted("a", "//Stay[Problem = 'x' or @Number]"), wanted("b", "//Stay/Day"), wanted("c", "//Stay")]
    texts = tuple(SubscriptionEntry(name=one.name, xpath=one.text) for one in unknown)
    request = SubscriptionsRequest(subscriptions=texts, words=Words.OWN, skipping=True)
    messages = [
        "a: the schema of this peer, StLuke, has no element Problem",
        "a: the schema of this peer, StLuke, has no attribute Number",
        "b: no document of the schema of this peer, StLuke, has //Stay[Day]",
    ]

    async def test() -> None:
        async with peers_at_work(stluke):
            with pytest.raises(DisseminationError) as error:
                await stluke.at_work.subscribing.subscribe(unknown, [], skipping=False)
            assert [fault.message for fault in error.value.faults] == messages
            assert {fault.code for fault in error.value.faults} == {"HX9070"}

    if runs:
        run(test)
    else:
        with subscriptions_at(stluke.folder) as subscriptions:
            answer = subscriptions.subscribe(request)
            assert [fault.message for fault in answer.faults] == messages
            assert answer.added == 1
            (kept,) = subscriptions.subscriptions()
            assert (kept.words, kept.deliver) == ("own", "original")


def test_documents_are_rewritten_along_a_mapping_that_leads_to_the_publisher_too(tmp_path: Path) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")
    document = (HOSPITALS / "boston.xml").read_text()
    mapping = load_mapping(HOSPITALS / "montreal-boston.arrows").mirrored()
    image = write_document(exchange(mapping, parse_document(document)).root).encode()

    async def test() -> None:
        async with peers_at_work(montreal, boston):
            await montreal.acquaint_by(boston, HOSPITALS / "montreal-boston.arrows")
            await boston.publish("first.xml", document)
            await until(lambda: montreal.reaches(boston))
            text = "//Admission[Problem = 'Coronary'][AdmDate = '12/24/2003'][DisDate]"
            assert await montreal.subscribe_in_own_words("original", text) == ()
            assert await montreal.subscribe_in_own_words("own", text, Delivery.OWN) == ()
            await boston.publish("other.xml", document.replace("<Leave>12/30/2003</Leave>", ""))
            await boston.publish("one.xml", document)
            await until(lambda: montreal.delivered("original") and montreal.delivered("own"))
            assert montreal.documents("original") == {"one.xml": document.encode()}
            assert montreal.documents("own") == {"one.xml": image}

    run(test)


def test_along_a_mapping_that_serves_the_other_direction_only_nothing_comes_and_it_is_said(tmp_path: Path) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")
    rules = one_section(tmp_path, "along")

    async def test() -> None:
        async with peers_at_work(montreal, boston):
            await montreal.acquaint_by(boston, rules)
            await boston.publish("first.xml", (HOSPITALS / "boston.xml").read_text())
            await until(lambda: montreal.reaches(boston))
            assert await montreal.subscribe_in_own_words("own", "//Admission", Delivery.OWN) == ()
            found = told(montreal, "own", boston)
            assert found.text is None and "it serves one direction" in str(found.reason)

    run(test)


def test_what_does_not_fit_its_schema_is_a_dead_letter_where_it_is_to_be_rewritten(tmp_path: Path) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")
    twice = montreal_document(1).replace("<Name>Ann</Name>", "<Name>Ann</Name><Name>Bob</Name>")
    day = "<AdmDate>12/25/2003</AdmDate>"
    disordered = montreal_document(2).replace(day, "").replace('PatRef="m2">', f'PatRef="m2">{day}')

    async def test() -> None:
        async with peers_at_work(montreal, boston):
            await montreal.acquaint_by(boston, HOSPITALS / "montreal-boston.arrows")
            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: boston.reaches(montreal))
            for deliver in (Delivery.ORIGINAL, Delivery.OWN):
                assert await boston.subscribe_in_own_words(deliver.value, "//Coronary[Enter]", deliver) == ()
            for name, text in (("twice.xml", twice), ("disordered.xml", disordered)):
                assert not (await montreal.publish(name, text)).kept
            await montreal.publish("last.xml", montreal_document(3))
            await until(lambda: boston.delivered("own"))
            assert boston.documents("own").keys() == {"last.xml"}
            dead = boston.dead("own")
            assert dead.keys() == {"twice.xml", "disordered.xml"}
            assert all(reason.startswith("it cannot be rewritten: ") for reason in dead.values())
            await until(lambda: "last.xml" in boston.delivered("original"))
            assert {*boston.documents("original"), *boston.dead("original")} == {
                "twice.xml",
                "disordered.xml",
                "last.xml",
            }

    run(test)


# -- what changes ----------------------------------------------------------------------------------------------------


def test_whoever_starts_anew_misses_nothing_in_own_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, stluke, nursery):
            await montreal.publish("first.xml", montreal_document(100))
            await until(lambda: stluke.reaches(montreal))
            assert await stluke.subscribe_in_own_words("original", "//Stay[Diagnosis = 'Coronary']") == ()
            assert await stluke.subscribe_in_own_words("own", "//Stay[Name = 'Ann']", Delivery.OWN) == ()
            names = []
            for number, peer in enumerate((stluke, boston, montreal)):
                await peer.stop()
                for down in (True, False):
                    if peer is not montreal or not down:
                        names.append(f"{peer.name} {down}.xml")
                        await montreal.publish(names[-1], montreal_document(2 * number + down))
                    if down:
                        await nursery.start(peer.run)
                await until(lambda: len(stluke.delivered("own")) == len(stluke.delivered("original")) == len(names))
            assert stluke.delivered("own") == stluke.delivered("original") == dict.fromkeys(names, 1)
            before = stluke.documents("own")
            again = FeedDocument(
                montreal.peer_id, feed_of(montreal), 2, "again.xml", "id", montreal_document(99).encode()
            )
            found = await trio.to_thread.run_sync(stluke.feeds.own_words.deliver, again, 2)
            assert not found.published, "it may come again after a crash"
            await stluke.stop()
            await nursery.start(stluke.run)
            assert stluke.documents("own") == before, "what was rewritten stays as it was"

    run(test)


def test_while_mappings_change_everything_comes_once(tmp_path: Path) -> None:
    """Boston and St Luke's agree on one mapping after the other; in one of them names and dates have changed places."""
    swapped = BOSTON_STLUKE.replace("Stay/Name", "Stay/-").replace("Stay/Arrived", "Stay/Name")
    published: list[str] = []

    async def publish(peer: WordedPeer, done: trio.Event) -> None:
        while not done.is_set():
            name = f"{len(published)}.xml"
            await peer.publish(name, montreal_document(len(published), name="same", day="same"))
            published.append(name)

    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, stluke, _):
            boston_file = tmp_path / "boston-stluke.arrows"
            other_file = mapping_file(tmp_path, "other.arrows", swapped.replace("Stay/-", "Stay/Arrived"))
            await montreal.publish("first.xml", montreal_document(100))
            await until(lambda: stluke.reaches(montreal))
            assert await stluke.subscribe_in_own_words("own", "//Stay[Arrived = 'same']") == ()
            text = told(stluke, "own", montreal).text
            async with trio.open_nursery() as publishing:
                done = trio.Event()
                publishing.start_soon(publish, montreal, done)
                for file in (other_file, boston_file, other_file):
                    await stluke.acquaint_by(boston, file)
                    waiting = boston.at_work.acquaintances.requests
                    await until(lambda: stluke.peer_id in waiting())  # noqa: B023
                    await boston.at_work.acquaintances.accept(stluke.peer_id)
                    await until(lambda: told(stluke, "own", montreal).text not in (None, text))  # noqa: B023
                    text = told(stluke, "own", montreal).text
                done.set()
            await until(lambda: len(stluke.delivered("own")) >= len(published))
            assert stluke.delivered("own") == dict.fromkeys(published, 1)

    run(test)


def test_a_publisher_that_has_lost_its_feed_log_is_understood_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with hospitals(tmp_path) as (montreal, boston, _, nursery):
            await montreal.publish("first.xml", montreal_document(0))
            await until(lambda: boston.reaches(montreal))
            assert await boston.subscribe_in_own_words("own", "//Coronary", Delivery.OWN) == ()
            await montreal.publish("one.xml", montreal_document(1))
            await until(lambda: boston.delivered("own"))
            await montreal.stop()
            for part in montreal.folder.glob("feed.sqlite*"):
                part.unlink()
            await nursery.start(montreal.run)
            await montreal.publish("two.xml", montreal_document(2))
            await montreal.publish("three.xml", montreal_document(3))
            await until(lambda: len(boston.delivered("own")) == 3)
            assert not boston.notes("document not understood")

    run(test)


@dataclass
class _Mappings:
    """No mappings, as all publishers have the own schema; ``reached`` are those to which there is a path."""

    reached: set[str] = field(default_factory=set)
    keep: Any = None
    held: Any = None

    def is_reached(self, publisher: str) -> bool:
        return publisher in self.reached


def test_the_words_of_so_many_publishers_behind_one_neighbour_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_words, "MOST_BEHIND", 3)
    schema = PeerFolder.create(tmp_path / "peer", HOSPITALS / "mongenhosp.dtd").schema()
    mappings, answers = _Mappings(), dict[str, bool]()
    wording = Wording(schema_key(schema), 0, ("", ""))

    async def in_line(work: Any, asker: str) -> Any:  # noqa: ARG001
        return work(no_check)

    class User:
        def name(self, peer: str) -> str:
            return peer

        async def hand_in(self, *events: Translated) -> None:
            answers.update((event.publisher, event.available) for event in events)

    async def test() -> None:
        with FeedLog(tmp_path / "feed.sqlite") as log:
            made = OwnWords(schema, cast(Any, None), log, cast(Any, mappings), in_line, cast(Any, User()))
            made._words.open()
            made.add(OwnSubscription(1, "one", "//Patient"))

            async def announced(publisher: str, neighbour: str = "liar") -> bool:
                answers.pop(publisher, None)
                mappings.reached.add(publisher)
                made.translate(Translate(1, publisher, "feed", (neighbour, publisher), wording))
                await until(lambda: publisher in answers)
                return answers[publisher]

            async with made.serving():
                assert [await announced(f"p{number}") for number in range(5)] == [True, True, True, False, False]
                assert await announced("honest", "other"), "behind another neighbour"
                assert not await announced("honest"), "nor is the way there"
                assert len(made._words.versions) == 3
                for publisher, reason in (("p0", ""), ("p4", "behind one neighbour")):
                    (one,) = made.renderings(1, [publisher])
                    assert reason in (one.reason or "")
                    assert (one.text is None) == bool(reason)
                mappings.reached -= {"p0", "p1"}
                assert [await announced(publisher) for publisher in ("p4", "p5", "p6")] == [True, True, False]
                assert set(made._publishers) == {"p2", "p4", "p5"}

    run(test)
