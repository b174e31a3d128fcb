"""Lines suggested from pairs of documents: what supports them, and what a pair refutes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pytest

from heptox.mapping import Proposal, Slot, suggest
from heptox.schema import Box, SchemaTree
from heptox.xml import Document, parse_document, write_document
from tests.mapping.building import as_set
from tests.mapping.suggesting.schemas import codes, made, tree

SOURCE_LEAVES: Final = ("title", "given", "family", "issued", "shelf", "kind", "price")
TARGET_LEAVES: Final = ("label", "author", "date", "room", "row", "type", "cost", "isbn", "subject", "medium")


def with_leaves(dtd: str, names: Sequence[str]) -> SchemaTree:
    return tree(dtd + "".join(f"<!ELEMENT {name} (#PCDATA)>" for name in names))


LIBRARY: Final = with_leaves(
    f"<!ELEMENT library (book*)> <!ELEMENT book ({', '.join(SOURCE_LEAVES)}, field*)>"
    "<!ELEMENT field (#PCDATA)> <!ATTLIST field tag CDATA #REQUIRED>",
    SOURCE_LEAVES,
)
SHOP: Final = with_leaves(
    "<!ELEMENT shop (item*)> <!ELEMENT item (label, author, date, room, row, type, cost, isbn?, subject?, medium)>",
    TARGET_LEAVES,
)

Book = dict[str, str]
TYPES: Final = {"m": "book", "s": "journal"}
BOOKS: Final[Sequence[Book]] = [
    dict(zip((*SOURCE_LEAVES, "020", "650"), row.split("|"), strict=True))
    for row in (
        "Emma|Jane|Austen|18151223|A-7|m|9,50|111|love", "Ulysses|James|Joyce|19220202|B-12|m|12,00|222|Dublin",
        "Dubliners|James|Joyce|19140615|B-13|m|8,20||Dublin", "Nature|Norman|Lockyer|18691104|J-1|s|3,10|333|",
        "Dracula|Bram|Stoker|18970526|A-11|m|7,70|444|horror", "Mind|George|Robertson|18760101|J-2|s|4,00|555|",
        "Middlemarch|George|Eliot|18711201|A-9|m|10,40|666|England", "Science|John|Michels|18800703|J-3|s|2,90|777|",
    )
]  # fmt: skip


def element(name: str, values: Iterable[tuple[str, str]]) -> str:
    """An element with what its children hold."""
    return f"<{name}>{''.join(f'<{child}>{value}</{child.split()[0]}>' for child, value in values if value)}</{name}>"


def document(root: str, elements: Iterable[str]) -> Document:
    return parse_document(f"<{root}>{''.join(elements)}</{root}>")


def source_document(books: Sequence[Book]) -> Document:
    names = {name: name for name in SOURCE_LEAVES} | {f'field tag="{tag}"': tag for tag in ("020", "650")}
    return document("library", (element("book", ((step, b[name]) for step, name in names.items())) for b in books))


def target_document(books: Sequence[Book]) -> Document:
    return document("shop", (element("item", zip(TARGET_LEAVES, target_values(book), strict=True)) for book in books))


def target_values(book: Book) -> tuple[str, ...]:
    day, (room, _, row) = book["issued"], book["shelf"].partition("-")
    author, date = f"{book['given']} {book['family']}", f"{day[:4]}-{day[4:6]}-{day[6:]}"
    cost = book["price"].replace(",", ".")
    return book["title"], author, date, room, row, TYPES[book["kind"]], cost, book["020"], book["650"], "print"


def pairs(*groups: Sequence[Book]) -> list[tuple[Document, Document]]:
    return [(source_document(group), target_document(group)) for group in groups]


PAIRS: Final = pairs(BOOKS[:3], BOOKS[3:5], BOOKS[5:])
FOUND: Final = {str(each): each for each in suggest(LIBRARY, SHOP, pairs=PAIRS)}


@pytest.mark.parametrize(
    ("line", "kind", "pair", "source", "target"),
    [
        ("each book -> item", "entity", 0, (), ""),
        ("book/title -> item/label", "arrow", 1, ("Emma",), "Emma"),
        ('string-join(book/field[@tag = "020"], "") -> item/isbn inverse .', "selection", 1, ("111",), "111"),
        ('string-join(book/field[@tag = "650"], "") -> item/subject inverse .', "selection", 2, ("horror",), "horror"),
        ('"print" -> item/medium', "constant", 1, (), "print"),
        (
            'replace(book/issued, "^([0-9]{4})([0-9]{2})([0-9]{2})$", "$1-$2-$3") -> item/date'
            ' inverse replace(., "^([0-9]{4})-([0-9]{2})-([0-9]{2})$", "$1$2$3")',
            "function", 1, ("18151223",), "1815-12-23",
        ),
        (
            'concat(book/given, " ", book/family) -> item/author'
            ' inverse substring-before(., " ") inverse substring-after(., " ")',
            "function", 1, ("Jane", "Austen"), "Jane Austen",
        ),
        ('substring-before(book/shelf, "-") -> item/room', "function", 1, ("A-7",), "A"),
        ('substring-after(book/shelf, "-") -> item/row', "function", 1, ("A-7",), "7"),
        (
            'translate(book/price, ",", ".") -> item/cost inverse translate(., ".", ",")',
            "function", 3, ("4,00",), "4.00",
        ),
        ('lookup("kind-1.csv", book/kind) -> item/type', "table", 2, ("s",), "journal"),
    ],
)  # fmt: skip
def test_each_kind_of_line_is_suggested_with_its_samples(
    line: str, kind: str, pair: int, source: tuple[str, ...], target: str
) -> None:
    found = FOUND[line]
    assert found.kind == kind
    assert found.reasons[0].kind == "pairs"
    assert [(each.source, each.target) for each in found.samples if each.pair == pair] == [(source, target)] * bool(
        pair
    )


def test_what_is_suggested_makes_the_documents_of_the_pairs_and_others() -> None:
    unseen = [{**BOOKS[0], "title": "Persuasion", "issued": "18171220", "shelf": "C-5", "020": ""}]
    for source, target in (*PAIRS, *pairs(unseen)):
        assert as_set(made(LIBRARY, SHOP, list(FOUND.values()), source).root) == as_set(target.root)


def with_a_difference(element: str) -> list[tuple[Document, Document]]:
    """The pairs, but in the last one the target has another value."""
    source, target = PAIRS[-1]
    changed = parse_document(write_document(target.root))
    next(changed.root.iter(element)).text = "something else"
    return [*PAIRS[:-1], (source, changed)]


@pytest.mark.parametrize(
    ("element", "leaf"),
    [("label", "title"), ("isbn", "field"), ("medium", '"print"'), ("date", "issued"), ("author", "given"),
     ("room", "substring-before"), ("type", "lookup")],
)  # fmt: skip
def test_what_a_pair_refutes_is_not_suggested(element: str, leaf: str) -> None:
    found = suggest(LIBRARY, SHOP, pairs=with_a_difference(element))
    assert any(f"-> item/{element}" in line and leaf in line for line in FOUND)
    assert not any(f"-> item/{element}" in str(each) for each in found)
    assert len(found) == len(FOUND) - 1


class Initials:
    """Proposes what nobody else does: the first letter of a leaf, whatever the values are."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        for path, values in slot.leaves.single.items():
            made = tuple(None if value is None else value[:1] for value in values)
            yield Proposal("function", f"substring({slot.leaves.term(path)}, 1, 1)", (path,), made)


