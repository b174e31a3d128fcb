"""Agreeing on an acquaintance: two peers in one process, over the real network."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from heptox.demo import HOSPITAL
from heptox.errors import PeerError
from heptox.peer import PeerFolder, QuestionRequest, Standing
from heptox.peer.acquaintance.acquainting import address_now, propose
from heptox.peer.acquaintance.links import PRECEDENCE
from heptox.peer.acquaintance.offer_answers import OFFER_LIMIT
from heptox.peer.acquaintance.register import Known
from heptox.peer.control.service import PeerService
from heptox.peer.daemon import running
from heptox.peer.folder.audit import read_audit
from heptox.peer.query.events import Conclude
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.offers import PROTOCOL, Offer, decode_reply, encode_call
from heptox.peer.wire.standing import CurrentMapping, OfferedMapping, Side, Step, step
from heptox.settings import Hide, Policy, peer_settings_text
from tests.peer.daemons import DEADLINE, hospital_peer
from tests.peer.networks import run, until

ARROWS = HOSPITAL / "montreal-boston.arrows"
QUERIES = {"MonGenHosp": "//Patient/Name", "MassGeneral": "//Patient"}


def folder(path: Path, hospital: str, **settings: Any) -> PeerFolder:
    """A new peer of a hospital, called as its folder, with some settings."""
    made = PeerFolder.open(hospital_peer(path, hospital, 3))
    return set_up(made, **settings)


def set_up(made: PeerFolder, **settings: Any) -> PeerFolder:
    changed = replace(made.settings, **settings)
    (made.path / "peer.toml").write_text(peer_settings_text(changed))
    return PeerFolder.open(made.path)


@asynccontextmanager
async def serving(peer: PeerFolder) -> AsyncIterator[PeerService]:
    with peer.locked():
        async with running(peer) as service:
            yield service


@asynccontextmanager
async def both(one: PeerFolder, other: PeerFolder) -> AsyncIterator[tuple[PeerService, PeerService]]:
    async with serving(one) as first, serving(other) as second:
        yield first, second


async def offer(service: PeerService, to: PeerService, arrows: Path = ARROWS) -> Known:
    return await service.acquaintances.acquaint(propose(to.transport.addresses[0], arrows))


def standings(*services: PeerService) -> list[list[tuple[str, Standing]]]:
    return [
        [(known.acquaintance.name, known.acquaintance.standing) for known in service.acquaintances.known]
        for service in services
    ]


def waiting(service: PeerService) -> list[str]:
    return [offered.name for offered in service.acquaintances.requests().values()]


async def heard(service: PeerService) -> list[tuple[str, str]]:
    """Ask about patients; who answers, and how."""
    receipt = None
    async for part in service.ask(QuestionRequest(query=QUERIES[service.folder.settings.root], timeout=DEADLINE)):
        receipt = part.receipt if isinstance(part, Conclude) else receipt
    assert receipt
    return [(line.name, line.status.value) for line in receipt.lines]


@pytest.fixture
def montreal(tmp_path: Path) -> PeerFolder:
    return folder(tmp_path / "montreal", "montreal")


@pytest.fixture
def boston(tmp_path: Path) -> PeerFolder:
    return folder(tmp_path / "boston", "boston")


@pytest.fixture
def other_arrows(tmp_path: Path) -> Path:
    """The same mapping in other words."""
    text = ARROWS.read_text().replace('"mon', f'"{HOSPITAL}/mon').replace('"mass', f'"{HOSPITAL}/mass')
    file = tmp_path / "other.arrows"
    file.write_text(f"# newer\n{text}")
    return file


def test_an_offer_waits_for_the_administrator_and_then_both_ask(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with serving(montreal) as asker:
            async with serving(boston) as asked:
                made = await offer(asker, asked)
                assert made.acquaintance.standing is Standing.PROPOSED
                assert made.acquaintance.reason == "its administrator has not decided"
                assert waiting(asked) == ["montreal"]
                assert await heard(asker) == [("montreal", "answered"), ("MassGeneral", "denied")]
                assert await heard(asked) == [("boston", "answered")]
            async with serving(boston) as asked:  # which has stopped and started meanwhile
                assert waiting(asked) == ["montreal"]
                await asked.acquaintances.accept("montreal")
                await until(lambda: standings(asker, asked)[0] == [("MassGeneral", Standing.AGREED)])
                assert standings(asked) == [[("montreal", Standing.AGREED)]]
                assert waiting(asked) == []
                assert await heard(asker) == [("montreal", "answered"), ("MassGeneral", "answered")]
                assert await heard(asked) == [("boston", "answered"), ("montreal", "answered")]

    run(test)


def test_an_offer_is_told_once_to_the_administrator_with_what_decides_and_denies_nobody(
    montreal: PeerFolder, boston: PeerFolder, caplog: pytest.LogCaptureFixture
) -> None:
    def told() -> list[str]:
        return [text for text in caplog.messages if "offers an acquaintance" in text]

    async def test() -> None:
        async with serving(montreal) as asker:
            async with serving(boston) as asked:
                await offer(asker, asked)
                await offer(asker, asked)
                (line,) = told()
                assert line.startswith(f"montreal ({asker.transport.peer}) offers an acquaintance: ")
                assert f"`heptox peer acquaintances {boston.path} --accept montreal`" in line
            caplog.clear()
            async with serving(boston):
                await until(lambda: len(told()) == 1)
        events = [json.loads(line)["event"] for line in read_audit(boston.path, 100)]
        assert events.count("offered") == 1
        assert "denied" not in events

    with caplog.at_level("INFO", "heptox"):
        run(test)


def test_what_is_agreed_is_so_after_both_have_started_again(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.accept(asker.transport.peer, name="Montreal General")
        (known,) = montreal.acquaintances()
        assert (known.standing, known.version) == (Standing.AGREED, 1)
        (known,) = boston.acquaintances()
        assert (known.name, known.standing, known.side) == ("Montreal General", Standing.AGREED, Side.TARGET)
        async with both(montreal, boston) as (asker, asked):
            await until(lambda: asker.transport.connected(asked.transport.peer))
            assert await heard(asker) == [("montreal", "answered"), ("MassGeneral", "answered")]
            assert await heard(asked) == [("boston", "answered"), ("Montreal General", "answered")]

    run(test)


def test_what_is_refused_is_told_and_not_asked_again_until_something_new_is_offered(
    montreal: PeerFolder, boston: PeerFolder, other_arrows: Path
) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.refuse("montreal", "not this\nyear")
            await until(lambda: standings(asker) == [[("MassGeneral", Standing.REFUSED)]])
            assert asker.acquaintances.known[0].acquaintance.reason == "not this year"
            assert await heard(asker) == [("montreal", "answered")]
            again = await offer(asker, asked)
            assert (again.acquaintance.standing, again.acquaintance.reason) == (Standing.REFUSED, "not this year")
            assert waiting(asked) == []
            newer = await offer(asker, asked, other_arrows)
            assert (newer.acquaintance.standing, newer.acquaintance.version) == (Standing.PROPOSED, 2)
            assert waiting(asked) == ["montreal"]

    run(test)


@pytest.mark.parametrize("who", ["offerer", "accepter"])
def test_either_side_ends_it_and_the_other_learns_of_it(montreal: PeerFolder, boston: PeerFolder, who: str) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.accept("montreal")
            await until(lambda: asker.acquaintances.known[0].acquaintance.standing is Standing.AGREED)
            ending, left = (asker, asked) if who == "offerer" else (asked, asker)
            await ending.acquaintances.withdraw(ending.acquaintances.known[0].acquaintance.name, "moved")
            assert standings(ending) == [[]]
            (known,) = left.acquaintances.known
            assert (known.acquaintance.standing, known.acquaintance.reason) == (Standing.WITHDRAWN, "moved")
            assert len(await heard(asker)) == len(await heard(asked)) == 1
            back = await offer(asker, asked)  # the other has never ended it
            assert back.acquaintance.standing is (Standing.AGREED if who == "offerer" else Standing.PROPOSED)

    run(test)


def test_one_that_was_away_when_it_was_ended_learns_of_it_when_it_is_back(
    montreal: PeerFolder, boston: PeerFolder
) -> None:
    async def test() -> None:
        async with serving(montreal) as asker:
            async with serving(boston) as asked:
                await offer(asker, asked)
                await asked.acquaintances.accept("montreal")
                await until(lambda: asker.acquaintances.known[0].acquaintance.standing is Standing.AGREED)
            await asker.acquaintances.withdraw("MassGeneral")
            assert [known.standing for known in boston.acquaintances()] == [Standing.AGREED]
            async with serving(boston) as asked:
                await until(lambda: standings(asked) == [[("montreal", Standing.WITHDRAWN)]])
                assert waiting(asker) == []

    run(test)


def test_a_changed_mapping_is_agreed_on_anew_and_the_old_one_holds_meanwhile(
    montreal: PeerFolder, boston: PeerFolder, other_arrows: Path
) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.accept("montreal")
            changed = await offer(asker, asked, other_arrows)
            assert (changed.acquaintance.standing, changed.acquaintance.version) == (Standing.PROPOSED, 2)
            assert waiting(asked) == ["montreal"]
            assert await heard(asker) == [("montreal", "answered"), ("MassGeneral", "answered")]
            assert await heard(asked) == [("boston", "answered"), ("montreal", "answered")]
            accepted, _ = await asked.acquaintances.accept("montreal")
            assert (accepted.acquaintance.version, accepted.acquaintance.name) == (2, "montreal")
            await until(lambda: standings(asker) == [[("MassGeneral", Standing.AGREED)]])
            assert [known.files.digest for known in (*asker.acquaintances.known, *asked.acquaintances.known)] == [
                changed.files.digest
            ] * 2
            assert waiting(asker) == waiting(asked) == []

    run(test)


def test_two_that_offer_each_other_the_same_need_nobody_to_decide(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            made = await offer(asked, asker)
            assert made.acquaintance.standing is Standing.AGREED
            assert standings(asker) == [[("MassGeneral", Standing.AGREED)]]
            assert waiting(asker) == waiting(asked) == []

    run(test)


@pytest.mark.parametrize(
    ("policy", "listed", "standing"),
    [
        ("open", False, Standing.AGREED),
        ("listed", False, Standing.REFUSED),
        ("listed", True, Standing.AGREED),
        ("ask", True, Standing.AGREED),
        ("ask", False, Standing.PROPOSED),
    ],
)
def test_a_policy_decides(tmp_path: Path, policy: Policy, listed: bool, standing: Standing) -> None:
    montreal = folder(tmp_path / "montreal", "montreal")
    names = (montreal.identity.peer_id,) if listed else ()
    boston = folder(tmp_path / "boston", "boston", policy=policy, listed=names)

    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            made = await offer(asker, asked)
            assert made.acquaintance.standing is standing
            assert waiting(asked) == (["montreal"] if standing is Standing.PROPOSED else [])

    run(test)


def test_an_offer_that_cannot_be_is_refused_with_all_its_faults(tmp_path: Path, montreal: PeerFolder) -> None:
    luke = folder(tmp_path / "luke", "stluke", policy="open")

    async def test() -> None:
        async with both(montreal, luke) as (asker, asked):
            made = await offer(asker, asked)  # a mapping to Boston
            assert made.acquaintance.standing is Standing.REFUSED
            assert "HX7058" in made.acquaintance.reason
            files = MappingFiles.pack(ARROWS)
            broken = MappingFiles({**files.files, "mapping.arrows": b"no arrows"}, files.mapping)
            for sent, code in (
                (Offer("x", (), files, Side.TARGET, "other schema"), "HX7058"),
                (Offer("x", (), broken, Side.SOURCE, ""), "HX"),
            ):
                reply = decode_reply(await asker.transport.call(asked.transport.peer, PROTOCOL, encode_call(sent)))
                assert (reply.standing, code in reply.reason) == (Standing.REFUSED, True)
            assert standings(asked) == [[]]

    run(test)


def test_rubbish_offers_are_not_answered_and_change_nothing(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            peer = asked.transport.peer
            await asker.transport.dial(peer, asked.transport.addresses)
            for rubbish in (b"", b"\xff" * 100, b"x" * (OFFER_LIMIT + 1)):
                with pytest.raises(PeerError):
                    await asker.transport.call(peer, PROTOCOL, rubbish)
            assert waiting(asked) == []
            assert (await offer(asker, asked)).acquaintance.standing is Standing.PROPOSED

    run(test)


def test_a_schema_that_has_changed_is_noticed_on_both_sides(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with serving(montreal) as asker:
            async with serving(boston) as asked:
                await offer(asker, asked)
                await asked.acquaintances.accept("montreal")
            schema = boston.path / "schema.dtd"
            schema.write_text(
                schema.read_text().replace("<!ELEMENT MassGeneral (", "<!ELEMENT MassGeneral (Note*, ", 1)
            )
            schema.write_text(f"{schema.read_text()}\n<!ELEMENT Note (#PCDATA)>\n")
            async with serving(boston) as asked:
                assert "another schema" in asked.acquaintances.known[0].fault
                assert ("montreal", "failed") in await heard(asked)
                await until(lambda: asker.transport.connected(asked.transport.peer))
                assert ("MassGeneral", "failed") in await heard(asker)
                await until(lambda: "another schema" in asker.acquaintances.known[0].other)

    run(test)


def test_an_acquaintance_that_comes_later_or_again_is_connected_without_anybody_asking(
    montreal: PeerFolder, boston: PeerFolder
) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.accept("montreal")
        async with serving(montreal) as asker:
            peer = boston.identity.peer_id
            for _ in range(2):
                async with serving(boston):
                    await until(lambda: asker.transport.connected(peer))
                await until(lambda: not asker.transport.connected(peer))

    run(test)


def test_one_that_has_moved_is_known_by_its_new_address(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.accept("montreal")
            before = asker.transport.addresses[0]
        (montreal.path / "address").unlink()  # a free port, and not the one before
        with socket.create_server(("127.0.0.1", int(before.split("/")[4]))):
            async with both(montreal, boston) as (asker, asked):
                now = asker.transport.addresses[0]
                assert now != before
                await until(lambda: str(asked.acquaintances.known[0].acquaintance.address) == now)
        (known,) = boston.acquaintances()
        assert str(known.address) == now

    run(test)


@pytest.mark.parametrize(
    ("held", "said", "expected"),
    [
        ("192.0.2.1", ["192.0.2.2"], "192.0.2.2"),
        ("192.0.2.1", ["192.0.2.2", "192.0.2.1"], "192.0.2.1"),
        ("192.0.2.1", ["127.0.0.1"], "192.0.2.1"),
        ("192.0.2.1", ["0.0.0.0", "192.0.2.2"], "192.0.2.2"),
        ("127.0.0.1", ["127.0.0.2"], "127.0.0.2"),
        ("192.0.2.1", [], "192.0.2.1"),
    ],
)
def test_where_an_acquaintance_is_reached_from_now_on(held: str, said: list[str], expected: str) -> None:
    peer = Identity(bytes(32)).peer_id
    addresses = [f"/ip4/{host}/tcp/1/p2p/{peer}" for host in (held, *said)]
    made = Offer("x", tuple(addresses[1:]), MappingFiles.pack(ARROWS), Side.SOURCE, "")
    assert address_now(PeerAddress.parse(addresses[0]), made).endpoint.host == expected


def test_two_that_know_each_other_have_one_connection(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
            await asked.acquaintances.accept("montreal")
        async with both(montreal, boston) as (asker, asked):
            await until(lambda: asker.transport.connected(asked.transport.peer))
            await trio.sleep(PRECEDENCE)  # what would dial a second time does so after that
            swarm = asker.transport._swarm  # type: ignore[attr-defined]
            assert len(swarm.get_connections()) == 1

    run(test)


def test_a_name_that_the_export_policy_needs_is_not_taken_away(montreal: PeerFolder, boston: PeerFolder) -> None:
    async def test() -> None:
        async with both(montreal, boston) as (asker, asked):
            await offer(asker, asked)
        hiding = set_up(montreal, hide=(Hide(("Patient/MedCrNo",), ("MassGeneral",)),))
        async with both(hiding, boston) as (asker, asked):
            again = propose(asked.transport.addresses[0], ARROWS, name="Boston")
            for act in (
                partial(asker.acquaintances.withdraw, "MassGeneral"),
                partial(asker.acquaintances.acquaint, again),
            ):
                with pytest.raises(PeerError, match="HX7080"):
                    await act()
            assert [known.acquaintance.name for known in asker.acquaintances.known] == ["MassGeneral"]

    run(test)


def test_nobody_is_meant_by_a_name_that_is_not_known(montreal: PeerFolder) -> None:
    async def test() -> None:
        async with serving(montreal) as service:
            acquaintances = service.acquaintances
            for act in (acquaintances.accept, acquaintances.refuse, acquaintances.withdraw):
                with pytest.raises(PeerError) as raised:
                    await act("nobody")
                assert raised.value.faults[0].code == "HX7067"

    run(test)


NEW, OLD = OfferedMapping("new", Side.SOURCE, agreed=False), OfferedMapping("old", Side.SOURCE, agreed=True)


@pytest.mark.parametrize(
    ("offered", "held", "policy", "listed", "refused", "expected"),
    [
        (NEW, None, "ask", False, None, Step.ASK),
        (NEW, None, "ask", True, None, Step.ACCEPT),
        (NEW, None, "open", False, None, Step.ACCEPT),
        (NEW, None, "listed", False, None, Step.REFUSE),
        (NEW, None, "open", False, "new", Step.REFUSE),
        (NEW, None, "ask", False, "old", Step.ASK),
        (NEW, CurrentMapping("new", Side.TARGET), "listed", False, "new", Step.CONFIRM),
        (NEW, CurrentMapping("new", Side.SOURCE), "ask", False, None, Step.ASK),
        (NEW, CurrentMapping("old", Side.TARGET), "open", False, None, Step.ASK),
        (NEW, CurrentMapping("old", Side.TARGET), "listed", False, None, Step.ASK),
        (OLD, None, "open", True, None, Step.END),
        (OLD, CurrentMapping("new", Side.TARGET), "ask", False, None, Step.WAIT),
        (OLD, CurrentMapping("old", Side.TARGET), "ask", False, None, Step.CONFIRM),
    ],
)
def test_what_is_done_about_an_offer(
    offered: OfferedMapping,
    held: CurrentMapping | None,
    policy: Policy,
    listed: bool,
    refused: str | None,
    expected: Step,
) -> None:
    assert step(offered, held, policy, listed=listed, refused=refused) is expected
