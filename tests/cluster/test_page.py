"""The page about the workload shows the sizes that translations have today."""

from __future__ import annotations

import pytest

from benchmarks.translation import block, sizes
from heptox.cluster import MAPPINGS, QUERIES, SCHEMAS
from heptox.translate import Direction
from tests.cluster.workload import crossed
from tools.console import ROOT

PAGE = (ROOT / "docs" / "xmark.md").read_text(encoding="utf-8")
RENEW = "python -m benchmarks.translation --write docs/xmark.md"


@pytest.mark.parametrize(
    ("name", "to"), [("sizes to the source", Direction.SOURCE), ("sizes to the target", Direction.TARGET)]
)
def test_sizes_are_those_of_today(name: str, to: Direction) -> None:
    assert block(PAGE, name) == sizes(to, crossed), RENEW


def test_every_query_has_a_time_and_every_schema_a_line() -> None:
    lines = block(PAGE, "hops").splitlines()
    assert [line.split(":")[0].removeprefix("| ") for line in lines[2:]] == list(QUERIES)
    assert all(f"| `{schema}` |" in PAGE for schema in SCHEMAS if schema != "auction")
    assert len(MAPPINGS) == 14, "the page says how many there are"
