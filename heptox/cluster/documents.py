"""The documents of a generated market under each of the ten schemas, written record by record.

Under every schema the same market has the same people, items and auctions, with whatever the schema has a place for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, TypeAlias
from xml.etree.ElementTree import Element, tostring

from heptox.cluster.market import REGIONS, Market
from heptox.cluster.record_templates import attributes, of, template


def auction_document(schema: str, people: int, seed: int = 0) -> Iterator[str]:
    """The text of a document that is valid for a schema of :data:`heptox.cluster.SCHEMAS`, in pieces of a line or more.

    ``people`` is the number of people; a hundred make about 170 KB of ``auction.dtd``. The same ``people`` and ``seed``
    give the same text on every machine, and under every schema the same people, items and auctions.

    Raises ``KeyError`` for another name, ``ValueError`` without people.

    >>> next(auction_document("regions", people=10))
    '<store>\\n'
    """
    return _written(_DOCUMENTS[schema], Market(people, seed))


_SEEDS: Final = 1 << 32


def document_maker(schema: str, people: int, seed: int) -> Callable[[int], str]:
    """What makes the document of each peer under a schema from the peer's number: other ones for another seed."""

    def make(peer: int) -> str:
        return "".join(auction_document(schema, people, seed * _SEEDS + peer))

    return make


# -- the layout of a document --------------------------------------------------------------------------------------

_Record: TypeAlias = Any
"""A record of the market, or a mapping from the names of its fields."""


@dataclass(frozen=True, slots=True)
class _Group:
    """An element around other parts."""

    name: str
    parts: tuple[_Part, ...]


@dataclass(frozen=True, slots=True)
class _Each:
    """An element for each record, by a template."""

    records: Callable[[Market], Iterable[_Record]]
    template: str


@dataclass(frozen=True, slots=True)
class _EachGrouped:
    """The same, below an element for each group of records."""

    groups: Callable[[Market], Iterable[tuple[Element, Iterable[_Record]]]]
    template: str


_Part: TypeAlias = _Group | _Each | _EachGrouped


def _group(name: str, *parts: _Part) -> _Group:
    return _Group(name, parts)


def _written(part: _Part, market: Market) -> Iterator[str]:
    match part:
        case _Group(name, parts):
            inner = (line for each in parts for line in _written(each, market))
            yield from _within(Element(name), inner)
        case _Each():
            yield from _lines(part.records(market), part.template)
        case _EachGrouped():
            for element, records in part.groups(market):
                yield from _within(element, _lines(records, part.template))


def _within(element: Element, lines: Iterable[str]) -> Iterator[str]:
    end = f"</{element.tag}>"
    yield tostring(element, encoding="unicode", short_empty_elements=False).removesuffix(end) + "\n"
    yield from lines
    yield f"{end}\n"


def _lines(records: Iterable[_Record], text: str) -> Iterator[str]:
    of_record = template(text)
    for record in records:
        yield tostring(of_record.element(record), encoding="unicode") + "\n"


# -- records besides those of the market ---------------------------------------------------------------------------


def _with(record: _Record, **more: object) -> dict[str, object]:
    """The fields of a record, and more."""
    return {field.name: getattr(record, field.name) for field in fields(record)} | more


def _edges(market: Market) -> Iterator[_Record]:
    return ({"from": start, "to": end} for start, end in market.edges())


def _regions(market: Market) -> Iterator[tuple[Element, Iterable[_Record]]]:
    """The items below the tags of their regions."""
    return ((Element(region), map(market.item, market.items_by_region.get(region, ()))) for region in REGIONS)


def _regions_with_auctions(market: Market) -> Iterator[tuple[Element, Iterable[_Record]]]:
    def with_auctions(number: int) -> _Record:
        offers = map(market.offer, market.offers_by_item.get(number, ()))
        return _with(market.item(number), offers=offers, sales=map(market.sale, market.sales_by_item.get(number, ())))

    for region in REGIONS:
        yield Element(region), map(with_auctions, market.items_by_region.get(region, ()))


def _countries(market: Market) -> Iterator[tuple[Element, Iterable[_Record]]]:
    for country, people in market.people_by_country.items():
        yield Element("country", {} if country is None else {"name": country}), map(market.person, people)


def _categories_with_items(market: Market) -> Iterator[_Record]:
    for category in market.categories():
        items = map(market.item, market.items_by_category.get(category.id, ()))
        yield _with(category, items=items, fans=market.people_by_interest.get(category.id, ()))


def _interests(market: Market) -> Iterator[_Record]:
    for person in market.people():
        for category in person.profile.interests if person.profile else ():
            yield {"person": person.id, "category": category}


def _watches(market: Market) -> Iterator[_Record]:
    return ({"person": person.id, "offer": offer} for person in market.people() for offer in person.watches)


def _item_categories(market: Market) -> Iterator[_Record]:
    for number in range(market.item_count):
        for category in market.categories_of(number):
            yield {"item": f"item{number}", "category": category}


def _mails(market: Market) -> Iterator[_Record]:
    return (_with(mail, item=item.id) for item in market.items() for mail in item.mails)


