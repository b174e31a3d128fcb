"""A mediator: a peer with the schema of a domain, acquainted with publishers of other schemas and with subscribers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
import trio

from heptox.matching import Delivery
from heptox.peer.feed import feeds
from tests.peer.networks import run, until
from tests.peer.whole_peers import peers_at_work
from tests.peer.worded_peers import WordedPeer, worded_peer

DTDS: Final = {
    "domain": "<!ELEMENT domain (item*)> <!ELEMENT item (title, price)> <!ELEMENT title (#PCDATA)> "
    "<!ELEMENT price (#PCDATA)>",
    "books": "<!ELEMENT books (book*)> <!ELEMENT book (name, cost)> <!ELEMENT name (#PCDATA)> "
    "<!ELEMENT cost (#PCDATA)>",
    "shop": "<!ELEMENT shop (ware*)> <!ELEMENT ware EMPTY> <!ATTLIST ware label CDATA #REQUIRED eur CDATA #REQUIRED>",
    "list": "<!ELEMENT list (entry*)> <!ELEMENT entry (what, amount)> <!ELEMENT what (#PCDATA)> "
    "<!ELEMENT amount (#PCDATA)>",
    "offers": "<!ELEMENT offers (offer*)> <!ELEMENT offer (label, euro)> <!ELEMENT label (#PCDATA)> "
    "<!ELEMENT euro (#PCDATA)>",
    "volumes": "<!ELEMENT volumes (volume*)> <!ELEMENT volume (cost)> <!ATTLIST volume called CDATA #REQUIRED> "
    "<!ELEMENT cost (#PCDATA)>",
}
ARROWS: Final = {
    ("books", "domain"): "book/name -> item/title\nbook/cost -> item/price\n",
    ("shop", "domain"): "ware/@label -> item/title\nware/@eur -> item/price\n",
    ("list", "domain"): "entry/what -> item/title\nentry/amount -> item/price\n",
    ("volumes", "domain"): "volume/@called -> item/title\nvolume/cost -> item/price\n",
    ("domain", "offers"): "item/title -> offer/label\nitem/price -> offer/euro\n",
}
DOCUMENTS: Final = {
    "books": "<books><book><name>{}</name><cost>{}</cost></book></books>",
    "shop": '<shop><ware label="{}" eur="{}"/></shop>',
    "list": "<list><entry><what>{}</what><amount>{}</amount></entry></list>",
    "volumes": '<volumes><volume called="{}"><cost>{}</cost></volume></volumes>',
}
OFFER: Final = "<offers><offer><label>{}</label><euro>{}</euro></offer></offers>\n"
CHEAP_ITEM: Final = "//item[price < 10]"
CHEAP_OFFER: Final = "//offer[euro < 10]"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)


@dataclass
class Domain:
    """A mediator with three publishers and a subscriber who has a schema of its own."""

    folder: Path
    mediator: WordedPeer
    publishers: dict[str, WordedPeer]
    subscriber: WordedPeer
    nursery: trio.Nursery

    async def acquaint(self, one: WordedPeer, other: WordedPeer) -> None:
        """Let two peers agree on the mapping between their schemas."""
        await one.acquaint_by(other, self.folder / f"{one.schema}-{other.schema}.arrows")

    async def publish(self, schema: str, name: str, title: str, price: int) -> None:
        """Publish an item under a schema, at the peer that has it."""
        peer = next(peer for peer in self.publishers.values() if peer.schema == schema)
        assert not (await peer.publish(name, DOCUMENTS[schema].format(title, price))).kept


@asynccontextmanager
async def domain(folder: Path) -> AsyncIterator[Domain]:
    for name, text in DTDS.items():
        (folder / f"{name}.dtd").write_text(text)
    for (source, target), text in ARROWS.items():
        declared = f'source "{source}.dtd" root {source}\ntarget "{target}.dtd" root {target}\n'
        (folder / f"{source}-{target}.arrows").write_text(declared + text)
    mediator, subscriber, *others = (
        worded_peer(folder / name, folder / f"{name}.dtd") for name in ("domain", "offers", "books", "shop", "list")
    )
    publishers = {peer.name: peer for peer in others}
    async with peers_at_work(mediator, subscriber, *others) as nursery:
        made = Domain(folder, mediator, publishers, subscriber, nursery)
        for peer in others:
            await made.acquaint(peer, mediator)
        await made.acquaint(mediator, subscriber)
        for schema in publishers:
            await made.publish(schema, "first.xml", "first", 1)
        await until(lambda: all(subscriber.reaches(peer) for peer in others))
        yield made


def test_subscribers_in_the_mediators_words_and_in_their_own_get_what_is_published_under_three_schemas(
    tmp_path: Path,
) -> None:
    async def test() -> None:
        async with domain(tmp_path) as network:
            mediator, subscriber = network.mediator, network.subscriber
            assert await mediator.subscribe_in_own_words("cheap", CHEAP_ITEM) == ()
            assert await subscriber.subscribe_in_own_words("cheap", CHEAP_OFFER) == ()
            assert await subscriber.subscribe_in_own_words("own", CHEAP_OFFER, Delivery.OWN) == ()
            for place, schema in enumerate(network.publishers):
                await network.publish(schema, f"cheap {schema}.xml", schema, 3 + place)
                await network.publish(schema, f"dear {schema}.xml", schema, 30)
            originals = {
                f"cheap {schema}.xml": DOCUMENTS[schema].format(schema, 3 + place).encode()
                for place, schema in enumerate(network.publishers)
            }
            for peer in (mediator, subscriber):
                await until(lambda: len(peer.delivered("cheap")) == 3)  # noqa: B023
                assert peer.documents("cheap") == originals
            await until(lambda: len(subscriber.delivered("own")) == 3)
            assert subscriber.documents("own") == {
                f"cheap {schema}.xml": OFFER.format(schema, 3 + place).encode()
                for place, schema in enumerate(network.publishers)
            }

    run(test)


def change_schema(peer: WordedPeer, schema: str) -> None:
    """Give a peer that does not run another schema."""
    (peer.folder / "schema.dtd").write_text(DTDS[schema])
    settings = peer.folder / "peer.toml"
    settings.write_text(settings.read_text().replace(f'root = "{peer.schema}"', f'root = "{schema}"'))
    peer.schema = schema


@pytest.mark.parametrize("is_down", [True, False])
def test_a_publisher_that_changes_its_schema_changes_nothing_for_others_and_what_is_under_way_is_understood(
    tmp_path: Path, is_down: bool
) -> None:
    async def test() -> None:
        async with domain(tmp_path) as network:
            mediator, subscriber, nursery = network.mediator, network.subscriber, network.nursery
            publisher = network.publishers["books"]
            assert await subscriber.subscribe_in_own_words("own", CHEAP_OFFER, Delivery.OWN) == ()
            assert await subscriber.subscribe_in_own_words("original", CHEAP_OFFER) == ()
            schema = (mediator.folder / "schema.dtd").read_bytes()
            await network.publish("books", "known.xml", "known", 2)
            await until(lambda: subscriber.delivered("own") and subscriber.delivered("original"))
            if is_down:
                await subscriber.stop()
            await network.publish("books", "under way.xml", "under way", 3)
            await network.publish("books", "dear.xml", "dear", 30)
            await publisher.stop()
            change_schema(publisher, "volumes")
            await nursery.start(publisher.run)
            await publisher.publish("before.xml", DOCUMENTS["volumes"].format("before", 4))
            await network.acquaint(publisher, mediator)
            waiting = mediator.at_work.acquaintances.requests
            await until(lambda: publisher.peer_id in waiting())
            await mediator.at_work.acquaintances.accept(publisher.peer_id)
            await network.publish("volumes", "new.xml", "new", 5)
            if is_down:
                await nursery.start(subscriber.run)
            await network.publish("volumes", "newer.xml", "newer", 6)
            named = {"known": 2, "under way": 3, "before": 4, "new": 5, "newer": 6}
            await until(lambda: len(subscriber.delivered("own")) >= len(named))
            await until(lambda: len(subscriber.delivered("original")) >= len(named))
            assert subscriber.documents("own") == {
                f"{name}.xml": OFFER.format(name, price).encode() for name, price in named.items()
            }
            assert subscriber.documents("original") == {
                f"{name}.xml": DOCUMENTS["volumes" if price > 3 else "books"].format(name, price).encode()
                for name, price in named.items()
            }
            assert (mediator.folder / "schema.dtd").read_bytes() == schema
            assert subscriber.at_work.subscribing.log.subscription("own").text == CHEAP_OFFER

    run(test)
