"""Arrows that the console suggests for a mapping in work, by names, structure and values of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path as FilePath
from typing import Final

from heptox import mapping as mappings
from heptox.errors import HeptoxError
from heptox.mapping import DeclaredSide, examine_arrows
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.console.examining import DrawnNames, reader
from heptox.peer.console.mapping_shapes import (
    MOST_TEXT,
    ReasonModel,
    SuggestionModel,
    SuggestionRequest,
    SuggestionsModel,
)
from heptox.schema import SchemaGraph
from heptox.xml import Document, parse_document, read_document

MOST_OWN: Final = 8
"""Own documents that are compared at most; their values are a sample."""


def suggestions(wanted: SuggestionRequest, own: SchemaGraph, files: Sequence[FilePath]) -> SuggestionsModel:
    """What could be drawn besides what is drawn; nothing where a side has no schema.

    ``files`` are the peer's documents under the schema ``own``: they are samples of the side that has it. A sample that
    cannot be read says nothing.
    """
    names = DrawnNames(reader(wanted.files))
    examined = examine_arrows(wanted.text, names.read)
    source, target = examined.declared.source, examined.declared.target
    if source is None or target is None:
        return SuggestionsModel(suggestions=[])
    key = schema_key(own)
    found = mappings.suggest(  # what it needs is loaded when somebody first asks
        source.tree,
        target.tree,
        drawn=[(one.source.absolute, one.target.absolute) for one in examined.correspondences],
        source_documents=list(_documents(wanted.source_samples, source, key, files)),
        target_documents=list(_documents(wanted.target_samples, target, key, files)),
    )
    return SuggestionsModel(
        suggestions=[
            SuggestionModel(
                arrow=str(one),
                source=names.steps(source, one.source),
                target=names.steps(target, one.target),
                copies=one.copies,
                confidence=one.confidence,
                reasons=[ReasonModel(kind=reason.kind, text=reason.text) for reason in one.reasons],
            )
            for one in found
        ]
    )


def _documents(samples: Iterable[str], side: DeclaredSide, own: str, files: Sequence[FilePath]) -> Iterator[Document]:
    readings = [partial(parse_document, sample) for sample in samples]
    if schema_key(side.tree.graph) == own:
        readings += [partial(_small_document, file) for file in files[:MOST_OWN]]
    for read in readings:
        with suppress(HeptoxError):
            yield read()


def _small_document(file: FilePath) -> Document:
    return read_document(file, maximum_size=MOST_TEXT)
