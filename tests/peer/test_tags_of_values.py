"""Tags that only a value has made: subscriptions in own words, and followed queries, name those that queries name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from heptox.errors import DisseminationError, GrammarError
from heptox.matching import Answers, Delivery, Words
from heptox.peer import SubscriptionEntry, SubscriptionsRequest, subscriptions_at
from heptox.peer.feed import feeds
from tests.peer.asked_peers import Holding, ask, asked_peers
from tests.peer.networks import run, until

FILES: Final = {
    "shop.dtd": """<!ELEMENT shop (item*)> <!ELEMENT item (kind, price)>
<!ELEMENT kind (#PCDATA)> <!ELEMENT price (#PCDATA)>""",
    "wares.dtd": """<!ELEMENT wares (group)> <!ELEMENT group (Book | Disc)*>
<!ELEMENT Book (cost)> <!ELEMENT Disc (cost)> <!ELEMENT cost (#PCDATA)>""",
    "shop-wares.arrows": """source "shop.dtd" root shop
target "wares.dtd" root wares
target box Kind = group/(Book | Disc)
each item -> [Kind]
item/kind -> [Kind]
item/price -> [Kind]/cost
""",
}
DOCUMENTS: Final = {
    name: f"<shop><item><kind>{kind}</kind><price>{price}</price></item></shop>"
    for name, kind, price in (("book", "Book", 1), ("map", "Old map/torn", 2), ("vinyl", "Vinyl", 3))
}
DELIVERED: Final = {
    "//group/Old_x0020_map_x002F_torn/cost": {"map"},
    "//Vinyl/cost": {"vinyl"},
    "//Vinyl[cost > 5]/cost": set[str](),
    "/wares//Vinyl/cost": {"vinyl"},
    "//group[Vinyl]/Book/cost": set[str](),
}
REFUSED: Final = ("//Bock", "//Vinyl/cots", "/wares/Vinyl/cost", "//Vinyl/@cost", "//cost/Vinyl")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever subscribes waits until it is confirmed, on slow machines too."""
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)


def test_a_tag_that_may_be_asked_for_may_be_subscribed_to(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    holding = {
        "shop": Holding(tmp_path / "shop.dtd", tuple(DOCUMENTS.values())),
        "wares": Holding(tmp_path / "wares.dtd"),
    }

    async def test() -> None:
        async with asked_peers(tmp_path, holding) as peers:
            shop, wares = peers["shop"], peers["wares"]
            with pytest.raises(DisseminationError, match="has no element Vinyl"):  # no box is drawn yet
                await wares.subscribe_in_own_words("vinyl", "//Vinyl")
            await shop.acquaint_by(wares, tmp_path / "shop-wares.arrows")
            await shop.publish("first", DOCUMENTS["book"])
            await until(lambda: wares.reaches(shop))
            for text in REFUSED:
                with pytest.raises(GrammarError, match="HX3041"):
                    await ask(wares, text)
                for deliver in Delivery:
                    with pytest.raises(DisseminationError, match="HX9070"):
                        await wares.subscribe_in_own_words("refused", text, deliver)
            for text in DELIVERED:
                for deliver in Delivery:
                    assert await wares.subscribe_in_own_words(f"{deliver} {len(text)}", text, deliver) == ()
            assert await wares.subscribe_in_own_words("last", "//Book") == ()
            for name, text in DOCUMENTS.items():
                await shop.publish(name, text)
            await shop.publish("last", DOCUMENTS["book"])
            await until(lambda: wares.delivered("last")["last"])
            for text, names in DELIVERED.items():
                for deliver in Delivery:
                    assert set(wares.delivered(f"{deliver} {len(text)}")) == names
                told = wares.documents(f"answers {len(text)}").values()
                items = [item for data in told for item in Answers.from_bytes(data).items]
                assert frozenset(items) == (await ask(wares, text)).items

    run(test)
    with subscriptions_at(tmp_path / "wares") as subscriptions:  # by the mappings in the folder
        wanted = [SubscriptionEntry(name=f"one {place}", xpath=text) for place, text in enumerate(("//Tape", *REFUSED))]
        request = SubscriptionsRequest(subscriptions=tuple(wanted), words=Words.OWN, skipping=True)
        answer = subscriptions.subscribe(request)
        assert (answer.added, {fault.code for fault in answer.faults}) == (1, {"HX9070"})
        assert len({fault.message.split(":")[0] for fault in answer.faults}) == len(REFUSED)
