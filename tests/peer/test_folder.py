"""A peer's folder: what it keeps, what it refuses, and what a crash leaves of it."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
import tomllib
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, strategies as st
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.peer.id import ID

from heptox.demo import HOSPITAL
from heptox.errors import HeptoxError, PeerError
from heptox.peer import Loaded, PeerFolder, Side, add_acquaintance, document_loading, peer_status, propose
from heptox.peer.acquaintance.acquainting import acquaint, schema_key
from heptox.peer.folder.files import is_locked, write_atomically
from heptox.peer.folder.folder import Acquaintance
from heptox.peer.folder.requests import Refusal
from heptox.peer.wire.address import Listening, PeerAddress
from heptox.peer.wire.identity import Identity, is_peer_id
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.offers import Offer
from heptox.schema import parse_dtd
from heptox.settings import PeerSettings, peer_settings_text, read_peer_settings, toml_text

BOSTON = "/ip4/127.0.0.1/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
ARROWS = HOSPITAL / "montreal-boston.arrows"


def test_a_schema_is_known_by_what_it_says() -> None:
    graph = parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)><!ATTLIST a k CDATA 'x' i ID #IMPLIED>", "r")
    same = parse_dtd("<!ELEMENT a (#PCDATA)>\n<!ATTLIST a i ID #IMPLIED k CDATA 'x'>\n<!ELEMENT r ((a)*)>", "r")
    assert schema_key(graph) == schema_key(same)
    for other in (
        "<!ELEMENT r (a+)><!ELEMENT a (#PCDATA)><!ATTLIST a k CDATA 'x' i ID #IMPLIED>",
        "<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)><!ATTLIST a k CDATA 'y' i ID #IMPLIED>",
        "<!ELEMENT r (a*)><!ELEMENT a EMPTY><!ATTLIST a k CDATA 'x' i ID #IMPLIED>",
        "<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)><!ATTLIST a k CDATA 'x'>",
    ):
        assert schema_key(graph) != schema_key(parse_dtd(other, "r"))


@pytest.fixture
def montreal(tmp_path: Path) -> PeerFolder:
    return PeerFolder.create(tmp_path / "montreal", HOSPITAL / "mongenhosp.dtd")


def codes(error: pytest.ExceptionInfo[HeptoxError]) -> list[str]:
    return [fault.code for fault in error.value.faults]


# -- folder, key, settings -------------------------------------------------------------------------------------------


def test_a_new_folder_opens_as_what_was_made(montreal: PeerFolder) -> None:
    opened = PeerFolder.open(montreal.path)
    assert opened == montreal
    assert (opened.settings.name, opened.settings.root, opened.settings.policy) == ("montreal", "MonGenHosp", "ask")
    assert opened.schema().root == "MonGenHosp"
    assert stat.S_IMODE((montreal.path / "identity.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(montreal.path.stat().st_mode) == 0o700


def test_a_folder_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    full = mock.patch("heptox.peer.folder.folder.sync_folder", side_effect=OSError(28, "No space left on device"))
    with full, pytest.raises(PeerError) as raised:
        PeerFolder.create(tmp_path / "peer", HOSPITAL / "mongenhosp.dtd")
    assert codes(raised) == ["HX7050"]
    assert list(tmp_path.iterdir()) == []


def test_what_stands_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "full", tmp_path / "file"):
        with pytest.raises(PeerError) as raised:
            PeerFolder.create(path, HOSPITAL / "mongenhosp.dtd")
        assert codes(raised) == ["HX7050"]
    assert (tmp_path / "full" / "mine").read_text() == (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a\nb", " a", "a ", "x" * 65])
def test_a_name_is_a_file_name_of_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(PeerError) as raised:
        PeerFolder.create(tmp_path / "peer", HOSPITAL / "mongenhosp.dtd", name)
    assert codes(raised) == ["HX7052"]
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_peer_is_refused_by_name(montreal: PeerFolder, tmp_path: Path) -> None:
    for path, code in ((tmp_path, "HX7050"), (tmp_path / "nowhere", "HX7050")):
        with pytest.raises(HeptoxError) as raised:
            PeerFolder.open(path)
        assert codes(raised) == [code]
    key = montreal.path / "identity.key"
    key.write_text("no key")
    with pytest.raises(HeptoxError) as raised:
        PeerFolder.open(montreal.path)
    assert codes(raised) == ["HX7053"]
    key.unlink()
    with pytest.raises(HeptoxError) as raised:
        PeerFolder.open(montreal.path)
    assert codes(raised) == ["HX7053"]


@given(st.binary(min_size=32, max_size=32))
def test_the_peer_id_is_libp2p_s_and_the_key_survives_its_file(seed: bytes) -> None:
    identity = Identity(seed)
    assert identity.peer_id == ID.from_pubkey(create_new_key_pair(seed).public_key).to_base58()
    assert is_peer_id(identity.peer_id)
    assert Identity.from_pem(identity.to_pem(), Path("key")) == identity
    assert seed.hex() not in repr(identity)


@given(st.text())
def test_toml_strings_are_read_back(text: str) -> None:
    valid = text.encode("utf-8", "ignore").decode("utf-8")
    assert tomllib.loads(toml_text({"key": valid})) == {"key": valid}


def test_settings_are_read_back_and_every_fault_is_told(tmp_path: Path) -> None:
    file = tmp_path / "peer.toml"
    settings = PeerSettings("St Luke's", "StLuke", policy="open", listed=("A", "B"), timeout=2.5, hops=3)
    file.write_text(peer_settings_text(settings))
    assert read_peer_settings(file) == settings
    for text, messages in (
        ("name = 'a'\nroot = 'r'\nhops = 'x'\ntimeout = true\ncolour = 1", ["hops", "timeout", "colour"]),
        ("name = '/'\nroot = 'r'\nhops = -1\ntimeout = inf\npolicy = 'shut'", ["'/'", "policy", "timeout", "hops"]),
        ("name = 'a'\nroot = 'r'\nlisted = 'x'\nlisten = ['y']", ["listed", "array of strings", "listen"]),
        (
            "root = 'r'\nhops = 'x'\nbudget = 0\n[[hide]]\nfrom = 'all'",
            ["name", "such as 8", "from 1 to", "hide no. 1"],
        ),
        ("name = ", ["no TOML"]),
    ):
        file.write_text(text)
        with pytest.raises(PeerError) as raised:
            read_peer_settings(file)
        assert set(codes(raised)) == {"HX7052"}
        assert [word for word in messages if word not in str(raised.value)] == []
        assert len(raised.value.faults) == len([word for word in messages if word != "array of strings"])
        assert all(str(file) in str(fault) for fault in raised.value.faults)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "here",
        "/ip4/127.0.0.1/tcp/4001",
        "/ip4/127.0.0.1/tcp/4001/p2p/",
        "/ip4/127.0.0.1/tcp/4001/p2p/QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N",
        BOSTON.replace("tcp", "udp"),
        BOSTON.replace("4001", "0"),
        BOSTON.replace("4001", "65536"),
        BOSTON.replace("127.0.0.1", "127.0.0.256"),
        BOSTON.replace("ip4", "ip6"),
        BOSTON.replace("/tcp", "/tcp/1/tcp"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(PeerError) as raised:
        PeerAddress.parse(text)
    assert codes(raised) == ["HX7054"]


@pytest.mark.parametrize("text", ["/ip4/0.0.0.0/tcp/0", "/ip6/::1/tcp/4001", "/dns4/peer.example/tcp/65535"])
def test_addresses_are_printed_as_they_are_read(text: str) -> None:
    assert str(Listening.parse(text)) == text
    assert str(PeerAddress.parse(BOSTON)) == BOSTON


# -- lock and crashes ------------------------------------------------------------------------------------------------


def test_only_one_process_writes_and_its_end_frees_the_folder(montreal: PeerFolder) -> None:
    program = (
        "import sys; from pathlib import Path; from heptox.peer import PeerFolder\n"
        "with PeerFolder.open(Path(sys.argv[1])).locked():\n    print('locked', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program, str(montreal.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        with pytest.raises(PeerError) as raised, montreal.locked():
            pass
        assert codes(raised) == ["HX7051"]
        process.kill()
        process.wait()
        with montreal.locked():
            pass


def test_a_lock_that_is_looked_at_is_had_all_the_same(montreal: PeerFolder) -> None:
    lock = montreal.path / "lock"
    assert not is_locked(lock)
    with montreal.locked():
        assert is_locked(lock)
    looking = threading.Event()
    looked = threading.Event()

    def look() -> None:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            looking.set()
            looked.wait(0.05)

    thread = threading.Thread(target=look)
    thread.start()
    looking.wait()
    with montreal.locked():
        thread.join()


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write_atomically(file, b"old")
    with mock.patch("os.fsync", side_effect=OSError(5, "Input/output error")), pytest.raises(OSError, match="output"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_what_a_crash_left_half_written_is_swept_away(montreal: PeerFolder) -> None:
    with montreal.locked():
        kept = acquaint(montreal, montreal.requests(), propose(BOSTON, ARROWS))
        with montreal.keep_document("one", b"<MonGenHosp/>"):
            pass
    halves = [montreal.path / ".1.tmp", montreal.path / "documents" / ".2.tmp"]
    for file in halves:
        file.write_text("half")
    orphan = montreal.path / "acquaintances" / "orphan 00000000"
    orphan.mkdir()
    with montreal.locked():
        pass
    assert [file for file in (*halves, orphan) if file.exists()] == []
    assert montreal.acquaintances() == (kept,)
    assert [file.name for file in montreal.document_files()] == ["one.xml"]


DYING = """
import os, shutil, sys
from itertools import count
from itertools import pairwise
from pathlib import Path
from heptox.peer import add_acquaintance, propose

