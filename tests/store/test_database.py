"""Documents at rest: loaded whole or not at all, found again, replaced, removed, read while others are loaded."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Event, Thread

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import HeptoxError, InputError, StoreError
from heptox.schema import SchemaGraph, parse_dtd
from heptox.store import chunks
from heptox.store.database import Store, StoredDocument
from heptox.store.relations import Catalogue
from tests.store.stored import expected, random_graph, random_text
from tests.support.budget import tries

DTD = "<!ELEMENT people (person*)> <!ELEMENT person (name, note?)> <!ELEMENT name (#PCDATA)> <!ELEMENT note (#PCDATA)>"
GRAPH = parse_dtd(DTD, "people")


def people(count: int, name: str = "p") -> bytes:
    return f"<people>{''.join(f'<person><name>{name}{n}</name></person>' for n in range(count))}</people>".encode()


def names(store: Store) -> list[str]:
    return [document.name for document in store.documents()]


def row_count(store: Store) -> int:
    ((count,),) = store.cursor().execute("SELECT count(*) FROM r1").fetchall()
    return int(count)


def whole_text(store: Store, document: StoredDocument) -> str:
    return store.text(document.doc, 0, document.length)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None, GRAPH) as opened:
        yield opened


def codes(error: pytest.ExceptionInfo[HeptoxError]) -> list[str]:
    return [fault.code for fault in error.value.faults]


# -- what is kept ------------------------------------------------------------------------------------------------


@given(st.integers(0, 1 << 32))
@settings(max_examples=tries(25))
def test_rows_and_elements_are_those_of_trees_in_memory(seed: int) -> None:
    random = Random(seed)
    graph = random_graph(random)
    catalogue = Catalogue(graph)
    texts = [random_text(graph, random) for _ in range(3)]
    wanted = [expected(text, graph, catalogue) for text in texts]
    with Store.open(None, graph) as store:
        loaded = [store.load(str(number), text.encode()).document for number, text in enumerate(texts)]
        assert store.documents() == tuple(loaded)
        cursor = store.cursor()
        for document, want in zip(loaded, wanted, strict=True):
            assert document.regular
            assert document.rows == sum(map(len, want.rows.values()))
            for table, rows in want.rows.items():
                query = f"SELECT * FROM {table} WHERE doc = ? ORDER BY node"
                found = cursor.execute(query, [document.doc]).fetchall()
                assert [list(row) for row in found] == [[document.doc, *row] for row in rows]
            for node, stop in want.places.values():
                assert store.text(document.doc, node, stop, cursor) == want.text[node:stop].decode()


def test_elements_are_cut_across_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 1000)
    monkeypatch.setattr(chunks, "CACHE", 5000)
    text = people(500, "é\U0001f600").decode()
    document = store.load("a", text.encode()).document
    random = Random(1)
    for _ in range(300):
        before, upto = (text[:end].encode() for end in sorted(random.sample(range(len(text) + 1), 2)))
        assert store.text(document.doc, len(before), len(upto)) == upto.removeprefix(before).decode()
    assert whole_text(store, document) == text


def test_what_does_not_fit_is_kept_without_rows_and_told(store: Store) -> None:
    loaded = store.load("odd", people(3).replace(b"</people>", b"<dog>x</dog>\n<cat/></people>"))
    assert store.documents() == (loaded.document,)
    assert not loaded.document.regular
    assert (loaded.document.rows, row_count(store), loaded.document.misfit_count) == (0, 0, 2)
    told = [f"{fault}" for fault in loaded.document.misfits]
    assert told == [
        "odd:1:105: HX6020 /people: dog cannot stand in people",
        "odd:2:1: HX6020 /people: cat cannot stand in people",
    ]
    assert whole_text(store, loaded.document).endswith("<dog>x</dog>\n<cat/></people>")


def test_rows_that_were_handed_over_before_a_misfit_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.store.intake.BATCH", 1)
    regular = store.load("regular", people(10)).document
    store.load("odd", people(20_000).replace(b"</people>", b"<dog/></people>"))
    assert row_count(store) == regular.rows - 1 == 10


@pytest.mark.parametrize("data", [b"<people>", b"", b"<people><p:x/></people>", b"<people>&x;</people>", b"\xff"])
def test_what_is_no_document_leaves_nothing(store: Store, data: bytes) -> None:
    store.load("a", people(2))
    with pytest.raises(InputError):
        store.load("b", data)
    assert (names(store), row_count(store)) == (["a"], 2)
    store.load("b", people(1))
    assert (names(store), row_count(store)) == (["a", "b"], 3)


def test_a_check_refuses_before_anything_is_kept(store: Store) -> None:
    def check(document: StoredDocument) -> None:
        raise InputError(document.misfits)

    with pytest.raises(InputError) as caught:
        store.load("a", b"<dog/>", check=check)
    assert codes(caught) == ["HX6020"]
    assert store.documents() == ()


def test_progress_tells_the_bytes_read(store: Store, tmp_path: Path) -> None:
    data = people(400_000)
    told: list[int] = []
    (tmp_path / "a.xml").write_bytes(data)
    store.load("a", tmp_path / "a.xml", progress=told.append)
    assert told == sorted(told)
    assert len(told) > 3
    assert told[-1] == len(data)


# -- names -------------------------------------------------------------------------------------------------------


class Pipe(io.BytesIO):
    """A source that can be read once."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise OSError


