"""Lines tried on sample pairs: what data exchange makes by them, beside what it should make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping as AnyMapping, Sequence
from typing import Final, TypeAlias

from heptox.errors import HeptoxError
from heptox.grammar import SchemaDeclaration, Side
from heptox.mapping.exchange import exchange
from heptox.mapping.loading import examine_arrows
from heptox.mapping.model import Mapping
from heptox.mapping.printing import declarations, namespaces
from heptox.mapping.suggesting.model import Suggestion
from heptox.mapping.suggesting.records import Record, read_records
from heptox.pattern import TAG
from heptox.schema import Path, SchemaGraph, SchemaTree
from heptox.xml import Document

_MOST_ROUNDS: Final = 8
"""How often only the least sure line is left out of those that make something wrong; then all are."""

_Key: TypeAlias = tuple[Path, bool]
"""A target leaf, a box standing for its tag, or, if it is true, a node."""

_Counts: TypeAlias = AnyMapping[_Key, Counter[str]]
"""Of each leaf how often it has each value, and of each node how many records there are."""


def confirmed(
    trees: tuple[SchemaTree, SchemaTree], pairs: Sequence[tuple[Document, Record]], lines: Sequence[Suggestion]
) -> list[Suggestion]:
    """Those of some lines that a mapping takes together, and by which exchange makes nothing of the source documents
    that the target records of their pairs do not have.

    Of those that pairs support each makes something in one of them.
    """
    left, rounds = list(lines), 0
    while left:
        mapping, wrong = _mapping(trees, left)
        if mapping is not None:
            try:
                images = [read_records(trees[1], exchange(mapping, document)) for document, _ in pairs]
            except HeptoxError:
                return []  # a value for which the other schema has no tag left
            counts = [(_counts(image), _counts(target)) for image, (_, target) in zip(images, pairs, strict=True)]
            wrong = _wrong(left, counts, every=rounds >= _MOST_ROUNDS)
            if not wrong:
                made = {key for does, _ in counts for key in does}
                return [one for one in left if not one.is_supported or _key(one) in made]
            rounds += 1
        if not wrong:
            return []
        left = [one for number, one in enumerate(left) if number not in wrong]
    return []


def _key(one: Suggestion) -> _Key:
    return one.target, one.kind == "entity"


def _counts(root: Record) -> _Counts:
    found: dict[_Key, Counter[str]] = {}
    for record in root.every():
        found.setdefault((record.node, True), Counter())[""] += 1
        for leaf, value in record.values.items():
            path = (*record.node, *leaf)
            key = path[:-1] if path[-1] == TAG else path
            found.setdefault((key, False), Counter())[value] += 1
    return found


def _wrong(lines: Sequence[Suggestion], counts: Sequence[tuple[_Counts, _Counts]], *, every: bool) -> set[int]:
    """The places of lines for leaves and nodes that get what they should not have, of each ``every`` one or the least
    sure; nodes first."""
    none: Counter[str] = Counter()
    keys = {key for made, should in counts for key in made if made[key] - should.get(key, none)}
    found = [(key, about) for key in keys if (about := _about(lines, key))]
    nodes = [each for each in found if each[0][1]]
    least = (about if every else [min(about, key=lambda place: lines[place].confidence)] for _, about in nodes or found)
    return {place for places in least for place in places}


def _about(lines: Sequence[Suggestion], key: _Key) -> list[int]:
    """The places of the lines about a leaf or node; of a node that no line is about, of those below it."""
    about = [place for place, one in enumerate(lines) if _key(one) == key]
    if about or not key[1]:
        return about
    return [place for place, one in enumerate(lines) if one.target[: len(key[0])] == key[0]]


def _mapping(trees: tuple[SchemaTree, SchemaTree], lines: Sequence[Suggestion]) -> tuple[Mapping | None, set[int]]:
    """The mapping that lines make, or the places of those of them that have faults."""
    graphs = {"source": trees[0].graph, "target": trees[1].graph}

    def read(file: str, _: str | None) -> SchemaGraph:
        return graphs[file]

    tables = {line.table.file: line.table.text for line in lines if line.table is not None}
    sides: tuple[tuple[Side, SchemaTree], ...] = ("source", trees[0]), ("target", trees[1])
    head = [str(SchemaDeclaration(side, side, tree.written((tree.root,)))) for side, tree in sides]
    head += [str(each) for side, tree in sides for each in (*namespaces(side, tree), *declarations(side, tree))]
    text = "\n".join((*head, *map(str, lines), ""))
    examined = examine_arrows(text, read, None, tables.__getitem__)
    numbers = {fault.position.line - len(head) - 1 for fault in examined.faults if fault.position is not None}
    faulty = numbers & set(range(len(lines)))
    return (None if faulty else examined.sound), faulty
