"""Laws on random XSDs, judged by Saxon: Definition 1, and answers by a store, in memory and of texts read once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import StoreError
from heptox.grammar import parse_query
from heptox.schema import SchemaTree, as_declared
from heptox.store import QueryPlan, Store, evaluate as interpreted, plan_query
from heptox.translate import Direction
from heptox.xml import parse_document, write_document
from tests.store.stored import answer_once, answers
from tests.support.checking import Outcome, check
from tests.support.definition import pairs
from tests.support.namespaces import meaning
from tests.support.saxon import XQueryError, evaluate
from tests.support.xsd_problems import XsdProblem, random_xsd, xsd_queries, xsd_texts

_ATTRIBUTE: Final = re.compile(r"Q\{[^}]*\}([\w.-]+)=(.*)", re.DOTALL)
COUNTED: Final = ("cases", "errors", "answers to source", "answers to target")


def judge_xsd_problem(random: Random, queries: int, documents: int, outcome: Outcome) -> None:
    """Translated queries answer on documents what the queries answer on their images."""
    found = XsdProblem(random)
    before = Counter(outcome.counts)
    for to in Direction:
        instances = pairs(found.problem.mapping, found.documents(random, documents, to), to)
        for query in found.queries(random, queries, to):
            check(found.problem, query, to, instances, outcome)
    for counted in COUNTED:
        outcome.counts[f"{counted} of XSDs"] += outcome.counts[counted] - before[counted]


def judge_xsd_store(random: Random, queries: int, documents: int, outcome: Outcome) -> None:
    """Queries on a store answer what they answer on its documents as their schema has them."""
    with TemporaryDirectory() as folder:
        schema, graph = random_xsd(random, Path(folder))
    texts = xsd_texts(random, schema, documents)
    declared = [write_document(as_declared(parse_document(text), graph).root) for text in texts]
    with Store.open(None, graph) as store:
        for number, text in enumerate(texts):
            store.load(f"{number}", text.encode())
        outcome.counts["documents that do not fit"] += sum(not one.regular for one in store.documents())
        for query in xsd_queries(random, SchemaTree(graph), queries):
            try:
                expected = [meaning(_spelt(item)) for text in declared for item in evaluate(query, text)]
            except XQueryError:
                outcome.counts["errors"] += 1
                continue
            plan = plan_query(parse_query(query), store.catalogue)
            outcome.counts["cases"] += len(texts)
            outcome.counts["cases of XSDs"] += len(texts)
            outcome.counts["cases of XSDs by a statement"] += len(texts) * (plan.plan is not None)
            outcome.counts["answers of XSDs"] += bool(expected)
            for way, items in _answered(store, plan, declared).items():
                if sorted(map(str, map(meaning, items))) != sorted(map(str, expected)):
                    lines = (query, str(plan.sql), schema.text(), *texts, f"expected {expected}", f"got {items}")
                    outcome.broken.append("\n".join((f"{way} of an XSD", *lines)))


def _answered(store: Store, plan: QueryPlan, texts: Sequence[str]) -> dict[str, list[str]]:
    """The items of the answer by each way to have one."""
    memory = list(interpreted(plan.expression, map(parse_document, texts)))
    once = [answer_once(plan.expression, text) for text in texts]
    try:
        found = {"store": answers(store, plan)}
    except StoreError as error:
        found = {"store": [str(error)]}
    if all(items is not None for items in once):
        found["once"] = [item for items in once for item in items or ()]
    return {**found, "memory": memory}


def _spelt(item: str) -> str:
    """An attribute in a namespace as stores give one."""
    found = _ATTRIBUTE.fullmatch(item)
    return item if found is None else f'{found[1]}="{found[2]}"'
