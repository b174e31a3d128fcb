"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.errors import TranslationError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, load_mapping, print_rule, print_rules
from heptox.translate import Direction, translate
from heptox.translate.model import INVENTED
from tests.mapping.building import image, mapping
from tests.support.definition import check_equal, pairs

NESTED = """<!ELEMENT s (a*)> <!ELEMENT a (b*)> <!ELEMENT b (title, maker, isbn)> <!ELEMENT title (#PCDATA)>
<!ELEMENT maker (#PCDATA)> <!ELEMENT isbn (#PCDATA)>"""
FLAT = """<!ELEMENT t (maker*, book*)> <!ELEMENT maker (name)> <!ATTLIST maker id ID #REQUIRED>
<!ELEMENT name (#PCDATA)>
<!ELEMENT book (title)> <!ATTLIST book id ID #REQUIRED of IDREF #IMPLIED> <!ELEMENT title (#PCDATA)>"""
DOCUMENT = """<s><a><b><title>One</title><maker>M</maker><isbn>1</isbn></b>
<b><title>Two</title><maker>N</maker><isbn>2</isbn></b></a><a><b><title>One</title><maker>M</maker><isbn>3</isbn></b></a></s>"""


@pytest.fixture(name="found")
def found_fixture() -> Mapping:
    arrows = """source key a/b/isbn
target reference book/@of -> maker/@id
each a/b -> book
a/b/title -> book/title
a/b/maker -> maker/name
"""
    return mapping(NESTED, FLAT, arrows)


def test_what_refers_and_what_it_refers_to_have_the_same(found: Mapping) -> None:
    assert image(found, DOCUMENT) == (
        '<t><maker id="M"><name>M</name></maker><maker id="N"><name>N</name></maker>'
        '<book id="1" of="M"><title>One</title></book><book id="2" of="N"><title>Two</title></book>'
        '<book id="3" of="M"><title>One</title></book></t>'
    )


@pytest.mark.parametrize(
    "query",
    [
        "for $b in //book, $m in //maker[@id = $b/@of] where $m/name = 'M' return $b/title",
        "for $b in //book, $c in //book where $b/@of = $c/@of and $b/@id != $c/@id return <r>{$b/title}{$c/title}</r>",
        "//book[@of]/title",
    ],
)
def test_they_are_joined_and_tested(found: Mapping, query: str) -> None:
    assert not check_equal(found, query, pairs(found, [DOCUMENT], Direction.SOURCE), Direction.SOURCE).losses


def test_one_that_is_returned_is_named_as_invented(found: Mapping) -> None:
    translation = translate(found, parse_query("//book/@id"), Direction.SOURCE)
    (loss,) = translation.losses
    assert loss.path == ("book", "@id")
    assert "invented" in loss.effect


SEASON = """<!ELEMENT season (concert*)> <!ELEMENT concert (day, piece*)> <!ELEMENT day (#PCDATA)>
<!ELEMENT piece (#PCDATA)>"""
AGENDA = """<!ELEMENT agenda (event*, program*)> <!ELEMENT event (date)> <!ATTLIST event id ID #REQUIRED>
<!ELEMENT date (#PCDATA)> <!ELEMENT program (work)> <!ATTLIST program event IDREF #REQUIRED>
<!ELEMENT work (#PCDATA)>"""
AGENDA_ARROWS = """target reference program/@event -> event/@id
each concert -> event
concert/day -> event/date
concert/piece -> program/work
"""
CONCERTS = """<season><concert><day>1</day><piece>a</piece><piece>b</piece></concert><concert><day>1</day></concert>
<concert><day>2</day><piece>a</piece></concert></season>"""


@pytest.fixture(name="agenda")
def agenda_fixture() -> Mapping:
    """Concerts have no key, so what identifies an event is the concert itself."""
    return mapping(SEASON, AGENDA, AGENDA_ARROWS)


def test_a_node_without_a_key_stands_for_itself(agenda: Mapping) -> None:
    assert image(agenda, CONCERTS) == (
        '<agenda><event id="concert.1"><date>1</date></event><event id="concert.2"><date>1</date></event>'
        '<event id="concert.3"><date>2</date></event><program event="concert.1"><work>a</work></program>'
        '<program event="concert.1"><work>b</work></program><program event="concert.3"><work>a</work></program>'
        "</agenda>"
    )


