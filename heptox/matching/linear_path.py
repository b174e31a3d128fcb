"""Linear paths: what one branch of a subscription asks of the path from the document node to a node.

Source: section 3.2 and 3.4 of Tian et al., "Implementing a scalable XML publish/subscribe system using relational
database systems" (SIGMOD 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heptox.pattern import Axis, printed_test
from heptox.xml import path_text


class Step(NamedTuple):
    """A step: ``test`` is an expanded name, ``*``, ``@name``, ``@*`` or ``text()``."""

    axis: Axis
    test: str


@dataclass(frozen=True, slots=True)
class LinearPath:
    """A path without branches, at least one step long.

    Its pieces are those of the paper's ``Query_Linear_Path`` table: what stands before the first ``//``, between the
    first and the last, and after the last, with its steps reversed. A path without ``//`` is all prefix.

    >>> path = LinearPath((Step("/", "a"), Step("//", "b"), Step("//", "c"), Step("/", "d"), Step("/", "text()")))
    >>> print(path, path.prefix, path.middle, path.postfix)
    /a//b//c/d/text() /a b text()/d/c
    """

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if not self.steps:
            raise ValueError("a linear path needs a step")

    def __str__(self) -> str:
        return _printed(self.steps)

    @property
    def prefix(self) -> str:
        """The steps before the first ``//``; empty where there is none."""
        descents = self._descents()
        return _printed(self.steps[: descents[0]] if descents else self.steps)

    @property
    def middle(self) -> str | None:
        """The steps from the first ``//`` to the last, without the axis of the first; ``None`` where there is none."""
        descents = self._descents()
        return _printed(self.steps[descents[0] : descents[-1]]).lstrip("/") or None if descents else None

    @property
    def postfix(self) -> str | None:
        """The tests from the last ``//`` on, the last first, so that an index finds what ends with them."""
        descents = self._descents()
        return path_text(test for _, test in reversed(self.steps[descents[-1] :])) if descents else None

    def _descents(self) -> list[int]:
        return [number for number, (axis, _) in enumerate(self.steps) if axis == "//"]


def _printed(steps: Sequence[Step]) -> str:
    return "".join(axis + printed_test(test) for axis, test in steps)
