"""Subscriptions as syntax, apart from the project's own: what generators draw and judges are asked.

A condition is printed in two ways that must say the same: as a subscription, in any of its spellings, and guarded, so
that XPath 2 has no error where the subscription language says that a value that is no number does not match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Final, TypeAlias

from heptox.pattern import Number, PatternNode, TreePattern

FLIPPED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: the value of a string, or a number as it is written."""

    value: str
    number: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """``axis`` is ``/`` or ``//``; ``test`` a name, ``*``, ``@name``, ``@*`` or ``text()``."""

    axis: str
    test: str
    predicates: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """From the document node, or from the node that is asked about; without steps that node itself, ``.``."""

    absolute: bool
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    path: Path


@dataclass(frozen=True, slots=True)
class Comparison:
    path: Path
    operator: str
    constant: Constant


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any:
    parts: tuple[Condition, ...]


Condition: TypeAlias = Exists | Comparison | All | Any


# -- as a subscription -------------------------------------------------------------------------------------------


def printed(condition: Condition, spelling: Random | None = None) -> str:
    """The condition as a subscription; with ``spelling`` in one of its many spellings.

    >>> path = Path(False, (Step("//", "b", (Exists(Path(False, (Step("/", "@x"),))),)),))
    >>> print(printed(Exists(Path(True, (Step("/", "a", (Comparison(path, "<", Constant("5", True)),)),)))))
    /a[.//b[@x] < 5]
    """
    return "".join(_Printer(spelling).condition(condition))


class _Printer:
    def __init__(self, spelling: Random | None) -> None:
        self.random = spelling

    def may(self, probability: float) -> bool:
        return self.random is not None and self.random.random() < probability

    def space(self) -> str:
        """Nothing, or what may stand between tokens."""
        if not self.may(0.12):
            return ""
        assert self.random is not None
        return self.random.choice((" ", "  ", "\n", "\t ", "(: why :)", " (: (: x :) :) "))

    def condition(self, condition: Condition, level: int = 0) -> Iterator[str]:
        """``level`` is 0 where ``or`` may stand, 1 where ``and`` may, 2 for one comparison."""
        own = {Any: 0, All: 1}.get(type(condition), 2)
        if own < level or self.may(0.05):
            yield f"({self.space()}{''.join(self.condition(condition))}{self.space()})"
        elif isinstance(condition, Any | All):
            word = "or" if isinstance(condition, Any) else "and"
            for number, part in enumerate(condition.parts):
                if number:
                    yield f" {self.space()}{word}{self.space()} "
                yield from self.condition(part, own + 1)
        elif isinstance(condition, Exists):
            yield self.path(condition.path)
        else:
            yield from self.comparison(condition)

    def comparison(self, comparison: Comparison) -> Iterator[str]:
        path, constant = self.path(comparison.path), self.constant(comparison.constant)
        if self.may(0.04):
            path = f"({self.space()}{path})"
        left, operator, right = path, comparison.operator, constant
        if self.may(0.2):
            left, operator, right = constant, FLIPPED[operator], path
        blank = "" if self.may(0.3) and left[-1] in "\"')]" else " "
        yield f"{left}{blank}{self.space()}{operator}{self.space()}{'' if self.may(0.3) else ' '}{right}"

    def constant(self, constant: Constant) -> str:
        if constant.number:
            return constant.value
        quote = '"'
        if self.may(0.4) or ('"' in constant.value and "'" not in constant.value and not self.may(0.5)):
            quote = "'"
        return quote + constant.value.replace(quote, quote * 2) + quote

    def path(self, path: Path) -> str:
        if not path.steps:
            return "."
        first, *others = (self.step(step) for step in path.steps)
        if not path.absolute:
            here = path.steps[0].axis == "//" or self.may(0.15)
            first = f".{self.space()}{first}" if here else first.removeprefix("/")
        return first + "".join(self.space() + step for step in others)

    def step(self, step: Step) -> str:
        test = step.test
        if test[0] == "@":
            test = "@" + self.space() + test[1:]
        elif test == "text()" and self.may(0.1):
            test = "text ( )"
        predicates = step.predicates
        inside = (f"{self.space()}[{self.space()}{''.join(self.condition(p))}{self.space()}]" for p in predicates)
        axis = step.axis if step.axis == "//" or not (blank := self.space()) else step.axis + blank
        return axis + test + "".join(inside)


# -- guarded -----------------------------------------------------------------------------------------------------

DOUBLE: Final = r"^[ \t\n\r]*([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN)[ \t\n\r]*$"
"""What can be cast to ``xs:double``. (elementpath casts more: whatever Python takes for a number, ``1_0`` too.)"""


