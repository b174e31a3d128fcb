"""The verifier finds what is wrong, makes it small, and can repeat it; on what is right it finds nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

import heptox.demo
import heptox.verification.verifying as verifying
from heptox.errors import GrammarError, HeptoxError, MappingError, SchemaError, TranslationError
from heptox.grammar import Expression, parse_query, print_query
from heptox.mapping import ArrowsText, Mapping, load_mapping, parse_mapping_arrows, parse_mapping_rules, print_rules
from heptox.schema import SchemaTree, conform, parse_dtd
from heptox.translate import Direction, Translation, translate
from heptox.verification import Law, RoundTrip, Vocabulary, random_query, side_of, verify
from heptox.verification.assumptions import broken_declarations
from heptox.verification.shrinking import smaller_documents, smaller_queries
from heptox.xml import Document, parse_document, write_document
from tests.support import answer_set

HOSPITAL: Final = Path(heptox.demo.__file__).parent / "hospital"
BIB: Final = """<!ELEMENT bib (book*, loan*)> <!ELEMENT book (title, author*)> <!ATTLIST book isbn CDATA #REQUIRED>
<!ELEMENT title (#PCDATA)> <!ELEMENT author (#PCDATA)> <!ELEMENT loan EMPTY> <!ATTLIST loan of CDATA #REQUIRED>"""
LIST: Final = """<!ELEMENT list (w*)> <!ELEMENT w (t?, p*)> <!ATTLIST w n CDATA #IMPLIED>
<!ELEMENT t (#PCDATA)> <!ELEMENT p (#PCDATA)>"""
ARROWS: Final = "book/@isbn -> w/@n\nbook/title -> w/t\nbook/author -> w/p\n"
Translate = Callable[..., Translation]


@pytest.fixture
def mapping(tmp_path: Path) -> Callable[..., Mapping]:
    def made(arrows: str, source: str = BIB, target: str = LIST) -> Mapping:
        (tmp_path / "source.dtd").write_text(source, encoding="utf-8")
        (tmp_path / "target.dtd").write_text(target, encoding="utf-8")
        read = parse_mapping_rules if "<-" in arrows else parse_mapping_arrows
        declared = "" if "<-" in arrows else 'source "source.dtd"\ntarget "target.dtd"\n'
        return read(f"{declared}{arrows}", tmp_path, "given")

    return made


# -- what is right ---------------------------------------------------------------------------------------------------


def test_keys_that_become_tags_are_asked_for_as_others_are(mapping: Callable[..., Mapping]) -> None:
    target = "<!ELEMENT list (x | y)*> <!ELEMENT x (t?)> <!ELEMENT y (t?)> <!ELEMENT t (#PCDATA)>"
    arrows = "source key book/@isbn\ntarget box B = (x | y)\nbook/@isbn -> [B]\nbook/title -> [B]/t\n"
    assert verify(mapping(arrows, target=target), 6, 1).counterexample is None


@pytest.mark.parametrize("name", ["montreal-boston", "stluke-boston"])
def test_the_hospital_s_mappings_pass(name: str) -> None:
    told: list[str] = []
    found = verify(load_mapping(HOSPITAL / f"{name}.arrows"), 20, 5, progress=told.append)
    assert found.passed
    assert (found.cases, found.stopped, found.idle, found.assumed, found.conflicts) == (20, 0, (), (), ())
    assert told == ["case"] * 20
    for law in Law:
        assert found.checks[law] > 80
        assert found.answering[law] > 20


def test_the_same_seed_finds_the_same() -> None:
    mapping = load_mapping(HOSPITAL / "montreal-boston.arrows")
    assert verify(mapping, 4, 7) == verify(mapping, 4, 7)


@pytest.mark.parametrize(
    ("arrows", "along", "against"),
    [
        ("", "no rule makes documents of list: no line is read along", "no rule makes documents of bib"),
        ("book/title -> w/t oneway\n", None, "no rule makes documents of bib: no line is read against"),
    ],
)
def test_a_direction_in_which_nothing_is_tested_does_not_pass(
    mapping: Callable[..., Mapping], arrows: str, along: str | None, against: str
) -> None:
    found = verify(mapping(arrows), 3)
    assert not found.passed
    assert found.untested.get(Law.ALONG) == along
    assert found.untested[Law.AGAINST].startswith(against)


def test_a_file_of_rules_for_one_direction_is_tested_in_that_direction(
    mapping: Callable[..., Mapping], tmp_path: Path
) -> None:
    rules = print_rules(mapping(ARROWS), tmp_path).split("against:")[0]
    found = verify(mapping(rules), 5)
    assert found.passed
    assert set(found.checks) == {Law.ALONG}
    assert found.round_trips == {}


# -- what is wrong in translation ------------------------------------------------------------------------------------


def with_other_rules(change: Callable[[Mapping], Mapping], direction: Direction) -> Translate:
    """A translation that takes other rules than exchange does, in one direction."""

    def wrong(mapping: Mapping, query: Expression, to: Direction) -> Translation:
        return translate(change(mapping) if to is direction else mapping, query, to)

    return wrong


def without_join(mapping: Mapping) -> Mapping:
    return replace(mapping, along=tuple(replace(rule, conditions=()) for rule in mapping.rules))


def with_one_rule(mapping: Mapping) -> Mapping:
    return replace(mapping, along=mapping.rules[:1])


def test_a_condition_that_translation_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "translate", with_other_rules(without_join, Direction.SOURCE))
    mapping = load_mapping(HOSPITAL / "montreal-boston.arrows")
    example = verify(mapping, 60).counterexample
    assert example is not None
    assert example.law is Law.ALONG
    assert example.error is None
    assert example.seed is not None
    again = verify(mapping, 1, example.seed).counterexample
    assert again == example


