"""``heptox emulate``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from heptox import cluster
from heptox.cli.inputs import Json
from heptox.cli.output import ExitCode, print_error, print_json, print_note, print_result
from heptox.cli.signals import ended_by_signals
from heptox.cluster import TOPOLOGIES, Outcome, Plan, planned, read_plan

_MEMORY: Final = re.compile("([0-9]{1,6})([kmgKMG])")
_UNITS: Final = {"k": 1, "m": 1024, "g": 1024**2}
_LEAST_MEMORY: Final = 512 * 1024
_EXPERIMENTS: Final = ("table-1", "table-2", "figure-12", "scale", "churn")


def emulate(
    file: Annotated[
        str | None, typer.Argument(metavar="[PLAN.toml]", help="A plan; options go before what it says.")
    ] = None,
    experiment: Annotated[
        str | None,
        typer.Option("--experiment", metavar="NAME", help=f"Run an experiment: {', '.join(_EXPERIMENTS)}."),
    ] = None,
    peers: Annotated[int | None, typer.Option("--peers", metavar="N", help="How many peers.")] = None,
    schemas: Annotated[
        str | None, typer.Option("--schemas", metavar="K", help="How many different schemas, or which: auction,flat.")
    ] = None,
    queries: Annotated[
        str | None, typer.Option("--queries", metavar="Q1,...", help="Which queries, of Q1 to Q10, or all.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="S", help="The seed of all that is random.")] = None,
    hops: Annotated[int | None, typer.Option("--hops", metavar="N", help="How many hops a query travels.")] = None,
    acquaintances: Annotated[
        int | None, typer.Option("--acquaintances", metavar="N", help="How many acquaintances a peer has at least.")
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option("--topology", metavar="T", help=f"{', '.join(TOPOLOGIES)}, or a TOML file with a network."),
    ] = None,
    askers: Annotated[int | None, typer.Option("--askers", metavar="N", help="How many peers ask each query.")] = None,
    together: Annotated[
        bool | None, typer.Option("--together", help="Let all queries run at once, in one network.")
    ] = None,
    people: Annotated[
        int | None, typer.Option("--people", metavar="N", help="The size of documents; 100 make about 170 KB.")
    ] = None,
    loss: Annotated[
        float | None, typer.Option("--loss", metavar="P", help="The probability that a message is lost.")
    ] = None,
    churn: Annotated[
        float | None, typer.Option("--churn", metavar="P", help="The share of peers that leave meanwhile.")
    ] = None,
    slow: Annotated[float | None, typer.Option("--slow", metavar="P", help="The share of slow peers.")] = None,
    delay: Annotated[
        float | None, typer.Option("--delay", metavar="MS", help="Milliseconds that a message takes.")
    ] = None,
    costs: Annotated[
        str | None,
        typer.Option("--costs", metavar="C", help="Virtual time of work: fixed, or measured (differs each time)."),
    ] = None,
    master: Annotated[
        str,
        typer.Option("--master", metavar="URL", help="Spark's master: local[*], spark://HOST:PORT, yarn, k8s://..."),
    ] = "local[*]",
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Memory of Spark's driver, such as 4g.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Write report.html, .txt, .json, figures and times.")
    ] = None,
    json: Json = False,
) -> None:
    """Emulate a network of peers on Spark: queries spread, answers return, and all of them are checked.

    The peers decide as real ones do. They have generated auction data under up to ten schemas, and ask up to ten
    queries. Time is virtual, and the same plan gives the same report but for what is measured. docs/emulation.md says
    all settings of a plan, and what the report says.

    The exit code is 1 when an answer is wrong, or misses something that the receipt does not tell of.
    """
    given = {
        "peers": peers,
        "schemas": _schemas(schemas),
        "queries": _queries(queries),
        "seed": seed,
        "hops": hops,
        "acquaintances": acquaintances,
        "topology": topology,
        "askers": askers,
        "together": together,
        "people": people,
        "loss": loss,
        "churn": churn,
        "slow": slow,
        "delay_ms": delay,
        "costs": costs,
    }
    _check_options(memory, out)
    plans = _plans(experiment, file, {key: value for key, value in given.items() if value is not None})
    if out is not None:
        cluster.make_report_folder(Path(out))
    with ended_by_signals():
        outcomes = _outcomes(plans, master, memory)
    if experiment is None:
        _tell_outcome(outcomes[0], out, json)
    else:
        _tell_experiment(experiment, outcomes, out, json)
    if not all(outcome.check.passed for outcome in outcomes):
        for outcome in outcomes:
            for fault in outcome.check.faults:
                print_error(f"heptox: the check has failed: {fault}")
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _check_options(memory: str | None, out: str | None) -> None:
    found = None if memory is None else _MEMORY.fullmatch(memory)
    if memory is not None and (found is None or int(found[1]) * _UNITS[found[2].lower()] < _LEAST_MEMORY):
        raise typer.BadParameter(f"{memory} is no memory for Spark's driver: give 512m or more, such as 4g")
    if out == "":
        raise typer.BadParameter("--out names no folder")


def _schemas(text: str | None) -> object:
    return int(text) if text is not None and text.isdecimal() else _names(text)


def _queries(text: str | None) -> object:
    return list(cluster.QUERIES) if text == "all" else _names(text)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _plans(experiment: str | None, file: str | None, given: dict[str, Any]) -> list[Plan]:
    """The plans to carry out: those of an experiment, or one; what a file says goes before, and options before that."""
    written = {} if file is None else read_plan(Path(file))
    if file is not None:
        planned(written, file)  # with its name, whatever is wrong in it
    if experiment is None:
        return [planned({**written, **given})]
    if experiment not in _EXPERIMENTS:
        raise typer.BadParameter(f"no experiment {experiment}: there are {', '.join(_EXPERIMENTS)}")
    runs = cluster.EXPERIMENTS[experiment].plans
    for key in {**written, **given}:
        if len({str(settings.get(key)) for settings in runs}) > 1:
            raise typer.BadParameter(f"the experiment {experiment} varies {key} itself")
    return [planned({**settings, **written, **given}) for settings in runs]


def _outcomes(plans: list[Plan], master: str, memory: str | None) -> list[Outcome]:
    prepared = [cluster.prepare(plan) for plan in plans]  # what is wrong is reported before Spark is started
    with _progress() as report:
        report("starting Spark")
        with cluster.spark_session(master, memory=memory) as spark, cluster.spark_faults():
            return [
                cluster.emulate(one, spark, _within(f"run {number} of {len(plans)}: " if plans[1:] else "", report))
                for number, one in enumerate(prepared, 1)
            ]


def _within(run: str, report: Callable[[str], None]) -> Callable[[str], None]:
    return lambda what: report(f"{run}{what}")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What takes what is being done, and shows it on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with Console(stderr=True).status("", spinner="dots") as status:
        yield lambda what: status.update(what)


def _tell_outcome(outcome: Outcome, out: str | None, json: bool) -> None:
    if json:
        print_json({**cluster.report_value(outcome), "times": cluster.times_value(outcome)})
    else:
        print_result(cluster.report_text(outcome))
    _tell_files(() if out is None else cluster.write_report(outcome, Path(out)))


def _tell_experiment(name: str, outcomes: list[Outcome], out: str | None, json: bool) -> None:
    experiment = cluster.EXPERIMENTS[name]
    if json:
        runs = [{**cluster.report_value(one), "times": cluster.times_value(one)} for one in outcomes]
        print_json({"experiment": name, "runs": runs})
    else:
        print_result(cluster.experiment_text(experiment, outcomes))
    _tell_files(() if out is None else cluster.write_experiment(experiment, outcomes, Path(out)))


def _tell_files(written: tuple[Path, ...]) -> None:
    if written:
        print_note(f"written: {written[0]} and {len(written) - 1} more files beside it")
