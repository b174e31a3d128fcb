"""Advertisements as people read them: paths, with recursive parts written ``(/a/b)+``.

Source: section 4.1 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks":
simple-recursive, series-recursive and embedded-recursive advertisements. Where several parts recur at one element they
are alternatives in one ``( )+``, with ``|`` between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

from heptox.routing.advertisement import Advertisement, reachable

MOST_SHOWN: Final = 50
"""How many paths are shown, unless the caller says otherwise."""

MORE: Final = "... and more"
"""What ends a list that is not whole."""

_MOST_ALTERNATIVES: Final = 8
_MOST_WORK: Final = 4096
_SHARE: Final = 8
"""A recursive part gets so small a share of the work."""

_IsEnd: TypeAlias = Callable[[str], bool]


def shown(advertisement: Advertisement, most: int = MOST_SHOWN) -> tuple[str, ...]:
    """The paths of elements from the root to where a path may end; after ``most`` of them, :data:`MORE`.

    Together they are all advertised paths, but for attributes and text. In a part with very many alternatives ``...``
    stands for those that are left out, and the list ends with :data:`MORE` too.

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.schema import parse_dtd
    >>> print(*shown(advertised(parse_dtd("<!ELEMENT a (b | c)> <!ELEMENT b (a)> <!ELEMENT c (c?)>", "a"))))
    /a(/c)+ (/a/b)+/a(/c)+
    """
    below = {name: reachable(name, advertisement.children) for name in advertisement.elements}
    walk = _Walk(advertisement, below, _MOST_WORK)
    paths = walk.paths(advertisement.root, frozenset(), lambda name: advertisement.elements[name].ends)
    found = tuple(islice(paths, most))
    whole = not walk.cut and next(paths, None) is None and not walk.cut
    return found if whole else (*found, MORE)


class _Walk:
    """Walks without coming back to an element: what comes back is its recursive part, which another walk finds."""

    def __init__(self, advertisement: Advertisement, below: Mapping[str, frozenset[str]], work: int) -> None:
        self._advertisement = advertisement
        self._below = below
        self._work = work
        self._done = 0
        self.cut = False

    def paths(self, begin: str, left: frozenset[str], is_end: _IsEnd) -> Iterator[str]:
        """The paths from an element to an end, around those that are left already."""
        self._done += 1
        if self._done > self._work:
            self.cut = True
            return
        heads = self._heads(begin, left)
        behind = left | {begin}
        if is_end(begin):
            yield from heads
        for child in self._advertisement.children(begin):
            if child not in behind:
                for tail in self.paths(child, behind, is_end):
                    yield from (head + tail for head in heads)

    def _heads(self, begin: str, left: frozenset[str]) -> tuple[str, ...]:
        """An element, once and as the end of what recurs there."""
        parts = self._recursive_parts(begin, left)
        if not parts:
            return (f"/{begin}",)
        if parts == [f"/{begin}"]:
            return (f"(/{begin})+",)
        return f"/{begin}", f"({' | '.join(parts)})+/{begin}"

    def _recursive_parts(self, begin: str, left: frozenset[str]) -> list[str]:
        children = self._advertisement.children
        inner = _Walk(self._advertisement, self._below, self._work // _SHARE)
        bodies = (
            f"/{begin}{body}"
            for child in children(begin)
            if child not in left and child != begin and begin in self._below[child]
            for body in inner.paths(child, left | {begin}, lambda name: begin in children(name))
        )
        found = [f"/{begin}"] if begin in children(begin) else []
        found += islice(bodies, _MOST_ALTERNATIVES)
        if next(bodies, None) is not None or inner.cut:
            self.cut = True
            found.append("...")
        return found
