"""Keys and references that are found in documents, beside those of the schemas that the documents were made from:
``python -m benchmarks.inference [--write PAGE]``.

Documents are random ones that are valid for the DTDs of ``examples``, and for random DTDs with identifiers.
That of mondial is a real one, which is no part of this project: ``--data`` is the folder that has it. ``--write`` puts
the table into a page, between the comments that name it. The same is printed on every machine.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.translation import show, table
from heptox.schema import AttributeType, SchemaGraph, parse_dtd_roots, random_document
from heptox.schema.inference.inferring import collected, inferred_schema
from heptox.schema.inference.model import Leaf

ROOT: Final = Path(__file__).parents[2]
DATA: Final = Path(__file__).parents[3] / "shared" / "data"
COUNTS: Final = (1, 5, 20)
RANDOM_DTDS: Final = 100
REPEATS: Final = 20
ELEMENTS: Final = 3000
DEPTH: Final = 6
_REFERRING: Final = (AttributeType.IDREF, AttributeType.IDREFS)


@dataclass(frozen=True, slots=True)
class Score:
    """How many leaves are declared, how many were found, and how many of these are declared."""

    declared: int = 0
    found: int = 0
    right: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(self.declared + other.declared, self.found + other.found, self.right + other.right)

    def figures(self) -> list[str]:
        """The cells of a table."""
        precision = f"{self.right / self.found:.2f}" if self.found else "none"
        recall = f"{self.right / self.declared:.2f}" if self.declared else "none"
        return [str(self.declared), str(self.found), precision, recall]


def examples() -> Iterator[SchemaGraph]:
    """The DTDs of the examples that were not inferred, under each root."""
    for file in sorted((ROOT / "examples").glob("*/*.dtd")):
        if file.parent.name != "inference":
            yield from parse_dtd_roots(file.read_text(encoding="utf-8"), file.name).values()


def random_dtds() -> Iterator[SchemaGraph]:
    """Random DTDs: a root over lists of elements, with identifiers, references and other attributes."""
    for seed in range(RANDOM_DTDS):
        yield parse_dtd_roots(_random_dtd(Random(seed)))["root"]


def _random_dtd(random: Random) -> str:
    names = [f"e{number}" for number in range(random.randint(3, 8))]
    lines = [f"<!ELEMENT root ({', '.join(f'{name}*' for name in names)})>"]
    for name in names:
        lines.append(f"<!ELEMENT {name} {random.choice(['EMPTY', '(#PCDATA)', '(leaf, other?)'])}>")
        kinds = []
        if random.random() < 0.6:
            kinds.append(f"ID {random.choice(['#REQUIRED', '#REQUIRED', '#IMPLIED'])}")
        others = [kind for kind in ("IDREF", "IDREFS", "CDATA", "NMTOKEN") if random.random() < 0.35]
        kinds += [f"{kind} {random.choice(['#REQUIRED', '#IMPLIED'])}" for kind in others]
        lines += [f"<!ATTLIST {name} {kind.split()[0].lower()} {kind}>" for kind in kinds]
    return "\n".join([*lines, "<!ELEMENT leaf (#PCDATA)>", "<!ELEMENT other (#PCDATA)>"])


def scores(graphs: Iterable[SchemaGraph], count: int) -> tuple[Score, Score]:
    """What is found of the keys, and of the references, of all schemas, in ``count`` documents of each."""
    keys, references = Score(), Score()
    for graph in graphs:
        random = Random(count)
        try:
            documents = [
                random_document(graph, random, repeats=REPEATS, elements=ELEMENTS, depth=DEPTH).encode()
                for _ in range(count)
            ]
        except ValueError:  # a schema that requires references, and has no identifier
            continue
        more_keys, more_references = score(graph, documents)
        keys, references = keys + more_keys, references + more_references
    return keys, references


def score(graph: SchemaGraph, documents: Sequence[bytes]) -> tuple[Score, Score]:
    """What is found of the keys, and of the references, of a schema, among those that the documents have."""
    collection = collected((text, None) for text in documents)
    inferred, there = inferred_schema(collection), collection.leaves.known()
    found_keys = frozenset(key.leaf for key in inferred.keys)
    found_references = frozenset(reference.leaf for reference in inferred.references)
    declared = {
        Leaf(name, f"@{attribute.name}"): attribute.type
        for name, element in graph.elements.items()
        for attribute in element.attributes
    }
    keys = {leaf for leaf, kind in declared.items() if kind is AttributeType.ID and leaf in there}
    references = {leaf for leaf, kind in declared.items() if kind in _REFERRING and leaf in there}
    return (
        Score(len(keys), len(found_keys), len(keys & found_keys)),
        Score(len(references), len(found_references), len(references & found_references)),
    )


def figures(data: Path) -> str:
    """The table."""
    rows = []
    for name, graphs in (("DTDs of the examples", list(examples())), ("random DTDs", list(random_dtds()))):
        for count in COUNTS:
            keys, references = scores(graphs, count)
            rows.append([name, str(count), *keys.figures(), *references.figures()])
    folder = data / "mondial"
    graph = parse_dtd_roots((folder / "mondial-europe.dtd").read_text(encoding="utf-8"))["mondial"]
    keys, references = score(graph, [(folder / "mondial-europe.xml").read_bytes()])
    rows.append(["mondial", "1", *keys.figures(), *references.figures()])
    head = ["", "documents", "keys", "found", "precision", "recall", "references", "found", "precision", "recall"]
    return table(head, rows)


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inference", description="How good keys found are.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the table")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help=f"default {os.path.relpath(DATA)}")
    given = parser.parse_args()
    show("keys and references found", figures(given.data), given.write)


if __name__ == "__main__":
    main()
