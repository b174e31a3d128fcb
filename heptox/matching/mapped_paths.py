"""Where what stands in documents of one schema stands in the words of another: a map of tag paths.

A matcher reads a document by such a map as if it had been rewritten before (IDDR in Ni and Chan, "Dissemination of
heterogeneous XML data in publish/subscribe systems"; ``rewriting.md``, Streaming).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Labels: TypeAlias = tuple[str, ...]
"""The labels of a tag path, from the root element on."""


@dataclass(frozen=True, slots=True)
class MappedLeaf:
    """The tag path that a leaf of the document has in the other words: of an element, or of an attribute.

    ``needs``: the conditions that must hold for it to be there (:attr:`MappedElement.conditions`). ``alone``: it is an
    attribute of an element without text.
    """

    labels: Labels
    needs: frozenset[int] = frozenset()
    alone: bool = False


@dataclass(frozen=True, slots=True)
class MappedElement:
    """The elements at one path of the document.

    ``content``: what the element is that has its text, which may be empty; ``whole``: what the element is, with all
    that stands in it. ``shell``: what it is even where nothing is carried. ``attributes``: those that are carried, by
    their names. ``conditions``: by their numbers, which paths must lead to an element below this one.
    """

    children: Mapping[str, MappedElement] = field(default_factory=dict)
    attributes: tuple[tuple[str, MappedLeaf], ...] = ()
    content: MappedLeaf | None = None
    whole: MappedLeaf | None = None
    shell: Labels = ()
    conditions: tuple[tuple[int, Labels], ...] = ()
