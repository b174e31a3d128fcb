"""Laws of rewriting on random cases: what is counted, and what breaks them."""

from __future__ import annotations

from io import BytesIO
from random import Random

from heptox.errors import DisseminationError
from heptox.rewriting import (
    Program,
    Rewriter,
    StreamingRewriter,
    WorkingTree,
    infer_operators,
    scopes,
)
from heptox.schema import random_document
from heptox.xml import Document, parse_document, write_document, write_element
from tests.support.checking import Outcome
from tests.support.rewriting.making import ALL, PAPER, PASSED_ON, Shape, random_program, random_schema, target_of
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


def check_streaming(random: Random, programs: int, documents: int, outcome: Outcome) -> None:
    """Random programs rewrite streams, which come in pieces of random sizes, as they rewrite documents in memory."""
    for _ in range(programs):
        schema = random_schema(random)
        kinds = random.choice((ALL, PASSED_ON))
        program = random_program(random, schema, random.choice((1, 2, 3, 8)), kinds)
        rewriter = Rewriter(program)
        blocking = scopes(program).blocking
        outcome.counts["without scopes"] += not blocking
        outcome.counts["blocked at the root"] += () in blocking
        outcome.counts["growing"] += bool(scopes(program).growing)
        for _ in range(documents):
            text = random_document(schema.graph, random, repeats=random.choice((3, 6, 30)))
            fits = random.random() < 0.8
            data = spelt(random, text if fits else damaged(random, text))
            expected = _rewritten_text(rewriter, parse_document(data))
            found = _streamed(program, Trickle(random, data), random.choice((1, 5, 40, 300)))
            outcome.counts["cases"] += 1
            outcome.counts["refused"] += expected is None
            if found != expected and (fits or not _comes_in_other_order(found, expected)):
                outcome.broken.append(_told(program, parse_document(data), expected, found))


def _comes_in_other_order(found: str | None, expected: str | None) -> bool:
    """Whether a stream that does not come in the order of its schema was refused for that, or left in its order."""
    if found is None or expected is None:
        return found is None
    return content(parse_document(found).root) == content(parse_document(expected).root)


def damaged(random: Random, text: str) -> str:
    """A document in which some elements are of other types, or of none that the schema knows."""
    root = parse_document(text).root
    names = ["unknown", *(str(element.tag) for element in root.iter())]
    for element in root.iterdescendants():
        if random.random() < 0.2:
            element.tag = random.choice(names)
    return write_element(root)


def spelt(random: Random, text: str) -> bytes:
    """A document as bytes, in one of many ways; it begins with a comment, so that it is read in several blocks."""
    root = parse_document(text).root
    if random.random() < 0.3:
        text = write_document(root, indent=True)
    before = f"<!--{'x' * 1024}-->"
    if random.random() < 0.2:
        before += f"<!DOCTYPE {root.tag} [<!ENTITY more 'more'>]>"
    behind = random.choice(("", "\n", "<!-- end -->"))
    return f"{before}{text}{behind}".encode(random.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16")))


class Trickle:
    """A source that gives as much at once as it likes."""

    def __init__(self, random: Random, text: bytes) -> None:
        self._random = random
        self._rest = BytesIO(text)

    def read(self, size: int, /) -> bytes:
        return self._rest.read(self._random.randint(1, size))


def _rewritten_text(rewriter: Rewriter, document: Document) -> str | None:
    try:
        return write_element(rewriter.rewrite(document).root)
    except DisseminationError:
        return None


def _streamed(program: Program, source: Trickle, piece: int) -> str | None:
    try:
        text = b"".join(StreamingRewriter(program, piece=piece).rewrite(source))
    except DisseminationError:
        return None
    return write_element(parse_document(text).root)
