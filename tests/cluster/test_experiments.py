"""The named experiments: what they run, and what they make of outcomes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from heptox.cluster import EXPERIMENTS, QUERIES, Experiment, write_experiment
from heptox.cluster.outcome import Check, NetworkOutcome, Outcome
from heptox.cluster.published import TABLE_1, TABLE_2, TABLE_2_SCHEMAS
from heptox.cluster.tables import Table
from tests.cluster.outcomes import EMPTY, SILENT, measured, outcome


def read_page(file: Path) -> Any:
    """A page, as a browser reads it."""
    return html.document_fromstring(file.read_text(encoding="utf-8"))


def run(experiment: Experiment) -> list[Outcome]:
    """An outcome for each plan of an experiment, with its settings and queries."""
    return [_made(dict(plan)) for plan in experiment.plans]


def _made(plan: dict[str, object]) -> Outcome:
    queries, peers, schemas = plan["queries"], plan["peers"], plan["schemas"]
    assert isinstance(queries, tuple) and isinstance(peers, int) and isinstance(schemas, int)
    each = {f"schema-{number}": peers // schemas + (number < peers % schemas) for number in range(schemas)}
    of = measured(outcome(*queries), lambda value: value * schemas)
    return replace(of, plan=plan, network=NetworkOutcome(each, 2 * peers, 4, 4))


def cells(table: Table, column: str) -> list[str]:
    """A column of a table."""
    return [row[table.columns.index(column)] for row in table.rows]


def compared(name: str, outcomes: Sequence[Outcome] | None = None) -> tuple[Table, ...]:
    """The tables of an experiment."""
    return EXPERIMENTS[name].compare(run(EXPERIMENTS[name]) if outcomes is None else outcomes).tables


def test_the_figures_of_the_report_are_whole() -> None:
    assert list(TABLE_1) == list(TABLE_2) == list(QUERIES)
    assert all(len(times) == len(TABLE_2_SCHEMAS) for times in TABLE_2.values())
    assert all(query.average < query.maximum for query in TABLE_1.values())


def test_the_experiments_of_the_report_run_on_its_network() -> None:
    assert list(EXPERIMENTS) == ["table-1", "table-2", "figure-12", "scale", "churn"]
    table_1 = EXPERIMENTS["table-1"].plans
    assert [(plan["peers"], plan["schemas"], plan["acquaintances"]) for plan in table_1] == [(128, 10, 4)]
    assert table_1 == EXPERIMENTS["figure-12"].plans
    assert table_1[0]["queries"] == tuple(QUERIES)
    assert [plan["schemas"] for plan in EXPERIMENTS["table-2"].plans] == list(range(2, 11))
    assert [plan["peers"] for plan in EXPERIMENTS["scale"].plans] == [16, 128, 1000, 10000]
    steps = [(plan.get("loss", 0), plan.get("churn", 0)) for plan in EXPERIMENTS["churn"].plans]
    assert steps[0] == (0, 0) and all(not loss or not churn for loss, churn in steps) and len(set(steps)) == 11


def test_table_1_stands_next_to_that_of_2005() -> None:
    (table,) = compared("table-1")
    assert cells(table, "AQTT 2005")[0] == "1,180.02"
    assert cells(table, "AQTT") == ["184.0"] * 10
    assert cells(table, "ASPL")[0] == "1.33"
    (other,) = compared("table-1", [outcome("Q1", "mine")])
    assert other.rows[1][:2] == ("mine", "-"), "a query that is not the report's has no figures of it"
    assert cells(other, "AQTT 2005") == ["1,180.02", "-"]


def test_table_2_has_a_column_for_each_number_of_schemas() -> None:
    ours, theirs = compared("table-2")
    assert ours.columns == theirs.columns == ("query", *map(str, range(2, 11)))
    assert ours.rows[0] == ("Q1", "36.8", "55.2", "73.6", "92.0", "110.4", "128.8", "147.2", "165.6", "184.0")
    assert theirs.rows[0][1] == "193"


def test_table_2_averages_over_all_paths_of_all_askers() -> None:
    of = outcome("Q1")
    one = of.queries[0]
    other = replace(one, asker=4, paths=tuple(replace(path, translation=1000.0) for path in one.paths[:2]))
    ours, _ = compared("table-2", [replace(of, queries=(one, other))])
    assert ours.rows == (("Q1", "182.0"),), "five paths of 18.4 on average, one of 1000"


def test_figure_12_tells_what_part_translation_is() -> None:
    (table,) = compared("figure-12", [outcome()])
    assert table.rows == (("Q1", "a path", "17.5", "259.8", "4.0", "281.2", "6.2 %"),)


def test_scale_and_churn_have_a_row_for_each_run() -> None:
    (scale,) = compared("scale")
    assert cells(scale, "peers") == ["16", "128", "1,000", "10,000"]
    (churn,) = compared("churn")
    assert len(churn.rows) == 33
    assert cells(churn, "loss")[3:6] == ["1.0 %"] * 3
    assert set(cells(churn, "complete")) == {"NO"}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_is_written_whole_and_says_what_differs(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    outcomes = run(experiment)
    files = {file.name: file for file in write_experiment(experiment, outcomes, tmp_path)}
    page = " ".join(read_page(files["report.html"]).text_content().split())
    told = " ".join(files["report.txt"].read_text().split())
    assert all(sentence in told and sentence in page for sentence in (experiment.sentence, *experiment.remarks))
    assert len(json.loads(files["report.json"].read_text())["runs"]) == len(experiment.plans)
    assert any(file.endswith(".svg") for file in files)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("outcomes", [[], [SILENT, EMPTY]], ids=["none", "silent"])
def test_nothing_happened(name: str, outcomes: list[Outcome], tmp_path: Path) -> None:
    assert write_experiment(EXPERIMENTS[name], outcomes, tmp_path)


def test_several_runs_of_one_network_have_figures_of_their_own(tmp_path: Path) -> None:
    files = write_experiment(EXPERIMENTS["figure-12"], [outcome("Q1"), outcome("Q2")], tmp_path)
    names = {file.name for file in files if file.suffix == ".svg"}
    assert names == {"breakdown-1.svg", "arrival-1.svg", "breakdown-2.svg", "arrival-2.svg"}
    ids = read_page(files[0]).xpath("//@id")
    assert len(ids) == len(set(ids))


def test_one_failed_check_among_many_is_loud(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["scale"]
    outcomes = run(experiment)
    outcomes[2] = replace(outcomes[2], check=Check(5, 8, 1, 0, ("peer 3 is wrong",)))
    files = {file.name: file for file in write_experiment(experiment, outcomes, tmp_path)}
    page = read_page(files["report.html"])
    assert [alert.text_content() for alert in page.find_class("failed")] == [
        "THE CHECK FAILED: 1 wrong item, 0 paths that miss items untoldpeer 3 is wrong"
    ]
    text = files["report.txt"].read_text()
    assert "THE CHECK FAILED" in text.splitlines()[3]
    assert [line.split()[-1] for line in text.splitlines() if line.endswith(("passed", "FAILED"))] == [
        "passed",
        "passed",
        "FAILED",
        "passed",
    ]
