"""``heptox peer acquaintances`` and ``heptox peer doctor``: two running peers, their administrators at the keyboard."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heptox.demo import HOSPITAL
from heptox.peer import PeerFolder, Side
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.offers import Offer
from heptox.schema import read_dtd
from heptox.settings import peer_settings_text
from tests.cli.running import Ended, heptox_ended
from tests.peer.daemons import Daemon, daemon, daemons, frozen, hospital_peer, wait_until

ARROWS = HOSPITAL / "montreal-boston.arrows"


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Daemon, Daemon]]:
    """Montreal and Boston, who know nobody before and after each test."""
    folder = tmp_path_factory.mktemp("peers")
    folders = hospital_peer(folder / "montreal", "montreal", 3), hospital_peer(folder / "boston", "boston", 3)
    for made in map(PeerFolder.open, folders):  # each test makes them strangers again
        (made.path / "peer.toml").write_text(peer_settings_text(replace(made.settings, offers=1000)))
    with daemons(*folders) as (montreal, boston):
        yield montreal, boston


@pytest.fixture
def strangers(peers: tuple[Daemon, Daemon]) -> Iterator[tuple[Daemon, Daemon]]:
    yield peers
    for peer in peers:
        with peer.client() as client:
            for known in client.status().acquaintances:
                client.withdraw(known.peer_id)
    for peer in peers:
        with peer.client() as client:  # what the other has ended may have come back as an offer
            for waits in client.status().requests:
                client.refuse(waits.peer_id)
        for file in (peer.folder / "requests").glob("*.refused"):
            file.unlink()


def acquaintances(peer: Daemon, *arguments: str) -> Ended:
    return heptox_ended("peer", "acquaintances", peer.folder, *arguments)


def listed(peer: Daemon) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(acquaintances(peer, "--json").out)
    return found


def standings(peer: Daemon) -> list[tuple[str, str]]:
    return [(one["name"], one["standing"]) for one in listed(peer)]


def offer(asker: Daemon, asked: Daemon) -> Ended:
    return heptox_ended("peer", "acquaint", asker.folder, asked.address, "--arrows", ARROWS, "--name", "boston")


def test_an_offer_is_made_looked_at_and_accepted(strangers: tuple[Daemon, Daemon]) -> None:
    montreal, boston = strangers
    made = offer(montreal, boston)
    assert (made.code, made.out) == (0, "boston: proposed, we are the source of the mapping\n")
    assert made.err == (
        "boston: its administrator has not decided\n"
        "it accepts by `heptox peer acquaintances FOLDER --accept montreal`, with FOLDER its own\n"
    )
    waits = acquaintances(boston)
    header, row = waits.out.splitlines()
    assert header.split() == ["acquaintance", "standing", "our", "side", "connected", "address"]
    assert row.split() == ["montreal", "offered", "target", "yes", montreal.address]
    digest = listed(boston)[0]["digest"]
    assert waits.err == (
        f"montreal waits: look with --show montreal, decide with --accept montreal --digest {digest}"
        " or --refuse montreal\n"
    )
    shown = acquaintances(boston, "--show", "montreal")
    assert (shown.code, shown.err) == (0, "")
    assert ARROWS.read_text().splitlines()[-1] in shown.out
    for schema in ("mongenhosp.dtd", "massgeneral.dtd"):
        assert (HOSPITAL / schema).read_text() in shown.out
    accepted = acquaintances(boston, "--accept", "montreal", "--name", "Montreal General")
    assert accepted.err == f"the offer accepted has the digest {digest}\n"
    assert (accepted.code, accepted.out) == (0, "Montreal General: agreed, we are the target of the mapping\n")
    assert standings(boston) == [("Montreal General", "agreed")]
    wait_until(lambda: standings(montreal) == [("boston", "agreed")])


def test_an_offer_is_accepted_by_its_peer_id(strangers: tuple[Daemon, Daemon]) -> None:
    montreal, boston = strangers
    offer(montreal, boston)
    accepted = acquaintances(boston, "--accept", montreal.address.rpartition("/")[2])
    assert (accepted.code, accepted.out) == (0, "montreal: agreed, we are the target of the mapping\n")


def test_an_offer_is_refused_and_the_other_is_told_why(strangers: tuple[Daemon, Daemon]) -> None:
    montreal, boston = strangers
    offer(montreal, boston)
    refused = acquaintances(boston, "--refuse", "montreal", "--reason", "not this year")
    assert (refused.code, refused.out) == (0, f"{montreal.address.rpartition('/')[2]}: refused\n")
    assert listed(boston) == []
    wait_until(lambda: standings(montreal) == [("boston", "refused")])
    assert acquaintances(montreal).out.splitlines()[-1] == "boston: not this year"
    again = offer(montreal, boston)
    assert (again.code, again.out) == (1, "boston: refused, we are the source of the mapping\n")
    assert again.err == "boston: not this year\n"
    assert listed(boston) == []


def test_an_acquaintance_is_ended_and_the_other_is_told_why(strangers: tuple[Daemon, Daemon]) -> None:
    montreal, boston = strangers
    offer(montreal, boston)
    acquaintances(boston, "--accept", "montreal")
    ended = acquaintances(boston, "--withdraw", "montreal", "--reason", "moved")
    assert (ended.code, ended.out) == (0, "montreal: ended\n")
    assert listed(boston) == []
    wait_until(lambda: standings(montreal) == [("boston", "withdrawn")])
    # That nobody is acquainted shows on the link before the reason comes.
    wait_until(lambda: acquaintances(montreal).out.splitlines()[-1] == "boston: moved")
    found = heptox_ended("peer", "doctor", montreal.folder)
    assert found.code == 0
    assert "withdrawn: moved" in found.out
    assert listed(boston) == [], "the doctor offers nothing"


def test_an_offer_cannot_write_to_the_terminal_of_who_looks_at_it(
    strangers: tuple[Daemon, Daemon], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    montreal, boston = strangers
    arrows = tmp_path / "mapping.arrows"
    text = ARROWS.read_text().replace('"mon', f'"{HOSPITAL}/mon').replace('"mass', f'"{HOSPITAL}/mass')
    arrows.write_text(f"# \x1b[2J\n{text}")
    heptox_ended("peer", "acquaint", montreal.folder, boston.address, "--arrows", arrows)
    monkeypatch.setattr("heptox.cli.output.on_terminal", lambda: True)
    shown = acquaintances(boston, "--show", "montreal").out
    assert "\\u001b[2J" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("decision", ["--accept", "--refuse", "--withdraw", "--show"])
def test_who_is_not_there_is_told_with_who_is(strangers: tuple[Daemon, Daemon], decision: str) -> None:
    montreal, boston = strangers
    for who in ("nobody", "", "a/b", ".", "..", "a/accept", "x" * 3000, "\u202e%2e%2e"):
        refused = acquaintances(boston, decision, who)
        assert (refused.code, refused.out) == (1, ""), who
        assert refused.err.startswith("HX7067 " if who or decision == "--show" else "HX7060 "), who
    offer(montreal, boston)
    if decision != "--withdraw":
        assert f"montreal ({montreal.address.rpartition('/')[2]})" in acquaintances(boston, decision, "nobody").err
    assert standings(boston) == [("montreal", "offered")]


def test_a_stranger_may_call_itself_anything(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "boston", "boston", 0)
    strangers = {name: Identity.generate().peer_id for name in ("..", "a/b", "a/accept", "?x=%41", "$(id) 'a'")}
    schema = schema_key(read_dtd(HOSPITAL / "mongenhosp.dtd"))
    with PeerFolder.open(folder).locked():
        requests = PeerFolder.open(folder).requests()
        for name, stranger in strangers.items():
            address = f"/ip4/127.0.0.1/tcp/1/p2p/{stranger}"
            requests.keep(stranger, Offer(name, (address,), MappingFiles.pack(ARROWS), Side.SOURCE, schema))
    with daemon(folder) as boston:
        assert sorted(standings(boston)) == sorted((name, "offered") for name in strangers)
        waiting = acquaintances(boston).err
        for name, stranger in strangers.items():
            assert f"--accept {shlex.quote(name)}" in waiting
            accepted = acquaintances(boston, "--accept", name)
            assert (accepted.code, "agreed" in accepted.out) == (0, True), name
            (known,) = (one for one in listed(boston) if one["standing"] != "offered")
            assert known["peer_id"] == stranger
            assert acquaintances(boston, "--withdraw", known["name"]).code == 0
        assert listed(boston) == []


def test_a_name_that_cannot_be_is_refused_and_the_offer_waits_on(strangers: tuple[Daemon, Daemon]) -> None:
    montreal, boston = strangers
    offer(montreal, boston)
    for name, code in (("a/b", "HX7052"), ("", "HX7052"), ("\n", "HX7052")):
        refused = acquaintances(boston, "--accept", "montreal", "--name", name)
        assert (refused.code, refused.out, code in refused.err) == (1, "", True), name
    assert standings(boston) == [("montreal", "offered")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--accept", "a", "--refuse", "b"), "give one of"),
        (("--show", "a", "--withdraw", "a"), "give one of"),
        (("--name", "a"), "--name goes with --accept"),
        (("--refuse", "a", "--name", "a"), "--name goes with --accept"),
        (("--refuse", "a", "--digest", "a"), "--digest goes with --accept"),
        (("--accept", "a", "--reason", "b"), "--reason goes with"),
        (("--accept",), "--accept"),
    ],
)
def test_wrong_usage_is_told(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 0)
    refused = heptox_ended("peer", "acquaintances", folder, *arguments)
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err


@pytest.mark.parametrize("decision", ["--accept", "--refuse", "--withdraw"])
def test_nothing_is_decided_while_the_daemon_does_not_run(tmp_path: Path, decision: str) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 0)
    refused = heptox_ended("peer", "acquaintances", folder, decision, "boston")
    assert (refused.code, refused.out) == (4, "")
    assert refused.err == f"{folder}: HX7055 its daemon does not run (start it with `heptox peer start {folder}`)\n"


def test_an_offer_can_be_looked_at_while_the_daemon_does_not_run(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 0)
    boston = hospital_peer(tmp_path / "boston", "boston", 0)
    with daemons(montreal, boston) as (asker, asked):
        offer(asker, asked)
        wait_until(lambda: "montreal" in acquaintances(asked).out)
    assert "source" in heptox_ended("peer", "acquaintances", boston, "--show", "montreal").out
    listing = heptox_ended("peer", "acquaintances", boston)
    assert listing.out.splitlines()[1].split()[:2] == ["montreal", "offered"]


# -- doctor ----------------------------------------------------------------------------------------------------------


def test_the_doctor_of_a_running_peer_without_faults(strangers: tuple[Daemon, Daemon]) -> None:
    montreal, boston = strangers
    offer(montreal, boston)
    acquaintances(boston, "--accept", "montreal")
    wait_until(lambda: standings(montreal) == [("boston", "agreed")])
    found = heptox_ended("peer", "doctor", montreal.folder)
    assert (found.code, found.err) == (0, "")
    lines = found.out.splitlines()
    assert lines[0].split() == ["subject", "finding"]
    assert f"ok       boston             agreed, connected at {boston.address}" in lines
    assert lines[-1].startswith("address: set `listen`")
    levels = {one["subject"]: one["level"] for one in json.loads(_doctor(montreal.folder, "--json").out)}
    assert (levels["boston"], levels["mapping to boston"], levels["address"]) == ("ok", "ok", "warning")


def _doctor(folder: Path, *arguments: str) -> Ended:
    return heptox_ended("peer", "doctor", folder, *arguments)


def test_a_fault_is_exit_code_1_and_comes_with_its_advice(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 0)
    assert _doctor(folder).code == 0
    (folder / "identity.key").chmod(0o640)
    found = _doctor(folder)
    assert (found.code, found.err) == (1, "")
    faults = [line.split(maxsplit=2) for line in found.out.splitlines() if line.startswith("fault")]
    assert faults == [["fault", "key", "others than its owner may read the private key (0640)"]]
    assert f"key: chmod 600 {folder / 'identity.key'}, and think of who has read it" in found.out.splitlines()
    assert "fault" in {one["level"] for one in json.loads(_doctor(folder, "--json").out)}


def test_a_doctor_whose_daemon_is_frozen_says_so(
    strangers: tuple[Daemon, Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, _ = strangers
    with monkeypatch.context() as patience, frozen(running.folder):
        patience.setattr("heptox.peer.control.client.HEALTH_SECONDS", 0.5)
        found = _doctor(running.folder)
        assert found.code == 1
        assert "the folder is in use, but no daemon answers" in found.out


def test_what_is_no_peer_has_no_doctor(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing", Path("/dev/null")):
        refused = _doctor(folder)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == f"{folder}: HX7050 is no peer's folder (make one with `heptox peer init`)\n"


def test_rubbish_in_any_file_is_a_finding_and_never_a_traceback(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 1)
    heptox_ended("peer", "acquaint", folder, f"/ip4/127.0.0.1/tcp/1/p2p/{_other()}", "--arrows", ARROWS)
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.name not in ("lock", "records.xml"))
    assert {"peer.toml", "identity.key", "schema.dtd", "mapping.arrows"} <= {file.name for file in files}
    for file in files:
        before = file.read_bytes()
        for rubbish in (b"", b"\x00\xff\xfe" * 100, b"[[[[" * 100):
            file.write_bytes(rubbish)
            found = _doctor(folder)  # a defect of heptox raises
            assert (found.code in (0, 1), found.err) == (True, ""), file
        file.write_bytes(before)
    for file in files:
        before = file.read_bytes()
        file.unlink()
        file.mkdir()
        found = _doctor(folder)
        assert found.code in (0, 1), file
        file.rmdir()
        file.write_bytes(before)


def _other() -> str:
    return "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"


def test_the_folder_of_a_peer_opens_after_all_that(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 1)
    _doctor(folder)
    assert PeerFolder.open(folder).settings.name == "montreal"
