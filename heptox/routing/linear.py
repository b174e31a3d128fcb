"""Tree patterns that are linear paths, and the linear paths of those that are not."""

from __future__ import annotations

from heptox.matching import LinearPath, Step, branches
from heptox.pattern import PatternNode, TreePattern


def linear_path(pattern: TreePattern) -> LinearPath | None:
    """The linear path that a pattern is; ``None`` for one with branches or conditions on values.

    >>> from heptox.grammar import parse_subscription
    >>> texts = "/a//b", "/a[b]//c", "/a[. = 1]"
    >>> [str(linear_path(pattern)) for text in texts for pattern in parse_subscription(text)]
    ['/a//b', 'None', 'None']
    """
    return node_path(pattern.children[0]) if len(pattern.children) == 1 else None


def node_path(node: PatternNode) -> LinearPath | None:
    """The same for what a node of a pattern asks, from the node above it."""
    steps = [Step(node.axis, node.test)]
    while not node.values and len(node.children) == 1:
        node = node.children[0]
        steps.append(Step(node.axis, node.test))
    return None if node.values or node.children else LinearPath(tuple(steps))


def branch_paths(pattern: TreePattern) -> tuple[LinearPath, ...]:
    """The linear paths that a pattern asks for, one for each branch; what matches the pattern matches each."""
    return tuple(dict.fromkeys(branch.path for branch in branches(pattern)))
