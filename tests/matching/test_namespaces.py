"""Names in namespaces: every engine decides as XPath does, with whatever prefixes texts have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from random import Random

import pytest
from lxml import etree

from heptox.errors import GrammarError
from heptox.grammar import parse_subscription, with_prefixes, without_prefixes
from heptox.grammar.subscription import parse_by_grammar
from heptox.grammar.subscription_scanner import scan_subscription
from heptox.matching import PLANS, TagPaths, branches
from heptox.matching.relations import read_linear_path
from heptox.xml import Document, Prefixes, parse_document, path_steps, write_element
from tests.support.matching.conditions import Condition, comparisons, printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.engines import ENGINES, Numbered
from tests.support.matching.judging import Judge, Judged
from tests.support.matching.making import random_condition, random_schema, random_text
from tests.support.matching.named import with_names
from tests.support.namespaces import Colliding, declared_anyhow, meaning

IN_DATABASES = (*PLANS, "relational")


class Case:
    """Documents and subscriptions in namespaces, and what XPath decides: on them, and on those without namespaces that
    they were made of."""

    def __init__(self, seed: int, subscriptions: int, documents: int) -> None:
        self.counts: Counter[str] = Counter()
        self._random = random = Random(seed)
        self._naming = naming = Colliding(seed)
        schema = random_schema(random)
        plain = [parse_document(random_text(random, schema)) for _ in range(documents)]
        self.documents = [self._document(document) for document in plain]
        conditions = [random_condition(random, [*map(document_node, plain)]) for _ in range(subscriptions)]
        self.prefixes = naming.prefixes
        self.texts: list[str] = []
        self.expected: list[list[bool]] = []
        for condition in conditions:
            text = printed(self._written(condition, self.prefixes), random)
            try:
                parse_subscription(text, prefixes=self.prefixes)
            except GrammarError as error:
                assert error.faults[0].code == "HX3061"
                continue
            judge = Judge(condition, printed(condition))
            self.texts.append(text)
            self.expected.append([judge.decide(Judged(document)) for document in plain])
            self._ask_lxml(condition)

    def _document(self, plain: Document) -> Document:
        named = etree.fromstring(self._naming.document(write_element(plain.root), self._random.getrandbits(30)))
        text = declared_anyhow(named, self._random)
        assert meaning(text) == meaning(etree.tostring(named, encoding="unicode"))
        return parse_document(text)

    def _written(self, condition: Condition, prefixes: Prefixes) -> Condition:
        naming = self._naming
        return with_names(
            condition,
            lambda name: prefixes.written(naming.element(name)),
            lambda name: prefixes.written(naming.attribute(name), attribute=True),
        )

    def _ask_lxml(self, condition: Condition) -> None:
        """What XPath 1.0 says of names with prefixes; with numbers it may mean something else."""
        if any(one.constant.number or one.operator not in ("=", "!=") for one in comparisons(condition)):
            return
        if any({"'", '"'} & set(one.constant.value) for one in comparisons(condition)):
            return
        bound = {f"n{number}": uri for number, uri in enumerate(sorted({*dict(self.prefixes.bound).values()}))}
        text = printed(self._written(condition, Prefixes.of(bound)))
        found = [bool(etree.XPath(text, namespaces=bound)(document.root)) for document in self.documents]
        assert found == self.expected[-1], text
        self.counts["lxml"] += len(found)


@cache
def case(seed: int) -> Case:
    return Case(seed, 20, 10)


@pytest.mark.parametrize("seed", range(10))
def test_texts_with_prefixes_mean_what_texts_without_mean(seed: int) -> None:
    found = case(seed)
    nodes = [document_node(document) for document in found.documents]
    for text, expected in zip(found.texts, found.expected, strict=True):
        patterns = parse_subscription(text, prefixes=found.prefixes)
        assert scan_subscription(text, found.prefixes) in (patterns, None)
        assert parse_by_grammar(text, prefixes=found.prefixes) == patterns
        alone = without_prefixes(text, found.prefixes)
        assert parse_subscription(alone) == patterns
        assert without_prefixes(alone, Prefixes()) == alone
        assert parse_subscription(with_prefixes(alone, found.prefixes), prefixes=found.prefixes) == patterns
        for pattern in patterns:
            assert parse_subscription(str(pattern)) == (pattern,)
        assert [matches(patterns, node) for node in nodes] == expected


def numbered(found: Case) -> list[Numbered]:
    return [
        Numbered(number, without_prefixes(text, found.prefixes), parse_subscription(text, prefixes=found.prefixes))
        for number, text in enumerate(found.texts)
    ]


def decided(found: Case) -> Sequence[Sequence[int]]:
    return [
        [number for number, expected in enumerate(found.expected) if expected[place]]
        for place in range(len(found.documents))
    ]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["memory", "memory-shared"])
def test_documents_match_in_memory(name: str, seed: int) -> None:
    found = case(seed)
    with ENGINES[name]() as engine:
        engine.add(numbered(found))
        assert engine.match(found.documents) == decided(found)


@pytest.mark.parametrize(("seed", "name"), [*enumerate(IN_DATABASES)])
def test_documents_match_in_databases(seed: int, name: str) -> None:
    found = case(seed)
    with ENGINES[name]() as engine:
        engine.add(numbered(found))
        assert engine.match(found.documents) == decided(found)


def test_cases_are_of_all_kinds() -> None:
    found = [case(seed) for seed in range(10)]
    truths = [truth for one in found for expected in one.expected for truth in expected]
    assert len(truths) > 1500
    assert 0.1 < sum(truths) / len(truths) < 0.9
    assert sum(one.counts["lxml"] for one in found) > 300
    assert sum("Q{" in text for one in found for text in one.texts) > 20
    assert sum(":" in text and "Q{" not in text for one in found for text in one.texts) > 20


@pytest.mark.parametrize("seed", range(10))
def test_linear_paths_and_tag_paths_are_read_as_they_are_written(seed: int) -> None:
    found = case(seed)
    for one in numbered(found):
        for pattern in one.patterns:
            for branch in branches(pattern):
                assert read_linear_path(str(branch.path)) == branch.path
    paths = TagPaths()
    for document in found.documents:
        for element in document.root.iter():
            labels = [str(each.tag) for each in (*reversed([*element.iterancestors()]), element)]
            for more in ([], *([f"@{name!s}"] for name in element.attrib)):
                assert path_steps(paths.text(paths.add([*labels, *more]))[1:]) == [*labels, *more]
