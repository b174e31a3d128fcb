"""The functions of a query as expressions over what its paths give, whichever engine finds that."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.grammar import FoundTerm, FunctionTerms, syntax, type_of
from heptox.pattern import Leaf, Term, Text, Type, ValueExpression, value_expression
from heptox.schema import Path


@dataclass(frozen=True, slots=True)
class Computation:
    """A function whose leaves are the numbers of its parts: paths, and what is decided by ``if`` and ``switch``."""

    expression: ValueExpression | str | None
    parts: tuple[syntax.Argument, ...]
    type: Type

    def part(self, path: Path) -> syntax.Argument:
        """The part of the function that a leaf stands for."""
        return self.parts[int(path[0])]


def computation(call: syntax.FunctionCall) -> Computation:
    """A function over its parts.

    >>> from heptox.grammar import parse_query
    >>> found = computation(parse_query("for $a in //a return concat($a/b, '.')").result)
    >>> found.parts == (syntax.PathExpression("$a", (syntax.Step("child", ("b",)),)),)
    True
    """
    numbered = _Numbered()
    term = numbered.term(call)
    expression: ValueExpression | str | None = term.value if isinstance(term, Text) else None
    if isinstance(term, Term):
        expression = value_expression(term.path) or Leaf(term.path)
    return Computation(expression, tuple(numbered.parts), type_of(call) or Type.STRING)


class _Numbered(FunctionTerms):
    """Every part that is no function is a leaf, by its number."""

    def __init__(self) -> None:
        super().__init__(self._numbered)
        self.parts: list[syntax.Argument] = []

    def _numbered(self, part: syntax.Argument, _repeating: bool, _texts: bool) -> tuple[str, Path]:
        self.parts.append(part)
        return "", (str(len(self.parts) - 1),)

    def conditional(self, given: syntax.Conditional, _known: frozenset[Term]) -> FoundTerm | None:
        return FoundTerm(Leaf(self._numbered(given, False, False)[1]), "")

    def looked_up(self, switch: syntax.Switch, _known: frozenset[Term]) -> FoundTerm | None:
        return FoundTerm(Leaf(self._numbered(switch, False, False)[1]), "")
