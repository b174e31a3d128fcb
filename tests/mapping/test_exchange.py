"""What a rule set does to a document: each case of section 5 of the specification by itself."""

from __future__ import annotations

import pytest

from heptox.errors import MappingError
from heptox.mapping import exchange
from heptox.schema import validity_faults
from heptox.xmlio import parse_document
from tests.mapping.building import hospital, image, mapping


def montreal(*parts: str) -> str:
    return f"<MonGenHosp>{''.join(parts)}</MonGenHosp>"


def patient(number: str, *, card: str = "", events: str = "", treats: str = "") -> str:
    return f'<Patient ID="{number}">{card}<Name>N{number}</Name><Hist>{events}</Hist>{treats}</Patient>'


def event(problem: str, date: str) -> str:
    return f"<Event><Problem>{problem}</Problem><Date>{date}</Date></Event>"


def admission(number: str, problem: str, *, leave: str = "") -> str:
    return f'<Admission PatRef="{number}"><Problem>{problem}</Problem><AdmDate>1</AdmDate>{leave}</Admission>'


def boston(illnesses: str, progress: str = "") -> str:
    return f"<MassGeneral><Admission>{illnesses}</Admission>{progress}</MassGeneral>"


def illness(tag: str, number: str, *, policy: str = "", leave: str = "") -> str:
    return f'<{tag} ID="{number}">{policy}<Enter>1</Enter>{leave}<Patient>N{number}</Patient></{tag}>'


def symptom(problem: str, date: str) -> str:
    return f"<Symptom><Desc>{problem}</Desc><Date>{date}</Date></Symptom>"


def progress(number: str, content: str = "") -> str:
    return f'<Progress PatRef="{number}">{content}</Progress>' if content else f'<Progress PatRef="{number}"/>'


def test_the_root_always_exists() -> None:
    assert image(hospital(), montreal()) == "<MassGeneral/>"


def test_a_patient_never_admitted_has_no_progress() -> None:
    document = montreal(patient("p1", events=event("x", "1")), patient("p2"), admission("p2", "Coronary"))
    assert image(hospital(), document) == boston(illness("Coronary", "p2"), progress("p2"))


def test_a_patient_admitted_twice_has_one_progress_and_two_illnesses() -> None:
    document = montreal(
        patient("p1", events=event("x", "1")), admission("p1", "Pulmonary"), admission("p1", "Coronary")
    )
    expected = boston(illness("Pulmonary", "p1") + illness("Coronary", "p1"), progress("p1", symptom("x", "1")))
    assert image(hospital(), document) == expected


def test_equal_admissions_are_one_illness() -> None:
    leave = "<DisDate>2</DisDate>"
    document = montreal(
        patient("p1", card="<MedCrNo>m</MedCrNo>"),
        admission("p1", "Coronary", leave=leave),
        admission("p1", "Coronary", leave=leave),
    )
    expected = illness("Coronary", "p1", policy="<PolicyNo>m</PolicyNo>", leave="<Leave>2</Leave>")
    assert image(hospital(), document) == boston(expected, progress("p1"))


def test_admissions_without_discharge_are_one_when_all_else_is_equal() -> None:
    """What is missing is missing: it keeps no nodes apart that are equal in all that is there."""
    leave = "<DisDate>2</DisDate>"
    document = montreal(
        patient("p1"), admission("p1", "Coronary"), admission("p1", "Coronary"),
        admission("p1", "Coronary", leave=leave),
    )  # fmt: skip
    expected = illness("Coronary", "p1") + illness("Coronary", "p1", leave="<Leave>2</Leave>")
    assert image(hospital(), document) == boston(expected, progress("p1"))


def test_symptoms_are_not_glued_across_patients() -> None:
    same = event("x", "1")
    document = montreal(
        patient("p1", events=same + same), patient("p2", events=same), admission("p1", "Coronary"),
        admission("p2", "Coronary"),
    )  # fmt: skip
    both = "".join(progress(number, symptom("x", "1")) for number in ("p1", "p2"))
    assert image(hospital(), document) == boston(illness("Coronary", "p1") + illness("Coronary", "p2"), both)


