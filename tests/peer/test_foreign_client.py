"""A client that is not heptox: js-libp2p asks hospital peers by ``docs/protocol.md``, and gets what heptox gets."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heptox.demo import HOSPITAL, MONTREAL, QUESTIONS
from heptox.grammar import encode_query, parse_query
from heptox.peer import add_acquaintance, peer_status, propose
from heptox.peer.wire.identity import Identity
from heptox.peer.wire.messages import ITEM_COST, UNREAD
from tests.peer.daemons import acquaint, ask, daemons, heptox, hospital_peer
from tests.peer.foreign import FOLDER, Answer, Client, client
from tests.support.node import install, missing

lacking = missing()
pytestmark = pytest.mark.skipif(lacking is not None, reason=lacking or "")

PATIENTS = 60
SEED = "11" * 32
MONTREAL_TO_BOSTON = "montreal-boston.arrows"
ST_LUKE_TO_BOSTON = "stluke-boston.arrows"
PATH = ("montreal", "boston", "stluke")
NAMES = "//Patient/Name"
LARGE = "<r>{for $a in //Patient, $b in //Patient return <s>{$a}</s>}</r>"
MANY = (
    "for $a in //Patient, $b in //Patient, $c in //Patient, $d in //Patient "
    "return <p>{$a/@ID}<b>{$b/@ID}</b><c>{$c/@ID}</c><d>{$d/@ID}</d></p>"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The peer that the client asks: its folder, its multiaddress, and the key of its schema."""

    folder: Path
    address: str
    schema: str
    client: Client

    def foreign(self, query: str, *options: str, **fields: Any) -> Answer:
        """Ask it by the foreign client."""
        known = ("--schema", self.schema, "--called", self.folder.name)
        return self.client.ask(self.address, query, *known, *options, fields=fields)

    def heptox(self, query: str, **more: Any) -> tuple[dict[tuple[str, ...], list[str]], list[dict[str, Any]]]:
        """Ask it by its own daemon: items by the names along their path, and the lines of the receipt."""
        parts, receipt = ask(self.folder, query, **more)
        lines = [line.to_json() for line in receipt.lines]
        return _by_path([part.to_json() for part in parts]), lines


