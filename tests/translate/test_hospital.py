"""The hospital's translations as a reader would write them; what they mean is judged in ``test_definition.py``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import pytest

import heptox.demo
from heptox.grammar import parse_query
from heptox.mapping import Mapping, load_mapping
from heptox.translate import Direction, translate
from tests.support.fixtures import cases, name_of

AGAINST: Final = cases("translate/montreal-boston.source.xq")
ALONG: Final = cases("translate/montreal-boston.target.xq")
HOSPITAL: Final = Path(heptox.demo.__file__).parent / "hospital"


@cache
def mapping(name: str) -> Mapping:
    return load_mapping(HOSPITAL / f"{name}.arrows")


@pytest.mark.parametrize(("query", "expected"), AGAINST, ids=[name_of(query) for query, _ in AGAINST])
def test_against_the_rules(query: str, expected: str) -> None:
    assert translate(mapping("montreal-boston"), parse_query(query), Direction.SOURCE).text == expected


@pytest.mark.parametrize(("query", "expected"), ALONG, ids=[name_of(query) for query, _ in ALONG])
def test_along_the_rules(query: str, expected: str) -> None:
    assert translate(mapping("montreal-boston"), parse_query(query), Direction.TARGET).text == expected


@pytest.mark.parametrize("direction", Direction)
def test_what_is_printed_is_read_back(direction: Direction) -> None:
    for query, _ in cases(f"translate/montreal-boston.{direction}.xq"):
        translation = translate(mapping("montreal-boston"), parse_query(query), direction)
        assert parse_query(translation.text) == translation.query


@pytest.mark.parametrize(
    ("query", "direction", "lost"),
    [
        ("//InsName", Direction.SOURCE, "Admission/[Illness]/InsName: no arrow supplies it, and the query needs it"),
        (
            "for $c in //Coronary return <x>{$c/InsName}</x>",
            Direction.SOURCE,
            "Admission/[Illness]/InsName: no arrow supplies it: its place in the answer stays empty",
        ),
        ("//Doc", Direction.TARGET, "Patient/Treat/Doc: no arrow supplies it, and the query needs it"),
        (
            "for $t in //Treat return <x>{$t/Doc}</x>",
            Direction.TARGET,
            "Patient/Treat/Doc: no arrow supplies it: its place in the answer stays empty",
        ),
        (
            "//Coronary[@ID = 'a'][@ID = 'b']/Patient",
            Direction.SOURCE,
            "its conditions contradict each other, on every document",
        ),
        (
            "for $e in //Event order by $e/Date return $e/Problem",
            Direction.TARGET,
            "the order by is left out: an answer from elsewhere is a set",
        ),
    ],
)
def test_losses_name_the_leaf(query: str, direction: Direction, lost: str) -> None:
    translation = translate(mapping("montreal-boston"), parse_query(query), direction)
    assert lost in [str(loss) for loss in translation.losses]


def test_an_unknown_step_is_named() -> None:
    translation = translate(mapping("montreal-boston"), parse_query("//Patient/Nmae"), Direction.TARGET)
    assert translation.empty
    assert "no node Nmae below MonGenHosp/Patient" in str(translation.losses[0])
    assert "Name" in str(translation.losses[0])


def test_every_step_is_shown() -> None:
    translation = translate(mapping("montreal-boston"), parse_query("//Symptom/Desc"), Direction.SOURCE)
    assert [step.name for step in translation.steps] == ["expand", "unfold", "contract", "stitch"]
    assert translation.steps[-1].members == (translation.text,)
