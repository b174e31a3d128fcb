"""``heptox peer doctor``: each thing that it finds is done to a peer, and its advice is followed."""

from __future__ import annotations

import resource
import shutil
import socket
import sqlite3
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from heptox.demo import HOSPITAL
from heptox.feed import FeedLog
from heptox.peer import Acquaintance, Finding, Level, PeerFolder, Standing, add_acquaintance, examine_peer, propose
from heptox.peer.acquaintance.register import Known
from heptox.peer.control.doctor import LEAST_FILES, LIBP2P, MANY_AUDITED, known_findings
from heptox.peer.control.service import PeerService
from heptox.peer.daemon import running
from heptox.peer.folder.audit import MEGABYTE
from heptox.peer.folder.folder import FEED
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.offers import decode_reply
from heptox.peer.wire.standing import Side
from heptox.store import Store
from tests.peer.daemons import ask, daemon, heptox, hospital_peer
from tests.peer.networks import run, until
from tests.peer.worded_peers import one_section
from tools.console import ROOT

ARROWS = HOSPITAL / "montreal-boston.arrows"
BOSTON = "/ip4/127.0.0.1/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """Montreal, with some records and an acquaintance."""
    folder = hospital_peer(tmp_path / "montreal", "montreal", 3)
    add_acquaintance(folder, propose(BOSTON, ARROWS, name="boston"))
    return folder


def found(folder: Path) -> list[Finding]:
    return examine_peer(folder)


def about(findings: list[Finding], subject: str) -> list[Finding]:
    return [one for one in findings if one.subject == subject]


def settings(folder: Path, **lines: str) -> None:
    """Write settings into ``peer.toml``, instead of those that are there."""
    kept = [line for line in (folder / "peer.toml").read_text().splitlines() if line.partition(" = ")[0] not in lines]
    (folder / "peer.toml").write_text("\n".join([*kept, *(f"{key} = {value}" for key, value in lines.items())]))


def test_a_peer_without_faults_is_told_so(peer: Path) -> None:
    findings = found(peer)
    assert [one for one in findings if one.level is Level.FAULT] == []
    assert [one.subject for one in findings if one.level is Level.OK] == [
        *("settings and key", "versions", "schema", "documents", "disk", "audit log", "mapping to boston", "store")
    ]
    assert {one.subject for one in findings if one.level is Level.WARNING} <= {"address", "daemon", "open files"}
    assert all(bool(one.advice) == (one.level is not Level.OK) for one in findings)


class Trouble(NamedTuple):
    """What is done to a folder, what is then found, and what the advice says to do."""

    bring: Callable[[Path], object]
    finding: tuple[str, Level, str, str]
    mend: Callable[[Path], object]


def make_odd_mapping(folder: Path) -> None:
    """Let the schema be another one than that of the mapping."""
    text = (folder / "schema.dtd").read_text()
    (folder / "schema.dtd").write_text(text.replace("Doc?", "Doc*"))


def restore_schema(folder: Path) -> object:
    return shutil.copy(HOSPITAL / "mongenhosp.dtd", folder / "schema.dtd")


def mapping_of(folder: Path) -> Path:
    (acquaintance,) = PeerFolder.open(folder).acquaintances()
    return acquaintance.mapping


def acquaint_anew(folder: Path, mapping: Path = ARROWS) -> object:
    for file in (folder / "acquaintances").glob("*.toml"):
        file.unlink()
    return add_acquaintance(folder, propose(BOSTON, mapping, name="boston"))


def token_for_all(folder: Path) -> None:
    (folder / "token").write_text("secret")
    (folder / "token").chmod(0o644)


def unwritable_audit_log(folder: Path) -> None:
    (folder / "audit.log").unlink()
    (folder / "audit.log").mkdir()


def many_audit_logs(folder: Path) -> None:
    for number in range(MANY_AUDITED):
        (folder / f"audit-{number}.log").touch()


def large_audit_log(folder: Path) -> None:
    settings(folder, audit_megabytes="1")
    with (folder / "audit-1.log").open("wb") as file:
        file.truncate(MANY_AUDITED * MEGABYTE)


def remove_audit_logs(folder: Path) -> None:
    for file in folder.glob("audit-*.log"):
        file.unlink()


def lose_a_position(folder: Path) -> None:
    with FeedLog(folder / FEED) as log:
        log.append("d.xml", "d", b"<MonGenHosp/>")
    changed = sqlite3.connect(folder / FEED)
    with changed:
        changed.execute("UPDATE feed SET position = 2")
    changed.close()


TROUBLES = {
    "feed log that is none": Trouble(
        lambda peer: (peer / FEED).write_text("rubbish" * 1000),
        ("feed log", Level.FAULT, "HX9050", "the daemon does not start without it"),
        lambda peer: (peer / FEED).unlink(),
    ),
    "feed log damaged": Trouble(
        lose_a_position,
        ("feed log", Level.FAULT, "it is damaged: positions are left out", "a copy of it must not be restored"),
        lambda peer: (peer / FEED).unlink(),
    ),
    "settings": Trouble(
        lambda peer: settings(peer, policy='"everybody"'),
        ("settings and key", Level.FAULT, "HX7052 policy 'everybody'", "mend peer.toml"),
        lambda peer: settings(peer, policy='"ask"'),
    ),
    "settings that are no text": Trouble(
        lambda peer: (peer / "peer.toml").write_bytes(b"\xff\xfe"),
        ("settings and key", Level.FAULT, "HX1001 cannot be read", "mend peer.toml"),
        lambda peer: (peer / "peer.toml").write_text('name = "montreal"\nroot = "MonGenHosp"'),
    ),
    "key for all": Trouble(
        lambda peer: (peer / "identity.key").chmod(0o644),
        ("key", Level.FAULT, "private key (0644)", "chmod 600"),
        lambda peer: (peer / "identity.key").chmod(0o600),
    ),
    "token for all": Trouble(
        token_for_all,
        ("token", Level.FAULT, "secret of the control API (0644)", "remove"),
        lambda peer: (peer / "token").unlink(),
    ),
    "schema damaged": Trouble(
        lambda peer: (peer / "schema.dtd").write_text("<!ELEMENT MonGenHosp (Patient"),
        ("schema", Level.FAULT, "HX2001", "mend schema.dtd"),
        restore_schema,
    ),
    "schema gone": Trouble(
        lambda peer: (peer / "schema.dtd").unlink(),
        ("schema", Level.FAULT, "HX1001", "mend schema.dtd"),
        restore_schema,
    ),
    "document unreadable": Trouble(
        lambda peer: (peer / "documents" / "more.xml").symlink_to("nowhere"),
        ("documents", Level.FAULT, "more.xml cannot be read", "load it anew"),
        lambda peer: (peer / "documents" / "more.xml").unlink(),
    ),
    "no documents": Trouble(
        lambda peer: (peer / "documents" / "records.xml").rename(peer / "kept"),
        ("documents", Level.WARNING, "there are none", "heptox peer load"),
        lambda peer: (peer / "kept").rename(peer / "documents" / "records.xml"),
    ),
    "audit log not writable": Trouble(
        unwritable_audit_log,
        ("audit log", Level.FAULT, "it cannot be written: Is a directory", "mend the permissions"),
        lambda peer: (peer / "audit.log").rmdir(),
    ),
    "audit log that was cut": Trouble(
        lambda peer: (peer / "audit.log").rename(peer / "kept"),
        ("lines of the audit log", Level.FAULT, "lines are missing after line 0", "backup"),
        lambda peer: (peer / "kept").rename(peer / "audit.log"),
    ),
    "many audit logs": Trouble(
        many_audit_logs,
        ("audit log", Level.WARNING, f"{MANY_AUDITED + 1} files", "move audit-*.log"),
        remove_audit_logs,
    ),
    "audit log without end": Trouble(
        large_audit_log, ("audit log", Level.WARNING, "2 files, 16,7", "move audit-*.log"), remove_audit_logs
    ),
    "nobody can be reached": Trouble(
        lambda peer: settings(peer, listen='"/ip4/0.0.0.0/tcp/4001"'),
        ("address", Level.FAULT, "nobody can be reached", "set `announce`"),
        lambda peer: settings(peer, announce='"/dns4/heptox.example.org/tcp/4001"'),
    ),
    "loopback": Trouble(
        lambda _: None,
        ("address", Level.WARNING, "only peers on this machine", "set `listen`"),
        lambda peer: settings(peer, listen='"/ip4/0.0.0.0/tcp/0"', announce='"/ip4/192.0.2.7/tcp/4001"'),
    ),
    "mapping for another schema": Trouble(
        make_odd_mapping, ("mapping to boston", Level.FAULT, "another schema", "draw it anew"), restore_schema
    ),
    "mapping with one section": Trouble(
        lambda peer: acquaint_anew(peer, one_section(peer.parent, "along")),
        ("mapping to boston", Level.WARNING, "our queries cannot be translated", "both sections"),
        acquaint_anew,
    ),
    "mapping damaged": Trouble(
        lambda peer: mapping_of(peer).write_text("source nothing"),
        ("mapping to boston", Level.FAULT, "mapping.arrows:1:", "acquaint the peer anew"),
        acquaint_anew,
    ),
    "mapping gone": Trouble(
        lambda peer: shutil.rmtree(mapping_of(peer).parent),
        ("mapping to boston", Level.FAULT, "HX1001", "acquaint the peer anew"),
        acquaint_anew,
    ),
    "acquaintance damaged": Trouble(
        lambda peer: (peer / "acquaintances" / "boston.toml").write_text("address = 3"),
        ("acquaintances", Level.FAULT, "HX7052", "remove the file"),
        acquaint_anew,
    ),
    "store of another version": Trouble(
        lambda peer: (peer / "store.duckdb").write_bytes(b"not a database of this version" * 1000),
        ("store", Level.WARNING, "HX6014", "made anew"),
        lambda peer: (peer / "store.duckdb").unlink(),
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_each_trouble_is_found_and_its_advice_helps(peer: Path, name: str) -> None:
    trouble = TROUBLES[name]
    subject, level, words, advice = trouble.finding
    trouble.bring(peer)
    findings = [one for one in found(peer) if one.subject == subject and one.level is not Level.OK]
    assert {one.level for one in findings} == {level}
    assert any(words in one.message for one in findings), findings
    assert all(advice in one.advice for one in findings)
    trouble.mend(peer)
    assert {one.level for one in about(found(peer), subject)} <= {Level.OK}


def test_a_port_that_another_has_is_found_whether_it_is_set_or_kept(peer: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"/ip4/127.0.0.1/tcp/{taken.getsockname()[1]}"
        (peer / "address").write_text(f"{address}\n")
        kept = about(found(peer), "address")[0]
        assert (kept.level, kept.message) == (Level.FAULT, f"{address}: Address already in use")
        assert f"remove {peer / 'address'}" in kept.advice
        (peer / "address").unlink()
        assert [one.level for one in about(found(peer), "address")] == [Level.WARNING]
        settings(peer, listen=f'"{address}"')
        fixed = about(found(peer), "address")[0]
        assert (fixed.level, fixed.message) == (Level.FAULT, f"{address}: Address already in use")
        assert "set another `listen`" in fixed.advice
    assert [one.level for one in about(found(peer), "address")] == [Level.WARNING]


def test_the_address_that_others_are_told_has_the_port_that_was_found(peer: Path) -> None:
    (peer / "address").write_text("/ip4/127.0.0.1/tcp/40123\n")
    assert about(found(peer), "address")[0].message.startswith("others are told /ip4/127.0.0.1/tcp/40123: ")
    (peer / "address").write_bytes(b"\xff")
    assert about(found(peer), "address")[0].message.startswith("others are told /ip4/127.0.0.1/tcp/0: ")


def test_a_folder_that_somebody_holds_without_answering_is_told(peer: Path) -> None:
    with PeerFolder.open(peer).locked():
        (finding,) = about(found(peer), "daemon")
        assert (finding.level, finding.message) == (Level.FAULT, "the folder is in use, but no daemon answers")
        assert f"fuser {peer / 'lock'}" in finding.advice
        assert about(found(peer), "store") == []  # whoever holds the folder has it open
    (finding,) = about(found(peer), "daemon")
    assert (finding.level, f"heptox peer start {peer}" in finding.advice) == (Level.WARNING, True)


def test_a_store_that_is_behind_is_brought_up_to_date_by_the_next_start(peer: Path) -> None:
    shutil.copy(peer / "documents" / "records.xml", peer / "documents" / "more.xml")
    (finding,) = about(found(peer), "store")
    assert (finding.level, "1 documents are new or changed, 0 are gone" in finding.message) == (Level.OK, True)

    async def start() -> None:
        async with serving(peer):
            pass

    run(start)
    assert about(found(peer), "store")[0].message == "2 documents"
    (peer / "store.duckdb").unlink()
    assert about(found(peer), "store")[0].message == "there is none: it is made when the daemon starts"


def test_looking_at_a_store_leaves_it_as_it_is(peer: Path) -> None:
    found(peer)
    with Store.open(peer / "store.duckdb", PeerFolder.open(peer).schema()) as store:
        assert [document.name for document in store.documents()] == ["records.xml"]


def test_few_open_files_a_wrong_clock_and_a_full_disk_are_told(peer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, allowed[1]))
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
    monkeypatch.setattr("heptox.peer.control.doctor.time.time", lambda: 1_000_000.0)
    findings = found(peer)
    (files,), (clock,), (disk,) = (about(findings, subject) for subject in ("open files", "clock", "disk"))
    assert (files.message, str(LEAST_FILES) in files.advice) == ("a process may have 256 files open", True)
    assert (clock.level, "from the future" in clock.message) == (Level.WARNING, True)
    assert (disk.level, disk.message) == (Level.WARNING, "1 bytes are free")


def test_the_version_of_libp2p_is_the_one_that_is_pinned(peer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"libp2p=={LIBP2P}" in project["dependencies"]
    monkeypatch.setattr("heptox.peer.control.doctor.version", lambda _: "0.9.0")
    (finding,) = about(found(peer), "versions")
    assert (finding.level, "libp2p 0.9.0" in finding.message, LIBP2P in finding.advice) == (Level.FAULT, True, True)


# -- a peer at work --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[PeerService]:
    folder = PeerFolder.open(path)
    with folder.locked():
        async with running(folder) as service:
            yield service


async def examined(service: PeerService, subject: str) -> list[Finding]:
    return about(await service.examine(), subject)


def test_acquaintances_are_looked_for_and_offers_that_wait_are_told(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 1)
    boston = hospital_peer(tmp_path / "boston", "boston", 1)

    async def test() -> None:
        async with serving(montreal) as asker:
            async with serving(boston) as asked:
                address = asked.transport.addresses[0]
                await asker.acquaintances.acquaint(propose(address, ARROWS, name="boston"))
                (proposed,) = await examined(asker, "boston")
                assert (proposed.level, proposed.message) == (
                    Level.WARNING,
                    "proposed: its administrator has not decided",
                )
                (waits,) = await examined(asked, "montreal")
                assert (waits.level, waits.message) == (Level.WARNING, "offers an acquaintance, and waits")
                assert "--accept" in waits.advice
                await asked.acquaintances.accept("montreal")
                (agreed,) = await examined(asker, "boston")
                assert (agreed.level, agreed.message) == (Level.OK, f"agreed, connected at {address}")
                assert [one.level for one in await examined(asked, "montreal")] == [Level.OK]
            await until(lambda: not asker.transport.connected(asked.transport.peer))
            (lost,) = await examined(asker, "boston")
            assert (lost.level, lost.message) == (Level.FAULT, f"{address} is not reached")
            assert "acquaint it at its new address" in lost.advice
            async with serving(boston):
                (again,) = await examined(asker, "boston")
                assert again.level is Level.OK

    run(test)


@pytest.mark.parametrize("standing", [Standing.REFUSED, Standing.WITHDRAWN])
def test_what_the_other_side_has_ended_is_told_and_not_offered_again(tmp_path: Path, standing: Standing) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 1)
    boston = hospital_peer(tmp_path / "boston", "boston", 1)

    async def test() -> None:
        async with serving(montreal) as asker, serving(boston) as asked:
            await asker.acquaintances.acquaint(propose(asked.transport.addresses[0], ARROWS, name="boston"))
            if standing is Standing.REFUSED:
                await asked.acquaintances.refuse("montreal", "not this year")
            else:
                await asked.acquaintances.accept("montreal")
                await asked.acquaintances.withdraw("montreal", "not this year")
            await until(lambda: asker.acquaintances.known[0].acquaintance.standing is standing)
            (ended,) = await examined(asker, "boston")
            assert (ended.level, ended.message) == (Level.WARNING, f"{standing}: not this year")
            assert asked.acquaintances.requests() == {}
            await asker.acquaintances.withdraw("boston")  # as the advice says
            assert await examined(asker, "boston") == []

    run(test)


def test_a_clock_that_is_apart_is_told() -> None:
    acquaintance = Acquaintance("boston", PeerAddress.parse(BOSTON), Side.SOURCE, ARROWS, Standing.AGREED)
    known = Known(acquaintance, MappingFiles.pack(ARROWS), None)

    def clock(apart: float) -> list[str]:
        findings = known_findings(replace(known, clock=apart), reached=True)
        return [one.message for one in findings if one.level is Level.WARNING]

    assert clock(59) == clock(-59) == []
    assert clock(120) == ["its clock is 120 seconds ahead of ours"]
    assert clock(-120) == ["its clock is 120 seconds behind ours"]


def test_a_clock_is_compared_when_an_acquaintance_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 1)
    boston = hospital_peer(tmp_path / "boston", "boston", 1)

    async def test() -> None:
        async with serving(montreal) as asker, serving(boston) as asked:
            monkeypatch.setattr(
                "heptox.peer.acquaintance.links.decode_reply",
                lambda data: replace(decode_reply(data), clock=decode_reply(data).clock + 3600),
            )
            await asker.acquaintances.acquaint(propose(asked.transport.addresses[0], ARROWS, name="boston"))
            messages = [one.message for one in await examined(asker, "boston")]
            assert any("seconds ahead of ours" in message for message in messages)

    run(test)


def test_a_daemon_tells_that_its_audit_log_takes_no_lines_and_that_exports_are_behind(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 1)
    with (montreal / "peer.toml").open("a") as file:
        file.write('\n[[hide]]\npaths = ["Patient/MedCrNo"]\nfrom = "all"\n')
    (montreal / "audit.log").unlink()
    (montreal / "audit.log").symlink_to("/dev/full")

    async def test() -> None:
        async with serving(montreal) as service:
            (_, finding) = await examined(service, "audit log")
            assert (finding.level, "the disk takes no lines" in finding.message) == (Level.FAULT, True)
            (montreal / "audit.log").unlink()
            assert [one.level for one in await examined(service, "audit log")] == [Level.OK]
            assert await examined(service, "export policy") == []
            (export,) = service._exports._exports.values()
            export.behind = True
            (behind,) = await examined(service, "export policy")
            assert (behind.level, "start the daemon anew" in behind.advice) == (Level.FAULT, True)
        async with serving(montreal) as service:
            assert await examined(service, "export policy") == []

    run(test)


def test_a_document_that_keeps_the_daemon_from_starting_is_found(peer: Path) -> None:
    (peer / "documents" / "torn.xml").write_text("<a")
    (finding,) = [one for one in about(found(peer), "documents") if one.level is Level.FAULT]
    assert "torn.xml:1:" in finding.message
    assert heptox("peer", "start", peer).returncode == 1
    (peer / "documents" / "torn.xml").unlink()
    assert all(one.level is not Level.FAULT for one in found(peer))


def test_documents_that_are_gone_with_their_folder_are_not_forgotten(peer: Path) -> None:
    (peer / "documents").rename(peer / "elsewhere")
    assert any("is gone, with 1 documents" in one.message for one in found(peer) if one.level is Level.FAULT)
    refused = heptox("peer", "start", peer)
    assert (refused.returncode, "HX7050 is gone" in refused.stderr) == (1, True)
    (peer / "elsewhere").rename(peer / "documents")
    shutil.rmtree(peer / "acquaintances")  # an empty one may be left out by a backup
    with daemon(peer) as running:
        assert len(ask(running.folder, "//Patient/Name")[0]) > 0


def test_nobody_else_reads_what_a_peer_keeps(peer: Path) -> None:
    peer.chmod(0o755)
    with daemon(peer):
        files = [file for file in peer.rglob("*") if file.is_file() and file.name != "daemon.log"]
        assert {file.name for file in files if file.stat().st_mode & 0o077} == set()
    assert any("may look into the folder" in one.message for one in found(peer))