montreal, address, arrows = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
proposal = propose(address, arrows, name="two")

def dying(function, left):
    def call(*arguments, **named):
        if not left:
            os._exit(9)
        left.pop()
        return function(*arguments, **named)
    return call

def dies_at(step, folder):
    process = os.fork()
    if not process:
        left = [None] * step
        for name in ("fsync", "replace", "rename", "unlink", "mkdir"):
            setattr(os, name, dying(getattr(os, name), left))
        add_acquaintance(folder, proposal)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 9

for step in count():
    folder = Path(shutil.copytree(montreal, f"{montreal}-{step}"))
    if not dies_at(step, folder):
        break
"""
"""Replaces an acquaintance in copies of a folder; in each the process dies one step later on its way to the disk."""


def test_an_acquaintance_is_kept_whole_whenever_the_process_dies(montreal: PeerFolder) -> None:
    with montreal.locked():
        before = acquaint(montreal, montreal.requests(), propose(BOSTON, ARROWS, name="one"))
    arrows = montreal.path.parent / "other.arrows"
    text = ARROWS.read_text().replace('"mon', f'"{HOSPITAL}/mon').replace('"mass', f'"{HOSPITAL}/mass')
    arrows.write_text(text + "# other\n")
    command = [sys.executable, "-c", DYING, str(montreal.path), BOSTON, str(arrows)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    steps = sorted(montreal.path.parent.glob("montreal-*"), key=lambda folder: int(folder.name.split("-")[1]))
    assert len(steps) > 8
    names = []
    for folder in map(PeerFolder.open, steps):
        with folder.locked():
            known = folder.acquaintances()
        assert {one.peer_id for one in known} == {before.peer_id}
        assert all(one.mapping.is_file() for one in known)
        names.append({one.name for one in known})
    assert names[0] == {"one"}
    assert names[-1] == {"two"}
    assert all(earlier <= {"one"} or later & {"two"} for earlier, later in pairwise(names))


# -- documents -------------------------------------------------------------------------------------------------------


def test_a_document_goes_by_its_name_and_is_never_replaced_unasked(montreal: PeerFolder) -> None:
    with document_loading(montreal.path) as loader:
        assert loader.load("one.xml", b"<MonGenHosp/>").outcome == "new"
        assert loader.load("one", b"<MonGenHosp/>") == Loaded("one.xml", "held")
        with pytest.raises(PeerError) as raised:
            loader.load("one.xml", b"<MonGenHosp></MonGenHosp>")
        assert codes(raised) == ["HX6011"]
        assert loader.load("one.xml", b"<MonGenHosp></MonGenHosp>", replacing=True).outcome == "replaced"
    assert (montreal.path / "documents" / "one.xml").read_bytes() == b"<MonGenHosp></MonGenHosp>"


# -- acquaintances ---------------------------------------------------------------------------------------------------


def test_an_acquaintance_takes_its_mapping_along(montreal: PeerFolder, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    for file in ("mongenhosp.dtd", "massgeneral.dtd", "montreal-boston.arrows"):
        (away / file).write_bytes((HOSPITAL / file).read_bytes())
    told = add_acquaintance(montreal.path, propose(BOSTON, away / "montreal-boston.arrows"))
    for original in away.iterdir():
        original.unlink()
    assert told.to_json() == {
        "name": "MassGeneral",
        "peer_id": PeerAddress.parse(BOSTON).peer_id,
        "address": BOSTON,
        "side": "source",
        "standing": "proposed",
        "reason": "",
        "version": 1,
        "connected": False,
        "fault": "",
    }
    (known,) = montreal.acquaintances()
    assert (known.name, str(known.address), known.side) == ("MassGeneral", BOSTON, Side.SOURCE)
    assert "Patient/Name               -> [Illness]/Patient" in known.mapping.read_text()
    status = peer_status(montreal.path)
    assert status.acquaintances == (told,)
    assert status.schema_key == schema_key(montreal.schema())


def test_the_same_peer_again_replaces_its_acquaintance(montreal: PeerFolder) -> None:
    def made(name: str | None) -> Acquaintance:
        return acquaint(montreal, montreal.requests(), propose(BOSTON.replace("4001", "4002"), ARROWS, name=name))

    with montreal.locked():
        first = acquaint(montreal, montreal.requests(), propose(BOSTON, ARROWS))
        second = made(None)
        third = made("Boston")
    assert (first.name, second.name, third.name) == ("MassGeneral", "MassGeneral", "Boston")
    assert montreal.acquaintances() == (third,)
    assert len(list((montreal.path / "acquaintances").iterdir())) == 2


def test_two_peers_of_one_schema_have_two_names(montreal: PeerFolder) -> None:
    other = f"/ip4/127.0.0.1/tcp/1/p2p/{Identity.generate().peer_id}"
    with montreal.locked():
        names = [acquaint(montreal, montreal.requests(), propose(address, ARROWS)).name for address in (BOSTON, other)]
        with pytest.raises(PeerError) as raised:
            acquaint(montreal, montreal.requests(), propose(other, ARROWS, name="MassGeneral"))
    assert names == ["MassGeneral", "MassGeneral 2"]
    assert codes(raised) == ["HX7061"]


def test_which_side_of_a_mapping_is_ours_is_found_or_asked_for(montreal: PeerFolder, tmp_path: Path) -> None:
    twin = tmp_path / "twin.arrows"
    schema = HOSPITAL / "mongenhosp.dtd"
    twin.write_text(f'source "{schema}" root MonGenHosp\ntarget "{schema}" root MonGenHosp\n'
                    "Patient/@ID -> Patient/@ID\nPatient/Name -> Patient/Name\n")  # fmt: skip
    cases: list[tuple[Path, Side | None, str]] = [
        (twin, None, "HX7059"),
        (HOSPITAL / "stluke-boston.arrows", None, "HX7058"),
        (ARROWS, Side.TARGET, "HX7058"),
    ]
    with montreal.locked():
        for arrows, side, code in cases:
            with pytest.raises(PeerError) as raised:
                acquaint(montreal, montreal.requests(), propose(BOSTON, arrows, side))
            assert codes(raised) == [code]
        assert acquaint(montreal, montreal.requests(), propose(BOSTON, twin, Side.TARGET)).side is Side.TARGET
        itself = f"/ip4/127.0.0.1/tcp/1/p2p/{montreal.identity.peer_id}"
        with pytest.raises(PeerError) as raised:
            acquaint(montreal, montreal.requests(), propose(itself, ARROWS))
        assert codes(raised) == ["HX7061"]


def test_the_faults_of_a_mapping_are_told_with_its_own_positions(tmp_path: Path) -> None:
    arrows = tmp_path / "wrong.arrows"
    text = ARROWS.read_text().replace('"mon', f'"{HOSPITAL}/mon').replace('"mass', f'"{HOSPITAL}/mass')
    arrows.write_text(text + "Patient/Nome -> Progress/@PatRef\nPatient/Name -> Nowhere\n")
    with pytest.raises(HeptoxError) as raised:
        propose(BOSTON, arrows)
    assert codes(raised) == ["HX4001", "HX4001"]
    assert {fault.position.file for fault in raised.value.faults if fault.position} == {str(arrows)}


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".", ".."])
def test_a_proposal_names_no_file_outside(name: str) -> None:
    with pytest.raises(PeerError) as raised:
        MappingFiles({name: b"", "mapping.arrows": b""}, "mapping.arrows")
    assert codes(raised) == ["HX7061"]


def test_offers_that_wait_are_bounded_by_their_bytes_too(montreal: PeerFolder) -> None:
    def offer(size: int) -> Offer:
        files = MappingFiles({"mapping.arrows": bytes(size)}, "mapping.arrows")
        return Offer("Boston", (BOSTON,), files, Side.TARGET, "schema")

    peers = [Identity(bytes([number]) * 32).peer_id for number in range(4)]
    with montreal.locked():
        requests = montreal.requests()
        for peer in peers[:3]:
            requests.keep(peer, offer(900_000))
        requests.keep(peers[0], offer(900_000))
        with pytest.raises(PeerError) as raised:
            requests.keep(peers[3], offer(1))
        assert codes(raised) == ["HX7061"]
        requests.drop(peers[0])
        requests.keep(peers[3], offer(1))


def test_to_make_an_acquaintance_settles_what_its_peer_has_offered_or_was_refused(montreal: PeerFolder) -> None:
    proposal = propose(BOSTON, ARROWS)
    peer = proposal.address.peer_id
    with montreal.locked():
        requests = montreal.requests()
        offer = Offer("Boston", (BOSTON,), proposal.files, Side.TARGET, "schema")
        requests.keep(peer, offer)
        requests.refuse(peer, Refusal("digest", "not this year"))
        requests.keep(peer, offer)
        acquaint(montreal, montreal.requests(), proposal)
        assert montreal.requests().waiting() == {}
        assert montreal.requests().refused(peer) is None
        requests.keep(peer, Offer("Boston", (BOSTON,), MappingFiles({"other": b""}, "other"), Side.TARGET, "schema"))
        acquaint(montreal, montreal.requests(), proposal)
        assert list(montreal.requests().waiting()) == [peer]  # another mapping is still to be decided


def test_broken_acquaintances_are_all_told(montreal: PeerFolder) -> None:
    folder = montreal.path / "acquaintances"
    (folder / "a.toml").write_text("address = 'x'\nside = 'source'\nmapping = 'm'\n")
    (folder / "b.toml").write_text(f"address = '{BOSTON}'\nside = 'left'\nmapping = 'm'\n")
    (folder / "c.toml").write_text(f"address = '{BOSTON}'\nside = 'source'\nmapping = '{os.sep}etc{os.sep}passwd'\n")
    (folder / "d.toml").write_text("side = 1\n")
    with pytest.raises(PeerError) as raised:
        montreal.acquaintances()
    assert codes(raised) == ["HX7054", "HX7052", "HX7052", "HX7052", "HX7052", "HX7052"]
