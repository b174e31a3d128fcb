"""Cases that people met: what they expected is worked out by hand, or from the raw documents, and tested.

Translations are evaluated by the project's evaluator and by Saxon, and where peers are concerned, asked over peers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

import pytest
from lxml import etree

from heptox.errors import HeptoxError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, exchange, load_mapping, parse_mapping_arrows
from heptox.store import evaluate
from heptox.translate import Direction, translate
from heptox.xml import parse_document, write_document
from tests.peer.asked_peers import Answered, Holding, Knowing, ask, asked_peers
from tests.peer.networks import run
from tests.support.definition import image_of, making, same_items, standard
from tests.support.saxon import answer_set
from tests.support.shared import CASES, reads_shared

pytestmark = reads_shared

STEPS: Final = 1600
"""How often a translation may ask whether to go on: about a second on a slow machine."""


@cache
def text(name: str) -> str:
    """A document of a case."""
    return (CASES / name).read_text(encoding="utf-8")


@cache
def mapping(name: str) -> Mapping:
    return load_mapping(CASES / name)


def bounded() -> Callable[[], None]:
    """What stops a translation that takes too long."""
    asked = count(1)

    def check() -> None:
        assert next(asked) <= STEPS, "the translation takes too long"

    return check


def answered(found: Mapping, query: str, to: Direction, document: str) -> frozenset[str]:
    """The answer of the translated query on a document, on which the evaluator and Saxon agree."""
    translation = translate(found, parse_query(query), to, bounded())
    items = frozenset(evaluate(translation.query, [parse_document(document)]))
    assert items == answer_set(translation.text, document)
    return items


def items(*found: str) -> frozenset[str]:
    return frozenset(found)


def element(name: str, value: str) -> str:
    made = etree.Element(name)
    made.text = value
    return str(etree.tostring(made, encoding="unicode"))


def asked_over_peers(folder: Path, asker: Holding, other: Holding, found: Path, to: Direction, query: str) -> Answered:
    """The answer at a peer with the asker's schema, which knows one with the other."""
    known = Knowing("other", "asker", found) if to is Direction.SOURCE else Knowing("asker", "other", found)
    answers: list[Answered] = []

    async def test() -> None:
        async with asked_peers(folder, {"asker": asker, "other": other}, [known]) as peers:
            answers.append(await ask(peers["asker"], query))

    run(test)
    return answers[0]


# -- books about two things --------------------------------------------------------------------------------------------

BOTH: Final = 'for $i in //item where $i/subject = "Art" and $i/subject = "History" return $i/title'
DATED: Final = "<title>Dated</title>"
UNDATED: Final = "<title>Undated</title>"


@pytest.mark.parametrize("name", ["m", "mk"])
@pytest.mark.parametrize("query", [BOTH, '//item[subject = "Art"][subject = "History"]/title'])
def test_books_about_two_things_are_found_with_a_year_and_without(name: str, query: str) -> None:
    found = mapping(f"silent-partial-minimal/{name}.arrows")
    assert answered(found, query, Direction.TARGET, text("silent-partial-minimal/t.xml")) == items(DATED, UNDATED)


def test_books_about_two_things_are_found_where_all_have_a_year() -> None:
    document = text("silent-partial-minimal/t.xml").replace("Undated</name>", "Undated</name><published>1</published>")
    found = mapping("silent-partial-minimal/m2.arrows")
    assert answered(found, BOTH, Direction.TARGET, document) == items(DATED, UNDATED)


def test_books_about_two_things_are_found_over_peers(tmp_path: Path) -> None:
    folder = CASES / "silent-partial-minimal"
    shop = Holding(folder / "s.dtd", (text("silent-partial-minimal/s.xml"),))
    library = Holding(folder / "t.dtd", (text("silent-partial-minimal/t.xml"),))
    answer = asked_over_peers(tmp_path, shop, library, folder / "m.arrows", Direction.TARGET, BOTH)
    assert answer.items == items(DATED, UNDATED)
    assert answer.receipt.complete


# -- years that are not there ------------------------------------------------------------------------------------------

WHOLE: Final = "for $i in //item return <r>{$i/title}{$i/year}</r>"
WITH: Final = "<r><title>With</title><year>1990</year></r>"
WITHOUT: Final = "<r><title>Without</title></r>"


@pytest.mark.parametrize(("name", "document"), [("m", "t"), ("m2", "t2")])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//item/year", items("<year>1990</year>")),
        ("for $i in //item return data($i/year)", items('"1990"')),
        (WHOLE, items(WITH, WITHOUT)),
        ("for $i in //item where empty($i/year) return $i/title", items("<title>Without</title>")),
        ("for $i in //item where $i/year = '' return $i/title", items()),
        ("for $i in //item, $j in //item where $i/year = $j/year return $i/title", items("<title>With</title>")),
    ],
)
def test_no_year_is_made_up(name: str, document: str, query: str, expected: frozenset[str]) -> None:
    found = mapping(f"invented-empty/{name}.arrows")
    assert answered(found, query, Direction.TARGET, text(f"invented-empty/{document}.xml")) == expected


