"""Many documents made to rows at a time, against one after the other; and rows put together for each document."""

from __future__ import annotations

import pickle
from itertools import pairwise
from random import Random

import pyarrow as pa
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from heptox.grammar import parse_query
from heptox.schema import SchemaGraph, parse_dtd
from heptox.store import Answers, Catalogue, Part, WideForm, WideRows, interpreted, plan_query, whole_documents
from tests.store.stored import expected, random_graph, random_text
from tests.support.budget import tries

GRAPH = parse_dtd(
    '<!ELEMENT a (b*, c?)> <!ATTLIST a k CDATA "d"> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA | b)*>', "a"
)

Rows = dict[tuple[int, int], list[list[int | str | None]]]


def shredded(graph: SchemaGraph, documents: list[tuple[int, str | bytes]]) -> tuple[Rows, dict[int, tuple[bytes, int]]]:
    """The rows of relations by document and relation, and the text of each document with what is said of it."""
    form = WideForm(Catalogue(graph))
    rows: Rows = {}
    texts: dict[int, tuple[bytes, int]] = {}
    for batch in WideRows(form).batches(documents):
        assert batch.schema == form.schema
        for row in batch.to_pylist():
            if row["relation"] < 0:
                assert row["relation"] == WideForm.TEXT, row["data"]
                piece = zstandard.decompress(row["data"])
                text = texts.get(row["doc"], (b"", 0))[0] + piece
                texts[row["doc"]] = text, row["path"]
                assert row["node"] == len(text) - len(piece)
                assert row["stop"] == len(text)
                continue
            relation = form.catalogue.relations[row["relation"]]
            named = form.columns(relation)
            cells = [row[name] for name in ("node", "stop", "parent", "path")]
            cells += [row[named[column.name]] for column in relation.columns]
            empty = {*form.schema.names[6:]} - {*named.values()}
            assert all(row[name] is None for name in empty)
            rows.setdefault((row["doc"], row["relation"]), []).append(cells)
    return rows, texts


