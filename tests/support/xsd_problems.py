"""Random mapping problems between random XSDs: names in a namespace and in none, local element types, derived types,
substitution groups, simple content with attributes, nillable elements, defaults, wildcards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path as FilePath
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar import parse_query, print_query
from heptox.mapping import Mapping, parse_mapping_arrows
from heptox.schema import Path, SchemaGraph, SchemaTree, conform, read_schema
from heptox.translate import Direction, with_wholes
from heptox.verification.random_queries import Vocabulary, random_query
from heptox.xml import parse_document, write_document
from tests.support.definition import making
from tests.support.random_mappings import MOST_RULES, Problem
from tests.support.random_schemas import NAMESPACE, RandomSchema

MOST_NODES: Final = 60
"""How many nodes of a schema arrows and queries speak of; those of a recursive one never end."""
MOST_LENGTH: Final = 4000
"""Longer documents are not asked."""
_LOCATED: Final = f'xsi:schemaLocation="{NAMESPACE} schema.xsd"'
VALUES: Final = ("x", "y z", "1", "-7", "true", "0", "2003-12-25", "", "x")


class XsdProblem:
    """A mapping between two random XSDs, and the models that documents of both sides are made from."""

    def __init__(self, random: Random) -> None:
        while True:
            self.sides = {Direction.SOURCE: RandomSchema(random), Direction.TARGET: RandomSchema(random)}
            if (found := self._drawn(random)) is not None:
                self.problem = found
                return

    def _drawn(self, random: Random) -> Problem | None:
        texts = {side: schema.text() for side, schema in self.sides.items()}
        with TemporaryDirectory() as folder:
            for side, text in texts.items():
                (FilePath(folder) / f"{side}.xsd").write_text(text, encoding="utf-8")
            try:
                trees = [SchemaTree(read_schema(FilePath(folder) / f"{side}.xsd", "root")) for side in texts]
            except HeptoxError:
                return None  # two wildcards between which none can decide
            declared = "".join(f'{side} "{side}.xsd" root root\n' for side in texts)
            for _ in range(8):
                arrows = "".join(_arrows(random, *trees))
                try:
                    mapping = parse_mapping_arrows(declared + arrows, folder, "test.arrows")
                except HeptoxError:
                    continue
                if 0 < len(mapping.rules) <= MOST_RULES and len(mapping.against or ()) <= MOST_RULES:
                    return Problem(texts[Direction.SOURCE], texts[Direction.TARGET], arrows, mapping)
        return None

    def documents(self, random: Random, count: int, side: Direction) -> list[str]:
        """Valid documents of one side, with the attributes that have a default."""
        graph = making(self.problem.mapping, side).source.graph
        texts = xsd_texts(random, self.sides[side], count)
        return [write_document(conform(parse_document(text), graph).root) for text in texts]

    def queries(self, random: Random, count: int, to: Direction) -> list[str]:
        """Queries over the schema of the side that asks."""
        made = making(self.problem.mapping, to)
        return xsd_queries(random, with_wholes(made).target, count, made)


def random_xsd(random: Random, folder: FilePath) -> tuple[RandomSchema, SchemaGraph]:
    """A random XSD that can be read, with its graph."""
    while True:
        schema = RandomSchema(random)
        (folder / "schema.xsd").write_text(schema.text(), encoding="utf-8")
        try:
            return schema, read_schema(folder / "schema.xsd", "root")
        except HeptoxError:
            continue


def xsd_texts(random: Random, schema: RandomSchema, count: int) -> list[str]:
    """Valid documents of an XSD."""
    drawn = (schema.document(random) for _ in range(4 * count))
    return [_located(random, text) for text in drawn if text is not None and len(text) <= MOST_LENGTH][:count]


def _located(random: Random, text: str) -> str:
    """The text of a document, which says now and then where its schema is."""
    return text if random.random() < 0.8 else text.replace("<t:root ", f"<t:root {_LOCATED} ", 1)


def xsd_queries(random: Random, tree: SchemaTree, count: int, mapping: Mapping | None = None) -> list[str]:
    """Queries over a schema, about what a mapping makes of it."""
    carried = frozenset(target for _, target in mapping.carried()) if mapping else frozenset[Path]()
    vocabulary = Vocabulary(tree, carried, values=VALUES)
    found: list[str] = []
    while len(found) < count:
        text = print_query(random_query(random, vocabulary), tree.graph.prefixes)
        try:
            parse_query(text)
        except HeptoxError:
            continue
        found.append(text)
    return found


def nodes_of(tree: SchemaTree) -> list[Path]:
    """The first nodes of a schema below its root."""
    return [path for path in islice(tree.walk(), MOST_NODES) if path]


def _arrows(random: Random, source: SchemaTree, target: SchemaTree) -> Iterator[str]:
    begins, ends = ([path for path in nodes_of(tree) if tree.is_leaf(path)] for tree in (source, target))
    if not begins or not ends:
        return
    stops = list(dict.fromkeys(map(source.stop, begins)))
    likely = set(random.sample(stops, min(len(stops), 2)))
    preferred = [path for path in begins if source.stop(path) in likely]
    for end in random.sample(ends, min(len(ends), random.randint(1, 6))):
        chosen = random.choice(preferred if random.random() < 0.8 else begins)
        yield f"{source.written(chosen)} -> {target.written(end)}\n"
    if random.random() < 0.2:
        one, other = (_repeating(random, tree) for tree in (source, target))
        if one and other:
            yield f"each {source.written(one)} -> {target.written(other)}\n"


def _repeating(random: Random, tree: SchemaTree) -> Path | None:
    found: Sequence[Path] = [path for path in nodes_of(tree) if tree.is_element(path) and tree.is_stop(path)]
    return random.choice(found) if found else None
