"""``heptox map test``: exit codes, what is told to people and to programs, and the command that repeats a finding."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path
from typing import Final
from unittest import mock

import pytest
from rich.console import Console

from heptox.cli import verifying
from tests.cli.running import HOSPITAL, heptox_ended

ARROWS: Final = HOSPITAL / "montreal-boston.arrows"
KEYED: Final = """source "bib.dtd"
target "list.dtd"
source key book/@isbn
book/@isbn -> w/@n
book/title -> w/t
"""


@pytest.fixture
def keyed(tmp_path: Path) -> Path:
    (tmp_path / "bib.dtd").write_text(
        "<!ELEMENT bib (book*)> <!ELEMENT book (title)> <!ATTLIST book isbn CDATA #REQUIRED> <!ELEMENT title (#PCDATA)>"
    )
    (tmp_path / "list.dtd").write_text(
        "<!ELEMENT list (w*)> <!ELEMENT w (t)> <!ATTLIST w n CDATA #REQUIRED> <!ELEMENT t (#PCDATA)>"
    )
    file = tmp_path / "keyed.arrows"
    file.write_text(KEYED)
    return file


def test_what_is_right_passes() -> None:
    ended = heptox_ended("map", "test", ARROWS, "--cases", "5")
    assert ended.code == 0
    assert ended.out.startswith(f"{ARROWS}: no counterexample in 5 cases from seed 1; checks: ")
    assert " along (" in ended.out and " against (" in ended.out
    assert [line.split(":")[0] for line in ended.out.splitlines()].count("round trip") == 2
    assert all(line.startswith(("not translated: ", "stopped: ")) for line in ended.err.splitlines())


def test_the_same_seed_prints_the_same() -> None:
    runs = [heptox_ended("map", "test", ARROWS, "--cases", "3", "--seed", "9", "--json") for _ in range(2)]
    assert runs[0] == runs[1]
    found = json.loads(runs[0].out)
    assert (found["passed"], found["cases"], found["seed"], found["counterexample"]) == (True, 3, 9, None)
    assert set(found["checks"]) == set(found["answering"]) == {"along", "against"}
    assert found["repeat"] == shlex.join(["heptox", "map", "test", str(ARROWS), "--cases", "3", "--seed", "9"])


def test_what_is_assumed_is_told(keyed: Path) -> None:
    ended = heptox_ended("map", "test", keyed, "--cases", "5")
    assert ended.code == 0
    assert (
        "assumed: the source key book/@isbn, which is declared and not guaranteed by validity" in ended.err.splitlines()
    )


def test_a_key_that_documents_break_is_shown_and_repeated(keyed: Path) -> None:
    ended = heptox_ended("map", "test", keyed, "--any-valid", "--cases", "200")
    assert ended.code == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith(f"{keyed}: a counterexample to Definition 1, ")
    heads = [line.rstrip(":") for line in lines[1:] if not line.startswith(" ")]
    assert heads[0].startswith("query over the ")
    assert heads[2] in ("source document", "target document")
    assert heads[3:6] == ["its image", "the query answers", "its translation answers"]
    assert "assumed" not in ended.err
    place = next(number for number, line in enumerate(lines) if line.startswith("repeat: "))
    repeat = shlex.split(lines[place].removeprefix("repeat: "))
    assert repeat[0] == "heptox"
    assert repeat[-1] == "--any-valid"
    again = heptox_ended(*repeat[1:])
    assert again.code == 1
    assert again.out.splitlines()[1 : place + 1] == lines[1 : place + 1]
    as_json = json.loads(heptox_ended(*repeat[1:], "--json").out)
    example = as_json["counterexample"]
    assert as_json["passed"] is False
    assert f"  {example['query'].splitlines()[0]}" in lines
    assert example["expected"] != example["found"]
    assert max(example["document"].count(element) for element in ("<book ", "<w ")) == 2


def test_a_document_that_breaks_what_is_declared(keyed: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.xml"
    given.write_text('<bib><book isbn="1"><title>a</title></book>\n<book isbn="1"><title>a</title></book></bib>')
    ended = heptox_ended("map", "test", keyed, "--cases", "2", "--document", given)
    assert ended.code == 1
    assert ended.err.splitlines()[0].startswith(f"{given}:2:1: HX5011 the key book/@isbn has the value '1' again")


def test_a_document_that_is_not_valid_is_refused(keyed: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.xml"
    given.write_text("<bib><book/></bib>")
    ended = heptox_ended("map", "test", keyed, "--document", given)
    assert (ended.code, ended.out) == (1, "")
    assert all(" HX2007 " in line for line in ended.err.splitlines())


def test_a_target_document_is_taken_too(keyed: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.xml"
    given.write_text('<list><w n="1"><t>a</t></w></list>')
    ended = heptox_ended("map", "test", keyed, "--cases", "2", "--document", given, "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["round_trips"]["target"]["documents"] == 7


def test_a_direction_that_is_not_tested_is_told(keyed: Path) -> None:
    keyed.write_text(KEYED.replace("w/@n", "w/@n oneway").replace("w/t", "w/t oneway"))
    ended = heptox_ended("map", "test", keyed, "--cases", "2")
    assert ended.code == 1
    assert f"{keyed}: nothing was tested against: no rule makes documents of bib: no line is read against" in ended.err


def test_the_line_that_mends_a_mapping_is_printed(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT s (i*)><!ELEMENT i (t, u*)><!ELEMENT t (#PCDATA)><!ELEMENT u (#PCDATA)>")
    (tmp_path / "t.dtd").write_text("<!ELEMENT r (b*)><!ELEMENT b (n, o*)><!ELEMENT n (#PCDATA)><!ELEMENT o (#PCDATA)>")
    file = tmp_path / "m.arrows"
    file.write_text('source "s.dtd"\ntarget "t.dtd"\ni/t -> b/n\ni/u -> b/o\n')
    given = tmp_path / "d.xml"
    given.write_text("<s><i><t>x</t><u>1</u></i><i><t>x</t><u>2</u></i></s>")
    ended = heptox_ended("map", "test", file, "--cases", "5", "--document", given)
    assert ended.code == 0
    assert "this line mends it:\n  each i -> b\n" in ended.out
    file.write_text(f"{file.read_text()}each i -> b\n")
    ended = heptox_ended("map", "test", file, "--cases", "5", "--document", given)
    assert ended.code == 0
    assert "this line mends it" not in ended.out


@pytest.mark.parametrize("arguments", [("--documents-of", "both"), ("--cases", "0"), ("--seed", "x"), ("--cases",)])
def test_wrong_usage(keyed: Path, arguments: tuple[str, ...]) -> None:
    assert heptox_ended("map", "test", keyed, *arguments).code == 2


def test_a_mapping_with_faults_is_not_tested(tmp_path: Path) -> None:
    ended = heptox_ended("map", "test", tmp_path / "no.arrows")
    assert (ended.code, ended.out) == (1, "")
    assert " HX1001 " in ended.err


def test_on_a_terminal_a_bar_is_drawn_and_taken_away() -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    drawn = Console(file=terminal, force_terminal=True)
    with (
        mock.patch.object(sys, "stderr", terminal),
        mock.patch.object(verifying, "Console", return_value=drawn),
        verifying._progress(3) as told,
    ):
        for what in ("case", "case", "shrink"):
            told(what)
    assert "making the counterexample smaller" in terminal.getvalue()
    assert "2/3" in terminal.getvalue()
