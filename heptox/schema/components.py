"""Strongly connected components: what leads to each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def strong_components(order: Iterable[str], successors: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components, by Tarjan's algorithm: each comes after all that it leads to.

    >>> strong_components("abc", {"a": "b", "b": "ac", "c": ""})
    [['c'], ['b', 'a']]
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: dict[str, None] = {}
    found: list[list[str]] = []
    for start in order:
        if start in index:
            continue
        calls = [(start, iter(successors[start]))]
        index[start] = low[start] = len(index)
        open_names[start] = None
        while calls:
            name, rest = calls[-1]
            following = next(rest, None)
            if following is None:
                calls.pop()
                if calls:
                    above = calls[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == index[name]:
                    found.append(_closed(open_names, name))
            elif following not in index:
                index[following] = low[following] = len(index)
                open_names[following] = None
                calls.append((following, iter(successors[following])))
            elif following in open_names:
                low[name] = min(low[name], index[following])
    return found


def _closed(open_names: dict[str, None], first: str) -> list[str]:
    component = []
    while True:
        name, _ = open_names.popitem()
        component.append(name)
        if name == first:
            return component
