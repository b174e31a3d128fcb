"""The benchmark of the store asks all engines the same, and its page shows what is so."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from benchmarks.store import child
from benchmarks.store.__main__ import TABLES
from benchmarks.store.answers import Answer, Measured
from benchmarks.store.measuring import DisagreementError, agreed
from benchmarks.store.workload import QUERIES, Asked
from benchmarks.translation import block
from heptox.cluster import auction_document
from tools.console import ROOT

PAGE = ROOT / "docs" / "store.md"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("auctions") / "auction.xml"
    path.write_text("".join(auction_document("auction", 600)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def store(document: Path) -> Path:
    path = document.with_suffix(".store")
    child.load(str(document), str(path))
    return path


@pytest.mark.parametrize("asked", QUERIES, ids=lambda asked: asked.shape)
def test_engines_give_equal_answers(asked: Asked, document: Path, store: Path) -> None:
    found = child.heptox(str(store), asked.text, "1")
    assert found["items"]
    for text in filter(None, (asked.text, asked.with_maps)):
        judged = child.saxon(str(document), text, "1")
        assert (judged["items"], judged["digest"]) == (found["items"], found["digest"])


def test_a_document_that_a_rival_refuses_is_told(tmp_path: Path) -> None:
    path = tmp_path / "long.xml"
    path.write_text("<site>", encoding="utf-8")
    assert child.saxon(str(path), "//site", "1").keys() == {"refused"}


def test_answers_that_differ_do_not_count() -> None:
    one, other = Measured((1.0,), Answer.of(["<a/>"])), Measured((1.0,), Answer.of(["<b/>"]))
    agreed(QUERIES[0], {"one": one, "another": one, "late": Measured((), None)})
    with pytest.raises(DisagreementError):
        agreed(QUERIES[0], {"one": one, "other": other})


def test_the_page_has_all_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(block(text, name).strip() for name in TABLES)


def test_the_page_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted
    assert not found.failed
