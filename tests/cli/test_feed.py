"""``heptox feed``, and what ``heptox subscription`` and ``heptox publish`` tell of other peers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from heptox.feed import TEXT_LIMIT
from heptox.peer import Side, add_acquaintance, propose
from tests.cli.running import Ended, heptox_ended
from tests.peer.daemons import daemon, daemons, frozen, wait_until
from tests.peer.whole_peers import arrows, new_peer

DOCUMENT = "<a><b><d>1</d></b></a>"


@dataclass(frozen=True)
class Two:
    """Two acquaintances, each the publisher or subscriber that it is called."""

    publisher: Path
    subscriber: Path
    publisher_id: str
    subscriber_id: str
    folder: Path

    def file(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text)
        return file


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    folder = tmp_path_factory.mktemp("feeds")
    publisher, subscriber = (new_peer(folder / name).folder for name in ("publisher", "subscriber"))
    with daemons(publisher, subscriber) as (one, other):
        mapping = arrows(folder, "left", "left")
        add_acquaintance(publisher, propose(other.address, mapping, Side.SOURCE, "subscriber"))
        peers = Two(publisher, subscriber, one.peer_id, other.peer_id, folder)
        assert heptox_ended("publish", "--peer", publisher, peers.file("first.xml", DOCUMENT)).code == 0
        wait_until(lambda: bool(json.loads(feed("status", subscriber, "--json").out)["publishers"]))
        for number, xpath in enumerate(("//d", "/a/c", "//nothing")):
            assert heptox_ended("subscription", "add", "--peer", subscriber, f"s{number}", xpath).code == 0
        yield peers


def feed(command: str, peer: Path, *arguments: str | Path, stdin: str = "") -> Ended:
    return heptox_ended("feed", command, "--peer", peer, *arguments, stdin=stdin)


def rows(ended: Ended) -> list[list[str]]:
    assert (ended.code, ended.err) == (0, "")
    return [re.split(r"  +", line.strip()) for line in ended.out.splitlines() if line.strip()]


def test_status_shows_publishers_and_neighbours(two: Two) -> None:
    header, publisher, neighbours, neighbour = rows(feed("status", two.subscriber))
    assert header == ["publisher", "through", "advertises", "interested", "position", "live"]
    digest = json.loads(feed("status", two.subscriber, "--json").out)["publishers"][0]["advertised"]
    assert publisher == ["publisher", "publisher", digest[:12], "2", "1", "yes"]
    assert neighbours == ["neighbour", "wants", "sent", "of"]
    assert neighbour == ["publisher", "0", "2", "2"]
    assert rows(feed("status", two.publisher))[-1] == ["subscriber", "2", "0", "0"]


def test_status_is_told_as_json(two: Two) -> None:
    told = json.loads(feed("status", two.subscriber, "--json").out)
    (publisher,) = told["publishers"]
    assert (publisher["publisher"], publisher["path"], publisher["live"]) == (two.publisher_id, ["publisher"], True)
    (neighbour,) = json.loads(feed("status", two.publisher, "--json").out)["neighbours"]
    assert (neighbour["neighbour"], neighbour["name"], neighbour["wants"]) == (two.subscriber_id, "subscriber", 2)


def test_route_tells_where_a_document_goes_and_why(two: Two) -> None:
    wanted, other = two.file("wanted.xml", DOCUMENT), two.file("other.xml", "<a><b/></a>")
    assert feed("route", two.publisher, wanted) == Ended(
        0, "here: 0 subscriptions\nsubscriber: yes: 1 of what it wants matches\n", ""
    )
    assert feed("route", two.publisher, wanted, "--explain").out.splitlines()[2:] == ["    //d"]
    assert feed("route", two.publisher, other).out.splitlines()[1] == "subscriber: no: nothing that it wants matches"
    told = json.loads(feed("route", two.publisher, wanted, "--json").out)
    assert [(one["name"], one["gets"], one["subscriptions"]) for one in told["neighbours"]] == [
        ("subscriber", True, ["//d"])
    ]
    assert feed("route", two.subscriber, wanted, "--from", two.publisher_id).out.splitlines() == [
        "here: 1 subscription",
        "publisher: no: nothing that it wants matches",
    ]
    assert feed("route", two.publisher, "-", stdin=DOCUMENT).out == feed("route", two.publisher, wanted).out
    broken = feed("route", two.publisher, two.file("broken.xml", "<a>"))
    assert (broken.code, broken.out) == (1, "")
    assert "broken.xml:1:4: HX1002" in broken.err


def test_the_publisher_of_a_route_is_called_by_its_name_or_id(two: Two) -> None:
    document = two.file("of another.xml", DOCUMENT)
    told = [feed("route", two.subscriber, "--from", who, document).out for who in ("publisher", two.publisher_id)]
    assert told[0] == told[1]
    assert (
        feed("route", two.publisher, "--from", two.publisher_id, document).out
        == feed("route", two.publisher, document).out
    )
    for nobody in ("right", "", two.publisher_id[:-1]):
        ended = feed("route", two.subscriber, "--from", nobody, document)
        assert (ended.code, ended.out) == (1, "") and "HX7084" in ended.err and two.publisher_id in ended.err


def test_what_is_kept_at_home_is_told(two: Two) -> None:
    misfit = two.file("misfit.xml", "<a><d>1</d></a>")
    reason = "it is not of the schema that others are told: line 1: d may not stand below a"
    assert feed("route", two.publisher, misfit).out.splitlines()[1:] == [
        f"it is kept at home: {reason}",
        "subscriber: no: 1 of what it wants matches, but it is kept at home",
    ]
    published = heptox_ended("publish", "--peer", two.publisher, misfit)
    assert (published.code, published.err) == (0, f"misfit.xml is kept at home: {reason}\n")
    assert published.out == "misfit.xml: new, 0 notified\n"


def test_who_adds_a_subscription_that_others_are_not_told_hears_of_it(two: Two) -> None:
    long = two.file("long.txt", f"/a[b = '{'x' * TEXT_LIMIT}']\n")
    added = heptox_ended("subscription", "add", "--peer", two.subscriber, "--file", long)
    assert (added.code, added.out) == (0, "1 added\n")
    assert added.err == "long-1 is too long to be sent to others: what they publish may not come\n"
    heptox_ended("subscription", "remove", "--peer", two.subscriber, "long-1")


def test_who_adds_a_subscription_is_told_who_has_not_confirmed_it(two: Two) -> None:
    with frozen(two.publisher):
        added = heptox_ended("subscription", "add", "--peer", two.subscriber, "late", "//b")
    assert (added.code, added.out) == (0, "late: new\n")
    assert added.err == f"{two.publisher_id} has not confirmed it yet: what it publishes until then does not come\n"
    heptox_ended("subscription", "remove", "--peer", two.subscriber, "late")


@pytest.mark.parametrize("arguments", [("status",), ("status", "--json"), ("route", "wanted.xml")])
def test_without_a_daemon_there_is_nothing_to_see(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    folder = new_peer(tmp_path / "peer").folder
    (tmp_path / "wanted.xml").write_text(DOCUMENT)
    command, *rest = (str(tmp_path / one) if one.endswith(".xml") else one for one in arguments)
    ended = feed(command, folder, *rest)
    assert (ended.code, ended.out) == (4, "")
    assert "HX7055 its daemon does not run" in ended.err
    assert ended == Ended(4, "", heptox_ended("peer", "stop", folder).err)


def test_a_peer_that_takes_no_part_says_so(tmp_path: Path) -> None:
    folder = new_peer(tmp_path / "peer", feed="off").folder
    with daemon(folder):
        for ended in (feed("status", folder, "--json"), feed("route", folder, "-", stdin=DOCUMENT)):
            assert (ended.code, ended.out) == (1, "")
            assert 'HX7083 it takes no part in feeds (feed = "schema" in peer.toml)' in ended.err
        published = heptox_ended("publish", "--peer", folder, "--name", "d.xml", "-", stdin=DOCUMENT)
        assert published == Ended(0, "d.xml: new, 0 notified\n", "")
    assert not (folder / "feed.sqlite").exists()


def test_a_peer_without_links_says_so(tmp_path: Path) -> None:
    folder = new_peer(tmp_path / "peer").folder
    with daemon(folder):
        assert feed("status", folder) == Ended(0, "there is no link to a neighbour\n", "")
