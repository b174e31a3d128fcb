"""One peer of six lies in any way that it can say: nothing forged is delivered, and nothing is lost without being
named; and what does not check that is caught."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from heptox.feed import Gate, catch_up
from heptox.feed.questions import Questions
from tests.support.checking import Outcome
from tests.support.feeds.lying import LIES, check_lying


def test_whoever_lies_nothing_forged_is_delivered_and_nothing_is_lost_unnamed() -> None:
    outcome = Outcome()
    for number in range(3):
        check_lying(Random(number), 60, 10, outcome, is_explained=False)
    assert not outcome.broken
    assert outcome.counts["cases"] == 30
    assert outcome.counts["deliveries owed"] > 200
    assert outcome.counts["neighbour distrusted"] > 10
    assert len({name for name in outcome.counts if name.startswith("lie: ")}) > len(LIES) / 2


def take_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gate, "check", lambda _, message, receiver: message)  # noqa: ARG005


def believe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catch_up, "untrue", lambda *_: None)
    monkeypatch.setattr(Questions, "close", lambda *_: None)


@pytest.mark.parametrize(
    ("careless", "lies", "fault"),
    [
        (take_all, ("forge_documents", "forge_announcements"), "forged"),
        (believe, ("drop_documents",), "lost"),
        (believe, ("change_questions", "drop_subscriptions", "drop_some_documents"), "lost"),
    ],
)
def test_who_does_not_look_at_signatures_or_answers_is_caught(
    careless: Callable[[pytest.MonkeyPatch], None], lies: tuple[str, ...], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    careless(monkeypatch)
    assert any(is_caught(Random(number), lies, fault) for number in range(10))


def is_caught(random: Random, lies: tuple[str, ...], fault: str) -> bool:
    """Whether such a fault is found in two scenarios in which a peer tells some lies."""
    outcome = Outcome()
    check_lying(random, 60, 2, outcome, lies, is_explained=False)
    return any(line.startswith(f"{fault}: ") for told in outcome.broken for line in told.splitlines())
