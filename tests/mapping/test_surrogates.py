"""Identifiers that no arrow supplies (``semantics.md`` section 2, *Surrogates*)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heptox.errors import MappingError, TranslationError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, exchange, load_mapping, print_rule, print_rules
from heptox.translate import Direction, translate
from heptox.translate.model import INVENTED
from heptox.xml import parse_document
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


def test_no_element_is_there_for_an_identifier_alone() -> None:
    target = """<!ELEMENT t (name*)> <!ELEMENT name (part, etal?, mark)> <!ATTLIST name id ID #IMPLIED>
<!ELEMENT part (#PCDATA)> <!ELEMENT etal EMPTY> <!ATTLIST etal id ID #IMPLIED>
<!ELEMENT mark EMPTY> <!ATTLIST mark id ID #IMPLIED>"""
    found = mapping("<!ELEMENT s (p*)> <!ELEMENT p (#PCDATA)>", target, "each p -> name\np -> name/part\n")
    assert image(found, "<s><p>Poe</p></s>") == '<t><name id="p.1"><part>Poe</part></name></t>'


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


@pytest.mark.parametrize(
    ("condition", "how"),
    [
        ("$p/@event != $q/@event", "by !="),
        ("$q/work <= $p/@event", "by order"),
        ("starts-with($p/@event, 'a')", "by starts-with"),
    ],
)
def test_more_than_equality_is_refused_by_name(agenda: Mapping, condition: str, how: str) -> None:
    query = parse_query(f"for $p in //program, $q in //program where {condition} return $p/work")
    with pytest.raises(TranslationError) as caught:
        translate(agenda, query, Direction.SOURCE)
    (fault,) = caught.value.faults
    assert (fault.code, fault.message.partition(" is invented")[0]) == ("HX5016", "program/@event")
    assert how in fault.message


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


def test_that_a_node_refers_to_itself_is_not_made_up() -> None:
    club = (
        "<!ELEMENT club (member*)> <!ELEMENT member (nick)> <!ATTLIST member no ID #REQUIRED> <!ELEMENT nick (#PCDATA)>"
    )
    firm = """<!ELEMENT firm (worker*)> <!ELEMENT worker (name)> <!ATTLIST worker wid ID #REQUIRED chief IDREF #IMPLIED>
    <!ELEMENT name (#PCDATA)>"""
    found = mapping(club, firm, "member/@no -> worker/@wid\nmember/nick -> worker/name\n")
    for query in ("//worker/@chief", "for $a in //worker, $b in //worker where $a/@chief = $b/@wid return $b/name"):
        translation = translate(found, parse_query(query), Direction.SOURCE)
        assert translation.empty
        assert {loss.path for loss in translation.losses} == {("worker", "@chief")}
    absent = "//worker[empty(@chief)]/name"
    document = '<club><member no="m1"><nick>A</nick></member></club>'
    assert not check_equal(found, absent, pairs(found, [document], Direction.SOURCE), Direction.SOURCE).empty


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


KITCHEN = """<!ELEMENT s (dish*)> <!ELEMENT dish (title, chef, town?, step*)> <!ELEMENT title (#PCDATA)>
<!ELEMENT chef (#PCDATA)> <!ELEMENT town (#PCDATA)> <!ELEMENT step (#PCDATA)>"""
COOKS = """<!ELEMENT t (cook*, recipe*)> <!ELEMENT cook (name, town?)> <!ATTLIST cook id ID #REQUIRED>
<!ELEMENT name (#PCDATA)> <!ELEMENT town (#PCDATA)> <!ELEMENT recipe (title, step*)>
<!ATTLIST recipe id ID #IMPLIED by IDREF #IMPLIED> <!ELEMENT title (#PCDATA)> <!ELEMENT step (#PCDATA)>"""
COOKS_ARROWS = """target reference recipe/@by -> cook/@id
dish/title -> recipe/title
dish/step -> recipe/step
dish/chef -> cook/name
dish/town -> cook/town
"""
DISHES = """<s><dish><title>a</title><chef>X</chef><town>R</town><step>1</step></dish>
<dish><title>b</title><chef>X</chef></dish><dish><title>b</title><chef>X</chef><town>R</town></dish>
<dish><title>c</title><chef>X</chef><town/></dish><dish><title>d</title><chef>XR</chef></dish></s>"""
ALWAYS_THERE = KITCHEN.replace("town?", "town"), COOKS.replace("town?", "town")


@pytest.fixture(name="cooks")
def cooks_fixture() -> Mapping:
    """Name and town, which may be absent, together identify a cook."""
    return mapping(KITCHEN, COOKS, COOKS_ARROWS)


def test_several_leaves_identify_a_node_and_what_refers_to_it(cooks: Mapping) -> None:
    root = exchange(cooks, parse_document(DISHES)).root
    cook = {cook.get("id"): (cook.findtext("name"), cook.findtext("town")) for cook in root.findall("cook")}
    assert sorted(cook.values(), key=repr) == [("X", ""), ("X", "R"), ("X", None), ("XR", None)]
    recipes = [(recipe.findtext("title"), cook[recipe.get("by")]) for recipe in root.findall("recipe")]
    assert sorted(recipes, key=repr) == [
        ("a", ("X", "R")), ("b", ("X", "R")), ("b", ("X", None)), ("c", ("X", "")), ("d", ("XR", None)),
    ]  # fmt: skip
    assert len({recipe.get("id") for recipe in root.findall("recipe")}) == len(recipes)
    assert all(re.fullmatch(r"cook\.[0-9a-f]{32}", str(key)) for key in cook)


@pytest.mark.parametrize(
    "query",
    [
        "for $c in //cook, $r in //recipe where $c/@id = $r/@by return <r>{$c/name}{$c/town}{$r/title}</r>",
        "for $r in //recipe, $q in //recipe where $r/@by = $q/@by and $r/title != $q/title return <r>{$r/title}</r>",
        "for $r in //recipe, $q in //recipe where $r/@by != $q/@by return <r>{$r/title}{$q/title}</r>",
        "for $r in //recipe, $q in //recipe where $r/@id = $q/@id return <r>{$r/title}{$q/title}</r>",
        "for $r in //recipe where empty($r/@by) return $r/title",
        "for $r in //recipe where deep-equal($r/@by, $r/@id) return $r/title",
        "//recipe[@by]/title",
        "//cook[@id = //recipe[step]/@by]/name",
        "//cook[@id = 'cook']/name",
        "//cook[@id != 'cook']/name",
        "//cook[@id > 3]/name",
        "//cook[@id = name]/name",
        "//cook[@id != name]/town",
        "for $r in //recipe, $c in //cook where $r/@id = $c/@id return $r/title",
        "for $c in collection()//cook, $r in collection()//recipe where $c/@id = $r/@by return <r>{$c/town}</r>",
    ],
)
def test_several_leaves_are_joined_and_tested(cooks: Mapping, query: str) -> None:
    check_equal(cooks, query, pairs(cooks, [DISHES], Direction.SOURCE), Direction.SOURCE)


def test_a_join_asks_for_all_leaves(cooks: Mapping) -> None:
    query = "for $r in //recipe, $q in //recipe where $r/@by = $q/@by return <r>{$r/step}{$q/title}</r>"
    translation = translate(cooks, parse_query(query.replace("{$r/step}", "{$r/title}")), Direction.SOURCE)
    assert not translation.losses
    assert "//dish[chef = $d/chef]" in translation.text
    assert "deep-equal(data($d/town), data($d2/town))" in translation.text


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("//recipe/@by", ("recipe", "@by")),
        ("for $c in //cook return <c>{$c/@id}{$c/name}</c>", ("cook", "@id")),
        ("for $c in //cook return <c id='{$c/@id}'>{$c/name}</c>", ("cook", "@id")),
    ],
)
def test_what_several_leaves_identify_is_returned_by_nobody(cooks: Mapping, query: str, path: tuple[str, ...]) -> None:
    translation = translate(cooks, parse_query(query), Direction.SOURCE)
    assert [(loss.path, loss.effect) for loss in translation.losses] == [(path, INVENTED)]


