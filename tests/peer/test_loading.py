"""A peer's store beside its documents: kept up to date, made anew, and never ahead of what was acknowledged."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from unittest import mock

import pytest

from heptox.demo import HOSPITAL
from heptox.errors import Fault, InputError, PeerError, SchemaError, StoreError
from heptox.grammar import parse_query
from heptox.peer import PeerFolder, create_inferred, document_loading
from heptox.peer.folder.loading import DocumentLoader, open_store, update_store
from heptox.store import Store, plan_query, query

NAMES = "//Patient/Name"


def hospital(*names: str) -> bytes:
    patients = (f"<Patient ID='{name}'><Name>{name}</Name><Hist/></Patient>" for name in names)
    return f"<MonGenHosp>{''.join(patients)}</MonGenHosp>".encode()


@pytest.fixture
def folder(tmp_path: Path) -> PeerFolder:
    made = PeerFolder.create(tmp_path / "montreal", HOSPITAL / "mongenhosp.dtd")
    with document_loading(made.path) as loader:
        loader.load("one", hospital("Ann", "Bob"))
        loader.load("two", hospital("Cid"))
    return made


@contextmanager
def started(folder: PeerFolder) -> Iterator[Store]:
    """The store as a daemon has it after its start."""
    with folder.locked(), open_store(folder) as store:
        update_store(store, folder)
        yield store


def names(store: Store) -> list[str]:
    found = query(store, plan_query(parse_query(NAMES), store.catalogue))
    return sorted(item.removeprefix("<Name>").removesuffix("</Name>") for item in found)


# -- at the start ----------------------------------------------------------------------------------------------------


def test_documents_that_are_as_they_were_are_not_read_again(folder: PeerFolder) -> None:
    with started(folder) as store:
        before = store.documents(), names(store)
    read = AssertionError("it is read again")
    with (
        mock.patch("heptox.peer.folder.loading.parse_document", side_effect=read),
        mock.patch.object(Store, "load", side_effect=read),
        started(folder) as store,
    ):
        assert (store.documents(), names(store)) == before
    assert before[1] == ["Ann", "Bob", "Cid"]


def test_what_happened_to_the_documents_meanwhile_is_followed(folder: PeerFolder) -> None:
    documents = folder.path / "documents"
    with started(folder) as store:
        before = {document.name: document.doc for document in store.documents()}
    (documents / "one.xml").write_bytes(hospital("Dan"))
    (documents / "three.xml").write_bytes(hospital("Eve"))
    with started(folder) as store:
        assert names(store) == ["Cid", "Dan", "Eve"]
        assert {document.name: document.doc for document in store.documents()}["two.xml"] == before["two.xml"]
    for file in (documents / "one.xml", documents / "two.xml"):
        file.unlink()
    with started(folder) as store:
        assert names(store) == ["Eve"]
    (documents / "bad.xml").write_text("<MonGenHosp>")
    (documents / "worse.xml").write_bytes(b"<a>\xff</a>")
    (documents / "three.xml").write_bytes(hospital("Fay"))
    with pytest.raises(InputError) as raised, started(folder):
        pass
    assert [(fault.code, fault.position and fault.position.file) for fault in raised.value.faults] == [
        ("HX1002", str(documents / "bad.xml")),
        ("HX1003", str(documents / "worse.xml")),
    ]


@pytest.mark.parametrize("damage", ["gone", "garbage", "empty", "cut", "zeros", "version", "schema", "database"])
def test_a_store_that_is_of_no_use_is_made_anew(
    folder: PeerFolder, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = folder.path / "store.duckdb"
    data = file.read_bytes()
    match damage:
        case "gone":
            file.unlink()
        case "garbage":
            file.write_text("no database" * 10_000)
        case "empty":
            file.write_bytes(b"")
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "zeros":
            file.write_bytes(data[:12_288] + bytes(len(data) - 12_288))
        case "version":
            with folder.locked(), open_store(folder) as store:
                store.cursor().execute("UPDATE store SET format = 0").fetchall()
        case "schema":
            schema = folder.path / "schema.dtd"
            schema.write_text(schema.read_text() + '<!ATTLIST Patient Town CDATA "Montreal">')
        case "database":
            with folder.locked(), open_store(folder) as store:
                store.cursor().execute("DROP TABLE store").fetchall()
    with started(folder) as store:
        assert names(store) == ["Ann", "Bob", "Cid"]
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (damage != "gone")
    assert all(line.startswith("the store is made anew from the documents: ") for line in told)
    with mock.patch.object(Store, "load", side_effect=AssertionError), started(folder) as store:
        assert names(store) == ["Ann", "Bob", "Cid"]


def test_a_document_of_another_schema_from_before_such_were_refused_is_held_at_the_start(folder: PeerFolder) -> None:
    (folder.path / "documents" / "old.xml").write_text("<bib><Patient><Name>Old</Name></Patient></bib>")
    with started(folder) as store:
        assert names(store) == ["Ann", "Bob", "Cid", "Old"]
        with pytest.raises(SchemaError, match=r"new\.xml:1:1: HX2013 the root element is bib, not MonGenHosp"):
            DocumentLoader(folder, store).load("new", b"<bib/>", file="new.xml")
        assert not (folder.path / "documents" / "new.xml").exists()


# -- loading ---------------------------------------------------------------------------------------------------------


def test_queries_go_on_during_a_load_and_see_the_state_before(folder: PeerFolder) -> None:
    with started(folder) as store:
        seen: list[list[str]] = []
        loader = DocumentLoader(folder, store)
        loader.load("two", hospital("Dan"), replacing=True, progress=lambda _: seen.append(names(store)))
        assert seen
        assert all(state == ["Ann", "Bob", "Cid"] for state in seen)
        assert names(store) == ["Ann", "Bob", "Dan"]


def test_what_the_store_cannot_take_is_not_on_the_disk(folder: PeerFolder) -> None:
    def files() -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in (folder.path / "documents").iterdir()}

    before = files()
    full = StoreError(Fault("HX6016", "the disk is full"))
    with started(folder) as store:
        loader = DocumentLoader(folder, store)
        with mock.patch.object(Store, "load", side_effect=full):
            for name in ("two", "three"):
                with pytest.raises(StoreError):
                    loader.load(name, hospital("Dan"), replacing=True)
        assert files() == before
        assert names(store) == ["Ann", "Bob", "Cid"]


def test_bad_ones_are_refused_and_change_nothing(folder: PeerFolder) -> None:
    with document_loading(folder.path) as loader:
        for name, data in (("three", b"<MonGenHosp>"), ("one", hospital("Dan")), ("../x", hospital("Dan"))):
            with pytest.raises((InputError, PeerError)):
                loader.load(name, data)
    with started(folder) as store:
        assert names(store) == ["Ann", "Bob", "Cid"]


def test_what_is_not_valid_is_refused_with_what_would_admit_it_or_kept_with_a_warning(folder: PeerFolder) -> None:
    odd = b"<MonGenHosp><Patient ID='e'><Name>Eve</Name><Hist/></Patient><odd/></MonGenHosp>"
    with document_loading(folder.path) as loader, pytest.raises(SchemaError) as raised:
        loader.load("odd", odd)
    *_, last = raised.value.faults
    assert {fault.code for fault in raised.value.faults} == {"HX2007", "HX7111"}
    assert last.hint is not None and "MonGenHosp: odd added, any number; MonGenHosp/odd: declared, empty" in last.hint
    settings = folder.path / "peer.toml"
    settings.write_text(settings.read_text("utf-8").replace('"strict"', '"lax"'), encoding="utf-8")
    with document_loading(folder.path) as loader:
        loaded = loader.load("odd", odd)
        assert (loaded.outcome, {fault.code for fault in loaded.faults}) == ("new", {"HX2007"})
    with started(folder) as store:
        assert names(store) == ["Ann", "Bob", "Cid", "Eve"]


def test_a_peer_without_a_schema_gets_that_of_its_first_documents(tmp_path: Path) -> None:
    first, other = tmp_path / "1.xml", tmp_path / "2.xml"
    first.write_text('<b:bib xmlns:b="urn:b"><b:book year="1999"/><b:book year="1"/></b:bib>', encoding="utf-8")
    other.write_text("<bib/>", encoding="utf-8")
    with pytest.raises(SchemaError, match=r"the documents have the roots bib, \{urn:b\}bib"):
        create_inferred(tmp_path / "none", [str(first), str(other)])
    made = create_inferred(tmp_path / "peer", [str(first)])
    assert made.settings.root == "{urn:b}bib"
    with document_loading(made.path) as loader:
        assert loader.load("1", first.read_bytes()).faults == ()
        with pytest.raises(SchemaError) as raised:
            loader.load("3", b'<b:bib xmlns:b="urn:b"><b:book><b:isbn/></b:book></b:bib>')
    assert "b:bib/b:book: @year was required, now optional" in (raised.value.faults[-1].hint or "")


# -- removing --------------------------------------------------------------------------------------------------------


def test_a_document_that_is_removed_is_nowhere_and_the_next_start_does_not_find_it(folder: PeerFolder) -> None:
    with started(folder) as store:
        assert DocumentLoader(folder, store).remove("one") == "one.xml"
        assert names(store) == ["Cid"]
        assert [file.name for file in (folder.path / "documents").iterdir()] == ["two.xml"]
    with started(folder) as store:
        assert names(store) == ["Cid"]
        assert DocumentLoader(folder, store).load("one", hospital("Dan")).outcome == "new"


def test_what_is_not_held_is_not_removed_and_it_is_said_what_is(folder: PeerFolder) -> None:
    with document_loading(folder.path) as loader:
        for name, code in (("three", "HX6015"), ("../schema.dtd", "HX7052"), ("x" * 300, "HX7052"), ("", "HX7052")):
            with pytest.raises(PeerError) as raised:
                loader.remove(name)
            assert [fault.code for fault in raised.value.faults] == [code]
            if code == "HX6015":
                assert raised.value.faults[0].hint == "one.xml, two.xml"
        assert loader.remove("one.xml") == "one.xml"
        assert loader.remove("two") == "two.xml"
        with pytest.raises(PeerError, match="there are none"):
            loader.remove("two")


def test_a_document_that_the_store_is_behind_of_is_removed_all_the_same(folder: PeerFolder) -> None:
    (folder.path / "documents" / "three.xml").write_bytes(hospital("Eve"))
    with document_loading(folder.path) as loader:
        loader.remove("three")
    with started(folder) as store:
        assert names(store) == ["Ann", "Bob", "Cid"]


def test_what_the_store_cannot_remove_is_on_the_disk_again(folder: PeerFolder) -> None:
    full = StoreError(Fault("HX6016", "the disk is full"))
    with started(folder) as store:
        with mock.patch.object(Store, "remove", side_effect=full), pytest.raises(StoreError):
            DocumentLoader(folder, store).remove("one")
        assert sorted(file.name for file in (folder.path / "documents").iterdir()) == ["one.xml", "two.xml"]
        assert names(store) == ["Ann", "Bob", "Cid"]


LOADER = """
import sys
from pathlib import Path
from heptox.peer import document_loading

