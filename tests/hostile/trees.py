"""Trees of queries, as large as they may be, of the shapes that cost most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from heptox.peer.wire.messages import MOST_TEXTS

Tree = list[Any]


def step(*names: str, axis: str = "child", predicates: list[Tree] | None = None) -> Tree:
    return ["Step", axis, list(names), predicates or [], []]


def path(start: str, *steps: Tree) -> Tree:
    return ["PathExpression", start, list(steps)]


def compared(number: int, operator: str = "=", start: str = "$a") -> Tree:
    return ["Comparison", operator, path(start, step("Patient")), ["StringLiteral", f"v{number}"]]


def loop(where: Tree | None, result: Tree, *clauses: Tree) -> Tree:
    return ["Flwor", [["For", "$a", CASES], *clauses], where, result, []]


def nested(number: int) -> Tree:
    """Elements in elements, as deep as a tree may be, in a sequence."""
    inner: Tree = ["Sequence", []]
    for _ in range(60):
        inner = ["ElementConstructor", "r", [], [inner]]
    return ["Sequence", [inner] * number]


CASES: Final = path("/", step("Pulmonary", axis="descendant"))
PATIENT: Final = path("$a", step("Patient"))

SHAPES: Final[dict[str, Callable[[int], Tree]]] = {
    "a wide sequence": lambda number: ["Sequence", [["StringLiteral", "a"]] * number],
    "a wide sequence of loops": lambda number: ["Sequence", [loop(None, PATIENT)] * number],
    "nested elements": nested,
    "many names in a step": lambda number: path("/", step(*(f"n{each}" for each in range(number)), axis="descendant")),
    "many predicates": lambda number: path(
        "/", step("Pulmonary", axis="descendant", predicates=[compared(each, start=".") for each in range(number)])
    ),
    "a long or": lambda number: loop(["Or", [compared(each) for each in range(number)]], PATIENT),
    "a long and": lambda number: loop(["And", [compared(each, "!=") for each in range(number)]], PATIENT),
    "an and of many or": lambda number: loop(
        ["And", [["Or", [compared(each), compared(-each)]] for each in range(number)]], PATIENT
    ),
    "many variables": lambda number: loop(None, PATIENT, *(["For", f"$v{each}", CASES] for each in range(number))),
    "variables of variables": lambda number: loop(
        None, PATIENT, *(["Let", f"$v{each}", path(f"$v{each - 1}" if each else "$a")] for each in range(number))
    ),
    "many elements": lambda number: loop(
        None, ["ElementConstructor", "r", [], [["ElementConstructor", "x", [], []]] * number]
    ),
}


def texts(tree: object) -> int:
    """How many texts a tree has."""
    return sum(map(texts, tree)) if isinstance(tree, list) else isinstance(tree, str)


def sized(shape: Callable[[int], Tree], most: int = MOST_TEXTS) -> Tree:
    """A tree of a shape with so many texts, about, and no more."""
    each = texts(shape(20)) - texts(shape(10))
    return shape((most - 100) * 10 // each)