@pytest.mark.parametrize(
    ("problem", "tag"),
    [
        ("Chest pain/acute", "Chest_x0020_pain_x002F_acute"),
        ("Asthma", "Asthma"),
        ("", "_x0000_"),
        ("Coronary", "Coronary"),
        ("Treatment", "_x0054_reatment"),
        ("MassGeneral", "_x004D_assGeneral"),
        ("_x0054_reatment", "_x005F_x0054_reatment"),
        ("4 \U0001f600", "_x0034__x0020__x01F600_"),
    ],
)
def test_values_as_tags(problem: str, tag: str) -> None:
    document = montreal(patient("p1"), admission("p1", problem))
    assert image(hospital(), document) == boston(illness(tag, "p1"), progress("p1"))


def test_tags_come_in_the_order_of_the_schema_then_of_the_source() -> None:
    problems = ["Zona", "Coronary", "Asthma", "Pulmonary"]
    document = montreal(patient("p1"), *(admission("p1", problem) for problem in problems))
    tags = ["Pulmonary", "Coronary", "Zona", "Asthma"]
    assert image(hospital(), document) == boston("".join(illness(tag, "p1") for tag in tags), progress("p1"))


def test_an_optional_inner_element_that_is_missing() -> None:
    stay = (
        "<Stay Case='c'><Person>p1</Person><Name>Np1</Name>{}<Diagnosis>Coronary</Diagnosis><Arrived>1</Arrived></Stay>"
    )
    insured = stay.format("<Insurance><Company>A</Company><Number>7</Number></Insurance>")
    rules = hospital("stluke-boston")
    policy = "<InsName>A</InsName><PolicyNo>7</PolicyNo>"
    expected = boston(illness("Coronary", "p1", policy=policy) + illness("Coronary", "p1"), progress("p1"))
    assert image(rules, f"<StLuke>{insured}{stay.format('')}</StLuke>") == expected


def test_values_are_copied_as_they_stand_and_empty_ones_are_values() -> None:
    document = montreal(patient("p1", events=event("", " a\n b ")), admission("p1", "Coronary"))
    content = "<Symptom><Desc/><Date> a\n b </Date></Symptom>"
    assert image(hospital(), document) == boston(illness("Coronary", "p1"), progress("p1", content))


# -- small schemas -----------------------------------------------------------------------------------------------

BOOKS = """<!ELEMENT bib (book*)> <!ELEMENT book (title, author*)>
<!ELEMENT title (#PCDATA)> <!ELEMENT author (#PCDATA)>"""
PAIRS = """<!ELEMENT pairs (pair*)> <!ELEMENT pair (who?, what)>
<!ELEMENT who (#PCDATA)> <!ELEMENT what (#PCDATA)>"""
SHELF = """<!ELEMENT shelf (item*)> <!ELEMENT item (name, by*)> <!ELEMENT name (#PCDATA)> <!ELEMENT by (#PCDATA)>"""
SOME_BOOKS = """<bib><book><title>T</title><author>A</author><author>B</author><author>A</author></book>\
<book><title>U</title></book></bib>"""


def test_a_book_without_authors_gives_no_pair() -> None:
    rules = mapping(BOOKS, PAIRS, "book/title -> pair/what\nbook/author -> pair/who")
    expected = "".join(f"<pair><who>{who}</who><what>T</what></pair>" for who in "AB")
    assert image(rules, SOME_BOOKS) == f"<pairs>{expected}</pairs>"


def test_a_book_without_authors_is_still_a_book() -> None:
    rules = mapping(BOOKS, SHELF, "book/title -> item/name\nbook/author -> item/by")
    expected = "<item><name>T</name><by>A</by><by>B</by></item><item><name>U</name></item>"
    assert image(rules, SOME_BOOKS) == f"<shelf>{expected}</shelf>"