@pytest.mark.usefixtures("small_blocks")
@given(st.integers(0, 1 << 32), st.sampled_from((0, 300, 1 << 17)), st.sampled_from((1, 1000, 1 << 22)))
@settings(max_examples=tries(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_those_of_each_document(seed: int, small: int, together: int) -> None:
    random = Random(seed)
    graph = random_graph(random)
    catalogue = Catalogue(graph)
    documents: list[tuple[int, str | bytes]] = [(number * 7 - 3, random_text(graph, random)) for number in range(6)]
    misfit = random.randrange(7)
    if misfit < len(documents):
        documents.insert(misfit, (1000, "<nothing><of/>the sort</nothing>"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heptox.store.collection.SMALL", small)
        patch.setattr("heptox.store.collection.TOGETHER", together)
        rows, texts = shredded(graph, documents)
    if misfit < len(documents) - 1:
        assert texts.pop(1000) == (b"<nothing><of/>the sort</nothing>", WideForm.IRREGULAR)
    assert not any(doc == 1000 for doc, _ in rows)
    for doc, text in documents:
        if doc == 1000:
            continue
        assert isinstance(text, str)
        wanted = expected(text, graph, catalogue)
        assert texts[doc][0] == wanted.text
        for number, expected_rows in enumerate(wanted.rows.values()):
            assert sorted(rows.get((doc, number), []), key=str) == sorted(expected_rows, key=str)


def test_what_is_said_of_each_document() -> None:
    given: list[tuple[int, str | bytes]] = [
        (1, "<a><b/>\n<b/></a>"),
        (2, b"<a/>"),
        (3, "<a>x</a>"),
        (4, "<?xml version='1.0' encoding='latin-1'?><a>\n<b>\u00e9</b></a>"),
        (5, "<a><c/><c/></a>"),
    ]
    _, texts = shredded(GRAPH, given)
    assert texts == {
        1: (b'<a k="d"><b/>\n<b/></a>', WideForm.WHITE),
        2: (b'<a k="d"/>', 0),
        3: (b'<a k="d">x</a>', WideForm.IRREGULAR),
        4: ('<a k="d">\n<b>\u00e9</b></a>'.encode(), WideForm.WHITE),
        5: (b'<a k="d"><c/><c/></a>', WideForm.IRREGULAR),
    }


@pytest.mark.parametrize("small", [0, 1 << 17])
def test_what_is_no_document_spoils_no_other(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.store.collection.SMALL", small)
    form = WideForm(Catalogue(GRAPH))
    batches = list(WideRows(form).batches([(1, "<a><b>x</b></a>"), (2, "<a>\n<b></a>"), (3, "<a/>")]))
    rows = pa.Table.from_batches(batches).select(["relation", "doc", "data"]).to_pylist()
    (unreadable,) = [row for row in rows if row["relation"] == WideForm.UNREADABLE]
    assert unreadable["doc"] == 2
    assert unreadable["data"].decode().startswith("<text>:2:")
    assert {row["doc"] for row in rows if row["relation"] == WideForm.TEXT} == {1, 3}


def test_no_documents_have_no_rows() -> None:
    assert not list(WideRows(WideForm(Catalogue(GRAPH))).batches([]))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 9))), st.lists(st.integers(0, 9)))
def test_rows_are_cut_between_documents(rows: list[tuple[int, int, int]], cuts: list[int]) -> None:
    rows.sort()
    columns = [pa.array([row[place] for row in rows], pa.int64()) for place in range(3)]
    batch = pa.RecordBatch.from_arrays(columns, ["query", "doc", "value"])
    bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    pieces = [batch.slice(begin, end - begin) for begin, end in pairwise(bounds)]
    found = list(whole_documents(iter(pieces), ("query", "doc")))
    assert [tuple(row.values()) for each in found for row in each.to_pylist()] == rows
    keys = [{(row["query"], row["doc"]) for row in each.to_pylist()} for each in found]
    assert all(keys)
    assert sum(map(len, keys)) == len({row[:2] for row in rows})


QUERY = "for $b in /a/b return (<r>{/a/@k, $b}</r>, for $c in /a/b where $c != $b return <o>{$c}</o>)"


def test_a_plan_can_be_sent_to_another_process() -> None:
    plan = plan_query(parse_query(QUERY), Catalogue(GRAPH))
    sent = pickle.loads(pickle.dumps(plan))
    assert sent.sql == plan.sql
    del plan
    rows = pa.RecordBatch.from_pylist(
        [
            {"branch": 0, "doc": 5, "t0": "v", "t1": "x"},
            {"branch": 1, "doc": 5, "t0": "y", "t1": None},
            {"branch": 0, "doc": 5, "t0": "v", "t1": ""},
            {"branch": 0, "doc": 7, "t0": "w", "t1": "z"},
        ]
    )
    answers = [(each.doc, each.items) for each in Answers(sent.plan, sent.names).of(rows, {})]
    assert answers == [
        (5, ['<r k="v"><b>x</b></r>', "<o><b>y</b></o>", '<r k="v"><b/></r>']),
        (7, ['<r k="w"><b>z</b></r>']),
    ]


def test_an_error_on_a_document_is_its_answer() -> None:
    planned = plan_query(parse_query("for $a in /a return <r>{$a/b, $a/@k}</r>"), Catalogue(GRAPH))
    assert planned.plan is not None
    rows = pa.RecordBatch.from_pylist(
        [
            {"branch": 0, "doc": 1, "t0": "v"},
            {"branch": 0, "doc": 2, "t0": "v"},
            {"branch": 1, "doc": 2, "t0": "x"},
            {"branch": 0, "doc": 3, "t0": "w"},
        ]
    )
    answers = {each.doc: each for each in Answers(planned.plan, planned.names).of(rows, {})}
    assert answers[1].items == ['<r k="v"/>']
    assert answers[3].items == ['<r k="w"/>']
    assert "HX6005" in (answers[2].fault or "")


def test_the_interpreter_reads_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [(0, zstandard.compress(b'<a k="1"><b>')), (12, zstandard.compress(b"x</b></a>"))]
    texts = ("/a/b", "for $a in /a return <r>{$a/b, $a/@k}</r>")
    queries = [plan_query(parse_query(text), Catalogue(GRAPH)) for text in texts]
    first, second = interpreted(3, pieces, queries)
    assert (first.doc, first.items, first.fault) == (3, ["<b>x</b>"], None)
    assert "HX6005" in (second.fault or "")
    monkeypatch.setattr("heptox.store.collection.MOST_IN_MEMORY", 10)
    assert all("HX6008" in (each.fault or "") for each in interpreted(3, pieces, queries))


def test_columns_of_every_relation_have_a_place() -> None:
    form = WideForm(Catalogue(random_graph(Random(5))))
    for relation in form.catalogue.relations:
        named = form.columns(relation)
        assert len(set(named.values())) == len(relation.columns)
        for column in relation.columns:
            assert named[column.name].startswith("t" if column.part is Part.TEXT else "n")
            assert named[column.name] in form.schema.names
