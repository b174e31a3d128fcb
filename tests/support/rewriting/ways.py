"""The laws of rewriting for mappings: what a program makes is what exchange makes, and all ways find the same.

What a subscription matches of the exchanged document is said by elementpath and lxml.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from random import Random
from typing import Final

from heptox.errors import HeptoxError
from heptox.mapping import exchange
from heptox.pattern import NODE, is_leaf_test
from heptox.rewriting import DomainMatcher, Publisher, Strategy
from heptox.schema import SchemaGraph
from heptox.xml import Document, XmlElement, parse_document, write_element
from tests.support.checking import Outcome
from tests.support.matching.conditions import Comparison, Condition, Constant, Exists, Path, Step, printed
from tests.support.matching.embedding import Node, document_node
from tests.support.matching.judging import Judge, Judged
from tests.support.matching.making import random_condition
from tests.support.random_mappings import POOL, Problem, random_documents, random_problem
from tests.support.rewriting.nested import nested_problem
from tests.support.rewriting.reshaped import reshaped_problem

_SPACED: Final = 0.3
_WHOLE: Final = ("z", "h")
_BRANCHING: Final = 0.5
_POOLS: Final = (POOL, ("1",), ("1", "2"))
_PROBLEMS: Final = (nested_problem, nested_problem, reshaped_problem, random_problem)
_DIGEST: Final = re.compile(r"\.[0-9a-f]{32}\Z")


def check_ways(random: Random, number: int, subscriptions: int, documents: int, outcome: Outcome) -> None:
    """One mapping; a case is a subscription, a document and a way."""
    given = _PROBLEMS[number % len(_PROBLEMS)](random)
    publisher = Publisher(given.mapping)
    sources = tuple(
        _spaced(random, parse_document(text), given.mapping.source.graph)
        for text in random_documents(random, given, documents, random.choice((16, 30)), random.choice(_POOLS))
    )
    images = tuple(exchange(given.mapping, document) for document in sources)
    outcome.counts["mappings"] += 1
    outcome.counts["programs"] += publisher.made.program is not None
    outcome.counts["exact programs"] += publisher.made.is_exact
    outcome.counts["maps of tag paths"] += publisher.paths.root is not None
    if publisher.made.program is not None:
        _check_program(given, publisher, sources, images, outcome)
    if images:
        _check_matches(random, given, publisher, sources, images, subscriptions, outcome)


def _check_program(
    given: Problem, publisher: Publisher, sources: tuple[Document, ...], images: tuple[Document, ...], outcome: Outcome
) -> None:
    compared = as_set if publisher.made.is_exact else paths_of
    for source, image in zip(sources, images, strict=True):
        made = publisher.rewritten(source).root
        outcome.counts["documents"] += 1
        if compared(made) != compared(image.root):
            told = map(write_element, (source.root, image.root, made))
            operators = map(str, publisher.made.program.operators if publisher.made.program else ())
            outcome.broken.append("\n".join(("program", str(given), *told, *operators)))


def _check_matches(
    random: Random,
    given: Problem,
    publisher: Publisher,
    sources: tuple[Document, ...],
    images: tuple[Document, ...],
    subscriptions: int,
    outcome: Outcome,
) -> None:
    matcher = DomainMatcher(given.mapping.target)
    nodes = [document_node(image) for image in images]
    invented = set(_invented(given, images))
    judges: dict[int, Judge] = {}
    for number in range(subscriptions):
        branching = _branching(random, random.choice(nodes)) if random.random() < _BRANCHING else None
        condition = branching or random_condition(random, nodes)
        if any(f'"{value}"' in printed(condition) for value in invented):
            continue  # it equals nothing, whatever exchange calls it
        try:
            matcher.add(number, printed(condition))
            judges[number] = Judge(condition, printed(condition))
        except HeptoxError:
            outcome.counts["refused"] += 1
    for place, (source, image) in enumerate(zip(sources, images, strict=True)):
        judged = Judged(image)
        expected = [number for number, judge in judges.items() if judge.decide(judged, outcome.counts)]
        for way in Strategy:
            found = matcher.match(publisher, source, way).tolist()
            outcome.counts["cases"] += len(judges)
            outcome.counts["matched"] += len(expected)
            if found != expected:
                wrong = [judges[each].text for each in set(found) ^ set(expected)]
                told = map(write_element, (source.root, image.root))
                outcome.broken.append("\n".join((way, str(given), *told, *wrong, f"{found} for {expected}")))
        if place == len(sources) // 2 and judges:  # one goes in between
            gone = random.choice(list(judges))
            matcher.remove(gone)
            del judges[gone]


def _invented(given: Problem, images: tuple[Document, ...]) -> Iterator[str]:
    """What exchange calls nodes that leaves stand for, by numbers or, where leaves identify them, by digests."""
    stems = {
        ".".join(rule.node(term.variable))
        for rule in given.mapping.rules
        for term in rule.terms()
        if term.path == (NODE,)
    }
    for image in images:
        for element in image.root.iter():
            values = (element.text or "", *map(str, element.attrib.values()))
            yield from (value for value in values if value.rpartition(".")[0] in stems or _DIGEST.search(value))


def _spaced(random: Random, document: Document, schema: SchemaGraph) -> Document:
    """The document, at times with white space between elements where it is no content; subtrees that are copied whole
    would keep it."""
    if random.random() < _SPACED:
        for element in document.root.iter():
            if len(element) and not schema.elements[str(element.tag)].text and element.tag not in _WHOLE:
                element.text = "\n "
                for child in element:
                    child.tail = " "
    return document


def _branching(random: Random, document: Node) -> Condition | None:
    """A condition that asks for several values below one node, as they stand in a document."""
    records = [node for node in document if not is_leaf_test(node.test or "*") and len(list(_leaves(node))) > 1]
    inner = records[2:]  # neither the document node nor the root
    if not inner:
        return None
    element = random.choice(inner)
    below = list(_leaves(element))
    predicates = tuple(_compared(random, random.choice(below)) for _ in range(random.choice((2, 2, 3))))
    return Exists(Path(True, (Step("//", element.test, predicates),)))


def _compared(random: Random, path: tuple[Node, ...]) -> Condition:
    steps = tuple(Step("/", node.test) for node in path[1:])
    if random.random() < 0.2:
        steps = (Step("//", steps[-1].test),)
    if random.random() < 0.2:
        return Exists(Path(False, steps))
    return Comparison(Path(False, steps), "=", Constant(path[-1].value))


def _leaves(node: Node) -> Iterator[tuple[Node, ...]]:
    """The ways from a node down to leaves, both included."""
    elements = [below for below in node.below if below.test != "text()"]
    if not elements:
        yield (node,)
    for below in elements:
        yield from ((node, *path) for path in _leaves(below))


def as_set(element: XmlElement) -> Hashable:
    """An element where order and repetition carry no meaning."""
    return element.tag, frozenset(element.items()), _text(element), frozenset(map(as_set, element))


def paths_of(element: XmlElement) -> frozenset[Hashable]:
    """The tag paths in an element, with values."""
    return frozenset(_paths(element, ()))


def _paths(element: XmlElement, above: tuple[object, ...]) -> Iterator[Hashable]:
    here = (*above, element.tag)
    yield (*here, _text(element))
    for name, value in element.items():
        yield (*here, f"@{name!s}", value)
    for child in element:
        yield from _paths(child, here)


def _text(element: XmlElement) -> str:
    return "".join((element.text or "", *(child.tail or "" for child in element)))