class Nonsense:
    """Says of texts that no mapping takes, and of others that are wrong, that they have the values."""

    def propose(self, slot: Slot) -> Iterator[Proposal]:
        for text in ("no such leaf(", 'concat(book/title, "!")'):
            yield Proposal("function", text, (("book", "title"),), slot.wanted)


def test_a_proposer_can_be_plugged_in() -> None:
    shop = tree("<!ELEMENT shop (item*)> <!ELEMENT item (room)> <!ELEMENT room (#PCDATA)>")
    titles = [[str(one.text) for one in source.root.iter("title")] for source, _ in PAIRS]
    rooms = [document("shop", (element("item", [("room", one[0])]) for one in each)) for each in titles]
    known = [(source, target) for (source, _), target in zip(PAIRS, rooms, strict=True)]
    assert not any("/room" in str(each) for each in suggest(LIBRARY, shop, pairs=known, proposers=()))
    assert not any("/room" in str(each) for each in suggest(LIBRARY, shop, pairs=known, proposers=[Nonsense()]))
    found = suggest(LIBRARY, shop, pairs=known, proposers=[Initials()])
    assert "substring(book/title, 1, 1) -> item/room" in map(str, found)


# -- selections on either side ---------------------------------------------------------------------------------------

ENTRIES: Final = tree("""
<!ELEMENT book (entry*)> <!ELEMENT entry (name, born)> <!ATTLIST entry kind CDATA #REQUIRED>
<!ELEMENT name (#PCDATA)> <!ELEMENT born (#PCDATA)>
""")
PEOPLE: Final = tree("""
<!ELEMENT world (person*, town*)> <!ELEMENT person (called, birth)> <!ELEMENT town (called, since)>
<!ELEMENT called (#PCDATA)> <!ELEMENT birth (#PCDATA)> <!ELEMENT since (#PCDATA)>
""")
ROWS: Final = (
    (("p", "Ada", "1815"), ("t", "Rome", "-753"), ("p", "Alan", "1912"), ("t", "York", "71")),
    (("t", "Bonn", "11"), ("p", "Emmy", "1882")),
)


