"""Figures: they are the same wherever they are drawn, and show what is there."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import matplotlib
import pytest
from lxml import etree

from heptox.cluster.figures import Scales, draw_arrival, draw_bars, draw_breakdown, draw_hops, draw_lines
from heptox.cluster.outcome import PathOutcome
from heptox.cluster.page import inline_svg
from heptox.peer import Status
from tests.cluster.outcomes import outcome


def texts(svg: bytes) -> list[str]:
    """The texts of a figure, in the order of drawing."""
    root: Any = etree.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_settings_of_matplotlib_change_nothing_and_stay() -> None:
    before = draw_arrival(outcome()).svg
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.facecolor": "red", "text.usetex": True}):
        assert draw_arrival(outcome()).svg == before
        assert matplotlib.rcParams["font.size"] == 30


def test_a_figure_tells_no_date_and_no_tool() -> None:
    svg = draw_hops(outcome()).svg.decode()
    assert not re.search(r"date|Matplotlib v", svg)


def test_every_query_has_a_panel_and_every_series_a_name() -> None:
    of = outcome(*(f"Q{number}" for number in range(1, 13)))
    for draw, words in ((draw_arrival, ("answers", "peers completed")), (draw_hops, ("answered", "nothing to say"))):
        drawn = texts(draw(of).svg)
        assert {f"Q{number}" for number in range(1, 13)} < set(drawn)
        assert set(words) < set(drawn)


def test_a_figure_of_many_paths_stays_small() -> None:
    of = outcome()
    query = of.queries[0]
    many = tuple(
        PathOutcome(
            (0, number), Status.ANSWERED, 1, False, arrived=float(number), first=float(number), last=float(number)
        )
        for number in range(1, 20_000)
    )
    svg = draw_arrival(replace(of, queries=(replace(query, paths=many),))).svg
    assert len(svg) < 100_000
    assert svg.count(b"100 %") == 1


def test_the_breakdown_has_its_numbers_beside_it() -> None:
    drawn = texts(draw_breakdown(outcome()).svg)
    assert [word for word in drawn if word in ("17.5", "259.8", "4.0")] == ["17.5", "259.8", "4.0"]


def test_a_breakdown_of_nothing_but_zeros_can_be_drawn() -> None:
    of = outcome()
    query = of.queries[0]
    zeros = tuple(replace(path, last=0.0, translation=0.0, evaluation=0.0) for path in query.paths)
    assert "0.0" in texts(draw_breakdown(replace(of, queries=(replace(query, paths=zeros),))).svg)


@pytest.mark.parametrize("scales", ["apart", "shared", "logarithmic"])
def test_lines_are_named_and_may_have_no_points(scales: Scales) -> None:
    panels = {"ms": {"one $": [(2.0, 1.0), (10.0, 0.0)], "none": [], "three": [(2.0, 1.0), (10.0, 50_000.0)]}}
    drawn = texts(draw_lines("n", "t", "c", panels, "peers", scales=scales).svg)
    assert {"one $", "three", "ms", "peers"} < set(drawn)
    assert "none" not in drawn
    assert "no values" in texts(draw_lines("n", "t", "c", {"ms": {"none": []}}, "peers").svg)


def test_bars_say_their_values_and_what_has_none() -> None:
    drawn = texts(draw_bars("n", "t", "c", {"here": [("Q1", 1.5), ("Q2", None)], "2005": []}).svg)
    assert {"Q1", "1.5", "Q2", "-"} < set(drawn)
    assert "no values" in texts(draw_bars("n", "t", "c", {"here": []}).svg)


def test_on_a_page_colours_are_the_pages() -> None:
    inline = inline_svg(draw_arrival(outcome()))
    assert "var(--blue)" in inline and "#0072b2" not in inline
    assert "metadata" not in inline and "<!DOCTYPE" not in inline