def test_an_order_of_what_several_leaves_identify_is_refused(cooks: Mapping) -> None:
    query = parse_query("for $r in //recipe, $c in //cook where $r/@by < $c/@id return $r/title")
    with pytest.raises(TranslationError) as caught:
        translate(cooks, query, Direction.SOURCE)
    (fault,) = caught.value.faults
    assert (fault.code, fault.message.split(" invented")[0]) == ("HX5016", "recipe/@by and cook/@id are")
    assert "order is not translated" in fault.message


def test_that_nothing_refers_to_it_is_known_where_all_leaves_are_there(cooks: Mapping) -> None:
    found = mapping(*ALWAYS_THERE, COOKS_ARROWS)
    document = DISHES.replace("<chef>X</chef></dish>", "<chef>X</chef><town>S</town></dish>").replace(
        "<chef>XR</chef></dish>", "<chef>XR</chef><town>S</town></dish>"
    )
    query = "for $c in //cook where empty(//recipe[title = 'a'][@by = $c/@id]) return <c>{$c/name}{$c/town}</c>"
    check_equal(found, query, pairs(found, [document], Direction.SOURCE), Direction.SOURCE)
    with pytest.raises(TranslationError) as caught:  # a town that is absent equals one that is absent
        translate(cooks, parse_query(query), Direction.SOURCE)
    assert [fault.code for fault in caught.value.faults] == ["HX5008"]


