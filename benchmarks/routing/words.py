"""Paths of documents as people read them: what overlap and covering give as witnesses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RootPath:
    """Elements from the root down, and perhaps a leaf, ``@x`` or ``text()``, of the one at ``depth``, from 1.

    >>> print(RootPath(("a", "b")), RootPath(("a", "b"), "@x"), RootPath(("a", "b"), "@x", 1))
    /a/b /a/b/@x /a[@x]/b
    """

    elements: tuple[str, ...]
    leaf: str | None = None
    depth: int = 0

    def __post_init__(self) -> None:
        if not self.elements:
            raise ValueError("a path needs an element")
        if self.leaf is not None and self.depth == 0:
            object.__setattr__(self, "depth", len(self.elements))

    def __str__(self) -> str:
        steps = [f"/{name}" for name in self.elements]
        if self.leaf is not None:
            steps[self.depth - 1] += f"/{self.leaf}" if self.depth == len(steps) else f"[{self.leaf}]"
        return "".join(steps)
