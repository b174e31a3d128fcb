"""Catalogue records of MARC 21: what the mappings make of them, and what queries in other words find."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import pytest

from benchmarks.crosswalks.library import by_element, classes, compared
from benchmarks.crosswalks.values import Comparison
from benchmarks.translation import block
from heptox.grammar import parse_query
from heptox.mapping import load_mapping
from heptox.translate import Direction, translate
from heptox.xml import read_document, split_name
from tests.support.saxon import answer_set
from tests.support.shared import DATA, reads_shared

pytestmark = reads_shared

ROOT: Final = Path(__file__).parents[2]
LIBRARY: Final = DATA / "library"
JUDGED: Final = {"marc-dc": "loc_general.dc.xml", "marc-mods": "loc_general.mods.xml"}
NAMES: Final = """declare namespace dc = "http://purl.org/dc/elements/1.1/";
declare namespace oai_dc = "http://www.openarchives.org/OAI/2.0/oai_dc/";
"""


@cache
def results(mapping: str) -> Comparison:
    return compared(mapping, LIBRARY / "marc" / "loc_general.xml", LIBRARY / "judged" / JUDGED[mapping])


@pytest.mark.parametrize(("mapping", "least"), [("marc-dc", 0.999), ("marc-mods", 0.99)])
def test_values_are_as_judged(mapping: str, least: float) -> None:
    found = results(mapping)
    assert found.equal.total() >= least * found.judged.total() > 1000


@pytest.mark.parametrize("mapping", JUDGED)
def test_the_page_shows_the_tables(mapping: str) -> None:
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert block(page, f"{mapping} by element").strip() == by_element(results(mapping)).strip()
    assert block(page, f"{mapping} by class of difference").strip() == classes(results(mapping)).strip()


@pytest.mark.parametrize("leaf", ["title", "creator", "date", "subject"])
def test_records_are_found_in_words_of_dublin_core(leaf: str) -> None:
    """Queries by values that the judged records have find what these do."""
    mapping = load_mapping(ROOT / "examples" / "library" / "marc-dc.arrows")
    records = (LIBRARY / "marc" / "loc_general.xml").read_text(encoding="utf-8")
    judged = (LIBRARY / "judged" / JUDGED["marc-dc"]).read_text(encoding="utf-8")
    root = read_document(LIBRARY / "judged" / JUDGED["marc-dc"]).root
    values = sorted({each.text or "" for each in root.iter() if split_name(str(each.tag))[1] == leaf})
    wanted = found = 0
    for value in values[:: max(1, len(values) // 4)]:
        text = value.replace("&", "&amp;").replace('"', '""')
        query = NAMES + (
            f'for $d in //oai_dc:dc, $t in $d/dc:identifier where $d/dc:{leaf} = "{text}" return <t>{{data($t)}}</t>'
        )
        expected = answer_set(query, judged)
        answer = answer_set(translate(mapping, parse_query(query), Direction.SOURCE).text, records)
        wanted, found = wanted + len(expected), found + len(expected & answer)
        assert answer <= expected
    assert found >= 0.95 * wanted > 0
