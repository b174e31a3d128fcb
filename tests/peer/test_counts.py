"""Paths that are for counts only: what neighbours hear of them, whatever they ask."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
import trio

from heptox.errors import HeptoxError, PeerError
from heptox.grammar import encode_query, parse_query, print_query
from heptox.peer import PeerFolder, document_loading
from heptox.peer.answering import Answering
from heptox.peer.folder.exports import counted_paths, sets_in_force
from heptox.peer.folder.loading import DocumentLoader, open_exports, open_store
from heptox.peer.query.counts import MOST_COUNTS, CountsOnly
from heptox.peer.wire.messages import Hop
from heptox.schema import SchemaTree, parse_dtd
from heptox.settings import Hide, peer_settings_text, read_peer_settings
from heptox.shell import CoreAnswers, answers_document, split, with_schema
from tests.peer.daemons import daemons, heptox
from tests.support.fixtures import FIXTURES
from tests.support.saxon import evaluate_module

DTD: Final = """
<!ELEMENT clinic (patient*, room*)>
<!ELEMENT patient (name, ill, cost?, visit*)>
<!ATTLIST patient id CDATA #REQUIRED>
<!ELEMENT name (#PCDATA)> <!ELEMENT ill (#PCDATA)> <!ELEMENT cost (#PCDATA)> <!ELEMENT visit (#PCDATA)>
<!ELEMENT room (#PCDATA)>
"""
LEAST: Final = 10
POLICY: Final = (Hide(("patient/ill", "patient/cost", "patient/visit"), least=LEAST), Hide(("patient/name",)))


def patients(ills: dict[str, int]) -> str:
    """A clinic with so many patients of each illness, of whom the first has a cost that no other has."""
    made: list[str] = []
    for ill, count in ills.items():
        for number in range(count):
            cost = "" if ill == "pox" and number else f"<cost>{7 if number else 1000}</cost>"
            visits = "<visit>1</visit>" * (20 if not number else 1)
            made.append(
                f'<patient id="{ill}{number}"><name>{ill}{number}</name><ill>{ill}</ill>{cost}{visits}</patient>'
            )
    return f"<clinic>{''.join(made)}{'<room>r</room>' * 20}</clinic>"


@dataclass(frozen=True, slots=True)
class Clinic:
    answering: Answering

    def answer(self, text: str) -> tuple[list[str], tuple[str, ...]]:
        """What a neighbour gets of a query that is sent as it is, and its losses."""
        policy = frozenset[str]().union(*(hide.paths for hide in POLICY))
        path = (Hop("asker", "asker"), Hop("me", "Me"))
        body = encode_query(parse_query(text))

        async def asked() -> tuple[list[str], tuple[str, ...]]:
            losses = await self.answering.losses(body, path, policy)
            found: list[str] = []
            async with aclosing(self.answering.evaluate("q", body, path, 10**8, policy)) as batches:
                async for batch in batches:
                    found += batch
            return found, losses

        return trio.run(asked)

    def computed(self, query: str) -> tuple[list[str], tuple[str, ...]]:
        """What a neighbour computes of a query, whose schema knows the key of patients."""
        found, gathered, lost = split(query), {}, tuple[str, ...]()
        tree = SchemaTree(parse_dtd(DTD))
        for core in found.cores:
            asked = with_schema(core.counted, tree, frozenset({("patient", "@id")}))
            items, losses = self.answer(print_query(asked))
            answers = CoreAnswers(core.brings_rows)
            answers.add(("me",), items)
            gathered[core.variable] = answers.gathered(core.variable)
            lost += losses
        return evaluate_module(found.text, answers_document(gathered)), lost


@contextmanager
def clinic_of(path: Path, document: str) -> Iterator[Clinic]:
    dtd = path / "clinic.dtd"
    dtd.write_text(DTD)
    folder = PeerFolder.create(path / "clinic", dtd)
    (folder.path / "peer.toml").write_text(peer_settings_text(replace(folder.settings, hide=POLICY)))
    folder = PeerFolder.open(folder.path)
    with folder.locked(), open_store(folder) as store, open_exports(folder) as exports:
        DocumentLoader(folder, store, exports).load("clinic.xml", document.encode())
        answering = Answering(2, store, exports)
        answering.counts.least = counted_paths(POLICY)
        yield Clinic(answering)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    with clinic_of(tmp_path_factory.mktemp("counts"), patients({"flu": 12, "pox": 11, "gout": 9})) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("count(//patient[ill])", ["32"]),
        ("count(//patient[ill = 'gout'])", ["0"]),
        (
            "for $p in //patient group by $ill := string($p/ill) order by $ill return <g>{$ill, count($p)}</g>",
            ["<g>flu 12</g>", "<g>pox 11</g>"],
        ),
        ("for $p in //patient where $p/ill = 'flu' group by $all := 1 return sum($p/cost)", ["1077"]),
        # of ten patients or more, one alone has a cost
        (
            "for $p in //patient group by $ill := string($p/ill) order by $ill return <g>{$ill, sum($p/cost)}</g>",
            ["<g>flu 1077</g>", "<g>pox 0</g>"],
        ),
        ("for $p in //patient where $p/ill = 'flu' group by $all := 1 return avg($p/cost) * 12", ["1077"]),
    ],
)
def test_groups_that_are_large_enough_are_told(clinic: Clinic, query: str, items: list[str]) -> None:
    found, losses = clinic.computed(query)
    assert found == items
    assert losses and all(loss.endswith(f"not in groups of fewer than {LEAST}") for loss in losses)


@pytest.mark.parametrize("query", ["count(//patient)", "count(//patient[@id = 'gout1'])", "count(//room)"])
def test_what_is_not_hidden_is_told_as_ever(clinic: Clinic, query: str) -> None:
    (count,), losses = clinic.computed(query)
    assert int(count) == int("room" in query) * 20 + int(query == "count(//patient)") * 32 + int("gout" in query)
    assert losses == ()


def test_without_counting_it_is_hidden(clinic: Clinic) -> None:
    assert clinic.answer("for $p in //patient[@id = 'flu0'] return <p>{$p/@id}{$p/ill}</p>") == (
        ['<p id="flu0"/>'],
        ("patient/ill: hidden",),
    )
    assert clinic.answer("//ill") == ([], ("patient/ill: hidden",))
    found, losses = clinic.computed("count(//patient[ill = 'flu'][name = 'flu0'])")
    assert found == ["0"]
    assert losses == ("patient/ill: not in groups of fewer than 10", "patient/name: hidden")


NODES: Final = "<heptox-nodes>0<n0>{generate-id($p)}</n0></heptox-nodes>"
HOSTILE: Final = dict(
    part.split("\n", 1) for part in (FIXTURES / "hostile-counts.txt").read_text().removeprefix("== ").split("\n== ")
)
"""Queries that neighbours have written to hear of one patient."""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_question_singles_one_out(tmp_path: Path, text: str) -> None:
    """What a neighbour hears is the same whether one patient, of whom it asks, has this illness or another."""
    heard: list[object] = []
    for ill in ("gout", "mumps"):
        folder = tmp_path / ill
        folder.mkdir()
        first = "<name>gout0</name><ill>{}</ill><cost>{}</cost>"
        document = patients({"flu": 12, "pox": 11, "gout": 9})
        document = document.replace(first.format("gout", 1000), first.format(ill, len(ill)))
        with clinic_of(folder, document) as made:
            try:
                heard.append(made.answer(text))
            except HeptoxError as error:
                heard.append(error.faults[0].code)
    assert heard[0] == heard[1]


def test_a_neighbour_gets_so_many_questions_answered_in_a_day() -> None:
    now = [0.0]
    counts = CountsOnly({"a": 10}, lambda: now[0])
    query = parse_query(f"for $p in //patient return <heptox-row><heptox-tuple/>{NODES}</heptox-row>")

    def ask(asker: str, number: int) -> str:
        try:
            counts.check(asker, bytes([number]), query)
        except PeerError as error:
            return error.faults[0].code
        return ""

    assert {ask("a", number) for number in range(MOST_COUNTS)} == {""}
    assert (ask("a", MOST_COUNTS), ask("a", 0), ask("b", MOST_COUNTS)) == ("HX7109", "", "")
    now[0] = 90_000.0
    assert ask("a", MOST_COUNTS) == ""


# -- the policy ------------------------------------------------------------------------------------------------------


def test_the_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "peer.toml"
    text = 'name = "a"\nroot = "r"\n[[hide]]\npaths = ["a/b"]\nfrom = "all"\ncount-at-least = 10\n'
    file.write_text(text)
    settings = read_peer_settings(file)
    assert settings.hide == (Hide(("a/b",), "all", 10),)
    file.write_text(peer_settings_text(settings))
    assert read_peer_settings(file) == settings
    for wrong in ("1", "true", '"10"', "2.5"):
        file.write_text(text.replace("10", wrong))
        with pytest.raises(PeerError, match=r"count-at-least = .* is no number from 2 to 1000000"):
            read_peer_settings(file)


def test_a_path_is_for_counts_wherever_it_is_hidden(tmp_path: Path) -> None:
    dtd = tmp_path / "clinic.dtd"
    dtd.write_text(DTD)
    folder = PeerFolder.create(tmp_path / "clinic", dtd)
    policy = (Hide(("patient/ill",), least=10), Hide(("//patient/ill",), (folder.identity.peer_id,)))
    (folder.path / "peer.toml").write_text(peer_settings_text(replace(folder.settings, hide=policy)))
    with pytest.raises(PeerError, match="patient/ill is for counts in groups of another size") as raised:
        PeerFolder.open(folder.path)
    assert raised.value.faults[0].code == "HX7080"
    assert set(sets_in_force(policy[:1]) or ()) == {frozenset({"patient/ill"}), frozenset()}
    assert set(sets_in_force(POLICY) or ()) == {
        frozenset({"patient/ill", "patient/cost", "patient/visit", "patient/name"}),
        frozenset({"patient/name"}),
    }


# -- daemons ---------------------------------------------------------------------------------------------------------


def test_the_asker_is_told_that_a_number_is_not_all(tmp_path: Path) -> None:
    (tmp_path / "clinic.dtd").write_text(DTD)
    (tmp_path / "ward.dtd").write_text(
        "<!ELEMENT ward (person*)> <!ELEMENT person (what)> <!ATTLIST person nr CDATA #REQUIRED>"
        " <!ELEMENT what (#PCDATA)>"
    )
    arrows = tmp_path / "ward-clinic.arrows"
    lines = ("each person -> patient", "person/@nr -> patient/@id", "person/what -> patient/ill")
    arrows.write_text("\n".join(('source "ward.dtd"', 'target "clinic.dtd"', *lines, "")))
    ward = PeerFolder.create(tmp_path / "ward", tmp_path / "ward.dtd").path
    clinic = PeerFolder.create(tmp_path / "clinic", tmp_path / "clinic.dtd")
    with document_loading(clinic.path) as loader:
        loader.load("clinic.xml", patients({"flu": 12, "gout": 9}).encode())
    with document_loading(ward) as loader:
        loader.load("ward.xml", b'<ward><person nr="1"><what>gout</what></person></ward>')
    policy = (Hide(("patient/ill",), least=LEAST),)
    (clinic.path / "peer.toml").write_text(peer_settings_text(replace(clinic.settings, hide=policy)))
    query = "for $p in //person group by $w := string($p/what) order by $w return <g>{$w, count($p)}</g>"
    with daemons(ward, clinic.path) as (asker, asked):
        for one, other in ((asker, asked), (asked, asker)):
            heptox("peer", "acquaint", one.folder, other.address, "--arrows", arrows)
        found = heptox("query", "--peer", ward, "--bounds", "9", query)
        assert (found.returncode, found.stdout.splitlines()) == (3, ["<g>flu 12</g>", "<g>gout 1</g>"])
        assert "patient/ill: not in groups of fewer than 10" in found.stderr
        assert found.stderr.splitlines()[-1] == "1 peer is missing"
        shown = heptox("peer", "status", clinic.path).stdout
        assert "hidden from all, but for counts of 10 and more: patient/ill" in shown
        whole = heptox("query", "--peer", ward, "--bounds", "50", "count(//person)")
        assert (whole.returncode, whole.stdout) == (0, "22\n")
        heptox("peer", "stop", clinic.path)
        for arguments, said in (
            (("count(//person)",), "the number is 1 at least"),
            (("--bounds", "50", "count(//person)"), "the number is from 1 to 51"),
            (("--bounds", "0", "count(//person)"), "the number is from 1 to 1"),
            (("--bounds", "9", "count(//person) * 1"), ""),
            (("--bounds", "9", "count(//person[empty(@nr)]) + 1"), ""),
            (("max(//person/@nr)",), "the number is 1.0e0 at least"),
            (("min(//person/@nr)",), "the number is 1.0e0 at most"),
        ):
            number = heptox("query", "--peer", ward, *arguments)
            assert (number.returncode, float(number.stdout)) == (3, 1)
            assert number.stderr.splitlines()[-1] == f"1 peer is missing{said and ': '}{said}"
        last = json.loads(heptox("query", "--peer", ward, "--json", "sum(//person/@nr)").stdout.splitlines()[-1])
        assert last["receipt"]["shell"]["bounds"] == {"missing": 1, "least": "", "most": ""}
