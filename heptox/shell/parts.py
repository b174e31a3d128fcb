"""Parts of an XQuery as the grammar has read them: where they stand, and what kind of expression they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final, TypeAlias

from lark import Token, Tree

Part: TypeAlias = Tree[Token] | Token

_WRAPPING: Final = ("expressions", "path", "parenthesised")
_BOOLEAN: Final = ("comparison", "conjunction", "disjunction", "quantified", "name_test", "attribute_test", "predicate")
"""Parts that are one other, and parts that are conditions, or nodes, and no number."""
_CONDITIONS: Final = (
    "not",
    "exists",
    "empty",
    "boolean",
    "contains",
    "starts-with",
    "ends-with",
    "matches",
    "deep-equal",
    "text",
)


def only_part(part: Part) -> Part:
    """The part that others are nothing but parentheses around."""
    inner = part
    while isinstance(inner, Tree) and inner.data in _WRAPPING and len(inner.children) == 1:
        inner = inner.children[0]
    return inner


def span(part: Part) -> tuple[int, int]:
    """Where a part begins and ends in the text."""
    place = part if isinstance(part, Token) else part.meta
    begin, end = place.start_pos, place.end_pos
    assert begin is not None and end is not None  # the grammar has no empty parts
    return begin, end


def cuts(children: Sequence[Part], least: int) -> Iterator[int]:
    """Where a path may be cut so that the shell goes on with what its beginning brings, the longest beginning first.

    What a predicate says of positions is of the nodes below one node: it stays with its step.
    """
    for cut in range(len(children), least, -1):
        last = children[cut - 1]
        if isinstance(last, Token) and last.type in ("SLASH", "DOUBLE_SLASH"):
            continue
        left = takewhile(lambda part: isinstance(part, Tree) and part.data == "predicate", children[cut:])
        if not any(isinstance(part, Tree) and may_be_position(part) for part in left):
            yield cut


def may_be_position(predicate: Tree[Token]) -> bool:
    """Whether a predicate may be a number, or speaks of positions."""
    calls = [str(call.children[0]).removeprefix("fn:") for call in predicate.find_data("call")]
    if "position" in calls or "last" in calls:
        return True
    inner = only_part(predicate.children[0])
    if isinstance(inner, Token):
        return True
    if inner.data == "path":  # of several steps: the last may be a function
        inner = inner.children[-1]
    if isinstance(inner, Token):
        return True
    is_test = inner.data == "call" and str(inner.children[0]).removeprefix("fn:") in _CONDITIONS
    return not (is_test or inner.data in _BOOLEAN)


def begins_at_documents(children: Sequence[Part]) -> bool:
    first = children[0]
    if isinstance(first, Token):
        return first.type in ("SLASH", "DOUBLE_SLASH")
    return (
        first.data == "call" and str(first.children[0]) in ("collection", "fn:collection") and len(first.children) == 1
    )


def conjuncts(condition: Part) -> list[Part]:
    """The conditions that all hold where one does."""
    if isinstance(condition, Tree) and condition.data == "conjunction":
        return [part for part in condition.children if isinstance(part, Tree)]
    return [condition]


def is_document(part: Part) -> bool:
    """Whether a part is ``(/)``, the document itself."""
    only = part.children[0] if isinstance(part, Tree) and part.data == "path" and len(part.children) == 1 else part
    return isinstance(only, Tree) and only.data == "document"


def begin_at_documents(tree: Tree[Token]) -> frozenset[str]:
    """Let paths that begin with ``(/)``, or with a variable that stands for it alone, begin at documents themselves;
    these variables.
    """
    bound: dict[str, list[bool]] = {}
    for binding in tree.find_pred(lambda part: part.data in ("let_binding", "for_binding", "group_key")):
        is_let = binding.data == "let_binding"
        bound.setdefault(str(binding.children[0]), []).append(is_let and is_document(binding.children[-1]))
    names = frozenset(name for name, documents in bound.items() if all(documents))
    for path in tree.find_data("path"):
        first = path.children[0]
        if len(path.children) > 1 and (str(first) in names or (isinstance(first, Tree) and first.data == "document")):
            path.children = path.children[1:]
    return names


def flattened(flwor: Tree[Token]) -> list[Part]:
    """The clauses of a ``for`` or ``let``, and what it returns; those of another that it returns after ``let`` alone
    are its own.
    """
    *clauses, _, result = flwor.children
    is_let = all(isinstance(clause, Tree) and clause.data == "let_clause" for clause in clauses)
    if is_let and isinstance(result, Tree) and result.data == "flwor":
        return [*clauses, *flattened(result)]
    return list(flwor.children)