def test_functions_of_several_leaves_are_printed_and_read_again(tmp_path: Path) -> None:
    for name, text in (("s.dtd", KITCHEN), ("t.dtd", COOKS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "m.arrows").write_text(f'source "s.dtd" root s\ntarget "t.dtd" root t\n{COOKS_ARROWS}')
    drawn = load_mapping(tmp_path / "m.arrows")
    text = print_rules(drawn, tmp_path)
    assert "@by -> f_cook(cook/name = $dish_chef, cook/town = $dish_town)" in text
    (tmp_path / "m.rules").write_text(text)
    assert load_mapping(tmp_path / "m.rules") == drawn


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("f_cook(cook/name = $title)", "f_cook(cook/name = $title, cook/name = $title)"),
        ("f_cook(cook/name = $title)", "f_recipe(cook/name = $title)"),
        ("f_cook(cook/name = $title)", "f_cook(cook/nothing = $title)"),
        ("f_cook(cook/name = $title)", "f_cook(cook = $title)"),
        ("f_cook(cook/name = $title)", "f_t(cook = each $title)"),
    ],
)
def test_a_function_that_identifies_nothing_is_refused(tmp_path: Path, written: str, wrong: str) -> None:
    for name, text in (("s.dtd", KITCHEN), ("t.dtd", COOKS)):
        (tmp_path / name).write_text(text)
    rule = f"""source "s.dtd" root s
target "t.dtd" root t
t -> f_t($s)[recipe -> f_recipe($title)[@by -> {written}, title -> $title]] <- s -> $s[dish -> $dish[title -> $title]].
"""
    (tmp_path / "m.rules").write_text(rule)
    assert load_mapping(tmp_path / "m.rules").rules
    (tmp_path / "m.rules").write_text(rule.replace(written, wrong))
    with pytest.raises(MappingError) as caught:
        load_mapping(tmp_path / "m.rules")
    assert {fault.code for fault in caught.value.faults} == {"HX4033"}


def test_nodes_above_tell_nodes_apart() -> None:
    houses = """<!ELEMENT s (room*)> <!ELEMENT room (floor, lamp*)> <!ELEMENT floor (#PCDATA)>
<!ELEMENT lamp (kind, glow)> <!ELEMENT kind (#PCDATA)> <!ELEMENT glow (#PCDATA)>"""
    flats = """<!ELEMENT t (place*, light*)> <!ELEMENT place (floor, spot*)> <!ELEMENT floor (#PCDATA)>
<!ELEMENT spot (kind)> <!ATTLIST spot id ID #REQUIRED> <!ELEMENT kind (#PCDATA)> <!ELEMENT light (glow)>
<!ATTLIST light at IDREF #IMPLIED> <!ELEMENT glow (#PCDATA)>"""
    arrows = """target reference light/@at -> place/spot/@id
room/floor -> place/floor
room/lamp/kind -> place/spot/kind
room/lamp/glow -> light/glow
"""
    found = mapping(houses, flats, arrows)
    document = """<s><room><floor>1</floor><lamp><kind>a</kind><glow>x</glow></lamp>
<lamp><kind>b</kind><glow>y</glow></lamp></room><room><floor>2</floor><lamp><kind>a</kind><glow>x</glow></lamp></room></s>"""
    root = exchange(found, parse_document(document)).root
    assert len({spot.get("id") for spot in root.iter("spot")}) == 3
    for query in (
        "for $p in //place, $s in $p/spot, $l in //light where $l/@at = $s/@id return <r>{$p/floor}{$l/glow}</r>",
        "for $l in //light, $m in //light where $l/@at != $m/@at and $l/glow = $m/glow return $l/glow",
        "//light[@at]/glow",
    ):
        assert not check_equal(found, query, pairs(found, [document], Direction.SOURCE), Direction.SOURCE).losses


