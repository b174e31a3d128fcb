"""Queries in work: what is wrong with them, what becomes of them for an acquaintance, and by which mapping."""

from __future__ import annotations

import httpx
import pytest

from heptox.demo import HOSPITAL
from heptox.grammar import parse_query, print_query
from heptox.mapping import load_mapping
from heptox.translate import Direction, translate
from tests.peer.daemons import Daemon

EXAMPLE = (HOSPITAL / "queries" / "example1.xq").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("query", "code", "line", "column"),
    [
        ("//Patient[", "HX3001", 1, 11),
        ("for $p in //Patient\nreturn $q/Name", "HX3004", 2, 8),
        ("//Patient/Nmae", None, 1, 11),
        ("count(//Patient)", "HX3002", 1, 1),
    ],
)
def test_what_is_wrong_with_a_query_is_told_where_it_is(
    http: httpx.Client, query: str, code: str | None, line: int, column: int
) -> None:
    answer = http.post("/queries/check", json={"query": query})
    (fault,) = answer.json()["faults"]
    assert answer.status_code == 200
    assert code in (None, fault["code"])
    assert (fault["position"]["line"], fault["position"]["column"]) == (line, column)


@pytest.mark.parametrize("query", [EXAMPLE, "//Patient/Name", "//Patient[Name = 'Ann']/@ID"])
def test_nothing_is_wrong_with_a_query_that_can_be_asked(http: httpx.Client, query: str) -> None:
    assert http.post("/queries/check", json={"query": query}).json() == {"faults": []}


def test_a_translation_is_told_step_by_step(http: httpx.Client) -> None:
    told = http.post("/acquaintances/boston/translation", json={"query": EXAMPLE}).json()
    mapping = load_mapping(HOSPITAL / "montreal-boston.arrows")
    wanted = translate(mapping, parse_query(EXAMPLE), Direction.TARGET)
    assert told["text"] == wanted.text
    assert print_query(parse_query(told["text"])) == told["text"]
    assert [step["name"] for step in told["steps"]] == ["expand", "unfold", "contract", "stitch"]
    assert all(member["text"] and member["tree"] for step in told["steps"] for member in step["members"])
    assert told["faults"] == []


def test_a_loss_names_the_arrow_that_would_carry_it(http: httpx.Client) -> None:
    told = http.post("/acquaintances/boston/translation", json={"query": "//Patient/Treat/Doc"}).json()
    assert told["text"] is None
    (loss,) = told["losses"]
    assert loss["path"] == ["Patient", "Treat", "Doc"]
    assert loss["arrow"].startswith("Patient/Treat/Doc -> ")
    assert loss["effect"]


def test_a_query_that_cannot_be_translated_says_why(http: httpx.Client) -> None:
    told = http.post("/acquaintances/boston/translation", json={"query": "//Patient["}).json()
    assert (told["text"], told["losses"], told["steps"]) == (None, [], [])
    assert [fault["code"] for fault in told["faults"]] == ["HX3001"]


def test_the_mapping_to_an_acquaintance_is_told_with_its_schemas(peer: Daemon, http: httpx.Client) -> None:
    told = http.get("/acquaintances/boston/mapping").json()
    assert (told["mapping"], told["side"]) == ("mapping.arrows", "source")
    assert set(told["files"]) == {"mapping.arrows", "source.dtd", "target.dtd"}
    assert told["files"]["source.dtd"] == (peer.folder / "schema.dtd").read_text()
    drawing = {"text": told["files"].pop("mapping.arrows"), "files": told["files"]}
    assert http.put("/drawings/boston", json=drawing).json() == {"name": "boston", **drawing}
    http.delete("/drawings/boston")


@pytest.mark.parametrize(("method", "path"), [("GET", "mapping"), ("POST", "translation")])
def test_who_is_no_acquaintance_has_no_mapping(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, f"/acquaintances/nobody/{path}", json={"query": "//a"})
    assert (answer.status_code, [fault["code"] for fault in answer.json()["faults"]]) == (422, ["HX7067"])
