"""The schema nodes that a step of a query can stand for."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.grammar import query as syntax
from heptox.schema import Match, Path, SchemaTree, axis_matches


def step_matches(tree: SchemaTree, step: syntax.Step, context: Path | None) -> Iterator[Match]:
    """What a step can stand for below the node at ``context``, or below the document itself (``None``); each once, and
    one after the other.

    The node of a box stays although the step excludes some of its tags.

    Raises :class:`heptox.errors.SchemaError` as :func:`heptox.schema.axis_matches`.
    """
    found: set[Match] = set()
    for name in step.names:
        for match in axis_matches(tree, context, step.axis, name):
            if match not in found and not _is_excluded(tree, step, match.path):
                found.add(match)
                yield match


def _is_excluded(tree: SchemaTree, step: syntax.Step, path: Path) -> bool:
    return tree.box(path) is None and (path[-1] if path else tree.root) in step.excluded
