"""What a rule set does to a document: each case of section 5 of the specification by itself."""

from __future__ import annotations

from collections import Counter

import pytest

from heptox.errors import MappingError
from heptox.mapping import ExchangeReceipt, HeadNode, Mapping, Rule, exchange, exchange_stored
from heptox.mapping.model import Condition, OptionalPart
from heptox.pattern import (
    TAG,
    Absence,
    Comparison,
    Constant,
    Leaf,
    Lookup,
    NoNode,
    Presence,
    Term,
    Text,
    Variable,
    computed_step,
)
from heptox.schema import TEXT, Box, Path, SchemaTree, parse_dtd, validity_faults
from heptox.store import Store
from heptox.xml import parse_document, write_document, write_element
from tests.mapping.building import as_set, hospital, image, mapping, text_set
from tests.support.oracle import by_the_letter


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
    assert image(rules, '<s><p c="x">5</p><p c="x"/><p/></s>') == '<t><q c="x">5</q><q c="x"/><q/></t>'


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
    expected = "<s><p><n>green</n><v>1</v></p><p><n>big size</n><v/></p></s>"
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


# -- what rules can say ------------------------------------------------------------------------------------------

LIBRARY = SchemaTree(
    parse_dtd(
        "<!ELEMENT lib (book*, house*, town*)> <!ELEMENT book (title?, by*)> <!ELEMENT title (#PCDATA)> "
        "<!ATTLIST book id CDATA #REQUIRED house CDATA #IMPLIED> <!ELEMENT by (alias*)> <!ATTLIST by n CDATA #IMPLIED> "
        "<!ELEMENT alias (#PCDATA)> <!ELEMENT house (name?)> <!ATTLIST house id CDATA #REQUIRED town CDATA #IMPLIED> "
        "<!ELEMENT name (#PCDATA)> <!ELEMENT town (#PCDATA)> <!ATTLIST town id CDATA #REQUIRED>",
        "lib",
    )
)
SHELVES = SchemaTree(
    parse_dtd(
        "<!ELEMENT shelf (item*, (old | new)*)> <!ELEMENT item (t?, h?, w?)> <!ATTLIST item k CDATA #IMPLIED> "
        "<!ELEMENT t (#PCDATA)> <!ELEMENT h (#PCDATA)> <!ELEMENT w (#PCDATA)> <!ELEMENT old (v?)> <!ELEMENT new (v?)> "
        "<!ELEMENT v (#PCDATA)>",
        "shelf",
    ),
    (Box("Age", (), ("old", "new")),),
)
LIB, BOOK, BY = Variable("l", ()), Variable("b", ("book",), "l"), Variable("y", ("book", "by"), "b")
ALIAS, HOUSE, TOWN = (
    Variable("a", ("book", "by", "alias"), "y"),
    Variable("h", ("house",), "l"),
    Variable("o", ("town",), "l"),
)
TITLE, ID, OF, NAME, IN = (
    Term("b", ("title",)), Term("b", ("@id",)), Term("b", ("@house",)), Term("h", ("name",)), Term("h", ("@town",))
)  # fmt: skip
ITEM = ("item",)
AT_HOUSE = OptionalPart(("h",), (Comparison("=", OF, Term("h", ("@id",))),))


def item(each: str | None = None, key: Path | None = None, **leaves: Term) -> tuple[HeadNode, ...]:
    paths = {"k": ("@k",)}
    found = tuple((paths.get(name, (name,)), leaves[name]) for name in ("k", "t", "h", "w") if name in leaves)
    return HeadNode(()), HeadNode(ITEM, found, each=each, key=key)


