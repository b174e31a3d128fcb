"""Looking at what the grammar of queries read: which rule a part is, and what stands in it."""

from __future__ import annotations

import re
from typing import Final, TypeAlias, TypeGuard, cast

from lark import Token, Tree

from heptox.pattern import FUNCTIONS

Part: TypeAlias = Tree[Token] | Token

_DECLARED: Final = re.compile(r"\$[^\s:;{]+(?::[^\s:;{=]+)?")
EXISTENCE: Final = frozenset({"exists", "empty", "not"})
CONDITIONS: Final = EXISTENCE | {"deep-equal", *FUNCTIONS}
"""The functions that are conditions."""


def tree_of(part: Part) -> Tree[Token]:
    """A part as a tree: a token alone is a path of one step."""
    return part if isinstance(part, Tree) else Tree("path", [part])


def token_of(part: Part) -> Token:
    """A part that the grammar says is a token."""
    return cast(Token, part)


def outside_token(tree: Part) -> Token:
    """The token by whose name a construct outside the fragment is refused."""
    tokens = (child for child in tree_of(tree).children if isinstance(child, Token))
    return next(token for token in tokens if token.type.startswith("OUTSIDE"))


def declared_variable(declaration: Part) -> str:
    """The variable that a prolog declares, with its ``$``; nothing for other declarations."""
    token = outside_token(declaration)
    found = _DECLARED.search(token) if token.type == "OUTSIDE_VARIABLE" else None
    return found[0] if found else ""


def is_rule(part: Part | None, *rules: str) -> TypeGuard[Tree[Token]]:
    """Whether a part was read by one of some rules."""
    return isinstance(part, Tree) and part.data in rules


def function_name(call: Tree[Token]) -> str:
    """The local name of the function that is called."""
    return str(call.children[0]).removeprefix("fn:")


def is_call(part: Part | None, name: str) -> TypeGuard[Tree[Token]]:
    """Whether a part is a call of one function."""
    return is_rule(part, "call") and function_name(part) == name


def without_test(part: Part, cast: str) -> Part:
    """The argument of a cast, without the test at its end that it can be: what cannot has no value all the same."""
    last = part.children[-1] if is_rule(part, "path") else None
    is_test = isinstance(last, Token) and last.type == "OUTSIDE_CASTABLE_TEST"
    if is_test and str(last).removesuffix("]").split()[-1] == cast:
        return Tree("path", tree_of(part).children[:-1], tree_of(part).meta)
    return part


def single_step(tree: Tree[Token]) -> Part | None:
    """The only step of a path, when it has neither slashes nor predicates."""
    return tree.children[0] if len(tree.children) == 1 else None


def primary_of(part: Part) -> Part | None:
    """What an expression of one step is, out of the parentheses around it."""
    tree = tree_of(part)
    if tree.data == "expressions" and len(tree.children) == 1:
        return primary_of(tree.children[0])
    single = single_step(tree) if tree.data == "path" else None
    return primary_of(single.children[0]) if is_rule(single, "parenthesised") and single.children else single


def alternatives(part: Part) -> list[Tree[Token]]:
    """The alternatives of a step: those of ``(a | b)`` or ``(@a | @b)``, or the one of a plain test; none else."""
    if is_rule(part, "name_test", "attribute_test"):
        return [part]
    if not is_rule(part, "parenthesised") or not part.children:
        return []
    inner = tree_of(part.children[0])
    if len(inner.children) != 1:
        return []
    only = inner.children[0]
    members = (
        [single_step(tree_of(child)) for child in only.children]
        if is_rule(only, "union")
        else [single_step(tree_of(only))]
    )
    tests = [member for member in members if is_rule(member, "name_test", "attribute_test")]
    return tests if len(tests) == len(members) else []


def starts_path(tree: Tree[Token]) -> bool:
    """Whether a primary is a step, so that a relative path may start with it."""
    return bool(alternatives(tree)) or tree.data in ("axis_step", "exception") or is_call(tree, "text")


def is_path(part: Part) -> bool:
    """Whether an argument is written as a path (or a primary), not as a condition."""
    tree = tree_of(part)
    if tree.data == "expressions" and len(tree.children) == 1:
        return is_path(tree.children[0])
    single = single_step(tree)
    if is_rule(single, "parenthesised") and single.children and not alternatives(single):
        return is_path(single.children[0])
    return tree.data == "path" and not (is_rule(single, "call") and function_name(single) in CONDITIONS)


def grouped_steps(rest: list[Part]) -> list[tuple[Token, Part, list[Tree[Token]]]]:
    """Slash, primary and predicates of each step."""
    groups: list[tuple[Token, Part, list[Tree[Token]]]] = []
    parts = iter(rest)
    for part in parts:
        if is_rule(part, "predicate"):
            groups[-1][2].append(part)
        else:
            groups.append((cast(Token, part), next(parts), []))
    return groups
