"""The benchmark of peers measures whole answers, and its page shows what it measures."""

from __future__ import annotations

import sys

import pytest

from benchmarks.network.__main__ import TABLES
from benchmarks.network.chain import PEERS
from benchmarks.network.measuring import Results, Sizes, measure
from benchmarks.translation import block
from tools.console import ROOT

PAGE = ROOT / "docs" / "network.md"


@pytest.fixture(scope="module")
def found() -> Results:
    if sys.platform != "linux":
        pytest.skip("memory and processor time are read from /proc")
    return measure(Sizes(small=10, large=500, runs=2, at_once=3, seconds=0.5))


def test_everything_is_measured(found: Results) -> None:
    assert len(found.hops) == len(found.new) == PEERS - 1
    for times in (*found.hops, *found.new):
        assert 0 < times.least_first <= times.first
        assert times.least_first <= times.least_last <= times.last
    assert found.bulk.size == 500_000
    assert min(found.bulk.seconds, found.bulk.relayed) > 0
    assert len(found.bulk.processor) == len(found.slow.most) == PEERS
    assert all(early <= most for early, most in zip(found.slow.early, found.slow.most, strict=True))
    assert found.at_once.queries == 3
    assert min(found.breakdown.translation, found.breakdown.planning, found.breakdown.evaluation) > 0


def test_each_table_can_be_made_and_stands_on_the_page(found: Results) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        heads = [line for line in make(found).splitlines() if line.startswith("| ---")]
        assert all(head in block(text, name) for head in heads), name
        assert block(text, name).strip()
