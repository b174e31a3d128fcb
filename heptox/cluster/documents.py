"""The documents of a generated market under each of the ten schemas, written record by record.

Under every schema the same market has the same people, items and auctions, with whatever the schema has a place for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from xml.etree.ElementTree import Element, tostring

from heptox.cluster.market import REGIONS, Annotation, Item, Market, Offer, Person, Sale

_Values = Mapping[str, str | None]


def auction_document(schema: str, people: int, seed: int = 0) -> Iterator[str]:
    """The text of a document that is valid for a schema of :data:`heptox.cluster.SCHEMAS`, in pieces of a line or more.

    ``people`` is the number of people; a hundred make about 170 KB of ``auction.dtd``. The same ``people`` and ``seed``
    give the same text on every machine, and under every schema the same people, items and auctions.

    Raises ``KeyError`` for another name, ``ValueError`` without people.

    >>> next(auction_document("regions", people=10))
    '<store>\\n'
    """
    return _WRITERS[schema](Market(people, seed))


_SEEDS: Final = 1 << 32


def document_maker(schema: str, people: int, seed: int) -> Callable[[int], str]:
    """What makes the document of each peer under a schema from the peer's number: other ones for another seed."""

    def make(peer: int) -> str:
        return "".join(auction_document(schema, people, seed * _SEEDS + peer))

    return make


# -- pieces ------------------------------------------------------------------------------------------------------


def _element(name: str, attributes: _Values, *content: Element | Iterable[Element] | None) -> Element:
    """An element with those attributes and children that are there."""
    element = Element(name, {key: value for key, value in attributes.items() if value is not None})
    for part in content:
        if isinstance(part, Element):
            element.append(part)
        elif part is not None:
            element.extend(part)
    return element


def _leaf(name: str, value: str | None) -> list[Element]:
    if value is None:
        return []
    element = Element(name)
    element.text = value
    return [element]


def _leaves(values: _Values) -> list[Element]:
    """An element that holds text for each value that is there, in the order given."""
    return [leaf for name, value in values.items() for leaf in _leaf(name, value)]


def _references(name: str, attribute: str, identifiers: Iterable[str]) -> list[Element]:
    return [Element(name, {attribute: identifier}) for identifier in identifiers]


def _lines(records: Iterable[Element]) -> Iterator[str]:
    for record in records:
        yield tostring(record, encoding="unicode") + "\n"


def _within(name: str, *parts: Iterable[str]) -> Iterator[str]:
    """The lines of ``parts`` in an element."""
    yield f"<{name}>\n"
    for part in parts:
        yield from part
    yield f"</{name}>\n"


def _regions(market: Market, item: Callable[[int], Element]) -> Iterator[str]:
    """The items below the tags of their regions; ``item`` writes the one with a number."""
    for region in REGIONS:
        yield from _within(region, _lines(map(item, market.items_by_region.get(region, ()))))


# -- what several schemas share ----------------------------------------------------------------------------------


def _category_elements(market: Market) -> Iterator[Element]:
    for category in market.categories():
        yield _element("category", {"id": category.id}, _leaf("name", category.name), category.description)


def _address_values(person: Person) -> _Values:
    address = person.address
    if address is None:
        return {}
    return {
        "street": address.street,
        "city": address.city,
        "country": address.country,
        "province": address.province,
        "zipcode": address.zipcode,
    }


def _profile_values(person: Person) -> _Values:
    profile = person.profile
    if profile is None:
        return {}
    return {
        "education": profile.education,
        "gender": profile.gender,
        "business": profile.business,
        "age": profile.age,
    }


def _income(person: Person) -> str | None:
    return person.profile.income if person.profile else None


def _interests(person: Person, name: str = "interest", attribute: str = "category") -> list[Element]:
    return _references(name, attribute, person.profile.interests if person.profile else ())


