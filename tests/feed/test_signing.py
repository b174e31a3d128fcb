"""What is signed in feeds: nothing can be changed on the way, passed on to somebody else, or said for another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from heptox.feed import (
    Announce,
    CatchUp,
    CaughtUp,
    FeedDocument,
    Gate,
    Message,
    Publish,
    Replay,
    UnverifiedError,
    Wording,
)
from heptox.peer.wire.identity import Ed25519, Identity

IDENTITIES = [Identity(bytes([number]) * 32) for number in range(4)]
PUBLISHER, RELAY, SUBSCRIBER, OTHER = (one.peer_id for one in IDENTITIES)
GATES = {one.peer_id: Gate(one.peer_id, Ed25519(one)) for one in IDENTITIES}


def passed_on(announce: Announce, peer: str, receiver: str, mapping: str = "relay's") -> Announce:
    path = (peer, *announce.path)
    sealed = GATES[peer].seal(replace(announce, path=path, wording=announce.wording.behind(mapping)), receiver)
    assert isinstance(sealed, Announce)
    return sealed


ANNOUNCE = passed_on(
    passed_on(Announce(PUBLISHER, "feed", 3, 7, (), "d" * 64, wording=Wording("schema", 5)), PUBLISHER, RELAY, "its"),
    *(RELAY, SUBSCRIBER),
)
DOCUMENT = GATES[PUBLISHER].signed(FeedDocument(PUBLISHER, "feed", 7, "a.xml", "id", b"<a/>", b"p" * 32))
QUESTION = CatchUp(PUBLISHER, "feed", 3, 5, (SUBSCRIBER,), ("//a",), (4,))
ANSWER = GATES[PUBLISHER].seal(
    CaughtUp(PUBLISHER, "feed", 5, 7, True, 0, (SUBSCRIBER,), (5, 6), b"l" * 32, QUESTION.digest), RELAY
)


def is_taken(message: Message, receiver: str = SUBSCRIBER) -> bool:
    try:
        GATES[receiver].check(message, receiver)
    except UnverifiedError as error:
        assert error.publisher in (PUBLISHER, RELAY, OTHER)
        return False
    return True


def test_what_is_signed_is_taken_and_an_announcement_by_those_only_whom_it_is_passed_on_to() -> None:
    for message in (ANNOUNCE, Publish(DOCUMENT), Replay(DOCUMENT, 5, (SUBSCRIBER,)), ANSWER):
        assert is_taken(message)
    assert not is_taken(ANNOUNCE, OTHER)
    assert is_taken(replace(ANNOUNCE, news=True)), "which each peer says by itself"


@pytest.mark.parametrize(
    "changes",
    [
        {"publisher": OTHER}, {"feed": "other"}, {"version": 4}, {"position": 8}, {"digest": ""},
        {"path": (RELAY, OTHER, PUBLISHER)}, {"path": (RELAY,)}, {"path": (PUBLISHER,)}, {"path": (OTHER, PUBLISHER)},
        {"wording": Wording()}, {"wording": replace(ANNOUNCE.wording, since=6)},
        {"wording": replace(ANNOUNCE.wording, schema="other")},
        {"wording": replace(ANNOUNCE.wording, mappings=("other", "its"))},
        {"wording": replace(ANNOUNCE.wording, mappings=("relay's", "other"))},
        {"signature": b""}, {"attestations": ()}, {"attestations": ANNOUNCE.attestations[::-1]},
        {"attestations": ANNOUNCE.attestations[1:], "path": (PUBLISHER,)},
    ],
)  # fmt: skip
def test_nothing_of_an_announcement_can_be_changed(changes: dict[str, Any]) -> None:
    assert not is_taken(replace(ANNOUNCE, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"publisher": OTHER}, {"feed": "other"}, {"sequence": 8}, {"name": "b.xml"}, {"id": "other"}, {"data": b"<b/>"},
        {"previous": b""}, {"signature": b"x" * 64},
    ],
)  # fmt: skip
def test_nothing_of_a_document_can_be_changed(changes: dict[str, Any]) -> None:
    assert not is_taken(Publish(replace(DOCUMENT, **changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"publisher": OTHER}, {"feed": "other"}, {"request": 6}, {"position": 10**9}, {"complete": False},
        {"missing": 1}, {"sent": (5,)}, {"last": b""}, {"question": b""}, {"signature": b""},
    ],
)  # fmt: skip
def test_nothing_of_an_answer_can_be_changed(changes: dict[str, Any]) -> None:
    assert isinstance(ANSWER, CaughtUp)
    assert not is_taken(replace(ANSWER, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"publisher": OTHER},
        {"feed": "x"},
        {"since": None},
        {"request": 6},
        {"route": (OTHER,)},
        {"wants": ()},
        {"has": ()},
    ],
)
def test_a_question_is_another_one_when_anything_of_it_is_changed(changes: dict[str, Any]) -> None:
    assert replace(QUESTION, **changes).digest != QUESTION.digest
    assert replace(QUESTION, route=(SUBSCRIBER, RELAY)).digest == QUESTION.digest


def test_nobody_can_claim_a_shorter_path_than_was_passed_on_to_it() -> None:
    heard = passed_on(ANNOUNCE, SUBSCRIBER, OTHER)
    behind = replace(heard, path=(PUBLISHER,), attestations=heard.attestations[2:])
    behind = replace(behind, wording=replace(heard.wording, mappings=heard.wording.mappings[2:]))
    assert not is_taken(passed_on(behind, SUBSCRIBER, OTHER), OTHER)
    assert is_taken(heard, OTHER)
