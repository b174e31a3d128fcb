"""What a mapping makes of documents, against what an official crosswalk makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.crosswalks.terms import Terms, below
from heptox.schema import Path
from heptox.xml import XmlElement

Values: TypeAlias = dict[str, Counter[object]]
"""What there is of each term, and how often."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a document should have of a term, and has not, or the other way round."""

    document: str
    missing: tuple[object, ...]
    invented: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How a term came out: how often it occurs in the judged documents, in how many of them, and what differs."""

    term: str
    occurrences: int
    documents: int
    differences: tuple[Difference, ...]

    @property
    def is_right(self) -> bool:
        """Whether every document has of the term what it should have."""
        return not self.differences


def values(root: XmlElement, terms: Terms) -> Values:
    """The values of each term of a document of the model."""
    groups = terms.groups
    found: Values = {}
    for path, element in below(root):
        term = terms.names.get(path)
        if term is not None and term not in groups:
            found.setdefault(term, Counter())[element.text or ""] += 1
    return found


def attributes(root: XmlElement, terms: Terms) -> Values:
    """The attributes of each term: those in no namespace, since what the model says of itself stands in its own."""
    found: Values = {}
    for path, element in below(root):
        for name, value in element.attrib.items():
            if path in terms.names and not str(name).startswith("{"):
                found.setdefault(f"{terms.names[path]}/@{name!s}", Counter())[value] += 1
    return found


def groups(root: XmlElement, terms: Terms) -> Values:
    """The contents of each group: what its elements hold, at any depth, in whatever order."""
    found: Values = {}
    for path, element in below(root):
        if (term := terms.names.get(path)) in terms.groups:
            found.setdefault(term, Counter())[_content(element, path, terms)] += 1
    return found


def _content(element: XmlElement, path: Path, terms: Terms) -> object:
    inside = [(child, (*path, str(child.tag))) for child in element.iterchildren("*")]
    if not inside:
        return element.text or ""
    return tuple(sorted((terms.names.get(at, at[-1]), repr(_content(child, at, terms))) for child, at in inside))


def scores(terms: Iterable[str], made: Mapping[str, Values], judged: Mapping[str, Values]) -> Iterator[Score]:
    """How terms came out, in documents by their names."""
    for term in terms:
        occurring = [found[term] for found in judged.values() if term in found]
        yield Score(term, sum(map(Counter.total, occurring)), len(occurring), tuple(_different(term, made, judged)))


def _different(term: str, made: Mapping[str, Values], judged: Mapping[str, Values]) -> Iterator[Difference]:
    for name, expected in judged.items():
        should, does = expected.get(term, Counter()), made[name].get(term, Counter())
        if should != does:
            yield Difference(name, tuple((should - does).elements()), tuple((does - should).elements()))


def right(found: Sequence[Score], *, occurring: bool = False) -> str:
    """How many of the terms are right, and of how many: of all, or of those that occur in the judged documents."""
    counted = [score for score in found if score.occurrences or not occurring]
    return f"{sum(score.is_right for score in counted)} of {len(counted)}"
