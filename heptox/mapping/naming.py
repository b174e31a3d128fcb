"""Names that people read in rules: of variables and of Skolem functions (``semantics.md`` section 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from heptox.mapping.model import Rule
from heptox.pattern import NODE, TAG, Leaf, Term, parts, value_expression
from heptox.schema import COMPUTED, TEXT, Path, SchemaTree, split_selection, written_step
from heptox.xml import split_name


def variable_names(tree: SchemaTree, stops: Iterable[Path]) -> dict[Path, str]:
    """A name for the variable of each stop node: its own name, or its whole path where two would have the same."""
    stops = list(stops)
    short = {stop: _plain(stop[-1]) if stop else _plain(tree.root) for stop in stops}
    names: dict[Path, str] = {}
    for stop in stops:
        alone = list(short.values()).count(short[stop]) == 1
        names[stop] = _free(short[stop] if alone or not stop else "_".join(map(_plain, stop)), names.values())
    return names


def leaf_names(rule: Rule, inner: Iterable[Term] = ()) -> dict[Term, str]:
    """A name for the variable of each leaf of a rule, and of each ``inner`` node that a printed body shows.

    The text of a stop node, and the stop node when it is copied, is called as the stop node itself.
    """
    names: dict[Term, str] = {Term(variable.name): variable.name for variable in rule.variables}
    for term in (*inner, *(leaf for value in rule.terms() for leaf in terms_of_leaves(value))):
        if term not in names and term.path != (NODE,):
            names[term] = _free("_".join((term.variable, *map(_plain, term.path))), names.values())
    return names


def terms_of_leaves(term: Term) -> tuple[Term, ...]:
    """The leaves that a term speaks of, those that a function gathers aside: itself, where it is no function."""
    expression = value_expression(term.path)
    if expression is None:
        return (term,)
    leaves = (part.path for part in parts(expression) if isinstance(part, Leaf))
    return tuple(Term(term.variable, path) for path in dict.fromkeys(leaves))


def function_name(tree: SchemaTree, path: Path) -> str:
    """The Skolem function of a node, named after its schema path, whatever the namespaces.

    >>> from heptox.schema import Element, SchemaGraph
    >>> tree = SchemaTree(SchemaGraph("a", {"a": Element("a")}))
    >>> function_name(tree, ()), function_name(tree, ("b", "[C]"))
    ('f_a', 'f_b_C')
    """
    return "_".join(("f", *(_local(_spoken(step)) for step in path or (tree.root,))))


def _spoken(step: str) -> str:
    """A step without its signs: of a selection its name and the values that it compares, of a function this."""
    if step.startswith(COMPUTED):
        return "_".join(re.findall(r"\w+", written_step(step, _local)))
    name, tests = split_selection(step)
    return "_".join((name.strip("[]@"), *(re.sub(r"[^\w-]", "_", value) for test in tests for value in test.values)))


def _plain(step: str) -> str:
    """A step as a part of a variable's name."""
    if step == TAG:
        return "tag"
    if step == TEXT:
        return "text"
    name = re.sub(r"[^\w-]", "_", _local(_spoken(step)))
    return name if re.match(r"[^\W\d]", name) else f"v{name}"


def _local(step: str) -> str:
    """The local name of a step, with its sign."""
    sign = "@" if step.startswith("@") else ""
    return sign + split_name(step.removeprefix("@"))[1]


def _free(name: str, taken: Iterable[str]) -> str:
    used, number, free = set(taken), 2, name
    while free in used:
        free, number = f"{name}_{number}", number + 1
    return free