def test_no_year_is_made_up_over_peers(tmp_path: Path) -> None:
    folder = CASES / "invented-empty"
    shop = Holding(folder / "s.dtd", (text("invented-empty/s.xml"),))
    library = Holding(folder / "t.dtd", (text("invented-empty/t.xml"),))
    answer = asked_over_peers(tmp_path, shop, library, folder / "m.arrows", Direction.TARGET, WHOLE)
    assert answer.items == items("<r><title>Mine</title><year>2000</year></r>", WITH, WITHOUT)


# -- names of publishers -----------------------------------------------------------------------------------------------


@cache
def harbor() -> etree._ElementTree:
    return etree.ElementTree(etree.fromstring(text("id-instead-of-name/harbor.xml")))


def publisher_of(book: etree._Element) -> str | None:
    """The name of the publisher that a book of the harbour refers to."""
    names = {each.get("id"): each.findtext("name") for each in harbor().iterfind("publisher")}
    return names.get(book.get("publisher"))


BY_DELTA: Final = 'for $b in //book where $b/publisher = "Delta" return <b>{$b/isbn}{$b/title}</b>'
PUBLISHERS: Final = "//book/publisher"


def by_delta() -> frozenset[str]:
    """What the raw document says."""
    return frozenset(
        f"<b>{element('isbn', book.findtext('isbn') or '')}{element('title', book.findtext('title') or '')}</b>"
        for book in harbor().iterfind("book")
        if publisher_of(book) == "Delta"
    )


def all_publishers() -> frozenset[str]:
    found = map(publisher_of, harbor().iterfind("book"))
    return frozenset(element("publisher", name) for name in found if name is not None)


@pytest.mark.parametrize("declared", ["", "target reference book/@publisher -> publisher/@id\n"])
def test_publishers_are_named_and_books_are_those_of_the_publisher(declared: str) -> None:
    arrows = text("id-instead-of-name/el-ha.arrows")
    found = parse_mapping_arrows(arrows + declared, CASES / "id-instead-of-name", "el-ha.arrows")
    document = text("id-instead-of-name/harbor.xml")
    assert len(by_delta()) == 107
    assert answered(found, BY_DELTA, Direction.TARGET, document) == by_delta()
    assert answered(found, PUBLISHERS, Direction.TARGET, document) == all_publishers()


def test_publishers_are_named_over_peers(tmp_path: Path) -> None:
    folder = CASES / "id-instead-of-name"
    elmwood = Holding(folder / "elmwood.dtd")
    other = Holding(folder / "harbor.dtd", (text("id-instead-of-name/harbor.xml"),))
    answer = asked_over_peers(tmp_path, elmwood, other, folder / "el-ha.arrows", Direction.TARGET, PUBLISHERS)
    assert answer.items == all_publishers()


# -- books without a publisher -----------------------------------------------------------------------------------------

EACH_BOOK: Final = "for $b in //book return <b>{$b/isbn}{$b/publisher}</b>"


def each_book() -> frozenset[str]:
    """Every book with the name of its publisher, where it has one."""
    found = set()
    for book in harbor().iterfind("book"):
        name = publisher_of(book)
        shown = "" if name is None else element("publisher", name)
        found.add(f"<b>{element('isbn', book.findtext('isbn') or '')}{shown}</b>")
    return frozenset(found)


def test_books_without_a_publisher_are_exchanged() -> None:
    image = exchange(
        mapping("optional-reference-drops/ha-el.arrows"), parse_document(text("id-instead-of-name/harbor.xml"))
    )
    made = write_document(image.root)
    assert answer_set(EACH_BOOK, made) == each_book()
    assert len(each_book()) == 1200
    assert answer_set("//book[empty(publisher)]/isbn", made) == {
        element("isbn", book.findtext("isbn") or "")
        for book in harbor().iterfind("book")
        if book.get("publisher") is None
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (EACH_BOOK, each_book),
        (BY_DELTA, by_delta),
        (PUBLISHERS, all_publishers),
        (
            "for $b in //book where empty($b/publisher) return data($b/isbn)",
            lambda: {f'"{b.findtext("isbn")}"' for b in harbor().iterfind("book") if publisher_of(b) is None},
        ),
    ],
)
def test_books_without_a_publisher_are_in_answers(query: str, expected: Callable[[], frozenset[str]]) -> None:
    found = mapping("optional-reference-drops/ha-el.arrows")
    assert answered(found, query, Direction.SOURCE, text("id-instead-of-name/harbor.xml")) == expected()


