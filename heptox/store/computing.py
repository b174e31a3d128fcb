"""The functions of a query as expressions over what its paths give, whichever engine finds that."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from heptox.grammar import FoundTerm, FunctionTerms, syntax, type_of
from heptox.pattern import Leaf, Term, Text, Type, ValueExpression, evaluate_expression, value_expression
from heptox.schema import Path
from heptox.store.items import error


@dataclass(frozen=True, slots=True)
class Computation:
    """A function whose leaves are the numbers of its parts: paths, and what is decided by ``if`` and ``switch``."""

    call: syntax.FunctionCall
    expression: ValueExpression | str | None
    parts: tuple[syntax.Argument, ...]
    type: Type

    def part(self, path: Path) -> syntax.Argument:
        """The part of the function that a leaf stands for."""
        return self.parts[int(path[0])]

    def values(self, of: Callable[[syntax.Argument], Collection[str]]) -> Collection[str]:
        """The value, if there is one, where ``of`` gives those of parts."""
        if self.expression is None or isinstance(self.expression, str):
            return () if self.expression is None else (self.expression,)

        def value(path: Path) -> str | None:
            name = self.call.function
            return only_value(of(self.part(path)), name, self.call, f"{name}(.)")

        found = evaluate_expression(self.expression, value, lambda path: tuple(of(self.part(path))))
        return () if found is None else (found,)


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
    return Computation(call, expression, tuple(numbered.parts), type_of(call) or Type.STRING)


def only_value(values: Collection[str], function: str, asked: syntax.Node, predicate: str) -> str | None:
    """The value that a function is asked of, if there is one; as ``predicate`` it can be asked of each of several."""
    if len(values) > 1:
        raise error("HX6004", f"{function}() is asked of several values", asked, f"write path[{predicate}]")
    return next(iter(values), None)


def chosen_case(switch: syntax.Switch, values: Collection[str]) -> syntax.Argument | None:
    """What ``switch`` chooses for the value of its argument, if anything."""
    value = only_value(values, "switch", switch, "switch (.)")
    found = next((case.value for case in switch.cases if case.code == value), None)
    return switch.otherwise if found is None else syntax.StringLiteral(found)


class _Numbered(FunctionTerms):
    """Every part that is no function is a leaf, by its number."""

    def __init__(self) -> None:
        super().__init__(self._numbered, lambda _: None)
        self.parts: list[syntax.Argument] = []

    def _numbered(self, part: syntax.Argument, _repeating: bool, _texts: bool) -> tuple[str, Path]:
        self.parts.append(part)
        return "", (str(len(self.parts) - 1),)

    def conditional(self, given: syntax.Conditional, _known: frozenset[Term]) -> FoundTerm | None:
        return FoundTerm(Leaf(self._numbered(given, False, False)[1]), "")

    def looked_up(self, switch: syntax.Switch, _known: frozenset[Term]) -> FoundTerm | None:
        return FoundTerm(Leaf(self._numbered(switch, False, False)[1]), "")
