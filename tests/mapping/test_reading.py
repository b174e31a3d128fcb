"""Rules as text: what is printed is read again, what follows from keys, and what cannot be."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final

import pytest
from hypothesis import given, strategies as st

from heptox.errors import MappingError
from heptox.mapping import HeadNode, Mapping, Rule, load_mapping, parse_mapping_rules, print_rule, print_rules
from heptox.mapping.identity import declared_key
from heptox.mapping.model import OptionalPart
from heptox.mapping.optional import ordered_parts
from heptox.pattern import TAG, Absence, Comparison, NoNode, Presence, Term, Text, Variable
from tests.mapping.random_rules import SOURCE, TARGET, random_rules

STORE: Final = """
<!ELEMENT store (item*, house*, land*, shelf)> <!ATTLIST store owner CDATA #IMPLIED>
<!ELEMENT item (title, year?, alias*, note*, extra?)>
<!ATTLIST item no CDATA #REQUIRED isbn CDATA #IMPLIED by CDATA #IMPLIED>
<!ELEMENT title (#PCDATA)> <!ELEMENT year (#PCDATA)> <!ELEMENT alias (#PCDATA)> <!ELEMENT kind (#PCDATA)>
<!ELEMENT note (kind?, mark*)> <!ATTLIST note lang CDATA #IMPLIED> <!ELEMENT mark (#PCDATA)>
<!ELEMENT extra (#PCDATA | b)*> <!ELEMENT b (#PCDATA)>
<!ELEMENT house (name?, branch*)> <!ATTLIST house id CDATA #REQUIRED in CDATA #IMPLIED> <!ELEMENT name (#PCDATA)>
<!ELEMENT branch (desk*, part*)> <!ATTLIST branch city CDATA #REQUIRED>
<!ELEMENT desk (#PCDATA)> <!ELEMENT part (#PCDATA | b)*>
<!ELEMENT land EMPTY> <!ATTLIST land code CDATA #REQUIRED>
<!ELEMENT shelf (novel | poem)*> <!ELEMENT novel (page?)> <!ELEMENT poem (page?)> <!ELEMENT page (#PCDATA)>
"""
BIB: Final = """
<!ELEMENT bib (book*, rack)> <!ATTLIST bib of CDATA #IMPLIED>
<!ELEMENT book (title?, info?, alias*, part*)> <!ATTLIST book id ID #IMPLIED isbn CDATA #IMPLIED key CDATA #IMPLIED>
<!ELEMENT title (#PCDATA)> <!ELEMENT info (year?, city?)> <!ELEMENT year (#PCDATA)> <!ELEMENT city (#PCDATA)>
<!ELEMENT alias (#PCDATA)> <!ELEMENT part (#PCDATA | b)*> <!ELEMENT b (#PCDATA)>
<!ELEMENT rack (one | two)*> <!ELEMENT one (page?)> <!ELEMENT two (page?)> <!ELEMENT page (#PCDATA)>
<!ATTLIST one no CDATA #IMPLIED> <!ATTLIST two no CDATA #IMPLIED>
"""
DECLARED: Final = """source "store.dtd" root store
target "bib.dtd" root bib
source box Sheet = shelf/(novel | poem)
source key item/@isbn
source key house/@id
target box Copy = rack/(one | two)
target key book/@isbn
target key [Copy]/@no
"""

S, ITEM = Variable("store", ()), Variable("item", ("item",), "store")
ALIAS, NOTE = Variable("alias", ("item", "alias"), "item"), Variable("note", ("item", "note"), "item")
MARK = Variable("mark", ("item", "note", "mark"), "note")
HOUSE, LAND = Variable("house", ("house",), "store"), Variable("land", ("land",), "store")
BRANCH = Variable("branch", ("house", "branch"), "house")
DESK, PART = (Variable(step, ("house", "branch", step), "branch") for step in ("desk", "part"))
SHEET = Variable("Sheet", ("shelf", "[Sheet]"), "store")
OTHER = Variable("other", ("item",), "store")
BIB_ROOT, BOOK = Variable("bib", ()), Variable("book", ("book",), "bib")

ROOT: Final = HeadNode(())
TITLE, NO, BY, ISBN, YEAR = (Term("item", (step,)) for step in ("title", "@no", "@by", "@isbn", "year"))
HOUSE_ID, LAND_CODE, CITY = Term("house", ("@id",)), Term("land", ("@code",)), Term("branch", ("@city",))
SHEET_TAG: Final = Term("Sheet", (TAG,))
COPY: Final = ("rack", "[Copy]")
BY_VALUE: Final = (ROOT, HeadNode(("book",), ((("title",), TITLE), (("info", "year"), YEAR))))


def link(left: Term, right: Term) -> Comparison:
    return Comparison("=", left, right)


RANDOM: Final = """source "s.dtd" root s
target "t.dtd" root t
source box Colour = a/e/(red | green)
source box Side = a/(pro | con)
target box Kind = (one | two)
"""
RULES: Final = (
    Rule(BY_VALUE, (S, ITEM)),
    # by a node, of leaves, of what is copied, and of a text with an identity of its own
    Rule(
        (
            ROOT,
            HeadNode(("book",), ((("title",), TITLE), (("info", "year"), YEAR)), each="item"),
            HeadNode(("book", "alias"), (((), Term("alias")),), each="alias"),
        ),
        (S, ITEM, ALIAS),
        optional=(OptionalPart(("alias",)),),
    ),
    Rule((ROOT, HeadNode(("book",), each="house"), HeadNode(("book", "alias"), each="desk")), (S, HOUSE, BRANCH, DESK)),
    Rule(
        (ROOT, HeadNode(("book",), each="house"), HeadNode(("book", "part"), (((), Term("part")),), frozenset([()]),
                                                           "part")),
        (S, HOUSE, BRANCH, PART),
    ),
    Rule((ROOT, HeadNode(("book",), ((("title",), TITLE),), each="other")), (S, ITEM, OTHER),
         (link(NO, Term("other", ("@no",))),)),
    # by a key, by value where its leaf is not supplied, and by either in a box
    Rule((ROOT, HeadNode(("book",), ((("@id",), NO), (("@isbn",), ISBN), (("title",), TITLE)), key=("@isbn",))),
         (S, ITEM), (Presence(ISBN),)),
    Rule((ROOT, HeadNode(("book",), ((("@isbn",), NO), (("info", "year"), YEAR)), key=("@isbn",))), (S, ITEM)),
    Rule((ROOT, HeadNode(COPY, (((TAG,), SHEET_TAG), (("page",), Term("Sheet", ("page",)))), each="Sheet")),
         (S, SHEET), (Comparison("!=", SHEET_TAG, Text("novel")),)),
    Rule((ROOT, HeadNode(COPY, (((TAG,), TITLE), (("@no",), NO)), key=("@no",))), (S, ITEM)),
    Rule((ROOT, HeadNode(COPY, (((TAG,), TITLE), (("page",), NO)))), (S, ITEM)),
    # conditions
    Rule(
        BY_VALUE,
        (S, ITEM, NOTE),
        (
            Absence(ISBN),
            Presence(Term("note", ("@lang",))),
            NoNode("item", ("item", "alias")),
            Comparison("=", TITLE, Text('x."\n')),
            NoNode("item", ("item", "note", "mark"), (((), Text("against:")), ((), None))),
            NoNode("item", ("item", "note"), ((("@lang",), None), (("kind",), Text("k")), (("@lang",), BY))),
            NoNode("store", ("house",), ((("@id",), BY),)),
            NoNode("store", ("shelf", "[Sheet]"), (((TAG,), TITLE), (("page",), None))),
        ),
    ),
    Rule((HeadNode((), ((("@of",), Term("store", ("@owner",))),)),), (S,), (Presence(Term("store", ("@owner",))),)),
    # optional parts
    Rule(
        (ROOT, HeadNode(("book",), ((("title",), Term("house", ("name",))), (("info", "city"), CITY)))),
        (S, ITEM, HOUSE, BRANCH, LAND),
        (Presence(YEAR),),
        (
            OptionalPart(("house",), (link(BY, HOUSE_ID),)),
            OptionalPart(("branch",)),
            OptionalPart(("land",), (link(CITY, LAND_CODE),)),
        ),
    ),
    Rule(
        BY_VALUE,
        (S, ITEM, NOTE, MARK, HOUSE, BRANCH, LAND),
        optional=(
            OptionalPart(("note", "mark")),
            OptionalPart(
                ("house", "branch", "land"), (link(Term("mark"), HOUSE_ID), link(CITY, LAND_CODE))
            ),
        ),
    ),
    Rule(
        BY_VALUE,
        (S, ITEM, OTHER, HOUSE),
        (link(NO, Term("other", ("@no",))),),
        (OptionalPart(("house",), (link(Term("other", ("@by",)), HOUSE_ID),)),),
    ),
    # what the root has may lead to a part too
    Rule((HeadNode((), ((("@of",), Term("store", ("@owner",))),)),), (S, LAND),
         optional=(OptionalPart(("land",), (link(Term("store", ("@owner",)), LAND_CODE),)),)),
)  # fmt: skip
AGAINST: Final = (
    Rule((ROOT, HeadNode(("item",), ((("@isbn",), Term("book", ("@isbn",))),), each="book")), (BIB_ROOT, BOOK)),
    Rule(
        (ROOT, HeadNode(("item",), ((("@isbn",), Term("book", ("@isbn",))),), key=("@isbn",))),
        (BIB_ROOT, BOOK),
        (Presence(Term("book", ("@isbn",))), NoNode("book", ("book", "alias"))),
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "store.dtd").write_text(STORE, encoding="utf-8")
    (folder / "bib.dtd").write_text(BIB, encoding="utf-8")
    return folder


def read(folder: Path, rules: str) -> Mapping:
    return parse_mapping_rules(DECLARED + rules, folder, "by-hand.rules")


def with_rules(folder: Path, along: tuple[Rule, ...] | None, against: tuple[Rule, ...] | None) -> Mapping:
    return replace(read(folder, ""), along=along, against=against)


@pytest.mark.parametrize("number", range(len(RULES)))
def test_each_kind_of_rule_is_printed_and_read_again(folder: Path, number: int) -> None:
    mapping = with_rules(folder, (RULES[number],), None)
    assert parse_mapping_rules(print_rules(mapping, folder), folder) == mapping


some: Final = st.lists(st.sampled_from(RULES), unique=True, max_size=4).map(tuple)
some_against: Final = st.lists(st.sampled_from(AGAINST), unique=True, max_size=2).map(tuple)


@given(st.one_of(st.tuples(some, st.none() | some_against), st.tuples(st.none(), some_against)))
def test_what_is_printed_is_read_again(
    folder: Path, rules: tuple[tuple[Rule, ...] | None, tuple[Rule, ...] | None]
) -> None:
    mapping = with_rules(folder, *rules)
    assert parse_mapping_rules(print_rules(mapping, folder), folder) == mapping


def test_both_sections(folder: Path) -> None:
    mapping = with_rules(folder, (RULES[1], RULES[14]), (AGAINST[1],))
    assert (
        print_rules(mapping, folder)
        == f"""{DECLARED}
along:

bib -> f_bib($store)[
  book -> f_book(each $item)[title -> $item_title,
    info -> f_book_info()[year -> $item_year],
    alias -> f_book_alias(each $alias)[. -> $alias]]]
<-
store -> $store[item -> $item[title -> $item_title, year -> $item_year, alias ->? $alias]].

bib -> f_bib($store)[
  book -> f_book($item_title, $item_year)[title -> $item_title,
    info -> f_book_info($item_year)[year -> $item_year]]]
<-
store -> $store[
  item -> $item[@no -> $item_no, title -> $item_title, year -> $item_year],
  item -> $other[@no -> $other_no, @by -> $other_by],
  house -> $house[@id -> $house_id]],
$item_no = $other_no,
$other_by =? $house_id.

against:

store -> f_store($bib)[item -> f_item($book_isbn)[@isbn -> $book_isbn]]
<-
bib -> $bib[book -> $book[@isbn -> $book_isbn]],
present $book_isbn,
absent $book/alias.
"""
    )
    assert print_rule(mapping, RULES[0]).startswith("bib -> f_bib($store)")
    assert print_rule(mapping.mirrored(), AGAINST[1]).startswith("store -> f_store($bib)")


def test_a_file_with_one_section_serves_one_direction(folder: Path) -> None:
    rule = "store -> f_store($bib) <- bib -> $bib.\n"
    assert read(folder, "").along == ()
    assert read(folder, "").against is None
    one = read(folder, f"against:\n{rule}")
    assert one.along is None
    assert len(one.mirrored().rules) == 1
    with pytest.raises(MappingError) as caught:
        _ = one.rules
    assert caught.value.faults[0].code == "HX4024"


def test_variables_that_a_hand_writes(folder: Path) -> None:
    """Other names, another order, and a body's text by ``text()``."""
    text = """
    bib -> f_bib($r)[book -> f_book(each $i)[alias -> f_book_alias(each $a)[text() -> $a], title -> $t]]
    <- store -> $r[item -> $i[note ->? $n[@lang -> $l], title -> $t, alias -> $a, @by -> $by], house -> $h[@id -> $id]],
    $by =? $id, absent $r/land[@code = $t]."""
    (rule,) = read(folder, text).rules
    assert [variable.name for variable in rule.variables] == ["r", "i", "a", "n", "h"]
    assert rule.optional == (
        OptionalPart(("n",)),
        OptionalPart(("h",), (link(Term("i", ("@by",)), Term("h", ("@id",))),)),
    )
    assert rule.conditions == (NoNode("r", ("land",), ((("@code",), Term("i", ("title",))),)),)


SELECTED: Final = """
along:

bib -> f_bib($store)[
  book[@key = "x"] -> f_book_x(each $item)[@isbn -> $item_isbn, @key -> "x",
    title -> concat($item_title, ", ", $item_year),
    info -> f_book_x_info()[year -> if ($item_year = "1") then "one" else lookup("years.csv", $item_year),
      city -> string-join($item/note[@lang = "de" and not(kind)]/mark, "; ")],
    alias -> f_book_x_alias(each $other)[. -> string-join($other/mark, "")]]]
<-
store -> $store[
  item[@by != "me" and title] -> $item[@no -> $item_no, @isbn -> $item_isbn, @by -> $item_by,
    title -> $item_title, year -> $item_year, note[@lang = "en"] ->? $note, note[@lang = "fr"] -> $other],
  house[@id = ("1", "2")] -> $house[@id -> $house_id]],
concat($item_title, "a") = upper-case($item_no),
(xs:decimal($item_year) + "1") != "3",
present substring($item_isbn, "1"),
absent $item/(note[@lang = ("en", "it")])[kind = concat($item_title, "x")],
absent /house[@in = "1"]/(branch[@city != "1"]),
absent $item/note[upper-case(@lang) = "EN"][kind],
$item_by =? $house_id.
"""


def test_selections_and_functions(folder: Path) -> None:
    (folder / "years.csv").write_text("2,two\n", encoding="utf-8")
    mapping = read(folder, SELECTED)
    assert print_rules(mapping, folder) == DECLARED + SELECTED
    (rule,) = mapping.rules
    assert [part.variables for part in rule.optional] == [("note",), ("house",)]
    several = SELECTED.replace('@lang = "fr"', '@lang = ("fr", "it")')
    assert len(read(folder, several).rules) == 2  # a rule for each value of what must be there


BODY: Final = "store -> $s[item -> $i[@no -> $no, @isbn -> $x, @by -> $by, title -> $t, alias ->? $a]"
HEAD: Final = "bib -> f_bib($s)[book -> f_book($t)[title -> $t]] <- "
HOUSES: Final = ", house -> $h[@id -> $id, @in -> $in, name -> $n, branch -> $b[@city -> $c]]"


@pytest.mark.parametrize(
    ("rule", "code", "message", "hint"),
    [
        # identities
        ("bib -> f_bib($s)[book -> f_book($x, $t)[@isbn -> $x, title -> $t]] <- " + BODY + "], present $x",
         "HX4033", "f_book($x, $t) is not the identity of book", "book/@isbn that the mapping declares: f_book($x)"),
        ("bib -> f_bib($s)[book -> f_book($x)[@isbn -> $x, title -> $t]] <- " + BODY + "]",
         "HX4033", "$x identifies book, and may be absent", "require it: present $x"),
        ("bib -> f_bib($s)[book -> f_book($id)[@isbn -> $id]] <- " + BODY + HOUSES + "], $by =? $id",
         "HX4033", "$id identifies book, and may be absent", "bind its node with -> and ="),
        ("bib -> f_bib($s)[book -> f_book(each $i, $t)[title -> $t]] <- " + BODY + "]",
         "HX4033", "f_book(each $i, $t) is not the identity", "the node that it stands for, and of its tag in a box: "
         "f_book(each $i)"),
        ("bib -> f_bib($s)[book -> f_book(each $t)[title -> $t]] <- " + BODY + "]",
         "HX4033", "$t stands for item/title, which is no node that repeats", "write each $i"),
        ("bib -> f_bib(each $s)[book -> f_book($t)[title -> $t]] <- " + BODY + "]",
         "HX4033", "f_bib(each $s) is not the identity of the root", "f_bib($s)"),
        ("bib -> f_bib($s)[book -> f_book(each $i)[info -> f_book_info($t)[year -> $t]]] <- " + BODY + "]",
         "HX4033", "f_book_info($t) is not", "a function of its path, for book has one: f_book_info()"),
        ("bib -> f_bib($s)[book -> f_book(each $z)[title -> $t]] <- " + BODY + "]", "HX4030", "$z is not bound", ""),
        ("bib -> f_bib($s)[book -> f_book($t)[title -> $t, alias -> f_book_alias($no)[. -> $no]]] <- " + BODY + "]",
         "HX4009", "book/alias is a leaf", "write alias -> $variable"),
        ("bib -> f_bib($s)[book -> f_book($t)[. -> $t]] <- " + BODY + "]",
         "HX4009", "book is identified by its value", ""),
        # optional parts
        (HEAD + "store ->? $s[item -> $i[title -> $t]]", "HX4035", "the root is always there", "write ->"),
        (HEAD + "store -> $s[item -> $i[title ->? $t]]", "HX4035", "item/title stands once", "write ->"),
        (HEAD + BODY + HOUSES + "], $by =? $id, $no =? $in", "HX4035", "two =? lead to $h", "keep one"),
        (HEAD + BODY + HOUSES + "], $by = $id, $no =? $in", "HX4035", "$i and $h are bound together", "write ="),
        (HEAD + BODY + HOUSES + "], $by =? $id, $in =? $no", "HX4035", "is itself found by", "begin at a node"),
        (HEAD + BODY + "], $by =? $a", "HX4035", "$a is optional by ->? already", ""),
        (HEAD + "store -> $s[@owner -> $o, item -> $i[title -> $t]], $t =? $o", "HX4035", "$s is the root", ""),
        (HEAD + BODY + HOUSES.replace("branch ->", "branch ->?") + "], $by =? $id, $no = $c",
         "HX4035", "$b is optional", "conditions speak of what is always there"),
        (HEAD + BODY + HOUSES + '], $by =? $id, $n = "x"', "HX4035", "$h is optional", ""),
        (HEAD + BODY + "], absent $a/x", "HX4001", "no item/alias/x", ""),
        (HEAD + BODY + HOUSES + "], $by =? $id, absent $h/branch", "HX4035", "$h is optional", ""),
        (HEAD + "store -> $s[item -> $i[title -> $t], house ->? $h[branch -> $b[desk -> $d, part -> $p]]]",
         "HX4035", "$d and $p repeat side by side below ->?", "write ->? for $p too"),
        (HEAD + BODY + HOUSES + "]", "HX4034", "nothing connects $i and $h", "add an equality"),
        (HEAD + BODY + HOUSES.replace("house ->", "house ->?") + "]", "HX4034", "nothing connects $i and $h", ""),
        # conditions
        (HEAD + BODY + "], absent $i", "HX4009", "$i stands for a node that is there", "absent $variable/path"),
        (HEAD + BODY + "], present $z", "HX4030", "$z is not bound", ""),
        (HEAD + BODY + "], absent $t/alias", "HX4009", "$t stands for item/title, which stands once", "from $i"),
        (HEAD + BODY + "], absent $i/year", "HX4009", "item/year stands once", "bind it in the body"),
        (HEAD + BODY + "], absent $i/note[mark]", "HX4009", "item/note/mark repeats below item/note", ""),
        (HEAD + BODY + "], absent $i/note[name()]", "HX4001", "item/note is no box", ""),
        (HEAD + BODY + '], absent $i/note[. = "x"]', "HX4009", "item/note is no leaf", ""),
        (HEAD + BODY + "], absent /house[@id = $i]", "HX4009", "$i stands for the inner node", ""),
        (HEAD + BODY + "], absent /house[@no]", "HX4001", "the source schema has no house/@no", ""),
        (HEAD + BODY + "], absent $i/note[not(@lang)]", "HX3001", "a test says that a leaf is there", "in parentheses"),
        (HEAD + BODY + '], absent $i/(note[@lang = "x"]', "HX3001", "unexpected '.'", "expected ')'"),
        (HEAD + BODY + '], $t < "x"', "HX3001", "< cannot stand between these two", ""),
        (HEAD + BODY + '], present ("x")', "HX4009", "is always there", ""),
        # selections and functions
        (HEAD + 'store -> $s[item[title = "x" and nothing] -> $i[title -> $t]]', "HX4001", "no item/nothing", ""),
        (HEAD + "store -> $s[item[@no = $t] -> $i[title -> $t]]", "HX3001", "compares a leaf with a string", ""),
        (HEAD + 'store -> $s[item -> $i[title[. = "x"] -> $t]]', "HX4038", "title stands once", 'item[title = "x"]'),
        ('bib -> f_bib($s)[book[@key = "x"] -> f_book_x($t)[title -> $t]] <- ' + BODY + "]",
         "HX4038", "is not made without @key", 'write @key -> "x"'),
        ('bib -> f_bib($s)[book -> f_book($t)[title -> $t, @key -> "x", @id -> uppercase($t)]] <- ' + BODY + "]",
         "HX4071", "uppercase is no function", "did you mean upper-case?"),
        ('bib -> f_bib($s)[book -> f_book($t, "x")[title -> $t, @key -> "x"]] <- ' + BODY + "]",
         "HX4033", 'f_book($t, "x") is not the identity', "f_book($t)"),
        (HEAD.replace("title -> $t", "title -> concat($t, $z)") + BODY + "]", "HX4030", "$z is not bound", ""),
        (HEAD.replace("title -> $t", "title -> concat($t, $a)") + BODY + "]", "HX4039", "several nodes: $i, $a", ""),
        (HEAD.replace("title -> $t", "title -> upper-case($i/title)") + BODY + "]", "HX4039", "only string-join", ""),
        (HEAD.replace("title -> $t", 'title -> lookup("no.csv", $t)') + BODY + "]", "HX4042", "cannot be used", ""),
        (HEAD.replace("title -> $t", 'title -> string-join($i/none, "")') + BODY + "]", "HX4001", "no item/none", ""),
        (HEAD.replace("title -> $t", "title -> string-join($i/note)") + BODY + "]", "HX4009", "note is no leaf", ""),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(folder: Path, rule: str, code: str, message: str, hint: str) -> None:
    with pytest.raises(MappingError) as caught:
        read(folder, f"{rule}.\n")
    told = [(fault.code, fault.message, fault.hint or "") for fault in caught.value.faults]
    assert any(code == one and message in said and hint in helped for one, said, helped in told), told
    assert all(fault.position is not None for fault in caught.value.faults)


def test_faults_of_the_section_against_name_its_schemas(folder: Path) -> None:
    with pytest.raises(MappingError) as caught:
        read(
            folder,
            "against:\nstore -> f_store($b)[itme -> f_item($t)[title -> $t]] <- bib -> $b[book -> $k[titel -> $t]].\n",
        )
    assert {fault.message for fault in caught.value.faults} == {
        "the source schema has no itme",
        "the target schema has no book/titel",
    }


def test_a_comparison_guarantees_a_key(folder: Path) -> None:
    rule = "bib -> f_bib($s)[book -> f_book($x)[@isbn -> $x]] <- " + BODY + '], $x != "".\n'
    assert read(folder, rule).rules[0].head[1].key == ("@isbn",)


def test_of_several_keys_the_first_in_the_schema_that_is_supplied_counts(folder: Path) -> None:
    tree = read(folder, "").target
    keys = [("book", step) for step in ("@key", "@isbn")]
    assert declared_key(tree, keys, ("book",), [("@id",), ("@key",)]) == ("@key",)
    assert declared_key(tree, keys, ("book",), [("@key",), ("@isbn",)]) == ("@isbn",)
    assert declared_key(tree, keys, ("book",), [("@id",), ("title",)]) is None
    assert declared_key(tree, [("@of",)], (), [("@of",)]) is None
    assert declared_key(tree, [("book", "info", "year")], ("book",), [("info", "year")]) == ("info", "year")


def test_a_part_that_the_text_cannot_say_is_not_printed(folder: Path) -> None:
    """A link to what hangs below a bound node: the text would bind the two together."""
    part = OptionalPart(("branch",), (link(BY, CITY),))
    rule = Rule(BY_VALUE, (S, ITEM, HOUSE, BRANCH), (link(NO, HOUSE_ID),), (part,))
    with pytest.raises(ValueError, match="that no text says"):
        print_rules(with_rules(folder, (rule,), None), folder)


def test_parts_stand_after_what_they_hang_from() -> None:
    branch, house = OptionalPart(("branch",)), OptionalPart(("house",), (link(BY, HOUSE_ID),))
    alias = OptionalPart(("alias",))
    variables = (S, ITEM, ALIAS, HOUSE, BRANCH)
    assert ordered_parts(variables, (branch, alias, house)) == (alias, house, branch)
    late = OptionalPart(("alias",), (link(HOUSE_ID, Term("alias")),))
    assert ordered_parts(variables, (branch, late, house)) == (house, late, branch)
    circle = OptionalPart(("house",), (link(Term("alias"), HOUSE_ID),))
    with pytest.raises(ValueError, match="circle"):
        ordered_parts(variables, (circle, late))


def test_load_mapping_reads_both_sections(folder: Path) -> None:
    (folder / "x.rules").write_text(print_rules(with_rules(folder, RULES[:2], AGAINST), folder), encoding="utf-8")
    assert load_mapping(folder / "x.rules").against == AGAINST


def test_random_rules_are_read_as_they_are_meant_or_not_at_all(tmp_path: Path) -> None:
    """Rules that the text cannot say are not printed; of the others none is read with another meaning."""
    (tmp_path / "s.dtd").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "t.dtd").write_text(TARGET, encoding="utf-8")
    base = parse_mapping_rules(RANDOM, tmp_path)
    read_again = with_parts = 0
    for seed in range(150):
        for drawn in random_rules(Random(seed)).rules:
            rule = replace(drawn, head=tuple(replace(node, key=None) for node in drawn.head))
            try:
                text = print_rules(replace(base, along=(rule,)), tmp_path)
                (found,) = parse_mapping_rules(text, tmp_path).rules
            except ValueError as error:
                assert rule.optional, error
            except MappingError as error:  # parts that nothing connects, and what is absent and bound at once
                assert {fault.code for fault in error.faults} <= {"HX4034", "HX4009"}, text
            else:
                assert meaning(found) == meaning(rule), text
                read_again, with_parts = read_again + 1, with_parts + bool(rule.optional)
    assert read_again > 100
    assert with_parts > 50


def meaning(rule: Rule) -> Hashable:
    """A rule without the order of its variables, leaves, conditions and parts."""
    parts = {(frozenset(part.variables), part.conditions[:1], frozenset(part.conditions[1:])) for part in rule.optional}
    head = tuple(
        (node.node, frozenset(node.leaves), node.copied, node.each, node.key, frozenset(node.surrogates))
        for node in rule.head
    )
    return head, frozenset(rule.variables), frozenset(rule.conditions), frozenset(parts)
