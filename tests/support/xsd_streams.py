"""Laws of routing and chunking on random XSDs: what is asked of documents is asked of their names as plain ones too."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import DisseminationError
from heptox.filtering import DocumentFilter, FilterSet
from heptox.grammar import parse_subscription
from heptox.pattern import PatternNode, TreePattern
from heptox.routing import Conformity, Overlaps, advertised, from_bytes, to_bytes
from heptox.schema import as_declared, by_name, renamed
from heptox.xml import Prefixes, parse_document, split_name, write_document
from tests.support.checking import Outcome
from tests.support.filtering.checking import TrickleSource, filtered, plans
from tests.support.filtering.filters import random_filter
from tests.support.filtering.judging import whole
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import Node, document_node, matches
from tests.support.matching.making import random_condition
from tests.support.random_schemas import NAMESPACE
from tests.support.routing.checking import coverings_over
from tests.support.xsd_problems import random_xsd, xsd_texts

BOUND: Final = (("t", NAMESPACE), ("o", "urn:other"), ("xsi", "http://www.w3.org/2001/XMLSchema-instance"))
_PREFIXES: Final = {uri: prefix for prefix, uri in BOUND}
_URIS: Final = dict(BOUND)
_PLAIN: Final = re.compile(r"\b(t|o|xsi)\.(?=\w)")


def _plain(name: str) -> str:
    """An expanded name as one that a name without namespace can be: ``t.a``."""
    namespace, local = split_name(name)
    return f"{_PREFIXES[namespace]}.{local}" if namespace else local


def _named(test: str) -> str:
    sign = "@" if test.startswith("@") else ""
    prefix, dot, local = test[len(sign) :].partition(".")
    return f"{sign}{{{_URIS[prefix]}}}{local}" if dot and prefix in _URIS else test


def _plain_node(node: Node) -> Node:
    sign = "@" if node.test.startswith("@") else ""
    test = node.test if node.test in ("", "text()") else sign + _plain(node.test[len(sign) :])
    return Node(test, node.value, list(map(_plain_node, node.below)))


def _pattern(pattern: TreePattern) -> TreePattern:
    def node(found: PatternNode) -> PatternNode:
        return replace(found, test=_named(found.test), children=tuple(map(node, found.children)))

    return TreePattern(tuple(map(node, pattern.children)))


def judge_xsd_routing(random: Random, subscriptions: int, documents: int, outcome: Outcome) -> None:
    """What matches a valid document overlaps the advertisement, what is covered matches no more, and the document keeps
    to the advertisement."""
    with TemporaryDirectory() as folder:
        schema, graph = random_xsd(random, Path(folder))
    try:
        advertisement = advertised(graph)
    except DisseminationError:
        outcome.counts["XSDs that advertise nothing"] += 1
        return
    if from_bytes(to_bytes(advertisement)) != advertisement:
        outcome.broken.append(f"advertisement\n{schema.text()}")
    parsed = [as_declared(parse_document(text), graph) for text in xsd_texts(random, schema, documents)]
    for document in parsed:
        if misfit := Conformity(advertisement).first_misfit(document):
            outcome.broken.append("\n".join(("misfit", schema.text(), write_document(document.root), misfit)))
    if not parsed:
        return
    nodes = list(map(document_node, parsed))
    plain = list(map(_plain_node, nodes))
    drawn = [parse_subscription(printed(random_condition(random, plain))) for _ in range(subscriptions)]
    asked = [tuple(map(_pattern, patterns)) for patterns in drawn]
    found = [[matches(patterns, node) for node in nodes] for patterns in asked]
    overlaps = Overlaps(advertisement)
    for patterns, matched in zip(asked, found, strict=True):
        outcome.counts["cases"] += len(matched)
        outcome.counts["matching an XSD"] += any(matched)
        if any(matched) and not overlaps.subscription(patterns):
            outcome.broken.append("\n".join(("no overlap", schema.text(), str([*map(str, patterns)]))))
    coverings = coverings_over(advertisement)[-1]
    for (one, general), (other, special) in product(enumerate(asked), repeat=2):
        outcome.counts["cases"] += 1
        if coverings.subscription(general, special):
            outcome.counts["covered over an XSD"] += one != other
            if any(theirs and not mine for mine, theirs in zip(found[one], found[other], strict=True)):
                told = (str([*map(str, general)]), str([*map(str, special)]))
                outcome.broken.append("\n".join(("covers", schema.text(), *told)))


def judge_xsd_filtering(random: Random, filters: int, documents: int, outcome: Outcome) -> None:
    """Filters give on parts of a valid document what they give on the whole."""
    with TemporaryDirectory() as folder:
        schema, graph = random_xsd(random, Path(folder))
    plain = renamed(by_name(graph), _plain, _plain)
    texts = [_PLAIN.sub(r"\1:", random_filter(random, plain)) for _ in range(filters)]
    given = [text.encode() for text in xsd_texts(random, schema, documents)]
    registered = FilterSet(graph)
    for number, text in enumerate(texts):
        registered.add(number, text, prefixes=Prefixes.of(_URIS))
    wanted = [dict(enumerate(whole(texts, document, BOUND))) for document in given]
    for plan in plans(random, registered):
        filtering = DocumentFilter(plan)
        for document, expected in zip(given, wanted, strict=True):
            found = filtered(filtering, TrickleSource(random, document))
            outcome.counts["outside an XSD"] += filtering.outside is not None
            for number, text in enumerate(texts):
                outcome.counts["cases"] += 1
                outcome.counts["selecting of an XSD"] += bool(expected[number])
                if found.get(number, ()) != expected[number]:
                    told = (text, document.decode(), str(plan.scheme), str(expected[number]), str(found.get(number)))
                    outcome.broken.append("\n".join(("filtered", schema.text(), *told)))
