"""A generated auction market: the same seed gives the same people, items and sales on every machine.

The shape is that of the XMark benchmark (Schmidt et al., VLDB 2002): people have interests, items belong to categories,
open auctions collect bids, closed ones have a buyer, and descriptions are recursive text. Each record is made from its
number alone, so a market of any size takes no memory but for what is grouped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Final, TypeAlias, TypeVar
from xml.etree.ElementTree import Element, SubElement
from zlib import crc32

REGIONS: Final = ("africa", "asia", "australia", "europe", "namerica", "samerica")
TYPES: Final = ("Regular", "Featured", "Dutch")
COUNTRIES: Final = ("Germany", "United States", "Canada", "Kenya", "Peru", "Japan", "New Zealand")
_CITIES: Final = {
    "Germany": ("Köln", "Leipzig", "Ulm"),
    "United States": ("Boston", "Fresno", "Reno"),
    "Canada": ("Montréal", "Halifax", "Regina"),
    "Kenya": ("Nairobi", "Kisumu"),
    "Peru": ("Lima", "Cusco"),
    "Japan": ("Nara", "Sapporo"),
    "New Zealand": ("Napier", "Nelson"),
}
_PROVINCES: Final = ("North", "South", "East", "West")
_GIVEN: Final = ("Ada", "Bao", "Chidi", "Dana", "Elif", "Farid", "Gwen", "Hugo", "Ines", "Jun", "Kofi", "Lena", "Mona")
_FAMILY: Final = ("Adler", "Bell", "Castro", "Dupré", "Eze", "Fischer", "Gao", "Haas", "Ito", "Jones", "Kaya", "O'Neil")
_GOODS: Final = (
    "clocks",
    "books",
    "salt & pepper mills",
    "maps",
    "stamps",
    "radios",
    "toys",
    "coins",
    "chairs",
    "lamps",
)
_ADJECTIVES: Final = ("old", "rare", "plain", "signed", "broken", "small", "heavy", "<new>", "painted", "unused")
_WORDS: Final = (
    "and", "the", "of", "with", "gold", "silver", "brass", "wooden", "hands", "dial", "spring", "cover", "page", "ink",
    "paper", "road", "river", "edge", "stamp", "dealer", "price", "owner", "mark", "wheel", "glass", "oak", "ash",
    "maker", "town", "year", "king", "letter", "found", "kept", "sold", "sent", "paid", "&", "<", "fine", "worn",
)  # fmt: skip
_STREETS: Final = ("Mill Lane", "High Street", "Station Road", "Church Walk", "Park Avenue")
_PAYMENTS: Final = ("Cash", "Creditcard", "Money order", "Personal Check")
_SHIPPING: Final = ("Will ship internationally", "Will ship only within country", "Buyer pays fixed shipping charges")
_SCHOOLS: Final = ("High School", "College", "Graduate School", "Other")
_MARKUP: Final = ("bold", "keyword", "emph")

_Key = TypeVar("_Key", bound=Hashable)

Markup: TypeAlias = Element
"""A ``description`` or ``text`` element, the same under every schema."""


@dataclass(frozen=True, slots=True)
class Category:
    """What items belong to and people are interested in."""

    id: str
    name: str
    description: Markup


@dataclass(frozen=True, slots=True)
class Address:
    """Where a person lives."""

    street: str
    city: str
    country: str
    province: str | None
    zipcode: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What a person says about himself or herself; ``interests`` are categories."""

    income: str | None
    interests: tuple[str, ...]
    education: str | None
    gender: str | None
    business: str
    age: str | None


@dataclass(frozen=True, slots=True)
class Person:
    """A person; ``watches`` are open auctions."""

    id: str
    name: str
    emailaddress: str
    phone: str | None
    address: Address | None
    homepage: str | None
    creditcard: str | None
    profile: Profile | None
    watches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mail:
    """A letter about an item."""

    sender: str
    receiver: str
    date: str
    text: Markup


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is or was for sale; ``categories`` are at least one."""

    id: str
    region: str
    featured: str | None
    location: str
    quantity: str
    name: str
    payment: str
    description: Markup
    shipping: str
    categories: tuple[str, ...]
    mails: tuple[Mail, ...]


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a person says of an auction."""

    author: str
    happiness: str
    description: Markup | None


