"""Validity of documents that are not held: never claimed where the judge of whole documents finds a fault."""

from __future__ import annotations

from io import BytesIO
from random import Random

import pytest

from heptox.demo.records import records
from heptox.errors import HeptoxError, SchemaError
from heptox.schema import SchemaGraph, conform, surely_valid
from heptox.xml import parse_document, write_element
from tests.mapping.building import hospital
from tests.support.random_mappings import random_documents, random_problem


def is_valid(text: str, graph: SchemaGraph) -> bool:
    try:
        conform(parse_document(text), graph)
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize("seed", range(10))
def test_random_documents_and_what_is_left_of_them(seed: int) -> None:
    random = Random(seed)
    refused = 0
    for _ in range(4):
        found = random_problem(random)
        graph = found.mapping.source.graph
        for text in random_documents(random, found, 3):
            assert is_valid(text, graph)
            assert surely_valid(BytesIO(text.encode()), graph)
            for _ in range(8):
                changed = _changed(random, text)
                try:
                    claimed = surely_valid(BytesIO(changed.encode()), graph)
                except HeptoxError:
                    continue
                refused += not claimed
                assert is_valid(changed, graph) or not claimed, changed
    assert refused


def _changed(random: Random, text: str) -> str:
    """A document with one element or attribute taken out or doubled, or a text put between two tags."""
    root = parse_document(text).root
    element = random.choice(list(root.iter()))
    parent = element.getparent()
    match random.choice(("out", "twice", "attribute", "text", "value")):
        case "out" if parent is not None:
            parent.remove(element)
        case "twice" if parent is not None:
            parent.append(parse_document(write_element(element)).root)
        case "attribute" if element.attrib:
            del element.attrib[random.choice(sorted(map(str, element.attrib)))]
        case "value" if element.attrib:
            element.set(random.choice(sorted(map(str, element.attrib))), random.choice(("", "n1", "1", "a b")))
        case _:
            element.text = random.choice(("x", " "))
    return write_element(root)


def test_the_hospital() -> None:
    graph = hospital().source.graph
    text = records("montreal", 200)
    assert surely_valid(BytesIO(text.encode()), graph)
    assert not surely_valid(BytesIO(text.replace('PatRef="m1200"', 'PatRef="nobody"').encode()), graph)
