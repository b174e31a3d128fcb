"""Daemons as processes over libp2p on loopback: answers, losses, restarts, and who may ask."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest

from heptox.demo import BOSTON, HOSPITAL, MONTREAL, QUESTIONS, ST_LUKE, Network, records
from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping, load_mapping
from heptox.peer import PeerFolder, add_acquaintance, document_loading, propose
from heptox.store import evaluate
from heptox.translate import translate
from heptox.xml import read_document
from tests.peer.daemons import (
    DEADLINE,
    acquaint,
    ask,
    begun,
    daemon,
    daemons,
    ended,
    frozen,
    heptox,
    hospital_peer,
    log_of,
    wait_until,
)

MONTREAL_TO_BOSTON = "montreal-boston.arrows"
ST_LUKE_TO_BOSTON = "stluke-boston.arrows"


def mapping(arrows: str) -> Mapping:
    return load_mapping(HOSPITAL / arrows)


def answers(folder: Path, query: Expression) -> set[str]:
    return set(evaluate(query, [read_document(folder / "documents" / "records.xml")]))


@pytest.mark.parametrize(
    "query",
    [
        *(question.text for question in QUESTIONS if question.asker is MONTREAL),
        'for $a in //Admission[Problem = "Coronary"], $p in //Patient[@ID = $a/@PatRef] return ($p/Name, $a/AdmDate)',
        "for $a in //Admission, $p in //Patient[@ID = $a/@PatRef] return $p/@ID",
    ],
)
def test_an_answer_over_two_hops_is_the_composition_without_a_network(hospitals: Network, query: str) -> None:
    asked = parse_query(query)
    in_boston = translate(mapping(MONTREAL_TO_BOSTON), asked, "target").query
    in_st_luke = translate(mapping(ST_LUKE_TO_BOSTON), in_boston, "source").query
    expected = {
        (MONTREAL.name,): answers(hospitals.path(MONTREAL), asked),
        (MONTREAL.name, BOSTON.name): answers(hospitals.path(BOSTON), in_boston),
        (MONTREAL.name, BOSTON.name, ST_LUKE.name): answers(hospitals.path(ST_LUKE), in_st_luke),
    }
    parts, receipt = ask(hospitals.path(MONTREAL), query)
    found: dict[tuple[str, ...], set[str]] = {path: set() for path in expected}
    for part in parts:
        found[tuple(part.origin.path)].add(part.item)
    assert found == expected
    assert {tuple(line.path): line.items for line in receipt.lines} == {
        path: len(items) for path, items in expected.items()
    }
    assert receipt.complete
    assert receipt.items == len(set().union(*expected.values()))
    assert sum(not part.repeated for part in parts) == receipt.items


def test_fewer_hops_reach_fewer_peers_and_the_receipt_says_where_they_ended(hospitals: Network) -> None:
    _, receipt = ask(hospitals.path(MONTREAL), QUESTIONS[2].text, hops=1)
    assert [line.name for line in receipt.lines] == [MONTREAL.name, BOSTON.name]
    assert [line.beyond for line in receipt.lines] == [False, True]


def test_a_translation_that_loses_everything_is_not_asked_for_and_the_receipt_says_why(hospitals: Network) -> None:
    parts, receipt = ask(hospitals.path(MONTREAL), "//Treat/Doc")
    assert {part.origin.name for part in parts} == {MONTREAL.name}
    line = receipt.lines[-1]
    assert (line.name, line.status, line.items) == (BOSTON.name, "nothing to say", 0)
    assert any("Treat/Doc" in loss for loss in line.losses)


def test_a_peer_killed_while_it_is_asked_is_missing_by_name_with_what_lies_behind(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal")
    boston = hospital_peer(tmp_path / "boston", "boston")
    st_luke = hospital_peer(tmp_path / "stluke", "stluke")
    query = "//Patient/Name"
    with daemons(montreal, boston, st_luke) as (asker, middle, end):
        acquaint(montreal, middle, MONTREAL_TO_BOSTON)
        acquaint(boston, asker, MONTREAL_TO_BOSTON)
        acquaint(boston, end, ST_LUKE_TO_BOSTON)
        acquaint(st_luke, middle, ST_LUKE_TO_BOSTON)
        whole, receipt = ask(montreal, query)
        assert receipt.complete
        assert {part.origin.name for part in whole} == {"montreal", "boston", "stluke"}
        own = {part.item for part in whole if part.origin.name == "montreal"}

        with frozen(boston) as process, asker.client() as client:
            asking = begun("query", "--peer", montreal, query)
            wait_until(lambda: any(flying.items == len(own) for flying in client.status().queries))
            os.kill(process, signal.SIGKILL)
            asked = ended(asking)
        counted = ended(begun("query", "--peer", montreal, "count(//Patient/Name)"))
    assert (counted.returncode, counted.stdout) == (3, f"{len(own)}\n")
    assert counted.stderr.startswith("the answer is INCOMPLETE: 1 item, computed from an incomplete answer\n")
    assert asked.returncode == 3
    assert set(asked.stdout.splitlines()) == own
    assert asked.stderr.startswith("the answer is INCOMPLETE")
    line = next(line for line in asked.stderr.splitlines() if line.startswith("montreal > boston"))
    assert "unreachable" in line
    assert "peers behind it" in line
    assert "stluke" not in asked.stderr


def test_what_two_peers_know_of_one_patient_is_merged_by_the_key(tmp_path: Path) -> None:
    patient = '<Patient ID="p1"><Name>Ann</Name><Hist/></Patient>'
    stay = '<Pulmonary ID="p1"><Enter>d</Enter><Patient>Anne</Patient></Pulmonary>'
    treated = "<Treatment><Date>d</Date><Desc>Heparin</Desc></Treatment>"
    documents = {
        "montreal": f"<MonGenHosp>{patient}</MonGenHosp>",
        "boston": f'<MassGeneral><Admission>{stay}</Admission><Progress PatRef="p1">{treated}</Progress></MassGeneral>',
    }
    for file in HOSPITAL.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    arrows = tmp_path / MONTREAL_TO_BOSTON
    arrows.write_text(arrows.read_text() + "source key Patient/@ID\n")
    folders = {name: hospital_peer(tmp_path / name, name, 0) for name in documents}
    for name, document in documents.items():
        with document_loading(folders[name]) as loader:
            loader.load("records.xml", document.encode())
    with daemons(*folders.values()) as (montreal, boston):
        add_acquaintance(folders["montreal"], propose(boston.address, arrows, name="boston"))
        add_acquaintance(folders["boston"], propose(montreal.address, arrows, name="montreal"))
        at = ("query", "--peer", folders["montreal"])
        counted = heptox(*at, "--json", "count(//Patient)").stdout.splitlines()
        merged = heptox(*at, "--merge", "//Patient")
    assert json.loads(counted[0])["item"] == "1"
    shell = json.loads(counted[1])["receipt"]["shell"]
    assert (shell["overlapping"], shell["merged"], shell["conflicts"]) == ([], 1, 0)
    whole = ElementTree.fromstring(merged.stdout)
    assert [(each.tag, each.text) for each in whole if len(each) == 0 and each.tag != "Hist"] == [
        ("Name", "Anne"),
        ("Name", "Ann"),
    ]
    assert [each.tag for each in whole.iter("Treat")] == ["Treat"]
    assert "1 value contradicts another" in merged.stderr


def test_a_peer_that_is_silent_is_timed_out_and_the_command_may_accept_it(hospitals: Network) -> None:
    with frozen(hospitals.path(BOSTON)):
        command = ("query", "--peer", hospitals.path(MONTREAL), "--timeout", "4", "//Patient/Name")
        strict, partial = map(ended, (begun(*command), begun(*command, "--partial")))
    assert (strict.returncode, partial.returncode) == (3, 0)
    for asked in (strict, partial):
        assert "the answer is INCOMPLETE" in asked.stderr
        line = next(line for line in asked.stderr.splitlines() if line.startswith(f"{MONTREAL.name} > {BOSTON.name}"))
        assert "timed out" in line or "unreachable" in line
        assert set(asked.stdout.splitlines()) == answers(hospitals.path(MONTREAL), parse_query("//Patient/Name"))
    wait_until(lambda: bool(ask(hospitals.path(MONTREAL), "//Patient/Name")[1].complete))


def test_a_stranger_is_denied_by_name_unless_the_policy_is_open(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 3)
    boston = hospital_peer(tmp_path / "boston", "boston", 3)
    with daemons(montreal, boston) as (_, asked):
        acquaint(montreal, asked, MONTREAL_TO_BOSTON)
        parts, receipt = ask(montreal, "//Patient/Name")
        line = receipt.lines[-1]
        assert (line.name, line.status, line.complete) == ("boston", "denied", False)
        assert {part.origin.name for part in parts} == {"montreal"}
        assert not receipt.complete
        asked.end(signal.SIGTERM)
        settings = boston / "peer.toml"
        settings.write_text(settings.read_text().replace('policy = "ask"', 'policy = "open"'))
        with daemon(boston):
            parts, receipt = ask(montreal, "//Patient/Name")
            assert receipt.complete
            assert {part.origin.name for part in parts} == {"montreal", "boston"}


def test_a_peer_with_another_schema_than_that_of_the_mapping_refuses_it(tmp_path: Path) -> None:
    one, other = (hospital_peer(tmp_path / name, "montreal", 3) for name in ("one", "other"))
    settings = other / "peer.toml"
    settings.write_text(settings.read_text().replace('policy = "ask"', 'policy = "open"'))
    with daemons(one, other) as (_, asked):
        made = acquaint(one, asked, MONTREAL_TO_BOSTON)  # but it is no Boston
        assert (made.standing, "HX7058" in made.reason) == ("refused", True)
        _, receipt = ask(one, "//Patient/Name")
    assert [line.name for line in receipt.lines] == ["one"]


def test_kill_9_loses_no_load_and_no_acquaintance_and_the_address_stays(tmp_path: Path) -> None:
    montreal = hospital_peer(tmp_path / "montreal", "montreal", 0)
    boston = hospital_peer(tmp_path / "boston", "boston", 3)
    ann = b"<MonGenHosp><Patient ID='p1'><Name>Ann</Name><Hist/></Patient></MonGenHosp>"
    with daemons(montreal, boston) as (first, other):
        acquaint(montreal, other, MONTREAL_TO_BOSTON)
        acquaint(boston, first, MONTREAL_TO_BOSTON)
        with first.client() as client:
            assert client.load("ann.xml", ann).outcome == "new"
        before = ask(montreal, "//Patient/Name")
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        assert heptox("query", "--peer", montreal, "//a").returncode == 4
        with daemon(montreal) as second:
            assert second.address == first.address
            after = ask(montreal, "//Patient/Name")
    for parts, receipt in (before, after):
        assert receipt.complete
        assert {part.origin.name for part in parts} == {"montreal", "boston"}
        assert "<Name>Ann</Name>" in {part.item for part in parts}
    assert {part.item for part in before[0]} == {part.item for part in after[0]}


def test_a_second_daemon_on_a_folder_and_on_an_address_is_refused_in_one_line(
    hospitals: Network, tmp_path: Path
) -> None:
    folder = hospitals.path(MONTREAL)
    refused = heptox("peer", "start", folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == (
        f"{folder}: HX7051 is in use: its daemon runs, or another command writes (look with `heptox peer status`)\n"
    )
    endpoint = hospitals.addresses(MONTREAL)[0].partition("/p2p/")[0]
    refused = heptox("peer", "start", hospital_peer(tmp_path / "other", "boston", 0), "--listen", endpoint)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"HX7062 {endpoint} cannot be listened at: the address is in use (" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "stop"])
def test_a_daemon_ends_well_when_it_is_asked_to(tmp_path: Path, how: str) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    with daemon(folder) as running:
        if how == "stop":
            assert heptox("peer", "stop", folder).returncode == 0
            with PeerFolder.open(folder).locked():  # it has ended when the command has
                pass
            assert running.process.wait(DEADLINE) == 0
        else:
            assert running.end(signal.Signals[how]) == 0
        out, _ = running.process.communicate()
    assert out == ""
    started, serves, stopped = log_of(folder).read_text().splitlines()
    assert serves.endswith(f": it serves until Ctrl-C, SIGTERM or `heptox peer stop {folder}`")
    assert " INFO heptox.peer.record.recording: started: " in started
    assert " INFO heptox.peer.record.recording: stopped: " in stopped
    assert not (folder / "control.json").exists()
    with PeerFolder.open(folder).locked():
        pass


def test_a_folder_with_broken_files_is_refused_with_all_faults(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    (folder / "documents" / "one.xml").write_text("<MonGenHosp>")
    (folder / "documents" / "two.xml").write_text("no document")
    refused = heptox("peer", "start", folder)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert [line.split(" ")[1] for line in refused.stderr.splitlines()] == ["HX1002", "HX1002"]
    (folder / "peer.toml").write_text("name = 'x'\nrooot = 1\n")
    refused = heptox("peer", "start", folder)
    assert refused.returncode == 1
    assert "HX7052 root is missing" in refused.stderr
    assert "HX7052 rooot is no setting" in refused.stderr


def test_a_daemon_that_is_stopped_during_a_load_tells_what_became_of_it(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    (tmp_path / "large.xml").write_text(records("montreal", 20_000, 1))
    with daemon(folder) as running:
        loading = begun("peer", "load", folder, tmp_path / "large.xml")
        wait_until(lambda: any((folder / "documents").iterdir()))
        with running.client() as client:
            client.stop()
        loaded = ended(loading)
        assert running.process.wait(DEADLINE) == 0
    assert (loaded.returncode, loaded.stdout) == (0, "large.xml: new\n")