@dataclass(frozen=True, slots=True)
class Bid:
    """A person raised the price by ``increase``."""

    person: str
    date: str
    time: str
    increase: str


@dataclass(frozen=True, slots=True)
class Offer:
    """An open auction."""

    id: str
    item: str
    seller: str
    initial: str
    reserve: str | None
    current: str
    privacy: str | None
    quantity: str
    type: str
    start: str
    end: str
    annotation: Annotation
    bids: tuple[Bid, ...]


@dataclass(frozen=True, slots=True)
class Sale:
    """A closed auction."""

    item: str
    seller: str
    buyer: str
    price: str
    date: str
    quantity: str
    type: str
    annotation: Annotation | None


class Market:
    """All records of a market of ``people`` people; items, auctions and categories are as many as in XMark for them.

    >>> market = Market(people=20, seed=1)
    >>> market.person(3) == Market(people=20, seed=1).person(3)
    True
    >>> len(list(market.items())), len(list(market.offers())), len(list(market.sales()))
    (17, 9, 8)
    """

    def __init__(self, people: int, seed: int = 0) -> None:
        """``people`` is at least 1, else ``ValueError``."""
        if people < 1:
            raise ValueError("a market has at least one person")
        self.seed = seed
        self.people_count = people
        self.category_count = max(4, people // 25)
        self.item_count = max(1, round(people * 0.853))
        self.offer_count = max(1, round(people * 0.47))
        self.sale_count = max(1, round(people * 0.382))

    # -- all records, in order of their numbers ----------------------------------------------------------------------

    def categories(self) -> Iterator[Category]:
        """All categories."""
        return map(self.category, range(self.category_count))

    def edges(self) -> Iterator[tuple[str, str]]:
        """The graph of categories: pairs of their identifiers."""
        for number in range(self.category_count):
            yield f"category{number}", self._reference("category", f"edge {number}")

    def people(self) -> Iterator[Person]:
        """All people."""
        return map(self.person, range(self.people_count))

    def items(self) -> Iterator[Item]:
        """All items."""
        return map(self.item, range(self.item_count))

    def offers(self) -> Iterator[Offer]:
        """All open auctions."""
        return map(self.offer, range(self.offer_count))

    def sales(self) -> Iterator[Sale]:
        """All closed auctions."""
        return map(self.sale, range(self.sale_count))

    # -- single records ----------------------------------------------------------------------------------------------

    def category(self, number: int) -> Category:
        """The category with a number."""
        random = self._random("category", number)
        name = _GOODS[number % len(_GOODS)] + (f" {number}" if number >= len(_GOODS) else "")
        return Category(f"category{number}", name, _description(random))

    def person(self, number: int) -> Person:
        """The person with a number."""
        random = self._random("person", number)
        given, family = random.choice(_GIVEN), random.choice(_FAMILY)
        phone = f"+{random.randrange(10, 99)} ({random.randrange(100, 999)}) {random.randrange(10**6, 10**7)}"
        card = " ".join(str(random.randrange(1000, 10000)) for _ in range(4))
        return Person(
            f"person{number}",
            f"{given} {family}",
            f"{given}.{number}@mail.example".lower(),
            phone if random.random() < 0.5 else None,
            self._address(random, number),
            f"http://people.example/~{number}" if random.random() < 0.4 else None,
            card if random.random() < 0.4 else None,
            self._profile(random) if random.random() < 0.8 else None,
            tuple(self._several(random, "open_auction", 2)),
        )

    def item(self, number: int) -> Item:
        """The item with a number."""
        random = self._random("item", number)
        people = [self._reference("person", f"mail {number} {side}") for side in ("from", "to")]
        letters = random.choice((0, 0, 1, 2))
        return Item(
            f"item{number}",
            REGIONS[self._pick(len(REGIONS), f"region {number}")],
            "yes" if random.random() < 0.1 else None,
            random.choice(COUNTRIES[:4]),
            str(random.choice((1, 1, 1, 2, 5))),
            f"{random.choice(_ADJECTIVES)} {random.choice(_GOODS)}",
            random.choice(_PAYMENTS[:3] if random.random() < 0.7 else _PAYMENTS),
            _description(random),
            random.choice(_SHIPPING),
            self.categories_of(number),
            tuple(Mail(people[0], people[1], _date(random), _text("text", random)) for _ in range(letters)),
        )

    def offer(self, number: int) -> Offer:
        """The open auction with a number."""
        random = self._random("offer", number)
        bids = tuple(self._bid(random) for _ in range(random.choice((0, 1, 2, 3))))
        initial = random.randrange(100, 6000) / 100
        return Offer(
            f"open_auction{number}",
            f"item{self._item_offered(number)}",
            self._reference("person", f"seller {number}"),
            f"{initial:.2f}",
            f"{initial * 1.5:.2f}" if random.random() < 0.4 else None,
            f"{initial + sum(float(bid.increase) for bid in bids):.2f}",
            "Yes" if random.random() < 0.3 else None,
            str(random.choice((1, 1, 2))),
            random.choice(TYPES),
            _date(random),
            _date(random),
            self._annotation(random),
            bids,
        )

    def sale(self, number: int) -> Sale:
        """The closed auction with a number."""
        random = self._random("sale", number)
        return Sale(
            f"item{self._item_sold(number)}",
            self._reference("person", f"sold by {number}"),
            self._reference("person", f"bought by {number}"),
            f"{random.randrange(100, 20000) / 100:.2f}",
            _date(random),
            str(random.choice((1, 1, 2))),
            random.choice(TYPES),
            self._annotation(random) if random.random() < 0.7 else None,
        )

    # -- what belongs together ---------------------------------------------------------------------------------------

    @cached_property
    def offers_by_item(self) -> dict[int, list[int]]:
        """The numbers of the open auctions of each item that has some."""
        return _grouped(self.offer_count, self._item_offered)

    @cached_property
    def sales_by_item(self) -> dict[int, list[int]]:
        """The numbers of the closed auctions of each item that has some."""
        return _grouped(self.sale_count, self._item_sold)

    @cached_property
    def items_by_region(self) -> dict[str, list[int]]:
        """The numbers of the items in each region that has some."""
        return _grouped(self.item_count, lambda number: REGIONS[self._pick(len(REGIONS), f"region {number}")])

    @cached_property
    def items_by_category(self) -> dict[str, list[int]]:
        """The numbers of the items in each category that has some; an item may be in several."""
        found: dict[str, list[int]] = defaultdict(list)
        for number in range(self.item_count):
            for category in self.categories_of(number):
                found[category].append(number)
        return found

    @cached_property
    def people_by_interest(self) -> dict[str, list[str]]:
        """The identifiers of the people interested in each category."""
        found: dict[str, list[str]] = defaultdict(list)
        for person in self.people():
            for category in person.profile.interests if person.profile else ():
                found[category].append(person.id)
        return found

    @cached_property
    def people_by_country(self) -> dict[str | None, list[int]]:
        """The numbers of the people in each country that has some; ``None`` for those without an address."""
        return _grouped(self.people_count, self._country)

    def categories_of(self, item: int) -> tuple[str, ...]:
        """The identifiers of the categories of an item, by its number."""
        count = 1 + self._pick(3, f"categories {item}")
        return tuple(dict.fromkeys(self._reference("category", f"of {item} {place}") for place in range(count)))

    # -- chance ------------------------------------------------------------------------------------------------------

    def _random(self, kind: str, number: int) -> Random:
        return Random(f"{self.seed} {kind} {number}")

    def _pick(self, count: int, what: str) -> int:
        """A number below ``count`` that depends on the seed and on ``what`` alone; cheaper than a generator."""
        return (crc32(f"{self.seed} {what}".encode()) >> 3) % count

    def _reference(self, kind: str, what: str) -> str:
        return f"{kind}{self._pick(self._count(kind), what)}"

    def _count(self, kind: str) -> int:
        counts = {"person": self.people_count, "category": self.category_count, "open_auction": self.offer_count}
        return counts[kind]

    def _several(self, random: Random, kind: str, most: int) -> list[str]:
        numbers = {random.randrange(self._count(kind)) for _ in range(random.randint(0, most))}
        return [f"{kind}{number}" for number in sorted(numbers)]

    def _item_offered(self, offer: int) -> int:
        return self._pick(self.item_count, f"offered {offer}")

    def _item_sold(self, sale: int) -> int:
        return self._pick(self.item_count, f"sold {sale}")

    def _country(self, person: int) -> str | None:
        place = self._pick(len(COUNTRIES) + 2, f"country {person}")
        return (*COUNTRIES, COUNTRIES[0], None)[place]

    def _address(self, random: Random, number: int) -> Address | None:
        country = self._country(number)
        if country is None:
            return None
        return Address(
            f"{random.randrange(1, 99)} {random.choice(_STREETS)}",
            random.choice(_CITIES[country]),
            country,
            random.choice(_PROVINCES) if random.random() < 0.3 else None,
            str(random.randrange(1000, 99999)),
        )

    def _profile(self, random: Random) -> Profile:
        return Profile(
            f"{random.randrange(9_000_00, 99_000_00) / 100:.2f}" if random.random() < 0.8 else None,
            tuple(self._several(random, "category", 3)),
            random.choice(_SCHOOLS) if random.random() < 0.5 else None,
            random.choice(("female", "male")) if random.random() < 0.5 else None,
            random.choice(("Yes", "No")),
            str(random.randrange(18, 90)) if random.random() < 0.5 else None,
        )

    def _bid(self, random: Random) -> Bid:
        person = f"person{random.randrange(self.people_count)}"
        return Bid(person, _date(random), _time(random), f"{random.randrange(1, 16) * 1.5:.2f}")

    def _annotation(self, random: Random) -> Annotation:
        person = f"person{random.randrange(self.people_count)}"
        return Annotation(person, str(random.randint(1, 10)), _description(random) if random.random() < 0.8 else None)


def _grouped(count: int, key: Callable[[int], _Key]) -> dict[_Key, list[int]]:
    found: dict[_Key, list[int]] = defaultdict(list)
    for number in range(count):
        found[key(number)].append(number)
    return found


def _date(random: Random) -> str:
    return f"{random.randint(1, 12):02}/{random.randint(1, 28):02}/{random.randint(1998, 2001)}"


def _time(random: Random) -> str:
    return f"{random.randrange(24):02}:{random.randrange(60):02}:{random.randrange(60):02}"


def _words(random: Random, most: int = 12) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(2, most)))


def _description(random: Random) -> Markup:
    """Plain text, or a list whose items are texts or lists again."""
    description = Element("description")
    if random.random() < 0.7:
        description.append(_text("text", random))
    else:
        description.append(_list(random, 1))
    return description


def _list(random: Random, depth: int) -> Markup:
    found = Element("parlist")
    for _ in range(random.randint(1, 3)):
        item = SubElement(found, "listitem")
        nested = depth < 3 and random.random() < 0.3
        item.append(_list(random, depth + 1) if nested else _text("text", random))
    return found


def _text(name: str, random: Random, depth: int = 0) -> Markup:
    """Mixed content: words between words in bold, keywords and emphasised words, which may hold each other."""
    element = Element(name)
    element.text = _words(random)
    for _ in range(random.choice((0, 0, 1, 2)) if depth < 3 else 0):
        child = _text(random.choice(_MARKUP), random, depth + 1)
        child.tail = f" {_words(random, 6)}"
        element.append(child)
    return element
