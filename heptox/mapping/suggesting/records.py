"""Sample documents as mappings see them: records, with the leaves that each owns, and the selections of records.

A record is an element of a node that repeats, or the root; it owns the leaves that it has once. A leaf with few values
that come again, such as a tag or an indicator, may say which kind of record one is: it is a *qualifier*, and its values
select records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeAlias

from heptox.mapping.suggesting.samples import document_nodes, own_values
from heptox.pattern import TAG
from heptox.schema import Path, SchemaTree, SelectionTest, selection_step
from heptox.xml import Document

_MOST_QUALIFIERS: Final = 3
_MOST_CODES: Final = 400
"""How many values a qualifier has at most."""

_LONGEST_CODE: Final = 24
_MOST_PLACES: Final = 16
"""In how many ways one record is selected at most."""

Places: TypeAlias = Mapping[Path, Sequence["Record"]]
"""Records by the steps to them, in the order of the document."""


@dataclass(slots=True, eq=False)
class Record:
    """An element of the node at ``node`` that repeats, or the root: the values of the leaves that it owns, by their
    paths from it, and the records right below it.
    """

    node: Path
    above: Record | None = None
    values: dict[Path, str] = field(default_factory=dict)
    below: list[Record] = field(default_factory=list)

    @property
    def chain(self) -> tuple[Record, ...]:
        """The record and those above it, from the root."""
        found: list[Record] = []
        record: Record | None = self
        while record is not None:
            found.append(record)
            record = record.above
        return tuple(reversed(found))

    def every(self) -> Iterator[Record]:
        """The record and all below it, in the order of the document."""
        waiting = [self]
        while waiting:
            record = waiting.pop()
            yield record
            waiting.extend(reversed(record.below))


def read_records(tree: SchemaTree, document: Document) -> Record:
    """The records of a document, by its root; what the schema does not have, and what is nil, is passed over."""
    root = Record(())
    owners = [root]  # of the elements on the way
    for element, path in document_nodes(tree, document):
        owner = owners[len(path) - 1] if path else root
        if path and tree.is_stop(path):
            above, owner = owner, Record(path, owner)
            above.below.append(owner)
        owners[len(path) :] = [owner]
        owner.values.update((leaf[len(owner.node) :], value) for leaf, value in own_values(tree, element, path))
    return root


class Within:
    """Whether what a record has is in another: its values of the ``spoken`` leaves, and each record below it in one of
    its own below the other, which is a matching, found by augmenting paths. What has no such value says nothing.
    """

    def __init__(self, spoken: Container[Path]) -> None:
        self._spoken = spoken
        self._values: dict[Record, Mapping[Path, str]] = {}
        self._said: dict[Record, Sequence[Record]] = {}
        self._known: dict[tuple[Record, Record], bool] = {}

    def holds(self, one: Record, other: Record) -> bool:
        """Whether the one is within the other."""
        if (one, other) not in self._known:
            fits = one.node == other.node and self._spoken_values(one).items() <= other.values.items()
            self._known[one, other] = fits and self._are_placed(self._below(one), other.below)
        return self._known[one, other]

    def _are_placed(self, ones: Sequence[Record], others: Sequence[Record]) -> bool:
        taken: dict[int, int] = {}

        def is_placed(number: int, tried: set[int]) -> bool:
            for place in (*range(number, len(others)), *range(min(number, len(others)))):  # mostly in order
                if place not in tried and self.holds(ones[number], others[place]):
                    tried.add(place)
                    if place not in taken or is_placed(taken[place], tried):
                        taken[place] = number
                        return True
            return False

        return len(ones) <= len(others) and all(is_placed(number, set()) for number in range(len(ones)))

    def _below(self, record: Record) -> Sequence[Record]:
        if record not in self._said:
            self._said[record] = [one for one in record.below if self._spoken_values(one) or self._below(one)]
        return self._said[record]

    def _spoken_values(self, record: Record) -> Mapping[Path, str]:
        if record not in self._values:
            paths = {leaf: (*record.node, *leaf) for leaf in record.values}
            said = {leaf: path[:-1] if path[-1] == TAG else path for leaf, path in paths.items()}
            self._values[record] = {leaf: record.values[leaf] for leaf, path in said.items() if path in self._spoken}
        return self._values[record]


class Selections:
    """Which leaves of a side select records, by all that is known of their values."""

    def __init__(self, roots: Sequence[Record]) -> None:
        counts: dict[Path, dict[Path, Counter[str]]] = {}
        documents: dict[tuple[Path, Path, str], set[int]] = {}
        for number, root in enumerate(roots):
            for record in root.every():
                for leaf, value in record.values.items() if _can_be_selected(record) else ():
                    counts.setdefault(record.node, {}).setdefault(leaf, Counter())[value] += 1
                    documents.setdefault((record.node, leaf, value), set()).add(number)
        self._known = {
            (node, leaf): frozenset(
                value for value in counts[node][leaf] if len(documents[node, leaf, value]) > 1 or len(roots) == 1
            )
            for node, leaves in counts.items()
            for leaf in _qualifiers(leaves)
        }
        self._kinds: dict[Path, list[Path]] = {}
        for node, leaf in self._known:
            self._kinds.setdefault(node, []).append(leaf)
        self._places: dict[Record, Places] = {}

    def kinds(self, node: Path) -> Sequence[Path]:
        """The leaves that may say which kind of record those at a node are."""
        return self._kinds.get(node, ())

    def steps(self, record: Record) -> tuple[str, ...]:
        """The last step to a record, without a condition and with each that selects it."""
        name = record.node[-1]
        tests = (
            SelectionTest("=", leaf, (record.values[leaf],))
            for leaf in self.kinds(record.node)
            if record.values.get(leaf) in self._known[record.node, leaf]
        )
        return (name, *(selection_step(name, (test,)) for test in tests))

    def places(self, record: Record) -> Places:
        """All records below one, by the steps to them from it, in all ways."""
        if record not in self._places:
            found: dict[Path, list[Record]] = {}
            waiting: list[tuple[Record, tuple[Path, ...]]] = [(below, ((),)) for below in reversed(record.below)]
            while waiting:
                below, prefixes = waiting.pop()
                assert below.above is not None  # it stands below another one
                between = below.node[len(below.above.node) : -1]
                ways = ((*prefix, *between, step) for prefix in prefixes for step in self.steps(below))
                chosen = tuple(islice(ways, _MOST_PLACES))
                for way in chosen:
                    found.setdefault(way, []).append(below)
                waiting.extend((further, chosen) for further in reversed(below.below))
            self._places[record] = found
        return self._places[record]


def _can_be_selected(record: Record) -> bool:
    """Whether conditions can stand behind the step to a record: it is neither the root nor in a box."""
    return bool(record.node) and not record.node[-1].startswith("[")


def _qualifiers(leaves: Mapping[Path, Counter[str]]) -> tuple[Path, ...]:
    """Of the leaves of a record, those with several short values that come again, of the fewest values first."""
    most = max(counter.total() for counter in leaves.values())
    found = [
        (len(counter), leaf)
        for leaf, counter in leaves.items()
        if leaf
        and 1 < len(counter) <= _MOST_CODES
        and 2 * counter.total() > most
        and 2 * len(counter) <= counter.total()
        and max(map(len, counter)) <= _LONGEST_CODE
        and leaf[-1] != TAG
        and not any(value == "" or "\n" in value for value in counter)
    ]
    return tuple(leaf for _, leaf in sorted(found)[:_MOST_QUALIFIERS])
