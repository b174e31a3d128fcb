"""Times and sizes of translations on the auction workload: ``python -m benchmarks.translation [--write PAGE]``.

Each time is the median of runs that fill a twentieth of a second, at least five, with the mapping loaded and used
before. Beside each stands a rival: reading the text of the query, or evaluating it. ``--write`` puts the tables into a
page, between the comments that name them; sizes and losses do not depend on the machine, and the tests compare them.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from heptox.cluster import MAPPINGS, QUERIES, Edge, auction_document, paths, query
from heptox.grammar import Expression, parse_query
from heptox.mapping import Mapping, load_mapping
from heptox.store import evaluate
from heptox.translate import Direction, Hop, Translation, translate, translate_path
from heptox.xmlio import parse_document

SECONDS = 0.05
LEAST_RUNS = 5
PEOPLE = 100
RULES = (10, 100, 1000)
NODES = (2, 5, 10, 20, 40)

Crossed: TypeAlias = Callable[[str, Edge, Direction], Translation]
"""What gives the translation of a query across a mapping in a direction."""


# -- the workload ------------------------------------------------------------------------------------------------


@cache
def mapping(edge: Edge) -> Mapping:
    """The mapping of an edge."""
    return load_mapping(edge.file)


@cache
def asked(name: str, edge: Edge, to: Direction) -> Expression:
    """A query as it is asked where a mapping begins: translated along the shortest path from ``auction.dtd``."""
    expression = parse_query(query(name))
    path = paths()[edge.target if to is Direction.SOURCE else edge.source]
    return translate_path([Hop(mapping(hop), way) for hop, way in path], expression).query if path else expression


def crossed(name: str, edge: Edge, to: Direction) -> Translation:
    """The translation of a query across a mapping."""
    return translate(mapping(edge), asked(name, edge, to), to)


# -- tables ------------------------------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, all columns but the first to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sizes(to: Direction, cross: Crossed = crossed) -> str:
    """For each mapping and query the characters of the translation, and its members where there are several."""
    rows = ([f"`{edge}`", *(_size(cross(name, edge, to)) for name in QUERIES)] for edge in MAPPINGS)
    return table(["mapping", *QUERIES], rows)


def _size(translation: Translation) -> str:
    if translation.empty:
        return "none"
    members = len(translation.pattern.members)
    return f"{len(translation.text)}{f' ({members})' if members > 1 else ''}{'*' if translation.losses else ''}"


def losses(cross: Crossed = crossed) -> str:
    """What is lost, for each query and mapping where something is."""
    found = (
        [f"{name}, `{edge}`", f"to the {to}", "; ".join(map(str, translation.losses))]
        for edge in MAPPINGS
        for to in Direction
        for name in QUERIES
        if (translation := cross(name, edge, to)).losses
    )
    return table(["query, mapping", "direction", "what is lost"], found).replace("---:", "---")


def hops() -> str:
    """For each query the time of one hop, beside the times of reading and of evaluating it."""
    document = parse_document("".join(auction_document("auction", PEOPLE)))
    rows = []
    for name, shape in QUERIES.items():
        text, expression = query(name), parse_query(query(name))
        read = median(lambda text=text: parse_query(text))  # type: ignore[misc]
        evaluated = median(lambda expression=expression: list(evaluate(expression, [document])))  # type: ignore[misc]
        row = [f"{name}: {shape}", _milliseconds(read), _milliseconds(evaluated)]
        for to in Direction:
            times = [_hop(name, edge, to) for edge in MAPPINGS]
            middle = statistics.median(times)
            row += [_milliseconds(middle), _milliseconds(max(times)), f"{middle / read:.1f}"]
        rows.append(row)
    head = ["query", "read", f"evaluated ({PEOPLE} people)"]
    for way in ("against", "along"):
        head += [f"{way}: median", "most", "÷ read"]
    return table(head, rows)


def _hop(name: str, edge: Edge, to: Direction) -> float:
    """The seconds of one hop with warm rules; 0 where nothing reaches the mapping."""
    rules, expression = mapping(edge), asked(name, edge, to)
    return median(lambda: translate(rules, expression, to))


def growth_with_rules() -> str:
    """One hop of a join of two elements, where the mapping has ever more rules."""
    rows = []
    for count in RULES:
        rules = chain(count)
        rows.append([str(len(rules.rules)), *_both_ways(rules, joined("e", 2), joined("f", 2))])
    return table(["rules", *_WAYS], rows)


def growth_with_nodes() -> str:
    """One hop of a join of ever more elements, by a mapping of fifty rules."""
    rules = chain(50)
    rows = [[str(count), *_both_ways(rules, joined("e", count), joined("f", count))] for count in NODES]
    return table(["elements joined", *_WAYS], rows)


_WAYS = ["read", "against", "÷ read", "along", "÷ read"]


def _both_ways(rules: Mapping, along: str, against: str) -> Iterator[str]:
    read = median(lambda: parse_query(against))
    yield _milliseconds(read)
    for text, to in ((against, Direction.SOURCE), (along, Direction.TARGET)):
        expression = parse_query(text)
        seconds = median(lambda expression=expression, to=to: translate(rules, expression, to))  # type: ignore[misc]
        yield _milliseconds(seconds)
        yield f"{seconds / read:.1f}"


def chain(count: int) -> Mapping:
    """A mapping of ``count`` rules, one for each element type; each element refers to one of the next type."""
    with TemporaryDirectory() as folder:
        for letter, root in (("e", "source"), ("f", "target")):
            types = "".join(_element(f"{letter}{number}") for number in range(count))
            children = ", ".join(f"{letter}{number}*" for number in range(count))
            Path(folder, f"{root}.dtd").write_text(f"<!ELEMENT {root} ({children})>\n{types}", encoding="utf-8")
        lines = ['source "source.dtd"', 'target "target.dtd"']
        for number in range(count):
            lines += [f"e{number}/@{leaf} -> f{number}/@{leaf}" for leaf in ("id", "next", "value")]
        arrows = Path(folder, "chain.arrows")
        arrows.write_text("\n".join(lines), encoding="utf-8")
        return load_mapping(arrows)


def _element(name: str) -> str:
    return f"<!ELEMENT {name} EMPTY>\n<!ATTLIST {name} id ID #REQUIRED next CDATA #REQUIRED value CDATA #REQUIRED>\n"


def joined(letter: str, count: int) -> str:
    """A query that joins ``count`` elements of a :func:`chain`, each with the next one.

    >>> print(joined("e", 2))
    for $v0 in //e0, $v1 in //e1 where $v0/@next = $v1/@id return <r>{$v0/@value}{data($v1/@value)}</r>
    """
    variables = ", ".join(f"$v{number} in //{letter}{number}" for number in range(count))
    joins = " and ".join(f"$v{number}/@next = $v{number + 1}/@id" for number in range(count - 1))
    return f"for {variables} where {joins} return <r>{{$v0/@value}}{{data($v{count - 1}/@value)}}</r>"


# -- time --------------------------------------------------------------------------------------------------------


def median(run: Callable[[], object]) -> float:
    """The median seconds of a run, after one that is not counted."""
    run()
    times: list[float] = []
    while len(times) < LEAST_RUNS or sum(times) < SECONDS:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.{2 if seconds < 0.01 else 0}f}"


def machine() -> str:
    """What the times were taken on."""
    return f"Times in milliseconds; Python {platform.python_version()}, {os.cpu_count()} processors ({_processor()}).\n"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


# -- the page ----------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[], str]] = {
    "sizes against the rules": lambda: sizes(Direction.SOURCE),
    "sizes along the rules": lambda: sizes(Direction.TARGET),
    "losses": losses,
    "machine": machine,
    "hops": hops,
    "growth with rules": growth_with_rules,
    "growth with nodes": growth_with_nodes,
}


def block(page: str, name: str) -> str:
    """What a page shows between the comments of a table."""
    found = re.search(rf"<!-- {name} -->\n\n(.*?)\n<!-- end -->", page, re.DOTALL)
    if found is None:
        raise ValueError(f"the page has no table {name}")
    return found[1]


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.translation", description="Times of translations.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    page: Path | None = parser.parse_args().write
    for name, make in TABLES.items():
        made = make()
        print(f"{name}\n\n{made}", flush=True)
        if page is not None:
            text = page.read_text(encoding="utf-8")
            begin = f"<!-- {name} -->\n\n"
            page.write_text(text.replace(begin + block(text, name), begin + made, 1), encoding="utf-8")


if __name__ == "__main__":
    main()
