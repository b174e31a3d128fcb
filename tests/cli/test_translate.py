"""``heptox translate``: only the query on stdout, what is lost on stderr, refusals by name and place."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from shutil import copytree

import pytest

from heptox.demo.records import records
from heptox.translate import model
from tests.cli.running import HOSPITAL, heptox_ended

ARROWS = HOSPITAL / "montreal-boston.arrows"
QUERIES = HOSPITAL / "queries"


@pytest.mark.parametrize(
    ("query", "to", "hospital"),
    [("example1.xq", "target", "boston"), ("example2.xq", "source", "montreal"), ("treatments.xq", "target", "boston")],
)
def test_what_is_printed_is_a_query_that_the_other_hospital_answers(
    tmp_path: Path, query: str, to: str, hospital: str
) -> None:
    translated = heptox_ended("translate", ARROWS, "-f", QUERIES / query, "--to", to)
    assert (translated.code, translated.err) == (0, "")
    document = tmp_path / "document.xml"
    document.write_text(records(hospital, 100), encoding="utf-8")
    answered = heptox_ended("eval", "-", document, stdin=translated.out)
    assert (answered.code, answered.err) == (0, "")
    assert answered.out


def test_the_example_of_the_report_along_the_mapping() -> None:
    ended = heptox_ended("translate", ARROWS, "-f", QUERIES / "example1.xq", "--to", "target")
    words = set(ended.out.split())
    assert {"//Coronary,", "//Progress[@PatRef"} <= words or {"//Progress,", "//Coronary[@ID"} <= words
    assert '"12/25/2003"' in ended.out


def test_the_example_of_the_report_against_the_mapping() -> None:
    ended = heptox_ended("translate", ARROWS, "-f", QUERIES / "example2.xq", "--to", "source")
    assert '"Pulmonary"' in ended.out
    assert "<Desc>" in ended.out


def test_two_hops_are_two_translations(tmp_path: Path) -> None:
    boston = heptox_ended("translate", ARROWS, "-f", QUERIES / "example1.xq", "--to", "target").out
    stluke = heptox_ended("translate", HOSPITAL / "stluke-boston.arrows", "-", "--to", "source", stdin=boston)
    assert (stluke.code, stluke.err) == (0, "")
    document = tmp_path / "document.xml"
    document.write_text(records("stluke", 200), encoding="utf-8")
    assert "<Name>" in heptox_ended("eval", "-", document, stdin=stluke.out).out


def test_an_empty_translation_is_told_with_the_leaf_that_was_lost() -> None:
    ended = heptox_ended("translate", ARROWS, "//Treat/Doc", "--to", "target")
    assert (ended.code, ended.out) == (0, "()\n")
    assert ended.err.startswith("lost: Patient/Treat/Doc: ")


def test_explain_shows_the_four_steps_and_leaves_the_result_as_it_is() -> None:
    arguments = ("translate", ARROWS, "-f", QUERIES / "example1.xq", "--to", "target")
    plain, explained = heptox_ended(*arguments), heptox_ended(*arguments, "--explain")
    assert (explained.code, explained.out) == (plain.code, plain.out)
    steps = [line.partition(":")[0] for line in explained.err.splitlines() if not line.startswith(" ")]
    assert steps == ["expand", "unfold", "contract", "stitch"]


@pytest.mark.parametrize(
    ("query", "place", "named"),
    [
        ("for $p in //Patient return count($p/Treat)", "<text>:1:", "count()"),
        ("for $p in //Patient where not($p/Treat) return $p/@ID", "HX5008 ", "Treat"),
        ("following::x", "<text>:1:1:", "following"),
        ("//Patient[Name = ", "<text>:1:", "HX3001"),
    ],
)
@pytest.mark.parametrize("to", ["source", "target"])
def test_what_is_outside_the_fragment_is_refused_by_name_and_place(query: str, place: str, named: str, to: str) -> None:
    query = (
        query
        if to == "target"
        else query.replace("Patient", "Progress").replace("Treat", "Treatment").replace("@ID", "@PatRef")
    )
    ended = heptox_ended("translate", ARROWS, query, "--to", to)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith(place)
    assert named in ended.err


@pytest.mark.parametrize(
    ("query", "to"),
    [
        ("for $p in //Patient where not($p/Treat) return $p/@ID", "target"),
        ("for $p in //Progress where not($p/Treatment) return $p/@PatRef", "source"),
    ],
)
def test_the_line_that_a_refused_absence_names_helps(tmp_path: Path, query: str, to: str) -> None:
    copytree(HOSPITAL, tmp_path, dirs_exist_ok=True)
    arrows = tmp_path / Path(ARROWS).name
    refused = heptox_ended("translate", arrows, query, "--to", to)
    line = "each Patient -> Progress"
    assert f"write {line}, " in refused.err
    arrows.write_text(f"{arrows.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")
    assert "empty($p/Treat" in heptox_ended("translate", arrows, query, "--to", to).out


def test_a_translation_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_SECONDS", -1.0)
    ended = heptox_ended("translate", ARROWS, "//Patient/Name", "--to", "target")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("HX5009 to translate it takes longer than -1 seconds (ask for less")


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("//Patient/Nmae", "did you mean Name?"),
        ("//Progress", "the root is MonGenHosp"),
        ("//Patient/Problem", "did you mean /MonGenHosp/Admission/Problem?"),
        ("for $p in //Patient return ($p/Name, $p/Treat[1 = number(Dat)])", "did you mean Date?"),
    ],
)
def test_a_name_that_the_askers_schema_does_not_have_is_refused(query: str, hint: str) -> None:
    ended = heptox_ended("translate", ARROWS, query, "--to", "target")
    assert (ended.code, ended.out) == (1, "")
    assert " HX3041 " in ended.err and hint in ended.err


def test_what_a_hop_has_lost_is_no_misspelt_name_for_the_next() -> None:
    ended = heptox_ended("translate", ARROWS, ARROWS, "//Treat/Doc", "--to", "target,source")
    assert (ended.code, ended.out) == (0, "()\n")


def test_the_direction_must_be_said_and_the_query_given_once() -> None:
    for arguments in itertools.permutations([str(ARROWS), "//Patient"]):
        assert heptox_ended("translate", *arguments).code == 2
    assert heptox_ended("translate", ARROWS, "--to", "source").code == 2
    assert heptox_ended("translate", ARROWS, "//a", "-f", QUERIES / "example1.xq", "--to", "source").code == 2


# -- what is lost, and paths -------------------------------------------------------------------------------------------


def test_the_arrow_that_would_carry_a_lost_leaf_is_named() -> None:
    ended = heptox_ended("translate", ARROWS, "//Treat/Doc", "--to", "target")
    assert ended.err.splitlines()[1:] == ["add: Patient/Treat/Doc -> ...   # no leaf of Progress/Treatment is free"]


def test_a_path_shows_every_hop_and_prints_the_last() -> None:
    path = (ARROWS, HOSPITAL / "stluke-boston.arrows", "-f", QUERIES / "example1.xq", "--to", "target,source")
    ended = heptox_ended("translate", *path)
    boston = heptox_ended("translate", ARROWS, "-f", QUERIES / "example1.xq", "--to", "target").out
    stluke = heptox_ended("translate", HOSPITAL / "stluke-boston.arrows", "-", "--to", "source", stdin=boston).out
    assert (ended.code, ended.out) == (0, stluke)
    heads = [line for line in ended.err.splitlines() if not line.startswith(" ")]
    assert [head.partition(": ")[0] for head in heads] == ["hop 1 of 2", "hop 2 of 2"]
    assert heads[0].startswith(f"hop 1 of 2: {ARROWS}, to target, ")
    assert heads[0].endswith(" ms")
    assert [line.strip() for line in ended.err.splitlines() if line.startswith(" ")] == [
        line.strip() for line in f"{boston}{stluke}".splitlines()
    ]


def test_a_path_as_json() -> None:
    path = (ARROWS, HOSPITAL / "stluke-boston.arrows", "//Treat/Doc", "--to", "target, source", "--json")
    ended = heptox_ended("translate", *path)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert (found["query"], found["empty"]) == ("()", True)
    assert [(hop["mapping"], hop["to"]) for hop in found["hops"]] == [
        (str(ARROWS), "target"),
        (str(HOSPITAL / "stluke-boston.arrows"), "source"),
    ]
    assert all(hop["seconds"] > 0 and "steps" not in hop for hop in found["hops"])
    (lost,) = found["hops"][0]["lost"]
    assert lost["path"] == "Patient/Treat/Doc"
    assert lost["arrow"].startswith("Patient/Treat/Doc -> ...")


def test_an_explanation_as_json() -> None:
    ended = heptox_ended("translate", ARROWS, "//Symptom/Desc", "--to", "source", "--explain", "--json")
    (hop,) = json.loads(ended.out)["hops"]
    assert [step["step"] for step in hop["steps"]] == ["expand", "unfold", "contract", "stitch"]
    (member,) = hop["steps"][-1]["members"]
    assert member["query"] == hop["query"]
    assert member["dummies"] == ["Patient", "Admission"]
    assert member["rules"] == [[{"node": "Progress/Symptom", "rule": 2}]]
    assert member["pattern"][0] == "MonGenHosp"


def test_an_explanation_draws_each_pattern_once() -> None:
    ended = heptox_ended("translate", ARROWS, "//Symptom/Desc", "--to", "source", "--explain")
    lines = ended.err.splitlines()
    assert "  └─ Admission $a (dummy)" in lines
    assert "  rule 2 makes Progress/Symptom" in lines
    assert lines[-2:] == ["contract: 1 member; the same as before", "stitch: 1 member; the same as before"]


def test_schemas_of_a_path_that_do_not_fit_are_told() -> None:
    path = (ARROWS, HOSPITAL / "stluke-boston.arrows", "//Name", "--to", "target,target")
    ended = heptox_ended("translate", *path)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert "HX5010" in ended.err
    assert "hop 1" in ended.err
    assert "hop 2" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        (ARROWS, ARROWS, "//a", "--to", "target"),
        (ARROWS, "//a", "--to", "target,source"),
        (ARROWS, "//a", "--to", "sideways"),
        (ARROWS, "//a", "--to", "target,"),
        ("-", "-", "--to", "target"),
    ],
)
def test_a_path_has_a_direction_for_each_mapping(arguments: tuple[str | Path, ...]) -> None:
    assert heptox_ended("translate", *arguments).code == 2
