"""Random subscriptions with the parameters of the literature (Diao et al., YFilter; Tian et al., section 5.2).

A subscription is a walk down from the root, of the element types of a DTD or of the elements of one document, with
nested paths and value predicates at its steps. Along a document everything that is drawn holds in it, unless a value
is compared by something else than ``=``: so subscriptions match. Along a DTD values come from sample documents, but
not together.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from random import Random
from typing import Final, TypeAlias

from heptox.pattern.values import double
from heptox.schema import SchemaGraph
from heptox.xml import XmlElement, parse_document


@dataclass(frozen=True, slots=True)
class SubscriptionShape:
    """What subscriptions look like. Where several numbers are given, each subscription takes one of them at random.

    ``wildcard`` and ``descendant`` are the probabilities of ``*`` and of ``//`` at a step; ``skew`` is the exponent of
    the Zipf distribution by which a child is chosen, zero for all alike. ``predicates`` are value predicates, of which
    ``equalities`` is the share with ``=``; they stand at the ends of nested paths while there are some, then at steps
    of the main path; without ``branches`` each has a nested path of its own. What has no place where it is drawn is
    left out.
    """

    depth: tuple[int, ...] = (4, 5, 6)
    wildcard: float = 0.2
    descendant: float = 0.2
    branches: tuple[int, ...] | None = (0,)
    branch_depth: tuple[int, ...] = (1, 2)
    predicates: tuple[int, ...] = (0,)
    equalities: float = 0.8
    skew: float = 0.0


@dataclass(slots=True, eq=False)
class Place:
    """Where a walk may stand: the name, where it may go on, and the value predicates that its leaves offer."""

    name: str
    children: list[Place] = field(default_factory=list, repr=False)
    equal: list[str] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)


# -- places ------------------------------------------------------------------------------------------------------

_Leaf: TypeAlias = tuple[str, str]
"""The step to an attribute or a text, and its value."""

VALUES_OF_A_PLACE: Final = 2000
"""How many different values of a leaf are offered at most."""


def places_of_schema(graph: SchemaGraph, samples: Iterable[str] = ()) -> Place:
    """The root of the element types of a schema, a graph of places, with the values of sample documents."""
    places = {name: Place(name) for name in graph.elements}
    for name, element in graph.elements.items():
        places[name].children = [places[child.name] for child in element.children]
    offers: dict[str, dict[_Leaf, None]] = {}
    for text in samples:
        for node in parse_document(text).root.iter():
            offered = offers.setdefault(str(node.tag), {})
            if len(offered) < VALUES_OF_A_PLACE:
                offered.update(dict.fromkeys(_leaves(node)))
    for name, leaves in offers.items():
        _offer(places[name], leaves)
    return places[graph.root]


def places_of_document(text: str) -> Place:
    """The root of the elements of one document, a tree of places."""

    def place(element: XmlElement) -> Place:
        made = Place(str(element.tag), [place(child) for child in element])
        _offer(made, _leaves(element))
        return made

    return place(parse_document(text).root)


def _leaves(element: XmlElement) -> Iterator[_Leaf]:
    for name, value in element.attrib.items():
        yield f"@{name!s}", str(value)
    texts = (element.text, *(child.tail for child in element))
    yield from (("text()", text) for text in texts if text and not text.isspace())


def _offer(place: Place, leaves: Iterable[_Leaf]) -> None:
    for step, value in leaves:
        place.equal.append(f"{step} = {literal(value)}")
        number = double(value)
        if number is not None and abs(number) < 1e15:
            place.unequal += [f"{step} {operator} {number:.12g}" for operator in ("<", "<=", ">", ">=")]
        else:
            place.unequal.append(f"{step} != {literal(value)}")


def literal(value: str) -> str:
    """A string literal of XPath 2, which is one of XPath 1 too unless the value has both quotation marks.

    >>> print(literal("a"), literal('a"b'))
    "a" 'a"b'
    """
    return f"'{value}'" if '"' in value and "'" not in value else '"' + value.replace('"', '""') + '"'


# -- walks -------------------------------------------------------------------------------------------------------


def subscriptions(
    roots: Sequence[Place], seed: int = 0, shape: SubscriptionShape | None = None, *, distinct: bool = False
) -> Iterator[str]:
    """Subscriptions without end, each from one of ``roots``; ``distinct`` leaves repetitions out.

    A path takes 2 to 5 microseconds, each nested path with a value 1 to 2 more. Stops after 100,000 repetitions in
    a row: there may be no more that are distinct.

    >>> from heptox.schema import parse_dtd
    >>> root = places_of_schema(parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (a?)>", "a"))
    >>> list(islice(subscriptions([root], shape=SubscriptionShape(wildcard=0.5)), 3))
    ['/a/*/*/b/*/*', '/*/*/*/*', '/*/*/a/b']
    """
    drawn = _Walker(roots, seed, shape or SubscriptionShape()).subscriptions()
    return _distinct(drawn) if distinct else drawn


def some_subscriptions(
    roots: Sequence[Place],
    number: int,
    seed: int = 0,
    shape: SubscriptionShape | None = None,
    *,
    distinct: bool = False,
) -> list[str]:
    """``number`` of :func:`subscriptions`.

    Raises ``ValueError`` when there are not so many distinct ones.
    """
    found = list(islice(subscriptions(roots, seed, shape, distinct=distinct), number))
    if len(found) < number:
        raise ValueError(f"only {len(found)} distinct subscriptions were found, not {number}")
    return found


_PATIENCE: Final = 100_000


def _distinct(drawn: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    repeated = 0
    for text in drawn:
        if text not in seen:
            seen.add(text)
            repeated = 0
            yield text
        elif (repeated := repeated + 1) > _PATIENCE:
            return


class _Walker:
    """Draws subscriptions; written for speed: millions are drawn."""

    def __init__(self, roots: Sequence[Place], seed: int, shape: SubscriptionShape) -> None:
        self.roots = roots
        self.shape = shape
        self.random = Random(f"subscriptions {seed}").random
        self.chosen = self._uniform if shape.skew == 0 else self._skewed
        self.weights: dict[int, list[float]] = {}

    def _uniform(self, places: Sequence[Place]) -> Place:
        return places[int(self.random() * len(places))]

    def _skewed(self, places: Sequence[Place]) -> Place:
        weights = self.weights.get(len(places))
        if weights is None:
            weights = list(accumulate((rank + 1) ** -self.shape.skew for rank in range(len(places))))
            self.weights[len(places)] = weights
        return places[bisect(weights, self.random() * weights[-1])]

    def subscriptions(self) -> Iterator[str]:
        random, shape, roots = self.random, self.shape, self.roots
        depths, branches, predicates = shape.depth, shape.branches, shape.predicates
        while True:
            root = roots[int(random() * len(roots))]
            walked = [root]
            steps = [self.step(root)]
            self.walk(walked, steps, depths[int(random() * len(depths))] - 1)
            valued = predicates[int(random() * len(predicates))]
            nested = valued if branches is None else branches[int(random() * len(branches))]
            if nested or valued:
                self.restrict(walked, steps, nested, valued)
            yield "".join(steps)

    def step(self, place: Place) -> str:
        name = "*" if self.random() < self.shape.wildcard else place.name
        return "//" + name if self.random() < self.shape.descendant else "/" + name

    def walk(self, walked: list[Place], steps: list[str], depth: int) -> None:
        place = walked[-1]
        while depth and place.children:
            depth -= 1
            place = self.chosen(place.children)
            walked.append(place)
            steps.append(self.step(place))

    def restrict(self, walked: list[Place], steps: list[str], nested: int, valued: int) -> None:
        random = self.random
        if nested:
            inner = [number for number, place in enumerate(walked) if place.children]
            for number in range(nested if inner else 0):
                place = inner[int(random() * len(inner))]
                steps[place] += self.branch(walked[place], number < valued)
        if valued > nested:
            offering = [number for number, place in enumerate(walked) if place.equal]
            for _ in range(valued - nested if offering else 0):
                place = offering[int(random() * len(offering))]
                steps[place] += f"[{self.value(walked[place])}]"

    def branch(self, start: Place, valued: bool) -> str:
        """A nested path; where its end is to have a value it goes on until there is a leaf."""
        depths = self.shape.branch_depth
        for _ in range(_TRIALS):
            walked, steps = [start], [""]
            self.walk(walked, steps, depths[int(self.random() * len(depths))])
            while valued and not walked[-1].equal and walked[-1].children and len(walked) < _LONGEST_BRANCH:
                self.walk(walked, steps, 1)
            path = "".join(steps)
            path = "." + path if path[1] == "/" else path[1:]
            if not valued:
                return f"[{path}]"
            if walked[-1].equal:
                return f"[{path}/{self.value(walked[-1])}]"
        return ""

    def value(self, place: Place) -> str:
        """One of the value predicates that a place offers."""
        offered = place.equal if self.random() < self.shape.equalities else place.unequal
        return offered[int(self.random() * len(offered))]


_TRIALS: Final = 4
_LONGEST_BRANCH: Final = 8
