"""``heptox map check``, ``map show`` and ``map apply``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import etree

from heptox.mapping import load_mapping
from tests.cli.running import HOSPITAL, heptox_ended

ARROWS = HOSPITAL / "montreal-boston.arrows"
DOCUMENT = """\
<MonGenHosp>
  <Patient ID="p1"><Name>Mei</Name><Hist><Event><Problem>Cough</Problem><Date>12/24/2003</Date></Event></Hist></Patient>
  <Patient ID="p2"><Name>Bo</Name><Hist/><Treat><Date>12/25/2003</Date><Desc>Rest</Desc></Treat></Patient>
  <Admission PatRef="p1"><Problem>Chest pain/acute</Problem><AdmDate>12/23/2003</AdmDate></Admission>
</MonGenHosp>
"""
IMAGE = """\
<MassGeneral>
  <Admission>
    <Chest_x0020_pain_x002F_acute ID="p1">
      <Enter>12/23/2003</Enter>
      <Patient>Mei</Patient>
    </Chest_x0020_pain_x002F_acute>
  </Admission>
  <Progress PatRef="p1">
    <Symptom>
      <Desc>Cough</Desc>
      <Date>12/24/2003</Date>
    </Symptom>
  </Progress>
</MassGeneral>
"""


@pytest.mark.parametrize("arrows", ["montreal-boston.arrows", "stluke-boston.arrows"])
def test_the_hospital_s_mappings_have_no_faults(arrows: str) -> None:
    ended = heptox_ended("map", "check", HOSPITAL / arrows)
    verdict, *remarks = ended.out.splitlines()
    against = len(load_mapping(HOSPITAL / arrows).mirrored().rules)
    assert (ended.code, ended.err) == (0, "")
    assert verdict == f"{HOSPITAL / arrows}: no faults, 4 rules along, {against} against"
    assert all(line.startswith(("along: ", "against: ")) for line in remarks)
    ended = heptox_ended("map", "check", HOSPITAL / arrows, "--json")
    found = json.loads(ended.out)
    assert (found["file"], found["faults"]) == (str(HOSPITAL / arrows), [])
    assert found["rules"] == {"along": 4, "against": against}
    assert [remark["direction"] for remark in found["confirmed"] + found["remarks"]] == [
        line.split(":")[0] for line in remarks
    ]


def test_leaves_and_images_as_json(tmp_path: Path) -> None:
    found = json.loads(heptox_ended("map", "check", ARROWS, "--json").out)
    along = found["coverage"]["along"]
    assert (along["unreached"], along["unused"]) == (["[Illness]/InsName"], ["Patient/Treat/Doc"])
    assert (len(along["reached"]), along["required"], along["invented"]) == (11, [], [])
    assert (found["images"]["along"]["documents"], found["images"]["along"]["random"]) == (9, True)
    given = tmp_path / "given.xml"
    given.write_text(DOCUMENT)
    images = json.loads(heptox_ended("map", "check", ARROWS, given, "--json").out)["images"]
    assert {**images["along"], "faults": []} == {
        "documents": 1,
        "random": False,
        "refused": [],
        "valid": 0,
        "faults": [],
    }
    assert (
        '/MassGeneral/Progress: the attribute PatRef is "p1" (no element has that identifier)'
        in images["along"]["faults"]
    )
    assert images["against"]["documents"] == 0


def test_images_of_given_documents_are_checked_by_the_schema_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT s (d*)><!ELEMENT d (#PCDATA)>")
    element = '<xs:element name="d" type="xs:date" minOccurs="0" maxOccurs="unbounded"/>'
    schema = f'<xs:element name="t"><xs:complexType><xs:sequence>{element}</xs:sequence></xs:complexType></xs:element>'
    (tmp_path / "t.xsd").write_text(f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{schema}</xs:schema>')
    (tmp_path / "d.xml").write_text("<s><d>2004-02-01</d><d>today</d></s>")
    arrows = tmp_path / "st.arrows"
    arrows.write_text('source "s.dtd"\ntarget "t.xsd"\nd -> d\n')
    assert (
        "along: 9 of 9 images of random documents are valid, values aside" in heptox_ended("map", "check", arrows).out
    )
    found = heptox_ended("map", "check", arrows, tmp_path / "d.xml").out
    assert (
        "along: 1 of 1 images are not valid: /t/d: 'today' is not a valid value of the atomic type 'xs:date'" in found
    )


def test_what_makes_nothing_is_counted_on_given_documents(tmp_path: Path) -> None:
    given = tmp_path / "given.xml"
    given.write_text(DOCUMENT)
    ended = heptox_ended("map", "check", ARROWS, given)
    assert ended.code == 0
    assert "along: 1 of 2 Patient make nothing: no Admission refers to them" in ended.out.splitlines()
    given.write_text("<Other/>")
    ended = heptox_ended("map", "check", ARROWS, given)
    assert (ended.code, ended.out) == (1, "")
    assert "HX4040 the root element is Other, not MonGenHosp or MassGeneral" in ended.err


def test_a_mapping_that_translates_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.dtd").write_text("<!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>")
    arrows = tmp_path / "aa.arrows"
    arrows.write_text('source "a.dtd"\ntarget "a.dtd"\n')
    ended = heptox_ended("map", "check", arrows)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"{arrows}: no faults, 0 rules along, 0 against",
        "along: 0 rules: nothing that is asked in the words of the target is translated",
        "against: 0 rules: nothing that is asked in the words of the source is translated",
    ]


def test_every_fault_is_a_line_with_its_place(tmp_path: Path) -> None:
    for name in ("mongenhosp.dtd", "massgeneral.dtd"):
        (tmp_path / name).write_text((HOSPITAL / name).read_text())
    faulty = tmp_path / "faulty.arrows"
    faulty.write_text(
        'source "mongenhosp.dtd" root MonGenHosp\n'
        'target "massgeneral.dtd" root MassGeneral\n'
        "target box Illness = Admission/(Pulmonary | Coronary)\n"
        "Admission/Problem -> [Illness]\n"
        "Patient/@Id -> [Illness]/@ID\n"
        "Patient/Nam -> [Illness]/Patient\n"
    )
    ended = heptox_ended("map", "check", faulty)
    assert (ended.code, ended.out) == (1, "")
    lines = ended.err.splitlines()
    assert [line.split(" ")[:2] for line in lines] == [[f"{faulty}:5:1:", "HX4001"], [f"{faulty}:6:1:", "HX4001"]]
    assert "@ID" in lines[0]
    assert "Name" in lines[1]
    as_json = heptox_ended("map", "check", faulty, "--json")
    assert (as_json.code, as_json.err) == (1, ended.err)
    assert json.loads(as_json.out) == {"file": str(faulty), "rules": None, "faults": lines}


def test_a_dozen_planted_faults_are_told_in_one_run(tmp_path: Path) -> None:
    planted = {
        "source key Patient/MedCrNumber": "HX4001",
        "source key Patient/Hist": "HX4014",
        "source reference Admission/@PatRef -> Patient/Name": "HX4014",
        "target box Illness = Admission/(Pulmonary | Coronary)": "HX4003",
        "target box Lung = Admission/(Pulmonary | Coronary)": "HX4007",
        "Patient/@Id -> [Illness]/@ID": "HX4001",
        "Patient/Hist -> Progress/Symptom/Desc": "HX4009",
        "Admission/Problem -> [Sickness]": "HX4005",
        "Patient/Name -> [Illness]/Patient": "HX4004",
        "Patient/Treat/Doc -> Admission/Coronary": "HX4018",
        "Patient/Treat/Doc": "HX3001",
        "Patient/Treat => Progress/Symptom": "HX4012",
    }
    for name in ("mongenhosp.dtd", "massgeneral.dtd"):
        (tmp_path / name).write_text((HOSPITAL / name).read_text())
    sound = (HOSPITAL / "montreal-boston.arrows").read_text().rstrip("\n").split("\n")
    faulty = tmp_path / "faulty.arrows"
    faulty.write_text("\n".join([*sound, *planted]) + "\n")
    ended = heptox_ended("map", "check", faulty)
    assert (ended.code, ended.out) == (1, "")
    told = [tuple(line.removeprefix(f"{faulty}:").split(" ")[:2]) for line in ended.err.splitlines()]
    lines = [(int(place.split(":")[0]), code) for place, code in told]
    assert lines == [(len(sound) + number, code) for number, code in enumerate(planted.values(), start=1)], ended.err


def test_members_that_differ_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT s (v*)><!ELEMENT v (#PCDATA)>")
    (tmp_path / "t.dtd").write_text("<!ELEMENT t (a | b)*><!ELEMENT a (c)><!ELEMENT b (c?)><!ELEMENT c (#PCDATA)>")
    arrows = tmp_path / "st.arrows"
    arrows.write_text('source "s.dtd"\ntarget "t.dtd"\ntarget box B = (a | b)\nv -> [B]\n')
    ended = heptox_ended("map", "check", arrows)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"{arrows}:3:")


def test_rules_that_are_shown_can_be_loaded_and_do_the_same(tmp_path: Path) -> None:
    shown = heptox_ended("map", "show", ARROWS)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("<-\n") == 8
    for name in ("mongenhosp.dtd", "massgeneral.dtd"):
        (tmp_path / name).write_text((HOSPITAL / name).read_text())
    rules = tmp_path / "montreal-boston.rules"
    rules.write_text(shown.out)
    assert heptox_ended("map", "show", rules).out == shown.out
    document = tmp_path / "document.xml"
    document.write_text(DOCUMENT)
    images = [heptox_ended("map", "apply", mapping, document) for mapping in (ARROWS, rules)]
    assert images[0] == images[1]


def test_apply_prints_the_image() -> None:
    ended = heptox_ended("map", "apply", ARROWS, "-", "--indent", stdin=DOCUMENT)
    assert (ended.code, ended.out, ended.err) == (0, IMAGE, "")


def test_apply_adds_no_white_space_unless_asked() -> None:
    ended = heptox_ended("map", "apply", ARROWS, "-", stdin=DOCUMENT)
    assert ended.out.count("\n") == 1
    indented = heptox_ended("map", "apply", ARROWS, "-", "--indent", stdin=DOCUMENT).out
    without = etree.XMLParser(remove_blank_text=True)
    assert etree.tostring(etree.fromstring(indented, without)) == etree.tostring(etree.fromstring(ended.out))


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("<MonGenHosp>\n<Patient></MonGenHosp>", "HX1002"),
        ('<!DOCTYPE r [\n<!ENTITY e SYSTEM "file:///etc/hostname">]>\n<r>&e;</r>', "HX1004"),
        ("no XML", "HX1002"),
        ("", "HX1002"),
    ],
)
def test_a_document_that_cannot_be_read_is_one_line(document: str, code: str) -> None:
    ended = heptox_ended("map", "apply", ARROWS, "-", stdin=document)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert ended.err.startswith("<stdin>:")
    assert f" {code} " in ended.err


def test_an_entity_bomb_is_refused() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "ha">{entities}]><r>&e9;</r>'
    ended = heptox_ended("map", "apply", ARROWS, "-", stdin=bomb)
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    assert " HX1006 " in ended.err


@pytest.mark.parametrize("command", ["check", "show", "apply"])
def test_a_mapping_that_does_not_exist(tmp_path: Path, command: str) -> None:
    ended = heptox_ended("map", command, tmp_path / "no.arrows", *(["-"] if command == "apply" else []))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"{tmp_path / 'no.arrows'}: HX1001 ")


def test_what_is_outside_the_source_schema_is_told() -> None:
    document = DOCUMENT.replace("<Hist/>", "<Hist/><Allergy>Nuts</Allergy>")
    ended = heptox_ended("map", "apply", ARROWS, "-", "--indent", stdin=document)
    assert (ended.code, ended.out) == (0, IMAGE)
    lines = ended.err.splitlines()
    assert lines
    assert all(line.startswith("<stdin>:") and " HX2007 " in line for line in lines)
    assert any("Allergy" in line for line in lines)


def test_a_document_of_another_schema_is_refused() -> None:
    ended = heptox_ended("map", "apply", ARROWS, "-", stdin="<MassGeneral><Admission/></MassGeneral>")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("<stdin>:1:1: HX4040 the root element is MassGeneral, not MonGenHosp")
    assert "--to source" in ended.err and ended.err.count("\n") == 1
    ended = heptox_ended("map", "apply", ARROWS, "-", "--to", "source", stdin="<MonGenHosp/>")
    assert (ended.code, ended.out) == (1, "")
    assert "HX4040" in ended.err and "--to target" in ended.err


def test_a_document_of_the_other_schema_is_known_by_its_content_where_the_roots_are_called_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT r (a*)> <!ELEMENT a (#PCDATA)>")
    (tmp_path / "t.dtd").write_text("<!ELEMENT r (b*)> <!ELEMENT b (#PCDATA)>")
    arrows = tmp_path / "m.arrows"
    arrows.write_text('source "s.dtd" root r\ntarget "t.dtd" root r\na -> b\n')
    assert heptox_ended("map", "apply", arrows, "-", stdin="<r><a>1</a></r>").out == "<r><b>1</b></r>\n"
    ended = heptox_ended("map", "apply", arrows, "-", stdin="<r><b>1</b></r>")
    assert (ended.code, ended.out) == (1, "") and "--to source" in ended.err
    assert (
        heptox_ended("map", "apply", arrows, "-", "--to", "source", stdin="<r><b>1</b></r>").out == "<r><a>1</a></r>\n"
    )


@pytest.mark.parametrize("large", [False, True], ids=["in memory", "in a store"])
def test_apply_counts_the_leaves_that_get_several_values(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.dtd").write_text(
        "<!ELEMENT s (a*)> <!ELEMENT a (b, c)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>"
    )
    (tmp_path / "t.dtd").write_text(
        "<!ELEMENT t (d*)> <!ELEMENT d (e, f)> <!ELEMENT e (#PCDATA)> <!ELEMENT f (#PCDATA)>"
    )
    arrows = tmp_path / "m.arrows"
    arrows.write_text('source "s.dtd" root s\ntarget "t.dtd" root t\ntarget key d/e\na/b -> d/e\na/c -> d/f\n')
    document = tmp_path / "d.xml"
    document.write_text("<s>" + "".join(f"<a><b>{b}</b><c>{c}</c></a>" for b, c in ("11", "12", "13", "21")) + "</s>")
    monkeypatch.setattr("heptox.cli.mapping.LARGE", 0 if large else 1 << 20)
    ended = heptox_ended("map", "apply", arrows, document)
    assert ended.out == "<t><d><e>1</e><f>1</f></d><d><e>2</e><f>1</f></d></t>\n"
    kept = "of several values for a leaf that is there once the first is kept"
    assert (ended.code, ended.err) == (0, f"conflicts: 1 (d/f); {kept}\n")


def test_exchange_goes_either_way() -> None:
    image = IMAGE.replace("Chest_x0020_pain_x002F_acute", "Coronary")
    ended = heptox_ended("map", "apply", ARROWS, "-", "--to", "source", stdin=image)
    assert (ended.code, ended.err) == (0, "")
    assert "<Problem>Coronary</Problem>" in ended.out and ended.out.startswith("<MonGenHosp>")
    assert heptox_ended("map", "apply", ARROWS, "-", "--to", "both", stdin=IMAGE).code == 2


def test_a_file_of_rules_that_says_one_direction_serves_that_one(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT s (a*)> <!ELEMENT a (#PCDATA)>")
    (tmp_path / "t.dtd").write_text("<!ELEMENT t (b*)> <!ELEMENT b (#PCDATA)>")
    rules = tmp_path / "m.rules"
    text = 'source "s.dtd" root s\ntarget "t.dtd" root t\n\nt -> f_t($s)[b -> $a]\n<-\ns -> $s[a -> $a].\n'
    rules.write_text(text)
    assert heptox_ended("map", "apply", rules, "-", stdin="<s><a>1</a></s>").out == "<t><b>1</b></t>\n"
    ended = heptox_ended("map", "apply", rules, "-", "--to", "source", stdin="<t/>")
    assert (ended.code, ended.out) == (1, "") and "HX4024" in ended.err


# -- large documents ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "document",
    [
        DOCUMENT,
        "<MonGenHosp/>",
        DOCUMENT.replace('PatRef="p1"', 'PatRef="p3"'),
        DOCUMENT.replace('ID="p2"', 'ID="p1"'),
        DOCUMENT.replace("<Hist/>", ""),
        DOCUMENT.replace("<Hist/>", "<Hist/><Stranger/>"),
        DOCUMENT.replace("<Name>Bo</Name>", "<Name>Bo</Name><Name>B</Name>"),
        DOCUMENT.replace("</MonGenHosp>", ""),
        DOCUMENT.replace("MonGenHosp", "Other"),
        "<!DOCTYPE MonGenHosp [<!ENTITY e SYSTEM 'x'>]>" + DOCUMENT,
        DOCUMENT.replace("Mei", f"M{'e' * 2_000_001}i"),
    ],
)
def test_a_large_document_is_exchanged_as_a_small_one(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "d.xml"
    file.write_text(document)
    small = heptox_ended("map", "apply", ARROWS, file)
    monkeypatch.setattr("heptox.cli.mapping.LARGE", 0)
    assert heptox_ended("map", "apply", ARROWS, file) == small
    assert heptox_ended("map", "apply", ARROWS, file, "--indent").code == small.code


def test_a_large_document_is_not_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "d.xml"
    file.write_text(DOCUMENT)
    monkeypatch.setattr("heptox.cli.mapping.LARGE", 0)
    monkeypatch.setattr("heptox.cli.mapping.parse_document", None)
    assert heptox_ended("map", "apply", ARROWS, file).out == "".join(map(str.strip, IMAGE.splitlines())) + "\n"


@pytest.mark.usefixtures("shared_spark")
def test_a_folder_is_exchanged_on_spark(tmp_path: Path) -> None:
    folder, out = tmp_path / "documents", tmp_path / "images"
    folder.mkdir()
    for name, text in (("a.xml", DOCUMENT), ("b.xml", DOCUMENT.replace("Mei", "Lou")), ("c.xml", "<MonGenHosp>")):
        (folder / name).write_text(text)
    ended = heptox_ended("map", "apply", ARROWS, folder, "--master", "local[2]", "--out", out)
    assert ended.code == 1 and ended.out == ""
    assert ended.err.splitlines()[0].startswith(f"{folder / 'c.xml'}:1:")
    assert ended.err.splitlines()[-1].startswith("2 of 3 documents exchanged in ")
    assert sorted(each.name for each in out.iterdir()) == ["a.xml", "b.xml"]
    for name in ("a.xml", "b.xml"):
        assert (out / name).read_text() == heptox_ended("map", "apply", ARROWS, folder / name).out


def test_only_a_folder_is_exchanged_on_spark(tmp_path: Path) -> None:
    ended = heptox_ended("map", "apply", ARROWS, tmp_path / "none", "--master", "local[2]", "--out", tmp_path / "out")
    assert ended.code == 1 and "HX1001" in ended.err
    assert heptox_ended("map", "apply", ARROWS, tmp_path, "--master", "local[2]").code == 2
    ended = heptox_ended("map", "apply", ARROWS, tmp_path, "--master", "local[2]", "--out", tmp_path / "out")
    assert ended.code == 1 and "HX8021" in ended.err