def guarded(condition: Condition) -> str:
    """The condition in XPath 2, where a value that is no number fulfils no comparison with one, and is no error.

    >>> print(guarded(Comparison(Path(True, (Step("//", "a"),)), ">", Constant("5", True))))
    (some $x1 in //a satisfies (matches($x1, $double) and xs:double($x1) > 5))
    """
    return _Guard().condition(condition)


class _Guard:
    def __init__(self) -> None:
        self.variables = count(1)

    def condition(self, condition: Condition) -> str:
        match condition:
            case Any(parts):
                return f"({' or '.join(map(self.condition, parts))})"
            case All(parts):
                return f"({' and '.join(map(self.condition, parts))})"
            case Exists(path):
                return f"exists({self.path(path)})"
            case Comparison(path, operator, Constant(value, True)):
                variable = f"$x{next(self.variables)}"
                test = f"matches({variable}, $double) and xs:double({variable}) {operator} {value}"
                return f"(some {variable} in {self.path(path)} satisfies ({test}))"
            case Comparison(path, operator, constant):
                quoted = constant.value.replace('"', '""')
                return f'({self.path(path)} {operator} "{quoted}")'

    def path(self, path: Path) -> str:
        steps = "".join(
            f"{step.axis}{step.test}{''.join(f'[{self.condition(p)}]' for p in step.predicates)}" for step in path.steps
        )
        return steps if path.absolute else f".{steps}"


# -- of patterns -------------------------------------------------------------------------------------------------


def condition_of(patterns: Sequence[TreePattern]) -> Condition:
    """What tree patterns say, one of which is to match: for texts that were not made from a condition.

    >>> from heptox.grammar import parse_subscription
    >>> print(printed(condition_of(parse_subscription("/a[b = 5 or @c]//text()"))))
    /a[b[. = 5]][.//text()] or /a[@c][.//text()]
    """
    return _joined(Any, [_joined(All, [_there_is(node, True) for node in pattern.children]) for pattern in patterns])


def _joined(kind: type[All | Any], parts: list[Condition]) -> Condition:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))


def _there_is(node: PatternNode, absolute: bool = False) -> Condition:
    tests: Iterator[Condition] = (
        Comparison(
            Path(False, ()),
            value.operator,
            Constant(value.constant.lexical, True)
            if isinstance(value.constant, Number)
            else Constant(value.constant.value),
        )
        for value in node.values
    )
    return Exists(Path(absolute, (Step(node.axis, node.test, (*tests, *map(_there_is, node.children))),)))


# -- what it holds -----------------------------------------------------------------------------------------------


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """All comparisons in a condition, those in predicates too."""
    match condition:
        case Any(parts) | All(parts):
            for part in parts:
                yield from comparisons(part)
        case Exists(path):
            yield from _in_path(path)
        case Comparison(path):
            yield condition
            yield from _in_path(path)


def _in_path(path: Path) -> Iterator[Comparison]:
    for step in path.steps:
        for predicate in step.predicates:
            yield from comparisons(predicate)


# -- smaller -----------------------------------------------------------------------------------------------------


def smaller(condition: Condition) -> Iterator[Condition]:
    """Conditions with one part less, or with one part smaller; the greatest parts first."""
    match condition:
        case Any(parts) | All(parts):
            yield from parts
            for number, part in enumerate(parts):
                others = (*parts[:number], *parts[number + 1 :])
                if len(others) > 1:
                    yield replace(condition, parts=others)
                for less in smaller(part):
                    if type(less) is not type(condition):
                        yield replace(condition, parts=(*parts[:number], less, *parts[number + 1 :]))
        case Exists(path):
            yield from map(Exists, _smaller_paths(path))
        case Comparison(path, operator, constant):
            if path.steps:
                yield Exists(path)
            yield from (Comparison(less, operator, constant) for less in _smaller_paths(path))


def _smaller_paths(path: Path) -> Iterator[Path]:
    steps = path.steps
    for number in range(len(steps) if len(steps) > 1 else 0):
        yield replace(path, steps=(*steps[:number], *steps[number + 1 :]))
    for number, step in enumerate(steps):
        for less in _smaller_steps(step):
            yield replace(path, steps=(*steps[:number], less, *steps[number + 1 :]))


def _smaller_steps(step: Step) -> Iterator[Step]:
    predicates = step.predicates
    for number, predicate in enumerate(predicates):
        yield replace(step, predicates=(*predicates[:number], *predicates[number + 1 :]))
        for less in smaller(predicate):
            yield replace(step, predicates=(*predicates[:number], less, *predicates[number + 1 :]))
    if step.axis == "//":
        yield replace(step, axis="/")