def entries(rows: Sequence[tuple[str, str, str]]) -> Document:
    written = (element("entry", [("name", n), ("born", b)]).replace("<entry", f'<entry kind="{k}"') for k, n, b in rows)
    return document("book", written)


def people(rows: Sequence[tuple[str, str, str]]) -> Document:
    persons = [element("person", [("called", name), ("birth", born)]) for kind, name, born in rows if kind == "p"]
    return document(
        "world",
        (*persons, *(element("town", [("called", name), ("since", at)]) for kind, name, at in rows if kind == "t")),
    )


ENTITIES: Final = [(entries(rows), people(rows)) for rows in ROWS]


def test_selected_nodes_correspond_to_nodes() -> None:
    found = suggest(ENTRIES, PEOPLE, pairs=ENTITIES)
    assert sorted(map(str, found)) == [
        'each entry[@kind = "p"] -> person',
        'each entry[@kind = "t"] -> town',
        'entry[@kind = "p"]/born -> person/birth',
        'entry[@kind = "p"]/name -> person/called',
        'entry[@kind = "t"]/born -> town/since',
        'entry[@kind = "t"]/name -> town/called',
    ]
    assert {(each.source, each.target) for each in found if each.kind == "entity"} == {
        (("entry",), ("person",)), (("entry",), ("town",)),
    }  # fmt: skip


def test_nodes_correspond_to_selected_nodes() -> None:
    reverse = [(other, one) for one, other in ENTITIES]
    found = suggest(PEOPLE, ENTRIES, pairs=reverse)
    assert 'each person -> entry[@kind = "p"]' in map(str, found)
    for source, target in reverse:
        assert as_set(made(PEOPLE, ENTRIES, found, source).root) == as_set(target.root)


def test_values_are_tags_of_a_box() -> None:
    wards = tree(
        "<!ELEMENT wards (heart*, lung*)> <!ELEMENT heart (who)> <!ELEMENT lung (who)> <!ELEMENT who (#PCDATA)>",
        Box("Ward", (), ("heart", "lung")),
    )
    stays = tree(
        "<!ELEMENT stays (stay*)> <!ELEMENT stay (name, ill)> <!ELEMENT name (#PCDATA)> <!ELEMENT ill (#PCDATA)>"
    )
    rows = [[("Ann", "heart"), ("Cy", "heart"), ("Bob", "lung")], [("Ed", "heart"), ("Di", "lung")]]
    known = [
        (
            document("stays", (element("stay", [("name", name), ("ill", ill)]) for name, ill in each)),
            document("wards", (element(ill, [("who", name)]) for name, ill in each)),
        )
        for each in rows
    ]
    lines = suggest(stays, wards, pairs=known)
    assert {"stay/ill -> [Ward]", "stay/name -> [Ward]/who"} <= set(map(str, lines))
    assert codes(stays, wards, lines) == set()


