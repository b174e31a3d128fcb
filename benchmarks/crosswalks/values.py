"""Values of two documents compared: what exchange made, and what somebody else made of the same source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from lxml import etree

from heptox.xml import XmlElement

Value: TypeAlias = tuple[str, str]
"""Where a value stands, by local names below some element (``name/namePart/@type``), and the value."""

INSTANCE: Final = "{http://www.w3.org/2001/XMLSchema-instance}"
_ENDS: Final = re.compile(r"^[\W_]+|[\W_]+$")


def values(element: XmlElement, above: str = "") -> Iterator[Value]:
    """All values at and below an element, white space collapsed; empty ones, and what is for validation only, are none.

    >>> list(values(etree.fromstring('<name type="personal">Poe, <date>1809 -\\n 1849</date><role/></name>')))
    [('@type', 'personal'), ('', 'Poe,'), ('date', '1809 - 1849')]
    """
    attributes = ((str(name), str(text)) for name, text in element.items())
    found = [(f"@{_local(name)}", text) for name, text in attributes if not name.startswith(INSTANCE)]
    found.append(("", "".join([element.text or "", *(child.tail or "" for child in element)])))
    for name, text in found:
        if value := " ".join(text.split()):
            yield "/".join(filter(None, [above, name])), value
    for child in element:
        yield from values(child, "/".join(filter(None, [above, _local(str(child.tag))])))


def _local(name: str) -> str:
    return etree.QName(name).localname


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that is missing, one that is made besides, or both where one stands for the other."""

    path: str
    kind: str
    judged: str | None
    made: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How often each path has a value ``judged``, how often one that is ``equal``, and all differences."""

    judged: Counter[str]
    equal: Counter[str]
    differences: tuple[Difference, ...]


def compare(made: Iterable[Value], judged: Iterable[Value]) -> Comparison:
    """The values of two documents, or parts, as multisets.

    >>> found = compare([("a", "x"), ("b", "y.")], [("a", "x"), ("a", "x"), ("b", "y"), ("c", "z")])
    >>> found.equal["a"], [(each.path, each.kind) for each in found.differences]
    (1, [('a', 'fewer times'), ('b', 'punctuation or case'), ('c', 'not made')])
    """
    ours, theirs = Counter(made), Counter(judged)
    missing, surplus = theirs - ours, ours - theirs
    by_path: dict[str, tuple[list[str], list[str]]] = {}
    for side, counted in enumerate((missing, surplus)):
        for path, value in counted.elements():
            by_path.setdefault(path, ([], []))[side].append(value)
    differences = [
        difference
        for path, (absent, present) in by_path.items()
        for difference in _differences(path, absent, present, ours, theirs)
    ]
    equal = ours & theirs
    return Comparison(_by_path(theirs), _by_path(equal), tuple(differences))


def _by_path(counted: Counter[Value]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (path, _), count in counted.items():
        found[path] += count
    return found


def _differences(
    path: str, absent: list[str], present: list[str], ours: Counter[Value], theirs: Counter[Value]
) -> Iterator[Difference]:
    """What the values that are missing at a path have to do with those that are there instead."""
    left = list(present)
    for value in absent:
        near = next((other for other in left if _core(other) == _core(value)), None)
        kind = "punctuation or case"
        if near is None and (close := get_close_matches(value, left, 1, 0.5)):
            near, kind = close[0], "another value"
        if near is not None:
            left.remove(near)
            yield Difference(path, kind, value, near)
        else:
            yield Difference(path, "fewer times" if ours[path, value] else "not made", value, None)
    for value in left:
        yield Difference(path, "more times" if theirs[path, value] else "made besides", None, value)


def _core(value: str) -> str:
    """A value without what stands around it, in small letters."""
    return _ENDS.sub("", value).casefold()


def total(found: Iterable[Comparison]) -> Comparison:
    """Comparisons added up."""
    judged: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    differences: list[Difference] = []
    for each in found:
        judged += each.judged
        equal += each.equal
        differences += each.differences
    return Comparison(judged, equal, tuple(differences))
