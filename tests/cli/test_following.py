"""``heptox query --follow``: what it prints, where it goes on, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from heptox.cli.following import default_name
from heptox.peer import Side, add_acquaintance, propose
from tests.cli.running import Ended, heptox_ended
from tests.peer.daemons import begun, daemon, daemons, ended, wait_until
from tests.peer.whole_peers import arrows, new_peer

QUERY: Final = "for $c in //c where $c > 1 return <found>{data($c)}</found>"


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A peer whose acquaintance, the folder ``publisher`` beside it, publishes under another schema."""
    folder = tmp_path_factory.mktemp("following")
    publisher, follower = new_peer(folder / "publisher").folder, new_peer(folder / "follower", "right").folder
    (folder / "held.xml").write_text(document(7, 8))
    (folder / "empty.xml").write_text("<a/>")
    with daemons(publisher, follower) as (_, other):
        mapping = arrows(folder, "left", "right")
        add_acquaintance(publisher, propose(other.address, mapping, Side.SOURCE, "follower"))
        assert heptox_ended("peer", "load", publisher, folder / "held.xml").code == 0
        assert heptox_ended("publish", "--peer", publisher, folder / "empty.xml").code == 0
        wait_until(
            lambda: bool(json.loads(heptox_ended("feed", "status", "--peer", follower, "--json").out)["publishers"])
        )
        yield follower


def document(*values: int) -> str:
    return f"<a>{''.join(f'<b><d>{value}</d></b>' for value in values)}</a>"


def publish(follower: Path, name: str, *values: int) -> None:
    """Publish values at the other peer."""
    (follower.parent / name).write_text(document(*values))
    told = heptox_ended("publish", "--peer", follower.parent / "publisher", follower.parent / name)
    assert (told.code, told.out.split(",")[0]) == (0, f"{name}: new")


def follow(follower: Path, *arguments: str, query: str = QUERY) -> Ended:
    return heptox_ended("query", "--peer", follower, "--follow", *arguments, query)


def add(follower: Path, name: str, *options: str) -> Ended:
    """Add the subscription that follows the query."""
    answers = ("--words", "own", "--deliver", "answers", *options)
    return heptox_ended("subscription", "add", "--peer", follower, *answers, name, QUERY)


def info(follower: Path, name: str) -> dict[str, int]:
    """What is told of a subscription; nothing before it is there."""
    told = heptox_ended("subscription", "info", "--peer", follower, name, "--json")
    found: dict[str, int] = json.loads(told.out) if told.code == 0 else {}
    return found


def followed(follower: Path, *arguments: str, query: str = QUERY) -> subprocess.Popen[str]:
    """Begin to follow, in a process of its own."""
    return begun("query", "--peer", follower, "--follow", *arguments, query)