def _address(person: Person) -> Element | None:
    return _element("address", {}, _leaves(_address_values(person))) if person.address else None


def _profile(person: Person) -> Element | None:
    if person.profile is None:
        return None
    income = {"income": person.profile.income}
    return _element("profile", income, _interests(person), _leaves(_profile_values(person)))


def _person(person: Person, *watches: Element) -> Element:
    """A person as in ``auction.dtd``."""
    return _element(
        "person",
        {"id": person.id},
        _leaves({"name": person.name, "emailaddress": person.emailaddress, "phone": person.phone}),
        _address(person),
        _leaves({"homepage": person.homepage, "creditcard": person.creditcard}),
        _profile(person),
        watches,
    )


def _item_values(item: Item) -> _Values:
    return {"location": item.location, "quantity": item.quantity, "name": item.name, "payment": item.payment}


def _item_content(item: Item) -> list[Element]:
    """What an item itself holds as in ``auction.dtd``, without categories and mails."""
    return [*_leaves(_item_values(item)), item.description, *_leaf("shipping", item.shipping)]


def _categories_of(item: Item) -> list[Element]:
    return _references("incategory", "category", item.categories)


def _mails(item: Item) -> list[Element]:
    return [
        _element("mail", {}, _leaves({"from": mail.sender, "to": mail.receiver, "date": mail.date}), mail.text)
        for mail in item.mails
    ]


def _offer_values(offer: Offer) -> _Values:
    """What an offer says once, in the order of most schemas."""
    return {
        "initial": offer.initial,
        "reserve": offer.reserve,
        "current": offer.current,
        "privacy": offer.privacy,
        "quantity": offer.quantity,
        "type": offer.type,
        "start": offer.start,
        "end": offer.end,
    }


def _bids(offer: Offer, name: str = "bid", person: str = "person") -> list[Element]:
    return [
        _element(name, {person: bid.person}, _leaves({"date": bid.date, "time": bid.time, "increase": bid.increase}))
        for bid in offer.bids
    ]


def _sale_values(sale: Sale) -> _Values:
    return {"price": sale.price, "date": sale.date, "quantity": sale.quantity, "type": sale.type}


def _parties(sale: Sale) -> _Values:
    return {"item": sale.item, "seller": sale.seller, "buyer": sale.buyer}


def _author(annotation: Annotation | None) -> str | None:
    return annotation.author if annotation else None


def _happiness(annotation: Annotation | None) -> str | None:
    return annotation.happiness if annotation else None


def _remark(annotation: Annotation | None) -> Element | None:
    return annotation.description if annotation else None


def _sale_element(sale: Sale) -> Element:
    """A sale that holds its annotation's parts, as in ``nested.dtd``."""
    remark = sale.annotation
    attributes = {"seller": sale.seller, "buyer": sale.buyer, "author": _author(remark)}
    content = _leaves({**_sale_values(sale), "happiness": _happiness(remark)})
    return _element("sale", attributes, content, _remark(remark))


def _offer_content(offer: Offer) -> list[Element]:
    """What an offer of ``nested.dtd`` and ``flat.dtd`` holds but for its bids."""
    remark = _remark(offer.annotation)
    values = {**_offer_values(offer), "happiness": offer.annotation.happiness}
    return [*_leaves(values), *([] if remark is None else [remark])]


# -- auction.dtd -------------------------------------------------------------------------------------------------


def _auction(market: Market) -> Iterator[str]:
    return _within(
        "site",
        _within("regions", _regions(market, lambda number: _auction_item(market.item(number)))),
        _within("categories", _lines(_category_elements(market))),
        _within("catgraph", _lines(Element("edge", {"from": start, "to": end}) for start, end in market.edges())),
        _within("people", _lines(map(_auction_person, market.people()))),
        _within("open_auctions", _lines(map(_open_auction, market.offers()))),
        _within("closed_auctions", _lines(map(_closed_auction, market.sales()))),
    )


