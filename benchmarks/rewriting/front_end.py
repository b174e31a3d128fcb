"""Reading a document, up to the tests that hold: as it is, by the map of its tag paths (IDDR), or rewritten (NDDR)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Final

from heptox.dissemination.branches import branches
from heptox.dissemination.document_tests import DocumentTests
from heptox.dissemination.mapped_paths import MappedElement
from heptox.dissemination.rewriting import Publisher
from heptox.dissemination.tag_paths import TagPaths
from heptox.grammar import parse_subscription
from heptox.pattern import Number, literal
from heptox.xmlio import Document, parse_document

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
    """Take all stages turn by turn; the seconds are medians, the first turn is not counted."""
    tests = document_tests(texts)
    image = publisher.rewritten(parse_document(data))
    found: dict[str, list[float]] = {}

    def timed(stage: str, run: Callable[[], object]) -> None:
        begin = thread_time()
        run()
        found.setdefault(stage, []).append(thread_time() - begin)

    def read(document: Document) -> None:
        tests.read(list(document.root.iter()))

    for _ in range(turns + 1):
        document = parse_document(data)
        timed(PARSE, lambda: parse_document(data))
        timed(PLAIN, lambda document=document: read(document))  # type: ignore[misc]
        timed(REWRITTEN, lambda: read(image))
        timed(IDDR, lambda document=document: tests.read_mapped(document.root, paths))  # type: ignore[misc]
        timed(NDDR, lambda document=document: read(publisher.rewritten(document)))  # type: ignore[misc]
    return FrontEnd(len(data), {stage: statistics.median(several[1:]) for stage, several in found.items()})


def document_tests(texts: Iterable[str]) -> DocumentTests:
    """The tests that a matcher in memory makes of subscriptions."""
    tests = DocumentTests(TagPaths())
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
    return tests
