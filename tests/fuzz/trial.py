"""One trial: a mapping problem, documents and queries, judged by Definition 1.

Most problems are random arrows between random schemas, DTDs or XSDs; some are whole scenarios, whose exchange is known
without a mapping, some are paths of two or three of them, and some are one-to-one mappings, which exchange there and
back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from random import Random
from traceback import format_exc
from typing import Final, Literal

from heptox.mapping import exchange
from heptox.schema import Element, SchemaGraph
from heptox.store import Hiding, hidden_path_fault
from heptox.translate import Direction
from heptox.xml import parse_document, write_document
from tests.fuzz.matched import judge_matching
from tests.fuzz.routed import judge_routing
from tests.fuzz.stored import judge_store
from tests.mapping.building import text_set
from tests.support.checking import Outcome, check, check_counts
from tests.support.definition import Pair, pairs
from tests.support.feeds.checking import check_delivery
from tests.support.feeds.lying import check_lying
from tests.support.filtering.checking import check_cleaning, check_filtering
from tests.support.matching.engines import NAMED
from tests.support.namespaced_mappings import Namespaced, check_namespaced, namespaced, namespaced_path
from tests.support.random_mappings import Problem, QueryMaker, random_documents, random_problem
from tests.support.rewriting.checking import check_documents, check_inference, check_streaming
from tests.support.rewriting.translated import check_translated
from tests.support.rewriting.ways import check_ways
from tests.support.round_trips import check_round_trip
from tests.support.scenarios import check_path, random_path, random_scenario
from tests.support.shared import tells_missing
from tests.support.together import check_path_together, check_together
from tests.support.xsd_laws import judge_xsd_problem, judge_xsd_store
from tests.support.xsd_streams import judge_xsd_filtering

IN_NAMESPACES: Final = 0.4
"""How many of the problems have names in namespaces."""
ESCAPE: Final = "_x"
"""How the escapes of tags begin."""
THERE_AND_BACK: Final = 12
OF_XSDS: Final = (1, 4, 7)
"""The last digits of trials of a store, or of filters, whose schema is an XSD."""
COUNTED: Final = 0.3
"""How many of the queries are asked so that their items are counted, as well."""
TOGETHER: Final = 0.3
"""How many of the queries are asked of several documents together as well."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many queries over each side a trial asks, on how many documents each is judged, and what is judged.

    A trial that exchanges there and back does so with :data:`THERE_AND_BACK` times as many documents.

    Of matching, queries are subscriptions; ``engines`` are the names of those that are checked, with commas.
    Of routing, queries are general paths, and documents are special paths.
    Of feeds, queries are the steps of a scenario, and documents are scenarios.
    Of translated subscriptions, and of the ways of rewriting, queries are subscriptions.
    Of rewriting, queries are programs of operators, or targets that are inferred, and documents are for each.
    Of chunking, queries are filters; a quarter as many documents come besides that are outside the schema.
    """

    queries: int = 6
    documents: int = 7
    of: Literal[
        "translation",
        "store",
        "matching",
        "routing",
        "feeds",
        "feeds-lying",
        "rewriting-translated",
        "rewriting-inference",
        "rewriting-documents",
        "rewriting-streaming",
        "rewriting-ways",
        "chunking",
        "chunking-cleaning",
    ] = "translation"
    engines: str = ""


def trial(number: int, size: Size) -> Outcome:
    """What came of trial ``number``; equal numbers and sizes are equal trials."""
    random, outcome = Random(number), Outcome()
    kinds = {
        1: _judge_xsd,
        3: _judge_scenario,
        5: _judge_round_trip,
        6: _judge_scenario,
        8: _judge_parts,
        9: _judge_path,
    }
    try:
        if size.of == "store":
            (judge_xsd_store if number % 10 in OF_XSDS else judge_store)(random, size.queries, size.documents, outcome)
        elif size.of == "routing":
            judge_routing(random, number, size.queries, size.documents, outcome)
        elif size.of == "feeds":
            check_delivery(random, size.queries, size.documents, outcome)
        elif size.of == "feeds-lying":
            check_lying(random, size.queries, size.documents, outcome)
        elif size.of == "rewriting-translated":
            check_translated(random, number, size.queries, size.documents, outcome)
        elif size.of == "rewriting-inference":
            check_inference(random, size.queries, outcome)
        elif size.of == "rewriting-documents":
            check_documents(random, size.queries, size.documents, outcome)
        elif size.of == "rewriting-streaming":
            check_streaming(random, size.queries, size.documents, outcome)
        elif size.of == "rewriting-ways":
            check_ways(random, number, size.queries, size.documents, outcome)
        elif size.of == "chunking":
            (judge_xsd_filtering if number % 10 in OF_XSDS else check_filtering)(
                random, size.queries, size.documents, outcome
            )
        elif size.of == "chunking-cleaning":
            check_cleaning(random, size.queries, size.documents, outcome)
        elif size.of == "matching":
            engines = {name: NAMED[name] for name in size.engines.split(",") if name}
            judge_matching(random, number, size.queries, size.documents, engines, outcome)
        else:
            kinds.get(number % 10, _judge_problem)(random, size, outcome)
    except Exception as error:
        if tells_missing(error):
            raise
        outcome.broken.append(f"crash\n{format_exc()}")
    return outcome


def _judge_problem(random: Random, size: Size, outcome: Outcome) -> None:
    given = random_problem(random)
    named = _named(given, outcome)
    for to in Direction:
        documents = random_documents(random, given, size.documents, side=to)
        if named is not None:
            documents = [named.document(text, to) for text in documents]
        judged = given if named is None else named.problem
        _judge(judged, to, pairs(judged.mapping, documents, to), random, size, outcome, named)


def _judge_xsd(random: Random, size: Size, outcome: Outcome) -> None:
    judge_xsd_problem(random, size.queries, size.documents, outcome)


def _judge_parts(random: Random, size: Size, outcome: Outcome) -> None:
    """Peers answer from what they do not hide: whatever that is, nothing of it is made up."""
    given = random_problem(random)
    for to in Direction:
        graph = (given.mapping.source if to is Direction.SOURCE else given.mapping.target).graph
        edges = (edge for element in graph.elements.values() for edge in _edges(element))
        parts = [edge for edge in edges if hidden_path_fault(edge, graph) is None]
        documents = []
        for text in random_documents(random, given, size.documents, side=to):
            left = BytesIO()
            Hiding(graph, random.sample(parts, random.randint(1, min(3, len(parts))))).prune(
                BytesIO(text.encode()), left
            )
            documents.append(left.getvalue().decode())
        made = (given.mapping.target if to is Direction.SOURCE else given.mapping.source).graph
        instances = [pair for pair in pairs(given.mapping, documents, to) if not _has_leaves_without_value(pair, made)]
        maker = QueryMaker.asking(random, given, to)
        for _ in range(size.queries):
            check(given, maker.query(), to, instances, outcome, in_parts=True)


def _has_leaves_without_value(pair: Pair, graph: SchemaGraph) -> bool:
    """Whether the image has a leaf that stands for a node whose value is hidden: exchange relies on what a schema
    requires, and answers have nothing of it."""
    elements = graph.elements
    return any(
        str(one.tag) in elements and elements[str(one.tag)].text_only and not one.text
        for one in parse_document(pair.image).root.iter("*")
    )


def _edges(element: Element) -> Iterator[str]:
    """The edges below an element type, as hidden paths."""
    yield from (f"{element.name}/{child.name}" for child in element.children)
    yield from (f"{element.name}/@{attribute.name}" for attribute in element.attributes)


def _named(given: Problem, outcome: Outcome) -> Namespaced | None:
    """Some of the problems with names in namespaces; their printed rules must load as they are."""
    drawn = Random(str(given))
    if drawn.random() >= IN_NAMESPACES:
        return None
    outcome.counts["in namespaces"] += 1
    named = namespaced(drawn, given)
    check_namespaced(named, outcome)
    return named


def _judge(
    given: Problem,
    to: Direction,
    instances: list[Pair],
    random: Random,
    size: Size,
    outcome: Outcome,
    named: Namespaced | None = None,
) -> None:
    maker = QueryMaker.asking(random, given if named is None else named.plain, to)
    before = Counter(outcome.counts)
    for _ in range(size.queries):
        query = maker.query()
        if named is not None:
            query = named.query(query, _other(to))
        check(given, query, to, instances, outcome)
        if Random(f"counted {query}").random() < COUNTED:
            check_counts(given, query, to, instances, outcome)
        if (chosen := Random(query)).random() < TOGETHER:
            check_together(chosen, given, query, to, instances, outcome)
    if named is not None:
        for counted in ("cases", "errors", f"answers to {to}"):
            outcome.counts[f"{counted} in namespaces"] += outcome.counts[counted] - before[counted]


def _other(to: Direction) -> Direction:
    return Direction.TARGET if to is Direction.SOURCE else Direction.SOURCE


def _judge_scenario(random: Random, size: Size, outcome: Outcome) -> None:
    scenario = random_scenario(random)
    outcome.counts["scenarios"] += 1
    instances: list[Pair] = []
    named = _named(scenario.problem, outcome)
    judged = scenario.problem if named is None else named.problem
    for document in random_documents(random, scenario.problem, size.documents):
        expected = scenario.expected(document)
        if expected is None:
            continue
        if named is not None:
            if ESCAPE in expected:
                continue  # which names are declared is another question there
            document, expected = named.document(document, Direction.SOURCE), named.document(expected, Direction.TARGET)
        made = write_document(exchange(judged.mapping, parse_document(document)).root)
        if text_set(made) != text_set(expected):
            outcome.broken.append("\n".join(("exchange", str(judged), document, expected, made)))
        instances.append(Pair(document, expected))
    _judge(judged, Direction.SOURCE, instances, random, size, outcome, named)
    there = random_documents(random, scenario.problem, size.documents, side=Direction.TARGET)
    if named is not None:
        there = [named.document(text, Direction.TARGET) for text in there]
    back = pairs(judged.mapping, there, Direction.TARGET)
    _judge(judged, Direction.TARGET, back, random, size, outcome, named)


def _judge_round_trip(random: Random, size: Size, outcome: Outcome) -> None:
    check_round_trip(random, THERE_AND_BACK * size.documents, outcome, named=_named)


def _judge_path(random: Random, size: Size, outcome: Outcome) -> None:
    path = random_path(random, random.choice((2, 3)))
    outcome.counts["paths"] += 1
    drawn = Random(str(path))
    named = namespaced_path(drawn, path) if drawn.random() < IN_NAMESPACES else None
    outcome.counts["in namespaces"] += named is not None
    judged = path if named is None else named.path
    for turned in (False, True):
        documents = path.documents(random, size.documents, turned=turned)
        if named is not None:
            documents = [named.document(text, turned=turned) for text in documents]
        maker = path.queries(random, turned=turned)
        for _ in range(size.queries):
            query = maker.query()
            if named is not None:
                query = named.query(query, turned=turned)
            check_path(judged, query, documents, outcome, turned=turned)
            if (chosen := Random(query)).random() < TOGETHER:
                check_path_together(chosen, judged, query, documents, outcome, turned=turned)
    outcome.counts["documents in namespaces"] += outcome.counts["documents"] * (named is not None)
    outcome.counts["cases"] += outcome.counts["documents"]
