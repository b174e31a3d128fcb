"""Random linear paths over few labels, paths that are more general than others, so that about half are covered, and
subscriptions made of paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import cast

from heptox.matching import LinearPath, Step
from heptox.pattern import Axis, Number, PatternNode, Sign, Text, TreePattern, ValueTest, is_leaf_test

TESTS = ("a", "a", "b", "*", "*")
LEAF_TESTS = ("@x", "@y", "@*", "text()")
CONSTANTS = (Text("5"), Text("5.0"), Text("a"), Number("5"), Number("5.0"), Number("6"))
OPERATORS: tuple[Sign, ...] = ("=", "=", "=", "!=", "!=", "<=", ">=", "<")


def random_path(random: Random, longest: int = 8, leaves: float = 0.2) -> LinearPath:
    """A path of at most so many steps, with an attribute or text at its end now and then."""
    steps = [Step(_axis(random), random.choice(TESTS)) for _ in range(random.randint(1, longest))]
    if random.random() < leaves:
        steps[-1] = Step(steps[-1].axis, random.choice(LEAF_TESTS))
    return LinearPath(tuple(steps))


def _axis(random: Random) -> Axis:
    return "//" if random.random() < 0.4 else "/"


def loosened(random: Random, path: LinearPath) -> LinearPath:
    """A path that asks for less here and there, and now and then for something else."""
    steps: list[Step] = []
    for axis, test in path.steps:
        chance = random.random()
        if chance < 0.15 and steps:
            continue
        if chance < 0.35 and test[0] != "@" and test != "text()":
            test = "*"
        if chance < 0.25:
            axis = "//"
        if chance > 0.95 and test in TESTS:
            test = random.choice(TESTS)
        steps.append(Step(axis, test))
    return LinearPath(tuple(steps or path.steps[:1]))


def random_paths(random: Random, number: int, longest: int = 8) -> Sequence[LinearPath]:
    """Paths that begin alike: each goes on where one before it was left."""
    found = [random_path(random, longest)]
    while len(found) < number:
        kept = random.choice(found).steps[: random.randint(0, longest - 1)]
        if kept and (kept[-1].test[0] == "@" or kept[-1].test == "text()"):
            kept = kept[:-1]
        found.append(LinearPath((*kept, *random_path(random, longest - len(kept)).steps)))
    return list(dict.fromkeys(found))


def parsed(text: str) -> LinearPath:
    """A linear path as text: ``/a//*/@x``.

    >>> print(parsed("//a/@x"))
    //a/@x
    """
    steps: list[Step] = []
    rest = text
    while rest:
        axis = "//" if rest.startswith("//") else "/"
        test, slash, after = rest[len(axis) :].partition("/")
        steps.append(Step(cast(Axis, axis), test))
        rest = slash + after
    return LinearPath(tuple(steps))


def pattern_of(path: LinearPath) -> tuple[TreePattern, ...]:
    """A path as a subscription."""
    node: PatternNode | None = None
    for axis, test in reversed(path.steps):
        node = PatternNode(axis, test, (), (node,) if node else ())
    assert node is not None
    return (TreePattern((node,)),)


def random_subscription(random: Random, valued: float = 0) -> tuple[TreePattern, ...]:
    """Mostly a path, now and then with branches or alternatives; a share of the nodes is compared with constants."""
    chance = random.random()
    first = pattern_of(random_path(random, 4))
    second = pattern_of(random_path(random, 3))
    if chance < 0.6:
        found = first
    elif chance < 0.7 and not is_leaf_test(first[0].children[0].test):
        (top,) = first[0].children
        found = (TreePattern((replace(top, children=(*top.children, *second[0].children)),)),)
    elif chance < 0.85:
        found = (TreePattern((*first[0].children, *second[0].children)),)
    else:
        found = (*first, *second)
    return tuple(TreePattern(tuple(compared(random, node, valued) for node in each.children)) for each in found)


def compared(random: Random, node: PatternNode, share: float) -> PatternNode:
    """A node of which that share of all below is compared with one constant, or with several."""
    children = tuple(compared(random, child, share) for child in node.children)
    number = random.choice((1, 1, 2, 3)) if random.random() < share else 0
    values = tuple(ValueTest(random.choice(OPERATORS), random.choice(CONSTANTS)) for _ in range(number))
    return replace(node, values=values, children=children)
