"""All that is wrong with one file, gathered while it is read, reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from heptox.errors import Fault, Position
from heptox.grammar import Node, fault_at


class Findings:
    """The faults of a file, each reported once."""

    def __init__(self, text: str, file: str | None) -> None:
        self.file = file
        self._text = text
        self._faults: dict[Fault, None] = {}

    def __bool__(self) -> bool:
        return bool(self._faults)

    def add(self, code: str, message: str, at: Node | None, hint: str | None = None) -> None:
        """A fault at a node of the syntax; without one it is the whole file's."""
        position = at.position if at else None
        if position is None:
            self._faults[Fault(code, message, hint=hint, file=self.file)] = None
        else:
            self._faults[fault_at(code, message, self._text, position, hint)] = None

    def word(self, node: Node, word: str) -> Node:
        """A node where a word stands in the line of another one, at that or behind it; that, where it does not."""
        if node.position is None:
            return node
        line = self._text.split("\n")[node.position.line - 1]
        place = line.find(word, node.position.column - 1)
        return node if place < 0 else Node(position=replace(node.position, column=place + 1))

    def extend(self, faults: Iterable[Fault]) -> None:
        """Faults that were found elsewhere, such as those of a schema file."""
        self._faults.update(dict.fromkeys(faults))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Everything found so far, in the order of the file."""
        return tuple(sorted(self._faults, key=self._place))

    def _place(self, fault: Fault) -> tuple[bool, Position]:
        position = fault.position
        if position is None or position.file != self.file:
            return True, Position(0, 0)
        return False, Position(position.line, position.column)
