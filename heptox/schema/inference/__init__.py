"""Schemas inferred from documents: as an XSD, or as a DTD where one can say it; and those that are extended."""

from __future__ import annotations

import os
from collections.abc import Iterable

from heptox.errors import SchemaError
from heptox.schema.inference.dtd_extension import extend_dtd as extend_dtd
from heptox.schema.inference.dtd_names import dtd_names
from heptox.schema.inference.dtd_printer import print_dtd
from heptox.schema.inference.extension import changes, extended
from heptox.schema.inference.inferring import Source, collected, inferred_schema
from heptox.schema.inference.watching import Watch
from heptox.schema.inference.xsd_printer import print_xsd
from heptox.schema.inference.xsd_reader import read_inferred_xsd
from heptox.schema.reading import read_xsd
from heptox.xml import read_dtd_text


def infer_xsd(documents: Iterable[Source], name: str = "schema.xsd", *, constraints: bool = False) -> dict[str, str]:
    """The files of an XSD 1.0 that all documents are valid for, by name: ``name`` first, which imports the others, of
    which there is one for each further namespace.

    ``constraints`` writes keys and references that were found as ``xs:key`` and ``xs:keyref``, beside the comments.

    Raises :class:`InputError` and :class:`SchemaError` with the faults of all documents that cannot be read.

    >>> files = infer_xsd([(b"<bib><book year='1999'/><book/></bib>", None)])
    >>> print(*files["schema.xsd"].splitlines()[2:9], sep="\\n")
    <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
      <xs:element name="bib">
        <xs:complexType>
          <xs:sequence>
            <xs:element ref="book" maxOccurs="unbounded"/>
          </xs:sequence>
        </xs:complexType>
    """
    return print_xsd(inferred_schema(collected(documents)), name, constraints=constraints)


def infer_dtd(documents: Iterable[Source]) -> str:
    """The text of a DTD that all documents are valid for.

    Raises as :func:`infer_xsd`, and :class:`SchemaError` (HX2061) where no DTD says what an XSD would: names whose
    prefixes
    clash, and element types that are to be told apart by their parents.

    >>> print(infer_dtd([(b"<bib><book year='1999'/><book/></bib>", None)]), end="")
    <!-- inferred from 1 document -->
    <BLANKLINE>
    <!ELEMENT bib (book+)>
    <!ELEMENT book EMPTY>
    <!ATTLIST book year CDATA #IMPLIED>
    """
    collection = collected(documents)
    return print_dtd(inferred_schema(collection, dtd=True), dtd_names(collection))


def extend_xsd(
    path: str, documents: Iterable[Source], name: str = "schema.xsd"
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The files of an XSD, as those of :func:`infer_xsd`, that admits documents beside all that an inferred one admits,
    whose main file is at ``path``; and what has changed, one thing a line.

    Raises as :func:`infer_xsd`, and :class:`SchemaError` (HX2063) for an XSD that holds what is not inferred.
    """
    old = read_inferred_xsd(path)
    watch = Watch(old)
    collection = collected(documents, watch)
    new = extended(old, collection, watch)
    return print_xsd(new, name), tuple(changes(old, new, collection))


def changes_to_admit(path: str | os.PathLike[str], document: Source) -> tuple[str, ...]:
    """The least changes of the schema in a file by which a document would be valid for it, one thing a line; none where
    that is not known: for an XSD that was not inferred, or what no change admits.

    Raises as :func:`read_schema`.
    """
    try:
        if read_xsd(path) is not None:
            return extend_xsd(os.fspath(path), [document])[1]
        return extend_dtd(read_dtd_text(path), [document], os.fspath(path))[1]
    except SchemaError:
        return ()