def interrupted(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """What a command has told that is interrupted."""
    process.send_signal(signal.SIGINT)
    return ended(process)


def test_the_answer_comes_first_and_then_those_on_what_is_published(follower: Path) -> None:
    process = followed(follower, "--name", "both", "--limit", "2")
    wait_until(lambda: info(follower, "both").get("first_read") is not None)
    publish(follower, "1.xml", 1, 2, 3, 2)
    publish(follower, "2.xml", 1)
    publish(follower, "3.xml", 4)
    told = ended(process)
    assert told.returncode == 0
    assert told.stdout.splitlines() == [f"<found>{value}</found>" for value in (7, 8, 2, 3, 4)]
    notes = told.stderr.splitlines()
    assert notes[:2] == ["is followed as both", "the answer is complete: 2 items"]
    assert (info(follower, "both")["acknowledged"], info(follower, "both")["backlog"]) == (2, 0)


def test_json_tells_the_document_its_id_and_its_publisher(follower: Path) -> None:
    assert heptox_ended("query", "--peer", follower, "--follow", "--limit", "x", QUERY).code == 2
    add(follower, "json")
    publish(follower, "4.xml", 5, 6)
    told = follow(follower, "--name", "json", "--limit", "1", "--json")
    *asked, first, second = map(json.loads, told.out.splitlines())
    assert asked[-1]["receipt"]["complete"] and {one["item"] for one in asked[:-1]} == {
        "<found>7</found>", "<found>8</found>"
    }  # fmt: skip
    publisher = heptox_ended("peer", "status", follower.parent / "publisher", "--json")
    assert first["item"] == "<found>5</found>" and second == first | {"item": "<found>6</found>"}
    assert (first["document"], first["publisher"]) == ("4.xml", json.loads(publisher.out)["peer_id"])
    assert first["id"].startswith(f"{first['publisher']}/")


def test_it_goes_on_behind_what_was_printed_also_after_the_daemon_was_killed(tmp_path: Path) -> None:
    peer = new_peer(tmp_path / "alone", "right").folder
    with daemon(peer) as running:
        name = default_name(QUERY)
        assert add(peer, name) == Ended(0, f"{name}: new\n", "")
        assert published(tmp_path, peer, "1.xml", 2) == 0
        begun_with = follow(peer, "--limit", "1", "--only-new")
        assert begun_with == Ended(0, "<found>2</found>\n", f"is followed as {name}\n")
        assert published(tmp_path, peer, "2.xml", 3) == 0
        assert published(tmp_path, peer, "3.xml", 1) == 0
        running.end(signal.SIGKILL)
    assert follow(peer).code == 4
    with daemon(peer):
        assert published(tmp_path, peer, "4.xml", 4) == 0
        assert follow(peer, "--limit", "2") == Ended(0, "<found>3</found>\n<found>4</found>\n", f"goes on as {name}\n")
        removed = heptox_ended("subscription", "remove", "--peer", peer, name)
        assert removed == Ended(0, f"{name}: removed\n", "")


def published(folder: Path, peer: Path, name: str, value: int) -> object:
    """Publish a value at the peer itself."""
    (folder / name).write_text(f"<a><c>{value}</c></a>")
    return heptox_ended("publish", "--peer", peer, folder / name).code


def test_an_interrupt_keeps_the_subscription_and_what_was_not_printed(follower: Path) -> None:
    process = followed(follower, "--name", "kept one", "--only-new")
    wait_until(lambda: info(follower, "kept one").get("first_read") is not None)
    told = interrupted(process)
    assert (told.returncode, told.stdout) == (130, "")
    remove = "heptox subscription remove 'kept one'"
    assert f"kept one is kept: the same command goes on with it, `{remove}` ends it\n" in told.stderr
    publish(follower, "5.xml", 9)
    wait_until(lambda: info(follower, "kept one")["backlog"] == 1)
    again = follow(follower, "--name", "kept one", "--limit", "1")
    assert again == Ended(0, "<found>9</found>\n", "goes on as kept one\n")
    document_told = heptox_ended("subscription", "replay", "--peer", follower, "kept one", "--document", "1")
    assert json.loads(document_told.out)["items"] == ["<found>9</found>"]


def test_a_name_that_another_text_has_is_refused(follower: Path) -> None:
    assert add(follower, "taken", "--policy", "suspend").out == "taken: new\n"
    refused = follow(follower, "--name", "taken", query="//c")
    assert (refused.code, refused.out) == (1, "")
    assert "HX9060 there is a subscription taken already, with another" in refused.err
    (follower.parent / "query.xq").write_text(QUERY)
    publish(follower, "6.xml", 3)
    file = ("-f", follower.parent / "query.xq")
    told = heptox_ended("query", "--peer", follower, "--follow", "--name", "taken", "--limit", "1", *file)
    assert (told.code, told.out.splitlines()[-1]) == (0, "<found>3</found>"), "its policy may be another one"
    lines = heptox_ended("subscription", "info", "--peer", follower, "taken").out.splitlines()
    assert lines[-2:] == [
        "in the words of this peer, delivers the answers of the query on each document",
        "publisher is asked for: /a[b[d[. > 1]]]",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--follow", "for $c in //c order by $c return $c"), 1, "<text>:1:24: HX9071 a query that is followed has no"),
        (("--follow", "//d"), 1, "<text>:1:3: HX9070 query-"),
        (("--follow", "count(//c)"), 1, "<text>:1:1: HX3002"),
        (("--follow", "--limit", "0", "//c"), 2, "--limit"),
        (("--follow", "--name", "a/b", "//c"), 1, "HX9067 'a/b' is no name of a subscription"),
        (("--name", "one", "//c"), 2, "--name, --limit and --only-new go with --follow"),
        (("--only-new", "//c"), 2, "--name, --limit and --only-new go with --follow"),
    ],
)
def test_what_cannot_be_followed_is_refused(
    follower: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    told = heptox_ended("query", "--peer", follower, *arguments)
    assert (told.code, told.out) == (code, "")
    assert message in told.err


def test_without_a_daemon_nothing_is_followed(tmp_path: Path) -> None:
    told = follow(new_peer(tmp_path / "alone", "right").folder)
    assert told.code == 4 and "HX7055 its daemon does not run" in told.err
