"""Keys and references of random schemas, as the measurement finds them."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

from benchmarks.inference.__main__ import random_dtds, scores
from heptox.schema import infer_dtd, infer_xsd, random_document
from tests.schema.inference.judging import dtd_faults, xsd_faults


def test_most_are_found_in_a_few_documents() -> None:
    keys, references = scores(islice(random_dtds(), 8), 3)
    assert keys.right >= 0.9 * keys.declared and keys.right >= 0.9 * keys.found
    assert references.right >= 0.9 * references.declared and references.right >= 0.9 * references.found


def test_they_hold_as_constraints(tmp_path: Path) -> None:
    constrained = 0
    for graph in islice(random_dtds(), 12):
        random = Random(1)
        documents = [random_document(graph, random, repeats=20, elements=200).encode() for _ in range(3)]
        files = infer_xsd(((text, None) for text in documents), constraints=True)
        constrained += files["schema.xsd"].count("<xs:selector ")
        assert not xsd_faults(tmp_path, files, documents)
        assert not dtd_faults(infer_dtd((text, None) for text in documents), documents)
    assert constrained