@pytest.mark.parametrize(
    "query",
    [
        "for $e in //event where empty(//program[@event = $e/@id]) return $e/date",
        "for $e in //event, $p in //program where $p/@event = $e/@id return <r>{$e/date}{$p/work}</r>",
        "for $p in //program, $q in //program where $p/@event = $q/@event and $p/work != $q/work return $p/work",
        "for $e in //event, $f in //event where $e/@id = $f/@id and $e/date = '1' return <r>{$e/date}{$f/date}</r>",
        "//program[@event]/work",
        "//event[@id = 'x']/date",
        "//event[@id != 'x']/date",
        "//event[empty(@id)]/date",
    ],
)
def test_it_is_joined_and_tested(agenda: Mapping, query: str) -> None:
    check_equal(agenda, query, pairs(agenda, [CONCERTS], Direction.SOURCE), Direction.SOURCE)


def test_what_is_returned_of_it_is_named_and_left_out(agenda: Mapping) -> None:
    translation = translate(agenda, parse_query("for $e in //event return <e>{$e/@id}{$e/date}</e>"), Direction.SOURCE)
    (loss,) = translation.losses
    assert (loss.path, loss.effect) == (("event", "@id"), INVENTED)
    assert "day" in translation.text


@pytest.mark.parametrize("condition", ["$p/@event != $q/@event", "$q/work <= $p/@event"])
def test_more_than_equality_is_refused_by_name(agenda: Mapping, condition: str) -> None:
    query = parse_query(f"for $p in //program, $q in //program where {condition} return $p/work")
    with pytest.raises(TranslationError) as caught:
        translate(agenda, query, Direction.SOURCE)
    (fault,) = caught.value.faults
    assert (fault.code, fault.message.partition(" is invented")[0]) == ("HX5016", "program/@event")


def test_rules_say_so_and_are_read_again(agenda: Mapping, tmp_path: Path) -> None:
    texts = [print_rule(agenda, rule) for rule in agenda.rules]
    assert "event -> f_event(each $concert)[@id -> node $concert, date -> $concert_day]" in texts[0]
    assert "program -> f_program(node $concert, $piece)[@event -> node $concert, work -> $piece]" in texts[1]
    for name, text in (("s.dtd", SEASON), ("t.dtd", AGENDA)):
        (tmp_path / name).write_text(text)
    sides = 'source "s.dtd" root season\ntarget "t.dtd" root agenda\n'
    (tmp_path / "m.arrows").write_text(sides + AGENDA_ARROWS)
    drawn = load_mapping(tmp_path / "m.arrows")
    (tmp_path / "m.rules").write_text(print_rules(drawn, tmp_path))
    assert load_mapping(tmp_path / "m.rules") == drawn


def test_one_leaf_by_which_alone_a_node_is_there_identifies_it() -> None:
    nested = NESTED.replace("title, maker, isbn", "title, maker?, isbn")
    found = mapping(nested, FLAT, "target reference book/@of -> maker/@id\na/b/maker -> maker/name\n")
    text = "<s><a><b><title>T</title><isbn>1</isbn></b><b><title>T</title><maker>M</maker><isbn>2</isbn></b></a></s>"
    assert image(found, text) == '<t><maker id="M"><name>M</name></maker></t>'


@pytest.mark.parametrize(
    ("query", "lost"),
    [
        ("for $e in //event where empty($e/place) return $e/date", "event/place"),
        ("for $e in //event where empty($e/place/town) return $e/date", "event/place/town"),
        ("for $e in //event where empty(//note[@event = $e/@id]) return $e/date", "note"),
        ("for $e in //event where empty(//program[@event = $e/@id][kind = 'x']) return $e/date", "program/kind"),
    ],
)
def test_what_no_rule_makes_is_named_where_its_absence_is_asked(query: str, lost: str) -> None:
    more = """<!ELEMENT place (town?)> <!ELEMENT town (#PCDATA)> <!ELEMENT note (#PCDATA)>
<!ATTLIST note event IDREF #IMPLIED> <!ELEMENT kind (#PCDATA)>"""
    agenda = (
        AGENDA.replace("program*)", "program*, note*)")
        .replace("(date)", "(date, place?)")
        .replace("(work)", "(work, kind?)")
    )
    found = mapping(SEASON, agenda + more, AGENDA_ARROWS)
    translation = check_equal(found, query, pairs(found, [CONCERTS], Direction.SOURCE), Direction.SOURCE)
    assert ["/".join(loss.path) for loss in translation.losses] == [lost]


def test_several_kinds_of_nodes_have_none_in_common() -> None:
    shelves = """<!ELEMENT s (book*, disc*)> <!ELEMENT book (title)> <!ATTLIST book no CDATA #REQUIRED>
<!ELEMENT title (#PCDATA)> <!ELEMENT disc (title)> <!ATTLIST disc no CDATA #REQUIRED>"""
    works = "<!ELEMENT t (work*)> <!ELEMENT work (name)> <!ATTLIST work id ID #REQUIRED> <!ELEMENT name (#PCDATA)>"
    arrows = """source key book/@no
source key disc/@no
each book -> work
each disc -> work
book/title -> work/name
disc/title -> work/name
"""
    found = mapping(shelves, works, arrows)
    text = '<s><book no="1"><title>A</title></book><disc no="1"><title>B</title></disc></s>'
    query = "for $a in //work, $b in //work where $a/@id = $b/@id return <r>{$a/name}{$b/name}</r>"
    translation = check_equal(found, query, pairs(found, [text], Direction.SOURCE), Direction.SOURCE)
    assert not translation.losses


