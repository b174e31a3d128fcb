"""Small mappings and queries that once broke Definition 1; each stands for a kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.mapping import Mapping, parse_mapping_arrows, parse_mapping_rules
from heptox.translate import Direction
from tests.support.checking import SIDES, misread
from tests.support.definition import check_equal, pairs
from tests.support.fixtures import FIXTURES
from tests.support.random_mappings import Problem, random_documents

CASES: Final = sorted((FIXTURES / "counterexamples").glob("*.txt"))


def sections(path: Path) -> dict[str, str]:
    """The parts of a case: schemas, arrows, queries and documents (one a line)."""
    parts = path.read_text(encoding="utf-8").split("== ")[1:]
    return {name: text.strip() for name, _, text in (part.partition("\n") for part in parts)}


def case_mapping(parts: dict[str, str], folder: Path) -> Mapping:
    for side in ("source", "target"):
        (folder / f"{side}.dtd").write_text(parts[side], encoding="utf-8")
    schemas = 'source "source.dtd"\ntarget "target.dtd"\n'
    if "rules" in parts:
        return parse_mapping_rules(f"{schemas}{parts['rules']}\n", folder, "case.rules")
    return parse_mapping_arrows(f"{schemas}{parts['arrows']}\n", folder, "case.arrows")


def queries(parts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Which side each query is asked over, and the query."""
    for line in parts["queries"].splitlines():
        kind, _, query = line.partition(": ")
        yield kind, query


def target_documents(mapping: Mapping, parts: dict[str, str], name: str) -> list[str]:
    """Valid documents of the target: those that a case has, and random ones."""
    given = Problem(parts["source"], parts["target"], parts.get("arrows", ""), mapping)
    random = random_documents(Random(name), given, 30, side=Direction.TARGET)
    return [*parts.get("target documents", "").splitlines(), *random]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_definition_1(path: Path, tmp_path: Path) -> None:
    parts = sections(path)
    mapping = case_mapping(parts, tmp_path)
    asked = list(queries(parts))
    documents = {Direction.SOURCE: parts["documents"].splitlines()}
    if any(SIDES[kind] is Direction.TARGET for kind, _ in asked):
        documents[Direction.TARGET] = target_documents(mapping, parts, path.stem)
    instances = {to: pairs(mapping, texts, to) for to, texts in documents.items()}
    for kind, query in asked:
        translation = check_equal(mapping, query, instances[SIDES[kind]], SIDES[kind])
        assert misread(mapping, parts.get("arrows", "=>"), translation, SIDES[kind]) is None