def shelf(document: str, *rules: Rule, conflicts: dict[Path, int] | None = None) -> str:
    """What rules make of the content of a library; the same word by word, and on a store."""
    found = Mapping(LIBRARY, SHELVES, rules, None)
    text, counted = f"<lib>{document}</lib>", ExchangeReceipt()
    made = exchange(found, parse_document(text), receipt=counted)
    expected = by_the_letter(found, text)
    assert as_set(made.root) == text_set(expected.text)
    assert counted.conflicts == expected.conflicts == Counter(conflicts or {})
    with Store.open(None, LIBRARY.graph, threads=1) as store:
        store.load("d", text.encode())
        on_store = ExchangeReceipt()
        assert "".join(exchange_stored(found, store, "d", pytest.fail, on_store)) == write_document(made.root)
        assert on_store == counted
    return write_element(made.root).removeprefix("<shelf>").removesuffix("</shelf>").replace("<shelf/>", "")


def book(number: str, title: str | None = None, house: str | None = None, content: str = "") -> str:
    at = f' house="{house}"' if house is not None else ""
    return f'<book id="{number}"{at}>{f"<title>{title}</title>" if title is not None else ""}{content}</book>'


def test_each_source_node_makes_a_node_of_its_own() -> None:
    titles = book("1", "T") + book("2", "T") + book("3")
    assert shelf(titles, Rule(item(t=TITLE), (LIB, BOOK))) == "<item><t>T</t></item>"
    assert shelf(titles, Rule(item("b", t=TITLE), (LIB, BOOK))) == "<item><t>T</t></item>" * 2 + "<item/>"


def test_codes_that_a_table_does_not_have_are_named_also_where_others_have_a_value() -> None:
    codes = (("T", "text"),)
    looked_up = (Lookup(Leaf(TITLE.path), codes, other, "t.csv") for other in (None, Constant("other")))
    known, all_others = (Term("b", (computed_step(each),)) for each in looked_up)
    for other in (known, all_others):
        mapping = Mapping(LIBRARY, SHELVES, (Rule(item("b", t=other), (LIB, BOOK)),), None)
        receipt, on_store = ExchangeReceipt(), ExchangeReceipt()
        text = f"<lib>{book('1', 'T')}{book('2', 'U')}</lib>"
        exchange(mapping, parse_document(text), receipt=receipt)
        with Store.open(None, LIBRARY.graph, threads=1) as store:
            store.load("d", text.encode())
            assert "other" in "".join(exchange_stored(mapping, store, "d", pytest.fail, on_store)) or other == known
        assert receipt.unknown_codes == on_store.unknown_codes == {("t.csv", "U")}


def test_several_rules_add_to_the_nodes_of_each() -> None:
    rules = Rule(item("b", t=TITLE), (LIB, BOOK)), Rule(item("b", h=OF), (LIB, BOOK), (Presence(OF),))
    assert shelf(book("1", "T", "h") + book("2", "U"), *rules) == "<item><t>T</t><h>h</h></item><item><t>U</t></item>"


def test_nodes_with_equal_keys_are_one_and_have_the_first_value_in_source_order() -> None:
    by_house = Rule(item(key=("h",), h=OF, t=TITLE, k=ID), (LIB, BOOK), (Presence(OF),))
    document = book("1", None, "h") + book("2", "T", "h") + book("3", "U", "h") + book("4", "V", "g") + book("5", "W")
    expected = '<item k="1"><t>T</t><h>h</h></item><item k="4"><t>V</t><h>g</h></item>'
    assert shelf(document, by_house, conflicts={("item", "t"): 1, ("item", "@k"): 1}) == expected


def test_source_order_decides_between_rules_too() -> None:
    """The value of the second rule stands before that of the first one."""
    house = Rule(item(key=("@k",), k=Term("h", ("@id",)), t=NAME), (LIB, HOUSE))
    books = Rule(item(key=("@k",), k=ID, t=TITLE), (LIB, BOOK))
    document = book("1", "B") + '<house id="1"><name>H</name></house>'
    assert shelf(document, house, books, conflicts={("item", "t"): 1}) == '<item k="1"><t>B</t></item>'


