"""What the cores of a query have brought, each item as often as it counts (``semantics.md`` section 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from lxml import etree

from heptox.shell.counted_items import Identity, counted_item
from heptox.shell.splitting import ANSWERS


@dataclass(slots=True)
class CoreAnswers:
    """The counted items of one core, by the paths along which they have come."""

    _paths: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    def add(self, path: tuple[str, ...], items: Iterable[str]) -> None:
        """Items have come along a path of peers, the last of which has them."""
        self._paths.setdefault(path, []).extend(items)

    @property
    def peers(self) -> frozenset[str]:
        """The peers that have items."""
        return frozenset(path[-1] for path, items in self._paths.items() if items)

    def items(self) -> list[etree._Element]:
        """The items of all peers: of one that several paths lead to each as often as along the path that brings it
        most often.
        """
        found: list[etree._Element] = []
        by_peer: dict[str, list[list[etree._Element]]] = {}
        for path, items in self._paths.items():
            by_peer.setdefault(path[-1], []).append(_matches(items))
        for ways in by_peer.values():
            found += ways[0] if len(ways) == 1 else _most(ways)
        return found


def _matches(items: Iterable[str]) -> list[etree._Element]:
    """The items that have come along one path, for each match one."""
    found: dict[Identity, etree._Element] = {}
    for item in map(counted_item, items):
        found.setdefault(item.identity, item.element)
    return list(found.values())


def _most(ways: Iterable[Iterable[etree._Element]]) -> list[etree._Element]:
    """Of each item as many as there are along the path with most."""
    found: dict[bytes, list[etree._Element]] = {}
    for items in ways:
        alike: dict[bytes, list[etree._Element]] = {}
        for item in items:
            alike.setdefault(_content(item), []).append(item)
        for content, several in alike.items():
            if len(several) > len(found.get(content, ())):
                found[content] = several
    return [item for several in found.values() for item in several]


def _content(element: etree._Element) -> bytes:
    """What an item says: the order of siblings that mapping makes carries no meaning."""
    copy = deepcopy(element)
    for parent in copy.iter():
        parent[:] = sorted(parent, key=lambda child: etree.tostring(child, method="c14n"))
    return etree.tostring(copy, method="c14n")


def answers_document(answers: Mapping[str, CoreAnswers]) -> str:
    """The document that a shell is asked about: the items of each core by its variable."""
    root = etree.Element(ANSWERS)
    for variable, core in answers.items():
        etree.SubElement(root, variable).extend(core.items())
    return etree.tostring(root, encoding="unicode")
