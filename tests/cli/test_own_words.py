"""``heptox subscription add --words own``, and what is told of subscriptions in own words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from heptox.peer import Side, add_acquaintance, propose
from tests.cli.running import Ended, heptox_ended
from tests.peer.daemons import daemons, wait_until
from tests.peer.whole_peers import arrows, new_peer

FIRST, SECOND = "<a><b><d>1</d></b></a>", "<a><b><d>2</d></b></a>"


@pytest.fixture(scope="module")
def subscriber(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A subscriber that an acquaintance with another schema publishes for: its documents are in the folder above."""
    folder = tmp_path_factory.mktemp("words")
    publisher, subscriber = new_peer(folder / "publisher").folder, new_peer(folder / "subscriber", "right").folder
    for name, text in (("first.xml", FIRST), ("second.xml", SECOND)):
        (folder / name).write_text(text)
    with daemons(publisher, subscriber) as (_, other):
        mapping = arrows(folder, "left", "right")
        add_acquaintance(publisher, propose(other.address, mapping, Side.SOURCE, "subscriber"))
        (folder / "empty.xml").write_text("<a/>")
        assert heptox_ended("publish", "--peer", publisher, folder / "empty.xml").code == 0
        wait_until(lambda: bool(json.loads(told("feed", "status", subscriber, "--json").out)["publishers"]))
        yield subscriber


def told(noun: str, verb: str, peer: Path, *arguments: str | Path) -> Ended:
    return heptox_ended(noun, verb, "--peer", peer, *arguments)


def test_a_subscription_in_own_words_is_added_explained_and_gets_what_is_rewritten(subscriber: Path) -> None:
    folder = subscriber.parent
    for deliver in ("original", "own"):
        added = told("subscription", "add", subscriber, deliver, "//c[. = 2]", "--words", "own", "--deliver", deliver)
        assert added == Ended(0, f"{deliver}: new\n", "")
    for name in ("first.xml", "second.xml"):
        assert heptox_ended("publish", "--peer", folder / "publisher", folder / name).code == 0
    bytes_of = {}
    for deliver in ("original", "own"):
        wait_until(lambda: bool(told("subscription", "replay", subscriber, deliver).out))  # noqa: B023
        replayed = told("subscription", "replay", subscriber, deliver).out.splitlines()
        assert [line.split("\t")[3] for line in replayed] == ["second.xml"]
        bytes_of[deliver] = told("subscription", "replay", subscriber, deliver, "--document", "1").out
    assert bytes_of == {"original": SECOND, "own": "<a><c>2</c></a>\n"}
    lines = told("subscription", "info", subscriber, "own").out.splitlines()
    assert lines[-2:] == [
        "in the words of this peer, delivers documents in its schema",
        "publisher is asked for: /a[b[d[. = 2]]]",
    ]
    (publisher,) = json.loads(told("subscription", "info", subscriber, "own", "--json").out)["publishers"]
    assert (publisher["words"], publisher["text"], publisher["exact"], publisher["reason"]) == (
        "mapped", "/a[b[d[. = 2]]]", True, None
    )  # fmt: skip
    header, row, *_ = told("feed", "status", subscriber).out.splitlines()
    assert header.split()[-1] == "words" and row.split()[-1] == "mapped"
    route = told("feed", "route", subscriber, folder / "second.xml", "--from", "publisher")
    assert route.out.splitlines()[0] == "here: 2 subscriptions"
    assert told("feed", "route", subscriber, folder / "first.xml", "--from", "publisher").out.splitlines()[0] == (
        "here: 0 subscriptions"
    )


def test_what_no_arrow_carries_is_told_when_it_is_added_and_afterwards(subscriber: Path) -> None:
    added = told("subscription", "add", subscriber, "lost", "//e", "--words", "own")
    assert (added.code, added.out) == (0, "lost: new\n")
    note = re.search("lost: nothing comes from publisher for it: .*", added.err)
    assert note is not None and "no arrow" in note[0]
    assert "nothing comes from publisher for it: " in told("subscription", "info", subscriber, "lost").out


def test_unknown_names_are_told_at_once(subscriber: Path) -> None:
    added = told("subscription", "add", subscriber, "unknown", "//d", "--words", "own")
    assert (added.code, added.out) == (1, "")
    assert "HX9070 unknown: the schema of this peer, a, has no element d" in added.err
    misspelt = told("subscription", "add", subscriber, "misspelt", "//C", "--words", "own")
    assert misspelt.code == 1 and "did you mean c?" in misspelt.err
    file = subscriber.parent / "some.txt"
    file.write_text("//c\n//d\n")
    added = told("subscription", "add", subscriber, "--file", file, "--words", "own", "--skip-bad")
    assert (added.code, added.out) == (3, "1 added\n")
    assert "some.txt:2:1: HX9070 some-2: the schema of this peer, a, has no element d" in added.err.replace(
        str(subscriber.parent) + "/", ""
    )


def test_documents_are_rewritten_for_own_words_only(subscriber: Path) -> None:
    added = told("subscription", "add", subscriber, "x", "//c", "--deliver", "own")
    assert added.code == 1 and "HX9067 documents are rewritten for subscriptions in own words only" in added.err
