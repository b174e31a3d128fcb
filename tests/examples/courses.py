"""The course catalogues: queries over three schemas, translated over six mappings.

``queries.xq`` holds cases that a line ``====`` between blank lines separates: ``(: over SCHEMA: what it asks :)`` with
the query, then after a blank line each, for every mapping that has the schema on a side, what becomes of it: the
mapping, how many different items the translation answers on the whole catalogue of the other side, lines that say what
is lost, and the translation or ``refused:`` and the fault.

``python -m tests.examples.courses`` writes what is so now into the file, and into the tables of ``docs/courses.md``;
with ``--figures`` it prints what exchange and translation take on this machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.translate import Direction, Translation, translate
from heptox.xmlio import Document, read_document, write_document
from tests.support import shared
from tests.support.saxon import answer_set

FOLDER: Final = Path(__file__).parents[2] / "examples" / "courses"
DATA: Final = shared.DATA / "courses"
MAPPINGS: Final = ("reed-uwm", "uwm-reed", "wsu-uwm", "uwm-wsu", "reed-wsu", "wsu-reed")

SCHEMAS: Final = ("reed", "uwm", "wsu")
PAGE: Final = Path(__file__).parents[2] / "docs" / "courses.md"

_BEGIN, _END = "<!-- tables: begin -->", "<!-- tables: end -->"
_TABLES: Final = re.compile(f"{_BEGIN}.*{_END}", re.DOTALL)
_SEPARATOR: Final = "\n\n====\n\n"
_QUERY: Final = re.compile(r"\(: over (\w+): (.+?) :\)\n(.+)", re.DOTALL)
_RESULT: Final = re.compile(r"\(: (\w+-\w+)(?:: (\d+) items?)? :\)\n((?:\(: lost: .+ :\)\n)*)(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Result:
    """What becomes of a query over a mapping: its ``translation``, or the fault for which it is ``refused``."""

    mapping: str
    translation: str = ""
    items: int = 0
    losses: tuple[str, ...] = ()
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A query over one schema, and its results in the order of :data:`MAPPINGS`."""

    schema: str
    title: str
    query: str
    results: tuple[Result, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.schema}-{self.title}"

    @property
    def mappings(self) -> tuple[str, ...]:
        """The mappings that have the query's schema on a side."""
        return tuple(name for name in MAPPINGS if self.schema in name.split("-"))

    def to(self, name: str) -> Direction:
        """Where the mapping ``name`` takes the query."""
        return Direction.TARGET if name.startswith(self.schema) else Direction.SOURCE


@cache
def mapping(name: str) -> Mapping:
    return load_mapping(FOLDER / f"{name}.arrows")


@cache
def catalogue(schema: str) -> Document:
    """The real document of a schema."""
    return read_document(DATA / f"{schema}.xml")


def answering(name: str, to: Direction) -> str:
    """The schema of the side ``to`` of a mapping."""
    return name.split("-")[to is Direction.TARGET]


@cache
def source(name: str, to: Direction = Direction.SOURCE) -> str:
    """The catalogue of the side of a mapping that answers, as text."""
    return write_document(catalogue(answering(name, to)).root)


@cache
def image(name: str, to: Direction = Direction.SOURCE) -> str:
    """What exchange makes of that catalogue in the words of the other side, as text."""
    return write_document(exchange(to.answered_by(mapping(name)), catalogue(answering(name, to))).root)


@cache
def answer(query: str, name: str, to: Direction) -> frozenset[str]:
    """What a translated query answers on the whole catalogue of the side ``to``."""
    return answer_set(query, source(name, to))


@cache
def expected(query: str, name: str, to: Direction) -> frozenset[str]:
    """What a query answers on what exchange makes of that catalogue."""
    return answer_set(query, image(name, to))


@cache
def cases() -> tuple[Case, ...]:
    text = (FOLDER / "queries.xq").read_text(encoding="utf-8").rstrip("\n")
    return tuple(_case(block) for block in text.split(_SEPARATOR))


