"""Subscriptions and documents whose names are in namespaces, made of those whose names are in none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.support.matching.conditions import All, Any, Comparison, Condition, Exists, Path, Step


def with_names(condition: Condition, element: Callable[[str], str], attribute: Callable[[str], str]) -> Condition:
    """A condition with other names of elements and attributes, as these functions write them."""

    def path(found: Path) -> Path:
        return Path(found.absolute, tuple(map(step, found.steps)))

    def step(found: Step) -> Step:
        test = found.test
        if test.startswith("@") and test != "@*":
            test = f"@{attribute(test[1:])}"
        elif test not in ("*", "@*", "text()"):
            test = element(test)
        return Step(found.axis, test, tuple(map(of, found.predicates)))

    def of(found: Condition) -> Condition:
        match found:
            case Exists() | Comparison():
                return replace(found, path=path(found.path))
            case All() | Any():
                return replace(found, parts=tuple(map(of, found.parts)))

    return of(condition)
