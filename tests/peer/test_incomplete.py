"""What an answer can lack, over real daemons: the verdict, its name, the exit code, and the words."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from heptox.peer import PeerFolder, document_loading, propose
from heptox.peer.acquaintance.acquainting import Proposal
from heptox.peer.control.administration import add_acquaintance
from tests.peer.daemons import Daemon, daemons, frozen, heptox

MINE: Final = """<!ELEMENT people (person*)> <!ELEMENT person (name, phone?, visit*, note?)>
<!ATTLIST person id ID #REQUIRED> <!ELEMENT name (#PCDATA)> <!ELEMENT phone (#PCDATA)>
<!ELEMENT visit (day, what?)> <!ELEMENT day (#PCDATA)> <!ELEMENT what (#PCDATA)> <!ELEMENT note (#PCDATA)>"""
THEIRS: Final = """<!ELEMENT staff (member*)> <!ELEMENT member (called, tel?, call*, secret?)>
<!ATTLIST member nr ID #REQUIRED> <!ELEMENT called (#PCDATA)> <!ELEMENT tel (#PCDATA)>
<!ELEMENT call (on, why?)> <!ELEMENT on (#PCDATA)> <!ELEMENT why (#PCDATA)> <!ELEMENT secret (#PCDATA)>"""
ALL: Final = """
each person       -> member
person/@id        -> member/@nr
person/name       -> member/called
person/phone      -> member/tel
each person/visit -> member/call
person/visit/day  -> member/call/on
person/visit/what -> member/call/why
person/note       -> member/secret
"""
FEW: Final = "".join(line for line in ALL.splitlines(keepends=True) if "note" not in line and "what" not in line)
OPEN: Final = 'policy = "open"'
PEOPLE: Final = """<people><person id="p{0}"><name>Ann {0}</name><phone>{0}</phone><visit><day>Mo</day
><what>tea</what></visit><note>n</note></person></people>"""
STAFF: Final = """<staff><member nr="m{0}"><called>Bob {0}</called><tel>{0}</tel><call><on>Tu</on
><why>tea</why></call><secret>s</secret></member></staff>"""


def peer(folder: Path, name: str, schema: str, settings: str = OPEN) -> Path:
    """A new peer with a document of somebody, and lines of ``peer.toml``."""
    made = folder / name
    files = folder / f"of {name}"
    files.mkdir()
    (files / "schema.dtd").write_text(schema)
    PeerFolder.create(made, files / "schema.dtd", root="people" if schema is MINE else "staff")
    toml = made / "peer.toml"
    names = {line.partition(" = ")[0] for line in settings.splitlines()}
    kept = [line for line in toml.read_text().splitlines() if line.partition(" = ")[0] not in names]
    toml.write_text("\n".join([*kept, settings]))
    with document_loading(made) as loader:
        loader.load("one.xml", (PEOPLE if schema is MINE else STAFF).format(name).encode())
    return made


def proposal(folder: Path, other: Daemon, arrows: str) -> Proposal:
    """What makes another an acquaintance by arrows from my schema to theirs."""
    files = folder / f"arrows {len(list(folder.iterdir()))}"
    files.mkdir()
    (files / "mine.dtd").write_text(MINE)
    (files / "theirs.dtd").write_text(THEIRS)
    (files / "map.arrows").write_text(f'source "mine.dtd" root people\ntarget "theirs.dtd" root staff\n{arrows}')
    return propose(other.address, files / "map.arrows", name=other.folder.name)


@dataclass(frozen=True, slots=True)
class Asked:
    """How a question by the command ended."""

    code: int
    receipt: dict[str, Any]
    words: str

    @property
    def lacks(self) -> dict[str, list[str]]:
        return {found["lack"]: sorted(found["named"]) for found in self.receipt["missing"]}


def asked(folder: Path, query: str, *more: str) -> Asked:
    printed = heptox("query", "--peer", folder, query, *more, "--json")
    receipt = json.loads(printed.stdout.splitlines()[-1])["receipt"]
    told = heptox("query", "--peer", folder, query, *more)
    assert told.returncode == printed.returncode
    return Asked(printed.returncode, receipt, told.stderr)


def assert_lacks(found: Asked, **lacks: str) -> None:
    """An answer is incomplete, and lacks this at those peers, with what that costs and what would mend it."""
    assert found.lacks == {name.replace("_", " "): peers.split() for name, peers in lacks.items()}
    assert (found.code, found.receipt["complete"]) == (3, False)
    assert "the answer is INCOMPLETE" in found.words
    for shortfall in found.receipt["missing"]:
        assert shortfall["costs"]
        assert shortfall["mend"]
        assert f"{shortfall['lack']} at {', '.join(shortfall['named'])}" in found.words
        assert f"; this may cost {shortfall['costs']}; what would mend it: {shortfall['mend']}" in found.words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("incomplete")


# -- what is lost on the way -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def line(folder: Path) -> Iterator[Path]:
    """Ann knows Bob by few arrows, and Bob knows Cleo by all."""
    ann, bob, cleo = (peer(folder, name, schema) for name, schema in (("ann", MINE), ("bob", THEIRS), ("cleo", MINE)))
    with daemons(ann, bob, cleo) as (_, second, third):
        add_acquaintance(ann, proposal(folder, second, FEW))
        add_acquaintance(bob, proposal(folder, third, ALL))
        yield ann


def test_an_answer_that_lacks_nothing_is_complete(line: Path) -> None:
    for query in ("//person/name", "//person[phone = 'bob']/@id", "count(//visit)", "//person[name = 'a'][name = 'b']"):
        found = asked(line, query)
        assert (found.code, found.receipt["complete"], found.lacks) == (0, True, {}), query
        assert "the answer is complete" in found.words


@pytest.mark.parametrize(
    ("query", "lacks"),
    [
        pytest.param("//note", {"not_asked": "bob"}, id="a leaf"),
        pytest.param("//person[note = 'n']/name", {"not_asked": "bob"}, id="a condition"),
        pytest.param("//person[not(note)]/name", {"lost_on_the_way": "bob"}, id="a negation"),
        pytest.param("//visit[what = 'tea']/day", {"not_asked": "bob"}, id="a condition of a part"),
        pytest.param("//person/(name | note)", {"lost_on_the_way": "bob"}, id="an alternative"),
        pytest.param("//person/*", {"lost_on_the_way": "bob"}, id="a wildcard"),
        pytest.param("//person", {"lost_on_the_way": "bob"}, id="a whole element"),
        pytest.param("for $p in //person return <r>{$p/name}{$p/note}</r>", {"lost_on_the_way": "bob"}, id="a slot"),
        pytest.param(
            "for $p in //person return <r>{for $v in $p/visit return $v/what}</r>",
            {"lost_on_the_way": "bob"},
            id="a nested part",
        ),
        pytest.param("count(//note)", {"not_asked": "bob"}, id="a count"),
        pytest.param("max(//visit[what]/day/string())", {"not_asked": "bob"}, id="a maximum"),
        pytest.param("for $p in //person order by $p/note return $p/name", {"lost_on_the_way": "bob"}, id="an order"),
        pytest.param("(count(//name), count(//note))", {"not_asked": "bob"}, id="one of two cores"),
        pytest.param("if (//note) then 'yes' else 'no'", {"lost_on_the_way": "bob"}, id="a question"),
        pytest.param("//person[visit/what = 'tea' or phone = '1']/name", {"lost_on_the_way": "bob"}, id="an or"),
        pytest.param(
            "for $p in //person, $q in //person where $p/note = $q/note return $p/name",
            {"not_asked": "bob"},
            id="a join",
        ),
    ],
)
def test_what_is_lost_on_the_way_is_missing(line: Path, query: str, lacks: dict[str, str]) -> None:
    assert_lacks(asked(line, query), **lacks)


def test_peers_beyond_the_hop_limit_are_missing(line: Path) -> None:
    assert_lacks(asked(line, "//name", "--hops", "1"), hop_limit="bob")
    assert_lacks(asked(line, "//person", "--hops", "1"), hop_limit="bob", lost_on_the_way="bob")
    counted = asked(line, "count(//name)", "--hops", "1")
    assert_lacks(counted, hop_limit="bob")
    assert counted.receipt["shell"]["bounds"] == {"missing": 1, "least": "2", "most": ""}
    found = asked(line, "//name", "--hops", "0")
    assert (found.code, found.lacks) == (0, {})


def test_what_would_mend_it_names_the_mapping(line: Path) -> None:
    found = asked(line, "//note")
    (shortfall,) = found.receipt["missing"]
    assert "an arrow for it in that of ann with bob" in shortfall["mend"]
    assert "person/note" in shortfall["costs"]


# -- what peers hold back ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shy(folder: Path) -> Iterator[Path]:
    """Dan knows Eve, who hides something from all, and Fay, who counts something only, by all arrows."""
    dan = peer(folder, "dan", MINE)
    hides = f'{OPEN}\n[[hide]]\nfrom = "all"\npaths ='
    eve = peer(folder, "eve", THEIRS, f'{hides} ["member/secret", "member/call/why"]')
    fay = peer(folder, "fay", THEIRS, f'{hides} ["member/tel"]\ncount-at-least = 10')
    with daemons(dan, eve, fay) as (_, *others):
        for other in others:
            add_acquaintance(dan, proposal(folder, other, ALL))
        yield dan


@pytest.mark.parametrize(
    ("query", "lacks"),
    [
        pytest.param("//note", {"hidden": "eve"}, id="a leaf"),
        pytest.param("//person[note = 's']/name", {"hidden": "eve"}, id="a condition"),
        pytest.param("//visit[what = 'tea']/day", {"hidden": "eve"}, id="a condition of a part"),
        pytest.param("//person[not(note)]/name", {"hidden": "eve"}, id="a negation"),
        pytest.param("for $p in //person return <r>{$p/name}{$p/note}</r>", {"hidden": "eve"}, id="a slot"),
        pytest.param("count(//note)", {"hidden": "eve"}, id="a count"),
        pytest.param("//phone", {"hidden": "fay"}, id="what is counted only"),
        pytest.param("//person[phone = '1']/note", {"hidden": "eve fay"}, id="both"),
    ],
)
def test_what_is_hidden_is_missing(shy: Path, query: str, lacks: dict[str, str]) -> None:
    assert_lacks(asked(shy, query), **lacks)


def test_groups_that_are_held_back_are_missing(shy: Path) -> None:
    query = "for $p in //person group by $n := string($p/phone) return <g>{$n, count($p)}</g>"
    assert_lacks(asked(shy, query), hidden="fay")


# -- peers that do not answer, or not all -----------------------------------------------------------------------------


@contextmanager
def knowing(folder: Path, *settings: str, own: str = OPEN) -> Iterator[tuple[Path, list[Daemon]]]:
    """Gus, who knows peers with these settings, called hal0 and so on, by all arrows, while all are at work."""
    gus = peer(folder, "gus", MINE, own)
    others = [peer(folder, f"hal{number}", THEIRS, each) for number, each in enumerate(settings)]
    with daemons(gus, *others) as (_, *known):
        for one in known:
            add_acquaintance(gus, proposal(folder, one, ALL))
        yield gus, known


def test_peers_that_are_gone_or_stand_still_are_missing(tmp_path: Path) -> None:
    with knowing(tmp_path, OPEN, OPEN) as (gus, (gone, still)):
        assert asked(gus, "//name").code == 0
        with frozen(still.folder):
            assert_lacks(asked(gus, "//name", "--timeout", "3"), timed_out="hal1")
        gone.end(signal.SIGTERM)
        assert_lacks(asked(gus, "//name"), unreachable="hal0")
        assert_lacks(asked(gus, "count(//name)"), unreachable="hal0")
        with frozen(still.folder):
            assert_lacks(asked(gus, "//name", "--timeout", "3"), unreachable="hal0", timed_out="hal1")


def test_peers_that_deny_refuse_or_fail_are_missing(tmp_path: Path) -> None:
    with knowing(tmp_path, 'policy = "ask"', f"{OPEN}\nbudget = 1") as (gus, _):
        assert_lacks(asked(gus, "//name"), denied="hal0", failed="hal1")
        assert_lacks(asked(gus, "count(//name)"), denied="hal0", failed="hal1")
        in_one = "for $p in //person return string-join($p/visit/day, ' ')"
        assert_lacks(asked(gus, in_one), refused="hal0 hal1")


def test_items_over_the_own_budget_are_missing(tmp_path: Path) -> None:
    with knowing(tmp_path, OPEN, own=f"{OPEN}\nbudget = 200") as (gus, _):
        found = asked(gus, "//name")
        assert found.code == 3
        assert "failed" in found.lacks
