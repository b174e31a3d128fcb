"""Three libraries with the same sort of books in words of their own: random documents, and what they say.

A document is made of :class:`Work` and written in the words of a schema; :func:`read` reads raw documents again, with
nothing of the project, so that oracles see just what a schema can hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Final, NamedTuple

from lxml import etree

RECORDS: Final = 40
PEERS: Final = ("stock", "shelves", "catalogue")
TITLES: Final = (
    "Tides", "Über Wälder", 'The "Blue" Hour', "Salt & Bread", "O'Hara's Garden", "Tides", "A < B", "Winter",
    "Müller, eine Kindheit", "Ça ira", "Dunes", "Maps & Charts", "Winter", "Naïve Set Theory", "10 Rules",
)  # fmt: skip
SUBJECTS: Final = ("Art", "History", "Travel", "Maths & Logic", "Küche")
HOUSES: Final = (("Kühn & Söhne", "Oslo"), ("Tern", None), ("O'Brien", "Cork"), ("Lune", "Paris"), ("Delta", "Athens"))
TWICE: Final = (("Tern", "Bergen"), ("Lune", "Lyon"))
"""Houses of equal names in other places, of which only one library knows that they are others."""
READERS: Final = ("Ann", "Jürg", "Zoë & Co", "Bob")
DUES: Final = ("2024-01-05", "2024-02-01", "2025-03-09")


class House(NamedTuple):
    """A maker of works; one without a name is that of works without a maker."""

    name: str | None = None
    place: str | None = None


NOBODY: Final = House()


class Out(NamedTuple):
    """A work is lent to a reader."""

    reader: str
    due: str | None = None


@dataclass(frozen=True)
class Work:
    """A work with all that any of the libraries says of it; what is not there is ``None``."""

    number: str
    heading: str
    printed: str | None = None
    tongue: str | None = None
    subjects: tuple[str, ...] = ()
    house: House = NOBODY
    outs: tuple[Out, ...] = ()
    notes: tuple[str, ...] = ()

    def fields(self) -> Iterator[tuple[str, str]]:
        """The fields by their codes."""
        yield "number", self.number
        yield "heading", self.heading
        if self.printed is not None:
            yield "printed", self.printed
        yield from (("subject", subject) for subject in self.subjects)
        yield from (("note", note) for note in self.notes)


@dataclass(frozen=True)
class Library:
    """What a library says: its works, and its houses with those that made none of them."""

    works: tuple[Work, ...]
    houses: tuple[House, ...]


@cache
def document(peer: str) -> str:
    """The document of a library."""
    random = Random(peer)
    houses = [House(*each) for each in (*HOUSES, *(TWICE if peer == "stock" else ()))]
    works = tuple(_work(random, number, houses, peer) for number in sorted(random.sample(range(100, 180), RECORDS)))
    made = _WRITERS[peer](Library(works, tuple(houses)))
    return str(etree.tostring(made, encoding="unicode"))


def _work(random: Random, number: int, houses: list[House], peer: str) -> Work:
    made = Work(f"n{number}", random.choice(TITLES))
    made = replace(made, subjects=tuple(random.sample(SUBJECTS, random.choice((0, 0, 1, 2, 3)))))
    if random.random() < 0.7:
        made = replace(made, printed=str(random.choice((1985, 1990, 1996, 2001))))
    if random.random() < 0.6:
        made = replace(made, tongue=random.choice(("eng", "deu")))
    if peer == "shelves" or random.random() < 0.75:
        made = replace(made, house=random.choice(houses[:-1]))  # the last one made nothing
    if random.random() < 0.4:
        outs = (Out(random.choice(READERS), random.choice((None, *DUES))) for _ in range(random.choice((1, 1, 2))))
        made = replace(made, outs=tuple(dict.fromkeys(outs)))
    if random.random() < 0.3:
        made = replace(made, notes=("torn",))
    return made


# -- writing -----------------------------------------------------------------------------------------------------------


def _add(parent: etree._Element, name: str, text: str | None) -> None:
    if text is not None:
        etree.SubElement(parent, name).text = text


def _stock(library: Library) -> etree._Element:
    root = etree.Element("stock")
    ids = {house: f"m{number}" for number, house in enumerate(library.houses)}
    for house, identifier in ids.items():
        maker = etree.SubElement(root, "maker", id=identifier)
        _add(maker, "label", house.name)
        _add(maker, "town", house.place)
    for number, work in enumerate(library.works):
        item = etree.SubElement(root, "item", id=f"i{number}")
        if work.house in ids:
            item.set("by", ids[work.house])
        for name, text in (
            ("code", work.number),
            ("title", work.heading),
            ("year", work.printed),
            ("tongue", work.tongue),
        ):
            _add(item, name, text)
        for subject in work.subjects:
            _add(item, "keyword", subject)
    for number, work in enumerate(library.works):
        for out in work.outs:
            loan = etree.SubElement(root, "loan", item=f"i{number}")
            _add(loan, "who", out.reader)
            _add(loan, "until", out.due)
    return root


def _shelves(library: Library) -> etree._Element:
    root = etree.Element("shelves")
    for house in library.houses:
        element = etree.SubElement(root, "house")
        _add(element, "name", house.name)
        _add(element, "place", house.place)
        for work in library.works:
            if work.house == house:
                _work_on_shelf(etree.SubElement(element, "work"), work)
    return root


def _work_on_shelf(element: etree._Element, work: Work) -> None:
    for name, text in work.fields():
        if name != "note":
            _add(element, name, text)
    for out in work.outs:
        below = etree.SubElement(element, "out")
        _add(below, "reader", out.reader)
        _add(below, "due", out.due)


def _catalogue(library: Library) -> etree._Element:
    root = etree.Element("catalogue")
    for work in library.works:
        record = etree.SubElement(root, "record")
        if work.house.name is not None:
            record.set("house", work.house.name)
        for code, text in work.fields():
            etree.SubElement(record, "field", code=code).text = text
        for out in work.outs:
            lent = etree.SubElement(record, "lent", to=out.reader)
            if out.due is not None:
                lent.set("until", out.due)
    return root


_WRITERS: Final[dict[str, Callable[[Library], etree._Element]]] = {
    "stock": _stock,
    "shelves": _shelves,
    "catalogue": _catalogue,
}

# -- reading -----------------------------------------------------------------------------------------------------------


@cache
def read(peer: str) -> Library:
    """What the raw document of a library says."""
    return _READERS[peer](etree.fromstring(document(peer)))


def _texts(element: etree._Element, name: str) -> tuple[str, ...]:
    return tuple(each.text or "" for each in element.iterfind(name))


def _read_stock(root: etree._Element) -> Library:
    makers = {each.get("id"): House(each.findtext("label"), each.findtext("town")) for each in root.iterfind("maker")}
    works = []
    for item in root.iterfind("item"):
        loans = [loan for loan in root.iterfind("loan") if loan.get("item") == item.get("id")]
        works.append(
            Work(
                item.findtext("code") or "",
                item.findtext("title") or "",
                item.findtext("year"),
                item.findtext("tongue"),
                _texts(item, "keyword"),
                makers.get(item.get("by"), NOBODY),
                tuple(Out(loan.findtext("who") or "", loan.findtext("until")) for loan in loans),
            )
        )
    return Library(tuple(works), tuple(makers.values()))


def _read_shelves(root: etree._Element) -> Library:
    works, houses = [], []
    for element in root.iterfind("house"):
        house = House(element.findtext("name"), element.findtext("place"))
        houses.append(house)
        for work in element.iterfind("work"):
            outs = tuple(Out(each.findtext("reader") or "", each.findtext("due")) for each in work.iterfind("out"))
            works.append(
                Work(
                    work.findtext("number") or "",
                    work.findtext("heading") or "",
                    work.findtext("printed"),
                    subjects=_texts(work, "subject"),
                    house=house,
                    outs=outs,
                )
            )
    return Library(tuple(works), tuple(houses))


def _read_catalogue(root: etree._Element) -> Library:
    works = []
    for record in root.iterfind("record"):
        fields = [(str(field.get("code")), field.text or "") for field in record.iterfind("field")]
        single = dict(fields)
        works.append(
            Work(
                single["number"],
                single["heading"],
                single.get("printed"),
                subjects=tuple(text for code, text in fields if code == "subject"),
                house=House(record.get("house")),
                outs=tuple(Out(str(each.get("to")), each.get("until")) for each in record.iterfind("lent")),
                notes=tuple(text for code, text in fields if code == "note"),
            )
        )
    named = dict.fromkeys(work.house for work in works if work.house.name is not None)
    return Library(tuple(works), tuple(named))


_READERS: Final[dict[str, Callable[[etree._Element], Library]]] = {
    "stock": _read_stock,
    "shelves": _read_shelves,
    "catalogue": _read_catalogue,
}