def test_books_without_a_publisher_are_in_answers_over_peers(tmp_path: Path) -> None:
    folder = CASES / "optional-reference-drops"
    elmwood = Holding(folder / "elmwood.dtd")
    other = Holding(folder / "harbor.dtd", (text("id-instead-of-name/harbor.xml"),))
    answer = asked_over_peers(tmp_path, elmwood, other, folder / "ha-el.arrows", Direction.SOURCE, EACH_BOOK)
    assert answer.items == each_book()


@pytest.mark.parametrize(
    ("query", "path", "name"),
    [
        ("//book/title", "author/book/title", "title"),
        ("//book/topic", "author/book/subject", "topic"),
        ("//publisher/name", "author/book/publisher", "name"),
        ("//book/published", "author/book/year", "published"),
    ],
)
def test_the_other_library_is_asked_in_words_of_the_harbour(query: str, path: str, name: str) -> None:
    document = text("optional-reference-drops/elmwood.xml")
    expected = {element(name, found.text or "") for found in etree.fromstring(document).iterfind(path)}
    found = mapping("optional-reference-drops/ha-el.arrows")
    assert answered(found, query, Direction.TARGET, document) == expected


# -- rules that took long ----------------------------------------------------------------------------------------------

HARBOR_QUERIES: Final = (
    "//book/title",
    "//publisher/name",
    '//book[topic = "Science"]/title',
    "for $b in //book return <b>{$b/title}{$b/published}</b>",
    "for $b in //book, $p in //publisher where $b/@publisher = $p/@id return <x>{$b/title}{$p/name}</x>",
    'for $b in //book where $b/topic = "Fiction" and $b/lang = "eng" return <x>{$b/isbn}{$b/title}</x>',
    'for $b in //book where $b/topic = "Fiction" and $b/topic = "Travel" return $b/title',
    "for $b in //book, $w in $b/writer, $t in $b/topic return <x>{data($w)}-{data($t)}</x>",
)


