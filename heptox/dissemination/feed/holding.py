"""How many bytes of memory are held for what a neighbour has said: estimates, by which its budget is counted.

They were measured for CPython on 64 bits, with one other neighbour to forward to, and are about as much or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from heptox.dissemination.feed.messages import Announce
from heptox.dissemination.routing import Advertisement, Patterns
from heptox.pattern import PatternNode
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
