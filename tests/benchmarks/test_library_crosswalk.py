"""What exchange makes, beside what is judged right: values with their paths, as multisets."""

from __future__ import annotations

from benchmarks.crosswalks.library import by_element, classes
from benchmarks.crosswalks.values import compare, total, values
from heptox.xml import parse_document

JUDGED = """<mods xmlns="urn:m" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:m m.xsd">
  <title>Poems</title><subject><topic>Sea</topic></subject><subject><topic>Sea</topic></subject><note type="n">a
  b</note><name>Poe.</name><date>1850</date><empty/></mods>"""
MADE = """<m:mods xmlns:m="urn:m"><m:title>Poems</m:title><m:subject><m:topic>Sea</m:topic></m:subject>
<m:note type="n">a b</m:note><m:name>Poe</m:name><m:date>c1850</m:date><m:place ID="p.1"/></m:mods>"""


def test_differences_are_counted_by_path_and_named_by_kind() -> None:
    found = total([compare(values(parse_document(MADE).root), values(parse_document(JUDGED).root))])
    assert (found.judged.total(), found.equal.total()) == (7, 4)
    assert {(each.path, each.kind, each.judged, each.made) for each in found.differences} == {
        ("subject/topic", "fewer times", "Sea", None),
        ("name", "punctuation or case", "Poe.", "Poe"),
        ("date", "another value", "1850", "c1850"),
        ("place/@ID", "made besides", None, "p.1"),
    }
    assert "| together | 7 | 4 | 57.1 % | 3 | 3 |" in by_element(found)
    assert "| `place/@ID` | made besides | 1 |  | p.1 |" in classes(found)
