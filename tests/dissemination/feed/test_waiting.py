"""Documents that a full backlog refuses wait, and are asked for again before long."""

from __future__ import annotations

from heptox.dissemination import MemoryMatcher
from heptox.dissemination.feed import (
    Acknowledged,
    Announce,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Hello,
    Instruction,
    LinkUp,
    Note,
    NotStored,
    Publish,
    Received,
    Router,
    Send,
    Store,
    Stored,
    Subscribed,
    Tick,
    Unsubscribed,
    Wake,
)
from heptox.dissemination.feed.receiving import MOST_UNANSWERED, PATIENCE
from heptox.grammar import parse_subscription


def subscriber() -> Router:
    """A broker with a subscription that counts at its neighbour ``a``."""
    router = Router("b", MemoryMatcher())
    for event in (
        LinkUp("a"),
        Received("a", Hello()),
        Received("a", Announce("a", "feed", 1, 0, ("a",))),
        Subscribed(1, "//x", parse_subscription("//x")),
    ):
        decided = router.handle(event, 0.0)
    question = next(iter(asked(decided)))
    answer = CaughtUp("a", "feed", question.request, 0, True, 0, ("b",), question=question.digest)
    router.handle(Received("a", answer), 0.0)
    assert router.counts("a", 1)
    return router


def asked(decided: tuple[Instruction, ...]) -> list[CatchUp]:
    sent = [one.message for one in decided if isinstance(one, Send)]
    return [message for message in sent if isinstance(message, CatchUp)]


def refuse(router: Router, sequences: range, now: float) -> list[Instruction]:
    """Have documents come, none of which is stored; what is to be done besides storing them."""
    decided: list[Instruction] = []
    for sequence in sequences:
        document = FeedDocument("a", "feed", sequence, f"{sequence}.xml", str(sequence), b"<x/>")
        decided += router.handle(Received("a", Publish(document)), now)
    for sequence in sequences:
        decided += router.handle(NotStored("a", "feed", sequence, "full"), now)
    return [one for one in decided if not isinstance(one, Store)]


def test_all_that_is_refused_waits_together() -> None:
    router = subscriber()
    decided = refuse(router, range(1, 21), 1.0)
    assert decided[0] == Wake(1.0 + PATIENCE)
    assert [one.event for one in decided[1:] if isinstance(one, Note)] == ["document waits"]
    assert len(decided) == 2
    assert router.waits
    assert asked(router.handle(Tick(), 1.0 + PATIENCE / 2)) == []
    again = asked(router.handle(Tick(), 1.0 + PATIENCE))
    assert [one.since for one in again] == [0]
    router.handle(NotStored("a", "feed", 1, "full"), 2.0 + PATIENCE)
    assert asked(router.handle(Tick(), 2.0 + 2 * PATIENCE)) == [], "it waits longer now"
    assert asked(router.handle(Tick(), 2.0 + 3 * PATIENCE))


def test_who_acknowledges_waits_no_longer_than_at_first() -> None:
    router, now = subscriber(), 0.0
    sequences = range(1, 4)
    for _ in range(5):
        refuse(router, sequences, now)
        now += 2 * 32 * PATIENCE
        assert asked(router.handle(Tick(), now))
    refuse(router, sequences, now)
    router.handle(Acknowledged(), now)
    assert asked(router.handle(Tick(), now + PATIENCE))
    for sequence in sequences:
        router.handle(Stored("a", "feed", sequence), now + PATIENCE)
    assert not router.waits
    assert router.handle(Acknowledged(), now + PATIENCE) == ()


def test_who_wants_nothing_any_more_blames_nobody_for_it_and_asks_anew_for_what_it_wants_then() -> None:
    router, now = subscriber(), 1.0
    refuse(router, range(1, 2), now)
    assert asked(router.handle(Tick(), now + PATIENCE))
    router.handle(Unsubscribed(1), now)
    for _ in range(2 * MOST_UNANSWERED):
        now += 2 * PATIENCE
        assert router.handle(Tick(), now) == ()
    assert router.suspicions == ()
    assert asked(router.handle(Subscribed(2, "//y", parse_subscription("//y")), now))
