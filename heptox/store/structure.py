"""How the tags of a block of text make elements: which tag closes which, and what stands in what.

Every step is done for all tags of a block at once, on arrays of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heptox.store.markup import EMPTY, END, START, Kinds, Markup, slices_between
from heptox.store.places import NOWHERE, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The elements of a block, in order, those that were open before it first, as many as ``before``.

    What is open before gets tags too, so tags have other numbers than in the markup: ``begins``, ``ends`` and ``kinds``
    are theirs. For each element there are the numbers of its ``tags``, of the tags that are ``closing`` it
    (:data:`NOWHERE` while it stays open) and of ``parents``; ``numbers`` are the elements of tags. ``by_depth`` has the
    elements outermost first, those of one depth in order, and ``depths`` has their depths.
    """

    before: int
    begins: Numbers
    ends: Numbers
    kinds: Kinds
    numbers: Numbers
    tags: Numbers
    closing: Numbers
    parents: Numbers
    by_depth: Numbers
    depths: Numbers
    between: pa.Array
    """The texts between tags, at the even places; the last one is empty."""

    @property
    def new(self) -> Numbers:
        """The elements that begin in the block."""
        return np.arange(self.before, len(self.tags))

    @property
    def open(self) -> Numbers:
        """The elements that are open at the end of the block."""
        return np.flatnonzero(self.closing == NOWHERE)

    def texts(self) -> tuple[Numbers, Numbers]:
        """The tags after which there is text, and the elements in which it is."""
        texts = np.flatnonzero(self.begins[1:] > self.ends[:-1] + 1)
        elements = self.numbers[texts]
        return texts, np.where(self.kinds[texts] == START, elements, self.parents[elements])

    def leaf_texts(self, elements: Numbers) -> Numbers:
        """Where among :attr:`between` the texts are of elements that hold nothing else."""
        tags = self.tags[elements]
        return np.where(self.kinds[tags] == EMPTY, len(self.between) - 1, tags * 2)


def structure(markup: Markup, before: int) -> Structure:
    """The structure of a block before which so many elements are open.

    >>> from heptox.store.markup import Names, markup
    >>> block = markup(b"<a><b/><b>x</b>", Names({"a": 0, "b": 1}, {}))
    >>> found = structure(block, 1)  # the document
    >>> found.parents.tolist(), found.open.tolist()
    ([-1, 0, 1, 1], [0, 1])
    """
    nowhere = np.zeros(before, np.int64)
    begins = np.concatenate([nowhere, markup.begins])
    ends = np.concatenate([nowhere - 1, markup.ends])
    kinds = np.concatenate([np.full(before, START, np.int8), markup.kinds])
    depths = np.cumsum(kinds, dtype=np.int64) - (kinds == START)
    # a stable sort of short numbers is a radix sort
    order = np.argsort(depths.astype(np.int16) if depths.max() < 1 << 15 else depths, kind="stable")
    numbers = np.cumsum(kinds >= EMPTY) - 1
    tags = np.flatnonzero(kinds >= EMPTY)
    opening = order[kinds[order] >= EMPTY]
    by_depth = numbers[opening]
    parents = _parents(kinds, numbers, opening)
    closing = np.where(kinds[tags] == EMPTY, tags, _closing(kinds, order)[tags])
    closed = closing != NOWHERE
    numbers[closing[closed]] = np.flatnonzero(closed)
    between = slices_between(markup.text, ends[:-1] + 1, begins[1:])
    return Structure(before, begins, ends, kinds, numbers, tags, closing, parents, by_depth, depths[opening], between)


def _parents(kinds: Kinds, numbers: Numbers, opening: Numbers) -> Numbers:
    """The parents of elements, whose tags are given in the order of their depth.

    The tag before that of a first child is its parent's, and in this order the other children follow the first.
    """
    is_first = kinds[opening - 1] == START
    is_first[0] = True
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(opening)), 0))
    parents = np.empty(len(opening), np.int64)
    parents[numbers[opening]] = numbers[opening[first] - 1]
    parents[0] = NOWHERE
    return parents


def _closing(kinds: Kinds, order: Numbers) -> Numbers:
    """For each tag that opens an element the one that closes it, which follows in the order by depth."""
    closing = np.full(len(order), NOWHERE)
    closed = kinds[order[1:]] == END
    closing[order[:-1][closed]] = order[1:][closed]
    return closing
