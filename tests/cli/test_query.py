"""``heptox query``: what it prints where, and how it ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heptox.cli.answers import console, print_explanation, print_receipt
from heptox.cli.query import _ask
from heptox.demo import BOSTON, HOSPITAL, HOSPITALS, MONTREAL, QUESTIONS, Network
from heptox.peer import ItemLine, QuestionRequest, ReceiptLast, ReceiptLineModel, ReceiptModel, Status
from heptox.peer.models.control import Origin
from tests.cli.running import heptox_ended
from tests.peer.daemons import DEADLINE


def test_items_are_on_stdout_each_once_and_the_receipt_on_stderr(hospitals: Network) -> None:
    ended = heptox_ended("query", "--peer", hospitals.path(MONTREAL), "//Treat/Desc")
    assert ended.code == 0
    items = ended.out.splitlines()
    assert len(items) == len(set(items)) > 5
    assert all(item.startswith("<Desc>") for item in items)
    lines = ended.err.splitlines()
    assert lines[0] == f"the answer is complete: {len(items)} items"
    assert lines[1].split() == ["peer", "status", "items", "remark"]
    names = [one.name for one in HOSPITALS]
    ways = [" > ".join(names[: number + 1]) for number in range(3)]
    assert [line.split("  ")[0] for line in lines[2:]] == ways


def test_json_has_every_origin_and_the_receipt_last(hospitals: Network) -> None:
    plain = heptox_ended("query", "--peer", hospitals.path(MONTREAL), "//Treat/Desc")
    ended = heptox_ended("query", "--json", "--peer", hospitals.path(MONTREAL), "//Treat/Desc")
    assert (ended.code, ended.err) == (0, "")
    parts = [json.loads(line) for line in ended.out.splitlines()]
    assert {part["item"] for part in parts[:-1] if not part["repeated"]} == set(plain.out.splitlines())
    assert len({part["origin"]["name"] for part in parts[:-1]}) == 3
    assert parts[-1]["receipt"]["complete"]


def test_explain_shows_the_query_as_each_peer_got_it(hospitals: Network) -> None:
    file = HOSPITAL / "queries" / "example1.xq"
    ended = heptox_ended("query", "--explain", "--peer", hospitals.path(MONTREAL), "-f", file)
    assert ended.code == 0
    shown = [line.strip() for line in ended.err.splitlines()]
    for line in (
        "for $A in //Admission, $P in //Patient[@ID = $A/@PatRef]",
        "return <Name>{data($p2)}</Name>",
        "return <Name>{data($n)}</Name>",
    ):
        assert line in shown


def test_the_query_may_come_from_standard_input_and_the_peer_from_the_environment(
    hospitals: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEPTOX_PEER", str(hospitals.path(BOSTON)))
    ended = heptox_ended("query", "-", "--hops", "0", stdin=QUESTIONS[1].text)
    assert ended.code == 0
    assert [line.split("  ")[0] for line in ended.err.splitlines()[2:]] == [BOSTON.name]


def test_ones_own_peer_answers_any_xquery_over_its_own_documents(hospitals: Network) -> None:
    query = "for $p in //Patient group by $n := string($p/Name) order by $n return $n"
    at = ("--peer", hospitals.path(MONTREAL))
    ended = heptox_ended("query", *at, "--hops", "0", "--explain", query)
    assert ended.code == 0
    names = heptox_ended("query", *at, "--hops", "0", "data(//Patient/Name)").out.splitlines()
    assert list(map(json.loads, ended.out.splitlines())) == sorted(map(json.loads, names))
    lines = [line.strip() for line in ended.err.splitlines()]
    assert lines[1:3] == [query, "by Saxon: <text>:1:21: HX3002 clause group by is outside the query fragment"]
    assert lines[3] == f"the answer is complete: {len(ended.out.splitlines())} items"
    assert [line.split("  ")[0] for line in lines[5:]] == [MONTREAL.name]
    assert heptox_ended("query", *at, "--hops", "0", "//Patient ! 1").out == "1\n"
    joined = "count(//Admission/id(@PatRef)) = count(//Patient[@ID = //Admission/@PatRef]) and exists(//Admission)"
    assert heptox_ended("query", *at, "--hops", "0", joined).out == "true()\n"
    external = "declare variable $n external; //Patient[Name = $n] ! string(Name)"
    name = json.loads(names[0])
    ended = heptox_ended("query", *at, "--hops", "0", "--bind", f"n={name}", external)
    assert (ended.code, ended.out) == (0, f"{json.dumps(name)}\n")
    for arguments, code, message in (
        (("//Patient/..",), 1, "<text>:1:11: HX3070 "),
        (("--hops", "1", "//Patient/.."), 1, " HX3070 "),
        (("--hops", "0", "count(//Patient) +"), 1, "<text>:1:"),
        (("--hops", "0", "count(//Patient) div 0"), 1, "<text>:1:7: HX6017 FOAR0001: "),
        (("--hops", "0", "--bind", "m=1", external), 1, "HX3008 the query declares no external variable $m"),
        (("--hops", "0", "--bind", "n=1", "//Patient"), 1, "HX3008 the query declares no external variable $n"),
        (("--bind", "n=1", "--follow", external), 2, "--bind does not go with --follow"),
        (("--bind", "n=1", "//Patient"), 1, "HX3008 the query declares no external variable $n"),
        (("--hops", "0", "--timeout", "1", "declare function local:f($n) { local:f($n) }; local:f(1)"), 3, "HX6018"),
    ):
        ended = heptox_ended("query", *at, *arguments)
        assert (ended.code, ended.out, message in ended.err) == (code, "", True), (arguments, ended)


def test_what_peers_answer_is_counted_grouped_and_put_in_order(hospitals: Network) -> None:
    at = ("--peer", hospitals.path(MONTREAL))
    names = heptox_ended("query", *at, "--json", "//Patient/Name").out.splitlines()
    each = [json.loads(line)["item"] for line in names[:-1]]
    assert heptox_ended("query", *at, "count(//Patient/Name)").out == f"{len(each)}\n"
    ordered = heptox_ended("query", *at, "for $n in //Patient/Name order by $n descending return $n").out.splitlines()
    assert ordered == sorted(set(each), reverse=True)
    grouped = "for $t in //Treat group by $d := string($t/Desc) return count($t)"
    ended = heptox_ended("query", *at, "--explain", f"sum(({grouped})) = count(//Treat)")
    assert ended.out == "true()\n"
    lines = [line.strip() for line in ended.err.splitlines()]
    assert lines[0] == "$heptox-core1 is asked of peers:"
    assert "$heptox-core2 is asked of peers:" in lines
    assert lines[lines.index("computed here:") + 1].startswith("sum((for $heptox-tuple1 in $heptox-core1 let $t := ")
    assert lines[-1].startswith("added up over ")


def test_the_receipt_of_what_is_computed_says_how_it_counts(hospitals: Network) -> None:
    at = ("--peer", hospitals.path(MONTREAL))
    found = json.loads(heptox_ended("query", *at, "--json", "count(//Patient)").out.splitlines()[-1])["receipt"]
    assert (found["complete"], found["shell"]["text"]) == (True, "xs:integer(sum($heptox-core1/@n))")
    assert (len(found["shell"]["overlapping"]), found["shell"]["merged"], found["shell"]["conflicts"]) == (3, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("//Patient[",), 1, "<text>:1:11: HX3001"),
        (("count(//Patient) + 1 idiv 0",), 1, "HX6017 FOAR0001"),
        (("-f", "missing.xq"), 1, "missing.xq: HX1001"),
        (("//Patient", "--hops", "1000"), 1, "HX7021"),
        (("//Patient/Nmae",), 1, "<text>:1:11: HX3041 no node Nmae below MonGenHosp/Patient (did you mean Name?)"),
        (("/MassGeneral//Name",), 1, "the root is MonGenHosp"),
        (("//Patient/@id",), 1, "did you mean @ID?"),
        (("//a", "--hops", "-1"), 2, "--hops"),
        *(
            (("//a", "--timeout", number), 2, "Invalid value for '--timeout'")
            for number in ("0", "0.19", "86401", "inf", "-inf", "nan")
        ),
        (("//a", "--timeout", "soon"), 2, "--timeout"),
        ((), 2, "QUERY"),
        (("//a", "-f", "b.xq"), 2, "QUERY"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    hospitals: Network, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ended = heptox_ended("query", "--peer", hospitals.path(MONTREAL), *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_a_tag_in_a_box_that_only_a_value_has_made_may_be_named_and_a_misspelt_member_not(hospitals: Network) -> None:
    peer = hospitals.path(BOSTON)
    named = heptox_ended("query", "--peer", peer, "//Chest_x0020_pain/Patient")
    assert named.code == 0, named.err
    misspelt = heptox_ended("query", "--peer", peer, "//Pulmonry/Patient")
    assert (misspelt.code, misspelt.out) == (1, "")
    assert "HX3041" in misspelt.err and "did you mean /MassGeneral/Admission/Pulmonary?" in misspelt.err


def test_ones_own_peer_that_does_not_run_is_unreachable(tmp_path: Path) -> None:
    heptox_ended("peer", "init", tmp_path / "peer", "--schema", HOSPITAL / "mongenhosp.dtd")
    ended = heptox_ended("query", "--peer", tmp_path / "peer", "//a")
    assert (ended.code, ended.out) == (4, "")
    assert "HX7055 its daemon does not run (start it with `heptox peer start" in ended.err
    none = heptox_ended("query", "--peer", tmp_path, "//a")
    assert (none.code, none.out) == (1, "")
    assert none.err == f"{tmp_path}: HX7050 is no peer's folder (make one with `heptox peer init`)\n"


def test_on_a_terminal_an_item_stands_beside_its_origin_in_colour(hospitals: Network) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "heptox", "query", "--peer", str(hospitals.path(MONTREAL)), "//Treat/Desc"]
    environment = {**os.environ, "TERM": "xterm"} | {"NO_COLOR": ""}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        printed = b"".join(iter(lambda: _read(ours), b"")).decode()
    os.close(ours)
    assert process.returncode == 0
    assert re.search(r"\x1b\[36m(Montreal|Massachusetts) General *\x1b\[0m.*<Desc>", printed)
    assert "┃" in printed
    assert "the answer is complete" in printed


class Terminal(io.StringIO):
    """What is printed on a terminal."""

    def isatty(self) -> bool:
        return True


ITEM = '"\x1b[2J\r\x07\x9b31m\x7f\x85\tcaf\u00e9\nend"'
"""Each of its characters may be in a document, but for the first few."""
ORIGIN = Origin(peer="12D3", name="Boston", path=("Montreal", "Boston"))
QUESTION = QuestionRequest(query="//a")


def client() -> Any:
    """A client of a daemon that gives the item as the whole answer."""
    receipt = ReceiptModel(query="1", complete=True, items=1, lines=())
    answer = (ItemLine(item=ITEM, origin=ORIGIN, repeated=False), ReceiptLast(receipt=receipt))
    return SimpleNamespace(query=lambda _: iter(answer))


@pytest.mark.parametrize("json_lines", [False, True])
def test_control_characters_of_items_reach_no_terminal(json_lines: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    with contextlib.redirect_stdout(out):
        _ask(client(), QUESTION, json_lines)
    printed = re.sub("\x1b\\[[0-9;]*m", "", out.getvalue())
    assert not re.search(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]", printed)
    if json_lines:
        assert json.loads(printed.splitlines()[0])["item"] == ITEM
    else:
        escaped = '"\\u001b[2J\\u000d\\u0007\\u009b31m\\u007f\\u0085\tcaf\u00e9\nend"'
        assert printed.replace("\t", " ").split() == ["Boston", *escaped.replace("\t", " ").split()]


def test_items_are_as_they_came_where_there_is_no_terminal() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        _ask(client(), QUESTION, False)
    assert out.getvalue() == f"{ITEM}\n"


def test_what_is_said_of_peers_moves_no_terminal() -> None:
    line = ReceiptLineModel(
        peer="12D3",
        path=("A\x1b[2J",),
        name="A\x9b",
        status=Status.FAILED,
        complete=False,
        items=0,
        losses=("\x1b]0;",),
        reason="\x07",
        text="for\x1b",
        milliseconds=1,
        beyond=False,
    )
    receipt = ReceiptModel(query="1", complete=False, items=0, lines=(line,))
    err = Terminal()
    messages = console(err, plain=True)
    print_explanation(receipt, messages)
    print_receipt(receipt, messages)
    assert not re.search(r"[^\n\x20-\x7e]", err.getvalue())
    for escaped in ("A\\u001b[2J", "A\\u009b", "\\u001b]0;", "\\u0007", "for\\u001b"):
        assert escaped in err.getvalue()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the terminal is gone with its last user
        return b""


def test_asking_loads_no_network_of_its_own() -> None:
    program = (
        "import sys\nfrom heptox.cli import main\n"
        "try:\n    main(['query', '--peer', 'nowhere', '//a'])\nexcept SystemExit as end:\n    assert end.code == 1\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(*loaded & {'duckdb', 'fastapi', 'hypercorn', 'libp2p', 'pyarrow', 'pyspark'})\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=DEADLINE, check=True
    )
    assert ended.stdout == "\n"
