"""Bulk exchange on Spark: what a mapping makes of each of very many documents.

Documents are exchanged where they are read, each on its own: a small one in memory, a large one by the statements of
:func:`heptox.mapping.exchange_stored`, in a store that is gone afterwards. Both write the same text. Nothing of a
document comes to the driver.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from heptox.errors import ClusterError, Fault, HeptoxError, InputError, SchemaError
from heptox.mapping import LARGE, ExchangeReceipt, Mapping, exchange, exchange_at_rest
from heptox.schema import conform
from heptox.translate import Direction
from heptox.xml import Document, parse_document, read_bytes, write_document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_REPORTED: Final = 20
"""How many of the documents that cannot be exchanged are reported, the first by their names."""

_PATTERN: Final = "*.xml"
_TASKS_FOR_EACH_CORE: Final = 4
_PART: Final = pa.schema(
    [
        ("exchanged", pa.int64()),
        ("misfits", pa.int64()),
        ("conflicts", pa.int64()),
        ("unknown_codes", pa.list_(pa.struct([("table", pa.string()), ("code", pa.string())]))),
        ("failed", pa.int64()),
        ("read", pa.int64()),
        ("written", pa.int64()),
        ("unseen", pa.string()),
        ("faults", pa.list_(pa.struct([("name", pa.string()), ("fault", pa.string())]))),
    ]
)
_PART_TYPES: Final = (
    "exchanged bigint, misfits bigint, conflicts bigint, "
    "unknown_codes array<struct<table: string, code: string>>, failed bigint, read bigint, written bigint, "
    "unseen string, faults array<struct<name: string, fault: string>>"
)


@dataclass(frozen=True, slots=True)
class ExchangeSummary:
    """What came of a bulk exchange.

    ``exchanged`` documents have an image; of these ``misfits`` are not valid for the source schema, and were exchanged
    as far as the rules find what they name; ``conflicts`` are the leaves that are there once and got several values, of
    which the first was kept; ``unknown_codes`` are some of those that were looked up, each after the table that does
    not have it. ``failed`` are those that have none; ``faults`` have the names of the first
    of them, and why. ``read`` and ``written`` are bytes.
    """

    documents: int
    exchanged: int
    misfits: int
    conflicts: int
    unknown_codes: tuple[tuple[str, str], ...]
    failed: int
    faults: tuple[tuple[str, str], ...]
    read: int
    written: int
    seconds: float


def exchange_folder(
    spark: SparkSession,
    mapping: Mapping,
    folder: Path,
    out: Path,
    *,
    to: Direction = Direction.TARGET,
) -> ExchangeSummary:
    """Exchange the documents in a folder: the image of each is a file of the same name in the folder ``out``.

    Documents are of the source schema, their images of the target schema; the other way round with ``to`` the source.

    Executors read and write the files, so both folders have to be where they see them, on this machine or on a disk
    that all share. A file is there whole or not at all. What was there under its name is replaced, also when it is done
    again because an executor was lost; of a document that cannot be exchanged nothing is written.

    Raises :class:`ClusterError`: HX8021 when there are no documents, HX8022 when executors do not see a folder, HX8023
    when ``out`` is the folder itself or cannot be made; :class:`MappingError` (HX4024) for a mapping without rules that
    make documents of the schema ``to``.
    """
    began = time.perf_counter()
    mapping = _read_for(mapping, to)
    names = check_folders(folder, out)
    count = min(len(names), _TASKS_FOR_EACH_CORE * spark.sparkContext.defaultParallelism)
    given = spark.createDataFrame([(name,) for name in names], "name string").repartition(count)
    parts = given.mapInArrow(_Folder(mapping, folder.resolve(), out.resolve()), _PART_TYPES).collect()
    for part in parts:
        if part["unseen"] is not None:
            hint = "use a folder that all machines of the cluster share"
            raise ClusterError(Fault("HX8022", "an executor does not see the folder", file=part["unseen"], hint=hint))
    reported = sorted((fault["name"], fault["fault"]) for part in parts for fault in part["faults"])
    exchanged, misfits, conflicts, failed, read, written = (
        sum(part[column] for part in parts)
        for column in ("exchanged", "misfits", "conflicts", "failed", "read", "written")
    )
    codes = tuple(sorted({(each["table"], each["code"]) for part in parts for each in part["unknown_codes"]}))
    seconds = time.perf_counter() - began
    faults = tuple(reported[:MOST_REPORTED])
    return ExchangeSummary(len(names), exchanged, misfits, conflicts, codes, failed, faults, read, written, seconds)


def _read_for(mapping: Mapping, to: Direction) -> Mapping:
    """The mapping read so that its rules make documents of the schema ``to``.

    Raises :class:`MappingError` (HX4024) where it has none.
    """
    found = mapping if to is Direction.TARGET else mapping.mirrored()
    _ = found.rules  # raises here rather than for each document
    return found


def check_folders(folder: Path, out: Path) -> list[str]:
    """The names of the documents in a folder, large ones first; the folder ``out`` for their images is made.

    Raises :class:`ClusterError` (HX8021, HX8023) as :func:`exchange_folder`.
    """
    names = _names(folder)
    if not names:
        raise ClusterError(Fault("HX8021", f"no document is called {_PATTERN}", file=str(folder)))
    _make(out, folder)
    return names


def _names(folder: Path) -> list[str]:
    try:
        found = [(-each.stat().st_size, each.name) for each in folder.glob(_PATTERN) if each.is_file()]
    except OSError as error:
        raise ClusterError(Fault("HX8021", f"cannot be read: {error}", file=str(folder))) from None
    return [name for _, name in sorted(found)]


def _make(out: Path, folder: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        same = out.samefile(folder)
    except OSError as error:
        message = f"the folder cannot be made: {error.strerror or error}"
        raise ClusterError(Fault("HX8023", message, file=str(out))) from None
    if same:
        hint = "give another folder for what is made of them"
        raise ClusterError(Fault("HX8023", "the documents themselves would be replaced", file=str(out), hint=hint))


# -- on the executors --------------------------------------------------------------------------------------------------


class _Folder:
    """Exchanges files of a folder."""

    def __init__(self, mapping: Mapping, folder: Path, out: Path) -> None:
        self._mapping = mapping
        self._folder = folder
        self._out = out

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        exchanged = misfits = read = written = 0
        receipt = ExchangeReceipt()
        faults: list[tuple[str, str]] = []
        unseen = next((str(each) for each in (self._folder, self._out) if not each.is_dir()), None)
        for batch in batches if unseen is None else ():
            for name in batch.column(0).to_pylist():
                try:
                    data = read_bytes(self._folder / name)
                    valid, pieces = image(self._mapping, data, name, receipt)
                    written += _write(self._out / name, pieces)
                except (HeptoxError, OSError) as error:
                    faults.append((name, str(error)))
                    continue
                read += len(data)
                exchanged += 1
                misfits += not valid
        reported = [{"name": name, "fault": fault} for name, fault in sorted(faults)[:MOST_REPORTED]]
        codes = [{"table": table, "code": code} for table, code in sorted(receipt.unknown_codes)[:MOST_REPORTED]]
        conflicts = receipt.conflicts.total()
        row = (exchanged, misfits, conflicts, codes, len(faults), read, written, unseen, reported)
        yield pa.RecordBatch.from_arrays(
            [pa.array([cell], kind) for cell, kind in zip(row, _PART.types, strict=True)], schema=_PART
        )


def image(
    mapping: Mapping, content: bytes, name: str, receipt: ExchangeReceipt | None = None
) -> tuple[bool, Iterator[str]]:
    """Whether a document is valid for the source schema, and the text that a mapping makes of it, piece by piece.

    ``receipt`` as :func:`heptox.mapping.exchange`.

    Raises as :func:`heptox.xml.parse_document` and :func:`heptox.mapping.exchange`.
    """
    if len(content) >= LARGE:
        pieces = exchange_at_rest(mapping, content, name, receipt)
        with suppress(InputError):  # reading it whole reports it better
            first = next(pieces, None)
            if first is not None:
                return True, chain([first], pieces)
    document, valid = _as_its_schema_has_it(parse_document(content, name), mapping)
    return valid, iter([write_document(exchange(mapping, document, receipt=receipt).root)])


def _as_its_schema_has_it(document: Document, mapping: Mapping) -> tuple[Document, bool]:
    """The document with its defaulted attributes, and that it is valid; or as it is, and that it is not."""
    try:
        return conform(document, mapping.source.graph), True
    except SchemaError:
        return document, False


def _write(file: Path, pieces: Iterable[str]) -> int:
    """Write a file in one step, and say how many bytes it has. Raises ``OSError``."""
    temporary = file.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("wb") as opened:
            for piece in pieces:
                opened.write(piece.encode())
            size = opened.tell()
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return size
