"""Every transformation of the report (section 3.3) as an example that runs: exchange, translations, Definition 1."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.schema import validity_faults
from heptox.translate import Direction
from heptox.xml import parse_document, read_document
from tests.examples.transformations import FOLDERS, Case, cases, document, found, image, mapping
from tests.support.definition import Pair, check_equal, making, pairs, same_items, standard
from tests.support.documents import Values, random_document
from tests.support.saxon import answer_set

DOCUMENTS: Final = 100
NAMES: Final = {
    "unnest", "nest", "flip", "flop", "merge-by-nesting", "split-by-nesting", "merge-by-reference",
    "split-by-reference", "values-to-tags", "tags-to-values", "node-addition", "node-deletion", "tag-modification",
    "element-to-attribute", "attribute-to-element", "copy-subtree", "alternatives", "several-places", "one-member",
}  # fmt: skip
INVALID: Final = {
    # Three kinds become tags that the target schema does not declare.
    "values-to-tags": ("board_x0020_game", "_x0070_rice", "_x0000_"),
    # A kind that is neither of the two.
    "one-member": ("game",),
    # An account is made of an employee without a mail, but its login requires one.
    "several-places": ("account",),
}
"""What is not valid in an image, where it cannot be."""

WORDS: Final = ("a", "b", "1", "2.50", "x y", "", "book", "film", "price", "red", "oboe", "Tides")
VALUES: Final[Values] = dict.fromkeys(("naissance", "born"), ("2019", "2020", "2021.5", "20e2"))
"""Numbers where a query compares with one: anything else is a dynamic error, and nothing is promised then."""

CASES: Final = [case for folder in FOLDERS for case in cases(folder)]
TRANSLATED: Final = [case for case in CASES if not case.refused]


@cache
def instances(folder: Path, to: Direction) -> tuple[Pair, ...]:
    """Random documents of one side, full of coincidences, with their images; of the source, that of the example too."""
    random = Random(folder.name)
    graph = making(mapping(folder), to).source.graph
    texts = [
        random_document(graph, random, repeats=3, elements=25, values=VALUES, pool=WORDS) for _ in range(DOCUMENTS)
    ]
    return tuple(pairs(mapping(folder), [document(folder), *texts] if to is Direction.SOURCE else texts, to))


def test_every_transformation_is_there() -> None:
    assert {folder.name for folder in FOLDERS} == NAMES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_documents_are_valid(folder: Path) -> None:
    assert validity_faults(read_document(folder / "document.xml"), mapping(folder).source.graph) == ()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_exchange_makes_the_image(folder: Path) -> None:
    assert image(folder, indent=True) == (folder / "image.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_images_are_valid_but_where_they_cannot_be(folder: Path) -> None:
    faults = [str(fault) for fault in validity_faults(parse_document(image(folder)), mapping(folder).target.graph)]
    expected = INVALID.get(folder.name, ())
    assert bool(faults) == bool(expected)
    assert all(any(name in fault for name in expected) for fault in faults), faults
    assert all(any(name in fault for fault in faults) for name in expected), faults


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_both_sides_are_asked(folder: Path) -> None:
    assert {case.side for case in cases(folder)} == set(Direction)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_translations_answers_and_losses(case: Case) -> None:
    assert found(case) == case


@pytest.mark.parametrize("case", [case for case in TRANSLATED if case.side is Direction.TARGET], ids=str)
def test_answers_are_those_on_the_image(case: Case) -> None:
    assert same_items(frozenset(case.items), answer_set(standard(case.query), image(case.folder)))


@pytest.mark.parametrize("case", TRANSLATED, ids=str)
def test_definition_1(case: Case) -> None:
    check_equal(mapping(case.folder), case.query, instances(case.folder, case.to), case.to)