def _by_path(parts: list[dict[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for part in parts:
        found[tuple(part["origin"]["path"])].append(part["item"])
    return dict(found)


def _sorted(items: dict[tuple[str, ...], list[str]]) -> dict[tuple[str, ...], list[str]]:
    return {path: sorted(found) for path, found in items.items()}


def _told(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a receipt without times, and without places in the query, which only a text has."""
    return [{**line, "milliseconds": 0, "reason": re.sub(r"<text>:\d+:\d+: ", "", line["reason"])} for line in lines]


def opened(folder: Path) -> Path:
    """Let everybody ask a peer that does not run."""
    settings = folder / "peer.toml"
    settings.write_text(settings.read_text().replace('policy = "ask"', 'policy = "open"'))
    return folder


@pytest.fixture(scope="module")
def foreign() -> Iterator[Client]:
    install(FOLDER)
    with client() as asking:
        yield asking


@pytest.fixture(scope="module")
def montreal(tmp_path_factory: pytest.TempPathFactory, foreign: Client) -> Iterator[Asked]:
    """Montreal, whom everybody may ask; it knows Boston, which knows St Luke. These answer acquaintances only."""
    base = tmp_path_factory.mktemp("hospitals")
    one, two, three = (hospital_peer(base / name, name, PATIENTS, 7) for name in PATH)
    with daemons(opened(one), two, three) as (first, second, third):
        acquaint(one, second, MONTREAL_TO_BOSTON)
        acquaint(two, first, MONTREAL_TO_BOSTON)
        acquaint(two, third, ST_LUKE_TO_BOSTON)
        acquaint(three, second, ST_LUKE_TO_BOSTON)
        yield Asked(one, first.address, peer_status(one).schema_key, foreign)


@pytest.mark.parametrize(
    "query",
    [
        *(question.text for question in QUESTIONS if question.asker is MONTREAL),
        "for $a in //Admission, $p in //Patient[@ID = $a/@PatRef] return $p/@ID",
        "//Treat/Doc",  # nothing to say in Boston
        "for $p in //Patient where empty($p/Treat) return $p/Name",  # refused on the way to Boston
    ],
)
def test_a_foreign_client_gets_the_answers_and_the_receipt_that_heptox_gets(montreal: Asked, query: str) -> None:
    answer = montreal.foreign(query, "--explain")
    items, lines = montreal.heptox(query, explain=True)
    assert items
    assert _sorted(answer.items) == _sorted(items)
    lines[0]["text"] = ""  # of its own query the client has told no text
    assert _told(answer.lines) == _told(lines)
    assert answer.complete == all(line["complete"] for line in lines)


def test_its_question_travels_two_hops_as_that_of_the_command_does(montreal: Asked) -> None:
    answer = montreal.foreign(NAMES)
    *parts, last = map(json.loads, heptox("query", "--peer", montreal.folder, "--json", NAMES).stdout.splitlines())
    assert set(answer.items) == {PATH[:1], PATH[:2], PATH}
    assert _sorted(answer.items) == _sorted(_by_path(parts))
    assert _told(answer.lines) == _told(last["receipt"]["lines"])
    assert answer.complete


def test_its_query_may_be_text_or_lists(montreal: Asked) -> None:
    query = QUESTIONS[0].text
    text, lists = montreal.foreign(query), montreal.foreign("", body=encode_query(parse_query(query)))
    assert text.items
    assert _sorted(text.items) == _sorted(lists.items)
    assert _told(text.lines) == _told(lists.lines)


def test_what_is_no_query_is_told_in_the_receipt(montreal: Asked) -> None:
    answer = montreal.foreign("for $p in //Patient\nreturn count($p/Treat)")
    assert answer.kinds == ["end"]
    assert [line["status"] for line in answer.lines] == ["failed", "failed"]
    assert [line["beyond"] for line in answer.lines] == [False, True]
    (reason,) = {str(line["reason"]) for line in answer.lines}
    assert reason.startswith("<text>:2:8: HX3002 function count() is outside the query fragment")


def test_fewer_hops_end_where_they_end(montreal: Asked) -> None:
    for hops in (0, 1):
        answer = montreal.foreign(NAMES, "--hops", str(hops))
        assert [line["name"] for line in answer.lines] == list(PATH[: hops + 1])
        assert answer.lines[-1]["beyond"]


def test_its_budget_bounds_what_comes_and_the_receipt_says_so(montreal: Asked) -> None:
    budget = 2000
    answer = montreal.foreign(NAMES, "--hops", "0", "--budget", str(budget))
    (items,) = answer.items.values()
    assert 0 < sum(len(item.encode()) + ITEM_COST for item in items) <= budget
    (line,) = answer.lines
    assert (line["status"], line["items"]) == ("failed", len(items))
    assert line["reason"] == "the byte budget of the query is used up"
    assert not answer.complete


def test_messages_of_many_frames_come_through_both_ways(montreal: Asked) -> None:
    long = montreal.foreign(f"{LARGE}(: {'x' * 200_000} :)", "--hops", "0")
    assert long.complete
    ((item,),) = long.items.values()
    assert len(item) > 100_000
    assert long.items == montreal.heptox(LARGE, hops=0)[0]


def test_fields_that_a_peer_does_not_know_are_ignored(montreal: Asked) -> None:
    known = montreal.foreign(NAMES)
    hops = [{"peer": peer, "name": name, "colour": "blue"} for peer, name in _hops(known)]
    more = montreal.foreign(NAMES, "--seed", SEED, colour=["blue", {"sky": None}], path=_as(SEED, hops))
    assert _sorted(more.items) == _sorted(known.items)
    assert _told(more.lines) == _told(known.lines)


def _hops(answer: Answer) -> list[tuple[str, str]]:
    """The first two hops of a path in an answer."""
    return [(hop["peer"], hop["name"]) for hop in answer.messages[0]["origin"][:2]]


def _as(seed: str, hops: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{**hops[0], "peer": Identity(bytes.fromhex(seed)).peer_id}, *hops[1:]]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 2}, "HX7003 message version 2 is unknown (this peer speaks version 1)"),
        ({"kind": "subscribe"}, "HX7003 message kind 'subscribe' is unknown (one of "),
        ({"version": "1"}, "HX7002 a message is malformed: the field 'version' is no integer from 0 to "),
        ({"path": []}, "HX7002 a message is malformed: the field 'path' is no path of 1 to 32 different peers"),
        ({"hops": 33}, "HX7002 a message is malformed: the field 'hops' is no integer from 0 to 32"),
        ({"budget": -1}, "HX7002 a message is malformed: the field 'budget' is no integer from 0 to "),
        ({"asker": "two\nlines"}, "HX7002 a message is malformed: the field 'asker' is no identifier"),
    ],
)
def test_a_question_that_cannot_be_read_is_refused_by_name(
    montreal: Asked, fields: dict[str, Any], reason: str
) -> None:
    query, status, told = montreal.foreign(NAMES, **fields).refusal
    assert (query, status, told[: len(reason)]) == (UNREAD, "failed", reason)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ("ffffffff", "HX7004 a frame declares 4294967295 bytes (1 to 65532)"),
        ("0000000400ffffff", "HX7004 a message declares 16777215 bytes, over 4194304"),
        ("000000050000000141", "HX7002 a message is malformed: it ends too early"),
        ("000000060000000181f6", "HX7002 a message is malformed: the frames hold more bytes than the message declares"),
        ("0000000600000002c100", "HX7002 a message is malformed: tags, indefinite lengths and simple values are not"),
    ],
)
def test_bytes_that_are_no_message_are_refused_by_name(montreal: Asked, sent: str, reason: str) -> None:
    query, status, told = montreal.foreign(NAMES, "--bytes", sent).refusal
    assert (query, status, told[: len(reason)]) == (UNREAD, "failed", reason)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"schema": "00" * 16}, "the query is in the words of another schema than that of montreal"),
        ({"schema": ""}, "the query is in the words of another schema than that of montreal"),
        ({"hops": 9}, "9 more hops are over the limit of montreal, 8"),
        ({"asker": "somebody else"}, "the path of the query does not lead from its asker through its sender to this"),
        ({"path": [{"peer": "one", "name": ""}, {"peer": "two", "name": ""}]}, "the path of the query does not lead"),
    ],
)
def test_a_question_that_is_not_taken_is_refused_with_the_reason(
    montreal: Asked, fields: dict[str, Any], reason: str
) -> None:
    answer = montreal.foreign(NAMES, **fields)
    query, status, told = answer.refusal
    assert (query, status, told[: len(reason)]) == (answer.query, "failed", reason)


def test_a_cancel_ends_the_answer_without_an_end(montreal: Asked) -> None:
    answer = montreal.foreign(MANY, "--hops", "0", "--cancel-after", "1")
    assert set(answer.kinds) == {"answers"}
    assert sum(map(len, answer.items.values())) < PATIENTS**4
    assert answer.reason == "the stream was closed before the end"
    assert montreal.foreign(NAMES).complete


def test_who_is_no_acquaintance_is_denied_until_it_is_one(tmp_path: Path, foreign: Client) -> None:
    folder = hospital_peer(tmp_path / "boston", "boston", 3)
    with daemons(folder) as (running,):
        boston = Asked(folder, running.address, peer_status(folder).schema_key, foreign)
        asker = Identity(bytes.fromhex(SEED)).peer_id
        query, status, reason = boston.foreign("//Patient", "--seed", SEED).refusal
        assert (query, status) == (UNREAD, "denied")
        assert reason == f"{asker} is no acquaintance of boston that may ask"
        add_acquaintance(folder, propose(f"/ip4/127.0.0.1/tcp/9/p2p/{asker}", HOSPITAL / MONTREAL_TO_BOSTON))
        answer = boston.foreign("//Patient", "--seed", SEED)
        assert answer.asker == asker
        assert answer.complete
        assert len(answer.items["boston",]) == 3
        assert boston.foreign("//Patient", "--seed", "22" * 32).refusal[1] == "denied"
