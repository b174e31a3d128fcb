"""A run of the fuzz command can be stopped anywhere and goes on with what it knows; what is wrong is noticed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner

from heptox.grammar import parse_query
from heptox.mapping import Mapping
from heptox.translate import Direction, Translation, translate
from tests.fuzz.__main__ import main
from tests.fuzz.ledger import Ledger, OtherRunError
from tests.fuzz.trial import Size, trial
from tests.support import checking
from tests.support.checking import Outcome

SMALL = Size(queries=1, documents=2)


def run(*arguments: str) -> tuple[int, str]:
    application = Typer()
    application.command()(main)
    result = CliRunner().invoke(application, arguments)
    return result.exit_code, result.stdout


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "fuzz.jsonl"
    known = Ledger.opened(path, SMALL)
    known.record(0, Outcome(Counter({"cases": 4}), []))
    with path.open("a") as file:
        file.write('{"trial": 1, "counts": {"ca')
    again = Ledger.opened(path, SMALL)
    assert again.outcomes.keys() == {0}
    again.record(1, Outcome(Counter({"cases": 3}), ["forward\nwrong"]))
    last = Ledger.opened(path, SMALL)
    assert last.cases == 7
    assert list(last.broken()) == [(1, "forward\nwrong")]


def test_trials_of_other_sizes_are_others(tmp_path: Path) -> None:
    Ledger.opened(tmp_path / "fuzz.jsonl", SMALL)
    with pytest.raises(OtherRunError):
        Ledger.opened(tmp_path / "fuzz.jsonl", Size())


def test_the_command_counts_resumes_and_tells(tmp_path: Path) -> None:
    path = tmp_path / "fuzz.jsonl"
    sizes = ["--queries", "1", "--documents", "2", "--processes", "1", "--ledger", str(path)]
    code, told = run("--cases", "6", *sizes)
    done = Ledger.opened(path, SMALL)
    assert (code, "0 counterexamples" in told) == (0, True)
    assert done.cases >= 6
    assert done.outcomes[0] == trial(0, SMALL)
    assert run("--cases", "6", *sizes) == (code, told)
    done.record(0, Outcome(done.outcomes[0].counts, ["forward\nwrong"]))
    code, told = run("--cases", "6", *sizes)
    assert (code, "== trial 0\nforward\nwrong" in told) == (1, True)
    assert run("--retry", *sizes)[0] == 0


def test_a_wrong_translation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(mapping: Mapping, _: object, to: Direction, *__: object, **___: object) -> Translation:
        return translate(mapping, parse_query("<wrong/>"), to)

    monkeypatch.setattr(checking, "translate", wrong)
    kinds = {text.partition("\n")[0] for number in range(12) for text in trial(number, SMALL).broken}
    assert kinds >= {"to source", "to target", "together"}


def test_an_error_in_translation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*arguments: object) -> Translation:
        raise KeyError(arguments)

    monkeypatch.setattr(checking, "translate", failing)
    outcome = trial(0, SMALL)
    assert all(text.startswith("crash") for text in outcome.broken)
    assert len(outcome.broken) == outcome.counts["asked"] > 1


def test_a_trial_of_routing_judges_pairs() -> None:
    outcome = trial(0, Size(queries=4, documents=60, of="routing"))
    assert not outcome.broken
    assert outcome.counts["cases"] > 200
    assert outcome.counts["covered"] and outcome.counts["overlapping"]
