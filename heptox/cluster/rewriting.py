"""Documents under one schema matched on Spark with subscriptions in the words of another: bulk feeds.

Documents are matched where they are, each on its own; a task makes the subscriptions and the mapping ready once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from heptox.cluster.matching import NOTIFICATIONS
from heptox.errors import HeptoxError
from heptox.mapping import Mapping
from heptox.rewriting import DomainMatcher, Publisher, Strategy
from heptox.schema import conform
from heptox.xml import parse_document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FOUND: Final = f"{NOTIFICATIONS}, fault string"
_SCHEMA: Final = pa.schema([("doc", pa.int64()), ("number", pa.int64()), ("fault", pa.string())])


def match_in_words(
    mapping: Mapping, subscriptions: Sequence[tuple[int, str]], documents: DataFrame, way: Strategy | None = None
) -> DataFrame:
    """The notifications of ``documents``, which are under the source schema of a mapping, for ``subscriptions`` over
    its target, given by number and text.

    ``documents`` has the number ``doc`` of each (bigint) and its ``text`` (string or binary). A row of the result is a
    document and a subscription that it matches, once, or a document with the ``fault`` for which it could not be
    matched, as it is not valid say, and no number. ``way`` is that of
    :meth:`~heptox.rewriting.DomainMatcher.match`.
    """
    return documents.select("doc", "text").mapInArrow(_Matching(mapping, tuple(subscriptions), way), _FOUND)


class _Matching:
    """What a task does with its documents."""

    def __init__(self, mapping: Mapping, subscriptions: tuple[tuple[int, str], ...], way: Strategy | None) -> None:
        self._mapping = mapping
        self._subscriptions = subscriptions
        self._way = way

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        publisher = Publisher(self._mapping)
        matcher = DomainMatcher(self._mapping.target)
        for number, text in self._subscriptions:
            matcher.add(number, text)
        for batch in batches:
            rows: list[tuple[int, int | None, str | None]] = []
            for document, text in zip(batch["doc"].to_pylist(), batch["text"].to_pylist(), strict=True):
                rows += self._rows(publisher, matcher, document, text)
            columns = zip(*rows, strict=True) if rows else ((), (), ())
            yield pa.record_batch(
                [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)], _SCHEMA
            )

    def _rows(
        self, publisher: Publisher, matcher: DomainMatcher, number: int, text: str | bytes
    ) -> list[tuple[int, int | None, str | None]]:
        try:
            document = conform(parse_document(text), self._mapping.source.graph)
            found = matcher.match(publisher, document, self._way)
        except HeptoxError as error:
            return [(number, None, error.summary)]
        return [(number, each, None) for each in found.tolist()]
