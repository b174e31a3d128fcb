"""Documents of either side of a mapping, and what exchange makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from heptox.errors import Fault, HeptoxError, MappingError, Position, SchemaError
from heptox.grammar import Side
from heptox.mapping import ExchangeReceipt, Mapping, exchange
from heptox.schema import Path, SchemaTree, conform
from heptox.xml import NO_PREFIXES, Document, line_of, parse_document, write_document


@dataclass(frozen=True, slots=True)
class Instance:
    """A document, what a mapping makes of it, and the leaves that got several values though they are there once."""

    document: Document
    image: Document
    conflicts: tuple[tuple[Path, int], ...] = ()


def instance_of(mapping: Mapping, document: Document) -> Instance:
    """A document with its image, which is as if it had been written and read; raises as :func:`exchange`."""
    receipt = ExchangeReceipt()
    image = exchange(mapping, document, receipt=receipt)
    return Instance(document, parse_document(write_document(image.root)), tuple(sorted(receipt.conflicts.items())))


def holds_something(image: Document) -> bool:
    """Whether anything was made: the root alone always is."""
    return len(image.root) > 0 or bool(image.root.attrib) or bool(image.root.text)


def side_of(mapping: Mapping, document: Document, side: Side | None = None) -> tuple[Side, Document]:
    """The side of a mapping that a document belongs to, and the document with its defaulted attributes.

    Its root element decides; where both sides have that root, ``side``, else for which of them the document is valid.

    Raises :class:`MappingError` (HX4040) for a document of neither side, or of both; :class:`SchemaError` with its
    faults for one that is not valid.
    """
    trees: dict[Side, SchemaTree] = {"source": mapping.source, "target": mapping.target}
    fitting = {name: tree for name, tree in trees.items() if tree.root == document.root.tag and side in (None, name)}
    if not fitting:
        roots = " or ".join(
            dict.fromkeys(tree.written((tree.root,)) for name, tree in trees.items() if side in (None, name))
        )
        raise MappingError(
            _not_of(document, f"the root element is {NO_PREFIXES.written(str(document.root.tag))}, not {roots}")
        )
    faults: list[Fault] = []
    valid: list[tuple[Side, Document]] = []
    for name, tree in fitting.items():
        try:
            valid.append((name, conform(document, tree.graph)))
        except HeptoxError as error:
            faults += error.faults
    if not valid:
        raise SchemaError(dict.fromkeys(faults))
    if len(valid) > 1:
        raise MappingError(_not_of(document, "the document is valid for both sides", "say --documents-of source"))
    return valid[0]


def _not_of(document: Document, message: str, hint: str = "give documents of either side of the mapping") -> Fault:
    return Fault("HX4040", message, Position(line_of(document.root), 1, document.file), hint=hint)
