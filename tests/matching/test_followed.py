"""Queries that are followed: what is asked of a document, what is delivered, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from heptox.errors import DisseminationError
from heptox.matching import (
    Answers,
    Broker,
    Delivery,
    DiskMatcher,
    Followed,
    MemoryMatcher,
    Options,
    Policy,
    Publication,
    SubscriptionLog,
    SubscriptionRequest,
    Words,
    ask_document,
    followed,
    parse_followed,
)
from heptox.matching.subscriptions import MOST_ID
from heptox.xml import parse_document

QUERY: Final = "for $b in //b where $b/c > 1 return $b/c"
ANSWERS: Final = Options(words=Words.OWN, deliver=Delivery.ANSWERS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "subscriptions.sqlite"


@pytest.fixture
def log(file: Path) -> Iterator[SubscriptionLog]:
    with SubscriptionLog(file) as opened:
        yield opened


def broker_of(log: SubscriptionLog) -> Broker:
    return Broker(log, MemoryMatcher(), peer="me")


def document(*values: int) -> bytes:
    return f"<a>{''.join(f'<b><c>{value}</c></b>' for value in values)}</a>".encode()


def items(log: SubscriptionLog, name: str) -> list[tuple[str, ...]]:
    return [Answers.from_bytes(log.content(name, one.sequence)[1]).items for one in log.fetch(name, 1)]


def test_answers_and_documents_are_notified_together_and_counted_together(log: SubscriptionLog) -> None:
    broker = broker_of(log)
    one, same, xpath = (
        broker.add([wanted]).added[0].number
        for wanted in (
            SubscriptionRequest("one", QUERY, ANSWERS),
            SubscriptionRequest("same", QUERY, ANSWERS),
            SubscriptionRequest("xpath", "//b[c = 1]"),
        )
    )
    told = broker.publish(Publication("both.xml", document(1, 2, 3, 2), "7"))
    assert (told.published.id, told.published.matched, sorted(told.numbers)) == ("7", 3, [one, same, xpath])
    assert broker.publish(Publication("none.xml", document())).published.matched == 0
    assert items(log, "one") == items(log, "same") == [("<c>2</c>", "<c>3</c>")]
    assert log.content("xpath", 1)[1] == document(1, 2, 3, 2)
    told_one = Answers.from_bytes(log.content("one", 1)[1])
    assert (told_one.document, told_one.id, told_one.publisher) == ("both.xml", "7", "me")
    again = broker.publish(Publication("both.xml", document(1, 2, 3, 2), "7"))
    assert (again.published.outcome, again.published.matched, again.numbers) == ("held", 3, ())
    assert broker.match(document(2)) == (one, same)
    assert not log.check()


def test_a_broker_that_is_opened_again_follows_what_the_log_has(file: Path) -> None:
    with SubscriptionLog(file) as log:
        broker = broker_of(log)
        for name in ("kept", "removed"):
            broker.add([SubscriptionRequest(name, QUERY, ANSWERS)])
    with SubscriptionLog(file) as log:
        assert list(log.texts()) == []
        assert [name for _, name, _ in log.texts(queries=True)] == ["kept", "removed"]
        broker = broker_of(log)
        broker.publish(Publication("1.xml", document(2)))
        broker.remove("removed")
        broker.publish(Publication("2.xml", document(3)))
        assert items(log, "kept") == [("<c>2</c>",), ("<c>3</c>",)]
        assert not log.check()


def test_a_query_of_the_log_that_is_none_any_more_is_damage(file: Path) -> None:
    with SubscriptionLog(file) as log:
        log.add(SubscriptionRequest("one", "count(//b)", ANSWERS))
        with pytest.raises(DisseminationError, match=r"subscription one:1:1: HX9050 .* \(a newer heptox may have"):
            broker_of(log)


def test_a_matcher_on_the_disk_knows_nothing_of_queries(file: Path) -> None:
    matcher = file.with_name("matcher.duckdb")
    for opening in range(2):
        with SubscriptionLog(file) as log, DiskMatcher(matcher, log) as disk:
            broker = Broker(log, disk, filled=True)
            for name, text, options in (("query", QUERY, ANSWERS), ("xpath", "//b[c = 2]", Options())):
                broker.add([SubscriptionRequest(f"{name} {opening}", text, options)])
            told = broker.publish(Publication(f"{opening}.xml", document(2)))
            assert told.published.matched == 2 * (opening + 1)
            if opening:
                broker.remove("query 0")
                broker.remove("xpath 0")
                assert broker.publish(Publication("last.xml", document(2))).published.matched == 2


def test_where_somebody_refuses_a_document_its_answers_are_not_delivered_either(log: SubscriptionLog) -> None:
    broker = broker_of(log)
    broker.add([SubscriptionRequest("follower", QUERY, ANSWERS)])
    broker.add([SubscriptionRequest("full", "//b", Options(backlog=1))])
    broker.publish(Publication("1.xml", document(2)))
    for _ in range(2):
        with pytest.raises(DisseminationError, match=r"HX9064 .* the backlog is full of full"):
            broker.publish(Publication("2.xml", document(3)))
    assert items(log, "follower") == [("<c>2</c>",)]
    log.acknowledge("full", 1)
    assert broker.publish(Publication("2.xml", document(3))).published.matched == 2
    assert items(log, "follower") == [("<c>2</c>",), ("<c>3</c>",)]


def test_policies_hold_for_answers(log: SubscriptionLog) -> None:
    broker = broker_of(log)
    options = Options(Policy.DROP_OLDEST, 1, words=Words.OWN, deliver=Delivery.ANSWERS)
    broker.add([SubscriptionRequest("small", QUERY, options)])
    for value in (2, 3):
        broker.publish(Publication(f"{value}.xml", document(value)))
    assert [one.name for one in log.fetch("small")] == ["3.xml"]
    (letter,) = log.dead_letters("small")
    assert Answers.from_bytes(log.dead_content("small", letter.letter)).items == ("<c>2</c>",)


def test_answers_that_are_too_large_and_queries_that_take_too_long_are_dead_letters(
    log: SubscriptionLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = broker_of(log)
    broker.add([SubscriptionRequest("one", "for $b in //b, $c in //b return <r>{$b/c}{$c/c}</r>", ANSWERS)])
    monkeypatch.setattr("heptox.matching.subscriptions.MOST_PUBLISHED", 2_000)
    many = document(*range(20))
    broker.publish(Publication("large.xml", many))
    monkeypatch.setattr(followed, "MOST_PUBLISHED", 1_000)  # while they are found, before all are held
    broker.publish(Publication("larger.xml", many))
    monkeypatch.undo()
    monkeypatch.setattr(followed, "MOST_SECONDS", -1.0)
    broker.publish(Publication("slow.xml", many))
    reasons = {one.name: one.reason for one in log.dead_letters("one")}
    assert "HX9066" in reasons["large.xml"] and "HX9066 its answer has more than 1,000" in reasons["larger.xml"]
    assert "HX9022 it takes longer than -1 seconds" in reasons["slow.xml"]
    assert log.fetch("one") == [] and log.dead_content("one", 1) == many


def test_a_defect_is_a_dead_letter_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(followed, "evaluate", defect)
    asked = ask_document(parse_document(document(2)), [Followed(3, QUERY, parse_followed(QUERY))])
    assert (asked.answered, asked.dead) == ((), {3: "to ask it met a defect of heptox: ZeroDivisionError"})


def test_documents_with_long_ids_have_answers_too(log: SubscriptionLog) -> None:
    broker = broker_of(log)
    broker.add([SubscriptionRequest("one", QUERY, ANSWERS)])
    for end in "ab":
        identity = "x" * (MOST_ID - 1) + end
        assert broker.publish(Publication("long.xml", document(2), identity)).published.matched == 1
        assert Answers.from_bytes(log.content("one", log.subscription("one").last)[1]).id == identity


def test_it_is_known_when_a_subscription_was_first_read(file: Path) -> None:
    times = iter(range(1000, 2000))
    with SubscriptionLog(file, clock=lambda: next(times)) as log:
        added = log.add(SubscriptionRequest("one", QUERY, ANSWERS))
        assert log.subscription("one").first_read is None
        assert log.fetch("one", delivering=False) == []
        assert log.subscription("one").first_read is None
        assert log.fetch("one") == []
        first = log.subscription("one").first_read
        log.publish(Publication("1.xml", b"<a/>"), [added.number])
        assert len(log.fetch("one")) == 1
        assert first is not None and log.subscription("one").first_read == first


def test_queries_are_answered_for_subscriptions_in_own_words_only() -> None:
    with pytest.raises(DisseminationError, match="HX9067 queries are answered for subscriptions in own words only"):
        Options(deliver=Delivery.ANSWERS)
