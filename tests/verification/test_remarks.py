"""Remarks say what a mapping does to documents, and propose only lines that were tried."""

from __future__ import annotations

from importlib import import_module
from random import Random
from typing import Final

import pytest

from heptox.mapping import ArrowsText, Correspondence, Mapping
from heptox.schema import Path, parse_dtd
from heptox.verification import Law, Remark, checked, random_documents, remarks
from heptox.verification.round_trips import entity_line, sound_with
from heptox.xml import parse_document
from tests.support.random_mappings import random_problem

SHOP: Final = """<!ELEMENT shop (item*, maker*)> <!ELEMENT item (title, year?, subject*)> <!ELEMENT title (#PCDATA)>
<!ATTLIST item by IDREF #IMPLIED> <!ELEMENT maker (name)> <!ATTLIST maker id ID #REQUIRED>
<!ELEMENT name (#PCDATA)> <!ELEMENT year (#PCDATA)> <!ELEMENT subject (#PCDATA)>"""
LIB: Final = """<!ELEMENT lib (shelf*)> <!ELEMENT shelf (book*)> <!ELEMENT book (name, published?, maker?, topic*)>
<!ELEMENT name (#PCDATA)> <!ELEMENT published (#PCDATA)> <!ELEMENT maker (#PCDATA)> <!ELEMENT topic (#PCDATA)>"""
ALL: Final = "item/title -> shelf/book/name\nitem/year -> shelf/book/published\nitem/subject -> shelf/book/topic\n"
MADE: Final = f"{ALL}maker/name -> shelf/book/maker\n"


def written(lines: str, source: str = SHOP, target: str = LIB) -> ArrowsText:
    dtds = {"s.dtd": source, "t.dtd": target}
    roots = {file: dtd.split(None, 2)[1] for file, dtd in dtds.items()}
    return ArrowsText(f'source "s.dtd"\ntarget "t.dtd"\n{lines}', lambda file, _: parse_dtd(dtds[file], roots[file]))


def sound(arrows: ArrowsText) -> Mapping:
    examined = arrows.examined()
    assert examined.sound is not None and not examined.faults
    return examined.sound


def told(arrows: ArrowsText, *documents: str) -> list[str]:
    return [str(remark) for remark in remarks(sound(arrows), arrows, list(map(parse_document, documents)))]


def test_nodes_that_become_one_and_the_line_for_each_of_its_own() -> None:
    arrows = written(ALL)
    line = "write, if each is its own: each item -> shelf/book"
    book = f"along: all shelf/book below one shelf with equal name and published become one ({line})"
    item = f"against: all item of a document with equal title and year become one ({line})"
    assert {book, item} <= set(told(arrows))
    assert not {book, item} & set(told(arrows.with_line("each item -> shelf/book")))
    assert item not in told(arrows.with_line("source key item/title"))


def test_a_node_without_leaves_of_its_own_is_one_for_all() -> None:
    found = told(written(ALL))
    (shelf,) = (text for text in found if "there is one shelf" in text)
    assert shelf.startswith("along: there is one shelf for the whole document: no leaf of its own tells several apart")


def test_a_key_of_the_document_tells_nodes_apart() -> None:
    arrows = written("maker/@id -> shelf/book/name\nmaker/name -> shelf/book/maker")
    assert not any(text.startswith("along: all shelf/book") for text in told(arrows))


def test_what_a_key_tells_apart_where_it_is_there_is_told_of_the_others() -> None:
    found = told(written("target key shelf/book/maker\nitem/title -> shelf/book/name\nitem/year -> shelf/book/maker"))
    (text,) = (text for text in found if text.startswith("along: all shelf/book "))
    assert "below one shelf without maker, with equal name become one" in text


def test_optional_connections_are_told_with_what_is_absent_without_them() -> None:
    text = "where no maker/@id equals item/@by, there is no shelf/book/maker: the connection is optional"
    assert f"along: {text}" in told(written(MADE))