def _case(block: str) -> Case:
    beginning, *parts = block.split("\n\n")
    found = _QUERY.fullmatch(beginning)
    assert found, beginning
    return Case(found[1], found[2], found[3], tuple(_result(part) for part in parts))


def _result(part: str) -> Result:
    found = _RESULT.fullmatch(part)
    assert found, part
    losses = tuple(line.removeprefix("(: lost: ").removesuffix(" :)") for line in found[3].splitlines())
    if found[4].startswith("refused: "):
        return Result(found[1], refused=found[4].removeprefix("refused: "), losses=losses)
    return Result(found[1], found[4], int(found[2]), losses)


def translated(case: Case, name: str) -> Translation:
    return translate(mapping(name), parse_query(case.query), case.to(name))


def result(case: Case, name: str) -> Result:
    """What becomes of a case now."""
    try:
        translation = translated(case, name)
    except HeptoxError as error:
        return Result(name, refused="; ".join(f"{fault.code} {fault.message}" for fault in error.faults))
    items = len(answer(translation.text, name, case.to(name)))
    return Result(name, translation.text, items, tuple(map(str, translation.losses)))


def _block(case: Case) -> str:
    parts = [f"(: over {case.schema}: {case.title} :)\n{case.query}"]
    for found in case.results:
        items = "" if found.refused else f": {found.items} {'item' if found.items == 1 else 'items'}"
        lines = [f"(: {found.mapping}{items} :)", *(f"(: lost: {loss} :)" for loss in found.losses)]
        parts.append("\n".join([*lines, f"refused: {found.refused}" if found.refused else found.translation]))
    return "\n\n".join(parts)


def refresh() -> None:
    """Write what is so now into ``queries.xq`` and the tables of the page."""
    now = [replace(case, results=tuple(result(case, name) for name in case.mappings)) for case in cases()]
    (FOLDER / "queries.xq").write_text(_SEPARATOR.join(map(_block, now)) + "\n", encoding="utf-8")
    PAGE.write_text(_TABLES.sub(lambda _: tables(now), PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def shown_tables() -> str:
    """The tables that the page shows."""
    found = _TABLES.search(PAGE.read_text(encoding="utf-8"))
    assert found
    return found[0]


def tables(known: Sequence[Case]) -> str:
    """For each schema a table of its queries: over each mapping the items, the size of the translation, the losses."""
    return f"{_BEGIN}\n\n" + "\n\n".join(_table(schema, known) for schema in SCHEMAS) + f"\n\n{_END}"


def _table(schema: str, known: Sequence[Case]) -> str:
    rows = [case for case in known if case.schema == schema]
    head = [f"over `{schema}`", *(f"{name}, to {rows[0].to(name)}" for name in rows[0].mappings)]
    body = [[case.title, *map(_cell, case.results)] for case in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *body])


def _cell(found: Result) -> str:
    if found.refused:
        return f"refused: {found.refused.partition(' ')[0]}"
    leaves = sorted({f"`{loss.partition(': ')[0].rpartition('/')[2]}`" for loss in found.losses if ": " in loss})
    lost = ", ".join(leaves)
    if found.translation == "()":
        return f"() lost: {lost}" if lost else "() contradicts itself"
    return f"{found.items} ({len(found.translation)})" + (f" without {lost}" if lost else "")


def figures() -> str:
    """What exchange and translation take now: for each mapping the best of three exchanges, the median translation."""
    lines = ["| mapping | image, characters | exchange, s | translation, ms |", "|---|---|---|---|"]
    for name in MAPPINGS:
        document = catalogue(name.split("-")[0])
        exchanged = min(_seconds(partial(exchange, mapping(name), document)) for _ in range(3))
        asked = [case for case in cases() if name in case.mappings]
        times = [_seconds(partial(translated, case, name)) for case in asked for _ in range(9)]
        lines.append(f"| {name} | {len(image(name)):,} | {exchanged:.2f} | {median(times) * 1000:.1f} |")
    return "\n".join(lines)


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


if __name__ == "__main__":
    if "--figures" in sys.argv:
        print(figures())
    else:
        refresh()