def _auction_item(item: Item) -> Element:
    return _element(
        "item",
        {"id": item.id, "featured": item.featured},
        _item_content(item),
        _categories_of(item),
        _element("mailbox", {}, _mails(item)),
    )


def _auction_person(person: Person) -> Element:
    watches = _references("watch", "open_auction", person.watches)
    return _person(person, *([_element("watches", {}, watches)] if watches else []))


def _annotation(annotation: Annotation | None) -> Element | None:
    """An annotation as in ``auction.dtd``."""
    if annotation is None:
        return None
    author = Element("author", {"person": annotation.author})
    return _element("annotation", {}, author, annotation.description, _leaf("happiness", annotation.happiness))


def _open_auction(offer: Offer) -> Element:
    bidders = [
        _element(
            "bidder",
            {},
            _leaves({"date": bid.date, "time": bid.time}),
            Element("personref", {"person": bid.person}),
            _leaf("increase", bid.increase),
        )
        for bid in offer.bids
    ]
    return _element(
        "open_auction",
        {"id": offer.id},
        _leaves({"initial": offer.initial, "reserve": offer.reserve}),
        bidders,
        _leaves({"current": offer.current, "privacy": offer.privacy}),
        Element("itemref", {"item": offer.item}),
        Element("seller", {"person": offer.seller}),
        _annotation(offer.annotation),
        _leaves({"quantity": offer.quantity, "type": offer.type}),
        _element("interval", {}, _leaves({"start": offer.start, "end": offer.end})),
    )


def _closed_auction(sale: Sale) -> Element:
    return _element(
        "closed_auction",
        {},
        Element("seller", {"person": sale.seller}),
        Element("buyer", {"person": sale.buyer}),
        Element("itemref", {"item": sale.item}),
        _leaves(_sale_values(sale)),
        _annotation(sale.annotation),
    )


# -- attributes.dtd ----------------------------------------------------------------------------------------------


def _attributes(market: Market) -> Iterator[str]:
    topics = (_element("topic", {"id": c.id, "name": c.name}, c.description) for c in market.categories())
    return _within(
        "market",
        _within("topics", _lines(topics)),
        _within("goods", _regions(market, lambda number: _attributes_item(market.item(number)))),
        _within("members", _lines(map(_member, market.people()))),
        _within(
            "trade", _lines(map(_attributes_offer, market.offers())), _lines(map(_attributes_sale, market.sales()))
        ),
    )


def _attributes_item(item: Item) -> Element:
    mails = [
        _element("mail", {"from": mail.sender, "to": mail.receiver, "date": mail.date}, mail.text)
        for mail in item.mails
    ]
    attributes = {"id": item.id, "featured": item.featured, "shipping": item.shipping, **_item_values(item)}
    return _element("item", attributes, item.description, _references("about", "topic", item.categories), mails)


def _member(person: Person) -> Element:
    attributes = {
        "id": person.id,
        "name": person.name,
        "email": person.emailaddress,
        "phone": person.phone,
        "homepage": person.homepage,
        "creditcard": person.creditcard,
        "income": _income(person),
        **_address_values(person),
        **_profile_values(person),
    }
    watches = _references("watch", "offer", person.watches)
    return _element("member", attributes, _interests(person, attribute="topic"), watches)


def _attributes_offer(offer: Offer) -> Element:
    attributes = {
        "id": offer.id,
        "item": offer.item,
        "seller": offer.seller,
        "author": offer.annotation.author,
        "happiness": offer.annotation.happiness,
        **_offer_values(offer),
    }
    bids = [
        Element("bid", {"bidder": bid.person, "date": bid.date, "time": bid.time, "increase": bid.increase})
        for bid in offer.bids
    ]
    return _element("offer", attributes, bids, offer.annotation.description)


