"""One broker and subscriptions in own words: what it tells of mappings, what it has translated, and what waits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from heptox.feed import (
    NO_MAPPING,
    UNKNOWN,
    Agreed,
    Announce,
    Break,
    CatchUp,
    Instruction,
    InWords,
    Keep,
    LinkDown,
    LinkUp,
    Publish,
    Publishes,
    Reached,
    Replay,
    Store,
    Stored,
    Subscribe,
    Subscribed,
    Translate,
    Translated,
    Unsubscribe,
    Unsubscribed,
    Wording,
)
from heptox.grammar import parse_subscription
from tests.feed.test_router import Broker, announce, answered, document, sent

HERS, HIS = "source hers", "target his"


def worded(*path: str, mappings: Iterable[str], since: int = 0, position: int = 0, schema: str = "theirs") -> Announce:
    return replace(announce(*path, position=position), wording=Wording(schema, since, tuple(mappings)))


def told(instructions: Iterable[Instruction], neighbour: str) -> list[tuple[str, ...]]:
    """The mappings of the announcements that a neighbour gets."""
    return [one.wording.mappings for one in sent(instructions, neighbour) if isinstance(one, Announce)]


def tasks(instructions: Iterable[Instruction]) -> list[Translate]:
    return [one for one in instructions if isinstance(one, Translate)]


def catch_ups(instructions: Iterable[Instruction], neighbour: str = "p") -> list[CatchUp]:
    return [one for one in sent(instructions, neighbour) if isinstance(one, CatchUp)]


def translated(task: Translate, *texts: tuple[int, str]) -> Translated:
    found = tuple(InWords(number, text, parse_subscription(text) if text else ()) for number, text in texts)
    return Translated(task.task, task.publisher, available=True, subscriptions=found)


# -- what is told of mappings ----------------------------------------------------------------------------------------


def test_the_mapping_of_each_link_is_told_beside_the_path() -> None:
    broker = Broker("p", "q")
    broker.does(Agreed("q", HERS))
    out = broker.hears("p", worded("p", mappings=[HIS]))
    assert told(out, "q") == [(HERS, HIS)]
    assert told(out, "p") == [(NO_MAPPING, HIS)]
    assert told(broker.does(Agreed("q", NO_MAPPING)), "q") == [(NO_MAPPING, HIS)]
    assert not broker.does(Agreed("q", NO_MAPPING))
    assert told(broker.does(Publishes("own", 0, 1, schema="ours", written_since=3)), "q") == [(NO_MAPPING,)]


def test_what_is_agreed_on_is_told_on_every_new_link() -> None:
    broker = Broker("p", "q")
    broker.hears("p", worded("p", mappings=[HIS]))
    broker.does(LinkDown("q"))
    assert broker.does(Agreed("q", HERS)) == ()
    assert told(broker.does(LinkUp("q")), "q") == [(HERS, HIS)]


def test_of_a_path_with_a_peer_that_does_not_tell_nothing_is_known() -> None:
    broker = Broker("p", "q")
    broker.does(Agreed("q", HERS))
    (message,) = (one for one in sent(broker.hears("p", announce("p")), "q") if isinstance(one, Announce))
    assert message.wording == UNKNOWN


@pytest.mark.parametrize("mappings", [(), (HIS,), (HIS, HIS, HIS)])
def test_an_announcement_tells_one_mapping_for_each_peer_or_the_link_breaks(mappings: tuple[str, ...]) -> None:
    out = Broker("b").hears("b", worded("b", "p", mappings=mappings))
    assert [one.reason for one in out if isinstance(one, Break)] == [
        "an announcement does not tell of one mapping for each peer of its path"
    ]


# -- translating -----------------------------------------------------------------------------------------------------


def subscribed(number: int = 1, *, own: bool = True) -> Subscribed:
    text = "//ours"
    return Subscribed(number, text, () if own else parse_subscription(text), own)


def live() -> tuple[Broker, Translate]:
    """A broker with a subscription in own words, which the publisher ``p`` has confirmed at position 5."""
    broker = Broker("p", "q")
    broker.hears("p", worded("p", mappings=[HIS], position=5))
    (task,) = tasks(broker.does(subscribed()))
    assert (task.path, task.wording.mappings) == (("p",), (HIS,))
    assert broker.router.unconfirmed(1) == ("p",)
    out = broker.does(translated(task, (1, "//item")))
    assert [one.text for one in sent(out, "p") if isinstance(one, Subscribe)] == ["//item"]
    (catch_up,) = catch_ups(out)
    assert catch_up.since is None
    broker.hears("p", answered(catch_up, 5))
    assert broker.router.counts("p", 1) and broker.router.unconfirmed(1) == ()
    return broker, task


def test_documents_are_stored_for_either_kind_by_itself() -> None:
    broker, _ = live()
    (catch_up,) = catch_ups(broker.subscribes(2, "//item"))
    broker.hears("p", answered(catch_up, 5))
    stores = [one for one in broker.hears("p", Publish(document(6))) if isinstance(one, Store)]
    assert [(one.number, one.own) for one in stores] == [(2, False), (1, True)]
    broker.does(Stored("p", "feed", 6, own=True))
    broker.does(LinkDown("p"))
    broker.does(LinkUp("p"))
    broker.now += 1.0
    assert broker.router.unreached == ("p",)


def test_until_other_words_are_translated_documents_wait_and_are_asked_for_then() -> None:
    broker, _ = live()
    out = broker.hears("p", worded("p", mappings=[HERS], position=5))
    (task,) = tasks(out)
    assert catch_ups(out) == [], "it is not known what to ask for"
    assert not broker.router.counts("p", 1)
    assert not any(isinstance(one, Store) for one in broker.hears("p", Publish(document(6))))
    out = broker.does(translated(task, (1, "//news")))
    messages = sent(out, "p")
    assert [type(one) for one in messages] == [Subscribe, Unsubscribe, CatchUp], "the new one before the old one goes"
    (catch_up,) = catch_ups(out)
    assert catch_up.since == 5
    out = broker.hears("p", Replay(document(6), catch_up.request, ("me",)))
    assert [(one.number, one.own) for one in out if isinstance(one, Store)] == [(1, True)]
    broker.does(Stored("p", "feed", 6, own=True))
    broker.hears("p", answered(catch_up, 6, (6,)))
    assert broker.router.counts("p", 1)


def test_other_subscriptions_do_not_wait_for_translations() -> None:
    broker, _ = live()
    (catch_up,) = catch_ups(broker.subscribes(2, "//item"))
    broker.hears("p", answered(catch_up, 5))
    (catch_up,) = catch_ups(broker.hears("p", worded("p", mappings=[HERS], position=5)))
    broker.hears("p", answered(catch_up, 5))
    assert broker.router.counts("p", 2) and not broker.router.counts("p", 1)
    stores = [one for one in broker.hears("p", Publish(document(6))) if isinstance(one, Store)]
    assert [(one.number, one.own) for one in stores] == [(2, False)]


def test_while_there_is_no_way_nothing_is_asked_for_and_afterwards_everything_is() -> None:
    broker, _ = live()
    (task,) = tasks(broker.hears("p", worded("p", mappings=[NO_MAPPING], position=5)))
    out = broker.does(Translated(task.task, "p"))
    assert [type(one) for one in sent(out, "p")] == [Unsubscribe]
    assert broker.router.unconfirmed(1) == (), "nothing is expected from there"
    broker.now += 1000.0
    (task,) = tasks(broker.hears("p", worded("p", mappings=[HIS], position=9)))
    (catch_up,) = catch_ups(broker.does(translated(task, (1, "//item"))))
    assert catch_up.since == 5


def test_a_task_that_another_one_has_taken_the_place_of_says_nothing() -> None:
    broker, first = live()
    (second,) = tasks(broker.hears("p", worded("p", mappings=[HERS], position=5)))
    out = broker.hears("p", worded("p", mappings=[HIS], position=5))
    (third,) = tasks(out)
    assert len(catch_ups(out)) == 1, "these words are translated already"
    for late in (first, second):
        assert broker.does(Translated(late.task, "p")) == ()
    assert broker.does(translated(third, (1, "//item"))) == ()


def test_a_subscription_counts_only_once_its_translation_is_told() -> None:
    broker, _ = live()
    (task,) = tasks(broker.does(subscribed(2)))
    assert broker.router.counts("p", 1) and not broker.router.counts("p", 2)
    assert broker.router.unconfirmed(2) == ("p",)
    broker.now += 1.0
    (catch_up,) = catch_ups(broker.does(translated(task, (1, "//item"), (2, "//news"))))
    (keep,) = (one for one in broker.hears("p", answered(catch_up, 5)) if isinstance(one, Keep))
    assert keep.reached == Reached("p", "feed", 5, 2, own=True)
    assert broker.router.counts("p", 2)


def test_a_subscription_that_comes_to_nothing_for_a_publisher_waits_for_nothing() -> None:
    broker = Broker("p")
    broker.hears("p", worded("p", mappings=[HIS]))
    (task,) = tasks(broker.does(subscribed()))
    assert sent(broker.does(translated(task, (1, ""))), "p") == []
    assert broker.router.unconfirmed(1) == ()


def test_what_was_removed_is_taken_back_and_what_is_told_of_it_later_is_ignored() -> None:
    broker, _ = live()
    (task,) = tasks(broker.does(subscribed(2)))
    assert [type(one) for one in sent(broker.does(Unsubscribed(1)), "p")] == [Unsubscribe]
    out = broker.does(translated(task, (1, "//item"), (2, "//news")))
    assert [one.text for one in sent(out, "p") if isinstance(one, Subscribe)] == ["//news"]


def test_whoever_starts_anew_asks_for_what_was_missed_once_it_is_translated() -> None:
    broker = Broker("p")
    broker.does(Reached("p", "feed", 3, 1, own=True))
    broker.does(subscribed())
    out = broker.hears("p", worded("p", mappings=[HIS], position=9))
    assert catch_ups(out) == []
    (task,) = tasks(out)
    (catch_up,) = catch_ups(broker.does(translated(task, (1, "//item"))))
    assert catch_up.since == 3


def test_all_that_a_new_publisher_publishes_comes_to_subscriptions_that_were_there() -> None:
    broker = Broker("p")
    broker.does(subscribed())
    (task,) = tasks(broker.hears("p", replace(worded("p", mappings=[HIS], position=7), news=True)))
    (catch_up,) = catch_ups(broker.does(translated(task, (1, "//item"))))
    assert catch_up.since == 7


def test_another_feed_of_a_publisher_is_translated_anew() -> None:
    broker, _ = live()
    (task,) = tasks(broker.hears("p", replace(worded("p", mappings=[HIS], position=2), feed="another")))
    assert task.feed == "another"
    (catch_up,) = catch_ups(broker.does(translated(task, (1, "//item"))))
    assert (catch_up.feed, catch_up.since) == ("another", 0)