def test_nodes_with_different_kinds_of_identity_are_never_one() -> None:
    heads = item(t=TITLE), item("b", t=TITLE), item(key=("t",), t=TITLE)
    rules = [Rule(head, (LIB, BOOK), (Presence(TITLE),)) for head in heads]
    assert shelf(book("1", "T"), *rules) == "<item><t>T</t></item>" * 3


def test_each_in_a_box_has_the_tag_in_its_identity() -> None:
    def boxed(tag: Term) -> tuple[HeadNode, ...]:
        return HeadNode(()), HeadNode(("[Age]",), (((TAG,), tag), (("v",), ID)), each="b")

    rules = Rule(boxed(TITLE), (LIB, BOOK)), Rule(boxed(OF), (LIB, BOOK))
    document = book("1", "old", "old") + book("2", "old", "new") + book("3")
    assert shelf(document, *rules) == "<old><v>1</v></old><old><v>2</v></old><new><v>2</v></new>"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (book("1", "T", "h") + '<house id="h"><name>N</name></house>', "<item><t>T</t><h>N</h></item>"),
        (book("1", "T", "h") + '<house id="h"/>', "<item><t>T</t></item>"),
        (book("1", "T", "h") + '<house id="g"><name>N</name></house>', "<item><t>T</t></item>"),
        (book("1", "T") + '<house id="h"><name>N</name></house>', "<item><t>T</t></item>"),
    ],
    ids=["present", "without the leaf", "dangling", "absent"],
)
def test_an_optional_reference(document: str, expected: str) -> None:
    rule = Rule(item("b", t=TITLE, h=NAME), (LIB, BOOK, HOUSE), (), (AT_HOUSE,))
    assert shelf(document, rule) == expected


def test_what_is_behind_a_link_has_to_be_there_when_it_is_entered() -> None:
    link, behind = AT_HOUSE.conditions[0], Comparison("=", IN, Term("o", ("@id",)))
    rule = Rule(
        item("b", k=ID, w=Term("o", (TEXT,))), (LIB, BOOK, HOUSE, TOWN), (), (OptionalPart(("h", "o"), (link, behind)),)
    )
    houses = '<house id="h" town="o"/><house id="g" town="x"/><house id="f"/><town id="o">O</town>'
    document = book("1", house="h") + book("2", house="g") + book("3", house="f") + book("4", house="e") + book("5")
    expected = '<item k="1"><w>O</w></item><item k="4"/><item k="5"/>'
    assert shelf(document + houses, rule) == expected


def test_a_part_behind_another_one_is_unbound_with_it() -> None:
    further = OptionalPart(("o",), (Comparison("=", IN, Term("o", ("@id",))),))
    rule = Rule(item("b", k=ID, h=NAME, w=Term("o", (TEXT,))), (LIB, BOOK, HOUSE, TOWN), (), (AT_HOUSE, further))
    houses = '<house id="h" town="o"><name>N</name></house><house id="g"><name>M</name></house><town id="o">O</town>'
    document = book("1", house="h") + book("2", house="g") + book("3")
    expected = '<item k="1"><h>N</h><w>O</w></item><item k="2"><h>M</h></item><item k="3"/>'
    assert shelf(document + houses, rule) == expected


def test_an_optional_chain_of_children() -> None:
    """One author with two aliases, one without: who has none makes no binding beside those of the other."""
    rule = Rule(item(k=ID, t=Term("a")), (LIB, BOOK, BY, ALIAS), (), (OptionalPart(("y", "a")),))
    document = book("1", content="<by><alias>x</alias><alias>y</alias></by><by/>") + book("2", content="<by/>")
    expected = '<item k="1"><t>x</t></item><item k="1"><t>y</t></item><item k="2"/>'
    assert shelf(document + book("3"), rule) == expected + '<item k="3"/>'


