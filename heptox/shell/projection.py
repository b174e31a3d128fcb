"""What the shell looks at below the nodes that a core brings: only that travels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from heptox.grammar import syntax

_NAMELESS: Final = "heptox-node"
"""The name of an element of which only what is in it is needed."""


@dataclass(slots=True)
class Projection:
    """What is needed of a node: all of it, or what some steps lead to; nothing but that it is there otherwise."""

    whole: bool = False
    steps: dict[tuple[str, str], Projection] = field(default_factory=dict)
    """By axis and name of a step."""

    def use(self, steps: Sequence[syntax.Step], *, exists: bool = False) -> None:
        """What these steps lead to is needed, or, where it only ``exists``, how often it is there."""
        needed = self.at(steps)
        needed.whole |= not exists

    def at(self, steps: Sequence[syntax.Step]) -> Projection:
        """What is needed of the nodes that steps lead to, of which it matters how often they are there."""
        if not steps:
            return self
        key = steps[0].axis, steps[0].names[0]
        return self.steps.setdefault(key, Projection()).at(steps[1:])


def is_plain(step: syntax.Step) -> bool:
    """Whether a step leads to children, texts or attributes of one name."""
    return step.axis in ("child", "attribute") and len(step.names) == 1 and "*" not in step.names


def name_of(path: syntax.PathExpression) -> str | None:
    """The name of the elements that a path leads to, where it says one."""
    last = path.steps[-1] if path.steps else None
    is_element = last is not None and last.axis in ("child", "descendant") and len(last.names) == 1
    return last.names[0] if last is not None and is_element and last.names[0] not in ("*", "text()") else None


def projected(variable: str, name: str | None, projection: Projection) -> syntax.Expression:
    """A variable's node with what is needed of it: where its name is not known, and not needed, by another name.

    >>> from heptox.grammar import print_query
    >>> needed = Projection()
    >>> needed.use([syntax.Step("child", ("b",)), syntax.Step("attribute", ("c",))])
    >>> print_query(projected("$a", "a", needed))
    '<a>{for $heptox-p1 in $a/b return <b>{$heptox-p1/@c}</b>}</a>'
    """
    if projection.whole:
        return syntax.PathExpression(variable)
    return _element(variable, name or _NAMELESS, projection, (f"$heptox-p{number}" for number in count(1)))


def _element(variable: str, name: str, projection: Projection, fresh: Iterator[str]) -> syntax.ElementConstructor:
    attributes_first = sorted(projection.steps.items(), key=lambda item: (item[0][0] != "attribute", item[0]))
    content = (_part(variable, axis, step, below, fresh) for (axis, step), below in attributes_first)
    return syntax.ElementConstructor(name, (), tuple(content))


def _part(variable: str, axis: str, name: str, below: Projection, fresh: Iterator[str]) -> syntax.Expression:
    step = syntax.Step("attribute" if axis == "attribute" else "child", (name,))
    path = syntax.PathExpression(variable, (step,))
    if below.whole or axis == "attribute" or name == "text()":
        return path
    inner = next(fresh)
    return syntax.Flwor((syntax.For(inner, path),), None, _element(inner, name, below, fresh))
