"""``heptox peer`` on folders; daemons are tested where peers are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heptox.demo import HOSPITAL, MONTREAL, Network, records
from tests.cli.running import heptox_ended

BOSTON = "/ip4/127.0.0.1/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
SCHEMA = HOSPITAL / "mongenhosp.dtd"
ARROWS = HOSPITAL / "montreal-boston.arrows"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.xml").write_text(records("montreal", 3, 1))
    (tmp_path / "bad.xml").write_text("<MonGenHosp>\n  <Patient>\n</MonGenHosp>")
    (tmp_path / "odd.xml").write_text("<MonGenHosp><Admission/></MonGenHosp>")
    return tmp_path


def test_init_makes_a_peer_and_loads_what_can_be_loaded(files: Path) -> None:
    peer = files / "montreal"
    data = [f"--data={files / name}" for name in ("bad.xml", "good.xml", "missing.xml")]
    made = heptox_ended("peer", "init", peer, "--schema", SCHEMA, "--name", "Montreal General", *data)
    assert made.code == 1
    assert made.out.splitlines()[0].startswith("12D3KooW")
    assert made.out.splitlines()[1:] == ["good.xml: new"]
    lines = made.err.splitlines()
    assert lines[0].startswith(f"{files / 'bad.xml'}:3:")
    assert "HX1002" in lines[0]
    assert lines[1] == f"{files / 'missing.xml'}: HX1001 cannot be read: No such file or directory"
    assert lines[2:] == ["2 documents of 3 refused"]
    other = heptox_ended("peer", "init", files / "a b", "--schema", SCHEMA, "--data", files / "good.xml")
    assert (other.code, other.err) == (0, f"`heptox peer start '{files / 'a b'}'` starts it\n")
    again = heptox_ended("peer", "init", peer, "--schema", SCHEMA)
    assert (again.code, again.out) == (1, "")
    assert again.err == f"{peer}: HX7050 there is something already (it is a peer: `heptox peer load` adds documents)\n"


@pytest.mark.parametrize(
    ("schema", "code"),
    [("missing.dtd", "HX1001"), ("bad.xml", "an XML document, whose root is MonGenHosp, not a DTD")],
    ids=["missing", "document"],
)
def test_init_with_a_schema_that_cannot_be_read_leaves_nothing(files: Path, schema: str, code: str) -> None:
    made = heptox_ended("peer", "init", files / "peer", "--schema", files / schema)
    assert (made.code, made.out) == (1, "")
    assert code in made.err
    assert not (files / "peer").exists()


def test_load_keeps_what_is_invalid_and_says_so(files: Path) -> None:
    peer = files / "montreal"
    heptox_ended("peer", "init", peer, "--schema", SCHEMA)
    loaded = heptox_ended("peer", "load", peer, files / "odd.xml", files / "good.xml")
    assert (loaded.code, loaded.out) == (0, "odd.xml: new\ngood.xml: new\n")
    assert f"{files / 'odd.xml'}:1:13: HX2007" in loaded.err
    (files / "other.xml").write_text("<!-- of a library -->\n<bib/>")
    other = heptox_ended("peer", "load", peer, files / "other.xml", files / "odd.xml", "--replace")
    assert (other.code, other.out) == (1, "odd.xml: held\n")
    assert f"{files / 'other.xml'}:2:1: HX2013 the root element is bib, not MonGenHosp" in other.err
    given = heptox_ended("peer", "load", peer, "-", "--name", "given", stdin=records("montreal", 1, 2))
    assert (given.code, given.out, given.err) == (0, "given.xml: new\n", "")
    assert heptox_ended("peer", "load", peer, "-").code == 1
    assert heptox_ended("peer", "load", peer, files / "good.xml", files / "odd.xml", "--name", "x").code == 2
    (files / "good.xml").write_text("<MonGenHosp/>")
    refused = heptox_ended("peer", "load", peer, files / "good.xml")
    assert refused.code == 1
    assert "HX6011 another document named good.xml is held" in refused.err
    replaced = heptox_ended("peer", "load", peer, files / "good.xml", "--replace")
    assert (replaced.code, replaced.out) == (0, "good.xml: replaced\n")
    status = json.loads(heptox_ended("peer", "status", peer, "--json").out)
    assert status["documents"] == 3


def test_documents_are_listed_and_removed(files: Path) -> None:
    peer = files / "montreal"
    heptox_ended("peer", "init", peer, "--schema", SCHEMA, "--data", files / "good.xml", files / "odd.xml")
    assert heptox_ended("peer", "load", peer).code == 2
    changed = heptox_ended(
        "peer", "load", peer, files / "good.xml", "--name", "more", "--remove", "good", "--remove", "x"
    )
    assert (changed.code, changed.out) == (1, "more.xml: new\ngood.xml: removed\n")
    assert "HX6015 no document named x.xml is held (more.xml, odd.xml)" in changed.err
    assert "1 document of 2 not removed" in changed.err
    listed = json.loads(heptox_ended("peer", "status", peer, "--documents", "--json").out)
    assert [(one["name"], one["fits"]) for one in listed] == [("more.xml", None), ("odd.xml", None)]
    assert listed[1]["bytes"] == len((files / "odd.xml").read_bytes())
    table = heptox_ended("peer", "status", peer, "--documents").out
    assert "odd.xml" in table and "good.xml" not in table


def test_acquaint_and_what_status_then_tells(files: Path) -> None:
    peer = files / "montreal"
    peer_id = heptox_ended("peer", "init", peer, "--schema", SCHEMA).out.strip()
    made = heptox_ended("peer", "acquaint", peer, BOSTON, "--arrows", ARROWS)
    assert (made.code, made.out, made.err) == (
        0,
        "MassGeneral: proposed, we are the source of the mapping\n",
        "MassGeneral is informed as soon as it is reached\n"
        "it accepts by `heptox peer acquaintances FOLDER --accept montreal`, with FOLDER its own\n",
    )
    table = (
        f"acquaintance  standing  our side  connected  address\nMassGeneral   proposed  source    no         {BOSTON}\n"
    )
    assert heptox_ended("peer", "acquaintances", peer).out == table
    assert heptox_ended("peer", "status", peer).out == (
        f"montreal, {peer_id}\nschema MonGenHosp, 0 documents, policy ask\nits daemon does not run\n{table}"
    )
    assert json.loads(heptox_ended("peer", "acquaintances", peer, "--json").out) == [
        {
            "name": "MassGeneral",
            "peer_id": BOSTON.rpartition("/")[2],
            "address": BOSTON,
            "side": "source",
            "standing": "proposed",
            "reason": "",
            "version": 1,
            "connected": False,
            "fault": "",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "fault"),
    [
        ((BOSTON.replace("tcp", "udp"), "--arrows", ARROWS), 1, "HX7054"),
        ((BOSTON, "--arrows", HOSPITAL / "missing.arrows"), 1, "HX1001"),
        ((BOSTON, "--arrows", HOSPITAL / "stluke-boston.arrows"), 1, "HX7058"),
        ((BOSTON, "--arrows", ARROWS, "--as", "target"), 1, "HX7058"),
        ((BOSTON, "--arrows", ARROWS, "--name", "a/b"), 1, "HX7052"),
        ((BOSTON, "--arrows", ARROWS, "--as", "middle"), 2, "middle"),
        (("more", BOSTON, "--arrows", ARROWS), 2, "MULTIADDRESS"),
        ((BOSTON,), 2, "--arrows"),
    ],
)
def test_acquaint_refuses_by_name(files: Path, arguments: tuple[str | Path, ...], code: int, fault: str) -> None:
    peer = files / "montreal"
    heptox_ended("peer", "init", peer, "--schema", SCHEMA)
    refused = heptox_ended("peer", "acquaint", peer, *arguments)
    assert (refused.code, refused.out) == (code, "")
    assert fault in refused.err
    assert heptox_ended("peer", "acquaintances", peer, "--json").out == "[]\n"


def test_which_peer_is_meant(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    monkeypatch.delenv("HEPTOX_PEER", raising=False)
    none = heptox_ended("peer", "status")
    assert (none.code, none.err) == (2, "HX7064 no peer's folder is here (name one with --peer or $HEPTOX_PEER)\n")
    heptox_ended("peer", "init", "one", "--schema", SCHEMA)
    assert heptox_ended("peer", "status").out.startswith("one, ")
    heptox_ended("peer", "init", "two", "--schema", SCHEMA)
    several = heptox_ended("peer", "status")
    assert several.code == 2
    assert "HX7064 several peers are here: one, two" in several.err
    monkeypatch.setenv("HEPTOX_PEER", "two")
    assert heptox_ended("peer", "status").out.startswith("two, ")
    assert heptox_ended("peer", "status", "one").out.startswith("one, ")
    monkeypatch.delenv("HEPTOX_PEER")
    monkeypatch.chdir("one")
    assert heptox_ended("peer", "status").out.startswith("one, ")


def test_what_is_no_peer_is_refused(files: Path) -> None:
    for command in (("status",), ("acquaintances",), ("start",), ("stop",), ("load", files / "good.xml")):
        refused = heptox_ended("peer", command[0], files, *command[1:])
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == f"{files}: HX7050 is no peer's folder (make one with `heptox peer init`)\n"


def test_whether_a_daemon_runs_is_an_exit_code(files: Path, hospitals: Network) -> None:
    peer = files / "montreal"
    heptox_ended("peer", "init", peer, "--schema", SCHEMA)
    ended = heptox_ended("peer", "status", "--running", peer)
    assert (ended.code, ended.out) == (4, "")
    assert "HX7055 its daemon does not run" in ended.err
    assert heptox_ended("peer", "status", "--running", hospitals.path(MONTREAL)).code == 0


def test_the_status_of_a_running_peer(hospitals: Network) -> None:
    status = heptox_ended("peer", "status", hospitals.path(MONTREAL)).out.splitlines()
    assert status[0].startswith("Montreal General, 12D3KooW")
    assert status[1] == "schema MonGenHosp, 1 document, policy ask"
    assert status[2] == f"listens at {hospitals.addresses(MONTREAL)[0]}"
    assert status[3].split() == ["acquaintance", "standing", "our", "side", "connected", "address"]
    assert status[4].startswith("Massachusetts General  agreed    source")
