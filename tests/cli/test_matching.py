"""``heptox subscription match``: which lines of a file which documents match, and what is said of what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from heptox.cli import matching
from tests.cli.running import Ended, heptox_ended
from tests.peer.daemons import heptox

SUBSCRIPTIONS = "# two kinds\n/a/b\n\n//b[c > 1][@x]\n  //c = 2\n/z or //c[. = 'two']\n"
DOCUMENTS = {"one.xml": "<a><b x=''><c>2</c></b></a>", "two.xml": "<a><c>two</c></a>", "none.xml": "<x/>"}
COURSES = Path(__file__).parents[2] / "examples" / "courses"
PLANS = ("auto", "memory", "relational", "shared", "bucketed", "unrolled")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("subscriptions.txt").write_text(SUBSCRIPTIONS)
    Path("bad.txt").write_text("/a/b\n/a[count(b) > 1]\n//c\n/a[\n")
    Path("bad.xml").write_text("<a><")
    for name, text in DOCUMENTS.items():
        Path(name).write_text(text)


def match(*arguments: str, stdin: str = "") -> Ended:
    return heptox_ended("subscription", "match", *arguments, stdin=stdin)


@pytest.mark.parametrize("plan", PLANS)
def test_matches_are_in_order(plan: str) -> None:
    ended = match("subscriptions.txt", "two.xml", "none.xml", "one.xml", "two.xml", "--plan", plan)
    assert ended == Ended(0, "two.xml\t6\none.xml\t2\none.xml\t4\none.xml\t5\ntwo.xml\t6\n", "")


def test_json_names_each_document() -> None:
    ended = match("subscriptions.txt", "one.xml", "none.xml", "--json")
    assert ended.code == 0
    assert json.loads(ended.out) == [{"document": "one.xml", "lines": [2, 4, 5]}, {"document": "none.xml", "lines": []}]


def test_json_tells_a_document_that_was_skipped_from_one_that_matches_nothing() -> None:
    ended = match("subscriptions.txt", "none.xml", "bad.xml", "--json", "--skip-bad")
    assert ended.code == 3
    assert json.loads(ended.out) == [{"document": "none.xml", "lines": []}, {"document": "bad.xml", "lines": None}]


def test_no_match_prints_nothing() -> None:
    assert match("subscriptions.txt", "none.xml") == Ended(0, "", "")
    Path("empty.txt").write_text("\n# nothing\n")
    assert match("empty.txt", "one.xml") == Ended(0, "", "")


def test_standard_input_is_read_once() -> None:
    assert match("subscriptions.txt", "-", stdin=DOCUMENTS["two.xml"]).out == "-\t6\n"
    assert match("-", "two.xml", stdin="//c\n").out == "two.xml\t1\n"
    assert match("-", "-").code == 2


@pytest.mark.parametrize("plan", ["memory", "shared"])
def test_bad_lines(plan: str) -> None:
    ended = match("bad.txt", "one.xml", "--plan", plan)
    assert (ended.code, ended.out) == (1, "")
    first, second = ended.err.splitlines()
    assert first.startswith("bad.txt:2:4: HX3060 the function count()")
    assert second.startswith("bad.txt:4:4: HX3001")
    skipping = match("bad.txt", "one.xml", "--plan", plan, "--skip-bad")
    assert skipping == Ended(3, "one.xml\t1\none.xml\t3\n", ended.err)


@pytest.mark.parametrize("plan", ["memory", "shared"])
def test_lines_that_are_not_utf8(plan: str) -> None:
    Path("latin.txt").write_bytes(b"//b\n//b = '\xe9'\n//c\n")
    told = "latin.txt:2:8: HX1003 the line is not UTF-8 (save it as UTF-8)\n"
    assert match("latin.txt", "one.xml", "--plan", plan) == Ended(1, "", told)
    skipping = match("latin.txt", "one.xml", "--plan", plan, "--skip-bad")
    assert skipping == Ended(3, "one.xml\t1\none.xml\t3\n", told)


def test_a_document_is_named_as_it_was_given(tmp_path: Path) -> None:
    name = os.fsdecode(b"n\xe9.xml")
    Path(name).write_text(DOCUMENTS["two.xml"])
    command = [sys.executable, "-m", "heptox", "subscription", "match", "subscriptions.txt", name]
    assert subprocess.run(command, capture_output=True, check=True, cwd=tmp_path).stdout == b"n\xe9.xml\t6\n"
    told = subprocess.run([*command, "--json"], capture_output=True, check=True, cwd=tmp_path).stdout
    assert json.loads(told) == [{"document": name, "lines": [6]}]
    Path(name).write_text("<a>")
    assert match("subscriptions.txt", name).err.startswith("n\\xe9.xml:1:4: HX1002")


@pytest.mark.parametrize("plan", ["memory", "shared"])
def test_bad_documents(plan: str) -> None:
    documents = ("one.xml", "bad.xml", "absent.xml", "two.xml")
    ended = match("subscriptions.txt", *documents, "--plan", plan)
    assert (ended.code, ended.out) == (1, "")
    first, second = ended.err.splitlines()
    assert first.startswith("bad.xml:1:5: HX1002")
    assert second.startswith("absent.xml: HX1001")
    skipping = match("subscriptions.txt", *documents, "--plan", plan, "--skip-bad")
    assert skipping == Ended(3, "one.xml\t2\none.xml\t4\none.xml\t5\ntwo.xml\t6\n", ended.err)


def test_a_file_that_is_not_there() -> None:
    ended = match("absent.txt", "one.xml", "--skip-bad")
    assert (ended.code, ended.out) == (1, "")
    assert "absent.txt: HX1001" in ended.err


def test_one_bad_line_among_many() -> None:
    lines = [f"/a/b{number}" for number in range(20_000)]
    lines[12_345] = "/a/@@b"
    Path("many.txt").write_text("\n".join(lines))
    ended = match("many.txt", "one.xml")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("many.txt:12346:4: HX3001")
    assert ended.err.count("\n") == 1


def test_very_many_faults_are_counted() -> None:
    Path("many.txt").write_text("/a[\n" * (matching.MOST_FAULTS + 7))
    ended = match("many.txt", "one.xml")
    assert len(ended.err.splitlines()) == matching.MOST_FAULTS + 1
    assert ended.err.endswith("and 7 more\n")
    ended = match("many.txt", "one.xml", "--skip-bad")
    assert (ended.code, len(ended.err.splitlines())) == (3, matching.MOST_FAULTS + 7), "all that is left out is told"


@pytest.mark.parametrize("plan", PLANS)
def test_explain(plan: str) -> None:
    ended = match("subscriptions.txt", "one.xml", "--plan", plan, "--explain")
    assert (ended.code, ended.out) == (0, "one.xml\t2\none.xml\t4\none.xml\t5\n")
    chosen = "memory: 4 lines" if plan == "auto" else f"{plan}: as asked"
    assert ended.err.startswith(f"plan {chosen}")
    assert "4 subscriptions, 1 branching patterns; predicates: 3 existence, 2 =, 1 >" in ended.err
    assert "tag paths" in ended.err
    assert "ms reading and matching the documents" in ended.err


def test_more_than_memory_is_for_goes_to_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_IN_MEMORY", 3)
    ended = match("subscriptions.txt", "one.xml", "--explain")
    assert (ended.code, ended.out) == (0, "one.xml\t2\none.xml\t4\none.xml\t5\n")
    assert ended.err.startswith("plan relational: 4 lines are more than 3")


def test_no_such_plan() -> None:
    ended = match("subscriptions.txt", "one.xml", "--plan", "best")
    assert ended.code == 2
    assert all(plan in ended.err for plan in PLANS)


def test_a_master_matches_by_one_plan_and_is_there() -> None:
    ended = match("subscriptions.txt", "one.xml", "--master", "local[2]", "--plan", "shared")
    assert ended.code == 2 and "--master matches by the plan unrolled, not by shared" in ended.err
    ended = match("subscriptions.txt", "bad.xml", "--master", "spark://127.0.0.1:9")
    assert (ended.code, ended.out) == (1, "") and "bad.xml:1:" in ended.err
    # in a process of its own: here may be a session already, which other tests share
    alone = heptox("subscription", "match", "subscriptions.txt", "one.xml", "--master", "spark://127.0.0.1:9")
    assert alone.returncode == 4 and "HX8003" in alone.stderr


@pytest.mark.usefixtures("shared_spark")
def test_spark_matches_as_others_do() -> None:
    Path("few.txt").write_text("//zz\n/a/b\n")
    expected = match("few.txt", "two.xml", "one.xml")
    assert expected.out
    ended = match("few.txt", "two.xml", "bad.xml", "one.xml", "--master", "local[2]", "--skip-bad")
    assert (ended.code, ended.out) == (3, expected.out), ended.err
    assert "bad.xml:1:" in ended.err


# -- in other words ---------------------------------------------------------------------------------------------------

ARROWS = str(COURSES / "uwm-reed.arrows")
WORDS = "//course[crse = '101'][sect = 'b']\n//place/room > 1\n\n//course[units > 3]/title = 'Flow'\n"
SECTION = (
    "<section_listing><section_note/><section>{}</section><days/><hours><start/><end/></hours>"
    "<bldg_and_rm><bldg/><rm/></bldg_and_rm><instructor/></section_listing>"
)
CATALOGUE = (
    "<root><course_listing><note/><course>101</course><title>Flow</title><credits>4</credits><level/><restrictions/>"
    f"{SECTION.format('a')}{SECTION.format('b')}</course_listing></root>"
)


@pytest.fixture
def catalogue() -> None:
    Path("reed.txt").write_text(WORDS)
    Path("uwm.xml").write_text(CATALOGUE)
    Path("empty.xml").write_text("<root/>")


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize("way", ["auto", "qra", "sdr", "nddr", "iddr"])
def test_subscriptions_in_other_words_match_what_they_mean(way: str) -> None:
    ended = match("reed.txt", "uwm.xml", "empty.xml", "--arrows", ARROWS, "--way", way)
    assert ended == Ended(0, "uwm.xml\t1\nuwm.xml\t4\n", "")


@pytest.mark.usefixtures("catalogue")
def test_the_way_is_explained() -> None:
    ended = match("reed.txt", "uwm.xml", "--arrows", ARROWS, "--explain")
    assert ended.code == 0 and "way iddr: operators express the mapping" in ended.err
    hospital = str(COURSES.parent / "hospital" / "montreal-boston.arrows")
    Path("boston.txt").write_text("//Coronary/Patient\n")
    Path("montreal.xml").write_text("<MonGenHosp/>")
    ended = match("boston.txt", "montreal.xml", "--arrows", hospital, "--explain")
    assert ended.code == 0 and "way nddr: documents are exchanged: a rule has conditions" in ended.err


@pytest.mark.usefixtures("catalogue")
def test_the_way_changes_when_rewriting_has_taken_long() -> None:
    sections = "".join(SECTION.format(number) for number in range(60))
    Path("long.xml").write_text(CATALOGUE.replace(SECTION.format("a"), sections))
    Path("one.txt").write_text("//course[title = 'Flow'][sect = '7']\n")
    ended = match("one.txt", "long.xml", "long.xml", "--arrows", ARROWS, "--explain")
    assert (ended.code, ended.out) == (0, "long.xml\t1\nlong.xml\t1\n")
    assert "way qra: rewriting has taken some" in ended.err


@pytest.mark.usefixtures("catalogue")
def test_what_is_wrong_in_other_words_is_told_with_its_place() -> None:
    Path("reed.txt").write_text("//title\n//place = '9'\n")
    Path("other.xml").write_text("<other/>")
    ended = match("reed.txt", "uwm.xml", "--arrows", ARROWS)
    assert ended.code == 1 and not ended.out and "reed.txt:2:3: HX9068" in ended.err
    ended = match("reed.txt", "other.xml", "uwm.xml", "--arrows", ARROWS, "--skip-bad", "--way", "nddr", "--json")
    assert ended.code == 3 and "other.xml:1:1" in ended.err
    assert json.loads(ended.out) == [{"document": "other.xml", "lines": None}, {"document": "uwm.xml", "lines": [1]}]


@pytest.mark.usefixtures("catalogue")
def test_a_way_needs_a_mapping_and_memory() -> None:
    assert match("reed.txt", "uwm.xml", "--way", "qra").code == 2
    assert match("reed.txt", "uwm.xml", "--arrows", ARROWS, "--plan", "shared").code == 2


@pytest.mark.usefixtures("catalogue", "shared_spark")
def test_documents_are_matched_in_other_words_on_spark() -> None:
    Path("other.xml").write_text("<other/>")
    asked = ("reed.txt", "uwm.xml", "other.xml", "empty.xml", "--arrows", ARROWS)
    ended = match(*asked, "--master", "local[2]", "--way", "nddr", "--skip-bad")
    assert ended.code == 3 and ended.out == "uwm.xml\t1\nuwm.xml\t4\n" and "other.xml: HX9103" in ended.err


NAMED = {
    "named.xml": '<a xmlns="urn:a"><p:b xmlns:p="urn:b" p:x="1" x="2"/></a>',
    "other.xml": '<a xmlns="urn:other"><b x="1"/></a>',
}


def write_named(text: str) -> None:
    Path("named.txt").write_text(text)
    for name, document in NAMED.items():
        Path(name).write_text(document)


@pytest.mark.parametrize("plan", ["memory", "relational"])
def test_prefixes_are_bound_by_the_file_and_by_options(plan: str) -> None:
    write_named('# names\ndeclare namespace q = "urn:b";\n\n//q:b[@q:x = 1]\n/a/*\n//Q{urn:other}b\n/Q{}a\n//o:b\n')
    found = match("named.txt", *NAMED, "--namespace", "o=urn:other", "--namespace", "=urn:a", "--plan", plan)
    assert found == Ended(0, "named.xml\t4\nnamed.xml\t5\nother.xml\t6\nother.xml\t8\n", "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("//p:b\n", "named.txt:1:3: HX3066 the prefix p is not bound"),
        ('declare namespace p = "urn:p"; //p:b\n', "named.txt:1:32: HX3001 this is no declaration of a namespace"),
        ('declare namespace p = "{}";\n', "named.txt:1:24: HX3001 a namespace has no braces"),
        ('declare namespace p="a";\ndeclare namespace p="b";\n', "named.txt:2:1: HX3001 the prefix p is declared"),
    ],
)
def test_prefixes_that_cannot_be_read_are_told(text: str, told: str) -> None:
    write_named(text)
    ended = match("named.txt", *NAMED)
    assert ended.code == 1
    assert told in ended.err


@pytest.mark.parametrize("argument", ["p", "=", "p=", "xml=urn:x", "1=urn:x", "p={}"])
def test_an_option_that_binds_no_prefix_is_refused(argument: str) -> None:
    write_named("//b\n")
    ended = match("named.txt", "named.xml", "--namespace", argument)
    assert ended.code == 2
    assert "write PREFIX=NAMESPACE" in " ".join(ended.err.split())
