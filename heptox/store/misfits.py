"""What of a document does not fit the relations of its schema, and where: found by reading it again, tag by tag."""

from __future__ import annotations

from heptox.schema import EdgeValidator, SchemaGraph
from heptox.xml import XmlReader


def misfits_of(graph: SchemaGraph, reader: XmlReader) -> EdgeValidator:
    """The misfits of a document: the first are ``faults`` (HX6020), ``count`` is the number of all.

    A document that fits need not be valid: in relations neither the order of children counts, nor what is missing. The
    shredder asks the same of arrays, a block of the document at a time, and says only that there is one.

    Raises :class:`InputError` as :meth:`XmlReader.read`.
    """
    validator = EdgeValidator(graph, lambda: reader.position, "HX6020")
    for _ in reader.read(validator.start, validator.end, validator.text):
        pass
    return validator
