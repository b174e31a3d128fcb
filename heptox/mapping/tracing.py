"""The way of values through an exchange: which leaf of which element a value was in, and where it came to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from heptox.mapping.image import ImageNode
from heptox.mapping.instance import StopNode, Subtree, Value
from heptox.schema import Path, plain
from heptox.xml import XmlElement


@dataclass(frozen=True, slots=True)
class ValueTrace:
    """The route of a value: from the leaf ``source`` in or at the element ``start`` to ``target`` in or at ``end``.

    The leaves are absolute schema paths, of what is computed that of the node whose leaves it is computed of; ``ends``
    are both of them as rules have them, with what their nodes are selected by. One that is ``copied`` is an inner node,
    whose value is all in it.
    """

    source: Path
    start: XmlElement
    target: Path
    end: XmlElement
    copied: bool
    ends: tuple[Path, Path]


class Trace:
    """What an exchange records of its values when it is given one.

    >>> from heptox.mapping import examine_arrows, exchange
    >>> from heptox.schema import parse_dtd
    >>> from heptox.xml import parse_document
    >>> dtd = parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (title)> <!ELEMENT title (#PCDATA)>")
    >>> text = 'source "a.dtd"' + chr(10) + 'target "a.dtd"' + chr(10) + "book/title -> book/title"
    >>> mapping = examine_arrows(text, lambda file, root: dtd).sound
    >>> trace = Trace()
    >>> image = exchange(mapping, parse_document("<bib><book><title>Dune</title></book></bib>"), trace)
    >>> [(carried.start.text, carried.target, carried.end.text) for carried in trace.values()]
    [('Dune', ('book', 'title'), 'Dune')]
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[int, Path], tuple[Path, XmlElement, Value]] = {}
        self._ways: dict[tuple[ImageNode, Path], dict[tuple[int, Path], None]] = {}
        self._ends: dict[tuple[ImageNode, Path], XmlElement] = {}

    def read(self, node: StopNode, leaf: Path, absolute: Path, element: XmlElement) -> None:
        """A leaf of a source node has a value, in or at ``element``."""
        self._starts[node.number, leaf] = absolute, element, node.values[leaf]

    def carried(self, node: ImageNode, values: Iterable[tuple[Path, tuple[StopNode, Path]]]) -> None:
        """Leaves of a node of the image take their values from leaves of source nodes."""
        for leaf, (start, path) in values:
            self._ways.setdefault((node, leaf), {})[start.number, path] = None

    def wrote(self, node: ImageNode, leaf: Path, element: XmlElement) -> None:
        """A leaf of a node of the image is written, in or at ``element``."""
        self._ends[node, leaf] = element

    def starts(self) -> Iterator[tuple[Path, XmlElement]]:
        """The values that were read, in document order: the leaf, and the element that it is in or at."""
        return ((source, element) for source, element, _ in self._starts.values())

    def values(self) -> Iterator[ValueTrace]:
        """All values that arrived, in the order of the image; not those for which another one stands there."""
        for (node, leaf), end in self._ends.items():
            for start in self._ways.get((node, leaf), ()):
                if start in self._starts:
                    source, element, value = self._starts[start]
                    if value == node.values[leaf]:
                        ends = source, (*node.node, *leaf)
                        yield ValueTrace(plain(source), element, plain(ends[1]), end, isinstance(value, Subtree), ends)