def _bids(market: Market) -> Iterator[_Record]:
    return ({**asdict(bid), "offer": offer.id} for offer in market.offers() for bid in offer.bids)


def _deals(market: Market) -> Iterator[_Record]:
    """The closed auctions, each with its item and its buyer."""
    for sale in market.sales():
        yield _with(sale, sold=market.item(_number(sale.item)), bought_by=market.person(_number(sale.buyer)))


def _number(identifier: str) -> int:
    return int(identifier.lstrip("abcdefghijklmnopqrstuvwxyz_"))


# -- what several schemas share ------------------------------------------------------------------------------------

_CATEGORY: Final = "category(@id name #description)"
_ADDRESS: Final = "street city country province zipcode"
_PROFILE: Final = "education gender business age"
_INTERESTS: Final = "interest*interests(@category=.)"
_PERSON: Final = (
    f"@id name emailaddress phone address?({_ADDRESS}) homepage creditcard profile?(@income {_INTERESTS} {_PROFILE})"
)
_INCOME: Final = "@income=profile.income"
_ITEM_VALUES: Final = "location quantity name payment"
_ITEM: Final = f"{_ITEM_VALUES} #description shipping"
_CATEGORIES: Final = "incategory*categories(@category=.)"
_MAIL: Final = "from=sender to=receiver date #text"
_MAILS: Final = f"mail*mails({_MAIL})"
_OFFER: Final = "initial reserve current privacy quantity type start end"
_BIDS: Final = "bid*bids(@person date time increase)"
_SALE: Final = "price date quantity type"
_PARTIES: Final = "@item @seller @buyer"
_REMARK: Final = "happiness=annotation.happiness #annotation.description"
_AUTHOR: Final = "@author=annotation.author"
_ANNOTATION: Final = "annotation?(author(@person=author) #description happiness)"
_STORE_ANNOTATION: Final = "annotation?(@author #description happiness)"
_PLAIN_SALE: Final = f"sale({_PARTIES} {_SALE})"

# -- the ten schemas -----------------------------------------------------------------------------------------------

_AUCTION: Final = _group(
    "site",
    _group("regions", _EachGrouped(_regions, f"item(@id @featured {_ITEM} {_CATEGORIES} mailbox({_MAILS}))")),
    _group("categories", _Each(Market.categories, _CATEGORY)),
    _group("catgraph", _Each(_edges, "edge(@from @to)")),
    _group("people", _Each(Market.people, f"person({_PERSON} watches?(watch*.(@open_auction=.)))")),
    _group(
        "open_auctions",
        _Each(
            Market.offers,
            "open_auction(@id initial reserve bidder*bids(date time personref(@person) increase) current "
            f"privacy itemref(@item) seller(@person=seller) {_ANNOTATION} quantity type interval(start end))",
        ),
    ),
    _group(
        "closed_auctions",
        _Each(
            Market.sales,
            f"closed_auction(seller(@person=seller) buyer(@person=buyer) itemref(@item) {_SALE} {_ANNOTATION})",
        ),
    ),
)

_ATTRIBUTES: Final = _group(
    "market",
    _group("topics", _Each(Market.categories, "topic(@id @name #description)")),
    _group(
        "goods",
        _EachGrouped(
            _regions,
            f"item(@id @featured @shipping {attributes(_ITEM_VALUES)} #description about*categories(@topic=.) "
            "mail*mails(@from=sender @to=receiver @date #text))",
        ),
    ),
    _group(
        "members",
        _Each(
            Market.people,
            f"member(@id @name @email=emailaddress @phone @homepage @creditcard {_INCOME} "
            f"{of('address', attributes(_ADDRESS))} {of('profile', attributes(_PROFILE))} "
            "interest*profile.interests(@topic=.) watch*watches(@offer=.))",
        ),
    ),
    _group(
        "trade",
        _Each(
            Market.offers,
            f"offer(@id @item @seller {_AUTHOR} @happiness=annotation.happiness {attributes(_OFFER)} "
            "bid*bids(@bidder=person @date @time @increase) #annotation.description)",
        ),
        _Each(Market.sales, f"sale({_PARTIES} {attributes(_SALE)} {_AUTHOR} @{_REMARK})"),
    ),
)

_ELEMENTS: Final = _group(
    "house",
    _Each(Market.categories, "category(id name #description)"),
    _Each(Market.items, f"item(id region featured {_ITEM} incategory*categories(=.) {_MAILS})"),
    _Each(
        Market.people,
        f"person(id name email=emailaddress {of('address', 'street city country')} "
        f"{of('profile', 'income business')} interest*profile.interests(=.) watch*watches(=.))",
    ),
    _Each(
        Market.offers,
        "open(id of=item seller initial reserve current quantity type start end "
        "bid*bids(bidder=person date time increase))",
    ),
    _Each(Market.sales, f"closed(of=item seller buyer {_SALE})"),
)

