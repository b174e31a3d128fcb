"""Arrows that the console suggests for a mapping in work, by names, structure and values of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path as FilePath
from typing import Final

from heptox import mapping as mappings
from heptox.errors import HeptoxError
from heptox.mapping import DeclaredSide, examine_arrows
from heptox.peer.console.examining import DrawnNames
from heptox.peer.console.mapping_shapes import (
    MOST_TEXT,
    ReasonModel,
    SuggestionModel,
    SuggestionRequest,
    SuggestionsModel,
)
from heptox.peer.console.own_records import OwnRecords
from heptox.peer.console.schemas import reader, tables
from heptox.xml import Document, parse_document, read_document

MOST_OWN: Final = 8
"""Own documents that are compared at most; their values are a sample."""


def suggestions(wanted: SuggestionRequest, own: OwnRecords) -> SuggestionsModel:
    """What could be drawn besides what is drawn; nothing where a side has no schema.

    The peer's ``own`` documents are samples of the side that has their schema. What cannot be read says nothing.
    """
    names = DrawnNames(reader(wanted.files))
    examined = examine_arrows(wanted.text, names.read, tables=tables(wanted.files))
    source, target = examined.declared.source, examined.declared.target
    if source is None or target is None:
        return SuggestionsModel(suggestions=[])
    found = mappings.suggest(  # what it needs is loaded when somebody first asks
        source.tree,
        target.tree,
        drawn=[(one.source.absolute, one.target.absolute) for one in examined.correspondences],
        source_documents=list(_documents(wanted.source_samples, source, own)),
        target_documents=list(_documents(wanted.target_samples, target, own)),
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


def _documents(samples: Iterable[str], side: DeclaredSide, own: OwnRecords) -> Iterator[Document]:
    readings = [partial(parse_document, sample) for sample in samples]
    if own.holds(side.tree.graph):
        readings += [partial(_small_document, file) for file in own.files[:MOST_OWN]]
    for read in readings:
        with suppress(HeptoxError):
            yield read()


def _small_document(file: FilePath) -> Document:
    return read_document(file, maximum_size=MOST_TEXT)
