"""Judges inferred schemas by lxml, and makes documents of which they are inferred."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path

from hypothesis import assume, strategies as st
from lxml import etree

from heptox.errors import InputError
from heptox.xml import XSI_NAMESPACE, escaped_text, escaped_value, parse_document


def xsd_faults(folder: Path, files: Mapping[str, str], documents: Iterable[bytes]) -> list[str]:
    """What lxml finds wrong with documents under an XSD, which it has to compile."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    schema = etree.XMLSchema(etree.parse(folder / next(iter(files))))
    return [str(schema.error_log) for document in documents if not schema.validate(etree.fromstring(document))]


def dtd_faults(text: str, documents: Iterable[bytes]) -> list[str]:
    """What lxml finds wrong with documents under a DTD."""
    dtd = etree.DTD(io.BytesIO(text.encode()))
    # whether a model is deterministic is looked at when it is used
    return [str(dtd.error_log) for document in documents if not dtd.validate(etree.fromstring(document))]


NAMES = st.sampled_from(["a", "b", "c", "d", "x--y", "p:a", "p:b", "q:a", "q:z"])
VALUES = st.one_of(
    st.sampled_from(["", " ", "1", "007", "20160404", "-3", "1.50", "2e5", "true", "2016-02-29", "2016-02-30"]),
    st.sampled_from(["12:00:00", "2016-01-01T00:00:00Z", "http://example.org/a", "k1", "k2", "k3", "k1 k2", "a--b-"]),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=5),
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["id", "ref", "k", "p:k", "xml:lang", "xml:id", "xml:space"]), VALUES, max_size=3
)
DECLARED = ' xmlns:p="urn:p" xmlns:q="urn:q"'


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> str:
    """An element, of the kinds that documents have."""
    name = draw(NAMES)
    written = "".join(f' {key}="{escaped_value(value)}"' for key, value in draw(ATTRIBUTES).items())
    written += draw(st.sampled_from(["", "", "", DECLARED, ' xmlns:p="urn:p"']))
    kind = draw(
        st.sampled_from(["empty", "text", "nil", "commented", *(["children", "children", "mixed"] * (depth > 0))])
    )
    if kind == "empty":
        return f"<{name}{written}/>"
    if kind == "nil":
        declared = "" if "xmlns:xsi" in written else f' xmlns:xsi="{XSI_NAMESPACE}"'
        return f'<{name}{written}{declared} xsi:nil="true"/>'
    if kind == "commented":
        return f"<{name}{written}><!-- c --></{name}>"
    if kind == "text":
        return f"<{name}{written}>{escaped_text(draw(VALUES))}</{name}>"
    children = draw(st.lists(elements(depth - 1), max_size=4))
    between = escaped_text(draw(VALUES)) if kind == "mixed" else draw(st.sampled_from(["", "\n  "]))
    return f"<{name}{written}>{between}{between.join(children)}</{name}>"


@st.composite
def documents(draw: st.DrawFn) -> list[bytes]:
    """A few documents."""
    found = draw(st.lists(elements(), min_size=1, max_size=4))
    if draw(st.booleans()):
        found = [text.replace("p:", "").replace("xmlns:p=", "xmlns=") for text in found if "xml:" not in text] or found
    readable = [document for document in (_declaring(text).encode() for text in found) if _is_readable(document)]
    assume(readable)
    return readable


def _is_readable(document: bytes) -> bool:
    """Whether a document is read: an ``xml:id`` that is no name keeps it from that."""
    try:
        parse_document(document)
    except InputError:
        return False
    return True


def _declaring(text: str) -> str:
    """A document whose root declares all prefixes."""
    tag = text[: text.index(">")]
    missing = [f' xmlns:{prefix}="urn:{prefix}"' for prefix in "pq" if f"xmlns:{prefix}" not in tag]
    end = min(place for place in (text.find(sign) for sign in (" ", "/", ">")) if place > 0)
    return text[:end] + "".join(missing) + text[end:]


def plain(document: bytes) -> bytes:
    """A document with the same elements in no namespace."""
    text = document.decode()
    for prefix in ("p:", "q:"):
        text = text.replace(f"<{prefix}", "<").replace(f"</{prefix}", "</").replace(f" {prefix}k=", f" {prefix[0]}k=")
    return re.sub(r' (?:xmlns|xmlns:\w+|xsi:nil|xsi:type|xml:\w+)="[^"]*"', "", text).encode()


@st.composite
def models(draw: st.DrawFn, names: tuple[str, ...]) -> str:
    """A content model that has each name once, and so is deterministic."""
    sign = draw(st.sampled_from(["", "?", "*", "+"]))
    if len(names) == 1:
        return names[0] + sign
    cuts = sorted(draw(st.sets(st.integers(1, len(names) - 1), min_size=1)))
    parts = [names[begin:end] for begin, end in pairwise([0, *cuts, len(names)])]
    return f"({draw(st.sampled_from([', ', ' | '])).join(draw(models(part)) for part in parts)}){sign}"


@st.composite
def dtds(draw: st.DrawFn) -> str:
    """A DTD with the root ``a``; its documents are finite."""
    declared, names = [], ("a", "b", "c", "d", "e")
    for number, name in enumerate(names):
        below = names[number + 1 :]
        chosen = tuple(draw(st.permutations(below)))[: draw(st.integers(0, len(below)))]
        kinds = ["EMPTY", "(#PCDATA)"] if not chosen else ["mixed", "model", "model", "model"]
        kind = draw(st.sampled_from(kinds))
        if kind == "mixed":
            kind = f"(#PCDATA | {' | '.join(chosen)})*"
        elif kind == "model":
            kind = f"({draw(models(chosen))})"
        declared.append(f"<!ELEMENT {name} {kind}>")
        types = draw(st.dictionaries(st.sampled_from(["id", "ref", "k", "m"]), ATTRIBUTE_TYPES, max_size=3))
        identifiers = [attribute for attribute, written in types.items() if written.startswith("ID ")]
        for attribute, written in types.items():
            if attribute not in identifiers[1:]:
                declared.append(f"<!ATTLIST {name} {attribute} {written}>")
    return "\n".join(declared)


ATTRIBUTE_TYPES = st.sampled_from(
    [
        *("ID #REQUIRED", "ID #IMPLIED", "IDREF #IMPLIED", "IDREFS #IMPLIED", "NMTOKEN #REQUIRED", "CDATA #IMPLIED"),
        *("(k1 | k2) #REQUIRED", "(k1 | k2) 'k1'", "CDATA #FIXED 'k1'", "CDATA 'x'", "NMTOKENS #IMPLIED"),
    ]
)
