"""Samples of what is advertised: a path that a subscription matches tells at once which others cannot cover it."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.routing.advertised_paths import uncovered_path
from benchmarks.routing.counterexamples import spare_name
from benchmarks.routing.words import RootPath
from heptox.matching import LinearPath, Step
from heptox.routing.advertisement import Advertisement
from heptox.routing.patience import UndecidedError


def sample(advertisement: Advertisement, path: LinearPath) -> tuple[LinearPath, ...] | None:
    """The shortest advertised path that a path matches, as linear paths: its elements, and its attributes and text.

    What covers the path over advertised paths covers one of them over any document. ``None`` where the path matches
    nothing that is advertised; the path itself where that takes too long to be found.

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.schema import parse_dtd
    >>> advertisement = advertised(parse_dtd("<!ELEMENT a (b)> <!ATTLIST a x CDATA #REQUIRED> <!ELEMENT b (c?)>"
    ...                                      "<!ELEMENT c EMPTY>", "a"))
    >>> print(*sample(advertisement, LinearPath((Step("//", "*"),))))
    /a/b /a/@x
    """
    nothing = LinearPath((Step("/", spare_name(set(advertisement.elements))),))
    try:
        found = uncovered_path(advertisement, nothing, path)
    except UndecidedError:
        return (path,)
    return None if found is None else tuple(_paths(advertisement, found))


def _paths(advertisement: Advertisement, word: RootPath) -> Iterator[LinearPath]:
    steps = tuple(Step("/", name) for name in word.elements)
    yield LinearPath(steps)
    for depth, name in enumerate(word.elements, start=1):
        leaves = {f"@{attribute}" for attribute in advertisement.elements[name].required}
        if word.leaf is not None and word.depth == depth:
            leaves.add(word.leaf)
        for leaf in sorted(leaves):
            yield LinearPath((*steps[:depth], Step("/", leaf)))
