"""The examples of transformations: a folder each, with schemas, arrows, a document, its exchange, and queries.

A ``queries.xq`` holds cases that a line ``====`` between blank lines separates. The parts of a case are separated by
blank lines, in this order:

* ``(: over source: what it shows :)`` or ``over target``, and the query over that schema
* its translation, or ``refused:`` and the fault
* the items of the answer of the translation, one a line, or ``()``: on the document for a query over the target, on
  its image for one over the source
* where something is lost, lines ``lost:`` that say what

``python -m tests.examples.transformations`` writes what is so now into the files: images, translations, answers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.translate import Direction, translate
from heptox.xml import read_document, write_document
from tests.support.saxon import evaluate

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
FOLDERS: Final = sorted(path.parent for path in (EXAMPLES / "transformations").glob("*/mapping.arrows"))

_SEPARATOR: Final = "\n\n====\n\n"
_BEGINNING: Final = re.compile(r"\(: over (source|target): (.+?) :\)\n(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Case:
    """A query over ``side`` of the mapping of ``folder``, and what is expected: a ``translation`` with its ``items``
    and ``losses``, or the ``refused`` fault without its position.
    """

    folder: Path
    side: Direction
    title: str
    query: str
    translation: str = ""
    items: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    refused: str = ""

    @property
    def to(self) -> Direction:
        """Where the query is translated to, which is where its translation is evaluated."""
        return Direction.TARGET if self.side is Direction.SOURCE else Direction.SOURCE

    def __str__(self) -> str:
        return f"{self.folder.name}-{self.side}-{self.title}"


@cache
def mapping(folder: Path) -> Mapping:
    return load_mapping(folder / "mapping.arrows")


@cache
def document(folder: Path) -> str:
    return write_document(read_document(folder / "document.xml").root)


@cache
def image(folder: Path, *, indent: bool = False) -> str:
    """What exchange makes of the document of a folder."""
    return write_document(exchange(mapping(folder), read_document(folder / "document.xml")).root, indent=indent)


def cases(folder: Path) -> list[Case]:
    """The cases of a folder."""
    text = (folder / "queries.xq").read_text(encoding="utf-8").rstrip("\n")
    return [_case(folder, block) for block in text.split(_SEPARATOR)]


def _case(folder: Path, block: str) -> Case:
    beginning, *parts = block.split("\n\n")
    found = _BEGINNING.fullmatch(beginning)
    assert found, f"{folder.name}: {beginning}"
    case = Case(folder, Direction(found[1]), found[2], found[3])
    match parts:
        case []:
            return case
        case [fault] if fault.startswith("refused: "):
            return replace(case, refused=fault.removeprefix("refused: "))
        case [translation, items]:
            return replace(case, translation=translation, items=_items(items))
        case [translation, items, losses]:
            lost = tuple(line.removeprefix("lost: ") for line in losses.splitlines())
            return replace(case, translation=translation, items=_items(items), losses=lost)
    raise AssertionError(f"{folder.name}: {block}")


def _items(text: str) -> tuple[str, ...]:
    return () if text == "()" else tuple(text.splitlines())


def found(case: Case) -> Case:
    """The case as it is now."""
    try:
        translation = translate(mapping(case.folder), parse_query(case.query), case.to)
    except HeptoxError as error:
        return replace(case, refused="; ".join(f"{fault.code} {fault.message}" for fault in error.faults))
    where = document(case.folder) if case.to is Direction.SOURCE else image(case.folder)
    return replace(
        case,
        translation=translation.text,
        items=tuple(dict.fromkeys(evaluate(translation.text, where))),
        losses=tuple(map(str, translation.losses)),
    )


def _block(case: Case) -> str:
    beginning = f"(: over {case.side}: {case.title} :)\n{case.query}"
    if case.refused:
        return f"{beginning}\n\nrefused: {case.refused}"
    losses = "\n".join(f"lost: {loss}" for loss in case.losses)
    parts = [beginning, case.translation, "\n".join(case.items) or "()", *([losses] if losses else [])]
    return "\n\n".join(parts)


def refresh(folder: Path) -> None:
    """Write what is so now into the files of a folder."""
    (folder / "image.xml").write_text(image(folder, indent=True), encoding="utf-8")
    blocks = [_block(found(replace(case, refused="", losses=()))) for case in cases(folder)]
    (folder / "queries.xq").write_text(_SEPARATOR.join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for example in FOLDERS:
        refresh(example)
