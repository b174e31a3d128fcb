"""``heptox map suggest``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from heptox.demo import records
from heptox.mapping import suggest
from heptox.schema import SchemaTree, read_dtd
from heptox.xml import parse_document
from tests.cli.running import HOSPITAL, heptox_ended

MONTREAL, BOSTON = HOSPITAL / "mongenhosp.dtd", HOSPITAL / "massgeneral.dtd"
DTD = "<!ELEMENT {0} ({1}*)> <!ELEMENT {1} ({2}, city)> <!ELEMENT {2} (#PCDATA)> <!ELEMENT city (#PCDATA)>"
CLUB, FIRM = DTD.format("club", "member", "telephone"), DTD.format("firm", "client", "phone")


@pytest.fixture
def club(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "club.dtd").write_text(CLUB)
    (tmp_path / "firm.dtd").write_text(FIRM)
    return tmp_path


def test_what_is_suggested_is_a_file_of_arrows(club: Path) -> None:
    ended = heptox_ended("map", "suggest", "club.dtd", "firm.dtd")
    assert (ended.code, ended.err) == (0, "")
    declared = ended.out.splitlines()
    assert declared[:3] == ['source "club.dtd" root club', 'target "firm.dtd" root firm', ""]
    assert [line.partition("   #")[0].rstrip() for line in declared[3:]] == [
        "member/city -> client/city",
        "member/telephone -> client/phone",
    ]
    assert all(re.search(r"   # [01]\.\d\d \S", line) for line in declared[3:])
    (club / "made.arrows").write_text(ended.out)
    checked = heptox_ended("map", "check", "made.arrows")
    assert checked.code == 0 and checked.out.startswith("made.arrows: no faults, 1 rule")


@pytest.mark.usefixtures("club")
def test_as_json_and_as_the_library_suggests() -> None:
    told = json.loads(heptox_ended("map", "suggest", "club.dtd", "firm.dtd", "--json").out)
    assert told["source"] == {"file": "club.dtd", "root": "club"}
    found = suggest(SchemaTree(read_dtd("club.dtd")), SchemaTree(read_dtd("firm.dtd")))
    assert [(one["arrow"], one["copies"], tuple(one["target"])) for one in told["suggestions"]] == [
        (str(one), one.copies, one.target) for one in found
    ]
    assert all(0.5 <= one["confidence"] <= 1 and one["reasons"] for one in told["suggestions"])


def test_sample_documents_find_more(tmp_path: Path) -> None:
    samples = {"source": ("montreal", MONTREAL), "target": ("boston", BOSTON)}
    given: list[str | Path] = []
    for side, (name, _) in samples.items():
        (tmp_path / f"{name}.xml").write_text(records(name, 40, 1))
        given += [f"--{side}-document", tmp_path / f"{name}.xml"]
    without = heptox_ended("map", "suggest", MONTREAL, BOSTON).out.splitlines()
    ended = heptox_ended("map", "suggest", MONTREAL, BOSTON, *given)
    assert (ended.code, ended.err) == (0, "")
    found = suggest(
        SchemaTree(read_dtd(MONTREAL)), SchemaTree(read_dtd(BOSTON)),
        source_documents=[parse_document(records("montreal", 40, 1))],
        target_documents=[parse_document(records("boston", 40, 1))],
    )  # fmt: skip
    arrows = [line.partition("#")[0].rstrip() for line in ended.out.splitlines()[3:]]
    assert arrows == [str(one) for one in found]
    assert len(arrows) > len(without) - 3


def test_where_nothing_is_likely_only_the_schemas_are_printed(club: Path) -> None:
    (club / "other.dtd").write_text("<!ELEMENT zoo (beast*)> <!ELEMENT beast (#PCDATA)>")
    ended = heptox_ended("map", "suggest", "club.dtd", "other.dtd")
    assert (ended.code, ended.out) == (0, 'source "club.dtd" root club\ntarget "other.dtd" root zoo\n')
    assert ended.err.startswith("no arrow is likely")
    assert json.loads(heptox_ended("map", "suggest", "club.dtd", "other.dtd", "--json").out)["suggestions"] == []


def test_what_cannot_be_read_is_told(club: Path) -> None:
    (club / "firm.xml").write_text("<firm/>")
    (club / "two.dtd").write_text(f"{CLUB} <!ELEMENT extra EMPTY>")
    for arguments, code, message in (
        (("club.dtd", "none.dtd"), 1, "none.dtd: HX1001"),
        (("club.dtd", "firm.xml"), 1, "an XML document, whose root is firm, not a DTD"),
        (("club.dtd", "firm.dtd", "--source-document", "firm.xml"), 1, "firm.xml:1:1: HX2013 the root element is firm"),
        (("two.dtd", "firm.dtd"), 1, "HX2005"),
        (("-", "firm.dtd"), 2, "give files"),
    ):
        ended = heptox_ended("map", "suggest", *arguments)
        assert (ended.code, ended.out) == (code, ""), arguments
        assert message in ended.err
    named = heptox_ended("map", "suggest", "two.dtd", "firm.dtd", "--source-root", "club")
    assert named.out.startswith('source "two.dtd" root club\n')


def pairs(folder: Path) -> list[str]:
    """Two documents of either side of which each says the same; codes stand for words on one side."""
    words = {"y": "yes", "n": "no"}
    given = []
    for number, codes in enumerate(("yynny", "nny")):
        rows = [(f"{number}-{place}", code) for place, code in enumerate(codes)]
        club = "".join(f"<member><telephone>{one}</telephone><city>{code}</city></member>" for one, code in rows)
        firm = "".join(f"<client><phone>{one}</phone><city>{words[code]}</city></client>" for one, code in rows)
        (folder / f"club{number}.xml").write_text(f"<club>{club}</club>")
        (folder / f"firm{number}.xml").write_text(f"<firm>{firm}</firm>")
        given += ["--source-document", f"club{number}.xml", "--target-document", f"firm{number}.xml"]
    return given


def test_pairs_give_functions_and_tables(club: Path) -> None:
    given = pairs(club)
    told = heptox_ended("map", "suggest", "club.dtd", "firm.dtd", *given, "--paired", "--json")
    found = {one["arrow"]: one for one in json.loads(told.out)["suggestions"]}
    table = found['lookup("city-1.csv", member/city) -> client/city']
    assert (table["kind"], table["table"]) == ("table", {"file": "city-1.csv", "codes": {"n": "no", "y": "yes"}})
    assert table["samples"] == [
        {"pair": 1, "source": ["y"], "target": "yes"},
        {"pair": 2, "source": ["n"], "target": "no"},
    ]
    assert table["reasons"][0] == {"kind": "pairs", "text": "2 of 2 pairs: y -> yes"}

    shown = heptox_ended("map", "suggest", "club.dtd", "firm.dtd", *given, "--paired")
    assert '\n# lookup("city-1.csv", member/city) -> client/city ' in shown.out
    assert "--tables FOLDER writes the tables" in shown.err
    (club / "codes").mkdir()
    for _ in range(2):  # a table that is there already stays
        written = heptox_ended("map", "suggest", "club.dtd", "firm.dtd", *given, "--paired", "--tables", "codes")
        assert (written.code, written.err) == (0, "")
    assert (club / "codes" / "city-1.csv").read_text() == "n,no\ny,yes\n"
    (club / "made.arrows").write_text(written.out)
    assert heptox_ended("map", "check", "made.arrows").out.startswith("made.arrows: no faults")
    made = heptox_ended("map", "apply", "made.arrows", "club1.xml").out
    assert "".join(made.split()).endswith("".join((club / "firm1.xml").read_text().split()))


def test_pairs_that_are_none_are_told(club: Path) -> None:
    given = pairs(club)
    (club / "codes").mkdir()
    (club / "codes" / "city-1.csv").write_text("n,never\n")
    (club / "broken.xml").write_text("<firm>")
    for arguments, code, message in (
        ((*given[:-2], "--paired"), 2, "--paired takes as many documents of the target as of the source"),
        ((*given[:2], "--target-document", "broken.xml", "--paired"), 1, "broken.xml:1"),
        ((*given[:2], "--target-document", "club0.xml", "--paired"), 1, "club0.xml:1:1: HX2013 the root element is"),
        ((*given, "--paired", "--tables", "codes"), 1, "codes/city-1.csv: HX1001 is there already"),
        ((*given, "--paired", "--tables", "none"), 1, "none/city-1.csv: HX1001 cannot be written"),
    ):  # fmt: skip
        ended = heptox_ended("map", "suggest", "club.dtd", "firm.dtd", *arguments)
        assert (ended.code, ended.out) == (code, ""), arguments
        assert message in ended.err
    assert (club / "codes" / "city-1.csv").read_text() == "n,never\n"