def test_several_values_for_a_leaf_that_is_there_once_are_counted() -> None:
    document = (
        "<shop><item><title>x</title><year>1</year></item><item><title>x</title><year>2</year></item>"
        "<item><title>y</title><year>3</year></item></shop>"
    )
    arrows = written(f"{ALL}target key shelf/book/name\n")
    several = (
        "along: 1 shelf/book get several values for shelf/book/published, which is there once: one of them stays,"
        " and translation promises nothing for these documents"
    )
    assert several in told(arrows, document)
    assert not any("several values" in text for text in told(written(ALL), document))


def test_what_makes_nothing_is_counted_and_mended() -> None:
    document = (
        '<shop><item by="m"><title>x</title></item><item><title>y</title></item>'
        '<maker id="m"><name>a</name></maker><maker id="n"><name>b</name></maker></shop>'
    )
    assert "along: 1 of 2 maker make nothing: no item refers to them" in told(written(MADE), document)
    only = written("item/subject -> shelf/book/topic\nitem/title -> shelf/book/topic")
    assert not any("make nothing" in text for text in told(only, document))
    subjects = written("item/subject -> shelf/book/topic\nitem/title -> shelf/book/name oneway")
    assert not any("make nothing" in text for text in told(subjects, document))


def test_nodes_that_lack_what_is_below_them_make_nothing() -> None:
    target = "<!ELEMENT lib (topic*)> <!ELEMENT topic (#PCDATA)> <!ATTLIST topic of CDATA #IMPLIED>"
    arrows = written("item/subject -> topic/text()\nitem/title -> topic/@of", target=target)
    document = "<shop><item><title>x</title></item><item><title>y</title><subject>z</subject></item></shop>"
    assert any(
        text.startswith("along: 1 of 2 item make nothing: they have no item/subject") for text in told(arrows, document)
    )


def test_leaves_that_do_not_come_back_are_named_with_the_reason() -> None:
    found = told(
        written(
            "item/title -> shelf/book/name\nitem/subject -> shelf/book/topic oneway\nmaker/name -> shelf/book/maker"
        )
    )
    assert "along: 5 of 6 leaves of the source are used, not item/year" in found
    assert "along: 2 leaves of the source do not come back, used in conditions only: item/@by, maker/@id" in found
    assert "along: 1 leaf of the source does not come back, read in one direction only: item/subject" in found


def test_what_refers_to_a_key_that_comes_back_comes_back_with_it() -> None:
    staff = "<!ELEMENT s (emp*)> <!ELEMENT emp (name, pay)> <!ATTLIST emp no ID #REQUIRED> <!ELEMENT name (#PCDATA)>"
    people = """<!ELEMENT t (person*, deal*)> <!ELEMENT person (name)> <!ATTLIST person id ID #REQUIRED>
<!ELEMENT name (#PCDATA)> <!ELEMENT deal (pay)> <!ATTLIST deal of IDREF #REQUIRED> <!ELEMENT pay (#PCDATA)>"""
    lines = """target reference deal/@of -> person/@id
emp/@no -> person/@id
emp/@no -> deal/@of
emp/name -> person/name
emp/pay -> deal/pay
each emp -> person
each emp -> deal oneway"""
    found = told(written(lines, staff + " <!ELEMENT pay (#PCDATA)>", people))
    assert not any("come back" in text for text in found)


def test_an_arrow_between_like_names_is_proposed() -> None:
    target = LIB.replace("published", "year")
    arrows = written("item/title -> shelf/book/name", target=target)
    (found,) = (
        one
        for one in remarks(sound(arrows), arrows)
        if one.direction is Law.ALONG and " are used, not item" in one.text
    )
    assert found.hint == "perhaps: item/year -> shelf/book/year"
    assert "item/year" not in str([one.text for one in remarks(sound(arrows.with_line(found.hint[9:])))])


