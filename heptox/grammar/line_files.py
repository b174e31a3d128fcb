"""Files that have a statement a line: the lines that can be read, and the faults of those that cannot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from lark import Token, Tree

from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.parsing import fault_at, position_of, subtrees
from heptox.grammar.query import Node
from heptox.schema import written_step

_Statement = TypeVar("_Statement")
_STEPS: Final = {"attribute_step": "@{}", "box_step": "[{}]", "made_step": "+{}"}


@dataclass(frozen=True, slots=True)
class SchemaPath(Node):
    """A path below the root; its steps are ``name``, ``@name``, ``text()``, selections, and, only the first, ``[Box]``.

    ``text`` is how it is written, where that is not these steps with slashes between.
    """

    steps: tuple[str, ...]
    text: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return self.text or "/".join(written_step(step, str) for step in self.steps)


class LineBuilder(Generic[_Statement]):
    """Makes the statements of one line; a path whose attribute or text is not its last step is a fault."""

    def __init__(self, text: str, file: str | None, line: int, faults: list[Fault]) -> None:
        self._text, self._file, self._line, self._faults = text, file, line, faults

    def statement(self, tree: Tree[Token]) -> _Statement:
        """The statement that a tree is."""
        raise NotImplementedError

    def _path(self, tree: Tree[Token]) -> SchemaPath:
        steps = list(subtrees(tree))
        for step in steps[:-1]:
            if step.data in ("attribute_step", "text_step"):
                hint = "an attribute and text() end a path"
                self._refuse("HX3001", f"nothing stands below {step_text(step)}", step, hint)
        return SchemaPath(tuple(map(self._step, steps)), position=self._position(tree))

    def _step(self, tree: Tree[Token]) -> str:
        return step_text(tree)

    def _refuse(self, code: str, message: str, tree: Tree[Token] | Token, hint: str | None = None) -> None:
        self._faults.append(fault_at(code, message, self._text, self._position(tree), hint, self._line))

    def _position(self, tree: Tree[Token] | Token) -> Position | None:
        return position_of(tree, self._file, self._line)


def read_lines(
    text: str,
    file: str | None,
    parse: Callable[[str, str | None, int], Tree[Token]],
    builder: Callable[[str, str | None, int, list[Fault]], LineBuilder[_Statement]],
) -> tuple[tuple[_Statement, ...], tuple[Fault, ...]]:
    """The statements of all lines that can be read, and the faults (HX3001) of those that cannot.

    ``parse`` gives the tree of a line of a file with a number.
    """
    statements: list[_Statement] = []
    faults: list[Fault] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            tree = parse(line, file, number)
        except GrammarError as error:
            faults.extend(error.faults)
        else:
            statements.extend(builder(line, file, number, faults).statement(child) for child in subtrees(tree))
    return tuple(statements), tuple(faults)


def name_text(tree: Tree[Token]) -> str:
    """The name in a tree."""
    return str(next(tree.scan_values(lambda _: True)))


def step_text(tree: Tree[Token]) -> str:
    """A step as it is written."""
    return "text()" if tree.data == "text_step" else _STEPS.get(str(tree.data), "{}").format(name_text(tree))