def _attributes_sale(sale: Sale) -> Element:
    remark = sale.annotation
    about = {"author": _author(remark), "happiness": _happiness(remark)}
    return _element("sale", {**_parties(sale), **_sale_values(sale), **about}, _remark(remark))


# -- elements.dtd ------------------------------------------------------------------------------------------------


def _elements(market: Market) -> Iterator[str]:
    categories = (
        _element("category", {}, _leaves({"id": c.id, "name": c.name}), c.description) for c in market.categories()
    )
    return _within(
        "house",
        _lines(categories),
        _lines(map(_elements_item, market.items())),
        _lines(map(_elements_person, market.people())),
        _lines(map(_elements_open, market.offers())),
        _lines(map(_elements_closed, market.sales())),
    )


def _elements_item(item: Item) -> Element:
    return _element(
        "item",
        {},
        _leaves({"id": item.id, "region": item.region, "featured": item.featured}),
        _item_content(item),
        (leaf for category in item.categories for leaf in _leaf("incategory", category)),
        _mails(item),
    )


def _elements_person(person: Person) -> Element:
    address = _address_values(person)
    values = {
        "id": person.id,
        "name": person.name,
        "email": person.emailaddress,
        **{name: address.get(name) for name in ("street", "city", "country")},
        "income": _income(person),
        "business": person.profile.business if person.profile else None,
    }
    interests = person.profile.interests if person.profile else ()
    return _element(
        "person",
        {},
        _leaves(values),
        (leaf for category in interests for leaf in _leaf("interest", category)),
        (leaf for auction in person.watches for leaf in _leaf("watch", auction)),
    )


def _elements_open(offer: Offer) -> Element:
    bids = [
        _element(
            "bid",
            {},
            _leaves({"bidder": bid.person, "date": bid.date, "time": bid.time, "increase": bid.increase}),
        )
        for bid in offer.bids
    ]
    values = {**_offer_values(offer), "privacy": None}
    return _element("open", {}, _leaves({"id": offer.id, "of": offer.item, "seller": offer.seller, **values}), bids)


def _elements_closed(sale: Sale) -> Element:
    values = {"of": sale.item, "seller": sale.seller, "buyer": sale.buyer, **_sale_values(sale)}
    return _element("closed", {}, _leaves(values))


# -- nested.dtd --------------------------------------------------------------------------------------------------


def _nested(market: Market) -> Iterator[str]:
    return _within(
        "fair",
        _within("categories", _lines(_category_elements(market))),
        _within("regions", _regions(market, lambda number: _nested_item(market, number))),
        _within("people", _lines(map(_nested_person, market.people()))),
    )


def _nested_item(market: Market, number: int) -> Element:
    item = market.item(number)
    return _element(
        "item",
        {"id": item.id, "featured": item.featured},
        _item_content(item),
        _categories_of(item),
        _mails(item),
        (_nested_offer(market.offer(offer)) for offer in market.offers_by_item.get(number, ())),
        (_sale_element(market.sale(sale)) for sale in market.sales_by_item.get(number, ())),
    )


def _nested_offer(offer: Offer) -> Element:
    attributes = {"id": offer.id, "seller": offer.seller, "author": offer.annotation.author}
    return _element("offer", attributes, _offer_content(offer), _bids(offer, person="bidder"))


def _nested_person(person: Person) -> Element:
    return _person(person, *_references("watch", "offer", person.watches))


# -- flat.dtd ----------------------------------------------------------------------------------------------------


def _flat(market: Market) -> Iterator[str]:
    return _within(
        "records",
        _lines(_category_elements(market)),
        _lines(Element("edge", {"from": start, "to": end}) for start, end in market.edges()),
        _lines(map(_flat_person, market.people())),
        _lines(_flat_interests(market)),
        _lines(_flat_watches(market)),
        _lines(map(_flat_item, market.items())),
        _lines(_flat_incategories(market)),
        _lines(_flat_mails(market)),
        _lines(map(_flat_offer, market.offers())),
        _lines(_flat_bids(market)),
        _lines(map(_flat_sale, market.sales())),
    )


