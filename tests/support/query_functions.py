"""Random functions of queries, over values of which there is one at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from heptox.grammar import syntax

_Value = TypeVar("_Value")

_OF_ONE: Final = ("upper-case", "lower-case", "normalize-space", "string")
_OF_TWO: Final = ("concat", "substring-before", "substring-after")
_CONDITIONS: Final = ("contains", "ends-with", "starts-with")


@dataclass(frozen=True, slots=True)
class FunctionMaker:
    """Makes functions of ``one_value``, of ``many``, of ``string`` and of ``condition``, with what ``pick`` chooses."""

    pick: Callable[[Sequence[str]], str]
    one_value: Callable[[], syntax.PathExpression | syntax.Data]
    many: Callable[[], syntax.PathExpression]
    string: Callable[[], syntax.StringLiteral]
    condition: Callable[[], syntax.Condition]

    def argument(self, depth: int = 1) -> syntax.Argument:
        """An argument of a function of texts."""
        kind = self.pick(("value", "value", "value", "string", "function", "choice", "switch"))
        if kind == "value" or not depth:
            return self.one_value()
        if kind == "string":
            return self.string()
        return self.text(depth - 1) if kind == "function" else self.chosen(kind, depth - 1)

    def text(self, depth: int = 1) -> syntax.FunctionCall:
        """A function that gives a text."""
        name = self.pick((*_OF_ONE, *_OF_TWO, "concat", "substring", "string-join"))
        if name == "string-join":
            return syntax.FunctionCall(name, (self.many(), self.string()))
        if name == "substring":
            start, length = (syntax.NumberLiteral(self.pick(("0", "1", "2"))) for _ in range(2))
            return syntax.FunctionCall(name, (self.argument(depth), start, length))
        if name == "concat":
            return syntax.FunctionCall(name, tuple(self.argument(depth) for _ in range(3)))
        return syntax.FunctionCall(name, tuple(self.argument(depth) for _ in range(1 if name in _OF_ONE else 2)))

    def chosen(self, kind: str, depth: int = 1) -> syntax.Argument:
        """``if`` or ``switch`` between values."""
        if kind == "choice":
            first, second = (self.text(depth) for _ in range(2))
            return syntax.Conditional(self.condition(), first, second if self.pick("yn") == "y" else None)
        cases = tuple(syntax.Case(self.string().value, self.string().value) for _ in range(2))
        other = self.pick(("none", "string", "text"))
        otherwise = None if other == "none" else self.string() if other == "string" else self.text(depth)
        return syntax.Switch(self.one_value(), cases, otherwise)

    def value(self) -> syntax.Argument:
        """A value that is computed."""
        kind = self.pick(("text", "text", "text", "choice", "switch"))
        return self.text() if kind == "text" else self.chosen(kind)

    def holds(self) -> syntax.Condition:
        """A condition on what is computed."""
        kind = self.pick((*_CONDITIONS, "not", "length", "equal", "equal"))
        if kind == "length":
            length = syntax.FunctionCall("string-length", (self.argument(),))
            return syntax.Comparison(">", length, syntax.NumberLiteral(self.pick("123")))
        if kind == "equal":
            return syntax.Comparison("=", self.value(), self.string())
        call = syntax.FunctionCall(self.pick(_CONDITIONS), (self.argument(), self.one_value()))
        return syntax.FunctionCall("not", (call,)) if kind == "not" else call