def test_grouping_by_value_glues() -> None:
    source = """<!ELEMENT s (sale*)> <!ELEMENT sale (town, what)> <!ELEMENT town (#PCDATA)> <!ELEMENT what (#PCDATA)>"""
    target = (
        """<!ELEMENT t (place*)> <!ELEMENT place (name, thing*)> <!ELEMENT name (#PCDATA)> <!ELEMENT thing (#PCDATA)>"""
    )
    rules = mapping(source, target, "sale/town -> place/name\nsale/what -> place/thing")
    sales = "".join(f"<sale><town>{town}</town><what>{what}</what></sale>" for town, what in ("Ax", "By", "Az", "Ax"))
    expected = (
        "<place><name>A</name><thing>x</thing><thing>z</thing></place><place><name>B</name><thing>y</thing></place>"
    )
    assert image(rules, f"<s>{sales}</s>") == f"<t>{expected}</t>"


def test_a_leaf_that_is_missing_and_one_that_no_arrow_supplies_are_the_same() -> None:
    source = (
        """<!ELEMENT s (a*, b*)> <!ELEMENT a (x, y?)> <!ELEMENT b (x)> <!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)>"""
    )
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, y?)> <!ELEMENT k (#PCDATA)> <!ELEMENT y (#PCDATA)>"
    rules = mapping(source, target, "a/x -> r/k\nb/x -> r/k\na/y -> r/y")
    a, b, once = "<a><x>1</x></a>", "<b><x>1</x></b>", "<r><k>1</k></r>"
    for document in (b + b, a + a, a + b):
        assert image(rules, f"<s>{document}</s>") == f"<t>{once}</t>"
    assert image(rules, f"<s><a><x>1</x><y>2</y></a>{b}</s>") == f"<t><r><k>1</k><y>2</y></r>{once}</t>"


def test_alternatives_with_different_leaves_are_not_glued_by_equal_values() -> None:
    source = "<!ELEMENT s (a*, b*)> <!ELEMENT a (x, y)> <!ELEMENT b (x, z)> <!ELEMENT x (#PCDATA)> \
<!ELEMENT y (#PCDATA)> <!ELEMENT z (#PCDATA)>"
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, y?, z?)> <!ELEMENT k (#PCDATA)> <!ELEMENT y (#PCDATA)> \
<!ELEMENT z (#PCDATA)>"
    rules = mapping(source, target, "a/x -> r/k\nb/x -> r/k\na/y -> r/y\nb/z -> r/z")
    document = "<s><a><x>1</x><y>2</y></a><b><x>1</x><z>2</z></b></s>"
    assert image(rules, document) == "<t><r><k>1</k><y>2</y></r><r><k>1</k><z>2</z></r></t>"


def test_a_node_without_any_value_does_not_exist() -> None:
    source = "<!ELEMENT s (a*)> <!ELEMENT a (x?, b*)> <!ELEMENT b (y?)> <!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)>"
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k?, q*)> <!ELEMENT q (l?)> <!ELEMENT k (#PCDATA)> <!ELEMENT l (#PCDATA)>"
    rules = mapping(source, target, "a/x -> r/k\na/b/y -> r/q/l")
    assert image(rules, "<s><a/><a><b/></a></s>") == "<t/>"
    assert image(rules, "<s><a><b><y>1</y></b><b/></a></s>") == "<t><r><q><l>1</l></q></r></t>"
    assert image(rules, "<s><a><x>1</x><b/></a></s>") == "<t><r><k>1</k></r></t>"


def test_leaves_that_the_root_owns() -> None:
    source = "<!ELEMENT s (head, a*)> <!ATTLIST s year CDATA #IMPLIED> <!ELEMENT head (x?)> \
<!ELEMENT a (x)> <!ELEMENT x (#PCDATA)>"
    target = "<!ELEMENT t (r*, foot?)> <!ATTLIST t y CDATA #IMPLIED> <!ELEMENT r (k, w?)> <!ELEMENT k (#PCDATA)> \
<!ELEMENT w (#PCDATA)> <!ELEMENT foot (k)>"
    rules = mapping(source, target, "@year -> @y\nhead/x -> foot/k\na/x -> r/k\nhead/x -> r/w")
    document = '<s year="5"><head><x>h</x></head><a><x>1</x></a></s>'
    assert image(rules, document) == '<t y="5"><r><k>1</k><w>h</w></r><foot><k>h</k></foot></t>'
    assert image(rules, "<s><head/></s>") == "<t/>"


def test_a_root_that_is_a_leaf() -> None:
    rules = mapping("<!ELEMENT s (#PCDATA)>", "<!ELEMENT t (r)> <!ELEMENT r (#PCDATA)>", "text() -> r")
    assert image(rules, "<s>a</s>") == "<t><r>a</r></t>"
    back = mapping("<!ELEMENT t (r)> <!ELEMENT r (#PCDATA)>", "<!ELEMENT s (#PCDATA)>", "r -> text()")
    assert image(back, "<t><r>a</r></t>") == "<s>a</s>"


def test_text_beside_attributes() -> None:
    source = '<!ELEMENT s (p*)> <!ELEMENT p (#PCDATA)> <!ATTLIST p c CDATA "EUR">'
    target = "<!ELEMENT t (q*)> <!ELEMENT q (#PCDATA)> <!ATTLIST q c CDATA #IMPLIED>"
    rules = mapping(source, target, "p/text() -> q/text()\np/@c -> q/@c")
    assert image(rules, '<s><p c="x">5</p><p c="x"/><p/></s>') == '<t><q c="x">5</q><q c="x"/></t>'


def test_boxes_on_the_source_side() -> None:
    source = """<!ELEMENT s (day, (red | green)*)> <!ELEMENT day (#PCDATA)> <!ELEMENT red (n?)> <!ELEMENT green (n?)>
<!ELEMENT n (#PCDATA)>"""
    target = "<!ELEMENT t (r*)> <!ELEMENT r (k, l?)> <!ELEMENT k (#PCDATA)> <!ELEMENT l (#PCDATA)>"
    rules = mapping(source, target, "source box Colour = (red | green)\n[Colour] -> r/k\n[Colour]/n -> r/l")
    document = "<s><day/><green><n>1</n></green><red/><dark_x0020_blue/><_x0000_/><n>7</n></s>"
    expected = ["<r><k>green</k><l>1</l></r>", "<r><k>red</k></r>", "<r><k>dark blue</k></r>", "<r><k/></r>"]
    assert image(rules, document) == f"<t>{''.join(expected)}</t>"


def test_a_box_whose_members_hold_text() -> None:
    source = "<!ELEMENT s (p*)> <!ELEMENT p (n, v)> <!ELEMENT n (#PCDATA)> <!ELEMENT v (#PCDATA)>"
    target = "<!ELEMENT t (red | green)*> <!ELEMENT red (#PCDATA)> <!ELEMENT green (#PCDATA)>"
    rules = mapping(source, target, "target box C = (red | green)\np/n -> [C]\np/v -> [C]/text()")
    document = "<s><p><n>green</n><v>1</v></p><p><n>big size</n><v/></p></s>"
    assert image(rules, document) == "<t><green>1</green><big_x0020_size/></t>"
    back = mapping(target, source, "source box C = (red | green)\n[C] -> p/n\n[C]/text() -> p/v")
    expected = "<s><p><n>green</n><v>1</v></p><p><n>big size</n></p></s>"
    assert image(back, image(rules, document)) == expected


def test_box_members_keep_their_places_between_other_children() -> None:
    source = "<!ELEMENT s (p*)> <!ELEMENT p (#PCDATA)>"
    target = "<!ELEMENT t (red*, x*, green*)> <!ELEMENT red EMPTY> <!ELEMENT green EMPTY> <!ELEMENT x (#PCDATA)>"
    rules = mapping(source, target, "target box C = (red | green)\np -> [C]\np -> x")
    assert image(rules, "<s><p>green</p><p>red</p></s>") == "<t><red/><x>green</x><x>red</x><green/></t>"


def test_a_node_in_a_box_needs_its_tag() -> None:
    source = "<!ELEMENT s (p*)> <!ELEMENT p (n?, v)> <!ELEMENT n (#PCDATA)> <!ELEMENT v (#PCDATA)>"
    target = "<!ELEMENT t (r*)> <!ELEMENT r (red | green)*> <!ATTLIST r k CDATA #IMPLIED> <!ELEMENT red (#PCDATA)> \
<!ELEMENT green (#PCDATA)>"
    rules = mapping(source, target, "target box C = r/(red | green)\np/n -> [C]\np/v -> [C]/text()\np/v -> r/@k")
    document = "<s><p><v>1</v></p><p><n>red</n><v>2</v></p></s>"
    assert image(rules, document) == '<t><r k="1"/><r k="2"><red>2</red></r></t>'


def test_copied_subtrees() -> None:
    inner = "<!ELEMENT {} (#PCDATA | b | list)*> <!ATTLIST {} lang CDATA #IMPLIED> <!ELEMENT b (#PCDATA)> \
<!ELEMENT list (item*)> <!ELEMENT item (list?)>"
    source = "<!ELEMENT s (p*)> <!ELEMENT p (n, text)> <!ELEMENT n (#PCDATA)> " + inner.format("text", "text")
    target = "<!ELEMENT t (q*)> <!ELEMENT q (k, body)> <!ELEMENT k (#PCDATA)> " + inner.format("body", "body")
    rules = mapping(source, target, "p/n -> q/k\np/text => q/body")
    content = "a <b>c</b> d<list><item><list/></item></list> e"
    document = (
        f'<s><p><n>1</n><text lang="x">{content}</text></p>\n<p><n>1</n><text lang="x">{content}</text></p>'
        "<p><n>1</n><text>a</text></p></s>"
    )
    assert rules.rules[0].head[1].copied == {("body",)}
    expected = f'<q><k>1</k><body lang="x">{content}</body></q><q><k>1</k><body>a</body></q>'
    assert image(rules, document) == f"<t>{expected}</t>"


def test_a_copied_element_that_repeats() -> None:
    source = "<!ELEMENT s (p*)> <!ELEMENT p (n, e*)> <!ELEMENT n (#PCDATA)> <!ELEMENT e (v*)> <!ELEMENT v (#PCDATA)>"
    target = "<!ELEMENT t (q*)> <!ELEMENT q (k, f*)> <!ELEMENT k (#PCDATA)> <!ELEMENT f (v*)> <!ELEMENT v (#PCDATA)>"
    rules = mapping(source, target, "p/n -> q/k\np/e => q/f")
    document = "<s><p><n>1</n><e><v>a</v><v>b</v></e><e/><e/></p></s>"
    assert image(rules, document) == "<t><q><k>1</k><f><v>a</v><v>b</v></f><f/></q></t>"


# -- documents that do not belong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("<MassGeneral/>", "the root element is MassGeneral, not MonGenHosp"),
        (montreal('<Patient ID="p"><Name>A</Name><Name>B</Name><Hist/></Patient>'), "Patient/Name stands there again"),
        (montreal('<Patient ID="p"><Name>A<b/></Name><Hist/></Patient>'), "Patient/Name holds elements"),
    ],
)
def test_a_document_that_would_lose_values_is_refused(document: str, said: str) -> None:
    with pytest.raises(MappingError) as caught:
        exchange(hospital(), parse_document(document, "d.xml"))
    assert caught.value.faults[0].code == "HX4040"
    assert said in str(caught.value)
    assert str(caught.value).startswith("d.xml:1:1: ")


def test_the_image_is_valid_where_arrows_supply_what_is_required() -> None:
    document = montreal(
        patient("p1", events=event("x", "1") + event("y", "2")),
        patient("p2", card="<MedCrNo>7</MedCrNo>", treats="<Treat><Date>1</Date><Desc>d</Desc></Treat>"),
        admission("p2", "Coronary", leave="<DisDate>2</DisDate>"),
        admission("p1", "Pulmonary"),
    )
    rules = hospital()
    assert validity_faults(exchange(rules, parse_document(document)), rules.target.graph) == ()