def _flat_person(person: Person) -> Element:
    values = {
        "name": person.name,
        "emailaddress": person.emailaddress,
        "phone": person.phone,
        **_address_values(person),
        "homepage": person.homepage,
        "creditcard": person.creditcard,
        **_profile_values(person),
    }
    return _element("person", {"id": person.id, "income": _income(person)}, _leaves(values))


def _flat_interests(market: Market) -> Iterator[Element]:
    for person in market.people():
        for category in person.profile.interests if person.profile else ():
            yield Element("interest", {"person": person.id, "category": category})


def _flat_watches(market: Market) -> Iterator[Element]:
    for person in market.people():
        for auction in person.watches:
            yield Element("watch", {"person": person.id, "offer": auction})


def _flat_item(item: Item) -> Element:
    attributes = {"id": item.id, "region": item.region, "featured": item.featured}
    return _element("item", attributes, _item_content(item))


def _flat_incategories(market: Market) -> Iterator[Element]:
    for number in range(market.item_count):
        for category in market.categories_of(number):
            yield Element("incategory", {"item": f"item{number}", "category": category})


def _flat_mails(market: Market) -> Iterator[Element]:
    for item in market.items():
        for mail in _mails(item):
            mail.set("item", item.id)
            yield mail


def _flat_offer(offer: Offer) -> Element:
    attributes = {"id": offer.id, "item": offer.item, "seller": offer.seller, "author": offer.annotation.author}
    return _element("offer", attributes, _offer_content(offer))


def _flat_bids(market: Market) -> Iterator[Element]:
    for offer in market.offers():
        for bid in _bids(offer):
            bid.set("offer", offer.id)
            yield bid


def _flat_sale(sale: Sale) -> Element:
    element = _sale_element(sale)
    element.set("item", sale.item)
    return element


# -- regions.dtd -------------------------------------------------------------------------------------------------


def _store(market: Market) -> Iterator[str]:
    return _within(
        "store",
        _lines(_category_elements(market)),
        _lines(map(_store_item, market.items())),
        _lines(map(_person, market.people())),
        _lines(map(_store_auction, market.offers())),
        _lines(map(_store_sale, market.sales())),
    )


def _store_item(item: Item) -> Element:
    return _element(
        "item",
        {"id": item.id, "featured": item.featured},
        _leaf("region", item.region),
        _item_content(item),
        _categories_of(item),
        _mails(item),
    )


def _store_annotation(annotation: Annotation | None) -> Element | None:
    if annotation is None:
        return None
    happiness = _leaf("happiness", annotation.happiness)
    return _element("annotation", {"author": annotation.author}, annotation.description, happiness)


def _store_auction(offer: Offer) -> Element:
    return _element(
        "auction",
        {"id": offer.id, "item": offer.item, "seller": offer.seller},
        _bids(offer),
        _leaves(
            {"initial": offer.initial, "reserve": offer.reserve, "current": offer.current, "privacy": offer.privacy}
        ),
        _store_annotation(offer.annotation),
        _leaves({"quantity": offer.quantity, "type": offer.type, "start": offer.start, "end": offer.end}),
    )


def _store_sale(sale: Sale) -> Element:
    return _element("sale", _parties(sale), _leaves(_sale_values(sale)), _store_annotation(sale.annotation))


# -- kinds.dtd ---------------------------------------------------------------------------------------------------


def _kinds(market: Market) -> Iterator[str]:
    return _within(
        "bourse",
        _within("categories", _lines(_category_elements(market))),
        _within("regions", _regions(market, lambda number: _kinds_item(market.item(number)))),
        _within("people", _lines(map(_kinds_person, market.people()))),
        _within("open_auctions", _lines(map(_kinds_offer, market.offers()))),
        _within("closed_auctions", _lines(map(_kinds_sale, market.sales()))),
    )


