"""Lines suggested from pairs of invoices, tried on others: ``python -m benchmarks.suggesting.invoices [--write PAGE]``.

The same invoices stand in two syntaxes, UBL and CII, and as what the official crosswalk makes of each in the semantic
model of EN 16931. By what is suggested from five of ten pairs, unread and as it is, the other five are exchanged, and
compared with what the crosswalk makes of them, business term by business term, as multisets of values. What is made in
CII or UBL is brought into the model by ``examples/invoices``, which does what the crosswalk does. ``--data`` is the
folder that has the invoices. All but the times is the same on every machine.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping as AnyMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Final, Literal, TypeAlias

from benchmarks.crosswalks.scoring import Score, Values, right, scores, values
from benchmarks.crosswalks.terms import Terms, annotated_terms, judged_terms
from benchmarks.suggesting.__main__ import DATA
from benchmarks.translation import show, table
from heptox.grammar import SchemaDeclaration, Side
from heptox.mapping import Kind, Mapping, Suggestion, examine_arrows, exchange, load_mapping, suggest
from heptox.schema import SchemaTree, conform
from heptox.xml import Document, read_document

Syntax: TypeAlias = Literal["ubl", "uncefact", "xr"]

NAMES: Final[dict[Syntax, str]] = {"ubl": "UBL", "uncefact": "CII", "xr": "the model"}
MAPPINGS: Final[tuple[tuple[Syntax, Syntax], ...]] = (
    ("ubl", "xr"), ("uncefact", "xr"), ("ubl", "uncefact"), ("uncefact", "ubl")
)  # fmt: skip
FIRST: Final = 5
_TERM: Final = r"BT-[0-9]+"
_EXAMPLES: Final = Path(__file__).parents[2] / "examples" / "invoices"


@dataclass(frozen=True, slots=True)
class Result:
    """What was suggested from some invoices, which terms they have, and how it did on the others."""

    source: Syntax
    target: Syntax
    learned: Sequence[str]
    suggested: Sequence[Suggestion]
    known: frozenset[str]
    terms: Sequence[Score]
    made: int
    judged: int
    both: int
    seconds: float


class Invoices:
    """The invoices below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.numbers = sorted(file.name.removesuffix("_ubl.xml") for file in (folder / "pairs").glob("*_ubl.xml"))
        to_model = {"ubl": "ubl-xr.arrows", "uncefact": "cii-xr.arrows"}
        self._to_model = {name: load_mapping(_EXAMPLES / file) for name, file in to_model.items()}
        graphs = {name: mapping.source.graph for name, mapping in self._to_model.items()}
        self.trees = {name: SchemaTree(graph) for name, graph in graphs.items()}
        self.trees["xr"] = SchemaTree(self._to_model["ubl"].target.graph)
        judged = [read_document(file) for file in sorted((folder / "judged").glob("*.xml"))]
        model = read_document(folder / "xr" / "xrechnung-semantic-model.xsd")
        self._terms: Terms = annotated_terms(model) | judged_terms(judged)
        self._names = [name for name in self._terms.leaves if re.fullmatch(_TERM, name)]

    def document(self, number: str, syntax: Syntax, other: Syntax) -> Document:
        """An invoice; in the model, what the crosswalk makes of it in the other syntax."""
        if syntax == "xr":
            return read_document(self._folder / "judged" / f"{number}_{other}.xml")
        return read_document(self._folder / "pairs" / f"{number}_{syntax}.xml")

    def result(self, source: Syntax, target: Syntax, learned: Sequence[str]) -> Result:
        """How well what is suggested from some invoices does on the others."""
        pairs = [(self.document(each, source, target), self.document(each, target, source)) for each in learned]
        start = process_time()
        found = suggest(self.trees[source], self.trees[target], pairs=pairs)
        seconds = process_time() - start
        mapping = mapping_of(self.trees[source], self.trees[target], found)
        others = [each for each in self.numbers if each not in learned]
        made = {each: self._made(mapping, source, target, each) for each in others}
        judged = {each: self._judged(each, source, target) for each in others}
        known = frozenset(term for each in learned for term in self._judged(each, source, target))
        terms = list(scores(self._names, made, judged))
        every = [self._every(found_of) for found_of in (made, judged)]
        counts = every[0].total(), every[1].total(), (every[0] & every[1]).total()
        return Result(source, target, learned, found, known, terms, *counts, seconds)

    def _made(self, mapping: Mapping, source: Syntax, target: Syntax, number: str) -> Values:
        image = exchange(mapping, conform(self.document(number, source, target), mapping.source.graph))
        return values((image if target == "xr" else exchange(self._to_model[target], image)).root, self._terms)

    def _judged(self, number: str, source: Syntax, target: Syntax) -> Values:
        judged = self.document(number, "xr", source if target == "xr" else target)
        return values(judged.root, self._terms)

    def _every(self, found: AnyMapping[str, Values]) -> Counter[tuple[str, str, object]]:
        return Counter(
            (number, term, value)
            for number, terms in found.items()
            for term in self._names
            for value in terms.get(term, Counter()).elements()
        )


