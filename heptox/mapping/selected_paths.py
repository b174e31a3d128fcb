"""Selections in the paths of a mapping, in one form (``semantics.md`` section 2)."""

from __future__ import annotations

from dataclasses import replace

from heptox.grammar import SchemaPath
from heptox.mapping.findings import Findings
from heptox.mapping.paths import path_text, suggestion
from heptox.pattern import StringJoin, computed_step
from heptox.schema import TEXT, Path, SchemaTree, SelectionTest, plain, selection_step, split_selection

_NO_LEAF = (
    "a condition speaks of an attribute, or of an element that holds text and is there once; of a leaf that repeats it "
    "asks whether there is one: [x], [not(x)]"
)


def value_path(tree: SchemaTree, path: Path) -> Path | None:
    """The leaf that a path to an element or an attribute means; ``None`` for what is no leaf.

    An element with attributes beside its value has this as its text.
    """
    if path[-1:] == (TEXT,) and path not in tree and path[:-1] in tree and tree.element(path[:-1]).text_only:
        path = path[:-1]
    if path not in tree:
        return None
    if tree.is_leaf(path):
        return path
    text = (*path, TEXT)
    return text if not tree.element(path).children and text in tree and not tree.edge(text).repeats else None


def with_selections(tree: SchemaTree, path: Path, written: SchemaPath, findings: Findings) -> Path | None:
    """A path of the schema whose conditions stand at steps that repeat, and speak of leaves; ``None`` after reporting
    what is wrong (HX4038).

    Conditions on what is there once are conditions on the nearest node above that repeats: the same nodes are selected.
    """
    tests: dict[int, list[SelectionTest]] = {}
    steps = plain(path)
    for place, step in enumerate(path):
        conditions = split_selection(step)[1]
        if not conditions:
            continue
        holder = place
        while holder >= 0 and not tree.edge(steps[: holder + 1]).repeats:
            holder -= 1
        if holder < 0:
            message = f"{path_text(tree, steps[: place + 1])} is there once in a document, and nothing above it repeats"
            hint = "write a value that depends on the condition: if (CONDITION) then LEAF else ()"
            findings.add("HX4038", message, written, hint)
            return None
        for test in conditions:
            found = _test(tree, steps[: place + 1], test, written, findings)
            if found is None:
                return None
            found = replace(found, path=(*steps[holder + 1 : place + 1], *found.path))
            tests.setdefault(holder, []).append(_joined(tree, steps[: holder + 1], found))
    found_steps = list(steps)
    for place, several in tests.items():
        merged = _merged(several)
        if merged is None:
            message = f"no {path_text(tree, steps[: place + 1])} is selected: one value cannot be two"
            findings.add("HX4038", message, written, 'one of several values is written [@a = ("x", "y")]')
            return None
        found_steps[place] = selection_step(steps[place], merged)
    return tuple(found_steps)


def _merged(tests: list[SelectionTest]) -> tuple[SelectionTest, ...] | None:
    """Conditions with what several of them say of one leaf's value in one; ``None`` where none is left."""
    values: dict[Path, set[str]] = {}
    for test in tests:
        if test.test == "=":
            values[test.path] = values.get(test.path, set(test.values)) & set(test.values)
    if not all(values.values()):
        return None
    equal = (SelectionTest("=", path, tuple(sorted(left))) for path, left in values.items())
    return (*(test for test in tests if test.test != "="), *equal)


def _test(
    tree: SchemaTree, node: Path, test: SelectionTest, written: SchemaPath, findings: Findings
) -> SelectionTest | None:
    """A condition with the path of a leaf; of what repeats, ``exists`` and ``not`` may be asked."""
    whole = (*node, *plain(test.path))
    if whole not in tree and not (whole[-1:] == (TEXT,) and whole[:-1] in tree):
        findings.add("HX4001", f"there is no {path_text(tree, whole)}", written, suggestion(tree, whole))
        return None
    leaf = value_path(tree, whole)
    is_asked = test.test in ("exists", "not")
    repeats = any(tree.edge(whole[:length]).repeats for length in range(len(node) + 1, len(whole) + 1))
    if leaf is None and (repeats or not is_asked):
        findings.add("HX4038", f"{path_text(tree, whole)} is no leaf", written, _NO_LEAF)
        return None
    if repeats and not is_asked:
        message = f"{path_text(tree, whole)} repeats below {path_text(tree, node)}"
        findings.add("HX4038", message, written, _NO_LEAF)
        return None
    if plain(test.path) == test.path:
        return replace(test, path=(leaf or whole)[len(node) :])
    selected = with_selections(tree, (*node, *test.path), written, findings)
    if selected is None:
        return None
    if selected[: len(node)] != node:
        message = f"a condition inside a condition is on {path_text(tree, whole)}, which does not repeat"
        findings.add("HX4038", message, written, "write the conditions side by side")
        return None
    return replace(test, path=(*selected, *(leaf or whole)[len(whole) :])[len(node) :])


def _joined(tree: SchemaTree, node: Path, test: SelectionTest) -> SelectionTest:
    """A condition on the values of a leaf that repeats below its node: on whether joining them gives something."""
    path = plain(test.path)
    if any(tree.edge((*node, *path[:length])).repeats for length in range(1, len(path) + 1)):
        return replace(test, path=(computed_step(StringJoin(test.path, "")),))
    return test
