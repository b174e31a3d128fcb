"""Times and sizes of translations on the auction workload: ``python -m benchmarks.translation [--write PAGE]``.

Each time is the median of runs that fill a twentieth of a second, at least five, with the mapping loaded and used
before. Beside it stands what one would pay anyhow, or do instead, on the same machine in the same minute: an XQuery
processor (Saxon) that merely compiles the same text, and exchanging the document to ask there. ``--write`` puts the
tables into a page, between the comments that name them; sizes do not depend on the machine, and the tests
compare them.
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
from typing import Any, TypeAlias

from saxonche import PySaxonProcessor

from heptox.cluster import MAPPINGS, QUERIES, Edge, auction_document, paths, query
from heptox.errors import TranslationError
from heptox.grammar import Expression, parse_query, print_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.translate import Direction, Hop, Translation, translate, translate_path
from heptox.xml import parse_document, write_document

SECONDS = 0.05
LEAST_RUNS = 5
PEOPLE = 100
RULES = (10, 100, 1000)
NODES = (2, 5, 10, 20, 40)
UNIONS = (2, 4, 6, 8, 13)

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


def hops() -> str:
    """For each query the time of one hop, beside that of a processor that compiles the query."""
    rows = []
    for name, shape in QUERIES.items():
        compiled = _compiling(query(name))
        row = [f"{name}: {shape}", _milliseconds(compiled)]
        for to in Direction:
            row += _beside(hop_times(name, to), compiled)
        rows.append(row)
    head = ["query", "Saxon compiles"]
    for way in ("against", "along"):
        head += [f"{way}: median", "most", "÷ compiling"]
    return table(head, rows)


def all_hops() -> str:
    """The medians over all queries and mappings."""
    middle = {to: statistics.median(time for name in QUERIES for time in hop_times(name, to)) for to in Direction}
    against, along = (_milliseconds(middle[to]) for to in (Direction.SOURCE, Direction.TARGET))
    return f"Over all queries and mappings the median is {against} ms against the rules and {along} ms along them.\n"


@cache
def hop_times(name: str, to: Direction) -> tuple[float, ...]:
    """The seconds of one hop of a query over each mapping."""
    return tuple(_hop(name, edge, to) for edge in MAPPINGS)


def _beside(times: Sequence[float], rival: float) -> list[str]:
    middle = statistics.median(times)
    return [_milliseconds(middle), _milliseconds(max(times)), f"{middle / rival:.1f}"]


def _hop(name: str, edge: Edge, to: Direction) -> float:
    """The seconds of one hop with warm rules; 0 where nothing reaches the mapping."""
    rules, expression = mapping(edge), asked(name, edge, to)
    return median(lambda: translate(rules, expression, to))


def exchanges() -> str:
    """For each query, asked against the rules: translating it and answering, or exchanging the document and answering.

    Saxon answers both times, on documents that it has parsed already.
    """
    sides = [_sides(edge) for edge in MAPPINGS]
    rows = []
    for name, shape in QUERIES.items():
        ways = [_both_answered(name, edge, side) for edge, side in zip(MAPPINGS, sides, strict=True)]
        translating, exchanging = (statistics.median(way) for way in zip(*ways, strict=True))
        ratios = [exchanged / translated for translated, exchanged in ways]
        cells = map(_milliseconds, (translating, exchanging))
        rows.append([f"{name}: {shape}", *cells, f"{statistics.median(ratios):.0f}", f"{min(ratios):.0f}"])
    return table(["query", "translate, answer", "exchange, answer", "÷ translating", "least"], rows)


def _sides(edge: Edge) -> tuple[Any, Any, float]:
    """A document of a mapping's source and its image, both parsed by Saxon, and the seconds of the exchange."""
    document = parse_document("".join(auction_document(edge.source, PEOPLE)))
    began = time.thread_time()
    image = exchange(mapping(edge), document)
    seconds = time.thread_time() - began
    source, target = (saxon().parse_xml(xml_text=write_document(side.root)) for side in (document, image))
    return source, target, seconds


def _both_answered(name: str, edge: Edge, sides: tuple[Any, Any, float]) -> tuple[float, float]:
    source, image, exchanging = sides
    expression = asked(name, edge, Direction.SOURCE)
    translated = translate(mapping(edge), expression, Direction.SOURCE)
    translating = _hop(name, edge, Direction.SOURCE) + _answering(translated.text, source)
    return translating, exchanging + _answering(print_query(expression), image)


@cache
def saxon() -> Any:
    """The processor that queries are measured against."""
    return PySaxonProcessor(license=False)


def _compiling(text: str) -> float:
    """The seconds of compiling a query: it is run where there is nothing to find."""
    return _answering(text, saxon().parse_xml(xml_text="<empty/>"))


