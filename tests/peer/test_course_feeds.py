"""Real courses of two universities, published one by one, come to a third whose subscriptions are in its own words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from lxml import etree

from heptox.mapping import Mapping, exchange, load_mapping
from heptox.matching import Answers, Delivery
from heptox.peer.feed import feeds
from heptox.xml import parse_document, read_document, write_document, write_element
from tests.examples.courses import DATA, FOLDER
from tests.peer.networks import run, until
from tests.peer.whole_peers import peers_at_work
from tests.peer.worded_peers import worded_peer
from tests.support.saxon import answer_set

EVERY: Final = {"uwm": 24, "wsu": 40}
"""One course of so many is published."""
ALL: Final = "//course/title"
"""Every course has a title."""
SUBSCRIPTIONS: Final = (
    ALL,
    "//course[units = '3.0']",
    "//course[days = 'MWF' or days = 'M-W-F']",
    "//course[time/start_time != '' and place/building]",
    "//course[units >= 3 and place/room]",
    "//course[subj = 'ACCTG']",
    "//course[place/building = 'TODD']",
)

QUERIES: Final = (
    "for $c in //course return <c><title>{data($c/title)}</title></c>",
    """for $c in //course where $c/units = '3.0'
    return <c><title>{data($c/title)}</title><who>{data($c/instructor)}</who></c>""",
    "for $c in //course where $c/place/building = 'TODD' return $c/place/room",
    "for $c in //course, $d in //course where $c/title = $d/title and $c/days != $d/days return $c/title",
    "(//course[subj = 'ACCTG']/title, //course[days = 'MWF']/time/start_time)",
)
"""The first has an answer on every course; the fourth joins the sections of one course, for each is a document."""

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the catalogues are not here")


def courses(university: str) -> Iterator[tuple[str, str]]:
    """Some courses of a catalogue, each as a document, with names."""
    root = read_document(DATA / f"{university}.xml").root
    for number, course in enumerate(list(root)[:: EVERY[university]]):
        yield f"{university}-{number}.xml", f"<root>{write_element(course)}</root>"


def matching(mapping: Mapping, text: str, xpath: str) -> bytes | None:
    """What exchange makes of a document, if lxml finds in it what is asked for."""
    image = write_document(exchange(mapping, parse_document(text)).root).encode()
    return image if etree.fromstring(image).xpath(xpath) else None


def test_courses_of_two_universities_come_without_a_false_match_and_none_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)
    reed, uwm, wsu = peers = [worded_peer(tmp_path / name, FOLDER / f"{name}.dtd") for name in ("reed", "uwm", "wsu")]
    published = {peer: dict(courses(peer.name)) for peer in (uwm, wsu)}
    meant: dict[str, dict[str, bytes]] = {}
    for text in SUBSCRIPTIONS:
        meant[text] = {}
        for peer, documents in published.items():
            mapping = load_mapping(FOLDER / f"{peer.name}-reed.arrows")
            images = ((name, matching(mapping, document, text)) for name, document in documents.items())
            meant[text].update((name, image) for name, image in images if image is not None)
    everything = published[uwm] | published[wsu]

    async def test() -> None:
        async with peers_at_work(*peers):
            for peer in published:
                await peer.acquaint_by(reed, FOLDER / f"{peer.name}-reed.arrows")
                await peer.publish("empty.xml", "<root/>")
                await until(lambda: reed.reaches(peer))  # noqa: B023
            for number, text in enumerate(SUBSCRIPTIONS):
                for deliver in (Delivery.ORIGINAL, Delivery.OWN):
                    assert await reed.subscribe_in_own_words(f"{number} {deliver}", text, deliver) == ()
            for peer, documents in published.items():
                for name, document in documents.items():
                    assert not (await peer.publish(name, document)).kept
            await until(lambda: len(reed.delivered("0 own")) >= len(everything))  # then those before are settled
            for number, text in enumerate(SUBSCRIPTIONS):
                originals = {name: everything[name].encode() for name in meant[text]}
                assert reed.documents(f"{number} original") == originals
                assert reed.documents(f"{number} own") == meant[text]
                assert not reed.dead(f"{number} own")

    run(test)
    assert meant[ALL].keys() == everything.keys()
    assert all(0 < len(found) < len(everything) for text, found in meant.items() if text != ALL)


def test_followed_queries_get_the_answers_on_the_courses_of_two_universities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)
    reed, uwm, wsu = peers = [worded_peer(tmp_path / name, FOLDER / f"{name}.dtd") for name in ("reed", "uwm", "wsu")]
    published = {peer: dict(courses(peer.name)) for peer in (uwm, wsu)}
    images = {
        name: write_document(exchange(load_mapping(FOLDER / f"{peer.name}-reed.arrows"), parse_document(text)).root)
        for peer, documents in published.items()
        for name, text in documents.items()
    }
    meant = [
        {name: items for name, image in images.items() if (items := answer_set(query, image))} for query in QUERIES
    ]

    async def test() -> None:
        async with peers_at_work(*peers):
            for peer in published:
                await peer.acquaint_by(reed, FOLDER / f"{peer.name}-reed.arrows")
                await peer.publish("empty.xml", "<root/>")
                await until(lambda: reed.reaches(peer))  # noqa: B023
            for number, query in enumerate(QUERIES):
                assert await reed.subscribe_in_own_words(str(number), query, Delivery.ANSWERS) == ()
            for peer, documents in published.items():
                for name, document in documents.items():
                    assert not (await peer.publish(name, document)).kept
            await until(lambda: len(reed.delivered("0")) == len(images))  # then those before are settled
            for number, judged in enumerate(meant):
                delivered = map(Answers.from_bytes, reed.documents(str(number)).values())
                assert {told.document: frozenset(told.items) for told in delivered} == judged
                assert not reed.dead(str(number))

    run(test)
    assert meant[0].keys() == images.keys()
    assert all(0 < len(judged) < len(images) for judged in meant[1:])