def test_what_several_arrows_bring_comes_back_in_each_place() -> None:
    found = told(written("item/title -> shelf/book/name\nmaker/name -> shelf/book/name"))
    assert any(
        text.startswith("along: shelf/book/name takes item/title and maker/name: what it takes") for text in found
    )


def test_references_that_nothing_declares() -> None:
    source = SHOP.replace("<!ATTLIST item by", "<!ATTLIST item maker")
    source += "<!ATTLIST item no ID #IMPLIED>"
    (found,) = (text for text in told(written(ALL, source)) if "nothing says" in text)
    assert found.startswith("along: nothing says which keys these refer to, and no rule follows them: item/@maker")
    assert found.endswith("(write, if it is so: source reference item/@maker -> maker/@id)")


def test_a_direction_without_rules() -> None:
    assert [one.text.split(":")[0] for one in remarks(sound(written("")))] == ["0 rules", "0 rules"]
    oneway = written("item/title -> shelf/book/name oneway")
    assert "against: 0 rules: nothing that is asked in the words of the source is translated" in told(oneway)


def test_remarks_of_the_mirrored_reading_have_their_line() -> None:
    target = "<!ELEMENT lib (at?, book*)> <!ELEMENT at (#PCDATA)> <!ELEMENT book (#PCDATA)>"
    source = "<!ELEMENT shop (town?, item*)> <!ELEMENT town (#PCDATA)> <!ELEMENT item (#PCDATA)>"
    arrows = written("town -> book\nitem -> book", source, target)
    (found,) = (one for one in remarks(sound(arrows), arrows) if one.code)
    assert (found.direction, found.code, found.line) == (Law.AGAINST, "HX4026", 3)


@pytest.mark.parametrize("tries", [0, 1, 100])
def test_no_more_lines_are_tried_than_asked_for(tries: int) -> None:
    arrows = written(MADE)
    found = remarks(sound(arrows), arrows, tries=tries)
    assert [one.text for one in found] == [one.text for one in remarks(sound(arrows), arrows)]
    assert sum(one.hint is not None for one in found) >= min(tries, 1)
    assert tries or not any("each" in (one.hint or "") for one in found)


def test_of_very_many_rules_only_each_lines_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    arrows = written("item/title -> shelf/book/name", target=LIB.replace("published", "year"))
    hints = [one.hint for one in remarks(sound(arrows), arrows)]
    assert "perhaps: item/year -> shelf/book/year" in hints
    monkeypatch.setattr(import_module("heptox.verification.remarks"), "MOST_RULES", 0)
    few = {one.hint for one in remarks(sound(arrows), arrows)}
    assert few == {*hints, None} - {"perhaps: item/year -> shelf/book/year"}


@pytest.mark.parametrize("seed", [15, 18, 36, 53, 368])
def test_an_each_line_tried_for_its_nodes_makes_what_it_makes_in_the_text(seed: int) -> None:
    problem = random_problem(Random(seed))
    arrows = written(problem.arrows, problem.source, problem.target)
    examined, mapping = arrows.examined(), sound(arrows)
    for mirrored, rules in ((False, mapping.along or ()), (True, mapping.against or ())):
        drawn = {node for reading in examined.readings for one in reading.arrows for node in stops(one) if node}
        pairs = {(one.node, head.node) for rule in rules for one in rule.variables for head in rule.head}
        for node, made in sorted(pair for pair in pairs if drawn.issuperset(pair))[:6]:
            ends = (made, node) if mirrored else (node, made)
            found = examined.rules_with_each(*ends, mirrored=mirrored)
            whole = sound_with(arrows, entity_line(mapping, *ends))
            assert found is None or whole is not None
            if found is not None and whole is not None:
                there = (whole.against if mirrored else whole.along) or ()
                assert {rule for rule in there if rule.head[-1].node[: len(made)] == made} <= {*found}


def stops(arrow: Correspondence) -> tuple[Path, Path]:
    return arrow.source.stop, arrow.target.stop


