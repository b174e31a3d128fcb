"""Random linear paths over few labels, and paths that are more general than others, so that about half are covered."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import cast

from heptox.dissemination import LinearPath, Step
from heptox.pattern import Axis

TESTS = ("a", "a", "b", "*", "*")
LEAF_TESTS = ("@x", "@y", "@*", "text()")


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
