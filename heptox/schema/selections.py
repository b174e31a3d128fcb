"""Selections: a step with conditions on the single-valued leaves of its node (``semantics.md`` section 2).

In paths a selection is one step, ``{urn:a}field[...]``: the name of the element, and the conditions in one form, so two
selections are one virtual node exactly when their steps are equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

Path: TypeAlias = tuple[str, ...]
Test: TypeAlias = Literal["=", "!=", "exists", "not"]

COMPUTED: Final = "="
"""What the step of a computed leaf begins with, whose value is a function of leaves (:mod:`heptox.pattern`)."""
_OPERATORS: Final = frozenset(["+", "-", "*", "div", "=", "!=", "<", "<=", ">", ">=", "and", "or", "||"])


@dataclass(frozen=True, slots=True, order=True)
class SelectionTest:
    """A condition of a selection on the leaf at ``path`` below its node: that it equals one of ``values`` (``=``), is
    there and differs from the one value (``!=``), is there (``exists``), or is not there (``not``).
    """

    test: Test
    path: Path
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.test in ("=", "!=")) != bool(self.values) or (self.test == "!=" and len(self.values) > 1):
            raise ValueError("a comparison has values, != one; the other conditions have none")


def selection_step(name: str, conditions: tuple[SelectionTest, ...]) -> str:
    """The step of a selection; the name alone where it has no conditions.

    >>> selection_step("field", (SelectionTest("=", ("@tag",), ("245",)),))
    'field[["=",["@tag"],["245"]]]'
    """
    if not conditions:
        return name
    written = [[one.test, one.path, sorted(set(one.values))] for one in sorted(set(conditions))]
    return name + json.dumps(written, ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def split_selection(step: str) -> tuple[str, tuple[SelectionTest, ...]]:
    """The name of a step, and its conditions; none for a step that is no selection.

    >>> split_selection('{urn:a}field[["exists",["@tag"],[]]]')
    ('{urn:a}field', (SelectionTest(test='exists', path=('@tag',), values=()),))
    >>> split_selection('field[["exists",["{urn:a}tag"],[]]]')[0]
    'field'
    >>> split_selection("[Box]")
    ('[Box]', ())
    """
    at = step.find("[", step.find("}") + 1 if step.startswith(("{", "Q{")) else 0)
    if at < 1 or step.startswith(COMPUTED):
        return step, ()
    found = json.loads(step[at:])
    return step[:at], tuple(SelectionTest(test, tuple(path), tuple(values)) for test, path, values in found)


@lru_cache(maxsize=16_384)
def plain(path: Path) -> Path:
    """The path without conditions: that of the schema node which a virtual one stands beside.

    >>> plain(("record", 'field[["exists",["@tag"],[]]]', "@tag"))
    ('record', 'field', '@tag')
    """
    if not any("[" in step for step in path):
        return path
    return tuple(split_selection(step)[0] for step in path)


def contradict(tests: Iterable[SelectionTest]) -> bool:
    """Whether no node fulfils some conditions together.

    >>> contradict([SelectionTest("=", ("@k",), ("a", "b")), SelectionTest("!=", ("@k",), ("a",))])
    False
    >>> contradict([SelectionTest("=", ("@k",), ("a",)), SelectionTest("not", ("@k",))])
    True
    """
    by_leaf: dict[Path, list[SelectionTest]] = {}
    for test in tests:
        by_leaf.setdefault(test.path, []).append(test)
    for several in by_leaf.values():
        if 0 < sum(test.test == "not" for test in several) < len(several):
            return True
        allowed = [set(test.values) for test in several if test.test == "="]
        excluded = {value for test in several if test.test == "!=" for value in test.values}
        if allowed and not set.intersection(*allowed) - excluded:
            return True
    return False


def is_selection(step: str) -> bool:
    """Whether a step has conditions."""
    return bool(split_selection(step)[1])


def written_step(step: str, name: Callable[[str], str]) -> str:
    """A step as texts have it; ``name`` writes those without conditions.

    >>> written_step('field[["=",["@tag"],["245"]],["exists",["@ind1"],[]]]', str)
    'field[@tag = "245" and @ind1]'
    >>> written_step('=["call","concat",[["leaf",["first"]],["constant"," "],["leaf",["last"]]]]', str)
    'concat(first, " ", last)'
    """
    if step[0] not in "=[" and "[" not in step and not step.endswith("()"):
        return name(step)
    if step.startswith(COMPUTED):
        return _written(json.loads(step.removeprefix(COMPUTED)), name)
    if step.endswith("()"):
        return step
    element, tests = split_selection(step)
    if not tests:
        return name(step)
    return f"{name(element)}[{' and '.join(_written_test(test, name) for test in tests)}]"


def _written_path(path: Path, name: Callable[[str], str]) -> str:
    return "/".join(written_step(step, name) for step in path) or "."


def _written_test(test: SelectionTest, name: Callable[[str], str]) -> str:
    path = _written_path(test.path, name)
    if test.test == "exists":
        return path
    if test.test == "not":
        return f"not({path})"
    values = ", ".join(map(quoted, test.values))
    return f"{path} {test.test} {values if len(test.values) == 1 else f'({values})'}"


def _written(value: Any, name: Callable[[str], str]) -> str:
    """A value expression as XPath writes it, from its form in a step."""
    match value:
        case ["leaf", path]:
            return _written_path(path, name)
        case ["constant", text]:
            return quoted(text)
        case ["string-join", path, separator]:
            return f"string-join({_written_path(path, name)}, {quoted(separator)})"
        case ["lookup" | "code-of" as function, argument, _, other, table]:
            parts = [argument, *([] if other is None else [other])]
            return f"{function}({', '.join([quoted(table), *(_written(part, name) for part in parts)])})"
        case ["call", "if", [condition, then, *other]]:
            otherwise = _written(other[0], name) if other else "()"
            said = _written(condition, name)
            said = said if said.startswith("(") else f"({said})"
            return f"if {said} then {_written(then, name)} else {otherwise}"
        case ["call", function, arguments] if function in _OPERATORS and len(arguments) == 2:
            left, right = (_operand(_written(argument, name)) for argument in arguments)
            return f"({left} {function} {right})"
        case ["call", function, arguments]:
            return f"{function}({', '.join(_written(argument, name) for argument in arguments)})"
    raise ValueError("no computed leaf")


def _operand(text: str) -> str:
    return f"({text})" if text.startswith("if (") else text


def quoted(text: str) -> str:
    """A string as XPath writes it."""
    return '"' + text.replace('"', '""') + '"'
