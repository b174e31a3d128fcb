"""What is suggested, with which reasons, and what never is."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.mapping import Suggestion, suggest
from heptox.schema import Box, SchemaTree, random_document, read_dtd, read_schema
from heptox.xml import Document, parse_document
from tests.mapping.suggesting.schemas import codes, tree

COURSES: Final = Path(__file__).parents[3] / "examples" / "courses"
CLIENTS = tree("""
<!ELEMENT shop (client*)> <!ELEMENT client (surname, birthday, address, visit*)> <!ATTLIST client id ID #REQUIRED>
<!ELEMENT address (street, zip, city)> <!ELEMENT visit (day, spent)>
<!ELEMENT surname (#PCDATA)> <!ELEMENT birthday (#PCDATA)> <!ELEMENT street (#PCDATA)> <!ELEMENT zip (#PCDATA)>
<!ELEMENT city (#PCDATA)> <!ELEMENT day (#PCDATA)> <!ELEMENT spent (#PCDATA)>
""")
GUESTS = tree("""
<!ELEMENT house (guests)> <!ELEMENT guests (guest*)>
<!ELEMENT guest (id, lastName, street, zipCode, city, stay*)> <!ELEMENT stay (from, paid)>
<!ELEMENT id (#PCDATA)> <!ELEMENT lastName (#PCDATA)> <!ELEMENT street (#PCDATA)> <!ELEMENT zipCode (#PCDATA)>
<!ELEMENT city (#PCDATA)> <!ELEMENT from (#PCDATA)> <!ELEMENT paid (#PCDATA)>
""")


def lines(suggestions: tuple[Suggestion, ...]) -> set[str]:
    return set(map(str, suggestions))


def named(suggestions: tuple[Suggestion, ...], line: str) -> Suggestion:
    return next(each for each in suggestions if str(each) == line)


def document(text: str) -> Document:
    return parse_document(text)


def test_leaves_are_found_under_other_names_and_other_nesting() -> None:
    assert lines(suggest(CLIENTS, GUESTS)) >= {
        "client/surname -> guests/guest/lastName",
        "client/address/street -> guests/guest/street",
        "client/address/city -> guests/guest/city",
        "client/@id -> guests/guest/id",
    }


def test_reasons_are_sentences_with_the_weightiest_first() -> None:
    found = named(suggest(CLIENTS, GUESTS), "client/address/city -> guests/guest/city")
    assert [reason.kind for reason in found.reasons][:1] == ["names"]
    assert found.reasons[0].text == "Both are called city."
    assert all(reason.text.endswith(".") for each in suggest(CLIENTS, GUESTS) for reason in each.reasons)


def test_schemas_with_nothing_in_common_give_nothing() -> None:
    sky = tree("<!ELEMENT sky (star*)> <!ELEMENT star (magnitude)> <!ELEMENT magnitude (#PCDATA)>")
    zoo = tree("<!ELEMENT zoo (cage*)> <!ELEMENT cage (keeper)> <!ELEMENT keeper (#PCDATA)>")
    assert suggest(sky, zoo) == ()


def test_a_root_that_holds_only_text_has_nothing_to_draw() -> None:
    note = tree("<!ELEMENT note (#PCDATA)>")
    assert suggest(note, note) == ()


def test_text_beside_attributes_is_a_leaf() -> None:
    one = tree("<!ELEMENT r (price*)> <!ELEMENT price (#PCDATA)> <!ATTLIST price currency CDATA #REQUIRED>")
    other = tree("<!ELEMENT s (good*)> <!ELEMENT good (price)> <!ELEMENT price (#PCDATA)>"
                 "<!ATTLIST good currency CDATA #REQUIRED>")  # fmt: skip
    assert lines(suggest(one, other)) == {"price/text() -> good/price", "price/@currency -> good/@currency"}


# -- structure ---------------------------------------------------------------------------------------------------


def test_the_same_name_goes_where_its_neighbours_go() -> None:
    dtd = """<!ELEMENT {0} ({1}*, {2}*)> <!ELEMENT {1} (date, {3}, {4})> <!ELEMENT {2} (date, {5}, {6})>
             <!ELEMENT date (#PCDATA)> <!ELEMENT {3} (#PCDATA)> <!ELEMENT {4} (#PCDATA)> <!ELEMENT {5} (#PCDATA)>
             <!ELEMENT {6} (#PCDATA)>"""
    one = tree(dtd.format("r", "visit", "bill", "doctor", "room", "amount", "currency"))
    other = tree(dtd.format("s", "entry", "record", "amount", "currency", "doctor", "room"))
    found = lines(suggest(one, other))
    assert {"visit/date -> record/date", "bill/date -> entry/date"} <= found
    assert not {"visit/date -> entry/date", "bill/date -> record/date"} & found


def test_drawn_arrows_raise_what_stands_near_them() -> None:
    dtd = "<!ELEMENT {} (a*, b*)> <!ELEMENT a (name, {})> <!ELEMENT b (name, {})> <!ELEMENT name (#PCDATA)>" + "".join(
        f"<!ELEMENT {name} (#PCDATA)>" for name in ("weight", "mass", "colour", "hue")
    )
    one, other = tree(dtd.format("r", "weight", "colour")), tree(dtd.format("s", "hue", "mass"))
    undecided = {str(each): each.confidence for each in suggest(one, other)}
    crossed = suggest(one, other, drawn=[(("a", "weight"), ("b", "mass"))])
    assert undecided.get("a/name -> b/name", 0.0) < named(crossed, "a/name -> b/name").confidence
    assert "a/weight -> b/mass" not in lines(crossed)


def test_unknown_drawn_arrows_are_passed_over() -> None:
    drawn = [(("client", "nothing"), ("guests", "guest", "city")), (("client", "surname"), ("nobody",))]
    assert suggest(CLIENTS, GUESTS, drawn=drawn) == suggest(CLIENTS, GUESTS)


def test_types_decide_between_like_names() -> None:
    one = tree("<!ELEMENT r (x*)> <!ELEMENT x EMPTY> <!ATTLIST x person_no ID #REQUIRED>")
    other = tree("<!ELEMENT r (x*)> <!ELEMENT x EMPTY> <!ATTLIST x person_num IDREF #REQUIRED person_nr ID #REQUIRED>")
    found = suggest(one, other)
    assert str(found[0]) == "x/@person_no -> x/@person_nr"
    assert "types" in [reason.kind for reason in found[0].reasons]
    assert "x/@person_no -> x/@person_num" not in lines(found)


# -- what a mapping does not take --------------------------------------------------------------------------------


def test_mixed_content_is_copied_whole_where_it_is_declared_alike() -> None:
    text = "<!ELEMENT text (#PCDATA | b)*> <!ELEMENT b (#PCDATA)> <!ATTLIST b c CDATA #IMPLIED>"
    one = tree("<!ELEMENT r (item*)> <!ELEMENT item (name, text)> <!ELEMENT name (#PCDATA)>" + text)
    other = tree("<!ELEMENT s (thing*)> <!ELEMENT thing (name, text)> <!ELEMENT name (#PCDATA)>" + text)
    found = suggest(one, other)
    assert lines(found) == {"item/name -> thing/name", "item/text => thing/text"}
    assert [reason.kind for reason in named(found, "item/text => thing/text").reasons][-1:] != []
    assert codes(one, other, found) == set()


def test_mixed_content_that_is_declared_otherwise_is_not_copied() -> None:
    one = tree("<!ELEMENT r (text*)> <!ELEMENT text (#PCDATA | b)*> <!ELEMENT b (#PCDATA)>")
    other = tree("<!ELEMENT r (text*)> <!ELEMENT text (#PCDATA | i)*> <!ELEMENT i (#PCDATA)>")
    assert suggest(one, other) == ()


def test_nothing_is_suggested_below_a_copy_that_is_drawn() -> None:
    dtd = "<!ELEMENT {0} (item*)> <!ELEMENT item (name, part)> <!ELEMENT part (code)> <!ELEMENT name (#PCDATA)>" \
          "<!ELEMENT code (#PCDATA)>"  # fmt: skip
    one, other = tree(dtd.format("r")), tree(dtd.format("s"))
    assert "item/part/code -> item/part/code" in lines(suggest(one, other))
    found = suggest(one, other, drawn=[(("item", "part"), ("item", "part"))])
    assert lines(found) == {"item/name -> item/name"}


def test_no_copy_is_suggested_above_an_arrow_that_is_drawn() -> None:
    dtd = "<!ELEMENT {} (text*)> <!ELEMENT text (#PCDATA | b)*> <!ATTLIST text lang CDATA #IMPLIED>" \
          "<!ELEMENT b (#PCDATA)>"  # fmt: skip
    one, other = tree(dtd.format("r")), tree(dtd.format("s"))
    assert lines(suggest(one, other)) == {"text => text"}
    found = suggest(one, other, drawn=[(("text", "@lang"), ("text", "@lang"))])
    assert "text => text" not in lines(found)


def test_what_a_root_owns_takes_one_leaf_that_a_root_owns() -> None:
    one = tree("<!ELEMENT r (title, book*)> <!ELEMENT book (title)> <!ELEMENT title (#PCDATA)>")
    other = tree("<!ELEMENT s (info)> <!ELEMENT info (title)> <!ELEMENT title (#PCDATA)>")
    assert lines(suggest(one, other)) == {"title -> info/title"}
    books = tree("<!ELEMENT r (book*)> <!ELEMENT book (title)> <!ELEMENT title (#PCDATA)>")
    assert suggest(books, other) == ()
    assert lines(suggest(other, books)) == {"info/title -> book/title"}


def test_a_recursion_is_entered_once() -> None:
    dtd = "<!ELEMENT {0} (part*)> <!ELEMENT part (code, {1}, part*)> <!ELEMENT code (#PCDATA)> <!ELEMENT {1} (#PCDATA)>"
    one, other = tree(dtd.format("r", "weight")), tree(dtd.format("s", "colour"))
    found = suggest(one, other)
    assert lines(found) == {"part/code -> part/code"}
    assert codes(one, other, found) == set()


# -- values ------------------------------------------------------------------------------------------------------

FEVERS = ("Fever", "Cough", "Chills", "Nausea", "Fatigue", "Vertigo")
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve", "Flo")
WARD = tree("<!ELEMENT ward (p*)> <!ELEMENT p (x, y)> <!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)>")
UNIT = tree("<!ELEMENT unit (q*)> <!ELEMENT q (who, what)> <!ELEMENT who (#PCDATA)> <!ELEMENT what (#PCDATA)>")


def ward() -> Document:
    return document(
        "<ward>" + "".join(f"<p><x>{f}</x><y>{n}</y></p>" for f, n in zip(FEVERS, NAMES, strict=True)) + "</ward>"
    )


def unit() -> Document:
    pairs = zip(reversed(NAMES), FEVERS, strict=True)
    return document("<unit>" + "".join(f"<q><who>{n}</who><what>{f}</what></q>" for n, f in pairs) + "</unit>")


def test_values_tell_what_names_do_not() -> None:
    assert suggest(WARD, UNIT) == ()
    found = suggest(WARD, UNIT, source_documents=[ward()], target_documents=[unit()])
    assert lines(found) == {"p/x -> q/what", "p/y -> q/who"}
    assert found[0].reasons[0].kind == "values"
    assert found[0].reasons[0].text == "6 of 6 values that are known are the same."


def test_the_order_and_number_of_documents_do_not_matter() -> None:
    halves = [document(f"<ward><p><x>{f}</x><y>{n}</y></p></ward>") for f, n in zip(FEVERS, NAMES, strict=True)]
    at_once = suggest(WARD, UNIT, source_documents=[ward()], target_documents=[unit()])
    for documents in (halves, halves[::-1]):
        assert suggest(WARD, UNIT, source_documents=documents, target_documents=[unit()]) == at_once


def test_documents_of_another_root_and_undeclared_elements_are_passed_over() -> None:
    strange = [document("<zoo><p><x>Fever</x></p></zoo>"), document("<ward><z a='Fever'>Fever</z></ward>")]
    assert suggest(WARD, UNIT, source_documents=strange, target_documents=[unit()]) == ()


BOXED = tree("<!ELEMENT unit (fever*, cough*)> <!ELEMENT fever (day)> <!ELEMENT cough (day)> <!ELEMENT day (#PCDATA)>",
             Box("Kind", (), ("fever", "cough")))  # fmt: skip
SIGNS = tree("<!ELEMENT ward (sign*)> <!ELEMENT sign (seen, day)> <!ELEMENT seen (#PCDATA)> <!ELEMENT day (#PCDATA)>")


def test_values_that_are_tags_go_to_the_box_and_back() -> None:
    samples = [
        document("<ward><sign><seen>fever</seen><day>1</day></sign><sign><seen>cough</seen><day>2</day></sign></ward>")
    ]
    there = suggest(SIGNS, BOXED, source_documents=samples)
    assert lines(there) == {"sign/seen -> [Kind]", "sign/day -> [Kind]/day"}
    assert named(there, "sign/seen -> [Kind]").target == ("[Kind]",)
    assert codes(SIGNS, BOXED, there) == set()
    assert lines(suggest(BOXED, SIGNS, target_documents=samples)) == {"[Kind] -> sign/seen", "[Kind]/day -> sign/day"}


def test_boxes_with_the_same_tags_correspond() -> None:
    other = SchemaTree(BOXED.graph, (Box("Sort", (), ("fever", "cough")),))
    assert "[Kind] -> [Sort]" in lines(suggest(BOXED, other))


def test_drawn_tags_are_not_suggested_again() -> None:
    other = SchemaTree(BOXED.graph, (Box("Sort", (), ("fever", "cough")),))
    assert lines(suggest(BOXED, other, drawn=[(("[Kind]",), ("[Sort]",))])) == {"[Kind]/day -> [Sort]/day"}


def test_siblings_that_cannot_be_told_apart_are_both_suggested() -> None:
    apart = tree(
        "<!ELEMENT unit (fever*, cough*)> <!ELEMENT fever (day)> <!ELEMENT cough (day)> <!ELEMENT day (#PCDATA)>"
    )
    assert lines(suggest(SIGNS, apart)) == {"sign/day -> cough/day", "sign/day -> fever/day"}


def test_a_leaf_that_has_its_arrow_is_not_suggested_to_what_is_left() -> None:
    """That the name of a leaf has the words of its owner makes it nobody else's partner once its arrow is drawn."""
    reed, wsu = (SchemaTree(read_dtd(str(COURSES / f"{name}.dtd"))) for name in ("reed", "wsu"))
    first = suggest(reed, wsu)
    more = suggest(reed, wsu, drawn=[(one.source, one.target) for one in first])
    taken = {end for one in first for end in (one.source, one.target)}
    assert [str(one) for one in more if one.confidence > 0.6 or taken & {one.source, one.target}] == []


def test_of_siblings_that_cannot_be_told_apart_the_other_is_still_suggested_when_one_is_drawn() -> None:
    dtd = "<!ELEMENT unit (fever*, cough*)> <!ELEMENT fever (day)> <!ELEMENT cough (day)> <!ELEMENT day (#PCDATA)>"
    found = suggest(SIGNS, tree(dtd), drawn=[(("sign", "day"), ("cough", "day"))])
    assert lines(found) == {"sign/day -> fever/day"}


# -- size --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("repeats", [1, 4])
def test_random_documents_of_any_size_are_sampled(repeats: int) -> None:
    texts = [random_document(CLIENTS.graph, Random(seed), repeats=repeats) for seed in range(3)]
    found = suggest(CLIENTS, GUESTS, source_documents=[document(text) for text in texts])
    assert "client/address/city -> guests/guest/city" in lines(found)


def test_a_schema_whose_tree_is_much_larger_than_its_graph() -> None:
    """Each level doubles the tree: 12 levels are 8,000 paths of one leaf, and only like ways are compared."""
    levels = 12
    dtd = "<!ELEMENT r (l0*, r0*)>" + "".join(
        f"<!ELEMENT l{n} (v, l{n + 1}*, r{n + 1}*)> <!ELEMENT r{n} (v, l{n + 1}*, r{n + 1}*)>" for n in range(levels)
    )
    dtd += f"<!ELEMENT l{levels} (v)> <!ELEMENT r{levels} (v)> <!ELEMENT v (#PCDATA)>"
    found = suggest(tree(dtd), tree(dtd))
    assert len(found) == 2 ** (levels + 2) - 2
    assert all(each.source == each.target for each in found)


def test_only_suggesting_loads_the_library_of_names() -> None:
    program = "import sys, heptox.mapping; assert 'rapidfuzz' not in sys.modules; heptox.mapping.suggest; " \
              "assert 'rapidfuzz' in sys.modules"  # fmt: skip
    subprocess.run([sys.executable, "-c", program], check=True, timeout=180)


def test_of_a_large_schema_what_stands_near_the_root_or_arrows_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.mapping.suggesting.outline.MOST_WALKED", 10)
    monkeypatch.setattr("heptox.mapping.suggesting.outline.NEAREST", 3)
    names = [f"e{n}" for n in range(12)]
    dtd = "".join(f"<!ELEMENT {one} (name, {other}*)>" for one, other in pairwise(names))
    sides = [tree(f"{dtd}<!ELEMENT e11 EMPTY><!ELEMENT name (#PCDATA)>") for _ in range(2)]
    assert {len(each.source) for each in suggest(*sides)} == {1, 2}
    far = ("e1", "e2", "e3", "e4", "e5", "name")
    assert {len(each.source) for each in suggest(*sides, drawn=[(far, far)])} == {1, 2, 3, 4, 5}


def test_element_types_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """In an XSD two elements of a name may have other attributes: each arrow leads to what is there."""

    def code(attribute: str) -> str:
        content = f'<xs:extension base="xs:string"><xs:attribute name="{attribute}"/></xs:extension>'
        return f"<xs:simpleContent>{content}</xs:simpleContent>"

    parts = "".join(
        f'<xs:element name="{part}" maxOccurs="unbounded"><xs:complexType><xs:sequence><xs:element name="code">'
        f"<xs:complexType>{code(attribute)}</xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>"
        for part, attribute in (("tax", "rate"), ("place", "list"))
    )
    xsd = tmp_path / "codes.xsd"
    xsd.write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="codes"><xs:complexType>'
        f"<xs:sequence>{parts}</xs:sequence></xs:complexType></xs:element></xs:schema>"
    )
    codes_tree = SchemaTree(read_schema(xsd))
    assert lines(suggest(codes_tree, codes_tree)) == {
        "tax/code/text() -> tax/code/text()", "tax/code/@rate -> tax/code/@rate",
        "place/code/text() -> place/code/text()", "place/code/@list -> place/code/@list",
    }  # fmt: skip
