"""``docs/administration.md``: what it says of limits is so, and what it says to type does what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from heptox.cli.application import invoked
from heptox.codec import MESSAGE_LIMIT
from heptox.peer import Limits
from heptox.peer.acquaintance.offer_answers import CHANGES, COMING, OFFER_LIMIT
from heptox.peer.control import guard as control_guard, server as control_server
from heptox.peer.feed.own_words import MOST_BEHIND
from heptox.peer.folder.exports import MOST_EXPORTS
from heptox.peer.folder.loading import MEMORY
from heptox.peer.folder.requests import MOST_WAITING
from heptox.peer.process.evaluating import EVALUATING
from heptox.peer.process.workers import READING
from heptox.peer.query.shares import KEPT, NEIGHBOURS
from heptox.peer.wire.mapping_files import LONGEST_NAME, MOST_DECLARATIONS, MOST_LOOKED_UP
from heptox.peer.wire.messages import ITEM_LIMIT
from heptox.peer.wire.transport import TransportLimits
from heptox.settings import PeerSettings
from heptox.store.xquery import MOST_AT_ONCE
from heptox.xml import MAXIMUM_SIZE
from tests.cli.running import heptox_ended
from tests.peer.daemons import Daemon, ask, daemon, daemons, hospital_peer, wait_until
from tools.console import ROOT

PAGE: Final = (ROOT / "docs" / "administration.md").read_text(encoding="utf-8")
ARROWS: Final = ROOT / "examples" / "hospital" / "montreal-boston.arrows"
NETWORK, QUERIES, SETTINGS = TransportLimits(), Limits(), PeerSettings("a", "b")
LIMITS: Final = {
    "inbound connections of one acquaintance": NETWORK.connections_per_acquaintance,
    "inbound connections of strangers": NETWORK.connections,
    "inbound connections of strangers from one address": NETWORK.connections_per_address,
    "inbound connections in the handshake": NETWORK.handshakes,
    "inbound connections in the handshake from one address": NETWORK.handshakes_per_address,
    "streams of one neighbour at a time": NETWORK.streams,
    "streams of strangers that may ask": NETWORK.inbound,
    "streams of those who are being denied": NETWORK.refusals,
    "seconds to reach a neighbour": NETWORK.dial,
    "seconds that a neighbour may take nothing of what it is sent": NETWORK.stall,
    "seconds between signs of life": SETTINGS.keep_alive,
    "queries of one neighbour in flight": QUERIES.queries,
    "queries of all neighbours in flight": QUERIES.arrivals,
    "hops of a query": SETTINGS.hops,
    "seconds until the deadline of a neighbour's query": QUERIES.seconds,
    "items of one query": QUERIES.items,
    "bytes that a query of your own user brings": SETTINGS.budget,
    "bytes of a message, and so nearly of an item": MESSAGE_LIMIT,
    "lines of a receipt": QUERIES.lines,
    "queries evaluated at once for the own user, and for each neighbour": SETTINGS.evaluations,
    "neighbours for which queries are evaluated, or translated, at once": NEIGHBOURS,
    "neighbours beside those that have used little lately": KEPT,
    "megabytes of memory of the database, for each store": MEMORY,
    "megabytes of an audit log, then the next is begun": SETTINGS.audit_megabytes,
    "sets of paths that may be hidden": MOST_EXPORTS,
    "seconds of the processor in a minute for queries of one neighbour, or of strangers": SETTINGS.query_seconds,
    "publishers behind one neighbour whose words are understood": MOST_BEHIND,
    "offers that wait": MOST_WAITING,
    "bytes of an offer": OFFER_LIMIT,
    "declarations of a schema in an offer, lines of its mapping": MOST_DECLARATIONS,
    "bytes of a name in an offer": LONGEST_NAME,
    "bytes of tables of codes in all functions of an offered mapping": MOST_LOOKED_UP,
    "seconds of the processor to read an offer": READING.processor_seconds,
    "bytes of memory to read an offer": READING.memory,
    "bytes of memory to evaluate a query of the own user by Saxon": EVALUATING.memory,
    "characters of documents that Saxon is given at a time": MOST_AT_ONCE,
    "offers of strangers that are read in a minute": SETTINGS.offers,
    "strangers that become acquaintances by themselves in an hour, under `open`": COMING,
    "times that a neighbour changes in 10 minutes how an acquaintance with it stands, or where it listens": CHANGES,
    "bytes of a document": MAXIMUM_SIZE,
    "connections to the control API, in all": control_server.MOST_CONNECTIONS,
    "connections to the control API on which no token has come": control_server.MOST_STRANGERS,
    "seconds until the head of a request to the control API is there": control_server.HEAD_SECONDS,
    "bytes of a request to the control API that needs no token": control_guard.MOST_OPEN,
    "bytes of any other that is no document": control_guard.MOST_CARRIED,
    "seconds that an answer of the control API may go on when the daemon ends": control_server.GRACE_SECONDS,
}


def test_the_limits_are_those_of_the_program() -> None:
    section = PAGE.partition("\n## Limits\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) \| ([\d,]+) \|", section, re.MULTILINE)
    assert {what: float(limit.replace(",", "")) for what, limit in rows} == LIMITS
    assert ITEM_LIMIT > 0.9 * MESSAGE_LIMIT


def test_what_can_be_set_are_settings() -> None:
    section = PAGE.partition("\n## Limits\n")[2].partition("\n## ")[0]
    named = re.findall(r"\| `(\w+)`[^|]*\|$", section, re.MULTILINE)
    assert named
    assert all(hasattr(SETTINGS, name) for name in named)


def backed_up(folder: Path) -> Path:
    """The backup that the page's command makes of a peer."""
    (command,) = re.findall(r"^(tar -C (?:.*\\\n)*.*)$", PAGE, re.MULTILINE)
    made = folder.parent / "backup"
    made.mkdir()
    typed = command.replace("/var/lib/heptox/boston", str(folder))
    subprocess.run(["bash", "-c", typed], cwd=made, check=True, timeout=180)
    return made / "boston.tar"