def mapping_of(source: SchemaTree, target: SchemaTree, found: Sequence[Suggestion]) -> Mapping:
    """The mapping that suggestions make; raises ``ValueError`` where they have a fault."""
    graphs = {"source": source.graph, "target": target.graph}
    tables = {one.table.file: one.table.text for one in found if one.table is not None}
    sides: tuple[tuple[Side, SchemaTree], ...] = ("source", source), ("target", target)
    lines = [str(SchemaDeclaration(side, side, tree.graph.prefixes.written(tree.graph.root))) for side, tree in sides]
    examined = examine_arrows(
        "\n".join((*lines, *map(str, found), "")), lambda file, _: graphs[file], None, tables.__getitem__
    )
    if examined.faults or examined.sound is None:
        raise ValueError("\n".join(fault.message for fault in examined.faults))
    return examined.sound


def summary(found: Iterable[Result], numbers: Sequence[str]) -> str:
    """What was suggested, and how many terms and values of the other invoices come out right."""
    rows = [
        [
            f"{NAMES[one.source]} to {NAMES[one.target]}",
            "the first" if one.learned == numbers[: len(one.learned)] else "the last",
            str(len(one.suggested)),
            right([score for score in one.terms if score.term in one.known], occurring=True),
            right(one.terms, occurring=True),
            right(one.terms),
            str(one.judged),
            str(one.made),
            f"{one.both / one.made:.3f}" if one.made else "none",
            f"{one.both / one.judged:.3f}",
        ]
        for one in found
    ]
    head = ["", "pairs", "lines", "right, of the terms that the pairs have", "of those that occur", "of all"]
    return table([*head, "values judged", "made", "precision", "recall"], rows)


def kinds(found: Iterable[Result]) -> str:
    """How many lines of each kind are suggested."""
    every: tuple[Kind, ...] = ("arrow", "entity", "selection", "constant", "function", "table", "copy")
    rows = []
    for one in found:
        counts = Counter(each.kind for each in one.suggested)
        rows.append([f"{NAMES[one.source]} to {NAMES[one.target]}", *(str(counts[kind] or "") for kind in every)])
    return table(["", *every], rows)


def missed(found: Result) -> Iterator[str]:
    """A line for each invoice that has not what it should have of a term."""
    for score in found.terms:
        for one in score.differences:
            yield f"{score.term} {one.document}: missing {[*one.missing]}, made {[*one.invented]}"


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.suggesting.invoices", description="Suggested from pairs."
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    parser.add_argument("--differences", action="store_true", help="say what differs, too")
    default = DATA / "invoices"
    parser.add_argument(
        "--data", type=Path, default=default, metavar="FOLDER", help=f"default {os.path.relpath(default)}"
    )
    given = parser.parse_args()
    invoices = Invoices(given.data)
    halves = invoices.numbers[:FIRST], invoices.numbers[FIRST:]
    found = [invoices.result(*ends, half) for ends in MAPPINGS for half in halves]
    show("suggestions from pairs", summary(found, invoices.numbers), given.write)
    show("suggestions from pairs by kind", kinds(found[::2]), given.write)
    print(f"seconds: {', '.join(f'{one.seconds:.1f}' for one in found)}")
    if given.differences:
        for one in found:
            print(f"{NAMES[one.source]} to {NAMES[one.target]}, by {one.learned[0]}...", *missed(one), sep="\n")


if __name__ == "__main__":
    main()
