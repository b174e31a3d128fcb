"""Where an expression is evaluated: an item, its place, variables, and the steps that are left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from elementpath.xpath_nodes import DocumentNode

from heptox.filtering.xpath3.values import EvaluationError, Items


class Steps:
    """How many steps an evaluation may still take."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


class Focus:
    """Where an expression is evaluated: the context item, with its place, and the values of variables."""

    __slots__ = ("_item", "_steps", "document", "position", "size", "variables")

    def __init__(
        self,
        document: DocumentNode,
        steps: Steps,
        variables: Mapping[str, Items],
        item: Any = None,
        position: int = 1,
        size: int = 1,
    ) -> None:
        self.document = document
        self._steps = steps
        self.variables = variables
        self._item = item
        self.position = position
        self.size = size

    @property
    def item(self) -> Any:
        if self._item is None:
            raise EvaluationError("there is no context item in a function")
        return self._item

    def at(self, item: Any, position: int, size: int) -> Focus:
        return Focus(self.document, self._steps, self.variables, item, position, size)

    def bound(self, name: str, value: Items) -> Focus:
        variables = {**self.variables, name: value}
        return Focus(self.document, self._steps, variables, self._item, self.position, self.size)

    def nowhere(self, variables: Mapping[str, Items]) -> Focus:
        return Focus(self.document, self._steps, variables)

    def spend(self, steps: int) -> None:
        self._steps.left -= steps
        if self._steps.left < 0:
            raise EvaluationError("the evaluation takes too many steps")


Evaluated: TypeAlias = Callable[[Focus], Items]
