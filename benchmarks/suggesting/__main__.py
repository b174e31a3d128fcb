"""Suggested arrows beside those that people drew: ``python -m benchmarks.suggesting [--write PAGE]``.

The arrows that are right are those of ``examples``, and those of ``mondial-atlas.arrows`` beside this module. Documents
of the hospitals and of the auctions are generated; those of the course catalogues, and the schemas of mondial and NITF,
are not part of this project: ``--data`` is the folder that has them. ``--write`` puts the tables into a page, between
the comments that name them. All but the times is the same on every machine.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Final

from benchmarks.suggesting.cases import Case, auctions, courses, geography, hospitals
from benchmarks.suggesting.scoring import RECALL, Score, score
from benchmarks.translation import show, table
from heptox.mapping import suggest
from heptox.schema import Attribute, AttributeType, Cardinality, SchemaGraph, SchemaTree, read_dtd

DATA: Final = Path(__file__).parents[3] / "shared" / "data"

Found = tuple[Case, Score]


def cases(data: Path) -> Iterator[Case]:
    """All mappings, in the order of the tables."""
    yield from courses(data / "courses")
    yield from hospitals()
    yield from auctions()
    yield from geography(data / "mondial" / "mondial-europe.dtd")


def families(found: Sequence[Found]) -> str:
    """What is found of all arrows of a family together."""
    groups: dict[tuple[str, str, str], list[Score]] = {}
    for case, scored in found:
        groups.setdefault((case.family, _documents(case), case.boxes), []).append(scored)
    rows = ([*key, str(len(scores)), *_figures(scores)] for key, scores in sorted(groups.items()))
    reached = f"reach {RECALL} recall at 0.8 precision"
    head = ["", "documents", "boxes", "mappings", "arrows", "suggested", "right", "precision", "recall", "F1", reached]
    return table(head, rows)


def _figures(scores: Sequence[Score]) -> Iterator[str]:
    right, suggested, both = (sum(getattr(each, name) for each in scores) for name in ("right", "suggested", "both"))
    yield from map(str, (right, suggested, both))
    yield f"{both / suggested:.2f}" if suggested else "none"
    yield f"{both / right:.2f}"
    yield f"{2 * both / (right + suggested):.2f}"
    yield f"{sum(each.at_recall is not None and each.at_recall >= 0.8 for each in scores)} of {len(scores)}"


def mappings(found: Iterable[Found]) -> str:
    """What is found of each mapping."""
    rows = (
        [
            f"{case.family} {case.name}",
            _documents(case),
            case.boxes,
            str(scored.right),
            str(scored.suggested),
            str(scored.both),
            f"{scored.precision:.2f}" if scored.suggested else "none",
            f"{scored.recall:.2f}",
            f"{scored.f1:.2f}",
            "not reached" if scored.at_recall is None else f"{scored.at_recall:.2f}",
            f"{1000 * scored.seconds:.0f}",
        ]
        for case, scored in found
    )
    head = ["", "documents", "boxes", "arrows", "suggested", "right", "precision", "recall", "F1"]
    return table([*head, f"precision at recall {RECALL}", "ms"], rows)


def _documents(case: Case) -> str:
    return "yes" if case.has_documents else "no"


def sizes(data: Path) -> str:
    """How long the suggestions for a large schema take."""
    graph = read_dtd(data / "nitf" / "nitf-2-5.dtd", "nitf")
    pairs = {"NITF and itself": graph, "NITF and NITF with an attribute more on each element": _extended(graph)}
    rows = []
    for name, other in pairs.items():
        start = process_time()
        found = suggest(SchemaTree(graph), SchemaTree(other))
        seconds = process_time() - start
        wrong = sum(each.source != each.target for each in found)
        nodes = sum(1 for _ in SchemaTree(other).walk())
        rows.append([name, f"{nodes:,}", f"{len(found):,}", str(wrong), f"{seconds:.1f}"])
    return table(["", "nodes of the larger one", "suggested", "to another leaf", "s"], rows)


def _extended(graph: SchemaGraph) -> SchemaGraph:
    added = Attribute("added", AttributeType.CDATA, Cardinality.OPTIONAL)
    return SchemaGraph(
        graph.root,
        {name: replace(each, attributes=(*each.attributes, added)) for name, each in graph.elements.items()},
    )


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suggesting", description="How good suggestions are.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help=f"default {os.path.relpath(DATA)}")
    given = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    found = [(case, score(case)) for case in cases(given.data)]
    show("suggestions together", families(found), given.write)
    show("suggestions by mapping", mappings(found), given.write)
    show("suggestions for large schemas", sizes(given.data), given.write)


if __name__ == "__main__":
    main()