def test_parts_below_parts() -> None:
    parts = OptionalPart(("y",)), OptionalPart(("a",))
    rule = Rule(item(k=ID, h=Term("y", ("@n",)), t=Term("a")), (LIB, BOOK, BY, ALIAS), (), parts)
    document = book("1", content='<by n="p"><alias>x</alias></by><by n="q"/>') + book("2")
    expected = '<item k="1"><t>x</t><h>p</h></item><item k="1"><h>q</h></item><item k="2"/>'
    assert shelf(document, rule) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Presence(TITLE), "13"),
        (Absence(TITLE), "2"),
        (Comparison("!=", TITLE, Text("T")), "3"),
        (NoNode("b", ("book", "by")), "2"),
        (NoNode("b", ("book", "by", "alias")), "12"),
        (NoNode("b", ("book", "by"), ((("@n",), None),)), "23"),
        (NoNode("b", ("book", "by"), ((("@n",), Text("p")),)), "23"),
        (NoNode("b", ("book", "by", "alias"), (((), TITLE),)), "12"),
        (NoNode("l", ("house",), ((("@id",), OF),)), "23"),
        (NoNode("l", ("house",), ((("@id",), OF), (("name",), None))), "123"),
        (NoNode("l", ("house",), ((("@id",), OF), (("@town",), Text("o")))), "23"),
    ],
    ids=str,
)
def test_conditions(condition: Condition, expected: str) -> None:
    document = (
        book("1", "T", "h", '<by n="p"/>') + book("2", house="g") + book("3", "", content="<by><alias/></by>")
        + '<house id="h" town="o"/>'
    )  # fmt: skip
    rule = Rule(item("b", k=ID), (LIB, BOOK), (condition,))
    assert shelf(document, rule) == "".join(f'<item k="{number}"/>' for number in expected)


def test_a_node_whose_source_node_is_not_bound_does_not_exist() -> None:
    rule = Rule(item("h", k=ID), (LIB, BOOK, HOUSE), (), (AT_HOUSE,))
    assert shelf(book("1", house="h") + book("2") + '<house id="h"/>', rule) == '<item k="1"/>'


def test_without_rules_in_this_direction_nothing_is_exchanged() -> None:
    with pytest.raises(MappingError) as caught:
        exchange(Mapping(LIBRARY, SHELVES, (), None).mirrored(), parse_document("<shelf/>"))
    assert caught.value.faults[0].code == "HX4024"


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


GATHERED = """string-join(line/note, ";") -> notes
string-join(line/part/name, "") -> first/name
string-join(line[@kind = "a"]/part/name, ",") -> first/kind
"""


def test_the_root_gathers_the_values_of_what_repeats_within_what_repeats() -> None:
    """Whatever else the root takes, no bindings multiply; where nothing is gathered, the leaf is absent."""
    rules = mapping(
        "<!ELEMENT s (line*)> <!ELEMENT line (part*, note*)> <!ATTLIST line kind CDATA #IMPLIED> "
        "<!ELEMENT part (name?)> <!ELEMENT name (#PCDATA)> <!ELEMENT note (#PCDATA)>",
        "<!ELEMENT t (notes?, first?)> <!ELEMENT notes (#PCDATA)> <!ELEMENT first (name?, kind?)> "
        "<!ELEMENT name (#PCDATA)> <!ELEMENT kind (#PCDATA)>",
        GATHERED,
    )
    assert [len(rule.variables) for rule in rules.rules] == [1]
    document = (
        '<s><line kind="a"><part><name>x</name></part><part/><note>1</note></line>'
        '<line><part><name>y</name></part><note>2</note></line><line kind="a"><part><name>z</name></part></line></s>'
    )
    expected = "<t><notes>1;2</notes><first><name>xyz</name><kind>x,z</kind></first></t>"
    assert image(rules, document) == expected
    assert image(rules, "<s><line><note>1</note></line></s>") == "<t><notes>1</notes></t>"
