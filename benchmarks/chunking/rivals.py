"""What chunking is measured against: filters over the whole document, and documents cut by bare parsers.

Documents are bytes, or files that are read piece by piece. The cutters are told prefixes instead of filters and take no
care of entities, of encodings in which tags are not ASCII, and of what filters need outside of their prefix: they show
what cutting takes at least.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, TypeAlias
from xml.parsers import expat

from lxml import etree

Source: TypeAlias = bytes | Path

PIECE: Final = 1 << 18
"""How many bytes of a document are read at a time."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Seconds of filtering a whole document: parsing it, compiling the filters, evaluating each of them apart, and
    writing what they select; ``results`` items were selected, ``written`` bytes of them written."""

    parsing: float
    compiling: float
    filtering: float
    writing: float
    results: int
    written: int

    @property
    def seconds(self) -> float:
        """Parsing and filtering, without writing, as the paper counts from its second diagram on."""
        return self.parsing + self.filtering

    def with_times_as_many(self, factor: float) -> Whole:
        """What ``factor`` times as many filters like these would take."""
        compiling, filtering, writing = (factor * each for each in (self.compiling, self.filtering, self.writing))
        results, written = round(factor * self.results), round(factor * self.written)
        return Whole(self.parsing, compiling, filtering, writing, results, written)


@dataclass(frozen=True, slots=True)
class Cut:
    """Seconds of cutting a document of ``size`` bytes, and how many bytes each chunk has."""

    seconds: float
    size: int
    chunks: tuple[int, ...]

    @property
    def rate(self) -> float:
        """Megabytes of the document a second."""
        return self.size / 1e6 / self.seconds


# -- the whole document ------------------------------------------------------------------------------------------


def whole(document: Source, filters: Sequence[str]) -> Whole:
    """lxml parses the document and evaluates one compiled XPath after the other; results of one are held at a time.

    Raises ``lxml.etree.XPathSyntaxError`` for what is no XPath.

    >>> found = whole(b"<a><b>1</b><b/></a>", ["/a/b", "//b/text()"])
    >>> found.results, found.written
    (3, 13)
    """
    began = time.perf_counter()
    compiled = [etree.XPath(each, smart_strings=False) for each in filters]
    compiling = time.perf_counter() - began
    began = time.perf_counter()
    with opened(document) as file:
        tree: Any = etree.parse(file, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    parsing = time.perf_counter() - began
    filtering = writing = 0.0
    results = written = 0
    for evaluate in compiled:
        began = time.perf_counter()
        found: Any = evaluate(tree)
        middle = time.perf_counter()
        items = found if isinstance(found, list) else [found]
        written += sum(len(_written(item)) for item in items)
        results += len(items)
        writing += time.perf_counter() - middle
        filtering += middle - began
    return Whole(parsing, compiling, filtering, writing, results, written)


def _written(item: Any) -> bytes:
    if isinstance(item, etree._Element):
        return etree.tostring(item, encoding="utf-8", with_tail=False)
    return str(item).encode()


# -- cut by bare parsers -----------------------------------------------------------------------------------------


def by_expat(document: Source, prefixes: Sequence[str], sinks: Sequence[IO[bytes]] | None = None) -> Cut:
    """Cut by the ranges of bytes that expat tells, with a piece of the document and one element in memory.

    A chunk has the prolog, all elements of its prefix, and the tags of those above, each with what follows up to the
    next tag. One prefix must not begin with another. ``sinks`` take the chunks, else these are kept until the end, in
    memory, or in temporary files where the document is a file.

    Raises ``xml.parsers.expat.ExpatError`` and ``OSError``.

    >>> sinks = [BytesIO(), BytesIO()]
    >>> by_expat(b"<a x='1'><b/> <c>1</c><b>2</b ></a>", ["/a/b", "/a/c"], sinks).chunks
    (27, 21)
    >>> sinks[0].getvalue()
    b"<a x='1'><b/> <b>2</b ></a>"
    """
    return _cut(document, prefixes, sinks, _expat_ranges)


def by_iterparse(document: Source, prefixes: Sequence[str], sinks: Sequence[IO[bytes]] | None = None) -> Cut:
    """Cut by ``lxml.etree.iterparse``, which makes an element of each and writes it anew, without those above.

    Raises ``lxml.etree.XMLSyntaxError`` and ``OSError``.

    >>> sinks = [BytesIO(), BytesIO()]
    >>> _ = by_iterparse(b"<a x='1'><b/> <c>1</c><b>2</b ></a>", ["/a/b", "/a/c"], sinks)
    >>> sinks[0].getvalue()
    b'<a><b/><b>2</b></a>'
    """
    return _cut(document, prefixes, sinks, _iterparse_elements)


_Cutter: TypeAlias = Callable[[IO[bytes], Sequence[str], Sequence[IO[bytes]]], None]


def _cut(document: Source, prefixes: Sequence[str], sinks: Sequence[IO[bytes]] | None, cutter: _Cutter) -> Cut:
    with ExitStack() as stack:
        taking = [_kept(document, stack) for _ in prefixes] if sinks is None else sinks
        before = [sink.tell() for sink in taking]
        began = time.perf_counter()
        with opened(document) as file:
            cutter(file, prefixes, taking)
            size = file.tell()
        seconds = time.perf_counter() - began
        chunks = tuple(sink.tell() - start for sink, start in zip(taking, before, strict=True))
    return Cut(seconds, size, chunks)


def _kept(document: Source, stack: ExitStack) -> IO[bytes]:
    return BytesIO() if isinstance(document, bytes) else stack.enter_context(TemporaryFile())


def opened(document: Source) -> IO[bytes]:
    """A document, opened for reading."""
    return BytesIO(document) if isinstance(document, bytes) else document.open("rb")


class _Place:
    """A prefix, or what is above one or more of them."""

    def __init__(self) -> None:
        self.below: dict[str, _Place] = {}
        self.sinks: list[IO[bytes]] = []


_NOWHERE: Final = _Place()


def _places(prefixes: Sequence[str], sinks: Sequence[IO[bytes]]) -> _Place:
    """The document, above all prefixes."""
    top = _Place()
    for prefix, sink in zip(prefixes, sinks, strict=True):
        place = top
        place.sinks.append(sink)
        for name in prefix.split("/")[1:]:
            place = place.below.setdefault(name, _Place())
            place.sinks.append(sink)
    return top


def _expat_ranges(file: IO[bytes], prefixes: Sequence[str], sinks: Sequence[IO[bytes]]) -> None:
    """Of a prefix, or of what leads to none, only the depth is counted: calls are what takes the time."""
    parser = expat.ParserCreate()
    parser.ordered_attributes = True
    path = [_places(prefixes, sinks)]
    taking, kept = path[0].sinks, bytearray()
    dropped = begin = depth = 0

    def turn(place: _Place) -> None:
        """From here on, bytes are for the chunks of this place."""
        nonlocal begin, taking
        here = parser.CurrentByteIndex
        for sink in taking:
            sink.write(kept[begin - dropped : here - dropped])
        begin, taking = here, place.sinks

    def start(name: str, _: list[str]) -> None:
        nonlocal depth
        if depth:
            depth += 1
            return
        place = path[-1].below.get(name, _NOWHERE)
        turn(place)
        if place.below:
            path.append(place)
        else:
            depth = 1

    def end(_: str) -> None:
        nonlocal depth
        if depth:
            depth -= 1
        else:
            turn(path.pop())

    parser.StartElementHandler, parser.EndElementHandler = start, end
    while piece := file.read(PIECE):
        kept += piece
        parser.Parse(piece, False)
        del kept[: begin - dropped]
        dropped = begin
    parser.Parse(b"", True)
    for sink in taking:
        sink.write(kept[begin - dropped :])


def _iterparse_elements(file: IO[bytes], prefixes: Sequence[str], sinks: Sequence[IO[bytes]]) -> None:
    """What is before an element is no longer needed when its end has been read."""
    split = [tuple(prefix.split("/")[1:]) for prefix in prefixes]
    by_path = dict(zip(split, sinks, strict=True))
    for names, sink in by_path.items():
        sink.write("".join(f"<{name}>" for name in names[:-1]).encode())
    for _, element in etree.iterparse(file, events=("end",), tag=[names[-1] for names in split], huge_tree=True):
        names = (*(str(above.tag) for above in reversed([*element.iterancestors()])), str(element.tag))
        if (found := by_path.get(names)) is not None:
            found.write(etree.tostring(element, encoding="utf-8", with_tail=False))
            element.clear(keep_tail=False)
            _forget_before(element)
    for names, sink in by_path.items():
        sink.write("".join(f"</{name}>" for name in reversed(names[:-1])).encode())


def _forget_before(element: etree._Element) -> None:
    above = element.getparent()
    while above is not None and element.getprevious() is not None:
        del above[0]