def _kinds_item(item: Item) -> Element:
    return _element("item", {"id": item.id, "featured": item.featured}, _item_content(item), _categories_of(item))


def _kinds_person(person: Person) -> Element:
    values = {"name": person.name, "emailaddress": person.emailaddress}
    return _element("person", {"id": person.id}, _leaves(values), _kinds_address(person), _kinds_profile(person))


def _kinds_address(person: Person) -> Element | None:
    address = person.address
    if address is None:
        return None
    return _element(
        "address", {}, _leaves({"street": address.street, "city": address.city, "country": address.country})
    )


def _kinds_profile(person: Person) -> Element | None:
    profile = person.profile
    if profile is None:
        return None
    return _element("profile", {"income": profile.income}, _interests(person), _leaf("business", profile.business))


def _kinds_offer(offer: Offer) -> Element:
    return _element(
        offer.type,
        {"id": offer.id, "item": offer.item, "seller": offer.seller},
        _leaves({"initial": offer.initial, "reserve": offer.reserve}),
        _bids(offer, "bidder"),
        _leaves({"current": offer.current, "quantity": offer.quantity}),
    )


def _kinds_sale(sale: Sale) -> Element:
    values = {"price": sale.price, "date": sale.date, "quantity": sale.quantity}
    return _element("closed_auction", {**_parties(sale), "type": sale.type}, _leaves(values))


# -- flipped.dtd -------------------------------------------------------------------------------------------------


def _flipped(market: Market) -> Iterator[str]:
    return _within(
        "directory",
        _lines(_flipped_categories(market)),
        _flipped_countries(market),
        _lines(map(_flipped_offer, market.offers())),
        _lines(map(_flipped_sale, market.sales())),
    )


def _flipped_categories(market: Market) -> Iterator[Element]:
    for category in market.categories():
        yield _element(
            "category",
            {"id": category.id},
            _leaf("name", category.name),
            category.description,
            (_flipped_item(market.item(number)) for number in market.items_by_category.get(category.id, ())),
            _references("fan", "person", market.people_by_interest.get(category.id, ())),
        )


def _flipped_item(item: Item) -> Element:
    return _element("item", {"id": item.id, "region": item.region}, _item_content(item))


def _flipped_countries(market: Market) -> Iterator[str]:
    for country, people in market.people_by_country.items():
        yield tostring(_element("country", {"name": country}), encoding="unicode", short_empty_elements=False).replace(
            "</country>", "\n"
        )
        yield from _lines(_flipped_person(market.person(number)) for number in people)
        yield "</country>\n"


def _flipped_person(person: Person) -> Element:
    values = {
        "name": person.name,
        "emailaddress": person.emailaddress,
        "phone": person.phone,
        **{name: value for name, value in _address_values(person).items() if name != "country"},
        **_profile_values(person),
    }
    return _element("person", {"id": person.id, "income": _income(person)}, _leaves(values))


def _flipped_offer(offer: Offer) -> Element:
    attributes = {"id": offer.id, "item": offer.item, "seller": offer.seller}
    return _element("offer", attributes, _leaves(_offer_values(offer)), _bids(offer))


def _flipped_sale(sale: Sale) -> Element:
    return _element("sale", _parties(sale), _leaves(_sale_values(sale)))


# -- merged.dtd --------------------------------------------------------------------------------------------------


def _merged(market: Market) -> Iterator[str]:
    return _within(
        "ledger",
        _lines(_category_elements(market)),
        _lines(map(_merged_item, market.items())),
        _lines(map(_merged_person, market.people())),
        _lines(map(_open_listing, market.offers())),
        _lines(map(_closed_listing, market.sales())),
        _lines(_deal(market, number) for number in range(market.sale_count)),
    )


