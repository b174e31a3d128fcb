"""Attributes to which a publisher's schema gives a default, or values without surplus white space: subscriptions in own
words, and queries that are followed, find in published documents what a query finds in documents at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from heptox.matching import Answers, Delivery
from heptox.peer.feed import feeds
from tests.peer.asked_peers import Holding, Knowing, ask, asked_peers
from tests.peer.networks import run, until
from tests.peer.worded_peers import WordedPeer

ZOO: Final = """<!ELEMENT zoo (house*, animal*)>
<!ELEMENT house (label)> <!ATTLIST house hid ID #REQUIRED>
<!ELEMENT animal (name, species, weight?)>
<!ATTLIST animal tag ID #REQUIRED home IDREF #REQUIRED>
<!ATTLIST animal sex CDATA "u" life (wild | tame) "tame" traits NMTOKENS "tall old">
<!ELEMENT weight (#PCDATA)> <!ATTLIST weight unit CDATA "kg">
<!ELEMENT label (#PCDATA)> <!ELEMENT name (#PCDATA)> <!ELEMENT species (#PCDATA)>
"""
VET: Final = """<!ELEMENT practice (patients)> <!ELEMENT patients (Lion | Owl)*>
<!ELEMENT Lion (called, mass?, lodging?)>
<!ATTLIST Lion no ID #REQUIRED sex CDATA #IMPLIED life CDATA #IMPLIED traits CDATA #IMPLIED>
<!ELEMENT Owl (called, mass?, lodging?)>
<!ATTLIST Owl no ID #REQUIRED sex CDATA #IMPLIED life CDATA #IMPLIED traits CDATA #IMPLIED>
<!ELEMENT mass (#PCDATA)> <!ATTLIST mass u CDATA #IMPLIED>
<!ELEMENT called (#PCDATA)> <!ELEMENT lodging (#PCDATA)>
"""
ARROWS: Final = """source "zoo.dtd" root zoo
target "vet.dtd" root practice
source reference animal/@home -> house/@hid
target box Kind = patients/(Lion | Owl)
each animal -> [Kind]
animal/species -> [Kind]
animal/@tag -> [Kind]/@no
animal/@sex -> [Kind]/@sex
animal/@life -> [Kind]/@life
animal/@traits -> [Kind]/@traits
animal/name -> [Kind]/called
animal/weight -> [Kind]/mass
animal/weight/@unit -> [Kind]/mass/@u
house/label -> [Kind]/lodging
"""
ATTRIBUTES: Final = {
    "Leo": ('tag="a1" home="h"', ""),
    "Elsa": ('tag="a2" home="h" sex="f" life="wild" traits="small"', 'unit="t"'),
    "Nala": ('tag="  a3 " home=" h" sex="u" life=" wild" traits=" tall   old "', 'unit="kg"'),
    "Kiara": ('tag="a3x" home="h " sex=" u" traits="tall"', 'unit=" kg"'),
}
DOCUMENTS: Final = {
    name: '<zoo><house hid="h "><label>North</label></house>'
    f"<animal {animal}><name>{name}</name><species>Lion</species><weight {weight}>190</weight></animal></zoo>"
    for name, (animal, weight) in ATTRIBUTES.items()
}
LAST: Final = DOCUMENTS["Leo"].replace("Leo", "last").replace("Lion", "Owl")

AT_VET: Final = (
    "//Lion[mass]",
    "//Lion[mass/@u]",
    '//Lion[mass[@u = "kg"]]',
    '//Lion[mass/@u = "t"]',
    '//Lion[@sex = "u"]',
    '//Lion[@sex != "u"]',
    '//Lion[@no = "a3"]',
    '//Lion[@no != "a3"]',
    '//Lion[@no >= "a3"]',
    '//Lion[@life = "wild"]',
    '//Lion[@life = "tame"]',
    '//Lion[@traits = "tall old"]',
    '//Lion[@* = "small" or @* = "kg"]',
    '//Lion[lodging = "North"]',
)
AT_ZOO: Final = (
    "//animal[weight/@unit]",
    '//animal[weight/@unit = "kg"]',
    '//animal[@sex = "u"]',
    '//animal[@tag = "a3"]',
    '//animal[@life = "wild"]',
    '//animal[@traits = "tall old"]',
    '//animal[.//@* = "kg"]',
)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever subscribes waits until it is confirmed, on slow machines too."""
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)


async def subscribe(peer: WordedPeer, paths: tuple[str, ...], queries: tuple[str, ...], last: str) -> None:
    assert await peer.subscribe_in_own_words("last", last) == ()
    for number, path in enumerate(paths):
        assert await peer.subscribe_in_own_words(f"path {number}", path) == ()
    for number, query in enumerate(queries):
        assert await peer.subscribe_in_own_words(f"query {number}", query, Delivery.ANSWERS) == ()


async def delivers_what_it_finds(peer: WordedPeer, paths: tuple[str, ...], queries: tuple[str, ...], name: str) -> None:
    """Compare what was delivered of the published documents with what queries find in the same documents at rest."""
    await until(lambda: peer.delivered("last"))
    for number, path in enumerate(paths):
        found = (await ask(peer, f"for $a in {path} return <n>{{data($a/{name})}}</n>")).items
        delivered = peer.delivered(f"path {number}")
        assert {f"<n>{one}</n>" for one in delivered} == found - {"<n>last</n>"} != set(), path
        assert set(delivered.values()) == {1}
    for number, query in enumerate(queries):
        items = [Answers.from_bytes(data).items for data in peer.documents(f"query {number}").values()]
        assert {item for some in items for item in some} == (await ask(peer, query)).items != set(), query
    assert not any(peer.dead(f"{kind} {number}") for kind, some in (("path", paths), ("query", queries))
                   for number in range(len(some)))  # fmt: skip


def test_what_is_delivered_in_own_words_is_what_a_query_finds(tmp_path: Path) -> None:
    for name, text in (("zoo.dtd", ZOO), ("vet.dtd", VET), ("zoo-vet.arrows", ARROWS)):
        (tmp_path / name).write_text(text)
    at_vet = (
        "//Lion/mass",
        "//Lion/@sex",
        "//Lion/@traits",
        "for $l in //Lion return <r>{$l/@sex}{$l/mass}{$l/lodging}</r>",
        'for $l in //Lion where $l/@sex != "u" return $l/called',
        'for $l in //Lion where $l/@no = "a3" return $l/@no',
    )
    at_zoo = ("//animal[species = 'Lion']/weight/@unit", 'for $a in //animal[species = "Lion"] return $a/@traits')
    holding = {
        "zoo": Holding(tmp_path / "zoo.dtd", tuple(DOCUMENTS.values())),
        "other": Holding(tmp_path / "zoo.dtd"),
        "vet": Holding(tmp_path / "vet.dtd"),
    }
    knowing = [Knowing(zoo, "vet", tmp_path / "zoo-vet.arrows") for zoo in ("zoo", "other")]
    lions = tuple(f"{path}[species = 'Lion']" for path in AT_ZOO)

    async def test() -> None:
        async with asked_peers(tmp_path, holding, knowing) as peers:
            zoo, other, vet = peers["zoo"], peers["other"], peers["vet"]
            await zoo.publish("first.xml", DOCUMENTS["Leo"])
            await until(lambda: vet.reaches(zoo) and other.reaches(zoo))
            await subscribe(vet, AT_VET, at_vet, "//Owl")
            assert await vet.subscribe_in_own_words("rewritten", '//mass[@u = "kg"]', Delivery.OWN) == ()
            for peer in (zoo, other):
                await subscribe(peer, lions, at_zoo, "//animal[species = 'Owl']")
            for name, text in DOCUMENTS.items():
                assert not (await zoo.publish(name, text)).kept
            await zoo.publish("last", LAST)
            await delivers_what_it_finds(vet, AT_VET, at_vet, "called")
            await delivers_what_it_finds(other, lions, at_zoo, "name")
            await delivers_what_it_finds(zoo, lions, at_zoo, "name")
            assert set(vet.documents("rewritten")) == {"Leo", "Nala", "last"}
            assert b'<mass u="kg">190</mass>' in vet.documents("rewritten")["Leo"]

    run(test)
