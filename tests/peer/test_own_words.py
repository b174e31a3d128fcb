"""Subscriptions in own words, between whole peers: what comes, in which words, and what is told of what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from lxml import etree

from heptox.dissemination import Delivery
from heptox.mapping import exchange, load_mapping
from heptox.peer import feeds
from heptox.xmlio import parse_document, write_document
from tests.peer.networks import run, until
from tests.peer.whole_peers import peers_at_work
from tests.peer.worded_peers import HOSPITALS, hospital, hospitals

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
