"""Schema nodes as mappings speak of them: leaves by their stop node, paths as text, and the order of a schema."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from heptox.errors import near_names
from heptox.pattern import NODE, TAG
from heptox.schema import Path, SchemaTree

_MOST_CANDIDATES: Final = 5000
_MOST_LISTED: Final = 12


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """A leaf by the stop node that owns it and the path from there; the tag of a box node is ``(TAG,)``, and what the
    node is itself, where that is taken for a value, ``(NODE,)``.
    """

    stop: Path
    path: Path = ()

    @property
    def absolute(self) -> Path:
        return self.stop + self.path

    def __str__(self) -> str:
        return path_text(self.absolute)


def leaf_at(tree: SchemaTree, path: Path) -> Leaf:
    """The leaf at an absolute path; a box stands for its tag."""
    if tree.box(path):
        return Leaf(path, (TAG,))
    stop = tree.stop(path)
    return Leaf(stop, path[len(stop) :])


def owning_stop(tree: SchemaTree, leaf: Path) -> Path:
    """The stop node that owns the leaf at an absolute path; of a tag, its box."""
    return tree.stop(leaf[:-1] if leaf[-1:] == (TAG,) else leaf)


def path_text(path: Path) -> str:
    """A path as it is written in a mapping: the innermost box stands for what is above it, a tag for its box.

    >>> path_text(("Admission", "[Illness]", "@ID")), path_text(("Admission", "[Illness]", TAG)), path_text(())
    ('[Illness]/@ID', '[Illness]', 'the root')
    """
    boxes = [number for number, step in enumerate(path) if step.startswith("[")]
    steps = [step for step in path[boxes[-1] if boxes else 0 :] if step not in (TAG, NODE)]
    return "/".join(steps) or "the root"


def component(tree: SchemaTree, stop: Path) -> Path | None:
    """The topmost stop node below the root at or above ``stop``; ``None`` for the root, which all share."""
    stops = tree.stops(stop)
    return stops[1] if len(stops) > 1 else None


def schema_order(tree: SchemaTree, path: Path) -> tuple[int, ...]:
    """A key that sorts nodes as the schema tree has them, parents first and a tag before what is below its box."""
    return tuple(
        -1 if path[depth] in (TAG, NODE) else tree.children(path[:depth]).index(path[: depth + 1])
        for depth in range(len(path))
    )


def is_sure(tree: SchemaTree, leaf: Leaf) -> bool:
    """Whether a leaf is there wherever its stop node is, as a tag is."""
    return leaf.path in ((TAG,), (NODE,)) or tree.required(leaf.absolute, below=leaf.stop)


def known_prefix(tree: SchemaTree, path: Path) -> Path:
    """The longest part of ``path`` from the root that the schema has."""
    length = len(path)
    while length and path[:length] not in tree:
        length -= 1
    return path[:length]


def suggestion(tree: SchemaTree, path: Path) -> str:
    """What to write instead of a path that the schema does not have."""
    known = known_prefix(tree, path)
    children = {path_text(child): child for child in tree.children(known)}
    wrong = path[len(known)]
    by_step = {text.rpartition("/")[2]: text for text in children}
    if close := near_names(wrong, by_step):
        return f"did you mean {by_step[close[0]]}?"
    everywhere: dict[str, list[str]] = {}
    for node in islice(tree.walk(), 1, _MOST_CANDIDATES):
        everywhere.setdefault(node[-1], []).append(path_text(node))
    if close := near_names(path[-1], everywhere, cutoff=0.75):
        nearest = near_names("/".join(path), everywhere[close[0]], cutoff=0.0) or everywhere[close[0]]
        return f"did you mean {nearest[0]}?"
    if not children:
        return f"nothing stands below {path_text(known)}"
    listed = list(children)[:_MOST_LISTED] + ["..."] * (len(children) > _MOST_LISTED)
    return f"below {path_text(known)} there are {', '.join(listed)}"


def is_at_or_below(path: Path, above: Path) -> bool:
    """Whether a node is another one, or below it."""
    return path[: len(above)] == above
