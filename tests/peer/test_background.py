"""``heptox peer start --background``: a daemon that outlives the command which starts it."""

from __future__ import annotations

import os
import select
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from heptox.peer import DAEMON_LOG, Client, stop_peer
from heptox.peer.folder.files import LOCK, holder
from tests.cli.running import heptox_ended
from tests.peer.daemons import ask, heptox, hospital_peer, process_of


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Path]:
    folder = hospital_peer(tmp_path / "montreal", "montreal", 3)
    yield folder
    if Client.running(folder) is not None:
        stop_peer(folder)


def test_it_serves_when_the_command_ends_and_goes_on_in_a_session_of_its_own(peer: Path) -> None:
    started = heptox("peer", "start", peer, "--background")
    assert started.returncode == 0, started.stderr
    assert len(ask(peer, "//Patient/Name")[0]) == 3
    with Client.connect(peer) as client:
        assert started.stdout.splitlines() == list(client.status().addresses)
    log = peer / DAEMON_LOG
    assert started.stderr == f"it serves, and logs to {log}; `heptox peer stop {peer}` ends it\n"
    assert "it serves until" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert os.getsid(process_of(peer)) != os.getsid(0)


def test_stop_returns_when_the_process_has_ended(peer: Path) -> None:
    assert heptox_ended("peer", "start", peer, "--background").code == 0
    process = os.pidfd_open(process_of(peer))
    try:
        assert heptox_ended("peer", "stop", peer).code == 0
        assert select.select([process], [], [], 0)[0], "it runs on"
    finally:
        os.close(process)


def test_a_process_that_does_not_have_the_lock_open_is_not_waited_for(peer: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            assert holder(peer / LOCK, other.pid) is None
        finally:
            other.kill()
    assert holder(peer / LOCK, other.pid) is None, "it has ended"
    assert holder(peer / LOCK, os.getpid()) is None


def test_a_second_one_is_refused_and_the_first_goes_on(peer: Path) -> None:
    assert heptox_ended("peer", "start", peer, "--background").code == 0
    process = process_of(peer)
    again = heptox_ended("peer", "start", peer, "--background")
    assert (again.code, again.out) == (1, "")
    assert f"{peer}: HX7051" in again.err
    assert process_of(peer) == process


def test_one_that_cannot_start_says_why(peer: Path) -> None:
    refused = heptox_ended("peer", "start", peer, "--background", "--listen", "/ip4/203.0.113.1/tcp/4001")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"{peer}: HX7065 it ended: ")
    assert "HX7062 /ip4/203.0.113.1/tcp/4001 cannot be listened at: Cannot assign requested address" in refused.err
    (peer / "documents" / "torn.xml").write_text("<torn>")
    torn = heptox_ended("peer", "start", peer, "--background")
    assert torn.code == 1
    assert "torn.xml:1:" in torn.err
    assert "203.0.113.1" not in torn.err  # which the attempt before has logged


def test_a_folder_that_is_no_peer_has_no_daemon(tmp_path: Path) -> None:
    refused = heptox_ended("peer", "start", tmp_path, "--background")
    assert (refused.code, refused.out) == (1, "")
    assert "HX7050 is no peer's folder" in refused.err
    assert list(tmp_path.iterdir()) == []
