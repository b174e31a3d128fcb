"""Loading documents: read, checked against the peer's schema, and put on the disk."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.errors import Fault, HeptoxError, InputError, SchemaError
from heptox.peer.folder import Outcome, PeerFolder
from heptox.schema import SchemaGraph, conform
from heptox.xmlio import Document, parse_document


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that is on the disk: its name, and whether it is ``new``, was ``held`` before or ``replaced`` another.

    ``faults`` (HX2007) say why it is not valid for the peer's schema; it is kept all the same.
    """

    name: str
    outcome: Outcome
    document: Document
    faults: tuple[Fault, ...] = ()


class DocumentLoader:
    """Loads documents into one peer's folder; the caller holds its lock."""

    def __init__(self, folder: PeerFolder) -> None:
        self._folder = folder
        self._schema = folder.schema()

    def load(self, name: str, data: bytes, *, replacing: bool = False, file: str | None = None) -> Loaded:
        """Load the document ``data`` as ``name``; messages call it ``file``.

        Raises :class:`InputError` with positions when it is no XML or not safe to read, :class:`PeerError` as
        :meth:`PeerFolder.keep_document`.
        """
        document, faults = _checked(parse_document(data, file or name), self._schema)
        kept, outcome = self._folder.keep_document(name, data, replacing=replacing)
        return Loaded(kept, outcome, document, faults)


def read_documents(folder: PeerFolder) -> dict[str, Document]:
    """All documents of a peer by name; raises :class:`InputError` with the faults of all that cannot be read."""
    schema = folder.schema()
    documents, faults = {}, []
    for file in folder.document_files():
        try:
            documents[file.name], _ = _checked(parse_document(file.read_bytes(), str(file)), schema)
        except OSError as error:
            faults.append(Fault("HX1001", f"cannot be read: {error.strerror or error}", file=str(file)))
        except HeptoxError as error:
            faults.extend(error.faults)
    if faults:
        raise InputError(faults)
    return documents


def _checked(document: Document, schema: SchemaGraph) -> tuple[Document, tuple[Fault, ...]]:
    """The document as its schema has it, with defaults; one that is not valid as it is, with what is wrong."""
    try:
        return conform(document, schema), ()
    except SchemaError as error:
        return document, error.faults
