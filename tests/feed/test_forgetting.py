"""What neighbours have said is forgotten with their links: a router without links is as empty as a new one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set, Sized
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import count

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.methods import PaperMethod, PaperRouter
from heptox.feed import (
    ANYTHING,
    NO_MAPPING,
    Agreed,
    Announce,
    CatchUp,
    Event,
    FeedDocument,
    Forged,
    Hello,
    LinkDown,
    LinkUp,
    Message,
    Method,
    Publish,
    Received,
    Router,
    Subscribe,
    Subscribed,
    Tick,
    Unsubscribe,
    Unsubscribed,
    Withdraw,
    Wording,
    route_table,
    trust,
)
from heptox.feed.questions import SILENT_AFTER, SILENT_QUESTIONS
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.routing import advertised, digest
from heptox.schema import parse_dtd
from tests.support.budget import tries

NEIGHBOURS = ("n1", "n2", "n3")
PUBLISHERS = ("p1", "p2", *NEIGHBOURS)
TEXTS = ("//a", "/r/a", "//b[c]", "/r/*/c or //b", "/r//b[. = 'x']", "//c")
ADVERTISEMENTS = tuple(
    advertised(parse_dtd(f"<!ELEMENT r (a | b)*> <!ELEMENT a (c{number})*> <!ELEMENT b (c?)> <!ELEMENT c EMPTY>"
                         f"<!ELEMENT c{number} (#PCDATA)>", "r"))
    for number in range(4)
)  # fmt: skip

KEPT = {"_oldest", "_newest", "_forks", "_distrusted", "_silent", "_added"}
"""What is remembered of those who may come back: how new announcements were, of so many publishers, and who lied; and
the numbers of what was added last, so many at most."""

neighbours, publishers = st.sampled_from(NEIGHBOURS), st.sampled_from(PUBLISHERS)
numbers = st.integers(1, 4)


@st.composite
def announcements(draw: st.DrawFn) -> Announce:
    sender, publisher = draw(neighbours), draw(publishers)
    between = draw(st.lists(st.sampled_from(("me", "x", "y")), max_size=2, unique=True))
    path = (sender,) if sender == publisher else (sender, *between, publisher)
    advertisement = draw(st.none() | st.sampled_from(ADVERTISEMENTS))
    wording = Wording("schema", 0, tuple("m" for _ in path)) if draw(st.booleans()) else Wording()
    return Announce(
        publisher, "feed", draw(numbers), draw(numbers), path,
        ANYTHING if advertisement is None else digest(advertisement), advertisement, draw(st.booleans()),
        wording=wording,
    )  # fmt: skip


def document(publisher: str, number: int) -> FeedDocument:
    return FeedDocument(publisher, "feed", number, f"{number}.xml", str(number), b"<r><a/><b><c/></b></r>")


messages: st.SearchStrategy[Message] = st.one_of(
    announcements(),
    st.builds(Withdraw, publishers),
    st.builds(Subscribe, numbers, st.sampled_from(TEXTS), st.integers(1, 3), st.booleans()),
    st.builds(Unsubscribe, numbers),
    st.builds(Publish, st.builds(document, publishers, numbers)),
    st.builds(CatchUp, publishers, st.just("feed"), numbers, numbers, st.tuples(neighbours)),
)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(LinkUp, neighbours),
    st.builds(LinkDown, neighbours),
    st.builds(Agreed, neighbours, st.sampled_from((NO_MAPPING, "source 1"))),
    st.builds(Received, neighbours, messages),
    announcements().map(lambda announce: Received(announce.path[0], announce)),
    st.just(Tick()),
)
methods = st.sampled_from((Method(), Method(merging=True), PaperMethod(covering=False)))


@settings(max_examples=tries(150), deadline=None)
@given(methods, st.lists(st.sampled_from(TEXTS), max_size=2), st.lists(events, max_size=60))
def test_what_neighbours_have_said_is_forgotten_with_their_links(
    method: Method, own: list[str], history: list[Event]
) -> None:
    router, seconds = PaperRouter("me", MemoryMatcher(), method), count(step=0.2)
    for number, text in enumerate(own, 1):
        router.handle(Subscribed(number, text, parse_subscription(text)), next(seconds))
    for neighbour in NEIGHBOURS:
        router.handle(LinkUp(neighbour), next(seconds))
        router.handle(Received(neighbour, Hello()), next(seconds))
    for event in history:
        router.handle(event, next(seconds))
        if isinstance(event, LinkUp):
            router.handle(Received(event.neighbour, Hello()), next(seconds))
    for number in range(1, len(own) + 1):
        router.handle(Unsubscribed(number), next(seconds))
    for neighbour in NEIGHBOURS:
        router.handle(LinkDown(neighbour), next(seconds))
        router.handle(Agreed(neighbour, NO_MAPPING), next(seconds))
    router.handle(Tick(), next(seconds) + 60)
    assert dict(held(router)) == dict(held(PaperRouter("me", MemoryMatcher(), method)))


def test_what_is_remembered_of_those_who_are_gone_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 7
    for module, name in (
        (route_table, "MOST_VERSIONS"), (trust, "MOST_SILENT"), (trust, "MOST_DISTRUSTED"), (trust, "MOST_FORKED"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, most)
    router, seconds = Router("me", MemoryMatcher()), count(step=SILENT_AFTER)
    router.handle(Subscribed(1, "//a", parse_subscription("//a")), next(seconds))
    for neighbour in NEIGHBOURS:
        router.handle(LinkUp(neighbour), next(seconds))
        router.handle(Received(neighbour, Hello()), next(seconds))
    for number in range(4 * most):
        publisher, asker = f"p{number}", (f"s{number}", "n2")
        hears = partial(_hears, router)
        hears("n1", Announce(publisher, "feed", 1, 0, ("n1", publisher), news=True), next(seconds))
        for request in range(SILENT_QUESTIONS + 1):
            hears("n2", CatchUp(publisher, "feed", 0, request, asker), next(seconds))
        hears("n1", Publish(document(publisher, 1)), next(seconds))
        hears("n1", Publish(replace(document(publisher, 2), previous=b"another")), next(seconds))
        router.handle(Forged("n3", publisher, "why"), next(seconds))
        hears("n1", Withdraw(publisher), next(seconds))
    table, trusted = router._routes.table, router._links.trust
    remembered: dict[str, Sized] = {
        "_newest": table._newest, "_oldest": table._oldest, "_forks": trusted._forks,
        "_silent": trusted._silent["n1"], "_distrusted": trusted._distrusted["n3"],
    }  # fmt: skip
    assert {name: len(table) for name, table in remembered.items()} == dict.fromkeys(remembered, most)


def _hears(router: Router, neighbour: str, message: Message, now: float) -> None:
    router.handle(Received(neighbour, message), now)


def held(value: object, place: str = "router") -> Iterator[tuple[str, int]]:
    """The tables that something has, by their places, with how many entries each has; of a matcher, how many
    subscriptions it has."""
    if isinstance(value, str | bytes | MemoryMatcher):
        if isinstance(value, MemoryMatcher):
            yield place, len(value)
    elif isinstance(value, Mapping | Set | Sequence):
        yield place, len(value)
    elif type(value).__module__.startswith("heptox."):
        for name in sorted({*attributes(value)} - KEPT):
            yield from held(getattr(value, name), f"{place}.{name}")


def attributes(value: object) -> list[str]:
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    return list(vars(value)) if hasattr(value, "__dict__") else []
