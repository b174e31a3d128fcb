"""How many bytes of memory are held for what a neighbour has said: estimates, by which its budget is counted.

They were measured for CPython on 64 bits, with one other neighbour to forward to, and are about as much or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from heptox.feed.messages import Announce, Budget, PeerId
from heptox.pattern import PatternNode
from heptox.routing import Advertisement, Patterns
from heptox.schema import Particle

_ADVERTISEMENT: Final = 8 * 1024
_ELEMENT_TYPE: Final = 2000
_PART: Final = 200
_ATTRIBUTE: Final = 300
_REFERENCE: Final = 24
_ANNOUNCEMENT: Final = 1500
_PEER: Final = 300
_SIGNATURE: Final = 120
_SUBSCRIPTION: Final = 4000
_PATTERN: Final = 1500
_NODE: Final = 1000
_CHARACTER: Final = 8


def advertisement_bytes(advertisement: Advertisement) -> int:
    """Bytes of an advertisement, with what says which subscriptions and documents are of it."""
    elements = advertisement.elements
    sets = 3 * len(elements) // 8  # a set of element types has a bit for each, and there are some for each of them
    seen: dict[int, None] = {}
    total = _ADVERTISEMENT
    for name, element in elements.items():
        total += _ELEMENT_TYPE + sets + 4 * len(name)
        total += _ATTRIBUTE * len(element.attributes) + 4 * sum(map(len, element.attributes))
        total += _REFERENCE * len(advertisement.children(name))
        total += sum(_PART + _REFERENCE * len(part.members) for part in _new_parts(element.content, seen))
    return total


def _new_parts(content: Particle, seen: dict[int, None]) -> Iterator[Particle]:
    """The parts of a content model that are not held for another one."""
    waiting = [content]
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen[id(part)] = None
            yield part
            waiting.extend(part.members)


def announcement_bytes(announce: Announce) -> int:
    """Bytes of an announcement, without its advertisement. The publisher and each peer of the path have signed it, or
    are about to."""
    return _ANNOUNCEMENT + _SIGNATURE + (_PEER + _SIGNATURE) * len(announce.path)


def subscription_bytes(patterns: Patterns) -> int:
    """Bytes of a subscription; what asks for the same takes the same, however it is written."""
    nodes = sum(_nodes(pattern.children) for pattern in patterns)
    return _SUBSCRIPTION + _PATTERN * len(patterns) + nodes


def _nodes(nodes: Iterable[PatternNode]) -> int:
    return sum(_node(node) + _nodes(node.children) for node in nodes)


def _node(node: PatternNode) -> int:
    return _NODE * (1 + len(node.values)) + _CHARACTER * (len(node.test) + sum(len(str(one)) for one in node.values))


class AnnouncementLedger:
    """What one neighbour holds of the announcements that it was sent, by publisher: the digest of the advertisement,
    and bytes; of each advertisement how many name it, and bytes; and how many bytes that is in all."""

    def __init__(self) -> None:
        self._publishers: dict[PeerId, tuple[str, int]] = {}
        self._advertisements: dict[str, tuple[int, int]] = {}
        self._bytes = 0

    def __contains__(self, publisher: PeerId) -> bool:
        return publisher in self._publishers

    def has_advertisement(self, digest: str) -> bool:
        """Whether it holds the advertisement of that digest."""
        return digest in self._advertisements

    def add(self, announce: Announce, size: int, budget: Budget) -> bool:
        """Count an announcement, in the place of the one before, and its advertisement, of so many bytes if it was not
        sent; ``False`` where the neighbour does not keep so much: it knows the publisher no longer."""
        self.remove(announce.publisher)
        digest, own = announce.digest, announcement_bytes(announce)
        names, size = self._advertisements.get(digest, (0, size))
        more = own + (0 if names else size)
        if len(self._publishers) >= budget.publishers or self._bytes + more > budget.memory:
            return False
        self._publishers[announce.publisher] = digest, own
        self._advertisements[digest] = names + 1, size
        self._bytes += more
        return True

    def remove(self, publisher: PeerId) -> None:
        """It knows a publisher no longer."""
        if publisher not in self._publishers:
            return
        digest, own = self._publishers.pop(publisher)
        names, size = self._advertisements.pop(digest)
        if names > 1:
            self._advertisements[digest] = names - 1, size
        self._bytes -= own + (0 if names > 1 else size)
