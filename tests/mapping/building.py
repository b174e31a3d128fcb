"""Mappings from texts, and images as sets."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import heptox.demo
from heptox.mapping import Mapping, exchange, load_mapping, parse_mapping_arrows
from heptox.xml import XmlElement, parse_document, write_element

HOSPITAL: Final = Path(heptox.demo.__file__).parent / "hospital"


@cache
def hospital(name: str = "montreal-boston") -> Mapping:
    return load_mapping(HOSPITAL / f"{name}.arrows")


def mapping(source: str, target: str, arrows: str) -> Mapping:
    """A mapping between two DTDs given as texts, the first element declared being the root."""
    with TemporaryDirectory() as folder:
        for side, dtd in (("source", source), ("target", target)):
            (Path(folder) / f"{side}.dtd").write_text(dtd, encoding="utf-8")
        roots = {side: dtd.split(None, 2)[1] for side, dtd in (("source", source), ("target", target))}
        declared = "".join(f'{side} "{side}.dtd" root {root}\n' for side, root in roots.items())
        return parse_mapping_arrows(declared + arrows, folder, "test.arrows")


def image(rules: Mapping, document: str) -> str:
    """The image of a document as text."""
    return write_element(exchange(rules, parse_document(document)).root)


def as_set(element: XmlElement) -> Hashable:
    """An element without the order of its children; equal children count once."""
    text = element.text or ""
    return str(element.tag), frozenset(element.attrib.items()), text, frozenset(as_set(child) for child in element)


def image_set(rules: Mapping, document: str) -> Hashable:
    """The image of a document as a set."""
    return as_set(exchange(rules, parse_document(document)).root)


def text_set(document: str) -> Hashable:
    """A document as a set."""
    return as_set(parse_document(document).root)
