"""Whole peers with schemas of their own, whose subscribers use their own words."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import trio

from heptox.mapping import load_mapping, print_rules
from heptox.matching import Delivery, Words
from heptox.peer import PeerFolder, propose
from heptox.peer.wire.standing import Side
from heptox.settings import peer_settings_text
from tests.peer.networks import until
from tests.peer.whole_peers import Peer, peers_at_work

HOSPITALS: Final = Path("examples/hospital").resolve()

BOSTON_STLUKE: Final = """
source "massgeneral.dtd" root MassGeneral
target "stluke.dtd" root StLuke
source box Illness = Admission/(Pulmonary | Coronary)
[Illness]             -> Stay/Diagnosis
[Illness]/@ID         -> Stay/Person
[Illness]/Patient     -> Stay/Name
[Illness]/InsName     -> Stay/Insurance/Company
[Illness]/PolicyNo    -> Stay/Insurance/Number
[Illness]/Enter       -> Stay/Arrived
[Illness]/Leave       -> Stay/Left
Progress/Symptom/Desc -> Stay/Complaint/What
Progress/Symptom/Date -> Stay/Complaint/Since
Progress/Treatment/Date -> Stay/Care/Day
Progress/Treatment/Desc -> Stay/Care/Measure
"""


class WordedPeer(Peer):
    """A peer with the schema in a file, acquainted by mapping files."""

    async def acquaint_by(self, other: Peer, mapping: Path, side: Side | None = None) -> None:
        """Offer ``other`` an acquaintance by a mapping, which it accepts by itself; it has a link then."""
        proposal = propose(other.at_work.transport.addresses[0], mapping, side, other.name)
        await self.at_work.acquaintances.acquaint(proposal)
        await until(lambda: self.linked(other) and other.linked(self))

    async def subscribe_in_own_words(
        self, name: str, xpath: str, deliver: Delivery = Delivery.ORIGINAL
    ) -> tuple[str, ...]:
        """Add a subscription in own words; the publishers that have not confirmed it."""
        return await self.subscribe(name, xpath, words=Words.OWN, deliver=deliver)

    def words(self, publisher: Peer) -> str | None:
        """How the words of a publisher are understood."""
        understood = self.feeds.own_words.status(publisher.peer_id)
        return None if understood is None else understood.standing.value

    def documents(self, name: str) -> dict[str, bytes]:
        """The documents that were delivered to a subscription, by name."""
        log = self.at_work.subscribing.log
        return {one.name: log.content(name, one.sequence)[1] for one in log.fetch(name, 1, 1000)}

    def dead(self, name: str) -> dict[str, str]:
        """The dead letters of a subscription: why, by name."""
        return {one.name: one.reason for one in self.at_work.subscribing.log.dead_letters(name)}


def worded_peer(path: Path, schema: Path, **settings: Any) -> WordedPeer:
    """A new peer with the schema in a file, which becomes acquainted with whoever wants it."""
    made = PeerFolder.create(path, schema)
    changed = replace(made.settings, **{"policy": "open", "log": "error", **settings})
    (path / "peer.toml").write_text(peer_settings_text(changed))
    return WordedPeer(path, schema.stem)


def hospital(folder: Path, name: str, schema: str, **settings: Any) -> WordedPeer:
    """A hospital of the examples."""
    return worded_peer(folder / name, HOSPITALS / f"{schema}.dtd", **settings)


def one_section(folder: Path, section: str) -> Path:
    """The mapping between Montreal and Boston as a file of rules with one section, ``along`` or ``against``."""
    mapping = load_mapping(HOSPITALS / "montreal-boston.arrows")
    kept = replace(mapping, along=None) if section == "against" else replace(mapping, against=None)
    file = folder / f"{section}.rules"
    file.write_text(print_rules(kept, folder))
    return file


def mapping_file(folder: Path, name: str, text: str) -> Path:
    """A mapping between schemas of the examples, in a file beside them."""
    for dtd in HOSPITALS.glob("*.dtd"):
        (folder / dtd.name).write_bytes(dtd.read_bytes())
    file = folder / name
    file.write_text(text)
    return file


@asynccontextmanager
async def hospitals(folder: Path) -> AsyncIterator[tuple[WordedPeer, WordedPeer, WordedPeer, trio.Nursery]]:
    """Montreal, Boston and St Luke's, each acquainted with the next one; St Luke's understands Boston."""
    montreal = hospital(folder, "montreal", "mongenhosp")
    boston = hospital(folder, "boston", "massgeneral")
    stluke = hospital(folder, "stluke", "stluke")
    async with peers_at_work(montreal, boston, stluke) as nursery:
        await montreal.acquaint_by(boston, HOSPITALS / "montreal-boston.arrows")
        await stluke.acquaint_by(boston, mapping_file(folder, "boston-stluke.arrows", BOSTON_STLUKE))
        yield montreal, boston, stluke, nursery
