"""Queries on a store, judged by Saxon as lists: on valid documents, and on images, which need not fit their schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from heptox.errors import StoreError
from heptox.grammar import parse_query, print_query
from heptox.schema import SchemaGraph
from heptox.store import Store, evaluate as interpreted, plan_query
from heptox.translate import Direction
from heptox.xml import parse_document
from tests.store.stored import answer_once, answers
from tests.support.checking import Outcome
from tests.support.definition import pairs
from tests.support.random_mappings import QueryMaker, random_documents, random_problem
from tests.support.saxon import XQueryError, answer_set_together, evaluate
from tests.support.together import collected


def judge_store(random: Random, queries: int, documents: int, outcome: Outcome) -> None:
    """Ask both schemas of a random mapping problem about the documents that they have."""
    given = random_problem(random)
    instances = pairs(given.mapping, random_documents(random, given, documents))
    sides = (
        (given.mapping.source.graph, [pair.document for pair in instances], QueryMaker.of_documents(random, given)),
        (
            given.mapping.target.graph,
            [pair.image.strip() for pair in instances],
            QueryMaker.asking(random, given, Direction.SOURCE),
        ),
    )
    for graph, texts, maker in sides:
        _judge(graph, texts, [print_query(parse_query(maker.query())) for _ in range(queries)], outcome)


def _judge(graph: SchemaGraph, texts: Sequence[str], queries: Sequence[str], outcome: Outcome) -> None:
    with Store.open(None, graph) as store:
        for number, text in enumerate(texts):
            store.load(f"{number}", text.encode())
        held = store.documents()
        outcome.counts["documents that do not fit"] += sum(not document.regular for document in held)
        # As the store keeps them: what a DTD says of the white space in attributes is done.
        kept = [store.text(document.doc, 0, document.length) for document in held]
        for text in queries:
            outcome.counts["asked"] += 1
            try:
                expected = [item for document in kept for item in evaluate(text, document)]
            except XQueryError:
                outcome.counts["errors"] += 1
                continue
            plan = plan_query(parse_query(text), store.catalogue)
            outcome.counts["cases"] += len(texts)
            outcome.counts["cases by a statement"] += len(texts) * (plan.plan is not None)
            outcome.counts["answers"] += bool(expected)
            try:
                answer = answers(store, plan)
            except StoreError as error:
                answer = [str(error)]
            for number, kept_text in enumerate(kept):
                once = answer_once(parse_query(text), kept_text)
                if once not in (None, evaluate(text, kept_text)):
                    outcome.broken.append("\n".join(("once", text, kept_text, f"got {once}", f"document {number}")))
                outcome.counts["cases asked once"] += once is not None
            if answer != expected:
                lines = (text, str(plan.sql), graph.text or "", *kept, f"expected {expected}", f"got {answer}")
                outcome.broken.append("\n".join(("store", *lines)))
            _judge_together(store, kept, text, outcome)


def _judge_together(store: Store, kept: Sequence[str], text: str, outcome: Outcome) -> None:
    """Ask all documents together, by the store's plan and by the interpreter."""
    query = collected(Random(text), parse_query(text))
    asked = print_query(query)
    try:
        expected = answer_set_together(asked, kept)
    except XQueryError:
        return
    plan = plan_query(query, store.catalogue)
    outcome.counts["cases together"] += 1
    outcome.counts["cases together by a statement"] += plan.plan is not None
    outcome.counts["answers together"] += bool(expected)
    ways: dict[str, Callable[[], list[str]]] = {
        "by the store": lambda: answers(store, plan),
        "interpreted": lambda: list(interpreted(query, map(parse_document, kept))),
    }
    for way, answer in ways.items():
        try:
            found = answer()
        except StoreError as error:
            found = [str(error)]
        if frozenset(found) != expected:
            lines = (asked, str(plan.sql), *kept, f"expected {sorted(expected)}", f"got {found}")
            outcome.broken.append("\n".join((f"together, {way}", *lines)))