@pytest.mark.parametrize("source", [lambda data: data, io.BytesIO, Pipe])
def test_a_name_holds_one_document(store: Store, source: type[io.BytesIO]) -> None:
    first = store.load("a", source(people(2)))
    assert first.outcome == "loaded"
    again = store.load("a", source(people(2)))
    assert (again.outcome, again.document) == ("held", first.document)
    with pytest.raises(StoreError) as caught:
        store.load("a", source(people(3)))
    assert codes(caught) == ["HX6011"]
    assert store.documents() == (first.document,)
    replaced = store.load("a", source(people(3)), replace=True)
    assert replaced.outcome == "replaced"
    assert store.documents() == (replaced.document,)
    assert replaced.document.doc > first.document.doc
    assert row_count(store) == 3
    assert whole_text(store, replaced.document) == people(3).decode()
    with pytest.raises(StoreError) as caught:
        store.text(first.document.doc, 0, 8)
    assert codes(caught) == ["HX6015"]


def test_a_document_that_cannot_replace_another_leaves_it(store: Store) -> None:
    first = store.load("a", people(2)).document
    with pytest.raises(InputError):
        store.load("a", b"<people>", replace=True)
    assert store.documents() == (first,)
    assert row_count(store) == 2
    assert whole_text(store, first) == people(2).decode()


def test_removing(store: Store) -> None:
    store.load("a", people(2))
    document = store.load("b", people(3)).document
    assert store.remove("b") == document
    assert (names(store), row_count(store)) == (["a"], 2)
    with pytest.raises(StoreError) as caught:
        store.remove("b")
    assert codes(caught) == ["HX6015"]
    assert store.load("b", people(1)).document.doc > document.doc


# -- files -------------------------------------------------------------------------------------------------------


def test_documents_are_there_when_the_store_is_opened_again(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", GRAPH) as store:
        kept = (store.load("a", people(3)).document, store.load("b", b"<dog/>").document)
    with Store.open(tmp_path / "s", parse_dtd(f"{DTD}<!-- the same -->", "people")) as store:
        assert store.documents() == kept
        assert row_count(store) == 3
        assert whole_text(store, kept[0]) == people(3).decode()
        assert store.load("c", people(1)).document.doc > kept[1].doc


@pytest.mark.parametrize(
    ("graph", "part"),
    [
        (parse_dtd(DTD.replace("note?", "note*"), "people"), "another schema, with the root people"),
        (parse_dtd(DTD, "person"), "another schema, with the root people"),
    ],
)
def test_another_schema_is_refused(tmp_path: Path, graph: SchemaGraph, part: str) -> None:
    Store.open(tmp_path / "s", GRAPH).close()
    with pytest.raises(StoreError, match=part) as caught:
        Store.open(tmp_path / "s", graph)
    assert codes(caught) == ["HX6012"]
    Store.open(tmp_path / "s", GRAPH).close()


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"junk" * 5000)
    with duckdb.connect(str(tmp_path / "other")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)").fetchall()
    Store.open(tmp_path / "old", GRAPH).close()
    with duckdb.connect(str(tmp_path / "old")) as connection:
        connection.execute("UPDATE store SET format = 0").fetchall()
    for name in ("junk", "other", "old", "none/s", "."):
        with pytest.raises(StoreError) as caught:
            Store.open(tmp_path / name, GRAPH)
        assert codes(caught) == ["HX6014"], name
        assert caught.value.faults[0].file == str(tmp_path / name)


def test_a_file_needs_the_text_of_the_schema(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no DTD"):
        Store.open(tmp_path / "s", SchemaGraph("people", GRAPH.elements))


def test_a_store_is_open_once(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s", GRAPH):
        with pytest.raises(StoreError) as caught:
            Store.open(tmp_path / "s", GRAPH)
        assert codes(caught) == ["HX6013"]
        program = (
            "import sys; from pathlib import Path; from tests.store.test_database import GRAPH, Store\n"
            "try: Store.open(Path(sys.argv[1]), GRAPH)\n"
            "except Exception as error: print(error)"
        )
        run = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "s")],
            capture_output=True,
            text=True,
            timeout=180,
            check=True,
        )
        assert run.stdout.strip() == f"{tmp_path / 's'}: HX6013 process {os.getpid()} has the store open " + (
            "(a store is open in one process at a time)"
        )


# -- others meanwhile --------------------------------------------------------------------------------------------