@cache
def few_records() -> str:
    """The first records of the catalogue."""
    root = etree.fromstring(text("slow-translate/northfield.xml"))
    for record in list(root)[60:]:
        root.remove(record)
    return str(etree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("name", ["one", "two", "three", "nf-ha"])
@pytest.mark.parametrize("query", HARBOR_QUERIES)
def test_rules_with_many_fields_are_translated_soon_and_right(name: str, query: str) -> None:
    """A translation ends within its steps, and is right; a bound that is reached is named."""
    found = mapping(f"slow-translate/{name}.rules")
    try:
        translation = translate(found, parse_query(query), Direction.SOURCE, bounded())
    except HeptoxError as error:
        assert error.faults[0].code.startswith("HX50"), error
        assert name == "nf-ha" and query.count("$b/") > 3, error
        return
    image = image_of(making(found, Direction.SOURCE), few_records())
    assert image is not None
    answer = frozenset(evaluate(translation.query, [parse_document(few_records())]))
    assert same_items(answer, answer_set(standard(query), image))


SCIENCE: Final = """
for $record in //record[field[@code = "650"] = "Science"] return <title>{data($record/field[@code = "245"])}</title>
"""


def test_rules_with_many_fields_are_asked_over_peers(tmp_path: Path) -> None:
    folder = CASES / "slow-translate"
    harbor = Holding(folder / "harbor.dtd", ())
    northfield = Holding(folder / "northfield.dtd", (few_records(),))
    query = '//book[topic = "Science"]/title'
    answer = asked_over_peers(tmp_path, harbor, northfield, folder / "nf-ha.rules", Direction.SOURCE, query)
    expected = answer_set(SCIENCE, few_records())
    assert answer.items == expected != frozenset()
    assert answer.receipt.complete


# -- one peer, two documents -------------------------------------------------------------------------------------------

JOIN: Final = "for $l in {0}//loan, $b in {0}//book[@id=$l/@book] return <x>{{$b/title}}{{$l/borrower}}</x>"


def two_documents(folder: Path, query: str) -> Answered:
    case = CASES / "join-across-documents"
    documents = (text("join-across-documents/hbooks.xml"), text("join-across-documents/hloans.xml"))
    answers: list[Answered] = []

    async def test() -> None:
        async with asked_peers(folder, {"harbor": Holding(case / "harbor.dtd", documents, "lax")}) as peers:
            answers.append(await ask(peers["harbor"], query))

    run(test)
    return answers[0]


def test_an_absolute_path_means_each_document_by_itself(tmp_path: Path) -> None:
    assert two_documents(tmp_path, JOIN.format("")).items == items()


ANN: Final = items("<x><title>One</title><borrower>Ann</borrower></x>")


def test_a_collection_joins_documents(tmp_path: Path) -> None:
    answer = two_documents(tmp_path, JOIN.format("collection()"))
    assert answer.items == ANN
    assert answer.receipt.complete


LENDER_DTD: Final = """\
<!ELEMENT lender (work*, borrowing*)>
<!ELEMENT work (name)> <!ATTLIST work key CDATA #REQUIRED>
<!ELEMENT name (#PCDATA)>
<!ELEMENT borrowing (person)> <!ATTLIST borrowing of CDATA #REQUIRED>
<!ELEMENT person (#PCDATA)>
"""
LENDER_ARROWS: Final = """\
source "lender.dtd" root lender
target "harbor.dtd" root harbor
each work -> book
each borrowing -> loan
work/@key -> book/@id
work/name -> book/title
borrowing/@of -> loan/@book
borrowing/person -> loan/borrower
"""


def test_a_collection_joins_documents_over_peers(tmp_path: Path) -> None:
    """Documents of each peer are joined with one another, those of two peers are not."""
    harbor = CASES / "join-across-documents" / "harbor.dtd"
    (tmp_path / "harbor.dtd").write_text(harbor.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "lender.dtd").write_text(LENDER_DTD, encoding="utf-8")
    arrows = tmp_path / "lender.arrows"
    arrows.write_text(LENDER_ARROWS, encoding="utf-8")
    asker = Holding(tmp_path / "harbor.dtd", (text("join-across-documents/hbooks.xml"),))
    lender = Holding(
        tmp_path / "lender.dtd",
        (
            '<lender><borrowing of="w"><person>Bob</person></borrowing></lender>',
            '<lender><work key="w"><name>Dunes</name></work></lender>',
            '<lender><borrowing of="b1"><person>Cy</person></borrowing></lender>',
        ),
    )
    there = JOIN.format("collection()")
    bob = items("<x><title>Dunes</title><borrower>Bob</borrower></x>")
    folder = tmp_path / "peers"
    answer = asked_over_peers(folder, asker, lender, arrows, Direction.SOURCE, there)
    assert answer.items == bob
    assert answer.receipt.complete
    assert (
        asked_over_peers(tmp_path / "alone", asker, lender, arrows, Direction.SOURCE, JOIN.format("")).items == items()
    )


# -- a box around leaves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//book/title", items("<title>Tides</title>", "<title>Dunes</title>")),
        ("//book/isbn", items("<isbn>111</isbn>", "<isbn>222</isbn>")),
        ("//writer", items("<writer>Ann</writer>", "<writer>Bob</writer>")),
        ('//book[title = "Tides"]/writer', items("<writer>Ann</writer>", "<writer>Bob</writer>")),
        ('for $b in //book where $b/lang = "eng" return $b/title', items("<title>Dunes</title>")),
        ("for $b in //book, $w in $b/writer return <x>{data($w)}</x>", items("<x>Ann</x>", "<x>Bob</x>")),
        ("for $t in //book/title return <t>{data($t)}</t>", items("<t>Tides</t>", "<t>Dunes</t>")),
        ("//book/price", items()),
    ],
)
def test_a_box_around_leaves_changes_nothing_of_what_may_be_asked(query: str, expected: frozenset[str]) -> None:
    assert answered(mapping("box-of-leaves/w.arrows"), query, Direction.SOURCE, text("box-of-leaves/w.xml")) == expected


def test_fields_are_asked_of_a_box_around_leaves() -> None:
    found, document = mapping("box-of-leaves/w.arrows"), text("join-across-documents/hbooks.xml")
    query = "for $f in //rec/f return <f>{data($f/@n)}={data($f)}</f>"
    expected = items("<f>isbn=1</f>", "<f>title=One</f>", "<f>writer=W</f>", "<f>lang=eng</f>", "<f>price=1</f>")
    assert answered(found, query, Direction.TARGET, document) == expected
    titles = answered(found, '//rec/f[@n = "title"]', Direction.TARGET, document)
    assert titles == items('<f n="title">One</f>')


def test_a_box_around_leaves_is_asked_over_peers(tmp_path: Path) -> None:
    folder = CASES / "box-of-leaves"
    asker = Holding(folder / "harbor.dtd", (text("join-across-documents/hbooks.xml"),))
    other = Holding(folder / "w.dtd", (text("box-of-leaves/w.xml"),))
    answer = asked_over_peers(tmp_path, asker, other, folder / "w.arrows", Direction.SOURCE, "//book/title")
    assert answer.items == items("<title>One</title>", "<title>Tides</title>", "<title>Dunes</title>")
