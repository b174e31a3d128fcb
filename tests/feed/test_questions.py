"""A peer passes questions on to publishers, and audits the answers: who is not honest is named, and nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from heptox.feed import (
    Acquaintances,
    CatchUp,
    CaughtUp,
    Distrusted,
    Instruction,
    KeepDistrusted,
    Replay,
    Tick,
    Withdraw,
    questions,
)
from heptox.feed.catch_up import CHECKED_EVERY
from heptox.feed.questions import SILENT_AFTER, SILENT_QUESTIONS
from heptox.feed.route_table import HOLD
from tests.feed.test_router import Broker, announce, answered, distrusted, document, live, notes, sent

ROUTE = ("s", "q", "me")


def relaying() -> tuple[Broker, CatchUp]:
    """A broker that has passed on a question of ``s``, which has come through ``q``."""
    broker = Broker("p", "q", "o")
    broker.hears("p", announce("p"))
    broker.hears("q", announce("q", "me", "p"))
    asked = CatchUp("p", "feed", 0, 5, ("s", "q"), ("//item",))
    assert sent(broker.hears("q", asked), "p") == [replace(asked, route=("s", "q", "me"))]
    return broker, asked


def test_an_answer_is_passed_on_with_all_that_was_sent_for_it() -> None:
    broker, asked = relaying()
    route = ("s", "q", "me")
    replay, answer = Replay(document(1), 5, route), replace(answered(asked, 1, (1,)), route=route)
    assert broker.hears("o", replay) == broker.hears("o", answer) == (), "which was not asked"
    assert sent(broker.hears("p", replay), "q") == [replace(replay, route=asked.route)]
    assert sent(broker.hears("p", answer), "q") == [replace(answer, route=asked.route)]
    assert broker.hears("p", answer) == broker.hears("p", replay) == (), "it is answered"
    assert distrusted(broker) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"sent": (1, 2)}, "document 2 was withheld"), ({"question": b"x"}, "the question was changed")],
)
def test_who_withholds_a_document_or_changes_a_question_is_not_trusted(changes: dict[str, Any], why: str) -> None:
    broker, asked = relaying()
    route = ("s", "q", "me")
    broker.hears("p", Replay(document(1), 5, route))
    out = broker.hears("p", replace(answered(asked, 2, (1,)), route=route, **changes))
    assert [one for one in sent(out, "q") if isinstance(one, CaughtUp)] == []
    (note,) = notes(out)
    assert note.event == "neighbour distrusted" and why in str(note.fields["why"])
    assert KeepDistrusted("p", Distrusted("p", "p", str(note.fields["why"]))) in out
    assert Withdraw("p") in sent(out, "q")
    broker.reconnects("p")
    assert sent(broker.hears("p", announce("p")), "q") == []
    broker.does(Acquaintances(frozenset({"q", "o"})))
    assert distrusted(broker) == []


def test_a_question_of_a_number_that_is_open_is_not_passed_on_so_that_nobody_is_blamed_for_the_other_one() -> None:
    broker, asked = relaying()
    for again in (asked, replace(asked, wants=())):
        assert broker.hears("q", again) == ()
    answer = replace(answered(asked, 0), route=("s", "q", "me"))
    assert sent(broker.hears("p", answer), "q") == [replace(answer, route=asked.route)]
    assert distrusted(broker) == []


def test_who_answers_no_question_is_named_and_avoided() -> None:
    broker, asked = relaying()
    broker.hears("o", announce("o", "x", "p"))
    for number in range(1, SILENT_QUESTIONS + 1):
        broker.now += SILENT_AFTER
        out = broker.hears("q", replace(asked, request=asked.request + number))
    assert [(note.event, note.fields["neighbour"]) for note in notes(out)] == [("neighbour silent", "p")]
    broker.now += HOLD
    broker.does(Tick())
    assert broker.router.way("p") == ("o", "x", "p")


def test_a_question_to_another_feed_is_not_passed_on_and_nobody_is_silent_for_it() -> None:
    broker, asked = relaying()
    broker.hears("p", replace(answered(asked, 0), route=ROUTE))
    for request in range(6, 6 + 2 * SILENT_QUESTIONS):
        broker.now += SILENT_AFTER
        assert broker.hears("q", replace(asked, feed="another", request=request)) == ()
    assert broker.router.suspicions == ()


def asked_by_itself(out: Iterable[Instruction]) -> list[CatchUp]:
    return [one for one in sent(out, "p") if isinstance(one, CatchUp) and one.route == ("me",)]


def test_who_answers_this_peer_is_not_silent_whatever_of_others_it_does_not_answer() -> None:
    """As a publisher does not answer what is asked in the name of a neighbour of its own."""
    broker, asked = relaying()
    found = []
    for request in range(6, 6 + 3 * SILENT_QUESTIONS):
        broker.now += SILENT_AFTER
        out = broker.hears("q", replace(asked, request=request))
        for own in asked_by_itself(out):
            found.append(own)
            assert broker.hears("p", answered(own, 0)) == ()
    assert len(found) > 1
    assert broker.router.suspicions == ()


def silent() -> tuple[Broker, CatchUp]:
    """A broker whose subscription counted at ``p``, which answers nothing to ``q`` any more; what it asks then."""
    broker = live()
    for request in range(SILENT_QUESTIONS + 1):
        broker.now += SILENT_AFTER
        out = broker.hears("q", CatchUp("p", "feed", 0, request, ("s", "q")))
    assert [note.event for note in notes(out)] == ["neighbour silent"]
    assert not broker.router.counts("p", 1)
    (asked,) = asked_by_itself(out)
    return broker, asked


def test_who_is_silent_is_asked_again_and_is_so_no_longer_when_it_answers() -> None:
    broker, asked = silent()
    assert asked.wants == ("//item",)
    broker.hears("p", answered(asked, 0))
    assert broker.router.suspicions == () and broker.router.counts("p", 1)
    broker.now += CHECKED_EVERY
    assert asked_by_itself(broker.does(Tick()))


def test_who_is_silent_is_so_until_it_answers_this_peer() -> None:
    broker, asked = relaying()
    for request in range(6, 8 + SILENT_QUESTIONS):
        broker.now += SILENT_AFTER
        last = replace(asked, request=request)
        out = broker.hears("q", last)
    (own,) = asked_by_itself(out)
    broker.hears("p", replace(answered(last, 0), route=ROUTE))
    assert [one.neighbour for one in broker.router.suspicions] == ["p"]
    broker.hears("p", answered(own, 0))
    assert broker.router.suspicions == ()


def test_who_is_avoided_for_its_silence_does_not_come_back_by_one_answer() -> None:
    broker, asked = relaying()
    broker.hears("o", announce("o", "x", "p"))
    questions_of_its_own = []
    for request in range(6, 6 + SILENT_QUESTIONS):
        broker.now += SILENT_AFTER
        questions_of_its_own += asked_by_itself(broker.hears("q", replace(asked, request=request)))
    broker.now += HOLD
    broker.does(Tick())
    broker.hears("p", answered(questions_of_its_own[-1], 0))
    assert broker.router.way("p") == ("o", "x", "p")


def test_who_is_silent_and_withholds_documents_is_named() -> None:
    broker, asked = silent()
    broker.hears("p", replace(answered(asked, 2), sent=(1, 2)))
    assert distrusted(broker) == [("p", "p")]


@pytest.mark.parametrize("is_same", [False, True])
def test_an_answer_to_a_question_of_a_link_that_has_ended_is_not_taken_for_that_to_another_one(is_same: bool) -> None:
    """A neighbour asks by one number on two links: who answers the first question has not changed the second."""
    broker, asked = relaying()
    broker.hears("p", Replay(document(1), 5, ROUTE))
    broker.reconnects("q")
    again = asked if is_same else replace(asked, wants=("//goal",))
    assert broker.hears("q", again) == ()
    for late in (Replay(document(2), 5, ROUTE), replace(answered(asked, 2, (1, 2)), route=ROUTE)):
        assert broker.hears("p", late) == ()
    assert sent(broker.hears("q", again), "p") == [replace(again, route=ROUTE)], "the number is free again"
    answer = replace(answered(again, 0), route=ROUTE)
    assert sent(broker.hears("p", answer), "q") == [replace(answer, route=again.route)]
    assert distrusted(broker) == []


def test_an_answer_to_a_question_that_others_have_displaced_is_not_taken_for_that_to_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(questions, "MOST_OPEN", 2)
    broker, asked = relaying()
    for request in (6, 7):
        broker.hears("q", replace(asked, request=request))
    again = replace(asked, wants=("//goal",))
    assert sent(broker.hears("q", again), "p") == [replace(again, route=ROUTE)]
    assert broker.hears("p", replace(answered(asked, 0), route=ROUTE)) == ()
    answer = replace(answered(again, 0), route=ROUTE)
    assert sent(broker.hears("p", answer), "q") == [replace(answer, route=again.route)]
    assert distrusted(broker) == []
    broker.reconnects("p")
    broker.hears("p", announce("p"))
    broker.hears("q", again)
    broker.hears("p", replace(answered(asked, 0), route=ROUTE))
    assert distrusted(broker) == [("p", "p")], "of a new link nothing is left that it could be the answer to"
