"""Filters on documents with names in namespaces: lxml judges, which evaluates each on the whole document."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from io import BytesIO
from random import Random
from typing import TypeVar

import pytest
from lxml import etree

from heptox.errors import GrammarError
from heptox.filtering import DocumentFilter, FilterSet, Version, read_filter
from heptox.filtering.expression import Call, LocationPath, Operation, Selection, Step, is_name
from heptox.xml import Prefixes, parse_document
from tests.support.filtering.checking import TrickleSource, _inside, _outside, filtered, plans
from tests.support.filtering.judging import Result, whole
from tests.support.filtering.making import random_filter, random_schema
from tests.support.namespaces import Colliding, declared_anyhow

_DECLARED = '<!DOCTYPE any [<!ENTITY e "x">]>'


_Part = TypeVar("_Part")


def named(value: _Part, naming: Colliding) -> _Part:
    """An expression, or a part of one, with other names."""
    if isinstance(value, tuple):
        return tuple(named(part, naming) for part in value)  # type: ignore[return-value]
    if isinstance(value, Step) and is_name(value.test):
        test = naming.attribute(value.test) if value.axis == "attribute" else naming.element(value.test)
        return replace(value, test=test, predicates=named(value.predicates, naming))
    if isinstance(value, Step | LocationPath | Operation | Call | Selection):
        return replace(value, **{one: named(getattr(value, one), naming) for one in value.__dataclass_fields__})
    return value


class Case:
    """Filters over a schema, with prefixes, and documents, with what each filter gives on them."""

    def __init__(self, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.random = random = Random(seed)
        naming = Colliding(seed)
        plain = random_schema(random)
        self.graph = naming.graph(plain)
        found = [named(read_filter(random_filter(random, plain)), naming) for _ in range(6)]
        uris = ("urn:one", "http://two.example/a%20b", "urn:three")
        self.bound = tuple((f"q{number}", uri) for number, uri in enumerate(uris))
        self.prefixes = Prefixes.of(dict(self.bound))
        self.texts = [self._prefixed(str(one)) for one in found]
        documents = (*_inside(random, plain, 2), *_outside(random, plain, 1))
        self.documents = [self._document(document, naming) for document in documents]
        self.expected = [self._expected(document) for document in self.documents]

    def _prefixed(self, text: str) -> str:
        for prefix, uri in self.bound:
            text = text.replace(f"n{uri.encode().hex()}:", f"{prefix}:")
        return text.replace(f"n{b'http://www.w3.org/XML/1998/namespace'.hex()}:", "xml:")

    def _document(self, plain: bytes, naming: Colliding) -> bytes:
        random = self.random
        root = parse_document(plain).root
        named_root = etree.fromstring(naming.document(etree.tostring(root, encoding="unicode"), random.getrandbits(30)))
        text = declared_anyhow(named_root, random)
        if random.random() < 0.3:
            text = _DECLARED + text
        return text.encode("utf-16" if random.random() < 0.2 else "utf-8")

    def _expected(self, document: bytes) -> dict[int, tuple[Result, ...]]:
        found = enumerate(whole(self.texts, document, self.bound))
        return {number: results for number, results in found if results}

    def filter_set(self) -> FilterSet:
        registered = FilterSet(self.graph)
        for number, text in enumerate(self.texts):
            registered.add(number, text, prefixes=self.prefixes)
        return registered


@cache
def case(seed: int) -> Case:
    return Case(seed)


def check(seed: int) -> Counter[str]:
    found = case(seed)
    counts: Counter[str] = Counter()
    for plan in plans(found.random, found.filter_set()):
        filtering = DocumentFilter(plan)
        for document, expected in zip(found.documents, found.expected, strict=True):
            given = filtered(filtering, TrickleSource(found.random, document))
            assert given == expected, (found.graph.text, found.texts, document, plan.scheme, plan.size)
            counts["cases"] += len(found.texts)
            counts["selecting"] += len(expected)
    return counts


@pytest.mark.parametrize("seed", range(24))
def test_filters_give_on_parts_what_they_give_on_the_whole(seed: int) -> None:
    counts = check(seed)
    assert counts["cases"] >= 6 * 3 * 5


def test_cases_are_of_all_kinds() -> None:
    found = [case(seed) for seed in range(24)]
    assert sum("q" in text and ":" in text for one in found for text in one.texts) > 50
    assert sum(len(expected) for one in found for expected in one.expected) > 100


DOCUMENT = b'<a xmlns="urn:a"><p:b xmlns:p="urn:b" p:x="1"><c xml:lang="de">2</c></p:b><b/><c xmlns="">3</c></a>'


@pytest.mark.parametrize("version", list(Version))
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("//p:b/@p:x", ["1"]),
        ("/n:a/n:b", ['<b xmlns="urn:a"/>']),
        ("//c", ['<c xmlns="">3</c>']),
        ("//n:c[@xml:lang = 'de']/text()", ["2"]),
        ("count(/n:a/p:*)", ["1"]),
        ("name(//p:b)", ["p:b"]),
        ("//p:*/n:c/text() | //n:a/c/text()", ["2", "3"]),
    ],
)
def test_filters_have_prefixes(version: Version, text: str, found: list[str]) -> None:
    graph = Colliding(0).graph(random_schema(Random(1)))
    registered = FilterSet(graph, version)
    registered.add(1, text, prefixes=Prefixes.of({"n": "urn:a", "p": "urn:b"}))
    results = DocumentFilter(registered.plan(None)).results(BytesIO(DOCUMENT))
    assert [str(one) for result in results for one in result.found] == found


def test_names_without_prefix_may_have_a_namespace() -> None:
    registered = FilterSet(Colliding(0).graph(random_schema(Random(1))))
    registered.add(1, "/a[b and not(@b)]/b | (//c)[. div 2 = 1]/text()", prefixes=Prefixes.of({"": "urn:a"}))
    results = list(DocumentFilter(registered.plan(None)).results(BytesIO(DOCUMENT)))
    assert [str(one) for result in results for one in result.found] == ["2", '<b xmlns="urn:a"/>']


@pytest.mark.parametrize("seed", range(4))
def test_filters_of_xpath_3_find_what_they_find_without_namespaces(seed: int) -> None:
    random, naming = Random(seed), Colliding(seed)
    plain = random_schema(random)
    found = [read_filter(random_filter(random, plain)) for _ in range(12)]
    prefixes = Prefixes.of(dict(case(seed).bound))
    sets = FilterSet(plain, Version.THREE), FilterSet(naming.graph(plain), Version.THREE)
    for number, one in enumerate(found):
        text = case(seed)._prefixed(str(named(one, naming)))
        if "name(" in text:
            continue  # names are other ones
        try:
            sets[0].add(number, str(one))
        except GrammarError:  # XPath 3.1 has it otherwise
            continue
        sets[1].add(number, text, prefixes=prefixes)
    for document in _inside(random, plain, 2):
        told = case(seed)._document(document, naming)
        for degree in (None, 2):
            results = [
                filtered(DocumentFilter(each.plan(degree)), TrickleSource(random, data))
                for each, data in zip(sets, (document, told), strict=True)
            ]
            wanted, given = (
                {number: sorted(map(_said, several)) for number, several in each.items()} for each in results
            )
            assert given == wanted


def _said(result: Result) -> tuple[str, str]:
    """What is found, without the names of elements and attributes."""
    kind, _, text = result
    if kind == "failure":
        return kind, text.partition(" ")[0]
    return kind, "".join(map(str, etree.fromstring(text).itertext())) if kind == "element" else text
