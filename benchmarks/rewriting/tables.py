"""What each experiment has found, as a table and as data."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from benchmarks.rewriting.documents import document
from benchmarks.rewriting.experiments import Experiments, Row, Sizes
from benchmarks.rewriting.front_end import IDDR, NDDR, PARSE, PLAIN, REWRITTEN, FrontEnd, front_end
from benchmarks.rewriting.inference import found_again
from benchmarks.rewriting.joining import joining
from benchmarks.rewriting.schemas import MIX, mappings, schemas
from benchmarks.rewriting.subscriptions import domain_subscriptions
from heptox.rewriting import Publisher, Strategy

_FRONT_END_SIZE: Final = 100_000


@dataclass(frozen=True, slots=True)
class Measured:
    """A table, the same as ``data`` for JSON, and what else is to be said."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: Any
    remarks: tuple[str, ...] = ()


def measurements(sizes: Sizes) -> dict[str, Callable[[], Measured]]:
    """All that can be measured, by name."""
    experiments = Experiments(sizes).all
    return {
        "operators": _operators,
        **{name: partial(_responses, name, rows) for name, rows in experiments.items()},
        "joining": lambda: _joining(sizes),
        "front-end": lambda: _front_end(sizes),
    }


def _responses(name: str, measure: Callable[[], Iterable[Row]]) -> Measured:
    """The response times of an experiment."""
    columns = ("", *(f"{way.upper()} ms" for way in Strategy), "NDDR under SDR", "IDDR under SDR", "IDDR under NDDR")
    shown, data = [], []
    for row in measure():
        gains = [
            row.gain(*pair)
            for pair in ((Strategy.NDDR, Strategy.SDR), (Strategy.IDDR, Strategy.SDR), (Strategy.IDDR, Strategy.NDDR))
        ]
        times = [
            f"{1000 * each.seconds:.1f} = {1000 * each.querying:.1f} + {1000 * each.transmitting:.1f}"
            for each in row.found.values()
        ]
        deliveries = row.found[Strategy.SDR].deliveries
        shown.append((row.setting, *times, *(f"{gain:.0%}" for gain in gains), f"{deliveries:,}", row.paper))
        by_way = {
            way.value: {"querying_ms": 1000 * each.querying, "transmitting_ms": 1000 * each.transmitting}
            for way, each in row.found.items()
        }
        data.append({"experiment": row.experiment, "setting": row.setting, "deliveries": deliveries, **by_way})
    title = f"{name}: response time = querying + transmitting"
    return Measured(title, (*columns, "deliveries", "the paper"), tuple(shown), data)


def _operators() -> Measured:
    """What inference finds of the operators."""
    known = schemas()
    found = found_again(known, [*map(Publisher, mappings(known))])
    rows: list[tuple[str, ...]] = [
        (kind, *(f"{counter[kind]}" for counter in (found.undone, found.again, found.besides)))
        for kind in (*MIX, *sorted(found.besides.keys() - MIX.keys()))
    ]
    rows.append(("all", *(f"{counter.total()}" for counter in (found.undone, found.again, found.besides))))
    remarks = (
        f"{found.programs} of {len(known)} mappings have a program, {found.maps} a map of tag paths",
        *found.reasons,
        *(f"{name}: {one}; instead: {'; '.join(map(str, rest))}" for name, one, rest in found.instead),
    )
    data = {
        "undone": found.undone,
        "found again": found.again,
        "found besides": found.besides,
        "programs": found.programs,
        "maps": found.maps,
        "reasons": found.reasons,
    }
    return Measured("operators", ("kind", "undone", "found again", "found besides"), tuple(rows), data, remarks)


def _joining(sizes: Sizes) -> Measured:
    """What it takes when a schema joins."""
    found = [
        (way, joining(schemas()[0], number, way))
        for number in sizes.subscription_sizes
        for way in (Strategy.QRA, Strategy.NDDR, Strategy.IDDR)
    ]
    rows = tuple(
        (
            f"{one.subscriptions:,}",
            way.upper(),
            f"{one.touched:,}",
            f"{1000 * one.seconds:,.0f}",
            f"{one.kept / 1e3:,.0f}",
            f"{one.before / 1e3:,.0f}",
            f"{one.sent:,}",
        )
        for way, one in found
    )
    data = [
        {
            "subscriptions": one.subscriptions,
            "way": way.value,
            "touched": one.touched,
            "ms": 1000 * one.seconds,
            "kept_bytes": one.kept,
            "before_bytes": one.before,
            "sent_bytes": one.sent,
        }
        for way, one in found
    ]
    columns = ("subscriptions", "way", "touched", "ms", "KB more", "KB before", "bytes of the mapping")
    return Measured("joining: one schema more", columns, rows, data)


def _front_end(sizes: Sizes) -> Measured:
    """The front end with rewriting and without."""
    chosen = [schemas()[number] for number in sizes.chosen]
    texts = domain_subscriptions(sizes.subscriptions)
    several: list[FrontEnd] = []
    for schema, mapping in zip(chosen, mappings(tuple(chosen)), strict=True):
        publisher = Publisher(mapping)
        if publisher.paths.root is not None:
            data = document(schema, _FRONT_END_SIZE).encode()
            several.append(front_end(publisher, publisher.paths.root, data, texts, sizes.turns))
    figures = {stage: _by_parsing(several, stage) for stage in (PLAIN, REWRITTEN, IDDR, NDDR)}
    rows: list[tuple[str, ...]] = [
        (stage, *_cells(both["with parsing"]), *_cells(both["alone"])) for stage, both in figures.items()
    ]
    parsing = statistics.mean(each.rate(PARSE, parsed=True) for each in several)
    rows.insert(0, (PARSE, f"{parsing:.1f}", *[""] * 5))
    columns = ("", "with parsing, MB/s", "÷ as it is", "least", "alone, MB/s", "÷ as it is", "least")
    return Measured("front-end", columns, tuple(rows), {PARSE: parsing, **figures})


def _by_parsing(several: Sequence[FrontEnd], stage: str) -> dict[str, dict[str, float]]:
    """Rates of a stage, and its share of the rate without rewriting, in the mean over all schemas and at least."""
    found = {}
    for label, parsed in (("with parsing", False), ("alone", True)):
        rates = [each.rate(stage, parsed=parsed) for each in several]
        shares = [each.share(stage, parsed=parsed) for each in several]
        found[label] = {"rate": statistics.mean(rates), "share": statistics.mean(shares), "least": min(shares)}
    return found


def _cells(figures: dict[str, float]) -> tuple[str, str, str]:
    return f"{figures['rate']:.1f}", f"{figures['share']:.2f}", f"{figures['least']:.2f}"
