"""Laws of chunking on random cases: filters give on parts of documents what they give on the whole, by other means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from random import Random
from typing import Final

from heptox.filtering import (
    PIECE,
    CleanedFilter,
    DocumentFilter,
    Failure,
    FilteringPlan,
    FilterSet,
    Result as PartResult,
    SchemaSteps,
    Sizes,
    clean,
    read_filter,
)
from heptox.schema import SchemaGraph
from heptox.xml import parse_document, write_element
from tests.support.checking import Outcome
from tests.support.filtering.judging import Result, whole
from tests.support.filtering.making import outside, random_filter, random_schema, random_text, respell

DEGREES: Final = (None, 1, 2, 3, 4, 5, 6, 7)
MOST_TOLD: Final = 5
"""How many counterexamples of one trial are told."""
_FIRST: Final = 1 << 10
"""How many bytes the first block has that a reader waits for."""


# -- filtering -----------------------------------------------------------------------------------------------------


def check_filtering(random: Random, filters: int, documents: int, outcome: Outcome) -> None:
    """Random filters give the same by each plan as on the whole document: of every degree, cut into small pieces or
    not, shared or not, before and after some filters have gone and others have come.

    A case is a filter on a document by a plan.
    """
    graph = random_schema(random)
    texts = [random_filter(random, graph) for _ in range(filters)]
    given = [*_inside(random, graph, documents), *_outside(random, graph, max(documents // 4, 1))]
    wanted = [whole(texts, document) for document in given]
    registered = FilterSet(graph)
    present = _changed(random, registered, texts, set())
    for _ in range(2):
        for plan in plans(random, registered):
            filtering = DocumentFilter(plan)
            for document, expected in zip(given, wanted, strict=True):
                found = filtered(filtering, TrickleSource(random, document))
                outcome.counts["outside"] += filtering.outside is not None
                for number, text in enumerate(texts):
                    outcome.counts["cases"] += number in present
                    answer = expected[number] if number in present else ()
                    outcome.counts["selecting"] += bool(answer)
                    if found.get(number, ()) != answer:
                        _tell(outcome, graph, document, text, _way(plan), answer, found.get(number, ()))
        present = _changed(random, registered, texts, present)


def _changed(random: Random, registered: FilterSet, texts: Sequence[str], present: set[int]) -> set[int]:
    """The numbers of the filters that are there when some have gone and others have come."""
    kept = {number for number in present if random.random() < 0.5}
    for number in present - kept:
        registered.remove(number)
    come = {number for number in range(len(texts)) if number not in kept and random.random() < 0.7}
    for number in random.sample(sorted(come), len(come)):
        registered.add(number, texts[number], priority=random.choice((0, 0, 0, 1, 7, -1)))
    return kept | come


def plans(random: Random, registered: FilterSet) -> Iterator[FilteringPlan]:
    """A plan of each degree, for documents whose elements have some sizes: it cuts, or does not."""
    for degree in DEGREES:
        plan = registered.plan(degree, random.choice((None, _random_sizes(random, registered))))
        size = random.choice((PIECE, PIECE, PIECE, 30, 100, 300))
        yield replace(plan, size=size, sharing=random.random() < 0.6)


def _random_sizes(random: Random, registered: FilterSet) -> Sizes:
    """Sizes of some paths; those of others were not seen."""
    seen = {node.path: random.choice((0.0, 1.0, 50.0)) for node in registered.tree.root.walk() if random.random() < 0.7}
    return Sizes(100.0, seen)


def _way(plan: FilteringPlan) -> str:
    return f"{plan.scheme}, size {plan.size}, {'shared' if plan.sharing else 'apart'}"


def filtered(filtering: DocumentFilter, source: TrickleSource) -> dict[int, tuple[Result, ...]]:
    """What each filter gives that gives anything."""
    found: defaultdict[int, list[Result]] = defaultdict(list)
    for result in filtering.results(source):
        found[result.number] += _items(result)
    return {number: tuple(items) for number, items in found.items()}


def _items(result: PartResult) -> list[Result]:
    if isinstance(result.found, Failure):
        return [("failure", "", result.found.reason)]
    return [(str(kind), name, text) for kind, name, text in result.found]


class TrickleSource:
    """A source that can be read again and gives as much at once as it likes, mostly little.

    Its first bytes come at once: a reader waits for them anyway.
    """

    def __init__(self, random: Random, data: bytes) -> None:
        self._random = random
        self._source = BytesIO(data)
        self._most = random.choice((3, *[100] * 10, *[1 << 20] * 3))

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, all that there are for -1."""
        if size < 0 or not self._source.tell():
            return self._source.read(min(size, _FIRST))
        return self._source.read(self._random.randint(1, min(size, self._most)))

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place."""
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._source.tell()


# -- cleaning ------------------------------------------------------------------------------------------------------


def check_cleaning(random: Random, filters: int, documents: int, outcome: Outcome) -> None:
    """Random filters select on valid documents what their branches select, which begin with tag paths of the schema.

    Where cleaning did not rely on the schema they do so on others as well. A case is a filter on a document;
    ``recursive`` are the filters over recursive schemas.
    """
    graph = random_schema(random)
    schema = SchemaSteps(graph)
    texts = [random_filter(random, graph) for _ in range(filters)]
    cleaned = [clean(text, read_filter(text), schema) for text in texts]
    for each in cleaned:
        outcome.counts["recursive"] += is_recursive(graph)
        outcome.counts["empty" if each.is_empty else "with branches" if each.branches else "without branches"] += 1
    for document in _inside(random, graph, documents):
        _check_cleaned(graph, cleaned, document, outcome)
    always = [each for each in cleaned if not each.relies_on_schema]
    for document in _outside(random, graph, max(documents // 4, 1)):
        _check_cleaned(graph, always, document, outcome)


def _check_cleaned(graph: SchemaGraph, cleaned: Sequence[CleanedFilter], document: bytes, outcome: Outcome) -> None:
    expected = whole([each.text for each in cleaned], document)
    found = whole([str(each) for each in cleaned], document)
    for each, wanted, made in zip(cleaned, expected, found, strict=True):
        outcome.counts["cases"] += 1
        outcome.counts["selecting"] += bool(wanted)
        if made != wanted or (each.is_empty and wanted):
            _tell(outcome, graph, document, each.text, f"empty: {each.is_empty}, {each}", wanted, made)


def is_recursive(graph: SchemaGraph) -> bool:
    """Whether an element may stand in another one of its type."""
    below = {name: {child.name for child in element.children} for name, element in graph.elements.items()}
    for _ in below:
        below = {name: found.union(*(below[each] for each in found)) for name, found in below.items()}
    return any(name in found for name, found in below.items())


# -- documents -----------------------------------------------------------------------------------------------------


def _inside(random: Random, graph: SchemaGraph, number: int) -> list[bytes]:
    """Documents whose elements stand where the schema allows."""
    return [respell(random, _lengthened(random, _text_inside(random, graph), graph.root)) for _ in range(number)]


def _text_inside(random: Random, graph: SchemaGraph) -> str:
    text = random_text(random, graph)
    return _widened(random, text, graph) if random.random() < 0.5 else text


def _widened(random: Random, text: str, graph: SchemaGraph) -> str:
    """A document whose root has, besides, what the roots of others have, in any order: more than its model allows."""
    root = parse_document(text).root
    children = [*root]
    for _ in range(random.choice((2, 5))):
        children += parse_document(random_text(random, graph)).root
    random.shuffle(children)
    root.extend(children)
    return write_element(root)


def _outside(random: Random, graph: SchemaGraph, number: int) -> list[bytes]:
    """Documents that are not valid, mostly with elements where the schema has none."""
    made = []
    for _ in range(number):
        text = outside(random, write_element(parse_document(_text_inside(random, graph)).root), graph)
        made.append(respell(random, _lengthened(random, text, str(parse_document(text).root.tag))))
    return made


def _lengthened(random: Random, text: str, root: str) -> str:
    """A document that is read in several blocks, now and then: the first has a thousand bytes."""
    if random.random() < 0.1:
        return text
    return text.replace(f"<{root}", f'<{root} long="{"x" * _FIRST}"', 1)


def _tell(
    outcome: Outcome,
    graph: SchemaGraph,
    document: bytes,
    text: str,
    way: str,
    wanted: Sequence[Result],
    found: Sequence[Result],
) -> None:
    outcome.counts["different"] += 1
    if len(outcome.broken) < MOST_TOLD:
        read = write_element(parse_document(document).root)
        parts = (graph.text, f"root {graph.root}", read, text, way, f"wanted {wanted}", f"found {found}")
        outcome.broken.append("\n".join(map(str, parts)).replace("x" * _FIRST, "..."))