def tell(*what):
    print(*what, flush=True)

def hospital(name, count):
    patients = (f"<Patient ID='p{n}'><Name>{name}</Name><Hist/></Patient>" for n in range(count))
    return f"<MonGenHosp>{''.join(patients)}</MonGenHosp>".encode()

with document_loading(Path(sys.argv[1])) as loader:
    tell("ready")
    for number in range(1000):
        loader.load(f"d{number}", hospital(f"n{number}", 2_000), progress=tell)
        tell("loaded", number, 2_000)
        if number % 2:
            loader.load(f"d{number}", hospital(f"n{number}", 3_000), replacing=True, progress=tell)
            tell("loaded", number, 3_000)
"""


def test_a_load_that_is_killed_leaves_every_acknowledged_document_whole(folder: PeerFolder) -> None:
    random = Random(3)
    for _ in range(3):
        for path in list((folder.path / "documents").iterdir()):
            path.unlink()
        process = subprocess.Popen([sys.executable, "-c", LOADER, str(folder.path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(random.randint(5, 20))]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().splitlines()
        process.wait(240)
        acknowledged = {int(line.split()[1]): int(line.split()[2]) for line in told if line.startswith("loaded ")}
        assert acknowledged
        with started(folder) as store:
            found = names(store)
        counts = {int(name[1:]): found.count(name) for name in set(found)}
        assert set(counts.values()) <= {2_000, 3_000}
        assert all(counts[number] >= count for number, count in acknowledged.items())
        assert len(counts) <= len(acknowledged) + 1
