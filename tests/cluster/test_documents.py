"""Generated documents: valid under every schema, the same on every machine, made piece by piece."""

from __future__ import annotations

import tracemalloc
from hashlib import sha256
from typing import Final

import pytest
from lxml import etree

from heptox.cluster import QUERIES, SCHEMAS, XMARK, auction_document, paths
from tests.cluster.workload import SEEDS, across, document, standard
from tests.support.saxon import answer_set


@pytest.mark.parametrize("people", [1, 2, 25, 200])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_documents_are_valid(schema: str, people: int) -> None:
    dtd = etree.DTD(str(XMARK / f"{schema}.dtd"))
    for seed in range(3):
        found = etree.fromstring("".join(auction_document(schema, people, seed)))
        assert dtd.validate(found), str(dtd.error_log)
        assert found.tag == SCHEMAS[schema]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_seed_decides(schema: str) -> None:
    assert document(schema, 1) != document(schema, 2)
    assert "".join(auction_document(schema, 20, 5)) == "".join(auction_document(schema, 20, 5))


def test_other_machines_make_the_same() -> None:
    """Once written down, so that a change of the generator, which spoils what was measured before, is noticed."""
    text = "".join(auction_document("auction", 25, 3))
    assert sha256(text.encode()).hexdigest()[:16] == "53115659dce2364b"


@pytest.mark.parametrize("schema", ["auction", "nested", "flat"])
def test_a_document_is_written_without_being_held(schema: str) -> None:
    tracemalloc.start()
    try:
        size = sum(map(len, auction_document(schema, people=300)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < size / 2


def test_size_grows_with_the_people() -> None:
    small, large = (len("".join(auction_document("auction", people))) for people in (50, 500))
    assert 8 < large / small < 12


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one person"):
        auction_document("auction", 0)
    with pytest.raises(KeyError):
        auction_document("no such schema", 1)


TAKEN_FOR_EITHER: Final = {("Q3", "merged"), ("Q5", "merged"), ("Q6", "merged")}


@pytest.mark.parametrize("schema", [schema for schema in SCHEMAS if schema != "auction"])
@pytest.mark.parametrize("name", QUERIES)
def test_every_schema_tells_of_the_same_market(name: str, schema: str) -> None:
    """A query asked under another schema has the answers that it has under ``auction.dtd``: the data correspond.

    A listing of ``merged.dtd`` does not say whether its auction is open or closed, so it is taken for either.
    """
    translation = across(name, paths()[schema])
    for seed in SEEDS:
        expected = answer_set(standard(name), document("auction", seed))
        assert expected, "a query without an answer shows nothing"
        answer = answer_set(translation.text, document(schema, seed))
        assert answer > expected if (name, schema) in TAKEN_FOR_EITHER else answer == expected
