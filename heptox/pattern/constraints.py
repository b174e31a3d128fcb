"""What is known of the documents that a pattern is evaluated on: schema, keys, guaranteed references."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.pattern.model import TAG
from heptox.schema import Path, SchemaTree


@dataclass(frozen=True, slots=True, order=True)
class Dependency:
    """Among the nodes at ``node``, the value at ``determinant`` decides the value at ``determined`` (both relative)."""

    node: Path
    determinant: Path
    determined: Path


@dataclass(frozen=True, slots=True)
class Constraints:
    """A schema tree with what documents under it obey (``semantics.md`` sections 1 and 8, step 3).

    ``keys`` are absolute paths whose value identifies its parent element in a document. ``references`` are pairs of a
    referring path and the key path that its value is guaranteed to be found at. ``unsure`` lists paths that may be
    missing although the schema requires them, because documents may be images that no schema guards. ``dependencies``
    hold between nodes that need not be one. ``valid`` documents have no tags in boxes but the members'.
    """

    tree: SchemaTree
    keys: frozenset[Path] = frozenset()
    references: frozenset[tuple[Path, Path]] = frozenset()
    unsure: frozenset[Path] = frozenset()
    dependencies: frozenset[Dependency] = frozenset()
    valid: bool = False

    def required(self, node: Path, path: Path) -> bool:
        """Whether the single-valued ``path`` below a node at ``node`` is always there."""
        if path == (TAG,):
            return True
        whole = (*node, *path)
        return self.tree.required(whole, below=node) and not any(
            whole[:length] in self.unsure for length in range(len(node) + 1, len(whole) + 1)
        )
