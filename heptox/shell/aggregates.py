"""Aggregates of which peers say parts (``semantics.md`` section 7): where a query has them, and what the shell makes of
rows.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from lark import Token, Tree

from heptox.grammar import each_item, syntax
from heptox.shell.parts import Part, only_part
from heptox.shell.rows import COUNT, HOW_MANY, LEAST, MOST, SUM
from heptox.shell.scope import EACH, TUPLE

FOLDED: Final = {"count": COUNT, "sum": SUM, "avg": SUM, "min": LEAST, "max": MOST}
"""Aggregates by name, and the elements of rows that hold what they need."""


def aggregate(name: str, places: str) -> str:
    """What an aggregate is of rows, or of folds in them, at some ``places``."""
    number = f"sum({places}/@{HOW_MANY})"
    if name == "count":
        return f"xs:integer({number})"
    return f"({number}[. gt 0] ! (sum({places}) div .))" if name == "avg" else f"{name}({places})"


def aggregated(call: Tree[Token]) -> tuple[str, Tree[Token]] | None:
    """The aggregate that a call is, by its name, and its only argument."""
    name, *arguments = call.children
    plain = str(name).removeprefix("fn:")
    if plain not in FOLDED or len(arguments) != 1:
        return None
    inner = only_part(arguments[0])
    if isinstance(inner, Token):
        return plain, Tree("path", [inner])
    only = inner if inner.data in ("path", "flwor") else arguments[0]
    return plain, only if isinstance(only, Tree) else Tree("path", [only])


def wrapped(query: syntax.Expression) -> syntax.Expression:
    """The query whose items stand in elements, in which they do not run together."""
    return each_item(query, lambda item, _: syntax.ElementConstructor(EACH, (), (item,)), "$heptox-each")


def fold(name: str, query: syntax.Expression) -> syntax.ElementConstructor:
    """The place in a tuple for what is left of the values of a query."""
    return syntax.ElementConstructor(name, (), (wrapped(query),))


def folded_tuples(query: syntax.Expression, folds: Sequence[str]) -> syntax.Expression:
    """A tuple for each item of a query, with folds of the item."""

    def made(item: syntax.Expression, _: tuple[str, ...]) -> syntax.Expression:
        value = syntax.ElementConstructor(EACH, (), (item,))
        places = (syntax.ElementConstructor(name, (), (value,)) for name in folds)
        slots = (syntax.ElementConstructor(f"v{place}", (), (each,)) for place, each in enumerate(places, 1))
        return syntax.ElementConstructor(TUPLE, (), tuple(slots))

    return each_item(query, made, "$heptox-item")


def leaves_aggregates(rest: Sequence[Part], loops: Set[str], bound: Set[str]) -> bool:
    """Whether of variables that are ``bound`` in the core, clauses that are left take groups, and of these nothing but
    aggregates of those of ``loops``: what tuples say decides all else.
    """
    kinds = [part.data if isinstance(part, Tree) else "" for part in rest]
    if kinds.count("group_clause") != 1:
        return False
    place = kinds.index("group_clause")
    lets = [part for part in rest[:place] if isinstance(part, Tree) and part.data == "let_clause"]
    if len(lets) + kinds[:place].count("where_clause") < place:
        return False
    names = {str(binding.children[0]) for clause in lets for binding in _trees(clause)}
    group = rest[place]
    assert isinstance(group, Tree)
    keys = {str(key.children[0]) for key in _trees(group)}
    grouped = (bound | names) - keys
    return not keys & bound and all(_is_aggregated(part, grouped, loops) for part in rest[place + 1 :])


def _trees(part: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in part.children if isinstance(child, Tree)]


def _is_aggregated(part: Part, grouped: Set[str], loops: Set[str]) -> bool:
    """Whether a part speaks of groups only by aggregates of the nodes of loops."""
    if isinstance(part, Token):
        return str(part) not in grouped
    if part.data == "call" and (found := aggregated(part)) is not None:
        first, *steps = found[1].children
        if found[1].data == "path" and isinstance(first, Token) and str(first) in loops:
            # a path leads to each node once, however many tuples of a group its beginning is in
            return not steps or (len(loops) == 1 and all(map(_is_plain, steps)))
    return all(_is_aggregated(child, grouped, loops) for child in part.children)


def _is_plain(step: Part) -> bool:
    """Whether a part of a path is ``/``, or a step to children or attributes of one name."""
    if isinstance(step, Token):
        return step.type == "SLASH"
    return step.data in ("name_test", "attribute_test") and not str(step.children[0]).count("*")
