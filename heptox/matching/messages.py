"""Documents as relations: the nodes that subscriptions ask for, with their tag paths, id paths and values.

Source: section 3.3 of Tian et al., "Implementing a scalable XML publish/subscribe system using relational database
systems" (SIGMOD 2004), Figures 3.5 to 3.7. Beside the paper's triples of attributes and text there are those of
elements, for linear paths that end in one; nodes that no linear path asks for are left out (``matching.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from heptox.matching.element_sets import string_value
from heptox.matching.tag_paths import DOCUMENT, TagPaths
from heptox.pattern import TEXT, double
from heptox.xml import Document, XmlElement

NODE: Final = 1
VALUE: Final = 2
ID_PATH: Final = 4
"""What is asked of the nodes of a tag path: that they are there, their values, their places. Flags, to be added."""

FACTS: Final = pa.schema(
    [("fact", pa.int32()), ("document", pa.int32()), ("value", pa.int32()), ("id_path", pa.list_(pa.int32()))]
)
VALUES: Final = pa.schema(
    [
        ("value", pa.int32()),
        ("tag_path", pa.int32()),
        ("text", pa.string()),
        ("number", pa.float64()),
        ("nan", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class Messages:
    """A batch of documents. ``facts``: a row for each node that is asked for, with its document's place in the batch,
    its value and its id path where that is asked for; a node's id is its place in the document, the root's is 1.

    ``values``: each tag path with each value that its nodes have, once; the text is null where only the node is asked
    for, the number where the value is none (``nan`` says whether it is ``NaN``).
    """

    documents: int
    facts: pa.Table
    values: pa.Table
    tag_paths: tuple[int, ...]


class Shredder:
    """Makes relations of documents. ``wanted`` says what is asked of the nodes of a tag path."""

    def __init__(self, tag_paths: TagPaths, wanted: Callable[[int], int]) -> None:
        self._tag_paths = tag_paths
        self._ask = wanted
        self._wanted: list[int] = []
        self._begin()

    def _begin(self) -> None:
        self._documents: list[int] = []
        self._values: list[int] = []
        self._flat: list[int] = []
        self._ends: list[int] = [0]
        self._known: dict[tuple[int, str | None], int] = {}
        self._document = -1
        self._node = 0

    def __len__(self) -> int:
        """How many nodes have been found that are asked for."""
        return len(self._documents)

    def add(self, document: Document) -> None:
        """The next document of the batch."""
        self._document += 1
        self._node = 0
        self._element(document.root, DOCUMENT, [])

    def messages(self) -> Messages:
        """The batch; the next one begins."""
        offsets = pa.array(self._ends, pa.int32())
        flat = pa.array(self._flat, pa.int32())
        facts = pa.table(
            [
                pa.array(range(len(self._documents)), pa.int32()),
                pa.array(self._documents, pa.int32()),
                pa.array(self._values, pa.int32()),
                pa.ListArray.from_arrays(offsets, flat),
            ],
            FACTS,
        )
        found = Messages(
            self._document + 1, facts, self._value_table(), tuple(sorted({tag_path for tag_path, _ in self._known}))
        )
        self._begin()
        return found

    def forget(self) -> None:
        """What is asked for has changed."""
        self._wanted.clear()

    def _value_table(self) -> pa.Table:
        tag_paths, texts = zip(*self._known, strict=True) if self._known else ((), ())
        numbers = list(map(self._number, texts))
        return pa.table(
            [
                pa.array(range(len(texts)), pa.int32()),
                pa.array(tag_paths, pa.int32()),
                pa.array(texts, pa.string()),
                pa.array([None if each is None or math.isnan(each) else each + 0.0 for each in numbers], pa.float64()),
                pa.array([each is not None and math.isnan(each) for each in numbers], pa.bool_()),
            ],
            VALUES,
        )

    def _number(self, text: str | None) -> float | None:
        return None if text is None else double(text)

    def _asked(self, tag_path: int) -> int:
        known = self._wanted
        if tag_path >= len(known):
            known.extend([-1] * (len(self._tag_paths) - len(known)))
        if known[tag_path] < 0:
            known[tag_path] = self._ask(tag_path)
        return known[tag_path]

    def _element(self, element: XmlElement, above: int, path: list[int]) -> None:
        self._node += 1
        path.append(self._node)
        tag_path = self._child(above, str(element.tag))
        if wanted := self._asked(tag_path):
            text = string_value(element) if wanted & VALUE else None
            self._fact(tag_path, text, wanted, path)
        for name, value in element.items():
            self._node += 1
            self._leaf(tag_path, f"@{name!s}", str(value), path)
        if element.text:
            self._node += 1
            self._leaf(tag_path, TEXT, element.text, path)
        for child in element:
            self._element(child, tag_path, path)
            if child.tail:
                self._node += 1
                self._leaf(tag_path, TEXT, child.tail, path)
        path.pop()

    def _leaf(self, above: int, label: str, text: str, path: list[int]) -> None:
        tag_path = self._child(above, label)
        if wanted := self._asked(tag_path):
            path.append(self._node)
            self._fact(tag_path, text if wanted & VALUE else None, wanted, path)
            path.pop()

    def _child(self, above: int, label: str) -> int:
        found = self._tag_paths.children[above].get(label)
        return self._tag_paths.child(above, label) if found is None else found

    def _fact(self, tag_path: int, text: str | None, wanted: int, path: list[int]) -> None:
        key = tag_path, text
        value = self._known.get(key)
        if value is None:
            value = self._known[key] = len(self._known)
        self._documents.append(self._document)
        self._values.append(value)
        if wanted & ID_PATH:
            self._flat += path
        self._ends.append(len(self._flat))
