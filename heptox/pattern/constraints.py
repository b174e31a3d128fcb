"""What is known of the documents that a pattern is evaluated on: schema, keys, guaranteed references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from heptox.pattern.absent_values import is_own
from heptox.pattern.inverses import Inverse
from heptox.pattern.model import NODE, TAG
from heptox.pattern.value_expression import value_expression
from heptox.pattern.value_meaning import is_total
from heptox.schema import TEXT, Path, SchemaTree

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Constraints:
    """A schema tree with what documents under it obey (``semantics.md`` sections 1 and 8, step 3).

    ``keys`` are absolute paths whose value identifies its parent element in a document. ``references`` are pairs of a
    referring path and the key path that its value is guaranteed to be found at. Where documents may be images, which
    no schema guards, only the paths that are ``made`` are always there. ``valid`` documents have no tags in boxes but
    the members'. ``inverses`` are what a mapping declares of its functions of their leaves. At and below the paths in
    ``varied`` stand values that a translated query meets and the query it was made of did not, so that words may stand
    where that one compares numbers.

    Not slotted: every comparison of members asks the same questions, so the answers are kept.
    """

    tree: SchemaTree
    keys: frozenset[Path] = frozenset()
    references: frozenset[tuple[Path, Path]] = frozenset()
    made: frozenset[Path] | None = None
    valid: bool = False
    varied: frozenset[Path] = frozenset()
    inverses: tuple[Inverse, ...] = ()
    _required: dict[tuple[Path, Path], bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    def required(self, node: Path, path: Path) -> bool:
        """Whether the single-valued ``path`` below a node at ``node`` is always there."""
        if (node, path) not in self._required:
            self._required[node, path] = path in ((TAG,), (NODE,)) or self._always_there(node, path)
        return self._required[node, path]

    def _always_there(self, node: Path, path: Path) -> bool:
        computed = value_expression(path)
        if computed is not None:
            return is_total(computed, lambda leaf: is_own(leaf) or self.required(node, leaf))
        whole = (*node, *path)
        return self.tree.required(whole, below=node) and all(
            self.is_sure(whole[:length]) for length in range(len(node) + 1, len(whole) + 1)
        )

    def is_sure(self, path: Path) -> bool:
        """Whether a node that the schema requires where the node above it is, is there."""
        if self.made is None or path in self.made:
            return True
        return path[-1] == TEXT and not self.tree.is_stop(path)  # there where its element is

    def may_be_implied(self, node: Path) -> bool:
        """Whether other nodes of a document may imply one at a stop node: by a guaranteed reference, or an edge."""
        return node in self.referred or (node != () and self.required_stop(node))

    def is_varied(self, node: Path, path: Path) -> bool:
        """Whether a value at ``path`` below a node at ``node`` may be no number where a query compares it with one."""
        whole = (*node, *path)
        return any(whole[:length] in self.varied for length in range(len(whole) + 1))

    def required_stop(self, node: Path) -> bool:
        """Whether a stop node below the root is always there where the next stop node above it is."""
        above = self.above(node)
        return self.required(above, node[len(above) :])

    def above(self, node: Path) -> Path:
        """The next stop node above one below the root."""
        return self.tree.stop(node[:-1])

    @cached_property
    def inverses_of(self) -> Mapping[tuple[Path, str], tuple[Inverse, ...]]:
        """The inverses by the node and the step of the computed leaf."""
        found: dict[tuple[Path, str], tuple[Inverse, ...]] = {}
        for one in self.inverses:
            key = one.node, one.computed
            found[key] = (*found.get(key, ()), one)
        return found

    @cached_property
    def keys_of(self) -> Mapping[Path, tuple[Path, ...]]:
        """The keys of each stop node, relative to it."""
        return _by_node(self._below_stop(key) for key in sorted(self.keys))

    @cached_property
    def relative_references(self) -> tuple[tuple[Path, Path, Path, Path], ...]:
        """For each reference its stop node and the path below it, then the same of the key it refers to."""
        return tuple(
            (*self._below_stop(source), *self._below_stop(target)) for source, target in sorted(self.references)
        )

    @cached_property
    def reference_keys(self) -> frozenset[Path]:
        """The key paths that guaranteed references lead to."""
        return frozenset(key for _, key in self.references)

    @cached_property
    def referred(self) -> frozenset[Path]:
        """The stop nodes that guaranteed references lead to."""
        return frozenset(owner for _, _, owner, _ in self.relative_references)

    def _below_stop(self, path: Path) -> tuple[Path, Path]:
        stop = self.tree.stop(path)
        return stop, path[len(stop) :]


def _by_node(pairs: Iterable[tuple[Path, _Value]]) -> dict[Path, tuple[_Value, ...]]:
    found: dict[Path, tuple[_Value, ...]] = {}
    for node, value in pairs:
        found[node] = (*found.get(node, ()), value)
    return found
