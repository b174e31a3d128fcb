"""Bulk exchange: the same files, byte for byte, that exchange makes of each document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heptox.cluster import MAPPINGS, Edge
from heptox.cluster.exchange import exchange_folder, image
from heptox.errors import ClusterError, MappingError
from heptox.mapping import LARGE, exchange
from heptox.schema import conform
from heptox.translate import Direction
from heptox.xml import parse_document, write_document
from tests.cluster.markets import market
from tests.cluster.workload import mapping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def wanted(edge: Edge, text: str) -> str:
    found = mapping(edge)
    return write_document(exchange(found, conform(parse_document(text), found.source.graph)).root)


@pytest.mark.parametrize("edge", MAPPINGS[::5], ids=str)
def test_a_folder(spark: SparkSession, tmp_path: Path, edge: Edge) -> None:
    folder, out = tmp_path / "in", tmp_path / "made" / "out"
    folder.mkdir()
    texts = {f"{doc} é.xml": market(edge.source, doc) for doc in range(5)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "other.txt").write_text("no document")
    summary = exchange_folder(spark, mapping(edge), folder, out)
    images = {name: wanted(edge, text) for name, text in texts.items()}
    assert {file.name: file.read_bytes().decode() for file in out.iterdir()} == images
    assert (summary.documents, summary.exchanged, summary.misfits, summary.failed) == (5, 5, 0, 0)
    assert summary.read == sum(len(text.encode()) for text in texts.values())
    assert summary.written == sum(len(text.encode()) for text in images.values())


EDGE = next(edge for edge in MAPPINGS if str(edge) == "auction-elements")


def test_some_cannot_be_exchanged(spark: SparkSession, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    good = market("auction", 1)
    bent = good.replace("</site>", "<surplus/></site>")
    for name, text in {"good": good, "bent": bent, "root": "<a/>", "broken": "<site>"}.items():
        (folder / f"{name}.xml").write_text(text)
    (out / "good.xml").write_text("before")
    summary = exchange_folder(spark, mapping(EDGE), folder, out)
    assert (summary.documents, summary.exchanged, summary.misfits, summary.failed) == (4, 2, 1, 2)
    assert [name for name, _ in summary.faults] == ["broken.xml", "root.xml"]
    assert ["HX1002" in summary.faults[0][1], "HX4040" in summary.faults[1][1]] == [True, True]
    assert {file.name for file in out.iterdir()} == {"good.xml", "bent.xml"}
    assert (out / "bent.xml").read_text() == (out / "good.xml").read_text() == wanted(EDGE, good)


def test_documents_are_exchanged_either_way(spark: SparkSession, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    mirrored, text = mapping(EDGE).mirrored(), market(EDGE.target, 3)
    (folder / "d.xml").write_text(text, encoding="utf-8")
    expected = write_document(exchange(mirrored, conform(parse_document(text), mirrored.source.graph)).root)
    assert exchange_folder(spark, mapping(EDGE), folder, out, to=Direction.SOURCE).exchanged == 1
    assert (out / "d.xml").read_bytes().decode() == expected
    with pytest.raises(MappingError) as raised:
        exchange_folder(spark, replace(mapping(EDGE), against=None), folder, out, to=Direction.SOURCE)
    assert raised.value.faults[0].code == "HX4024"


def test_a_large_document_is_exchanged_by_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    text = market("auction", 2)
    asked = []
    monkeypatch.setattr("heptox.cluster.exchange.LARGE", 1000)
    monkeypatch.setattr("heptox.cluster.exchange.exchange", lambda *_: asked.append(1))
    valid, pieces = image(mapping(EDGE), text.encode(), "d.xml")
    found = "".join(pieces)
    assert valid
    assert not asked
    monkeypatch.undo()
    assert len(text) < LARGE
    assert found == wanted(EDGE, text)


def test_folders_that_cannot_be_used(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_text("<site/>")
    for folder, out, code in (
        (tmp_path / "nowhere", tmp_path / "out", "HX8021"),
        (tmp_path, tmp_path, "HX8023"),
        (tmp_path, tmp_path / "d.xml", "HX8023"),
    ):
        with pytest.raises(ClusterError) as raised:
            exchange_folder(spark, mapping(EDGE), folder, out)
        assert raised.value.faults[0].code == code