def test_an_each_line_is_of_all_values_of_a_selection() -> None:
    found = told(written('item[year = ("1", "2")]/title -> shelf/book/name'))
    line = 'each item[year = ("1", "2")] -> shelf/book'
    assert any(text.endswith(f"(write, if each is its own: {line})") for text in found)


def test_random_documents_are_of_the_side_that_answers() -> None:
    mapping = sound(written(ALL))
    for law, root in ((Law.ALONG, "shop"), (Law.AGAINST, "lib")):
        documents = random_documents(mapping, law)
        assert {document.root.tag for document in documents} == {root}
    assert random_documents(sound(written("", "<!ELEMENT a (a)>", LIB)), Law.ALONG) == []


# -- leaves and images ------------------------------------------------------------------------------------------------


def test_leaves_are_counted_whatever_is_selected() -> None:
    text = 'item[title = "x"]/year -> shelf/book[maker]/published\nitem[@by]/year -> shelf/book/published oneway'
    found = checked(sound(written(text)), written(text)).coverage[Law.ALONG]
    assert found.reached == (("shelf", "book", "published"),)
    assert found.used == (("item", "@by"), ("item", "title"), ("item", "year"))
    assert found.unused == (("item", "subject"), ("maker", "@id"), ("maker", "name"))
    assert found.missing == (("shelf", "book", "name"),)
    assert "along: required by the schema, and not reached: shelf/book/name" in told(written(text))


def test_constants_and_defaults_are_there() -> None:
    target = "<!ELEMENT lib (book+, at)> <!ELEMENT book (#PCDATA)> <!ATTLIST book k CDATA 'd' c CDATA #REQUIRED>"
    arrows = written('item/title -> book\n"x" -> book/@c', target=target + "<!ELEMENT at (#PCDATA)>")
    found = checked(sound(arrows), arrows).coverage[Law.ALONG]
    assert (found.missing, found.unreached) == ((("at",),), (("book", "@k"), ("at",)))


def test_all_leaves_and_valid_images_are_confirmed() -> None:
    flat = "<!ELEMENT l (i*)> <!ELEMENT i (#PCDATA)>"
    arrows = written("each i -> i\ni -> i", flat, flat)
    found = checked(sound(arrows), arrows, {"source": [parse_document("<l><i>1</i></l>")]})
    assert found.remarks == ()
    assert [str(one) for one in found.confirmed][:3] == [
        "along: 1 of 1 leaves of the target are reached",
        "along: 1 of 1 leaves of the source are used",
        "along: 1 of 1 images are valid",
    ]


def test_images_that_are_not_valid_are_said_with_the_path() -> None:
    found = told(written(ALL.replace("oneway", "")), "<shop/>", "<shop><item><title>x</title></item></shop>")
    assert not any("are not valid" in text for text in found)
    found = told(
        written("item/year -> shelf/book/published"), "<shop><item><title>x</title><year>1</year></item></shop>"
    )
    assert "along: 1 of 1 images are not valid: /lib/shelf/book: published cannot stand here (name would fit)" in found


def test_documents_that_exchange_refuses_are_said() -> None:
    target = """<!ELEMENT lib (a | b)*> <!ELEMENT a (n)> <!ELEMENT b (n)> <!ELEMENT n (#PCDATA)>
<!ELEMENT _x006E_ EMPTY>"""  # each spelling of the value n is declared
    arrows = written("target box B = (a | b)\nitem/title -> [B]\nitem/year -> [B]/n", target=target)
    found = told(arrows, *(f"<shop><item><title>{tag}</title><year>1</year></item></shop>" for tag in "abn"))
    (text,) = (text for text in found if "cannot be exchanged" in text)
    assert text.startswith("along: 1 of 3 documents cannot be exchanged: HX2011 the schema declares every name that")


def test_a_remark_is_one_line() -> None:
    assert str(Remark(Law.AGAINST, "it is so", "write this", "HX4026", 7)) == (
        "against: line 7: HX4026 it is so (write this)"
    )