def test_queries_go_on_during_a_load(store: Store) -> None:
    store.load("a", people(1000))
    seen: list[tuple[int, int]] = []
    started, done = Event(), Event()

    def read() -> None:
        cursor = store.cursor()
        while not done.is_set():
            rows = cursor.execute("SELECT doc, node, stop FROM r1 ORDER BY doc, node").fetchall()
            some = rows[:: max(1, len(rows) // 50)]
            texts = [store.text(doc, node, stop, cursor) for doc, node, stop in some]
            assert all(text.startswith("<person>") and text.endswith("</person>") for text in texts)
            seen.append((len(rows), len(store.documents())))
            started.set()

    reader = Thread(target=read)
    reader.start()
    assert started.wait(240)
    before = len(seen)
    store.load("b", people(60_000))
    during = len(seen)
    done.set()
    reader.join(240)
    assert during > before
    assert set(seen) <= {(1000, 1), (1000, 2), (61_000, 2)}
    assert seen[before] == (1000, 1)


def test_a_transaction_sees_one_moment(store: Store) -> None:
    document = store.load("a", people(5)).document
    cursor = store.cursor()
    cursor.execute("BEGIN").fetchall()
    assert cursor.execute("SELECT count(*) FROM r1").fetchall() == [(5,)]
    store.load("a", people(7), replace=True)
    assert cursor.execute("SELECT count(*) FROM r1").fetchall() == [(5,)]
    assert store.text(document.doc, 0, document.length, cursor) == people(5).decode()
    cursor.execute("COMMIT").fetchall()
    assert cursor.execute("SELECT count(*) FROM r1").fetchall() == [(7,)]


# -- crashes -----------------------------------------------------------------------------------------------------

LOADER = f"""
import sys
from pathlib import Path
from heptox.schema import parse_dtd
from heptox.store import database

database._BATCH = 1 << 16

def people(count):
    persons = (f"<person><name>p{{n}}</name></person>" for n in range(count))
    return f"<people>{{''.join(persons)}}</people>".encode()

def tell(*what):
    print(*what, flush=True)

with database.Store.open(Path(sys.argv[1]), parse_dtd({DTD!r}, "people")) as store:
    for number in range(int(sys.argv[2]), 1000):
        store.load(f"d{{number}}", people(10_000 + number), progress=tell)
        tell("loaded", number)
        if number % 3 == 2:
            store.load(f"d{{number - 1}}", people(20_000 + number), replace=True, progress=tell)
            store.remove(f"d{{number - 2}}")
            tell("removed", number - 2)
"""


def is_whole(store: Store, document: StoredDocument) -> bool:
    number = int(document.name[1:])
    text = whole_text(store, document)
    count = text.count("<person>")
    rows = store.cursor().execute("SELECT count(*) FROM r1 WHERE doc = ?", [document.doc]).fetchall()
    return count in (10_000 + number, 20_000 + number + 1) and rows == [(count,)] and text == people(count).decode()


def kill_while_loading(path: Path, random: Random, first: int) -> int:
    """Kill a process while it loads: every document is whole, and those that it had done are there. The next number."""
    process = subprocess.Popen([sys.executable, "-c", LOADER, str(path), str(first)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(random.randint(1, 40))]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read().split("\n")
    process.wait(240)
    loaded = {int(line.split()[1]) for line in told if line.startswith("loaded ") and line.split()[1:]}
    removed = {int(line.split()[1]) for line in told if line.startswith("removed ") and line.split()[1:]}
    with Store.open(path, GRAPH) as store:
        documents = store.documents()
        held = {document.name for document in documents}
        assert {f"d{number}" for number in loaded if number % 3} <= held
        assert not {f"d{number}" for number in removed} & held
        assert all(is_whole(store, document) for document in documents)
        assert row_count(store) == sum(document.rows - 1 for document in documents)
        numbers = store.cursor().execute("SELECT DISTINCT doc FROM chunks ORDER BY doc").fetchall()
        assert numbers == [(document.doc,) for document in documents]
        return max((int(document.name[1:]) + 1 for document in documents), default=first)


def test_a_killed_process_leaves_documents_whole_or_absent(tmp_path: Path) -> None:
    random, following = Random(7), 0
    for _ in range(4):
        following = kill_while_loading(tmp_path / "s", random, following)
    assert following


def test_pandas_stays_out() -> None:
    """Arrow would import it, where it is installed, in the middle of the first query."""
    program = """
import sys
from heptox.grammar import parse_query
from heptox.schema import parse_dtd
from heptox.store import Store, plan_query, query
with Store.open(None, parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)>", "r")) as store:
    store.load("one", b"<r>" + b"<a>x</a>" * 100 + b"</r>")
    assert len(list(query(store, plan_query(parse_query("//a[. = 'x']"), store.catalogue)))) == 100
assert "pandas" not in sys.modules
import pandas
"""
    subprocess.run([sys.executable, "-c", program], check=True)
