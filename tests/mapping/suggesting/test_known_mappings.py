"""Suggestions beside arrows that people drew: floors, with a margin below what is reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from benchmarks.suggesting.cases import case, courses, hospitals
from benchmarks.suggesting.invoices import FIRST, Invoices, summary
from benchmarks.suggesting.scoring import Score, score
from benchmarks.translation import block
from heptox.mapping import suggest
from heptox.schema import SchemaTree, read_dtd
from tests.support.shared import DATA, reads_shared

EXAMPLES: Final = Path(__file__).parents[3] / "examples"


def totals(scores: Sequence[Score]) -> tuple[float, float]:
    """Precision and recall over all cases."""
    both = sum(each.both for each in scores)
    return both / sum(each.suggested for each in scores), both / sum(each.right for each in scores)


@pytest.mark.parametrize("documents", [False, True])
def test_courses(documents: bool) -> None:
    cases = [each for each in courses(DATA / "courses") if each.has_documents == documents]
    assert len(cases) == 6
    scores = [score(each) for each in cases]
    precision, recall = totals(scores)
    assert precision >= 0.9
    assert recall >= 0.75
    assert all((each.at_recall or 0) >= 0.9 for each in scores)


def test_hospitals_with_documents_and_boxes() -> None:
    cases = [each for each in hospitals() if each.has_documents and each.boxes == "given"]
    assert len(cases) == 2
    scores = [score(each) for each in cases]
    precision, recall = totals(scores)
    assert precision >= 0.9
    assert recall >= 0.7
    assert all((each.at_recall or 0) >= 0.9 for each in scores)


def test_hospitals_with_documents_before_any_box_is_drawn() -> None:
    cases = [each for each in hospitals() if each.has_documents and each.boxes == "none drawn"]
    precision, recall = totals([score(each) for each in cases])
    assert precision >= 0.9
    assert recall >= 0.5


def test_what_is_drawn_helps_with_the_rest() -> None:
    """Half of the right arrows, and the other half is found at least as well as without them."""
    found = case("hospital", EXAMPLES / "hospital/montreal-boston.arrows")
    arrows = sorted(found.right)
    given, asked = arrows[::2], set(arrows[1::2])

    def hits(drawn: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> float:
        every = suggest(found.source, found.target, drawn=drawn)
        return sum(each.confidence for each in every if (each.source, each.target) in asked)

    assert hits(given) > hits([])


def test_a_schema_of_eighty_thousand_nodes_and_itself() -> None:
    dtd = DATA / "nitf/nitf-2-5.dtd"
    sides = [SchemaTree(read_dtd(dtd, "nitf")) for _ in range(2)]
    found = suggest(sides[0], sides[1])
    assert {each.source for each in found} == {each.target for each in found}
    assert all(each.source == each.target for each in found)
    assert "body/body.content => body/body.content" in map(str, found)


@reads_shared
def test_invoices_by_five_pairs_make_five_others() -> None:
    """Each term that the five pairs have is right in the others; the page has the figures."""
    invoices = Invoices(DATA / "invoices")
    found = invoices.result("uncefact", "xr", invoices.numbers[:FIRST])
    wrong = {score.term for score in found.terms if not score.is_right}
    assert wrong == {"BT-9", "BT-17", "BT-48", "BT-75"}
    assert not wrong & found.known
    assert found.made == found.both
    page = (EXAMPLES.parent / "docs" / "suggestions.md").read_text(encoding="utf-8")
    assert summary([found], invoices.numbers).splitlines()[-1] in block(page, "suggestions from pairs").splitlines()
