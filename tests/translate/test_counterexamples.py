"""Small mappings and queries that once broke Definition 1; each stands for a kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from heptox.mapping import Mapping, parse_mapping_arrows, parse_mapping_rules
from tests.support.definition import check_backward, check_certain, check_round_trip, check_sound, pairs
from tests.support.fixtures import FIXTURES

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
    """What is to hold of each query, and the query."""
    for line in parts["queries"].splitlines():
        kind, _, query = line.partition(": ")
        yield kind, query


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_definition_1(path: Path, tmp_path: Path) -> None:
    parts = sections(path)
    mapping = case_mapping(parts, tmp_path)
    instances = pairs(mapping, parts["documents"].splitlines())
    for kind, query in queries(parts):
        match kind:
            case "over source":
                check_sound(mapping, query, instances)
            case "certain over source":
                check_certain(mapping, query, query, instances)
            case "over target":
                check_backward(mapping, query, instances)
                check_round_trip(mapping, query, instances)
            case "backward over target":
                check_backward(mapping, query, instances)
            case _:
                raise ValueError(kind)
