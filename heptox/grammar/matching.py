"""The schema nodes that a step of a query can stand for."""

from __future__ import annotations

from heptox.grammar import query as syntax
from heptox.schema import Match, Path, SchemaTree


def step_matches(tree: SchemaTree, step: syntax.Step, context: Path | None) -> tuple[Match, ...]:
    """What a step can stand for below the node at ``context``, or below the document itself (``None``); each once.

    The node of a box stays although the step excludes some of its tags.

    Raises :class:`heptox.errors.SchemaError` as :meth:`SchemaTree.match`.
    """
    found: dict[Match, None] = {}
    for name in step.names:
        matches = tree.match_document(step.axis, name) if context is None else tree.match(context, step.axis, name)
        found.update(dict.fromkeys(matches))
    return tuple(match for match in found if not _is_excluded(tree, step, match.path))


def _is_excluded(tree: SchemaTree, step: syntax.Step, path: Path) -> bool:
    return tree.box(path) is None and (path[-1] if path else tree.root) in step.excluded
