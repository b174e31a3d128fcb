"""The nodes of a schema tree that can be looked at one by one."""

from __future__ import annotations

from typing import Final

from heptox.remembering import remembered
from heptox.schema import Path, SchemaTree, nodes_up_to

MOST_LOOKED_AT: Final = 2_000
"""How many nodes of a schema are looked at one by one."""


@remembered(4)
def every_node(tree: SchemaTree) -> list[Path] | None:
    """All nodes of a schema tree, ``None`` where there are too many to look at each."""
    return nodes_up_to(tree, MOST_LOOKED_AT)