def restored(backup: Path, folder: Path) -> None:
    folder.mkdir()
    subprocess.run(["tar", "-xf", backup, "-C", folder], check=True, timeout=180)


def agree(montreal: Daemon, boston: Daemon) -> None:
    heptox_ended("peer", "acquaint", montreal.folder, boston.address, "--arrows", ARROWS, "--name", "boston")
    assert heptox_ended("peer", "acquaintances", boston.folder, "--accept", "montreal").code == 0


def hears_both(folder: Path) -> bool:
    return bool(ask(folder, "//Patient/Name")[1].complete)


@pytest.mark.skipif(shutil.which("tar") is None, reason="tar is not installed")
def test_a_backup_of_a_running_peer_is_that_peer_again(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 3)
    boston = hospital_peer(tmp_path / "boston", "boston", 3)
    with daemon(montreal) as asker:
        with daemon(boston) as asked:
            agree(asker, asked)
            wait_until(lambda: hears_both(montreal))
            before = sorted(part.item for part in ask(montreal, "//Patient/Name")[0])
            backup = backed_up(boston)
        shutil.rmtree(boston)
        restored(backup, boston)
        assert not (boston / "store.duckdb").exists()
        assert heptox_ended("peer", "doctor", boston).code == 0
        with daemon(boston) as again:
            assert again.address == asked.address
            wait_until(lambda: hears_both(montreal))
            assert sorted(part.item for part in ask(montreal, "//Patient/Name")[0]) == before


@pytest.mark.skipif(shutil.which("tar") is None, reason="tar is not installed")
def test_the_backup_of_a_new_peer_has_what_is_there(tmp_path: Path) -> None:
    boston = hospital_peer(tmp_path / "boston", "boston", 0)
    for folder in ("documents", "acquaintances", "requests"):
        shutil.rmtree(boston / folder, ignore_errors=True)
    backup = backed_up(boston)
    shutil.rmtree(boston)
    restored(backup, boston)
    assert {"peer.toml", "identity.key", "schema.dtd"} <= {file.name for file in boston.iterdir()}
    assert heptox_ended("peer", "doctor", boston).code == 0


def test_a_peer_that_has_moved_is_connected_again_and_can_be_told_anew_without_a_decision(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 3)
    boston = hospital_peer(tmp_path / "boston", "boston", 3)
    with daemons(montreal, boston) as (asker, asked):
        agree(asker, asked)
    moved = tmp_path / "moved"
    shutil.move(boston, moved)
    (moved / "address").unlink()
    with daemons(montreal, moved) as (asker, asked):
        wait_until(lambda: hears_both(montreal))
        told = heptox_ended("peer", "acquaint", montreal, asked.address, "--arrows", ARROWS, "--name", "boston")
        assert told.out == "boston: agreed, we are the source of the mapping\n"
        assert heptox_ended("peer", "acquaintances", montreal).out.splitlines()[1].split()[-1] == asked.address


def test_settings_that_an_older_version_does_not_know_are_named(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "boston", "boston", 0)
    with (folder / "peer.toml").open("a") as file:
        file.write("of_the_future = 1\n")
    refused = heptox_ended("peer", "start", folder)
    assert (refused.code, "HX7052 of_the_future is no setting" in refused.err) == (1, True)


def test_every_command_of_the_page_is_one_of_heptox() -> None:
    typed = re.findall(r"(?:^|`|sudo -u heptox |exec boston )heptox ([a-z]+ ?[a-z]*)", PAGE, re.MULTILINE)
    assert len(typed) > 20
    assert [words for words in typed if invoked(words.split()) is None] == []
