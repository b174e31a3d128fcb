"""Mappings that travel with their schemas and tables of codes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from heptox.errors import PeerError
from heptox.mapping import exchange, load_mapping, print_rules
from heptox.peer.wire.mapping_files import MOST_LOOKED_UP, MappingFiles
from heptox.xml import parse_document, write_element

ARROWS = """source "a.dtd"
target "a.dtd"
# lookup("none.csv", e)
lookup("codes/of ""kinds"".csv", r/e) -> r/e oneway
"say lookup(""none.csv"")" -> r/@m oneway
lookup( "more.csv" , r/@m, lookup("codes/of ""kinds"".csv", r/@m)) -> r/@k oneway
"""
TABLE = 'a,"text, language"\nm,' + "x" * 300 + "\n"


@pytest.fixture
def arrows(tmp_path: Path) -> Path:
    (tmp_path / "codes").mkdir()
    (tmp_path / "a.dtd").write_text(
        "<!ELEMENT d (r*)> <!ELEMENT r (e)> <!ELEMENT e (#PCDATA)> <!ATTLIST r k CDATA #IMPLIED m CDATA #IMPLIED>"
    )
    (tmp_path / "codes" / 'of "kinds".csv').write_text(TABLE, encoding="utf-8")
    (tmp_path / "more.csv").write_text("b,c\n", encoding="utf-8")
    file = tmp_path / "m.arrows"
    file.write_text(ARROWS, encoding="utf-8")
    return file


def test_tables_travel_with_the_mapping(arrows: Path) -> None:
    packed = MappingFiles.pack(arrows)
    assert sorted(packed.files) == ["codes1.csv", "codes2.csv", "mapping.arrows", "source.dtd", "target.dtd"]
    assert packed.files["codes1.csv"].decode() == TABLE
    text = packed.files["mapping.arrows"].decode()
    assert '# lookup("none.csv", e)' in text
    assert '"say lookup(""none.csv"")" -> r/@m' in text
    packed.check_bounds()
    assert len(packed.load().rules) == len(load_mapping(arrows).rules) > 0
    changed = replace(packed, files={**packed.files, "codes1.csv": TABLE.replace("m,", "n,").encode()})
    assert changed.digest != packed.digest
    (arrows.parent / "codes" / 'of "kinds".csv').unlink()
    assert MappingFiles(packed.files, packed.mapping).load() == packed.load()  # nothing beside it is read


def test_tables_travel_with_rules(arrows: Path) -> None:
    rules = arrows.with_suffix(".rules")
    rules.write_text(print_rules(load_mapping(arrows), arrows.parent), encoding="utf-8")
    assert load_mapping(rules) == load_mapping(arrows)
    packed = MappingFiles.pack(rules)
    assert packed.files.keys() == {"codes1.csv", "codes2.csv", "mapping.rules", "source.dtd", "target.dtd"}
    document = parse_document('<d><r m="b"><e>a</e></r><r><e>m</e></r></d>')
    made = [write_element(exchange(mapping, document).root) for mapping in (packed.load(), load_mapping(arrows))]
    assert made[0] == made[1]
    assert "text, language" in made[0]


def test_tables_of_others_are_bounded(arrows: Path) -> None:
    packed = MappingFiles.pack(arrows)
    large = replace(packed, files={**packed.files, "codes2.csv": b"x" * (MOST_LOOKED_UP // 3)})
    with pytest.raises(PeerError, match="bytes of tables in all functions"):
        large.check_bounds()
    several = "".join(f'lookup("{number}.csv", r/e) -> r/e oneway\n' for number in range(6))
    for number in range(6):
        (arrows.parent / f"{number}.csv").write_text("a,b\n")
    arrows.write_text(ARROWS.split("#")[0] + several)
    with pytest.raises(PeerError, match="6 tables of codes; 8 files travel together at most"):
        MappingFiles.pack(arrows)


def test_what_is_too_large_to_travel_is_named_with_its_size(arrows: Path) -> None:
    table = arrows.parent / "more.csv"
    table.write_text("".join(f"{code},{'x' * 900}\n" for code in range(5_000)), encoding="utf-8")
    size, value = table.stat().st_size, 'lookup("more.csv", r/e)'
    arrows.write_text(ARROWS.split("#")[0] + f"{value} -> r/e oneway\n", encoding="utf-8")
    with pytest.raises(PeerError, match=f"bytes of files, {size:,} of them in more.csv .4,.* travel together at most"):
        MappingFiles.pack(arrows)
    arrows.write_text(ARROWS.split("#")[0] + f"concat({', '.join([value] * 5)}) -> r/e oneway\n", encoding="utf-8")
    with pytest.raises(PeerError, match=f"look-ups, and a table of {size:,} bytes .look up in fewer places"):
        MappingFiles.pack(arrows)
