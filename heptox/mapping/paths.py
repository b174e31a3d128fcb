"""Schema nodes as mappings speak of them: leaves by their stop node, paths as text, and the order of a schema."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from typing import Final

from heptox.errors import near_names
from heptox.pattern import NODE, TAG, Constant, value_expression
from heptox.schema import COMPUTED, TEXT, Path, SchemaTree, split_selection
from heptox.xml import XSI_NIL

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


def leaf_at(tree: SchemaTree, path: Path) -> Leaf:
    """The leaf at an absolute path; a box stands for its tag."""
    if tree.box(path):
        return Leaf(path, (TAG,))
    stop = tree.stop(path)
    return Leaf(stop, path[len(stop) :])


def owning_stop(tree: SchemaTree, leaf: Path) -> Path:
    """The stop node that owns the leaf at an absolute path; of a tag, its box."""
    return tree.stop(leaf[:-1] if leaf[-1:] == (TAG,) else leaf)


def path_text(tree: SchemaTree, path: Path) -> str:
    """A path as it is written in a mapping: the innermost box stands for what is above it, a tag for its box.

    >>> from heptox.schema import Element, SchemaGraph
    >>> tree = SchemaTree(SchemaGraph("a", {"a": Element("a")}))
    >>> [path_text(tree, path) for path in (("Admission", "[Illness]", "@ID"), ("Admission", "[Illness]", TAG), ())]
    ['[Illness]/@ID', '[Illness]', 'the root']
    """
    return tree.written(path_steps(path)) or "the root"


def path_steps(path: Path) -> Path:
    """The steps by which a path is written in a mapping."""
    if path and path[-1].startswith(COMPUTED):
        return path[-1:]
    boxes = [number for number, step in enumerate(path) if step.startswith("[")]
    return tuple(step for step in path[boxes[-1] if boxes else 0 :] if step not in (TAG, NODE))


def leaf_text(tree: SchemaTree, leaf: Leaf) -> str:
    """A leaf as it is written in a mapping."""
    return path_text(tree, leaf.absolute)


def component(tree: SchemaTree, stop: Path) -> Path | None:
    """The topmost stop node below the root at or above ``stop``; ``None`` for the root, which all share."""
    stops = tree.stops(stop)
    return stops[1] if len(stops) > 1 else None


def schema_order(tree: SchemaTree, path: Path) -> tuple[tuple[int, str], ...]:
    """A key that sorts nodes as the schema tree has them, parents first and a tag before what is below its box; virtual
    nodes behind the one that they stand beside.
    """
    return tuple((_place(tree, path[: depth + 1]), path[depth]) for depth in range(len(path)))


def _place(tree: SchemaTree, path: Path) -> int:
    """The place of a node among those that its parent has: what no schema declares comes before them."""
    if path[-1] in (TAG, NODE) or path[-1].startswith(COMPUTED):
        return -1
    return tree.children(path[:-1]).index((*path[:-1], split_selection(path[-1])[0]))


def is_sure(tree: SchemaTree, leaf: Leaf) -> bool:
    """Whether a leaf has a value wherever its stop node is, as a tag has."""
    if leaf.path in ((TAG,), (NODE,)) or isinstance(value_expression(leaf.path), Constant):
        return True
    return tree.required(leaf.absolute, below=leaf.stop) and not may_be_nil(tree, leaf.absolute)


def may_be_nil(tree: SchemaTree, path: Path) -> bool:
    """Whether the value at a path is that of an element that may be nil."""
    if path and (path[-1] in (TAG, NODE) or path[-1].startswith("@")):
        return False
    return nil_path(path) in tree


def nil_path(path: Path) -> Path:
    """The path of what says whether an element is nil, by the path of its value."""
    element = path[:-1] if path[-1:] == (TEXT,) else path
    return (*element, f"@{XSI_NIL}")


def known_prefix(tree: SchemaTree, path: Path) -> Path:
    """The longest part of ``path`` from the root that the schema has."""
    length = len(path)
    while length and path[:length] not in tree:
        length -= 1
    return path[:length]


def suggestion(tree: SchemaTree, path: Path) -> str:
    """What to write instead of a path that the schema does not have."""
    known = known_prefix(tree, path)
    children = {tree.written(child[-1:]): child for child in tree.children(known)}
    wrong = path[len(known)]
    if meant := _near(tree, wrong, children):
        return f"did you mean {path_text(tree, children[meant])}?"
    everywhere: dict[str, list[str]] = {}
    for node in islice(tree.walk(), 1, _MOST_CANDIDATES):
        everywhere.setdefault(tree.written(node[-1:]), []).append(path_text(tree, node))
    if meant := _near(tree, path[-1], everywhere, cutoff=0.75):
        nearest = near_names(tree.written(path), everywhere[meant], cutoff=0.0) or everywhere[meant]
        return f"did you mean {nearest[0]}?"
    if not children:
        return f"nothing stands below {path_text(tree, known)}"
    listed = [path_text(tree, child) for child in children.values()][:_MOST_LISTED]
    listed += ["..."] * (len(children) > _MOST_LISTED)
    return f"below {path_text(tree, known)} there are {', '.join(listed)}"


def _near(tree: SchemaTree, step: str, known: Collection[str], cutoff: float = 0.6) -> str | None:
    """Of some steps, as texts have them, the one that was probably meant: in another namespace, or of a near name."""
    local = _local(tree.written((step,)))
    same = [other for other in known if _local(other) == local]
    if len(same) == 1:
        return same[0]
    return next(iter(near_names(tree.written((step,)), known, cutoff=cutoff)), None)


def _local(written: str) -> str:
    """The local name of a step, with its sign."""
    sign = "@" if written.startswith("@") else ""
    return sign + written.removeprefix("@").rpartition("}")[2].rpartition(":")[2]


def is_at_or_below(path: Path, above: Path) -> bool:
    """Whether a node is another one, or below it."""
    return path[: len(above)] == above