# -- what says nothing -----------------------------------------------------------------------------------------------

NOTE: Final = tree("<!ELEMENT note (#PCDATA)>")
DAYS: Final = tree("<!ELEMENT days (day*)> <!ELEMENT day (on)> <!ELEMENT on (#PCDATA)>")


def test_dates_that_can_be_read_in_two_ways_are_left_alone() -> None:
    def known(dates: Sequence[tuple[str, str]]) -> list[tuple[Document, Document]]:
        one, other = (document("days", (element("day", [("on", pair[side])]) for pair in dates)) for side in (0, 1))
        return [(one, other)]

    twice = [("04/04/2016", "2016-04-04"), ("05/05/2017", "2017-05-05"), ("06/06/2018", "2018-06-06")]
    assert not any("replace" in str(each) for each in suggest(DAYS, DAYS, pairs=known(twice)))
    once = [*twice, ("07/08/2019", "2019-08-07")]
    assert any('"$3-$2-$1") -> day/on' in str(each) for each in suggest(DAYS, DAYS, pairs=known(once)))


def test_dates_of_documents_that_are_no_pairs_show_their_format() -> None:
    def events(name: str, dates: Sequence[str]) -> Document:
        return document("events", (element("event", [(name, one)]) for one in dates))

    source, target = (
        tree(f"<!ELEMENT events (event*)> <!ELEMENT event ({name})> <!ELEMENT {name} (#PCDATA)>")
        for name in ("issueDate", "date_of_issue")
    )
    samples = events("issueDate", ["20160404", "20170131", "20181224"])
    others = events("date_of_issue", ["25.12.2003", "01.01.2004", "30.06.2005"])
    (found,) = suggest(source, target, source_documents=[samples], target_documents=[others])
    assert str(found) == (
        'replace(event/issueDate, "^([0-9]{4})([0-9]{2})([0-9]{2})$", "$3.$2.$1") -> event/date_of_issue'
        ' inverse replace(., "^([0-9]{2})[.]([0-9]{2})[.]([0-9]{4})$", "$3$2$1")'
    )
    assert (found.kind, found.reasons[0].text) == ("function", "Dates are written as 20160404 and as 01.01.2004.")
    image = made(source, target, [found], samples)
    assert [one.text for one in image.root.iter("date_of_issue")] == ["04.04.2016", "31.01.2017", "24.12.2018"]
    mixed = events("date_of_issue", ["25.12.2003", "2004-01-01", "30.06.2005"])
    (arrow,) = suggest(source, target, source_documents=[samples], target_documents=[mixed])
    assert arrow.kind == "arrow"


def test_pairs_of_which_nothing_can_be_learned() -> None:
    note = parse_document("<note>hello</note>")
    assert suggest(NOTE, NOTE, pairs=[(note, note)]) == ()
    empty = parse_document("<library/>"), parse_document("<shop/>")
    assert not any(each.samples for each in suggest(LIBRARY, SHOP, pairs=[empty]))
    others = [(one, note) for one, _ in PAIRS]
    assert suggest(LIBRARY, SHOP, pairs=others) == suggest(LIBRARY, SHOP)


def test_what_is_drawn_is_not_suggested_again() -> None:
    drawn = [(("book", "title"), ("item", "label"))]
    found = suggest(LIBRARY, SHOP, pairs=PAIRS, drawn=drawn)
    assert set(map(str, found)) == set(FOUND) - {"book/title -> item/label"}


def test_nodes_in_another_order_are_paired_by_a_leaf() -> None:
    known = [(source_document(group), target_document(group[::-1])) for group in (BOOKS[:3], BOOKS[3:5], BOOKS[5:])]
    assert set(map(str, suggest(LIBRARY, SHOP, pairs=known))) == set(FOUND)