def test_no_node_is_there_by_what_it_refers_to_alone() -> None:
    """A department that has no label refers to a site, and is none."""
    units = UNITS.replace("city?)", "city?, land?)") + "<!ELEMENT land (#PCDATA)>"
    departments = DEPARTMENTS.replace("site (city)", "site (city?, land?)") + "<!ELEMENT land (#PCDATA)>"
    found = mapping(units, departments, f"{UNITS_ARROWS}unit/land -> site/land\n")
    document = LISTED.replace("<unit/>", "<unit><label>a</label><land>L</land></unit><unit><land>L</land></unit>")
    root = exchange(found, parse_document(document)).root
    there = {(d.findtext("label"), d.findtext("floor"), d.get("site") is not None) for d in root.iter("dept")}
    assert there == {("a", None, True), (None, "2", False), (None, "2", True), ("a", "2", False)}
    for query in (
        "for $d in //dept return <x>{$d/label}{$d/floor}</x>",
        "for $s in //site, $d in //dept where $d/@site = $s/@id return <x>{$s/city}{$s/land}{$d/floor}</x>",
        "//dept[empty(@site)]/floor",
        "//dept[@site][empty(label)]/floor",
    ):
        assert not check_equal(found, query, pairs(found, [document], Direction.SOURCE), Direction.SOURCE).losses


def test_a_node_that_comes_from_elsewhere_as_well_has_the_same_where_its_leaves_are() -> None:
    source = KITCHEN.replace("(dish*)", "(dish*, guest*)") + "<!ELEMENT guest (chef, title)>"
    found = mapping(source, COOKS, f"{COOKS_ARROWS}guest/chef -> cook/name\nguest/title -> recipe/title\n")
    document = DISHES.replace("</s>", "<guest><chef>X</chef><title>a</title></guest></s>")
    root = exchange(found, parse_document(document)).root
    assert len(root.findall("cook")) == 4  # the guest is the cook without a town
    for query in (
        "for $c in //cook, $r in //recipe where $c/@id = $r/@by return <r>{$c/name}{$c/town}{$r/title}</r>",
        "//recipe[@by]/title",
    ):
        assert not check_equal(found, query, pairs(found, [document], Direction.SOURCE), Direction.SOURCE).losses


@pytest.mark.parametrize(
    ("schema", "arrows", "query", "lost"),
    [
        (  # a part that is copied identifies a cook
            COOKS.replace("cook (name, town?)", "cook (name, home?)") + "<!ELEMENT home (town?)>",
            "dish/home => cook/home\n",
            "//cook[@id]/name",
            ("cook", "@id"),
        ),
        (  # a cook may be there for a skill alone
            COOKS.replace("cook (name, town?)", "cook (name?, town?, skill*)") + "<!ELEMENT skill (#PCDATA)>",
            "dish/town -> cook/town\ndish/step -> cook/skill\n",
            "//cook[@id]/town",
            ("cook", "@id"),
        ),
    ],
)
def test_what_has_no_surrogate_is_lost_by_name(schema: str, arrows: str, query: str, lost: tuple[str, ...]) -> None:
    kitchen = KITCHEN.replace("town?", "town?, home?").replace("chef,", "chef?,") + "<!ELEMENT home (town?)>"
    found = mapping(kitchen, schema, f"dish/chef -> cook/name\n{arrows}dish/title -> recipe/title\n")
    translation = translate(found, parse_query(query), Direction.SOURCE)
    assert translation.empty
    assert lost in {loss.path for loss in translation.losses}


def test_an_identifier_of_a_derived_type_is_not_invented(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT s (b*)> <!ELEMENT b (#PCDATA)>")
    (tmp_path / "t.xsd").write_text("""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:complexType name="Base"><xs:sequence><xs:element name="v" type="xs:string"/></xs:sequence></xs:complexType>
<xs:complexType name="More"><xs:complexContent><xs:extension base="Base">
<xs:attribute name="id" type="xs:ID"/></xs:extension></xs:complexContent></xs:complexType>
<xs:element name="t"><xs:complexType><xs:sequence>
<xs:element name="b" type="Base" maxOccurs="unbounded"/><xs:element name="m" type="More" minOccurs="0" maxOccurs="9"/>
</xs:sequence></xs:complexType></xs:element></xs:schema>""")
    (tmp_path / "m.arrows").write_text('source "s.dtd"\ntarget "t.xsd"\nb -> b/v\nb -> m/v\n')
    made = image(load_mapping(tmp_path / "m.arrows"), "<s><b>x</b></s>")
    assert made.endswith('"><b><v>x</v></b><m id="x"><v>x</v></m></t>')