def _merged_item(item: Item) -> Element:
    return _element(
        "item",
        {"id": item.id, "region": item.region},
        _leaves({"name": item.name, "location": item.location, "payment": item.payment}),
        item.description,
        _categories_of(item),
    )


def _merged_person(person: Person) -> Element:
    address = _address_values(person)
    values = {"name": person.name, "emailaddress": person.emailaddress}
    places = {name: address.get(name) for name in ("city", "country")}
    return _element("person", {"id": person.id}, _leaves({**values, **places}), _interests(person))


def _open_listing(offer: Offer) -> Element:
    values = {"id": offer.id, "current": offer.current, "quantity": offer.quantity, "type": offer.type}
    return _element("listing", {"item": offer.item, "seller": offer.seller}, _leaves(values), _bids(offer))


def _closed_listing(sale: Sale) -> Element:
    attributes = {"item": sale.item, "seller": sale.seller}
    return _element("listing", attributes, _leaves({"quantity": sale.quantity, "type": sale.type}))


def _deal(market: Market, number: int) -> Element:
    sale = market.sale(number)
    item, buyer = market.item(_number(sale.item)), market.person(_number(sale.buyer))
    values = {
        "price": sale.price,
        "date": sale.date,
        "type": sale.type,
        "name": item.name,
        "location": item.location,
        "payment": item.payment,
        "who": buyer.name,
        "city": buyer.address.city if buyer.address else None,
        "country": buyer.address.country if buyer.address else None,
    }
    return _element("deal", {**_parties(sale), "region": item.region}, _leaves(values))


def _number(identifier: str) -> int:
    return int(identifier.lstrip("abcdefghijklmnopqrstuvwxyz_"))


# -- split.dtd ---------------------------------------------------------------------------------------------------


def _split(market: Market) -> Iterator[str]:
    return _within(
        "archive",
        _lines(_category_elements(market)),
        _within("regions", _regions(market, lambda number: _split_item(market.item(number)))),
        _lines(map(_stock, market.items())),
        _lines(_element("person", {"id": person.id}, _leaf("name", person.name)) for person in market.people()),
        _lines(map(_contact, market.people())),
        _lines(map(_split_profile, market.people())),
        _lines(map(_split_offer, market.offers())),
        _lines(map(_flipped_sale, market.sales())),
    )


def _split_item(item: Item) -> Element:
    attributes = {"id": item.id, "featured": item.featured}
    return _element("item", attributes, _leaf("name", item.name), item.description, _categories_of(item))


def _stock(item: Item) -> Element:
    values = {
        "location": item.location,
        "quantity": item.quantity,
        "payment": item.payment,
        "shipping": item.shipping,
    }
    return _element("stock", {"item": item.id}, _leaves(values))


def _contact(person: Person) -> Element:
    values = {
        "emailaddress": person.emailaddress,
        "phone": person.phone,
        **_address_values(person),
        "homepage": person.homepage,
    }
    return _element("contact", {"person": person.id}, _leaves(values))


def _split_profile(person: Person) -> Element:
    attributes = {"person": person.id, "income": _income(person)}
    return _element("profile", attributes, _interests(person), _leaves(_profile_values(person)))


def _split_offer(offer: Offer) -> Element:
    bids = [
        _element(
            "bid",
            {"person": bid.person},
            _element("moment", {}, _leaves({"date": bid.date, "time": bid.time})),
            _leaf("increase", bid.increase),
        )
        for bid in offer.bids
    ]
    attributes = {"id": offer.id, "item": offer.item, "seller": offer.seller}
    return _element("offer", attributes, bids, _leaves(_offer_values(offer)))


_WRITERS: Final[dict[str, Callable[[Market], Iterator[str]]]] = {
    "auction": _auction,
    "attributes": _attributes,
    "elements": _elements,
    "nested": _nested,
    "flat": _flat,
    "regions": _store,
    "kinds": _kinds,
    "flipped": _flipped,
    "merged": _merged,
    "split": _split,
}
