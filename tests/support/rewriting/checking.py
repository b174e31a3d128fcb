"""Laws of rewriting on random cases: what is counted, and what breaks them."""

from __future__ import annotations

from random import Random

from heptox.dissemination.rewriting import Program, Rewriter, WorkingTree, infer_operators
from heptox.errors import DisseminationError
from heptox.schema import random_document
from heptox.xmlio import Document, parse_document, write_element
from tests.support.checking import Outcome
from tests.support.rewriting.making import PAPER, Shape, random_program, random_schema, target_of
from tests.support.rewriting.slow import Content, content, slowly_rewritten


def check_inference(random: Random, targets: int, outcome: Outcome) -> None:
    """Operators are inferred that make each of some targets, which operators have made that interact."""
    for _ in range(targets):
        schema = random_schema(random)
        wanted = random_program(random, schema, kinds=PAPER)
        target = target_of(wanted.result)
        inferred = infer_operators(schema, target, keeping=random.random() < 0.5)
        made = target_of(Program(schema, inferred).result)
        outcome.counts["cases"] += 1
        outcome.counts["operators"] += len(inferred)
        if Shape.of(made) != Shape.of(target):
            told = (f"from {WorkingTree(schema)}", f"to   {target}", f"made {made}", *map(str, inferred))
            outcome.broken.append("\n".join(told))


def check_documents(random: Random, programs: int, documents: int, outcome: Outcome) -> None:
    """Random programs rewrite random documents as the slow rewriter does."""
    for _ in range(programs):
        schema = random_schema(random)
        program = random_program(random, schema)
        rewriter = Rewriter(program)
        for _ in range(documents):
            document = parse_document(random_document(schema.graph, random))
            expected = slowly_rewritten(program, document.root)
            outcome.counts["cases"] += 1
            outcome.counts["refused"] += expected is None
            if (found := _rewritten(rewriter, document)) != expected:
                outcome.broken.append(_told(program, document, expected, found))


def _rewritten(rewriter: Rewriter, document: Document) -> Content | None:
    try:
        return content(rewriter.rewrite(document).root)
    except DisseminationError:
        return None


def _told(program: Program, document: Document, *made: object) -> str:
    lines = (program.source.graph.text, *program.operators, write_element(document.root), *made)
    return "\n".join(map(str, lines))
