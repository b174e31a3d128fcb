"""Reports of emulations: their numbers, what they leave out, and that no name breaks them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, html

from heptox.cluster import print_outcome, report_text, report_value, times_value, write_report
from heptox.cluster.outcome import Check, NetworkOutcome, Outcome, PathOutcome, QueryOutcome
from heptox.cluster.report import json_text, outcome_drawings, paths_text
from heptox.cluster.summary import (
    answer_curve,
    breakdown,
    evaluation_times,
    labels,
    network_time,
    peer_curve,
    time_of,
    translation_times,
)
from heptox.cluster.tables import Table, plain_console
from heptox.errors import ClusterError
from heptox.peer import Status
from tests.cluster.outcomes import EMPTY, SILENT, measured, outcome

HOSTILE = "<script>alert('&\"')</script>]]>--><!-- $\\frac{x}$ \x1b[2J\n\ud800 url(#x) #0072b2"
FAILED = Check(5, 8, 1, 2, ("peer 3 gave <item>9</item> for Q1", "path 0 2 5 misses items untold"))

TEXT = """\
the check passed: 5 pairs of a peer and a query evaluated anew, 8 paths compared

Plan
setting       value
evaluate_ms      10
peers             6
queries          Q1
schemas           2
seed              7
translate_ms      2

Network
                     value
peers                    6
schemas                  2
peers under auction      4
peers under flat         2
acquaintances            7
fewest of a peer         2
most of a peer           3

Paths
query  asker  paths  asked  peers reached  answered  nothing to say  refused  timed out  unreachable  failed
Q1         0      7      5              4         4               1        1          1            0       0
A path leads from the asker to another peer; it is asked when the query arrives there.

Answers
query  items  expected  arrived  complete  ASPL
Q1         9        12   75.0 %  NO        1.33
Items are different ones. Complete is what the receipt says. ASPL: hops to a peer that answered, on average.

Arrival, virtual ms
query  first item   half   90 %    all      end
Q1            2.0  200.0  400.0  400.0  1,200.5
The virtual clock begins when the query is asked. At its end the asker knows what became of every path.

Supersteps
                               value
supersteps                         3
peers at work in one, at most      3
events                             7
messages                           6
translations made                  6
statements made                    2

Messages
kind     messages    bytes
answers         4  52.0 kB
query           7    700 B
all            11  52.7 kB
Lost on the way: 1. Departures of peers: 2.

Times of queries, ms
query  AQTT  MQTT  evaluation  evaluation, most  translation  network  answering
Q1     18.4  30.0         4.0               5.0         17.5    259.8        4.0
AQTT, MQTT: average and maximum time of the translations along a path that was asked. Evaluation: at the end
of a path that answered. The last three are averages over the paths that brought items; network is virtual.

Times of supersteps, s
         value
median    0.30
maximum   0.50
all       1.00

Work
                  value
