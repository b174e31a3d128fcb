"""``heptox subscription`` and ``heptox publish``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.cli.running import Ended, heptox_ended
from tests.peer.daemons import begun, daemon, hospital_peer, wait_until


@pytest.fixture(autouse=True)
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A peer whose daemon does not run, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return hospital_peer(tmp_path / "peer", "montreal", 0, feed="anything")


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    made = []
    for number in range(4):
        made.append(tmp_path / f"d{number}.xml")
        made[-1].write_text(f"<Books><Book><Price>{number}</Price></Book></Books>", encoding="utf-8")
    return made


def subscription(*arguments: str | Path, stdin: str = "") -> Ended:
    return heptox_ended("subscription", *arguments, stdin=stdin)


def table(ended: Ended) -> list[list[str]]:
    assert ended.code == 0, ended.err
    return [re.split(r"  +", line) for line in ended.out.splitlines()]


def test_a_subscriber_gets_what_is_published_and_acknowledges_it(documents: list[Path]) -> None:
    assert subscription("add", "cheap", "//Book[Price < 3]") == Ended(0, "cheap: new\n", "")
    assert subscription("add", "cheap", "//Book[Price < 3]").out == "cheap: held\n"
    told = heptox_ended("publish", *documents)
    assert told == Ended(
        0, "d0.xml: new, 1 notified\nd1.xml: new, 1 notified\nd2.xml: new, 1 notified\nd3.xml: new, 0 notified\n", ""
    )
    assert heptox_ended("publish", documents[0]).out == "d0.xml: held\n"
    printed = subscription("replay", "cheap")
    assert [line.split("\t")[0::3] for line in printed.out.splitlines()] == [
        ["1", "d0.xml"],
        ["2", "d1.xml"],
        ["3", "d2.xml"],
    ]
    assert subscription("ack", "cheap", "2").out == "cheap: acknowledged up to 2, 1 notification to go\n"
    assert [line.split("\t")[0] for line in subscription("replay", "cheap").out.splitlines()] == ["3"]
    assert subscription("replay", "cheap", "--from", "1").out == printed.out
    assert subscription("replay", "cheap", "--since", "2020-01-01").out == printed.out
    assert subscription("replay", "cheap", "--since", "2999-01-01T00:00:00+02:00").out == ""
    two = subscription("replay", "cheap", "--from", "1", "--limit", "2")
    assert two.out.splitlines() == printed.out.splitlines()[:2]
    told = subscription("replay", "cheap", "--json", "--content", "--ack")
    assert [json.loads(line)["content"] for line in told.out.splitlines()] == [documents[2].read_text()]
    assert subscription("replay", "cheap").out == ""
    assert subscription("replay", "cheap", "--document", "1").out == documents[0].read_text()
    assert subscription("remove", "cheap").out == "cheap: removed\n"
    assert [row[0] for row in table(subscription("list"))] == ["subscription"]


def test_what_is_listed_and_told_of_one(documents: list[Path]) -> None:
    subscription("add", "small", "//Book[Price = 0 or Price = 1]", "--policy", "drop-newest", "--backlog", "1")
    subscription("add", "none", "//Nothing")
    heptox_ended("publish", *documents)
    header, small, none = table(subscription("list"))
    assert header == ["subscription", "last", "acknowledged", "backlog", "lag", "dead letters", "policy", "xpath"]
    assert small[:4] + small[5:] == ["small", "1", "0", "1", "1", "drop-newest", "//Book[Price = 0 or Price = 1]"]
    assert none == ["none", "0", "0", "0", "-", "0", "refuse", "//Nothing"]
    listed = [json.loads(line) for line in subscription("list", "--json").out.splitlines()]
    told = json.loads(subscription("info", "small", "--json").out)
    assert {**told, "lag": 0} == {**listed[0], "lag": 0}
    assert (told["most"], told["policy"], told["backlog"], told["dead_letters"]) == (1, "drop-newest", 1, 1)
    lines = subscription("info", "small").out.splitlines()
    assert lines[0] == "small: //Book[Price = 0 or Price = 1]"
    assert lines[2] == "last 1, acknowledged 0, handed out 0, kept from 1"
    assert re.fullmatch(
        r"backlog 1, 44 bytes \(at most 1, 268,435,456 bytes\), lag \d+ s, policy drop-newest", lines[3]
    )
    assert subscription("ack", "small", "1", "--reject", "odd").out == "small: acknowledged up to 1\n"
    header, full, odd = table(subscription("dlq", "small"))
    assert header == ["letter", "sequence", "time", "document", "kept", "reason"]
    assert full[:2] + full[3:] == ["1", "-", "d1.xml", "yes", "the backlog was full"]
    assert odd[:2] + odd[3:] == ["2", "1", "d0.xml", "yes", "rejected: odd"]
    letters = [json.loads(line) for line in subscription("dlq", "small", "--json", "--after", "1").out.splitlines()]
    assert [(letter["letter"], letter["sequence"], letter["reason"]) for letter in letters] == [(2, 1, "rejected: odd")]
    assert subscription("dlq", "small", "--document", "1").out == documents[1].read_text()


def test_a_suspended_subscription_says_so(documents: list[Path]) -> None:
    subscription("add", "small", "//Book", "--policy", "suspend", "--backlog", "1")
    told = heptox_ended("publish", "--json", *documents[:2])
    assert [(one["matched"], one["dead_letters"]) for one in json.loads(told.out)] == [(1, 0), (1, 1)]
    assert heptox_ended("publish", documents[2]).out == "d2.xml: new, 0 notified, 1 dead\n"
    assert table(subscription("list"))[1][6] == "suspend, suspended"
    assert "suspended since" in subscription("info", "small").out
    subscription("ack", "small", "1")
    assert heptox_ended("publish", documents[3]).out == "d3.xml: new, 1 notified\n"


# -- files of subscriptions ------------------------------------------------------------------------------------------

LINES = "# prices\n//Book[Price < 1]\n\n//Book[Price\n   //Book[Price > 2]\n//Book/position()\n"


def test_a_file_is_added_or_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "prices.txt").write_text(LINES, encoding="utf-8")
    refused = subscription("add", "--file", "prices.txt")
    assert (refused.code, refused.out) == (1, "")
    assert [line.split(" ")[:2] for line in refused.err.splitlines()] == [
        ["prices.txt:4:13:", "HX3001"],
        ["prices.txt:6:8:", "HX3060"],
    ]
    assert len(table(subscription("list"))) == 1
    added = subscription("add", "--file", "prices.txt", "--skip-bad")
    assert (added.code, added.out) == (3, "2 added\n")
    assert added.err == f"{refused.err}2 left out\n"
    again = subscription("add", "--file", "-", "--prefix", "prices", "--skip-bad", "--json", stdin=LINES)
    assert again.code == 3
    told = json.loads(again.out)
    assert (told["added"], told["held"]) == (0, 2)
    assert [fault["position"]["file"] for fault in told["faults"]] == ["<stdin>"] * 2
    assert [row[0] for row in table(subscription("list"))[1:]] == ["prices-2", "prices-5"]


def test_one_bad_line_of_very_many_is_told_with_its_place(tmp_path: Path) -> None:
    lines = [f"/Books/Book[Price = {number}]" for number in range(20_000)]
    lines[12_344] = "/Books/Book[Price = ]"
    (tmp_path / "many.txt").write_text("\n".join(lines), encoding="utf-8")
    refused = subscription("add", "-f", "many.txt")
    assert refused.code == 1
    assert refused.err.startswith("many.txt:12345:21: HX3001 ") and refused.err.count("\n") == 1
    added = subscription("add", "-f", "many.txt", "--skip-bad")
    assert (added.code, added.out) == (3, "19,999 added\n")
    (tmp_path / "d.xml").write_text("<Books><Book><Price>12345</Price></Book></Books>", encoding="utf-8")
    assert heptox_ended("publish", "d.xml").out == "d.xml: new, 1 notified\n"
    assert subscription("replay", "many-12346").out.endswith("\td.xml\n")


# -- wrong input and usage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["add", "new", "//a["], 1, "HX3001"),
        (["add", "a/b", "//a"], 1, "HX9067 'a/b' is no name of a subscription"),
        (["add", "held", "//other"], 1, "HX9060 there is a subscription held already"),
        (["add", "new"], 2, "give NAME XPATH, or --file FILE"),
        (["add"], 2, "give NAME XPATH, or --file FILE"),
        (["add", "new", "//a", "--skip-bad"], 2, "give NAME XPATH, or --file FILE"),
        (["add", "new", "//a", "--file", "f"], 2, "give either NAME XPATH or --file FILE"),
        (["add", "new", "//a", "--policy", "forget"], 2, "forget"),
        (["add", "new", "//a", "--backlog", "0"], 2, "backlog"),
        (["add", "--file", "-"], 1, "<stdin>: HX1001 has no name (give --prefix)"),
        (["add", "--file", "missing.txt"], 1, "missing.txt: HX1001"),
        (["remove", "none", "held"], 1, "HX9061 no subscription is named 'none'"),
        (["remove", "\udcff"], 1, "HX9061"),
        (["info", "none"], 1, "HX9061"),
        (["ack", "held", "1"], 1, "HX9062 held has no notification 1 (there is none yet)"),
        (["ack", "none", "1"], 1, "HX9061"),
        (["replay", "none"], 1, "HX9061"),
        (["replay", "held", "--from", "5"], 1, "HX9062"),
        (["replay", "held", "--from", "1", "--since", "2026-01-01"], 2, "give one of --from, --since"),
        (["replay", "held", "--since", "yesterday"], 2, "yesterday"),
        (["replay", "held", "--from", "2", "--ack"], 2, "does not go with --from and --since"),
        (["replay", "held", "--since", "2026-01-01", "--ack"], 2, "does not go with --from and --since"),
        (["replay", "held", "--document", "1", "--follow"], 2, "give one of --document, --follow"),
        (["replay", "held", "--content"], 2, "--content goes with --json"),
        (["replay", "held", "--document", "1"], 1, "HX9062"),
        (["replay", "held", "--follow"], 4, "HX7055 its daemon does not run (start it with"),
        (["dlq", "none"], 1, "HX9061"),
        (["dlq", "held", "--document", "1"], 1, "HX9062"),
        (["list", "--peer", "elsewhere"], 1, "HX7050"),
    ],
)
def test_what_cannot_be_is_told(arguments: list[str], code: int, told: str) -> None:
    subscription("add", "held", "//a")
    ended = subscription(*arguments)
    assert (ended.code, told in ended.err) == (code, True), ended.err
    if arguments[0] == "remove" and "held" in arguments:
        assert ended.out == "held: removed\n", "the others go on"


def test_a_document_that_is_refused_does_not_keep_others_from_being_published(
    documents: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "bad.xml").write_text("<a>", encoding="utf-8")
    told = heptox_ended("publish", documents[0], "bad.xml", "missing.xml", documents[1])
    assert told.code == 1
    assert told.out == "d0.xml: new, 0 notified\nd1.xml: new, 0 notified\n"
    assert [line.split(" ")[1] for line in told.err.splitlines()] == ["HX1002", "HX1001", "of"]
    assert heptox_ended("publish", "-", stdin="<a/>").code == 1
    assert heptox_ended("publish", "-", "--name", "a.xml", stdin="<a/>").out == "a.xml: new, 0 notified\n"
    assert heptox_ended("publish", documents[0], "--id", "mine").out == "d0.xml: new, 0 notified\n"
    refused = heptox_ended("publish", documents[1], "--id", "mine")
    assert (refused.code, "HX9065" in refused.err) == (1, True)
    assert heptox_ended("publish", documents[0], documents[1], "--id", "mine").code == 2
    assert heptox_ended("publish", documents[0], "--id", "").code == 2


def test_a_document_larger_than_a_whole_backlog_is_refused_with_what_would_help(documents: list[Path]) -> None:
    subscription("add", "small", "/*", "--backlog-bytes", "3")
    refused = heptox_ended("publish", documents[0])
    assert refused.code == 1
    size = documents[0].stat().st_size
    assert f"small refuses it: the document has {size} bytes, the whole backlog at most 3" in refused.err
    assert "--backlog-bytes" in refused.err and "acknowledge" not in refused.err


def test_names_that_are_not_utf8_are_refused_and_can_be_given(tmp_path: Path) -> None:
    name = os.fsdecode(b"n\xe9.xml")
    (tmp_path / name).write_text("<r/>", encoding="utf-8")
    told = "n\\xe9.xml: HX9067 the name of a document is not UTF-8\n1 of 1 refused\n"
    for running in (False, True):
        with daemon(tmp_path / "peer") if running else nullcontext():
            assert heptox_ended("publish", name) == Ended(1, "", told)
            assert heptox_ended("publish", name, "--name", f"{running}.xml").code == 0
            assert "HX9067 the subscription is not UTF-8" in subscription("add", "new", "//a = '\udce9'").err


def test_a_name_that_would_forge_a_line_is_refused_and_names_its_character(tmp_path: Path) -> None:
    subscription("add", "all", "//r")
    forged = heptox_ended("publish", "-", "--name", "ok.xml\n99\tforged", stdin="<r/>")
    assert (forged.code, forged.out) == (1, "")
    assert "HX9067 the name of a document, 'ok.xml\\n99\\tforged', holds the character U+000A" in forged.err
    (tmp_path / "a\x1b[2J.xml").write_text("<r/>", encoding="utf-8")
    refused = heptox_ended("publish", "a\x1b[2J.xml")
    assert (refused.code, "\x1b" in refused.err) == (1, False)
    assert "U+001B (give it one with --name)" in refused.err
    assert heptox_ended("publish", "a\x1b[2J.xml", "--name", "a.xml").out == "a.xml: new, 1 notified\n"
    assert subscription("replay", "all").out.count("\n") == 1


def test_an_xpath_of_several_lines_is_shown_on_one() -> None:
    subscription("add", "long", "//a\n[b =\t1]")
    assert table(subscription("list"))[1][-1] == "//a\\u000a[b =\\u00091]"
    assert subscription("info", "long").out.splitlines()[0] == "long: //a\\u000a[b =\\u00091]"
    assert json.loads(subscription("info", "long", "--json").out)["xpath"] == "//a\n[b =\t1]"


def test_a_full_backlog_tells_which_documents_were_not_published(documents: list[Path]) -> None:
    subscription("add", "few", "//Price[. < 3]", "--backlog", "1")
    told = heptox_ended("publish", *(document.name for document in documents))
    assert (told.code, told.out) == (1, "d0.xml: new, 1 notified\nd3.xml: new, 0 notified\n")
    assert [line.split(" (")[0] for line in told.err.splitlines()] == [
        "d1.xml: HX9064 it was not published, for the backlog is full of few",
        "d2.xml: HX9064 it was not published, for the backlog is full of few",
        "2 of 4 refused",
    ]


def test_a_nul_in_a_file_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "nul.txt").write_bytes(b"//b\n//a\0\n")
    refused = subscription("add", "--file", "nul.txt")
    assert (refused.code, refused.err) == (
        1,
        "nul.txt:2:4: HX9067 the subscription holds the character U+0000\n",
    )


# -- a daemon --------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(peer: Path) -> Iterator[Path]:
    with daemon(peer):
        yield peer


def test_a_command_follows_a_daemon(served: Path, documents: list[Path], tmp_path: Path) -> None:
    assert subscription("add", "all", "//Book").out == "all: new\n"
    with (tmp_path / "printed").open("w") as out:
        following = begun("subscription", "replay", "all", "--follow", "--limit", "3", "--ack", "--peer", served)
        assert following.stdout
        for document in documents[:3]:
            assert heptox_ended("publish", document).out.endswith(": new, 1 notified\n")
            out.write(following.stdout.readline())
    assert following.wait(240) == 0
    assert [line.split("\t")[3] for line in (tmp_path / "printed").read_text().splitlines()] == [
        "d0.xml",
        "d1.xml",
        "d2.xml",
    ]
    following.communicate()
    wait_until(lambda: json.loads(subscription("info", "all", "--json").out)["acknowledged"] == 3)


def test_prefixes_are_bound_by_options_and_files_and_kept_as_namespaces(tmp_path: Path) -> None:
    (tmp_path / "named.xml").write_text('<a xmlns:x="urn:a" x:b="1"><x:c>2</x:c></a>')
    assert subscription("add", "one", "/a[@p:b]/p:c", "--namespace", "p=urn:a").out == "one: new\n"
    assert subscription("add", "one", "/a[@Q{urn:a}b]/Q{urn:a}c").out == "one: held\n"
    refused = subscription("add", "other", "/q:a")
    assert refused.code == 1
    assert "1:2: HX3066 the prefix q is not bound" in refused.err
    (tmp_path / "many.txt").write_text(
        'declare namespace p = "urn:a";\ndeclare default element namespace "urn:d";\n//p:c = 2\n/a\n//q:c\n'
    )
    added = subscription("add", "--file", "many.txt", "--skip-bad")
    assert added.code == 3
    assert added.out == "2 added\n"
    assert "many.txt:5:3: HX3066" in added.err
    assert json.loads(subscription("info", "many-4", "--json").out)["xpath"] == "/Q{urn:d}a"
    assert heptox_ended("publish", "named.xml").out == "named.xml: new, 2 notified\n"
    assert subscription("replay", "many-3", "--document", "1").out == (tmp_path / "named.xml").read_text()


def test_a_running_peer_takes_prefixes(peer: Path, tmp_path: Path) -> None:
    (tmp_path / "named.xml").write_text('<a xmlns:x="urn:a"><x:c>2</x:c></a>')
    with daemon(peer):
        assert subscription("add", "one", "//p:c = 2", "--namespace", "p=urn:a").out == "one: new\n"
        refused = subscription("add", "other", "/q:a")
        assert "HX3066 the prefix q is not bound" in refused.err
        assert heptox_ended("publish", "named.xml").out == "named.xml: new, 1 notified\n"