def test_none_is_invented_where_nothing_identifies_a_node() -> None:
    flat = FLAT.replace("maker (name)", "maker (name, town?)") + "<!ELEMENT town (#PCDATA)>"
    nested = NESTED.replace("maker, isbn", "maker, town?, isbn") + "<!ELEMENT town (#PCDATA)>"
    plain = mapping(nested, flat, "a/b/maker -> maker/name\na/b/town -> maker/town\n")
    translation = translate(plain, parse_query("//maker/@id"), Direction.SOURCE)
    assert translation.empty
    assert {loss.path for loss in translation.losses} == {("maker", "@id")}


UNITS = """<!ELEMENT list (unit*)> <!ELEMENT unit (label?, floor?, city?)> <!ELEMENT label (#PCDATA)>
<!ELEMENT floor (#PCDATA)> <!ELEMENT city (#PCDATA)>"""
DEPARTMENTS = """<!ELEMENT hq (dept*, site*)> <!ELEMENT dept (label?, floor?)> <!ATTLIST dept site IDREF #IMPLIED>
<!ELEMENT label (#PCDATA)> <!ELEMENT floor (#PCDATA)> <!ELEMENT site (city)> <!ATTLIST site id ID #REQUIRED>
<!ELEMENT city (#PCDATA)>"""
UNITS_ARROWS = "unit/label -> dept/label\nunit/floor -> dept/floor\nunit/city -> site/city\n"
LISTED = """<list><unit><city>X</city></unit><unit><label>a</label><city>X</city></unit><unit><floor>2</floor></unit>
<unit><floor>2</floor><city>Y</city></unit><unit><label>a</label><floor>2</floor></unit><unit/></list>"""


def test_none_makes_a_node_exist_by_itself() -> None:
    found = mapping(UNITS, DEPARTMENTS, UNITS_ARROWS)
    assert image(found, LISTED) == (
        '<hq><dept site="X"><label>a</label></dept><dept><label>a</label><floor>2</floor></dept>'
        '<dept><floor>2</floor></dept><dept site="Y"><floor>2</floor></dept>'
        '<site id="X"><city>X</city></site><site id="Y"><city>Y</city></site></hq>'
    )


@pytest.mark.parametrize(
    "query",
    [
        "for $d in //dept return <x>{$d/label}</x>",
        "for $s in //site, $d in //dept where $d/@site = $s/@id return <x>{$s/city}{$d/floor}</x>",
        "//dept[empty(@site)]/label",
        "//dept[@site][empty(label)]/floor",
    ],
)
def test_questions_know_of_no_such_node(query: str) -> None:
    found = mapping(UNITS, DEPARTMENTS, UNITS_ARROWS)
    translation = check_equal(found, query, pairs(found, [LISTED], Direction.SOURCE), Direction.SOURCE)
    assert not translation.losses


@pytest.mark.parametrize(("join", "made"), [("", ""), ("target join v/@to -> p/@id\n", ' to="Bergen"')])
def test_of_two_references_only_the_one_that_connects_is_that_of_the_node(join: str, made: str) -> None:
    voyages = """<!ELEMENT l (p*, v*)> <!ELEMENT p (name)> <!ATTLIST p id ID #REQUIRED> <!ELEMENT name (#PCDATA)>
<!ELEMENT v (load?)> <!ATTLIST v from IDREF #IMPLIED to IDREF #IMPLIED> <!ELEMENT load (#PCDATA)>"""
    trips = "<!ELEMENT s (t*)> <!ELEMENT t (load?, port?)> <!ELEMENT load (#PCDATA)> <!ELEMENT port (#PCDATA)>"
    references = "target reference v/@from -> p/@id\ntarget reference v/@to -> p/@id\n"
    found = mapping(
        trips, voyages, f"{references}{join}each t -> v\nt/load -> v/load oneway\nt/port -> p/name oneway\n"
    )
    document = "<s><t><load>Fish</load><port>Bergen</port></t></s>"
    assert image(found, document) == (f'<l><p id="Bergen"><name>Bergen</name></p><v{made}><load>Fish</load></v></l>')
    translation = translate(found, parse_query("//v[@from]/load"), Direction.SOURCE)
    assert translation.empty and [loss.path for loss in translation.losses] == [("v", "@from")]
