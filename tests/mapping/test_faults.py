"""Every fault of a mapping: its code, its place, and what would have worked."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from heptox.errors import InputError, MappingError
from heptox.mapping import load_mapping, parse_mapping_arrows
from tests.mapping.building import HOSPITAL

SOURCE: Final = """
<!ELEMENT shop (title, owner?, note*, product*, seller*, maker*, visit*)>
<!ATTLIST shop year CDATA #IMPLIED>
<!ELEMENT title (#PCDATA)> <!ELEMENT owner (name)> <!ELEMENT note (#PCDATA)>
<!ELEMENT product (name, price, text?, part*)>
<!ATTLIST product id ID #REQUIRED sold IDREF #IMPLIED made IDREF #IMPLIED tags NMTOKENS #IMPLIED all IDREFS #IMPLIED>
<!ELEMENT seller (name, town)> <!ATTLIST seller id ID #REQUIRED>
<!ELEMENT maker (name, town?)> <!ATTLIST maker id ID #REQUIRED>
<!ELEMENT visit (day)> <!ELEMENT day (#PCDATA)>
<!ELEMENT name (#PCDATA)> <!ELEMENT town (#PCDATA)>
<!ELEMENT price (#PCDATA)> <!ATTLIST price currency CDATA #IMPLIED>
<!ELEMENT text (#PCDATA | bold)*> <!ELEMENT bold (#PCDATA)>
<!ELEMENT part (code, part*)> <!ELEMENT code (#PCDATA)>
"""
TARGET: Final = """
<!ELEMENT list (heading?, (red | green | blue)*, entry*, other*, rest?)>
<!ATTLIST list year CDATA #IMPLIED>
<!ELEMENT heading (#PCDATA)>
<!ELEMENT red (label?)> <!ELEMENT green (label?)> <!ELEMENT blue (label, label)>
<!ELEMENT label (#PCDATA)>
<!ELEMENT entry (what?, cost?, from?, body?)> <!ELEMENT what (#PCDATA)>
<!ELEMENT cost (#PCDATA)> <!ATTLIST cost currency CDATA #IMPLIED>
<!ELEMENT from (#PCDATA)> <!ELEMENT body (#PCDATA | bold)*> <!ELEMENT bold (#PCDATA)>
<!ELEMENT other (#PCDATA)> <!ELEMENT rest ANY>
"""
HEADER: Final = 'source "s.dtd" root shop\ntarget "t.dtd" root list\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("schemas")
    (path / "s.dtd").write_text(SOURCE)
    (path / "t.dtd").write_text(TARGET)
    return path


def faults(folder: Path, text: str, header: str = HEADER) -> list[tuple[str, int, int, str]]:
    with pytest.raises(MappingError) as caught:
        parse_mapping_arrows(header + text, folder, "x.arrows")
    return [
        (fault.code, fault.position.line, fault.position.column, str(fault))
        if fault.position
        else (fault.code, 0, 0, str(fault))
        for fault in caught.value.faults
    ]


@pytest.mark.parametrize(
    ("text", "code", "column", "said"),
    [
        ("product/nam -> entry/what", "HX4001", 1, "did you mean product/name?"),
        ("nam -> entry/what", "HX4001", 1, "did you mean owner/name?"),
        ("product/name -> entry/whut", "HX4001", 17, "did you mean entry/what?"),
        ("product/name -> what", "HX4001", 17, "did you mean entry/what?"),
        ("visit/hour -> other", "HX4001", 1, "below visit there are visit/day"),
        ("visit/day/@x -> other", "HX4001", 1, "nothing stands below visit/day"),
        ("product/part/part/code -> other", "HX4010", 1, "recursive"),
        ("product -> other", "HX4009", 1, "product/@id"),
        ("product/text/text() -> other", "HX4011", 1, "copy product/text whole"),
        ("note -> rest", "HX4009", 9, "copies rest whole"),
        ("product/name -> [Colour]", "HX4005", 17, "target box Colour = "),
        ("product/name -> heading", "HX4013", 1, "root owns"),
        ("note -> @year", "HX4013", 1, "note, which repeats"),
        ("title -> heading\n@year -> heading", "HX4019", 1, "takes title already"),
        ("title -> other\ntitle -> other", "HX4004", 1, "twice"),
        ("product/name => entry/what", "HX4012", 1, "takes ->"),
        ("product/price => entry", "HX4012", 1, "price has the attribute currency, which entry does not have"),
        ("product/price => entry/cost\nproduct/name -> entry/cost/@currency", "HX4022", 1, "fills whole"),
        ("source key product", "HX4014", 12, "no leaf"),
        ("source key note\nnote -> other", "HX4014", 12, "repeats"),
        ("source reference product/@sold -> seller/town", "HX4014", 35, "source key seller/town"),
        ("source reference product/@all -> seller/@id", "HX4014", 18, "several values"),
        ("source reference product -> seller/@id", "HX4014", 18, "no leaf"),
        ("source reference product/@sold -> seller/@id\nsource reference product/@sold -> maker/@id", "HX4015", 1,
         "declared in another line"),
        ("source join product/@sold -> seller/@id", "HX4014", 1, "source reference product/@sold -> seller/@id"),
        ("source key product/name\nsource key product/name", "HX4003", 1, "again"),
        ('source "s.dtd" root shop', "HX4003", 1, "again"),
        ("product/name -> entry/what\nvisit/day -> entry/from", "HX4016", 1, "product and visit"),
        ("product/name -> entry/what\nseller/town -> entry/from", "HX4016", 1,
         "source reference product/@sold -> seller/@id"),
        ("target box B = (red | green)\ntarget box B = (red | green)\nproduct/name -> [B]", "HX4003", 1, "again"),
        ("target box B = (red | grey)\nproduct/name -> [B]", "HX4001", 23, "did you mean green?"),
        ("target box B = (red | red)\nproduct/name -> [B]", "HX4003", 23, "twice"),
        ("target box B = (red | blue)\nproduct/name -> [B]", "HX4006", 23, "label occurs ? in red, + in blue"),
        ("target box B = (red | heading)\nproduct/name -> [B]", "HX4006", 23, "red holds label"),
        ("target box B = (red | green)\nproduct/name -> [B]/label", "HX4008", 1, "draw one: LEAF -> [B]"),
        ("source box B = (product | seller)\nproduct/name -> other", "HX4006", 27, "product holds price, which"),
        ("target box B = (red | green)\nproduct/name -> [B]\ntarget box C = (entry | other)", "HX4007", 1, "one"),
        ("target box B = entry/what/(red)\nproduct/name -> other", "HX4001", 28, "entry/what"),
        ("target box B = (red | green)\nproduct/name -> [B]\nproduct/name -> red", "HX4018", 17, "[B] for the tag"),
        ("target box B = (red | green)\nproduct/name -> [B]\ntarget key red/label", "HX4018", 12, "[B]/label"),
        ("target box B = (red | green)\nproduct/name -> [B]\nproduct/text => red", "HX4018", 17, "red/LEAF"),
        ("target box B = (red | green)\nproduct/name -> [B]\nproduct/name -> red/labl", "HX4001", 17, "[B]/label"),
        ("target box B = (red | green)\nproduct/name -> [B]\nproduct/name -> red/label\nproduct/name -> red/label",
         "HX4004", 1, "twice"),
        ("target box B = (red | green)\nproduct/name -> [B]\nproduct/name -> red/label\nproduct/name -> [B]/label",
         "HX4004", 1, "for a whole box and for one member of it"),
        ("target box B = (red | green)\nproduct/name -> [B]\nproduct/text => [B]", "HX4012", 17, "whole"),
        ("product/name ->", "HX3001", 16, "expected"),
    ],
)  # fmt: skip
def test_a_fault(folder: Path, text: str, code: str, column: int, said: str) -> None:
    found = faults(folder, text)
    assert [(code, column)] == [(each[0], each[2]) for each in found[:1]], found
    assert said in found[0][3]


def test_all_faults_are_told_in_the_order_of_the_file(folder: Path) -> None:
    text = """\
source reference product/@sold -> seller/id
target box Colour = (red | grey)
product/name ->
product/nam -> entry/what
note -> heading
visit/day -> entry/from
"""
    found = faults(folder, text)
    assert [(code, line) for code, line, _, _ in found] == [
        ("HX4001", 3), ("HX4001", 4), ("HX3001", 5), ("HX4001", 6), ("HX4013", 7),
    ]  # fmt: skip
    assert all("(" in said for *_, said in found)


def test_several_connections_are_a_tie_that_a_join_line_decides(folder: Path) -> None:
    text = """\
source reference product/@sold -> seller/@id
source reference product/@made -> seller/@id
product/name -> entry/what
seller/town -> entry/from
"""
    (found,) = faults(folder, text)
    assert found[0] == "HX4017"
    assert "source join product/@sold -> seller/@id" in found[3]
    loaded = parse_mapping_arrows(f"{HEADER}source join product/@made -> seller/@id\n{text}", folder)
    (part,) = loaded.rules[0].optional
    assert str(part.conditions).count("@made") == 1


def test_two_join_lines_for_one_tie_decide_nothing(folder: Path) -> None:
    text = """\
source reference product/@sold -> seller/@id
source reference product/@made -> seller/@id
source join product/@sold -> seller/@id
source join product/@made -> seller/@id
product/name -> entry/what
seller/town -> entry/from
"""
    assert [found[0] for found in faults(folder, text)] == ["HX4017"]


def test_a_tie_of_each_lines_alone_is_at_the_last_of_them(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text((folder / "s.dtd").read_text())
    (tmp_path / "t.dtd").write_text("<!ELEMENT list (shelf*)> <!ELEMENT shelf (row*)> <!ELEMENT row (#PCDATA | list)*>")
    text = """\
source reference product/@sold -> seller/@id
source reference product/@made -> seller/@id
each product -> shelf
each seller -> shelf/row
"""
    (found,) = faults(tmp_path, text)
    assert found[:2] == ("HX4017", 6)
    assert "source join product/@sold -> seller/@id" in found[3]


def test_a_side_that_is_not_declared(folder: Path) -> None:
    found = faults(folder, "product/name -> entry/what", 'source "s.dtd" root shop\n')
    assert [each[0] for each in found] == ["HX4002"]
    assert 'target "FILE.dtd" root NAME' in found[0][3]


def test_a_schema_file_that_does_not_exist(folder: Path) -> None:
    found = faults(folder, "product/nam -> entry/what", 'source "s.dtd" root shop\ntarget "none.dtd"\n')
    assert ("HX4002", 2, 1) in [each[:3] for each in found]
    assert "none.dtd" in found[0][3]


def test_a_schema_that_is_malformed_is_told_with_its_own_place(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text(SOURCE)
    (tmp_path / "t.dtd").write_text("<!ELEMENT list (a>\n")
    found = faults(tmp_path, "product/name -> a")
    assert [each[0] for each in found] == ["HX4002", "HX2001"]
    assert "t.dtd:1:" in found[1][3]


def test_a_root_that_the_schema_does_not_have(folder: Path) -> None:
    found = faults(folder, "", 'source "s.dtd" root shap\ntarget "t.dtd" root list\n')
    assert found[0][:2] == ("HX4002", 1)


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_mapping(tmp_path / "none.arrows")
    assert caught.value.faults[0].code == "HX1001"


RULE: Final = """
MassGeneral -> f_MassGeneral($m)[Progress -> f_Progress($r)[@PatRef -> $r,
  Symptom -> f_Progress_Symptom($d, $w)[Desc -> $d, Date -> $w]]]
<-
MonGenHosp -> $m[Patient -> $p[@ID -> $i, Hist -> $h[Event -> $e[Problem -> $d, Date -> $w]]],
  Admission -> $a[@PatRef -> $r]],
$r = $i.
"""
RULE_HEADER: Final = """\
source "mongenhosp.dtd" root MonGenHosp
target "massgeneral.dtd" root MassGeneral
target box Illness = Admission/(Pulmonary | Coronary)
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("Desc -> $d", "Desc -> $x", "HX4030", "variables of the body: $a,"),
        ("Desc -> $d", "Desc -> $h", "HX4009", "inner node Patient/Hist"),
        ("Desc -> $d", "Desk -> $d", "HX4001", "did you mean Progress/Symptom/Desc?"),
        ("Problem -> $d", "Problm -> $d", "HX4001", "did you mean Patient/Hist/Event/Problem?"),
        ("Problem -> $d", "Problem -> $d, Problem -> $w", "HX4031", "use another name"),
        ("Desc -> $d,", "Desc -> $d, Desc -> $w,", "HX4031", "twice"),
        ("f_Progress($r)", "f_Progress($d)", "HX4033", "f_Progress($r)"),
        ("f_Progress($r)", "f2($r)", "HX4033", "f_Progress($r)"),
        ("f_Progress_Symptom($d, $w)", "f_Progress_Symptom($d)", "HX4033", "f_Progress_Symptom($d, $w)"),
        ("\n$r = $i.", "\n$r = \"p1\".", "HX4034", "nothing connects"),
        ("$r = $i", "$h = $i", "HX4009", "inner node"),
        ("MassGeneral ->", "MassGenerol ->", "HX4001", "did you mean MassGeneral?"),
        ("MonGenHosp ->", "MassGeneral ->", "HX4001", "did you mean MonGenHosp?"),
        ("@PatRef -> $r,\n", "@PatRef => $r,\n", "HX4012", "a leaf takes ->"),
        ("Desc -> $d, Date", "Desc -> f_x($d), Date", "HX4009", "is a leaf"),
        ("Symptom -> f_Progress_Symptom($d, $w)[Desc -> $d, Date -> $w]", "Symptom -> $d", "HX4009", "no leaf"),
        ("f_Progress_Symptom($d, $w)[Desc -> $d, Date -> $w]",
         "f_Progress_Symptom($d, $w)[Desc -> $d, Date -> $w], Treatment -> f_Progress_Treatment($d)[Desc -> $d]",
         "HX4032", "side by side"),
        ("[Progress -> f_Progress($r)["
         "@PatRef -> $r,\n  Symptom -> f_Progress_Symptom($d, $w)[Desc -> $d, Date -> $w]]]",
         "[Admission -> f_Admission()[[Illness] -> f_Admission_Illness()]]", "HX4020", "[Illness]:$variable"),
        (".\n", ".\nsource join Admission/@PatRef -> Patient/@ID\n", "HX3001", ""),
        ("\nMass", "source join Admission/@PatRef -> Patient/@ID\nMass", "HX4023", "leave it out"),
    ],
)  # fmt: skip
def test_a_fault_of_a_rule(tmp_path: Path, old: str, new: str, code: str, said: str) -> None:
    assert old in RULE
    for name in ("mongenhosp.dtd", "massgeneral.dtd"):
        (tmp_path / name).write_bytes((HOSPITAL / name).read_bytes())
    (tmp_path / "x.rules").write_text(RULE_HEADER + RULE.replace(old, new, 1))
    with pytest.raises(MappingError) as caught:
        load_mapping(tmp_path / "x.rules")
    assert caught.value.faults[0].code == code
    assert said in str(caught.value.faults[0])
    assert caught.value.faults[0].position


def test_a_rule_that_stands_twice(tmp_path: Path) -> None:
    for name in ("mongenhosp.dtd", "massgeneral.dtd"):
        (tmp_path / name).write_bytes((HOSPITAL / name).read_bytes())
    (tmp_path / "x.rules").write_text(RULE_HEADER + RULE + RULE)
    with pytest.raises(MappingError) as caught:
        load_mapping(tmp_path / "x.rules")
    assert [(fault.code, fault.position and fault.position.line) for fault in caught.value.faults] == [("HX4004", 12)]


def test_a_faulty_box_is_told_once(folder: Path) -> None:
    text = "target box Colour = (red | grean)\nproduct/name -> [Colour]\nproduct/price/text() -> [Colour]/label\n"
    assert [(code, line) for code, line, _, _ in faults(folder, text)] == [("HX4001", 3)]


def test_the_value_of_an_element_with_attributes_is_its_text(folder: Path) -> None:
    short, long = (
        parse_mapping_arrows(f"{HEADER}product/{leaf} -> entry/cost", folder) for leaf in ("price", "price/text()")
    )
    assert short.rules == long.rules