def test_the_counterexample_is_one_by_saxon_s_judgement(
    mapping: Callable[..., Mapping], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verifying, "translate", with_other_rules(with_one_rule, Direction.SOURCE))
    example = verify(mapping(ARROWS), 100).counterexample
    assert example is not None
    assert example.law is Law.ALONG
    expected, found = answer_set(example.query, example.image), answer_set(str(example.translation), example.document)
    assert expected == set(example.expected)
    assert found == set(example.found)
    assert expected != found


def test_the_counterexample_is_small(mapping: Callable[..., Mapping], monkeypatch: pytest.MonkeyPatch) -> None:
    """No step makes it smaller: every part of document and query is needed."""
    monkeypatch.setattr(verifying, "translate", with_other_rules(with_one_rule, Direction.SOURCE))
    given = mapping("book/title -> w/t\nbook/author -> w/p\n")
    example = verify(given, 100).counterexample
    assert example is not None
    assert example.query.count("for ") <= 1
    assert example.document.count("<book") == 1
    assert example.document.count("<") <= 8


def test_both_directions_are_tested(mapping: Callable[..., Mapping], monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = mapping("book/title -> w/p\nbook/author -> w/t\n")
    given = mapping("book/title -> w/t\nbook/author -> w/p\n")
    for direction, law in ((Direction.SOURCE, Law.ALONG), (Direction.TARGET, Law.AGAINST)):
        monkeypatch.setattr(verifying, "translate", with_other_rules(lambda _: swapped, direction))
        example = verify(given, 50).counterexample
        assert example is not None
        assert example.law is law
        root = parse_document(example.document).root.tag
        assert root == ("bib" if law is Law.ALONG else "list")


def test_an_error_in_the_place_of_a_translation_is_a_counterexample(
    mapping: Callable[..., Mapping], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Translation:
        raise LookupError("no such rule")

    monkeypatch.setattr(verifying, "translate", broken)
    example = verify(mapping(ARROWS), 3).counterexample
    assert example is not None
    assert example.error == "LookupError: no such rule"
    assert (example.translation, example.found) == (None, ())


def test_what_takes_too_long_is_stopped_and_counted(
    mapping: Callable[..., Mapping], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*given: Any) -> Iterator[str]:
        *_, check = given
        while True:
            check()

    monkeypatch.setattr(verifying, "MOST_SECONDS", -1.0)
    monkeypatch.setattr(verifying, "evaluate", endless)
    found = verify(mapping(ARROWS), 1)
    assert not found.passed
    assert (found.stopped, found.refused) == (4, {})
    assert found.checks == {Law.ALONG: 0, Law.AGAINST: 0}
    assert set(found.untested.values()) == {"every query took too long"}


def test_refusals_are_counted_by_code(mapping: Callable[..., Mapping]) -> None:
    found = verify(mapping(ARROWS), 30)
    assert found.passed
    assert found.refused
    assert all(code.startswith(("HX3", "HX5")) for code in found.refused)


# -- what is wrong in a mapping --------------------------------------------------------------------------------------

KEYED: Final = f"source key book/@isbn\n{ARROWS}"


def test_a_declared_key_is_assumed(mapping: Callable[..., Mapping]) -> None:
    found = verify(mapping(KEYED), 30)
    assert found.passed
    assert found.assumed == (("source", ("book", "@isbn")),)


def test_a_key_that_valid_documents_break_is_found_in_rules_edited_by_hand(
    mapping: Callable[..., Mapping], tmp_path: Path
) -> None:
    rules = print_rules(mapping(ARROWS), tmp_path)
    edited = mapping(rules.split("against:")[0].replace("\n\n", "\nsource key book/@isbn\n\n", 1))
    assert edited.source_keys == frozenset({("book", "@isbn")})
    found = verify(edited, 200, any_valid=True)
    example = found.counterexample
    assert example is not None
    assert not found.passed
    assert found.assumed == ()
    isbns = [book.get("isbn") for book in parse_document(example.document).root.iter("book")]
    assert len(isbns) == 2
    assert len(set(isbns)) == 1
    assert verify(mapping(ARROWS), found.cases, any_valid=True).passed  # the key is what is wrong


def document(text: str, schema: str = BIB) -> Document:
    return conform(parse_document(text, "given.xml"), parse_dtd(schema, "bib"))


def test_a_document_that_breaks_a_declared_key_is_told(mapping: Callable[..., Mapping]) -> None:
    given = document(
        '<bib>\n<book isbn="1"><title>a</title></book>\n<book isbn="2"><title>b</title></book>\n'
        '<book isbn="1"><title>c</title></book>\n</bib>'
    )
    found = verify(mapping(KEYED), 3, documents={Law.ALONG: [given]})
    assert not found.passed
    (fault,) = found.faults
    assert fault.code == "HX5011"
    assert str(fault.position) == "given.xml:4:1"
    assert "book/@isbn" in fault.message
    assert "line 2" in fault.message
    assert not verify(mapping(ARROWS), 3, documents={Law.ALONG: [given]}).faults


def test_of_what_breaks_a_declared_key_the_first_are_told_and_the_rest_counted(mapping: Callable[..., Mapping]) -> None:
    for again, told in ((10, 10), (11, 11), (5_000, 11)):
        books = "".join(f'\n<book isbn="1"><title>t{n}</title></book>' for n in range(again + 1))
        faults = broken_declarations(mapping(KEYED), document(f"<bib>{books}</bib>"))
        assert len(faults) == told and {fault.code for fault in faults} == {"HX5011"}
        if again > 10:
            assert faults[-1].message == f"{again - 10:,} more values of the key book/@isbn come again, from here on"
            assert str(faults[-1].position) == "given.xml:13:1"


def test_a_counterexample_on_a_given_document_needs_that_document(mapping: Callable[..., Mapping]) -> None:
    books = "".join(f'<book isbn="1"><title>t{n}</title><author>a{n}</author></book>' for n in range(3))
    found = verify(mapping(KEYED), 100, documents={Law.ALONG: [document(f"<bib>{books}</bib>")]})
    assert found.counterexample is not None
    assert found.counterexample.seed is None
    assert found.counterexample.document.count("<book") == 2


def test_a_document_that_breaks_a_declared_reference_is_told(mapping: Callable[..., Mapping]) -> None:
    arrows = "source key book/@isbn\nsource reference loan/@of -> book/@isbn\nloan/@of -> w/@n\nbook/title -> w/t\n"
    given = document('<bib><book isbn="1"><title>a</title></book>\n<loan of="1"/>\n<loan of="7"/></bib>')
    found = verify(mapping(arrows), 20, documents={Law.ALONG: [given]})
    assert found.counterexample is None
    (fault,) = found.faults
    assert (fault.code, str(fault.position)) == ("HX5012", "given.xml:3:1")
    assert "'7'" in fault.message


def test_a_rule_that_makes_nothing_is_told(mapping: Callable[..., Mapping], tmp_path: Path) -> None:
    source = """<!ELEMENT bib (book*)> <!ELEMENT book (title)>
    <!ATTLIST book kind (new | old) #REQUIRED age (one | two) #REQUIRED> <!ELEMENT title (#PCDATA)>"""
    target = "<!ELEMENT list (w*)> <!ELEMENT w (t)> <!ELEMENT t (#PCDATA)>"
    text = print_rules(mapping("book/title -> w/t", source, target), tmp_path)
    text = text.split("against:")[0]
    body = text.replace("book -> $book[", "book -> $book[@kind -> $K, @age -> $O, ").rstrip().removesuffix(".")
    assert verify(mapping(text, source, target), 10).idle == ()
    edited = mapping(f"{body},\n$K = $O.\n", source, target)
    found = verify(edited, 10)
    assert not found.passed
    assert found.idle == ((Law.ALONG, 1),)
    assert found.untested == {Law.ALONG: "the rules make nothing of any of 30 documents of bib"}


def test_a_document_that_brings_several_values_for_one_leaf_is_told_and_not_promised(
    mapping: Callable[..., Mapping],
) -> None:
    keyed = mapping("target key w/@n\nbook/@isbn -> w/@n\nbook/title -> w/t\n")
    given = document(
        '<bib><book isbn="1"><title>a</title></book><book isbn="1"><title>b</title></book></bib>',
    )
    found = verify(keyed, 20, documents={Law.ALONG: [given]})
    assert found.counterexample is None
    (fault,) = found.faults
    assert fault.code == "HX5014"
    assert "w/t stands once, and gets several values 1 times" in fault.message
    assert all(leaf == ("w", "t") for _, leaf, _ in found.conflicts)


def test_documents_of_the_target_are_asked_too(mapping: Callable[..., Mapping]) -> None:
    given = conform(parse_document('<list><w n="1"/><w><t>a</t><p>b</p></w></list>', "t.xml"), parse_dtd(LIST, "list"))
    alone, with_it = verify(mapping(ARROWS), 5), verify(mapping(ARROWS), 5, documents={Law.AGAINST: [given]})
    assert with_it.passed
    assert with_it.checks[Law.ALONG] == alone.checks[Law.ALONG]
    assert with_it.checks[Law.AGAINST] > alone.checks[Law.AGAINST]
    assert with_it.round_trips[Law.AGAINST].documents == alone.round_trips[Law.AGAINST].documents + 1


# -- what comes back of documents ------------------------------------------------------------------------------------

SHOP: Final = """<!ELEMENT shop (item*)> <!ELEMENT item (title, year?, subject*)> <!ELEMENT title (#PCDATA)>
<!ELEMENT year (#PCDATA)> <!ELEMENT subject (#PCDATA)>"""
LIB: Final = """<!ELEMENT lib (book*)> <!ELEMENT book (name, published?, topic*)> <!ELEMENT name (#PCDATA)>
<!ELEMENT published (#PCDATA)> <!ELEMENT topic (#PCDATA)>"""
GLUED: Final = "<item><title>x</title><subject>a</subject></item><item><title>x</title><subject>b</subject></item>"


def arrows_text(lines: str, source: str = SHOP, target: str = LIB) -> ArrowsText:
    dtds = {"s.dtd": source, "t.dtd": target}
    return ArrowsText(f'source "s.dtd"\ntarget "t.dtd"\n{lines}', lambda file, root: parse_dtd(dtds[file], root))


def trip(arrows: ArrowsText, text: str = f"<shop>{GLUED}</shop>") -> RoundTrip:
    mapping = arrows.examined().sound
    assert mapping is not None
    given = parse_document(text)
    return verify(mapping, 3, documents={Law.ALONG: [given]}, arrows=arrows).round_trips[Law.ALONG]


def test_what_becomes_one_does_not_come_back_and_the_line_that_mends_it_is_told() -> None:
    arrows = arrows_text("item/title -> book/name\nitem/year -> book/published\nitem/subject -> book/topic")
    found = trip(arrows)
    assert found.returned < found.documents
    assert found.lost is not None
    assert found.lost.line == "each item -> book"
    assert found.lost.document.count("<item>") == 2
    assert found.lost.image.count("<book>") == found.lost.back.count("<item>") == 1
    mended = trip(arrows.with_line(found.lost.line))
    assert mended.lost is None
    assert mended.returned == mended.documents


def test_a_leaf_without_an_arrow_does_not_come_back_and_the_arrow_is_told() -> None:
    arrows = arrows_text("item/title -> book/name\nitem/subject -> book/topic\neach item -> book")
    found = trip(arrows, "<shop><item><title>x</title><year>1990</year></item></shop>")
    assert found.lost is not None
    assert found.lost.line == "item/year -> book/published"
    assert found.lost.document.startswith("<shop><item><title>") and "<year>" in found.lost.document
    assert trip(arrows.with_line(found.lost.line)).lost is None


def test_a_line_that_was_not_seen_to_mend_is_not_told() -> None:
    lines = "item/title -> book/name\nitem/subject -> book/topic\neach item -> book"
    target = LIB.replace("published?, ", "").replace("<!ELEMENT published (#PCDATA)>", "")
    arrows = arrows_text(lines, target=target)
    found = trip(arrows, "<shop><item><title>x</title><year>1990</year></item></shop>")
    assert found.lost is not None
    assert found.lost.line is None


def test_the_side_of_a_document_is_known_by_its_root_or_its_validity() -> None:
    arrows = arrows_text("item/title -> book/name", target=LIB.replace("lib ", "shop "))
    mapping = arrows.examined().sound
    assert mapping is not None
    first, second, both = map(
        parse_document,
        ("<shop><item><title>x</title></item></shop>", "<shop><book><name>x</name></book></shop>", "<shop/>"),
    )
    assert [side_of(mapping, one)[0] for one in (first, second)] == ["source", "target"]
    assert side_of(mapping, both, "target")[0] == "target"
    with pytest.raises(MappingError, match="HX4040 the document is valid for both sides"):
        side_of(mapping, both)
    with pytest.raises(MappingError, match="HX4040 the root element is bib, not shop"):
        side_of(mapping, parse_document("<bib/>"))
    with pytest.raises(SchemaError):
        side_of(mapping, parse_document("<shop><title/></shop>"))


def test_a_schema_whose_documents_cannot_obey_a_key_is_told(mapping: Callable[..., Mapping]) -> None:
    source = "<!ELEMENT bib (b, b)> <!ELEMENT b EMPTY> <!ATTLIST b k (one) #REQUIRED>"
    given = mapping("b/@k -> w/t", source)
    with pytest.raises(TranslationError) as refused:
        verify(replace(given, source_keys=frozenset({("b", "@k")})), 1)
    assert [fault.code for fault in refused.value.faults] == ["HX5013"]
    assert verify(given, 3).passed


# -- random queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["montreal-boston", "stluke-boston"])
def test_random_queries_are_read_back_and_mostly_translated(name: str) -> None:
    mapping = load_mapping(HOSPITAL / f"{name}.arrows")
    vocabulary = Vocabulary(mapping.target, frozenset({("Progress", "@PatRef")}), values=("a", "Coronary", '"'))
    outcomes: Counter[str] = Counter()
    for seed in range(100):
        query = random_query(Random(seed), vocabulary)
        text = print_query(query)
        assert print_query(parse_query(text)) == text
        assert random_query(Random(seed), vocabulary) == query
        try:
            translate(mapping, query, Direction.SOURCE)
            outcomes["translated"] += 1
        except HeptoxError as error:
            outcomes[error.faults[0].code] += 1
    assert outcomes["translated"] > 80, outcomes


def test_random_queries_hold_every_construct() -> None:
    mapping = load_mapping(HOSPITAL / "montreal-boston.arrows")
    vocabulary = Vocabulary(
        mapping.target, keys=frozenset({("Progress", "@PatRef")}), numeric=frozenset({("Progress", "Symptom", "Desc")})
    )
    text = "\n".join(print_query(random_query(Random(seed), vocabulary)) for seed in range(300))
    for construct in (
        "//Progress", "/MassGeneral", "/*", "Pulmonary", "(Pulmonary | Coronary)", "empty(", "exists(", " or ", " and ",
        " != ", " >= ", " < 5", "data(", "text {", "attribute a {", "<r a=", "<j>", "local-name(", "[", "(\n", "_x",
    ):  # fmt: skip
        assert construct in text, construct


def test_random_queries_reach_into_recursive_schemas() -> None:
    graph = parse_dtd("<!ELEMENT a (b*, c?)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (a*)>", "a")
    for seed in range(30):
        assert print_query(random_query(Random(seed), Vocabulary(SchemaTree(graph))))


# -- making things smaller -------------------------------------------------------------------------------------------


def test_smaller_queries_are_smaller_and_queries() -> None:
    text = """(for $x in //a[b = 'x' and c], $y in $x/d[e < 5] where $x/f = $y/g or empty($y/h) and number($x/i[z]) < 5
    return <r k="{data($x/m)}">lit{$x/l}<s>{data($y/n)}</s></r>, data(//o[p]),
    attribute q {data(//u)}, text {data(//v)})"""
    query = parse_query(text)
    found = [print_query(smaller) for smaller in smaller_queries(query)]
    assert len(set(found)) == len(found) > 25
    assert all(len(smaller) < len(print_query(query)) for smaller in found)
    unbound = 0
    for smaller in found:
        try:
            assert print_query(parse_query(smaller)) == smaller
        except GrammarError as error:
            assert {fault.code for fault in error.faults} == {"HX3004"}
            unbound += 1
    assert unbound == 2  # without $x, or without $y


def test_shrinking_a_query_ends_with_a_single_path() -> None:
    query: Expression = parse_query("for $x in //a[b = 'x'], $y in //c where $x/f = $y/g and $y/h return //d[e]/f")
    steps = 0
    while (smaller := next(smaller_queries(query), None)) is not None:
        query, steps = smaller, steps + 1
    assert steps < 20
    assert print_query(query).endswith("return //d/f")
    assert "where" not in print_query(query)


def test_smaller_documents_leave_the_given_one_as_it_is() -> None:
    given = parse_document('<a x="1"><b>long</b><c y="a"><d/></c></a>')
    found = [write_document(smaller.root).strip() for smaller in smaller_documents(given)]
    assert found == [
        '<a x="1"><b>long</b></a>',
        '<a x="1"><c y="a"><d/></c></a>',
        '<a x="1"><b>long</b><c y="a"/></a>',
        '<a><b>long</b><c y="a"><d/></c></a>',
        '<a x="1"><b>long</b><c><d/></c></a>',
        '<a x="a"><b>long</b><c y="a"><d/></c></a>',
        '<a x="1"><b>a</b><c y="a"><d/></c></a>',
    ]
    assert write_document(given.root).strip() == '<a x="1"><b>long</b><c y="a"><d/></c></a>'