documents, s       1.50
supersteps, s      1.00
all, s             2.50
memory at most   2.5 GB
machine         2 cores
"""


def everything(of: Outcome, folder: Path) -> dict[str, bytes]:
    """All files of a report by their names."""
    return {file.name: file.read_bytes() for file in write_report(of, folder)}


def read_page(files: dict[str, bytes]) -> Any:
    """The page among the files of a report, as a browser reads it."""
    return html.document_fromstring(files["report.html"].decode())


def drawn(svg: bytes) -> str:
    """All texts of a figure."""
    root: Any = etree.fromstring(svg)
    return "".join(root.itertext())


def test_the_text_has_every_table() -> None:
    assert report_text(outcome()) == TEXT


def test_numbers_follow_their_definitions() -> None:
    query = outcome().queries[0]
    assert translation_times(query).average == pytest.approx((12 + 8 + 30 + 20 + 22) / 5), "of the paths asked alone"
    assert (translation_times(query).count, translation_times(query).maximum) == (5, 30)
    assert (evaluation_times(query).count, evaluation_times(query).average) == (4, 4), "not of the asker itself"
    assert query.semantic_path_length == pytest.approx((1 + 1 + 2) / 3)
    plan = {"translate_ms": 2, "evaluate_ms": 10}
    assert [network_time(path, plan) for path in query.paths] == [0, 188, 149, 386, 316, None, None, None]
    parts = breakdown(query, plan)
    assert parts and (parts.paths, parts.translation, parts.network, parts.evaluation) == (4, 17.5, 259.75, 4)
    assert parts.total == 281.25
    assert answer_curve(query) == ((2, 3 / 17), (161, 5 / 17), (200, 9 / 17), (330, 13 / 17), (400, 1))
    assert peer_curve(query) == ((2, 0.25), (161, 0.5), (200, 0.75), (400, 1)), "peer 3 has two paths"
    assert [time_of(answer_curve(query), part) for part in (0.1, 0.5, 1)] == [2, 200, 400]


def test_queries_of_several_askers_are_told_apart() -> None:
    one = outcome("Q1", "Q2").queries
    assert labels((*one, replace(one[0], asker=5))) == ("Q1 from 0", "Q2", "Q1 from 5")


def test_the_report_is_the_same_and_has_nothing_measured(tmp_path: Path) -> None:
    first = everything(outcome("Q1", "Q2"), tmp_path / "1")
    again = everything(outcome("Q1", "Q2"), tmp_path / "2")
    assert first == again
    other = everything(measured(outcome("Q1", "Q2"), lambda value: value * 17.3 + 5), tmp_path / "3")
    same = {name for name, content in other.items() if content == first[name]}
    assert same == {"report.json", "paths.csv", "arrival.svg", "hops.svg"}
    assert list(tmp_path.glob("**/.*")) == []


def test_any_other_change_is_seen_in_the_report() -> None:
    of = outcome()
    query = of.queries[0]
    path = query.paths[3]
    for changed in (
        replace(of, lost=2),
        replace(of, supersteps=of.supersteps[:2]),
        replace(of, queries=(replace(query, items=8),)),
        replace(of, queries=(replace(query, paths=(*query.paths[:3], replace(path, first=311.0), *query.paths[4:])),)),
    ):
        assert json_text(report_value(changed)) != json_text(report_value(of))


def test_json_is_sorted_rounded_and_has_null_for_what_there_is_not() -> None:
    of = replace(outcome(), queries=(QueryOutcome("Q1", 0, (), 0, 0, True, 0.1 + 0.2),))
    text = json_text(report_value(of))
    value = json.loads(text)
    assert text == f"{json.dumps(value, indent=1, sort_keys=True)}\n"
    query = value["queries"][0]
    assert (query["concluded"], query["arrived"], query["first"]) == (0.3, None, None)
    assert query["brought"] == {"50%": None, "90%": None, "100%": None}
    assert report_value(replace(of, plan={"delay_ms": -0.0, "file": Path("x"), "share": float("inf")}))["plan"] == {
        "delay_ms": 0.0,
        "file": "x",
        "share": None,
    }


def test_times_are_by_part_superstep_and_query() -> None:
    value = times_value(outcome())
    assert (value["seconds"], value["all_seconds"]) == ({"documents": 1.5, "supersteps": 1.0}, 2.5)
    assert value["supersteps"] == {"seconds": [0.2, 0.5, 0.3], "median": 0.3, "maximum": 0.5}
    assert value["queries"][0]["translation"] == {"count": 5, "average": 18.4, "maximum": 30}
    assert value["queries"][0]["breakdown"]["network"] == 259.75
    assert (value["memory"], value["machine"]) == (2_500_000_000, "2 cores")


def test_paths_are_rows() -> None:
    rows = list(csv.DictReader(paths_text(outcome("Q1", "Q2")).splitlines()))
    assert len(rows) == 16
    assert rows[1] == {
        "query": "Q1",
        "asker": "0",
        "path": "0 1",
        "status": "answered",
        "items": "4",
        "beyond": "False",
        "reason": "",
        "arrived": "75.0",
        "first": "160.0",
        "last": "200.0",
    }
    assert (rows[6]["status"], rows[6]["reason"], rows[6]["arrived"]) == ("refused", "a union is asked", "")


@pytest.mark.parametrize("of", [EMPTY, SILENT, outcome(HOSTILE), outcome(check=FAILED)])
def test_pages_are_whole_and_need_nothing_else(of: Outcome, tmp_path: Path) -> None:
    files = everything(of, tmp_path)
    page = files["report.html"].decode()
    document = read_page(files)
    assert document.xpath("//script | //link | //iframe | //img | //object | //base | //*[local-name()='image']") == []
    attributes = {(name, str(value)) for element in document.iter() for name, value in element.attrib.items()}
    assert not any(name.startswith("on") for name, _ in attributes)
    assert all(value.startswith("#") for name, value in attributes if name in ("href", "src", "xlink:href"))
    assert not re.search(r"url\((?!#)|@import", page)
    names = [str(name) for name in document.xpath("//@id")]
    assert len(names) == len(set(names))
    for target in re.findall(r"(?:href=\"|url\()#([^\")]+)", page):
        assert target in names or target == "x", "that of the hostile name stands in a text"
    for header in document.xpath("//table//th"):
        assert header.get("scope") in ("col", "row")
    assert len(document.xpath("//figure//svg[@role='img'][@aria-label]")) == 3
    for name, content in files.items():
        if name.endswith(".svg"):
            assert etree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_hostile_names_are_texts_everywhere(tmp_path: Path) -> None:
    of = outcome(HOSTILE)
    path = PathOutcome((0, 1), Status.FAILED, 0, True, HOSTILE)
    of = replace(
        of,
        network=NetworkOutcome({HOSTILE: 2}, 1, 1, 1),
        queries=(replace(of.queries[0], paths=(*of.queries[0].paths, path)),),
        messages={HOSTILE: 1},
        check=Check(1, 1, 1, 0, (HOSTILE,)),
        times=replace(of.times, cpu=HOSTILE),
    )
    files = everything(of, tmp_path)
    for content in files.values():
        assert b"\x1b" not in content
    texts = "\n".join(read_page(files).itertext())
    escaped = "<script>alert('&\"')</script>]]>--><!-- $\\frac{x}$ \\u001b[2J\\u000a\\ud800 url(#x) #0072b2"
    assert texts.count(escaped) >= 5
    assert escaped in files["report.txt"].decode()
    assert json.loads(files["report.json"])["queries"][0]["name"] == HOSTILE
    for name in ("hops.svg", "arrival.svg", "breakdown.svg"):
        assert "<script>alert('&\"…" in drawn(files[name])


def test_nothing_happened_and_the_report_says_so() -> None:
    assert report_text(EMPTY).startswith("nothing was checked\n")
    value = report_value(EMPTY)
    assert (value["queries"], value["supersteps"], value["check"]["passed"]) == ([], [], True)
    assert times_value(EMPTY)["supersteps"] == {"seconds": [], "median": None, "maximum": None}
    assert [b"no queries" in drawing.svg for drawing in outcome_drawings(EMPTY)] == [True, True, True]
    assert [
        words in drawing.svg
        for words, drawing in zip((b"no answers", b"no paths", b"no items"), outcome_drawings(SILENT), strict=True)
    ] == [True, True, True]


def test_a_failed_check_is_loud_in_every_form(tmp_path: Path) -> None:
    files = everything(outcome(check=FAILED), tmp_path)
    said = "THE CHECK FAILED: 1 wrong item, 2 paths that miss items untold"
    lines = files["report.txt"].decode().splitlines()
    assert (lines[0], lines[1]) == (said, "  peer 3 gave <item>9</item> for Q1")
    assert said in lines[-3:], "whoever looks at the end sees it too"
    alert = read_page(files).xpath("//*[@role='alert']")[0]
    assert alert.text_content().startswith(said)
    assert [item.text_content() for item in alert.iter("li")] == list(FAILED.faults)
    check = json.loads(files["report.json"])["check"]
    assert (check["passed"], check["wrong"], check["untold"], check["faults"]) == (False, 1, 2, list(FAILED.faults))


def test_a_status_that_is_rare_has_a_column_where_it_occurs() -> None:
    of = outcome()
    denied = PathOutcome((0, 5), Status.DENIED, 0, True)
    text = report_text(replace(of, queries=(replace(of.queries[0], paths=(denied,)),)))
    assert "denied" in text
    assert "cancelled" not in text


@pytest.mark.parametrize("blocked", ["the folder", "a file"])
def test_a_report_that_cannot_be_written_is_an_error_that_names_the_file(tmp_path: Path, blocked: str) -> None:
    folder = tmp_path / "out"
    if blocked == "the folder":
        folder.write_text("a file")
        place = folder
    else:
        place = folder / "report.html"
        place.mkdir(parents=True)
    with pytest.raises(ClusterError) as raised:
        write_report(EMPTY, folder)
    assert [(fault.code, fault.file) for fault in raised.value.faults] == [("HX8050", str(place))]
    assert list(tmp_path.glob("out/.*")) == []


def test_a_report_replaces_the_one_before_and_is_readable_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_report(outcome(), tmp_path)
        page = write_report(EMPTY, tmp_path)[0]
    finally:
        os.umask(before)
    assert page.name == "report.html"
    assert page.stat().st_mode & 0o777 == 0o644
    assert json.loads((tmp_path / "report.json").read_text())["queries"] == []


def test_tables_have_whole_rows() -> None:
    with pytest.raises(ValueError, match="does not have 2 cells"):
        Table("t", ("a", "b"), (("1",),))


def test_a_report_is_printed_as_the_text_has_it() -> None:
    file = io.StringIO()
    print_outcome(plain_console(file), outcome())
    assert file.getvalue() == TEXT
