"""Reading a document, up to the tests that hold: as it is, by the map of its tag paths (IDDR), or rewritten (NDDR)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Final

from heptox.grammar import parse_subscription
from heptox.matching.branching import branches
from heptox.matching.document_tests import DocumentTests
from heptox.matching.mapped_paths import MappedElement
from heptox.matching.path_tests import PathTests
from heptox.matching.tag_paths import TagPaths
from heptox.pattern import Number, literal
from heptox.rewriting import Publisher
from heptox.xml import Document, parse_document, write_document

PARSE: Final = "parse"
PLAIN: Final = "read as it is"
REWRITTEN: Final = "read what SDR sends"
IDDR: Final = "read by the map (IDDR)"
NDDR: Final = "rewrite, then read (NDDR)"


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """Seconds of the processor by stage for a document of so many bytes; all but the first come after parsing."""

    size: int
    seconds: Mapping[str, float]

    def rate(self, stage: str, *, parsed: bool) -> float:
        """Megabytes a second of a stage, with parsing or (``parsed``) without it."""
        return self.size / 1e6 / (self.seconds[stage] + (0 if parsed else self.seconds[PARSE]))

    def share(self, stage: str, *, parsed: bool) -> float:
        """The rate of a stage, where that of reading without rewriting is one."""
        return self.rate(stage, parsed=parsed) / self.rate(PLAIN, parsed=parsed)


def front_end(publisher: Publisher, paths: MappedElement, data: bytes, texts: Iterable[str], turns: int) -> FrontEnd:
    """Take all stages turn by turn; the seconds are medians, the first turn is not counted.

    Each reads a document that has just been parsed, and in each turn another one comes first: what was read before may
    be near the processor still.
    """
    tests = document_tests(texts)
    sent = write_document(publisher.rewritten(parse_document(data)).root).encode()

    def read(document: Document) -> None:
        tests.read(list(document.root.iter()))

    stages: list[tuple[str, bytes, Callable[[Document], object]]] = [
        (PLAIN, data, read),
        (REWRITTEN, sent, read),
        (IDDR, data, lambda document: tests.read_mapped(document.root, paths)),
        (NDDR, data, lambda document: read(publisher.rewritten(document))),
    ]
    found: dict[str, list[float]] = {PARSE: [], **{stage: [] for stage, _, _ in stages}}
    for turn in range(turns + 1):
        first = turn % len(stages)
        for stage, content, run in (*stages[first:], *stages[:first]):
            begin = thread_time()
            document = parse_document(content)
            middle = thread_time()
            run(document)
            end = thread_time()
            if turn:
                found[stage].append(end - middle)
                if content is data:
                    found[PARSE].append(middle - begin)
    return FrontEnd(len(data), {stage: statistics.median(several) for stage, several in found.items()})


def document_tests(texts: Iterable[str]) -> DocumentTests:
    """The tests that a matcher in memory makes of subscriptions."""
    tests = PathTests(TagPaths())
    for text in texts:
        for pattern in parse_subscription(text):
            for branch in branches(pattern):
                constant, operator = branch.constant, branch.operator
                if isinstance(constant, Number) and operator not in (None, "=", "!="):
                    tests.bound(branch.path, operator, float(literal(constant.lexical)))
                elif constant is not None and operator == "=":
                    value = float(literal(constant.lexical)) if isinstance(constant, Number) else constant.value
                    tests.equality(branch.path, value)
                else:
                    tests.existence(branch.path)
    return DocumentTests(tests)
