"""One broker: who breaks the agreement loses the link and nobody else does, and what it says about what it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from sys import getsizeof

import pytest

from heptox.feed import (
    ANYTHING,
    MOST_HOPS,
    Agreed,
    Announce,
    Break,
    Budget,
    CatchUp,
    CaughtUp,
    Event,
    Explained,
    FeedDocument,
    Fetch,
    Fetched,
    Hello,
    Instruction,
    Keep,
    LinkDown,
    LinkUp,
    Message,
    Note,
    NotFetched,
    NotStored,
    Publish,
    Published,
    Publishes,
    Reached,
    Received,
    Record,
    Recorded,
    Replay,
    Router,
    Send,
    Store,
    Stored,
    Subscribe,
    Subscribed,
    Tick,
    Unsubscribe,
    Unsubscribed,
    Withdraw,
    Wording,
    wanted,
)
from heptox.feed.catch_up import MISSING
from heptox.feed.holding import advertisement_bytes, announcement_bytes
from heptox.feed.questions import MOST_READ
from heptox.feed.receiving import AUDITED_EVERY, PATIENCE
from heptox.feed.route_table import HOLD
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher
from heptox.routing import Advertisement, advertised, digest
from heptox.schema import parse_dtd
from heptox.xml import Document, write_element

NEWS = advertised(parse_dtd("<!ELEMENT news (item*)> <!ELEMENT item (#PCDATA)>", "news"))
SPORT = advertised(parse_dtd("<!ELEMENT sport (goal*)> <!ELEMENT goal (#PCDATA)>", "sport"))


def document(sequence: int, text: str = "<news><item>1</item></news>", publisher: str = "p") -> FeedDocument:
    return FeedDocument(publisher, "feed", sequence, f"{sequence}.xml", str(sequence), text.encode())


def announce(*path: str, version: int = 1, position: int = 0, advertisement: Advertisement | None = None) -> Announce:
    named = ANYTHING if advertisement is None else digest(advertisement)
    return Announce(path[-1], "feed", version, position, path, named, advertisement)


@dataclass(frozen=True, slots=True)
class KeepsTo:
    """Takes documents for advertised in which there is a word."""

    word: str

    def first_misfit(self, document: Document) -> str | None:
        return None if self.word in write_element(document.root) else f"there is no {self.word}"


class Broker:
    """The peer ``me`` with its neighbours, and what it has others do."""

    def __init__(self, *neighbours: str, budget: Budget | None = None, keeps_to: str = "") -> None:
        keeping = KeepsTo(keeps_to)
        self.router = Router("me", MemoryMatcher(), budget=budget or Budget(), conformity=lambda _: keeping)
        self.now = 0.0
        for name in neighbours:
            self.does(LinkUp(name))
            self.hears(name, Hello())

    def does(self, event: Event) -> tuple[Instruction, ...]:
        return self.router.handle(event, self.now)

    def hears(self, neighbour: str, message: Message) -> tuple[Instruction, ...]:
        return self.does(Received(neighbour, message))

    def reconnects(self, neighbour: str) -> None:
        self.does(LinkDown(neighbour))
        self.now += 2 * HOLD
        self.does(Tick())
        self.does(LinkUp(neighbour))
        self.hears(neighbour, Hello())

    def subscribes(self, number: int, text: str) -> tuple[Instruction, ...]:
        return self.does(Subscribed(number, text, parse_subscription(text)))


def sent(instructions: Iterable[Instruction], neighbour: str) -> list[Message]:
    return [one.message for one in instructions if isinstance(one, Send) and one.neighbour == neighbour]


def answered(asked: CatchUp, position: int, sent: tuple[int, ...] = (), *, missing: int = 0) -> CaughtUp:
    """The answer of a publisher at which there is no more."""
    place = (asked.publisher, asked.feed, asked.request, position, True, missing, asked.route)
    return CaughtUp(*place, sent, question=asked.digest)


def notes(instructions: Iterable[Instruction]) -> list[Note]:
    return [one for one in instructions if isinstance(one, Note)]


def distrusted(broker: Broker) -> list[tuple[str, str]]:
    return [(one.neighbour, one.publisher) for one in broker.router.suspicions if one.distrusted]


def live() -> Broker:
    """A broker between the publisher ``p`` and ``q``, of which it is a child, with one confirmed subscription."""
    broker = Broker("p", "q")
    broker.hears("p", announce("p"))
    broker.hears("q", announce("q", "me", "p"))
    asked = broker.subscribes(1, "//item")
    (catch_up,) = (message for message in sent(asked, "p") if isinstance(message, CatchUp))
    assert broker.router.unconfirmed(1) == ("p",) and not broker.router.counts("p", 1)
    broker.hears("p", answered(catch_up, 0))
    assert broker.router.unconfirmed(1) == () and broker.router.counts("p", 1)
    return broker


# -- the agreement -----------------------------------------------------------------------------------------------------

FAR = tuple(f"p{number}" for number in range(MOST_HOPS))
BAD: dict[str, tuple[str, tuple[Message, ...]]] = {
    "a second greeting": ("begins with one greeting", (Hello(),)),
    "another one's path": ("does not lead", (announce("x", "p"),)),
    "an empty path": ("does not lead", (replace(announce("bad"), path=()),)),
    "a path elsewhere": ("does not lead", (replace(announce("bad", "x"), publisher="y"),)),
    "a path in a circle": ("does not lead", (announce("bad", "x", "bad", "p"),)),
    "a path too long": (f"over {MOST_HOPS} peers", (announce("bad", *FAR),)),
    "too many publishers": ("over 9 publishers", tuple(announce("bad", name) for name in "qrstuvwxyz")),
    "an advertisement that was not sent": ("not sent", (replace(announce("bad"), digest="d"),)),
    "too many subscriptions": ("over|more than 2 subscriptions", tuple(Subscribe(n, f"/s{n}") for n in range(1, 5))),
    "too much memory": ("25000 bytes", (Subscribe(1, "/" + "t" * 5000),)),
    "too much announced": ("25000 bytes", tuple(announce("bad", *(f"x{n}-{k}" for k in range(9))) for n in range(5))),
    "no subscription": ("no subscription", (Subscribe(1, "//item["),)),
    "a subscription outside the language": ("no subscription", (Subscribe(1, "count(//item) > 2"),)),
    "another subscription of that number": ("another subscription 1", (Subscribe(1, "/a"), Subscribe(1, "/b"))),
    "a subscription of nobody": ("no hop away", (Subscribe(1, "/a", 0),)),
    "a removal of what was not told": ("not told", (Unsubscribe(1),)),
    "a second removal": ("not told", (Subscribe(1, "/a"), Unsubscribe(1), Unsubscribe(1))),
    "a request without route": ("route of a request", (CatchUp("me", "feed", 0, 1, ()),)),
    "a request of somebody else": ("route of a request", (CatchUp("me", "feed", 0, 1, ("bad", "x")),)),
    "a request in a circle": ("route of a request", (CatchUp("p", "feed", 0, 1, ("me", "bad")),)),
    "a request with a loop": ("route of a request", (CatchUp("p", "feed", 0, 1, ("bad", "x", "bad")),)),
    "a document gone astray": ("gone astray", (Replay(document(1), 1, ("x",)),)),
    "a document on no route": ("gone astray", (Replay(document(1), 1, ()),)),
    "an answer gone astray": ("gone astray", (CaughtUp("p", "feed", 1, 0, True, 0, ("me", "x")),)),
}


@pytest.mark.parametrize(("reason", "messages"), BAD.values(), ids=BAD)
def test_who_breaks_the_agreement_loses_its_link_and_others_go_on(reason: str, messages: tuple[Message, ...]) -> None:
    broker = Broker("bad", "p", "q", budget=Budget(2, publishers=9, memory=25_000))
    broker.hears("p", announce("p"))
    broker.hears("q", announce("q", "me", "p"))
    broker.hears("q", Subscribe(1, "//item"))
    *_, last = (broker.hears("bad", message) for message in messages)
    (broken,) = (one for one in last if isinstance(one, Break))
    assert broken.neighbour == "bad" and any(part in broken.reason for part in reason.split("|"))
    assert [note.fields["reason"] for note in notes(last)] == [broken.reason]
    assert [seen.neighbour for seen in broker.router.neighbours] == ["p", "q"]
    assert broker.hears("bad", Subscribe(9, "/late")) == ()
    assert sent(broker.hears("p", Publish(document(1))), "q") == [Publish(document(1))]
    assert broker.hears("bad", Hello()) == ()
    broker.does(LinkUp("bad"))
    assert not [one for one in broker.hears("bad", Hello()) if isinstance(one, Break)], "it may begin anew"


def test_before_the_greeting_nothing_is_said() -> None:
    broker = Broker("p")
    broker.does(LinkUp("bad"))
    assert Break("bad", "a link begins with one greeting") in broker.hears("bad", announce("bad"))


def test_advertisements_that_nothing_names_make_room_for_others() -> None:
    one = advertisement_bytes(NEWS) + announcement_bytes(announce("bad"))
    broker = Broker("bad", budget=Budget(memory=one + advertisement_bytes(SPORT) // 2))
    for number, advertisement in enumerate((NEWS, SPORT, NEWS, SPORT)):
        out = broker.hears("bad", announce("bad", version=number, advertisement=advertisement))
        assert not any(isinstance(instruction, Break) for instruction in out)
    (broken,) = (
        instruction
        for instruction in broker.hears("bad", announce("bad", "p", advertisement=NEWS))
        if isinstance(instruction, Break)
    )
    assert "more than" in broken.reason


def test_what_a_broken_link_had_told_is_taken_back() -> None:
    broker = Broker("p", "bad")
    broker.hears("p", announce("p"))
    broker.hears("bad", announce("bad", "me", "p"))
    assert sent(broker.hears("bad", Subscribe(1, "//item")), "p") == [Subscribe(1, "//item", 2)]
    assert sent(broker.hears("bad", Hello()), "p") == [Unsubscribe(1)]


def test_an_advertisement_is_sent_once_and_then_named() -> None:
    broker = Broker("q")
    first = broker.does(Publishes("feed", 0, 1, NEWS))
    again = broker.does(Publishes("feed", 0, 2, NEWS))
    known = announce("me", version=1, advertisement=NEWS)
    assert sent(first, "q") == [replace(known, news=True)]
    assert sent(again, "q") == [replace(known, version=2, advertisement=None, news=True)]


# -- documents ---------------------------------------------------------------------------------------------------------


def test_a_lie_goes_no_further_and_others_are_heard() -> None:
    broker = Broker("p", "o", "q", keeps_to="news")
    for publisher in ("p", "o"):
        broker.hears(publisher, announce(publisher, advertisement=NEWS))
        broker.hears("q", announce("q", "me", publisher, advertisement=NEWS))
    broker.hears("q", Subscribe(1, "//item"))
    broker.hears("q", Subscribe(2, "//goal"))
    lie = document(1, "<sport><goal/><item/></sport>")
    (note,) = broker.hears("p", Publish(lie))
    assert isinstance(note, Note) and note.event == "document refused"
    assert note.fields == {"publisher": "p", "document": "1.xml", "position": 1, "why": "there is no news"}
    assert sent(broker.hears("p", Publish(document(2))), "q") == [Publish(document(2))]
    honest = document(1, publisher="o")
    assert sent(broker.hears("o", Publish(honest)), "q") == [Publish(honest)]


def test_what_is_no_document_goes_no_further() -> None:
    broker = live()
    (note,) = broker.hears("p", Publish(document(1, "<news>")))
    assert isinstance(note, Note) and note.event == "document refused"
    assert Store(document(2), 1) in broker.hears("p", Publish(document(2)))


def test_only_the_neighbour_on_the_route_is_heard_and_each_document_once() -> None:
    broker = live()
    broker.hears("q", Subscribe(1, "//item"))
    assert broker.hears("q", Publish(document(1))) == ()
    first = broker.hears("p", Publish(document(1)))
    assert first == (Send("q", Publish(document(1))), Store(document(1), 1))
    assert broker.hears("p", Publish(document(1))) == ()


def test_what_was_not_stored_is_asked_for_again() -> None:
    broker = live()
    broker.hears("p", Publish(document(1)))
    waits = broker.does(NotStored("p", "feed", 1, "no space is left"))
    assert [(note.event, note.fields["why"]) for note in notes(waits)] == [("document waits", "no space is left")]
    assert not broker.router.counts("p", 1)
    assert broker.does(Tick()) == ()
    broker.now = PATIENCE
    (again,) = sent(broker.does(Tick()), "p")
    assert again == CatchUp("p", "feed", 0, 2, ("me",), ("//item",))
    assert Store(document(1), 1) in broker.hears("p", Replay(document(1), 2, ("me",)))
    broker.hears("p", answered(again, 1, (1,)))
    assert not broker.router.counts("p", 1), "it is not stored yet"
    assert Keep(Reached("p", "feed", 1, 1)) in broker.does(Stored("p", "feed", 1))
    assert broker.router.counts("p", 1)


def test_who_gets_no_answer_asks_again_and_less_often() -> None:
    broker = Broker("p")
    broker.hears("p", announce("p"))
    broker.subscribes(1, "//item")
    times = []
    for second in range(1, 100):
        broker.now = float(second)
        times += [second for _ in sent(broker.does(Tick()), "p")]
    assert times == [10, 30, 70]


def test_documents_that_are_not_kept_any_more_are_noted() -> None:
    broker = live()
    broker.reconnects("p")
    (asked,) = (one for one in sent(broker.hears("p", announce("p", position=9)), "p") if isinstance(one, CatchUp))
    assert asked.since == 0
    answer = broker.hears("p", answered(asked, 9, missing=4))
    assert notes(answer) == [
        Note("documents missing", {"publisher": "p", "documents": 4, "position": 9, "why": MISSING})
    ]


def test_a_subscriber_asks_now_and_then_whether_it_has_all_and_keeps_how_far_it_is() -> None:
    broker = live()
    kept, asked = [], []
    for sequence in range(1, 3 * AUDITED_EVERY):
        decided = broker.hears("p", Publish(document(sequence)))
        decided += broker.does(Stored("p", "feed", sequence))
        for question in (one for one in sent(decided, "p") if isinstance(one, CatchUp)):
            asked.append((question.since, question.wants, question.has))
            decided += broker.hears("p", answered(question, sequence))
            decided += broker.does(Stored("p", "feed", sequence))
        kept += [one.reached.position for one in decided if isinstance(one, Keep)]
    first, second = range(1, AUDITED_EVERY + 1), range(AUDITED_EVERY + 1, 2 * AUDITED_EVERY + 1)
    assert asked == [(0, ("//item",), tuple(first)), (AUDITED_EVERY, ("//item",), tuple(second))]
    assert kept == [AUDITED_EVERY, 2 * AUDITED_EVERY]


def test_another_start_goes_on_where_the_last_one_was() -> None:
    broker = Broker()
    broker.does(Reached("p", "feed", 7, 1))
    broker.subscribes(1, "//item")
    broker.does(LinkUp("p"))
    broker.hears("p", Hello())
    assert CatchUp("p", "feed", 7, 1, ("me",), ("//item",)) in sent(broker.hears("p", announce("p", position=9)), "p")
    other = replace(announce("p", version=2), feed="another feed")
    assert CatchUp("p", "another feed", 0, 2, ("me",), ("//item",)) in sent(broker.hears("p", other), "p")


# -- the publisher -----------------------------------------------------------------------------------------------------


def publishing(advertisement: Advertisement | None = None) -> Broker:
    broker = Broker("q")
    broker.does(Publishes("feed", 0, 1, advertisement))
    broker.hears("q", announce("q", "me"))
    broker.hears("q", Subscribe(1, "//item"))
    return broker


def served(broker: Broker, fetched: Fetched) -> tuple[Record, list[Message]]:
    """What is to be recorded before something is sent, and what is sent then."""
    (record,) = broker.does(fetched)
    assert isinstance(record, Record)
    return record, sent(broker.does(Recorded(fetched.task)), record.route[-1])


def test_a_subscriber_gets_what_it_has_missed_and_is_told_when_it_has_all() -> None:
    broker = publishing()
    for sequence, text in enumerate(("<news><item/></news>", "<news/>", "<item/>"), 1):
        broker.does(Published(document(sequence, text, "me")))
    asked = CatchUp("me", "feed", 0, 5, ("s", "q"), ("//item",), (3, 9))
    assert broker.hears("q", asked) == (Fetch(1, 0, 3, ("s", "q"), ("//item",), frozenset({3})),)
    found = (document(1, "<news><item/></news>", "me"),)
    record, told = served(broker, Fetched(1, found, 2, last=b"2"))
    assert (record.since, record.served, record.route) == (0, (1,), ("s", "q"))
    answer = CaughtUp("me", "feed", 5, 2, False, 0, asked.route, (1,), b"2", asked.digest)
    assert told == [Replay(found[0], 5, asked.route), answer]
    last = document(3, "<item/>", "me").digest
    for again in (replace(asked, since=3), replace(asked, since=1, has=(2, 3)), replace(asked, since=None)):
        more = sent(broker.hears("q", again), "q")
        assert more == [CaughtUp("me", "feed", 5, 3, True, 0, asked.route, (), last, again.digest)]
    assert broker.hears("q", replace(asked, feed="another feed")) == ()


def test_nothing_is_confirmed_or_sent_before_that_is_on_the_disk() -> None:
    broker = publishing()
    broker.does(Published(document(1, publisher="me")))
    asked = CatchUp("me", "feed", None, 5, ("s", "q"))
    assert broker.hears("q", asked) == (Fetch(1, 1, 1, ("s", "q")),)
    broker.does(Published(document(2, publisher="me")))
    last = document(2, publisher="me").digest
    answer = CaughtUp("me", "feed", 5, 2, True, 0, asked.route, (), last, asked.digest)
    assert sent(broker.does(Fetched(1, (), 1)), "q") == [answer]
    assert sent(broker.hears("q", asked), "q") == [answer], "it was confirmed before"
    assert broker.hears("q", replace(asked, route=("t", "q"))) == (Fetch(2, 2, 2, ("t", "q")),)
    assert broker.does(NotFetched(2)) == ()
    assert broker.hears("q", replace(asked, since=0)) == (Fetch(3, 0, 2, ("s", "q")),)
    assert isinstance(broker.does(Fetched(3, (document(1, publisher="me"),), 2))[0], Record)
    assert broker.does(NotFetched(3)) == broker.does(Recorded(3)) == ()


def test_what_was_asked_on_a_link_that_has_ended_is_not_answered_on_another_one() -> None:
    broker = publishing()
    broker.does(Published(document(1, publisher="me")))
    broker.hears("q", CatchUp("me", "feed", 0, 5, ("s", "q"), ("//item",)))
    assert isinstance(broker.does(Fetched(1, (document(1, publisher="me"),), 1))[0], Record)
    broker.reconnects("q")
    assert broker.does(Recorded(1)) == ()


def test_what_is_withheld_is_counted_with_what_is_missing() -> None:
    broker = publishing()
    for sequence in range(1, 8):
        broker.does(Published(document(sequence, publisher="me")))
    asked = CatchUp("me", "feed", 0, 5, ("q",))
    broker.hears("q", asked)
    fetched = Fetched(1, (document(6, publisher="me"),), 7, missing=1, withheld=(5, 7), earlier=3)
    record, told = served(broker, fetched)
    assert record == Record(fetched, 0, (6,), ("q",))
    assert told[-1] == CaughtUp("me", "feed", 5, 7, True, 6, ("q",), (6,), question=asked.digest)


def test_nobody_asks_in_the_name_of_a_neighbour() -> None:
    broker = publishing()
    broker.does(Published(document(1, publisher="me")))
    broker.does(LinkUp("s"))
    broker.hears("s", Hello())
    asked = CatchUp("me", "feed", 0, 5, ("s", "q"))
    assert broker.hears("q", asked) == ()
    assert broker.hears("s", replace(asked, route=("s",))) == (Fetch(1, 0, 1, ("s",)),)
    broker.does(LinkDown("s"))
    assert broker.hears("q", asked) == (Fetch(2, 0, 1, ("s", "q")),)


def test_the_signatures_of_an_announcement_are_counted_before_they_are_made_and_after() -> None:
    path = tuple(f"{number:052}" for number in range(20))
    wording = Wording("schema", 0, tuple(f"source {number:064}" for number in range(20)))
    unsigned = replace(announce(*path), wording=wording)
    attestations = tuple(number.to_bytes(64) for number in range(20))
    signed = replace(unsigned, signature=bytes(64), attestations=attestations)
    assert announcement_bytes(signed) == announcement_bytes(unsigned)
    rows = (signed.path, signed.wording.mappings, signed.attestations)
    parts = sum(getsizeof(row) + sum(map(getsizeof, row)) for row in rows)
    assert announcement_bytes(signed) - announcement_bytes(announce("p")) >= parts - getsizeof(signed.signature)


def test_what_was_published_before_an_acquaintance_is_no_news_for_it() -> None:
    broker = Broker()
    broker.does(Agreed("p", "mapping"))
    broker.does(Publishes("feed", 3, 1, since=0))
    told = [sent(broker.does(LinkUp(peer)), peer)[-1] for peer in ("p", "q")]
    assert [(one.position, one.news) for one in told if isinstance(one, Announce)] == [(0, True), (3, False)]


def test_what_could_not_be_read_is_not_answered() -> None:
    broker = publishing()
    broker.does(Published(document(1, publisher="me")))
    assert broker.hears("q", CatchUp("me", "feed", 0, 5, ("q",))) == (Fetch(1, 0, 1, ("q",)),)
    assert broker.does(NotFetched(1)) == broker.does(Fetched(1, (), 1)) == ()


def test_of_another_advertisement_all_that_was_published_before_it_is_sent() -> None:
    broker = publishing(NEWS)
    broker.does(Published(document(1, publisher="me")))
    broker.does(Publishes("feed", 1, 2, SPORT))
    broker.does(Published(document(2, "<sport/>", "me")))
    broker.hears("q", Unsubscribe(1))
    (fetch,) = broker.hears("q", CatchUp("me", "feed", 0, 5, ("q",)))
    assert isinstance(fetch, Fetch)
    assert fetch == Fetch(1, 0, 2, ("q",), all_upto=1)
    found = (document(1, publisher="me"), document(2, "<sport/>", "me"))
    assert wanted(fetch, found) == found[:1]
    assert wanted(replace(fetch, wants=("/sport", "no [subscription")), found) == found
    assert wanted(replace(fetch, has=frozenset({1})), found) == ()


def test_who_asks_for_more_than_is_read_gets_all_that_can_be_read() -> None:
    found = (document(1, publisher="me"), document(2, "<sport>", "me"), document(3, publisher="me"))
    many = tuple(f"/no{'x' * 1000}{number}" for number in range(MOST_READ // 1000))
    fetch = Fetch(1, 0, 3, ("q",), wants=many[:-1], has=frozenset({3}))
    assert wanted(replace(fetch, wants=many[:100]), found) == ()
    assert wanted(replace(fetch, wants=many), found) == found[:1]


def test_what_was_missed_of_another_advertisement_is_asked_for_and_taken() -> None:
    broker = Broker("p", keeps_to="sport")
    broker.hears("p", announce("p", advertisement=NEWS))
    (asked,) = sent(broker.subscribes(1, "//item"), "p")[-1:]
    assert isinstance(asked, CatchUp)
    broker.hears("p", CaughtUp("p", "feed", 1, 0, True, 0, ("me",), question=asked.digest))
    broker.reconnects("p")
    (asked,) = sent(broker.hears("p", announce("p", version=2, position=1, advertisement=SPORT)), "p")[-1:]
    assert asked == CatchUp("p", "feed", 0, 2, ("me",))
    assert Store(document(1), 1) in broker.hears("p", Replay(document(1), 2, ("me",)))


def asked_of(instructions: Iterable[Instruction], neighbour: str = "p") -> CatchUp:
    (asked,) = (one for one in sent(instructions, neighbour) if isinstance(one, CatchUp))
    return asked


NEW = replace(announce("p"), news=True)


def test_news_of_a_feed_count_for_the_subscriptions_that_are_there() -> None:
    broker = Broker("p")
    broker.subscribes(1, "//item")
    out = broker.hears("p", NEW)
    assert Keep(Reached("p", "feed", 0, 1)) in out
    assert asked_of(out).since == 0
    assert broker.hears("p", Publish(document(1)))[0] == Store(document(1), 1)


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("is_confirmed", [False, True])
def test_news_of_a_feed_do_not_count_again_for_those_that_were_added_since(
    is_confirmed: bool, is_restarted: bool
) -> None:
    """Document 1 was published before subscription 2 was there; the publisher says its news again on a new link."""
    broker = Broker("p")
    broker.hears("p", NEW)
    kept: list[Instruction] = []
    if is_confirmed:
        out = broker.subscribes(1, "//goal")
        kept += out
        kept += broker.hears("p", answered(asked_of(out), 0))
    kept += broker.subscribes(2, "//item")
    if is_restarted:
        reached = [one.reached for one in kept if isinstance(one, Keep)]
        broker = Broker()
        broker.does(reached[-1])
        if is_confirmed:
            broker.subscribes(1, "//goal")
        broker.subscribes(2, "//item")
    broker.reconnects("p")
    asked = asked_of(broker.hears("p", NEW))
    assert asked.since == (0 if is_confirmed else None)
    stored = [one for one in broker.hears("p", Publish(document(1))) if isinstance(one, Store)]
    assert all(one.number < 2 for one in stored)


def test_news_of_another_advertisement_end_those_of_the_feed() -> None:
    broker = Broker()
    broker.does(Agreed("p", "mapping"))
    broker.does(Publishes("feed", 3, 1, since=0))
    broker.does(Publishes("feed", 3, 2, NEWS))
    (told,) = (one for one in sent(broker.does(LinkUp("p")), "p") if isinstance(one, Announce))
    assert (told.position, told.news) == (3, False)


def test_how_far_a_feed_is_is_kept_for_those_subscriptions_only_that_count_from_there_on() -> None:
    broker = live()
    broker.subscribes(2, "//goal")
    broker.reconnects("p")
    asked = asked_of(broker.hears("p", replace(announce("p", version=2, position=9), news=True)))
    out = broker.hears("p", replace(answered(asked, 4), complete=False))
    assert Keep(Reached("p", "feed", 4, 1)) in out
    out = broker.hears("p", answered(asked_of(out), 9))
    assert Keep(Reached("p", "feed", 9, 2)) in out


# -- looking -----------------------------------------------------------------------------------------------------------


def test_it_is_explained_who_gets_a_document() -> None:
    broker = live()
    broker.hears("q", Subscribe(1, "//item"))
    broker.hears("q", Subscribe(2, "/news[item = 1]"))
    broker.hears("q", Subscribe(3, "//goal"))
    news, other = b"<news><item>1</item></news>", b"<other/>"
    to_p, to_q = broker.router.explain(FeedDocument("p", "feed", 1, "a.xml", "id", news))
    assert to_p == Explained("p", False, ()) and not to_p.gets
    assert (to_q.neighbour, to_q.is_child, {*to_q.subscriptions}) == ("q", True, {"//item", "/news[item = 1]"})
    assert to_q.gets
    seen = broker.router.explain(FeedDocument("p", "feed", 2, "b.xml", "id", other))[1]
    assert (seen.is_child, seen.gets) == (True, False)
    assert not broker.router.explain(FeedDocument("nobody", "feed", 1, "a.xml", "id", news))[1].gets


def test_only_publishers_that_may_publish_it_confirm_a_subscription() -> None:
    broker = Broker("p", "o")
    broker.hears("p", announce("p", advertisement=NEWS))
    broker.hears("o", announce("o", advertisement=SPORT))
    broker.subscribes(1, "//item")
    assert broker.router.unconfirmed(1) == ("p",)
    broker.hears("p", Withdraw("p"))
    assert broker.router.unconfirmed(1) == ()
    broker.does(Unsubscribed(1))
    assert [seen.interested for seen in broker.router.publishers] == [0]


def test_a_feed_that_parts_is_noted_once_and_nothing_of_it_is_taken() -> None:
    broker = live()
    first = document(1)
    broker.hears("p", Publish(first))
    other = replace(document(2), previous=b"another document")
    assert [note.event for note in notes(broker.hears("p", Publish(other)))] == ["feed forked"]
    out = broker.hears("p", Publish(replace(document(3), previous=b"another document")))
    assert notes(out) == [] and [one.document for one in out if isinstance(one, Store)] == [
        replace(document(3), previous=b"another document")
    ], "of which nothing is known"
    assert distrusted(broker) == [("p", "p")]