def _answering(text: str, document: Any) -> float:
    """The seconds of compiling a query and running it on a document that is parsed already."""
    processor = saxon().new_xquery_processor()
    processor.set_context(xdm_item=document)

    def run() -> object:
        processor.set_query_content(text)
        return processor.run_query_to_value()

    return median(run)


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


_WAYS = ["Saxon compiles", "against", "÷ compiling", "along", "÷ compiling"]


def _both_ways(rules: Mapping, along: str, against: str) -> Iterator[str]:
    compiled = _compiling(against)
    yield _milliseconds(compiled)
    for text, to in ((against, Direction.SOURCE), (along, Direction.TARGET)):
        expression = parse_query(text)
        seconds = median(lambda expression=expression, to=to: translate(rules, expression, to))  # type: ignore[misc]
        yield _milliseconds(seconds)
        yield f"{seconds / compiled:.1f}"


def growth_of_unions() -> str:
    """One hop against rules of which each leaf has two alternatives: every element joined doubles the union."""
    rules = chain(max(UNIONS), alternatives=2)
    rows = []
    for count in UNIONS:
        expression = parse_query(joined("f", count))
        try:
            members = len(translate(rules, expression, Direction.SOURCE).pattern.members)
        except TranslationError as error:
            rows.append([str(count), str(error.faults[0]), ""])
        else:
            seconds = median(lambda expression=expression: translate(rules, expression, Direction.SOURCE))  # type: ignore[misc]
            rows.append([str(count), str(members), _milliseconds(seconds)])
    return table(["elements joined", "members", "against"], rows)


def chain(count: int, alternatives: int = 1) -> Mapping:
    """A mapping to ``count`` element types, each of which refers to the next one.

    Each is made of as many element types of the source as there are ``alternatives``, by a rule for each of them.
    """
    sources = [[f"e{number}" + "x" * other for other in range(alternatives)] for number in range(count)]
    with TemporaryDirectory() as folder:
        for root, names in (
            ("source", [name for several in sources for name in several]),
            ("target", [f"f{number}" for number in range(count)]),
        ):
            children = ", ".join(f"{name}*" for name in names)
            types = "".join(map(_element, names))
            Path(folder, f"{root}.dtd").write_text(f"<!ELEMENT {root} ({children})>\n{types}", encoding="utf-8")
        lines = ['source "source.dtd"', 'target "target.dtd"']
        for number, several in enumerate(sources):
            for name in several:
                lines += [f"{name}/@{leaf} -> f{number}/@{leaf}" for leaf in ("id", "next", "value")]
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
    """The median seconds of a run, after one that is not counted.

    It is the processor time of this thread, which other work on the machine disturbs least. What Saxon leaves to other
    threads is not counted, in its favour.
    """
    run()
    times: list[float] = []
    while len(times) < LEAST_RUNS or sum(times) < SECONDS:
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return statistics.median(times)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.{2 if seconds < 0.01 else 0}f}"


def machine() -> str:
    """What the times were taken on."""
    saxon_version = saxon().version.removesuffix(" from Saxonica")
    return (
        f"Processor times in milliseconds; Python {platform.python_version()}, {saxon_version}, "
        f"{os.cpu_count()} processors ({processor()}).\n"
    )


def processor() -> str:
    """The processor of this machine."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.machine()


# -- the page ----------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[], str]] = {
    "sizes to the source": lambda: sizes(Direction.SOURCE),
    "sizes to the target": lambda: sizes(Direction.TARGET),
    "machine": machine,
    "hops": hops,
    "all hops": all_hops,
    "exchanges": exchanges,
    "growth with rules": growth_with_rules,
    "growth with nodes": growth_with_nodes,
    "growth of unions": growth_of_unions,
}


def block(page: str, name: str) -> str:
    """What a page shows between the comments of a table."""
    found = re.search(rf"<!-- {name} -->\n\n(.*?)\n<!-- end -->", page, re.DOTALL)
    if found is None:
        raise ValueError(f"the page has no table {name}")
    return found[1]


def show(name: str, made: str, page: Path | None) -> None:
    """Print a table, and write it into a page."""
    print(f"{name}\n\n{made}", flush=True)
    if page is not None:
        put(page, name, made)


def put(page: Path, name: str, made: str) -> None:
    """Write a table into a page, between its comments; raises ``ValueError`` where they are not there."""
    text = page.read_text(encoding="utf-8")
    begin = f"<!-- {name} -->\n\n"
    page.write_text(text.replace(begin + block(text, name), begin + made, 1), encoding="utf-8")


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.translation", description="Times of translations.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    page: Path | None = parser.parse_args().write
    for name, make in TABLES.items():
        show(name, make(), page)


if __name__ == "__main__":
    main()
