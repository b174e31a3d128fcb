"""Queries whose items say which nodes they are of, so that each counts once for each match, and no more often
(``semantics.md`` section 7, *How often an item counts*).

Answers are sets. Where multiplicities matter, an item stands in an element :data:`ITEM`, before an element
:data:`NODES` with the identities of the nodes that the query's variables are bound to: equal items of different matches
are different then, and those of one match are equal, however many source nodes a rule makes a node of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final, TypeAlias

from heptox.grammar import query as syntax

ITEM: Final = "heptox-item"
"""The element around an item that is counted."""
ROW: Final = "heptox-row"
"""The element around one of which only that matters what it says, and how many say the same: those are one row."""
NODES: Final = "heptox-nodes"
"""The element in them that says which nodes the item is of."""

VALUE: Final = "v"
"""What stands in it behind the number of a value, before that of the expression that encloses it: there are spaces
between values of one such expression.
"""

ONCE: Final = "o"
"""What stands in it behind the number of the node of a variable, which is there once however often it is made."""

MadeItem: TypeAlias = Callable[[syntax.Expression, tuple[str, ...]], syntax.Expression]


def counted_query(expression: syntax.Expression, around: str = ITEM) -> syntax.Expression:
    """The query whose items are counted, in elements of a name ``around`` them, those of loops in constructors, too.

    >>> from heptox.grammar import parse_query, print_query
    >>> print(print_query(counted_query(parse_query("//Name"))))
    for $heptox1 in //Name
    return <heptox-item>{$heptox1}<heptox-nodes>0<n0>{generate-id($heptox1)}</n0></heptox-nodes></heptox-item>
    """
    return _counted_items(expression, count(), around)


def each_item(expression: syntax.Expression, made: MadeItem, variable: str = "$heptox") -> syntax.Expression:
    """The query with other items: what is ``made`` of each, and of the variables whose nodes it is an item for.

    Paths become loops over variables whose names begin with ``variable``.
    """
    return _Items(made, (f"{variable}{number}" for number in count(1))).of(expression, ())


def counted_path(path: syntax.PathExpression, variable: str) -> syntax.Flwor:
    """Each node of a path as an item, bound to a variable."""
    node = syntax.PathExpression(variable, position=path.position)
    return syntax.Flwor((syntax.For(variable, path),), None, _item(node, "0", (variable,)), position=path.position)


def uncounted(item: syntax.Expression) -> syntax.Expression:
    """The item in the element that counts it; any other as it is."""
    match item:
        case syntax.ElementConstructor(name, _, (first, *_)) if name == ITEM and not isinstance(first, str):
            return first
        case _:
            return item


def _item(
    item: syntax.Expression, label: str, variables: Sequence[str], around: str = ITEM
) -> syntax.ElementConstructor:
    """An item beside the nodes of variables; the ``label`` tells it from items of the same nodes elsewhere."""
    nodes = tuple(
        syntax.ElementConstructor(f"n{place}", (), (syntax.NodeIdentity(syntax.PathExpression(name)),))
        for place, name in enumerate(variables)
    )
    return syntax.ElementConstructor(around, (), (item, syntax.ElementConstructor(NODES, (), (label, *nodes))))


def _counted_items(
    expression: syntax.Expression, labels: Iterator[int], around: str = ITEM, enclosed: int = 0, *, once: bool = False
) -> syntax.Expression:
    def made(item: syntax.Expression, variables: tuple[str, ...]) -> syntax.Expression:
        counted, label = _counted(item, labels, variables), f"{next(labels)}{ONCE if once else ''}"
        is_node = isinstance(item, syntax.PathExpression | syntax.ElementConstructor | syntax.TextConstructor)
        return _item(counted, label if is_node else f"{label}{VALUE}{enclosed}", variables, around)

    return each_item(expression, made)


def _counted(item: syntax.Expression, labels: Iterator[int], variables: Sequence[str]) -> syntax.Expression:
    """An item in whose constructors what may repeat is counted, too; and the nodes of the ``variables``, each once."""
    if not isinstance(item, syntax.ElementConstructor):
        return item
    content: list[str | syntax.Expression] = []
    for enclosed, part in enumerate(item.content):
        for each in part.items if isinstance(part, syntax.Sequence) else (part,):
            if isinstance(each, syntax.Flwor | syntax.PathExpression | syntax.Conditional):
                once = isinstance(each, syntax.PathExpression) and not each.steps and each.start in variables
                content.append(_counted_items(each, labels, enclosed=enclosed, once=once))
            else:
                content.append(each if isinstance(each, str) else _counted(each, labels, variables))
    return replace(item, content=tuple(content))


@dataclass(frozen=True, slots=True)
class _Items:
    made: MadeItem
    fresh: Iterator[str]

    def of(self, expression: syntax.Expression, variables: tuple[str, ...]) -> syntax.Expression:
        """The items of an expression, which is evaluated for the nodes of each binding of the variables."""
        match expression:
            case syntax.Sequence(items):
                return replace(expression, items=tuple(self.of(item, variables) for item in items))
            case syntax.Flwor():
                bound = (clause.variable for clause in expression.clauses if isinstance(clause, syntax.For))
                return replace(expression, order=(), result=self.of(expression.result, (*variables, *bound)))
            case syntax.Conditional(_, value, None):
                return replace(expression, value=self.of(value, variables))
            case syntax.PathExpression(start, steps) if steps or start not in variables:
                return self._each(expression, variables, lambda node: node)
            case syntax.Data(argument):
                return self._each(argument, variables, syntax.Data)
            case syntax.TagValue(argument):
                return self._each(argument, variables, syntax.TagValue)
            case syntax.TextConstructor(syntax.Data(path) | (syntax.PathExpression() as path)):
                return syntax.Conditional(syntax.Exists(path, spelled_out=False), self.made(expression, variables))
            case _:
                return self.made(expression, variables)

    def _each(
        self,
        path: syntax.PathExpression,
        variables: tuple[str, ...],
        item: Callable[[syntax.PathExpression], syntax.Expression],
    ) -> syntax.Flwor:
        variable = next(self.fresh)
        made = self.made(item(syntax.PathExpression(variable)), (*variables, variable))
        return syntax.Flwor((syntax.For(variable, path),), None, made, position=path.position)
