"""The use cases of the W3C (*XML Query Use Cases*, 2007) over documents of one's own, with their published answers.

A file of ``use_cases`` has queries, the documents that each is about, which are the collection where they are several,
and the items of its answer, one a line. Where the W3C calls ``doc()``, a query here begins with ``/`` or
``collection()``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from heptox.cluster import auction_document
from heptox.errors import HeptoxError
from heptox.peer.process.evaluating import EVALUATING, evaluated
from heptox.peer.process.workers import Workers, open_workers
from heptox.store import XQuery
from heptox.xml import parse_document, write_element
from tests.peer.networks import run
from tests.support.saxon import evaluate as judged

FOLDER: Final = Path(__file__).parent / "use_cases"
SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class UseCase:
    name: str
    query: XQuery
    items: list[str]


def use_cases() -> Iterator[UseCase]:
    for file in sorted(FOLDER.glob("*.txt")):
        for part in re.split(r"^-- ", file.read_text(), flags=re.MULTILINE)[1:]:
            first, rest = part.split("\n", 1)
            name, documents = first.split(": ")
            query, items = re.split(r"^==\n", rest, flags=re.MULTILINE)
            read = (parse_document((FOLDER / each).read_bytes(), each) for each in documents.split())
            texts = tuple(write_element(document.root) for document in read)
            yield UseCase(f"{file.stem} {name}", XQuery(query, texts), items.splitlines())


def plain(item: str) -> str:
    """An item without white space among elements."""
    return ElementTree.canonicalize(item, strip_text=True) if item.startswith("<") else item


def answered(cases: dict[str, XQuery]) -> dict[str, object]:
    """The items of the answers, or what is wrong, by one warm worker."""
    found: dict[str, object] = {}

    async def ask(workers: Workers, name: str) -> None:
        try:
            found[name] = list(map(plain, await evaluated(workers, cases[name], SECONDS)))
        except HeptoxError as error:
            found[name] = str(error)

    async def ask_all() -> None:
        async with open_workers(EVALUATING) as workers:
            for name in cases:
                await ask(workers, name)

    run(ask_all)
    return found


def test_use_cases_have_their_published_answers() -> None:
    cases = list(use_cases())
    assert len(cases) == 70
    found = answered({case.name: case.query for case in cases})
    assert found == {case.name: list(map(plain, case.items)) for case in cases}


def test_the_queries_of_xmark_are_answered_as_by_saxon_on_the_whole_file() -> None:
    """XMark (Schmidt et al., 2002); its function is an inline one here, for the judge knows no prolog."""
    texts = (FOLDER / "xmark.xq").read_text().split("\n--\n")
    document = "".join(auction_document("auction", people=60, seed=4))
    found = answered({f"Q{number}": XQuery(text, (document,)) for number, text in enumerate(texts, 1)})
    assert len(found) == 20
    assert found == {f"Q{number}": list(map(plain, judged(text, document))) for number, text in enumerate(texts, 1)}
    empty = {name for name, items in found.items() if not items}
    assert len(empty) <= 4, empty