_NESTED: Final = _group(
    "fair",
    _group("categories", _Each(Market.categories, _CATEGORY)),
    _group(
        "regions",
        _EachGrouped(
            _regions_with_auctions,
            f"item(@id @featured {_ITEM} {_CATEGORIES} {_MAILS} "
            f"offer*offers(@id @seller {_AUTHOR} {_OFFER} {_REMARK} "
            "bid*bids(@bidder=person date time increase)) "
            f"sale*sales(@seller @buyer {_AUTHOR} {_SALE} {_REMARK}))",
        ),
    ),
    _group("people", _Each(Market.people, f"person({_PERSON} watch*watches(@offer=.))")),
)

_FLAT: Final = _group(
    "records",
    _Each(Market.categories, _CATEGORY),
    _Each(_edges, "edge(@from @to)"),
    _Each(
        Market.people,
        f"person(@id {_INCOME} name emailaddress phone {of('address', _ADDRESS)} homepage creditcard "
        f"{of('profile', _PROFILE)})",
    ),
    _Each(_interests, "interest(@person @category)"),
    _Each(_watches, "watch(@person @offer)"),
    _Each(Market.items, f"item(@id @region @featured {_ITEM})"),
    _Each(_item_categories, "incategory(@item @category)"),
    _Each(_mails, f"mail(@item {_MAIL})"),
    _Each(Market.offers, f"offer(@id @item @seller {_AUTHOR} {_OFFER} {_REMARK})"),
    _Each(_bids, "bid(@person @offer date time increase)"),
    _Each(Market.sales, f"sale(@seller @buyer {_AUTHOR} @item {_SALE} {_REMARK})"),
)

_REGIONS: Final = _group(
    "store",
    _Each(Market.categories, _CATEGORY),
    _Each(Market.items, f"item(@id @featured region {_ITEM} {_CATEGORIES} {_MAILS})"),
    _Each(Market.people, f"person({_PERSON})"),
    _Each(
        Market.offers,
        f"auction(@id @item @seller {_BIDS} initial reserve current privacy {_STORE_ANNOTATION} "
        "quantity type start end)",
    ),
    _Each(Market.sales, f"sale({_PARTIES} {_SALE} {_STORE_ANNOTATION})"),
)

_KINDS: Final = _group(
    "bourse",
    _group("categories", _Each(Market.categories, _CATEGORY)),
    _group("regions", _EachGrouped(_regions, f"item(@id @featured {_ITEM} {_CATEGORIES})")),
    _group(
        "people",
        _Each(
            Market.people,
            f"person(@id name emailaddress address?(street city country) profile?(@income {_INTERESTS} business))",
        ),
    ),
    _group(
        "open_auctions",
        _Each(
            Market.offers,
            "$type(@id @item @seller initial reserve bidder*bids(@person date time increase) current quantity)",
        ),
    ),
    _group("closed_auctions", _Each(Market.sales, f"closed_auction({_PARTIES} @type price date quantity)")),
)

_FLIPPED: Final = _group(
    "directory",
    _Each(
        _categories_with_items, f"category(@id name #description item*items(@id @region {_ITEM}) fan*fans(@person=.))"
    ),
    _EachGrouped(
        _countries,
        f"person(@id {_INCOME} name emailaddress phone {of('address', 'street city province zipcode')} "
        f"{of('profile', _PROFILE)})",
    ),
    _Each(Market.offers, f"offer(@id @item @seller {_OFFER} {_BIDS})"),
    _Each(Market.sales, _PLAIN_SALE),
)

_MERGED: Final = _group(
    "ledger",
    _Each(Market.categories, _CATEGORY),
    _Each(Market.items, f"item(@id @region name location payment #description {_CATEGORIES})"),
    _Each(
        Market.people,
        f"person(@id name emailaddress {of('address', 'city country')} interest*profile.interests(@category=.))",
    ),
    _Each(Market.offers, f"listing(@item @seller id current quantity type {_BIDS})"),
    _Each(Market.sales, "listing(@item @seller quantity type)"),
    _Each(
        _deals,
        f"deal({_PARTIES} @region=sold.region price date type {of('sold', 'name location payment')} "
        f"who=bought_by.name {of('bought_by.address', 'city country')})",
    ),
)

_SPLIT: Final = _group(
    "archive",
    _Each(Market.categories, _CATEGORY),
    _group("regions", _EachGrouped(_regions, f"item(@id @featured name #description {_CATEGORIES})")),
    _Each(Market.items, "stock(@item=id location quantity payment shipping)"),
    _Each(Market.people, "person(@id name)"),
    _Each(Market.people, f"contact(@person=id emailaddress phone {of('address', _ADDRESS)} homepage)"),
    _Each(
        Market.people,
        f"profile(@person=id {_INCOME} interest*profile.interests(@category=.) {of('profile', _PROFILE)})",
    ),
    _Each(Market.offers, f"offer(@id @item @seller bid*bids(@person moment(date time) increase) {_OFFER})"),
    _Each(Market.sales, _PLAIN_SALE),
)

_DOCUMENTS: Final = {
    "auction": _AUCTION,
    "attributes": _ATTRIBUTES,
    "elements": _ELEMENTS,
    "nested": _NESTED,
    "flat": _FLAT,
    "regions": _REGIONS,
    "kinds": _KINDS,
    "flipped": _FLIPPED,
    "merged": _MERGED,
    "split": _SPLIT,
}
