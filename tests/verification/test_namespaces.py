"""Mappings whose names are in namespaces are tested as others are: on random documents and queries, made small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import heptox.verification.cases as cases
import heptox.verification.verifying as verifying
from heptox.grammar import parse_query
from heptox.mapping import ArrowsText
from heptox.schema import SchemaGraph, random_document
from heptox.translate import Direction, translate
from heptox.verification import remarks, verify
from heptox.xml import parse_document
from tests.support.invoices import arrows, invoices, read_schema
from tests.support.namespaced_mappings import Namespaced, namespaced
from tests.support.random_mappings import random_problem


def with_documents(monkeypatch: pytest.MonkeyPatch, named: Namespaced) -> None:
    """Make random documents with the names of a problem in namespaces."""

    def made(graph: SchemaGraph, random: Random, *, pool: Sequence[str], **sizes: Any) -> str:
        del sizes["values"]
        side = Direction.SOURCE if graph == named.problem.mapping.source.graph else Direction.TARGET
        plain = named.plain.mapping.source if side is Direction.SOURCE else named.plain.mapping.target
        return named.document(random_document(plain.graph, random, pool=pool, **sizes), side)

    monkeypatch.setattr(cases, "random_document", made)


@pytest.mark.parametrize("seed", [3, 4, 8])
def test_random_mappings_pass(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    named = namespaced(random, random_problem(random))
    with_documents(monkeypatch, named)
    found = verify(named.problem.mapping, 4, seed)
    assert found.counterexample is None
    assert sum(found.checks.values()) > 0


def test_a_counterexample_has_the_prefixes_of_the_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    named = namespaced(random, random_problem(random))
    with_documents(monkeypatch, named)

    def forgets(*given: Any) -> Any:
        return replace(translate(*given), query=parse_query("()"))

    monkeypatch.setattr(verifying, "translate", forgets)
    example = verify(named.problem.mapping, 40, 1).counterexample
    assert example is not None
    parse_query(example.query)
    parse_document(example.document)
    assert "{" not in example.query.replace("Q{", "").partition(";")[0]


def test_what_is_remarked_is_written_with_prefixes() -> None:
    lines = [line for line in arrows().splitlines() if not line.startswith("each") and "Date" not in line]
    text = ArrowsText("\n".join(lines), read_schema)
    changed = text.examined().sound
    assert changed is not None
    said = [str(remark) for remark in remarks(changed, text)]
    assert (
        "along: all acc:Entry of a document with equal @pty:scheme, acc:ID and pty:Name become one "
        "(write, if each is its own: each Invoice -> acc:Entry)"
    ) in said
    assert any("are used, not" in line for line in said)
    assert not any("{" in line for line in said)
    assert list(remarks(invoices(), ArrowsText(arrows(), read_schema))) == []
