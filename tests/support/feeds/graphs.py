"""Distances in a graph, and the routes that brokers should follow in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from benchmarks.routing.emulated_feeds import EmulatedFeeds


def neighbours(links: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    """Who has a link to whom."""
    found: dict[str, set[str]] = {}
    for one, other in links:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def distances(links: Iterable[tuple[str, str]], source: str) -> Mapping[str, int]:
    """How many links each peer is away that can be reached.

    >>> distances([("a", "b"), ("b", "c"), ("d", "e")], "a")
    {'a': 0, 'b': 1, 'c': 2}
    """
    near, found, waiting = neighbours(links), {source: 0}, deque([source])
    while waiting:
        peer = waiting.popleft()
        for neighbour in sorted(near.get(peer, set()) - found.keys()):
            found[neighbour] = found[peer] + 1
            waiting.append(neighbour)
    return found


def crooked(network: EmulatedFeeds, links: Iterable[tuple[str, str]], publishers: Iterable[str]) -> Iterator[str]:
    """The peers whose routes to some publishers are not those of a tree of shortest paths, in words."""
    links = tuple(links)
    near, all_peers = neighbours(links), set(network.up)
    routes = {peer: {seen.publisher: seen.path for seen in network.router(peer).publishers} for peer in all_peers}
    for publisher in publishers:
        away = distances(links, publisher)
        for peer in sorted(all_peers - {publisher}):
            path = routes[peer].get(publisher)
            if path is None or peer not in away:
                if path is not None or peer in away:
                    yield f"{peer} is {away.get(peer)} links away from {publisher}, and has the route {path}"
                continue
            parent = routes[path[0]].get(publisher, ()) if path[0] != publisher else ()
            if len(path) != away[peer] or path[0] not in near[peer] or path[1:] != parent or path[-1] != publisher:
                yield f"{peer} is {away[peer]} links away from {publisher}, and has the route {path}"
