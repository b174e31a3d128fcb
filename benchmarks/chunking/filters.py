"""XPath filters along the elements of a document: each selects within one part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from heptox.xml import XmlElement

DESCENDANT: Final = 0.3
PREDICATE: Final = 0.3
"""Section 5.1: the shares of filters with ``//`` and with a predicate."""

_ATTRIBUTE: Final = 0.3
"""How often a filter that could select an attribute does."""
_BELOW: Final = 0.5
"""How often ``//`` stands within the part where it could, and not before it."""
_EXISTENCE: Final = 0.3
"""How often a predicate asks only whether something is there."""
_INEQUALITY: Final = 0.1
"""How often a comparison of strings is ``!=``."""


@dataclass(frozen=True, slots=True)
class Filter:
    """An XPath 1.0 expression, and the prefix of the part that all it selects and compares lies in."""

    text: str
    part: str


def drawn_filters(
    root: XmlElement, shares: Mapping[str, int], count: int, random: Random, *, comparisons: bool = True
) -> tuple[Filter, ...]:
    """``count`` filters that have the prefixes of ``shares`` as often as these say, relative to one another.

    Each is drawn along one element of its part, and selects that one, or something in it, but where it compares with
    ``!=``. Counts by prefix, of ``//`` and of predicates are exact but for rounding. Without ``comparisons`` predicates
    ask whether something is there.

    Raises ``ValueError`` for a prefix that leads nowhere in the document.

    >>> from heptox.xml import parse_document
    >>> root = parse_document("<db><book><title>Emma</title></book></db>").root
    >>> {each.part for each in drawn_filters(root, {"/db/book": 1}, 3, Random(1))}
    {'/db/book'}
    """
    parts = [part for part, number in apportioned(shares, count).items() for _ in range(number)]
    random.shuffle(parts)
    descendants, predicates = (_chosen(count, share, random) for share in (DESCENDANT, PREDICATE))
    members = {part: _members(root, part) for part in shares}
    return tuple(
        Filter(
            _Drawing(part, random.choice(members[part]), random, comparisons).text(
                descendant=place in descendants, predicate=place in predicates
            ),
            part,
        )
        for place, part in enumerate(parts)
    )


def apportioned(shares: Mapping[str, int], count: int) -> dict[str, int]:
    """``count`` divided in the proportions of ``shares``, by the largest remainders.

    >>> apportioned({"a": 1, "b": 2}, 10)
    {'a': 3, 'b': 7}
    """
    total = sum(shares.values())
    found = {name: count * share // total for name, share in shares.items()}
    rest = sorted(shares, key=lambda name: -(count * shares[name] % total))
    for name in rest[: count - sum(found.values())]:
        found[name] += 1
    return found


def _chosen(count: int, share: float, random: Random) -> frozenset[int]:
    return frozenset(random.sample(range(count), round(count * share)))


def _members(root: XmlElement, part: str) -> list[XmlElement]:
    """The elements of a part, or its one element where that has other parts in it."""
    _, name, *names = part.split("/")
    found = root.findall("/".join(names)) if names else [root]
    if name != root.tag or not found:
        raise ValueError(f"the document has nothing at {part}")
    return found


@dataclass(frozen=True, slots=True)
class _Drawing:
    """A filter that is being drawn along one member of its part."""

    part: str
    member: XmlElement
    random: Random
    comparisons: bool

    def text(self, *, descendant: bool, predicate: bool) -> str:
        test, steps = self._predicate() if predicate else "", self._target()
        if not descendant:
            return _path(self.part + test, steps)
        elements = sum(not step.startswith("@") for step in steps)
        if elements and self.random.random() < _BELOW:
            return f"{self.part}{test}//{'/'.join(steps[self.random.randrange(elements) :])}"
        *ancestors, name = self.part.split("/")
        above = "/".join(ancestors[: self.random.randint(1, len(ancestors))])
        return _path(f"{above}//{name}{test}", steps)

    def _target(self) -> tuple[str, ...]:
        """The steps to the member itself, or to something that it has."""
        node = self.random.choice([*self.member.iter("*")])
        steps = self._steps(node)
        if steps and node.attrib and self.random.random() < _ATTRIBUTE:
            return (*steps, f"@{self.random.choice(sorted(map(str, node.attrib)))}")
        return steps

    def _steps(self, node: XmlElement) -> tuple[str, ...]:
        names: list[str] = []
        while node is not self.member:
            names.append(str(node.tag))
            above = node.getparent()
            assert above is not None
            node = above
        return tuple(reversed(names))

    def _predicate(self) -> str:
        if not self.comparisons or self.random.random() < _EXISTENCE:
            return f"[{'/'.join(self._steps(self.random.choice([*self.member.iterdescendants('*')])))}]"
        path, value = self.random.choice([*self._values()])
        if value.isdecimal():
            return f"[{path} {self.random.choice(('=', '<=', '>='))} {value}]"
        return f"[{path}{'!=' if self.random.random() < _INEQUALITY else '='}'{value}']"

    def _values(self) -> Iterator[tuple[str, str]]:
        """The values that the member has, with the paths to them."""
        for node in self.member.iter("*"):
            steps = self._steps(node)
            for name, value in sorted(node.attrib.items()):
                yield "/".join((*steps, f"@{name!s}")), str(value)
            if node.text and not len(node):
                yield "/".join(steps), node.text


def _path(begin: str, steps: Sequence[str]) -> str:
    return "/".join((begin, *steps))
